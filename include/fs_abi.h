/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs_abi.h - what BPF programs and the program share: map values, ring records, controls.
 * Fixed-width types only. Times: ns, CLOCK_MONOTONIC. Ids are append-only. Nothing here is
 * written to disk or sent to another machine: the record file has its own format (record.h).
 */
#ifndef FS_ABI_H
#define FS_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/*
 * Words of a file's row, one array index each. A word is written only by programs that cannot
 * interrupt each other on one CPU: all of these run in task context.
 */
enum fs_word {
	FS_W_ACCESSES = 0,
	FS_W_PAGES = 1,
	FS_W_HOT_PAGES = 2,
	FS_W_HOT_ACCESSES = 3,
	FS_W_MARKS = 4,
	FS_W_MARKS_HOT = 5,
	FS_W_INSERTED = 6,
	FS_W_REMOVED = 7,
	FS_W_WRITTEN = 8,
	FS_W_UNTESTED = 9,	/* touched pages whose heat was not looked at */
	FS_W_WINDOW = 10,	/* pages a fault-around window adds to the one page touched */
	/*
	 * Of the family refcount. With page_ref they are written in interrupts too: atomically, by
	 * its programs alone.
	 */
	FS_W_GETS = 11,
	FS_W_PUTS = 12,
	FS_W_FAILED_GETS = 13,
	FS_W_FREEZES = 14,	/* attempts to freeze a count */
	FS_W_GET_FOLLOWED = 15,	/* gets whose predecessor on that folio is known */
	FS_W_PUT_FOLLOWED = 16,
	FS_W_GET_BOUNCES = 17,	/* of the followed ones: the predecessor was on another CPU */
	FS_W_PUT_BOUNCES = 18,
	FS_W_GET_FIRST = 19,	/* no predecessor in this window, less those followed after it */
	FS_W_PUT_FIRST = 20,
	FS_W_NOT_FOLLOWED = 21,	/* no room for the folio among the witnesses */
	FS_WORDS = 27,		/* what is left is spare */
};

#define FS_W_REF FS_W_GETS	/* first of the family refcount */
#define FS_REF_WORDS (FS_W_NOT_FOLLOWED + 1 - FS_W_REF)

/* What the programs observe, as seen from the filter. */
enum fs_scope {
	FS_SCOPE_IN = 0,	/* inside the filter, or there is none */
	FS_SCOPE_OUT = 1,	/* the rest of the machine */
	FS_SCOPES = 2,
};

/* Filters of access events; all that are set must match. */
enum fs_filter {
	FS_FILTER_TREE = 1 << 0,	/* processes flagged in task storage, and their children */
	FS_FILTER_CGROUP = 1 << 1,
	FS_FILTER_COMM = 1 << 2,
};

/* Identity of a file (never its name). Zeroed before filling: padding would leak and miscompare. */
struct fs_key {
	__u64 ino;
	__u32 dev;		/* super_block.s_dev, kernel encoding: major << 20 | minor */
	__u32 gen;		/* inode.i_generation */
	__u32 subdev;		/* btrfs: the subvolume's anonymous device, stat's st_dev; else 0 */
	__u32 scope;		/* enum fs_scope */
};

enum fs_slot_state {
	FS_SLOT_FREE = 0,
	FS_SLOT_CLAIMED = 1,	/* key being written: readers skip it */
	FS_SLOT_OWNED = 2,	/* key valid until the generation is drained */
};

enum fs_file_flag {
	FS_FILE_NAMED = 1 << 0,	/* a name record left for user space */
	FS_FILE_SHMEM = 1 << 1,
	FS_FILE_BDEV = 1 << 2,	/* the cache of a block device */
	FS_FILE_SUBDEV_UNKNOWN = 1 << 3, /* btrfs without its BTF: snapshots share a row */
};

/*
 * A file's counters on one CPU. Within a generation (struct fs_ctl) a slot that is OWNED never
 * changes its key and its words only grow; so a reader needs no retry, and no row can ever hold
 * another file's counts. Every event is counted in exactly one place, a slot, a spill entry or
 * struct fs_cpu: whenever they are read, their sum is a number that was never more than true.
 * Room is made by switching generations, see table.h.
 */
struct fs_slot {
	__u32 state;		/* enum fs_slot_state */
	__u32 flags;		/* enum fs_file_flag */
	struct fs_key key;
	__u64 inode;		/* kernel address, to be checked against the key before use */
	__u64 w[FS_WORDS];
};

#define FS_WAYS 4

struct fs_set {
	struct fs_slot way[FS_WAYS];
};

/* Files that found no free way: one preallocated hash a generation, shared by all CPUs. */
struct fs_spill {
	__u64 inode;
	__u32 flags;
	__u32 pad;
	__u64 w[FS_WORDS];
};

