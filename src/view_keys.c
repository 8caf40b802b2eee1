// SPDX-License-Identifier: GPL-2.0-only
/* view_keys.c - what keys do, and the screen that tells. See view.h. */
#include <string.h>

#include "view.h"

#define MS_NS 1000000ull
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The next or previous figure that this kernel gives. */
static enum view_action next_sort(struct view_state *st, const struct report *r, int step)
{
	int f = st->sort, i;

	for (i = 0; i < FIGS; i++) {
		f = (f + FIGS + step) % FIGS;
		if (!r || r->totals.v[f].prov != PROV_UNAVAILABLE)
			break;
	}
	if (f == (int)st->sort)
		return VIEW_IGNORE;
	st->sort = f;
	st->scroll = 0;
	return VIEW_RERANK;
}

static enum view_action next_interval(struct view_state *st, int step)
{
	static const __u64 steps[] = {
		100 * MS_NS, 200 * MS_NS, 500 * MS_NS, 1000 * MS_NS, 2000 * MS_NS, 5000 * MS_NS,
		10000 * MS_NS, 30000 * MS_NS, 60000 * MS_NS,
	};
	__u64 to = st->interval_ns;
	size_t i;

	if (step > 0) {
		for (i = 0; i < ARRAY_SIZE(steps) && steps[i] <= to; i++)
			;
		to = i < ARRAY_SIZE(steps) ? steps[i] : to;
	} else {
		for (i = ARRAY_SIZE(steps); i && steps[i - 1] >= to; i--)
			;
		to = i ? steps[i - 1] : to;
	}
	if (to == st->interval_ns)
		return VIEW_IGNORE;
	st->interval_ns = to;
	return VIEW_REPACE;
}

/* Out of range is put right when it is drawn. */
static enum view_action scroll(struct view_state *st, size_t rows, bool down)
{
	if (down)
		st->scroll += rows;
	else
		st->scroll -= rows < st->scroll ? rows : st->scroll;
	return VIEW_REDRAW;
}

static enum view_action toggle(bool *what)
{
	*what = !*what;
	return VIEW_REDRAW;
}

enum view_action view_key(struct view_state *st, int key, const struct report *r)
{
	size_t nfiles = r ? r->nfiles : 0, page = st->page > 1 ? st->page - 1 : 1;

	if (key == 'q' || key == 'Q')
		return VIEW_QUIT;
	st->message[0] = '\0';
	if (st->help)
		return toggle(&st->help);
	switch (key) {
	case 'p':
	case ' ':
		st->paused = !st->paused;
		return st->paused ? VIEW_REDRAW : VIEW_RESUME;
	case 's':
		return next_sort(st, r, 1);
	case 'S':
		return next_sort(st, r, -1);
	case 'r':
		st->scroll = 0;
		return toggle(&st->reverse);
	case 'f':
		return toggle(&st->basename);
	case '+':
	case '=':
		return next_interval(st, 1);
	case '-':
		return next_interval(st, -1);
	case '?':
	case 'h':
		return toggle(&st->help);
	case VIEW_KEY_UP:
	case 'k':
		return scroll(st, 1, false);
	case VIEW_KEY_DOWN:
	case 'j':
		return scroll(st, 1, true);
	case VIEW_KEY_PAGE_UP:
		return scroll(st, page, false);
	case VIEW_KEY_PAGE_DOWN:
		return scroll(st, page, true);
	case VIEW_KEY_HOME:
		st->scroll = 0;
		return VIEW_REDRAW;
	case VIEW_KEY_END:
		st->scroll = nfiles;
		return VIEW_REDRAW;
	}
	return VIEW_IGNORE;
}

void view_help(struct view_screen *s, const struct view_state *st, size_t row, size_t rows)
{
	static const struct {
		const char *key, *text;
	} lines[] = {
		{ "q", "quit" },
		{ "p, space", "pause; the interval after it covers the pause" },
		{ "s, S", "next, previous sort key" },
		{ "r", "reverse: least first" },
		{ "arrows, j k", "scroll files; PgUp PgDn Home End" },
		{ "f", "full paths or short names" },
		{ "+ -", "longer, shorter interval" },
		{ "accesses", "reads and faults that touched the file's page cache" },
		{ "pages", "pages they touched, each once per access" },
		{ "hot%", "of these, in folios as accessed as the LRU records" },
		{ "ins rem wrt", "pages that entered, left the page cache, were dirtied" },
		{ "cached, size", "page cache held now, file size" },
		{ "callbacks", "RCU callbacks queued on the CPU, then by segment" },
		{ "bar", "callbacks now, up to the peak; full: highest peak of any CPU" },
		{ "grace", "grace periods of the interval and their latency" },
		{ ">= <= ~ *", "at least, at most, estimated, projected" },
		{ "n/a", "not available on this kernel (folioscope probe tells why)" },
		{ "-", "too few to give a share" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines) && i + 1 < rows; i++, row++) {
		view_putf(s, row, VIEW_BOLD, " %-13s", lines[i].key);
		view_put(s, row, VIEW_PLAIN, lines[i].text);
	}
	if (rows > i + 1) {
		view_put(s, row + 1, VIEW_DIM,
			 " All counts are of the interval. Any key goes back, --explain tells more.");
	}
	(void)st;
}
