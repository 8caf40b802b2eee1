// SPDX-License-Identifier: GPL-2.0-only
/*
 * grace.bpf.c - family `grace`: how long grace periods take, and who asks for expedited ones.
 *
 * How many there are is read from the sequence numbers (backlog.bpf.c). The programs here add
 * latencies and requesters. Several variants a kind; one of them is attached.
 *
 * Normal: rcu_grace_period (RCU_TRACE), rcu_gp_init/rcu_gp_cleanup, or the switches of the
 * grace-period kthread. Expedited: rcu_exp_grace_period, the work item that drives a period
 * (kthread work since 6.9 and with CONFIG_RCU_EXP_KTHREAD, else a workqueue item), or the two
 * functions inside of it.
 *
 * Atomics throughout: a period begins and ends on different CPUs, the end of an expedited one
 * overlaps the beginning of the next, and these events are rare, except for the switches.
 */
#include "rcu.bpf.h"

const volatile __u64 grace_exp_func;	/* address of wait_rcu_exp_gp, 0: unknown */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FS_GPS);
	__type(key, __u32);
	__type(value, struct fs_gp_stat);
} grace_stat SEC(".maps");

#define REQUESTERS 256
#define REQUESTERS_BY_TGID (REQUESTERS * 3 / 4)

/* Preallocated; nothing is ever deleted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTERS);
	__type(key, struct fs_requester);
	__type(value, __u64);
} grace_requesters SEC(".maps");

/*
 * Begin of the expedited periods under way, by what their beginning and end have in common. Two
 * at most: the exp_mutex is let go as soon as the first waiter has been woken.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u64);
} grace_exp_begin SEC(".maps");

extern struct backlog_state_map backlog_state SEC(".maps");

static __u64 grace_nrequesters;

static __always_inline struct fs_gp_stat *stat_of(__u32 kind)
{
	return bpf_map_lookup_elem(&grace_stat, &kind);
}

static __always_inline void raise_max(__u64 *max, __u64 v)
{
	__u64 old = *(volatile __u64 *)max, seen;
	int i;

	for (i = 0; i < 4 && v > old; i++) {
		seen = __sync_val_compare_and_swap(max, old, v);
		if (seen == old)
			return;
		old = seen;
	}
}

static __always_inline void begin(struct fs_gp_stat *st, __u64 now)
{
	__sync_fetch_and_add(&st->started, 1);
	st->begin = now;
}

/* A period that is counted as started ends. since: when it began, 0: unknown. */
static __always_inline void end(struct fs_gp_stat *st, __u64 since, __u64 now)
{
	__u64 ns = now - since;

	__sync_fetch_and_add(&st->completed, 1);
	if (!since || since > now) {
		__sync_fetch_and_add(&st->unmatched, 1);
		return;
	}
	__sync_fetch_and_add(&st->lat_sum, ns);
	__sync_fetch_and_add(&st->buckets[gp_bucket(ns) & (FS_LAT_BUCKETS - 1)], 1);
	raise_max(&st->lat_max, ns);
}

/* The same for hooks that see beginnings: one they did not see was before they were attached. */
static __always_inline void end_of(struct fs_gp_stat *st, __u64 since, __u64 now)
{
	if (!since)
		__sync_fetch_and_add(&st->started, 1);
	end(st, since, now);
}

