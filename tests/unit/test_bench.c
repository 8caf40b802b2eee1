/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_bench.c - folio-bench's readers of numbers and its arithmetic of expected counts: if these
 * are wrong, every live test compares with a wrong truth.
 */
/* units: */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "../../tools/bench_parse.c"
#include "../../tools/bench_expect.c"

struct number {
	const char *text;
	int err;
	uint64_t want;
};

static void check_numbers(int (*parse)(const char *, uint64_t *), const struct number *rows,
			  size_t n)
{
	uint64_t got;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		got = 77;
		err = parse(rows[i].text, &got);
		if (err != rows[i].err || got != (err ? 77 : rows[i].want))
			fail_msg("'%s': %d, %llu", rows[i].text, err, (unsigned long long)got);
	}
}

static void test_u64(void **state)
{
	static const struct number rows[] = {
		{ "0", 0, 0 }, { "007", 0, 7 }, { "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 }, { "99999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 }, { "-1", -EINVAL, 0 }, { "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 }, { "1 ", -EINVAL, 0 }, { "1x", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 }, { "1.0", -EINVAL, 0 }, { "1e3", -EINVAL, 0 },
		{ "1K", -EINVAL, 0 },
	};

	check_numbers(parse_u64, rows, ARRAY_SIZE(rows));
}

static void test_size(void **state)
{
	static const struct number rows[] = {
		{ "0", 0, 0 }, { "4096", 0, 4096 }, { "4K", 0, 4096 }, { "1M", 0, 1 << 20 },
		{ "3G", 0, 3ULL << 30 }, { "2T", 0, 2ULL << 40 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -ERANGE, 0 }, { "8388608T", -ERANGE, 0 },
		{ "8388607T", 0, 8388607ULL << 40 }, { "18446744073709551615K", -ERANGE, 0 },
		{ "4k", -EINVAL, 0 }, { "4KB", -EINVAL, 0 }, { "4 K", -EINVAL, 0 },
		{ "K", -EINVAL, 0 }, { "", -EINVAL, 0 }, { "-4K", -EINVAL, 0 },
	};

	check_numbers(parse_size, rows, ARRAY_SIZE(rows));
}

static void test_ms(void **state)
{
	static const struct number rows[] = {
		{ "1", 0, 1000 }, { "0.5", 0, 500 }, { "2.05", 0, 2050 }, { "0.001", 0, 1 },
		{ "10.", -EINVAL, 0 }, { ".5", -EINVAL, 0 }, { "1.2.3", -EINVAL, 0 },
		{ "0.0001", -EINVAL, 0 }, { "1s", -EINVAL, 0 }, { "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 }, { "18446744073709551615", -ERANGE, 0 },
		{ "18446744073709551.999", -ERANGE, 0 },
	};

	check_numbers(parse_ms, rows, ARRAY_SIZE(rows));
}

static void test_cpus(void **state)
{
	static const struct {
		const char *text;
		int want;
		uint16_t cpu[8];
	} rows[] = {
		{ "0", 1, { 0 } }, { "1,0", 2, { 1, 0 } }, { "0-3", 4, { 0, 1, 2, 3 } },
		{ "7,2-3,7", 4, { 7, 2, 3, 7 } }, { "1023", 1, { 1023 } },
		{ "0-7", 8, { 0, 1, 2, 3, 4, 5, 6, 7 } }, { "0-8", -ERANGE, { 0 } },
		{ "0-7,8", -ERANGE, { 0 } }, { "1024", -ERANGE, { 0 } },
		{ "0-18446744073709551615", -ERANGE, { 0 } }, { "", -EINVAL, { 0 } },
		{ ",", -EINVAL, { 0 } }, { "0,", -EINVAL, { 0 } }, { "-3", -EINVAL, { 0 } },
		{ "3-1", -EINVAL, { 0 } }, { "0-", -EINVAL, { 0 } }, { "0x1", -EINVAL, { 0 } },
	};
	uint16_t cpu[8];
	size_t i;
	int got;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		got = parse_cpus(rows[i].text, cpu, ARRAY_SIZE(cpu));
		if (got != rows[i].want)
			fail_msg("'%s': %d", rows[i].text, got);
		if (got > 0 && memcmp(cpu, rows[i].cpu, (size_t)got * sizeof(cpu[0])))
			fail_msg("'%s': wrong CPUs", rows[i].text);
	}
}

static void test_flags(void **state)
{
	static const struct {
		const char *text;
		int err, want;
	} rows[] = {
		{ "nowait", 0, 0x8 }, { "dontcache", 0, 0x80 }, { "dsync,dontcache", 0, 0x82 },
		{ "nowait,nowait", 0, 0x8 }, { "", -EINVAL, 0 }, { "nowait,", -EINVAL, 0 },
		{ "now", -EINVAL, 0 }, { "nowaits", -EINVAL, 0 }, { ",nowait", -EINVAL, 0 },
	};
	size_t i;
	int got, err;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		got = 0;
		err = parse_flags(rows[i].text, &got);
		if (err != rows[i].err || got != rows[i].want)
			fail_msg("'%s': %d, %#x", rows[i].text, err, (unsigned int)got);
	}
}

