/* SPDX-License-Identifier: GPL-2.0-only */
/* test_render_json.c - the JSON against its schema, key by key, and strictly parsed. */
/* units: render.c render_json.c model.c model_refs.c model_detail.c bounce.c topology.c cpus.c figures.c text.c sanitize.c snapshot.c */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <regex.h>
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

static int json(FILE *out, const struct report *r, unsigned int arg)
{
	return render_json(out, r);
}

static json_t *schema_load(void)
{
	char path[4096], *slash;
	json_error_t error;
	json_t *j = json_load_file("docs/schema.json", JSON_REJECT_DUPLICATES, &error);

	if (!j) {
		snprintf(path, sizeof(path), "%s", __FILE__);
		slash = strrchr(path, '/');
		snprintf(slash ? slash : path, 64, "/../../docs/schema.json");
		j = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	}
	if (!j)
		fail_msg("docs/schema.json:%d: %s", error.line, error.text);
	return j;
}

static bool type_is(const json_t *v, const char *type)
{
	return (!strcmp(type, "object") && json_is_object(v)) ||
	       (!strcmp(type, "array") && json_is_array(v)) ||
	       (!strcmp(type, "string") && json_is_string(v)) ||
	       (!strcmp(type, "integer") && json_is_integer(v)) ||
	       (!strcmp(type, "number") && json_is_number(v)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(v)) ||
	       (!strcmp(type, "null") && json_is_null(v));
}

static bool types_match(const json_t *v, const json_t *type)
{
	size_t i;
	json_t *t;

	if (json_is_string(type))
		return type_is(v, json_string_value(type));
	json_array_foreach(type, i, t)
		if (type_is(v, json_string_value(t)))
			return true;
	return false;
}

static bool pattern_matches(const json_t *v, const char *pattern)
{
	regex_t re;
	bool match;

	/* POSIX knows no \u: assert_clean() looks at those characters. */
	if (!json_is_string(v) || strstr(pattern, "\\u"))
		return true;
	assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	match = !regexec(&re, json_string_value(v), 0, NULL, 0);
	regfree(&re);
	return match;
}

static bool valid(const json_t *root, const json_t *schema, const json_t *v, char *why);

/* Exactly the properties of the schema, all of them. */
static FIX_APART
bool object_valid(const json_t *root, const json_t *schema, const json_t *v, char *why)
{
	json_t *props = json_object_get(schema, "properties"), *one;
	const char *key;

	assert_int_equal(json_object_size(props),
			 json_array_size(json_object_get(schema, "required")));
	assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
	if (json_object_size(v) != json_object_size(props)) {
		sprintf(why, "%zu properties, not %zu", json_object_size(v),
			json_object_size(props));
		return false;
	}
	json_object_foreach(props, key, one) {
		json_t *member = json_object_get(v, key);

		sprintf(why, "%.40s: ", key);
		if (!member || !valid(root, one, member, why + strlen(why)))
			return false;
	}
	return true;
}

static bool any_valid(const json_t *root, const json_t *list, const json_t *v, char *why)
{
	size_t i;
	json_t *one;

	json_array_foreach(list, i, one)
		if (valid(root, one, v, why))
			return true;
	return false;
}

