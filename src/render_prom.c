/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * render_prom.c - a report as Prometheus text (exposition format 0.0.4). Names, HELP and TYPE come
 * from figures.c. No label grows without bound: no pid, inode, address or CPU is one, and files
 * are capped. What is unavailable has no series at all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render.h"
#include "sanitize.h"
#include "version.h"

#define NSEC_PER_SEC 1000000000ull
/*
 * Edges of the grace-period histogram, 2^k ns: 1 us to 69 s. Fixed, because a histogram whose
 * buckets come and go cannot be summed over time; shorter ones are in the first bucket.
 */
#define LE_FIRST 10
#define LE_LAST 36
#define FILE_GAUGES 2

/* One row of files with the same labels. */
struct prom_file {
	char *path;	/* as label value, escaped; owned */
	char dev[RENDER_DEV];
	__u64 v[FIGS];
	__u64 cached, size;
	bool has_cached;
	unsigned int figs;	/* bit per figure that is not null */
};

struct prom_ctx {
	FILE *out;
	const struct report *r;
	size_t series, max_series;
};

static void header(struct prom_ctx *c, const struct figure_info *f, const char *scope,
		   const char *help)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	const char *total = f->type == METRIC_COUNTER ? "_total" : "";

	fprintf(c->out, "# HELP folioscope_%s%s%s %s%s\n", scope, f->metric, total, help, f->help);
	fprintf(c->out, "# TYPE folioscope_%s%s%s %s\n", scope, f->metric, total, types[f->type]);
}

/* The name of a series, to be followed by labels and value. */
static void name(struct prom_ctx *c, const struct figure_info *f, const char *scope)
{
	fprintf(c->out, "folioscope_%s%s%s", scope, f->metric,
		f->type == METRIC_COUNTER ? "_total" : "");
	c->series++;
}

/* Writes sanitized text as the inside of a label value. */
static char *escape_label(const char *safe)
{
	char *out = malloc(2 * strlen(safe) + 1), *p = out;

	for (; out && *safe; safe++) {
		if (*safe == '\\' || *safe == '"' || *safe == '\n')
			*p++ = '\\';
		*p++ = *safe == '\n' ? 'n' : *safe;
	}
	if (out)
		*p = '\0';
	return out;
}

static char *label_dup(const char *s, size_t len)
{
	char *safe = sanitize_dup(s, len);
	char *out = safe ? escape_label(safe) : NULL;

	free(safe);
	return out;
}

static int label(struct prom_ctx *c, const char *sep, const char *key, const char *s, size_t size)
{
	char *v = label_dup(s, strnlen(s, size));

	if (!v)
		return -ENOMEM;
	fprintf(c->out, "%s%s=\"%s\"", sep, key, v);
	free(v);
	return 0;
}

static void sample(struct prom_ctx *c, __u64 v)
{
	fprintf(c->out, " %" PRIu64 "\n", (uint64_t)v);
}

/* Exactly, in as few digits as that needs: 0.000001024. */
static void seconds(struct prom_ctx *c, __u64 ns)
{
	char frac[16];
	int len;

	fprintf(c->out, "%" PRIu64, (uint64_t)(ns / NSEC_PER_SEC));
	len = snprintf(frac, sizeof(frac), ".%09" PRIu64, (uint64_t)(ns % NSEC_PER_SEC));
	while (frac[len - 1] == '0')
		len--;
	if (len > 1)
		fwrite(frac, 1, len, c->out);
}

static void plain(struct prom_ctx *c, enum gauge g, __u64 v)
{
	header(c, &gauges[g], "", "");
	name(c, &gauges[g], "");
	sample(c, v);
}

static void plain_seconds(struct prom_ctx *c, enum gauge g, __u64 ns)
{
	header(c, &gauges[g], "", "");
	name(c, &gauges[g], "");
	fputc(' ', c->out);
	seconds(c, ns);
	fputc('\n', c->out);
}

