/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refcount.bpf.h - family `refcount`: gets and puts on the folios of files, and which of them found
 * the folio's counter on another CPU. A part of access.bpf.c, whose subjects and filter it uses;
 * the programs are in refcount.bpf.c, and the walks of access.bpf.c derive from what they find.
 *
 * Bounces need the folio's last CPU, and that word is itself a shared line. In sampled mode all
 * CPUs follow in the same short windows of time, and outside them nothing shared is written. But
 * the first op after a window completes what its last op began: else ops that follow each other at
 * a distance, which bounce more, would be missed more often than others.
 */
#ifndef REFCOUNT_BPF_H
#define REFCOUNT_BPF_H

#include "compat.bpf.h"
#include "fs_hot.h"
#include "table.bpf.h"

const volatile __u32 cfg_ref_every = 1;	/* follow in one window of so many; 1: always (exact) */
const volatile __u32 cfg_ref_every_bits;
const volatile __u32 cfg_ref_set_bits;	/* log2 of sets of witnesses */
const volatile bool cfg_ref_derived;	/* the walks of access.bpf.c stand for gets and puts */

const volatile bool cfg_ref_sites;	/* --sites */
/* --folios: the file; dev 0: any, where the number that stat() gives is not the kernel's (btrfs) */
const volatile __u64 cfg_ref_folios_ino;
const volatile __u32 cfg_ref_folios_dev;

extern const volatile struct fs_hot cfg_hot;

enum pageflags___ref { PG_uptodate___ref = 3 };

struct folio___ref {
	unsigned long index;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fs_witness_set);
} refcount_witness SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fs_ref_cpu);
} refcount_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fs_key);
	__type(value, struct fs_ref_groups);
} refcount_groups SEC(".maps");

/* ---- witnesses ---- */

enum ref_seen {
	REF_OUTSIDE = 0,	/* nobody looks now */
	REF_FIRST = 1,
	REF_SAME = 2,
	REF_BOUNCE = 3,
	REF_CLASH = 4,
	REF_LATE_SAME = 5,	/* after the window: its last op's successor */
	REF_LATE_BOUNCE = 6,
};

#define REF_LATE_WINDOWS 3	/* so long after a window, in windows, late ops are looked for */

#define WITNESS_CPU_MASK ((1ULL << FS_WITNESS_CPU_BITS) - 1)
#define WITNESS_WINDOW_MASK ((1ULL << FS_WITNESS_WINDOW_BITS) - 1)

#define SEEN(what, group, from) ((__u64)(what) | (__u64)(group) << 4 | (__u64)(from) << 8)
#define SEEN_WHAT(s) ((s) & 7)
#define SEEN_GROUP(s) ((s) >> 4 & (FS_REF_GROUPS - 1))
#define SEEN_FROM(s) ((s) >> 8)
#define SEEN_IS_LATE(s) (SEEN_WHAT(s) >= REF_LATE_SAME)
#define SEEN_IS_BOUNCE(s) (SEEN_WHAT(s) == REF_BOUNCE || SEEN_WHAT(s) == REF_LATE_BOUNCE)

static __always_inline struct fs_witness_set *witness_set(__u64 folio)
{
	__u64 h = (folio >> 6) * 0x9e3779b97f4a7c15ULL;
	__u32 idx = h >> 32 >> (32 - cfg_ref_set_bits);

	return bpf_map_lookup_elem(&refcount_witness, &idx);
}

/* What the word said before it was made to say `mine`. */
static __always_inline __u64 witness_judge(__u64 old, __u64 mine, __u64 window)
{
	if ((old ^ mine) >> FS_WITNESS_CPU_BITS)
		return SEEN(REF_CLASH, window & (FS_REF_GROUPS - 1), 0);
	return SEEN(old == mine ? REF_SAME : REF_BOUNCE, window & (FS_REF_GROUPS - 1),
		    old & WITNESS_CPU_MASK);
}

/* An op after the window: takes the place of its last op on that folio, if nobody has yet. */
static __always_inline __u64 follow_late(struct fs_witness_set *set, __u64 mine,
						 __u64 window)
{
	__u64 v;
	int i;

#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		v = set->way[i].word;
		if ((v ^ mine) >> FS_WITNESS_CPU_BITS)
			continue;
		if (__sync_val_compare_and_swap(&set->way[i].word, v, 0) != v)
			return REF_OUTSIDE;
		return SEEN(v == mine ? REF_LATE_SAME : REF_LATE_BOUNCE,
			    window & (FS_REF_GROUPS - 1), v & WITNESS_CPU_MASK);
	}
	return REF_OUTSIDE;
}

