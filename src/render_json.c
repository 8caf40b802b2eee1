/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * render_json.c - a report as JSON, schema "folioscope/1" (docs/schema.json). Built as a tree and
 * dumped in the order of building, so that a replay gives the same bytes as the live view.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render.h"
#include "sanitize.h"

#define SCHEMA "folioscope/1"
#define NSEC_PER_SEC 1000000000ull
#define REAL_DIGITS 15	/* every double prints as it was rounded: 0.1, not 0.1000...0001 */

struct json_ctx {
	const struct report *r;
	json_t *root;
	json_t *hooks, *files, *cpus, *grace;	/* borrowed from root */
	bool failed;	/* no memory for some part */
};

/* Takes over value, NULL meaning there was no memory for it. */
static void put(struct json_ctx *c, json_t *obj, const char *key, json_t *value)
{
	if (json_object_set_new(obj, key, value))
		c->failed = true;
}

static void add(struct json_ctx *c, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		c->failed = true;
}

/* JSON integers are signed 64-bit here: what is beyond saturates. */
static json_t *integer(__u64 v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static json_t *value(const struct value *v)
{
	return v->prov == PROV_UNAVAILABLE ? json_null() : integer(v->v);
}

static json_t *prov(const struct value *v)
{
	if (v->prov == PROV_SAMPLED)
		return json_pack("{s:o}", prov_names[PROV_SAMPLED], integer(v->n));
	return json_string(prov_names[v->prov < PROVS ? v->prov : PROV_UNAVAILABLE]);
}

static json_t *prov_name(__u32 p)
{
	struct value v = { .prov = p, .n = 1 };

	return prov(&v);
}

static json_t *seconds(__u64 ns)
{
	return json_real((double)ns / NSEC_PER_SEC);
}

static json_t *foreign(const char *s, size_t len)
{
	char *safe = sanitize_dup(s, len);
	json_t *j = safe ? json_string(safe) : NULL;

	free(safe);
	return j;
}

static json_t *foreign_or_null(const char *s)
{
	return s && *s ? foreign(s, strlen(s)) : json_null();
}

/* RFC 3339 in UTC, nanoseconds. */
static json_t *wall_time(__u64 ns)
{
	time_t sec = ns / NSEC_PER_SEC;
	char date[32], buf[48];
	struct tm tm;

	if (!gmtime_r(&sec, &tm))
		return json_null();
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, sizeof(buf), "%s.%09" PRIu64 "Z", date, (uint64_t)(ns % NSEC_PER_SEC));
	return json_string(buf);
}

static int begin(void *ctx, const struct report *r)
{
	struct json_ctx *c = ctx;
	json_t *interval = json_object();

	put(c, c->root, "schema", json_string(SCHEMA));
	put(c, c->root, "kernel", foreign(r->last->kernel, strnlen(r->last->kernel,
								  sizeof(r->last->kernel))));
	put(c, c->root, "duration_s", seconds(r->last->mono_ns - r->first->mono_ns));
	put(c, interval, "start", wall_time(r->first->wall_ns));
	put(c, interval, "end", wall_time(r->last->wall_ns));
	put(c, interval, "torn", json_boolean(r->torn));
	put(c, interval, "hotplug", json_boolean(r->hotplug));
	put(c, interval, "clamped", json_boolean(r->clamped));
	put(c, c->root, "interval", interval);
	put(c, c->root, "hooks", c->hooks = json_array());
	/* The place of every part is fixed here; the walk fills them in its own order. */
	put(c, c->root, "totals", json_null());
	put(c, c->root, "machine", json_null());
	put(c, c->root, "other", json_null());
	put(c, c->root, "unattributed", json_null());
	put(c, c->root, "coverage", json_null());
	put(c, c->root, "files", c->files = json_array());
	put(c, c->root, "cpus", c->cpus = json_array());
	put(c, c->root, "transfers", json_null());
	put(c, c->root, "grace", c->grace = json_object());
	return c->failed ? -ENOMEM : 0;
}

