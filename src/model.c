/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.c - differences of two snapshots, their ranking, and how much each figure may be trusted.
 * Inputs may come from a record file: sums saturate, and no size leads to quadratic work.
 */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "model_refs.h"

#define NSEC_PER_SEC 1000000000ull
#define FIG_BIT(f) (1u << (f))
/*
 * What needs to tell calls apart: an event that cannot be told from the one before counts as an
 * access of its own, and its pages again (untested: so the heat is a lower bound by itself).
 */
#define FIGS_CALLS (FIG_BIT(FIG_ACCESSES) | FIG_BIT(FIG_PAGES) | FIG_BIT(FIG_UNTESTED) | \
		    FIG_BIT(FIG_WINDOW))
#define FIGS_TOUCH (FIGS_CALLS | FIG_BIT(FIG_HOT_PAGES) | FIG_BIT(FIG_HOT_ACCESSES))
#define FIGS_MARKS (FIG_BIT(FIG_MARKS) | FIG_BIT(FIG_MARKS_HOT))
#define FIGS_LIFE (FIG_BIT(FIG_INSERTED) | FIG_BIT(FIG_REMOVED) | FIG_BIT(FIG_WRITTEN))
#define FIGS_REFS (FIG_BIT(FIG_REF_OPS) | FIG_BIT(FIG_GET_BOUNCES) | \
		   FIG_BIT(FIG_PUT_BOUNCES) | FIG_BIT(FIG_FAILED_GETS))
#define FIGS_BOUNCES (FIG_BIT(FIG_GET_BOUNCES) | FIG_BIT(FIG_PUT_BOUNCES))
#define FIGS_ALL (FIG_BIT(FIGS) - 1)

/* Figures that a loss touches, by the kind of row. Too little wins where both are possible. */
struct doubt {
	unsigned int all;	/* too little in every row and every total */
	unsigned int rows;	/* too little in files only: the totals are counted apart */
	unsigned int over;	/* too much in every row and every total */
	unsigned int rest;	/* too much in other: what the rows miss is in here */
};

struct work {
	const struct snapshot *first, *last;
	struct report *r;
	struct doubt doubt;
	struct refs_work refs;
	__u64 rows[FIGS];	/* sum over all files, shown or not */
	__u64 shown[FIGS];
};

static __u64 add_sat(__u64 a, __u64 b)
{
	return a + b < a ? ~0ull : a + b;
}

