/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_helpers.h - for the tests of record files: random snapshots, deep equality, files in
 * memory.
 */
#ifndef RECORD_HELPERS_H
#define RECORD_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "record.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define HEADER 24

/* ---- snapshots ---- */

static __u64 rng_state;

static inline __u64 rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

static inline void noise(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((__u8 *)p)[i] = (__u8)rng();
}

/* Any bytes but NUL, of any length that fits, zeroed behind. */
static inline void noise_str(char *s, size_t size)
{
	size_t len = rng() % size;

	memset(s, 0, size);
	for (size_t i = 0; i < len; i++)
		s[i] = (char)(1 + rng() % 255);
}

static inline void random_row(struct snap_row *row, __u64 id)
{
	char path[300];

	noise(row, sizeof(*row));
	row->key = (struct fs_key){ id / 3, 8 << 20 | (__u32)(id % 3), 7, (__u32)(id % 2), 0 };
	noise_str(path, sizeof(path));
	row->path = rng() % 4 ? strdup(path) : NULL;
}

static inline void random_rest(struct snapshot *s, __u32 seq)
{
	s->seq = seq;
	s->flags = (__u32)rng() & 7;
	s->mono_ns = rng();
	s->wall_ns = rng();
	noise_str(s->kernel, sizeof(s->kernel));
	s->page_size = 4096;
	s->possible_cpus = 65536;
	s->filtered = rng() & 1;
	s->machine = rng() & 1;
	for (int i = 0; i < FIGS; i++)
		s->prov[i] = rng() % PROVS;
	noise(s->sample_n, sizeof(s->sample_n));
	noise(s->total, sizeof(s->total));
	noise(s->unattributed, sizeof(s->unattributed));
	noise(&s->lost, sizeof(s->lost));
	s->run_stats = rng() & 1;
	s->self_cpu_ns = rng();
	s->map_bytes = rng();
}

static inline void random_arrays(struct snapshot *s)
{
	s->ncpus = rng() % 9;
	s->cpus = s->ncpus ? calloc(s->ncpus, sizeof(*s->cpus)) : NULL;
	for (size_t i = 0; i < s->ncpus; i++) {
		noise(&s->cpus[i], sizeof(s->cpus[i]));
		s->cpus[i].cpu = (__u32)(65535 - 8 * (s->ncpus - 1 - i));
	}
	s->nhooks = rng() % 5;
	s->hooks = s->nhooks ? calloc(s->nhooks, sizeof(*s->hooks)) : NULL;
	for (size_t i = 0; i < s->nhooks; i++) {
		noise_str(s->hooks[i].signal, sizeof(s->hooks[i].signal));
		noise_str(s->hooks[i].backend, sizeof(s->hooks[i].backend));
		noise_str(s->hooks[i].target, sizeof(s->hooks[i].target));
		noise_str(s->hooks[i].reason, sizeof(s->hooks[i].reason));
		s->hooks[i].state = rng() % HOOK_STATES;
		s->hooks[i].misses = rng();
	}
	s->nprogs = rng() % 5;
	s->progs = s->nprogs ? calloc(s->nprogs, sizeof(*s->progs)) : NULL;
	for (size_t i = 0; i < s->nprogs; i++) {
		noise(&s->progs[i], sizeof(s->progs[i]));
		noise_str(s->progs[i].name, sizeof(s->progs[i].name));
	}
}

static inline void random_grace(struct snap_grace *g)
{
	noise(g, sizeof(*g));
	g->count_prov = rng() % PROVS;
	g->lat_prov = rng() % PROVS;
	g->req_prov = rng() % PROVS;
	g->nreq = rng() % 4;
	g->req = g->nreq ? calloc(g->nreq, sizeof(*g->req)) : NULL;
	for (size_t i = 0; i < g->nreq; i++) {
		noise(&g->req[i], sizeof(g->req[i]));
		noise_str(g->req[i].comm, FS_COMM);
		if (i == 1)	/* as long as can be, without NUL */
			memset(g->req[i].comm, 'x', FS_COMM);
	}
}

