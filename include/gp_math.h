/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gp_math.h - grace-period arithmetic that BPF programs and the program share: the sequence
 * numbers of RCU and the latency buckets.
 *
 * A sequence number (rcu_state.gp_seq, .expedited_sequence) counts twice a period: its low two
 * bits are the phase (0 idle, else running), the rest is the counter of completed periods. gp_seq
 * starts 300 periods below its overflow (kernel/rcu/rcu.h), so every booted machine has seen it
 * wrap: differences are taken modulo 2^64.
 */
#ifndef GP_MATH_H
#define GP_MATH_H

#include "fs_abi.h"

#define GP_SEQ_SHIFT 2
#define GP_SEQ_PHASE ((1ULL << GP_SEQ_SHIFT) - 1)

static inline __attribute__((always_inline)) __u64 gp_seq_running(__u64 seq)
{
	return (seq & GP_SEQ_PHASE) != 0;
}

/* Periods completed between two readings; the period running at the first one counts. */
static inline __attribute__((always_inline)) __u64 gp_seq_completed(__u64 first, __u64 last)
{
	return (last - (first & ~GP_SEQ_PHASE)) >> GP_SEQ_SHIFT;
}

/*
 * Periods that were running at the first reading or began until the last one. So differences of
 * this counter are exact, and it is never less than gp_seq_completed().
 */
static inline __attribute__((always_inline)) __u64 gp_seq_started(__u64 first, __u64 last)
{
	return gp_seq_completed(first, last) + gp_seq_running(last);
}

/* Smallest k with ns <= 2^k. The last bucket takes also what lies above it (292 years). */
static inline __attribute__((always_inline)) __u32 gp_bucket(__u64 ns)
{
	__u64 v = ns - 1;
	__u32 k = 1, step;

	if (ns <= 1)
		return 0;
	/* Position of the highest bit of v, without the builtin: BPF has no such instruction. */
	for (step = 32; step; step >>= 1) {
		if (v >> step) {
			v >>= step;
			k += step;
		}
	}
	return k < FS_LAT_BUCKETS ? k : FS_LAT_BUCKETS - 1;
}

#endif
