/* SPDX-License-Identifier: GPL-2.0-only */
/* model_refs.c - see model_refs.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_refs.h"

static const enum fig side_figs[FS_REF_SIDES] = { FIG_GET_BOUNCES, FIG_PUT_BOUNCES };

static __u64 add_sat(__u64 a, __u64 b)
{
	return a + b < a ? ~0ull : a + b;
}

static __u64 floor_sub(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/* ---- differences ---- */

static int compare_refs(const void *pa, const void *pb)
{
	const struct snap_ref *a = *(const struct snap_ref *const *)pa;
	const struct snap_ref *b = *(const struct snap_ref *const *)pb;

	return memcmp(&a->key, &b->key, sizeof(a->key));
}

static const struct snap_ref **sort_refs(const struct snap_refs *refs)
{
	const struct snap_ref **v = malloc((refs->nfiles + 1) * sizeof(*v));
	size_t i;

	for (i = 0; v && i < refs->nfiles; i++)
		v[i] = &refs->files[i];
	if (v && refs->nfiles)
		qsort(v, refs->nfiles, sizeof(*v), compare_refs);
	return v;
}

static const struct snap_ref *find_ref(const struct snap_ref **v, size_t n,
				       const struct snap_row *row)
{
	struct snap_ref want = { .key = row->key };
	const struct snap_ref *p = &want, **found;

	found = n ? bsearch(&p, v, n, sizeof(*v), compare_refs) : NULL;
	return found && (*found)->birth == row->birth ? *found : NULL;
}

/* to: what happened since from; NULL: since ever. */
static void subtract(struct snap_ref *out, const struct snap_ref *to, const struct snap_ref *from)
{
	static const struct snap_ref nothing;
	int side;

	if (!from)
		from = &nothing;
	*out = *to;
	out->freezes = floor_sub(to->freezes, from->freezes);
	out->not_followed = floor_sub(to->not_followed, from->not_followed);
	for (side = 0; side < FS_REF_SIDES; side++) {
		out->ops[side] = floor_sub(to->ops[side], from->ops[side]);
		bounce_sample_sub(&out->sample[side], &to->sample[side], &from->sample[side]);
	}
}

static void add(struct snap_ref *sum, const struct snap_ref *r)
{
	int side;

	sum->freezes = add_sat(sum->freezes, r->freezes);
	sum->not_followed = add_sat(sum->not_followed, r->not_followed);
	for (side = 0; side < FS_REF_SIDES; side++) {
		sum->ops[side] = add_sat(sum->ops[side], r->ops[side]);
		bounce_sample_add(&sum->sample[side], &r->sample[side]);
	}
}

/* All groups in one: what is left of a sum has no groups of its own. */
static void ungroup(struct bounce_sample *s)
{
	int i;

	for (i = 1; i < BOUNCE_GROUPS; i++) {
		s->followed[0] = add_sat(s->followed[0], s->followed[i]);
		s->bounced[0] = add_sat(s->bounced[0], s->bounced[i]);
		s->first[0] = add_sat(s->first[0], s->first[i]);
		s->followed[i] = s->bounced[i] = s->first[i] = 0;
	}
}

static __u64 sum_of(const __u64 v[BOUNCE_GROUPS])
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < BOUNCE_GROUPS; i++)
		sum = add_sat(sum, v[i]);
	return sum;
}

/* ---- estimates ---- */

bool refs_estimates(const struct refs_work *w, int f)
{
	return w->after && w->last->refs.every > 1 &&
	       (f == FIG_GET_BOUNCES || f == FIG_PUT_BOUNCES) &&
	       w->last->prov[f] == PROV_SAMPLED;
}

static struct value estimate(const struct refs_work *w, int side, const struct snap_ref *r)
{
	struct bounce_sample s = r->sample[side];
	struct bounce_estimate e;
	__u64 up, down;

	s.windows = w->windows;
	bounce_estimate(&e, &s, r->ops[side]);
	up = floor_sub(e.high, e.count);
	down = floor_sub(e.count, e.low);
	return (struct value){ .v = e.count, .prov = PROV_SAMPLED, .n = w->last->refs.every,
			       .bounded = true, .bound = up > down ? up : down };
}

static void sum_value(struct value *sum, const struct value *v)
{
	*sum = (struct value){ .v = add_sat(sum->v, v->v), .prov = v->prov, .n = v->n,
			       .bounded = true, .bound = add_sat(sum->bound, v->bound) };
}

static void fill_refs(struct report_refs *out, const struct snap_ref *r)
{
	int side;

	*out = (struct report_refs){ .valid = true, .freezes = r->freezes,
				     .not_followed = r->not_followed };
	for (side = 0; side < FS_REF_SIDES; side++) {
		out->ops[side] = r->ops[side];
		out->followed = add_sat(out->followed, sum_of(r->sample[side].followed));
		out->bounced = add_sat(out->bounced, sum_of(r->sample[side].bounced));
		out->first = add_sat(out->first, sum_of(r->sample[side].first));
	}
}

