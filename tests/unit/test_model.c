/* SPDX-License-Identifier: GPL-2.0-only */
/* test_model.c - differences of snapshots: sums that add up, births, clamps, losses, ranking. */
/* units: model.c model_refs.c model_detail.c bounce.c topology.c cpus.c snapshot.c */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fixture_snapshot.h"
#include "model.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Two snapshots a second apart, and what is made of them. */
struct pair {
	struct snapshot first, last;
	struct report r;
};

static void pair_init(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	fix_init(&p->first, 1, 0);
	fix_init(&p->last, 2, FIX_SEC);
}

static void pair_make(struct pair *p, const struct view *view)
{
	report_free(&p->r);
	assert_int_equal(report_make(&p->r, &p->first, &p->last, view), 0);
}

static void pair_free(struct pair *p)
{
	report_free(&p->r);
	snapshot_free(&p->first);
	snapshot_free(&p->last);
}

/* A row with accesses, its pages double; added to the totals as well. */
static struct snap_row *counted(struct snapshot *s, __u64 ino, const char *path, __u64 accesses)
{
	struct snap_row *row = fix_row(s, ino, path);

	row->v[FIG_ACCESSES] = accesses;
	row->v[FIG_PAGES] = 2 * accesses;
	s->total[FS_SCOPE_IN][FIG_ACCESSES] += accesses;
	s->total[FS_SCOPE_IN][FIG_PAGES] += 2 * accesses;
	return row;
}

static void test_order(void **state)
{
	struct pair p;

	pair_init(&p);
	p.last.mono_ns = p.first.mono_ns;
	assert_int_equal(report_make(&p.r, &p.first, &p.last, NULL), -EINVAL);
	assert_null(p.r.files);
	assert_int_equal(report_make(&p.r, &p.last, &p.first, NULL), -EINVAL);
	p.last.mono_ns = p.first.mono_ns + 1;
	assert_int_equal(report_make(&p.r, &p.first, &p.last, NULL), 0);
	pair_free(&p);
}

static void test_empty(void **state)
{
	struct pair p;

	pair_init(&p);
	pair_make(&p, NULL);
	assert_int_equal(p.r.nfiles + p.r.nfiles_all + p.r.ncpus + p.r.nprogs + p.r.nhooks, 0);
	assert_true(p.r.duration_s == 1.0);
	assert_true(isnan(p.r.coverage));
	assert_false(p.r.torn || p.r.hotplug || p.r.clamped || p.r.has_machine);
	assert_int_equal(p.r.totals.v[FIG_ACCESSES].prov, PROV_MEASURED);
	assert_int_equal(p.r.totals.v[FIG_REF_OPS].prov, PROV_UNAVAILABLE);
	pair_free(&p);
}

static void test_rate(void **state)
{
	assert_true(model_rate(10, 2.0) == 5.0);
	assert_true(model_rate(0, 2.0) == 0.0);
	assert_true(isnan(model_rate(10, 0.0)));
	assert_true(isnan(model_rate(10, -1.0)));
}

static void test_quantile(void **state)
{
	static const struct {
		unsigned int bucket[3];
		__u64 count[3];
		double q;
		__u64 max, want;
	} cases[] = {
		{ { 0 }, { 0 }, 0.5, 100, 0 },
		{ { 10 }, { 1 }, 0.5, 1000, 1000 },
		{ { 10 }, { 1 }, 0.5, 5000, 1024 },
		{ { 10, 20 }, { 50, 50 }, 0.5, ~0ull, 1024 },
		{ { 10, 20 }, { 49, 51 }, 0.5, ~0ull, 1048576 },
		{ { 10, 20 }, { 99, 1 }, 0.99, ~0ull, 1024 },
		{ { 10, 20 }, { 98, 2 }, 0.99, ~0ull, 1048576 },
		{ { 10, 20 }, { 9, 1 }, 0.9, ~0ull, 1024 },
		{ { 10, 20 }, { 9, 1 }, 0.91, ~0ull, 1048576 },
		{ { 10, 20, 63 }, { 1, 1, 1 }, 0.0, ~0ull, 1024 },
		{ { 10, 20, 63 }, { 1, 1, 1 }, 1.0, ~0ull, 1ull << 63 },
		{ { 10, 20, 63 }, { 1, 1, 1 }, 7.0, ~0ull, 1ull << 63 },
		{ { 10, 20 }, { 1ull << 63, 1ull << 63 }, 0.5, ~0ull, 1048576 },
		{ { 0 }, { 3 }, 0.5, ~0ull, 1 },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 b[FS_LAT_BUCKETS] = { 0 };

		for (k = 0; k < 3; k++)
			b[cases[i].bucket[k]] += cases[i].count[k];
		/* Two halves of all counts saturate: the quantile is then in one of the two. */
		if (cases[i].count[0] >> 63)
			assert_true(model_quantile(b, cases[i].q, cases[i].max) > 0);
		else
			assert_int_equal(model_quantile(b, cases[i].q, cases[i].max),
					 cases[i].want);
	}
}

