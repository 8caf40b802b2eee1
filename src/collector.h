/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * collector.h - reads what the tracer's programs wrote into snapshots. It alone reads maps.
 *
 * Thread: one. collector_sample() is cheap and may run ten times a second: it keeps peaks, takes
 * names off the ring and notices CPUs going on and off line. collector_snapshot() reads it all.
 */
#ifndef COLLECTOR_H
#define COLLECTOR_H

#include "backlog.h"
#include "cpus.h"
#include "grace.h"
#include "mounts.h"
#include "refs.h"
#include "snapshot.h"
#include "table.h"
#include "tracer.h"

struct ring_buffer;

struct collector {
	struct tracer *tracer;		/* not owned */
	struct table table;
	struct fs_set *slots;		/* mapped */
	size_t slots_bytes;
	struct fs_cpu *cpus;		/* mapped */
	size_t cpus_bytes;
	struct ring_buffer *names;
	struct mounts mounts;
	bool mounts_stale;
	__u64 names_bad;		/* ring records that made no sense */
	struct backlog backlog;
	struct grace grace;
	struct refs refs;
	bool has_backlog, has_grace;
	struct cpus online;
	bool hotplug;			/* since the last snapshot */
	bool torn;
	__u64 torn_count;
	__u64 last_full, last_spilled;	/* at the last snapshot: what has grown since */
	__u64 our_periods;		/* grace periods we asked for */
	__u64 map_bytes;
	__u32 seq;
};

/*
 * The tracer is open and outlives *c. forget_after: snapshots after which a file that stopped
 * growing may be dropped (its counts become other); 0: never, but for want of memory. -errno,
 * reported; *c is then closed.
 */
int collector_open(struct collector *c, struct tracer *t, __u32 forget_after);
void collector_close(struct collector *c);

/* Readable when names wait; for poll(). -1: none. */
int collector_fd(const struct collector *c);

void collector_sample(struct collector *c);

/* Fills *s. -errno, reported; *s is then empty. */
int collector_snapshot(struct collector *c, struct snapshot *s);

#endif
