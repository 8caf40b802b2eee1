/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench.h - inside of folio-bench, the workload generator with a known answer.
 * A workload is a table row of three functions; bench_run.c runs it on threads or processes. Every
 * operation adds what it did to its own worker, from what the kernel returned, so that the sum is
 * the truth folioscope is measured against. Links libc alone: it runs in an initramfs.
 */
#ifndef BENCH_H
#define BENCH_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_CPUS 1024
#define MAX_WORKERS 4096
#define MAX_PHASES 1000
#define MAX_CHILDREN 256

enum bench_need {
	NEED_FILE = 1 << 0,	/* --file */
	NEED_DIR = 1 << 1,	/* --dir */
	OPEN_READ = 1 << 2,	/* a descriptor of the file for each worker */
	OPEN_WRITE = 1 << 3,
	OPEN_DIRECT = 1 << 4,
	ONE_EACH = 1 << 5,	/* workers must not share a file */
	OWN_PROCESS = 1 << 6,	/* processes even when not asked for */
	USES_SIZE = 1 << 7,	/* --size means something without --create */
	WHOLE = 1 << 8,		/* one operation does all, --count and --seconds included */
	HOSTILE_NAMES = 1 << 9,
};

struct worker;
struct bench_cfg;

struct workload {
	const char *name;
	const char *help;
	unsigned int need;	/* enum bench_need */
	uint64_t bs;		/* default of --bs; 0: to the end of the file */
	int (*prepare)(struct bench_cfg *cfg);	/* before every phase, by the main thread */
	int (*open)(struct worker *w);		/* may set w->round */
	int64_t (*op)(struct worker *w);	/* operations done, usually 1, or -errno */
	int (*finish)(struct worker *w);	/* inside the measured time */
	void (*remove)(const struct bench_cfg *cfg); /* --unlink, instead of the files' removal */
};

struct bench_cfg {
	const struct workload *wl;
	const char *file, *dir;
	uint64_t size, fill, bs, offset, to;	/* bytes */
	uint64_t count;			/* rounds of each worker; 0: not given */
	uint64_t ms;			/* --seconds; 0: not given */
	uint64_t threads, procs, workers;
	uint64_t phases, misalign, iov, children, pages, files, seed;
	bool create, private, shared_fd, turns, drain, quiet, hold, sync, unlink, pipe;
	int rwf;			/* RWF_* for preadv2 and write */
	unsigned int page_shift;
	unsigned int around;		/* pages of a fault-around window */
	unsigned int ncpus;
	uint16_t cpu[MAX_CPUS];
};

/* Shared by all workers, processes too. Each word they write or poll has its own cache lines. */
struct gate {
	_Alignas(128) atomic_uint ready;
	_Alignas(128) atomic_uint go;
	_Alignas(128) atomic_uint stop;
	_Alignas(128) atomic_ullong turn;
	_Alignas(128) atomic_uint done;	/* workers that need no more turns */
};

struct worker {
	_Alignas(128) const struct bench_cfg *cfg;
	struct gate *gate;
	unsigned int id;
	int fd;
	int pipe[2], null;	/* where sendfile and splice go */
	bool bypass;		/* reads go round the page cache */
	char *buf;
	size_t buf_len;
	uint64_t size;		/* of the file when it was opened */
	uint64_t round;		/* operations a round */
	uint64_t step;		/* index of the present operation */
	uint64_t ops, bytes, accesses, pages, again;
	uint64_t end_ns;
	void *priv;		/* the workload's own; freed by its finish */
	int err;		/* -errno; what failed, and on which path */
	const char *what;
	pid_t pid;
	char path[PATH_MAX];
};

struct phase {
	uint64_t ops, bytes, accesses, pages, again;
	double seconds;
};

/* bench_parse.c: the whole text or nothing. -EINVAL: not such a number; -ERANGE: too large. */
int parse_u64(const char *text, uint64_t *out);
int parse_size(const char *text, uint64_t *out);	/* K, M, G: powers of 1024 */
int parse_ms(const char *text, uint64_t *out);		/* seconds with up to 3 decimals */
int parse_cpus(const char *text, uint16_t *cpu, unsigned int max);	/* how many, or -errno */
int parse_flags(const char *text, int *out);		/* "nowait,dontcache" */

/* bench_opts.c: 0, 1: --help was printed, -EINVAL: refused, and said why on stderr. */
int bench_options(int argc, char **argv, struct bench_cfg *cfg);

/* bench_expect.c: what folioscope must find. */
uint64_t expect_pages(uint64_t offset, uint64_t len, unsigned int page_shift);
unsigned int expect_window(uint64_t pte, uint64_t vma_first, uint64_t vma_pages,
			   unsigned int around, unsigned int ptes);
struct zipf;
struct zipf *zipf_new(uint64_t items);
uint64_t zipf_pick(const struct zipf *z, uint64_t *rng);
void zipf_free(struct zipf *z);

/* bench_file.c: 0 or -errno; those that belong to no worker have reported it. */
int bench_error(const char *subject, const char *what, int err); /* one line; returns err */
int file_path(const struct bench_cfg *cfg, unsigned int id, char *path, size_t size);
int file_fill(int fd, uint64_t from, uint64_t to, uint64_t chunk);
int file_make(const char *path, uint64_t size, uint64_t chunk, bool sync);
int files_create(const struct bench_cfg *cfg);
void files_remove(const struct bench_cfg *cfg);
int files_drop(struct bench_cfg *cfg);
int lru_drain(void);

/* bench_run.c: 0 or -errno, reported. */
int bench_phase(struct bench_cfg *cfg, struct phase *ph);
bool worker_stopped(const struct worker *w);
int worker_fail(struct worker *w, const char *what, int err);	/* keeps both; returns err */

/* Adds n bytes read at offset: one access, if it touched anything. */
static inline void worker_count(struct worker *w, uint64_t offset, uint64_t n)
{
	w->bytes += n;
	if (!n || w->bypass)
		return;
	w->accesses++;
	w->pages += expect_pages(offset, n, w->cfg->page_shift);
}

extern const struct workload read_workloads[], map_workloads[], change_workloads[];
extern const struct workload dir_workloads[], kernel_workloads[], uring_workloads[];

/* folio-bench.c */
const struct workload *workload_find(const char *name);
void workloads_print(FILE *out);

/* bench_read.c: one pread of --bs at --offset. */
int64_t read_op(struct worker *w);

#endif