static int build_info(struct prom_ctx *c)
{
	const char *kernel = c->r->last->kernel;
	int err;

	header(c, &gauges[GAUGE_BUILD_INFO], "", "");
	name(c, &gauges[GAUGE_BUILD_INFO], "");
	err = label(c, "{", "version", FOLIOSCOPE_VERSION, sizeof(FOLIOSCOPE_VERSION));
	if (!err)
		err = label(c, ",", "kernel", kernel, sizeof(c->r->last->kernel));
	fputc('}', c->out);
	sample(c, 1);
	return err;
}

static void interval(struct prom_ctx *c)
{
	const struct {
		const char *flag;
		bool on;
	} flags[] = {
		{ "torn", c->r->torn }, { "hotplug", c->r->hotplug }, { "clamped", c->r->clamped },
	};
	size_t i;

	plain_seconds(c, GAUGE_INTERVAL, c->r->last->mono_ns - c->r->first->mono_ns);
	header(c, &gauges[GAUGE_INTERVAL_FLAG], "", "");
	for (i = 0; i < 3; i++) {
		name(c, &gauges[GAUGE_INTERVAL_FLAG], "");
		fprintf(c->out, "{flag=\"%s\"}", flags[i].flag);
		sample(c, flags[i].on);
	}
}

static int hook_labels(struct prom_ctx *c, const struct snap_hook *h)
{
	int err = label(c, "{", "signal", h->signal, sizeof(h->signal));

	return err ? err : label(c, ",", "backend", h->backend, sizeof(h->backend));
}

/* Every hook, attached or not: this is where a fleet learns why a series is absent. */
static int hook_states(struct prom_ctx *c)
{
	int err = 0;
	size_t i;

	if (c->r->nhooks)
		header(c, &gauges[GAUGE_HOOK_STATE], "", "");
	for (i = 0; i < c->r->nhooks && !err; i++) {
		const struct snap_hook *h = &c->r->hooks[i];

		name(c, &gauges[GAUGE_HOOK_STATE], "");
		err = hook_labels(c, h);
		if (!err)
			err = label(c, ",", "reason", h->reason, sizeof(h->reason));
		fprintf(c->out, ",state=\"%s\"} 1\n",
			hook_state_names[h->state < HOOK_STATES ? h->state : HOOK_UNAVAILABLE]);
	}
	return err;
}

static int hook_misses(struct prom_ctx *c)
{
	bool headed = false;
	int err = 0;
	size_t i;

	for (i = 0; i < c->r->nhooks && !err; i++) {
		const struct snap_hook *h = &c->r->hooks[i];

		if (h->state == HOOK_UNAVAILABLE)
			continue;
		if (!headed)
			header(c, &gauges[GAUGE_HOOK_MISSES], "", "");
		headed = true;
		name(c, &gauges[GAUGE_HOOK_MISSES], "");
		err = hook_labels(c, h);
		fputc('}', c->out);
		sample(c, h->misses);
	}
	return err;
}

static void provenance(struct prom_ctx *c)
{
	int f;

	header(c, &gauges[GAUGE_PROVENANCE], "", "");
	for (f = 0; f < FIGS; f++) {
		name(c, &gauges[GAUGE_PROVENANCE], "");
		fprintf(c->out, "{figure=\"%s\",provenance=\"%s\"} 1\n", figures[f].json,
			prov_names[c->r->totals.v[f].prov]);
	}
}

static int begin(void *ctx, const struct report *r)
{
	struct prom_ctx *c = ctx;
	int err = build_info(c);

	interval(c);
	if (!err)
		err = hook_states(c);
	if (!err)
		err = hook_misses(c);
	provenance(c);
	return err;
}

/* Totals and machine; files come last, when it is known how many series are left for them. */
static int row(void *ctx, enum row_kind kind, const struct report_row *r)
{
	bool machine = kind == ROWK_MACHINE;
	struct prom_ctx *c = ctx;
	int f;

	if (kind != ROWK_TOTAL && !machine)
		return 0;
	for (f = 0; f < FIGS; f++) {
		if (r->v[f].prov == PROV_UNAVAILABLE)
			continue;
		header(c, &figures[f], machine ? "machine_" : "",
		       machine ? "Whole machine, whatever the filter: " : "");
		name(c, &figures[f], machine ? "machine_" : "");
		sample(c, r->v[f].v);
	}
	return 0;
}