static void test_path_matches(void **state)
{
	static const struct {
		const char *path, *pattern;
		bool want;
	} cases[] = {
		{ "/var/log", "/var/log", true },
		{ "/var/log/x/y", "/var/log", true },
		{ "/var/log/x", "/var/log/", true },
		{ "/var/logs", "/var/log", false },
		{ "/var", "/var/log", false },
		{ "/anything", "/", true },
		{ "/anything", "", false },
		{ "/a/b.db", "*.db", true },
		{ "/a/b.db", "/a/*.db", true },
		{ "/a/b.dbx", "/a/*.db", false },
		{ "/a/[x]/f", "/a/[x]", true },		/* literal before glob */
		{ "/a/x", "/a/[xy]", true },
		{ "/a\xff/b", "/a\xff", true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(model_path_matches(cases[i].path, cases[i].pattern),
				 cases[i].want);
}

static const struct report_row *find(const struct report *r, __u64 ino)
{
	size_t i;

	for (i = 0; i < r->nfiles; i++)
		if (r->files[i].row->key.ino == ino)
			return &r->files[i];
	return NULL;
}

static void test_rows(void **state)
{
	struct pair p;

	pair_init(&p);
	counted(&p.first, 1, "/a", 100);
	counted(&p.first, 2, "/still", 50);
	counted(&p.first, 3, "/reborn", 70);
	counted(&p.first, 4, "/gone", 5);
	counted(&p.last, 5, "/new", 11);
	counted(&p.last, 3, "/reborn", 7)->birth = 2;
	counted(&p.last, 2, "/still", 50);
	counted(&p.last, 1, "/a", 130);
	p.last.total[FS_SCOPE_IN][FIG_ACCESSES] = 225 + 30 + 7 + 11 + 2;
	p.last.unattributed[FIG_ACCESSES] = 1;
	pair_make(&p, NULL);
	assert_int_equal(p.r.nfiles, 3);
	assert_int_equal(p.r.nfiles_all, 3);
	assert_int_equal(p.r.files[0].v[FIG_ACCESSES].v, 30);
	assert_int_equal(find(&p.r, 1)->v[FIG_ACCESSES].v, 30);
	assert_int_equal(find(&p.r, 3)->v[FIG_ACCESSES].v, 7);
	assert_int_equal(find(&p.r, 5)->v[FIG_ACCESSES].v, 11);
	assert_null(find(&p.r, 2));
	assert_int_equal(p.r.totals.v[FIG_ACCESSES].v, 50);
	assert_int_equal(p.r.unattributed.v[FIG_ACCESSES].v, 1);
	assert_int_equal(p.r.other.v[FIG_ACCESSES].v, 1);
	pair_free(&p);
}

/*
 * Files that differ in one part of the key only are different files, and each finds itself: so
 * many of them that they meet in the table.
 */
static void test_whole_key(void **state)
{
	struct snap_row *row;
	struct pair p;
	int part, i, last;

	for (part = 0; part < 5; part++) {
		pair_init(&p);
		for (i = 0; i < 2 * 64; i++) {
			last = i >= 64;
			row = counted(last ? &p.last : &p.first, 7, "/f", 1000 * (i % 64));
			row->key.ino += part == 0 ? i % 64 : 0;
			row->key.dev += part == 1 ? i % 64 : 0;
			row->key.gen += part == 2 ? i % 64 : 0;
			row->key.subdev += part == 3 ? i % 64 : 0;
			row->key.scope += part == 4 ? i % 64 : 0;
			row->v[FIG_ACCESSES] += last;
		}
		pair_make(&p, NULL);
		assert_int_equal(p.r.nfiles, 64);
		for (i = 0; i < 64; i++)
			assert_int_equal(p.r.files[i].v[FIG_ACCESSES].v, 1);
		pair_free(&p);
	}
}

static void test_ranking(void **state)
{
	static const struct {
		struct view view;
		__u64 want[4];
	} cases[] = {
		{ { .sort = FIG_ACCESSES }, { 4, 1, 2, 3 } },
		{ { .sort = FIG_PAGES }, { 3, 4, 1, 2 } },
		{ { .sort = FIG_REF_OPS }, { 4, 1, 2, 3 } },	/* unavailable: by accesses */
		{ { .sort = FIG_ACCESSES, .top = 2 }, { 4, 1 } },
		{ { .sort = FIG_ACCESSES, .top = 9 }, { 4, 1, 2, 3 } },
	};
	struct pair p;
	size_t i, k;

	pair_init(&p);
	counted(&p.last, 3, NULL, 10)->v[FIG_PAGES] = 99;
	counted(&p.last, 2, "/b", 10);
	counted(&p.last, 1, "/a", 10);
	counted(&p.last, 4, "/z", 11);
	p.last.total[FS_SCOPE_IN][FIG_PAGES] = 1000;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = cases[i].view.top == 2 ? 2 : 4;

		pair_make(&p, &cases[i].view);
		assert_int_equal(p.r.nfiles, n);
		assert_int_equal(p.r.nfiles_all, 4);
		for (k = 0; k < n; k++)
			assert_int_equal(p.r.files[k].row->key.ino, cases[i].want[k]);
		assert_int_equal(p.r.other.v[FIG_ACCESSES].v, n == 2 ? 20 : 0);
	}
	assert_true(p.r.coverage == 1.0);
	pair_free(&p);
}

static void test_path_filter(void **state)
{
	static const char *const paths[] = { "/srv/db", "*.log", NULL };
	static const struct view view = { .sort = FIG_ACCESSES, .paths = paths };
	struct pair p;

	pair_init(&p);
	counted(&p.last, 1, "/srv/db/1", 10);
	counted(&p.last, 2, "/srv/dbx", 20);
	counted(&p.last, 3, "/var/a.log", 30);
	counted(&p.last, 4, NULL, 40);
	pair_make(&p, &view);
	assert_int_equal(p.r.nfiles, 2);
	assert_int_equal(p.r.nfiles_all, 4);
	assert_int_equal(p.r.files[0].row->key.ino, 3);
	assert_int_equal(p.r.files[1].row->key.ino, 1);
	assert_int_equal(p.r.totals.v[FIG_ACCESSES].v, 100);
	assert_int_equal(p.r.other.v[FIG_ACCESSES].v, 60);
	assert_true(p.r.coverage == 0.4);
	pair_free(&p);
}

/* Parts above the total raise it, whatever part of them is shown. */
static void test_clamped(void **state)
{
	static const struct view views[] = { { .top = 0 }, { .top = 1 } };
	struct pair p;
	size_t i;

	pair_init(&p);
	counted(&p.last, 1, "/a", 60);
	counted(&p.last, 2, "/b", 50);
	p.last.total[FS_SCOPE_IN][FIG_ACCESSES] = 100;
	p.last.unattributed[FIG_ACCESSES] = 1;
	for (i = 0; i < 2; i++) {
		pair_make(&p, &views[i]);
		assert_int_equal(p.r.totals.v[FIG_ACCESSES].v, 111);
		assert_int_equal(p.r.other.v[FIG_ACCESSES].v, i ? 50 : 0);
		assert_int_equal(p.r.totals.v[FIG_ACCESSES].prov, PROV_LOWER_BOUND);
		assert_int_equal(p.r.totals.v[FIG_PAGES].prov, PROV_MEASURED);
		assert_true(p.r.torn && p.r.clamped);
	}
	pair_free(&p);

	pair_init(&p);
	counted(&p.first, 1, "/a", 10);
	counted(&p.last, 1, "/a", 8)->v[FIG_MARKS] = 1;
	pair_make(&p, NULL);
	assert_true(p.r.clamped);
	assert_int_equal(p.r.files[0].v[FIG_ACCESSES].v, 0);
	assert_int_equal(p.r.totals.v[FIG_MARKS].v, 1);
	pair_free(&p);
}

static void assert_adds_up(const struct report *r)
{
	size_t i;
	int f;

	for (f = 0; f < FIGS; f++) {
		__u64 sum = r->other.v[f].v + r->unattributed.v[f].v;

		for (i = 0; i < r->nfiles; i++)
			sum += r->files[i].v[f].v;
		assert_int_equal(sum, r->totals.v[f].v);
		if (r->has_machine)
			assert_true(r->machine.v[f].v >= r->totals.v[f].v);
	}
}

static __u64 some(unsigned int limit)
{
	return rand() % 4 ? rand() % limit : 0;
}

static void random_pair(struct pair *p)
{
	size_t n = rand() % 30, i;
	int f;

	pair_init(p);
	for (f = 0; f < FIGS; f++) {
		p->last.prov[f] = rand() % PROVS;
		p->last.sample_n[f] = 16;
		p->first.total[FS_SCOPE_IN][f] = some(1000);
		p->last.total[FS_SCOPE_IN][f] = some(20000);
		p->last.total[FS_SCOPE_OUT][f] = some(1000);
		p->first.unattributed[f] = some(10);
		p->last.unattributed[f] = some(100);
	}
	p->last.filtered = rand() & 1;
	p->last.machine = rand() & 1;
	for (i = 0; i < n; i++) {
		struct snap_row *row = fix_row(&p->last, i, rand() & 1 ? "/x" : NULL);

		row->birth = rand() % 2 ? 1 : 2;
		row->flags = rand() % 4 ? 0 : ROW_TMPFS;
		for (f = 0; f < FIGS; f++)
			row->v[f] = some(1000);
		if (rand() & 1)
			continue;
		row = fix_row(&p->first, i, NULL);
		for (f = 0; f < FIGS; f++)
			row->v[f] = some(800);
	}
}

static void test_random_adds_up(void **state)
{
	static const char *const paths[] = { "/x", NULL };
	struct pair p;
	int round;

	srand(7);
	for (round = 0; round < 3000; round++) {
		struct view view = {
			.top = rand() % 12,
			.sort = rand() % FIGS,
			.paths = rand() % 3 ? NULL : paths,
		};

		random_pair(&p);
		pair_make(&p, &view);
		assert_adds_up(&p.r);
		pair_free(&p);
	}
}

static void test_saturates(void **state)
{
	struct pair p;

	pair_init(&p);
	fix_row(&p.last, 1, "/a")->v[FIG_PAGES] = ~0ull;
	fix_row(&p.last, 2, "/b")->v[FIG_PAGES] = ~0ull;
	pair_make(&p, NULL);
	assert_int_equal(p.r.totals.v[FIG_PAGES].v, ~0ull);
	assert_int_equal(p.r.other.v[FIG_PAGES].v, 0);
	pair_free(&p);
}

static __u32 prov_of(const struct report_row *row, enum fig f)
{
	return row->v[f].prov;
}

/* Which loss touches which figures of which row. */
static const struct {
	const char *name;
	__u64 map_full, witness, torn;
	__u32 flags;
	const char *missed;	/* signal with misses */
	__u32 file_acc, file_marks, total_acc, total_marks, other_acc;
} doubts[] = {
	{ "none", 0, 0, 0, 0, NULL, PROV_MEASURED, PROV_MEASURED, PROV_MEASURED, PROV_MEASURED,
	  PROV_MEASURED },
	{ "map_full", 1, 0, 0, 0, NULL, PROV_LOWER_BOUND, PROV_LOWER_BOUND, PROV_MEASURED,
	  PROV_MEASURED, PROV_MEASURED },
	/* Each event then counts as an access of its own: too many, not too few. */
	{ "witness", 0, 1, 0, 0, NULL, PROV_UPPER_BOUND, PROV_MEASURED, PROV_UPPER_BOUND,
	  PROV_MEASURED, PROV_UPPER_BOUND },
	{ "read misses", 0, 0, 0, 0, "access.read", PROV_LOWER_BOUND, PROV_MEASURED,
	  PROV_LOWER_BOUND, PROV_MEASURED, PROV_LOWER_BOUND },
	{ "mark misses", 0, 0, 0, 0, "access.marks", PROV_MEASURED, PROV_LOWER_BOUND,
	  PROV_MEASURED, PROV_LOWER_BOUND, PROV_MEASURED },
	{ "lifecycle misses", 0, 0, 0, 0, "access.lifecycle", PROV_MEASURED, PROV_MEASURED,
	  PROV_MEASURED, PROV_MEASURED, PROV_MEASURED },
	/* A child that was not flagged is missing from everything. */
	{ "fork misses", 0, 0, 0, 0, "access.tree", PROV_LOWER_BOUND, PROV_LOWER_BOUND,
	  PROV_LOWER_BOUND, PROV_LOWER_BOUND, PROV_LOWER_BOUND },
	{ "grace misses", 0, 0, 0, 0, "grace.normal", PROV_MEASURED, PROV_MEASURED, PROV_MEASURED,
	  PROV_MEASURED, PROV_MEASURED },
	{ "torn flag", 0, 0, 0, SNAP_TORN, NULL, PROV_LOWER_BOUND, PROV_LOWER_BOUND, PROV_MEASURED,
	  PROV_MEASURED, PROV_UPPER_BOUND },
	{ "torn before", 0, 0, 1, 0, NULL, PROV_LOWER_BOUND, PROV_LOWER_BOUND, PROV_MEASURED,
	  PROV_MEASURED, PROV_UPPER_BOUND },
	{ "hotplug", 0, 0, 0, SNAP_HOTPLUG, NULL, PROV_MEASURED, PROV_MEASURED, PROV_MEASURED,
	  PROV_MEASURED, PROV_MEASURED },
};

static void test_doubts(void **state)
{
	struct pair p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(doubts); i++) {
		pair_init(&p);
		counted(&p.last, 1, "/a", 10);
		p.last.prov[FIG_WRITTEN] = PROV_SAMPLED;
		p.last.sample_n[FIG_WRITTEN] = 64;
		/* What was lost before the interval does not count. */
		p.first.lost = (struct snap_lost){ 5, 5, 5, 5, 5 };
		p.last.lost = p.first.lost;
		p.last.lost.map_full += doubts[i].map_full;
		p.last.lost.witness += doubts[i].witness;
		p.last.lost.torn += doubts[i].torn;
		p.last.flags = doubts[i].flags;
		fix_hook(&p.first, "access.fault", HOOK_ATTACHED, "fentry", "f", "")->misses = 3;
		fix_hook(&p.last, "access.fault", HOOK_ATTACHED, "fentry", "f", "")->misses = 3;
		if (doubts[i].missed)
			fix_hook(&p.last, doubts[i].missed, HOOK_DEGRADED, "fentry", "f", "")
				->misses = 1;
		pair_make(&p, NULL);
		assert_int_equal(prov_of(&p.r.files[0], FIG_ACCESSES), doubts[i].file_acc);
		assert_int_equal(prov_of(&p.r.files[0], FIG_MARKS), doubts[i].file_marks);
		assert_int_equal(prov_of(&p.r.totals, FIG_ACCESSES), doubts[i].total_acc);
		assert_int_equal(prov_of(&p.r.totals, FIG_MARKS), doubts[i].total_marks);
		assert_int_equal(prov_of(&p.r.other, FIG_ACCESSES), doubts[i].other_acc);
		assert_int_equal(prov_of(&p.r.files[0], FIG_WRITTEN), PROV_SAMPLED);
		assert_int_equal(p.r.files[0].v[FIG_WRITTEN].n, 64);
		assert_int_equal(p.r.torn, !!(doubts[i].flags & SNAP_TORN) || doubts[i].torn);
		assert_int_equal(p.r.hotplug, !!(doubts[i].flags & SNAP_HOTPLUG));
		assert_int_equal(p.r.hooks[0].misses, 0);
		pair_free(&p);
	}
}