/* What a CPU counted that no row holds: files that found no place. Rows + other = totals. */
struct fs_cpu {
	__u64 other[FS_SCOPES][FS_WORDS];
	__u64 map_full;		/* events that found no room for their file */
	__u64 names_lost;	/* name records that did not fit the ring; tried again later */
	__u64 witness_lost;	/* events whose call could not be told from the one before */
	__u64 spilled;		/* events that went to the shared hash */
	/* The last lookup of a read on this CPU, where a call may have several: whose, and when. */
	__u64 read_task;	/* struct task_struct */
	__u64 read_start;	/* its start_time: addresses are used again */
	__u64 read_moves;	/* its se.nr_migrations */
	__u64 read_syscr;	/* its ioac.syscr */
	__u64 pad[2];
};

/* ---- family refcount ---- */

/* CPUs observe in the same windows: those with (ktime >> shift) % every == 0. */
#define FS_REF_WINDOW_SHIFT 17	/* 131 us */
#define FS_REF_GROUPS 8		/* a window's ordinal number mod 8; see bounce.h */
#define FS_REF_PAIRS 64
#define FS_REF_PROBES 4

enum fs_ref_side { FS_REF_GET = 0, FS_REF_PUT = 1, FS_REF_SIDES = 2 };

/*
 * The last CPU that touched a followed folio: one word, so that one exchange reads and writes it.
 * From the top: 32 bits of the folio's page number, 19 of the window's, 13 of the CPU's; 0: free.
 * Beside it the file that a folio belonged to when it left the page cache, until it is freed.
 */
struct fs_witness {
	__u64 word;
	__u64 owned;		/* the folio that the rest is about; 0: none. Written last */
	struct fs_key key;
	__u64 inode;
	__u32 flags;		/* enum fs_file_flag */
	__u32 pad[19];
};

struct fs_witness_set {
	struct fs_witness way[FS_REF_PROBES];
};

#define FS_WITNESS_CPU_BITS 13
#define FS_WITNESS_WINDOW_BITS 19

/* Bounces that a CPU took over from one other. */
struct fs_ref_pair {
	__u64 from;		/* CPU + 1; 0: free */
	__u64 count;
};

/* Written by one CPU, in any context. */
struct fs_ref_cpu {
	__u64 un[FS_REF_WORDS];	/* ops whose file could not be told, in scope; from FS_W_REF on */
	__u64 w[FS_REF_WORDS];	/* all ops in scope; besides, each is in a row, in other or in un */
	__u64 other;		/* bounces from CPUs that found no place below */
	__u64 groups_full;	/* followed ops of files without a place among the groups */
	__u64 sites_full;	/* ops whose caller, or whose folio, found no place */
	__u64 pad[7];
	struct fs_ref_pair pair[FS_REF_PAIRS];
};

/* Followed ops of one file by group of windows: the spread between groups gives the bound. */
struct fs_ref_groups {
	__u64 followed[FS_REF_SIDES][FS_REF_GROUPS];
	__u64 bounced[FS_REF_SIDES][FS_REF_GROUPS];
	__u64 first[FS_REF_SIDES][FS_REF_GROUPS];
};

/* --sites: who gets and puts the folios of a file. */
struct fs_ref_site_key {
	struct fs_key key;
	__u32 stack;		/* in the stack map */
	__u32 pad;
};

struct fs_ref_site {
	__u64 ops[FS_REF_SIDES];
};

/* --folios: the folios of one file, by the index of their first page. */
struct fs_ref_folio {
	__u64 ops;		/* in the windows that were followed */
	__u64 bounces;
	__u64 cpus[2];		/* bit (CPU mod 128) */
	__u64 order;
	__u64 spare;
};

/* What user space tells running programs. Own cache lines; written a few times a second at most. */
struct fs_ctl {
	__u32 generation;	/* 0 or 1: which tables are written */
	__u32 mglru;		/* /sys/kernel/mm/lru_gen/enabled, bit 0 */
	__u32 pad[30];
};

/* Ring records. */
enum fs_evt {
	FS_EVT_INVALID = 0,
	FS_EVT_NAME = 1,
	FS_EVT_MAX,
};

#define FS_NAME_MAX_DEPTH 64
#define FS_NAME_BYTES 3072

enum fs_name_flag {
	FS_NAME_CUT = 1 << 0,	/* deeper or longer than the record holds */
	FS_NAME_UNLINKED = 1 << 1, /* i_nlink is 0 */
	FS_NAME_NO_DENTRY = 1 << 2,
	FS_NAME_KERN_MOUNT = 1 << 3, /* on an internal mount (memfd and the like) */
};

/*
 * A file's name: the components from the file up to the super block's root, each with its NUL,
 * len bytes of path used. The record is cut to what is used.
 */
struct fs_name {
	__u32 type;		/* FS_EVT_NAME */
	__u32 len;		/* bytes used in path */
	struct fs_key key;
	__u32 flags;		/* enum fs_name_flag */
	__u32 file_flags;	/* enum fs_file_flag */
	__u32 rdev;		/* FS_FILE_BDEV: the device, kernel encoding */
	__u32 magic;		/* super_block.s_magic */
	char path[FS_NAME_BYTES];
};