struct spread {
	__u64 min, max, sum;
	size_t n;
};

static struct spread spread_of(const struct report *r, size_t offset)
{
	struct spread s = { .min = ~0ull };
	size_t i;

	for (i = 0; i < r->ncpus; i++) {
		const struct value *v = (const void *)((const char *)&r->cpus[i] + offset);

		if (v->prov == PROV_UNAVAILABLE)
			continue;
		s.n++;
		s.sum = s.sum + v->v < s.sum ? ~0ull : s.sum + v->v;
		s.min = v->v < s.min ? v->v : s.min;
		s.max = v->v > s.max ? v->v : s.max;
	}
	return s;
}

static void spread_gauge(struct prom_ctx *c, const struct figure_info *f, const char *suffix,
			 const char *help)
{
	fprintf(c->out, "# HELP folioscope_%s%s %s%s\n", f->metric, suffix, help, f->help);
	fprintf(c->out, "# TYPE folioscope_%s%s gauge\n", f->metric, suffix);
	fprintf(c->out, "folioscope_%s%s ", f->metric, suffix);
	c->series++;
}

/*
 * One gauge over all CPUs: its sum under the plain name (a suffix _sum belongs to histograms), and
 * the least and most loaded CPU. Skew is the most loaded over the mean: 1 is even; absent where
 * nothing is queued.
 */
static void backlog_gauge(struct prom_ctx *c, enum gauge g, size_t offset)
{
	struct spread s = spread_of(c->r, offset);
	const struct figure_info *f = &gauges[g];
	double skew;

	if (!s.n)
		return;
	spread_gauge(c, f, "", "Sum over CPUs: ");
	fprintf(c->out, "%" PRIu64 "\n", (uint64_t)s.sum);
	spread_gauge(c, f, "_cpu_min", "Of the CPU that has least: ");
	fprintf(c->out, "%" PRIu64 "\n", (uint64_t)s.min);
	spread_gauge(c, f, "_cpu_max", "Of the CPU that has most: ");
	fprintf(c->out, "%" PRIu64 "\n", (uint64_t)s.max);
	if (!s.sum)
		return;
	skew = (double)s.max * s.n / s.sum;
	spread_gauge(c, f, "_cpu_skew", "Most loaded CPU over the mean, 1 is even: ");
	/* In thousandths and by integers: a locale must not choose the decimal point. */
	fprintf(c->out, "%" PRIu64 ".%03" PRIu64 "\n", (uint64_t)(skew * 1000 + 0.5) / 1000,
		(uint64_t)(skew * 1000 + 0.5) % 1000);
}

static void backlog(struct prom_ctx *c)
{
	static const struct {
		enum gauge g;
		size_t offset;
	} parts[] = {
		{ GAUGE_CALLBACKS, offsetof(struct report_cpu, callbacks) },
		{ GAUGE_SEG_DONE, offsetof(struct report_cpu, seg[0]) },
		{ GAUGE_SEG_WAIT, offsetof(struct report_cpu, seg[1]) },
		{ GAUGE_SEG_NEXT_READY, offsetof(struct report_cpu, seg[2]) },
		{ GAUGE_SEG_NEXT, offsetof(struct report_cpu, seg[3]) },
		{ GAUGE_INVOKING, offsetof(struct report_cpu, invoking) },
		{ GAUGE_KVFREE, offsetof(struct report_cpu, kvfree) },
		{ GAUGE_PEAK_CALLBACKS, offsetof(struct report_cpu, peak_callbacks) },
	};
	struct spread s = spread_of(c->r, parts[0].offset);
	size_t i;

	if (s.n)
		plain(c, GAUGE_BACKLOG_CPUS, s.n);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		backlog_gauge(c, parts[i].g, parts[i].offset);
}

