// SPDX-License-Identifier: GPL-2.0-only
/*
 * cost_main.c - `make bench`: three tables on stdout (cost.h). Arguments: a directory to work in,
 * which the caller removes; the tables wanted, any of a, b and c (all); what the names of rows or
 * programs of table (a) contain (all). As root.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "cost.h"
#include "hotbits.h"
#include "log.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stat_of(double *v, size_t n, double *min, double *med)
{
	*min = *med = 0;
	if (!n)
		return;
	qsort(v, n, sizeof(*v), compare);
	*min = v[0];
	*med = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The last CPU we may use: interrupts of a small machine tend to go to the first. */
static int pin(void)
{
	cpu_set_t may, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(may), &may))
		return -errno;
	for (cpu = CPU_SETSIZE - 1; cpu > 0 && !CPU_ISSET(cpu, &may); cpu--)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : cpu;
}

static int check_dir(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs)) {
		log_error("%s: look at: %s", dir, errstr(errno));
		return -errno;
	}
	if (fs.f_type == TMPFS_MAGIC) {
		log_error("%s: is on a tmpfs, whose reads pass no tracepoint; set TMPDIR", dir);
		return -EINVAL;
	}
	return 0;
}

static int cost_open(struct cost *c)
{
	struct cpus possible;
	int err;

	err = check_dir(c->dir);
	err = err ?: work_open(c->dir);
	err = err ?: caps_read(&c->caps, NULL, true);
	if (!err && !c->caps.btf)
		err = -ENOENT;
	err = err ?: cpus_load(&possible, "/sys/devices/system/cpu/possible");
	if (err)
		return err;
	c->nr_cpus = cpus_last(&possible) + 1;
	hotbits_from_btf(c->caps.btf, &c->hot);
	err = table_size(TABLE_BUDGET, c->nr_cpus, &c->tables);
	c->bpftrace_fd = attach_bpftrace_prog();
	return err;
}

static void print_head(const struct cost *c, int cpu)
{
	double load[3] = {};

	getloadavg(load, 3);
	printf("kernel %s, preemption %s, %u CPUs, pinned to CPU %d, load %.2f%s\n", c->caps.kernel,
	       preempt_names[c->caps.preempt], c->nr_cpus, cpu, load[0],
	       load[0] > 0.5 ? " (busy: repeat on a quiet machine)" : "");
	if (c->bpftrace_fd < 0)
		printf("bpftrace: n/a: not installed, or " READ_TP " is not there\n");
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *tables = argc > 2 ? argv[2] : "abc";
	struct rlimit lim = { RLIM_INFINITY, RLIM_INFINITY };
	struct cost c = {
		.dir = argv[1], .bpftrace_fd = -1, .only = argc > 3 ? argv[3] : NULL,
	};
	int err, cpu;

	if (argc < 2) {
		fprintf(stderr, "usage: folio-cost DIR [TABLES [ROWS]]\n");
		return 2;
	}

	setrlimit(RLIMIT_MEMLOCK, &lim);
	libbpf_set_print(NULL);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	cpu = pin();
	err = cpu < 0 ? cpu : cost_open(&c);
	if (!err) {
		print_head(&c, cpu);
		if (strchr(tables, 'a'))
			err = cost_bodies(&c);
		if (!err && strchr(tables, 'b'))
			err = cost_whole(&c);
		if (!err && strchr(tables, 'c'))
			err = cost_snapshots(&c);
	}
	if (err)
		log_error("bench: %s", errstr(err));
	else if (strchr(tables, 'a'))
		printf("\naims of table (a): %s\n", c.missed ? "NOT all hold" : "all hold");
	work_close();
	if (c.bpftrace_fd >= 0)
		close(c.bpftrace_fd);
	caps_free(&c.caps);
	return err ? 1 : 0;
}
