// SPDX-License-Identifier: GPL-2.0-only
/* harness_report.c - reports and outputs: see harness.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness.h"

/* Of a row; the order does not matter. */
static const char *const figure_keys[] = {
	"accesses", "pages", "hot_pages", "hot_accesses", "marks", "marks_hot", "inserted_pages",
	"removed_pages", "written_pages", "hot_untested_pages", "window_pages", "ref_ops", "get_bounces",
	"put_bounces", "failed_gets", "would_defer_pages",
};

/* ---- access to parts ---- */

json_t *report_get(const json_t *root, const char *path)
{
	char *rest = text("%s", path), *key;
	const json_t *at = root;

	while ((key = strsep(&rest, ".")))
		at = json_object_get(at, key);
	CHECK(at, "report: no %s", path);
	return (json_t *)at;
}

long long report_int(const json_t *root, const char *path)
{
	json_t *v = report_get(root, path);

	CHECK(json_is_integer(v), "report: %s is %s", path, json_is_null(v) ? "null" : "no integer");
	return json_integer_value(v);
}

long long row_int(const json_t *row, const char *figure)
{
	json_t *v = json_object_get(row, figure);

	CHECK(json_is_integer(v), "row %s: %s is %s",
	      json_string_value(json_object_get(row, "path")) ?: "(total)", figure,
	      json_is_null(v) ? "null" : "no integer");
	return json_integer_value(v);
}

bool row_joins(const json_t *row, const char *path)
{
	const char *dev = json_string_value(json_object_get(row, "dev"));
	struct stat st;

	CHECK(!stat(path, &st), "%s: stat fails", path);
	return dev && !strcmp(dev, text("%u:%u", major(st.st_dev), minor(st.st_dev))) &&
	       row_int(row, "ino") == (long long)st.st_ino;
}

json_t *row_find(const struct report *r, const char *path)
{
	json_t *row, *found = NULL;
	const char *name;
	size_t i;

	json_array_foreach(report_get(r->root, "files"), i, row) {
		name = json_string_value(json_object_get(row, "path"));
		if (!name || strcmp(name, path))
			continue;
		CHECK(!found, "%s: several rows", path);
		found = row;
	}
	return found;
}

json_t *row_stat(const struct report *r, const char *path)
{
	json_t *row, *found = NULL;
	size_t i;

	json_array_foreach(report_get(r->root, "files"), i, row) {
		if (!row_joins(row, path))
			continue;
		CHECK(!found, "%s: several rows join with stat", path);
		found = row;
	}
	return found;
}

json_t *row_of(const struct report *r, const char *path)
{
	json_t *row = row_find(r, path);

	CHECK(row, "%s: no row", path);
	CHECK(row_joins(row, path), "%s: its row is %s inode %lld, which is not what stat says", path,
	      json_string_value(json_object_get(row, "dev")), row_int(row, "ino"));
	return row;
}

/* ---- what holds always ---- */

static void check_numbers(const json_t *v, const char *where)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_number(v))
		CHECK(json_number_value(v) >= 0, "%s: %g is negative", where, json_number_value(v));
	json_object_foreach((json_t *)v, key, part)
		check_numbers(part, text("%s.%s", where, key));
	json_array_foreach(v, i, part)
		check_numbers(part, text("%s[%zu]", where, i));
}

/* null says unavailable and the other way round. */
static void check_row(const json_t *row, const char *where)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(figure_keys); i++) {
		json_t *v = json_object_get(row, figure_keys[i]);
		json_t *p = json_object_get(json_object_get(row, "provenance"), figure_keys[i]);
		bool absent = json_is_string(p) && !strcmp(json_string_value(p), "unavailable");

		CHECK(v && p, "%s: no %s", where, figure_keys[i]);
		CHECK(json_is_null(v) == absent, "%s: %s is null or not against its provenance",
		      where, figure_keys[i]);
	}
}

static long long part_int(const json_t *row, const char *figure)
{
	return json_integer_value(json_object_get(row, figure));
}

