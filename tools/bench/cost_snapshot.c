// SPDX-License-Identifier: GPL-2.0-only
/* cost_snapshot.c - table (c): what looking costs (cost.h). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector.h"
#include "cost.h"
#include "log.h"
#include "tracer.h"
#include "probes.skel.h"

#define TIMES 30
#define MANY_FILES 10000

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void print_times(const char *what, double *us, size_t n, size_t rows)
{
	double first = us[0], min, med;

	stat_of(us, n, &min, &med);
	printf("%-44s %9.0f %9.0f %9.0f", what, first, min, med);
	if (rows)
		printf(" %8zu", rows);
	printf("\n");
}

static int time_snapshots(struct collector *c, const char *what)
{
	double us[TIMES], begin;
	struct snapshot s = {};
	size_t rows = 0;
	int i, err;

	for (i = 0; i < TIMES; i++) {
		begin = cpu_us();
		err = collector_snapshot(c, &s);
		us[i] = cpu_us() - begin;
		if (err)
			return err;
		rows = s.nrows;
		snapshot_free(&s);
	}
	print_times(what, us, TIMES, rows);
	return 0;
}

static void time_samples(struct collector *c)
{
	double us[TIMES], begin;
	int i;

	for (i = 0; i < TIMES; i++) {
		begin = cpu_us();
		collector_sample(c);
		us[i] = cpu_us() - begin;
	}
	print_times("sample between snapshots (peaks, names)", us, TIMES, 0);
}

/*
 * More CPUs than there are: each entry of the map names the data of a CPU that exists. What other
 * CPUs' cache lines cost is not seen here.
 */
static int time_backlog(const struct cost *cost, const struct fs_rcu_cpu *known, unsigned int ncpus)
{
	struct probes_bpf *skel = probes_bpf__open();
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	double ns[TIMES], min, med;
	struct fs_rcu_cpu cpu;
	unsigned int i;
	int err, fd, map;

	if (!skel)
		return -errno;
	bpf_program__set_autoload(skel->progs.backlog_sample, true);
	skel->rodata->cfg_rdonly_cast = cost->caps.rdonly_cast;
	skel->rodata->cfg_probe_read = cost->caps.lockdown != LOCKDOWN_CONFIDENTIALITY;
	err = backlog_configure(skel, &cost->caps, ncpus);
	err = err ?: probes_bpf__load(skel);
	fd = bpf_program__fd(skel->progs.backlog_sample);
	map = bpf_map__fd(skel->maps.backlog_cpus);
	for (i = 0; i < ncpus && !err; i++) {
		memset(&cpu, 0, sizeof(cpu));
		cpu.rdp = known[i % cost->nr_cpus].rdp;
		cpu.krc = known[i % cost->nr_cpus].krc;
		err = bpf_map_update_elem(map, &i, &cpu, BPF_ANY);
	}
	for (i = 0; i < TIMES && !err; i++) {
		double begin = cpu_us();

		err = bpf_prog_test_run_opts(fd, &opts);
		ns[i] = 1e3 * (cpu_us() - begin);
	}
	if (!err) {
		stat_of(ns, TIMES, &min, &med);
		printf("%9u %9.0f %9.0f %9.0f\n", ncpus, min, med, min / ncpus);
	}
	probes_bpf__destroy(skel);
	return err;
}

static int time_backlogs(const struct cost *cost, const struct collector *c)
{
	static const unsigned int counts[] = { 1, 2, 8, 64, 256 };
	int err = 0;
	size_t i;

	if (!c->has_backlog) {
		printf("backlog: n/a\n");
		return 0;
	}
	printf("\nOne reading of the backlog, ns:\n%9s %9s %9s %9s\n", "CPUs", "min", "med",
	       "min/CPU");
	for (i = 0; i < ARRAY_SIZE(counts) && !err; i++)
		err = time_backlog(cost, c->backlog.cpus, counts[i]);
	return err;
}

int cost_snapshots(struct cost *cost)
{
	struct tracer_opts opts = { .memory = TABLE_BUDGET };
	struct collector c;
	struct tracer t;
	int err = tracer_open(&t, &opts);

	if (err)
		return err;
	err = collector_open(&c, &t, 0);
	if (err) {
		tracer_close(&t);
		return err;
	}
	printf("\n(c) Looking, us of CPU time at the default memory (%llu MiB): the first time, minimum and "
	       "median of %d\n%-44s %9s %9s %9s %8s\n", TABLE_BUDGET >> 20, TIMES, "", "first", "min",
	       "med", "rows");
	err = time_snapshots(&c, "snapshot, few files");
	time_samples(&c);
	err = err ?: work_files(cost->dir, MANY_FILES);
	work_files_read(cost->dir, MANY_FILES);
	err = err ?: time_snapshots(&c, "snapshot, many files (first: their names)");
	work_files_remove(cost->dir, MANY_FILES);
	err = err ?: time_backlogs(cost, &c);
	collector_close(&c);
	tracer_close(&t);
	return err;
}
