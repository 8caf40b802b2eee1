// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_table.c - more files than the tables have room for, and many snapshots: totals stay exact,
 * what found no room is shown as lost, and no row ever holds another file's counts.
 */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define FILES 50000
#define PER_DIR 1000

/* Pages that file i is read of in each pass: neighbours differ, so mixed-up rows are found. */
static unsigned int pages_of(unsigned int i)
{
	return 1 + i % 3;
}

static char *dir_name(const char *top, unsigned int i)
{
	return text("%s/%03u", top, i / PER_DIR);
}

/* Made once for all tests. Holes: reading them needs no device. */
static char *make_files(void)
{
	char *top = getenv("FILES_DIR");
	unsigned int i;
	int fd;

	if (exists(top))
		return top;
	make_dir(top);
	for (i = 0; i < FILES; i++) {
		if (i % PER_DIR == 0)
			make_dir(dir_name(top, i));
		fd = open(text("%s/%u", dir_name(top, i), i), O_WRONLY | O_CREAT, 0644);
		CHECK(fd >= 0 && !ftruncate(fd, 4096 * pages_of(i)), "file %u: make", i);
		close(fd);
	}
	sync();
	return top;
}

/*
 * The reader: a process that waits for `go`, all its own pages in memory, so that its reads are all
 * it does to the page cache. Every file once a pass.
 */
static int reader(const char *top, const char *go, const char *done, unsigned int passes)
{
	static char buf[4096 * 3], path[4096];
	unsigned int pass, i;
	int fd;

	memset(buf, 1, sizeof(buf));
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 3;
	while (access(go, F_OK))
		usleep(10000);
	for (pass = 0; pass < passes; pass++) {
		for (i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/%03u/%u", top, i / PER_DIR, i);
			fd = open(path, O_RDONLY);
			if (fd < 0 || read(fd, buf, sizeof(buf)) != 4096 * (int)pages_of(i))
				return 1;
			close(fd);
		}
	}
	fd = open(done, O_WRONLY | O_CREAT, 0644);
	close(fd);
	pause();
	return 0;
}

static struct proc *start_passes(const char *top, unsigned int passes)
{
	return start("/proc/%d/exe --reader %s %s %s %u", getpid(), top, scratch("go"),
		     scratch("done"), passes);
}

/* Waits until the recording holds some snapshots: the hooks are live then. */
static void wait_recording(const char *path)
{
	struct stat st;
	int tries = 3000;
	off_t first = -1;

	while (tries-- && (stat(path, &st) || first < 0 || st.st_size < first + 1)) {
		if (first < 0 && !stat(path, &st) && st.st_size > 1000)
			first = st.st_size;
		pause_ms(20);
	}
	CHECK(tries > 0, "%s: no snapshots are recorded", path);
}

/* The index in ".../NNN/INDEX" below top, or -1. */
static long index_of(const json_t *row, const char *top)
{
	const char *path = json_string_value(report_get(row, "path")), *slash;
	size_t len = strlen(top);

	if (!path || strncmp(path, top, len) || path[len] != '/')
		return -1;
	slash = strchr(path + len + 1, '/');
	return slash ? atol(slash + 1) : -1;
}

/*
 * Every row of the directory: not more than the file's own counts, and at whole reads. The filter
 * leaves only the reader, so a row whose name was lost (ring_full) is one of these files, too.
 */
static long long check_rows(const struct report *r, const char *top, unsigned int passes)
{
	long long sum = 0, accesses, pages;
	json_t *row;
	size_t i;
	long at;

	json_array_foreach(report_get(r->root, "files"), i, row) {
		at = index_of(row, top);
		accesses = row_int(row, "accesses");
		if (at < 0 && json_is_null(report_get(row, "path"))) {
			CHECK(report_int(r->root, "lost.ring_full"), "no name, and nothing lost");
			CHECK(accesses <= passes, "nameless: %lld accesses", accesses);
			sum += accesses;
		}
		if (at < 0)
			continue;
		pages = row_int(row, "pages");
		CHECK(accesses <= passes && pages <= passes * pages_of(at),
		      "file %ld: %lld accesses of %lld pages; it was read %u times, %u pages each", at,
		      accesses, pages, passes, pages_of(at));
		CHECK(row_joins(row, text("%s/%ld", dir_name(top, at), at)),
		      "file %ld: its row is another file's", at);
		CHECK(pages == accesses * pages_of(at) || lost_sum(r), "file %ld: %lld accesses, "
		      "%lld pages", at, accesses, pages);
		sum += accesses;
	}
	return sum;
}

