// SPDX-License-Identifier: GPL-2.0-only
/* view.c - the frame of the live screen: how rows are shared out, and all that is no table. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sanitize.h"
#include "view.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NSEC_PER_SEC 1000000000ull

/* Rows of each part; what is left over is for files. */
struct plan {
	size_t status, cpus, files, sums, grace, footer;
};

static struct plan make_plan(size_t rows, const struct page *p)
{
	struct plan plan = {
		.status = rows >= 5,
		.footer = rows >= 8,
		.grace = rows >= 20 ? FS_GPS : rows >= 12,
		.sums = rows >= 14 ? 4 : rows >= 7,
	};
	size_t third = rows / 3 > 4 ? rows / 3 : 4;
	size_t used;

	/* A third, so that files are seen beside many CPUs; rows / 2 is the promise. */
	if (rows >= 10)
		plan.cpus = view_cpus_rows(p, third < rows / 2 ? third : rows / 2);
	used = 1 + plan.status + plan.footer + plan.grace + plan.cpus;
	plan.files = rows > used ? rows - used : 0;
	return plan;
}

static void draw_header(struct view_screen *s, const struct report *r, const struct view_state *st)
{
	char kernel[4 * sizeof(r->last->kernel)], clock[32] = "";
	struct tm tm;
	time_t at;

	view_put(s, 0, VIEW_BAR, " folioscope");
	if (r) {
		sanitize(kernel, sizeof(kernel), r->last->kernel,
			 strnlen(r->last->kernel, sizeof(r->last->kernel)));
		view_putf(s, 0, VIEW_BAR, "  %s  %.*f s  by %s%s", kernel,
			  r->duration_s < 0.95 ? 2 : 1, r->duration_s, figures[st->sort].json,
			  st->reverse ? ", least first" : "");
		at = r->last->wall_ns / NSEC_PER_SEC;
		if (r->last->wall_ns && gmtime_r(&at, &tm))
			strftime(clock, sizeof(clock), "%H:%M:%S UTC ", &tm);
	}
	if (st->paused)
		view_put(s, 0, VIEW_WARN, "  PAUSED");
	if (st->ended)
		view_put(s, 0, VIEW_WARN, "  END OF RECORDING");
	view_right(s, 0, VIEW_BAR, clock);
	view_pad(s, 0, VIEW_BAR, s->cols);
}

static void put_losses(struct view_screen *s, size_t row, const struct snap_lost *l)
{
	const struct {
		__u64 v;
		const char *what;
	} parts[] = {
		{ l->map_full, "without room" }, { l->recursion_misses, "skipped" },
		{ l->witness, "untold" }, { l->ring_full, "names" }, { l->torn, "torn" },
	};
	bool any = false;
	char num[TEXT_CELL];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].v)
			continue;
		text_count(num, sizeof(num), parts[i].v, true);
		view_putf(s, row, VIEW_WARN, "%s%s %s", any ? ", " : "lost: ", num, parts[i].what);
		any = true;
	}
	if (!any)
		view_put(s, row, VIEW_PLAIN, "lost: nothing");
}

/* "; missing a b c, 2 more": the names that fit. */
static void put_hooks(struct view_screen *s, size_t row, const struct page *p, __u32 state,
		      const char *title, enum view_style style)
{
	char name[4 * sizeof(p->hooks[0]->signal)];
	size_t i, left = 0, put = 0;

	for (i = 0; i < p->nhooks; i++)
		left += p->hooks[i]->state == state;
	if (!left)
		return;
	view_putf(s, row, VIEW_PLAIN, "; %s", title);
	for (i = 0; i < p->nhooks; i++) {
		if (p->hooks[i]->state != state)
			continue;
		sanitize(name, sizeof(name), p->hooks[i]->signal,
			 strnlen(p->hooks[i]->signal, sizeof(p->hooks[i]->signal)));
		/* Unless it is the last, there must be room for saying how many more. */
		if (view_room(s, row) < sanitize_width(name) + 1 + (left > 1 ? 9 : 0))
			break;
		view_put(s, row, VIEW_PLAIN, " ");
		view_put(s, row, style, name);
		left--;
		put++;
	}
	if (left)
		view_putf(s, row, style, put ? ", %zu more" : " %zu", left);
}

