// SPDX-License-Identifier: GPL-2.0-only
/*
 * backlog.bpf.c - family `backlog`: what waits on which CPU for a grace period.
 *
 * backlog_find_iter finds each CPU's struct rcu_data without kallsyms: a cpuhp/N thread is queued
 * on CPU N's struct rq, which lies in the same per-CPU area. Where that leads nowhere (no fair
 * group scheduling, a PID name space without kernel threads) backlog_sample takes the bases from
 * __per_cpu_offset[] instead, if user space may know its address. From then on backlog_sample
 * reads all CPUs in one call. Nothing is attached: the kernel's own paths are not slowed down.
 */
#include "rcu.bpf.h"

/*
 * Distances inside a per-CPU area, from the BTF section .data..percpu. Differences, since the
 * section does not begin at 0 everywhere (x86-64 since 6.15).
 */
const volatile bool cfg_backlog_by_rq;
const volatile __s64 cfg_backlog_rq_to_rdp;
const volatile bool cfg_backlog_has_krc;
const volatile __s64 cfg_backlog_rdp_to_krc;
/* The other way: addresses of __per_cpu_offset[] and rcu_data, 0: not known. */
const volatile __u64 cfg_backlog_percpu_offset;
const volatile __u64 cfg_backlog_rdp_sym;
const volatile __u32 cfg_backlog_cpus;	/* nr_cpu_ids */

struct backlog_cpus_map backlog_cpus SEC(".maps");
struct backlog_state_map backlog_state SEC(".maps");

#define RCU_LEVELS 4	/* RCU_NUM_LVLS is 4 at most */

/*
 * An address out of a typed pointer. The verifier allows no arithmetic on the pointer itself, but
 * forgets its type when it goes through memory. One user of the iterator at a time.
 */
static volatile __u64 backlog_scratch;

static __always_inline __u64 address_of(const void *p)
{
	backlog_scratch = (__u64)p;
	return backlog_scratch;
}

/* rcu_state begins at the root of the tree whose leaf the CPU belongs to. */
static __always_inline void find_state(__u64 rdp)
{
	struct fs_rcu_state *st;
	__u64 rnp, parent;
	__u32 zero = 0;
	int i;

	st = bpf_map_lookup_elem(&backlog_state, &zero);
	if (!st || st->rsp)
		return;
	rnp = address_of(KREAD(RAW, (struct rcu_data *)rdp, mynode));
	for (i = 0; i < RCU_LEVELS && rnp; i++) {
		parent = address_of(KREAD(RAW, (struct rcu_node *)rnp, parent));
		if (!parent) {
			st->rsp = rnp - bpf_core_field_offset(struct rcu_state, node);
			return;
		}
		rnp = parent;
	}
}

/* Takes rdp as CPU cpu's base if the kernel agrees. */
static __always_inline bool adopt(struct fs_rcu_cpu *c, __u32 cpu, __u64 rdp)
{
	if ((__u32)KREAD(RAW, (struct rcu_data *)rdp, cpu) != cpu ||
	    !KREAD(RAW, (struct rcu_data *)rdp, mynode))
		return false;
	if (cfg_backlog_has_krc)
		c->krc = rdp + cfg_backlog_rdp_to_krc;
	c->rdp = rdp;
	find_state(rdp);
	return true;
}

/*
 * N of a thread called cpuhp/N; -1: another thread. Loads of single bytes: the helpers that copy
 * strings are refused under lockdown.
 */
static __always_inline int cpuhp_cpu(const struct task_struct *task)
{
	static const char prefix[] = "cpuhp/";
	int i, cpu = 0;
	char c;

#pragma unroll
	for (i = 0; i < 6; i++)
		if (task->comm[i] != prefix[i])
			return -1;
#pragma unroll
	for (i = 6; i < 15; i++) {
		c = task->comm[i];
		if (!c)
			return i > 6 ? cpu : -1;
		if (c < '0' || c > '9')
			return -1;
		cpu = cpu * 10 + (c - '0');
	}
	return cpu;
}

SEC("?iter/task")
int backlog_find_iter(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct fs_rcu_cpu *c;
	__u64 rq;
	__u32 key;
	int cpu;

	if (!task || !cfg_backlog_by_rq || !bpf_core_field_exists(struct sched_entity, cfs_rq))
		return 0;
	if (!(task->flags & PF_KTHREAD))
		return 0;
	cpu = cpuhp_cpu(task);
	if (cpu < 0)
		return 0;
	key = cpu;
	c = bpf_map_lookup_elem(&backlog_cpus, &key);
	if (!c || c->rdp)
		return 0;
	rq = address_of(task->se.cfs_rq->rq);
	if (rq)
		adopt(c, key, rq + cfg_backlog_rq_to_rdp);
	return 0;
}