static void test_untested(void **state)
{
	struct pair p;

	pair_init(&p);
	counted(&p.last, 1, "/tested", 10);
	counted(&p.last, 2, "/untested", 9)->v[FIG_UNTESTED] = 1;
	p.last.total[FS_SCOPE_IN][FIG_UNTESTED] = 1;
	pair_make(&p, NULL);
	assert_int_equal(prov_of(&p.r.files[0], FIG_HOT_PAGES), PROV_MEASURED);
	assert_int_equal(prov_of(&p.r.files[1], FIG_HOT_PAGES), PROV_LOWER_BOUND);
	assert_int_equal(prov_of(&p.r.files[1], FIG_HOT_ACCESSES), PROV_LOWER_BOUND);
	assert_int_equal(prov_of(&p.r.files[1], FIG_PAGES), PROV_MEASURED);
	assert_int_equal(prov_of(&p.r.totals, FIG_HOT_PAGES), PROV_LOWER_BOUND);
	assert_int_equal(prov_of(&p.r.other, FIG_HOT_PAGES), PROV_MEASURED);
	pair_free(&p);
}

/* Pages are exact where they were read, an upper bound where a fault-around counted its window. */
static void test_windows(void **state)
{
	struct pair p;

	pair_init(&p);
	counted(&p.last, 1, "/read", 10);
	counted(&p.last, 2, "/mapped", 9)->v[FIG_WINDOW] = 15;
	p.last.total[FS_SCOPE_IN][FIG_WINDOW] = 15;
	p.last.prov[FIG_WINDOW] = PROV_MEASURED;
	pair_make(&p, NULL);
	assert_int_equal(prov_of(&p.r.files[0], FIG_PAGES), PROV_MEASURED);
	assert_int_equal(prov_of(&p.r.files[1], FIG_PAGES), PROV_UPPER_BOUND);
	assert_int_equal(prov_of(&p.r.files[1], FIG_ACCESSES), PROV_MEASURED);
	assert_int_equal(prov_of(&p.r.totals, FIG_PAGES), PROV_UPPER_BOUND);
	assert_int_equal(prov_of(&p.r.other, FIG_PAGES), PROV_MEASURED);
	pair_free(&p);
}

