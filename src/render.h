/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * render.h - one walk of a report feeds every renderer.
 */
#ifndef RENDER_H
#define RENDER_H

#include <stdio.h>

#include "model.h"

enum row_kind { ROWK_TOTAL, ROWK_MACHINE, ROWK_FILE, ROWK_OTHER, ROWK_UNATTRIBUTED, ROW_KINDS };

/*
 * Slots are called in this order; a NULL slot is skipped. Non-zero ends the walk with it. Losses
 * come before the figures that they touch.
 */
struct render_ops {
	int (*begin)(void *ctx, const struct report *r);
	int (*lost)(void *ctx, const struct snap_lost *l);
	int (*hook)(void *ctx, const struct snap_hook *h);	/* one per signal */
	/* totals, machine, files, other, unattributed */
	int (*row)(void *ctx, enum row_kind kind, const struct report_row *row);
	int (*cpu)(void *ctx, const struct report_cpu *c);
	int (*grace)(void *ctx, enum fs_gp kind, const struct report_grace *g);
	int (*overhead)(void *ctx, const struct report *r);
	int (*end)(void *ctx, const struct report *r);
};

int report_walk(const struct report *r, const struct render_ops *ops, void *ctx);

/*
 * What a walk brings, by reference into the report: for renderers that must see all of a table
 * before they can draw its first line.
 */
struct page {
	const struct report *r;
	const struct snap_lost *lost;
	const struct snap_hook **hooks;
	size_t nhooks;
	const struct report_row *sum[ROW_KINDS];	/* NULL: there is none; not ROWK_FILE */
	const struct report_row **files;
	size_t nfiles;
	const struct report_cpu **cpus;
	size_t ncpus;
	const struct report_grace *grace[FS_GPS];
};

/* Walks the report. -ENOMEM: *p is empty. */
int page_gather(struct page *p, const struct report *r);
void page_free(struct page *p);

/* The device number that joins with stat's st_dev: "8:1". */
#define RENDER_DEV 24
void render_dev(char buf[RENDER_DEV], const struct fs_key *key);

/* Each returns 0, or -errno when the stream fails. They do not close it. */
int render_json(FILE *out, const struct report *r);	/* docs/schema.json */

/*
 * max_series: most series of the whole text. What the machine-wide ones leave is for files, most
 * accessed first; the machine-wide ones and path="other" are there however small it is.
 */
int render_prom(FILE *out, const struct report *r, unsigned int max_series);

struct text_opts {
	unsigned int width;	/* columns; 0: do not cut */
	bool basename;		/* short names */
	bool verbose;		/* every hook, not only what is missing */
};
int render_text(FILE *out, const struct report *r, const struct text_opts *opts);

#endif