static const char *const kinds[FS_GPS] = { "normal", "expedited" };

static void grace_counter(struct prom_ctx *c, enum gauge g, const __u64 v[FS_GPS])
{
	bool headed = false;
	int kind;

	for (kind = 0; kind < FS_GPS; kind++) {
		if (c->r->grace[kind].started.prov == PROV_UNAVAILABLE)
			continue;
		if (!headed)
			header(c, &gauges[g], "", "");
		headed = true;
		name(c, &gauges[g], "");
		fprintf(c->out, "{kind=\"%s\"}", kinds[kind]);
		sample(c, v[kind]);
	}
}

static void histogram(struct prom_ctx *c, int kind)
{
	static const char metric[] = "folioscope_grace_latency_seconds";
	const struct report_grace *g = &c->r->grace[kind];
	__u64 sum = 0;
	int k;

	for (k = 0; k <= LE_LAST; k++) {
		sum += g->buckets[k];
		if (k < LE_FIRST)
			continue;
		fprintf(c->out, "%s_bucket{kind=\"%s\",le=\"", metric, kinds[kind]);
		seconds(c, 1ull << k);
		fputs("\"}", c->out);
		sample(c, sum);
	}
	fprintf(c->out, "%s_bucket{kind=\"%s\",le=\"+Inf\"}", metric, kinds[kind]);
	sample(c, g->lat_count);
	fprintf(c->out, "%s_sum{kind=\"%s\"} ", metric, kinds[kind]);
	seconds(c, g->lat_sum);
	fprintf(c->out, "\n%s_count{kind=\"%s\"}", metric, kinds[kind]);
	sample(c, g->lat_count);
	c->series += LE_LAST - LE_FIRST + 4;
}

static void grace_periods(struct prom_ctx *c)
{
	const struct report_grace *g = c->r->grace;
	__u64 started[FS_GPS], completed[FS_GPS], ours[FS_GPS];
	bool headed = false;
	int kind;

	for (kind = 0; kind < FS_GPS; kind++) {
		started[kind] = g[kind].started.v;
		completed[kind] = g[kind].completed.v;
		ours[kind] = g[kind].ours;
	}
	grace_counter(c, GAUGE_GP_STARTED, started);
	grace_counter(c, GAUGE_GP_COMPLETED, completed);
	grace_counter(c, GAUGE_GP_OURS, ours);
	for (kind = 0; kind < FS_GPS; kind++) {
		if (g[kind].lat_prov == PROV_UNAVAILABLE)
			continue;
		if (!headed)
			header(c, &gauges[GAUGE_GP_LATENCY], "", "");
		headed = true;
		histogram(c, kind);
	}
}

static int lost(void *ctx, const struct snap_lost *l)
{
	const struct {
		const char *cause;
		__u64 v;
	} causes[] = {
		{ "map_full", l->map_full },
		{ "ring_full", l->ring_full },
		{ "recursion_misses", l->recursion_misses },
		{ "torn", l->torn },
		{ "witness", l->witness },
	};
	struct prom_ctx *c = ctx;
	size_t i;

	header(c, &gauges[GAUGE_LOST], "", "");
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		name(c, &gauges[GAUGE_LOST], "");
		fprintf(c->out, "{cause=\"%s\"}", causes[i].cause);
		sample(c, causes[i].v);
	}
	return 0;
}

static int programs(struct prom_ctx *c, enum gauge g)
{
	int err = 0;
	size_t i;

	if (c->r->nprogs)
		header(c, &gauges[g], "", "");
	for (i = 0; i < c->r->nprogs && !err; i++) {
		const struct snap_prog *p = &c->r->progs[i];

		name(c, &gauges[g], "");
		err = label(c, "{", "program", p->name, sizeof(p->name));
		fputs("} ", c->out);
		if (g == GAUGE_PROG_TIME)
			seconds(c, p->ns);
		else
			fprintf(c->out, "%" PRIu64, (uint64_t)p->runs);
		fputc('\n', c->out);
	}
	return err;
}

