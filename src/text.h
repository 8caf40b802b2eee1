/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * text.h - numbers as people read them, grids of them, and broken lines.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

#define TEXT_CELL 28
#define TEXT_COLUMNS 10

/* Cells of ASCII text, aligned to the right under their titles. */
struct text_grid {
	size_t cols, rows;
	char (*cell)[TEXT_CELL];	/* owned; rows x cols, row 0 holds the titles */
	size_t width[TEXT_COLUMNS];	/* as measured */
	bool hidden[TEXT_COLUMNS];
	bool left;			/* the first column is aligned to the left */
};

/* Exact, or compact: from 100000 on three digits and a unit (123k, 1.23M). */
void text_count(char *buf, size_t size, __u64 v, bool compact);
void text_size(char *buf, size_t size, double bytes);	/* 4.5K, 12M: powers of 1024 */
void text_time(char *buf, size_t size, __u64 ns);	/* 131us, 1.05ms */

/* Empty cells. -ENOMEM. cols is at most TEXT_COLUMNS. */
int text_grid_make(struct text_grid *g, size_t rows, size_t cols);
char *text_cell(struct text_grid *g, size_t row, size_t col);
/* Fits each column to its cells; the width of all that are not hidden. */
size_t text_grid_measure(struct text_grid *g);
/* One row, to be gone on after it; one row as a line; a line of dashes. */
void text_grid_row(FILE *out, struct text_grid *g, size_t row);
void text_grid_line(FILE *out, struct text_grid *g, size_t row);
void text_grid_rule(FILE *out, const struct text_grid *g);
void text_grid_free(struct text_grid *g);

/*
 * Writes sanitized text and a line feed, broken at spaces (a longer word anywhere, but never in
 * an escape) so that no line passes width columns (0: never broken). Further lines are indented;
 * the first goes on at column indent.
 */
void text_wrap(FILE *out, const char *s, unsigned int indent, unsigned int width);

#endif
