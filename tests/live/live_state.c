// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_state.c - what state accesses leave behind and where it is seen: heat, marks, and tmpfs,
 * which has its own path in the kernel.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MGLRU "/sys/kernel/mm/lru_gen/enabled"
#define PHASE 200000

/* ---- heat ---- */

/*
 * One phase of 2 x 100,000 reads of a file, after an LRU drain; how many found the page saturated.
 * In turns: were the first reads of both at the same time, they could count as one mark.
 */
static long long hot_phase(const char *file)
{
	struct report *r;
	json_t *row;

	drain_lru();
	r = observe("", "bench pread --file %s --threads 2 --cpus 0,1 --count 100000 --turns", file);
	need_hook(r, "access.read");
	row = row_of(r, file);
	expect_count(r, row, "accesses", PHASE);
	CHECK(!row_int(row, "hot_untested_pages"), "hot_untested_pages %lld",
	      row_int(row, "hot_untested_pages"));
	CHECK(row_int(row, "hot_pages") == row_int(row, "hot_accesses"),
	      "hot_pages %lld, hot_accesses %lld", row_int(row, "hot_pages"),
	      row_int(row, "hot_accesses"));
	return row_int(row, "hot_pages");
}

/*
 * Repeated reads of one position mark the folio once a descriptor: twice a phase. Classic: the second
 * mark asks for an activation, which happens in the drain; the first one of phase 2 saturates. MGLRU:
 * the fifth mark saturates, the first one of phase 3. From the phase after that on nothing changes.
 */
static void hot_phases(int saturating)
{
	char *file = scratch("file");
	long long hot;
	int i;

	if (cpus_online() < 2)
		skip("needs two CPUs");
	run_status(0, "bench write --file %s --size 64K --fsync", file);
	for (i = 1; i < saturating; i++) {
		hot = hot_phase(file);
		CHECK(!hot, "phase %d: %lld found it saturated too early", i, hot);
	}
	hot = hot_phase(file);
	CHECK(hot >= PHASE - 2, "phase %d: %lld of %d found it saturated", i, hot, PHASE);
	hot = hot_phase(file);
	CHECK(hot == PHASE, "phase %d: %lld of %d found it saturated", i + 1, hot, PHASE);
}

static bool mglru_on(void)
{
	return exists(MGLRU) && strtoul(slurp(MGLRU, NULL), NULL, 0) & 1;
}

/* Kernel-wide, so it is changed in a guest only. */
static void want_mglru(bool on)
{
	if (mglru_on() == on)
		return;
	if (!exists(MGLRU))
		skip("this kernel has no MGLRU (CONFIG_LRU_GEN)");
	if (!in_vm())
		skip("MGLRU is %s and is switched in a guest only", on ? "off" : "on");
	put_file(MGLRU, on ? "7" : "0");
	CHECK(mglru_on() == on, "%s: cannot be switched", MGLRU);
}

static void hot_classic(void)
{
	want_mglru(false);
	hot_phases(2);
}

static void hot_mglru(void)
{
	want_mglru(true);
	hot_phases(3);
}

/* A file read once is not hot, nor is a page read for the first time. */
static void cold_is_not_hot(void)
{
	char *file = scratch("file");
	struct report *r = observe("", "bench coldread --file %s --create --size 4M", file);
	json_t *row = row_of(r, file);

	need_hook(r, "access.read");
	expect_count(r, row, "pages", 1024);
	CHECK(!row_int(row, "hot_pages") && !row_int(row, "hot_accesses"), "hot_pages %lld",
	      row_int(row, "hot_pages"));
}

/* Many pages a call: heat is told for each, not for the call. */
static void hot_large(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;
	int i;

	run_status(0, "bench readonce --file %s --create --size 256K", file);
	for (i = 0; i < 8; i++) {
		run_status(0, "bench readonce --file %s", file);
		drain_lru();
	}
	r = observe("", "bench readonce --file %s --count 10", file);
	row = row_of(r, file);
	expect_count(r, row, "pages", 640);
	CHECK(row_int(row, "hot_pages") + row_int(row, "hot_untested_pages") >= 576,
	      "hot_pages %lld, hot_untested_pages %lld", row_int(row, "hot_pages"),
	      row_int(row, "hot_untested_pages"));
	CHECK(row_int(row, "hot_accesses") >= 9, "hot_accesses %lld", row_int(row, "hot_accesses"));
}

/* ---- marks: folio_mark_accessed itself ---- */

/* Where function tracing exists the hook must be there; where it is refused it must say so. */
static bool marks_possible(const struct report *r)
{
	json_t *hook = hook_of(r, "access.marks");
	const char *reason = json_string_value(report_get(hook, "reason"));

	if (!kernel_is("6.18"))
		need_hook(r, "access.marks");
	if (strcmp(json_string_value(report_get(hook, "state")), "unavailable"))
		return true;
	CHECK(reason && *reason, "access.marks: unavailable for no reason");
	CHECK(json_is_null(report_get(r->root, "totals.marks")), "marks: unavailable, but not null");
	return false;
}

static void marks(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;

	run_status(0, "bench pread --file %s --create --size 256K", file);
	r = observe("", "bench readonce --file %s", file);
	if (!marks_possible(r))
		skip("function tracing is refused on this kernel: folio_mark_accessed has no other hook");
	row = row_of(r, file);
	expect_count(r, row, "marks", 64);
	/* Both threads at one position: the previous-position check hides repeated reads. */
	r = observe("", "bench pread --file %s --count 1000", file);
	row = row_of(r, file);
	expect_count(r, row, "accesses", 1000);
	CHECK(row_int(row, "marks") <= 2, "marks %lld of one position", row_int(row, "marks"));
}

