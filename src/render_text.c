/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * render_text.c - a report for people, on a terminal or in a mail: the sums below the rows, and
 * what is missing, with its reason, at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cells.h"
#include "render.h"
#include "render_refs.h"
#include "sanitize.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_SEC 1000000000ull
#define PATH_WANTED 32	/* columns a path should get before numbers are shortened for it */
#define PATH_LEAST 10	/* and before columns are left out for it */
#define CPUS_SHOWN 16

struct text_ctx {
	FILE *out;
	const struct report *r;
	const struct text_opts *opts;
	struct page page;
	struct cell_marks marks;	/* of the files' table */
};

/* --- head ------------------------------------------------------------------------------- */

static void safe_text(char *buf, size_t size, const char *s, size_t max)
{
	sanitize(buf, size, s, strnlen(s, max));
}

static void wrapped(struct text_ctx *c, const char *text, unsigned int indent)
{
	text_wrap(c->out, text, indent, c->opts->width);
}

static void labelled(struct text_ctx *c, const char *label, const char *text)
{
	fputs(label, c->out);
	wrapped(c, text, strlen(label));
}

static void head(struct text_ctx *c)
{
	const struct report *r = c->r;
	time_t at = r->first->wall_ns / NSEC_PER_SEC;
	char kernel[4 * sizeof(r->last->kernel)], when[40] = "", line[sizeof(kernel) + 96];
	struct tm tm;

	safe_text(kernel, sizeof(kernel), r->last->kernel, sizeof(r->last->kernel));
	if (r->first->wall_ns && gmtime_r(&at, &tm))
		strftime(when, sizeof(when), " from %Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(line, sizeof(line), "%.3f s%s, kernel %s", r->duration_s, when,
		 *kernel ? kernel : "unknown");
	labelled(c, "folioscope: ", line);
	if (r->torn)
		wrapped(c, "TORN: a snapshot could not be read in one piece", 0);
	if (r->hotplug)
		wrapped(c, "HOTPLUG: the set of online CPUs changed; trust sums, not one CPU", 0);
	if (r->clamped)
		wrapped(c, "CLAMPED: a counter went back; that difference counts as 0", 0);
}

static void losses(struct text_ctx *c)
{
	char line[512];

	cell_losses(c->page.lost, line, sizeof(line));
	labelled(c, "lost: ", line);
}

/* --- files ------------------------------------------------------------------------------ */

/* The rows below the files: other, unattributed, total and, with a filter, the machine. */
static size_t sum_rows(const struct page *p, const struct report_row *out[4])
{
	out[0] = p->sum[ROWK_OTHER];
	out[1] = p->sum[ROWK_UNATTRIBUTED];
	out[2] = p->sum[ROWK_TOTAL];
	out[3] = p->sum[ROWK_MACHINE];
	return out[3] ? 4 : 3;
}

static void file_cells(struct text_ctx *c, struct text_grid *g, size_t at,
		       const struct report_row *row, bool compact)
{
	cell_file(&c->marks, &g->cell[at * g->cols], row, c->r->last->page_size, compact);
}

static void fill_files(struct text_ctx *c, struct text_grid *g, bool compact)
{
	const struct report_row *sums[4];
	size_t nsums = sum_rows(&c->page, sums), i;
	int col;

	memset(&c->marks, 0, sizeof(c->marks));
	for (col = 0; col < FILE_COLS; col++)
		strcpy(text_cell(g, 0, col), cell_columns[col].title);
	for (i = 0; i < c->page.nfiles; i++)
		file_cells(c, g, 1 + i, c->page.files[i], compact);
	for (i = 0; i < nsums; i++)
		file_cells(c, g, 1 + c->page.nfiles + i, sums[i], compact);
}

/* Exact numbers where they leave room for the path, short ones else, fewer columns at last. */
static size_t fit_files(struct text_ctx *c, struct text_grid *g)
{
	size_t width = c->opts->width, used;
	int drop, col;

	g->hidden[COL_MARKS] = c->r->totals.v[FIG_MARKS].prov == PROV_UNAVAILABLE;
	fill_files(c, g, false);
	used = text_grid_measure(g);
	if (!width)
		return used;
	if (used + 2 + PATH_WANTED > width) {
		fill_files(c, g, true);
		used = text_grid_measure(g);
	}
	for (drop = 1; used + 2 + PATH_LEAST > width && drop <= FILE_COLS; drop++) {
		for (col = 0; col < FILE_COLS; col++)
			if (cell_columns[col].dropped == drop)
				g->hidden[col] = true;
		used = text_grid_measure(g);
	}
	return used;
}