static void test_tmpfs(void **state)
{
	struct pair p;
	struct snap_row *row;

	pair_init(&p);
	row = counted(&p.last, 1, "/dev/shm/x", 10);
	row->flags = ROW_TMPFS;
	row->v[FIG_INSERTED] = 77;	/* whatever it says */
	p.last.total[FS_SCOPE_IN][FIG_INSERTED] = 5;
	pair_make(&p, NULL);
	assert_int_equal(prov_of(&p.r.files[0], FIG_INSERTED), PROV_UNAVAILABLE);
	assert_int_equal(p.r.files[0].v[FIG_INSERTED].v, 0);
	assert_int_equal(p.r.other.v[FIG_INSERTED].v, 5);
	assert_int_equal(prov_of(&p.r.files[0], FIG_WRITTEN), PROV_UNAVAILABLE);
	assert_int_equal(prov_of(&p.r.files[0], FIG_REMOVED), PROV_MEASURED);
	pair_free(&p);
}

static void test_machine(void **state)
{
	struct pair p;

	pair_init(&p);
	counted(&p.last, 1, "/a", 10);
	p.first.total[FS_SCOPE_OUT][FIG_ACCESSES] = 100;
	p.last.total[FS_SCOPE_OUT][FIG_ACCESSES] = 190;
	p.last.machine = 1;
	pair_make(&p, NULL);
	assert_false(p.r.has_machine);
	p.last.filtered = 1;
	pair_make(&p, NULL);
	assert_true(p.r.has_machine);
	assert_int_equal(p.r.machine.v[FIG_ACCESSES].v, 100);
	assert_int_equal(prov_of(&p.r.machine, FIG_REF_OPS), PROV_UNAVAILABLE);
	pair_free(&p);
}

