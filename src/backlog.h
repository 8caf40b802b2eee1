/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * backlog.h - what waits on which CPU for a grace period, and how many grace periods there are.
 *
 * Order: backlog_configure() before the skeleton is loaded, backlog_open() after, backlog_find()
 * then and whenever the set of online CPUs changes, backlog_sample() as often as peaks are to be
 * seen (some us a call), backlog_fill() for a snapshot. Nothing is attached; no call needs a
 * capability once the programs are loaded.
 * Thread: one. backlog.c talks to the kernel, backlog_data.c is pure.
 */
#ifndef BACKLOG_H
#define BACKLOG_H

#include "caps.h"
#include "snapshot.h"

struct bpf_link;
struct btf;
struct probes_bpf;

struct backlog {
	const struct fs_rcu_cpu *cpus;	/* [ncpus], mapped; gauges as of the last sample */
	const struct fs_rcu_state *state;
	__u64 *peak;			/* [ncpus], owned: most callbacks at any sample */
	unsigned int ncpus;		/* nr_cpu_ids */
	int sample_fd;			/* of the skeleton */
	struct bpf_link *find;		/* NULL: found by symbol address only */
	bool begun;			/* the two below hold the first reading */
	__u64 gp_first, exp_first;
};

/*
 * Tells the programs where RCU's data lie and sizes the map. -ENOENT: this kernel gives no way
 * to find them (neither BTF nor kallsyms); the family is off, the skeleton can be loaded.
 */
int backlog_configure(struct probes_bpf *skel, const struct caps *caps, unsigned int nr_cpu_ids);

/* skel is loaded and outlives *b. -errno: *b is empty, backlog_close() is fine. */
int backlog_open(struct backlog *b, struct probes_bpf *skel, unsigned int nr_cpu_ids);
void backlog_close(struct backlog *b);

/* Looks for CPUs that are not known yet, then takes a sample. -ENOENT: none is known. */
int backlog_find(struct backlog *b);

/* Reads all known CPUs. -errno: the sample before stays. */
int backlog_sample(struct backlog *b);

/*
 * Into s->cpus (filled with CPU numbers by the caller; gauges of unknown CPUs stay as they are)
 * and the counts of s->grace.
 */
void backlog_fill(const struct backlog *b, struct snapshot *s);

/* ---- for backlog.c and tests ---- */

/* Offset of a variable in the section .data..percpu. -ENOENT. */
int backlog_percpu_offset(const struct btf *btf, const char *var, __s64 *offset);

/* Takes note of a new sample: peaks, and the sequence numbers that counting starts from. */
void backlog_note(struct backlog *b);

#endif
