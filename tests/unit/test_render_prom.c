/* SPDX-License-Identifier: GPL-2.0-only */
/* test_render_prom.c - the exposition text: grammar, caps, sums, and what promtool says. */
/* units: render.c render_prom.c model.c model_refs.c model_detail.c bounce.c topology.c cpus.c figures.c text.c sanitize.c snapshot.c */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_report.h"
#include "render.h"

/* The value of a series, by its name with labels; NULL when it is absent. */
static const char *series(const char *text, const char *name)
{
	static char value[64];
	const char *s = text;
	size_t len = strlen(name);

	for (; s && *s; s = strchr(s, '\n'), s += !!s) {
		if (strncmp(s, name, len) || s[len] != ' ')
			continue;
		s += len + 1;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(s, "\n"), s);
		return value;
	}
	return NULL;
}

static size_t count_series(const char *text)
{
	size_t n = 0;
	const char *s;

	for (s = text; *s; s = strchr(s, '\n') + 1)
		n += *s != '#';
	return n;
}

/* Every line is HELP, TYPE or a sample of the metric they name, with labels well quoted. */
static void assert_exposition(const char *text)
{
	static const char sample[] =
		"^folioscope_[a-z0-9_]+(\\{([a-z_]+=\"([^\\\"]|\\\\[\\n\"])*\",?)+\\})? "
		"[0-9]+(\\.[0-9]+)?$";
	regex_t re;
	char metric[128] = "", line[4096];
	const char *s, *end;

	assert_int_equal(regcomp(&re, sample, REG_EXTENDED | REG_NOSUB), 0);
	assert_clean(text);
	for (s = text; *s; s = end + 1) {
		end = strchr(s, '\n');
		assert_non_null(end);
		assert_true(end - s < (ssize_t)sizeof(line));
		snprintf(line, sizeof(line), "%.*s", (int)(end - s), s);
		if (sscanf(line, "# TYPE %127s", metric) == 1)
			continue;
		if (!strncmp(line, "# HELP folioscope_", 18))
			continue;
		if (regexec(&re, line, 0, NULL, 0) || strncmp(line, metric, strlen(metric)))
			fail_msg("bad line under %s: %s", metric, line);
		assert_has_not(line, "pid=");
		assert_has_not(line, "ino=");
		assert_has_not(line, "cpu=");
	}
	regfree(&re);
}

static void promtool_check(const char *text)
{
	char path[] = "/tmp/folioscope-prom-XXXXXX", cmd[128];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	snprintf(cmd, sizeof(cmd), "promtool check metrics < %s >&2", path);
	assert_int_equal(system(cmd), 0);
	unlink(path);
}

