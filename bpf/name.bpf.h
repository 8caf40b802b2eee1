/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * name.bpf.h - the path of an inode, sent once when a file gets its place: by then its dentry is
 * still there, later the file may be gone. Components only; user space adds the mount point.
 */
#ifndef NAME_BPF_H
#define NAME_BPF_H

#include "compat.bpf.h"
#include "cpu.bpf.h"

#define SB_KERNMOUNT (1UL << 22)
#define SB_NOUSER (1UL << 31)
#define NAME_RING_BYTES (1 << 20)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NAME_RING_BYTES);
} access_names SEC(".maps");

/* One record being built per CPU: too big for the stack. */
struct name_scratch {
	__u32 busy;
	__u32 pad;
	struct fs_name rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct name_scratch);
} access_scratch SEC(".maps");

struct name_walk {
	struct name_scratch *scratch;
	__u64 dentry;
	__u32 off;
	__u32 flags;
};

static long name_step(__u32 i, void *ctx)
{
	struct name_walk *w = ctx;
	struct dentry *d = (struct dentry *)w->dentry;
	struct name_scratch *sc;
	__u32 zero = 0, off = w->off;
	__u64 parent;
	long n;

	parent = (__u64)BPF_CORE_READ(d, d_parent);
	/* A root has no name of its own, but a file of an internal mount (memfd) is its own root. */
	if (parent == w->dentry && !(i == 0 && (w->flags & FS_NAME_KERN_MOUNT)))
		return 1;
	sc = bpf_map_lookup_elem(&access_scratch, &zero);
	if (!sc)
		return 1;
	if (i + 1 >= FS_NAME_MAX_DEPTH || off > FS_NAME_BYTES - 256) {
		w->flags |= FS_NAME_CUT;
		return 1;
	}
	n = bpf_probe_read_kernel_str(&sc->rec.path[off], 256, BPF_CORE_READ(d, d_name.name));
	if (n < 0)
		return 1;
	w->off = off + n;
	w->dentry = parent;
	return parent == (__u64)d;
}

/* Wakes the reader only when the ring is half full: it also looks at every snapshot. */
static __always_inline __u64 name_wakeup(void)
{
	return bpf_ringbuf_query(&access_names, BPF_RB_AVAIL_DATA) > NAME_RING_BYTES / 2 ?
		BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline __u32 name_flags(struct inode *inode, struct super_block *sb)
{
	__u32 flags = 0;

	if (!BPF_CORE_READ(inode, i_nlink))
		flags |= FS_NAME_UNLINKED;
	if (BPF_CORE_READ(sb, s_flags) & (SB_KERNMOUNT | SB_NOUSER))
		flags |= FS_NAME_KERN_MOUNT;
	return flags;
}

/* 1 when a record was left for user space; 0: to be tried again at a later event. */
__noinline int name_emit(struct fs_key *k, __u64 inode_addr, __u32 file_flags)
{
	struct inode *inode = (struct inode *)inode_addr;
	struct fs_cpu *cpu = cpu_this();
	struct name_walk w = {};
	struct name_scratch *sc;
	struct super_block *sb;
	__u32 zero = 0, len;
	__u64 first;
	int sent;

	if (!cfg_probe_read || !inode || !k)
		return 1;	/* strings cannot be read under lockdown: nothing to try again */
	sc = bpf_map_lookup_elem(&access_scratch, &zero);
	/* Only a preempted fentry program can find it busy. */
	if (!sc || __sync_val_compare_and_swap(&sc->busy, 0, 1))
		return 0;

	sb = BPF_CORE_READ(inode, i_sb);
	w.flags = name_flags(inode, sb);
	first = (__u64)BPF_CORE_READ(inode, i_dentry.first);
	if (first) {
		w.dentry = first - bpf_core_field_offset(struct dentry, d_u.d_alias);
		bpf_loop(FS_NAME_MAX_DEPTH, name_step, &w, 0);
	} else {
		w.flags |= FS_NAME_NO_DENTRY;
	}
	sc->rec.type = FS_EVT_NAME;
	sc->rec.key = *k;
	sc->rec.flags = w.flags;
	sc->rec.file_flags = file_flags;
	sc->rec.rdev = file_flags & FS_FILE_BDEV ? BPF_CORE_READ(inode, i_rdev) : 0;
	sc->rec.magic = BPF_CORE_READ(sb, s_magic);
	len = w.off;
	if (len > FS_NAME_BYTES)
		len = FS_NAME_BYTES;
	sc->rec.len = len;
	sent = !bpf_ringbuf_output(&access_names, &sc->rec,
				   __builtin_offsetof(struct fs_name, path) + len, name_wakeup());
	sc->busy = 0;
	if (!sent && cpu)
		word_add(&cpu->names_lost, 1, false);
	return sent;
}

#endif