/* One op on a folio by this CPU: what is known of the op before (SEEN). */
__noinline __u64 ref_follow(__u64 folio)
{
	__u64 window = 1, late = 0, mine, v = 0, old = 0, *word = 0;
	struct fs_witness_set *set;
	int i;

	if (cfg_ref_every > 1) {
		window = bpf_ktime_get_ns() >> FS_REF_WINDOW_SHIFT;
		late = window & (cfg_ref_every - 1);
		if (late > REF_LATE_WINDOWS)
			return REF_OUTSIDE;
		window >>= cfg_ref_every_bits;
	}
	set = witness_set(folio);
	if (!set)
		return REF_OUTSIDE;
	mine = folio >> 6 << 32 | (window & WITNESS_WINDOW_MASK) << FS_WITNESS_CPU_BITS |
	       bpf_get_smp_processor_id();
	if (late)
		return follow_late(set, mine, window);
#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		v = set->way[i].word;
		if (v == mine)	/* a line that is only read stays shared */
			return witness_judge(v, mine, window);
		if (!((v ^ mine) >> FS_WITNESS_CPU_BITS))
			return witness_judge(__sync_lock_test_and_set(&set->way[i].word, mine), mine,
					     window);
		/* Free, or of a window that is over. */
		if (!word && (!v || (v ^ mine) >> FS_WITNESS_CPU_BITS & WITNESS_WINDOW_MASK)) {
			word = &set->way[i].word;
			old = v;
		}
	}
	if (!word)
		return SEEN(REF_CLASH, window & (FS_REF_GROUPS - 1), 0);
	v = __sync_val_compare_and_swap(word, old, mine);
	if (v == old)
		return SEEN(REF_FIRST, window & (FS_REF_GROUPS - 1), 0);
	/* Another CPU took it meanwhile; for the same folio it has just become our predecessor. */
	if ((v ^ mine) >> FS_WITNESS_CPU_BITS)
		return SEEN(REF_CLASH, window & (FS_REF_GROUPS - 1), 0);
	return witness_judge(__sync_lock_test_and_set(word, mine), mine, window);
}

/* ---- what is counted beside the rows ---- */

static __always_inline struct fs_ref_cpu *ref_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&refcount_cpus, &cpu);
}

/* A bounce that came from another CPU. Only an interrupt of this CPU can come between. */
__noinline int ref_pair(__u32 from)
{
	struct fs_ref_cpu *c = ref_cpu();
	__u64 name = (__u64)from + 1, v;
	int i;

	if (!c)
		return 0;
#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		struct fs_ref_pair *p = &c->pair[(from + i) & (FS_REF_PAIRS - 1)];

		v = p->from;
		if (!v)
			v = __sync_val_compare_and_swap(&p->from, 0, name) ?: name;
		if (v == name) {
			__sync_fetch_and_add(&p->count, 1);
			return 0;
		}
	}
	__sync_fetch_and_add(&c->other, 1);
	return 0;
}

const volatile struct fs_ref_groups groups_fresh = {};

/* Adds to a file's groups. counts: followed, bounced, first, and late, 16 bits each. */
__noinline int ref_groups_add(struct fs_key *k, __u32 side, __u32 group, __u64 counts)
{
	struct fs_ref_groups *g;
	struct fs_ref_cpu *c;
	struct fs_key key;

	if (!k || cfg_ref_every <= 1 || side >= FS_REF_SIDES || group >= FS_REF_GROUPS)
		return 0;
	key = *k;
	g = bpf_map_lookup_elem(&refcount_groups, &key);
	if (!g) {
		bpf_map_update_elem(&refcount_groups, &key, (void *)&groups_fresh, BPF_NOEXIST);
		g = bpf_map_lookup_elem(&refcount_groups, &key);
		if (!g) {
			c = ref_cpu();
			if (c)
				__sync_fetch_and_add(&c->groups_full, 1);
			return 0;
		}
	}
	if (counts & 0xffff)
		__sync_fetch_and_add(&g->followed[side][group], counts & 0xffff);
	if (counts >> 16 & 0xffff)
		__sync_fetch_and_add(&g->bounced[side][group], counts >> 16 & 0xffff);
	if (counts >> 32)
		__sync_fetch_and_add(&g->first[side][group],
				     (counts >> 32 & 0xffff) - (counts >> 48));
	return 0;
}

/* ---- folios of one file (--folios) ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct fs_ref_folio);
} refcount_folios SEC(".maps");

const volatile struct fs_ref_folio folio_fresh = {};

static __always_inline bool is_folios_file(__u64 folio)
{
	__u64 addr = load64(folio + bpf_core_field_offset(struct folio, mapping));
	struct address_space *mapping = (struct address_space *)addr;
	struct super_block *sb;
	struct inode *inode;

	if (!addr || (addr & 3))
		return false;
	inode = KREAD(RAW, mapping, host);
	if (!inode || KREAD(RAW, inode, i_ino) != cfg_ref_folios_ino)
		return false;
	sb = KREAD(RAW, inode, i_sb);
	return !cfg_ref_folios_dev || KREAD(RAW, sb, s_dev) == cfg_ref_folios_dev;
}

/* An op that was followed. */
__noinline int ref_folio(__u64 folio, __u64 seen)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct fs_ref_folio *f;
	struct fs_ref_cpu *c;
	__u64 index;

	if (!is_folios_file(folio))
		return 0;
	index = load64(folio + bpf_core_field_offset(struct folio___ref, index));
	f = bpf_map_lookup_elem(&refcount_folios, &index);
	if (!f) {
		bpf_map_update_elem(&refcount_folios, &index, (void *)&folio_fresh, BPF_NOEXIST);
		f = bpf_map_lookup_elem(&refcount_folios, &index);
	}
	if (!f) {
		c = ref_cpu();
		if (c)
			__sync_fetch_and_add(&c->sites_full, 1);
		return 0;
	}
	f->order = load64(folio) & cfg_hot.head ? folio_order_raw(folio) & 31 : 0;
	__sync_fetch_and_add(&f->ops, 1);
	if (SEEN_IS_BOUNCE(seen))
		__sync_fetch_and_add(&f->bounces, 1);
	if (!(f->cpus[cpu >> 6 & 1] >> (cpu & 63) & 1))
		__sync_fetch_and_or(&f->cpus[cpu >> 6 & 1], 1ULL << (cpu & 63));
	return 0;
}

