/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model_refs.h - the part of report_make() that deals with references: what they are made of,
 * bounces estimated from what was followed in windows, transfers between CPUs. Pure.
 *
 * Sampled bounces are estimated for each file by itself (bounce.h); sums are sums of estimates, so
 * rows + other + unattributed = totals holds for them as for what is counted. Bounds are added up,
 * which is right whatever the files have in common.
 */
#ifndef MODEL_REFS_H
#define MODEL_REFS_H

#include "model.h"

struct refs_work {
	const struct snapshot *first, *last;
	__u64 windows;
	/* Both sorted by key; NULL: no references. */
	const struct snap_ref **before, **after;
	size_t nbefore, nafter;
	struct snap_ref rows;		/* sums over all files, of the interval */
	struct value est[FS_REF_SIDES];	/* likewise, estimated */
	struct snap_ref total;		/* of the interval */
};

/* -ENOMEM; refs_end() in any case. */
int refs_begin(struct refs_work *w, const struct snapshot *first, const struct snapshot *last);
void refs_end(struct refs_work *w);

/* Whether figure f is estimated here and not a difference of counters. */
bool refs_estimates(const struct refs_work *w, int f);

/* A file's row, once for each file, shown or not. Its other figures are there. */
void refs_row(struct refs_work *w, struct report_row *row);
/* Totals, other, unattributed and machine, after all rows; files[] are those shown. */
void refs_totals(struct refs_work *w, struct report *r);

/* After the totals: values are as those of r. */
void refs_cpu(const struct refs_work *w, const struct report *r, struct report_cpu *cpu);
/* -ENOMEM. */
int refs_transfers(const struct refs_work *w, struct report *r);
/* Sites of files[], folios. -ENOMEM. */
int refs_detail(const struct refs_work *w, struct report *r);

#endif
