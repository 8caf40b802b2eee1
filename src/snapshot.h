/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.h - the one currency: the state of everything folioscope observes at one moment.
 *
 * All counters are cumulative since the observation began and never decrease while their row
 * lives; intervals are differences of two snapshots (model.h). Sources: the collector (live), a
 * record file. Whatever a renderer shows comes from here, so that a recording shows the same.
 *
 * Ownership: a snapshot owns all it points to; snapshot_free() releases it, not the struct.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "bounce.h"
#include "figures.h"
#include "fs_abi.h"

enum snap_flag {
	SNAP_TORN = 1 << 0,	/* could not be read in one piece */
	SNAP_HOTPLUG = 1 << 1,	/* the set of online CPUs changed since the snapshot before */
	SNAP_FINAL = 1 << 2,	/* the last one of its run */
};

enum hook_state {
	HOOK_UNAVAILABLE = 0,
	HOOK_ATTACHED = 1,
	HOOK_DEGRADED = 2,	/* attached, but it loses events or did not fire for the canary */
	HOOK_UNVERIFIED = 3,	/* attached; no canary could be sent */
	HOOK_STATES,
};

extern const char *const hook_state_names[HOOK_STATES];

#define SNAP_REASON 448

/* One signal and the backend that gives it. Strings are NUL-terminated. */
struct snap_hook {
	char signal[32];	/* "access.read" */
	char backend[24];	/* "tp_btf"; "" when unavailable */
	char target[96];	/* "mm_filemap_get_pages"; several joined by '+' */
	char reason[SNAP_REASON];	/* why not, or why degraded; "" when all is well */
	__u32 state;		/* enum hook_state */
	__u64 misses;		/* calls the kernel skipped, cumulative */
};

enum snap_row_flag {
	ROW_CACHED_VALID = 1 << 0,	/* cached_pages and size_bytes are known */
	ROW_DELETED = 1 << 1,
	ROW_TMPFS = 1 << 2,	/* inserted and written have no hook there; null */
	ROW_DEV_UNKNOWN = 1 << 3,	/* btrfs subvolume unknown: dev may not join with stat */
};

struct snap_row {
	struct fs_key key;
	__u32 flags;		/* enum snap_row_flag */
	__u32 birth;		/* snapshot.seq in which the row appeared; differs: a new row */
	__u64 v[FIGS];		/* cumulative; meaningful where snapshot.prov says so */
	__u64 cached_pages;
	__u64 size_bytes;
	char *path;		/* raw bytes as the kernel has them, absolute; NULL: unknown */
};

enum snap_cpu_flag {
	CPU_ONLINE = 1 << 0,
	CPU_BACKLOG_VALID = 1 << 1,
	CPU_KVFREE_VALID = 1 << 2,
	CPU_OFFLOADED = 1 << 3,	/* rcu_nocbs: callbacks are invoked by kthreads */
};

struct snap_cpu {
	__u32 cpu;
	__u32 flags;		/* enum snap_cpu_flag */
	__u64 callbacks;	/* gauges at this moment */
	__u64 seg[4];		/* done, wait, next_ready, next */
	__u64 kvfree;
	__u64 peak_callbacks;	/* highest seen at any sample since the observation began */
	__u64 invoked;		/* counter: rcu_data.n_cbs_invoked */
};

struct snap_requester {
	char comm[FS_COMM];	/* raw bytes */
	__u32 tgid;
	__u64 count;		/* cumulative */
};

/* Grace periods of one kind. */
struct snap_grace {
	__u32 count_prov;	/* enum prov of started and completed */
	__u32 lat_prov;		/* enum prov of the latency histogram */
	__u32 req_prov;		/* enum prov of the requesters */
	__u64 started, completed;
	__u64 lat_count, lat_sum, lat_max;	/* ns */
	__u64 buckets[FS_LAT_BUCKETS];	/* as struct fs_gp_stat */
	__u64 ours;		/* periods caused by folioscope itself, estimated from its own requests */
	struct snap_requester *req;
	size_t nreq;
};

/*
 * References of one file, or of a sum, cumulative: what the figures ref_ops, get_bounces and
 * put_bounces are made from. In sampled mode sample[] is what was followed in the windows.
 */
struct snap_ref {
	struct fs_key key;
	__u32 birth;		/* as the row's */
	__u32 grouped;		/* sample[] is by group; 0: all of it in group 0 */
	__u64 ops[FS_REF_SIDES];
	__u64 freezes;
	__u64 not_followed;	/* no room for the folio */
	struct bounce_sample sample[FS_REF_SIDES];
};

