// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_access.c - accesses and pages of one file, exactly: what a read call is, what a fault is, and
 * what is neither. The file system is ext4.
 */
#include "harness.h"

/* One workload over one file made in the same run; exact counts. */
static struct report *one(const char *workload, long long accesses, long long pages)
{
	char *file = scratch("file");
	struct report *r = observe("", "bench %s --file %s --create", workload, file);

	need_hook(r, "access.read");
	need_hook(r, "access.fault");
	need_hook(r, "access.lifecycle");
	expect_file(r, file, accesses, pages);
	return r;
}

/* Nothing may be counted for the file, though it has a row: it was written. */
static void none(const char *workload)
{
	one(workload, 0, 0);
}

static void two_threads(void)
{
	struct report *r;

	if (cpus_online() < 2)
		skip("needs two CPUs");
	r = one("pread --size 64K --threads 2 --cpus 0,1 --count 100000", 200000, 200000);
	CHECK(!report_int(r->root, "lost.torn"), "torn");
	CHECK(row_int(report_get(r->root, "totals"), "accesses") +
	      lost_sum(r) >= 200000, "totals: less than the file's own");
}

/* In strict turns, one descriptor: the same counts when both CPUs meet at each page. */
static void shared_descriptor(void)
{
	if (cpus_online() < 2)
		skip("needs two CPUs");
	one("pread --size 64K --threads 2 --cpus 0,1 --count 2000 --shared-fd --turns", 4000, 4000);
}

static void two_processes(void)
{
	one("pread --size 64K --procs 2 --count 20000", 40000, 40000);
}

static void one_call(void)
{
	one("readonce --size 256K", 1, 64);
}

/* Several lookups a call; each call begins where another one is under way on the other CPU. */
static void large_calls(void)
{
	one("readonce --size 256K --threads 2 --count 2000", 4000, 256000);
}

/* The second call looks like the continuation of the first. */
static void overlap(void)
{
	one("overlap --size 64K", 2, 5);
}

static void overlap_often(void)
{
	one("overlap --size 64K --threads 2 --count 1000", 4000, 10000);
}

static void sequential(void)
{
	one("seqread --size 1M --bs 16K", 64, 256);
}

/* Calls that begin and end within pages: 19 pages are touched by two of them. */
static void unaligned(void)
{
	one("seqread --size 100000 --bs 5000", 20, 44);
}

static void vectored(void)
{
	one("readv --size 1M --count 10", 10, 160);
}

static void nowait(void)
{
	one("preadv2 --flags nowait --size 64K --count 100", 100, 100);
}

static void mapped_aligned(void)
{
	one("mmap-touch --size 256K", 4, 64);
}

/* Fault-around windows overlap: five faults, and five pages twice. */
static void mapped_misaligned(void)
{
	one("mmap-touch --size 256K --misalign 5", 5, 69);
}

/* What the workload counted must be what was seen, whatever that is. */
static void as_bench_says(const struct report *r, const char *file, bool pages)
{
	json_t *bench = json_loads(r->proc->out, JSON_DISABLE_EOF_CHECK, NULL);

	CHECK(bench, "folio-bench: no JSON: %s", r->proc->out);
	expect_count(r, row_of(r, file), "accesses", report_int(bench, "expect.accesses"));
	if (pages)
		expect_count(r, row_of(r, file), "pages", report_int(bench, "expect.pages"));
}

/*
 * Each pass over 64 pages takes at least 4 faults (a window has 16 pages). Now and then it takes more:
 * fault-around leaves out a page that is locked at that moment. The workload counts its faults; one
 * that finds the page mapped already (a stale translation, seen under nested paging) is among them
 * and is no access: so what was seen lies between the two.
 */
static void mapped_passes(const char *options, long long passes)
{
	char *file = scratch("file");
	long long faults, pages, seen;
	struct report *r;
	json_t *bench;

	r = observe("", "bench mmap-touch --file %s --create --size 256K %s", file, options);
	need_hook(r, "access.fault");
	bench = json_loads(r->proc->out, JSON_DISABLE_EOF_CHECK, NULL);
	CHECK(bench, "folio-bench: no JSON: %s", r->proc->out);
	faults = report_int(bench, "expect.accesses");
	pages = report_int(bench, "expect.pages");
	seen = row_int(row_of(r, file), "accesses");
	CHECK(seen >= 4 * passes && seen <= faults, "accesses is %lld, not %lld to %lld", seen,
	      4 * passes, faults);
	seen = row_int(row_of(r, file), "pages");
	CHECK(seen >= 64 * passes && seen <= pages, "pages is %lld, not %lld to %lld", seen,
	      64 * passes, pages);
}

static void mapped_often(void)
{
	mapped_passes("--count 400", 400);
}

static void mapped_together(void)
{
	mapped_passes("--procs 2 --count 400", 800);
}

