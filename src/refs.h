/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refs.h - reads what the family refcount wrote into snapshots: references by file and by CPU,
 * pairs of CPUs, and the groups that bounds come from. A part of the collector, which alone uses it.
 */
#ifndef REFS_H
#define REFS_H

#include "refs_detail.h"
#include "snapshot.h"
#include "table.h"
#include "topology.h"
#include "tracer.h"

struct refs {
	const struct tracer *tracer;	/* not owned; NULL: the family is off */
	struct fs_ref_cpu *cpus;	/* mapped */
	size_t bytes;
	struct topology topology;
	struct refs_detail detail;
	/* Of the snapshot under way. */
	struct group_row *groups;	/* sorted by key */
	size_t ngroups;
};

/* 0 also when the family is off; -errno: *r is closed. */
int refs_open(struct refs *r, const struct tracer *t);
void refs_close(struct refs *r);

/* CPUs have come or gone. */
void refs_hotplug(struct refs *r);

/* When the table is complete and s has its rows. total: all that is in rows and in other. -ENOMEM. */
int refs_read(struct refs *r, const struct table *t, __u64 total[FS_SCOPES][FS_WORDS],
	      struct snapshot *s);

/* How the figures came about. */
void refs_provenance(const struct tracer *t, struct snapshot *s);

#endif
