/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_opts.c - the command line: options as rows, one strict reader for each type, and the
 * combinations that would not measure what they say refused.
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum opt_type { OPT_FLAG, OPT_TEXT, OPT_COUNT, OPT_SIZE, OPT_SECONDS, OPT_CPUS, OPT_RWF };

struct opt {
	const char *name;
	enum opt_type type;
	size_t field;		/* offset in struct bench_cfg */
	uint64_t min, max;
	const char *metavar, *help;
};

#define FIELD(f) offsetof(struct bench_cfg, f)
#define RWF_LIST "a list of nowait, dontcache, hipri, dsync, sync"
#define BUF_MAX (1ULL << 30)

static const struct opt opts[] = {
	{ "file", OPT_TEXT, FIELD(file), 0, 0, "PATH", "the file to work on" },
	{ "dir", OPT_TEXT, FIELD(dir), 0, 0, "PATH", "the directory to work in" },
	{ "create", OPT_FLAG, FIELD(create), 0, 0, NULL,
	  "write the file first, --size bytes of data, and fsync it" },
	{ "size", OPT_SIZE, FIELD(size), 0, INT64_MAX, "BYTES",
	  "size of a file to make (K, M, G)" },
	{ "fill", OPT_SIZE, FIELD(fill), 1, BUF_MAX, "BYTES",
	  "make files in writes of this size (4K): it decides the folios' size" },
	{ "bs", OPT_SIZE, FIELD(bs), 1, BUF_MAX, "BYTES", "bytes a call" },
	{ "offset", OPT_SIZE, FIELD(offset), 0, INT64_MAX / 2, "BYTES", "where in the file" },
	{ "threads", OPT_COUNT, FIELD(threads), 1, MAX_WORKERS, "N", "workers (1)" },
	{ "procs", OPT_COUNT, FIELD(procs), 1, MAX_WORKERS, "N", "workers are processes" },
	{ "cpus", OPT_CPUS, FIELD(cpu), 0, 0, "LIST",
	  "pin worker i to the i-th CPU of a list like 0-3,8" },
	{ "count", OPT_COUNT, FIELD(count), 1, 1ULL << 48, "N",
	  "rounds of each worker, exactly (1); a round is one operation, or as told above" },
	{ "seconds", OPT_SECONDS, FIELD(ms), 1, 86400000, "S", "run for a time instead" },
	{ "private", OPT_FLAG, FIELD(private), 0, 0, NULL,
	  "a file for each worker: PATH.0, PATH.1, ..." },
	{ "shared-fd", OPT_FLAG, FIELD(shared_fd), 0, 0, NULL, "one descriptor for all workers" },
	{ "turns", OPT_FLAG, FIELD(turns), 0, 0, NULL,
	  "operations in strict turns, worker 0 first" },
	{ "phases", OPT_COUNT, FIELD(phases), 1, MAX_PHASES, "N",
	  "the whole again, with new workers and descriptors (1)" },
	{ "drain", OPT_FLAG, FIELD(drain), 0, 0, NULL,
	  "between phases empty the kernel's LRU batches (compact_memory)" },
	{ "hold", OPT_FLAG, FIELD(hold), 0, 0, NULL,
	  "before each phase print {\"ready\":N} and wait for a line on stdin" },
	{ "misalign", OPT_COUNT, FIELD(misalign), 0, 256, "PAGES",
	  "mmap-touch: map off the 64-KiB alignment" },
	{ "iov", OPT_COUNT, FIELD(iov), 1, IOV_MAX, "N", "readv: parts of the buffer (4)" },
	{ "flags", OPT_RWF, FIELD(rwf), 0, 0, "LIST",
	  "preadv2, write: nowait,dontcache,hipri,dsync,sync" },
	{ "pipe", OPT_FLAG, FIELD(pipe), 0, 0, NULL,
	  "sendfile: into a pipe, emptied by the worker" },
	{ "to", OPT_SIZE, FIELD(to), 0, INT64_MAX, "BYTES", "truncate: the new size" },
	{ "fsync", OPT_FLAG, FIELD(sync), 0, 0, NULL, "write: at the end; churn: every file" },
	{ "files", OPT_COUNT, FIELD(files), 1, 9999999, "N", "many-files: how many (1000)" },
	{ "pages", OPT_COUNT, FIELD(pages), 1, 1ULL << 28, "N", "zipf: of how many pages (all)" },
	{ "seed", OPT_COUNT, FIELD(seed), 0, UINT64_MAX, "N",
	  "zipf: worker i uses seed N + i (1)" },
	{ "children", OPT_COUNT, FIELD(children), 1, MAX_CHILDREN, "N",
	  "fork-tree: per process (2)" },
	{ "unlink", OPT_FLAG, FIELD(unlink), 0, 0, NULL, "remove the files at the end" },
	{ "quiet", OPT_FLAG, FIELD(quiet), 0, 0, NULL, "print no result" },
};

#define OPT_HELP 1
#define OPT_FIRST 256	/* getopt value of row 0 */

static int usage_error(const char *subject, const char *text)
{
	fprintf(stderr, "folio-bench: %s: %s\n", subject, text);
	return -EINVAL;
}

static void usage(FILE *out)
{
	char left[32];
	size_t i;

	fprintf(out, "Usage: folio-bench WORKLOAD [OPTION]...\n"
		"Works the page cache in a way whose counts are known, and prints them as JSON.\n"
		"\nWorkloads (default of --bs in brackets):\n");
	workloads_print(out);
	fprintf(out, "\nOptions:\n");
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		snprintf(left, sizeof(left), "--%s %s", opts[i].name,
			 opts[i].metavar ? opts[i].metavar : "");
		fprintf(out, "  %-18s %s\n", left, opts[i].help);
	}
	fprintf(out, "  %-18s %s\n\n", "--help", "this text");
	fprintf(out, "Exit status: 0 fine, 1 failed, 2 bad usage.\n");
}