/* One field at most, so that a change which is not noticed is lost. */
static inline void change_row(struct snap_row *row, unsigned int what)
{
	if (what == 0)
		row->flags ^= 1;
	else if (what == 1)
		row->birth++;
	else if (what == 2)
		row->cached_pages++;
	else if (what == 3)
		row->size_bytes++;
	else if (what == 4)
		row->v[rng() % FIGS]++;
}

/* About nrows rows, of which most are as in prev; prev may be NULL. Rows in no order. */
static inline void random_snapshot(struct snapshot *s, const struct snapshot *prev, size_t nrows)
{
	memset(s, 0, sizeof(*s));
	random_rest(s, prev ? prev->seq + 1 : 0);
	random_arrays(s);
	for (int i = 0; i < FS_GPS; i++)
		random_grace(&s->grace[i]);
	s->rows = calloc(nrows + 1, sizeof(*s->rows));
	for (size_t i = 0; i < nrows; i++) {
		const struct snap_row *old = prev && i < prev->nrows ? &prev->rows[i] : NULL;
		struct snap_row *row = &s->rows[s->nrows];

		if (rng() % 8 == 0)	/* gone, or not there yet */
			continue;
		random_row(row, (i * 7919) % 100003);
		/* Often as it was, or so but for its figures. */
		if (old && !memcmp(&old->key, &row->key, sizeof(row->key)) && rng() % 3) {
			free(row->path);
			*row = *old;
			row->path = old->path ? strdup(old->path) : NULL;
			change_row(row, rng() % 8);
		}
		s->nrows++;
	}
}

static inline int row_order(const void *a, const void *b)
{
	return memcmp(&((const struct snap_row *)a)->key, &((const struct snap_row *)b)->key,
		      sizeof(struct fs_key));
}

static inline void sort_rows(struct snapshot *s)
{
	if (s->nrows)
		qsort(s->rows, s->nrows, sizeof(*s->rows), row_order);
}

static inline bool equal_bytes(const void *a, const void *b, size_t n, size_t size)
{
	return !n || !memcmp(a, b, n * size);
}

static inline bool equal_rows(struct snapshot *a, struct snapshot *b)
{
	sort_rows(a);
	sort_rows(b);
	for (size_t i = 0; i < a->nrows; i++) {
		struct snap_row x = a->rows[i], y = b->rows[i];

		if (!x.path != !y.path || (x.path && strcmp(x.path, y.path)))
			return false;
		x.path = y.path = NULL;
		if (memcmp(&x, &y, sizeof(x)))
			return false;
	}
	return true;
}

