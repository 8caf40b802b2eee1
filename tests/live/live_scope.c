// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_scope.c - who is counted: CMD, its children and theirs, and what a filter names; all others
 * are in `machine` only.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define OTHERS 50000

static void make_file(const char *path)
{
	run_status(0, "bench write --file %s --size 64K", path);
}

/*
 * A command that says when it runs, which is when the hooks are live, and ends when told. Whatever
 * it does meanwhile is in words.
 */
static char *waiter(const char *words)
{
	return text("sh -c '%s touch %s; while [ ! -e %s ]; do sleep 0.05; done'", words,
		    scratch("ready"), scratch("done"));
}

struct window {
	struct proc *proc;
	char *json;
};

static struct window begin(const char *options, const char *cmd)
{
	struct window w = { .json = scratch("report") };

	w.proc = start("folioscope run -q --top 0 --json=%s %s -- %s", w.json, options, cmd);
	if (!wait_file(scratch("ready"), 20)) {
		stop(w.proc, SIGTERM);
		fail("CMD was not started: %s", w.proc->err);
	}
	return w;
}

static struct report *end(struct window *w)
{
	put_file(scratch("done"), "\n");
	finish(w->proc);
	CHECK(!w->proc->status, "status %d: %s", w->proc->status, w->proc->err);
	return report_load(w->json);
}

static void no_row(const struct report *r, const char *path)
{
	json_t *row = row_stat(r, path);

	CHECK(!row, "%s: %lld accesses, though it is outside", path, row_int(row, "accesses"));
}

/* ---- the tree ---- */

static void neighbour(void)
{
	char *mine = scratch("mine"), *theirs = scratch("theirs");
	struct report *r;
	struct window w;

	make_file(mine);
	make_file(theirs);
	w = begin("", waiter(text("%s pread --file %s --count 1000;", getenv("FOLIO_BENCH"), mine)));
	run_status(0, "bench pread --file %s --count %d", theirs, OTHERS);
	r = end(&w);
	need_hook(r, "access.tree");
	expect_count(r, row_of(r, mine), "accesses", 1000);
	no_row(r, theirs);
	CHECK(report_int(r->root, "machine.accesses") + lost_sum(r) >=
	      report_int(r->root, "totals.accesses") + OTHERS,
	      "machine: %lld accesses, totals %lld, and %d outside",
	      report_int(r->root, "machine.accesses"), report_int(r->root, "totals.accesses"), OTHERS);
}

/* The same file from inside and outside: only the inside ones are in its row. */
static void shared_file(void)
{
	char *file = scratch("file");
	struct report *r;
	struct window w;

	make_file(file);
	w = begin("", waiter(text("%s pread --file %s --count 1000;", getenv("FOLIO_BENCH"), file)));
	run_status(0, "bench pread --file %s --count %d", file, OTHERS);
	r = end(&w);
	expect_count(r, row_of(r, file), "accesses", 1000);
}

static void fork_tree(void)
{
	char *file = scratch("file");
	struct report *r;

	make_file(file);
	r = observe("", "bench fork-tree --file %s --children 3 --count 1000", file);
	need_hook(r, "access.tree");
	expect_file(r, file, 12000, 12000);
}

/* A child that outlives its parent, and one of a shell's background, are still children. */
static void orphan(void)
{
	char *file = scratch("file");
	struct report *r;

	make_file(file);
	r = observe("", "sh -c '(sh -c \"sleep 0.3; %s pread --file %s --count 500\" &); sleep 1.5'",
		    getenv("FOLIO_BENCH"), file);
	expect_count(r, row_of(r, file), "accesses", 500);
}

static void threads_of_child(void)
{
	char *file = scratch("file");
	struct report *r;

	make_file(file);
	r = observe("", "sh -c '%s pread --file %s --threads 4 --count 1000; true'",
		    getenv("FOLIO_BENCH"), file);
	expect_count(r, row_of(r, file), "accesses", 4000);
}

/* ---- filters ---- */

/* A process that is older than the filter, started again by a line on its stdin. */
static void filter_pid(void)
{
	char *file = scratch("file"), *other = scratch("other");
	struct proc *old;
	struct report *r;
	struct window w;

	make_file(file);
	make_file(other);
	old = start("sh -c 'while [ ! -e %s ]; do sleep 0.05; done; %s pread --file %s --count 3000; "
		    "touch %s; sleep 100'", scratch("ready"), getenv("FOLIO_BENCH"), file,
		    scratch("read"));
	w = begin(text("--filter pid=%d", old->pid), waiter(""));
	run_status(0, "bench pread --file %s --count 1000", other);
	CHECK(wait_file(scratch("read"), 20), "the filtered process did not read");
	r = end(&w);
	stop(old, SIGKILL);
	expect_count(r, row_of(r, file), "accesses", 3000);
	no_row(r, other);
}

