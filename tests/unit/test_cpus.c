/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_cpus.c - CPU lists, and how a memory budget becomes tables.
 */
/* units: cpus.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpus.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Prints the set as single numbers, so that the table shows what is meant. */
static void print(const struct cpus *c, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = cpus_next(c, 0); i >= 0 && n < size; i = cpus_next(c, i + 1))
		n += (size_t)snprintf(buf + n, size - n, "%s%d", n ? " " : "", i);
}

static void lists(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *want;
		int last;
	} t[] = {
		{ "", 0, "", -1 },
		{ "\n", 0, "", -1 },
		{ "0\n", 0, "0", 0 },
		{ "0-3,8,10-11\n", 0, "0 1 2 3 8 10 11", 11 },
		{ "0-3,8,10-11", 0, "0 1 2 3 8 10 11", 11 },
		{ "62-65", 0, "62 63 64 65", 65 },
		{ "5,1,5,0-1", 0, "0 1 5", 5 },
		{ "007", 0, "7", 7 },
		{ "65535", 0, "65535", 65535 },
		{ "65536", -ERANGE, "", -1 },
		{ "0-65536", -ERANGE, "", -1 },
		{ "4294967296", -ERANGE, "", -1 },
		{ "99999999999999999999", -ERANGE, "", -1 },
		{ "3-1", -EINVAL, "", -1 },
		{ "1,", -EINVAL, "", -1 },
		{ ",1", -EINVAL, "", -1 },
		{ "1,,2", -EINVAL, "", -1 },
		{ "1-", -EINVAL, "", -1 },
		{ "-1", -EINVAL, "", -1 },
		{ "1-2-3", -EINVAL, "", -1 },
		{ "1 2", -EINVAL, "", -1 },
		{ " 1", -EINVAL, "", -1 },
		{ "1\n\n", -EINVAL, "", -1 },
		{ "0-3:1/2", -EINVAL, "", -1 },
		{ "ff", -EINVAL, "", -1 },
		{ "(null)", -EINVAL, "", -1 },
	};
	struct cpus c;
	char buf[256];

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int err = cpus_parse(&c, t[i].text, strlen(t[i].text));

		print(&c, buf, sizeof(buf));
		if (err != t[i].err || strcmp(buf, t[i].want) || cpus_last(&c) != t[i].last)
			fail_msg("'%s': %d '%s' last %d", t[i].text, err, buf, cpus_last(&c));
	}
	assert_int_equal(cpus_parse(&c, "1\0002", 3), -EINVAL);
	/* Only len bytes are looked at. */
	assert_int_equal(cpus_parse(&c, "12", 1), 0);
	assert_true(cpus_test(&c, 1) && !cpus_test(&c, 2) && !cpus_test(&c, 12));
}

static void sets(void **state)
{
	struct cpus all, some, same;

	assert_int_equal(cpus_parse(&all, "0-65535", 7), 0);
	assert_int_equal(cpus_count(&all), 65536);
	assert_true(cpus_test(&all, 0) && cpus_test(&all, 65535));
	assert_false(cpus_test(&all, 65536));
	assert_false(cpus_test(&all, ~0U));
	assert_int_equal(cpus_next(&all, 65535), 65535);
	assert_int_equal(cpus_next(&all, 65536), -1);
	assert_int_equal(cpus_next(&all, -5), 0);

	assert_int_equal(cpus_parse(&some, "1-2,64", 6), 0);
	assert_int_equal(cpus_parse(&same, "64,2,1\n", 7), 0);
	assert_int_equal(cpus_count(&some), 3);
	assert_true(cpus_equal(&some, &same));
	assert_false(cpus_equal(&some, &all));
	assert_int_equal(cpus_next(&some, 3), 64);
	assert_int_equal(cpus_next(&some, 64), 64);
	assert_int_equal(cpus_next(&some, 65), -1);
}

static void files(void **state)
{
	char path[] = "/tmp/folioscope-cpus-XXXXXX";
	int fd = mkstemp(path);
	struct cpus c;

	assert_true(fd >= 0);
	assert_int_equal(cpus_load(&c, path), 0);
	assert_int_equal(cpus_count(&c), 0);
	/* The longest list the kernel could print. */
	for (int i = 0; i < 65536; i += 2)
		dprintf(fd, "%s%d", i ? "," : "", i);
	dprintf(fd, "\n");
	assert_int_equal(cpus_load(&c, path), 0);
	assert_int_equal(cpus_count(&c), 32768);
	assert_int_equal(cpus_last(&c), 65534);
	close(fd);
	unlink(path);
	assert_int_equal(cpus_load(&c, path), -ENOENT);
	assert_int_equal(cpus_count(&c), 0);
	assert_int_equal(cpus_load(&c, "/"), -EISDIR);
	/* No end in sight: refused, not read for ever. */
	assert_int_equal(cpus_load(&c, "/dev/zero"), -EFBIG);
}

