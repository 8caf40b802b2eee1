// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_lockdown.c - lockdown=confidentiality: no kernel string can be read and no kprobe attached,
 * but counting goes on with typed loads. One warning line, no failure.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness.h"

static void need_lockdown(void)
{
	if (!lockdown_confidential())
		skip("this kernel is not locked down for confidentiality");
}

/* There are no names: the row is found by device and inode. */
static json_t *row_nameless(const struct report *r, const char *file)
{
	json_t *row = row_stat(r, file);

	CHECK(row, "%s: no row joins with stat", file);
	return row;
}

static void lockdown_reads(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;

	need_lockdown();
	run_status(0, "bench write --file %s --size 256K", file);
	r = observe("", "bench pread --file %s --threads 2 --cpus 0,1 --count 100000", file);
	need_hook(r, "access.read");
	need_hook(r, "access.fault");
	need_hook(r, "access.lifecycle");
	need_hook(r, "access.tree");
	expect_count(r, row_nameless(r, file), "accesses", 200000);
	expect_count(r, row_nameless(r, file), "pages", 200000);

	r = observe("", "bench readonce --file %s", file);
	row = row_nameless(r, file);
	expect_count(r, row, "accesses", 1);
	expect_count(r, row, "pages", 64);
	r = observe("", "bench mmap-touch --file %s --misalign 5", file);
	row = row_nameless(r, file);
	expect_count(r, row, "accesses", 5);
	expect_count(r, row, "pages", 69);
}

/* What the page cache gains, loses and has written, too. */
static void lockdown_lifecycle(void)
{
	char *file = scratch("file");
	struct report *r;

	need_lockdown();
	r = observe("", "bench pread --file %s --create --size 1M", file);
	expect_count(r, row_nameless(r, file), "inserted_pages", 256);
	expect_count(r, row_nameless(r, file), "written_pages", 256);
	r = observe("", "bench truncate --file %s --to 512K", file);
	expect_count(r, row_nameless(r, file), "removed_pages", 128);
}

/* Heat needs no strings. */
static void lockdown_heat(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;
	int i;

	need_lockdown();
	run_status(0, "bench write --file %s --size 64K --fsync", file);
	for (i = 0; i < 10; i++) {
		run_status(0, "bench pread --file %s", file);
		drain_lru();
	}
	r = observe("", "bench pread --file %s --count 1000", file);
	row = row_nameless(r, file);
	CHECK(row_int(row, "hot_pages") >= 999, "hot_pages %lld of 1000", row_int(row, "hot_pages"));
}

/* Nothing of the other families is 0 where it is unavailable, and the sums hold (see observe()). */
static void lockdown_others(void)
{
	struct proc *p;

	need_lockdown();
	observe("", "true");
	p = run_status(0, "folioscope run -o %s -- true", scratch("text"));
	CHECK(lines(p->err) == 1 && strstr(p->err, "lockdown"), "not one warning: %s", p->err);
	p = run_status(0, "folioscope heat -t 0.5");
	CHECK(strstr(p->out, "total"), "heat: %s", p->out);
	p = run_status(0, "folioscope export --once -t 0.5");
	check_prometheus("export", p->out, p->out_len);
	p = run_status(0, "folioscope probe");
	CHECK(strstr(p->out, "lockdown confidentiality"), "probe: does not tell");
}

static const struct live_test tests[] = {
	TEST(lockdown_reads),
	TEST(lockdown_lifecycle),
	TEST(lockdown_heat),
	TEST(lockdown_others),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
