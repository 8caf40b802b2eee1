/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refs_detail.h - what is read of references only when asked for: calling functions (--sites) and
 * the folios of one file (--folios). A part of refs.c.
 */
#ifndef REFS_DETAIL_H
#define REFS_DETAIL_H

#include "sites.h"
#include "snapshot.h"
#include "tracer.h"

struct refs_detail {
	const struct tracer *tracer;
	struct ksyms *ksyms;	/* NULL: no names */
	bool sites, folios;
};

void detail_open(struct refs_detail *d, const struct tracer *t);
void detail_close(struct refs_detail *d);

/* Fills sites and folios of *out. -ENOMEM. */
int detail_read(struct refs_detail *d, struct snap_refs *out);

#endif
