// SPDX-License-Identifier: GPL-2.0-only
/*
 * access.bpf.c - family `access`: which files' page cache is read, mapped, filled and dropped.
 *
 * Reads and faults come from the filemap tracepoints (6.12+), or from the functions that do the
 * work (fentry, kprobe). Several events can be one access: the witness in task storage tells.
 * Counters: table.bpf.h. Heat: hot.bpf.h. Names: name.bpf.h.
 */
#include "compat.bpf.h"
#include "refcount.bpf.h"
#include "hot.bpf.h"
#include "table.bpf.h"

const volatile __u32 cfg_filter;	/* enum fs_filter: all of them must match */
const volatile bool cfg_outside;	/* count what the filter leaves out, as FS_SCOPE_OUT */
const volatile bool cfg_hot_test = true;
const volatile bool cfg_tmpfs;		/* a backend for tmpfs reads is attached */
const volatile __u32 cfg_marks_arg;	/* --hook: position of the folio argument */
const volatile char cfg_comm[FS_COMM];
const volatile struct fs_hot cfg_hot;

/* folio_batch holds 31 (6.12) folios: one lookup returns no more. */
#define LOOKUP_FOLIOS 31
#define CALL_FOLIOS 512

enum {	/* x86-64, arch/x86/entry/syscalls/syscall_64.tbl */
	NR_READ = 0, NR_PREAD64 = 17, NR_READV = 19, NR_SENDFILE = 40, NR_SPLICE = 275,
	NR_PREADV = 295, NR_COPY_FILE_RANGE = 326, NR_PREADV2 = 327,
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fs_task);
} access_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} access_cgroup SEC(".maps");

/* ---- filter ---- */

