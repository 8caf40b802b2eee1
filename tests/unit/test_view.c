/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_view.c - the live screen without a terminal: golden screens, sizes from 1x1 on, keys.
 * UPDATE_SCREENS=1 writes the golden files anew.
 */
/* units: view.c view_line.c view_cpus.c view_files.c view_keys.c cells.c render.c model.c model_refs.c model_detail.c bounce.c topology.c cpus.c figures.c text.c sanitize.c snapshot.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_report.h"
#include "sanitize.h"
#include "view.h"

#define FOLDER "view/"

static struct view_state fresh_state(void)
{
	return (struct view_state){ .sort = FIG_ACCESSES, .interval_ns = FIX_SEC };
}

/* What a terminal would show, as lines. The caller's to free. */
static FIX_APART char *drawn(const struct report *r, struct view_state *st, size_t rows, size_t cols)
{
	struct view_screen s = { 0 };
	char *text = NULL;
	size_t size = 0, i, k;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(view_draw(&s, r, st, rows, cols), 0);
	assert_int_equal(s.rows, rows);
	for (i = 0; i < rows; i++) {
		const struct view_line *l = &s.lines[i];
		size_t covered = 0;

		for (k = 0; k < l->nruns; k++) {
			covered += l->runs[k].len;
			assert_true(l->runs[k].style < VIEW_STYLES);
		}
		assert_int_equal(covered, l->len);
		if (l->len) {
			assert_int_equal(strlen(l->text), l->len);
			assert_int_equal(sanitize_width(l->text), l->width);
			assert_true(l->width <= cols);
			for (k = l->len; k && l->text[k - 1] == ' '; k--)
				;
			fwrite(l->text, 1, k, out);
		}
		fputc('\n', out);
	}
	view_free(&s);
	fclose(out);
	return text;
}

/* Line of a screen, from 0; static. */
static FIX_APART const char *line_of(const char *screen, size_t at)
{
	static char line[4096];
	const char *end;

	while (at--)
		screen = strchr(screen, '\n') + 1;
	end = strchr(screen, '\n');
	snprintf(line, sizeof(line), "%.*s", (int)(end - screen), screen);
	return line;
}

static size_t line_with(const char *screen, const char *what)
{
	const char *found = strstr(screen, what);
	size_t n = 0;

	if (!found)
		fail_msg("'%s' is missing in:\n%s", what, screen);
	for (; screen < found; screen++)
		n += *screen == '\n';
	return n;
}

/* A busy machine: some CPUs far behind, most of them idle. */
static void pair_machine(struct pair *p, size_t cpus)
{
	char path[64];
	size_t i;

	pair_rich(p);
	free(p->last.cpus);
	p->last.cpus = NULL;
	p->last.ncpus = 0;
	for (i = 0; i < cpus; i++)
		fix_cpu(&p->last, i, i % 7 == 3 ? 40 * (i % 29) : i % 5 == 1 ? 1 + i % 3 : 0);
	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/srv/data/shard-%02zu/segment-%04zu.log", i % 4, i);
		file(p, 100 + i, path, 1000 - 20 * i);
	}
	pair_make(p, NULL);
}

/* ---- golden screens ---- */

static FIX_APART void assert_golden(const char *name, const char *screen)
{
	char path[512], want[32768];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%.*sdata/%s%s", (int)(strrchr(__FILE__, '/') + 1 - __FILE__),
		 __FILE__, FOLDER, name);
	if (getenv("UPDATE_SCREENS")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(screen, f);
		fclose(f);
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = '\0';
	fclose(f);
	if (strcmp(want, screen))
		fail_msg("%s: wanted\n%s\ngot\n%s", name, want, screen);
}

/* The pane of n CPUs takes at most half of the rows, and files are seen below it. */
static FIX_APART void assert_half(const char *screen, size_t rows)
{
	size_t top = line_with(screen, "\ncpu  ") + 1, files = line_with(screen, "\naccesses") + 1;

	assert_true(files > top);
	assert_true(files - top <= rows / 2);
}

static void test_golden(void **state)
{
	static const struct {
		size_t cpus, rows, cols;
		bool ascii;
	} cases[] = {
		{ 2, 24, 80, false }, { 64, 24, 80, false }, { 256, 24, 80, false },
		{ 1024, 24, 80, false }, { 64, 24, 80, true }, { 16, 40, 120, false },
	};
	struct view_state st;
	struct pair p;
	char name[64], *screen;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pair_machine(&p, cases[i].cpus);
		st = fresh_state();
		st.ascii = cases[i].ascii;
		screen = drawn(&p.r, &st, cases[i].rows, cases[i].cols);
		snprintf(name, sizeof(name), "%zux%zu-%zu%s", cases[i].cols, cases[i].rows,
			 cases[i].cpus, cases[i].ascii ? "-ascii" : "");
		assert_half(screen, cases[i].rows);
		assert_golden(name, screen);
		free(screen);
		pair_free(&p);
	}
}