static void filter_comm(void)
{
	char *bench = getenv("FOLIO_BENCH"), *file = scratch("file"), *other = scratch("other");
	struct report *r;

	make_file(file);
	make_file(other);
	CHECK(!symlink(bench, scratch("wanted")), "symlink");
	r = observe("--filter comm=wanted", "sh -c '%s pread --file %s --count 2000; "
		    "%s pread --file %s --count 1000'", scratch("wanted"), file, bench, other);
	expect_count(r, row_of(r, file), "accesses", 2000);
	no_row(r, other);
	CHECK(report_int(r->root, "machine.accesses") >=
	      report_int(r->root, "totals.accesses") + 1000, "machine: without the other accesses");
}

static const char *cgroup_root(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(roots); i++)
		if (exists(text("%s/cgroup.controllers", roots[i])))
			return roots[i];
	skip("no cgroup2 file system is mounted");
}

static void filter_cgroup(void)
{
	char *dir = text("%s/folioscope-test.%d", cgroup_root(), getpid()), *bench;
	char *file = scratch("file"), *other = scratch("other");
	struct report *r;

	bench = getenv("FOLIO_BENCH");
	make_file(file);
	make_file(other);
	make_dir(dir);
	r = observe(text("--filter cgroup=%s", dir), "sh -c '%s pread --file %s --count 1000; "
		    "echo 0 > %s/cgroup.procs; %s pread --file %s --count 2000; echo 0 > %s/cgroup.procs'",
		    bench, other, dir, bench, file, cgroup_root());
	rmdir(dir);
	expect_count(r, row_of(r, file), "accesses", 2000);
	no_row(r, other);
}

/* Rows of some paths only; the totals are those of all. */
static void filter_path(void)
{
	char *file = scratch("file"), *other = scratch("other");
	struct report *r;
	json_t *row;
	size_t i;

	make_file(file);
	make_file(other);
	r = observe(text("--filter path=%s", file), "sh -c '%s pread --file %s --count 1000; "
		    "%s pread --file %s --count 2000'", getenv("FOLIO_BENCH"), file,
		    getenv("FOLIO_BENCH"), other);
	expect_count(r, row_of(r, file), "accesses", 1000);
	json_array_foreach(report_get(r->root, "files"), i, row)
		CHECK(row_joins(row, file), "a row of %s", json_string_value(report_get(row, "path")));
	CHECK(report_int(r->root, "other.accesses") >= 2000, "other: without the other accesses");
}

/* heat PATH: the same, live and without a command. */
static void heat_path(void)
{
	char *file = scratch("dir/file"), *other = scratch("other"), *json = scratch("report");
	struct proc *a, *b;
	struct report *r;

	make_dir(scratch("dir"));
	make_file(file);
	make_file(other);
	a = start_reader(file);
	b = start_reader(other);
	run_status(0, "folioscope heat -t 2 --json=%s --top 0 %s", json, scratch("dir"));
	stop(a, SIGKILL);
	stop(b, SIGKILL);
	r = report_load(json);
	CHECK(row_int(row_of(r, file), "accesses") >= 1000, "accesses %lld",
	      row_int(row_of(r, file), "accesses"));
	CHECK(!row_find(r, other), "a row of %s", other);
	CHECK(report_int(r->root, "other.accesses") >= 1000, "other: without the other accesses");
	CHECK(json_array_size(report_get(r->root, "files")) == 1, "%zu rows",
	      json_array_size(report_get(r->root, "files")));
}

/* What --top leaves out is in other, and the sums hold. */
static void top_rows(void)
{
	char *json = scratch("report");
	struct report *r;

	run_status(0, "folioscope run -q --top 2 --json=%s -- %s many-files --dir %s --files 50", json,
		   getenv("FOLIO_BENCH"), scratch("dir"));
	r = report_load(json);
	CHECK(json_array_size(report_get(r->root, "files")) == 2, "%zu rows",
	      json_array_size(report_get(r->root, "files")));
	CHECK(report_int(r->root, "coverage.files_seen") >= 50, "files_seen %lld",
	      report_int(r->root, "coverage.files_seen"));
	CHECK(report_int(r->root, "other.accesses") >= 50, "other %lld",
	      report_int(r->root, "other.accesses"));
}

static const struct live_test tests[] = {
	TEST(neighbour),
	TEST(shared_file),
	TEST(fork_tree),
	TEST(orphan),
	TEST(threads_of_child),
	TEST(filter_pid),
	TEST(filter_comm),
	TEST(filter_cgroup),
	TEST(filter_path),
	TEST(heat_path),
	TEST(top_rows),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