static int hook(void *ctx, const struct snap_hook *h)
{
	struct json_ctx *c = ctx;
	json_t *j = json_object();

	put(c, j, "signal", foreign(h->signal, strlen(h->signal)));
	put(c, j, "backend", foreign_or_null(h->backend));
	put(c, j, "target", foreign_or_null(h->target));
	put(c, j, "state", json_string(hook_state_names[h->state < HOOK_STATES ? h->state : 0]));
	put(c, j, "reason", foreign_or_null(h->reason));
	put(c, j, "misses", integer(h->misses));
	add(c, c->hooks, j);
	return 0;
}

/* +- of what is estimated; 19 of 20 are within it. */
static json_t *bounds_object(struct json_ctx *c, const struct report_row *row)
{
	static const enum fig estimated[] = { FIG_GET_BOUNCES, FIG_PUT_BOUNCES };
	json_t *j = json_object();
	size_t i;

	for (i = 0; i < sizeof(estimated) / sizeof(estimated[0]); i++) {
		const struct value *v = &row->v[estimated[i]];

		put(c, j, figures[estimated[i]].json,
		    v->prov == PROV_SAMPLED && v->bounded ? integer(v->bound) : json_null());
	}
	return j;
}

static json_t *refs_object(struct json_ctx *c, const struct report_refs *r)
{
	json_t *j;

	if (!r->valid)
		return json_null();
	j = json_object();
	put(c, j, "gets", integer(r->ops[FS_REF_GET]));
	put(c, j, "puts", integer(r->ops[FS_REF_PUT]));
	put(c, j, "freezes", integer(r->freezes));
	put(c, j, "followed", integer(r->followed));
	put(c, j, "first", integer(r->first));
	put(c, j, "not_followed", integer(r->not_followed));
	return j;
}

static json_t *row_object(struct json_ctx *c, const struct report_row *row)
{
	json_t *j = json_object(), *provs = json_object();
	int f;

	for (f = 0; f < FIGS; f++) {
		put(c, j, figures[f].json, value(&row->v[f]));
		put(c, provs, figures[f].json, prov(&row->v[f]));
	}
	put(c, j, "provenance", provs);
	put(c, j, "bounds", bounds_object(c, row));
	put(c, j, "refs", refs_object(c, &row->refs));
	return j;
}

/* Which functions get and put: --sites. */
static json_t *sites_object(struct json_ctx *c, const struct report_row *row)
{
	json_t *j, *list, *one;
	size_t i;

	if (!row->sites)
		return json_null();
	j = json_object();
	list = json_array();
	for (i = 0; i < row->nsites; i++) {
		const struct snap_site *s = &row->sites[i];

		one = json_object();
		put(c, one, "function", foreign(s->name, strnlen(s->name, sizeof(s->name))));
		put(c, one, "gets", integer(s->ops[FS_REF_GET]));
		put(c, one, "puts", integer(s->ops[FS_REF_PUT]));
		add(c, list, one);
	}
	put(c, j, "functions", list);
	put(c, j, "other_gets", integer(row->sites_other[FS_REF_GET]));
	put(c, j, "other_puts", integer(row->sites_other[FS_REF_PUT]));
	return j;
}

/* CPUs with a bit; null where there are more CPUs than bits. */
static json_t *cpu_list(struct json_ctx *c, const __u64 bits[2])
{
	json_t *j;
	int cpu;

	if (c->r->last->possible_cpus > 128)
		return json_null();
	j = json_array();
	for (cpu = 0; cpu < 128; cpu++)
		if (bits[cpu / 64] >> (cpu % 64) & 1)
			add(c, j, integer(cpu));
	return j;
}

static json_t *folios_array(struct json_ctx *c)
{
	json_t *j = json_array(), *one;
	size_t i;

	for (i = 0; i < c->r->nfolios; i++) {
		const struct snap_folio *f = &c->r->folios[i];

		one = json_object();
		put(c, one, "index", integer(f->index));
		put(c, one, "order", integer(f->order));
		put(c, one, "ops", integer(f->ops));
		put(c, one, "bounces", integer(f->bounces));
		put(c, one, "cpus", cpu_list(c, f->cpus));
		add(c, j, one);
	}
	return j;
}

