// SPDX-License-Identifier: GPL-2.0-only
/* view_line.c - lines of styled text that never pass the screen's edge. See view.h. */
#include <errno.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize.h"
#include "view.h"

static bool grow(struct view_line *l, size_t more)
{
	size_t size = l->size ? l->size : 128;
	char *text;

	while (size < l->len + more + 1)
		size *= 2;
	if (size == l->size)
		return true;
	text = realloc(l->text, size);
	if (!text)
		return false;
	l->text = text;
	l->size = size;
	return true;
}

static bool add_run(struct view_line *l, enum view_style style, size_t len)
{
	struct view_run *runs;

	if (l->nruns && l->runs[l->nruns - 1].style == style) {
		l->runs[l->nruns - 1].len += len;
		return true;
	}
	/* By doubling. */
	if (!(l->nruns & (l->nruns - 1))) {
		runs = realloc(l->runs, (l->nruns ? 2 * l->nruns : 1) * sizeof(*runs));
		if (!runs)
			return false;
		l->runs = runs;
	}
	l->runs[l->nruns++] = (struct view_run){ style, len };
	return true;
}

void view_put(struct view_screen *s, size_t row, enum view_style style, const char *text)
{
	struct view_line *l = row < s->rows ? &s->lines[row] : NULL;
	size_t len = 0, width = 0, n, columns;

	while (l && text[len]) {
		n = sanitize_unit(text + len, &columns);
		if (l->width + width + columns > s->cols)
			break;
		width += columns;
		len += n;
	}
	if (!len)
		return;
	if (!grow(l, len) || !add_run(l, style, len)) {
		s->failed = true;
		return;
	}
	memcpy(l->text + l->len, text, len);
	l->len += len;
	l->text[l->len] = '\0';
	l->width += width;
}

void view_putf(struct view_screen *s, size_t row, enum view_style style, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	view_put(s, row, style, buf);
}

void view_pad(struct view_screen *s, size_t row, enum view_style style, size_t col)
{
	static const char blanks[] = "                ";

	if (row >= s->rows)
		return;
	col = col < s->cols ? col : s->cols;
	while (s->lines[row].width < col && !s->failed) {
		size_t n = col - s->lines[row].width, most = sizeof(blanks) - 1;

		view_put(s, row, style, blanks + most - (n < most ? n : most));
	}
}

void view_right(struct view_screen *s, size_t row, enum view_style style, const char *text)
{
	size_t width = sanitize_width(text);

	if (view_room(s, row) > width)
		view_pad(s, row, style, s->cols - width);
	else
		return;
	view_put(s, row, style, text);
}

size_t view_room(const struct view_screen *s, size_t row)
{
	return row < s->rows ? s->cols - s->lines[row].width : 0;
}

void view_cells(struct view_screen *s, size_t row, enum view_style style, struct text_grid *g,
		size_t at, size_t sorted)
{
	enum view_style cell_style;
	bool first = true, dim;
	size_t col;

	for (col = 0; col < g->cols; col++) {
		const char *cell = text_cell(g, at, col);
		int width = g->width[col];

		if (g->hidden[col])
			continue;
		dim = style != VIEW_TITLE && (!strcmp(cell, "0") || !strcmp(cell, "n/a") ||
					      !strcmp(cell, "-") || !strcmp(cell, "0%"));
		if (!first)
			view_put(s, row, style, " ");
		first = false;
		cell_style = dim ? VIEW_DIM : style;
		if (col == sorted)
			cell_style = style == VIEW_TITLE ? VIEW_SORTED : VIEW_BOLD;
		view_putf(s, row, cell_style, "%*s", g->left && !col ? -width : width, cell);
	}
}

void view_free(struct view_screen *s)
{
	size_t i;

	for (i = 0; i < s->rows; i++) {
		free(s->lines[i].text);
		free(s->lines[i].runs);
	}
	free(s->lines);
	memset(s, 0, sizeof(*s));
}