int refs_begin(struct refs_work *w, const struct snapshot *first, const struct snapshot *last)
{
	const struct snap_refs *refs = &last->refs;

	memset(w, 0, sizeof(*w));
	w->first = first;
	w->last = last;
	if (!refs->every)
		return 0;
	w->before = sort_refs(&first->refs);
	w->after = sort_refs(refs);
	w->nbefore = first->refs.nfiles;
	w->nafter = refs->nfiles;
	if (!w->before || !w->after)
		return -ENOMEM;
	/* A shift comes from a record file, too. */
	if (refs->shift < 64)
		w->windows = bounce_windows(first->mono_ns, last->mono_ns, refs->shift, refs->every);
	subtract(&w->total, &refs->total, &first->refs.total);
	return 0;
}

void refs_end(struct refs_work *w)
{
	free(w->before);
	free(w->after);
	w->before = w->after = NULL;
}

void refs_row(struct refs_work *w, struct report_row *row)
{
	const struct snap_ref *last;
	struct snap_ref d = {};
	struct value v;
	int side;

	if (!w->after)
		return;
	last = find_ref(w->after, w->nafter, row->row);
	if (last)
		subtract(&d, last, find_ref(w->before, w->nbefore, row->row));
	fill_refs(&row->refs, &d);
	add(&w->rows, &d);
	for (side = 0; side < FS_REF_SIDES; side++) {
		if (!refs_estimates(w, side_figs[side]))
			continue;
		v = estimate(w, side, &d);
		row->v[side_figs[side]] = v;
		sum_value(&w->est[side], &v);
	}
}

/* What the totals have and no row has. */
static void rest_of(const struct refs_work *w, const struct snap_ref *un, struct snap_ref *rest)
{
	struct snap_ref known = w->rows, total = w->total;
	int side;

	add(&known, un);
	for (side = 0; side < FS_REF_SIDES; side++) {
		ungroup(&known.sample[side]);
		ungroup(&total.sample[side]);
	}
	subtract(rest, &total, &known);
}

static void sub_refs(struct report_refs *out, const struct report_refs *r)
{
	int side;

	for (side = 0; side < FS_REF_SIDES; side++)
		out->ops[side] = floor_sub(out->ops[side], r->ops[side]);
	out->freezes = floor_sub(out->freezes, r->freezes);
	out->followed = floor_sub(out->followed, r->followed);
	out->bounced = floor_sub(out->bounced, r->bounced);
	out->first = floor_sub(out->first, r->first);
	out->not_followed = floor_sub(out->not_followed, r->not_followed);
}

static void estimate_totals(struct refs_work *w, struct report *r, int side,
			    const struct snap_ref *un, const struct snap_ref *rest)
{
	enum fig f = side_figs[side];
	struct value v = estimate(w, side, rest), shown = {};
	struct snap_ref outside;
	size_t i;

	r->unattributed.v[f] = estimate(w, side, un);
	r->totals.v[f] = w->est[side];
	sum_value(&r->totals.v[f], &v);
	sum_value(&r->totals.v[f], &r->unattributed.v[f]);
	for (i = 0; i < r->nfiles; i++)
		sum_value(&shown, &r->files[i].v[f]);
	r->other.v[f] = r->totals.v[f];
	r->other.v[f].v -= add_sat(shown.v, r->unattributed.v[f].v);
	r->other.v[f].bound -= add_sat(shown.bound, r->unattributed.v[f].bound);
	if (!r->has_machine)
		return;
	subtract(&outside, &w->last->refs.outside, &w->first->refs.outside);
	v = estimate(w, side, &outside);
	r->machine.v[f] = r->totals.v[f];
	sum_value(&r->machine.v[f], &v);
}

void refs_totals(struct refs_work *w, struct report *r)
{
	struct snap_ref un, rest;
	size_t i;
	int side;

	if (!w->after)
		return;
	subtract(&un, &w->last->refs.unattributed, &w->first->refs.unattributed);
	rest_of(w, &un, &rest);
	for (side = 0; side < FS_REF_SIDES; side++)
		if (refs_estimates(w, side_figs[side]))
			estimate_totals(w, r, side, &un, &rest);
	fill_refs(&r->totals.refs, &w->total);
	fill_refs(&r->unattributed.refs, &un);
	r->other.refs = r->totals.refs;
	sub_refs(&r->other.refs, &r->unattributed.refs);
	for (i = 0; i < r->nfiles; i++)
		sub_refs(&r->other.refs, &r->files[i].refs);
}

/* ---- CPUs and pairs of them ---- */

static __u64 followed(const struct refs_work *w, int side)
{
	return sum_of(w->total.sample[side].followed);
}

