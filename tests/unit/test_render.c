/* SPDX-License-Identifier: GPL-2.0-only */
/* test_render.c - the walk of a report, and the report that people read. */
/* units: render.c render_text.c render_refs.c cells.c model.c model_refs.c model_detail.c bounce.c topology.c cpus.c figures.c text.c sanitize.c snapshot.c */
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
#include "render.h"
#include "sanitize.h"

static int text_of(FILE *out, const struct report *r, unsigned int arg)
{
	const struct text_opts opts = { .width = arg };

	return render_text(out, r, &opts);
}

/* The walk calls in the promised order, skips NULL slots and stops at an error. */
struct log {
	char text[64];
	int fail_at;
};

static int log_call(struct log *l, char c)
{
	size_t len = strlen(l->text);

	l->text[len] = c;
	return l->fail_at == c ? -ECANCELED : 0;
}

static int log_begin(void *ctx, const struct report *r) { return log_call(ctx, 'b'); }
static int log_hook(void *ctx, const struct snap_hook *h) { return log_call(ctx, 'h'); }
static int log_cpu(void *ctx, const struct report_cpu *c) { return log_call(ctx, 'c'); }
static int log_lost(void *ctx, const struct snap_lost *l) { return log_call(ctx, 'l'); }
static int log_over(void *ctx, const struct report *r) { return log_call(ctx, 'v'); }
static int log_end(void *ctx, const struct report *r) { return log_call(ctx, 'e'); }

static int log_row(void *ctx, enum row_kind kind, const struct report_row *row)
{
	return log_call(ctx, "TMFOU"[kind]);
}

static int log_grace(void *ctx, enum fs_gp kind, const struct report_grace *g)
{
	return log_call(ctx, kind == FS_GP_NORMAL ? 'n' : 'x');
}

static void test_walk(void **state)
{
	struct render_ops ops = {
		log_begin, log_lost, log_hook, log_row, log_cpu, log_grace, log_over, log_end,
	};
	static const struct render_ops none;
	struct log l = { "", 0 };
	struct pair p;

	pair_rich(&p);
	assert_int_equal(report_walk(&p.r, &ops, &l), 0);
	assert_string_equal(l.text, "blhhhTMFFFOUccccnxve");
	l = (struct log){ "", 'F' };
	assert_int_equal(report_walk(&p.r, &ops, &l), -ECANCELED);
	assert_string_equal(l.text, "blhhhTMF");
	ops.row = NULL;
	ops.end = NULL;
	l = (struct log){ "", 0 };
	assert_int_equal(report_walk(&p.r, &ops, &l), 0);
	assert_string_equal(l.text, "blhhhccccnxv");
	assert_int_equal(report_walk(&p.r, &none, &l), 0);
	pair_free(&p);
}

static void assert_fits(const char *text, size_t width)
{
	char line[4096];
	const char *s, *end;

	for (s = text; *s; s = end + 1) {
		end = strchr(s, '\n');
		assert_non_null(end);
		snprintf(line, sizeof(line), "%.*s", (int)(end - s), s);
		if (sanitize_width(line) > width)
			fail_msg("wider than %zu: %s", width, line);
		if (end > s)
			assert_true(end[-1] != ' ');
	}
}

static void test_text_rich(void **state)
{
	struct pair p;
	char *text;

	pair_rich(&p);
	text = rendered(text_of, &p, 110);
	assert_clean(text);
	assert_fits(text, 110);
	assert_has(text, "folioscope: 1.500 s from 2027-01-15 08:00:00 UTC, kernel 6.18.44\n");
	assert_has(text, "lost: 7 events without room for their file (in other)\n");
	assert_has(text, "  /var/lib/postgresql/15/main/base/16384/2619\n");
	assert_has(text, ">=81920");
	assert_has(text, " 50%");
	assert_has(text, "960M");
	assert_has(text, "(no name: device 8:1, inode 3)");
	assert_has(text, "(other: 0 files)");
	assert_has(text, "total in filter\n");
	assert_has(text, "88169");
	assert_has(text, "shown: 3 of 3 files, 99.9% of accesses\n");
	assert_has(text, ">= at least");
	assert_has(text, "accesses   pages hot%     ins");	/* no marks: unavailable */
	assert_has(text, "expedited");
	assert_has(text, "<=131us");
	assert_has(text, "all 4 cpus        600    0  300        0  150      150     74\n");
	assert_has(text, "expedited requested by  mount(1234):9, evil\\x1B[31m\"(1):2\n");
	assert_has(text, "normal requested by     n/a\n");
	assert_has(text, "of these 0 normal and 2 expedited were caused by folioscope itself\n");
	assert_has(text, "not available\n  access.marks      functions cannot be traced");
	assert_has(text, "degraded\n  grace.expedited   fentry rcu_exp_wait_wake: preempt");
	assert_has(text, "cost: 12.3ms of CPU in folioscope, maps 4M, programs ran 1000 times for "
			 "75.0us\n");
	free(text);
	pair_free(&p);
}

