/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost.h - inside of `make bench`: what folioscope's programs cost, beside an empty program and
 * beside bpftrace, on the same hooks, in turns, in one run.
 *
 * Times of program bodies are the kernel's run statistics; they hold the cost of taking them,
 * which is what an empty program shows, and no dispatch. Whole workloads are measured without
 * statistics, as CPU time of the thread: what other processes take does not count.
 * Thread: one, on one CPU. Functions return 0, a descriptor, or -errno.
 */
#ifndef COST_H
#define COST_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "caps.h"
#include "cpus.h"
#include "fs_hot.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ROUNDS 15
#define READ_TP "mm_filemap_get_pages"

struct probes_bpf;

struct cost {
	struct caps caps;
	struct fs_hot hot;
	struct table_size tables;	/* of the default budget */
	__u32 nr_cpus;
	int bpftrace_fd;		/* its program, or -errno */
	const char *dir;		/* ours, not on tmpfs */
	const char *only;		/* rows of table (a) with this in their name; NULL: all */
	bool missed;			/* an aim does not hold */
};

/* ---- cost_attach.c ---- */

enum hook_kind { KIND_TP_BTF, KIND_RAW_TP, KIND_FENTRY, KIND_KPROBE, KIND_TRACEPOINT };

extern const char *const kind_names[];

/* A program that does nothing, for that hook. */
int attach_empty_prog(enum hook_kind kind, const char *target);
/* bpftrace's own program of a count per file; bpftrace itself has ended by then. */
int attach_bpftrace_prog(void);
/* A descriptor; closing it detaches. */
int attach(enum hook_kind kind, int prog_fd, const char *target);

/* How ours is set up. */
enum setup {
	SETUP_HOT = 1 << 0,	/* the hot test */
	SETUP_IN = 1 << 1,	/* a process tree filter, with us in it */
	SETUP_OUT = 1 << 2,	/* a process tree filter, without us; the rest is counted too */
	SETUP_TMPFS = 1 << 3,
};

/* The skeleton with that one program of ours loaded; NULL: *err says why. */
struct probes_bpf *attach_ours(const struct cost *c, const char *prog, enum hook_kind kind,
			       const char *target, unsigned int setup, int *err);
int attach_ours_fd(const struct probes_bpf *skel, const char *prog);
void attach_ours_close(struct probes_bpf *skel);

/* ---- cost_work.c: what makes events ---- */

struct work {
	const char *name;
	void (*run)(unsigned int n);
	unsigned int n;		/* of a round */
};

extern const struct work work_read_first, work_read_later, work_read_many, work_fault, work_mapped,
	work_lifecycle, work_tmpfs, work_getppid, work_fork, work_switch;

int work_open(const char *dir);
void work_close(void);
/* Makes, or removes, n files of one page below dir; read: reads them. */
int work_files(const char *dir, unsigned int n);
void work_files_read(const char *dir, unsigned int n);
void work_files_remove(const char *dir, unsigned int n);

/* ---- cost_main.c ---- */

/* Sorts v; *min and *med of it. */
void stat_of(double *v, size_t n, double *min, double *med);

/* ---- the tables ---- */

int cost_bodies(struct cost *c);
int cost_whole(struct cost *c);
int cost_snapshots(struct cost *c);

#endif