static void small_table_passes(const char *memory, const char *interval, unsigned int passes)
{
	char *top = make_files(), *rec = scratch("rec"), *json = scratch("report");
	long long want = (long long)FILES * passes, pages = 0, other, rows;
	struct proc *p, *record;
	struct report *r;
	unsigned int i;

	for (i = 0; i < FILES; i++)
		pages += pages_of(i);
	p = start_passes(top, passes);
	pause_ms(300);
	record = start("folioscope record -o %s -d %s --memory %s --filter pid=%d", rec, interval,
		       memory, p->pid);
	wait_recording(rec);
	put_file(scratch("go"), "\n");
	CHECK(wait_file(scratch("done"), 100), "the reader did not end");
	stop(record, SIGINT);
	CHECK(!record->status, "record: status %d: %s", record->status, record->err);
	stop(p, SIGKILL);
	run_status(0, "folioscope heat -i %s --top 0 --json=%s", rec, json);
	r = report_load(json);

	need_hook(r, "access.read");
	expect_count(r, report_get(r->root, "totals"), "accesses", want);
	CHECK(report_int(r->root, "totals.accesses") == want, "totals: %lld accesses of %lld",
	      report_int(r->root, "totals.accesses"), want);
	CHECK(report_int(r->root, "totals.pages") == pages * passes, "totals: %lld pages of %lld",
	      report_int(r->root, "totals.pages"), pages * passes);
	rows = check_rows(r, top, passes);
	other = report_int(r->root, "other.accesses");
	CHECK(rows + other == want, "rows %lld + other %lld are not %lld", rows, other, want);
	CHECK(!other || report_int(r->root, "lost.map_full") >= other,
	      "other has %lld accesses, but lost.map_full is %lld", other,
	      report_int(r->root, "lost.map_full"));
	printf("# %s: %lld accesses in rows, %lld in other\n", memory, rows, other);
	fflush(stdout);
}

/* Nothing makes room in time: most files find none. */
static void small_table(void)
{
	small_table_passes("1M", "20", 2);
}

/* Room is made many times while all files are read again and again. */
static void small_table_rotating(void)
{
	small_table_passes("1M", "20ms", 3);
}

/* By default there is room for all of them. */
static void default_table(void)
{
	small_table_passes("32M", "200ms", 2);
}

/* Snapshots all the time: no count is lost or seen twice between them. */
static void many_snapshots(void)
{
	char *file = scratch("file"), *rec = scratch("rec"), *json = scratch("report");
	struct report *r, *replay;

	run_status(0, "bench write --file %s --size 64K", file);
	r = observe(text("-d 10ms --record %s", rec),
		    "bench pread --file %s --threads 2 --seconds 2", file);
	CHECK(row_int(row_of(r, file), "accesses") ==
	      report_int(json_loads(r->proc->out, JSON_DISABLE_EOF_CHECK, NULL), "expect.accesses"),
	      "accesses %lld; %s", row_int(row_of(r, file), "accesses"), r->proc->out);
	CHECK(!json_is_true(report_get(r->root, "interval.torn")), "torn");
	run_status(0, "folioscope heat -i %s --top 0 --json=%s", rec, json);
	replay = report_load(json);
	CHECK(row_int(row_of(replay, file), "accesses") == row_int(row_of(r, file), "accesses"),
	      "replayed: %lld accesses", row_int(row_of(replay, file), "accesses"));
}

static const struct live_test tests[] = {
	TEST_LONG(small_table, 240),
	TEST_LONG(small_table_rotating, 240),
	TEST_LONG(default_table, 240),
	TEST(many_snapshots),
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("FOLIOSCOPE_TEST_DIR") ?: "/var/tmp/folioscope-test";
	char files[4096];
	int status;

	snprintf(files, sizeof(files), "%s/files.%d", dir, getpid());
	if (argc == 6 && !strcmp(argv[1], "--reader"))
		return reader(argv[2], argv[3], argv[4], (unsigned int)atoi(argv[5]));
	setenv("FILES_DIR", files, 1);
	status = live_main(argc, argv, tests, ARRAY_SIZE(tests));
	nftw(files, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return status;
}