static bool keyword_valid(const json_t *root, const json_t *schema, const char *key,
			  const json_t *arg, const json_t *v, char *why)
{
	json_int_t size = json_array_size(v);
	size_t i;
	json_t *one;

	if (!strcmp(key, "$ref")) {
		const json_t *defs = json_object_get(root, "$defs");
		const json_t *def = json_object_get(defs, strrchr(json_string_value(arg), '/') + 1);

		assert_non_null(def);
		return valid(root, def, v, why);
	}
	if (!strcmp(key, "type"))
		return types_match(v, arg);
	if (!strcmp(key, "properties"))
		return !json_is_object(v) || object_valid(root, schema, v, why);
	if (!strcmp(key, "items")) {
		json_array_foreach(v, i, one)
			if (!valid(root, arg, one, why))
				return false;
		return true;
	}
	if (!strcmp(key, "anyOf"))
		return any_valid(root, arg, v, why);
	if (!strcmp(key, "enum")) {
		json_array_foreach(arg, i, one)
			if (json_equal(one, v))
				return true;
		return false;
	}
	if (!strcmp(key, "const"))
		return json_equal(arg, v);
	if (!strcmp(key, "pattern"))
		return pattern_matches(v, json_string_value(arg));
	if (!strcmp(key, "minimum"))
		return !json_is_number(v) || json_number_value(v) >= json_number_value(arg);
	if (!strcmp(key, "maximum"))
		return !json_is_number(v) || json_number_value(v) <= json_number_value(arg);
	if (!strcmp(key, "minItems"))
		return !json_is_array(v) || size >= json_integer_value(arg);
	if (!strcmp(key, "maxItems"))
		return !json_is_array(v) || size <= json_integer_value(arg);
	/* Looked at with properties, or only for people. Anything else would go unchecked. */
	return !strcmp(key, "required") || !strcmp(key, "additionalProperties") ||
	       !strcmp(key, "description") || !strcmp(key, "title") || *key == '$';
}

static FIX_APART
bool valid(const json_t *root, const json_t *schema, const json_t *v, char *why)
{
	const char *key;
	json_t *arg;

	json_object_foreach((json_t *)schema, key, arg)
		if (!keyword_valid(root, schema, key, arg, v, why)) {
			if (!*why)
				sprintf(why, "fails %s", key);
			return false;
		}
	*why = '\0';
	return true;
}

static json_t *parsed(const char *text)
{
	json_error_t error;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!j)
		fail_msg("%d:%d: %s", error.line, error.column, error.text);
	return j;
}

/* Renders, parses strictly, checks against the schema. */
static json_t *checked_json(const struct pair *p)
{
	char *text = rendered(json, p, 0), why[1024] = "";
	json_t *j = parsed(text), *schema = schema_load();

	assert_clean(text);
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_int_equal(text[strlen(text) - 2], '}');
	if (!valid(schema, schema, j, why))
		fail_msg("schema: %s", why);
	json_decref(schema);
	free(text);
	return j;
}

/* "a.b.2.c" */
static json_t *at(json_t *j, const char *path)
{
	char part[64];
	int n;

	for (; *path; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		snprintf(part, sizeof(part), "%.*s", n, path);
		j = isdigit((unsigned char)*part) ? json_array_get(j, atoi(part)) :
						    json_object_get(j, part);
	}
	return j;
}