static void print_path(struct text_ctx *c, const struct snap_row *s, size_t used)
{
	size_t width = c->opts->width;
	char name[CELL_NAME];

	cell_name(name, s, c->opts->basename, !width ? 0 : width > used + 2 ? width - used - 2 : 1);
	fprintf(c->out, "  %s\n", name);
}

static void legend(struct text_ctx *c)
{
	char line[256];

	cell_legend(&c->marks, line, sizeof(line));
	if (*line)
		wrapped(c, line, 0);
}

static void coverage(struct text_ctx *c)
{
	const struct report *r = c->r;
	char line[160];
	int len;

	len = snprintf(line, sizeof(line), "shown: %zu of %zu files", r->nfiles, r->nfiles_all);
	if (!isnan(r->coverage))
		snprintf(line + len, sizeof(line) - len, ", %.1f%% of accesses",
			 (double)(__u64)(r->coverage * 1000) / 10);
	wrapped(c, line, 0);
}

/* A label of ours, cut to the room; nothing foreign. */
static void print_label(struct text_ctx *c, const char *label, size_t used)
{
	size_t width = c->opts->width, len = strlen(label);
	size_t room = width > used + 2 ? width - used - 2 : 1;

	if (width && room < len)
		len = room;
	while (len && label[len - 1] == ' ')
		len--;
	fprintf(c->out, "  %.*s\n", (int)len, label);
}

static int files(struct text_ctx *c)
{
	const struct report *r = c->r;
	const struct report_row *sums[4];
	size_t nfiles = c->page.nfiles, nsums = sum_rows(&c->page, sums), used, i;
	const char *labels[4] = { NULL, "(unattributed)", "total", "whole machine" };
	char other[48];
	struct text_grid g;

	if (text_grid_make(&g, 1 + nfiles + nsums, FILE_COLS))
		return -ENOMEM;
	used = fit_files(c, &g);
	fputc('\n', c->out);
	text_grid_row(c->out, &g, 0);
	print_label(c, "file", used);
	for (i = 0; i < nfiles; i++) {
		text_grid_row(c->out, &g, 1 + i);
		print_path(c, c->page.files[i]->row, used);
	}
	text_grid_rule(c->out, &g);
	snprintf(other, sizeof(other), "(other: %zu file%s)", r->nfiles_all - nfiles,
		 r->nfiles_all - nfiles == 1 ? "" : "s");
	labels[0] = other;
	for (i = 0; i < nsums; i++) {
		text_grid_row(c->out, &g, 1 + nfiles + i);
		print_label(c, i == 2 && r->last->filtered ? "total in filter" : labels[i], used);
	}
	text_grid_free(&g);
	coverage(c);
	legend(c);
	return 0;
}

/* --- backlog ---------------------------------------------------------------------------- */

static void backlog_sums(struct text_ctx *c, struct text_grid *g, size_t at)
{
	size_t n = c->page.ncpus;
	size_t known = cell_cpu_sum(&c->marks, &g->cell[at * g->cols], c->page.cpus, n);

	snprintf(text_cell(g, at, 0), TEXT_CELL, known == n ? "all %zu cpus" : "%zu of %zu cpus",
		 known, n);
}

/* CPUs that hold anything, worst first. */
static size_t worst_cpus(const struct page *p, const struct report_cpu **order)
{
	size_t n = 0, i;

	for (i = 0; i < p->ncpus; i++)
		if (p->cpus[i]->callbacks.v || p->cpus[i]->kvfree.v)
			order[n++] = p->cpus[i];
	if (n)
		qsort(order, n, sizeof(*order), cell_cpu_worse);
	return n;
}

