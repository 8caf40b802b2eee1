/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_table.c - the reading protocol of the counters, against writer threads that do what the
 * programs do: while they write, rows + other = totals and nothing goes back; in the end all is
 * exact.
 */
/* units: table.c */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table.h"

#define CPUS 2
#define SETS 8		/* a generation and CPU */
#define FILES 40	/* five a set: one of them finds no way and is `other` */
#define ROUNDS 400000ULL

static struct fs_set slots[2][CPUS][SETS];
static struct fs_cpu cpus[CPUS];
static __u32 generation;
static __u64 inside[CPUS];	/* odd while a writer is in an event, as RCU would know */

static struct fs_key key_of(__u64 file)
{
	return (struct fs_key){ .ino = 100 + file, .dev = 8 << 20 | 1, .gen = 7 };
}

/* One event, as bpf/table.bpf.h counts it: in one place. */
static void event(int cpu, __u64 file)
{
	struct fs_key key = key_of(file);
	struct fs_slot *s, *place = NULL;
	__u64 *w;
	__u32 gen;
	int way;

	__atomic_add_fetch(&inside[cpu], 1, __ATOMIC_SEQ_CST);
	gen = __atomic_load_n(&generation, __ATOMIC_SEQ_CST);
	for (way = 0; way < FS_WAYS && !place; way++) {
		s = &slots[gen][cpu][file % SETS].way[way];
		if (s->state == FS_SLOT_OWNED && !memcmp(&s->key, &key, sizeof(key))) {
			place = s;
		} else if (s->state == FS_SLOT_FREE) {
			__atomic_store_n(&s->state, FS_SLOT_CLAIMED, __ATOMIC_SEQ_CST);
			s->key = key;
			__atomic_store_n(&s->state, FS_SLOT_OWNED, __ATOMIC_SEQ_CST);
			place = s;
		}
	}
	w = place ? place->w : cpus[cpu].other[FS_SCOPE_IN];
	__atomic_add_fetch(&w[FS_W_ACCESSES], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&w[FS_W_PAGES], 3, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&inside[cpu], 1, __ATOMIC_SEQ_CST);
}

static void *writer(void *arg)
{
	int cpu = (int)(long)arg;
	__u64 i;

	for (i = 0; i < ROUNDS; i++)
		event(cpu, i % FILES);
	return NULL;
}

/* What an RCU grace period is to the programs. */
static void barrier(void)
{
	int cpu;

	for (cpu = 0; cpu < CPUS; cpu++) {
		__u64 at = __atomic_load_n(&inside[cpu], __ATOMIC_SEQ_CST);

		while ((at & 1) && __atomic_load_n(&inside[cpu], __ATOMIC_SEQ_CST) == at)
			sched_yield();
	}
}

static void read_generation(struct table *t, __u32 gen, bool final)
{
	int cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(table_add_sets(t, slots[gen][cpu], SETS, final), 0);
}

static void rotate(struct table *t)
{
	__u32 old = generation;

	__atomic_store_n(&generation, !old, __ATOMIC_SEQ_CST);
	barrier();
	read_generation(t, old, true);
	memset(slots[old], 0, sizeof(slots[old]));
	table_rewind(t);
	read_generation(t, !old, false);
}

struct seen {
	__u64 accesses[FILES];
	__u64 total, other;
};

/*
 * Rows only grow, each keeps pages = 3 x accesses within one event a CPU, and rows + other = total:
 * nothing goes back from pass to pass.
 */
static void check_pass(struct table *t, struct seen *seen)
{
	__u64 total[FS_SCOPES][FS_WORDS], sum = 0;
	struct fs_cpu rest;
	struct file *f;
	size_t i;

	table_totals(t, cpus, CPUS, total, &rest);
	table_end(t);
	for (i = 0; (f = table_next(t, &i)); i++) {
		__u64 n = f->base[FS_W_ACCESSES] + f->cur[FS_W_ACCESSES];
		__u64 pages = f->base[FS_W_PAGES] + f->cur[FS_W_PAGES];
		__u64 file = f->key.ino - 100;

		assert_true(file < FILES);
		assert_true(n >= seen->accesses[file]);
		seen->accesses[file] = n;
		/* Words are read one after the other while they grow. */
		assert_true(pages + 3 * CPUS >= 3 * n);
		sum += n;
	}
	assert_int_equal(total[FS_SCOPE_IN][FS_W_ACCESSES],
			 sum + rest.other[FS_SCOPE_IN][FS_W_ACCESSES]);
	assert_true(rest.other[FS_SCOPE_IN][FS_W_ACCESSES] >= seen->other);
	assert_int_equal(total[FS_SCOPE_OUT][FS_W_ACCESSES], 0);
	assert_true(total[FS_SCOPE_IN][FS_W_ACCESSES] >= seen->total);
	seen->other = rest.other[FS_SCOPE_IN][FS_W_ACCESSES];
	seen->total = total[FS_SCOPE_IN][FS_W_ACCESSES];
}

