/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook_table.c - which kernel function or tracepoint gives which signal, as data.
 *
 * A new hook is a new row here and a program in bpf/. Prototypes are those of 6.1 to 6.18 as
 * caps_func_proto() prints them; where kernels differ and the program copes, both are listed.
 * Where one hook begins what another ends, the end comes first: attached in this order, no end is
 * missed for a beginning that was counted.
 * Costs: dispatch (tracepoint 75 ns, as measured with an empty program on 6.18) plus a typical
 * body; those of fentry and kprobe are estimates.
 */
#include "hooks.h"

const char *const family_names[FAMILIES] = {
	[FAM_ACCESS] = "access", [FAM_BACKLOG] = "backlog", [FAM_GRACE] = "grace",
	[FAM_REFCOUNT] = "refcount",
};

const char *const backend_names[BACKENDS] = {
	[BK_TP_BTF] = "tp_btf", [BK_RAW_TP] = "raw_tp", [BK_FENTRY] = "fentry",
	[BK_FEXIT] = "fexit", [BK_KPROBE] = "kprobe", [BK_ITER] = "iter",
	[BK_SYSCALL] = "syscall",
};

const struct signal_info signals[SIGNALS] = {
	[SIG_ACCESS_READ] = { "access.read", FAM_ACCESS, true,
		.gives = "accesses, pages and hot pages of buffered reads" },
	[SIG_ACCESS_FAULT] = { "access.fault", FAM_ACCESS, true,
		.gives = "accesses, pages and hot pages of page faults" },
	[SIG_ACCESS_LIFECYCLE] = { "access.lifecycle", FAM_ACCESS, true,
		.gives = "pages inserted into the page cache, removed, written" },
	[SIG_ACCESS_MARKS] = { "access.marks", FAM_ACCESS, false,
		.gives = "folio_mark_accessed calls, and those that find the folio saturated",
		.user = true },
	[SIG_ACCESS_TMPFS] = { "access.tmpfs", FAM_ACCESS, false,
		.gives = "accesses and pages of reads from tmpfs" },
	[SIG_ACCESS_TREE] = { "access.tree", FAM_ACCESS, false,
		.gives = "children of filtered processes, from their first access on" },
	[SIG_BACKLOG] = { "backlog.cpus", FAM_BACKLOG, true,
		.gives = "RCU callbacks waiting on each CPU, by segment" },
	[SIG_GRACE_COUNT] = { "grace.count", FAM_GRACE, true,
		.gives = "grace periods started and completed" },
	[SIG_GRACE_NORMAL] = { "grace.normal", FAM_GRACE, false,
		.gives = "latency of normal grace periods" },
	[SIG_GRACE_EXPEDITED] = { "grace.expedited", FAM_GRACE, false,
		.gives = "latency and requesters of expedited grace periods" },
	[SIG_REFCOUNT_OPS] = { "refcount.ops", FAM_REFCOUNT, true,
		.gives = "gets and puts on folios, and their bounces between CPUs" },
};

#define P_FOLIO		"void (struct folio *)"
#define P_MAPPING_RANGE	"void (struct address_space *, unsigned long, unsigned long)"
#define P_READ_ITER	"long (struct kiocb *, struct iov_iter *)"
#define P_SPLICE_READ	"long (struct file *, long long *, struct pipe_inode_info *, " \
			"unsigned long, unsigned int)"
#define P_FILEMAP_READ	"long (struct kiocb *, struct iov_iter *, long)"
#define P_FAULT		"unsigned int (struct vm_fault *)"
#define P_FAULT_RANGE	"unsigned int (struct vm_fault *, unsigned long, unsigned long)"
#define P_KTHREAD_WORK	"void (struct kthread_work *)"
#define P_WORK		"void (struct work_struct *)"
#define P_PAGE_REF	"void (struct page *, int)"
#define P_PAGE_REF_RET	"void (struct page *, int, int)"

/* From current->se.cfs_rq->rq to this CPU's rcu_data by the distance of two per-CPU variables. */
static const struct type_need rcu_data_types[] = {
	{ "rcu_data", "cblist", NULL },
	{ "rcu_data", "cpu", NULL },
	{ "rcu_segcblist", "len", NULL },
	{ "rcu_segcblist", "seglen", NULL },
	{ "task_struct", "se", NULL },
	{ "sched_entity", "cfs_rq", "CONFIG_FAIR_GROUP_SCHED" },
	{ "cfs_rq", "rq", "CONFIG_FAIR_GROUP_SCHED" },
	{ TYPE_PERCPU, "runqueues", NULL },
	{ TYPE_PERCPU, "rcu_data", NULL },
	{ NULL, NULL, NULL },
};

