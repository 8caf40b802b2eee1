/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixture_snapshot.h - hand-made snapshots for tests of the model and the renderers. A fixture is
 * built in ordinary memory and released by snapshot_free().
 */
#ifndef FIXTURE_SNAPSHOT_H
#define FIXTURE_SNAPSHOT_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

#define FIX_INLINE static inline __attribute__((unused))
#define FIX_SEC 1000000000ull
#define FIX_WALL (1800000000ull * FIX_SEC)	/* 2027-01-15 08:00:00 UTC */
#define FIX_DEV(major, minor) ((__u32)(major) << 20 | (minor))

/* Nothing happened yet: every row figure of the family access measured, the rest unavailable. */
FIX_INLINE void fix_init(struct snapshot *s, __u32 seq, __u64 ns)
{
	int f;

	memset(s, 0, sizeof(*s));
	s->seq = seq;
	s->mono_ns = FIX_SEC + ns;
	s->wall_ns = FIX_WALL + ns;
	s->page_size = 4096;
	strcpy(s->kernel, "6.18.44");
	for (f = FIG_ACCESSES; f <= FIG_UNTESTED; f++)
		s->prov[f] = PROV_MEASURED;
}

FIX_INLINE void *fix_grow(void *array, size_t *n, size_t size)
{
	/* By doubling, so that large fixtures stay fast. */
	if (!(*n & (*n - 1))) {
		array = realloc(array, (*n ? 2 * *n : 1) * size);
		assert(array);
	}
	memset((char *)array + *n * size, 0, size);
	(*n)++;
	return array;
}

FIX_INLINE struct snap_row *fix_row(struct snapshot *s, __u64 ino, const char *path)
{
	struct snap_row *row;

	s->rows = fix_grow(s->rows, &s->nrows, sizeof(*s->rows));
	row = &s->rows[s->nrows - 1];
	row->key.ino = ino;
	row->key.dev = FIX_DEV(8, 1);
	row->key.gen = 1;
	row->birth = 1;
	row->path = path ? strdup(path) : NULL;
	return row;
}

FIX_INLINE struct snap_cpu *fix_cpu(struct snapshot *s, __u32 cpu, __u64 callbacks)
{
	struct snap_cpu *c;

	s->cpus = fix_grow(s->cpus, &s->ncpus, sizeof(*s->cpus));
	c = &s->cpus[s->ncpus - 1];
	c->cpu = cpu;
	c->flags = CPU_ONLINE | CPU_BACKLOG_VALID | CPU_KVFREE_VALID;
	c->callbacks = callbacks;
	c->seg[1] = callbacks / 2;
	c->seg[3] = callbacks / 4;
	c->kvfree = callbacks / 8;
	c->peak_callbacks = 2 * callbacks;
	s->possible_cpus = s->ncpus;
	return c;
}

FIX_INLINE struct snap_hook *fix_hook(struct snapshot *s, const char *signal, __u32 state,
				      const char *backend, const char *target, const char *reason)
{
	struct snap_hook *h;

	s->hooks = fix_grow(s->hooks, &s->nhooks, sizeof(*s->hooks));
	h = &s->hooks[s->nhooks - 1];
	snprintf(h->signal, sizeof(h->signal), "%s", signal);
	snprintf(h->backend, sizeof(h->backend), "%s", backend);
	snprintf(h->target, sizeof(h->target), "%s", target);
	snprintf(h->reason, sizeof(h->reason), "%s", reason);
	h->state = state;
	return h;
}

FIX_INLINE void fix_requester(struct snap_grace *g, const char *comm, __u32 tgid, __u64 count)
{
	size_t i;

	g->req = fix_grow(g->req, &g->nreq, sizeof(*g->req));
	for (i = 0; i < FS_COMM && comm[i]; i++)	/* full, it has no NUL */
		g->req[g->nreq - 1].comm[i] = comm[i];
	g->req[g->nreq - 1].tgid = tgid;
	g->req[g->nreq - 1].count = count;
}

FIX_INLINE void fix_prog(struct snapshot *s, const char *name, __u64 runs, __u64 ns)
{
	s->progs = fix_grow(s->progs, &s->nprogs, sizeof(*s->progs));
	snprintf(s->progs[s->nprogs - 1].name, sizeof(s->progs[0].name), "%s", name);
	s->progs[s->nprogs - 1].runs = runs;
	s->progs[s->nprogs - 1].ns = ns;
}

FIX_INLINE void fix_latency(struct snap_grace *g, unsigned int bucket, __u64 count)
{
	__u64 ns = bucket ? (1ull << bucket) - (1ull << bucket) / 4 : 1;

	g->buckets[bucket] += count;
	g->lat_count += count;
	g->lat_sum += count * ns;
	g->lat_max = ns > g->lat_max ? ns : g->lat_max;
}

/* Names that try to break what prints them. */
static const char *const fix_hostile[] __attribute__((unused)) = {
	"/tmp/esc\x1b[2J\x1b]52;c;AAAA\x07",
	"/tmp/cr\rlf\nend",
	"/tmp/quote\"back\\slash'",
	"/tmp/c1-raw\x9b" "31m",
	"/tmp/c1-utf8\xc2\x9b" "31m",
	"/tmp/rtl\xe2\x80\xaegpj.exe",
	"/tmp/invalid\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80",
	"/tmp/cut\xe2\x82",
	"/tmp/zero\xe2\x80\x8bwidth\xef\xbb\xbf",
	"/tmp/label\"} 1\nfolioscope_evil 1",
	"/tmp/\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e/\xc3\xa9t\xc3\xa9.txt",
	"/tmp/e\xcc\x81-combining",
};
#define FIX_HOSTILE (sizeof(fix_hostile) / sizeof(fix_hostile[0]))

#endif