#define SPILL_BYTES (24ULL + 232 + 64 + 16)
#define GROUP_BYTES (24ULL + 384 + 64 + 16)
#define WITNESS_BYTES 512ULL

static __u64 slots(__u32 cpus, __u32 bits)
{
	return 2ULL * cpus * (1ULL << bits) * 1024;
}

static void sizes_known(void **state)
{
	static const struct {
		__u64 budget;
		__u32 cpus, bits, spill, witness, groups;
	} t[] = {
		{ 32ULL << 20, 1, 13, 8192, 13, 4096 },
		{ 32ULL << 20, 2, 12, 8192, 13, 4096 },
		{ 32ULL << 20, 3, 11, 8192, 13, 4096 },
		{ 32ULL << 20, 4, 11, 8192, 13, 4096 },
		{ 32ULL << 20, 256, 5, 8192, 13, 4096 },
		{ 40ULL << 20, 8192, 0, 8192, 13, 4096 },
		{ 1ULL << 40, 1, 14, 1U << 28, 24, 65536 },
		{ ~0ULL, 65536, 14, 1U << 30, 24, 65536 },
		{ 106496, 1, 4, 64, 4, 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct table_size s;

		assert_int_equal(table_size(t[i].budget, t[i].cpus, &s), 0);
		assert_int_equal(s.set_bits, t[i].bits);
		assert_int_equal(s.spill_entries, t[i].spill);
		assert_int_equal(s.witness_bits, t[i].witness);
		assert_int_equal(s.group_entries, t[i].groups);
		assert_int_equal(s.bytes, slots(t[i].cpus, t[i].bits) +
				 2 * SPILL_BYTES * t[i].spill + (WITNESS_BYTES << t[i].witness) +
				 GROUP_BYTES * t[i].groups);
	}
}

/* The rules themselves, for every number of CPUs: within the shares, and as large as they allow. */
static void sizes_rules(void **state)
{
	static const __u64 budgets[] = { 1 << 20, 8 << 20, 32 << 20, 100000007, 1ULL << 32 };
	struct table_size s;

	for (__u32 cpus = 1; cpus <= 8192; cpus++) {
		for (size_t i = 0; i < ARRAY_SIZE(budgets); i++) {
			__u64 b = budgets[i];

			if (slots(cpus, 0) + WITNESS_BYTES + 16 * GROUP_BYTES > b / 2) {
				assert_int_equal(table_size(b, cpus, &s), -ENOSPC);
				continue;
			}
			assert_int_equal(table_size(b, cpus, &s), 0);
			assert_true(s.bytes <= b);
			assert_true(slots(cpus, s.set_bits) <= b / 2);
			assert_true(s.set_bits == 14 || slots(cpus, s.set_bits + 1) > b / 2);
			assert_true(WITNESS_BYTES << s.witness_bits <= b / 8);
			assert_true(s.group_entries == 16 || GROUP_BYTES * s.group_entries <= b / 16);
			assert_true(2 * SPILL_BYTES * s.spill_entries <= b / 4);
			assert_true(2 * SPILL_BYTES * s.spill_entries * 2 > b / 4);
			assert_int_equal(s.spill_entries & (s.spill_entries - 1), 0);
		}
	}
}

static void sizes_least(void **state)
{
	struct table_size s, again;

	for (__u32 cpus = 1; cpus <= 8192; cpus++) {
		assert_int_equal(table_size(0, cpus, &s), -ENOSPC);
		assert_true(s.bytes >= slots(cpus, 0) + 2 * SPILL_BYTES * 64);
		assert_int_equal(table_size(s.bytes - 1, cpus, &again), -ENOSPC);
		assert_int_equal(again.bytes, s.bytes);
		assert_int_equal(table_size(s.bytes, cpus, &again), 0);
		assert_true(again.bytes <= s.bytes);
		assert_true(again.spill_entries >= 64);
	}
	assert_int_equal(table_size(32 << 20, 0, &s), -EINVAL);
	assert_int_equal(table_size(~0ULL, 65537, &s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(sets),
		cmocka_unit_test(files),
		cmocka_unit_test(sizes_known),
		cmocka_unit_test(sizes_rules),
		cmocka_unit_test(sizes_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