static const struct type_need rcu_data_kallsyms_types[] = {
	{ "rcu_data", "cblist", NULL },
	{ "rcu_data", "cpu", NULL },
	{ "rcu_segcblist", "len", NULL },
	{ "rcu_segcblist", "seglen", NULL },
	{ NULL, NULL, NULL },
};

/* From rcu_data up the tree of rcu_node to its root, which lies at a known place in rcu_state. */
static const struct type_need rcu_state_types[] = {
	{ "rcu_data", "mynode", NULL },
	{ "rcu_node", "parent", NULL },
	{ "rcu_state", "node", NULL },
	{ "rcu_state", "gp_seq", NULL },
	{ "rcu_state", "expedited_sequence", NULL },
	{ NULL, NULL, NULL },
};

static const struct type_need gp_kthread_types[] = {
	{ "rcu_data", "mynode", NULL },
	{ "rcu_node", "parent", NULL },
	{ "rcu_state", "node", NULL },
	{ "rcu_state", "gp_seq", NULL },
	{ "rcu_state", "gp_kthread", NULL },
	{ NULL, NULL, NULL },
};

const struct variant variants[] = {
	/* 6.12 and later. filemap_read is one level up: it sees reads that fail, too. */
	{
		.signal = SIG_ACCESS_READ, .name = "tp_btf", .needs = NEED_SYSCR,
		.hooks = {
			{ BK_TP_BTF, "access_read_tp", { "mm_filemap_get_pages" },
			  .proto = P_MAPPING_RANGE },
		},
		.rank = 0, .cost_ns = 165,
		.caveat = "reads that fail before the cache is searched; io_uring reads of one "
			  "file in a row can count as one access",
	}, {
		.signal = SIG_ACCESS_READ, .name = "fentry",
		.hooks = {
			{ BK_FENTRY, "access_read_fentry", { "filemap_read" },
			  .proto = P_FILEMAP_READ },
			{ BK_FENTRY, "access_splice_fentry", { "filemap_splice_read" },
			  .proto = P_SPLICE_READ, .if_present = true },
		},
		.rank = 1, .cost_ns = 120,
	}, {
		.signal = SIG_ACCESS_READ, .name = "kprobe", .needs = NEED_PROBE_READ,
		.hooks = {
			{ BK_KPROBE, "access_read_kprobe", { "filemap_read" },
			  .proto = P_FILEMAP_READ },
			{ BK_KPROBE, "access_splice_kprobe", { "filemap_splice_read" },
			  .proto = P_SPLICE_READ, .if_present = true },
		},
		.rank = 1, .cost_ns = 250,
	},

	{
		.signal = SIG_ACCESS_FAULT, .name = "tp_btf",
		.hooks = {
			{ BK_TP_BTF, "access_fault_tp", { "mm_filemap_fault" },
			  .proto = "void (struct address_space *, unsigned long)" },
			{ BK_TP_BTF, "access_mapped_tp", { "mm_filemap_map_pages" },
			  .proto = P_MAPPING_RANGE },
		},
		.rank = 0, .cost_ns = 165,
		.caveat = "which pages of a fault-around window were mapped: pages is an upper "
			  "bound",
	}, {
		.signal = SIG_ACCESS_FAULT, .name = "fentry",
		.hooks = {
			{ BK_FENTRY, "access_fault_fentry", { "filemap_fault" }, .proto = P_FAULT },
			{ BK_FENTRY, "access_mapped_fentry", { "filemap_map_pages" },
			  .proto = P_FAULT_RANGE },
		},
		.rank = 1, .cost_ns = 120,
		.caveat = "which pages of a fault-around window were mapped: pages is an upper "
			  "bound",
	}, {
		.signal = SIG_ACCESS_FAULT, .name = "kprobe", .needs = NEED_PROBE_READ,
		.hooks = {
			{ BK_KPROBE, "access_fault_kprobe", { "filemap_fault" }, .proto = P_FAULT },
			{ BK_KPROBE, "access_mapped_kprobe", { "filemap_map_pages" },
			  .proto = P_FAULT_RANGE },
		},
		.rank = 1, .cost_ns = 250,
		.caveat = "which pages of a fault-around window were mapped: pages is an upper "
			  "bound",
	},

	/* Folios since 5.17 (mm) and 5.18 (writeback). */
	{
		.signal = SIG_ACCESS_LIFECYCLE, .name = "tp_btf",
		.hooks = {
			{ BK_TP_BTF, "access_insert_tp", { "mm_filemap_add_to_page_cache" },
			  .proto = P_FOLIO },
			{ BK_TP_BTF, "access_remove_tp", { "mm_filemap_delete_from_page_cache" },
			  .proto = P_FOLIO },
			{ BK_TP_BTF, "access_dirty_tp", { "writeback_dirty_folio" },
			  .proto = "void (struct folio *, struct address_space *)" },
		},
		.cost_ns = 150,
		.caveat = "insertions into tmpfs; replacement of a folio by migration or collapse",
	},

	{
		.signal = SIG_ACCESS_MARKS, .name = "fentry",
		.hooks = {
			{ BK_FENTRY, "access_marks_fentry", { "folio_mark_accessed" },
			  .proto = P_FOLIO },
		},
		.cost_ns = 90,
	}, {
		.signal = SIG_ACCESS_MARKS, .name = "kprobe", .needs = NEED_PROBE_READ,
		.hooks = {
			{ BK_KPROBE, "access_marks_kprobe", { "folio_mark_accessed" },
			  .proto = P_FOLIO },
		},
		.cost_ns = 220,
	},

	/* No tracepoint on the path. Before 6.5 a splice comes through shmem_file_read_iter. */
	{
		.signal = SIG_ACCESS_TMPFS, .name = "fentry",
		.hooks = {
			{ BK_FENTRY, "access_tmpfs_fentry", { "shmem_file_read_iter" },
			  .proto = P_READ_ITER },
			{ BK_FENTRY, "access_tmpfs_splice_fentry", { "shmem_file_splice_read" },
			  .proto = P_SPLICE_READ, .if_present = true },
		},
		.cost_ns = 120,
	}, {
		.signal = SIG_ACCESS_TMPFS, .name = "kprobe", .needs = NEED_PROBE_READ,
		.hooks = {
			{ BK_KPROBE, "access_tmpfs_kprobe", { "shmem_file_read_iter" },
			  .proto = P_READ_ITER },
			{ BK_KPROBE, "access_tmpfs_splice_kprobe", { "shmem_file_splice_read" },
			  .proto = P_SPLICE_READ, .if_present = true },
		},
		.cost_ns = 250,
	}, {
		.signal = SIG_ACCESS_TMPFS, .name = "syscalls", .needs = NEED_REQUEST,
		.request = "--tmpfs-syscalls",
		.hooks = {
			{ BK_RAW_TP, "access_tmpfs_syscall", { "sys_exit" },
			  .proto = "void (struct pt_regs *, long)" },
		},
		.rank = 1, .cost_ns = 110,
		.caveat = "adds its cost to every system call of the machine",
	},

	{
		.signal = SIG_ACCESS_TREE, .name = "tp_btf",
		.hooks = {
			/* clone flags: u64 since 6.18 */
			{ BK_TP_BTF, "access_fork_tp", { "task_newtask" },
			  .proto = "void (struct task_struct *, unsigned long)|"
			  "void (struct task_struct *, unsigned long long)" },
		},
		.cost_ns = 100,
	},

	/* 1.9 us for a whole sample of two CPUs; nothing runs in between. */
	{
		.signal = SIG_BACKLOG, .name = "rcu_data", .types = rcu_data_types,
		.hooks = {
			{ BK_ITER, "backlog_find_iter", .target = { "task" } },
			{ BK_SYSCALL, .prog = "backlog_sample" },
		},
		.rank = 0,
		.caveat = "what comes and goes between two samples",
	}, {
		.signal = SIG_BACKLOG, .name = "rcu_data-kallsyms", .needs = NEED_KSYM_ADDR,
		.ksym = "__per_cpu_offset", .ksym_also = "rcu_data",
		.types = rcu_data_kallsyms_types,
		.hooks = {
			{ BK_SYSCALL, .prog = "backlog_sample" },
		},
		.rank = 1,
		.caveat = "what comes and goes between two samples",
	},

	{
		.signal = SIG_GRACE_COUNT, .name = "sequence", .needs = NEED_BACKLOG,
		.types = rcu_state_types,
		.hooks = {
			{ BK_SYSCALL, .prog = "backlog_sample" },
		},
	},

	{
		.signal = SIG_GRACE_NORMAL, .name = "rcu_trace", .config = "CONFIG_RCU_TRACE",
		.hooks = {
			{ BK_TP_BTF, "grace_normal_tp", { "rcu_grace_period" },
			  .proto = "void (const char *, unsigned long, const char *)" },
		},
		.rank = 0, .cost_ns = 150,
	}, {
		.signal = SIG_GRACE_NORMAL, .name = "fexit", .serial = true,
		.hooks = {
			{ BK_FEXIT, "grace_cleanup_fexit", { "rcu_gp_cleanup" },
			  .proto = "void (void)" },
			{ BK_FEXIT, "grace_init_fexit", { "rcu_gp_init" },
			  .proto = "bool (void)" },
		},
		.rank = 1, .cost_ns = 150,
	}, {
		.signal = SIG_GRACE_NORMAL, .name = "gp_kthread", .needs = NEED_BACKLOG,
		.types = gp_kthread_types,
		.hooks = {
			{ BK_TP_BTF, "grace_normal_switch_tp", { "sched_switch" },
			  .proto = "void (bool, struct task_struct *, struct task_struct *, "
				   "unsigned int)" },
		},
		.rank = 2, .cost_ns = 80,
		.caveat = "the moment between two periods that the kthread runs back to back; "
			  "runs at every context switch",
	},

	{
		.signal = SIG_GRACE_EXPEDITED, .name = "rcu_trace", .config = "CONFIG_RCU_TRACE",
		.hooks = {
			{ BK_TP_BTF, "grace_exp_tp", { "rcu_exp_grace_period" },
			  .proto = "void (const char *, unsigned long, const char *)" },
		},
		.rank = 0, .cost_ns = 150, .requesters = true,
	}, {
		/* Since 6.9 a kthread worker runs expedited periods, before that mostly a workqueue. */
		.signal = SIG_GRACE_EXPEDITED, .name = "kthread_work", .needs = NEED_KSYM_ADDR,
		.ksym = "wait_rcu_exp_gp",
		.when_func = "wait_rcu_exp_gp", .when_proto = P_KTHREAD_WORK,
		.hooks = {
			/* tp_btf cannot read an argument that is a function pointer. */
			{ BK_RAW_TP, "grace_exp_end_kthread", { "sched_kthread_work_execute_end" },
			  .proto = "void (struct kthread_work *, kthread_work_func_t)" },
			{ BK_TP_BTF, "grace_exp_start_kthread",
			  { "sched_kthread_work_execute_start" }, .proto = P_KTHREAD_WORK },
			{ BK_TP_BTF, "grace_exp_queue_kthread", { "sched_kthread_work_queue_work" },
			  .proto = "void (struct kthread_worker *, struct kthread_work *)" },
		},
		.rank = 1, .cost_ns = 90, .requesters = true,
	}, {
		.signal = SIG_GRACE_EXPEDITED, .name = "workqueue", .needs = NEED_KSYM_ADDR,
		.ksym = "wait_rcu_exp_gp",
		.when_func = "wait_rcu_exp_gp", .when_proto = P_WORK,
		.hooks = {
			{ BK_RAW_TP, "grace_exp_end_wq", { "workqueue_execute_end" },
			  .proto = "void (struct work_struct *, work_func_t)" },
			{ BK_TP_BTF, "grace_exp_start_wq", { "workqueue_execute_start" },
			  .proto = P_WORK },
			{ BK_TP_BTF, "grace_exp_queue_wq", { "workqueue_queue_work" },
			  .proto = "void (int, struct pool_workqueue *, struct work_struct *)|"
			  "void (unsigned int, struct pool_workqueue *, struct work_struct *)" },
		},
		.rank = 1, .cost_ns = 90, .requesters = true,
		.caveat = "runs for every work item of the machine",
	}, {
		.signal = SIG_GRACE_EXPEDITED, .name = "functions", .serial = true,
		.hooks = {
			{ BK_FEXIT, "grace_exp_wake_fexit", { "rcu_exp_wait_wake" },
			  .proto = "void (unsigned long)" },
			{ BK_FENTRY, "grace_exp_select_fentry", { "sync_rcu_exp_select_cpus" },
			  .proto = "void (void)" },
		},
		.rank = 2, .cost_ns = 150,
		.caveat = "requesters; the wait before the period starts",
	},

	/*
	 * Removal and free are hooked first: an op that comes after the removal must find the file
	 * that the folio was of.
	 */
	{
		.signal = SIG_REFCOUNT_OPS, .name = "page_ref", .config = "CONFIG_DEBUG_PAGE_REF",
		.ref = REFS_PAGE_REF,
		.hooks = {
			{ BK_RAW_TP, "refcount_freed_raw", { "mm_page_free" },
			  .proto = "void (struct page *, unsigned int)" },
			{ BK_RAW_TP, "refcount_removed_raw",
			  { "mm_filemap_delete_from_page_cache" }, .proto = P_FOLIO },
			{ BK_RAW_TP, "refcount_mod_raw", { "page_ref_mod" }, .proto = P_PAGE_REF,
			  .in_btf = true },
			{ BK_RAW_TP, "refcount_mod_and_test_raw", { "page_ref_mod_and_test" },
			  .proto = P_PAGE_REF_RET },
			{ BK_RAW_TP, "refcount_mod_and_return_raw", { "page_ref_mod_and_return" },
			  .proto = P_PAGE_REF_RET },
			{ BK_RAW_TP, "refcount_mod_unless_raw", { "page_ref_mod_unless" },
			  .proto = P_PAGE_REF_RET },
			{ BK_RAW_TP, "refcount_freeze_raw", { "page_ref_freeze" },
			  .proto = P_PAGE_REF_RET },
		},
		.rank = 0, .cost_ns = 200,
	}, {
		/*
		 * Since 6.2; before, lookups are inlined into their callers. Against page_ref bounces
		 * are right to 1 %, where what is derived is off by up to 18 %; but a small read takes
		 * twice as long. So: on request, with --exact and with --sites.
		 */
		.signal = SIG_REFCOUNT_OPS, .name = "functions", .ref = REFS_FUNCTIONS,
		.needs = NEED_REQUEST, .request = "--exact, --sites",
		.hooks = {
			{ BK_RAW_TP, "refcount_freed_raw", { "mm_page_free" },
			  .proto = "void (struct page *, unsigned int)" },
			{ BK_RAW_TP, "refcount_removed_raw",
			  { "mm_filemap_delete_from_page_cache" }, .proto = P_FOLIO },
			{ BK_FENTRY, "refcount_put_last_fentry", { "__folio_put" },
			  .proto = P_FOLIO },
			{ BK_FENTRY, "refcount_put_batch_fentry", { "folios_put_refs" },
			  .proto = "void (struct folio_batch *, unsigned int *)" },
			{ BK_FEXIT, "refcount_read_fexit", { "filemap_read" },
			  .proto = P_FILEMAP_READ },
			{ BK_FEXIT, "refcount_shmem_fexit", { "shmem_file_read_iter" },
			  .proto = P_READ_ITER },
			{ BK_FENTRY, "refcount_shmem_fentry", { "shmem_file_read_iter" },
			  .proto = P_READ_ITER },
			{ BK_FEXIT, "refcount_read_batch_fexit", { "filemap_get_read_batch" },
			  .proto = "void (struct address_space *, unsigned long, unsigned long, "
				   "struct folio_batch *)" },
			{ BK_FEXIT, "refcount_entry_fexit", { "filemap_get_entry" },
			  .proto = "void * (struct address_space *, unsigned long)" },
			{ BK_FEXIT, "refcount_mapped_fexit", { "next_uptodate_folio" },
			  .proto = "struct folio * (struct xa_state *, struct address_space *, "
				   "unsigned long)" },
		},
		.rank = 1, .cost_ns = 400,
		.caveat = "puts other than of reads, batches and the last one; makes small reads twice "
			  "as long",
	}, {
		.signal = SIG_REFCOUNT_OPS, .name = "derived", .needs = NEED_ACCESS,
		.ref = REFS_DERIVED,
		.hooks = {
			{ BK_RAW_TP, "refcount_freed_raw", { "mm_page_free" },
			  .proto = "void (struct page *, unsigned int)", .exact_only = true },
		},
		.rank = 2, .cost_ns = 20,
		.caveat = "references that are not of reads and faults; bounces of puts; from "
			  "access.read and access.fault",
	},
};

const size_t nvariants = sizeof(variants) / sizeof(variants[0]);
