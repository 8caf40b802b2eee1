/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.bpf.h - where a file's counters live: per-CPU slots, then a shared spill hash.
 *
 * A place once given is kept until user space switches generations (fs_ctl.generation), waits
 * until no program can reach the old one, and drains it: so counters only grow, a reader cannot
 * see a row half moved, and nothing is ever deleted under a program. An event that finds no place
 * counts in the CPU's `other` words and in map_full.
 */
#ifndef TABLE_BPF_H
#define TABLE_BPF_H

#include "compat.bpf.h"
#include "cpu.bpf.h"
#include "name.bpf.h"

const volatile __u32 cfg_nr_cpus = 1;
const volatile __u32 cfg_set_bits;

struct fs_ctl access_ctl SEC(".data.access_ctl");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct fs_set);
} access_slots SEC(".maps");

#define SPILL_MAP(name)						\
	struct {						\
		__uint(type, BPF_MAP_TYPE_HASH);		\
		__uint(max_entries, 64);			\
		__type(key, struct fs_key);			\
		__type(value, struct fs_spill);			\
	} name SEC(".maps")

SPILL_MAP(access_spill0);
SPILL_MAP(access_spill1);

/* Where one event is counted. */
struct place {
	struct fs_cpu *cpu;
	__u64 *w;		/* the row's words; NULL: no room */
	bool shared;		/* other CPUs write them too */
};

static __always_inline bool key_equal(const struct fs_key *a, const struct fs_key *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->gen == b->gen &&
	       a->subdev == b->subdev && a->scope == b->scope;
}

static __always_inline __u32 key_set(const struct fs_key *k)
{
	__u64 h = k->ino ^ ((__u64)k->dev << 32) ^ ((__u64)k->gen << 17) ^ k->subdev ^
		  ((__u64)k->scope << 63);

	return (h * 0x9e3779b97f4a7c15ULL) >> (64 - 14) >> (14 - cfg_set_bits);
}

/* Not on the stack: the deepest call chain has 512 bytes in all. */
const volatile struct fs_spill spill_fresh = {};

static __noinline __u64 *spill_find(struct fs_key *k, __u64 inode, __u32 gen, __u32 flags)
{
	struct fs_key key = *k;	/* 6.1 takes a map's key from the stack only */
	struct fs_spill *s;

	s = gen ? bpf_map_lookup_elem(&access_spill1, &key) :
		  bpf_map_lookup_elem(&access_spill0, &key);
	if (!s) {
		/* Lost races end in EEXIST: the entry is there either way, or the map is full. */
		if (gen) {
			bpf_map_update_elem(&access_spill1, &key, (void *)&spill_fresh, BPF_NOEXIST);
			s = bpf_map_lookup_elem(&access_spill1, &key);
		} else {
			bpf_map_update_elem(&access_spill0, &key, (void *)&spill_fresh, BPF_NOEXIST);
			s = bpf_map_lookup_elem(&access_spill0, &key);
		}
		if (!s)
			return 0;
		/* Whoever comes first: all CPUs write the same inode. */
		s->inode = inode;
		__sync_fetch_and_or(&s->flags, flags);
	}
	if (!(s->flags & FS_FILE_NAMED) && name_emit(&key, inode, flags))
		__sync_fetch_and_or(&s->flags, FS_FILE_NAMED);
	return s->w;
}

/* First event of a file on this CPU and in this generation. Its way; FS_WAYS: all are taken. */
__noinline int slot_claim(struct fs_set *set, struct fs_key *k, __u64 inode, __u32 flags)
{
	int i;

	if (!set || !k)
		return FS_WAYS;
	for (i = 0; i < FS_WAYS; i++) {
		struct fs_slot *s = &set->way[i];

		if (s->state != FS_SLOT_FREE ||
		    __sync_val_compare_and_swap(&s->state, FS_SLOT_FREE, FS_SLOT_CLAIMED) !=
			    FS_SLOT_FREE)
			continue;
		s->key = *k;
		s->inode = inode;
		s->flags = flags | (name_emit(k, inode, flags) ? FS_FILE_NAMED : 0);
		/* x86 keeps stores in order; the exchange also keeps the compiler from moving them. */
		__sync_lock_test_and_set(&s->state, FS_SLOT_OWNED);
		return i;
	}
	return FS_WAYS;
}

/*
 * The place of file k on this CPU. flags: enum fs_file_flag of the file. Returns false only when
 * the CPU's number is out of range (never on a consistent kernel).
 */
static __always_inline bool place_find(struct place *p, struct fs_key *k, __u64 inode,
				       __u32 flags)
{
	__u32 cpu = bpf_get_smp_processor_id(), gen = access_ctl.generation & 1, idx;
	struct fs_set *set;
	int i;

	p->w = 0;
	p->shared = false;
	p->cpu = bpf_map_lookup_elem(&access_cpus, &cpu);
	idx = ((gen * cfg_nr_cpus + cpu) << cfg_set_bits) + key_set(k);
	set = bpf_map_lookup_elem(&access_slots, &idx);
	if (!p->cpu || !set)
		return false;
#pragma unroll
	for (i = 0; i < FS_WAYS; i++) {
		struct fs_slot *s = &set->way[i];

		if (s->state == FS_SLOT_OWNED && key_equal(&s->key, k)) {
			if (!(s->flags & FS_FILE_NAMED) && name_emit(k, inode, flags))
				s->flags |= FS_FILE_NAMED;
			p->w = s->w;
			return true;
		}
	}
	i = slot_claim(set, k, inode, flags);
	if (i >= 0 && i < FS_WAYS) {
		p->w = set->way[i].w;
	} else {
		p->w = spill_find(k, inode, gen, flags);
		p->shared = true;
		/* Programs of the family refcount come here in interrupts, too. */
		__sync_fetch_and_add(p->w ? &p->cpu->spilled : &p->cpu->map_full, 1);
	}
	return true;
}

/* In one place only: so totals, summed from all places, always agree with the rows. */
static __always_inline void place_add(struct place *p, __u32 scope, __u32 word, __u64 n)
{
	if (p->w)
		word_add(&p->w[word], n, p->shared);
	else
		word_add(&p->cpu->other[scope & 1][word], n, false);
}

#endif