static __always_inline bool adopt_by_symbol(struct fs_rcu_cpu *c, __u32 cpu)
{
	__u64 base;

	if (!cfg_backlog_percpu_offset || !cfg_backlog_rdp_sym)
		return false;
	base = load64(cfg_backlog_percpu_offset + cpu * sizeof(base));
	return base && adopt(c, cpu, base + cfg_backlog_rdp_sym);
}

static __always_inline __s64 callbacks(__u64 rdp)
{
	struct rcu_data___plain *plain = 0;

	if (bpf_core_field_exists(plain->cblist.len))
		return KREAD(RAW, (struct rcu_data___plain *)rdp, cblist.len);
	return KREAD(RAW, (struct rcu_data *)rdp, cblist.len.counter);
}

static __always_inline __u32 read_bypass(struct fs_rcu_cpu *c, __u64 rdp)
{
	struct rcu_data___nocb *nocb = 0;
	struct rcu_data___v612 *v612 = 0;
	__u8 mask = bpf_core_field_exists(v612->watching_snap) ? SEGCBLIST_OFFLOADED_V612 :
								 SEGCBLIST_OFFLOADED_V61;

	if (!bpf_core_field_exists(nocb->nocb_bypass) ||
	    !(KREAD(RAW, (struct rcu_data *)rdp, cblist.flags) & mask)) {
		c->bypass = 0;
		return 0;
	}
	c->bypass = KREAD(RAW, (struct rcu_data___nocb *)rdp, nocb_bypass.len);
	return FS_RCU_OFFLOADED | FS_RCU_BYPASS;
}

static __always_inline __u32 read_kvfree(struct fs_rcu_cpu *c, __u64 krc)
{
	struct kfree_rcu_cpu___count *one = 0;
	struct kfree_rcu_cpu___channels *many = 0;

	if (!krc)
		return 0;
	if (bpf_core_field_exists(one->count)) {
		c->kvfree = KREAD(RAW, (struct kfree_rcu_cpu___count *)krc, count);
		return FS_RCU_KVFREE;
	}
	if (bpf_core_field_exists(many->head_count) && bpf_core_field_exists(many->bulk_count)) {
		many = (struct kfree_rcu_cpu___channels *)krc;
		c->kvfree = (__s64)KREAD(RAW, many, head_count.counter) +
			    KREAD(RAW, many, bulk_count[0].counter) +
			    KREAD(RAW, many, bulk_count[1].counter);
		return FS_RCU_KVFREE;
	}
	return 0;
}

/* Nothing is locked: the numbers of one CPU are read within some ten ns of each other. */
static long sample_cpu(__u32 cpu, void *unused)
{
	struct fs_rcu_cpu *c = bpf_map_lookup_elem(&backlog_cpus, &cpu);
	struct rcu_data *rdp;
	__u32 flags = FS_RCU_VALID;

	if (!c)
		return 1;
	if (!c->rdp && !adopt_by_symbol(c, cpu))
		return 0;
	rdp = (struct rcu_data *)c->rdp;
	flags |= read_bypass(c, c->rdp);
	/*
	 * Against the way callbacks move: one that moves meanwhile is seen twice rather than
	 * not at all, and the excess over len tells.
	 */
	c->seg[3] = KREAD(RAW, rdp, cblist.seglen[3]);
	c->seg[2] = KREAD(RAW, rdp, cblist.seglen[2]);
	c->seg[1] = KREAD(RAW, rdp, cblist.seglen[1]);
	c->seg[0] = KREAD(RAW, rdp, cblist.seglen[0]);
	c->len = callbacks(c->rdp);
	c->invoked = KREAD(RAW, rdp, n_cbs_invoked);
	c->gp_seq = KREAD(RAW, rdp, gp_seq);
	flags |= read_kvfree(c, c->krc);
	c->flags = flags;
	return 0;
}

SEC("?syscall")
int backlog_sample(void *ctx)
{
	struct fs_rcu_state *st;
	__u32 zero = 0;

	bpf_loop(cfg_backlog_cpus, sample_cpu, 0, 0);
	st = bpf_map_lookup_elem(&backlog_state, &zero);
	if (!st || !st->rsp)
		return 0;
	st->gp_seq = STATE_LOAD64(st->rsp, gp_seq);
	st->exp_seq = STATE_LOAD64(st->rsp, expedited_sequence);
	st->gp_state = STATE_LOAD64(st->rsp, gp_state) & 0xffff;	/* a short */
	st->gp_kthread = STATE_LOAD64(st->rsp, gp_kthread);
	st->valid = 1;
	return 0;
}
