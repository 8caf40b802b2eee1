/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * render.c - the one walk of a report, in the order that render.h promises.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"

#define DEV_MINOR_BITS 20	/* kernel encoding, unlike stat's */

static int walk_hooks(const struct report *r, const struct render_ops *ops, void *ctx)
{
	int err = 0;
	size_t i;

	for (i = 0; ops->hook && i < r->nhooks && !err; i++)
		err = ops->hook(ctx, &r->hooks[i]);
	return err;
}

static int walk_rows(const struct report *r, const struct render_ops *ops, void *ctx)
{
	int err;
	size_t i;

	if (!ops->row)
		return 0;
	err = ops->row(ctx, ROWK_TOTAL, &r->totals);
	if (!err && r->has_machine)
		err = ops->row(ctx, ROWK_MACHINE, &r->machine);
	for (i = 0; i < r->nfiles && !err; i++)
		err = ops->row(ctx, ROWK_FILE, &r->files[i]);
	if (!err)
		err = ops->row(ctx, ROWK_OTHER, &r->other);
	if (!err)
		err = ops->row(ctx, ROWK_UNATTRIBUTED, &r->unattributed);
	return err;
}

static int walk_machine(const struct report *r, const struct render_ops *ops, void *ctx)
{
	int err = 0, kind;
	size_t i;

	for (i = 0; ops->cpu && i < r->ncpus && !err; i++)
		err = ops->cpu(ctx, &r->cpus[i]);
	for (kind = 0; ops->grace && kind < FS_GPS && !err; kind++)
		err = ops->grace(ctx, kind, &r->grace[kind]);
	if (!err && ops->overhead)
		err = ops->overhead(ctx, r);
	return err;
}

int report_walk(const struct report *r, const struct render_ops *ops, void *ctx)
{
	int err = ops->begin ? ops->begin(ctx, r) : 0;

	if (!err && ops->lost)
		err = ops->lost(ctx, &r->lost);
	if (!err)
		err = walk_hooks(r, ops, ctx);
	if (!err)
		err = walk_rows(r, ops, ctx);
	if (!err)
		err = walk_machine(r, ops, ctx);
	if (!err && ops->end)
		err = ops->end(ctx, r);
	return err;
}

/* --- a page ----------------------------------------------------------------------------- */

static int page_begin(void *ctx, const struct report *r)
{
	struct page *p = ctx;

	p->r = r;
	p->hooks = calloc(r->nhooks + 1, sizeof(*p->hooks));
	p->files = calloc(r->nfiles + 1, sizeof(*p->files));
	p->cpus = calloc(r->ncpus + 1, sizeof(*p->cpus));
	return p->hooks && p->files && p->cpus ? 0 : -ENOMEM;
}

static int page_lost(void *ctx, const struct snap_lost *l)
{
	((struct page *)ctx)->lost = l;
	return 0;
}

static int page_hook(void *ctx, const struct snap_hook *h)
{
	struct page *p = ctx;

	p->hooks[p->nhooks++] = h;
	return 0;
}

static int page_row(void *ctx, enum row_kind kind, const struct report_row *row)
{
	struct page *p = ctx;

	if (kind == ROWK_FILE)
		p->files[p->nfiles++] = row;
	else
		p->sum[kind] = row;
	return 0;
}

static int page_cpu(void *ctx, const struct report_cpu *c)
{
	struct page *p = ctx;

	p->cpus[p->ncpus++] = c;
	return 0;
}

static int page_grace(void *ctx, enum fs_gp kind, const struct report_grace *g)
{
	((struct page *)ctx)->grace[kind] = g;
	return 0;
}

int page_gather(struct page *p, const struct report *r)
{
	static const struct render_ops ops = {
		.begin = page_begin,
		.lost = page_lost,
		.hook = page_hook,
		.row = page_row,
		.cpu = page_cpu,
		.grace = page_grace,
	};
	int err;

	memset(p, 0, sizeof(*p));
	err = report_walk(r, &ops, p);
	if (err)
		page_free(p);
	return err;
}

void page_free(struct page *p)
{
	free(p->hooks);
	free(p->files);
	free(p->cpus);
	memset(p, 0, sizeof(*p));
}

/* ---------------------------------------------------------------------------------------- */

void render_dev(char buf[RENDER_DEV], const struct fs_key *key)
{
	__u32 dev = key->subdev ? key->subdev : key->dev;

	snprintf(buf, RENDER_DEV, "%u:%u", dev >> DEV_MINOR_BITS,
		 dev & ((1u << DEV_MINOR_BITS) - 1));
}