static void test_json_rich(void **state)
{
	static const struct {
		const char *path, *want;	/* as compact JSON */
	} cases[] = {
		{ "schema", "\"folioscope/1\"" },
		{ "kernel", "\"6.18.44\"" },
		{ "duration_s", "1.500000001" },
		{ "interval.start", "\"2027-01-15T08:00:00.000000000Z\"" },
		{ "interval.end", "\"2027-01-15T08:00:01.500000001Z\"" },
		{ "interval.torn", "false" },
		{ "hooks.0.backend", "\"tp_btf\"" },
		{ "hooks.0.reason", "null" },
		{ "hooks.1.state", "\"unavailable\"" },
		{ "hooks.1.backend", "null" },
		{ "hooks.2.misses", "3" },
		{ "totals.accesses", "83169" },
		{ "totals.marks", "null" },
		{ "totals.provenance.accesses", "\"measured\"" },
		{ "totals.provenance.marks", "\"unavailable\"" },
		{ "machine.accesses", "88169" },
		{ "other.accesses", "3" },
		{ "unattributed.accesses", "0" },
		{ "coverage.files_seen", "3" },
		{ "coverage.accesses_share", "0.999964" },
		{ "files.0.path", "\"/var/lib/postgresql/15/main/base/16384/2619\"" },
		{ "files.0.dev", "\"8:1\"" },
		{ "files.0.ino", "1" },
		{ "files.0.provenance.accesses", "\"lower_bound\"" },
		{ "files.0.cached_pages", "245760" },
		{ "files.2.path", "null" },
		{ "cpus.3.backlog",
		  "{\"callbacks\":300,\"done\":0,\"wait\":150,\"next_ready\":0,\"next\":75,"
		  "\"invoking\":75,\"kvfree\":37,\"peak_callbacks\":600}" },
		{ "cpus.3.provenance.backlog.invoking", "\"derived\"" },
		{ "cpus.3.deferred.held_pages", "null" },
		{ "cpus.3.provenance.deferred", "\"unavailable\"" },
		{ "transfers.provenance", "\"unavailable\"" },
		{ "transfers.distance.smt", "null" },
		{ "grace.normal.started", "12" },
		{ "grace.normal.latency_ns", "null" },
		{ "grace.normal.requesters", "null" },
		{ "grace.expedited.ours", "2" },
		{ "grace.expedited.latency_ns.count", "102" },
		{ "grace.expedited.latency_ns.p50", "131072" },
		{ "grace.expedited.latency_ns.p99", "2097152" },
		{ "grace.expedited.latency_ns.buckets.0", "[8,1]" },
		{ "grace.expedited.latency_ns.buckets.14", "[131072,100]" },
		{ "grace.expedited.latency_ns.buckets.37", "[1099511627776,102]" },
		{ "grace.expedited.latency_ns.buckets.38", NULL },
		{ "grace.expedited.requesters.1.comm", "\"evil\\\\x1B[31m\\\"\"" },
		/* Calls were skipped: what the hook counted is a lower bound. */
		{ "grace.expedited.provenance.latency", "\"lower_bound\"" },
		{ "lost.map_full", "7" },
		{ "overhead.programs.0",
		  "{\"name\":\"access_get_pages\",\"runs\":1000,\"ns\":75000}" },
		{ "overhead.self_cpu_s", "0.012345678" },
		{ "overhead.map_bytes", "4194304" },
	};
	struct pair p;
	json_t *j;
	size_t i;

	pair_rich(&p);
	j = checked_json(&p);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *v = at(j, cases[i].path);
		char *got = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY |
					      JSON_REAL_PRECISION(15)) : NULL;

		if ((!got) != (!cases[i].want) || (got && strcmp(got, cases[i].want)))
			fail_msg("%s: %s, not %s", cases[i].path, got, cases[i].want);
		free(got);
	}
	json_decref(j);
	pair_free(&p);
}

/* Numbers that JSON readers lose, and figures that were not observed. */
static void test_json_extremes(void **state)
{
	struct snap_row *row;
	struct pair p;
	json_t *j;

	pair_init(&p);
	row = fix_row(&p.last, ~0ull, "/x");
	row->v[FIG_ACCESSES] = ~0ull;
	row->size_bytes = 77;	/* not valid: no flag says so */
	p.last.prov[FIG_PAGES] = PROV_SAMPLED;
	p.last.sample_n[FIG_PAGES] = 64;
	fix_prog(&p.last, "p", 1, 1);
	pair_make(&p, NULL);
	j = checked_json(&p);
	assert_true(json_integer_value(at(j, "files.0.accesses")) == INT64_MAX);
	assert_true(json_integer_value(at(j, "files.0.ino")) == INT64_MAX);
	assert_int_equal(json_integer_value(at(j, "totals.provenance.pages.sampled")), 64);
	assert_true(json_is_null(at(j, "overhead.programs.0.runs")));
	assert_true(json_is_null(at(j, "machine")));
	assert_true(json_is_null(at(j, "files.0.cached_pages")));
	assert_true(json_is_null(at(j, "files.0.size_bytes")));
	json_decref(j);
	pair_free(&p);
}