static void check_sum(const json_t *root, const char *figure)
{
	long long sum = 0, total;
	json_t *row;
	size_t i;

	if (json_is_null(report_get(root, text("totals.%s", figure))))
		return;
	total = report_int(root, text("totals.%s", figure));
	json_array_foreach(report_get(root, "files"), i, row)
		sum += part_int(row, figure);
	sum += part_int(report_get(root, "other"), figure) +
	       part_int(report_get(root, "unattributed"), figure);
	CHECK(sum == total, "%s: rows + other + unattributed = %lld, totals %lld", figure, sum, total);
	if (!json_is_null(report_get(root, "machine")))
		CHECK(report_int(root, text("machine.%s", figure)) >= total,
		      "%s: less in the machine than in the filter", figure);
}

void report_check(const json_t *root)
{
	json_t *row;
	size_t i;

	CHECK(!strcmp(json_string_value(report_get(root, "schema")) ?: "", "folioscope/1"),
	      "report: another schema");
	CHECK(json_number_value(report_get(root, "duration_s")) > 0, "report: no time has passed");
	CHECK(!json_is_true(report_get(root, "interval.clamped")), "report: clamped");
	check_numbers(root, "report");
	json_array_foreach(report_get(root, "files"), i, row)
		check_row(row, text("files[%zu]", i));
	check_row(report_get(root, "totals"), "totals");
	for (i = 0; i < ARRAY_SIZE(figure_keys); i++)
		check_sum(root, figure_keys[i]);
}

struct report *report_load(const char *path)
{
	struct report *r = calloc(1, sizeof(*r));
	json_error_t err;
	size_t len;
	char *s;

	CHECK(r, "no memory");
	r->json = text("%s", path);
	s = slurp(path, &len);
	check_clean(path, s, len);
	r->root = json_loadb(s, len, JSON_REJECT_DUPLICATES, &err);
	CHECK(r->root, "%s: line %d: %s", path, err.line, err.text);
	report_check(r->root);
	return r;
}

struct report *observe(const char *options, const char *cmd, ...)
{
	static unsigned int n;
	char *json = scratch(".report%u", n++), *c;
	struct report *r;
	struct proc *p;
	va_list ap;

	va_start(ap, cmd);
	CHECK(vasprintf(&c, cmd, ap) >= 0, "no memory");
	va_end(ap);
	if (!strncmp(c, "bench ", 6))
		c = text("%s%s", getenv("FOLIO_BENCH"), c + 5);
	p = run_status(0, "folioscope run -q --top 0 --json=%s %s -- %s", json, options, c);
	r = report_load(json);
	r->proc = p;
	return r;
}

/* ---- expectations ---- */

long long lost_sum(const struct report *r)
{
	return report_int(r->root, "lost.map_full") + report_int(r->root, "lost.recursion_misses") +
	       report_int(r->root, "lost.witness");
}

void expect_count(const struct report *r, const json_t *row, const char *figure, long long want)
{
	long long got = row_int(row, figure), lost = lost_sum(r);

	if (got == want || (got < want && want - got <= lost))
		return;
	fail("%s: %s is %lld, not %lld (lost: %lld)",
	     json_string_value(json_object_get(row, "path")) ?: "total", figure, got, want, lost);
}

/* What the workload itself counted, from the line it printed. */
static void check_bench(const struct report *r, long long accesses, long long pages)
{
	json_t *bench = json_loadb(r->proc->out, r->proc->out_len,
				   JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL);

	CHECK(bench, "folio-bench: no JSON: %s", r->proc->out);
	CHECK(report_int(bench, "expect.accesses") == accesses &&
	      report_int(bench, "expect.pages") == pages,
	      "folio-bench: did %lld accesses of %lld pages, not %lld of %lld",
	      report_int(bench, "expect.accesses"), report_int(bench, "expect.pages"), accesses,
	      pages);
}

void expect_file(const struct report *r, const char *path, long long accesses, long long pages)
{
	json_t *row = row_of(r, path);

	check_bench(r, accesses, pages);
	expect_count(r, row, "accesses", accesses);
	expect_count(r, row, "pages", pages);
}

json_t *hook_of(const struct report *r, const char *signal)
{
	json_t *hook;
	size_t i;

	json_array_foreach(report_get(r->root, "hooks"), i, hook)
		if (!strcmp(json_string_value(report_get(hook, "signal")), signal))
			return hook;
	fail("hooks: no %s", signal);
}