static int value_error(const struct opt *o, const char *text, const char *want)
{
	fprintf(stderr, "folio-bench: --%s: '%s' is not %s\n", o->name, text, want);
	return -EINVAL;
}

static int number_read(const struct opt *o, const char *text, uint64_t *field)
{
	char want[80];
	uint64_t v = 0;
	int err;

	if (o->type == OPT_SECONDS)
		err = parse_ms(text, &v);
	else
		err = o->type == OPT_SIZE ? parse_size(text, &v) : parse_u64(text, &v);
	if (!err && v >= o->min && v <= o->max) {
		*field = v;
		return 0;
	}
	if (o->type == OPT_SECONDS)
		return value_error(o, text, "a number of seconds (0.001 to 86400)");
	snprintf(want, sizeof(want), "a number%s (%llu to %llu)",
		 o->type == OPT_SIZE ? " of bytes" : "", (unsigned long long)o->min,
		 (unsigned long long)o->max);
	return value_error(o, text, want);
}

static int opt_set(const struct opt *o, const char *text, struct bench_cfg *cfg)
{
	void *field = (char *)cfg + o->field;
	int n;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_TEXT:
		if (!*text)
			return value_error(o, text, "a path");
		*(const char **)field = text;
		return 0;
	case OPT_CPUS:
		n = parse_cpus(text, cfg->cpu, MAX_CPUS);
		if (n < 0)
			return value_error(o, text, "a list of CPUs like 0-3,8");
		cfg->ncpus = (unsigned int)n;
		return 0;
	case OPT_RWF:
		if (parse_flags(text, field))
			return value_error(o, text, RWF_LIST);
		return 0;
	default:
		return number_read(o, text, field);
	}
}

/* What was not given. Needs cfg->wl. */
static void defaults(struct bench_cfg *cfg)
{
	if (!cfg->bs)
		cfg->bs = cfg->wl->bs;
	if ((cfg->wl->need & OWN_PROCESS) && !cfg->procs) {
		cfg->procs = cfg->threads ? cfg->threads : 1;
		cfg->threads = 0;
	}
	if (!cfg->threads && !cfg->procs)
		cfg->threads = 1;
	cfg->workers = cfg->procs ? cfg->procs : cfg->threads;
	if (!cfg->count && !cfg->ms)
		cfg->count = 1;
}

static int check(const struct bench_cfg *cfg, bool size_given)
{
	unsigned int need = cfg->wl->need;

	if ((need & NEED_FILE) && !cfg->file)
		return usage_error(cfg->wl->name, "needs --file");
	if ((need & NEED_DIR) && !cfg->dir)
		return usage_error(cfg->wl->name, "needs --dir");
	if (cfg->file && !(need & NEED_FILE))
		return usage_error("--file", "this workload uses none");
	if (cfg->threads && cfg->procs)
		return usage_error("--procs", "not together with --threads");
	if (cfg->count && cfg->ms)
		return usage_error("--seconds", "not together with --count");
	if (cfg->create && (!size_given || !cfg->file))
		return usage_error("--create", "needs --file and --size");
	if (size_given && !cfg->create && !(need & USES_SIZE))
		return usage_error("--size", "needs --create");
	if (cfg->private && !cfg->file)
		return usage_error("--private", "needs --file");
	if (cfg->shared_fd && (cfg->private || !(need & (OPEN_READ | OPEN_WRITE))))
		return usage_error("--shared-fd", "the workers have no file in common");
	if ((need & ONE_EACH) && cfg->workers > 1 && !cfg->private)
		return usage_error(cfg->wl->name, "several workers need --private");
	if ((need & WHOLE) && cfg->turns)
		return usage_error("--turns", "this workload is one operation");
	return 0;
}

static void getopt_rows(struct option *rows)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opts); i++)
		rows[i] = (struct option){ opts[i].name, opts[i].type != OPT_FLAG, NULL,
					   OPT_FIRST + (int)i };
	rows[i++] = (struct option){ "help", no_argument, NULL, OPT_HELP };
	rows[i] = (struct option){ 0 };
}

/* 0, 1: --help was printed, -EINVAL: refused, and said why on stderr. */
int bench_options(int argc, char **argv, struct bench_cfg *cfg)
{
	struct option rows[ARRAY_SIZE(opts) + 2];
	static char self[] = "folio-bench";
	bool size_given = false;
	int c;

	*cfg = (struct bench_cfg){ .phases = 1, .iov = 4, .children = 2, .files = 1000, .seed = 1,
		.fill = 4096 };
	getopt_rows(rows);
	if (argc)
		argv[0] = self;	/* getopt's messages begin with it */
	while ((c = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (c == OPT_HELP) {
			usage(stdout);
			return 1;
		}
		if (c < OPT_FIRST)	/* getopt has said it */
			return -EINVAL;
		if (opt_set(&opts[c - OPT_FIRST], optarg, cfg))
			return -EINVAL;
		size_given |= opts[c - OPT_FIRST].field == FIELD(size);
	}
	if (optind >= argc)
		return usage_error("WORKLOAD", "missing; see folio-bench --help");
	if (optind + 1 < argc)
		return usage_error(argv[optind + 1], "only one workload at a time");
	cfg->wl = workload_find(argv[optind]);
	if (!cfg->wl)
		return usage_error(argv[optind], "no such workload; see folio-bench --help");
	defaults(cfg);
	return check(cfg, size_given);
}