static void test_json_same_bytes(void **state)
{
	struct pair p, q;
	char *a, *b;

	pair_rich(&p);
	memset(&q, 0, sizeof(q));
	assert_int_equal(snapshot_copy(&q.first, &p.first), 0);
	assert_int_equal(snapshot_copy(&q.last, &p.last), 0);
	pair_make(&q, NULL);
	a = rendered(json, &p, 0);
	b = rendered(json, &q, 0);
	assert_string_equal(a, b);
	free(a);
	free(b);
	pair_free(&p);
	pair_free(&q);
}

static void test_json_dev(void **state)
{
	struct pair p;
	json_t *j;

	pair_init(&p);
	file(&p, 1, "/btrfs/snap", 5);
	p.last.rows[0].key.subdev = FIX_DEV(0, 53);
	p.last.rows[0].flags = ROW_DEV_UNKNOWN | ROW_DELETED;
	file(&p, 2, "/nvme", 4);
	p.last.rows[1].key.dev = FIX_DEV(259, 1048575);
	pair_make(&p, NULL);
	j = checked_json(&p);
	assert_string_equal(json_string_value(at(j, "files.0.dev")), "0:53");
	assert_true(json_is_true(at(j, "files.0.dev_unknown")));
	assert_true(json_is_true(at(j, "files.0.deleted")));
	assert_string_equal(json_string_value(at(j, "files.1.dev")), "259:1048575");
	assert_true(json_is_false(at(j, "files.1.dev_unknown")));
	json_decref(j);
	pair_free(&p);
}

static void test_json_hostile(void **state)
{
	struct pair p;
	json_t *j;

	pair_hostile(&p);
	j = checked_json(&p);
	assert_string_equal(json_string_value(at(j, "files.0.path")), "/tmp/c1-raw\\x9B31m");
	json_decref(j);
	pair_free(&p);
}

static void test_json_unavailable(void **state)
{
	static const char *const nulls[] = {
		"totals.accesses", "coverage.accesses_share", "cpus.0.backlog.callbacks",
		"grace.normal.started", "grace.normal.ours", "grace.normal.latency_ns",
	};
	struct pair p;
	json_t *j;
	size_t i;

	pair_unavailable(&p);
	j = checked_json(&p);
	for (i = 0; i < ARRAY_SIZE(nulls); i++)
		assert_true(json_is_null(at(j, nulls[i])));
	assert_int_equal(json_array_size(at(j, "files")), 0);
	json_decref(j);
	pair_free(&p);
}

static void test_json_sizes(void **state)
{
	static const size_t cpus[] = { 0, 1, 2, 1024 };
	struct pair p;
	json_t *j;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		pair_init(&p);
		for (k = 0; k < cpus[i]; k++)
			fix_cpu(&p.last, k, k);
		pair_make(&p, NULL);
		j = checked_json(&p);
		assert_int_equal(json_array_size(at(j, "cpus")), cpus[i]);
		json_decref(j);
		pair_free(&p);
	}
}

static void test_json_many_rows(void **state)
{
	char path[32], *text;
	struct pair p;
	json_t *j;
	size_t i;

	pair_init(&p);
	for (i = 0; i < 50000; i++) {
		snprintf(path, sizeof(path), "/srv/%zu", i);
		file(&p, i, path, 10);
	}
	pair_make(&p, NULL);
	text = rendered(json, &p, 0);
	j = parsed(text);
	assert_int_equal(json_array_size(at(j, "files")), 50000);
	json_decref(j);
	free(text);
	pair_free(&p);
}

static void test_json_full_disk(void **state)
{
	assert_full_disk(json);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_rich),
		cmocka_unit_test(test_json_extremes),
		cmocka_unit_test(test_json_same_bytes),
		cmocka_unit_test(test_json_dev),
		cmocka_unit_test(test_json_hostile),
		cmocka_unit_test(test_json_unavailable),
		cmocka_unit_test(test_json_sizes),
		cmocka_unit_test(test_json_many_rows),
		cmocka_unit_test(test_json_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
