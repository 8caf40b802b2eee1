// SPDX-License-Identifier: GPL-2.0-only
/*
 * view_files.c - the file pane: files by rank, and below them what adds up. Rows on the screen +
 * other + unattributed = total holds for what is visible, wherever it is scrolled to.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "view.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PATH_WANTED 20	/* columns a path should get before columns are left out for it */
#define EXTRA FILE_COLS	/* the grid's last column: the sort key, when it has none of its own */
#define SUMS 4

struct pane {
	struct view_screen *s;
	const struct page *page;
	const struct view_state *st;
	size_t first, shown;	/* files on the screen */
	size_t nsums;
	struct report_row other;	/* with the files that are not on the screen */
	struct text_grid g;
	size_t used;
};

/* Columns keep their places while numbers grow to what they usually are. */
static const size_t least[FILE_COLS + 1] = { 8, 6, 4, 5, 5, 5, 5, 6, 5, 6 };

static size_t measure(struct text_grid *g)
{
	size_t used = 0, col;

	text_grid_measure(g);
	for (col = 0; col < g->cols; col++) {
		if (g->width[col] < least[col])
			g->width[col] = least[col];
		if (!g->hidden[col])
			used += g->width[col] + (used ? 1 : 0);
	}
	return used;
}

static const struct report_row *file_at(const struct pane *p, size_t rank)
{
	return p->page->files[p->st->reverse ? p->page->nfiles - 1 - rank : rank];
}

static bool on_screen(const struct pane *p, size_t rank)
{
	return rank >= p->first && rank < p->first + p->shown;
}

/* The report has a row for every file; those that are not on the screen are other here. */
static void make_other(struct pane *p)
{
	size_t i;
	int f;

	p->other = *p->page->sum[ROWK_OTHER];
	for (i = 0; i < p->page->nfiles; i++) {
		const struct report_row *row = file_at(p, i);

		if (on_screen(p, i))
			continue;
		for (f = 0; f < FIGS; f++) {
			__u64 sum = p->other.v[f].v + row->v[f].v;

			p->other.v[f].v = sum < row->v[f].v ? ~0ull : sum;
		}
	}
	if (!p->other.v[FIG_UNTESTED].v)
		return;
	/* As the model does: pages whose heat nobody looked at may have been hot. */
	if (p->other.v[FIG_HOT_PAGES].prov == PROV_MEASURED)
		p->other.v[FIG_HOT_PAGES].prov = PROV_LOWER_BOUND;
	if (p->other.v[FIG_HOT_ACCESSES].prov == PROV_MEASURED)
		p->other.v[FIG_HOT_ACCESSES].prov = PROV_LOWER_BOUND;
}

static const struct report_row *sum_at(const struct pane *p, size_t i)
{
	const struct report_row *rows[SUMS] = {
		&p->other, p->page->sum[ROWK_UNATTRIBUTED], p->page->sum[ROWK_TOTAL],
		p->page->sum[ROWK_MACHINE],
	};

	return p->nsums == 1 ? rows[2] : rows[i];
}

static size_t sort_column(const struct pane *p)
{
	size_t col;

	for (col = 0; col < FILE_COLS; col++)
		if (cell_columns[col].fig == (int)p->st->sort && !p->g.hidden[col])
			return col;
	return EXTRA;
}

static void fill_row(struct pane *p, size_t at, const struct report_row *row)
{
	struct cell_marks unused = { 0 };

	cell_file(&unused, &p->g.cell[at * p->g.cols], row, p->page->r->last->page_size, true);
	cell_value(&unused, text_cell(&p->g, at, EXTRA), &row->v[p->st->sort], true);
}

