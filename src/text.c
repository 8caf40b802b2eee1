/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * text.c - numbers as people read them, grids of them, and broken lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize.h"
#include "text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* At most three digits that mean something, and a unit. */
static void scaled(char *buf, size_t size, double v, double step, const char *const *units,
		   size_t nunits)
{
	size_t u = 0;

	while (u + 1 < nunits && v >= step - 0.5) {
		v /= step;
		u++;
	}
	snprintf(buf, size, "%.*f%s", u && v < 9.995 ? 2 : u && v < 99.95 ? 1 : 0, v, units[u]);
}

void text_count(char *buf, size_t size, __u64 v, bool compact)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };

	if (compact && v >= 100000)
		scaled(buf, size, v, 1000, units, ARRAY_SIZE(units));
	else
		snprintf(buf, size, "%" PRIu64, (uint64_t)v);
}

void text_size(char *buf, size_t size, double bytes)
{
	static const char *const units[] = { "B", "K", "M", "G", "T", "P", "E" };
	bool whole;
	size_t u = 0;

	while (u + 1 < ARRAY_SIZE(units) && bytes >= 1023.5) {
		bytes /= 1024;
		u++;
	}
	whole = !u || bytes >= 9.95 || bytes == (double)(__u64)bytes;
	snprintf(buf, size, "%.*f%s", whole ? 0 : 1, bytes, units[u]);
}

void text_time(char *buf, size_t size, __u64 ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	scaled(buf, size, ns, 1000, units, ARRAY_SIZE(units));
}

int text_grid_make(struct text_grid *g, size_t rows, size_t cols)
{
	memset(g, 0, sizeof(*g));
	g->cell = calloc(rows * cols, sizeof(*g->cell));
	g->rows = rows;
	g->cols = cols;
	return g->cell ? 0 : -ENOMEM;
}

char *text_cell(struct text_grid *g, size_t row, size_t col)
{
	return g->cell[row * g->cols + col];
}

size_t text_grid_measure(struct text_grid *g)
{
	size_t all = 0, row, col;

	for (col = 0; col < g->cols; col++) {
		g->width[col] = 0;
		for (row = 0; row < g->rows; row++) {
			size_t len = strlen(text_cell(g, row, col));

			g->width[col] = len > g->width[col] ? len : g->width[col];
		}
		if (!g->hidden[col])
			all += g->width[col] + (all ? 1 : 0);
	}
	return all;
}

static void print_cells(FILE *out, struct text_grid *g, size_t row, size_t cols)
{
	const char *gap = "";
	size_t col;

	for (col = 0; col < cols; col++) {
		int width = g->width[col];

		if (g->hidden[col])
			continue;
		fprintf(out, "%s%*s", gap, g->left && !col ? -width : width,
			text_cell(g, row, col));
		gap = " ";
	}
}

void text_grid_row(FILE *out, struct text_grid *g, size_t row)
{
	print_cells(out, g, row, g->cols);
}

void text_grid_line(FILE *out, struct text_grid *g, size_t row)
{
	size_t cols = g->cols;

	/* No blanks at the end of a line. */
	while (cols && (g->hidden[cols - 1] || !*text_cell(g, row, cols - 1)))
		cols--;
	print_cells(out, g, row, cols);
	fputc('\n', out);
}

void text_grid_rule(FILE *out, const struct text_grid *g)
{
	const char *gap = "";
	size_t col, i;

	for (col = 0; col < g->cols; col++) {
		if (g->hidden[col])
			continue;
		fputs(gap, out);
		for (i = 0; i < g->width[col]; i++)
			fputc('-', out);
		gap = " ";
	}
	fputc('\n', out);
}

void text_grid_free(struct text_grid *g)
{
	free(g->cell);
	g->cell = NULL;
}

/* Bytes of the word s begins with, as far as *room columns hold them; sets the columns taken. */
static size_t word_head(const char *s, size_t *room)
{
	size_t len = 0, taken = 0, n, columns;

	while (s[len] && s[len] != ' ') {
		n = sanitize_unit(s + len, &columns);
		/* What is wider than a whole line goes out all the same. */
		if (taken + columns > *room && len)
			break;
		len += n;
		taken += columns;
	}
	*room = taken;
	return len;
}

void text_wrap(FILE *out, const char *s, unsigned int indent, unsigned int width)
{
	size_t room = width > indent ? width - indent : width ? 1 : SIZE_MAX;
	size_t column = 0, taken, len;

	while (*s) {
		bool space = *s == ' ';

		s += strspn(s, " ");
		taken = room;
		len = word_head(s, &taken);
		if (!len)
			break;
		if (column && column + space + taken > room) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = 0;
		} else if (space && column) {
			fputc(' ', out);
			column++;
		}
		fwrite(s, 1, len, out);
		column += taken;
		s += len;
	}
	fputc('\n', out);
}
