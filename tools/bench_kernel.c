/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_kernel.c - workloads that are not about one file's reads: RCU callbacks, grace periods of
 * both kinds, and a tree of processes.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Every unlinked file queues the freeing of its inode and its directory entry on this CPU. A file
 * of its own per worker and a second open/close of it, which on older kernels queues more.
 */
static int burst_open(struct worker *w)
{
	int n = snprintf(w->path, sizeof(w->path), "%s/folio-bench.%d.%u", w->cfg->dir,
			 (int)getpid(), w->id);

	return n < 0 || (size_t)n >= sizeof(w->path) ? -ENAMETOOLONG : 0;
}

static int64_t burst_op(struct worker *w)
{
	int fd = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return worker_fail(w, "create", -errno);
	close(fd);
	fd = open(w->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return unlink(w->path) ? worker_fail(w, "unlink", -errno) : 1;
}

static int64_t membarrier_op(struct worker *w)
{
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return worker_fail(w, "membarrier", -errno);
	return 1;
}

static const char *mount_point(const struct bench_cfg *cfg)
{
	return cfg->dir ? cfg->dir : "/tmp";
}

/*
 * A mount namespace of this thread's own: it mounts over a directory that exists, so that nothing
 * is left behind however it ends, and nobody else sees it.
 */
static int umount_open(struct worker *w)
{
	snprintf(w->path, sizeof(w->path), "%s", mount_point(w->cfg));
	if (unshare(CLONE_NEWNS))
		return worker_fail(w, "unshare the mount namespace", -errno);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return worker_fail(w, "make mounts private", -errno);
	return 0;
}

static int64_t umount_op(struct worker *w)
{
	const char *at = mount_point(w->cfg);

	if (mount("folio-bench", at, "tmpfs", 0, "size=64k"))
		return worker_fail(w, "mount", -errno);
	return umount2(at, 0) ? worker_fail(w, "umount", -errno) : 1;
}

/* A child's own descriptor and its own reads; added up in the worker by one atomic each. */
static int tree_read(struct worker *shared)
{
	struct worker w = *shared;
	uint64_t i;

	w.fd = open(w.path, O_RDONLY | O_CLOEXEC);
	if (w.fd < 0)
		return worker_fail(shared, "open", -errno);
	w.bytes = w.accesses = w.pages = 0;
	for (i = 0; (i < w.cfg->count || w.cfg->ms) && !worker_stopped(shared); i++) {
		if (read_op(&w) < 0)
			return worker_fail(shared, "pread", w.err);
	}
	close(w.fd);
	__atomic_fetch_add(&shared->ops, i, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->bytes, w.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->accesses, w.accesses, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->pages, w.pages, __ATOMIC_RELAXED);
	return 0;
}

static int tree_wait(struct worker *w, const pid_t *pid, uint64_t n)
{
	int status, err = 0;

	while (n--) {
		if (waitpid(pid[n], &status, 0) < 0)
			err = worker_fail(w, "wait", -errno);
		else if (!WIFEXITED(status) || WEXITSTATUS(status))
			err = worker_fail(w, "child process", -ECHILD);
	}
	return err;
}

/* Forks the children of one process; each reads, after forking its own if there is a level left. */
static int tree_fork(struct worker *w, unsigned int levels)
{
	pid_t parent = getpid(), pid[MAX_CHILDREN];
	int err = 0, rc;
	uint64_t i;

	for (i = 0; i < w->cfg->children; i++) {
		pid[i] = fork();
		if (pid[i] < 0) {
			err = worker_fail(w, "fork", -errno);
			break;
		}
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		if (levels > 1)
			err = tree_fork(w, levels - 1);
		_exit(err || tree_read(w));
	}
	rc = tree_wait(w, pid, i);
	return err ? err : rc;
}

/* The whole tree; its operations have added themselves. */
static int64_t tree_op(struct worker *w)
{
	return tree_fork(w, 2);
}

const struct workload kernel_workloads[] = {
	{ "close-burst", "create, close, open, close, unlink: queues RCU callbacks", NEED_DIR, 1,
	  .open = burst_open, .op = burst_op },
	{ "membarrier", "one membarrier(GLOBAL): waits for a normal grace period", 0, 1,
	  .op = membarrier_op },
	{ "umount-burst", "mount and umount a tmpfs over --dir (/tmp), in an own namespace", 0, 1,
	  .open = umount_open, .op = umount_op },
	{ "fork-tree", "--children children, each with as many of its own, all do --count preads",
	  NEED_FILE | OPEN_READ | WHOLE, 16, .op = tree_op },
	{ .name = NULL },
};
