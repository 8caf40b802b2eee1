/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * view.h - the live screen. view_draw() lays a report out as lines of styled text for a terminal
 * of any size, view_key() changes what is shown; both are pure, so tests need no terminal.
 * view_term.c alone knows curses.
 *
 * Every line is sanitized text of at most the screen's columns. The CPU pane never takes more
 * than half of the rows.
 */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "cells.h"
#include "render.h"

enum view_style {
	VIEW_PLAIN,
	VIEW_DIM,	/* zeroes, hints */
	VIEW_BOLD,	/* sums */
	VIEW_BAR,	/* header and footer, the whole line */
	VIEW_TITLE,	/* column titles, the whole line */
	VIEW_SORTED,	/* the title of the ranking column */
	VIEW_WARN,	/* losses and what else makes figures doubtful */
	VIEW_LOAD,	/* bars: now */
	VIEW_PEAK,	/* bars: up to the peak */
	VIEW_STYLES,
};

struct view_run {
	enum view_style style;
	size_t len;		/* bytes */
};

struct view_line {
	char *text;		/* owned, UTF-8 */
	size_t len, size;
	size_t width;		/* columns taken */
	struct view_run *runs;	/* owned; they cover text */
	size_t nruns;
};

struct view_screen {
	size_t rows, cols;
	struct view_line *lines;	/* owned, [rows] */
	bool failed;			/* no memory: something is missing */
};

#define VIEW_MESSAGE 256

/* What the user has chosen, and what the loop says about itself. */
struct view_state {
	enum fig sort;
	bool reverse, basename, paused, help;
	bool ascii;			/* the terminal shows nothing else */
	bool ended;			/* the recording is over */
	const char *input;		/* the recording; NULL: live */
	__u64 interval_ns;
	size_t scroll;			/* first file shown; kept in range by view_draw() */
	size_t page;			/* set by view_draw(): files that fit */
	char message[VIEW_MESSAGE];	/* sanitized; replaces the hints until a key comes */
};

/*
 * Fills *s (zeroed, or drawn before) for a terminal of rows x cols. r is to be made with all rows
 * (view.top 0); NULL: there is no interval yet. -ENOMEM: what is there can be shown.
 */
int view_draw(struct view_screen *s, const struct report *r, struct view_state *st, size_t rows,
	      size_t cols);
void view_free(struct view_screen *s);

/* Keys that are no characters; characters are themselves. */
enum view_key {
	VIEW_KEY_NONE = -1,
	VIEW_KEY_UP = 0x200000,
	VIEW_KEY_DOWN,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
};

enum view_action {
	VIEW_IGNORE,
	VIEW_REDRAW,
	VIEW_RERANK,	/* the sort key is another: make the report again */
	VIEW_RESUME,
	VIEW_REPACE,	/* the interval is another */
	VIEW_QUIT,
};

/* r: what is shown, NULL: nothing yet. */
enum view_action view_key(struct view_state *st, int key, const struct report *r);

/* ---- the terminal (view_term.c) ---- */

struct view_term;

/*
 * Takes the terminal over; the caller has blocked signals, and answers them. NULL: there is none
 * that can show a screen (no terminal, TERM unset, dumb or unknown: the last one told); nothing
 * was changed. use_stdin: keys may come from stdin, else from the controlling terminal.
 */
struct view_term *view_term_open(bool use_stdin);
/* Gives it back as it was; what was said on stderr meanwhile comes out. NULL is fine. */
void view_term_close(struct view_term *t);

bool view_term_ascii(const struct view_term *t);
int view_term_fd(const struct view_term *t);	/* readable when keys wait */
int view_term_key(struct view_term *t);		/* VIEW_KEY_NONE: no more */
void view_term_size(struct view_term *t, size_t *rows, size_t *cols);
void view_term_show(struct view_term *t, const struct view_screen *s);
/* Stops this process as Ctrl-Z does; returns when it goes on, with the terminal taken over again. */
void view_term_stop(struct view_term *t);
/* Somebody else may have used the terminal: everything is to be drawn again. */
void view_term_redo(struct view_term *t);
/* The last line said on stderr since the last call, sanitized. false: none. */
bool view_term_message(struct view_term *t, char *buf, size_t size);

/* ---- for view*.c ---- */

/* Appends what fits. ours: ASCII; text: sanitized. */
void view_put(struct view_screen *s, size_t row, enum view_style style, const char *text);
__attribute__((format(printf, 4, 5)))
void view_putf(struct view_screen *s, size_t row, enum view_style style, const char *fmt, ...);
/* Blanks up to a column. */
void view_pad(struct view_screen *s, size_t row, enum view_style style, size_t col);
/* At the right edge, after one blank at least; left out where it does not fit. */
void view_right(struct view_screen *s, size_t row, enum view_style style, const char *text);
/* Columns left. */
size_t view_room(const struct view_screen *s, size_t row);

/* Cells of a grid row; zeroes are dim. sorted: the column whose title stands out, or SIZE_MAX. */
void view_cells(struct view_screen *s, size_t row, enum view_style style, struct text_grid *g,
		size_t at, size_t sorted);

/* Rows of the CPU pane, title included, given how many it may take. */
size_t view_cpus_rows(const struct page *p, size_t most);
/* Both draw rows lines from row on. -ENOMEM. */
int view_cpus(struct view_screen *s, const struct page *p, const struct view_state *st, size_t row,
	      size_t rows);
/* sums: lines below the files: 0, 1 (total), or all of them. */
int view_files(struct view_screen *s, const struct page *p, struct view_state *st, size_t row,
	       size_t rows, size_t sums);
void view_help(struct view_screen *s, const struct view_state *st, size_t row, size_t rows);

#endif