static json_t *file_object(struct json_ctx *c, const struct report_row *row)
{
	const struct snap_row *s = row->row;
	bool cached = s->flags & ROW_CACHED_VALID;
	json_t *j = json_object();
	char dev[RENDER_DEV];

	render_dev(dev, &s->key);
	put(c, j, "path", s->path ? foreign(s->path, strlen(s->path)) : json_null());
	put(c, j, "deleted", json_boolean(s->flags & ROW_DELETED));
	put(c, j, "dev", json_string(dev));
	put(c, j, "dev_unknown", json_boolean(s->flags & ROW_DEV_UNKNOWN));
	put(c, j, "ino", integer(s->key.ino));
	put(c, j, "generation", integer(s->key.gen));
	put(c, j, "cached_pages", cached ? integer(s->cached_pages) : json_null());
	put(c, j, "size_bytes", cached ? integer(s->size_bytes) : json_null());
	put(c, j, "sites", sites_object(c, row));
	put(c, j, "folios", row == c->r->folios_row ? folios_array(c) : json_null());
	return j;
}

static int row(void *ctx, enum row_kind kind, const struct report_row *r)
{
	static const char *const keys[] = {
		[ROWK_TOTAL] = "totals",
		[ROWK_MACHINE] = "machine",
		[ROWK_OTHER] = "other",
		[ROWK_UNATTRIBUTED] = "unattributed",
	};
	struct json_ctx *c = ctx;
	json_t *j = row_object(c, r), *file;

	if (kind != ROWK_FILE) {
		put(c, c->root, keys[kind], j);
		return 0;
	}
	file = file_object(c, r);
	if (!file || json_object_update(file, j))
		c->failed = true;
	json_decref(j);
	add(c, c->files, file);
	return 0;
}

/* The same keys for what no backend gives: all null. */
static json_t *nulls(struct json_ctx *c, const char *const *keys, size_t n)
{
	json_t *j = json_object();
	size_t i;

	for (i = 0; i < n; i++)
		put(c, j, keys[i], json_null());
	return j;
}

static json_t *deferred_nulls(struct json_ctx *c)
{
	static const char *const keys[] = {
		"enqueued_pages", "drained_pages", "held_pages", "peak_pages", "oldest_ns",
	};

	return nulls(c, keys, 5);
}

static void put_backlog(struct json_ctx *c, json_t *cpu, json_t *provs, const struct report_cpu *r)
{
	const struct {
		enum gauge g;
		const struct value *v;
	} parts[] = {
		{ GAUGE_CALLBACKS, &r->callbacks },
		{ GAUGE_SEG_DONE, &r->seg[0] },
		{ GAUGE_SEG_WAIT, &r->seg[1] },
		{ GAUGE_SEG_NEXT_READY, &r->seg[2] },
		{ GAUGE_SEG_NEXT, &r->seg[3] },
		{ GAUGE_INVOKING, &r->invoking },
		{ GAUGE_KVFREE, &r->kvfree },
		{ GAUGE_PEAK_CALLBACKS, &r->peak_callbacks },
	};
	json_t *backlog = json_object(), *p = json_object();
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put(c, backlog, gauges[parts[i].g].json, value(parts[i].v));
		put(c, p, gauges[parts[i].g].json, prov(parts[i].v));
	}
	put(c, cpu, "backlog", backlog);
	put(c, provs, "backlog", p);
}

static void put_cpu_refs(struct json_ctx *c, json_t *cpu, json_t *provs,
			 const struct report_cpu *r)
{
	const struct {
		const char *key;
		const struct value *v;
	} parts[] = {
		{ "ops", &r->ref_ops },
		{ "get_bounces", &r->get_bounces },
		{ "put_bounces", &r->put_bounces },
	};
	json_t *refs = json_object(), *p = json_object();
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put(c, refs, parts[i].key, value(parts[i].v));
		put(c, p, parts[i].key, prov(parts[i].v));
	}
	put(c, cpu, "refcount", refs);
	put(c, provs, "refcount", p);
}

