/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracer.h - loads and attaches what the planner chose, falling back until it holds.
 *
 * A signal attaches wholly or not at all. A variant that does not load or attach is recorded with
 * its reason, and the next one takes its place; a family without a required signal is off.
 */
#ifndef TRACER_H
#define TRACER_H

#include <stdbool.h>

#include "cpus.h"
#include "fs_hot.h"
#include "hooks.h"
#include "snapshot.h"

struct probes_bpf;
struct bpf_link;
struct bpf_program;

struct tracer_opts {
	const char *btf_path;		/* --btf, NULL: the kernel's own */
	const struct user_hook *user;
	size_t nuser;
	unsigned long long requested;	/* bit per signal: costly variants allowed */
	const char *const *backend;	/* [SIGNALS]: only this variant of the signal; NULL: the best */
	__u32 filter;			/* enum fs_filter */
	bool outside;			/* count the rest of the machine too */
	const char *comm;		/* FS_FILTER_COMM */
	const char *cgroup;		/* FS_FILTER_CGROUP: path of a cgroup v2 directory */
	__u64 memory;			/* budget, bytes */
	bool run_stats;			/* time our programs (taxes every BPF program meanwhile) */
	__u32 every;			/* --sample: windows in which bounces are followed; 1: --exact */
	bool sites;			/* --sites */
	__u64 folios_ino;		/* --folios: the file; 0: none */
	__u32 folios_dev;		/* kernel encoding; 0: any (btrfs) */
};

/* What became of a signal. */
struct tracer_signal {
	const struct verdict *chosen;	/* NULL: unavailable */
	size_t next;			/* verdict to try next */
	bool forced;			/* there is no next */
	enum hook_state state;
	char reason[SNAP_REASON];
	struct bpf_link *links[VARIANT_HOOKS];
	struct bpf_program *progs[VARIANT_HOOKS];	/* owned by the skeleton */
};

struct tracer {
	struct caps caps;
	struct plan plan;
	struct probes_bpf *skel;
	struct tracer_signal sig[SIGNALS];
	struct fs_hot hot;
	bool hot_known;
	__u32 nr_cpus;			/* highest possible CPU + 1 */
	struct table_size tables;
	__u32 every;			/* as asked for */
	int stats_fd;			/* BPF_ENABLE_STATS, -1 */
	int barrier_map, barrier_inner;	/* see tracer_barrier() */
};

/*
 * 0; -EPERM: not permitted; -ENOENT: no BTF; -ENOSPC: the memory budget is too small; other -errno.
 * Each failure has been reported. A signal that is unavailable is not a failure: look at sig[].
 */
int tracer_open(struct tracer *t, const struct tracer_opts *opts);
void tracer_close(struct tracer *t);

/* Whether every required signal of the family is attached. */
bool tracer_family_on(const struct tracer *t, enum family fam);

/*
 * For `probe`: loads and attaches one usable verdict by itself, and detaches it. The tracer is open.
 * 0; else -errno with the stage in *stage.
 */
int tracer_try(struct tracer *t, const struct tracer_opts *opts, enum signal_id sig,
	       const struct verdict *v, const char **stage);

/* Waits until every program that was running has ended (one RCU grace period). */
int tracer_barrier(struct tracer *t);

/* Calls the kernel skipped because a program of ours was already running on that CPU. */
__u64 tracer_misses(const struct tracer *t, enum signal_id sig);

/*
 * Reads and maps one page of a file of ours and asks whether each access hook saw it; a silent one
 * becomes degraded, one that could not be asked unverified. Counts toward nothing that is reported:
 * it runs before the baseline.
 */
void tracer_canary(struct tracer *t);

/* What gives the signal, or why nothing does. */
void tracer_hook_line(const struct tracer *t, enum signal_id sig, struct snap_hook *out);

#endif
