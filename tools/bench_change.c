/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_change.c - workloads that fill and empty the page cache of a file. Writing, truncating and
 * dropping are no accesses.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Records of --bs bytes, dealt to the workers in turn: neighbours write neighbouring records, and
 * share a page where records do not end at one. A round is the whole file.
 */
static int write_open(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t records, workers = cfg->private ? 1 : cfg->workers;
	uint64_t id = cfg->private ? 0 : w->id;

	if (cfg->size)
		w->size = cfg->size;
	if (w->size <= cfg->offset)
		return worker_fail(w, "nothing to write over; give --size", -ENODATA);
	records = (w->size - cfg->offset + cfg->bs - 1) / cfg->bs;
	w->round = records > id ? (records - id + workers - 1) / workers : 0;
	return 0;
}

static int64_t write_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t record, at;
	struct iovec iov = { w->buf, cfg->bs };
	ssize_t n;

	if (!w->round)		/* --seconds, and fewer records than workers */
		return worker_fail(w, "no record left for this worker", -ENODATA);
	record = w->step % w->round;
	if (!cfg->private)
		record = record * cfg->workers + w->id;
	at = cfg->offset + record * cfg->bs;
	if (iov.iov_len > w->size - at)
		iov.iov_len = w->size - at;
	n = pwritev2(w->fd, &iov, 1, (off_t)at, cfg->rwf);
	if (n < 0)
		return worker_fail(w, "write", -errno);
	if ((size_t)n != iov.iov_len)
		return worker_fail(w, "write", -ENOSPC);
	w->bytes += (uint64_t)n;
	return 1;
}

static int write_finish(struct worker *w)
{
	if (!w->cfg->sync || w->fd < 0)
		return 0;
	return fsync(w->fd) ? -errno : 0;
}

static int64_t truncate_op(struct worker *w)
{
	uint64_t to = w->cfg->to;
	int err;

	if (w->step && w->size > to) {
		err = file_fill(w->fd, to, w->size, w->cfg->fill);
		if (err)
			return worker_fail(w, "refill", err);
	}
	return ftruncate(w->fd, (off_t)to) ? worker_fail(w, "ftruncate", -errno) : 1;
}

static int64_t dontneed_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	int err;

	if (fsync(w->fd))
		return worker_fail(w, "fsync", -errno);
	err = posix_fadvise(w->fd, (off_t)cfg->offset, (off_t)cfg->bs, POSIX_FADV_DONTNEED);
	return err ? worker_fail(w, "fadvise", -err) : 1;
}

/* Own name, also where several workers have one --file. */
static int churn_open(struct worker *w)
{
	size_t len = strlen(w->path);
	int n;

	if (w->cfg->private)
		return 0;
	n = snprintf(w->path + len, sizeof(w->path) - len, ".%u", w->id);
	return n < 0 || (size_t)n >= sizeof(w->path) - len ? -ENAMETOOLONG : 0;
}

static int64_t churn_op(struct worker *w)
{
	uint64_t bs = w->cfg->bs;
	ssize_t n;

	w->fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (w->fd < 0)
		return worker_fail(w, "create", -errno);
	n = pwrite(w->fd, w->buf, bs, 0);
	if (n != (ssize_t)bs)
		return worker_fail(w, "write", n < 0 ? -errno : -ENOSPC);
	if (w->cfg->sync && fsync(w->fd))
		return worker_fail(w, "fsync", -errno);
	n = pread(w->fd, w->buf, bs, 0);
	if (n < 0)
		return worker_fail(w, "pread", -errno);
	worker_count(w, 0, (uint64_t)n);
	close(w->fd);
	w->fd = -1;
	return unlink(w->path) ? worker_fail(w, "unlink", -errno) : 1;
}

/* After a failure in the middle the file is still there. */
static int churn_finish(struct worker *w)
{
	if (w->fd >= 0)
		unlink(w->path);
	return 0;
}

const struct workload change_workloads[] = {
	{ "write", "a round overwrites the file in records of --bs (4K), dealt to the workers",
	  NEED_FILE | OPEN_WRITE | USES_SIZE, 4096, .open = write_open, .op = write_op,
	  .finish = write_finish },
	{ "truncate", "to --to bytes (0); later rounds fill the file again first",
	  NEED_FILE | OPEN_WRITE | ONE_EACH, 1, .op = truncate_op },
	{ "fadvise-dontneed", "fsync, then drop --bs bytes (all) at --offset",
	  NEED_FILE | OPEN_READ, 0, .op = dontneed_op },
	{ "churn", "create PATH.WORKER with --bs bytes (4K), read it, delete it",
	  NEED_FILE, 4096, .open = churn_open, .op = churn_op, .finish = churn_finish },
	{ .name = NULL },
};