/* Faults of a file that is not cached fire three events each. */
static void mapped_cold(void)
{
	char *file = scratch("file");
	struct report *r;

	run_status(0, "bench write --file %s --size 256K --fsync", file);
	run_status(0, "bench fadvise-dontneed --file %s", file);
	r = observe("", "bench mmap-touch --file %s", file);
	need_hook(r, "access.fault");
	/* How much readahead brings in, and so what one fault maps, is the kernel's choice. */
	as_bench_says(r, file, false);
}

static void cold(void)
{
	struct report *r = one("coldread --size 64M", 64, 16384);
	json_t *row = row_of(r, scratch("file"));

	/*
	 * Written once, dropped once, brought in once; the kernel may reclaim some pages meanwhile,
	 * which are then removed, and not cached.
	 */
	CHECK(row_int(row, "inserted_pages") >= 2 * 16384, "inserted_pages %lld",
	      row_int(row, "inserted_pages"));
	CHECK(row_int(row, "removed_pages") >= 16384, "removed_pages %lld",
	      row_int(row, "removed_pages"));
	CHECK(row_int(row, "cached_pages") ==
	      row_int(row, "inserted_pages") - row_int(row, "removed_pages"),
	      "cached_pages %lld, inserted %lld, removed %lld", row_int(row, "cached_pages"),
	      row_int(row, "inserted_pages"), row_int(row, "removed_pages"));
	CHECK(row_int(row, "size_bytes") == 64 << 20, "size_bytes %lld", row_int(row, "size_bytes"));
}

static void straddle(void)
{
	one("straddle-eof --size 1M", 1, 8);
}

static void straddle_unaligned(void)
{
	one("straddle-eof --size 100000", 1, 9);
}

static void beyond_eof(void)
{
	none("beyond-eof --size 64K --count 100");
}

/* The end is within a page that is cached. */
static void beyond_eof_unaligned(void)
{
	none("beyond-eof --size 1000 --count 100");
}

static void zero_length(void)
{
	none("zero-length --size 64K --count 100");
}

static void direct(void)
{
	none("direct --size 64K --count 100");
}

static void send_file(void)
{
	one("sendfile --size 256K", 1, 64);
}

static void send_file_often(void)
{
	one("sendfile --size 256K --count 50 --threads 2", 100, 6400);
}

/* Rounds of 16 pages that begin and end within pages. */
static void send_file_unaligned(void)
{
	one("sendfile --size 256K --offset 100 --count 3", 3, 192);
}

static void splice_calls(void)
{
	one("splice --size 64K --count 4", 4, 64);
}

static void uring(void)
{
	struct proc *p = run("bench uring --file %s --create --size 64K", scratch("try"));

	if (p->status)
		skip("io_uring is not usable here: %s", p->err);
	one("uring --size 64K --count 1000", 1000, 1000);
}

/* What makes, fills and drops pages, beside reads. */
static void lifecycle(void)
{
	char *file = scratch("file");
	struct report *r = observe("", "bench pread --file %s --create --size 1M", file);
	json_t *row = row_of(r, file);

	need_hook(r, "access.lifecycle");
	expect_count(r, row, "inserted_pages", 256);
	expect_count(r, row, "written_pages", 256);
	expect_count(r, row, "removed_pages", 0);
	CHECK(row_int(row, "cached_pages") == 256, "cached_pages %lld", row_int(row, "cached_pages"));
	r = observe("", "bench fadvise-dontneed --file %s", file);
	expect_count(r, row_of(r, file), "removed_pages", 256);
	expect_count(r, row_of(r, file), "accesses", 0);
}

static void truncated(void)
{
	char *file = scratch("file");
	struct report *r;

	run_status(0, "bench pread --file %s --create --size 256K", file);
	r = observe("", "bench truncate --file %s --to 128K", file);
	expect_count(r, row_of(r, file), "removed_pages", 32);
	expect_count(r, row_of(r, file), "accesses", 0);
}

/* Each page once, though written in sixteen pieces each. */
static void written(void)
{
	char *file = scratch("file");
	struct report *r;

	run_status(0, "bench pread --file %s --create --size 64K", file);
	r = observe("", "bench write --file %s --bs 256 --fsync", file);
	expect_count(r, row_of(r, file), "written_pages", 16);
	expect_count(r, row_of(r, file), "inserted_pages", 0);
}

static const struct live_test tests[] = {
	TEST(two_threads),
	TEST(shared_descriptor),
	TEST(two_processes),
	TEST(one_call),
	TEST(large_calls),
	TEST(overlap),
	TEST(overlap_often),
	TEST(sequential),
	TEST(unaligned),
	TEST(vectored),
	TEST(nowait),
	TEST(mapped_aligned),
	TEST(mapped_misaligned),
	TEST(mapped_often),
	TEST(mapped_together),
	TEST(mapped_cold),
	TEST(cold),
	TEST(straddle),
	TEST(straddle_unaligned),
	TEST(beyond_eof),
	TEST(beyond_eof_unaligned),
	TEST(zero_length),
	TEST(direct),
	TEST(send_file),
	TEST(send_file_often),
	TEST(send_file_unaligned),
	TEST(splice_calls),
	TEST(uring),
	TEST(lifecycle),
	TEST(truncated),
	TEST(written),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
