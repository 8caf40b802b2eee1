/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hot.bpf.h - what a range of a file's pages holds: saturated pages, folios; by walking the XArray.
 *
 * Inside mm_filemap_get_pages the reader holds references on these folios. Elsewhere the walk is
 * only protected by RCU (every program runs under it), as the kernel's own lockless lookup is:
 * a folio that leaves meanwhile can give a stale answer for that one page, never a fault.
 * Layout of nodes and entries: include/linux/xarray.h.
 */
#ifndef HOT_BPF_H
#define HOT_BPF_H

#include "compat.bpf.h"
#include "fs_hot.h"
#include "refcount.bpf.h"

extern const volatile struct fs_hot cfg_hot;
extern struct fs_ctl access_ctl;

#define XA_CHUNK_MASK 63
#define XA_CHUNK_SHIFT 6
#define XA_MAX_DEPTH 6	/* 64^6 pages are 256 TiB */

struct hot_walk {
	__u64 head;		/* i_pages.xa_head */
	__u64 index, last;
	__u64 leaf;		/* slots of the node that holds index >> 6, 0: none yet */
	__u64 leaf_of;
	__u64 hot;		/* out: saturated pages */
	__u64 folios;		/* out: found */
	__u64 seen;		/* out: see ref_derive() */
	__u64 scope;
};

static __always_inline __u64 xa_is_node(__u64 e)
{
	return (e & 3) == 2 && e > 4096;
}

static __always_inline __u64 xa_is_sibling(__u64 e)
{
	return (e & 3) == 2 && e < (XA_CHUNK_MASK << 2);
}

/*
 * The entry at an index; remembers the leaf so that its neighbours cost one load. One branch a
 * level: the verifier follows every combination of them.
 */
static __always_inline __u64 xa_entry(struct hot_walk *w)
{
	__u64 e = w->head, slots = 0, shift;
	int depth;

	if (w->leaf && w->leaf_of == w->index >> XA_CHUNK_SHIFT) {
		slots = w->leaf;
		e = load64(slots + (w->index & XA_CHUNK_MASK) * 8);
	} else {
		/* No node at all: one entry for index 0. shift is a node's first byte (little-endian). */
		shift = xa_is_node(e) ? load64(e - 2) & 63 : 0;
		if (w->index >> shift > (xa_is_node(e) ? XA_CHUNK_MASK : 0))
			return 0;
		for (depth = 0; depth < XA_MAX_DEPTH && xa_is_node(e); depth++) {
			shift = load64(e - 2) & 63;
			slots = e - 2 + bpf_core_field_offset(struct xa_node, slots);
			e = load64(slots + (w->index >> shift & XA_CHUNK_MASK) * 8);
			w->leaf = slots;
			w->leaf_of = shift ? ~0ULL : w->index >> XA_CHUNK_SHIFT;
		}
	}
	if (xa_is_sibling(e) && slots)
		e = load64(slots + (e >> 2) * 8);
	return e;
}

static __always_inline __u64 hot_step(struct hot_walk *w)
{
	__u64 e, flags, next;

	if (w->index > w->last)
		return 1;
	e = xa_entry(w);
	next = w->index + 1;
	if (e && !(e & 3)) {
		flags = load64(e);
		if (flags & cfg_hot.head) {
			__u64 nr = 1ULL << (folio_order_raw(e) & 31);

			next = (w->index & ~(nr - 1)) + nr;
			if (next > w->last + 1)
				next = w->last + 1;
		}
		if (fs_hot_saturated(flags, &cfg_hot, access_ctl.mglru))
			w->hot += next - w->index;
		w->folios++;
		if (cfg_ref_derived)
			w->seen = ref_derive(e, w->seen, w->scope);
	}
	w->index = next;
	return 0;
}

static long hot_step_cb(__u32 i, void *ctx)
{
	return hot_step(ctx);
}

/* What one event adds to a file. */
/* Pages: at most 2 GiB a call (MAX_RW_COUNT), so 32 bits do, and the stack is short. */
struct touch {
	__u64 untested;		/* for hot_range() in: the first index, out: the first not looked at */
	__u64 seen;		/* of the folios, see ref_derive() */
	__u32 accesses, pages;
	__u32 hot_pages, hot_accesses;
	__u32 window;
	__u32 folios;		/* found */
};

/*
 * Looks at [t->untested, last], at most at `folios` entries. Not into a struct of its own: the
 * deepest call chain has 512 bytes of stack in all.
 */
__noinline int hot_range(__u64 head, __u64 last, __u32 folios, __u32 scope, struct touch *t)
{
	struct hot_walk w = { .head = head, .last = last, .scope = scope };

	if (!t)
		return 0;
	w.index = t->untested;
	if (w.index == last)	/* most reads; the loop alone costs some 20 ns */
		hot_step(&w);
	else
		bpf_loop(folios, hot_step_cb, &w, 0);
	t->untested = w.index;
	t->hot_pages = w.hot;
	t->folios = w.folios;
	t->seen = w.seen;
	return 0;
}

/* The same for one page, without the loop. */
static __always_inline void hot_page(__u64 head, __u64 index, __u32 scope, struct touch *t)
{
	struct hot_walk w = { .head = head, .index = index, .last = index, .scope = scope };

	hot_step(&w);
	t->hot_pages = w.hot;
	t->folios = w.folios;
	t->seen = w.seen;
}

#endif