static void test_prom_rich(void **state)
{
	static const struct {
		const char *name, *want;	/* NULL: absent */
	} cases[] = {
		{ "folioscope_accesses_total", "83169" },
		{ "folioscope_machine_accesses_total", "88169" },
		{ "folioscope_marks_total", NULL },
		{ "folioscope_ref_ops_total", NULL },
		{ "folioscope_file_accesses_total"
		  "{path=\"/usr/lib/x86_64-linux-gnu/libc.so.6\",dev=\"8:1\"}", "1234" },
		{ "folioscope_file_accesses_total{path=\"unknown\",dev=\"8:1\"}", "12" },
		{ "folioscope_file_accesses_total{path=\"other\"}", "3" },
		{ "folioscope_file_accesses_total{path=\"unattributed\"}", "0" },
		{ "folioscope_file_cached_pages{path=\"unknown\",dev=\"8:1\"}", "36" },
		{ "folioscope_file_cached_pages{path=\"other\"}", NULL },
		{ "folioscope_hook_state{signal=\"access.marks\",backend=\"\",reason=\"functions "
		  "cannot be traced: kprobe and fentry are refused (EPERM)\","
		  "state=\"unavailable\"}",
		  "1" },
		{ "folioscope_hook_misses_total{signal=\"grace.expedited\",backend=\"fentry\"}",
		  "3" },
		{ "folioscope_figure_provenance{figure=\"marks\",provenance=\"unavailable\"}",
		  "1" },
		{ "folioscope_backlog_cpus", "4" },
		{ "folioscope_backlog_callbacks", "600" },
		{ "folioscope_backlog_callbacks_cpu_min", "0" },
		{ "folioscope_backlog_callbacks_cpu_max", "300" },
		{ "folioscope_backlog_callbacks_cpu_skew", "2.000" },
		{ "folioscope_backlog_done_cpu_skew", NULL },
		{ "folioscope_grace_started_total{kind=\"normal\"}", "12" },
		{ "folioscope_grace_ours_total{kind=\"expedited\"}", "2" },
		{ "folioscope_grace_latency_seconds_bucket{kind=\"expedited\",le=\"0.000001024\"}",
		  "1" },
		{ "folioscope_grace_latency_seconds_bucket{kind=\"expedited\",le=\"0.000131072\"}",
		  "100" },
		{ "folioscope_grace_latency_seconds_bucket{kind=\"expedited\",le=\"68.719476736\"}",
		  "101" },
		{ "folioscope_grace_latency_seconds_bucket{kind=\"expedited\",le=\"+Inf\"}",
		  "102" },
		{ "folioscope_grace_latency_seconds_count{kind=\"expedited\"}", "102" },
		{ "folioscope_grace_latency_seconds_sum{kind=\"expedited\"}", "824.645025798" },
		{ "folioscope_grace_latency_seconds_count{kind=\"normal\"}", NULL },
		{ "folioscope_lost_total{cause=\"map_full\"}", "7" },
		{ "folioscope_interval_seconds", "1.500000001" },
		{ "folioscope_interval_flag{flag=\"torn\"}", "0" },
		{ "folioscope_self_cpu_seconds_total", "0.012345678" },
		{ "folioscope_map_bytes", "4194304" },
		{ "folioscope_program_seconds_total{program=\"access_get_pages\"}", "0.000075" },
		{ "folioscope_files_seen", "3" },
		{ "folioscope_series_folded", "0" },
	};
	struct pair p;
	char *text;
	size_t i;

	pair_rich(&p);
	text = rendered(render_prom, &p, 500);
	assert_exposition(text);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = series(text, cases[i].name);

		if ((!got) != (!cases[i].want) || (got && strcmp(got, cases[i].want)))
			fail_msg("%s: %s, not %s", cases[i].name, got, cases[i].want);
	}
	free(text);
	pair_free(&p);
}

/* Buckets only ever grow towards +Inf, and the edges too. Their number. */
static int check_buckets(const char *text)
{
	static const char bucket[] =
		"folioscope_grace_latency_seconds_bucket{kind=\"expedited\",le=\"";
	double le, before = -1;
	unsigned long n, last = 0;
	const char *s = text;
	int buckets = 0;

	while ((s = strstr(s, bucket))) {
		s += sizeof(bucket) - 1;
		assert_int_equal(sscanf(s, "%lf\"} %lu", &le, &n), 2);
		assert_true(le > before && n >= last);
		before = le;
		last = n;
		buckets++;
	}
	return buckets;
}

static void test_prom_histogram(void **state)
{
	struct pair p;
	char *text;

	pair_rich(&p);
	text = rendered(render_prom, &p, 500);
	assert_int_equal(check_buckets(text), 28);
	free(text);
	pair_free(&p);
}

static double file_sum(const char *text)
{
	static const char metric[] = "folioscope_file_accesses_total{";
	double sum = 0;
	const char *s;

	for (s = strstr(text, metric); s; s = strstr(s + 1, metric))
		sum += atof(strchr(s, '}') + 2);
	return sum;
}

/* However many files there are and whatever the cap: the sum over files is the total. */
static void test_prom_cap(void **state)
{
	static const unsigned int caps[] = { 0, 100, 250, 500, 2000 };
	struct pair p;
	char path[32], *text;
	size_t i;

	pair_rich(&p);
	for (i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "/churn/%zu", i);
		file(&p, 100 + i, path, 1 + i % 7);
	}
	pair_make(&p, NULL);
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		text = rendered(render_prom, &p, caps[i]);
		assert_exposition(text);
		if (caps[i] >= 250)
			assert_in_range(count_series(text), caps[i] - 12, caps[i]);
		assert_true(file_sum(text) == atof(series(text, "folioscope_accesses_total")));
		if (!caps[i])
			assert_string_equal(series(text, "folioscope_series_folded"), "3003");
		free(text);
	}
	pair_free(&p);
}

