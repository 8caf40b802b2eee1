/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_read.c - workloads that read one file with system calls. What counts is what the call
 * returned: nothing at and beyond the end, and pages clamped to the file's size.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/* One pread of len bytes at offset; what it returned. */
static int64_t read_at(struct worker *w, uint64_t len, uint64_t offset)
{
	ssize_t n = pread(w->fd, w->buf, len, (off_t)offset);

	if (n < 0)
		return worker_fail(w, "pread", -errno);
	worker_count(w, offset, (uint64_t)n);
	return n;
}

int64_t read_op(struct worker *w)
{
	int64_t n = read_at(w, w->cfg->bs, w->cfg->offset);

	return n < 0 ? n : 1;
}

/* A round is the file from --offset to its end, in calls of --bs. */
static int seqread_open(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;

	if (w->size <= cfg->offset)
		return worker_fail(w, "nothing to read", -ENODATA);
	w->round = (w->size - cfg->offset + cfg->bs - 1) / cfg->bs;
	return 0;
}

static int64_t seqread_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	int64_t n = read_at(w, cfg->bs, cfg->offset + w->step % w->round * cfg->bs);

	return n < 0 ? n : 1;
}

static int64_t overlap_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t page = 1ULL << cfg->page_shift;
	int64_t n;

	if (cfg->bs < page)
		return -EINVAL;
	n = read_at(w, cfg->bs, cfg->offset);
	if (n >= 0)
		n = read_at(w, page, cfg->offset + cfg->bs - page);
	return n < 0 ? n : 2;
}

static int64_t beyond_op(struct worker *w)
{
	int64_t n = read_at(w, w->cfg->bs, w->size + w->cfg->offset);

	return n < 0 ? n : 1;
}

static int64_t zero_op(struct worker *w)
{
	int64_t n = read_at(w, 0, w->cfg->offset);

	return n < 0 ? n : 1;
}

static int64_t straddle_op(struct worker *w)
{
	uint64_t half = w->cfg->bs / 2;
	int64_t n = read_at(w, w->cfg->bs, w->size > half ? w->size - half : 0);

	return n < 0 ? n : 1;
}

/* The buffer in --iov parts; the last takes the rest. */
static unsigned int iov_fill(const struct worker *w, struct iovec *iov)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t part = cfg->bs / cfg->iov;
	unsigned int i;

	for (i = 0; i < cfg->iov; i++)
		iov[i] = (struct iovec){ w->buf + i * part, part };
	iov[i - 1].iov_len = cfg->bs - (i - 1) * part;
	return i;
}

static int64_t readv_op(struct worker *w)
{
	struct iovec iov[IOV_MAX];
	unsigned int n = iov_fill(w, iov);
	ssize_t got = preadv(w->fd, iov, (int)n, (off_t)w->cfg->offset);

	if (got < 0)
		return worker_fail(w, "preadv", -errno);
	worker_count(w, w->cfg->offset, (uint64_t)got);
	return 1;
}

/* With nowait, pages that are not there are an answer and no access. */
static int64_t preadv2_op(struct worker *w)
{
	struct iovec iov = { w->buf, w->cfg->bs };
	ssize_t got = preadv2(w->fd, &iov, 1, (off_t)w->cfg->offset, w->cfg->rwf);

	if (got < 0) {
		if (errno != EAGAIN)
			return worker_fail(w, "preadv2", -errno);
		w->again++;
		return 1;
	}
	worker_count(w, w->cfg->offset, (uint64_t)got);
	return 1;
}

static int null_open(struct worker *w)
{
	w->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	return w->null < 0 ? worker_fail(w, "open /dev/null", -errno) : 0;
}

static int pipe_open(struct worker *w)
{
	int err = null_open(w);

	if (err)
		return err;
	return pipe2(w->pipe, O_CLOEXEC) ? worker_fail(w, "pipe", -errno) : 0;
}

/* Empties n bytes from the pipe; they belong to the pipe by now, so this is no access. */
static int pipe_drain(struct worker *w, ssize_t n)
{
	ssize_t gone;

	while (n > 0) {
		gone = splice(w->pipe[0], NULL, w->null, NULL, (size_t)n, SPLICE_F_MOVE);
		if (gone <= 0)
			return worker_fail(w, "drain the pipe", gone ? -errno : -EPIPE);
		n -= gone;
	}
	return 0;
}

static int sendfile_open(struct worker *w)
{
	return w->cfg->pipe ? pipe_open(w) : null_open(w);
}