static void transfers(struct prom_ctx *c)
{
	const struct report_transfers *t = &c->r->transfers;
	int d;

	if (t->prov == PROV_UNAVAILABLE || !t->pairs)
		return;
	header(c, &gauges[GAUGE_TRANSFERS], "", "");
	for (d = DIST_SMT; d < DISTANCES; d++) {
		name(c, &gauges[GAUGE_TRANSFERS], "");
		fprintf(c->out, "{distance=\"%s\"}", distance_names[d]);
		sample(c, t->distance[d]);
	}
}

static void bounds(struct prom_ctx *c)
{
	static const enum fig estimated[] = { FIG_GET_BOUNCES, FIG_PUT_BOUNCES };
	bool headed = false;
	size_t i;

	for (i = 0; i < sizeof(estimated) / sizeof(estimated[0]); i++) {
		const struct value *v = &c->r->totals.v[estimated[i]];

		if (v->prov != PROV_SAMPLED || !v->bounded)
			continue;
		if (!headed)
			header(c, &gauges[GAUGE_BOUND], "", "");
		headed = true;
		name(c, &gauges[GAUGE_BOUND], "");
		fprintf(c->out, "{figure=\"%s\"}", figures[estimated[i]].json);
		sample(c, v->bound);
	}
}

static int overhead(void *ctx, const struct report *r)
{
	struct prom_ctx *c = ctx;
	int err = 0;

	transfers(c);
	bounds(c);
	backlog(c);
	grace_periods(c);
	plain_seconds(c, GAUGE_SELF_CPU, r->self_cpu_ns);
	plain(c, GAUGE_MAP_BYTES, r->last->map_bytes);
	if (r->last->run_stats)
		err = programs(c, GAUGE_PROG_RUNS);
	if (!err && r->last->run_stats)
		err = programs(c, GAUGE_PROG_TIME);
	return err;
}

/* --- files ------------------------------------------------------------------------------ */

static void file_add(struct prom_file *p, const struct report_row *r)
{
	int f;

	for (f = 0; f < FIGS; f++) {
		if (r->v[f].prov == PROV_UNAVAILABLE)
			continue;
		p->figs |= 1u << f;
		p->v[f] = p->v[f] + r->v[f].v < p->v[f] ? ~0ull : p->v[f] + r->v[f].v;
	}
	if (r->row && r->row->flags & ROW_CACHED_VALID) {
		p->has_cached = true;
		p->cached += r->row->cached_pages;
		p->size += r->row->size_bytes;
	}
}

static int file_fill(struct prom_file *p, const struct report_row *r)
{
	const char *path = r->row->path ? r->row->path : "unknown";

	memset(p, 0, sizeof(*p));
	p->path = label_dup(path, strlen(path));
	if (!p->path)
		return -ENOMEM;
	render_dev(p->dev, &r->row->key);
	file_add(p, r);
	return 0;
}

static int cmp_labels(const void *a, const void *b)
{
	const struct prom_file *pa = a, *pb = b;
	int c = strcmp(pa->path, pb->path);

	return c ? c : strcmp(pa->dev, pb->dev);
}

/* Files of one name on one device (deleted and made again) are one series. */
static size_t merge_equal(struct prom_file *p, size_t n)
{
	size_t i, kept = 0;
	int f;

	qsort(p, n, sizeof(*p), cmp_labels);
	for (i = 0; i < n; i++) {
		if (!kept || cmp_labels(&p[kept - 1], &p[i])) {
			p[kept++] = p[i];
			continue;
		}
		for (f = 0; f < FIGS; f++)
			p[kept - 1].v[f] += p[i].v[f];
		p[kept - 1].figs |= p[i].figs;
		p[kept - 1].cached += p[i].cached;
		p[kept - 1].size += p[i].size;
		p[kept - 1].has_cached |= p[i].has_cached;
		free(p[i].path);
	}
	return kept;
}

