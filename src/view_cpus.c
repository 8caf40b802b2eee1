// SPDX-License-Identifier: GPL-2.0-only
/*
 * view_cpus.c - the CPU pane: what waits on which CPU for a grace period. Where all CPUs fit each
 * has its line, in order. Else one line of marks shows them all, and the worst have lines.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BAR_LEAST 8	/* columns below which columns of figures make room */
#define BAR_MOST 40
#define CELL_LEAST 5	/* what a count needs, so that columns keep their places */
#define OVERVIEW_ROWS 6	/* panes at least this high have the line of marks */

struct pane {
	struct view_screen *s;
	const struct view_state *st;
	const struct report_cpu **cpus;	/* in the order of the pane */
	size_t ncpus, shown;
	bool marks, rest;		/* the lines that stand for many CPUs */
	__u64 scale;			/* callbacks of a full bar */
	struct text_grid g;
	size_t used;			/* columns of the grid */
};

size_t view_cpus_rows(const struct page *p, size_t most)
{
	size_t all = p->ncpus + 2;	/* title, sum */

	return all < most ? all : most;
}

/* The columns' width, when each keeps room for the numbers to come. */
static size_t measure(struct text_grid *g)
{
	size_t used = 0, col;

	text_grid_measure(g);
	for (col = 0; col < g->cols; col++) {
		if (g->width[col] < CELL_LEAST)
			g->width[col] = CELL_LEAST;
		if (!g->hidden[col])
			used += g->width[col] + (used ? 1 : 0);
	}
	return used;
}

static int fill(struct pane *p)
{
	static const size_t drop[] = { 4, 2, 3, 6, 8, 5, 7 };
	size_t rows = 1 + p->shown + p->rest + 1, i, at = 1;
	struct cell_marks unused = { 0 };
	struct text_grid *g = &p->g;

	if (text_grid_make(g, rows, CELL_CPU_COLS))
		return -ENOMEM;
	g->left = true;
	for (i = 0; i < CELL_CPU_COLS; i++)
		strcpy(text_cell(g, 0, i), cell_cpu_titles[i]);
	strcpy(text_cell(g, 0, 0), "cpu");
	for (i = 0; i < p->shown; i++, at++) {
		cell_cpu(&unused, &g->cell[at * g->cols], p->cpus[i]);
		/* The title says what it is. */
		memmove(text_cell(g, at, 0), text_cell(g, at, 0) + 4, TEXT_CELL - 4);
	}
	if (p->rest) {
		cell_cpu_sum(&unused, &g->cell[at * g->cols], p->cpus + p->shown,
			     p->ncpus - p->shown);
		snprintf(text_cell(g, at++, 0), TEXT_CELL, "rest %zu", p->ncpus - p->shown);
	}
	i = cell_cpu_sum(&unused, &g->cell[at * g->cols], p->cpus, p->ncpus);
	if (i == p->ncpus)
		snprintf(text_cell(g, at, 0), TEXT_CELL, "all %zu", p->ncpus);
	else
		snprintf(text_cell(g, at, 0), TEXT_CELL, "%zu of %zu", i, p->ncpus);
	p->used = measure(g);
	for (i = 0; p->used + 1 + BAR_LEAST > p->s->cols && i < ARRAY_SIZE(drop); i++) {
		g->hidden[drop[i]] = true;
		p->used = measure(g);
	}
	return 0;
}

/* Now, and how far it has been; a full bar is the highest peak of all CPUs. */
static void draw_bar(struct pane *p, size_t row, const struct report_cpu *c)
{
	size_t room = view_room(p->s, row), i, now, peak;

	if (!p->scale || c->callbacks.prov == PROV_UNAVAILABLE || room < 2)
		return;
	room = room - 1 < BAR_MOST ? room - 1 : BAR_MOST;
	now = (double)c->callbacks.v / p->scale * room + 0.5;
	peak = (double)c->peak_callbacks.v / p->scale * room + 0.5;
	/* Something is not nothing. */
	now = now || !c->callbacks.v ? now : 1;
	view_put(p->s, row, VIEW_PLAIN, " ");
	for (i = 0; i < room && i < now; i++)
		view_put(p->s, row, VIEW_LOAD, p->st->ascii ? "#" : "\xe2\x96\x88");
	for (; i < room && i < peak; i++)
		view_put(p->s, row, VIEW_PEAK, p->st->ascii ? "." : "\xe2\x96\x91");
}

