/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rcu.bpf.h - RCU's own data as the families `backlog` and `grace` read it.
 *
 * Per-CPU RCU data are reached by address arithmetic, so all of this is read RAW (compat.bpf.h).
 */
#ifndef RCU_BPF_H
#define RCU_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/*
 * libbpf 1.1 links an extern kfunc once: with its section in the first object (access.bpf.c),
 * without in the ones that follow. More than one section is an error of the linker.
 */
#undef __ksym
#define __ksym
#include "compat.bpf.h"
#include "gp_math.h"

#define PF_KTHREAD 0x00200000

/* rcu_segcblist.len is a plain long where CONFIG_RCU_NOCB_CPU=n. */
struct rcu_segcblist___plain {
	long len;
} __attribute__((preserve_access_index));

struct rcu_data___plain {
	struct rcu_segcblist___plain cblist;
} __attribute__((preserve_access_index));

/* CONFIG_RCU_NOCB_CPU=y only. */
struct rcu_data___nocb {
	struct rcu_cblist nocb_bypass;
} __attribute__((preserve_access_index));

/*
 * The mark of 6.12, which gave SEGCBLIST_OFFLOADED (a macro, not in BTF) another bit in the same
 * release in which it renamed dynticks_snap to this.
 */
struct rcu_data___v612 {
	int watching_snap;
} __attribute__((preserve_access_index));

#define SEGCBLIST_OFFLOADED_V61 (1 << 5)
#define SEGCBLIST_OFFLOADED_V612 (1 << 1)

/* Objects waiting in kvfree_rcu: one counter until 6.3, then one a channel. */
struct kfree_rcu_cpu___count {
	int count;
} __attribute__((preserve_access_index));

struct kfree_rcu_cpu___channels {
	atomic_t head_count;
	atomic_t bulk_count[2];
} __attribute__((preserve_access_index));

/*
 * The 8 bytes that begin with field f of the struct rcu_state at an address. No plain load: on
 * kernels for many CPUs the fields lie farther than the 16-bit offset of a load reaches.
 */
#define STATE_LOAD64(rsp, f) load64((rsp) + bpf_core_field_offset(struct rcu_state, f))

/* struct fs_rcu_cpu by CPU. Written by backlog_find_iter and backlog_sample alone. */
struct backlog_cpus_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);		/* nr_cpu_ids, set before loading */
	__type(key, __u32);
	__type(value, struct fs_rcu_cpu);
};

struct backlog_state_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fs_rcu_state);
};

#endif
