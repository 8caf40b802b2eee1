// SPDX-License-Identifier: GPL-2.0-only
/* refs.c - see refs.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "refs.h"
#include "probes.skel.h"

#define GROUP_BATCH 1024U

struct group_row {
	struct fs_key key;
	struct fs_ref_groups g;
};

static __u64 word(const __u64 *w, enum fs_word id)
{
	return __atomic_load_n(&w[id - FS_W_REF], __ATOMIC_RELAXED);
}

int refs_open(struct refs *r, const struct tracer *t)
{
	size_t page = sysconf(_SC_PAGESIZE);

	memset(r, 0, sizeof(*r));
	if (!t->sig[SIG_REFCOUNT_OPS].chosen)
		return 0;
	r->bytes = (t->nr_cpus * sizeof(*r->cpus) + page - 1) / page * page;
	r->cpus = mmap(NULL, r->bytes, PROT_READ, MAP_SHARED,
		       bpf_map__fd(t->skel->maps.refcount_cpus), 0);
	if (r->cpus == MAP_FAILED) {
		r->cpus = NULL;
		return -errno;
	}
	r->tracer = t;
	refs_hotplug(r);
	detail_open(&r->detail, t);
	return 0;
}

void refs_close(struct refs *r)
{
	if (r->cpus)
		munmap(r->cpus, r->bytes);
	topology_free(&r->topology);
	detail_close(&r->detail);
	free(r->groups);
	memset(r, 0, sizeof(*r));
}

void refs_hotplug(struct refs *r)
{
	int err = r->tracer ? topology_update(&r->topology, TOPOLOGY_SYSFS) : 0;

	if (err)
		log_warn("CPU topology: read: %s; distances of transfers are unknown", errstr(err));
}

/* ---- groups ---- */

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fs_key));
}

/* All groups of all files, sorted. A map that changes meanwhile gives a few of them twice. */
static int read_groups(struct refs *r)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	int fd = bpf_map__fd(r->tracer->skel->maps.refcount_groups), err = 0;
	__u32 max = r->tracer->tables.group_entries, token = 0, n, i;
	struct fs_ref_groups *vals = malloc(GROUP_BATCH * sizeof(*vals));
	struct fs_key *keys = malloc(GROUP_BATCH * sizeof(*keys));
	bool first = true;

	r->ngroups = 0;
	if (!r->groups)
		r->groups = calloc(max, sizeof(*r->groups));
	while (vals && keys && r->groups && !err) {
		n = GROUP_BATCH;
		err = bpf_map_lookup_batch(fd, first ? NULL : &token, &token, keys, vals, &n, &opts);
		first = false;
		if (err && err != -ENOENT)
			break;
		for (i = 0; i < n && r->ngroups < max; i++) {
			r->groups[r->ngroups].key = keys[i];
			r->groups[r->ngroups++].g = vals[i];
		}
	}
	if (!vals || !keys || !r->groups)
		err = -ENOMEM;
	free(vals);
	free(keys);
	if (r->ngroups)
		qsort(r->groups, r->ngroups, sizeof(*r->groups), compare_keys);
	return err == -ENOMEM ? err : 0;
}

static const struct fs_ref_groups *find_groups(const struct refs *r, const struct fs_key *key)
{
	struct fs_key k = *key;
	const struct group_row *row;

	k.scope = FS_SCOPE_IN;
	row = r->ngroups ? bsearch(&k, r->groups, r->ngroups, sizeof(*r->groups), compare_keys) :
			   NULL;
	return row ? &row->g : NULL;
}

/* ---- rows and sums ---- */

/* Late ops are taken off; where the two were of different sides there are none left. */
static __u64 not_negative(__u64 v)
{
	return (__s64)v < 0 ? 0 : v;
}

