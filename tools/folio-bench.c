/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * folio-bench.c - works the page cache in ways whose counts are known: `folio-bench WORKLOAD`.
 * One line of JSON says what was done and what folioscope must have seen of it.
 */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct workload *const tables[] = {
	read_workloads, map_workloads, uring_workloads, change_workloads, dir_workloads,
	kernel_workloads,
};

const struct workload *workload_find(const char *name)
{
	const struct workload *wl;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		for (wl = tables[i]; wl->name; wl++) {
			if (!strcmp(wl->name, name))
				return wl;
		}
	}
	return NULL;
}

void workloads_print(FILE *out)
{
	const struct workload *wl;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		for (wl = tables[i]; wl->name; wl++)
			fprintf(out, "  %-17s %s\n", wl->name, wl->help);
	}
}

/* The kernel's setting where it can be read, else its default of 64 KiB. */
static unsigned int fault_around(unsigned int page_shift)
{
	unsigned long long bytes = 65536;
	FILE *f = fopen("/sys/kernel/debug/fault_around_bytes", "re");

	if (f) {
		if (fscanf(f, "%llu", &bytes) != 1)
			bytes = 65536;
		fclose(f);
	}
	return bytes >> page_shift ? (unsigned int)(bytes >> page_shift) : 1;
}

static void system_look(struct bench_cfg *cfg)
{
	long page = sysconf(_SC_PAGESIZE);

	while (1L << cfg->page_shift < page)
		cfg->page_shift++;
	cfg->around = fault_around(cfg->page_shift);
}

static int stdout_flush(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return bench_error("stdout", "write", errno ? -errno : -EIO);
}

/* Whoever observes has attached when it sends the line. */
static int hold(uint64_t phase)
{
	int c;

	printf("{\"ready\":%llu}\n", (unsigned long long)phase);
	if (stdout_flush())
		return -EIO;
	do {
		c = getchar();
	} while (c != EOF && c != '\n');
	return c == EOF ? bench_error("--hold", "stdin ended", -ENODATA) : 0;
}

static void print_counts(const struct phase *p)
{
	printf("\"ops\":%llu,\"bytes\":%llu,\"seconds\":%.6f,\"ops_per_s\":%.1f,"
	       "\"again\":%llu,\"expect\":{\"accesses\":%llu,\"pages\":%llu}",
	       (unsigned long long)p->ops, (unsigned long long)p->bytes, p->seconds,
	       p->seconds > 0 ? (double)p->ops / p->seconds : 0, (unsigned long long)p->again,
	       (unsigned long long)p->accesses, (unsigned long long)p->pages);
}

static int report(const struct bench_cfg *cfg, const struct phase *phases)
{
	struct phase sum = { 0 };
	uint64_t i;

	for (i = 0; i < cfg->phases; i++) {
		sum.ops += phases[i].ops;
		sum.bytes += phases[i].bytes;
		sum.accesses += phases[i].accesses;
		sum.pages += phases[i].pages;
		sum.again += phases[i].again;
		sum.seconds += phases[i].seconds;
	}
	printf("{\"workload\":\"%s\",\"threads\":%llu,\"processes\":%s,", cfg->wl->name,
	       (unsigned long long)cfg->workers, cfg->procs ? "true" : "false");
	if (cfg->wl->remove)
		printf("\"files\":%llu,", (unsigned long long)cfg->files);
	print_counts(&sum);
	if (cfg->phases > 1) {
		for (i = 0; i < cfg->phases; i++) {
			printf("%s", i ? "},{" : ",\"phases\":[{");
			print_counts(&phases[i]);
		}
		printf("}]");
	}
	printf("}\n");
	return stdout_flush();
}

static int run(struct bench_cfg *cfg, struct phase *phases)
{
	uint64_t i;
	int err = cfg->create ? files_create(cfg) : 0;

	for (i = 0; !err && i < cfg->phases; i++) {
		if (i && cfg->drain)
			err = lru_drain();
		if (!err && cfg->hold)
			err = hold(i + 1);
		if (!err)
			err = bench_phase(cfg, &phases[i]);
		if (!err && cfg->phases > 1 && !cfg->quiet)
			fprintf(stderr, "folio-bench: phase %llu: %llu ops in %.6f s\n",
				(unsigned long long)i + 1, (unsigned long long)phases[i].ops,
				phases[i].seconds);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct bench_cfg cfg;
	struct phase *phases;
	int err = bench_options(argc, argv, &cfg);

	if (err < 0)
		return 2;
	if (err)
		return stdout_flush() ? 1 : 0;
	system_look(&cfg);
	phases = calloc(cfg.phases, sizeof(*phases));
	if (!phases) {
		bench_error("phases", "memory", -ENOMEM);
		return 1;
	}
	err = run(&cfg, phases);
	if (cfg.unlink && cfg.wl->remove)
		cfg.wl->remove(&cfg);
	else if (cfg.unlink && cfg.file)
		files_remove(&cfg);
	if (!err && !cfg.quiet)
		err = report(&cfg, phases);
	free(phases);
	return err ? 1 : 0;
}