static void run_against_writers(bool rotating)
{
	pthread_t threads[CPUS];
	struct seen seen = {};
	struct table t;
	__u64 sum = 0;
	int i, passes = 0;

	memset(slots, 0, sizeof(slots));
	memset(cpus, 0, sizeof(cpus));
	generation = 0;
	assert_int_equal(table_init(&t, 0), 0);
	for (i = 0; i < CPUS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, (void *)(long)i), 0);
	do {
		table_begin(&t);
		read_generation(&t, generation, false);
		if (rotating && passes % 3 == 2)
			rotate(&t);
		check_pass(&t, &seen);
		passes++;
	} while (seen.total < CPUS * ROUNDS);
	for (i = 0; i < CPUS; i++)
		pthread_join(threads[i], NULL);

	table_begin(&t);
	read_generation(&t, generation, false);
	check_pass(&t, &seen);
	assert_true(passes > 3);
	assert_int_equal(seen.total, CPUS * ROUNDS);
	for (i = 0; i < FILES; i++)
		sum += seen.accesses[i];
	assert_int_equal(sum + seen.other, CPUS * ROUNDS);
	assert_true(seen.other > 0);
	for (i = 0; i < FILES; i++) {
		/* Nobody else's events: a file has all of its own, or (some generations) less. */
		assert_true(seen.accesses[i] <= CPUS * ROUNDS / FILES);
		if (!rotating && i < SETS * FS_WAYS)
			assert_int_equal(seen.accesses[i], CPUS * ROUNDS / FILES);
	}
	table_free(&t);
}

static void test_against_writers(void **state)
{
	run_against_writers(false);
}

static void test_rotation_against_writers(void **state)
{
	run_against_writers(true);
}

static struct fs_slot slot_of(__u64 file, __u64 n)
{
	return (struct fs_slot){ .state = FS_SLOT_OWNED, .key = key_of(file),
				 .w = { [FS_W_ACCESSES] = n } };
}

static void test_states(void **state)
{
	struct fs_set set = { .way = { slot_of(1, 10), slot_of(2, 20), slot_of(1, 5) } };
	struct fs_key k1 = key_of(1), k2 = key_of(2), k3 = key_of(3);
	struct table t;

	assert_int_equal(table_init(&t, 0), 0);
	set.way[1].state = FS_SLOT_CLAIMED;	/* its key is being written */
	table_begin(&t);
	assert_int_equal(table_add_sets(&t, &set, 1, false), 0);
	table_end(&t);
	/* A file with two places (a claim that was preempted) is one file. */
	assert_int_equal(table_file(&t, &k1, false)->cur[FS_W_ACCESSES], 15);
	assert_null(table_file(&t, &k2, false));
	assert_null(table_file(&t, &k3, false));
	assert_int_equal(t.used, 1);
	table_free(&t);
}

static void test_scope(void **state)
{
	struct fs_set set = { .way = { slot_of(1, 10) } };
	struct fs_spill spill = { .w = { [FS_W_ACCESSES] = 4 } };
	struct fs_key k1 = key_of(1), k2 = key_of(2);
	struct table t;

	assert_int_equal(table_init(&t, 0), 0);
	set.way[0].key.scope = FS_SCOPE_OUT;
	table_begin(&t);
	assert_int_equal(table_add_sets(&t, &set, 1, false), 0);
	assert_int_equal(table_add_spill(&t, &k2, &spill, false), 0);
	assert_null(table_file(&t, &k1, false));
	assert_int_equal(table_file(&t, &k2, false)->cur[FS_W_ACCESSES], 4);
	/* Outside the filter there are no rows, but totals. */
	assert_int_equal(t.cur[FS_SCOPE_OUT][FS_W_ACCESSES], 10);
	assert_int_equal(t.cur[FS_SCOPE_IN][FS_W_ACCESSES], 4);
	table_free(&t);
}

