/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_parse.c - the number grammar of parse.h: what is taken, what is refused and as what.
 */
/* units: parse.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parse.h"

#define U64_MAX (~0ULL)
#define UNTOUCHED 0x5a5a5a5aULL
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct number {
	const char *text;
	__u64 min, max;
	int err;
	__u64 want;
};

static void run(const struct number *t, size_t n,
		int (*parse)(const char *, __u64, __u64, __u64 *))
{
	for (size_t i = 0; i < n; i++) {
		__u64 v = UNTOUCHED;
		int err = parse(t[i].text, t[i].min, t[i].max, &v);

		if (err != t[i].err || v != (err ? UNTOUCHED : t[i].want))
			fail_msg("%s: %d and %llu, want %d and %llu", t[i].text ? t[i].text : "NULL",
				 err, v, t[i].err, t[i].want);
	}
}

static void numbers(void **state)
{
	static const struct number t[] = {
		{ "0", 0, 9, 0, 0 },
		{ "9", 0, 9, 0, 9 },
		{ "007", 0, 9, 0, 7 },
		{ "18446744073709551615", 0, U64_MAX, 0, U64_MAX },
		{ "18446744073709551616", 0, U64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999", 0, U64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999x", 0, U64_MAX, -EINVAL, 0 },
		{ "10", 0, 9, -ERANGE, 0 },
		{ "0", 1, 9, -ERANGE, 0 },
		{ "", 0, 9, -EINVAL, 0 },
		{ NULL, 0, 9, -EINVAL, 0 },
		{ " 1", 0, 9, -EINVAL, 0 },
		{ "1 ", 0, 9, -EINVAL, 0 },
		{ "+1", 0, 9, -EINVAL, 0 },
		{ "-1", 0, U64_MAX, -EINVAL, 0 },
		{ "0x1", 0, 9, -EINVAL, 0 },
		{ "1K", 0, 9, -EINVAL, 0 },
		{ "1.0", 0, 9, -EINVAL, 0 },
		{ "\xd9\xa1", 0, 9, -EINVAL, 0 },
	};

	run(t, ARRAY_SIZE(t), parse_u64);
}

static void bytes(void **state)
{
	static const struct number t[] = {
		{ "32M", 0, U64_MAX, 0, 32ULL << 20 },
		{ "1K", 0, U64_MAX, 0, 1024 },
		{ "2G", 0, U64_MAX, 0, 2ULL << 30 },
		{ "4096", 4096, 4096, 0, 4096 },
		{ "4K", 4096, 4096, 0, 4096 },
		{ "5K", 4096, 4097, -ERANGE, 0 },
		{ "17179869183G", 0, U64_MAX, 0, 17179869183ULL << 30 },
		{ "17179869184G", 0, U64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999G", 0, U64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999T", 0, U64_MAX, -EINVAL, 0 },
		{ "K", 0, U64_MAX, -EINVAL, 0 },
		{ "1k", 0, U64_MAX, -EINVAL, 0 },
		{ "1T", 0, U64_MAX, -EINVAL, 0 },
		{ "1KB", 0, U64_MAX, -EINVAL, 0 },
		{ "1 K", 0, U64_MAX, -EINVAL, 0 },
		{ "1.5K", 0, U64_MAX, -EINVAL, 0 },
		{ "-1K", 0, U64_MAX, -EINVAL, 0 },
		{ "", 0, U64_MAX, -EINVAL, 0 },
		{ NULL, 0, U64_MAX, -EINVAL, 0 },
	};

	run(t, ARRAY_SIZE(t), parse_bytes);
}

static void seconds(void **state)
{
	static const struct number t[] = {
		{ "0", 0, U64_MAX, 0, 0 },
		{ "2", 0, U64_MAX, 0, 2000000000 },
		{ "2s", 0, U64_MAX, 0, 2000000000 },
		{ "0.5", 0, U64_MAX, 0, 500000000 },
		{ "100ms", 0, U64_MAX, 0, 100000000 },
		{ "1.5ms", 0, U64_MAX, 0, 1500000 },
		{ "7us", 0, U64_MAX, 0, 7000 },
		{ "7ns", 0, U64_MAX, 0, 7 },
		{ "7.0ns", 0, U64_MAX, 0, 7 },
		{ "0.000000001", 0, U64_MAX, 0, 1 },
		{ "0.0000000010000", 0, U64_MAX, 0, 1 },
		{ "0.0000000001", 0, U64_MAX, -EINVAL, 0 },
		{ "7.5ns", 0, U64_MAX, -EINVAL, 0 },
		{ "0.0001us", 0, U64_MAX, -EINVAL, 0 },
		{ "18446744073.709551615", 0, U64_MAX, 0, U64_MAX },
		{ "18446744073.709551616", 0, U64_MAX, -ERANGE, 0 },
		{ "18446744074", 0, U64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999", 0, U64_MAX, -ERANGE, 0 },
		{ "0.05", 100000000, U64_MAX, -ERANGE, 0 },
		{ "3601", 0, 3600000000000, -ERANGE, 0 },
		{ "10x", 0, U64_MAX, -EINVAL, 0 },
		{ ".5", 0, U64_MAX, -EINVAL, 0 },
		{ "5.", 0, U64_MAX, -EINVAL, 0 },
		{ "5.s", 0, U64_MAX, -EINVAL, 0 },
		{ "1.2.3", 0, U64_MAX, -EINVAL, 0 },
		{ "1e3", 0, U64_MAX, -EINVAL, 0 },
		{ "1 s", 0, U64_MAX, -EINVAL, 0 },
		{ "1S", 0, U64_MAX, -EINVAL, 0 },
		{ "1m", 0, U64_MAX, -EINVAL, 0 },
		{ "-1", 0, U64_MAX, -EINVAL, 0 },
		{ "inf", 0, U64_MAX, -EINVAL, 0 },
		{ "", 0, U64_MAX, -EINVAL, 0 },
		{ NULL, 0, U64_MAX, -EINVAL, 0 },
	};

	run(t, ARRAY_SIZE(t), parse_seconds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(bytes),
		cmocka_unit_test(seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