static int cpu(void *ctx, const struct report_cpu *r)
{
	static const char *const absent[] = { "deferred", "would_defer" };
	struct json_ctx *c = ctx;
	json_t *j = json_object(), *provs = json_object();
	size_t i;

	put(c, j, "cpu", integer(r->cpu->cpu));
	put_backlog(c, j, provs, r);
	put(c, j, "deferred", deferred_nulls(c));
	put(c, j, "would_defer", deferred_nulls(c));
	for (i = 0; i < 2; i++)
		put(c, provs, absent[i], prov_name(PROV_UNAVAILABLE));
	put_cpu_refs(c, j, provs, r);
	put(c, j, "provenance", provs);
	add(c, c->cpus, j);
	return 0;
}

/* [upper edge in ns, latencies up to it], from the first bucket in use to the last. */
static json_t *buckets_array(struct json_ctx *c, const __u64 b[FS_LAT_BUCKETS])
{
	unsigned int k = 0, last = FS_LAT_BUCKETS;
	json_t *j = json_array();
	__u64 sum = 0;

	while (last && !b[last - 1])
		last--;
	while (k < last && !b[k])
		k++;
	for (; k < last; k++) {
		sum += b[k];
		add(c, j, json_pack("[o,o]", integer(1ull << k), integer(sum)));
	}
	return j;
}

static json_t *latency_object(struct json_ctx *c, const struct report_grace *g)
{
	json_t *j;

	if (g->lat_prov == PROV_UNAVAILABLE)
		return json_null();
	j = json_object();
	put(c, j, "count", integer(g->lat_count));
	put(c, j, "sum", integer(g->lat_sum));
	/* No quantile of nothing. */
	put(c, j, "p50", g->lat_count ? integer(g->p50) : json_null());
	put(c, j, "p99", g->lat_count ? integer(g->p99) : json_null());
	put(c, j, "max", g->lat_count ? integer(g->lat_max) : json_null());
	put(c, j, "buckets", buckets_array(c, g->buckets));
	return j;
}

static json_t *requesters_array(struct json_ctx *c, const struct report_grace *g)
{
	json_t *j, *one;
	size_t i;

	if (g->req_prov == PROV_UNAVAILABLE)
		return json_null();
	j = json_array();
	for (i = 0; i < g->nreq; i++) {
		one = json_object();
		put(c, one, "comm", foreign(g->req[i].comm, strnlen(g->req[i].comm, FS_COMM)));
		put(c, one, "tgid", integer(g->req[i].tgid));
		put(c, one, "count", integer(g->req[i].count));
		add(c, j, one);
	}
	return j;
}

static int grace(void *ctx, enum fs_gp kind, const struct report_grace *g)
{
	bool counted = g->started.prov != PROV_UNAVAILABLE;
	json_t *j = json_object(), *provs = json_object();
	struct json_ctx *c = ctx;

	put(c, j, "started", value(&g->started));
	put(c, j, "completed", value(&g->completed));
	put(c, j, "ours", counted ? integer(g->ours) : json_null());
	put(c, j, "latency_ns", latency_object(c, g));
	put(c, j, "requesters", requesters_array(c, g));
	put(c, provs, "count", prov(&g->started));
	put(c, provs, "latency", prov_name(g->lat_prov));
	put(c, provs, "max", prov_name(g->lat_prov != PROV_UNAVAILABLE && g->max_is_edge ?
				       PROV_UPPER_BOUND : g->lat_prov));
	put(c, provs, "requesters", prov_name(g->req_prov));
	put(c, j, "provenance", provs);
	put(c, c->grace, kind == FS_GP_NORMAL ? "normal" : "expedited", j);
	return 0;
}

