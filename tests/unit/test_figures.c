/* SPDX-License-Identifier: GPL-2.0-only */
/* test_figures.c - every figure has a name, a meaning, a formula and its blind spots. */
/* units: figures.c text.c sanitize.c */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figures.h"
#include "text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct figure_info *nth(size_t i)
{
	return i < FIGS ? &figures[i] : &gauges[i - FIGS];
}

static void assert_name(const char *s)
{
	assert_true(*s);
	for (; *s; s++)
		assert_true(islower((unsigned char)*s) || *s == '_');
}

/* Text that fits a HELP line and a terminal as it is. */
static void assert_text(const char *s)
{
	assert_non_null(s);
	assert_true(strlen(s) > 4);
	assert_int_equal(s[strlen(s) - 1], '.');
	assert_null(strstr(s, "  "));
	for (; *s; s++)
		assert_true(*s >= ' ' && *s < 0x7f && *s != '\\');
}

static void test_complete(void **state)
{
	size_t i;

	for (i = 0; i < FIGS + GAUGES; i++) {
		const struct figure_info *f = nth(i);

		assert_true(f->json || f->metric);
		if (f->json)
			assert_name(f->json);
		if (f->metric)
			assert_name(f->metric);
		assert_true(f->unit && *f->unit);
		assert_true(f->label && *f->label);
		assert_text(f->help);
		assert_text(f->formula);
		assert_text(f->blind);
	}
}

static void test_names_are_unique(void **state)
{
	size_t i, k;

	for (i = 0; i < FIGS + GAUGES; i++) {
		for (k = 0; k < i; k++) {
			const struct figure_info *a = nth(i), *b = nth(k);

			if (a->json && b->json)
				assert_string_not_equal(a->json, b->json);
			if (a->metric && b->metric)
				assert_string_not_equal(a->metric, b->metric);
		}
	}
}

static void test_names_of_the_schema(void **state)
{
	static const char *const row[FIGS] = {
		"accesses", "pages", "hot_pages", "hot_accesses", "marks", "marks_hot",
		"inserted_pages", "removed_pages", "written_pages", "hot_untested_pages", "ref_ops",
		"get_bounces", "put_bounces", "failed_gets", "would_defer_pages", "window_pages",
	};
	static const char *const prov[PROVS] = {
		"unavailable", "measured", "sampled", "derived", "upper_bound", "lower_bound",
		"projected",
	};
	int i;

	for (i = 0; i < FIGS; i++) {
		assert_string_equal(figures[i].json, row[i]);
		assert_int_equal(figures[i].type, METRIC_COUNTER);
	}
	for (i = 0; i < PROVS; i++)
		assert_string_equal(prov_names[i], prov[i]);
}

static char *explained(const char *id, int want)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(figures_explain(out, id), want);
	fclose(out);
	return text;
}

static void test_explain_one(void **state)
{
	static const struct {
		const char *id;
		int err;
		const char *has, *has_not;
	} cases[] = {
		{ "accesses", 0, "io_uring does not raise syscr", "folio_mark_accessed for" },
		{ "accesses", 0, "folioscope_file_accesses_total", "folioscope_pages" },
		{ "folioscope_accesses_total", 0, "accesses (events)", "pages (pages)" },
		{ "marks", 0, "marks (events)", "marks_hot" },
		{ "latency_ns", 0, "folioscope_grace_latency_seconds\n", "_total" },
		{ "folioscope_grace_latency_seconds", 0, "latency_ns (ns)", "started (" },
		{ "series_folded", 0, "series_folded (files)", NULL },
		{ "access", -ENOENT, NULL, "a" },
		{ "accesses_", -ENOENT, NULL, "a" },
		{ "", -ENOENT, NULL, "a" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = explained(cases[i].id, cases[i].err);

		if (cases[i].has)
			assert_non_null(strstr(text, cases[i].has));
		if (cases[i].has_not)
			assert_null(strstr(text, cases[i].has_not));
		free(text);
	}
}

static void test_explain_all(void **state)
{
	char *text = explained(NULL, 0), *line, *save = NULL, title[96];
	size_t i;

	for (i = 0; i < FIGS + GAUGES; i++) {
		const struct figure_info *f = nth(i);

		snprintf(title, sizeof(title), "%s (%s)\n", f->json ? f->json : f->metric, f->unit);
		assert_non_null(strstr(text, title));
	}
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 80);
	free(text);
}

static void test_numbers(void **state)
{
	static const struct {
		__u64 v;
		const char *exact, *compact, *size, *time;
	} cases[] = {
		{ 0, "0", "0", "0B", "0ns" },
		{ 999, "999", "999", "999B", "999ns" },
		{ 1000, "1000", "1000", "1000B", "1.00us" },
		{ 1024, "1024", "1024", "1K", "1.02us" },
		{ 1536, "1536", "1536", "1.5K", "1.54us" },
		{ 99999, "99999", "99999", "98K", "100us" },
		{ 100000, "100000", "100k", "98K", "100us" },
		{ 999499, "999499", "999k", "976K", "999us" },
		{ 999500, "999500", "1.00M", "976K", "1.00ms" },
		{ 1048576, "1048576", "1.05M", "1M", "1.05ms" },
		{ 12345678, "12345678", "12.3M", "12M", "12.3ms" },
		{ 999999999, "999999999", "1.00G", "954M", "1.00s" },
		{ ~0ull, "18446744073709551615", "18.4E", "16E", "18446744074s" },
	};
	char buf[TEXT_CELL];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		text_count(buf, sizeof(buf), cases[i].v, false);
		assert_string_equal(buf, cases[i].exact);
		text_count(buf, sizeof(buf), cases[i].v, true);
		assert_string_equal(buf, cases[i].compact);
		text_size(buf, sizeof(buf), cases[i].v);
		assert_string_equal(buf, cases[i].size);
		text_time(buf, sizeof(buf), cases[i].v);
		assert_string_equal(buf, cases[i].time);
	}
}

static void test_wrap(void **state)
{
	static const struct {
		const char *text;
		unsigned int indent, width;
		const char *want;
	} cases[] = {
		{ "one two three", 0, 0, "one two three\n" },
		{ "one two three", 0, 7, "one two\nthree\n" },
		{ "one two three", 2, 9, "one two\n  three\n" },
		{ "one two three", 2, 8, "one\n  two\n  three\n" },
		{ "unbreakable", 0, 4, "unbr\neaka\nble\n" },
		{ "a longword b", 1, 6, "a\n longw\n ord b\n" },
		{ "ab", 9, 4, "a\n         b\n" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9", 0, 2, "\xc3\xa9\xc3\xa9\n\xc3\xa9\n" },
		{ "\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9", 0, 5,
		  "\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\n" },
		{ "\xe6\x97\xa5\xe6\x9c\xac", 0, 3, "\xe6\x97\xa5\n\xe6\x9c\xac\n" },
		{ "\xe6\x97\xa5", 0, 1, "\xe6\x97\xa5\n" },
		{ "ab\\x1Bcd", 0, 5, "ab\n\\x1Bc\nd\n" },
		{ "two  blanks at the end  ", 0, 10, "two blanks\nat the end\n" },
		{ "", 0, 10, "\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		text_wrap(out, cases[i].text, cases[i].indent, cases[i].width);
		fclose(out);
		assert_string_equal(text, cases[i].want);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_names_of_the_schema),
		cmocka_unit_test(test_explain_one),
		cmocka_unit_test(test_explain_all),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
