/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tree.h - which processes a process filter follows: a flag in task storage, which children get at
 * fork. It dies with the task; nothing is left behind.
 */
#ifndef TREE_H
#define TREE_H

#include <sys/types.h>

struct probes_bpf;

/* One process: all of its threads. -errno (-ESRCH: no such process). */
int tree_add_one(struct probes_bpf *skel, pid_t pid);
int tree_remove_one(struct probes_bpf *skel, pid_t pid);

/* A process and all its living descendants; again until no new one appears. -errno. */
int tree_add(struct probes_bpf *skel, pid_t pid);

#endif
