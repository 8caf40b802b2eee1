// SPDX-License-Identifier: GPL-2.0-only
/* test_backlog.c - sequence arithmetic, peaks, gauges, per-CPU offsets. */
/* units: backlog_data.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "backlog.h"
#include "gp_math.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SEQ(ctr, phase) (((__u64)(ctr) << GP_SEQ_SHIFT) + (phase))
#define SEQ_BOOT SEQ(-300, 0)	/* RCU_GP_SEQ of a kernel that has just booted */

static const struct {
	__u64 first, last, started, completed;
} seqs[] = {
	{ SEQ(5, 0), SEQ(5, 0), 0, 0 },
	{ SEQ(5, 0), SEQ(5, 1), 1, 0 },
	{ SEQ(5, 0), SEQ(6, 0), 1, 1 },
	{ SEQ(5, 0), SEQ(6, 1), 2, 1 },
	/* the one running at the first reading */
	{ SEQ(5, 1), SEQ(5, 1), 1, 0 },
	{ SEQ(5, 1), SEQ(6, 0), 1, 1 },
	{ SEQ(5, 1), SEQ(6, 1), 2, 1 },
	/* any phase but 0 is running */
	{ SEQ(5, 3), SEQ(6, 2), 2, 1 },
	{ SEQ(0, 0), SEQ(1000000, 0), 1000000, 1000000 },
	/* the wrap that every boot goes through */
	{ SEQ_BOOT, SEQ(0, 0), 300, 300 },
	{ SEQ_BOOT, SEQ(10, 1), 311, 310 },
	{ SEQ(-1, 1), SEQ(0, 0), 1, 1 },
	{ SEQ(-1, 1), SEQ(0, 1), 2, 1 },
	{ SEQ(-1, 0), SEQ(-1, 1), 1, 0 },
	{ ~0ULL, SEQ(0, 0), 1, 1 },
};

static void test_sequences(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(seqs); i++) {
		assert_int_equal(gp_seq_started(seqs[i].first, seqs[i].last), seqs[i].started);
		assert_int_equal(gp_seq_completed(seqs[i].first, seqs[i].last), seqs[i].completed);
	}
}

/* What happens between two readings does not depend on when counting began. */
static void test_sequence_differences(void **state)
{
	static const __u64 walk[] = {
		SEQ(-2, 0), SEQ(-2, 1), SEQ(-1, 0), SEQ(-1, 1), SEQ(0, 1), SEQ(1, 0), SEQ(1, 1),
	};
	static const __u64 starts[] = { 1, 0, 1, 1, 0, 1 }, ends[] = { 0, 1, 0, 1, 1, 0 };
	size_t base, i;

	for (base = 0; base < ARRAY_SIZE(walk); base++) {
		for (i = base; i + 1 < ARRAY_SIZE(walk); i++) {
			assert_int_equal(gp_seq_started(walk[base], walk[i + 1]) -
					 gp_seq_started(walk[base], walk[i]), starts[i]);
			assert_int_equal(gp_seq_completed(walk[base], walk[i + 1]) -
					 gp_seq_completed(walk[base], walk[i]), ends[i]);
		}
	}
}

struct world {
	struct fs_rcu_cpu cpus[4];
	struct fs_rcu_state rcu;
	__u64 peak[4];
	struct snap_cpu out[4];
	struct backlog b;
	struct snapshot s;
};

static void make_world(struct world *w)
{
	int i;

	memset(w, 0, sizeof(*w));
	w->b.cpus = w->cpus;
	w->b.state = &w->rcu;
	w->b.peak = w->peak;
	w->b.ncpus = 4;
	w->s.cpus = w->out;
	w->s.ncpus = 4;
	for (i = 0; i < 4; i++)
		w->out[i].cpu = i;
}

static void test_peaks(void **state)
{
	static const struct {
		__u32 flags;
		__s64 len;
		__u64 want;
	} steps[] = {
		{ 0, 50, 0 },			/* not valid yet */
		{ FS_RCU_VALID, 7, 7 },
		{ FS_RCU_VALID, 900, 900 },
		{ FS_RCU_VALID, 3, 900 },
		{ FS_RCU_VALID, -2, 900 },
		{ FS_RCU_VALID, 901, 901 },
	};
	struct world w;
	size_t i;

	make_world(&w);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		w.cpus[2].flags = steps[i].flags;
		w.cpus[2].len = steps[i].len;
		backlog_note(&w.b);
		assert_int_equal(w.peak[2], steps[i].want);
		assert_int_equal(w.peak[1], 0);
	}
}

