/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hotbits.h - the bits of folio->flags on a kernel, from its BTF alone.
 *
 * The generation field of MGLRU has no name in BTF. Its place follows from the widths of the
 * fields above it (include/linux/page-flags-layout.h): nodes, zones, last CPU and pid. Their
 * inputs are all visible in BTF: the size of nodemask_t, of struct cpumask, enum zone_type, and
 * task_struct.numa_faults, which exists with NUMA_BALANCING only.
 */
#ifndef HOTBITS_H
#define HOTBITS_H

#include "fs_hot.h"

struct btf;

/* 0; -ENOENT when BTF lacks enum pageflags: heat is then unavailable. */
int hotbits_from_btf(const struct btf *btf, struct fs_hot *out);

/* /sys/kernel/mm/lru_gen/enabled, bit 0; 0 where the file is missing. It can change at any time. */
__u32 hotbits_mglru_on(void);

#endif
