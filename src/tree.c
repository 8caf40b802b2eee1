// SPDX-License-Identifier: GPL-2.0-only
/* tree.c - see tree.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs_abi.h"
#include "fs_hot.h"
#include "parse.h"
#include "tree.h"
#include "probes.skel.h"

#define PID_LIMIT 4194304U	/* PID_MAX_LIMIT of 64-bit kernels */

/* Task storage is keyed by a pidfd: a thread group leader. Programs ask for the leader's flag, too. */
static int with_pidfd(struct probes_bpf *skel, pid_t pid, bool add)
{
	int map = bpf_map__fd(skel->maps.access_tasks);
	struct fs_task value = { .in_tree = 1 };
	int fd = syscall(SYS_pidfd_open, pid, 0), err;

	if (fd < 0)
		return -errno;
	err = add ? bpf_map_update_elem(map, &fd, &value, BPF_ANY) : bpf_map_delete_elem(map, &fd);
	close(fd);
	return err;
}

int tree_add_one(struct probes_bpf *skel, pid_t pid)
{
	return with_pidfd(skel, pid, true);
}

int tree_remove_one(struct probes_bpf *skel, pid_t pid)
{
	return with_pidfd(skel, pid, false);
}

/* The parent in /proc/PID/stat; comm may hold anything, so the last ')' counts. 0: gone. */
static pid_t parent_of(pid_t pid)
{
	char path[64], buf[512], *p;
	int ppid = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1, " %*c %d", &ppid) != 1)
		return 0;
	return ppid;
}

struct pids {
	pid_t *v;
	size_t n;
};

static bool pids_has(const struct pids *p, pid_t pid)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->v[i] == pid)
			return true;
	return false;
}

static int pids_push(struct pids *p, pid_t pid)
{
	pid_t *v = realloc(p->v, (p->n + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	p->v = v;
	p->v[p->n++] = pid;
	return 0;
}

/* Flags children of flagged processes; the number of new ones, or -errno. */
static int sweep(struct probes_bpf *skel, struct pids *known)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	__u64 pid;
	int found = 0, err = 0;

	if (!proc)
		return -errno;
	while (!err && (d = readdir(proc))) {
		if (parse_u64(d->d_name, 1, PID_LIMIT, &pid) || pids_has(known, pid) ||
		    !pids_has(known, parent_of(pid)))
			continue;
		/* One that is gone already needs no flag. */
		if (!tree_add_one(skel, pid))
			found++;
		err = pids_push(known, pid);
	}
	closedir(proc);
	return err ?: found;
}

int tree_add(struct probes_bpf *skel, pid_t pid)
{
	struct pids known = {};
	int err = tree_add_one(skel, pid);

	err = err ?: pids_push(&known, pid);
	/* Forks of flagged tasks flag their children themselves; the sweep finds the older ones. */
	while (err >= 0 && (err = sweep(skel, &known)) > 0)
		;
	free(known.v);
	return err;
}