static __always_inline bool comm_matches(void)
{
	char comm[FS_COMM] = {};
	int i;

	bpf_get_current_comm(comm, sizeof(comm));
	for (i = 0; i < FS_COMM; i++) {
		if (comm[i] != cfg_comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/*
 * Flagged itself (by user space, or at its fork), or a thread of a flagged process that is older
 * than the filter: user space can name thread group leaders only.
 */
static __always_inline bool in_tree(struct task_struct *task, struct fs_task **own)
{
	struct fs_task *t = bpf_task_storage_get(&access_tasks, task, 0, 0);

	*own = t;
	if (!t || !t->in_tree)
		t = bpf_task_storage_get(&access_tasks, task->group_leader, 0, 0);
	return t && t->in_tree;
}

/*
 * The current task's scope; false: not to be counted at all. *own: its storage where it had to be
 * looked up (some 20 ns), else NULL.
 */
static __always_inline bool scope_of(__u32 *scope, struct fs_task **own)
{
	bool in = true;

	*own = 0;
	*scope = FS_SCOPE_IN;
	if (!cfg_filter)
		return true;
	if (cfg_filter & FS_FILTER_TREE)
		in = in_tree(bpf_get_current_task_btf(), own);
	if (in && (cfg_filter & FS_FILTER_CGROUP))
		in = bpf_current_task_under_cgroup(&access_cgroup, 0) == 1;
	if (in && (cfg_filter & FS_FILTER_COMM))
		in = comm_matches();
	if (!in)
		*scope = FS_SCOPE_OUT;
	return in || cfg_outside;
}

SEC("?tp_btf/task_newtask")
int BPF_PROG(access_fork_tp, struct task_struct *child, __u64 clone_flags)
{
	struct fs_task *t;

	if (!in_tree(bpf_get_current_task_btf(), &t))
		return 0;
	t = bpf_task_storage_get(&access_tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		t->in_tree = 1;
	return 0;
}

/* ---- the file an event is about ---- */

struct subject {
	struct fs_key key;
	__u32 flags;		/* enum fs_file_flag */
	__u64 inode;		/* struct inode; also tells files apart within a call */
	__u64 size;		/* i_size */
	__u64 head;		/* i_pages.xa_head */
};

/* The number stat() gives for a btrfs subvolume: snapshots share inode number and generation. */
static __always_inline __u32 btrfs_subdev(struct inode *inode, __u32 *flags)
{
	struct btrfs_inode___fs *bi = 0;

	if (!bpf_core_field_exists(bi->root) || !cfg_probe_read) {
		*flags |= FS_FILE_SUBDEV_UNKNOWN;
		return 0;
	}
	bi = (void *)inode - bpf_core_field_offset(bi->vfs_inode);
	return BPF_CORE_READ(bi, root, anon_dev);
}

/* mode: how to read mapping. */
static __always_inline void subject_any(struct subject *s, struct address_space *mapping,
					const int mode)
{
	struct inode *inode = KREAD(mode, mapping, host);
	struct super_block *sb = KREAD(mode, inode, i_sb);
	__u64 magic = KREAD(mode, sb, s_magic);

	s->inode = (__u64)inode;
	s->flags = 0;
	s->key.ino = KREAD(mode, inode, i_ino);
	s->key.dev = KREAD(mode, sb, s_dev);
	s->key.gen = KREAD(mode, inode, i_generation);
	s->key.subdev = 0;
	if (magic == TMPFS_MAGIC) {
		s->flags |= FS_FILE_SHMEM;
	} else if (magic == BTRFS_SUPER_MAGIC) {
		s->key.subdev = btrfs_subdev(inode, &s->flags);
	} else if (magic == BDEVFS_MAGIC) {
		s->flags |= FS_FILE_BDEV;
	}
	s->size = KREAD(mode, inode, i_size);
	s->head = (__u64)KREAD(mode, mapping, i_pages.xa_head);
}

/* False: not a file to be counted (tmpfs without a backend). */
static __always_inline bool subject_fill(struct subject *s, struct address_space *mapping,
					 const int mode)
{
	subject_any(s, mapping, mode);
	return cfg_tmpfs || !(s->flags & FS_FILE_SHMEM);
}

/* Last page index of the file; false: it has none. */
static __always_inline bool subject_last(const struct subject *s, __u64 *last)
{
	if (!s->size)
		return false;
	*last = (s->size - 1) >> PAGE_SHIFT;
	return true;
}

/* ---- counting ---- */

/* Whether pages are looked up, and what for. */
#define WALK (cfg_hot_test || cfg_ref_derived)

/*
 * Functions that are not static are verified once, by themselves, instead of at each call: that
 * keeps loading fast. They may be given any arguments, so they test pointers.
 */
__noinline int touch_count(struct subject *s, const struct touch *t)
{
	struct place p;

	if (!s || !t || !place_find(&p, &s->key, s->inode, s->flags))
		return 0;
	if (t->accesses)
		place_add(&p, s->key.scope, FS_W_ACCESSES, t->accesses);
	if (t->pages)
		place_add(&p, s->key.scope, FS_W_PAGES, t->pages);
	if (t->hot_pages)
		place_add(&p, s->key.scope, FS_W_HOT_PAGES, t->hot_pages);
	if (t->hot_accesses)
		place_add(&p, s->key.scope, FS_W_HOT_ACCESSES, t->hot_accesses);
	if (t->untested)
		place_add(&p, s->key.scope, FS_W_UNTESTED, t->untested);
	if (t->window)
		place_add(&p, s->key.scope, FS_W_WINDOW, t->window);
	/* A page not looked up has a folio of its own at most. */
	if (cfg_ref_derived)
		derived_count(&p, &s->key, t->folios + t->untested, t->seen);
	return 0;
}

__noinline int count_word(struct subject *s, __u32 word, __u64 n)
{
	struct place p;

	if (s && word < FS_WORDS && place_find(&p, &s->key, s->inode, s->flags))
		place_add(&p, s->key.scope, word, n);
	return 0;
}

static __always_inline void witness_lost(void)
{
	struct fs_cpu *c = cpu_this();

	if (c)
		word_add(&c->witness_lost, 1, false);
}

/* No witness: whether the event begins an access is unknown. It counts as one, and the loss shows. */
static __always_inline int count_untold(struct subject *s, __u64 pages)
{
	struct touch t = { .accesses = 1, .pages = pages, .untested = pages };

	witness_lost();
	return touch_count(s, &t);
}

/* ---- reads, by tracepoint: one event per lookup ---- */

/*
 * sendfile(2), and copy_file_range(2) where the file system copies by splicing, read in rounds of a
 * pipe's size, each with an end of its own. A page that ends one round and begins the next counts
 * once.
 */
static __always_inline bool is_next_round(const struct fs_task *w, const struct subject *s,
					  __u64 index, __u64 syscr, struct task_struct *task)
{
	struct pt_regs *regs;

	if (w->read_syscr != syscr || w->read_inode != s->inode || index < w->read_index ||
	    index > w->read_last + 1)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return regs->orig_ax == NR_SENDFILE || regs->orig_ax == NR_COPY_FILE_RANGE;
}

/*
 * Whether this lookup is the first of its call, proved without task storage: if the last lookup on
 * this CPU was this task's, and the task has not been on another CPU since, then it was the task's
 * last lookup; if a read call has ended since, it belonged to a call before this one. Not for tasks
 * that have used sendfile (they keep a pipe for it): its first round may be of one page, and the
 * next one needs the storage.
 */
static __always_inline bool is_first_lookup(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 start = task->start_time, moves = task->se.nr_migrations, syscr = task->ioac.syscr;
	struct fs_cpu *c = cpu_this();
	bool first = false;

	if (!c)
		return false;
	if (c->read_task == (__u64)task && c->read_start == start && c->read_moves == moves) {
		first = c->read_syscr != syscr;
	} else {
		c->read_task = (__u64)task;
		c->read_start = start;
		c->read_moves = moves;
	}
	c->read_syscr = syscr;
	return first && !task->splice_pipe;
}

/*
 * Lookups of one read call have the same end and a rising index, and current's count of read calls
 * (ioac.syscr, raised when a call ends) stands still. io_uring and splice(2) do not raise it: there,
 * two calls are one if the second begins inside the first and both end on the same page.
 */
__noinline int read_multi(struct subject *s, struct fs_task *w, __u64 index, __u64 last_index,
			  __u64 last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct touch t = {};
	__u64 syscr, from;

	if (!s)
		return 0;
	if (!w)
		w = bpf_task_storage_get(&access_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return count_untold(s, last - index + 1);
	syscr = task->ioac.syscr;
	from = index;
	if (index > w->read_index && w->read_last == last_index && w->read_syscr == syscr &&
	    w->read_inode == s->inode) {
		if (w->hot_next > from)
			from = w->hot_next;
	} else if (is_next_round(w, s, index, syscr, task)) {
		if (from <= w->read_last)
			from = w->read_last + 1;
		if (from <= last)
			t.pages = last - from + 1;
		w->read_last = last_index;
	} else {
		t.accesses = 1;
		t.pages = last - index + 1;
		w->read_syscr = syscr;
		w->read_inode = s->inode;
		w->read_last = last_index;
		w->hot_counted = 0;
	}
	w->read_index = index;
	if (WALK) {
		t.untested = from;
		hot_range(s->head, last, LOOKUP_FOLIOS, s->key.scope, &t);
		w->hot_next = t.untested;
		t.untested = 0;
		if (t.hot_pages && !w->hot_counted)
			t.hot_accesses = w->hot_counted = 1;
	}
	touch_count(s, &t);
	return 0;
}

/* One page, and no other event of the call. */
__noinline int read_first(struct subject *s, __u64 index)
{
	struct touch t = { .accesses = 1, .pages = 1 };

	if (!s)
		return 0;
	if (WALK)
		hot_page(s->head, index, s->key.scope, &t);
	t.hot_accesses = t.hot_pages;
	touch_count(s, &t);
	return 0;
}

SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(access_read_tp, struct address_space *mapping, unsigned long index,
	     unsigned long last_index)
{
	struct subject s = {};
	struct fs_task *own;
	__u64 last;

	if (!scope_of(&s.key.scope, &own) || !subject_fill(&s, mapping, TYPED) ||
	    !subject_last(&s, &last))
		return 0;
	if (last > last_index)
		last = last_index;
	if (index > last)
		return 0;
	/* A call that begins and ends on one page has no other event; at 0 it is its first, too. */
	if ((index || last) && (!is_first_lookup() || index != last))
		return read_multi(&s, own, index, last_index, last);
	return read_first(&s, index);
}

/* ---- reads, by function: one event per call ---- */

/* Heat and count of [index, last]; a continuation adds no access. */
__noinline int read_range(struct subject *s, __u64 index, __u64 last, __u32 continued)
{
	struct touch t = { .accesses = !continued, .pages = last - index + 1 };

	if (!s)
		return 0;
	if (WALK) {
		t.untested = index;
		hot_range(s->head, last, CALL_FOLIOS, s->key.scope, &t);
		t.hot_accesses = t.hot_pages && !continued;
		t.untested = last + 1 - t.untested;
	}
	touch_count(s, &t);
	return 0;
}

/*
 * One splice round of sendfile(2): all rounds of the call are one access. A page that ends one
 * round and begins the next counts once.
 */
__noinline int sendfile_round(struct subject *s, __u64 index, __u64 last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fs_task *w;
	__u64 syscr = task->ioac.syscr;
	bool same;

	if (!s)
		return 0;
	w = bpf_task_storage_get(&access_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w) {
		witness_lost();
		return read_range(s, index, last, 0);
	}
	same = w->read_syscr == syscr && w->read_inode == s->inode &&
	       index >= w->read_last && w->read_index == ~0ULL;
	if (same && index == w->read_last)
		index++;
	w->read_syscr = syscr;
	w->read_inode = s->inode;
	w->read_index = ~0ULL;	/* never a lookup's index: marks a sendfile */
	w->read_last = last;
	if (index > last)
		return 0;
	return read_range(s, index, last, same);
}

static __always_inline int read_call(struct address_space *mapping, __u64 pos, __u64 count,
				     bool sendfile, const int mode)
{
	struct subject s = {};
	struct fs_task *own;
	__u64 last, end;

	if (!count || !scope_of(&s.key.scope, &own) || !subject_fill(&s, mapping, mode) ||
	    pos >= s.size || !subject_last(&s, &last))
		return 0;
	end = (pos + count - 1) >> PAGE_SHIFT;
	if (last > end)
		last = end;
	if (sendfile)
		return sendfile_round(&s, pos >> PAGE_SHIFT, last);
	return read_range(&s, pos >> PAGE_SHIFT, last, 0);
}

/* Before 6.5 sendfile reads through filemap_read into current's own pipe. */
static __always_inline bool iter_is_sendfile(struct iov_iter *iter, const int mode)
{
	struct iov_iter___pipe *i = (void *)iter;

	if (!bpf_core_enum_value_exists(enum iter_type___old, ITER_PIPE___old))
		return false;
	if (BPF_CORE_READ(i, iter_type) !=
	    bpf_core_enum_value(enum iter_type___old, ITER_PIPE___old))
		return false;
	return BPF_CORE_READ(i, pipe) == bpf_get_current_task_btf()->splice_pipe;
}

static __always_inline int read_iter(struct kiocb *iocb, struct iov_iter *iter, const int mode)
{
	struct file *file = KREAD(mode, iocb, ki_filp);

	return read_call(KREAD(mode, file, f_mapping), KREAD(mode, iocb, ki_pos),
			 KREAD(mode, iter, count), iter_is_sendfile(iter, mode), mode);
}

static __always_inline int read_splice(struct file *in, __u64 ppos, struct pipe_inode_info *pipe,
				       __u64 len, const int mode)
{
	return read_call(KREAD(mode, in, f_mapping), load64(ppos), len,
			 (__u64)pipe == (__u64)bpf_get_current_task_btf()->splice_pipe, mode);
}

#define READ_PROGS(name)									\
SEC("?fentry")											\
int BPF_PROG(access_##name##_fentry, struct kiocb *iocb, struct iov_iter *iter)		\
{ return read_iter(iocb, iter, TYPED); }							\
SEC("?kprobe")											\
int BPF_KPROBE(access_##name##_kprobe, struct kiocb *iocb, struct iov_iter *iter)		\
{ return read_iter(iocb, iter, RAW); }

#define SPLICE_PROGS(name)									\
SEC("?fentry")											\
int BPF_PROG(access_##name##_fentry, struct file *in, loff_t *ppos,				\
	     struct pipe_inode_info *pipe, size_t len)						\
{ return read_splice(in, (__u64)ppos, pipe, len, TYPED); }					\
SEC("?kprobe")											\
int BPF_KPROBE(access_##name##_kprobe, struct file *in, loff_t *ppos,				\
	       struct pipe_inode_info *pipe, size_t len)					\
{ return read_splice(in, (__u64)ppos, pipe, len, RAW); }

READ_PROGS(read)
SPLICE_PROGS(splice)
READ_PROGS(tmpfs)
SPLICE_PROGS(tmpfs_splice)

/* ---- faults ---- */

/*
 * Events of one fault have the same min_flt + maj_flt (raised when the fault ends). Pages are the
 * union of its windows.
 */
__noinline int fault_range(struct subject *s, struct fs_task *w, __u64 first, __u64 last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 count = task->min_flt + task->maj_flt;
	struct touch t = {};

	if (!s)
		return 0;
	if (!w)
		w = bpf_task_storage_get(&access_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return count_untold(s, last - first + 1);
	if (w->fault_count == count && w->fault_inode == s->inode) {
		__u64 old_first = w->fault_first, old_last = w->fault_last;

		if (first > old_first)
			w->fault_first = first = old_first;
		else
			w->fault_first = first;
		if (last < old_last)
			last = old_last;
		w->fault_last = last;
		t.pages = (last - first) - (old_last - old_first);
		/* Heat was looked at in the first window, before the fault changed it. */
		if (!t.pages)
			return 0;
		t.untested = WALK ? t.pages : 0;
		t.window = t.pages;
		touch_count(s, &t);
		return 0;
	}
	w->fault_count = count;
	w->fault_inode = s->inode;
	w->fault_first = first;
	w->fault_last = last;
	t.accesses = 1;
	t.pages = last - first + 1;
	t.window = t.pages - 1;
	if (WALK) {
		t.untested = first;
		hot_range(s->head, last, CALL_FOLIOS, s->key.scope, &t);
		t.hot_accesses = !!t.hot_pages;
		t.untested = last + 1 - t.untested;
	}
	touch_count(s, &t);
	return 0;
}

static __always_inline int fault_event(struct address_space *mapping, __u64 first, __u64 last,
				       const int mode)
{
	struct subject s = {};
	struct fs_task *own;
	__u64 end;

	if (!scope_of(&s.key.scope, &own) || !subject_fill(&s, mapping, mode) ||
	    !subject_last(&s, &end))
		return 0;
	if (last > end)
		last = end;
	if (first > last)
		return 0;
	return fault_range(&s, own, first, last);
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(access_fault_tp, struct address_space *mapping, unsigned long index)
{
	return fault_event(mapping, index, index, TYPED);
}

SEC("?tp_btf/mm_filemap_map_pages")
int BPF_PROG(access_mapped_tp, struct address_space *mapping, unsigned long start,
	     unsigned long end)
{
	return fault_event(mapping, start, end, TYPED);
}

static __always_inline struct address_space *vmf_mapping(struct vm_fault *vmf, const int mode)
{
	struct vm_area_struct *vma = KREAD(mode, vmf, vma);
	struct file *file = KREAD(mode, vma, vm_file);

	return KREAD(mode, file, f_mapping);
}

SEC("?fentry")
int BPF_PROG(access_fault_fentry, struct vm_fault *vmf)
{
	return fault_event(vmf_mapping(vmf, TYPED), vmf->pgoff, vmf->pgoff, TYPED);
}

SEC("?kprobe")
int BPF_KPROBE(access_fault_kprobe, struct vm_fault *vmf)
{
	__u64 index = KREAD(RAW, vmf, pgoff);

	return fault_event(vmf_mapping(vmf, RAW), index, index, RAW);
}

SEC("?fentry")
int BPF_PROG(access_mapped_fentry, struct vm_fault *vmf, unsigned long start, unsigned long end)
{
	return fault_event(vmf_mapping(vmf, TYPED), start, end, TYPED);
}

SEC("?kprobe")
int BPF_KPROBE(access_mapped_kprobe, struct vm_fault *vmf, unsigned long start, unsigned long end)
{
	return fault_event(vmf_mapping(vmf, RAW), start, end, RAW);
}

/* ---- pages entering, leaving, dirtied; marks ---- */

#define MAPPING_FLAGS 3UL	/* anonymous and movable folios: not files */

#include "refcount_op.bpf.h"

static __always_inline __u64 folio_pages(__u64 folio, __u64 flags)
{
	return flags & cfg_hot.head ? 1ULL << (folio_order_raw(folio) & 31) : 1;
}

/* The subject of a folio event, read by address: mapping may be tagged, which types forbid. */
static __always_inline bool folio_subject(struct subject *s, __u64 folio)
{
	__u64 mapping = load64(folio + bpf_core_field_offset(struct folio, mapping));
	struct fs_task *own;

	if (!mapping || (mapping & MAPPING_FLAGS))
		return false;
	return scope_of(&s->key.scope, &own) &&
	       subject_fill(s, (struct address_space *)mapping, RAW);
}

static __always_inline int folio_event(__u64 folio, __u32 word)
{
	struct subject s = {};

	if (folio_subject(&s, folio))
		count_word(&s, word, folio_pages(folio, load64(folio)));
	return 0;
}

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(access_insert_tp, struct folio *folio)
{
	return folio_event((__u64)folio, FS_W_INSERTED);
}

SEC("?tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(access_remove_tp, struct folio *folio)
{
	return folio_event((__u64)folio, FS_W_REMOVED);
}

SEC("?tp_btf/writeback_dirty_folio")
int BPF_PROG(access_dirty_tp, struct folio *folio, struct address_space *mapping)
{
	return folio_event((__u64)folio, FS_W_WRITTEN);
}

static __noinline int mark_event(__u64 folio)
{
	__u64 flags = load64(folio);
	struct subject s = {};

	if (!folio_subject(&s, folio))
		return 0;
	count_word(&s, FS_W_MARKS, 1);
	if (fs_hot_saturated(flags, &cfg_hot, access_ctl.mglru))
		count_word(&s, FS_W_MARKS_HOT, 1);
	return 0;
}

/* The compiler must not join the loads: the context allows constant offsets only. */
#define MARK_ARG(n, reg)					\
	case n: {						\
		__u64 folio = (reg);				\
								\
		asm volatile("/* " #n " */" : "+r"(folio));	\
		return mark_event(folio);			\
	}

SEC("?fentry")
int access_marks_fentry(__u64 *ctx)
{
	switch (cfg_marks_arg) {
	MARK_ARG(0, ctx[0])
	MARK_ARG(1, ctx[1])
	MARK_ARG(2, ctx[2])
	MARK_ARG(3, ctx[3])
	MARK_ARG(4, ctx[4])
	MARK_ARG(5, ctx[5])
	}
	return 0;
}

SEC("?kprobe")
int access_marks_kprobe(struct pt_regs *ctx)
{
	switch (cfg_marks_arg) {
	MARK_ARG(0, PT_REGS_PARM1(ctx))
	MARK_ARG(1, PT_REGS_PARM2(ctx))
	MARK_ARG(2, PT_REGS_PARM3(ctx))
	MARK_ARG(3, PT_REGS_PARM4(ctx))
	MARK_ARG(4, PT_REGS_PARM5(ctx))
	MARK_ARG(5, ctx->r9)
	}
	return 0;
}

/* ---- tmpfs by system call, on request: it taxes every system call of the machine ---- */

static __always_inline struct file *fd_file(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = task->files;
	struct fdtable *fdt = KREAD(RAW, files, fdt);

	if (fd >= KREAD(RAW, fdt, max_fds))
		return 0;
	return (struct file *)load64((__u64)KREAD(RAW, fdt, fd) + fd * 8ULL);
}

/* Where the call that just ended began to read. pos: its own argument, ~0: the file's position. */
static __always_inline __u64 call_start(struct file *file, __u64 pos, __u64 done)
{
	return pos != ~0ULL ? pos : KREAD(RAW, file, f_pos) - done;
}

SEC("?raw_tp/sys_exit")
int access_tmpfs_syscall(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	long ret = ctx->args[1];
	__u64 nr, pos = ~0ULL, uptr = 0;
	struct address_space *mapping;
	struct file *file;

	if (ret <= 0)
		return 0;
	nr = BPF_CORE_READ(regs, orig_ax);
	switch (nr) {
	case NR_READ:
	case NR_READV:
		file = fd_file(BPF_CORE_READ(regs, di));
		break;
	case NR_PREAD64:
	case NR_PREADV:
	case NR_PREADV2:
		file = fd_file(BPF_CORE_READ(regs, di));
		pos = BPF_CORE_READ(regs, r10);
		break;
	case NR_SENDFILE:
		file = fd_file(BPF_CORE_READ(regs, si));
		uptr = BPF_CORE_READ(regs, dx);
		break;
	case NR_SPLICE:
		file = fd_file(BPF_CORE_READ(regs, di));
		uptr = BPF_CORE_READ(regs, si);
		break;
	default:
		return 0;
	}
	if (!file)
		return 0;
	mapping = KREAD(RAW, file, f_mapping);
	if (BPF_CORE_READ(mapping, host, i_sb, s_magic) != TMPFS_MAGIC)
		return 0;
	if (uptr && !bpf_probe_read_user(&pos, sizeof(pos), (void *)uptr))
		pos -= ret;
	return read_call(mapping, call_start(file, pos, ret), ret, false, RAW);
}

/* ---- a file as it is now, for the rows that are shown ---- */

struct fs_file_query access_query[FS_QUERY_BATCH] SEC(".data.access_query");

static long query_step(__u32 i, void *ctx)
{
	struct fs_file_query *q = &access_query[i & (FS_QUERY_BATCH - 1)];
	struct inode *inode = (struct inode *)q->inode;
	struct super_block *sb;
	struct address_space *mapping;

	q->valid = 0;
	if (!inode)
		return 0;
	mapping = KREAD(RAW, inode, i_mapping);
	q->cached_pages = KREAD(RAW, mapping, nrpages);
	q->size = KREAD(RAW, inode, i_size);
	q->nlink = KREAD(RAW, inode, i_nlink);
	/* The memory may hold another inode by now: only the same identity makes the answer valid. */
	sb = KREAD(RAW, inode, i_sb);
	q->valid = KREAD(RAW, inode, i_ino) == q->key.ino &&
		   KREAD(RAW, inode, i_generation) == q->key.gen &&
		   KREAD(RAW, sb, s_dev) == q->key.dev && KREAD(RAW, mapping, host) == inode;
	return 0;
}

SEC("?syscall")
int access_query_files(void *ctx)
{
	bpf_loop(FS_QUERY_BATCH, query_step, 0, 0);
	return 0;
}