/* In every field: what a pointer points to is compared, the rest as bytes. */
static inline bool equal(struct snapshot *a, struct snapshot *b)
{
	struct snapshot x = *a, y = *b;

	if (a->nrows != b->nrows || a->ncpus != b->ncpus || a->nhooks != b->nhooks ||
	    a->nprogs != b->nprogs || !equal_rows(a, b) ||
	    !equal_bytes(a->cpus, b->cpus, a->ncpus, sizeof(*a->cpus)) ||
	    !equal_bytes(a->progs, b->progs, a->nprogs, sizeof(*a->progs)))
		return false;
	for (size_t i = 0; i < a->nhooks; i++) {
		if (memcmp(a->hooks[i].signal, b->hooks[i].signal,
			   offsetof(struct snap_hook, state) + 4) ||
		    a->hooks[i].misses != b->hooks[i].misses)
			return false;
	}
	for (int i = 0; i < FS_GPS; i++) {
		const struct snap_grace *g = &a->grace[i], *h = &b->grace[i];

		if (g->nreq != h->nreq)
			return false;
		for (size_t k = 0; k < g->nreq; k++) {
			if (memcmp(g->req[k].comm, h->req[k].comm, FS_COMM) ||
			    g->req[k].tgid != h->req[k].tgid || g->req[k].count != h->req[k].count)
				return false;
		}
		x.grace[i].req = y.grace[i].req = NULL;
		/* The one hole in the structs compared as bytes. */
		if (memcmp(&g->count_prov, &h->count_prov, 12) ||
		    memcmp(&g->started, &h->started, offsetof(struct snap_grace, req) -
			   offsetof(struct snap_grace, started)))
			return false;
	}
	x.rows = y.rows = NULL;
	return x.seq == y.seq && x.flags == y.flags && x.mono_ns == y.mono_ns &&
	       x.wall_ns == y.wall_ns && !memcmp(x.kernel, y.kernel, sizeof(x.kernel)) &&
	       x.page_size == y.page_size && x.possible_cpus == y.possible_cpus &&
	       x.filtered == y.filtered && x.machine == y.machine &&
	       !memcmp(x.prov, y.prov, sizeof(x.prov)) &&
	       !memcmp(x.sample_n, y.sample_n, sizeof(x.sample_n)) &&
	       !memcmp(x.total, y.total, sizeof(x.total)) &&
	       !memcmp(x.unattributed, y.unattributed, sizeof(x.unattributed)) &&
	       !memcmp(&x.lost, &y.lost, sizeof(x.lost)) && x.run_stats == y.run_stats &&
	       x.self_cpu_ns == y.self_cpu_ns && x.map_bytes == y.map_bytes;
}

/* ---- files ---- */

struct bytes {
	__u8 *p;
	size_t len;
};

static inline int memory_file(const void *p, size_t len)
{
	int fd = memfd_create("record", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static inline struct bytes contents(int fd)
{
	struct bytes b = { .len = (size_t)lseek(fd, 0, SEEK_END) };

	b.p = malloc(b.len + 1);
	assert_int_equal(pread(fd, b.p, b.len, 0), b.len);
	return b;
}

static inline struct bytes record_of(const struct snapshot *s, size_t n)
{
	int fd = memory_file("", 0), keep = dup(fd);
	struct record_writer *w = record_create_fd(fd);
	struct bytes b;

	assert_non_null(w);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(record_write(w, &s[i]), 0);
	assert_int_equal(record_close(w), 0);
	b = contents(keep);
	close(keep);
	return b;
}

static inline void assert_one_line(const char *s)
{
	assert_true(strlen(s) > 5 && strlen(s) < 190);
	assert_null(strchr(s, '\n'));
}

struct outcome {
	bool opened, incomplete;
	int last;		/* what ended it */
	size_t good;		/* snapshots equal to those written, in order */
	bool wrong;		/* one was not */
	char error[256];
};

/* Reads all of a file that should hold (the beginning of) s. */
static inline struct outcome read_fd(int fd, struct snapshot *s, size_t n)
{
	struct outcome o = { 0 };
	struct record_reader *r = record_open_fd(fd, o.error, sizeof(o.error));
	struct snapshot got;

	if (!r) {
		assert_one_line(o.error);
		return o;
	}
	o.opened = true;
	while ((o.last = record_read(r, &got)) == 1) {
		if (o.good < n && equal(&got, &s[o.good]))
			o.good++;
		else
			o.wrong = true;
		snapshot_free(&got);
	}
	assert_int_equal(got.nrows, 0);
	assert_null(got.rows);
	snprintf(o.error, sizeof(o.error), "%s", record_error(r));
	if (o.last < 0)
		assert_one_line(o.error);
	o.incomplete = record_incomplete(r);
	assert_int_equal(record_read(r, &got), o.last);	/* and so for ever */
	assert_string_equal(o.error, record_error(r));
	record_reader_close(r);
	return o;
}

static inline struct outcome read_bytes(const void *p, size_t len, struct snapshot *s, size_t n)
{
	return read_fd(memory_file(p, len), s, n);
}

static inline void free_all(struct snapshot *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		snapshot_free(&s[i]);
}

#endif