static void test_fill_cpu(void **state)
{
	static const struct {
		struct fs_rcu_cpu in;
		__u32 flags;
		__u64 callbacks, seg[4], kvfree;
	} cases[] = {
		{ { .flags = 0, .len = 9 }, 0, 0, { 0 }, 0 },
		{ { .flags = FS_RCU_VALID, .len = 12, .seg = { 1, 2, 3, 4 } },
		  CPU_BACKLOG_VALID, 12, { 1, 2, 3, 4 }, 0 },
		/* kvfree and bypass are taken only where they are valid */
		{ { .flags = FS_RCU_VALID, .len = 5, .bypass = 5, .kvfree = 6 },
		  CPU_BACKLOG_VALID, 5, { 0 }, 0 },
		{ { .flags = FS_RCU_VALID | FS_RCU_KVFREE, .kvfree = 6 },
		  CPU_BACKLOG_VALID | CPU_KVFREE_VALID, 0, { 0 }, 6 },
		/* len has the bypass list in it, the segments have not */
		{ { .flags = FS_RCU_VALID | FS_RCU_OFFLOADED | FS_RCU_BYPASS, .len = 30,
		    .seg = { 0, 0, 0, 10 }, .bypass = 20 },
		  CPU_BACKLOG_VALID | CPU_OFFLOADED, 30, { 0, 0, 0, 30 }, 0 },
		/* torn reads */
		{ { .flags = FS_RCU_VALID | FS_RCU_KVFREE, .len = -3, .seg = { -1, 2, 0, 0 },
		    .kvfree = -4 },
		  CPU_BACKLOG_VALID | CPU_KVFREE_VALID, 0, { 0, 2, 0, 0 }, 0 },
	};
	struct world w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make_world(&w);
		w.cpus[1] = cases[i].in;
		w.cpus[1].invoked = 77;
		w.out[1].flags = CPU_ONLINE;
		w.peak[1] = 1000;
		backlog_fill(&w.b, &w.s);
		assert_int_equal(w.out[1].flags, cases[i].flags | CPU_ONLINE);
		assert_int_equal(w.out[1].callbacks, cases[i].callbacks);
		assert_memory_equal(w.out[1].seg, cases[i].seg, sizeof(cases[i].seg));
		assert_int_equal(w.out[1].kvfree, cases[i].kvfree);
		assert_int_equal(w.out[1].peak_callbacks, cases[i].flags ? 1000 : 0);
		assert_int_equal(w.out[1].invoked, cases[i].flags ? 77 : 0);
		assert_int_equal(w.out[0].flags, 0);
	}
}

/* CPU numbers are what counts, not positions; numbers beyond the map are left alone. */
static void test_fill_sparse(void **state)
{
	struct world w;

	make_world(&w);
	w.s.ncpus = 2;
	w.out[0].cpu = 3;
	w.out[1].cpu = 4;
	w.cpus[3].flags = FS_RCU_VALID;
	w.cpus[3].len = 11;
	backlog_fill(&w.b, &w.s);
	assert_int_equal(w.out[0].callbacks, 11);
	assert_int_equal(w.out[1].flags, 0);
}

static void test_fill_counts(void **state)
{
	struct world w;

	make_world(&w);
	backlog_note(&w.b);
	backlog_fill(&w.b, &w.s);
	assert_int_equal(w.s.grace[FS_GP_NORMAL].count_prov, PROV_UNAVAILABLE);

	w.rcu.valid = 1;
	w.rcu.gp_seq = SEQ(-1, 1);
	w.rcu.exp_seq = SEQ(100, 0);
	backlog_note(&w.b);
	w.rcu.gp_seq = SEQ(2, 1);
	w.rcu.exp_seq = SEQ(120, 0);
	backlog_note(&w.b);	/* the first reading stays the first */
	backlog_fill(&w.b, &w.s);
	assert_int_equal(w.s.grace[FS_GP_NORMAL].count_prov, PROV_MEASURED);
	assert_int_equal(w.s.grace[FS_GP_NORMAL].started, 4);
	assert_int_equal(w.s.grace[FS_GP_NORMAL].completed, 3);
	assert_int_equal(w.s.grace[FS_GP_EXPEDITED].count_prov, PROV_MEASURED);
	assert_int_equal(w.s.grace[FS_GP_EXPEDITED].started, 20);
	assert_int_equal(w.s.grace[FS_GP_EXPEDITED].completed, 20);
	assert_int_equal(w.s.grace[FS_GP_NORMAL].lat_prov, PROV_UNAVAILABLE);
}

/* BTF of a kernel with two variables in the section of that name. */
static struct btf *make_btf(const char *section)
{
	struct btf *btf = btf__new_empty();
	int type, rq, rdp;

	assert_non_null(btf);
	type = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	rq = btf__add_var(btf, "runqueues", BTF_VAR_GLOBAL_ALLOCATED, type);
	rdp = btf__add_var(btf, "rcu_data", BTF_VAR_STATIC, type);
	assert_true(btf__add_datasec(btf, section, 0x40000) > 0);
	assert_int_equal(btf__add_datasec_var_info(btf, rq, 179392, 4), 0);
	assert_int_equal(btf__add_datasec_var_info(btf, rdp, 183232, 4), 0);
	return btf;
}

static void test_percpu_offset(void **state)
{
	static const struct {
		const char *section, *var;
		int err;
		__s64 offset;
	} cases[] = {
		{ ".data..percpu", "runqueues", 0, 179392 },
		{ ".data..percpu", "rcu_data", 0, 183232 },
		{ ".data..percpu", "krc", -ENOENT, -1 },
		{ ".data..percpu", "rcu", -ENOENT, -1 },
		{ ".data", "rcu_data", -ENOENT, -1 },
	};
	__s64 offset;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct btf *btf = make_btf(cases[i].section);

		offset = -1;
		assert_int_equal(backlog_percpu_offset(btf, cases[i].var, &offset), cases[i].err);
		assert_int_equal(offset, cases[i].offset);
		btf__free(btf);
	}
	assert_int_equal(backlog_percpu_offset(NULL, "rcu_data", &offset), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_sequence_differences),
		cmocka_unit_test(test_peaks),
		cmocka_unit_test(test_fill_cpu),
		cmocka_unit_test(test_fill_sparse),
		cmocka_unit_test(test_fill_counts),
		cmocka_unit_test(test_percpu_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
