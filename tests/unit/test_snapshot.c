/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_snapshot.c - copies are equal, deep and independent; freeing leaves nothing behind.
 */
/* units: snapshot.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot.h"

/* Under the address sanitizer a huge allocation must fail as it does without. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void fill(struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
	s->seq = 7;
	s->flags = SNAP_TORN | SNAP_FINAL;
	s->map_bytes = 4711;
	s->prov[FIG_PAGES] = PROV_MEASURED;
	s->total[FS_SCOPE_OUT][FIG_PAGES] = 99;
	strcpy(s->kernel, "6.12.1");
	s->nrows = 2;
	s->rows = calloc(2, sizeof(*s->rows));
	s->rows[0].key.ino = 12;
	s->rows[0].path = strdup("/a\n\xff");
	s->rows[1].v[FIG_MARKS] = 3;
	s->ncpus = 1;
	s->cpus = calloc(1, sizeof(*s->cpus));
	s->cpus[0].seg[3] = 5;
	s->nhooks = 1;
	s->hooks = calloc(1, sizeof(*s->hooks));
	strcpy(s->hooks[0].signal, "access.read");
	s->nprogs = 1;
	s->progs = calloc(1, sizeof(*s->progs));
	s->progs[0].runs = 8;
	s->grace[FS_GP_EXPEDITED].nreq = 1;
	s->grace[FS_GP_EXPEDITED].req = calloc(1, sizeof(struct snap_requester));
	s->grace[FS_GP_EXPEDITED].req[0].count = 6;
}

static void copy_is_deep(void **state)
{
	struct snapshot a, b;

	fill(&a);
	assert_int_equal(snapshot_copy(&b, &a), 0);
	assert_ptr_not_equal(a.rows, b.rows);
	assert_ptr_not_equal(a.rows[0].path, b.rows[0].path);
	/* What the copy owns must outlive the original. */
	memset(a.rows[0].path, 'x', 2);
	a.rows[1].v[FIG_MARKS] = 0;
	a.cpus[0].seg[3] = 0;
	a.hooks[0].signal[0] = 'x';
	a.progs[0].runs = 0;
	a.grace[FS_GP_EXPEDITED].req[0].count = 0;
	snapshot_free(&a);

	assert_int_equal(b.seq, 7);
	assert_int_equal(b.flags, SNAP_TORN | SNAP_FINAL);
	assert_int_equal(b.map_bytes, 4711);
	assert_int_equal(b.prov[FIG_PAGES], PROV_MEASURED);
	assert_int_equal(b.total[FS_SCOPE_OUT][FIG_PAGES], 99);
	assert_string_equal(b.kernel, "6.12.1");
	assert_int_equal(b.nrows, 2);
	assert_int_equal(b.rows[0].key.ino, 12);
	assert_string_equal(b.rows[0].path, "/a\n\xff");
	assert_null(b.rows[1].path);
	assert_int_equal(b.rows[1].v[FIG_MARKS], 3);
	assert_int_equal(b.cpus[0].seg[3], 5);
	assert_string_equal(b.hooks[0].signal, "access.read");
	assert_int_equal(b.progs[0].runs, 8);
	assert_null(b.grace[FS_GP_NORMAL].req);
	assert_int_equal(b.grace[FS_GP_EXPEDITED].req[0].count, 6);
	snapshot_free(&b);
}

static void free_empties(void **state)
{
	static const struct snapshot empty;
	struct snapshot s, copy;

	fill(&s);
	snapshot_free(&s);
	assert_memory_equal(&s, &empty, sizeof(s));
	snapshot_free(&s);
	snapshot_free(NULL);
	memset(&copy, 0x55, sizeof(copy));
	assert_int_equal(snapshot_copy(&copy, &s), 0);
	assert_memory_equal(&copy, &empty, sizeof(copy));
}

/* More than any machine has: the copy must fail and leave nothing, not even a count. */
static void no_memory(void **state)
{
	static const struct snapshot empty;
	struct snapshot s, copy;

	fill(&s);
	s.nprogs = SIZE_MAX / 2;
	memset(&copy, 0x55, sizeof(copy));
	assert_true(snapshot_copy(&copy, &s) < 0);
	assert_memory_equal(&copy, &empty, sizeof(copy));
	s.nprogs = 1;
	snapshot_free(&s);
}

static void state_names(void **state)
{
	assert_string_equal(hook_state_names[HOOK_UNAVAILABLE], "unavailable");
	assert_string_equal(hook_state_names[HOOK_ATTACHED], "attached");
	assert_string_equal(hook_state_names[HOOK_DEGRADED], "degraded");
	assert_string_equal(hook_state_names[HOOK_UNVERIFIED], "unverified");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_is_deep),
		cmocka_unit_test(free_empties),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(state_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
