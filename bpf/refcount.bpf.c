// SPDX-License-Identifier: GPL-2.0-only
/*
 * refcount.bpf.c - family `refcount`: programs that see gets and puts of pages. What they do with
 * them is in refcount_op.bpf.h, linked with access.bpf.c.
 *
 * raw_tp, not tp_btf: pages are dealt with as addresses, and what tp_btf gives is no number.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* libbpf 1.1 links an extern kfunc once, see rcu.bpf.h. */
#undef __ksym
#define __ksym
#include "compat.bpf.h"
#include "refcount_kinds.bpf.h"

#define SITE_FRAMES 16

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SITE_FRAMES * sizeof(__u64));
} refcount_stacks SEC(".maps");

extern const volatile bool cfg_ref_sites;

/* Verified once, where they are defined. */
extern int refcount_op(__u64 page, __u32 op);
extern int refcount_site(__u64 page, __u32 op, __u32 stack);
extern int refcount_remember(__u64 folio);
extern int refcount_forget(__u64 folio);

static __always_inline int seen(void *ctx, __u64 page, __u32 op)
{
	if (refcount_op(page, op) && cfg_ref_sites)
		refcount_site(page, op, bpf_get_stackid(ctx, &refcount_stacks, 0));
	return 0;
}

/* ---- page_ref: every change of a page's counter (CONFIG_DEBUG_PAGE_REF) ---- */

SEC("?raw_tp/page_ref_mod")
int BPF_PROG(refcount_mod_raw, struct page *page, int v)
{
	return v ? seen(ctx, (__u64)page, v > 0 ? REF_GET : REF_PUT) : 0;
}

SEC("?raw_tp/page_ref_mod_and_test")
int BPF_PROG(refcount_mod_and_test_raw, struct page *page, int v, int ret)
{
	return seen(ctx, (__u64)page, v > 0 ? REF_GET : REF_PUT);
}

SEC("?raw_tp/page_ref_mod_and_return")
int BPF_PROG(refcount_mod_and_return_raw, struct page *page, int v, int ret)
{
	return seen(ctx, (__u64)page, v > 0 ? REF_GET : REF_PUT);
}

SEC("?raw_tp/page_ref_mod_unless")
int BPF_PROG(refcount_mod_unless_raw, struct page *page, int v, int ret)
{
	return seen(ctx, (__u64)page, ret ? REF_GET : REF_FAILED);
}

SEC("?raw_tp/page_ref_freeze")
int BPF_PROG(refcount_freeze_raw, struct page *page, int v, int ret)
{
	return seen(ctx, (__u64)page, REF_FREEZE);
}

/* ---- functions that get and put: arguments as numbers, by helper (5.17 and later) ---- */

#define BATCH_FOLIOS 31

struct folio_batch___ref {
	unsigned char nr;
	struct folio *folios[BATCH_FOLIOS];
} __attribute__((preserve_access_index));

/* The folios that a read holds; it puts them before it looks up more, or when it ends. */
struct held {
	__u32 nr;
	__u32 in_shmem;
	__u64 folio[BATCH_FOLIOS + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct held);
} refcount_held SEC(".maps");

static __always_inline struct held *held(__u64 flags)
{
	return bpf_task_storage_get(&refcount_held, bpf_get_current_task_btf(), 0, flags);
}

static __always_inline void put_held(struct held *h)
{
	__u32 i;

	for (i = 0; i < BATCH_FOLIOS && i < h->nr; i++)
		refcount_op(h->folio[i], REF_PUT);
	h->nr = 0;
}

static __always_inline __u64 batch_folio(__u64 batch, __u32 i)
{
	return load64(batch + bpf_core_field_offset(struct folio_batch___ref, folios) + i * 8);
}

static __always_inline __u32 batch_nr(__u64 batch)
{
	return load64(batch + bpf_core_field_offset(struct folio_batch___ref, nr)) & 0xff;
}

SEC("?fexit")
int BPF_PROG(refcount_read_batch_fexit, struct address_space *mapping, unsigned long index,
	     unsigned long max, void *fbatch)
{
	struct held *h = held(BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 batch = 0, folio;
	__u32 i, nr;

	bpf_get_func_arg(ctx, 3, &batch);
	if (h)
		put_held(h);
	nr = batch_nr(batch);
	for (i = 0; i < BATCH_FOLIOS && i < nr; i++) {
		folio = batch_folio(batch, i);
		refcount_op(folio, REF_GET);
		if (h)
			h->folio[i] = folio;
	}
	if (h)
		h->nr = nr;
	return 0;
}

SEC("?fexit")
int refcount_read_fexit(void *ctx)
{
	struct held *h = held(0);

	if (h)
		put_held(h);
	return 0;
}

SEC("?fentry")
int refcount_shmem_fentry(void *ctx)
{
	struct held *h = held(BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (h)
		h->in_shmem = 1;
	return 0;
}

SEC("?fexit")
int refcount_shmem_fexit(void *ctx)
{
	struct held *h = held(0);

	if (!h)
		return 0;
	put_held(h);
	h->in_shmem = 0;
	return 0;
}

/* A folio, nothing, or a value (bit 0). */
SEC("?fexit")
int refcount_entry_fexit(void *ctx)
{
	struct held *h = held(0);
	__u64 folio = 0;

	bpf_get_func_ret(ctx, &folio);
	if (!folio || (folio & 3))
		return 0;
	if (h && h->in_shmem) {
		put_held(h);
		h->folio[0] = folio;
		h->nr = 1;
	}
	refcount_op(folio, REF_GET);
	return 0;
}

SEC("?fexit")
int refcount_mapped_fexit(void *ctx)
{
	__u64 folio = 0;

	bpf_get_func_ret(ctx, &folio);
	if (folio)
		refcount_op(folio, REF_GET);
	return 0;
}

SEC("?fentry")
int refcount_put_batch_fentry(void *ctx)
{
	__u64 batch = 0;
	__u32 i, nr;

	bpf_get_func_arg(ctx, 0, &batch);
	nr = batch_nr(batch);
	for (i = 0; i < BATCH_FOLIOS && i < nr; i++)
		refcount_op(batch_folio(batch, i), REF_PUT);
	return 0;
}

SEC("?fentry")
int refcount_put_last_fentry(void *ctx)
{
	__u64 folio = 0;

	bpf_get_func_arg(ctx, 0, &folio);
	refcount_op(folio, REF_PUT);
	return 0;
}

/* ---- the life of a folio ---- */

SEC("?raw_tp/mm_filemap_delete_from_page_cache")
int BPF_PROG(refcount_removed_raw, struct folio *folio)
{
	refcount_remember((__u64)folio);
	return 0;
}

SEC("?raw_tp/mm_page_free")
int BPF_PROG(refcount_freed_raw, struct page *page, unsigned int order)
{
	refcount_forget((__u64)page);
	return 0;
}
