/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_uring.c - reads through io_uring, one in flight, without liburing. The kernel does not
 * raise the task's count of read calls for these: folioscope must tell them apart without it.
 */
#include "bench.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct uring {
	int fd;
	void *sq, *cq;
	size_t sq_len, cq_len, sqes_len;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
};

static void *ring_map(const struct uring *u, size_t len, uint64_t what)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd,
		       (off_t)what);

	return p == MAP_FAILED ? NULL : p;
}

static void uring_close(struct uring *u)
{
	if (u->sqes)
		munmap(u->sqes, u->sqes_len);
	if (u->cq)
		munmap(u->cq, u->cq_len);
	if (u->sq)
		munmap(u->sq, u->sq_len);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

static int uring_finish(struct worker *w)
{
	if (w->priv)
		uring_close(w->priv);
	w->priv = NULL;
	return 0;
}

static int uring_open(struct worker *w)
{
	struct uring *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->fd = (int)syscall(__NR_io_uring_setup, 1, &u->p);
	if (u->fd < 0)
		goto fail;
	u->sq_len = u->p.sq_off.array + u->p.sq_entries * sizeof(__u32);
	u->cq_len = u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe);
	u->sqes_len = u->p.sq_entries * sizeof(struct io_uring_sqe);
	u->sq = ring_map(u, u->sq_len, IORING_OFF_SQ_RING);
	if (u->sq)
		u->cq = ring_map(u, u->cq_len, IORING_OFF_CQ_RING);
	if (u->cq)
		u->sqes = ring_map(u, u->sqes_len, IORING_OFF_SQES);
	if (!u->sqes)
		goto fail;
	w->priv = u;
	return 0;
fail:
	err = -errno;
	uring_close(u);
	return worker_fail(w, "io_uring_setup", err);
}

static __u32 *word(void *ring, __u32 offset)
{
	return (__u32 *)((char *)ring + offset);
}

/* Puts one read into the ring. Its single user needs no order until the tail is published. */
static void uring_put(struct worker *w, struct uring *u)
{
	__u32 *tail = word(u->sq, u->p.sq_off.tail);
	__u32 at = *tail & *word(u->sq, u->p.sq_off.ring_mask);

	memset(&u->sqes[at], 0, sizeof(u->sqes[at]));
	u->sqes[at].opcode = IORING_OP_READ;
	u->sqes[at].fd = w->fd;
	u->sqes[at].off = w->cfg->offset;
	u->sqes[at].addr = (__u64)(uintptr_t)w->buf;
	u->sqes[at].len = (__u32)w->cfg->bs;
	word(u->sq, u->p.sq_off.array)[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
}

static int64_t uring_op(struct worker *w)
{
	struct uring *u = w->priv;
	struct io_uring_cqe *cqes = (struct io_uring_cqe *)((char *)u->cq + u->p.cq_off.cqes);
	__u32 *head = word(u->cq, u->p.cq_off.head);
	__s32 res;

	uring_put(w, u);
	while (syscall(__NR_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) {
		if (errno != EINTR)
			return worker_fail(w, "io_uring_enter", -errno);
	}
	if (__atomic_load_n(word(u->cq, u->p.cq_off.tail), __ATOMIC_ACQUIRE) == *head)
		return worker_fail(w, "io_uring completion", -EIO);
	res = cqes[*head & *word(u->cq, u->p.cq_off.ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	if (res < 0)
		return worker_fail(w, "io_uring read", res);
	worker_count(w, w->cfg->offset, (uint64_t)res);
	return 1;
}

const struct workload uring_workloads[] = {
	{ "uring", "one io_uring read of --bs bytes (16) at --offset", NEED_FILE | OPEN_READ, 16,
	  .open = uring_open, .op = uring_op, .finish = uring_finish },
	{ .name = NULL },
};