static void test_golden_help(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;
	char *screen;

	pair_machine(&p, 2);
	st.help = true;
	screen = drawn(&p.r, &st, 24, 80);
	assert_golden("80x24-help", screen);
	free(screen);
	pair_free(&p);
}

/* ---- what must be on it ---- */

static void test_header(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;
	char *screen;

	pair_machine(&p, 2);
	p.last.flags = SNAP_TORN | SNAP_HOTPLUG;
	p.last.lost.recursion_misses = 3;
	pair_make(&p, NULL);
	st.paused = true;
	screen = drawn(&p.r, &st, 24, 120);
	assert_has(screen, "6.18.44  1.5 s  by accesses  PAUSED");
	assert_has(screen, "\nTORN HOTPLUG lost: 7 without room, 3 skipped; hooks 2/3; "
			   "degraded grace.expedited; missing access.marks\n");
	free(screen);
	st.paused = false;
	st.ended = true;
	strcpy(st.message, "tables: make room: EPERM");
	screen = drawn(&p.r, &st, 24, 80);
	assert_has(screen, "END OF RECORDING");
	assert_has(screen, "\ntables: make room: EPERM\n");
	free(screen);
	pair_free(&p);
}

static void test_waiting(void **state)
{
	struct view_state st = fresh_state();
	char *screen = drawn(NULL, &st, 24, 80);

	assert_has(screen, "first interval");
	assert_has(screen, "q quit");
	free(screen);
	st.input = "/tmp/\x1b[2J";
	st.ended = true;
	screen = drawn(NULL, &st, 24, 80);
	assert_clean(screen);
	assert_has(screen, "/tmp/\\x1B[2J: fewer than two snapshots");
	free(screen);
}

static void test_unavailable(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;
	char *screen;

	pair_unavailable(&p);
	screen = drawn(&p.r, &st, 24, 80);
	assert_has(screen, "     n/a    n/a  n/a   n/a   n/a   n/a               total\n");
	assert_has(screen, "\n0 of 1       n/a   n/a   n/a      n/a   n/a      n/a    n/a\n");
	assert_has(screen, "grace normal    started n/a completed n/a");
	free(screen);
	pair_free(&p);
}

/* The number a line begins with. */
static unsigned long first_number(const char *screen, size_t at)
{
	const char *line = line_of(screen, at);

	return strtoul(line + strspn(line, " >="), NULL, 10);
}

/* Seen rows + other + unattributed = total, wherever the screen is. */
static void test_sums(void **state)
{
	struct view_state st = fresh_state();
	unsigned long rows;
	struct pair p;
	char path[64], *screen;
	size_t at, i, k;

	pair_init(&p);
	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/f%02zu", i);
		file(&p, 1 + i, path, 1 + i * i);
	}
	p.last.unattributed[FIG_ACCESSES] = 7;
	p.last.total[FS_SCOPE_IN][FIG_ACCESSES] += 7;
	pair_make(&p, NULL);
	for (i = 0; i < 60; i++) {
		st.scroll = i;
		st.reverse = i % 2;
		screen = drawn(&p.r, &st, 24, 80);
		at = line_with(screen, "(other:");
		for (rows = 0, k = line_with(screen, "\naccesses") + 2; k < at; k++)
			rows += first_number(screen, k);
		assert_true(rows > 0);
		assert_int_equal(first_number(screen, at + 1), 7);
		assert_int_equal(rows + first_number(screen, at) + 7, first_number(screen, at + 2));
		assert_int_equal(first_number(screen, at + 2), p.r.totals.v[FIG_ACCESSES].v);
		free(screen);
	}
	assert_true(st.scroll < 40);
	pair_free(&p);
}

static void test_sort_column(void **state)
{
	struct view_state st = fresh_state();
	struct view view = { .sort = FIG_HOT_PAGES };
	struct pair p;
	char *screen;

	pair_machine(&p, 2);
	pair_make(&p, &view);
	st.sort = FIG_HOT_PAGES;	/* no column of its own: it gets one */
	screen = drawn(&p.r, &st, 24, 100);
	assert_has(screen, "by hot_pages");
	assert_has(screen, "size     hot  file");
	assert_has(screen, "40960");
	free(screen);
	st.sort = FIG_ACCESSES;
	screen = drawn(&p.r, &st, 24, 100);
	assert_has_not(screen, " hot  file");
	free(screen);
	pair_free(&p);
}

/* ---- sizes ---- */

static void draw_sizes(const struct pair *p, struct view_state *st)
{
	static const size_t cols[] = { 1, 2, 3, 7, 10, 20, 39, 40, 60, 79, 80, 81, 120, 200, 500 };
	size_t rows, i;
	char *screen;

	for (rows = 1; rows <= 200; rows += rows < 45 ? 1 : 31) {
		for (i = 0; i < ARRAY_SIZE(cols); i++) {
			screen = drawn(&p->r, st, rows, cols[i]);
			assert_clean(screen);
			if (rows >= 10 && cols[i] >= 20)
				assert_half(screen, rows);
			free(screen);
		}
	}
}

