// SPDX-License-Identifier: GPL-2.0-only
/* live_grace.c - RCU: grace periods of both kinds, who asked for them, and what waits on each CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define UMOUNTS 20
#define MEMBARRIERS 50

static long long requests(const struct report *r, const char *comm)
{
	json_t *req;
	long long n = 0;
	size_t i;

	json_array_foreach(report_get(r->root, "grace.expedited.requesters"), i, req)
		if (!strcmp(json_string_value(report_get(req, "comm")), comm))
			n += report_int(req, "count");
	return n;
}

/* count, p50 <= p99 <= max, and cumulative buckets that end in count. */
static void check_latency(const struct report *r, const char *kind, long long least)
{
	json_t *lat = report_get(r->root, text("grace.%s.latency_ns", kind)), *bucket;
	long long last = 0, edge = 0;
	size_t i;

	CHECK(!json_is_null(lat), "%s: no latency", kind);
	CHECK(report_int(lat, "count") >= least, "%s: %lld latencies, not %lld", kind,
	      report_int(lat, "count"), least);
	CHECK(report_int(lat, "p50") <= report_int(lat, "p99") &&
	      report_int(lat, "p99") <= report_int(lat, "max") && report_int(lat, "p50") > 0,
	      "%s: p50 %lld, p99 %lld, max %lld", kind, report_int(lat, "p50"), report_int(lat, "p99"),
	      report_int(lat, "max"));
	CHECK(report_int(lat, "sum") <= report_int(lat, "count") * report_int(lat, "max"),
	      "%s: sum %lld", kind, report_int(lat, "sum"));
	json_array_foreach(report_get(lat, "buckets"), i, bucket) {
		long long e = json_integer_value(json_array_get(bucket, 0));
		long long n = json_integer_value(json_array_get(bucket, 1));

		CHECK(e > edge && n >= last, "%s: bucket %zu", kind, i);
		edge = e;
		last = n;
	}
	CHECK(last == report_int(lat, "count"), "%s: buckets end at %lld of %lld", kind, last,
	      report_int(lat, "count"));
}

/* Each umount is one expedited grace period, asked for by the thread that unmounts. */
static void expedited(void)
{
	struct report *r = observe("", "bench umount-burst --count %d", UMOUNTS);
	long long n, mine;

	need_hook(r, "grace.count");
	need_hook(r, "grace.expedited");
	n = report_int(r->root, "grace.expedited.completed");
	CHECK(n >= UMOUNTS, "completed %lld", n);
	CHECK(report_int(r->root, "grace.expedited.started") >= UMOUNTS, "started %lld",
	      report_int(r->root, "grace.expedited.started"));
	check_latency(r, "expedited", UMOUNTS);
	if (json_is_null(report_get(r->root, "grace.expedited.requesters"))) {
		CHECK(!strcmp(json_string_value(report_get(hook_of(r, "grace.expedited"), "backend")),
			      "rcu_trace"), "requesters: null");
		return;		/* rcu_exp_grace_period does not tell who asked */
	}
	mine = requests(r, "folio-bench");
	CHECK(mine >= UMOUNTS && mine <= UMOUNTS + 2, "folio-bench asked %lld times", mine);
	/* In a guest nobody else does. */
	CHECK(!in_vm() || n <= UMOUNTS + 2, "completed %lld in a quiet guest", n);
}

static void normal(void)
{
	struct report *r = observe("", "bench membarrier --count %d", MEMBARRIERS);

	need_hook(r, "grace.count");
	need_hook(r, "grace.normal");
	CHECK(report_int(r->root, "grace.normal.completed") >= MEMBARRIERS, "completed %lld",
	      report_int(r->root, "grace.normal.completed"));
	check_latency(r, "normal", 1);
	/* Each call waits for a whole period: the latencies are real times. */
	CHECK(report_int(r->root, "grace.normal.latency_ns.sum") <=
	      1.2e9 * json_number_value(report_get(r->root, "duration_s")) + 1e8,
	      "latencies of %lld ns in %g s", report_int(r->root, "grace.normal.latency_ns.sum"),
	      json_number_value(report_get(r->root, "duration_s")));
}

/* Nobody asks: no periods are made up, and observing makes none of its own all the time. */
static void quiet(void)
{
	struct report *r = observe("-d 50ms", "sleep 1");

	need_hook(r, "grace.count");
	CHECK(report_int(r->root, "grace.normal.ours") <= 2, "ours %lld",
	      report_int(r->root, "grace.normal.ours"));
	if (in_vm())
		CHECK(!report_int(r->root, "grace.expedited.completed"), "%lld expedited periods",
		      report_int(r->root, "grace.expedited.completed"));
}

static json_t *cpu_of(const struct report *r, unsigned int cpu)
{
	json_t *c;
	size_t i;

	json_array_foreach(report_get(r->root, "cpus"), i, c)
		if (report_int(c, "cpu") == (long long)cpu)
			return c;
	fail("cpus: no CPU %u", cpu);
}

/* callbacks = segments + what is being invoked. */
static void check_backlog(const json_t *cpu)
{
	static const char *const parts[] = { "done", "wait", "next_ready", "next", "invoking" };
	long long sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		sum += report_int(cpu, text("backlog.%s", parts[i]));
	CHECK(sum >= report_int(cpu, "backlog.callbacks"), "CPU %lld: parts %lld, callbacks %lld",
	      report_int(cpu, "cpu"), sum, report_int(cpu, "backlog.callbacks"));
	CHECK(report_int(cpu, "backlog.peak_callbacks") >= report_int(cpu, "backlog.callbacks"),
	      "CPU %lld: peak %lld, callbacks %lld", report_int(cpu, "cpu"),
	      report_int(cpu, "backlog.peak_callbacks"), report_int(cpu, "backlog.callbacks"));
	report_int(cpu, "backlog.kvfree");
}

static void burst_on(unsigned int at)
{
	struct report *r = observe("", "bench close-burst --dir %s --seconds 2 --cpus %u",
				   scratch("."), at);
	long long peak;
	json_t *cpu;
	size_t i;

	need_hook(r, "backlog.cpus");
	CHECK(json_array_size(report_get(r->root, "cpus")) == cpus_online(), "%zu CPUs of %u",
	      json_array_size(report_get(r->root, "cpus")), cpus_online());
	peak = report_int(cpu_of(r, at), "backlog.peak_callbacks");
	json_array_foreach(report_get(r->root, "cpus"), i, cpu) {
		check_backlog(cpu);
		CHECK(report_int(cpu, "cpu") == at ||
		      report_int(cpu, "backlog.peak_callbacks") < peak,
		      "CPU %lld: peak %lld; CPU %u, where the callbacks are made: %lld",
		      report_int(cpu, "cpu"), report_int(cpu, "backlog.peak_callbacks"), at, peak);
	}
	CHECK(peak > 50, "CPU %u: peak %lld", at, peak);
}

static void backlog(void)
{
	if (cpus_online() < 2)
		skip("needs two CPUs");
	burst_on(0);
	burst_on(1);
}

static const struct live_test tests[] = {
	TEST(expedited),
	TEST(normal),
	TEST(quiet),
	TEST(backlog),
};

int main(int argc, char **argv)
{
	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