static __always_inline bool count_key(struct fs_requester *key)
{
	__u64 *n, zero = 0;

	n = bpf_map_lookup_elem(&grace_requesters, key);
	if (!n) {
		if (!bpf_map_update_elem(&grace_requesters, key, &zero, BPF_NOEXIST))
			__sync_fetch_and_add(&grace_nrequesters, 1);
		n = bpf_map_lookup_elem(&grace_requesters, key);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
	return n;
}

/*
 * The current task asks for an expedited period. Short-lived processes (umount) would fill the
 * table with one entry each: when it is three quarters full, new ones are kept by name, tgid 0.
 */
static __always_inline void count_requester(struct fs_gp_stat *st)
{
	struct fs_requester key;

	__builtin_memset(&key, 0, sizeof(key));
	key.kind = FS_GP_EXPEDITED;
	key.tgid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	__sync_fetch_and_add(&st->requests, 1);
	if (*(volatile __u64 *)&grace_nrequesters >= REQUESTERS_BY_TGID &&
	    !bpf_map_lookup_elem(&grace_requesters, &key))
		key.tgid = 0;
	if (!count_key(&key))
		__sync_fetch_and_add(&st->req_full, 1);
}

/* ---- normal ---- */

static __always_inline void normal_start(void)
{
	struct fs_gp_stat *st = stat_of(FS_GP_NORMAL);

	if (st)
		begin(st, bpf_ktime_get_ns());
}

static __always_inline void normal_end(void)
{
	struct fs_gp_stat *st = stat_of(FS_GP_NORMAL);

	if (!st)
		return;
	end_of(st, st->begin, bpf_ktime_get_ns());
	st->begin = 0;
}

/* Event names are compared as numbers, with the NUL and no more: 8 bytes in one load. */
#define CH(c, i) ((__u64)(c) << 8 * (i))
#define EV_START (CH('s', 0) | CH('t', 1) | CH('a', 2) | CH('r', 3) | CH('t', 4))
#define EV_START_MASK ((1ULL << 48) - 1)
#define EV_END (CH('e', 0) | CH('n', 1) | CH('d', 2))
#define EV_END_MASK ((1ULL << 32) - 1)
#define NAME_RCU (CH('r', 0) | CH('c', 1) | CH('u', 2) | CH('_', 3))
#define NAME_RCU_MASK ((1ULL << 32) - 1)

SEC("?tp_btf/rcu_grace_period")
int BPF_PROG(grace_normal_tp, const char *name, unsigned long gp_seq, const char *ev)
{
	__u64 text = load64((__u64)ev);

	/* Most events are of single CPUs: cpustart, cpuqs, cpuend. */
	if ((text & EV_START_MASK) != EV_START && (text & EV_END_MASK) != EV_END)
		return 0;
	/* rcu_preempt or rcu_sched, the one flavour of struct rcu_state. */
	if ((load64((__u64)name) & NAME_RCU_MASK) != NAME_RCU)
		return 0;
	if ((text & EV_END_MASK) == EV_END)
		normal_end();
	else
		normal_start();
	return 0;
}

/* Seen at the end of initialisation, which takes the time that CPUs need to come and go. */
SEC("?fexit/rcu_gp_init")
int BPF_PROG(grace_init_fexit, bool started)
{
	if (started)
		normal_start();
	return 0;
}

SEC("?fexit/rcu_gp_cleanup")
int BPF_PROG(grace_cleanup_fexit)
{
	normal_end();
	return 0;
}

/*
 * Only the grace-period kthread changes gp_seq, so all changes lie between its switch-in and
 * switch-out. A beginning is dated at the first, an end at the second: a latency is never too
 * short and at most two runs of the kthread too long. Where a switch was not seen (a kernel may
 * hide those of some threads, the hook may have been off) the periods are counted without one.
 * Plain stores: one thread's switches are in order.
 */
static volatile __u64 run_in;	/* ktime of its switch-in, 0: not running, or not seen */
static volatile __u64 run_seq;	/* gp_seq when it was seen last */
static volatile bool run_known;	/* run_seq is valid */

/* in: when the kthread was switched in, 0: unknown. */
static __always_inline void gp_seq_seen(__u64 seq, __u64 in, __u64 now)
{
	struct fs_gp_stat *st = stat_of(FS_GP_NORMAL);
	__u64 old = run_seq, completed, started;

	if (!st)
		return;
	run_seq = seq;
	if (!run_known) {
		run_known = true;
		st->started += gp_seq_running(seq);
		return;
	}
	if (seq == old)
		return;
	completed = gp_seq_completed(old, seq);
	started = gp_seq_started(old, seq) - gp_seq_running(old);
	__sync_fetch_and_add(&st->started, started);
	if (completed) {
		end(st, !in ? 0 : gp_seq_running(old) ? st->begin : in, now);
		/* More than one in one run: those between have no edge that we saw. */
		__sync_fetch_and_add(&st->completed, completed - 1);
		__sync_fetch_and_add(&st->unmatched, completed - 1);
	}
	st->begin = gp_seq_running(seq) ? in : 0;
}

/* Every switch of every CPU comes by: two comparisons, then out. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(grace_normal_switch_tp, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	struct fs_rcu_state *st;
	__u32 zero = 0;
	__u64 seq, now;

	st = bpf_map_lookup_elem(&backlog_state, &zero);
	if (!st || ((__u64)prev != st->gp_kthread && (__u64)next != st->gp_kthread))
		return 0;
	if (!st->rsp)
		return 0;
	seq = STATE_LOAD64(st->rsp, gp_seq);
	now = bpf_ktime_get_ns();
	if ((__u64)next == st->gp_kthread) {
		gp_seq_seen(seq, 0, now);
		run_in = now;
	} else {
		gp_seq_seen(seq, run_in, now);
		run_in = 0;
	}
	return 0;
}

/* ---- expedited ---- */

static __always_inline void exp_begin(__u64 key, bool again)
{
	struct fs_gp_stat *st = stat_of(FS_GP_EXPEDITED);
	__u64 now = bpf_ktime_get_ns();

	if (!st)
		return;
	/* A key left over from an end that was not seen is overwritten. */
	if (!bpf_map_update_elem(&grace_exp_begin, &key, &now, again ? BPF_NOEXIST : BPF_ANY))
		begin(st, now);
}

static __always_inline void exp_end(__u64 key)
{
	struct fs_gp_stat *st = stat_of(FS_GP_EXPEDITED);
	__u64 *p, since = 0;

	if (!st)
		return;
	p = bpf_map_lookup_elem(&grace_exp_begin, &key);
	if (p) {
		since = *p;
		bpf_map_delete_elem(&grace_exp_begin, &key);
	}
	end_of(st, since, bpf_ktime_get_ns());
	if (st->begin == since)
		st->begin = 0;	/* else the next one has begun already */
}

static __always_inline void exp_request(__u64 key)
{
	struct fs_gp_stat *st = stat_of(FS_GP_EXPEDITED);

	exp_begin(key, false);
	if (st)
		count_requester(st);
}

/*
 * "snap", then "start" in the context of the caller whose request it becomes (exp_funnel_lock);
 * "reset", "select", "startwait", "end", "endwake" in the worker; "done" in each caller. Both
 * ends of a period carry the same sequence number.
 */
SEC("?tp_btf/rcu_exp_grace_period")
int BPF_PROG(grace_exp_tp, const char *name, unsigned long gp_seq, const char *ev)
{
	__u64 text = load64((__u64)ev);

	if ((text & EV_START_MASK) == EV_START)
		exp_request(gp_seq);
	else if ((text & EV_END_MASK) == EV_END)
		exp_end(gp_seq);
	return 0;
}

/*
 * The work item. It is queued by the caller whose request the period becomes, right after the
 * sequence number has gone up; it ends when all waiters of the period have been woken. Its
 * address (the caller's stack) is the key. Its beginning matters for one that was queued
 * before we were attached.
 */
SEC("?tp_btf/sched_kthread_work_queue_work")
int BPF_PROG(grace_exp_queue_kthread, struct kthread_worker *worker, struct kthread_work *work)
{
	if ((__u64)work->func == grace_exp_func)
		exp_request((__u64)work);
	return 0;
}

SEC("?tp_btf/sched_kthread_work_execute_start")
int BPF_PROG(grace_exp_start_kthread, struct kthread_work *work)
{
	if ((__u64)work->func == grace_exp_func)
		exp_begin((__u64)work, true);
	return 0;
}

/* raw_tp: tp_btf refuses to read a function pointer argument. */
SEC("?raw_tp/sched_kthread_work_execute_end")
int grace_exp_end_kthread(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[1] == grace_exp_func)
		exp_end(ctx->args[0]);
	return 0;
}

SEC("?tp_btf/workqueue_queue_work")
int BPF_PROG(grace_exp_queue_wq, int req_cpu, struct pool_workqueue *pwq,
	     struct work_struct *work)
{
	if ((__u64)work->func == grace_exp_func)
		exp_request((__u64)work);
	return 0;
}

SEC("?tp_btf/workqueue_execute_start")
int BPF_PROG(grace_exp_start_wq, struct work_struct *work)
{
	if ((__u64)work->func == grace_exp_func)
		exp_begin((__u64)work, true);
	return 0;
}

SEC("?raw_tp/workqueue_execute_end")
int grace_exp_end_wq(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[1] == grace_exp_func)
		exp_end(ctx->args[0]);
	return 0;
}

/* Both in the worker, one after the other: the thread is the key. The caller is not seen. */
SEC("?fentry/sync_rcu_exp_select_cpus")
int BPF_PROG(grace_exp_select_fentry)
{
	exp_begin(bpf_get_current_pid_tgid(), false);
	return 0;
}

SEC("?fexit/rcu_exp_wait_wake")
int BPF_PROG(grace_exp_wake_fexit, unsigned long s)
{
	exp_end(bpf_get_current_pid_tgid());
	return 0;
}
