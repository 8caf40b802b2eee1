// SPDX-License-Identifier: GPL-2.0-only
/* test_grace.c - latency buckets, provenance, requesters. */
/* units: grace.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gp_math.h"
#include "grace.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Bucket k holds 2^(k-1) < ns <= 2^k, so that the upper edges are exact powers of two. */
static void test_bucket_edges(void **state)
{
	unsigned int k;

	assert_int_equal(gp_bucket(0), 0);
	assert_int_equal(gp_bucket(1), 0);
	assert_int_equal(gp_bucket(2), 1);
	assert_int_equal(gp_bucket(3), 2);
	for (k = 2; k < FS_LAT_BUCKETS - 1; k++) {
		assert_int_equal(gp_bucket((1ULL << k) - 1), k);
		assert_int_equal(gp_bucket(1ULL << k), k);
		assert_int_equal(gp_bucket((1ULL << k) + 1), k + 1);
	}
	assert_int_equal(gp_bucket((1ULL << 63) - 1), 63);
	assert_int_equal(gp_bucket(1ULL << 63), 63);
	/* no bucket above the last one */
	assert_int_equal(gp_bucket((1ULL << 63) + 1), 63);
	assert_int_equal(gp_bucket(~0ULL), 63);
}

/* The definition again, by a second way. */
static void test_bucket_brute(void **state)
{
	__u64 ns;
	__u32 k;

	for (ns = 0; ns < 5000; ns++) {
		for (k = 0; (1ULL << k) < ns; k++)
			;
		assert_int_equal(gp_bucket(ns), k);
	}
}

