/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs_hot.h - whether a folio is as accessed as the LRU records, from folio->flags alone.
 *
 * Source: folio_mark_accessed(), folio_inc_refs()/lru_gen_inc_refs() in mm/swap.c of 6.1, 6.12,
 * 6.14 and 6.18; the generation and reference fields of include/linux/page-flags-layout.h.
 * "Saturated" means that one more folio_mark_accessed() would change nothing.
 */
#ifndef FS_HOT_H
#define FS_HOT_H

#include "fs_abi.h"

enum fs_lru_style {
	FS_LRU_CLASSIC = 0,	/* no MGLRU in this kernel */
	FS_LRU_GEN = 1,
};

/* Bits of folio->flags on the running kernel; 0: the kernel has no such flag. */
struct fs_hot {
	__u64 referenced;
	__u64 active;
	__u64 unevictable;
	__u64 workingset;
	__u64 dropbehind;
	__u64 lru;
	__u64 head;
	__u64 gen_mask;		/* LRU_GEN_MASK */
	__u64 refs_mask;	/* LRU_REFS_MASK; all ones is its maximum */
	__u64 style;		/* enum fs_lru_style */
};

/* Which LRU holds the folio: its generation tells; off the lists the kernel-wide switch decides. */
static inline __u64 fs_hot_mglru(__u64 flags, const volatile struct fs_hot *m, __u32 mglru_on)
{
	if (m->style == FS_LRU_CLASSIC)
		return 0;
	if (flags & m->gen_mask)
		return 1;
	if ((flags & m->lru) && !(flags & m->unevictable))
		return 0;
	return mglru_on;
}

static inline __u64 fs_hot_saturated(__u64 flags, const volatile struct fs_hot *m, __u32 mglru_on)
{
	/* folio_mark_accessed() returns at once: uncached folios never become hot (6.18). */
	if (flags & m->dropbehind)
		return 0;
	if (!fs_hot_mglru(flags, m, mglru_on))
		return (flags & m->referenced) && (flags & (m->active | m->unevictable));
	if (flags & m->unevictable)
		return 1;
	/* 6.1 to 6.13 go R, W, counter; 6.14 on R, counter, W: the end is the same. */
	return (flags & m->referenced) && (flags & m->workingset) &&
	       (flags & m->refs_mask) == m->refs_mask;
}

#endif