static __always_inline void folio_seen(__u64 folio, __u64 seen)
{
	if (cfg_ref_folios_ino && SEEN_WHAT(seen) != REF_OUTSIDE)
		ref_folio(folio, seen);
}

/* ---- derived: from the folios that a walk of access.bpf.c found ---- */

/*
 * What a walk saw of its folios, in one word since the stack is full: followed, bounced, first, not
 * followed and late, 11 bits each (a walk meets at most 512 folios), and above them the group.
 */
#define DERIVED_SHIFT(what) (11 * (what))
#define DERIVED_ONE(what) (1ULL << DERIVED_SHIFT(what))
#define DERIVED_GET(v, what) ((v) >> DERIVED_SHIFT(what) & 0x7ff)
#define DERIVED_GROUP_SHIFT 56

enum { DERIVED_FOLLOWED, DERIVED_BOUNCED, DERIVED_FIRST, DERIVED_CLASH, DERIVED_LATE };

__noinline __u64 ref_derive(__u64 folio, __u64 sum, __u32 scope)
{
	__u64 seen = ref_follow(folio);

	folio_seen(folio, seen);
	switch (SEEN_WHAT(seen)) {
	case REF_OUTSIDE:
		return sum;
	case REF_FIRST:
		sum += DERIVED_ONE(DERIVED_FIRST);
		break;
	case REF_CLASH:
		sum += DERIVED_ONE(DERIVED_CLASH);
		break;
	default:
		sum += DERIVED_ONE(DERIVED_FOLLOWED);
		if (SEEN_IS_LATE(seen))
			sum += DERIVED_ONE(DERIVED_LATE);
		if (!SEEN_IS_BOUNCE(seen))
			break;
		sum += DERIVED_ONE(DERIVED_BOUNCED);
		if (scope == FS_SCOPE_IN)
			ref_pair(SEEN_FROM(seen));
	}
	sum &= (1ULL << DERIVED_GROUP_SHIFT) - 1;
	return sum | SEEN_GROUP(seen) << DERIVED_GROUP_SHIFT;
}

static __always_inline void derived_add(struct place *p, struct fs_ref_cpu *c, __u32 scope,
					__u32 word, __u64 n)
{
	place_add(p, scope, word, n);
	if (scope == FS_SCOPE_IN)
		word_add(&c->w[word - FS_W_REF], n, false);
}

/* A get and a put for each folio. All of it in task context, as the access that it comes from. */
static __always_inline void derived_count(struct place *p, struct fs_key *k, __u64 folios,
					  __u64 seen)
{
	struct fs_ref_cpu *c = ref_cpu();
	__u64 counts;

	if (!c)
		return;
	if (folios) {
		derived_add(p, c, k->scope, FS_W_GETS, folios);
		derived_add(p, c, k->scope, FS_W_PUTS, folios);
	}
	if (!seen)
		return;
	derived_add(p, c, k->scope, FS_W_GET_FOLLOWED, DERIVED_GET(seen, DERIVED_FOLLOWED));
	derived_add(p, c, k->scope, FS_W_GET_BOUNCES, DERIVED_GET(seen, DERIVED_BOUNCED));
	derived_add(p, c, k->scope, FS_W_GET_FIRST,
		    DERIVED_GET(seen, DERIVED_FIRST) - DERIVED_GET(seen, DERIVED_LATE));
	derived_add(p, c, k->scope, FS_W_NOT_FOLLOWED, DERIVED_GET(seen, DERIVED_CLASH));
	if (k->scope != FS_SCOPE_IN)
		return;
	counts = DERIVED_GET(seen, DERIVED_FOLLOWED) | DERIVED_GET(seen, DERIVED_BOUNCED) << 16 |
		 DERIVED_GET(seen, DERIVED_FIRST) << 32 | DERIVED_GET(seen, DERIVED_LATE) << 48;
	ref_groups_add(k, FS_REF_GET, seen >> DERIVED_GROUP_SHIFT & (FS_REF_GROUPS - 1), counts);
}

#endif