static void test_sizes(void **state)
{
	static const size_t cpus[] = { 0, 1, 2, 5, 8, 64, 1024 };
	struct view_state st;
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		pair_machine(&p, cpus[i]);
		st = fresh_state();
		draw_sizes(&p, &st);
		pair_free(&p);
	}
}

static void test_sizes_hostile(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;

	pair_hostile(&p);
	draw_sizes(&p, &st);
	st = (struct view_state){ .sort = FIG_WRITTEN, .reverse = true, .basename = true,
				  .paused = true, .ascii = true, .scroll = SIZE_MAX / 2 };
	draw_sizes(&p, &st);
	pair_free(&p);
}

/* One screen that grows and shrinks, as under a storm of resizes; and nothing to show. */
static void test_resize(void **state)
{
	struct view_state st = fresh_state();
	struct view_screen s = { 0 };
	struct pair p;
	size_t i;

	pair_machine(&p, 64);
	for (i = 0; i < 2000; i++) {
		size_t rows = i * 7919 % 201, cols = i * 104729 % 501;

		st.help = i % 17 == 0;
		assert_int_equal(view_draw(&s, i % 13 ? &p.r : NULL, &st, rows, cols), 0);
	}
	view_free(&s);
	pair_free(&p);
}

/* ---- keys ---- */

static void test_keys(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;
	int i;

	pair_machine(&p, 2);
	assert_int_equal(view_key(&st, 'q', NULL), VIEW_QUIT);
	assert_int_equal(view_key(&st, 'x', &p.r), VIEW_IGNORE);
	assert_int_equal(view_key(&st, ' ', &p.r), VIEW_REDRAW);
	assert_true(st.paused);
	assert_int_equal(view_key(&st, 'p', &p.r), VIEW_RESUME);
	assert_false(st.paused);
	assert_int_equal(view_key(&st, 'f', &p.r), VIEW_REDRAW);
	assert_true(st.basename);
	assert_int_equal(view_key(&st, '?', &p.r), VIEW_REDRAW);
	assert_true(st.help);
	assert_int_equal(view_key(&st, 's', &p.r), VIEW_REDRAW);	/* any key goes back */
	assert_false(st.help);
	assert_int_equal(st.sort, FIG_ACCESSES);
	/* Only what this kernel gives: no marks; all around and back. */
	for (i = 0; i < FIGS; i++) {
		assert_int_equal(view_key(&st, 's', &p.r), VIEW_RERANK);
		assert_true(p.r.totals.v[st.sort].prov != PROV_UNAVAILABLE);
		if (st.sort == FIG_ACCESSES)
			break;
	}
	assert_int_equal(i, 7);
	assert_int_equal(view_key(&st, 'S', &p.r), VIEW_RERANK);
	assert_int_equal(st.sort, FIG_UNTESTED);
	strcpy(st.message, "seen");
	view_key(&st, 'x', &p.r);
	assert_string_equal(st.message, "");
	pair_free(&p);
}

static void test_keys_interval(void **state)
{
	struct view_state st = fresh_state();
	int i;

	assert_int_equal(view_key(&st, '+', NULL), VIEW_REPACE);
	assert_int_equal(st.interval_ns, 2 * FIX_SEC);
	st.interval_ns = 700 * 1000000ull;
	assert_int_equal(view_key(&st, '-', NULL), VIEW_REPACE);
	assert_int_equal(st.interval_ns, 500 * 1000000ull);
	for (i = 0; i < 20; i++)
		view_key(&st, '-', NULL);
	assert_int_equal(st.interval_ns, 100 * 1000000ull);
	for (i = 0; i < 20; i++)
		view_key(&st, '+', NULL);
	assert_int_equal(st.interval_ns, 60 * FIX_SEC);
	/* A longer one given with -d stays. */
	st.interval_ns = 3600 * FIX_SEC;
	assert_int_equal(view_key(&st, '+', NULL), VIEW_IGNORE);
}

static void test_keys_scroll(void **state)
{
	struct view_state st = fresh_state();
	struct pair p;
	char *screen;

	pair_machine(&p, 2);
	free(drawn(&p.r, &st, 24, 80));
	assert_true(st.page > 5);
	view_key(&st, VIEW_KEY_UP, &p.r);
	assert_int_equal(st.scroll, 0);
	view_key(&st, VIEW_KEY_DOWN, &p.r);
	view_key(&st, VIEW_KEY_PAGE_DOWN, &p.r);
	assert_int_equal(st.scroll, st.page);
	view_key(&st, VIEW_KEY_END, &p.r);
	screen = drawn(&p.r, &st, 24, 80);
	assert_int_equal(st.scroll, p.r.nfiles - st.page);
	assert_has(screen, " of 43");
	free(screen);
	view_key(&st, VIEW_KEY_PAGE_UP, &p.r);
	view_key(&st, VIEW_KEY_HOME, &p.r);
	assert_int_equal(st.scroll, 0);
	pair_free(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_help),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_unavailable),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_sort_column),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sizes_hostile),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_keys_interval),
		cmocka_unit_test(test_keys_scroll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