static void draw_status(struct view_screen *s, size_t row, const struct page *p)
{
	const struct {
		bool on;
		const char *text;
	} flags[] = {
		{ p->r->torn, "TORN" }, { p->r->hotplug, "HOTPLUG" }, { p->r->clamped, "CLAMPED" },
	};
	size_t i, on = 0;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!flags[i].on)
			continue;
		view_put(s, row, VIEW_WARN, flags[i].text);
		view_put(s, row, VIEW_PLAIN, " ");
	}
	put_losses(s, row, p->lost);
	for (i = 0; i < p->nhooks; i++)
		on += p->hooks[i]->state != HOOK_UNAVAILABLE;
	view_putf(s, row, VIEW_PLAIN, "; hooks %zu/%zu", on, p->nhooks);
	put_hooks(s, row, p, HOOK_DEGRADED, "degraded", VIEW_WARN);
	put_hooks(s, row, p, HOOK_UNAVAILABLE, "missing", VIEW_DIM);
}

static const char *const kind_names[FS_GPS] = { "normal", "expedited" };

#define GRACE_COLS 5

static const char *const grace_titles[GRACE_COLS] = { "started", "completed", "p50", "p99", "max" };

static void fill_grace(struct text_grid *g, const struct page *p)
{
	struct cell_marks unused = { 0 };
	size_t kind;

	for (kind = 0; kind < FS_GPS; kind++) {
		const struct report_grace *gp = p->grace[kind];

		cell_value(&unused, text_cell(g, kind, 0), &gp->started, true);
		cell_value(&unused, text_cell(g, kind, 1), &gp->completed, true);
		cell_latency(&unused, text_cell(g, kind, 2), gp, gp->p50, true);
		cell_latency(&unused, text_cell(g, kind, 3), gp, gp->p99, true);
		cell_latency(&unused, text_cell(g, kind, 4), gp, gp->lat_max, gp->max_is_edge);
	}
}

/* Columns of the figures with their titles; counts keep room for three digits. */
static size_t measure_grace(struct text_grid *g)
{
	size_t used = 0, i;

	text_grid_measure(g);
	for (i = 0; i < GRACE_COLS; i++) {
		if (i < 2 && g->width[i] < 3)
			g->width[i] = 3;
		if (!g->hidden[i])
			used += 1 + strlen(grace_titles[i]) + 1 + g->width[i];
	}
	return used;
}

/* "  by mount(1234):9, ...": those that fit. */
static void put_requesters(struct view_screen *s, size_t row, const struct report_grace *g)
{
	char comm[4 * FS_COMM + 1], text[sizeof(comm) + 48];
	size_t i;

	for (i = 0; i < g->nreq; i++) {
		sanitize(comm, sizeof(comm), g->req[i].comm, strnlen(g->req[i].comm, FS_COMM));
		snprintf(text, sizeof(text), "%s%s(%u):%" PRIu64, i ? ", " : "  by ", comm,
			 g->req[i].tgid, (uint64_t)g->req[i].count);
		if (view_room(s, row) < sanitize_width(text))
			break;
		view_put(s, row, VIEW_PLAIN, text);
	}
}

static void draw_grace(struct view_screen *s, size_t row, const struct page *p)
{
	static const size_t drop[] = { 2, 1, 4, 3 };
	struct text_grid g;
	size_t kind, i;

	if (text_grid_make(&g, FS_GPS, GRACE_COLS)) {
		s->failed = true;
		return;
	}
	fill_grace(&g, p);
	for (i = 0; i < ARRAY_SIZE(drop) && 15 + measure_grace(&g) > s->cols; i++)
		g.hidden[drop[i]] = true;
	for (kind = 0; kind < FS_GPS; kind++, row++) {
		view_putf(s, row, VIEW_BOLD, "grace %-9s", kind_names[kind]);
		for (i = 0; i < GRACE_COLS; i++) {
			const char *cell = text_cell(&g, kind, i);

			if (g.hidden[i])
				continue;
			view_putf(s, row, VIEW_DIM, " %s ", grace_titles[i]);
			view_putf(s, row, VIEW_PLAIN, "%*s", (int)g.width[i], cell);
		}
		put_requesters(s, row, p->grace[kind]);
	}
	text_grid_free(&g);
}