static int backlog(struct text_ctx *c)
{
	static const size_t drop[] = { 8, 4, 3, 2, 1, 6, 7 };
	const struct report_cpu **order = calloc(c->page.ncpus + 1, sizeof(*order));
	size_t busy, shown, i, width = c->opts->width;
	struct text_grid g = { 0 };
	int err = -ENOMEM;

	if (!order)
		return err;
	busy = worst_cpus(&c->page, order);
	shown = busy < CPUS_SHOWN ? busy : CPUS_SHOWN;
	if (text_grid_make(&g, shown + 2, CELL_CPU_COLS))
		goto out;
	err = 0;
	g.left = true;
	for (i = 0; i < CELL_CPU_COLS; i++)
		strcpy(text_cell(&g, 0, i), cell_cpu_titles[i]);
	for (i = 0; i < shown; i++)
		cell_cpu(&c->marks, &g.cell[(1 + i) * g.cols], order[i]);
	backlog_sums(c, &g, 1 + shown);
	for (i = 0; text_grid_measure(&g) > width && width && i < ARRAY_SIZE(drop); i++)
		g.hidden[drop[i]] = true;
	fputc('\n', c->out);
	for (i = 0; i < g.rows; i++) {
		if (i == 1 + shown && busy > shown)
			fprintf(c->out, "... %zu more CPUs with a backlog\n", busy - shown);
		text_grid_line(c->out, &g, i);
	}
out:
	text_grid_free(&g);
	free(order);
	return err;
}

/* --- grace periods ---------------------------------------------------------------------- */

#define GRACE_COLS 6
#define REQUESTERS_SHOWN 6

static const char *const kind_names[FS_GPS] = { "normal", "expedited" };

static void grace_cells(struct text_ctx *c, struct text_grid *grid, size_t at, enum fs_gp kind)
{
	const struct report_grace *g = c->page.grace[kind];

	strcpy(text_cell(grid, at, 0), kind_names[kind]);
	cell_value(&c->marks, text_cell(grid, at, 1), &g->started, true);
	cell_value(&c->marks, text_cell(grid, at, 2), &g->completed, true);
	cell_latency(&c->marks, text_cell(grid, at, 3), g, g->p50, true);
	cell_latency(&c->marks, text_cell(grid, at, 4), g, g->p99, true);
	cell_latency(&c->marks, text_cell(grid, at, 5), g, g->lat_max, g->max_is_edge);
}

/* "name(tgid):count", most first. */
static void print_requesters(struct text_ctx *c, enum fs_gp kind)
{
	static const char *const labels[FS_GPS] = {
		"normal requested by     ", "expedited requested by  ",
	};
	const struct report_grace *g = c->page.grace[kind];
	char name[4 * FS_COMM + 1], line[1024] = "nobody seen";
	size_t i, len = 0;

	if (g->started.prov == PROV_UNAVAILABLE && g->req_prov == PROV_UNAVAILABLE)
		return;
	for (i = 0; i < g->nreq && i < REQUESTERS_SHOWN; i++) {
		safe_text(name, sizeof(name), g->req[i].comm, FS_COMM);
		len += snprintf(line + len, sizeof(line) - len, "%s%s(%u):%" PRIu64,
				i ? ", " : "", name, g->req[i].tgid, (uint64_t)g->req[i].count);
	}
	if (i < g->nreq)
		snprintf(line + len, sizeof(line) - len, ", %zu more", g->nreq - i);
	labelled(c, labels[kind], g->req_prov == PROV_UNAVAILABLE ? "n/a" : line);
}

static int grace(struct text_ctx *c)
{
	static const char *const titles[GRACE_COLS] = {
		"grace periods", "started", "completed", "p50", "p99", "max",
	};
	static const size_t drop[] = { 3, 2, 4 };
	__u64 normal = c->page.grace[FS_GP_NORMAL]->ours;
	__u64 expedited = c->page.grace[FS_GP_EXPEDITED]->ours;
	size_t i, width = c->opts->width;
	struct text_grid grid;
	int kind;

	if (text_grid_make(&grid, 1 + FS_GPS, GRACE_COLS))
		return -ENOMEM;
	grid.left = true;
	for (i = 0; i < GRACE_COLS; i++)
		strcpy(text_cell(&grid, 0, i), titles[i]);
	for (kind = 0; kind < FS_GPS; kind++)
		grace_cells(c, &grid, 1 + kind, kind);
	for (i = 0; text_grid_measure(&grid) > width && width && i < ARRAY_SIZE(drop); i++)
		grid.hidden[drop[i]] = true;
	fputc('\n', c->out);
	for (i = 0; i < grid.rows; i++)
		text_grid_line(c->out, &grid, i);
	for (kind = 0; kind < FS_GPS; kind++)
		print_requesters(c, kind);
	if (normal || expedited) {
		char line[128];

		snprintf(line, sizeof(line), "of these %" PRIu64 " normal and %" PRIu64
			 " expedited were caused by folioscope itself",
			 (uint64_t)normal, (uint64_t)expedited);
		wrapped(c, line, 0);
	}
	text_grid_free(&grid);
	return 0;
}

