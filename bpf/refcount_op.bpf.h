/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refcount_op.bpf.h - one op on one page: whose it is, and how it is counted. A part of
 * access.bpf.c. All of it may run in interrupts, so words are added to atomically.
 */
#ifndef REFCOUNT_OP_BPF_H
#define REFCOUNT_OP_BPF_H

#include "refcount.bpf.h"
#include "refcount_kinds.bpf.h"

/* The head of a page that may be a tail: page.compound_head has bit 0 set there. */
static __always_inline __u64 page_head(__u64 page)
{
	__u64 head = load64(page + 8);

	return head & 1 ? head - 1 : page;
}

/*
 * False: no file's. Slab and other kernel pages have anything at the place of the mapping: an
 * address space is one whose host says so.
 */
static __always_inline bool mapping_subject(struct subject *s, __u64 addr)
{
	struct address_space *mapping = (struct address_space *)addr;
	struct inode *inode;

	if (addr >> 47 != 0x1ffff)
		return false;
	inode = KREAD(RAW, mapping, host);
	if (!inode || KREAD(RAW, inode, i_mapping) != mapping)
		return false;
	subject_any(s, mapping, RAW);
	return true;
}

/* The file that a folio belonged to before it left the page cache. */
static __always_inline bool owner_subject(struct subject *s, __u64 folio)
{
	struct fs_witness_set *set = witness_set(folio);
	__u32 scope = s->key.scope;
	int i;

	if (!set)
		return false;
#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		struct fs_witness *w = &set->way[i];

		if (w->owned != folio)
			continue;
		s->key = w->key;
		s->key.scope = scope;
		s->inode = w->inode;
		s->flags = w->flags;
		return true;
	}
	return false;
}

/* Kernel memory has none of the marks that a page-cache folio gets before its mapping. */
static __always_inline bool looks_cached(__u64 folio)
{
	__u64 marks = 1 /* PG_locked */ | cfg_hot.lru | cfg_hot.referenced | cfg_hot.active |
		      1ULL << bpf_core_enum_value(enum pageflags___ref, PG_uptodate___ref);

	return load64(folio) & marks;
}

/* Where an op is counted: w is its row, other or unattributed, from FS_W_REF on. */
struct ref_place {
	struct fs_ref_cpu *cpu;
	__u64 *w;
	__u32 scope;
};

static __always_inline void ref_add_n(struct ref_place *p, __u32 word, __u64 n)
{
	__sync_fetch_and_add(&p->w[word - FS_W_REF], n);
	if (p->scope == FS_SCOPE_IN)
		__sync_fetch_and_add(&p->cpu->w[word - FS_W_REF], n);
}

static __always_inline void ref_add(struct ref_place *p, __u32 word)
{
	ref_add_n(p, word, 1);
}

/* k: the file whose groups it belongs to; NULL: none. */
static __always_inline void ref_count(struct ref_place *p, struct fs_key *k, __u64 seen, __u32 op)
{
	__u32 side = op == REF_PUT, what = SEEN_WHAT(seen);
	__u64 counts = 1;

	if (what == REF_CLASH) {
		ref_add(p, FS_W_NOT_FOLLOWED);
		return;
	}
	if (what == REF_FIRST) {
		counts = 1ULL << 32;
		ref_add(p, side ? FS_W_PUT_FIRST : FS_W_GET_FIRST);
	} else {
		ref_add(p, side ? FS_W_PUT_FOLLOWED : FS_W_GET_FOLLOWED);
	}
	/* The window's last op has its successor: as many ops as had none before them are left. */
	if (SEEN_IS_LATE(seen)) {
		counts |= 1ULL << 48;
		ref_add_n(p, side ? FS_W_PUT_FIRST : FS_W_GET_FIRST, -1);
	}
	if (SEEN_IS_BOUNCE(seen)) {
		counts |= 1 << 16;
		ref_add(p, side ? FS_W_PUT_BOUNCES : FS_W_GET_BOUNCES);
		if (p->scope == FS_SCOPE_IN)
			ref_pair(SEEN_FROM(seen));
	}
	if (k && p->scope == FS_SCOPE_IN)
		ref_groups_add(k, side, SEEN_GROUP(seen), counts);
}

static __always_inline int ref_op_count(struct ref_place *p, struct fs_key *k, __u64 folio,
					__u32 op)
{
	__u64 seen;

	ref_add(p, FS_W_REF + op);
	if (op > REF_PUT)
		return 0;
	seen = ref_follow(folio);
	folio_seen(folio, seen);
	if (SEEN_WHAT(seen))
		ref_count(p, k, seen, op);
	return 0;
}