static void file_labels(struct prom_ctx *c, const struct prom_file *p)
{
	fprintf(c->out, "{path=\"%s\"", p->path);
	if (*p->dev)
		fprintf(c->out, ",dev=\"%s\"", p->dev);
	fputc('}', c->out);
}

static void file_metric(struct prom_ctx *c, const struct prom_file *p, size_t n, enum fig f)
{
	bool headed = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!(p[i].figs & 1u << f))
			continue;
		if (!headed)
			header(c, &figures[f], "file_", "By file: ");
		headed = true;
		name(c, &figures[f], "file_");
		file_labels(c, &p[i]);
		sample(c, p[i].v[f]);
	}
}

static void file_gauge(struct prom_ctx *c, const struct prom_file *p, size_t n, enum gauge g)
{
	bool headed = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!p[i].has_cached)
			continue;
		if (!headed)
			header(c, &gauges[g], "", "");
		headed = true;
		name(c, &gauges[g], "");
		file_labels(c, &p[i]);
		sample(c, g == GAUGE_CACHED_PAGES ? p[i].cached : p[i].size);
	}
}

/* How many files may have series of their own, and how many series that leaves for the rest. */
static size_t file_budget(const struct prom_ctx *c)
{
	const struct report *r = c->r;
	size_t per_file = FILE_GAUGES, rest = 0, left;
	int f;

	for (f = 0; f < FIGS; f++)
		rest += r->totals.v[f].prov != PROV_UNAVAILABLE;
	per_file += rest;
	/* other and unattributed have the figures, but no gauges; two for the counts of files. */
	left = c->series + 2 * rest + 2;
	left = c->max_series > left ? c->max_series - left : 0;
	return left / per_file < r->nfiles ? left / per_file : r->nfiles;
}

static int collect_files(struct prom_ctx *c, struct prom_file *p, size_t *n, size_t shown)
{
	const struct report *r = c->r;
	int err = 0;
	size_t i;

	for (i = 0; i < shown && !err; i++) {
		err = file_fill(&p[i], &r->files[i]);
		*n += !err;
	}
	if (err)
		return err;
	*n = merge_equal(p, *n);
	memset(&p[*n], 0, 2 * sizeof(*p));
	p[*n].path = strdup("other");
	p[*n + 1].path = strdup("unattributed");
	if (!p[*n].path || !p[*n + 1].path)
		err = -ENOMEM;
	file_add(&p[*n], &r->other);
	for (i = shown; i < r->nfiles; i++)
		file_add(&p[*n], &r->files[i]);
	file_add(&p[*n + 1], &r->unattributed);
	/* The gauges of some of the files in it would be taken for those of all. */
	p[*n].has_cached = false;
	*n += 2;
	return err;
}

static int end(void *ctx, const struct report *r)
{
	struct prom_ctx *c = ctx;
	size_t shown = file_budget(c), n = 0, i;
	struct prom_file *p = calloc(shown + 2, sizeof(*p));
	int err, f;

	if (!p)
		return -ENOMEM;
	err = collect_files(c, p, &n, shown);
	if (err)
		goto out;
	for (f = 0; f < FIGS; f++)
		file_metric(c, p, n, f);
	file_gauge(c, p, n, GAUGE_CACHED_PAGES);
	file_gauge(c, p, n, GAUGE_SIZE_BYTES);
	plain(c, GAUGE_FILES_SEEN, r->nfiles_all);
	plain(c, GAUGE_SERIES_FOLDED, r->nfiles_all - shown);
out:
	for (i = 0; i < n; i++)
		free(p[i].path);
	free(p);
	return err;
}

static const struct render_ops prom_ops = {
	.begin = begin,
	.row = row,
	.lost = lost,
	.overhead = overhead,
	.end = end,
};

int render_prom(FILE *out, const struct report *r, unsigned int max_series)
{
	struct prom_ctx c = { .out = out, .r = r, .max_series = max_series };
	int err;

	errno = 0;
	err = report_walk(r, &prom_ops, &c);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	return err;
}
