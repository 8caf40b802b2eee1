/* SPDX-License-Identifier: GPL-2.0-only */
/* cpu.bpf.h - what each CPU counts outside the rows, and how a counter is raised. */
#ifndef CPU_BPF_H
#define CPU_BPF_H

#include "compat.bpf.h"

/* fentry on a preemptible kernel: another program may run in the middle of ours on this CPU. */
const volatile bool cfg_atomic;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fs_cpu);
} access_cpus SEC(".maps");

static __always_inline void word_add(__u64 *w, __u64 n, bool shared)
{
	/*
	 * A plain add cannot race in a per-CPU word: the programs run with preemption off (tp_btf,
	 * kprobe), or on a kernel that does not preempt (fentry), and none runs in an interrupt.
	 */
	if (shared || cfg_atomic)
		__sync_fetch_and_add(w, n);
	else
		*w += n;
}

/* This CPU's own counters, NULL only if its number is out of range. */
static __always_inline struct fs_cpu *cpu_this(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&access_cpus, &cpu);
}

#endif