static void test_cpus(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 1024 };
	struct pair p;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		pair_init(&p);
		for (k = 0; k < counts[i]; k++)
			fix_cpu(&p.last, k, 8 * k);
		pair_make(&p, NULL);
		assert_int_equal(p.r.ncpus, counts[i]);
		for (k = 0; k < counts[i]; k++) {
			assert_int_equal(p.r.cpus[k].callbacks.v, 8 * k);
			assert_int_equal(p.r.cpus[k].invoking.v, 2 * k);
			assert_int_equal(p.r.cpus[k].invoking.prov, PROV_DERIVED);
			assert_int_equal(p.r.cpus[k].peak_callbacks.v, 16 * k);
		}
		pair_free(&p);
	}
}

static void test_cpu_states(void **state)
{
	struct pair p;

	pair_init(&p);
	fix_cpu(&p.last, 0, 5)->flags = CPU_ONLINE;
	fix_cpu(&p.last, 1, 0)->flags = 0;				/* not there */
	fix_cpu(&p.last, 2, 5)->flags = CPU_BACKLOG_VALID;		/* offline, not empty */
	fix_cpu(&p.last, 3, 5)->seg[1] = 50;			/* read while it works */
	pair_make(&p, NULL);
	assert_int_equal(p.r.ncpus, 3);
	assert_int_equal(p.r.cpus[0].callbacks.prov, PROV_UNAVAILABLE);
	assert_int_equal(p.r.cpus[0].kvfree.prov, PROV_UNAVAILABLE);
	assert_int_equal(p.r.cpus[1].cpu->cpu, 2);
	assert_int_equal(p.r.cpus[1].callbacks.v, 5);
	assert_int_equal(p.r.cpus[2].invoking.v, 0);
	pair_free(&p);
}

