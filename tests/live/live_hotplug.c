// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_hotplug.c - CPUs that are offline at the start, and that come and go meanwhile. In guests
 * only: no other machine's CPUs are touched.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

static void need_guest(void)
{
	if (!in_vm())
		skip("takes CPUs offline, which is for guests only");
	CHECK(exists(CPU1), "%s: missing", CPU1);
}

static void set_cpu1(bool on)
{
	put_file(CPU1, on ? "1" : "0");
	CHECK(slurp(CPU1, NULL)[0] == (on ? '1' : '0'), "CPU 1: cannot be switched");
}

static bool has_cpu(const struct report *r, long long n)
{
	json_t *cpu;
	size_t i;

	json_array_foreach(report_get(r->root, "cpus"), i, cpu)
		if (report_int(cpu, "cpu") == n)
			return true;
	return false;
}

static void offline_at_start(void)
{
	char *file = scratch("file");
	struct report *r;

	need_guest();
	set_cpu1(false);
	r = observe("", "bench pread --file %s --create --size 64K --threads 2 --count 20000", file);
	set_cpu1(true);
	need_hook(r, "access.read");
	need_hook(r, "backlog.cpus");
	expect_file(r, file, 40000, 40000);
	CHECK(json_is_false(report_get(r->root, "interval.hotplug")), "hotplug, but nothing changed");
	CHECK(has_cpu(r, 0), "CPU 0 is missing");
}

/* It comes while we watch: its reads count, and its backlog is found. */
static void online_meanwhile(void)
{
	char *file = scratch("file");
	struct report *r;

	need_guest();
	run_status(0, "bench write --file %s --size 64K", file);
	set_cpu1(false);
	r = observe("-d 100ms", "sh -c 'echo 1 > " CPU1 "; sleep 1; %s pread --file %s --threads 2 "
		    "--cpus 0,1 --count 20000; sleep 0.5'", getenv("FOLIO_BENCH"), file);
	set_cpu1(true);
	expect_file(r, file, 40000, 40000);
	CHECK(json_is_true(report_get(r->root, "interval.hotplug")), "hotplug is not marked");
	CHECK(has_cpu(r, 1), "CPU 1 is missing");
}

static void offline_meanwhile(void)
{
	char *file = scratch("file"), *bench = getenv("FOLIO_BENCH");
	struct report *r;

	need_guest();
	set_cpu1(true);
	run_status(0, "bench write --file %s --size 64K", file);
	r = observe("-d 100ms", "sh -c '%s pread --file %s --threads 2 --cpus 0,1 --count 20000; "
		    "%s close-burst --dir %s --cpus 1 --count 500; echo 0 > " CPU1 "; sleep 1; "
		    "%s pread --file %s --threads 2 --count 10000'", bench, file, bench, scratch("."),
		    bench, file);
	set_cpu1(true);
	expect_count(r, row_of(r, file), "accesses", 60000);
	CHECK(json_is_true(report_get(r->root, "interval.hotplug")), "hotplug is not marked");
}

/* Off and on again between two snapshots and many times: callbacks migrate, nothing is negative. */
static void flapping(void)
{
	char *file = scratch("file");
	struct report *r;

	need_guest();
	run_status(0, "bench write --file %s --size 64K", file);
	r = observe("-d 50ms", "sh -c 'for i in 1 2 3 4; do echo 0 > " CPU1 "; sleep 0.3; "
		    "echo 1 > " CPU1 "; sleep 0.3; done; %s pread --file %s --count 1000'",
		    getenv("FOLIO_BENCH"), file);
	set_cpu1(true);
	expect_file(r, file, 1000, 1000);
	CHECK(json_is_true(report_get(r->root, "interval.hotplug")), "hotplug is not marked");
	CHECK(has_cpu(r, 0) && has_cpu(r, 1), "a CPU is missing");
}

/* Quick: both within one sample, and a text view that lives through it. */
static void top_lives(void)
{
	struct proc *p;

	need_guest();
	p = start("folioscope top -b -d 0.2");
	pause_ms(4000);
	set_cpu1(false);
	pause_ms(1000);
	set_cpu1(true);
	pause_ms(2000);
	stop(p, SIGTERM);
	CHECK(!p->status, "status %d: %s", p->status, p->err);
	CHECK(strstr(p->out, "HOTPLUG"), "no report marks the change");
}

static const struct live_test tests[] = {
	TEST(offline_at_start),
	TEST(online_meanwhile),
	TEST(offline_meanwhile),
	TEST(flapping),
	TEST(top_lives),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
