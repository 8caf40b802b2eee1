/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.bpf.h - kernel differences behind accessors, so that handlers never see them.
 *
 * Memory is read in one of two ways. TYPED: through a pointer whose type the verifier knows (an
 * argument of tp_btf or fentry); a plain load. RAW: an address; a plain load where the kernel
 * has bpf_rdonly_cast (6.2, commit a35b9af4ec2c), else bpf_probe_read_kernel, which costs more
 * and is refused under lockdown=confidentiality.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "fs_abi.h"

#define PAGE_SHIFT 12	/* x86-64, as the system call numbers of access.bpf.c */

enum { RAW = 0, TYPED = 1 };

extern const volatile bool cfg_rdonly_cast;
extern const volatile bool cfg_probe_read;

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/* The field f of the struct that p points to. mode is a constant. */
#define KREAD(mode, p, f) ({								\
	typeof(((void)0, (p)->f)) v_ = 0;	/* the comma drops const */			\
	if (mode)									\
		v_ = (p)->f;								\
	else if (cfg_rdonly_cast)							\
		v_ = ((typeof(p))bpf_rdonly_cast((const void *)(p),			\
			bpf_core_type_id_kernel(typeof(*(p)))))->f;			\
	else if (cfg_probe_read)							\
		bpf_core_read(&v_, sizeof(v_), &(p)->f);				\
	v_;										\
})

/*
 * The 8 bytes at a kernel address; 0 when it cannot be read. Any struct that begins with a
 * scalar of 8 bytes serves as the type of a cast: the verifier then gives a number, which, unlike
 * a pointer, may be tested bit by bit and added to.
 */
static __always_inline __u64 load64(__u64 addr)
{
	__u64 v = 0;

	if (cfg_rdonly_cast)
		return ((struct timespec64 *)bpf_rdonly_cast((const void *)addr,
			bpf_core_type_id_kernel(struct timespec64)))->tv_sec;
	if (cfg_probe_read)
		bpf_probe_read_kernel(&v, sizeof(v), (const void *)addr);
	return v;
}

/* A large folio's order: folio._folio_order before 6.6 (commit ebc1baf5c9b4), then _flags_1. */
struct folio___order {
	unsigned char _folio_order;
} __attribute__((preserve_access_index));

static __always_inline __u64 folio_order_raw(__u64 folio)
{
	struct folio___order *old = 0;

	if (bpf_core_field_exists(old->_folio_order))
		return load64(folio + bpf_core_field_offset(old->_folio_order)) & 0xff;
	return load64(folio + bpf_core_field_offset(struct folio, _flags_1)) & 0xff;
}

/* iov_iter of a pipe: gone since 6.5 (commit 3fc40265ae2b). */
enum iter_type___old { ITER_PIPE___old = 4 };

struct iov_iter___pipe {
	unsigned char iter_type;
	struct pipe_inode_info *pipe;
} __attribute__((preserve_access_index));

/* btrfs is a module on most kernels; its types are found in the module's BTF when it is loaded. */
struct btrfs_root___fs {
	dev_t anon_dev;
} __attribute__((preserve_access_index));

struct btrfs_inode___fs {
	struct btrfs_root___fs *root;
	struct inode vfs_inode;
} __attribute__((preserve_access_index));

#define BTRFS_SUPER_MAGIC 0x9123683EUL
#define TMPFS_MAGIC 0x01021994UL
#define BDEVFS_MAGIC 0x62646576UL

#endif