/* --- hooks and cost --------------------------------------------------------------------- */

#define SIGNAL_COLUMNS 20	/* with the indent and the gap */

static void print_hook(struct text_ctx *c, const struct snap_hook *h)
{
	char signal[4 * sizeof(h->signal)], cut[sizeof(signal)], backend[4 * sizeof(h->backend)];
	char target[4 * sizeof(h->target)], reason[4 * sizeof(h->reason)];
	char text[sizeof(backend) + sizeof(target) + sizeof(reason) + 32];
	const char *state = hook_state_names[h->state < HOOK_STATES ? h->state : HOOK_UNAVAILABLE];

	safe_text(signal, sizeof(signal), h->signal, sizeof(h->signal));
	safe_text(backend, sizeof(backend), h->backend, sizeof(h->backend));
	safe_text(target, sizeof(target), h->target, sizeof(h->target));
	safe_text(reason, sizeof(reason), h->reason, sizeof(h->reason));
	if (h->state == HOOK_UNAVAILABLE)
		snprintf(text, sizeof(text), "%s%s", c->opts->verbose ? "unavailable: " : "",
			 *reason ? reason : "no reason recorded");
	else
		snprintf(text, sizeof(text), "%s%s%s %s%s%s", c->opts->verbose ? state : "",
			 c->opts->verbose ? ", " : "", backend, target,
			 *reason ? ": " : "", reason);
	sanitize_ellipsis(cut, sizeof(cut), signal, SIGNAL_COLUMNS - 4);
	fprintf(c->out, "  %s%*s", cut, (int)(SIGNAL_COLUMNS - 2 - sanitize_width(cut)), "");
	wrapped(c, text, SIGNAL_COLUMNS);
}

static bool hook_wanted(const struct text_ctx *c, const struct snap_hook *h, bool missing)
{
	if (c->opts->verbose)
		return !missing;
	return missing ? h->state == HOOK_UNAVAILABLE : h->state == HOOK_DEGRADED;
}

static void hook_section(struct text_ctx *c, const char *title, bool missing)
{
	bool titled = false;
	size_t i;

	for (i = 0; i < c->page.nhooks; i++) {
		if (!hook_wanted(c, c->page.hooks[i], missing))
			continue;
		if (!titled)
			fprintf(c->out, "\n%s\n", title);
		titled = true;
		print_hook(c, c->page.hooks[i]);
	}
}

static void cost(struct text_ctx *c)
{
	const struct report *r = c->r;
	char maps[TEXT_CELL], self[TEXT_CELL], time[TEXT_CELL] = "", line[256];
	__u64 runs = 0, ns = 0;
	size_t i;
	int len;

	text_size(maps, sizeof(maps), r->last->map_bytes);
	text_time(self, sizeof(self), r->self_cpu_ns);
	len = snprintf(line, sizeof(line), "%s of CPU in folioscope, maps %s", self, maps);
	for (i = 0; i < r->nprogs && r->last->run_stats; i++) {
		runs += r->progs[i].runs;
		ns += r->progs[i].ns;
	}
	if (r->last->run_stats) {
		text_time(time, sizeof(time), ns);
		snprintf(line + len, sizeof(line) - len, ", programs ran %" PRIu64 " times for %s",
			 (uint64_t)runs, time);
	}
	fputc('\n', c->out);
	labelled(c, "cost: ", line);
}

static int render_page(struct text_ctx *c)
{
	int err;

	errno = 0;
	head(c);
	losses(c);
	err = files(c);
	if (!err)
		err = render_text_refs(c->out, c->r, c->opts->width, c->opts->basename);
	if (!err)
		err = backlog(c);
	if (!err)
		err = grace(c);
	if (err)
		return err;
	hook_section(c, "not available", true);
	hook_section(c, c->opts->verbose ? "hooks" : "degraded", false);
	cost(c);
	if (fflush(c->out) || ferror(c->out))
		return errno ? -errno : -EIO;
	return 0;
}

int render_text(FILE *out, const struct report *r, const struct text_opts *opts)
{
	struct text_ctx c = { .out = out, .r = r, .opts = opts };
	int err = page_gather(&c.page, r);

	if (!err)
		err = render_page(&c);
	page_free(&c.page);
	return err;
}