/* As followed, or scaled to all ops. */
static __u64 scale(const struct refs_work *w, __u64 part, __u64 of_followed, __u64 ops)
{
	return w->last->refs.every > 1 ? bounce_scale(part, of_followed, ops) : part;
}

static int compare_cpus(const void *a, const void *b)
{
	const struct snap_ref_cpu *x = a, *y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static const struct snap_ref_cpu *find_cpu(const struct snap_refs *refs, __u32 cpu)
{
	struct snap_ref_cpu want = { .cpu = cpu };

	return refs->ncpus ? bsearch(&want, refs->cpus, refs->ncpus, sizeof(want), compare_cpus) :
			     NULL;
}

static struct value like(const struct report *r, enum fig f, __u64 v)
{
	return (struct value){ .v = v, .prov = r->totals.v[f].prov, .n = r->totals.v[f].n };
}

void refs_cpu(const struct refs_work *w, const struct report *r, struct report_cpu *cpu)
{
	static const struct snap_ref_cpu nothing;
	const struct snap_ref_cpu *a, *b;
	struct value *const out[FS_REF_SIDES] = { &cpu->get_bounces, &cpu->put_bounces };
	__u64 ops = 0;
	int side;

	b = w->after ? find_cpu(&w->last->refs, cpu->cpu->cpu) : NULL;
	if (!b)
		return;
	a = find_cpu(&w->first->refs, b->cpu);
	if (!a)
		a = &nothing;
	for (side = 0; side < FS_REF_SIDES; side++) {
		enum fig f = side_figs[side];

		ops = add_sat(ops, floor_sub(b->ops[side], a->ops[side]));
		if (r->totals.v[f].prov != PROV_UNAVAILABLE)
			*out[side] = like(r, f, scale(w, floor_sub(b->bounces[side],
								   a->bounces[side]),
						      followed(w, side), w->total.ops[side]));
	}
	cpu->ref_ops = like(r, FIG_REF_OPS, ops);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct snap_pair *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int most_first(const void *a, const void *b)
{
	const struct snap_pair *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_pairs(a, b);
}

/* Distances as they were on the machine that was observed. */
static int make_topology(const struct snap_refs *refs, struct topology *t)
{
	__u32 i, k, n = refs->ncpus ? refs->cpus[refs->ncpus - 1].cpu + 1 : 0;

	*t = (struct topology){ .ncpus = n, .numa = refs->flags & REFS_NUMA,
				.llc_unknown = refs->flags & REFS_LLC_UNKNOWN };
	t->cpu = malloc((n + 1) * sizeof(*t->cpu));
	if (!t->cpu)
		return -ENOMEM;
	memset(t->cpu, 0xff, (n + 1) * sizeof(*t->cpu));
	for (i = 0; i < refs->ncpus; i++)
		for (k = 0; k < TOPOLOGY_LEVELS; k++)
			t->cpu[refs->cpus[i].cpu].id[k] = refs->cpus[i].place[k];
	return 0;
}

int refs_transfers(const struct refs_work *w, struct report *r)
{
	const struct snap_refs *a = &w->first->refs, *b = &w->last->refs;
	struct report_transfers *out = &r->transfers;
	const struct snap_pair *prev;
	__u64 seen = 0, ops = 0, n;
	struct topology t;
	size_t i;
	int side;

	out->prov = r->totals.v[FIG_GET_BOUNCES].prov;
	out->n = r->totals.v[FIG_GET_BOUNCES].n;
	if (!w->after || out->prov == PROV_UNAVAILABLE)
		return 0;
	out->pairs = malloc((b->npairs + 1) * sizeof(*out->pairs));
	if (!out->pairs || make_topology(b, &t))
		return -ENOMEM;
	for (side = 0; side < FS_REF_SIDES; side++) {
		if (r->totals.v[side_figs[side]].prov == PROV_UNAVAILABLE)
			continue;
		seen = add_sat(seen, followed(w, side));
		ops = add_sat(ops, w->total.ops[side]);
	}
	for (i = 0; i < b->npairs; i++) {
		prev = a->npairs ? bsearch(&b->pairs[i], a->pairs, a->npairs, sizeof(*prev),
					   compare_pairs) : NULL;
		n = scale(w, floor_sub(b->pairs[i].count, prev ? prev->count : 0), seen, ops);
		if (!n)
			continue;
		out->pairs[out->npairs++] = (struct snap_pair){ b->pairs[i].from, b->pairs[i].to, n };
		out->distance[topology_distance(&t, b->pairs[i].from, b->pairs[i].to)] += n;
	}
	out->other = scale(w, floor_sub(b->other, a->other), seen, ops);
	out->distance[DIST_UNKNOWN] += out->other;
	out->llc_unknown = t.llc_unknown;
	topology_free(&t);
	if (out->npairs)
		qsort(out->pairs, out->npairs, sizeof(*out->pairs), most_first);
	return 0;
}