static void test_prom_equal_labels(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "folioscope_file_accesses_total{path=\"/same\",dev=\"8:1\"}", "30" },
		{ "folioscope_file_accesses_total{path=\"/same\",dev=\"8:2\"}", "40" },
		{ "folioscope_file_cached_pages{path=\"/same\",dev=\"8:1\"}", "90" },
	};
	struct pair p;
	char *text;
	size_t i;

	pair_init(&p);
	file(&p, 1, "/same", 10);
	file(&p, 2, "/same", 20);
	file(&p, 3, "/same", 40);
	p.last.rows[2].key.dev = FIX_DEV(8, 2);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 500);
	assert_exposition(text);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(series(text, cases[i].name), cases[i].want);
	free(text);
	pair_free(&p);
}

static void test_promtool(void **state)
{
	struct pair p;
	char *text;
	size_t i;

	if (system("command -v promtool >/dev/null 2>&1")) {
		print_message("SKIP: promtool is not installed\n");
		skip();
	}
	pair_rich(&p);
	for (i = 0; i < FIX_HOSTILE; i++)
		file(&p, 100 + i, fix_hostile[i], 1000000);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 1000);
	promtool_check(text);
	free(text);
	pair_free(&p);

	pair_init(&p);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 500);
	promtool_check(text);
	free(text);
	pair_free(&p);
}

static void test_prom_hostile(void **state)
{
	struct pair p;
	char *text;

	pair_hostile(&p);
	text = rendered(render_prom, &p, 5000);
	assert_clean(text);
	assert_has_not(text, "\nfolioscope_evil");
	assert_has(text, "path=\"/tmp/label\\\"} 1\\\\x0Afolioscope_evil 1\"");
	assert_has(text, "path=\"/tmp/quote\\\"back\\\\\\\\slash'\"");
	free(text);
	pair_free(&p);
}

static void test_prom_unavailable(void **state)
{
	struct pair p;
	char *text;

	pair_unavailable(&p);
	text = rendered(render_prom, &p, 500);
	assert_exposition(text);
	assert_has_not(text, "accesses_total");
	assert_has_not(text, "folioscope_backlog");
	assert_has_not(text, "folioscope_grace");
	assert_string_equal(series(text, "folioscope_hook_state{signal=\"access.read\","
				   "backend=\"\",reason=\"\",state=\"unavailable\"}"), "1");
	free(text);
	pair_free(&p);
}

static void test_prom_empty(void **state)
{
	struct pair p;
	char *text;

	pair_init(&p);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 500);
	assert_exposition(text);
	assert_string_equal(series(text, "folioscope_accesses_total"), "0");
	assert_null(series(text, "folioscope_backlog_callbacks"));
	free(text);
	pair_free(&p);
}

/* CPUs are no label: a thousand of them have as many series as one. */
static void test_prom_cpus(void **state)
{
	struct pair p;
	size_t few, i;
	char *text;

	pair_init(&p);
	fix_cpu(&p.last, 0, 64);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 500);
	few = count_series(text);
	free(text);
	for (i = 1; i < 1024; i++)
		fix_cpu(&p.last, i, 64);
	pair_make(&p, NULL);
	text = rendered(render_prom, &p, 500);
	assert_int_equal(count_series(text), few);
	assert_string_equal(series(text, "folioscope_backlog_callbacks"), "65536");
	assert_string_equal(series(text, "folioscope_backlog_callbacks_cpu_skew"), "1.000");
	free(text);
	pair_free(&p);
}

static void test_prom_full_disk(void **state)
{
	assert_full_disk(render_prom);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prom_rich),
		cmocka_unit_test(test_prom_histogram),
		cmocka_unit_test(test_prom_cap),
		cmocka_unit_test(test_prom_equal_labels),
		cmocka_unit_test(test_promtool),
		cmocka_unit_test(test_prom_hostile),
		cmocka_unit_test(test_prom_unavailable),
		cmocka_unit_test(test_prom_empty),
		cmocka_unit_test(test_prom_cpus),
		cmocka_unit_test(test_prom_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