static void test_text_few(void **state)
{
	struct pair p;
	char *text;

	pair_init(&p);
	file(&p, 1, "/few", 9);
	p.last.total[FS_SCOPE_IN][FIG_PAGES] = 9;
	pair_make(&p, NULL);
	text = rendered(text_of, &p, 80);
	assert_has(text, "  -  ");
	assert_has_not(text, "%  ");
	assert_has(text, "- under 10 pages: no share");
	free(text);
	pair_free(&p);
}

static void test_text_cpus(void **state)
{
	static const struct {
		size_t cpus;
		const char *has, *has_not;
	} cases[] = {
		{ 0, "all 0", "cpu 0" },
		{ 1, "all 1", "more CPUs" },
		{ 2, "cpu 1", "more CPUs" },
		{ 1024, "... 1007 more CPUs with a backlog\nall 1024 cpus", "cpu 1007 " },
	};
	struct pair p;
	char *text;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pair_init(&p);
		for (k = 0; k < cases[i].cpus; k++)
			fix_cpu(&p.last, k, 8 * k);
		pair_make(&p, NULL);
		text = rendered(text_of, &p, 80);
		assert_fits(text, 80);
		assert_has(text, cases[i].has);
		assert_has_not(text, cases[i].has_not);
		if (cases[i].cpus == 1024)
			assert_true(strstr(text, "cpu 1023 ") < strstr(text, "cpu 1022 "));
		free(text);
		pair_free(&p);
	}
}

static void test_text_options(void **state)
{
	struct text_opts opts = { .width = 0, .basename = true, .verbose = true };
	struct pair p;
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	pair_rich(&p);
	out = open_memstream(&text, &size);
	assert_int_equal(render_text(out, &p.r, &opts), 0);
	fclose(out);
	assert_has(text, "  libc.so.6\n");
	assert_has_not(text, "/usr/lib");
	assert_has(text, "hooks\n  access.read       attached, tp_btf mm_filemap_get_pages\n");
	assert_has(text, "  access.marks      unavailable: functions");
	free(text);
	pair_free(&p);
}

static void test_text_columns(void **state)
{
	struct pair p;
	char *text;

	pair_init(&p);
	file(&p, 1, "/some/where/in/a/deep/tree/of/directories/is/a/file.c", 123456789);
	pair_make(&p, NULL);
	text = rendered(text_of, &p, 0);
	assert_has(text, "marks");
	assert_has(text, "123456789");
	free(text);
	/* Short numbers make room for the path; then columns go, the least telling first. */
	text = rendered(text_of, &p, 80);
	assert_has(text, "123M");
	assert_has(text, "marks");
	assert_has(text, "\xe2\x80\xa6");
	free(text);
	text = rendered(text_of, &p, 50);
	assert_has_not(text, "marks");
	assert_has(text, "accesses");
	assert_has(text, "file.c");
	free(text);
	pair_free(&p);
}

/* Whatever is in the strings, and however narrow the terminal. */
static void test_text_hostile(void **state)
{
	struct pair p;
	char *text;
	size_t i;

	pair_hostile(&p);
	for (i = 0; i < 200; i += i < 130 ? 1 : 50) {
		text = rendered(text_of, &p, i);
		assert_clean(text);
		if (i >= 40)
			assert_fits(text, i);
		free(text);
	}
	pair_free(&p);
}

static void test_text_unavailable(void **state)
{
	struct pair p;
	char *text;

	pair_unavailable(&p);
	text = rendered(text_of, &p, 80);
	assert_fits(text, 80);
	assert_has(text, "     n/a   n/a  n/a n/a n/a n/a              total\n");
	assert_has(text, "access.read       no reason recorded");
	assert_has(text, "shown: 0 of 0 files\n");
	assert_has(text, "0 of 1 cpus       n/a");
	free(text);
	pair_free(&p);
}

static void test_text_empty(void **state)
{
	struct pair p;
	char *text;

	pair_init(&p);
	pair_make(&p, NULL);
	text = rendered(text_of, &p, 80);
	assert_fits(text, 80);
	assert_has(text, "lost: nothing\n");
	free(text);
	pair_free(&p);
}

static void test_text_flags(void **state)
{
	struct pair p;
	char *text;

	pair_init(&p);
	p.last.flags = SNAP_TORN | SNAP_HOTPLUG;
	p.first.total[FS_SCOPE_IN][FIG_PAGES] = 1;
	pair_make(&p, NULL);
	text = rendered(text_of, &p, 80);
	assert_has(text, "\nTORN: ");
	assert_has(text, "\nHOTPLUG: ");
	assert_has(text, "\nCLAMPED: ");
	free(text);
	pair_free(&p);
}

static void test_text_full_disk(void **state)
{
	assert_full_disk(text_of);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_text_rich),
		cmocka_unit_test(test_text_few),
		cmocka_unit_test(test_text_cpus),
		cmocka_unit_test(test_text_options),
		cmocka_unit_test(test_text_columns),
		cmocka_unit_test(test_text_hostile),
		cmocka_unit_test(test_text_unavailable),
		cmocka_unit_test(test_text_empty),
		cmocka_unit_test(test_text_flags),
		cmocka_unit_test(test_text_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