static __u64 floor_sub(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

/* A counter that went back counts as 0, and the interval says so. */
static __u64 diff(struct report *r, __u64 prev, __u64 cur)
{
	if (cur < prev)
		r->clamped = true;
	return floor_sub(cur, prev);
}

double model_rate(__u64 count, double seconds)
{
	return seconds > 0 ? (double)count / seconds : NAN;
}

static __u64 bucket_edge(unsigned int k)
{
	return 1ull << k;
}

/*
 * ceil(q * count) for 0 < q < 1. In double on purpose: it rounds 0.9 * 10 to 9, which more digits
 * would not.
 */
static __u64 ceil_share(__u64 count, double q)
{
	double exact = q * (double)count;
	__u64 whole = exact;

	whole += (double)whole < exact;
	return whole < count ? whole : count;
}

__u64 model_quantile(const __u64 buckets[FS_LAT_BUCKETS], double q, __u64 max)
{
	__u64 count = 0, want, seen = 0, edge;
	unsigned int k;

	for (k = 0; k < FS_LAT_BUCKETS; k++)
		count = add_sat(count, buckets[k]);
	if (!count)
		return 0;
	want = q > 0 ? q < 1 ? ceil_share(count, q) : count : 1;
	for (k = 0; k < FS_LAT_BUCKETS - 1; k++) {
		seen = add_sat(seen, buckets[k]);
		if (seen >= want)
			break;
	}
	edge = bucket_edge(k);
	return edge < max ? edge : max;
}

bool model_path_matches(const char *path, const char *pattern)
{
	size_t len = strlen(pattern);

	while (len && pattern[len - 1] == '/')
		len--;
	if (*pattern && !strncmp(path, pattern, len) && (path[len] == '/' || !path[len]))
		return true;
	return !fnmatch(pattern, path, 0);
}

static bool wanted(const struct view *view, const char *path)
{
	const char *const *p;

	if (!view || !view->paths)
		return true;
	for (p = view->paths; path && *p; p++)
		if (model_path_matches(path, *p))
			return true;
	return false;
}

/* --- finding the row before ------------------------------------------------------------- */

struct index {
	const struct snap_row **slot;
	size_t mask;
};

static __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static size_t key_hash(const struct fs_key *k)
{
	return mix(mix(mix(k->ino, k->dev), (__u64)k->gen << 32 | k->subdev), k->scope);
}

static bool key_equal(const struct fs_key *a, const struct fs_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen &&
	       a->subdev == b->subdev && a->scope == b->scope;
}

static int index_make(struct index *ix, const struct snapshot *s)
{
	size_t size = 16, i, at;

	while (size < 2 * s->nrows)
		size *= 2;
	ix->slot = calloc(size, sizeof(*ix->slot));
	if (!ix->slot)
		return -ENOMEM;
	ix->mask = size - 1;
	for (i = 0; i < s->nrows; i++) {
		at = key_hash(&s->rows[i].key) & ix->mask;
		while (ix->slot[at])
			at = (at + 1) & ix->mask;
		ix->slot[at] = &s->rows[i];
	}
	return 0;
}

/* The same row in the snapshot before. A row of another birth is another one: it began at 0. */
static const struct snap_row *index_find(const struct index *ix, const struct snap_row *row)
{
	size_t at = key_hash(&row->key) & ix->mask;

	for (; ix->slot[at]; at = (at + 1) & ix->mask)
		if (key_equal(&ix->slot[at]->key, &row->key))
			return ix->slot[at]->birth == row->birth ? ix->slot[at] : NULL;
	return NULL;
}

/*
 * A sorted copy of an array of n elements, for bsearch(). NULL only when there is no memory: of
 * no elements it is some memory too.
 */
static void *sorted_copy(const void *base, size_t n, size_t size,
			 int (*cmp)(const void *, const void *))
{
	void *copy = malloc(n ? n * size : 1);

	if (copy && n) {
		memcpy(copy, base, n * size);
		qsort(copy, n, size, cmp);
	}
	return copy;
}

/* --- rows ------------------------------------------------------------------------------- */

static struct value make_value(const struct work *w, enum fig f, __u64 v, unsigned int doubted)
{
	struct value val = { .v = v, .prov = w->last->prov[f] };

	if (val.prov == PROV_UNAVAILABLE || val.prov >= PROVS)
		return (struct value){ 0 };
	if (val.prov == PROV_SAMPLED)
		val.n = w->last->sample_n[f] ? w->last->sample_n[f] : 1;
	else if (val.prov == PROV_MEASURED && doubted & FIG_BIT(f))
		val.prov = PROV_LOWER_BOUND;
	else if (val.prov == PROV_MEASURED && w->doubt.over & FIG_BIT(f))
		val.prov = PROV_UPPER_BOUND;
	return val;
}

/* Pages whose heat nobody looked at may have been hot. */
static void doubt_heat(struct report_row *row)
{
	static const enum fig heat[] = { FIG_HOT_PAGES, FIG_HOT_ACCESSES };
	size_t i;

	if (row->v[FIG_UNTESTED].prov == PROV_UNAVAILABLE || !row->v[FIG_UNTESTED].v)
		return;
	for (i = 0; i < 2; i++)
		if (row->v[heat[i]].prov == PROV_MEASURED)
			row->v[heat[i]].prov = PROV_LOWER_BOUND;
}

/* Pages of fault-around windows may not have been touched. */
static void doubt_windows(struct report_row *row)
{
	if (row->v[FIG_WINDOW].prov != PROV_UNAVAILABLE && row->v[FIG_WINDOW].v &&
	    row->v[FIG_PAGES].prov == PROV_MEASURED)
		row->v[FIG_PAGES].prov = PROV_UPPER_BOUND;
}

/* Figures that one figure of the same row makes a bound. */
static void doubt_within(struct report_row *row)
{
	doubt_heat(row);
	doubt_windows(row);
}

static bool row_diff(struct work *w, struct report_row *out, const struct snap_row *prev,
		     const struct snap_row *row)
{
	bool any = false;
	int f;

	*out = (struct report_row){ .row = row };
	for (f = 0; f < FIGS; f++) {
		__u64 v = diff(w->r, prev ? prev->v[f] : 0, row->v[f]);

		if ((f == FIG_INSERTED || f == FIG_WRITTEN) && row->flags & ROW_TMPFS)
			continue;
		out->v[f] = make_value(w, f, v, w->doubt.all | w->doubt.rows);
		any |= out->v[f].v != 0;
	}
	doubt_within(out);
	refs_row(&w->refs, out);
	return any;
}

static void sum_row(__u64 sum[FIGS], const struct report_row *row)
{
	int f;

	for (f = 0; f < FIGS; f++)
		sum[f] = add_sat(sum[f], row->v[f].v);
}

static int cmp_path(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;		/* those without a name come last */
	return strcmp(a, b);
}

#define CMP(a, b) (((a) > (b)) - ((a) < (b)))

static int cmp_key(const struct fs_key *a, const struct fs_key *b)
{
	int c = CMP(a->dev, b->dev);

	c = c ? c : CMP(a->subdev, b->subdev);
	c = c ? c : CMP(a->ino, b->ino);
	c = c ? c : CMP(a->gen, b->gen);
	return c ? c : CMP(a->scope, b->scope);
}

static int cmp_rows(const void *pa, const void *pb, void *sort)
{
	const struct report_row *a = pa, *b = pb;
	enum fig f = *(const enum fig *)sort;
	int c = CMP(b->v[f].v, a->v[f].v);

	c = c ? c : CMP(b->v[FIG_ACCESSES].v, a->v[FIG_ACCESSES].v);
	c = c ? c : cmp_path(a->row->path, b->row->path);
	return c ? c : cmp_key(&a->row->key, &b->row->key);
}

static int make_files(struct work *w, const struct view *view)
{
	enum fig sort = view && view->sort < FIGS ? view->sort : FIG_ACCESSES;
	struct report *r = w->r;
	struct index ix;
	struct report_row *shrunk;
	size_t i;

	r->files = malloc((w->last->nrows ? w->last->nrows : 1) * sizeof(*r->files));
	if (!r->files || index_make(&ix, w->first))
		return -ENOMEM;
	for (i = 0; i < w->last->nrows; i++) {
		const struct snap_row *row = &w->last->rows[i];
		struct report_row *out = &r->files[r->nfiles];

		if (!row_diff(w, out, index_find(&ix, row), row))
			continue;
		sum_row(w->rows, out);
		r->nfiles_all++;
		if (wanted(view, row->path))
			r->nfiles++;
	}
	free(ix.slot);
	qsort_r(r->files, r->nfiles, sizeof(*r->files), cmp_rows, &sort);
	if (view && view->top && r->nfiles > view->top)
		r->nfiles = view->top;
	shrunk = realloc(r->files, (r->nfiles ? r->nfiles : 1) * sizeof(*r->files));
	if (shrunk)
		r->files = shrunk;
	for (i = 0; i < r->nfiles; i++)
		sum_row(w->shown, &r->files[i]);
	return 0;
}

static __u64 total_diff(struct work *w, int scope, int f)
{
	return diff(w->r, w->first->total[scope][f], w->last->total[scope][f]);
}

/* Totals, unattributed, machine and what is left for other. */
static void make_totals(struct work *w)
{
	struct report *r = w->r;
	int f;

	r->has_machine = w->last->filtered && w->last->machine;
	for (f = 0; f < FIGS; f++) {
		unsigned int doubt = w->doubt.all;
		__u64 total = total_diff(w, FS_SCOPE_IN, f);
		__u64 un = diff(r, w->first->unattributed[f], w->last->unattributed[f]);
		__u64 parts = add_sat(w->rows[f], un);
		__u64 rest;

		if (w->last->prov[f] == PROV_UNAVAILABLE || refs_estimates(&w->refs, f))
			continue;
		if (parts > total) {
			total = parts;
			r->torn = r->clamped = true;
			doubt |= FIG_BIT(f);
		}
		rest = floor_sub(floor_sub(total, un), w->shown[f]);
		r->totals.v[f] = make_value(w, f, total, doubt);
		r->unattributed.v[f] = make_value(w, f, un, doubt);
		r->other.v[f] = make_value(w, f, rest, doubt);
		/* What a torn read left out of the rows went in here. */
		if (r->other.v[f].prov == PROV_MEASURED && w->doubt.rest & FIG_BIT(f))
			r->other.v[f].prov = PROV_UPPER_BOUND;
		if (r->has_machine)
			r->machine.v[f] = make_value(w, f,
				add_sat(total, total_diff(w, FS_SCOPE_OUT, f)), doubt);
	}
	refs_totals(&w->refs, r);
	doubt_within(&r->totals);
	doubt_within(&r->other);
	doubt_within(&r->unattributed);
	doubt_within(&r->machine);
	r->coverage = NAN;
	if (r->totals.v[FIG_ACCESSES].v)
		r->coverage = (double)w->shown[FIG_ACCESSES] / r->totals.v[FIG_ACCESSES].v;
}

/* --- hooks, losses, programs ------------------------------------------------------------ */

static int cmp_hook(const void *a, const void *b)
{
	return strcmp(((const struct snap_hook *)a)->signal, ((const struct snap_hook *)b)->signal);
}

static int make_hooks(struct work *w)
{
	const struct snapshot *s = w->last;
	struct report *r = w->r;
	struct snap_hook *prev, *p;
	size_t i;

	prev = sorted_copy(w->first->hooks, w->first->nhooks, sizeof(*prev), cmp_hook);
	r->hooks = calloc(s->nhooks ? s->nhooks : 1, sizeof(*r->hooks));
	if (!prev || !r->hooks) {
		free(prev);
		return -ENOMEM;
	}
	for (i = 0; i < s->nhooks; i++) {
		r->hooks[i] = s->hooks[i];
		p = bsearch(&r->hooks[i], prev, w->first->nhooks, sizeof(*prev), cmp_hook);
		if (p)
			r->hooks[i].misses = diff(r, p->misses, s->hooks[i].misses);
	}
	r->nhooks = s->nhooks;
	free(prev);
	return 0;
}

static bool hooks_missed(const struct report *r, const char *prefix)
{
	size_t i;

	for (i = 0; i < r->nhooks; i++)
		if (r->hooks[i].misses && !strncmp(r->hooks[i].signal, prefix, strlen(prefix)))
			return true;
	return false;
}

/* What a call that the kernel skipped is missing from. */
static const struct {
	const char *signal;
	unsigned int figs;
} hook_figs[] = {
	{ "access.read", FIGS_TOUCH },
	{ "access.fault", FIGS_TOUCH },
	{ "access.tmpfs", FIGS_TOUCH },
	{ "access.lifecycle", FIGS_LIFE },
	{ "access.marks", FIGS_MARKS },
	{ "access.tree", FIGS_TOUCH | FIGS_LIFE | FIGS_MARKS },
	{ "refcount.ops", FIGS_REFS },
};

static void make_lost(struct work *w)
{
	const struct snap_lost *a = &w->first->lost, *b = &w->last->lost;
	struct report *r = w->r;
	size_t i;

	r->lost.map_full = diff(r, a->map_full, b->map_full);
	r->lost.ring_full = diff(r, a->ring_full, b->ring_full);
	r->lost.recursion_misses = diff(r, a->recursion_misses, b->recursion_misses);
	r->lost.torn = diff(r, a->torn, b->torn);
	r->lost.witness = diff(r, a->witness, b->witness);
	r->torn = ((w->first->flags | w->last->flags) & SNAP_TORN) || r->lost.torn;
	r->hotplug = w->last->flags & SNAP_HOTPLUG;

	for (i = 0; i < sizeof(hook_figs) / sizeof(hook_figs[0]); i++)
		if (hooks_missed(r, hook_figs[i].signal))
			w->doubt.all |= hook_figs[i].figs;
	if (w->last->refs.total.not_followed > w->first->refs.total.not_followed)
		w->doubt.all |= FIGS_BOUNCES;
	if (r->lost.witness)
		w->doubt.over |= FIGS_CALLS;
	if (r->lost.map_full)
		w->doubt.rows |= FIGS_ALL;
	if (r->torn) {
		w->doubt.rows |= FIGS_ALL;
		w->doubt.rest |= FIGS_ALL;
	}
}

static int cmp_prog(const void *a, const void *b)
{
	const struct snap_prog *pa = a, *pb = b;

	return strncmp(pa->name, pb->name, sizeof(pa->name));
}

static int make_progs(struct work *w)
{
	const struct snapshot *s = w->last;
	struct report *r = w->r;
	struct snap_prog *prev, *p;
	size_t i;

	prev = sorted_copy(w->first->progs, w->first->nprogs, sizeof(*prev), cmp_prog);
	r->progs = sorted_copy(s->progs, s->nprogs, sizeof(*r->progs), cmp_prog);
	if (!prev || !r->progs) {
		free(prev);
		return -ENOMEM;
	}
	r->nprogs = s->nprogs;
	for (i = 0; i < r->nprogs; i++) {
		p = bsearch(&r->progs[i], prev, w->first->nprogs, sizeof(*prev), cmp_prog);
		if (!p)
			continue;
		r->progs[i].runs = diff(r, p->runs, r->progs[i].runs);
		r->progs[i].ns = diff(r, p->ns, r->progs[i].ns);
	}
	free(prev);
	r->self_cpu_ns = diff(r, w->first->self_cpu_ns, s->self_cpu_ns);
	return 0;
}

/* --- CPUs and grace periods ------------------------------------------------------------- */

static void cpu_values(struct report_cpu *out, const struct snap_cpu *c)
{
	__u64 queued = 0;
	int i;

	*out = (struct report_cpu){ .cpu = c };
	if (c->flags & CPU_KVFREE_VALID)
		out->kvfree = (struct value){ .v = c->kvfree, .prov = PROV_MEASURED };
	if (!(c->flags & CPU_BACKLOG_VALID))
		return;
	for (i = 0; i < 4; i++) {
		out->seg[i] = (struct value){ .v = c->seg[i], .prov = PROV_MEASURED };
		queued = add_sat(queued, c->seg[i]);
	}
	out->callbacks = (struct value){ .v = c->callbacks, .prov = PROV_MEASURED };
	out->invoking = (struct value){ .v = floor_sub(c->callbacks, queued),
					 .prov = PROV_DERIVED };
	out->peak_callbacks = (struct value){ .prov = PROV_LOWER_BOUND };
	out->peak_callbacks.v = c->peak_callbacks > c->callbacks ? c->peak_callbacks : c->callbacks;
}

static int make_cpus(struct work *w)
{
	const struct snapshot *s = w->last;
	struct report *r = w->r;
	size_t i;

	r->cpus = calloc(s->ncpus ? s->ncpus : 1, sizeof(*r->cpus));
	if (!r->cpus)
		return -ENOMEM;
	for (i = 0; i < s->ncpus; i++) {
		struct report_cpu *c = &r->cpus[r->ncpus];

		cpu_values(c, &s->cpus[i]);
		refs_cpu(&w->refs, r, c);
		if (s->cpus[i].flags & CPU_ONLINE || c->callbacks.v || c->kvfree.v || c->ref_ops.v)
			r->ncpus++;
	}
	return 0;
}

static int cmp_requester(const void *a, const void *b)
{
	const struct snap_requester *ra = a, *rb = b;
	int c = CMP(ra->tgid, rb->tgid);

	return c ? c : memcmp(ra->comm, rb->comm, sizeof(ra->comm));
}

static int cmp_requests(const void *a, const void *b)
{
	const struct snap_requester *ra = a, *rb = b;
	int c = CMP(rb->count, ra->count);

	return c ? c : cmp_requester(a, b);
}

static int make_requesters(struct report *r, struct report_grace *out,
			   const struct snap_grace *a, const struct snap_grace *b)
{
	struct snap_requester *prev, *p, cur;
	size_t i;

	prev = sorted_copy(a->req, a->nreq, sizeof(*prev), cmp_requester);
	out->req = calloc(b->nreq ? b->nreq : 1, sizeof(*out->req));
	if (!prev || !out->req) {
		free(prev);
		return -ENOMEM;
	}
	for (i = 0; i < b->nreq && out->req_prov != PROV_UNAVAILABLE; i++) {
		cur = b->req[i];
		p = bsearch(&cur, prev, a->nreq, sizeof(*prev), cmp_requester);
		if (p)
			cur.count = diff(r, p->count, cur.count);
		if (cur.count)
			out->req[out->nreq++] = cur;
	}
	free(prev);
	if (out->nreq)
		qsort(out->req, out->nreq, sizeof(*out->req), cmp_requests);
	return 0;
}

static void grace_latency(struct report *r, struct report_grace *out,
			  const struct snap_grace *a, const struct snap_grace *b)
{
	unsigned int k, top = 0;

	for (k = 0; k < FS_LAT_BUCKETS; k++) {
		out->buckets[k] = diff(r, a->buckets[k], b->buckets[k]);
		out->lat_count = add_sat(out->lat_count, out->buckets[k]);
		if (out->buckets[k])
			top = k;
	}
	/* The count is that of the buckets, so that a histogram always adds up. */
	if (!out->lat_count)
		return;
	out->lat_sum = diff(r, a->lat_sum, b->lat_sum);
	/* A maximum has no difference: only when it grew is it known to lie in the interval. */
	out->lat_max = b->lat_max;
	out->max_is_edge = b->lat_max <= a->lat_max && bucket_edge(top) < b->lat_max;
	if (out->max_is_edge)
		out->lat_max = bucket_edge(top);
	out->p50 = model_quantile(out->buckets, 0.50, out->lat_max);
	out->p99 = model_quantile(out->buckets, 0.99, out->lat_max);
}

static __u32 lower_if(__u32 prov, bool lost)
{
	if (prov >= PROVS)
		return PROV_UNAVAILABLE;
	return prov == PROV_MEASURED && lost ? PROV_LOWER_BOUND : prov;
}

static bool hook_attached(const struct report *r, const char *signal)
{
	size_t i;

	for (i = 0; i < r->nhooks; i++)
		if (!strcmp(r->hooks[i].signal, signal))
			return r->hooks[i].state != HOOK_UNAVAILABLE;
	return false;
}

static int make_grace(struct work *w, enum fs_gp kind)
{
	static const char *const signal[FS_GPS] = { "grace.normal", "grace.expedited" };
	const struct snap_grace *a = &w->first->grace[kind], *b = &w->last->grace[kind];
	struct report_grace *out = &w->r->grace[kind];
	bool lost = hooks_missed(w->r, signal[kind]);
	/* Read from the kernel's own sequences the counts are right whatever a hook missed. */
	bool own = hook_attached(w->r, "grace.count") && !hooks_missed(w->r, "grace.count");
	__u32 prov = lower_if(b->count_prov, lost && !own);

	if (prov != PROV_UNAVAILABLE) {
		out->started = (struct value){ .v = diff(w->r, a->started, b->started),
					       .prov = prov };
		out->completed = (struct value){
			.v = diff(w->r, a->completed, b->completed), .prov = prov };
		out->ours = diff(w->r, a->ours, b->ours);
	}
	out->lat_prov = lower_if(b->lat_prov, lost);
	if (out->lat_prov != PROV_UNAVAILABLE)
		grace_latency(w->r, out, a, b);
	out->req_prov = lower_if(b->req_prov, lost);
	return make_requesters(w->r, out, a, b);
}

/* --- all together ----------------------------------------------------------------------- */

int report_make(struct report *out, const struct snapshot *first, const struct snapshot *last,
		const struct view *view)
{
	struct work w = { .first = first, .last = last, .r = out };
	int err, kind;

	memset(out, 0, sizeof(*out));
	if (last->mono_ns <= first->mono_ns)
		return -EINVAL;
	out->first = first;
	out->last = last;
	out->duration_s = (double)(last->mono_ns - first->mono_ns) / NSEC_PER_SEC;
	err = make_hooks(&w);
	if (err)
		goto out;
	make_lost(&w);
	err = refs_begin(&w.refs, first, last);
	if (!err)
		err = make_files(&w, view);
	if (err)
		goto out;
	make_totals(&w);
	err = make_cpus(&w);
	if (!err)
		err = refs_transfers(&w.refs, out);
	if (!err)
		err = refs_detail(&w.refs, out);
	for (kind = 0; kind < FS_GPS && !err; kind++)
		err = make_grace(&w, kind);
	if (!err)
		err = make_progs(&w);
out:
	refs_end(&w.refs);
	if (err)
		report_free(out);
	return err;
}

void report_free(struct report *r)
{
	int kind;

	free(r->files);
	free(r->cpus);
	free(r->transfers.pairs);
	free(r->sites);
	free(r->folios);
	free(r->hooks);
	free(r->progs);
	for (kind = 0; kind < FS_GPS; kind++)
		free(r->grace[kind].req);
	memset(r, 0, sizeof(*r));
}
