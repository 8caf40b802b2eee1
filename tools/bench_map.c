/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_map.c - reads through a mapping. An access is a fault; which touches fault depends on the
 * kernel (large folios may be mapped whole), so the kernel is asked, by the fault counters of the
 * thread around every touch. The pages of a fault are its fault-around window: arithmetic.
 */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define TABLE_BYTES (2UL << 20)	/* what one page table maps with 4-KiB pages */
#define ALIGN_BYTES (64UL << 10)
/* Sanitizers would fault on their shadow inside the measured touch. */
#define PLAIN __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

struct map {
	char *area;	/* reserved; aligned to TABLE_BYTES somewhere inside */
	size_t area_len;
	char *first;	/* the file's first page */
	size_t len;
	uint64_t pte;	/* pages from the page table's start to the mapping */
};

static uint64_t faults(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return (uint64_t)ru.ru_minflt + (uint64_t)ru.ru_majflt;
}

static PLAIN void touch(const volatile char *p)
{
	(void)*p;
}

/*
 * 64 KiB into a 2 MiB block: aligned as asked, never aligned for a huge page. --misalign moves it
 * by pages, so that the windows overlap.
 */
static int map_place(struct worker *w, struct map *m)
{
	uintptr_t base;
	void *area;

	m->area_len = m->len + 2 * TABLE_BYTES;
	area = mmap(NULL, m->area_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	m->area = area;
	base = ((uintptr_t)area + TABLE_BYTES - 1) & ~(TABLE_BYTES - 1);
	m->pte = (ALIGN_BYTES >> w->cfg->page_shift) + w->cfg->misalign;
	m->first = (char *)base + (m->pte << w->cfg->page_shift);
	return 0;
}

static int map_open(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	uint64_t left = w->size > cfg->offset ? w->size - cfg->offset : 0;
	struct map *m;
	int err;

	if (cfg->offset & ((1ULL << cfg->page_shift) - 1))
		return worker_fail(w, "--offset is not at a page's start", -EINVAL);
	if (!left)
		return worker_fail(w, "nothing to map", -ENODATA);
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->len = cfg->bs && cfg->bs < left ? cfg->bs : left;
	w->round = expect_pages(0, m->len, cfg->page_shift);
	err = map_place(w, m);
	if (err) {
		free(m);
		return err;
	}
	w->priv = m;
	faults();	/* its own pages, before they could be counted */
	return 0;
}

static int map_file(struct worker *w, struct map *m)
{
	void *p = mmap(m->first, m->len, PROT_READ, MAP_SHARED | MAP_FIXED, w->fd,
		       (off_t)w->cfg->offset);

	return p == MAP_FAILED ? worker_fail(w, "mmap", -errno) : 0;
}

/* Back to reserved, in one call: no other thread can take the place in between. */
static int unmap_file(struct worker *w, struct map *m)
{
	void *p = mmap(m->first, m->len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? worker_fail(w, "munmap", -errno) : 0;
}

/* One touch. A round maps the file, touches every page once in order, and unmaps it. */
static int64_t map_op(struct worker *w)
{
	const struct bench_cfg *cfg = w->cfg;
	struct map *m = w->priv;
	uint64_t page = w->step % w->round, before;
	int err;

	if (!page) {
		err = map_file(w, m);
		if (err)
			return err;
	}
	before = faults();
	touch(m->first + (page << cfg->page_shift));
	if (faults() != before) {
		w->accesses++;
		w->pages += expect_window(m->pte + page, m->pte, w->round, cfg->around,
					  (unsigned int)(TABLE_BYTES >> cfg->page_shift));
	}
	w->bytes++;
	if (page == w->round - 1) {
		err = unmap_file(w, m);
		if (err)
			return err;
	}
	return 1;
}

static int map_finish(struct worker *w)
{
	struct map *m = w->priv;

	if (!m)
		return 0;
	munmap(m->area, m->area_len);
	free(m);
	w->priv = NULL;
	return 0;
}

const struct workload map_workloads[] = {
	{ "mmap-touch", "a round maps --bs bytes (to the end) and touches each page in order",
	  NEED_FILE | OPEN_READ, 0, .open = map_open, .op = map_op, .finish = map_finish },
	{ .name = NULL },
};