static void grace_provs(struct snapshot *s, int kind, __u32 prov)
{
	s->grace[kind].count_prov = prov;
	s->grace[kind].lat_prov = prov;
	s->grace[kind].req_prov = prov;
}

static void test_grace(void **state)
{
	const struct report_grace *g;
	struct pair p;

	pair_init(&p);
	grace_provs(&p.first, FS_GP_EXPEDITED, PROV_MEASURED);
	grace_provs(&p.last, FS_GP_EXPEDITED, PROV_MEASURED);
	p.first.grace[1].started = 10;
	p.last.grace[1].started = 14;
	p.first.grace[1].completed = 9;
	p.last.grace[1].completed = 14;
	p.last.grace[1].ours = 2;
	fix_latency(&p.first.grace[1], 30, 1);
	fix_latency(&p.last.grace[1], 30, 1);
	fix_latency(&p.last.grace[1], 10, 98);
	fix_latency(&p.last.grace[1], 20, 2);
	fix_requester(&p.first.grace[1], "mount", 5, 3);
	fix_requester(&p.first.grace[1], "idle", 6, 4);
	fix_requester(&p.last.grace[1], "idle", 6, 4);
	fix_requester(&p.last.grace[1], "mount", 5, 4);
	fix_requester(&p.last.grace[1], "mount", 7, 9);
	pair_make(&p, NULL);
	g = &p.r.grace[FS_GP_EXPEDITED];
	assert_int_equal(g->started.v, 4);
	assert_int_equal(g->completed.v, 5);
	assert_int_equal(g->ours, 2);
	assert_int_equal(g->lat_count, 100);
	assert_int_equal(g->p50, 1 << 10);
	assert_int_equal(g->p99, 1 << 20);
	/* The longest lies before: what is known of this interval is its bucket. */
	assert_int_equal(g->lat_max, 1 << 20);
	assert_true(g->max_is_edge);
	assert_int_equal(g->nreq, 2);
	assert_int_equal(g->req[0].tgid, 7);
	assert_int_equal(g->req[0].count, 9);
	assert_int_equal(g->req[1].count, 1);
	assert_int_equal(p.r.grace[FS_GP_NORMAL].started.prov, PROV_UNAVAILABLE);
	pair_free(&p);
}