static void test_stat(void **state)
{
	static const struct {
		struct fs_gp_stat in;
		__u32 count_prov, lat_prov;	/* count_prov: before */
		__u64 started, completed, lat_count;
	} cases[] = {
		/* counts of the sequence numbers stay */
		{ { .started = 3, .completed = 2, .buckets = { [20] = 2 } },
		  PROV_MEASURED, PROV_MEASURED, 100, 99, 2 },
		/* without them the hooks count */
		{ { .started = 3, .completed = 2, .buckets = { [20] = 2 } },
		  PROV_UNAVAILABLE, PROV_MEASURED, 3, 2, 2 },
		/* the period that was running when we attached has no latency */
		{ { .started = 3, .completed = 3, .unmatched = 1, .buckets = { [63] = 2 } },
		  PROV_UNAVAILABLE, PROV_MEASURED, 3, 3, 2 },
		/* more of them are a loss */
		{ { .started = 3, .completed = 3, .unmatched = 2, .buckets = { [0] = 1 } },
		  PROV_UNAVAILABLE, PROV_LOWER_BOUND, 3, 3, 1 },
		{ { .started = 0 }, PROV_UNAVAILABLE, PROV_MEASURED, 0, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snap_grace out = { .count_prov = cases[i].count_prov };
		struct fs_gp_stat in = cases[i].in;

		if (out.count_prov != PROV_UNAVAILABLE) {
			out.started = 100;
			out.completed = 99;
		}
		in.lat_sum = 1234567;
		in.lat_max = 1000000;
		grace_fill_stat(&out, &in);
		assert_int_equal(out.count_prov, PROV_MEASURED);
		assert_int_equal(out.lat_prov, cases[i].lat_prov);
		assert_int_equal(out.started, cases[i].started);
		assert_int_equal(out.completed, cases[i].completed);
		assert_int_equal(out.lat_count, cases[i].lat_count);
		assert_int_equal(out.lat_sum, 1234567);
		assert_int_equal(out.lat_max, 1000000);
		assert_memory_equal(out.buckets, in.buckets, sizeof(in.buckets));
		assert_int_equal(out.req_prov, PROV_UNAVAILABLE);
	}
}

static void test_requesters(void **state)
{
	static const struct fs_requester keys[] = {
		{ FS_GP_EXPEDITED, 100, "umount" },
		{ FS_GP_EXPEDITED, 200, "folioscope" },
		{ FS_GP_NORMAL, 200, "folioscope" },
		{ FS_GP_EXPEDITED, 300, "just inserted" },
		{ FS_GP_EXPEDITED, 0, "mount" },
	};
	static const __u64 counts[] = { 20, 3, 7, 0, 5 };
	struct snap_grace out = { 0 };

	assert_int_equal(grace_fill_requesters(&out, FS_GP_EXPEDITED, keys, counts,
					       ARRAY_SIZE(keys), 200), 0);
	assert_int_equal(out.req_prov, PROV_MEASURED);
	assert_int_equal(out.nreq, 3);
	assert_string_equal(out.req[0].comm, "umount");
	assert_int_equal(out.req[0].tgid, 100);
	assert_int_equal(out.req[0].count, 20);
	assert_int_equal(out.req[1].count, 3);
	assert_int_equal(out.req[2].tgid, 0);
	assert_int_equal(out.req[2].count, 5);
	assert_int_equal(out.ours, 3);
	free(out.req);
}

static void test_no_requesters(void **state)
{
	struct snap_grace out = { .req_prov = PROV_UNAVAILABLE };

	assert_int_equal(grace_fill_requesters(&out, FS_GP_NORMAL, NULL, NULL, 0, 1), 0);
	assert_int_equal(out.req_prov, PROV_MEASURED);
	assert_int_equal(out.nreq, 0);
	assert_int_equal(out.ours, 0);
	free(out.req);
}

/* What is not attached stays unavailable, whatever the maps hold. */
static void test_fill_unattached(void **state)
{
	struct fs_gp_stat stat[FS_GPS] = {
		[FS_GP_NORMAL] = { .completed = 5, .started = 5, .buckets = { [10] = 5 } },
		[FS_GP_EXPEDITED] = { .completed = 8, .started = 8, .buckets = { [10] = 8 } },
	};
	const struct grace_hooks hooks[FS_GPS] = { [FS_GP_EXPEDITED] = { .latency = true } };
	struct grace g = { .stat = stat, .requesters_fd = -1 };
	struct snapshot s = { 0 };

	assert_int_equal(grace_fill(&g, hooks, &s), 0);
	assert_int_equal(s.grace[FS_GP_NORMAL].lat_prov, PROV_UNAVAILABLE);
	assert_int_equal(s.grace[FS_GP_NORMAL].count_prov, PROV_UNAVAILABLE);
	assert_int_equal(s.grace[FS_GP_NORMAL].lat_count, 0);
	assert_int_equal(s.grace[FS_GP_EXPEDITED].lat_prov, PROV_MEASURED);
	assert_int_equal(s.grace[FS_GP_EXPEDITED].completed, 8);
	assert_int_equal(s.grace[FS_GP_EXPEDITED].req_prov, PROV_UNAVAILABLE);
}

/* A table that cannot be read: the latencies are there, the requesters are not. */
static void test_fill_bad_table(void **state)
{
	struct fs_gp_stat stat[FS_GPS] = { 0 };
	const struct grace_hooks hooks[FS_GPS] = {
		[FS_GP_EXPEDITED] = { .latency = true, .requesters = true },
	};
	struct grace g = { .stat = stat, .requesters_fd = -1 };
	struct snapshot s = { 0 };

	assert_true(grace_fill(&g, hooks, &s) < 0);
	assert_int_equal(s.grace[FS_GP_EXPEDITED].lat_prov, PROV_MEASURED);
	assert_int_equal(s.grace[FS_GP_EXPEDITED].req_prov, PROV_UNAVAILABLE);
	assert_null(s.grace[FS_GP_EXPEDITED].req);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket_edges),
		cmocka_unit_test(test_bucket_brute),
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_requesters),
		cmocka_unit_test(test_no_requesters),
		cmocka_unit_test(test_fill_unattached),
		cmocka_unit_test(test_fill_bad_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