/* References of the ops that ran on one CPU. */
struct snap_ref_cpu {
	__u32 cpu;
	__u32 place[3];		/* core, last-level cache, node: as struct topology_cpu */
	__u64 ops[FS_REF_SIDES];
	__u64 followed[FS_REF_SIDES];
	__u64 bounces[FS_REF_SIDES];
};

/* Bounces that one CPU took over from another, cumulative, as followed. */
struct snap_pair {
	__u32 from, to;
	__u64 count;
};

/* Ops on a file's folios that come from one kernel function, cumulative. */
struct snap_site {
	struct fs_key key;
	char name[64];
	__u64 ops[FS_REF_SIDES];
};

/* One folio of the file that --folios names, cumulative, as followed. */
struct snap_folio {
	__u64 index;		/* of its first page */
	__u32 order;
	__u64 ops, bounces;
	__u64 cpus[2];		/* bit (CPU mod 128): it had an op there */
};

enum snap_refs_flag {
	REFS_NUMA = 1 << 0,	/* as struct topology */
	REFS_LLC_UNKNOWN = 1 << 1,
	REFS_SITES = 1 << 2,	/* sites are known */
};

struct snap_refs {
	__u32 every;		/* 0: no references; 1: all followed; else in one window of so many */
	__u32 shift;		/* length of a window: 2^shift ns */
	__u32 flags;		/* enum snap_refs_flag */
	__u32 sides;		/* bit per enum fs_ref_side whose bounces are known */
	struct snap_ref total;	/* inside the filter; key unused */
	struct snap_ref outside;	/* outside the filter, where that is counted */
	struct snap_ref unattributed;
	struct snap_ref *files;	/* those with references; any order */
	size_t nfiles;
	struct snap_ref_cpu *cpus;	/* ascending cpu */
	size_t ncpus;
	struct snap_pair *pairs;	/* ascending to, from */
	size_t npairs;
	__u64 other;		/* bounces whose pair found no place */
	struct snap_site *sites;	/* ascending key, name */
	size_t nsites;
	struct snap_folio *folios;	/* ascending index */
	size_t nfolios;
	__u64 folios_ino;	/* of the file as stat() has it; 0: not asked for */
	__u32 folios_dev;	/* kernel encoding */
	__u64 sites_full;	/* ops whose site or folio found no place */
};

struct snap_lost {
	__u64 map_full;
	__u64 ring_full;
	__u64 recursion_misses;
	__u64 torn;		/* snapshots marked torn so far */
	__u64 witness;
};

struct snap_prog {
	char name[32];
	__u64 runs, ns;		/* valid where snapshot.run_stats */
};

struct snapshot {
	__u32 seq;		/* 0, 1, 2, ... */
	__u32 flags;		/* enum snap_flag */
	__u64 mono_ns;		/* CLOCK_MONOTONIC */
	__u64 wall_ns;		/* CLOCK_REALTIME */
	char kernel[96];	/* uname -r */
	__u32 page_size;
	__u32 possible_cpus;
	__u32 filtered;		/* a filter is active: total[FS_SCOPE_OUT] is the rest */
	__u32 machine;		/* total[FS_SCOPE_OUT] was counted */

	__u8 prov[FIGS];	/* enum prov of each row figure */
	__u32 sample_n[FIGS];	/* PROV_SAMPLED: one in N */
	__u64 total[FS_SCOPES][FIGS];
	__u64 unattributed[FIGS];	/* inside the filter */

	struct snap_row *rows;	/* inside the filter; any order */
	size_t nrows;
	struct snap_cpu *cpus;	/* ascending cpu; possible CPUs */
	size_t ncpus;
	struct snap_hook *hooks;
	size_t nhooks;
	struct snap_grace grace[FS_GPS];
	struct snap_lost lost;

	struct snap_refs refs;

	__u32 run_stats;	/* progs[].runs and .ns are counted */
	struct snap_prog *progs;
	size_t nprogs;
	__u64 self_cpu_ns;	/* user + system time of folioscope, cumulative */
	__u64 map_bytes;
};

void snapshot_free(struct snapshot *s);

/* Deep copy. -ENOMEM: dst is empty. */
int snapshot_copy(struct snapshot *dst, const struct snapshot *src);

#endif