static const char *level_mark(const struct pane *p, __u64 v, __u64 most)
{
	static const char *const blocks[] = {
		"\xc2\xb7", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
		"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
	};
	static const char *const digits[] = { ".", "1", "2", "3", "4", "5", "6", "7", "8" };
	size_t level = v ? 1 + (size_t)((double)v / most * 7 + 0.5) : 0;

	level = level < 8 ? level : 8;
	return p->st->ascii ? digits[level] : blocks[level];
}

static int by_number(const void *pa, const void *pb)
{
	const struct report_cpu *a = *(const struct report_cpu *const *)pa;
	const struct report_cpu *b = *(const struct report_cpu *const *)pb;

	return a->cpu->cpu < b->cpu->cpu ? -1 : a->cpu->cpu > b->cpu->cpu;
}

/*
 * All CPUs in one line, by number, as high as their callbacks; where they are too many a mark is
 * the worst of its group.
 */
static void draw_marks(struct pane *p, size_t row, const struct report_cpu *const *order)
{
	size_t n = p->ncpus, room, group, i, k;
	__u64 most = 1, v;
	char note[48];

	for (i = 0; i < n; i++)
		most = order[i]->callbacks.v > most ? order[i]->callbacks.v : most;
	view_putf(p->s, row, VIEW_PLAIN, "%u-%u ", order[0]->cpu->cpu, order[n - 1]->cpu->cpu);
	/* What "16 CPUs a mark" takes, when it does. */
	room = view_room(p->s, row);
	room = room > 40 && n > room ? room - 18 : room;
	group = room ? (n + room - 1) / room : 1;
	for (i = 0; i < n; i += group) {
		for (v = 0, k = i; k < n && k < i + group; k++)
			v = order[k]->callbacks.v > v ? order[k]->callbacks.v : v;
		view_put(p->s, row, v ? VIEW_LOAD : VIEW_DIM, level_mark(p, v, most));
	}
	if (group > 1) {
		snprintf(note, sizeof(note), "%zu CPUs a mark", group);
		view_right(p->s, row, VIEW_DIM, note);
	}
}

static void draw(struct pane *p, size_t row, const struct report_cpu *const *order)
{
	size_t i, at = 1;

	view_cells(p->s, row, VIEW_TITLE, &p->g, 0, SIZE_MAX);
	view_put(p->s, row, VIEW_TITLE, " RCU backlog");
	view_pad(p->s, row++, VIEW_TITLE, p->s->cols);
	if (p->marks)
		draw_marks(p, row++, order);
	for (i = 0; i < p->shown; i++, at++) {
		view_cells(p->s, row, VIEW_PLAIN, &p->g, at, SIZE_MAX);
		draw_bar(p, row++, p->cpus[i]);
	}
	if (p->rest)
		view_cells(p->s, row++, VIEW_PLAIN, &p->g, at++, SIZE_MAX);
	view_cells(p->s, row, VIEW_BOLD, &p->g, at, SIZE_MAX);
}

int view_cpus(struct view_screen *s, const struct page *page, const struct view_state *st,
	      size_t row, size_t rows)
{
	struct pane p = { .s = s, .st = st, .ncpus = page->ncpus };
	const struct report_cpu **order;
	size_t i, lines;
	int err = -ENOMEM;

	if (rows < 2)
		return 0;
	lines = rows - 2;
	p.shown = p.ncpus;
	if (p.ncpus > lines) {
		p.marks = rows >= OVERVIEW_ROWS;
		p.rest = lines > (size_t)p.marks;
		p.shown = lines - p.marks - p.rest;
	}
	p.cpus = calloc(2 * p.ncpus + 1, sizeof(*p.cpus));
	if (!p.cpus)
		return err;
	order = p.cpus + p.ncpus;
	for (i = 0; i < p.ncpus; i++) {
		p.cpus[i] = order[i] = page->cpus[i];
		if (order[i]->peak_callbacks.v > p.scale)
			p.scale = order[i]->peak_callbacks.v;
	}
	if (p.ncpus)
		qsort(order, p.ncpus, sizeof(*order), by_number);
	if (p.ncpus)
		qsort(p.cpus, p.ncpus, sizeof(*p.cpus),
		      p.shown < p.ncpus ? cell_cpu_worse : by_number);
	err = fill(&p);
	if (!err)
		draw(&p, row, order);
	text_grid_free(&p.g);
	free(p.cpus);
	return err;
}