void need_hook(const struct report *r, const char *signal)
{
	json_t *hook = hook_of(r, signal);
	const char *state = json_string_value(report_get(hook, "state"));
	const char *reason = json_string_value(report_get(hook, "reason"));

	CHECK(!strcmp(state, "attached"), "%s is %s here: %s", signal, state, reason ?: "no reason");
}

/* ---- outputs ---- */

/* Length of the valid UTF-8 character at s; 0: none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	static const struct { unsigned char mask, lead; size_t len; uint32_t min; } forms[] = {
		{ 0x80, 0x00, 1, 0 }, { 0xe0, 0xc0, 2, 0x80 }, { 0xf0, 0xe0, 3, 0x800 },
		{ 0xf8, 0xf0, 4, 0x10000 },
	};
	uint32_t c;
	size_t i, k;

	for (i = 0; i < 4; i++) {
		if ((s[0] & forms[i].mask) != forms[i].lead || left < forms[i].len)
			continue;
		c = s[0] & (unsigned char)~forms[i].mask;
		for (k = 1; k < forms[i].len; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (s[k] & 0x3f);
		}
		return c < forms[i].min || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 :
		       forms[i].len;
	}
	return 0;
}

/* What a terminal may take as an order, or what hides or turns around text. */
static bool harmful(const unsigned char *s, size_t len)
{
	if (len == 1)
		return (s[0] < 0x20 && s[0] != '\n') || s[0] == 0x7f;
	if (len == 2)
		return s[0] == 0xc2 && s[1] < 0xa0;			/* C1 */
	if (len != 3)
		return false;
	if (s[0] == 0xe2 && s[1] == 0x80)
		return s[2] >= 0x8b && s[2] <= 0x8f ? true :		/* zero width, marks */
		       s[2] >= 0xa8 && s[2] <= 0xae;			/* separators, overrides */
	return s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;	/* isolates */
}

void check_clean(const char *what, const char *s, size_t len)
{
	const unsigned char *u = (const void *)s;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = utf8_len(u + i, len - i);
		CHECK(n, "%s: byte %zu: invalid UTF-8 (0x%02x)", what, i, u[i]);
		CHECK(!harmful(u + i, n), "%s: byte %zu: control character (0x%02x)", what, i, u[i]);
	}
}

static const char *metric_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_' && *s != ':')
		return NULL;
	while (isalnum((unsigned char)*s) || *s == '_' || *s == ':')
		s++;
	return s;
}

/* NAME="..."; behind it, or NULL. */
static const char *label(const char *s)
{
	s = metric_name(s);
	if (!s || *s++ != '=' || *s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if (!*s || (*s == '\\' && !strchr("\\\"n", *++s)))
			return NULL;
	}
	return s + 1;
}

static bool sample_line(const char *s)
{
	char *end;

	s = metric_name(s);
	if (s && *s == '{') {
		do {
			s = label(s + 1);
		} while (s && *s == ',');
		s = s && *s == '}' ? s + 1 : NULL;
	}
	if (!s || *s++ != ' ' || !*s)
		return false;
	strtod(s, &end);
	return end != s && !*end;
}

static bool comment_line(const char *s)
{
	if (strncmp(s, "# HELP ", 7) && strncmp(s, "# TYPE ", 7))
		return false;
	s = metric_name(s + 7);
	return s && *s == ' ' && s[1];
}

void check_prometheus(const char *what, const char *s, size_t len)
{
	char *rest = text("%s", s), *line;
	unsigned int samples = 0;

	check_clean(what, s, len);
	CHECK(len && s[len - 1] == '\n', "%s: does not end in a line end", what);
	while ((line = strsep(&rest, "\n")) && rest) {
		CHECK(*line == '#' ? comment_line(line) : sample_line(line), "%s: bad line: %s", what,
		      line);
		samples += *line != '#';
	}
	CHECK(samples > 10, "%s: only %u samples", what, samples);
	if (has_program("promtool")) {
		put_file(scratch(".prom"), "%s", s);
		run_status(0, "sh -c 'promtool check metrics < %s'", scratch(".prom"));
	}
}
