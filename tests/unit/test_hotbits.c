/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_hotbits.c - the bits of folio->flags on known kernels, and what "saturated" means, step by
 * step of folio_mark_accessed() on the classic LRU and on both orders of MGLRU.
 */
/* units: hotbits.c */
#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hotbits.h"

struct kernel {
	const char *name;
	int referenced, active, unevictable, workingset, lru, head, dropbehind, nr_flags;	/* bits; 0: none */
	int nodes, cpus, zones;		/* MAX_NUMNODES, NR_CPUS, __MAX_NR_ZONES */
	int numa_balancing, lru_gen;
	__u64 gen_mask, refs_mask;	/* as measured on booted kernels */
};

static const struct kernel kernels[] = {
	{ "debian-6.1", 1, 5, 20, 6, 4, 16, 0, 25, 1024, 8192, 5, 1, 1, 0x38000000, 0x6000000 },
	{ "debian-6.12", 2, 8, 17, 9, 5, 6, 0, 24, 1024, 8192, 5, 1, 1, 0x38000000, 0x6000000 },
	{ "restricted-6.18", 2, 8, 17, 9, 5, 6, 19, 24, 1024, 256, 4, 1, 0, 0, 0 },
	/* 64 nodes, no NUMA balancing: the field is where zones and nodes leave it. */
	{ "small", 2, 8, 17, 9, 5, 6, 0, 24, 64, 64, 4, 0, 1, 7ULL << 59, 3ULL << 57 },
};

static void add_bitmap(struct btf *btf, const char *name, int bits, int ulong_id)
{
	int array = btf__add_array(btf, ulong_id, ulong_id, bits / 64);

	btf__add_struct(btf, name, bits / 8);
	btf__add_field(btf, "bits", array, 0, 0);
}

static void add_flag(struct btf *btf, const char *name, int bit)
{
	if (bit)
		btf__add_enum_value(btf, name, bit);
}

static struct btf *make_btf(const struct kernel *k)
{
	struct btf *btf = btf__new_empty();
	int ulong_id = btf__add_int(btf, "unsigned long", 8, 0), id;

	btf__add_enum(btf, "pageflags", 4);
	add_flag(btf, "PG_referenced", k->referenced);
	add_flag(btf, "PG_active", k->active);
	add_flag(btf, "PG_unevictable", k->unevictable);
	add_flag(btf, "PG_workingset", k->workingset);
	add_flag(btf, "PG_lru", k->lru);
	add_flag(btf, "PG_head", k->head);
	add_flag(btf, "PG_dropbehind", k->dropbehind);
	add_flag(btf, "__NR_PAGEFLAGS", k->nr_flags);
	btf__add_enum(btf, "zone_type", 4);
	btf__add_enum_value(btf, "__MAX_NR_ZONES", k->zones);
	add_bitmap(btf, "cpumask", k->cpus, ulong_id);
	add_bitmap(btf, "", k->nodes, ulong_id);
	id = btf__type_cnt(btf) - 1;
	btf__add_typedef(btf, "nodemask_t", id);
	btf__add_struct(btf, "task_struct", 8);
	if (k->numa_balancing)
		btf__add_field(btf, "numa_faults", ulong_id, 0, 0);
	btf__add_struct(btf, "lruvec", 8);
	if (k->lru_gen)
		btf__add_field(btf, "lrugen", ulong_id, 0, 0);
	return btf;
}

static struct fs_hot hot_of(const struct kernel *k)
{
	struct btf *btf = make_btf(k);
	struct fs_hot hot;

	assert_int_equal(hotbits_from_btf(btf, &hot), 0);
	btf__free(btf);
	return hot;
}

static void test_bits(void **state)
{
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct kernel *k = &kernels[i];
		struct fs_hot hot = hot_of(k);

		print_message("%s\n", k->name);
		assert_int_equal(hot.referenced, 1ULL << k->referenced);
		assert_int_equal(hot.active, 1ULL << k->active);
		assert_int_equal(hot.head, 1ULL << k->head);
		assert_int_equal(hot.dropbehind, k->dropbehind ? 1ULL << k->dropbehind : 0);
		assert_int_equal(hot.gen_mask, k->gen_mask);
		assert_int_equal(hot.refs_mask, k->refs_mask);
		assert_int_equal(hot.style, k->lru_gen ? FS_LRU_GEN : FS_LRU_CLASSIC);
	}
}

static void test_no_flags(void **state)
{
	struct btf *btf = btf__new_empty();
	struct fs_hot hot;

	assert_int_equal(hotbits_from_btf(btf, &hot), -ENOENT);
	btf__free(btf);
}

static void test_classic(void **state)
{
	struct fs_hot h = hot_of(&kernels[2]);
	__u64 lru = h.lru;

	assert_false(fs_hot_saturated(lru, &h, 0));
	assert_false(fs_hot_saturated(lru | h.referenced, &h, 0));
	assert_false(fs_hot_saturated(lru | h.active, &h, 0));
	assert_true(fs_hot_saturated(lru | h.referenced | h.active, &h, 0));
	assert_true(fs_hot_saturated(lru | h.referenced | h.unevictable, &h, 0));
	/* A switch that is on cannot make a kernel without MGLRU use it. */
	assert_true(fs_hot_saturated(lru | h.referenced | h.active, &h, 1));
	/* Uncached folios never become hot. */
	assert_false(fs_hot_saturated(lru | h.referenced | h.active | h.dropbehind, &h, 0));
}

/* Reading one folio 0..7 times: hooks seen on booted kernels. */
static void test_mglru_steps(void **state)
{
	struct fs_hot h = hot_of(&kernels[1]);
	__u64 gen = 1ULL << 27, lru = h.lru | gen, c = 1ULL << 25;
	const __u64 old_order[] = {
		lru, lru | h.referenced, lru | h.referenced | h.workingset,
		lru | h.referenced | h.workingset | c, lru | h.referenced | h.workingset | 2 * c,
		lru | h.referenced | h.workingset | 3 * c,
	};
	const __u64 new_order[] = {
		lru, lru | h.referenced, lru | h.referenced | c, lru | h.referenced | 2 * c,
		lru | h.referenced | 3 * c, lru | h.referenced | 3 * c | h.workingset,
	};
	int i;

	for (i = 0; i < 6; i++) {
		assert_int_equal(fs_hot_saturated(old_order[i], &h, 1), i == 5);
		assert_int_equal(fs_hot_saturated(new_order[i], &h, 1), i == 5);
	}
	assert_true(fs_hot_saturated(lru | h.unevictable, &h, 1));
	/* PG_active means nothing there. */
	assert_false(fs_hot_saturated(lru | h.referenced | h.active, &h, 1));
}

static void test_which_lru(void **state)
{
	struct fs_hot h = hot_of(&kernels[1]);
	__u64 hot_classic = h.referenced | h.active;

	/* On the lists without a generation: classic, whatever the switch says. */
	assert_true(fs_hot_saturated(h.lru | hot_classic, &h, 1));
	/* With one: MGLRU, whatever the switch says. */
	assert_false(fs_hot_saturated(h.lru | hot_classic | 3ULL << 27, &h, 0));
	/* Off the lists, or unevictable: the switch decides. */
	assert_true(fs_hot_saturated(hot_classic, &h, 0));
	assert_false(fs_hot_saturated(hot_classic, &h, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits), cmocka_unit_test(test_no_flags),
		cmocka_unit_test(test_classic), cmocka_unit_test(test_mglru_steps),
		cmocka_unit_test(test_which_lru),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