static void test_grace_max(void **state)
{
	struct pair p;

	pair_init(&p);
	grace_provs(&p.last, FS_GP_NORMAL, PROV_MEASURED);
	fix_latency(&p.last.grace[0], 20, 1);
	pair_make(&p, NULL);
	assert_int_equal(p.r.grace[0].lat_max, 3 << 18);
	assert_false(p.r.grace[0].max_is_edge);
	assert_int_equal(p.r.grace[0].p50, 3 << 18);
	pair_free(&p);
}

static void test_grace_losses(void **state)
{
	struct pair p;

	pair_init(&p);
	grace_provs(&p.last, FS_GP_NORMAL, PROV_MEASURED);
	grace_provs(&p.last, FS_GP_EXPEDITED, PROV_MEASURED);
	fix_hook(&p.last, "grace.normal", HOOK_ATTACHED, "fexit", "f", "")->misses = 1;
	pair_make(&p, NULL);
	assert_int_equal(p.r.grace[0].lat_prov, PROV_LOWER_BOUND);
	assert_int_equal(p.r.grace[0].started.prov, PROV_LOWER_BOUND);
	assert_int_equal(p.r.grace[1].lat_prov, PROV_MEASURED);
	/* With the kernel's own sequences the counts stay exact. */
	fix_hook(&p.last, "grace.count", HOOK_ATTACHED, "sequence", "", "");
	pair_make(&p, NULL);
	assert_int_equal(p.r.grace[0].lat_prov, PROV_LOWER_BOUND);
	assert_int_equal(p.r.grace[0].started.prov, PROV_MEASURED);
	pair_free(&p);
}