static int lost(void *ctx, const struct snap_lost *l)
{
	struct json_ctx *c = ctx;
	json_t *j = json_object();

	put(c, j, "map_full", integer(l->map_full));
	put(c, j, "ring_full", integer(l->ring_full));
	put(c, j, "recursion_misses", integer(l->recursion_misses));
	put(c, j, "torn", integer(l->torn));
	put(c, j, "witness", integer(l->witness));
	put(c, c->root, "lost", j);
	return 0;
}

static int overhead(void *ctx, const struct report *r)
{
	json_t *j = json_object(), *progs = json_array(), *p;
	bool stats = r->last->run_stats;
	struct json_ctx *c = ctx;
	size_t i;

	for (i = 0; i < r->nprogs; i++) {
		const struct snap_prog *prog = &r->progs[i];

		p = json_object();
		put(c, p, "name", foreign(prog->name, strnlen(prog->name, sizeof(prog->name))));
		put(c, p, "runs", stats ? integer(prog->runs) : json_null());
		put(c, p, "ns", stats ? integer(prog->ns) : json_null());
		add(c, progs, p);
	}
	put(c, j, "programs", progs);
	put(c, j, "self_cpu_s", seconds(r->self_cpu_ns));
	put(c, j, "map_bytes", integer(r->last->map_bytes));
	put(c, c->root, "overhead", j);
	return 0;
}

static void put_transfers(struct json_ctx *c, const struct report_transfers *t)
{
	static const enum distance known[] = {
		DIST_SMT, DIST_LLC, DIST_NODE, DIST_REMOTE, DIST_UNKNOWN,
	};
	bool there = t->prov != PROV_UNAVAILABLE && t->pairs;
	json_t *j = json_object(), *distance = json_object(), *pairs = json_array();
	struct value v = { .prov = there ? t->prov : PROV_UNAVAILABLE, .n = t->n };
	size_t i;

	put(c, j, "provenance", prov(&v));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		put(c, distance, distance_names[known[i]],
		    there ? integer(t->distance[known[i]]) : json_null());
	put(c, j, "distance", distance);
	put(c, j, "llc_unknown", there ? json_boolean(t->llc_unknown) : json_null());
	for (i = 0; i < t->npairs; i++)
		add(c, pairs, json_pack("[o,o,o]", integer(t->pairs[i].from),
					integer(t->pairs[i].to), integer(t->pairs[i].count)));
	if (!there) {
		json_decref(pairs);
		pairs = json_null();
	}
	put(c, j, "pairs", pairs);
	put(c, j, "other", there ? integer(t->other) : json_null());
	put(c, c->root, "transfers", j);
}

static int end(void *ctx, const struct report *r)
{
	struct json_ctx *c = ctx;
	json_t *cov = json_object();

	put(c, cov, "files_shown", integer(r->nfiles));
	put(c, cov, "files_seen", integer(r->nfiles_all));
	/* To a millionth: more digits would be noise. */
	put(c, cov, "accesses_share",
	    isnan(r->coverage) ? json_null() :
				 json_real((double)(__u64)(r->coverage * 1e6 + 0.5) / 1e6));
	put(c, c->root, "coverage", cov);
	put_transfers(c, &r->transfers);
	return 0;
}

static const struct render_ops json_ops = {
	.begin = begin,
	.hook = hook,
	.row = row,
	.cpu = cpu,
	.grace = grace,
	.lost = lost,
	.overhead = overhead,
	.end = end,
};

int render_json(FILE *out, const struct report *r)
{
	struct json_ctx c = { .r = r, .root = json_object() };
	int err = c.root ? report_walk(r, &json_ops, &c) : -ENOMEM;

	if (!err && c.failed)
		err = -ENOMEM;
	errno = 0;
	if (!err && (json_dumpf(c.root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS)) ||
		     fputc('\n', out) == EOF || fflush(out)))
		err = errno ? -errno : -EIO;
	json_decref(c.root);
	return err;
}
