/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpus.h - sets of CPUs as the kernel prints them, and what the per-CPU tables may cost.
 */
#ifndef CPUS_H
#define CPUS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define CPUS_MAX 65536U		/* CPU numbers are below this */

/* 8 KiB and no pointers: copied by assignment, zeroed means empty. */
struct cpus {
	__u64 bits[CPUS_MAX / 64];
};

/*
 * Parses a kernel CPU list: "0-3,8,10-11"; "" and "\n" are the empty set. Overlaps and any order
 * are fine. 0, -EINVAL (not of this form) or -ERANGE (a CPU of CPUS_MAX or more); the set is empty
 * on error.
 */
int cpus_parse(struct cpus *c, const char *text, size_t len);

/* The same from a file such as /sys/devices/system/cpu/possible. -errno. */
int cpus_load(struct cpus *c, const char *path);

size_t cpus_count(const struct cpus *c);
bool cpus_test(const struct cpus *c, __u32 cpu);
bool cpus_equal(const struct cpus *a, const struct cpus *b);

/*
 * The smallest member that is at least from, -1: none. All of them:
 * for (i = cpus_next(c, 0); i >= 0; i = cpus_next(c, i + 1))
 */
int cpus_next(const struct cpus *c, int from);

/* The largest member, -1: none. */
int cpus_last(const struct cpus *c);

/* How the memory budget is spent on the tables of files (fs_abi.h). */
struct table_size {
	__u32 set_bits;		/* each CPU has 1 << set_bits sets of FS_WAYS slots, twice */
	__u32 spill_entries;	/* in each of the two spill hashes */
	__u32 witness_bits;	/* log2 of the sets of witnesses (struct fs_witness_set) */
	__u32 group_entries;	/* files whose sampled ops are kept by group */
	__u64 bytes;		/* what they take together */
};

#define TABLE_BUDGET (32ULL << 20)	/* default */
#define TABLE_SET_BITS_MAX 14
#define TABLE_SPILL_MIN 64U
#define TABLE_WITNESS_BITS_MAX 24
#define TABLE_GROUPS_MIN 16U
#define TABLE_GROUPS_MAX 65536U

/*
 * Shares out budget bytes: at most half for the slots, a quarter for the spill hashes (but
 * TABLE_SPILL_MIN entries at least), an eighth for witnesses (but one set at least), a
 * sixteenth for groups (but TABLE_GROUPS_MIN at least); the rest is left for everything else. -EINVAL: no such number
 * of CPUs; -ENOSPC: not even the smallest tables fit, out->bytes is the least budget that would do.
 */
int table_size(__u64 budget, __u32 nr_cpu_ids, struct table_size *out);

#endif
