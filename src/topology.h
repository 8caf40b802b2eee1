/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * topology.h - how far apart two CPUs are: what they share, from sysfs.
 *
 * Compact: three ids a CPU, never a table of pairs. An id is the smallest CPU number of a group
 * (core, last-level cache) or a node number, and means something inside one struct only.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define TOPOLOGY_SYSFS "/sys/devices/system"	/* holds cpu/ and node/ */
#define TOPOLOGY_NONE 0xffffffffU		/* not known */

/* Nearest first: the first thing two CPUs share decides. */
enum distance {
	DIST_SAME = 0,		/* one CPU */
	DIST_SMT = 1,		/* one core */
	DIST_LLC = 2,		/* one last-level cache, also where it spans nodes */
	DIST_NODE = 3,		/* one node, not one cache; upper bound if no cache is known */
	DIST_REMOTE = 4,	/* another node; without NUMA: another package */
	DIST_UNKNOWN = 5,	/* a CPU that has never been seen online */
	DISTANCES,
};

extern const char *const distance_names[DISTANCES];	/* "same", "smt", "llc", "node", ... */

enum topology_level { TOPOLOGY_CORE = 0, TOPOLOGY_LLC = 1, TOPOLOGY_NODE = 2, TOPOLOGY_LEVELS };

struct topology_cpu {
	__u32 id[TOPOLOGY_LEVELS];	/* TOPOLOGY_NONE: not known */
};

struct topology {
	struct topology_cpu *cpu;	/* owned; index: CPU number */
	__u32 ncpus;			/* largest CPU number + 1 */
	__u32 online;			/* CPUs with topology/ at the last load */
	bool numa;			/* node ids are NUMA nodes, else packages */
	bool llc_unknown;		/* an online CPU has no cache/: DIST_NODE is upper bound */
};

/*
 * Reads the tree below root (TOPOLOGY_SYSFS, or a saved one). -ENOENT: no cpu directory there;
 * -ENOMEM; -EINVAL or -ERANGE: lists that are none. On error *t is empty. What single CPUs lack is
 * no error: their ids are TOPOLOGY_NONE.
 */
int topology_load(struct topology *t, const char *root);

/*
 * Reads again after hotplug. CPUs that have gone offline keep their place (transfers from and to
 * them are still being shown). On error *t is unchanged. An empty *t is loaded.
 */
int topology_update(struct topology *t, const char *root);

void topology_free(struct topology *t);

/* Symmetric. DIST_SAME for a == b, even when that CPU is unknown. */
enum distance topology_distance(const struct topology *t, __u32 a, __u32 b);

/* What the CPUs of one core, cache or node have together. */
struct topology_group {
	__u32 id;		/* TOPOLOGY_NONE: CPUs whose place is not known; always last */
	__u32 cpus;		/* members with a value */
	__u64 sum;		/* saturates */
};

/*
 * Sums value[0..n), index CPU number, by group, ascending id. Groups without CPUs are left out; a
 * CPU that is not known and has 0 is no member of anything. *out is for free(). -ENOMEM.
 */
int topology_group(const struct topology *t, enum topology_level level, const __u64 *value,
		   size_t n, struct topology_group **out, size_t *nout);

#endif