/* w: from FS_W_REF on. */
static void fill_ref(struct snap_ref *out, const __u64 *w, const struct fs_ref_groups *g)
{
	int side, i;

	out->ops[FS_REF_GET] = word(w, FS_W_GETS);
	out->ops[FS_REF_PUT] = word(w, FS_W_PUTS);
	out->freezes = word(w, FS_W_FREEZES);
	out->not_followed = word(w, FS_W_NOT_FOLLOWED);
	out->grouped = g != NULL;
	for (side = 0; side < FS_REF_SIDES; side++) {
		struct bounce_sample *s = &out->sample[side];

		if (!g) {
			s->followed[0] = word(w, FS_W_GET_FOLLOWED + side);
			s->bounced[0] = word(w, FS_W_GET_BOUNCES + side);
			s->first[0] = not_negative(word(w, FS_W_GET_FIRST + side));
			continue;
		}
		for (i = 0; i < FS_REF_GROUPS; i++) {
			s->followed[i] = g->followed[side][i];
			s->bounced[i] = g->bounced[side][i];
			s->first[i] = not_negative(g->first[side][i]);
		}
	}
}

/* Figures of a row or a sum that has the words w, from FS_W_REF on. */
static void fill_figures(__u64 v[FIGS], const __u64 *w)
{
	v[FIG_REF_OPS] = word(w, FS_W_GETS) + word(w, FS_W_PUTS);
	v[FIG_GET_BOUNCES] = word(w, FS_W_GET_BOUNCES);
	v[FIG_PUT_BOUNCES] = word(w, FS_W_PUT_BOUNCES);
	v[FIG_FAILED_GETS] = word(w, FS_W_FAILED_GETS);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct snap_pair *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int read_pairs(struct refs *r, struct snap_refs *out)
{
	size_t i, from;
	__u32 cpu;

	out->pairs = calloc((size_t)r->tracer->nr_cpus * FS_REF_PAIRS, sizeof(*out->pairs));
	if (!out->pairs)
		return -ENOMEM;
	for (cpu = 0; cpu < r->tracer->nr_cpus; cpu++) {
		const struct fs_ref_cpu *c = &r->cpus[cpu];

		out->other += c->other;
		out->sites_full += c->sites_full;
		from = out->npairs;
		for (i = 0; i < FS_REF_PAIRS; i++)
			if (c->pair[i].from && c->pair[i].count)
				out->pairs[out->npairs++] = (struct snap_pair){
					c->pair[i].from - 1, cpu, c->pair[i].count };
		qsort(out->pairs + from, out->npairs - from, sizeof(*out->pairs), compare_pairs);
	}
	return 0;
}

static void fill_cpu(const struct refs *r, struct snap_ref_cpu *out, const __u64 *w, __u32 cpu)
{
	const struct topology *t = &r->topology;
	int side, i;

	out->cpu = cpu;
	for (i = 0; i < TOPOLOGY_LEVELS; i++)
		out->place[i] = cpu < t->ncpus ? t->cpu[cpu].id[i] : TOPOLOGY_NONE;
	for (side = 0; side < FS_REF_SIDES; side++) {
		out->ops[side] = word(w, FS_W_GETS + side);
		out->followed[side] = word(w, FS_W_GET_FOLLOWED + side);
		out->bounces[side] = word(w, FS_W_GET_BOUNCES + side);
	}
}

static int read_cpus(struct refs *r, struct snap_refs *out)
{
	__u32 cpu;

	out->cpus = calloc(r->tracer->nr_cpus, sizeof(*out->cpus));
	if (!out->cpus)
		return -ENOMEM;
	out->ncpus = r->tracer->nr_cpus;
	for (cpu = 0; cpu < out->ncpus; cpu++)
		fill_cpu(r, &out->cpus[cpu], r->cpus[cpu].w, cpu);
	return 0;
}

/* Each op is in one place: rows + other + unattributed are the totals. */
static void read_sums(struct refs *r, __u64 total[FS_SCOPES][FS_WORDS], struct snapshot *s)
{
	__u64 un[FS_REF_WORDS] = {}, *in = &total[FS_SCOPE_IN][FS_W_REF];
	__u32 cpu;
	int i;

	for (cpu = 0; cpu < r->tracer->nr_cpus; cpu++)
		for (i = 0; i < FS_REF_WORDS; i++)
			un[i] += __atomic_load_n(&r->cpus[cpu].un[i], __ATOMIC_RELAXED);
	for (i = 0; i < FS_REF_WORDS; i++)
		in[i] += un[i];
	fill_ref(&s->refs.unattributed, un, NULL);
	fill_figures(s->unattributed, un);
	fill_ref(&s->refs.total, in, NULL);
	fill_figures(s->total[FS_SCOPE_IN], in);
	fill_ref(&s->refs.outside, &total[FS_SCOPE_OUT][FS_W_REF], NULL);
	fill_figures(s->total[FS_SCOPE_OUT], &total[FS_SCOPE_OUT][FS_W_REF]);
}

static bool has_refs(const __u64 *w)
{
	int i;

	for (i = 0; i < FS_REF_WORDS; i++)
		if (w[i])
			return true;
	return false;
}

/* The rows are there already, one for each file of the table, in its order. */
static int read_files(struct refs *r, const struct table *t, struct snapshot *s)
{
	__u64 w[FS_REF_WORDS];
	struct file *f;
	size_t i, row = 0;
	int k;

	s->refs.files = calloc(s->nrows ?: 1, sizeof(*s->refs.files));
	if (!s->refs.files)
		return -ENOMEM;
	for (i = 0; (f = table_next(t, &i)) && row < s->nrows; i++, row++) {
		struct snap_ref *out = &s->refs.files[s->refs.nfiles];

		for (k = 0; k < FS_REF_WORDS; k++)
			w[k] = f->base[FS_W_REF + k] + f->cur[FS_W_REF + k];
		if (!has_refs(w))
			continue;
		fill_figures(s->rows[row].v, w);
		out->key = s->rows[row].key;
		out->birth = s->rows[row].birth;
		fill_ref(out, w, find_groups(r, &out->key));
		s->refs.nfiles++;
	}
	return 0;
}

int refs_read(struct refs *r, const struct table *t, __u64 total[FS_SCOPES][FS_WORDS],
	      struct snapshot *s)
{
	int err = 0;

	if (!r->tracer)
		return 0;
	s->refs.every = r->tracer->every;
	s->refs.shift = FS_REF_WINDOW_SHIFT;
	s->refs.flags = (r->topology.numa ? REFS_NUMA : 0) |
			(r->topology.llc_unknown ? REFS_LLC_UNKNOWN : 0);
	s->refs.sides = r->tracer->sig[SIG_REFCOUNT_OPS].chosen->variant->ref == REFS_DERIVED ?
			1U << FS_REF_GET : 1U << FS_REF_GET | 1U << FS_REF_PUT;
	if (s->refs.every > 1)
		err = read_groups(r);
	err = err ?: read_pairs(r, &s->refs);
	err = err ?: read_files(r, t, s);
	err = err ?: detail_read(&r->detail, &s->refs);
	read_sums(r, total, s);
	return err ?: read_cpus(r, &s->refs);
}

/* ---- provenance ---- */

void refs_provenance(const struct tracer *t, struct snapshot *s)
{
	const struct verdict *v = t->sig[SIG_REFCOUNT_OPS].chosen;
	enum prov ops = PROV_MEASURED;
	int f;

	if (!v)
		return;
	if (v->variant->ref != REFS_PAGE_REF)
		ops = PROV_DERIVED;
	if (v->variant->ref == REFS_DERIVED && !t->hot_known)
		ops = PROV_UPPER_BOUND;
	else if (t->sig[SIG_REFCOUNT_OPS].state == HOOK_DEGRADED)
		ops = PROV_LOWER_BOUND;
	s->prov[FIG_REF_OPS] = ops;
	for (f = FIG_GET_BOUNCES; f <= FIG_PUT_BOUNCES; f++) {
		s->prov[f] = t->every > 1 ? PROV_SAMPLED : ops;
		s->sample_n[f] = t->every > 1 ? t->every : 0;
	}
	if (v->variant->ref == REFS_DERIVED)
		s->prov[FIG_PUT_BOUNCES] = PROV_UNAVAILABLE;
	if (v->variant->ref == REFS_PAGE_REF)
		s->prov[FIG_FAILED_GETS] = ops;
}