/* An op on a page that no file claims, but that looks like one of the page cache. */
__noinline int ref_unattributed(__u64 folio, __u32 op, __u32 scope)
{
	struct ref_place p = { .cpu = ref_cpu(), .scope = scope };
	__u32 cpu = bpf_get_smp_processor_id();
	struct fs_cpu *c = bpf_map_lookup_elem(&access_cpus, &cpu);

	if (!p.cpu || !c || op > REF_FREEZE)
		return 0;
	p.w = scope == FS_SCOPE_IN ? p.cpu->un : &c->other[FS_SCOPE_OUT][FS_W_REF];
	return ref_op_count(&p, 0, folio, op);
}

__noinline int ref_attributed(struct subject *s, __u64 folio, __u32 op)
{
	struct ref_place p = { .cpu = ref_cpu() };
	struct place row;

	if (!s || !p.cpu || op > REF_FREEZE || !place_find(&row, &s->key, s->inode, s->flags))
		return 0;
	p.scope = s->key.scope;
	p.w = row.w ? &row.w[FS_W_REF] : &row.cpu->other[p.scope & 1][FS_W_REF];
	return ref_op_count(&p, &s->key, folio, op);
}

/* The file of a folio, or of what was one; *mapped: it still is in the page cache. */
static __always_inline bool page_subject(struct subject *s, __u64 folio, bool *anyones)
{
	__u64 mapping = load64(folio + bpf_core_field_offset(struct folio, mapping));
	struct fs_task *own;

	*anyones = false;
	if (mapping & MAPPING_FLAGS)
		return false;
	if (mapping)
		return mapping_subject(s, mapping) && scope_of(&s->key.scope, &own);
	if (!scope_of(&s->key.scope, &own))
		return false;
	if (owner_subject(s, folio))
		return true;
	*anyones = looks_cached(folio);
	return false;
}

/* op: enum ref_op. 1 when it was a file's. */
__noinline int refcount_op(__u64 page, __u32 op)
{
	__u64 folio = page_head(page);
	struct subject s = {};
	bool anyones;

	if (page_subject(&s, folio, &anyones)) {
		ref_attributed(&s, folio, op);
		return 1;
	}
	if (anyones)
		ref_unattributed(folio, op, s.key.scope);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fs_ref_site_key);
	__type(value, struct fs_ref_site);
} refcount_sites SEC(".maps");

/* --sites: where an op that refcount_op() counted comes from. stack: bpf_get_stackid()'s. */
__noinline int refcount_site(__u64 page, __u32 op, __u32 stack)
{
	struct fs_ref_site fresh = {}, *site;
	struct fs_ref_site_key k = {};
	struct subject s = {};
	struct fs_ref_cpu *c;
	bool anyones;

	if (op > REF_PUT || !page_subject(&s, page_head(page), &anyones) ||
	    s.key.scope != FS_SCOPE_IN)
		return 0;
	k.key = s.key;
	k.stack = stack;
	site = (int)stack < 0 ? 0 : bpf_map_lookup_elem(&refcount_sites, &k);
	if (!site && (int)stack >= 0) {
		bpf_map_update_elem(&refcount_sites, &k, &fresh, BPF_NOEXIST);
		site = bpf_map_lookup_elem(&refcount_sites, &k);
	}
	if (site)
		__sync_fetch_and_add(&site->ops[op & 1], 1);
	else if ((c = ref_cpu()))
		__sync_fetch_and_add(&c->sites_full, 1);
	return 0;
}

/* The folio leaves the page cache: ops to come find no mapping. */
__noinline int refcount_remember(__u64 folio)
{
	__u64 mapping = load64(folio + bpf_core_field_offset(struct folio, mapping));
	struct fs_witness_set *set = witness_set(folio);
	struct subject s = {};
	int i;

	if (!set || (mapping & MAPPING_FLAGS) || !mapping_subject(&s, mapping))
		return 0;
#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		struct fs_witness *w = &set->way[i];

		if (w->owned == folio || __sync_val_compare_and_swap(&w->owned, 0, 1))
			continue;
		w->key = s.key;
		w->inode = s.inode;
		w->flags = s.flags;
		__sync_lock_test_and_set(&w->owned, folio);
		return 0;
	}
	return 0;
}

/* Freed: the memory's next user is somebody else. */
__noinline int refcount_forget(__u64 folio)
{
	struct fs_witness_set *set = witness_set(folio);
	__u64 v;
	int i;

	if (!set)
		return 0;
#pragma unroll
	for (i = 0; i < FS_REF_PROBES; i++) {
		struct fs_witness *w = &set->way[i];

		if (w->owned == folio)
			w->owned = 0;
		v = w->word;
		if (v && v >> 32 == (folio >> 6 & 0xffffffff))
			__sync_val_compare_and_swap(&w->word, v, 0);
	}
	return 0;
}

#endif