/* A mapping marks its pages when it goes. */
static void marks_munmap(void)
{
	char *file = scratch("file");
	struct report *r;

	run_status(0, "bench pread --file %s --create --size 256K", file);
	r = observe("", "bench mmap-touch --file %s", file);
	if (!marks_possible(r))
		skip("function tracing is refused on this kernel: folio_mark_accessed has no other hook");
	expect_count(r, row_of(r, file), "accesses", 4);
	expect_count(r, row_of(r, file), "marks", 64);
}

/* Once saturated, every mark is a hot one. */
static void marks_hot(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;
	int i;

	run_status(0, "bench pread --file %s --create --size 256K", file);
	for (i = 0; i < 8; i++) {
		run_status(0, "bench readonce --file %s", file);
		drain_lru();
	}
	/* The classic LRU's activation cleared PG_referenced: one read more sets it. */
	run_status(0, "bench readonce --file %s", file);
	r = observe("", "bench readonce --file %s", file);
	if (!marks_possible(r))
		skip("function tracing is refused on this kernel: folio_mark_accessed has no other hook");
	row = row_of(r, file);
	expect_count(r, row, "marks", 64);
	CHECK(row_int(row, "marks_hot") == 64, "marks_hot %lld", row_int(row, "marks_hot"));
}

/* ---- tmpfs ---- */

/* 6.18 here refuses function tracing: the system-call backend, and only on request. */
static const char *tmpfs_option(void)
{
	return kernel_is("6.18") ? "--tmpfs-syscalls" : "";
}

static void tmpfs_one(const char *workload, long long accesses, long long pages)
{
	char *file = scratch_tmpfs("file");
	struct report *r = observe(tmpfs_option(), "bench %s --file %s --create", workload, file);
	json_t *row;

	need_hook(r, "access.tmpfs");
	expect_file(r, file, accesses, pages);
	row = row_of(r, file);
	CHECK(json_is_null(json_object_get(row, "inserted_pages")),
	      "inserted_pages: nothing sees tmpfs insertions, but it is not null");
}

static void tmpfs_reads(void)
{
	tmpfs_one("pread --size 64K --count 1000 --threads 2", 2000, 2000);
}

static void tmpfs_one_call(void)
{
	tmpfs_one("readonce --size 256K", 1, 64);
}

static void tmpfs_overlap(void)
{
	tmpfs_one("overlap --size 64K", 2, 5);
}

static void tmpfs_straddle(void)
{
	tmpfs_one("straddle-eof --size 1M", 1, 8);
}

/* Nothing else fires for the file either: it has no row, or one without accesses. */
static void tmpfs_beyond(void)
{
	char *file = scratch_tmpfs("file");
	struct report *r = observe(tmpfs_option(),
				   "bench beyond-eof --file %s --create --size 64K --count 10", file);
	json_t *row = row_find(r, file);

	need_hook(r, "access.tmpfs");
	CHECK(!row || !row_int(row, "accesses"), "%lld accesses", row_int(row, "accesses"));
}

static void tmpfs_send_file(void)
{
	tmpfs_one("sendfile --size 256K", 1, 64);
}

static void tmpfs_splice(void)
{
	tmpfs_one("splice --size 64K --count 4", 4, 64);
}

/* tmpfs opens with O_DIRECT and reads through its cache all the same. */
static void tmpfs_direct(void)
{
	char *file = scratch_tmpfs("file");

	run_status(0, "bench pread --file %s --create --size 64K", file);
	if (run("bench direct --file %s", file)->status)
		skip("tmpfs refuses O_DIRECT on this kernel");
	tmpfs_one("direct --size 64K --count 10", 10, 10);
}

static void tmpfs_truncate(void)
{
	char *file = scratch_tmpfs("file");
	struct report *r;

	run_status(0, "bench pread --file %s --create --size 256K", file);
	r = observe(tmpfs_option(), "bench truncate --file %s --to 128K", file);
	need_hook(r, "access.tmpfs");
	expect_count(r, row_of(r, file), "removed_pages", 32);
}

/* Without a backend the file has no row, and the report says so: no zeros. */
static void tmpfs_absent(void)
{
	char *file = scratch_tmpfs("file");
	struct report *r;
	json_t *hook;

	if (!kernel_is("6.18"))
		skip("this kernel has a hook for tmpfs");
	r = observe("", "bench pread --file %s --create --size 64K --count 100", file);
	hook = hook_of(r, "access.tmpfs");
	CHECK(!strcmp(json_string_value(report_get(hook, "state")), "unavailable"),
	      "access.tmpfs: %s", json_string_value(report_get(hook, "state")));
	CHECK(json_string_value(report_get(hook, "reason")), "access.tmpfs: no reason");
	CHECK(!row_find(r, file), "%s: a row without a backend", file);
}

static const struct live_test tests[] = {
	TEST(hot_classic),
	TEST(hot_mglru),
	TEST(cold_is_not_hot),
	TEST(hot_large),
	TEST(marks),
	TEST(marks_munmap),
	TEST(marks_hot),
	TEST(tmpfs_reads),
	TEST(tmpfs_one_call),
	TEST(tmpfs_overlap),
	TEST(tmpfs_straddle),
	TEST(tmpfs_beyond),
	TEST(tmpfs_send_file),
	TEST(tmpfs_splice),
	TEST(tmpfs_direct),
	TEST(tmpfs_truncate),
	TEST(tmpfs_absent),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