/* Task storage. */
struct fs_task {
	__u32 in_tree;		/* inherited at fork */
	__u32 pad;
	/* The last read call seen: the same syscr, inode, end and a rising index is the same call. */
	__u64 read_syscr;
	__u64 read_inode;
	__u64 read_index;
	__u64 read_last;
	__u64 hot_next;		/* heat is tested from here on */
	__u32 hot_counted;	/* this call is counted in hot_accesses */
	__u32 pad2;
	/* The last fault seen: the same min_flt + maj_flt is the same fault. */
	__u64 fault_count;
	__u64 fault_inode;
	__u64 fault_first;
	__u64 fault_last;
};

/* Heat and lifecycle of one file at this moment, asked for by (inode, key). */
struct fs_file_query {
	struct fs_key key;
	__u64 inode;
	__u64 cached_pages;	/* out */
	__u64 size;		/* out: i_size, bytes */
	__u32 nlink;		/* out */
	__u32 valid;		/* out: 1 when the inode still is that file */
};

#define FS_QUERY_BATCH 64

/* Per-CPU RCU state as the backlog program reads it. */
enum fs_rcu_flag {
	FS_RCU_VALID = 1 << 0,	/* the base is known and its cpu field matches */
	FS_RCU_OFFLOADED = 1 << 1,
	FS_RCU_KVFREE = 1 << 2,	/* kvfree is valid */
	FS_RCU_BYPASS = 1 << 3,	/* bypass is valid (no-callback CPUs) */
};

struct fs_rcu_cpu {
	__u64 rdp;		/* struct rcu_data of that CPU; 0: not found yet */
	__u64 krc;		/* struct kfree_rcu_cpu; 0: unknown */
	__u32 flags;		/* enum fs_rcu_flag */
	__u32 pad;
	__s64 len;		/* callbacks, with those being invoked */
	__s64 seg[4];		/* done, wait, next_ready, next */
	__s64 bypass;		/* queued in the bypass list of an offloaded CPU */
	__s64 kvfree;		/* objects waiting in kvfree_rcu */
	__u64 invoked;		/* rcu_data.n_cbs_invoked */
	__u64 gp_seq;
	__u64 spare[4];
};

/* Machine-wide grace-period state, read in the same walk. */
struct fs_rcu_state {
	__u64 rsp;		/* struct rcu_state; 0: not found */
	__u64 gp_kthread;	/* struct task_struct */
	__u64 gp_seq;
	__u64 exp_seq;
	__u32 gp_state;
	__u32 valid;
};

#define FS_LAT_BUCKETS 64
#define FS_COMM 16

enum fs_gp {
	FS_GP_NORMAL = 0,
	FS_GP_EXPEDITED = 1,
	FS_GPS = 2,
};

/*
 * Grace periods of one kind, as hooks see them. Bucket k counts latencies <= 2^k ns and
 * > 2^(k-1) (bucket 0: <= 1 ns), so that bucket edges are exact powers of two.
 */
struct fs_gp_stat {
	__u64 started;
	__u64 completed;
	__u64 lat_sum;
	__u64 lat_max;
	__u64 begin;		/* ktime of the one that is running, 0: none seen */
	__u64 unmatched;	/* ends without a start seen (attached in the middle) */
	__u64 buckets[FS_LAT_BUCKETS];
	__u64 req_full;		/* requests that found no place in the requester table */
	__u64 requests;
};

struct fs_requester {
	__u32 kind;		/* enum fs_gp */
	__u32 tgid;
	char comm[FS_COMM];
};

_Static_assert(sizeof(struct fs_key) == 24, "fs_key layout is ABI");
_Static_assert(sizeof(struct fs_slot) == 256, "a slot is two pairs of cache lines");
_Static_assert(sizeof(struct fs_set) == 1024, "fs_set layout is ABI");
_Static_assert(sizeof(struct fs_spill) == 232, "fs_spill layout is ABI");
_Static_assert(sizeof(struct fs_cpu) == 512, "fs_cpu is a multiple of 128 bytes");
_Static_assert(sizeof(struct fs_witness) == 128, "a witness has a pair of cache lines");
_Static_assert(sizeof(struct fs_ref_cpu) == 1280, "fs_ref_cpu is a multiple of 128 bytes");
_Static_assert(sizeof(struct fs_ref_groups) == 384, "fs_ref_groups layout is ABI");
_Static_assert(sizeof(struct fs_ref_site_key) == 32, "fs_ref_site_key layout is ABI");
_Static_assert(sizeof(struct fs_ref_folio) == 48, "fs_ref_folio layout is ABI");
_Static_assert(sizeof(struct fs_ctl) == 128, "fs_ctl has cache lines of its own");
_Static_assert(sizeof(struct fs_name) == 48 + FS_NAME_BYTES, "fs_name layout is ABI");
_Static_assert(sizeof(struct fs_file_query) == 56, "fs_file_query layout is ABI");
_Static_assert(sizeof(struct fs_rcu_cpu) == 128, "fs_rcu_cpu is 128 bytes");
_Static_assert(sizeof(struct fs_gp_stat) == 576, "fs_gp_stat layout is ABI");

#endif
