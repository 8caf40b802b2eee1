/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refcount_kinds.bpf.h - the kinds of ops, which the programs in refcount.bpf.c name and
 * refcount_op.bpf.h counts. In the order of the words FS_W_GETS to FS_W_FREEZES.
 */
#ifndef REFCOUNT_KINDS_BPF_H
#define REFCOUNT_KINDS_BPF_H

enum ref_op { REF_GET = 0, REF_PUT = 1, REF_FAILED = 2, REF_FREEZE = 3 };

#endif