static int fill(struct pane *p)
{
	struct text_grid *g = &p->g;
	size_t i;
	int col, drop;

	if (text_grid_make(g, 1 + p->shown + p->nsums, FILE_COLS + 1))
		return -ENOMEM;
	for (col = 0; col < FILE_COLS; col++)
		strcpy(text_cell(g, 0, col), cell_columns[col].title);
	snprintf(text_cell(g, 0, EXTRA), TEXT_CELL, "%s", figures[p->st->sort].label);
	for (i = 0; i < p->shown; i++)
		fill_row(p, 1 + i, file_at(p, p->first + i));
	for (i = 0; i < p->nsums; i++)
		fill_row(p, 1 + p->shown + i, sum_at(p, i));
	g->hidden[COL_MARKS] = p->page->sum[ROWK_TOTAL]->v[FIG_MARKS].prov == PROV_UNAVAILABLE;
	g->hidden[EXTRA] = sort_column(p) != EXTRA;
	p->used = measure(g);
	for (drop = 1; p->used + 2 + PATH_WANTED > p->s->cols && drop <= FILE_COLS; drop++) {
		for (col = 0; col < FILE_COLS; col++)
			if (cell_columns[col].dropped == drop)
				g->hidden[col] = true;
		g->hidden[EXTRA] = sort_column(p) != EXTRA;
		p->used = measure(g);
	}
	return 0;
}

static void draw_title(struct pane *p, size_t row)
{
	char range[64];

	view_cells(p->s, row, VIEW_TITLE, &p->g, 0, sort_column(p));
	view_put(p->s, row, VIEW_TITLE, "  file");
	if (p->shown < p->page->nfiles) {
		snprintf(range, sizeof(range), "%zu-%zu of %zu", p->shown ? p->first + 1 : 0,
			 p->first + p->shown, p->page->nfiles);
		view_right(p->s, row, VIEW_TITLE, range);
	}
	view_pad(p->s, row, VIEW_TITLE, p->s->cols);
}

static void draw_sums(struct pane *p, size_t row)
{
	size_t hidden = p->page->r->nfiles_all - p->shown, i;
	char labels[SUMS][48] = { "", "(unattributed)", "total", "whole machine" };

	snprintf(labels[0], sizeof(labels[0]), "(other: %zu file%s)", hidden,
		 hidden == 1 ? "" : "s");
	if (p->page->r->last->filtered)
		strcpy(labels[2], "total in filter");
	for (i = 0; i < p->nsums; i++, row++) {
		bool total = p->nsums == 1 || i >= 2;

		view_cells(p->s, row, total ? VIEW_BOLD : VIEW_PLAIN, &p->g, 1 + p->shown + i,
			   SIZE_MAX);
		view_put(p->s, row, VIEW_PLAIN, "  ");
		view_put(p->s, row, total ? VIEW_BOLD : VIEW_DIM, labels[p->nsums == 1 ? 2 : i]);
	}
}

static void draw(struct pane *p, size_t row, size_t rows)
{
	char name[CELL_NAME];
	size_t i;

	draw_title(p, row);
	for (i = 0; i < p->shown; i++) {
		view_cells(p->s, row + 1 + i, VIEW_PLAIN, &p->g, 1 + i, sort_column(p));
		view_put(p->s, row + 1 + i, VIEW_PLAIN, "  ");
		if (!view_room(p->s, row + 1 + i))
			continue;
		cell_name(name, file_at(p, p->first + i)->row, p->st->basename,
			  view_room(p->s, row + 1 + i));
		view_put(p->s, row + 1 + i, VIEW_PLAIN, name);
	}
	draw_sums(p, row + rows - p->nsums);
}

int view_files(struct view_screen *s, const struct page *page, struct view_state *st, size_t row,
	       size_t rows, size_t sums)
{
	struct pane p = { .s = s, .page = page, .st = st };
	size_t room;
	int err;

	if (!rows)
		return 0;
	p.nsums = sums < rows ? sums : rows - 1;
	if (p.nsums > 1)
		p.nsums = page->sum[ROWK_MACHINE] && p.nsums > 3 ? 4 : p.nsums > 2 ? 3 : 1;
	room = rows - 1 - p.nsums;
	st->page = room;
	if (st->scroll + room > page->nfiles)
		st->scroll = page->nfiles > room ? page->nfiles - room : 0;
	p.first = st->scroll;
	p.shown = page->nfiles - p.first < room ? page->nfiles - p.first : room;
	make_other(&p);
	err = fill(&p);
	if (!err)
		draw(&p, row, rows);
	text_grid_free(&p.g);
	return err;
}