static void test_programs(void **state)
{
	struct pair p;

	pair_init(&p);
	fix_prog(&p.first, "b", 100, 1000);
	fix_prog(&p.last, "b", 150, 1800);
	fix_prog(&p.last, "a", 3, 30);
	p.first.self_cpu_ns = 5;
	p.last.self_cpu_ns = 12;
	pair_make(&p, NULL);
	assert_int_equal(p.r.nprogs, 2);
	assert_string_equal(p.r.progs[0].name, "a");
	assert_int_equal(p.r.progs[0].runs, 3);
	assert_int_equal(p.r.progs[1].runs, 50);
	assert_int_equal(p.r.progs[1].ns, 800);
	assert_int_equal(p.r.self_cpu_ns, 7);
	pair_free(&p);
}

#define MANY 50000

static void test_many_rows(void **state)
{
	static const struct view view = { .top = 20, .sort = FIG_ACCESSES };
	struct pair p;
	clock_t begin;
	char path[64];
	size_t i;

	pair_init(&p);
	for (i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/srv/data/%zu", i);
		counted(&p.first, i << 12, path, i);
		counted(&p.last, (MANY - 1 - i) << 12, path, MANY - 1 - i + 1 + (i == 77) * 1000);
	}
	begin = clock();
	pair_make(&p, &view);
	/* Matching pair by pair would take minutes even without the sanitizers. */
	assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
	assert_int_equal(p.r.nfiles_all, MANY);
	assert_int_equal(p.r.nfiles, 20);
	assert_int_equal(p.r.files[0].v[FIG_ACCESSES].v, 1001);
	assert_int_equal(p.r.files[1].v[FIG_ACCESSES].v, 1);
	assert_int_equal(p.r.totals.v[FIG_ACCESSES].v, MANY + 1000);
	assert_adds_up(&p.r);
	pair_free(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_quantile),
		cmocka_unit_test(test_path_matches),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_whole_key),
		cmocka_unit_test(test_ranking),
		cmocka_unit_test(test_path_filter),
		cmocka_unit_test(test_clamped),
		cmocka_unit_test(test_random_adds_up),
		cmocka_unit_test(test_saturates),
		cmocka_unit_test(test_doubts),
		cmocka_unit_test(test_untested),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_tmpfs),
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_cpu_states),
		cmocka_unit_test(test_grace),
		cmocka_unit_test(test_grace_max),
		cmocka_unit_test(test_grace_losses),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