/* top forgets idle files once they are drained; what they counted stays in the totals. */
static void test_idle(void **state)
{
	struct fs_spill spill = { .w = { [FS_W_ACCESSES] = 1 } };
	struct fs_key key, busy = key_of(0);
	__u64 total[FS_SCOPES][FS_WORDS];
	struct fs_cpu rest;
	struct table t;
	__u64 i;

	assert_int_equal(table_init(&t, 0), 0);
	t.forget_after = 3;
	table_begin(&t);
	for (i = 0; i < 100; i++) {
		key = key_of(i);
		assert_int_equal(table_add_spill(&t, &key, &spill, true), 0);
	}
	table_end(&t);
	for (i = 0; i < 5; i++) {
		table_begin(&t);
		assert_int_equal(table_add_spill(&t, &busy, &spill, true), 0);
		table_end(&t);
	}
	assert_int_equal(t.idle, 99);
	/* One wakes up in the very pass that drops the others. */
	table_begin(&t);
	key = key_of(7);
	assert_int_equal(table_add_spill(&t, &key, &spill, true), 0);
	table_drop_idle(&t);
	assert_int_equal(t.used, 2);
	assert_int_equal(t.forgotten, 98);
	assert_non_null(table_file(&t, &busy, false));
	assert_int_equal(table_file(&t, &key, false)->base[FS_W_ACCESSES], 2);
	table_totals(&t, NULL, 0, total, &rest);
	assert_int_equal(total[FS_SCOPE_IN][FS_W_ACCESSES], 106);
	table_free(&t);
}

/* Drained files that stopped growing go first; living ones stay whatever the limit says. */
static void test_forget(void **state)
{
	struct fs_spill spill = { .w = { [FS_W_ACCESSES] = 1 } };
	struct fs_key key;
	struct table t;
	__u64 i;

	assert_int_equal(table_init(&t, 1000), 0);
	for (i = 0; i < 3000; i++) {
		if (i % 500 == 0)
			table_begin(&t);
		key = key_of(i);
		assert_int_equal(table_add_spill(&t, &key, &spill, true), 0);
		if (i % 500 == 499)
			table_end(&t);
	}
	assert_true(t.used <= 1000);
	assert_int_equal(t.used + t.forgotten, 3000);
	key = key_of(2999);
	assert_non_null(table_file(&t, &key, false));
	key = key_of(0);
	assert_null(table_file(&t, &key, false));
	table_free(&t);

	assert_int_equal(table_init(&t, 10), 0);
	for (i = 0; i < 5; i++) {
		__u64 j;

		/* The same 50 files, alive in the running generation, untouched since the first pass. */
		table_begin(&t);
		for (j = 0; j < 50; j++) {
			key = key_of(j);
			assert_int_equal(table_add_spill(&t, &key, &spill, false), 0);
		}
		table_end(&t);
	}
	assert_int_equal(t.used, 50);
	table_free(&t);
}

static void test_growth(void **state)
{
	struct fs_spill spill = { .w = { [FS_W_ACCESSES] = 1 } };
	struct table t;
	struct fs_key key;
	struct file *f;
	size_t n = 0, at;
	__u64 i;

	assert_int_equal(table_init(&t, 0), 0);
	table_begin(&t);
	for (i = 0; i < 50000; i++) {
		key = key_of(i);
		spill.w[FS_W_ACCESSES] = i;
		assert_int_equal(table_add_spill(&t, &key, &spill, false), 0);
	}
	table_end(&t);
	for (at = 0; (f = table_next(&t, &at)); at++, n++)
		assert_int_equal(f->cur[FS_W_ACCESSES], f->key.ino - 100);
	assert_int_equal(n, 50000);
	/* The same inode number in a new generation is another file. */
	key = key_of(5);
	key.gen++;
	assert_null(table_file(&t, &key, false));
	key.gen--;
	key.subdev = 3;
	assert_null(table_file(&t, &key, false));
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_writers),
		cmocka_unit_test(test_rotation_against_writers),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