/* The whole range. The kernel may take it in several calls (a pipe is full): each is an access. */
static int64_t sendfile_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t left = cfg->offset < w->size ? w->size - cfg->offset : 0;
	off_t at = (off_t)cfg->offset;
	int64_t calls = 0;
	ssize_t n;
	int err;

	if (cfg->bs)
		left = cfg->bs;
	do {
		n = sendfile(cfg->pipe ? w->pipe[1] : w->null, w->fd, &at, left);
		if (n < 0)
			return worker_fail(w, "sendfile", -errno);
		calls++;
		worker_count(w, (uint64_t)(at - n), (uint64_t)n);
		err = cfg->pipe ? pipe_drain(w, n) : 0;
		if (err)
			return err;
		left -= (uint64_t)n;
	} while (n && left);
	return calls;
}

static int64_t splice_op(struct worker *w)
{
	loff_t at = (loff_t)w->cfg->offset;
	ssize_t n = splice(w->fd, &at, w->pipe[1], NULL, w->cfg->bs, SPLICE_F_MOVE);
	int err;

	if (n < 0)
		return worker_fail(w, "splice", -errno);
	worker_count(w, w->cfg->offset, (uint64_t)n);
	err = pipe_drain(w, n);
	return err ? err : 1;
}

/* Page 0 is the most wanted. Each worker has its own fixed sequence. */
struct zipf_reader {
	struct zipf *z;
	uint64_t rng;
};

static int zipf_open(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t pages = cfg->pages ? cfg->pages : expect_pages(0, w->size, cfg->page_shift);
	struct zipf_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	w->priv = r;
	r->rng = cfg->seed + w->id;
	r->z = zipf_new(pages);
	return r->z ? 0 : worker_fail(w, "page table", pages ? -ENOMEM : -ENODATA);
}

static int64_t zipf_op(struct worker *w)
{
	struct zipf_reader *r = w->priv;
	uint64_t page = zipf_pick(r->z, &r->rng);
	int64_t n = read_at(w, w->cfg->bs, (page << w->cfg->page_shift) + w->cfg->offset);

	return n < 0 ? n : 1;
}

static int zipf_finish(struct worker *w)
{
	struct zipf_reader *r = w->priv;

	if (r)
		zipf_free(r->z);
	free(r);
	w->priv = NULL;
	return 0;
}

#define READER (NEED_FILE | OPEN_READ)

const struct workload read_workloads[] = {
	{ "pread", "one pread of --bs bytes (16) at --offset", READER, 16, .op = read_op },
	{ "noise", "pread, but always by other processes", READER | OWN_PROCESS, 16,
	  .op = read_op },
	{ "readonce", "one pread of --bs bytes (64 pages); pread with another default", READER,
	  64 << 12, .op = read_op },
	{ "seqread", "a round is the file from --offset on in calls of --bs (1M)", READER, 1 << 20,
	  .open = seqread_open, .op = seqread_op },
	{ "coldread", "seqread of a file that was dropped from the page cache", READER, 1 << 20,
	  .prepare = files_drop, .open = seqread_open, .op = seqread_op },
	{ "overlap", "pread of --bs (16K), then of its last page again", READER, 16 << 10,
	  .op = overlap_op },
	{ "beyond-eof", "pread at the end of the file, plus --offset", READER, 4096,
	  .op = beyond_op },
	{ "zero-length", "pread of no bytes", READER, 16, .op = zero_op },
	{ "straddle-eof", "pread of --bs (64K), half of it beyond the end", READER, 64 << 10,
	  .op = straddle_op },
	{ "direct", "pread with O_DIRECT; no access, but on tmpfs", READER | OPEN_DIRECT, 4096,
	  .op = read_op },
	{ "readv", "one preadv of --bs (64K) in --iov parts", READER, 64 << 10, .op = readv_op },
	{ "preadv2", "one preadv2 of --bs (4K) with --flags", READER, 4096, .op = preadv2_op },
	{ "sendfile", "--bs bytes (to the end) to /dev/null, or --pipe", READER, 0,
	  .open = sendfile_open, .op = sendfile_op },
	{ "splice", "one splice of --bs (64K) to a pipe", READER, 64 << 10, .open = pipe_open,
	  .op = splice_op },
	{ "zipf", "pread of --bs (16) at a page chosen by Zipf's law", READER, 16,
	  .open = zipf_open, .op = zipf_op, .finish = zipf_finish },
	{ .name = NULL },
};
