/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * grace.h - latencies and requesters of grace periods, from the maps of grace.bpf.c.
 * How many there are comes from backlog.h; grace_fill() counts only where that is not available,
 * so it is called after backlog_fill(). Pure apart from the system calls of open and fill.
 *
 * The expedited programs compare work functions with the address in the skeleton's
 * rodata->grace_exp_func (wait_rcu_exp_gp, type t in kallsyms), to be set before loading.
 * grace_normal_switch_tp is silent until backlog_find() has succeeded.
 */
#ifndef GRACE_H
#define GRACE_H

#include <sys/types.h>

#include "snapshot.h"

struct grace {
	const struct fs_gp_stat *stat;	/* [FS_GPS], mapped from the kernel */
	int requesters_fd;		/* of the skeleton */
};

/* What is attached for one kind of period. */
struct grace_hooks {
	bool latency;
	bool requesters;	/* the variant runs in the requester's context */
};

/* File descriptors of the maps grace_stat and grace_requesters. -errno: *g is empty. */
int grace_open(struct grace *g, int stat_fd, int requesters_fd);
void grace_close(struct grace *g);

/*
 * Into s->grace. Where nothing is attached the provenance is PROV_UNAVAILABLE. A requester with
 * tgid 0 stands for several processes of that name. -errno: requesters are missing.
 */
int grace_fill(const struct grace *g, const struct grace_hooks hooks[FS_GPS], struct snapshot *s);

/* ---- for grace.c and tests ---- */

void grace_fill_stat(struct snap_grace *out, const struct fs_gp_stat *st);

/* Those of one kind; self: the process whose requests are folioscope's own. -ENOMEM. */
int grace_fill_requesters(struct snap_grace *out, enum fs_gp kind, const struct fs_requester *keys,
			  const __u64 *counts, size_t n, pid_t self);

#endif