static void test_pages(void **state)
{
	static const struct {
		uint64_t offset, len;
		unsigned int shift;
		uint64_t want;
	} rows[] = {
		{ 0, 0, 12, 0 }, { 0, 16, 12, 1 }, { 0, 4096, 12, 1 }, { 0, 4097, 12, 2 },
		{ 4095, 1, 12, 1 }, { 4095, 2, 12, 2 }, { 12288, 4096, 12, 1 },
		{ 0, 262144, 12, 64 }, { 1, 262144, 12, 65 }, { 0, 64 << 20, 12, 16384 },
		{ 0, 262144, 16, 4 }, { 1ULL << 62, 1, 12, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(expect_pages(rows[i].offset, rows[i].len, rows[i].shift),
				 rows[i].want);
}

/* Touches the mapping in order, every page that no window covered before; the kernel's rule. */
static void touch_all(uint64_t first, uint64_t pages, unsigned int around, unsigned int *faults,
		      unsigned int *windows)
{
	uint64_t at, start, covered = first;
	unsigned int n;

	*faults = *windows = 0;
	for (at = first; at < first + pages; at++) {
		if (at < covered)
			continue;
		n = expect_window(at, first, pages, around, 512);
		start = at - at % around;
		covered = (start < first ? first : start) + n;
		assert_true(covered > at);
		(*faults)++;
		*windows += n;
	}
}

static void test_window(void **state)
{
	static const struct {
		uint64_t first, pages;
		unsigned int around, faults, windows;
	} rows[] = {
		{ 16, 64, 16, 4, 64 },		/* measured on 6.18: 4 faults, 64 pages */
		{ 21, 64, 16, 5, 69 },		/* measured: windows overlap */
		{ 0, 10, 16, 1, 10 },
		{ 16, 64, 1, 64, 64 },		/* fault-around off */
		{ 505, 20, 16, 2, 20 },		/* over the end of a page table */
		{ 496, 1024, 16, 64, 1024 },
	};
	unsigned int faults, windows;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		touch_all(rows[i].first, rows[i].pages, rows[i].around, &faults, &windows);
		if (faults != rows[i].faults || windows != rows[i].windows)
			fail_msg("row %zu: %u faults, %u pages", i, faults, windows);
	}
}

static void test_zipf(void **state)
{
	enum { ITEMS = 10, PICKS = 100000 };
	unsigned int hits[ITEMS] = { 0 }, i;
	uint64_t a = 1, b = 1, item;
	struct zipf *z = zipf_new(ITEMS), *one = zipf_new(1);

	assert_non_null(z);
	assert_non_null(one);
	for (i = 0; i < PICKS; i++) {
		item = zipf_pick(z, &a);
		assert_true(item < ITEMS);
		assert_int_equal(item, zipf_pick(z, &b));	/* the seed decides */
		hits[item]++;
	}
	/* 1 / (1 + 1/2 + ... + 1/10) = 34.14 %; item k has 1/(k+1) of that. */
	for (i = 0; i < ITEMS; i++)
		assert_in_range(hits[i] * (i + 1), 34142 - 1500, 34142 + 1500);
	assert_int_equal(zipf_pick(one, &a), 0);
	assert_null(zipf_new(0));
	zipf_free(z);
	zipf_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64), cmocka_unit_test(test_size),
		cmocka_unit_test(test_ms), cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_flags), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_window), cmocka_unit_test(test_zipf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