/* Both kinds in one line, where rows are dear. */
static void draw_grace_short(struct view_screen *s, size_t row, const struct page *p)
{
	struct cell_marks unused = { 0 };
	char cell[TEXT_CELL];
	int kind;

	view_put(s, row, VIEW_BOLD, "grace");
	for (kind = 0; kind < FS_GPS; kind++) {
		const struct report_grace *g = p->grace[kind];

		cell_value(&unused, cell, &g->completed, true);
		view_putf(s, row, VIEW_DIM, "  %s ", kind_names[kind]);
		view_put(s, row, VIEW_PLAIN, cell);
		cell_latency(&unused, cell, g, g->p99, true);
		view_put(s, row, VIEW_DIM, " p99 ");
		view_put(s, row, VIEW_PLAIN, cell);
	}
}

static void draw_footer(struct view_screen *s, size_t row, const struct view_state *st)
{
	char every[32];

	if (*st->message) {
		view_put(s, row, VIEW_WARN, st->message);
		view_pad(s, row, VIEW_WARN, s->cols);
		return;
	}
	view_put(s, row, VIEW_BAR, " q quit  p ");
	view_put(s, row, VIEW_BAR, st->paused ? "go on" : "pause");
	view_put(s, row, VIEW_BAR, "  s sort  r reverse  f ");
	view_put(s, row, VIEW_BAR, st->basename ? "full paths" : "short names");
	text_time(every, sizeof(every), st->interval_ns);
	view_putf(s, row, VIEW_BAR, "  +- every %s", every);
	view_right(s, row, VIEW_BAR, "? help ");
	view_pad(s, row, VIEW_BAR, s->cols);
}

static int draw_report(struct view_screen *s, const struct report *r, struct view_state *st)
{
	struct page p;
	struct plan plan;
	size_t row = 1;
	int err = page_gather(&p, r);

	if (err)
		return err;
	plan = make_plan(s->rows, &p);
	if (plan.status)
		draw_status(s, row, &p);
	row += plan.status;
	err = view_cpus(s, &p, st, row, plan.cpus);
	row += plan.cpus;
	if (!err)
		err = view_files(s, &p, st, row, plan.files, plan.sums);
	row += plan.files;
	if (plan.grace == FS_GPS)
		draw_grace(s, row, &p);
	else if (plan.grace)
		draw_grace_short(s, row, &p);
	if (plan.footer)
		draw_footer(s, s->rows - 1, st);
	page_free(&p);
	return err;
}

static void draw_waiting(struct view_screen *s, const struct view_state *st)
{
	char name[512];

	if (s->rows < 3)
		return;
	if (!st->input) {
		view_put(s, 2, VIEW_PLAIN, " The first interval is being measured.");
	} else if (!st->ended) {
		view_put(s, 2, VIEW_PLAIN, " Reading the recording.");
	} else {
		sanitize(name, sizeof(name), st->input, strlen(st->input));
		view_putf(s, 2, VIEW_WARN, " %s: fewer than two snapshots, so no interval", name);
	}
	if (s->rows >= 8)
		draw_footer(s, s->rows - 1, st);
}

static int resize(struct view_screen *s, size_t rows, size_t cols)
{
	size_t i;

	if (s->rows != rows) {
		view_free(s);
		s->lines = calloc(rows ? rows : 1, sizeof(*s->lines));
		if (!s->lines)
			return -ENOMEM;
		s->rows = rows;
	}
	s->cols = cols;
	s->failed = false;
	for (i = 0; i < rows; i++)
		s->lines[i].len = s->lines[i].width = s->lines[i].nruns = 0;
	return 0;
}

int view_draw(struct view_screen *s, const struct report *r, struct view_state *st, size_t rows,
	      size_t cols)
{
	int err = resize(s, rows, cols);

	if (err || !rows)
		return err;
	draw_header(s, r, st);
	if (st->help)
		view_help(s, st, 1, rows - 1);
	else if (r)
		err = draw_report(s, r, st);
	else
		draw_waiting(s, st);
	return err ? err : s->failed ? -ENOMEM : 0;
}
