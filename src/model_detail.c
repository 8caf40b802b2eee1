/* SPDX-License-Identifier: GPL-2.0-only */
/* model_detail.c - sites and folios of an interval: see model_refs.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_refs.h"

static __u64 floor_sub(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

static __u64 add_sat(__u64 a, __u64 b)
{
	return a + b < a ? ~0ull : a + b;
}

/* ---- sites ---- */

/* A record file may have them in any order. */
static int compare_sites(const void *pa, const void *pb)
{
	const struct snap_site *a = *(const struct snap_site *const *)pa;
	const struct snap_site *b = *(const struct snap_site *const *)pb;
	int c = memcmp(&a->key, &b->key, sizeof(a->key));

	return c ? c : strcmp(a->name, b->name);
}

static const struct snap_site **sort_sites(const struct snap_refs *refs)
{
	const struct snap_site **v = malloc((refs->nsites + 1) * sizeof(*v));
	size_t i;

	for (i = 0; v && i < refs->nsites; i++)
		v[i] = &refs->sites[i];
	if (v && refs->nsites)
		qsort(v, refs->nsites, sizeof(*v), compare_sites);
	return v;
}

static int most_ops(const void *pa, const void *pb)
{
	const struct snap_site *a = pa, *b = pb;
	__u64 x = add_sat(a->ops[0], a->ops[1]), y = add_sat(b->ops[0], b->ops[1]);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The first of the sites of a key, in sorted order. */
static size_t first_of(const struct snap_site **v, size_t n, const struct fs_key *key)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (memcmp(&v[mid]->key, key, sizeof(*key)) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Appends the row's sites at to; all of them, the caller keeps the first. */
static size_t diff_sites(const struct snap_site **now, size_t n, const struct snap_site **before,
			 size_t nbefore, const struct fs_key *key, struct snap_site *to)
{
	size_t i, count = 0;

	for (i = first_of(now, n, key); i < n && !memcmp(&now[i]->key, key, sizeof(*key)); i++) {
		const struct snap_site **prev = nbefore ?
			bsearch(&now[i], before, nbefore, sizeof(*before), compare_sites) : NULL;
		struct snap_site *s = &to[count];
		int side;

		*s = *now[i];
		for (side = 0; prev && side < FS_REF_SIDES; side++)
			s->ops[side] = floor_sub(s->ops[side], (*prev)->ops[side]);
		count += s->ops[FS_REF_GET] || s->ops[FS_REF_PUT];
	}
	if (count)
		qsort(to, count, sizeof(*to), most_ops);
	return count;
}

static int make_sites(const struct snap_refs *a, const struct snap_refs *b, struct report *r)
{
	const struct snap_site **before = sort_sites(a), **now = sort_sites(b);
	size_t i, k, n, used = 0;

	/* Each site belongs to one row at most. */
	r->sites = malloc((b->nsites + 1) * sizeof(*r->sites));
	if (!before || !now || !r->sites) {
		free(before);
		free(now);
		return -ENOMEM;
	}
	for (i = 0; i < r->nfiles; i++) {
		struct report_row *row = &r->files[i];
		int side;

		n = diff_sites(now, b->nsites, before, a->nsites, &row->row->key, &r->sites[used]);
		row->sites = &r->sites[used];
		row->nsites = n < REPORT_SITES ? n : REPORT_SITES;
		for (k = REPORT_SITES; k < n; k++)
			for (side = 0; side < FS_REF_SIDES; side++)
				row->sites_other[side] = add_sat(row->sites_other[side],
								 row->sites[k].ops[side]);
		used += row->nsites;
	}
	free(before);
	free(now);
	return 0;
}

/* ---- folios ---- */

static int by_index(const void *pa, const void *pb)
{
	const struct snap_folio *a = pa, *b = pb;

	return a->index < b->index ? -1 : a->index > b->index;
}

static int most_bounces(const void *pa, const void *pb)
{
	const struct snap_folio *a = pa, *b = pb;

	if (a->bounces != b->bounces)
		return a->bounces > b->bounces ? -1 : 1;
	if (a->ops != b->ops)
		return a->ops > b->ops ? -1 : 1;
	return by_index(a, b);
}

static bool is_folios_file(const struct snap_refs *refs, const struct fs_key *key)
{
	return key->ino == refs->folios_ino &&
	       (!refs->folios_dev || key->dev == refs->folios_dev);
}

static __u64 times(__u64 v, __u32 n)
{
	return v > ~0ull / n ? ~0ull : v * n;
}

/* In sampled mode one in n was seen: n times as many, roughly. */
static int make_folios(const struct snap_refs *a, const struct snap_refs *b, struct report *r)
{
	const struct snap_folio *prev;
	struct snap_folio *f;
	size_t i;

	r->folios = malloc((b->nfolios + 1) * sizeof(*r->folios));
	if (!r->folios)
		return -ENOMEM;
	for (i = 0; i < b->nfolios; i++) {
		f = &r->folios[r->nfolios];
		*f = b->folios[i];
		prev = a->nfolios ? bsearch(f, a->folios, a->nfolios, sizeof(*prev), by_index) : NULL;
		if (prev) {
			f->ops = floor_sub(f->ops, prev->ops);
			f->bounces = floor_sub(f->bounces, prev->bounces);
		}
		f->ops = times(f->ops, b->every);
		f->bounces = times(f->bounces, b->every);
		r->nfolios += f->ops != 0;
	}
	if (r->nfolios)
		qsort(r->folios, r->nfolios, sizeof(*r->folios), most_bounces);
	if (r->nfolios > REPORT_FOLIOS)
		r->nfolios = REPORT_FOLIOS;
	for (i = 0; i < r->nfiles && !r->folios_row; i++)
		if (is_folios_file(b, &r->files[i].row->key))
			r->folios_row = &r->files[i];
	return 0;
}

int refs_detail(const struct refs_work *w, struct report *r)
{
	const struct snap_refs *a = &w->first->refs, *b = &w->last->refs;
	int err = 0;

	if (!b->every)
		return 0;
	if (b->flags & REFS_SITES)
		err = make_sites(a, b, r);
	if (!err && b->folios_ino)
		err = make_folios(a, b, r);
	return err;
}
