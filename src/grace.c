// SPDX-License-Identifier: GPL-2.0-only
/* grace.c - see grace.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "grace.h"

#define STAT_BYTES (FS_GPS * sizeof(struct fs_gp_stat))

int grace_open(struct grace *g, int stat_fd, int requesters_fd)
{
	void *p;

	memset(g, 0, sizeof(*g));
	g->requesters_fd = -1;
	p = mmap(NULL, STAT_BYTES, PROT_READ, MAP_SHARED, stat_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	g->stat = p;
	g->requesters_fd = requesters_fd;
	return 0;
}

void grace_close(struct grace *g)
{
	if (g->stat)
		munmap((void *)g->stat, STAT_BYTES);
	g->stat = NULL;
	g->requesters_fd = -1;
}

void grace_fill_stat(struct snap_grace *out, const struct fs_gp_stat *st)
{
	int i;

	/* The one that was running when the hook was attached is no loss. */
	out->lat_prov = st->unmatched > 1 ? PROV_LOWER_BOUND : PROV_MEASURED;
	out->lat_sum = st->lat_sum;
	out->lat_max = st->lat_max;
	out->lat_count = 0;
	for (i = 0; i < FS_LAT_BUCKETS; i++) {
		out->buckets[i] = st->buckets[i];
		out->lat_count += out->buckets[i];
	}
	if (out->count_prov != PROV_UNAVAILABLE)
		return;
	out->count_prov = PROV_MEASURED;
	out->completed = st->completed;
	out->started = st->started;
}

int grace_fill_requesters(struct snap_grace *out, enum fs_gp kind, const struct fs_requester *keys,
			  const __u64 *counts, size_t n, pid_t self)
{
	struct snap_requester *r;
	size_t i;

	out->ours = 0;
	out->req = NULL;
	out->nreq = 0;
	out->req_prov = PROV_UNAVAILABLE;
	r = calloc(n ? n : 1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	out->req = r;
	out->req_prov = PROV_MEASURED;
	for (i = 0; i < n; i++) {
		if (keys[i].kind != (__u32)kind || !counts[i])
			continue;
		memcpy(r->comm, keys[i].comm, sizeof(r->comm));
		r->tgid = keys[i].tgid;
		r->count = counts[i];
		if (r->tgid == (__u32)self)
			out->ours += r->count;
		r++;
		out->nreq++;
	}
	return 0;
}

/* The whole table in one system call; the caller frees both. */
static int read_requesters(int fd, struct fs_requester **keys, __u64 **counts, __u32 *n)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	__u64 token;
	int err;

	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (err)
		return err;
	*keys = calloc(info.max_entries, sizeof(**keys));
	*counts = calloc(info.max_entries, sizeof(**counts));
	if (!*keys || !*counts)
		return -ENOMEM;
	*n = info.max_entries;
	err = bpf_map_lookup_batch(fd, NULL, &token, *keys, *counts, n, NULL);
	return err == -ENOENT ? 0 : err;	/* ENOENT: that was all */
}

int grace_fill(const struct grace *g, const struct grace_hooks hooks[FS_GPS], struct snapshot *s)
{
	struct fs_requester *keys = NULL;
	__u64 *counts = NULL;
	__u32 n = 0;
	int kind, err = 0;

	for (kind = 0; kind < FS_GPS; kind++) {
		if (hooks[kind].latency)
			grace_fill_stat(&s->grace[kind], &g->stat[kind]);
	}
	for (kind = 0; kind < FS_GPS; kind++) {
		if (!hooks[kind].requesters)
			continue;
		if (!keys)
			err = read_requesters(g->requesters_fd, &keys, &counts, &n);
		if (!err)
			err = grace_fill_requesters(&s->grace[kind], kind, keys, counts, n,
						    getpid());
		if (err)
			break;
	}
	/* More requests than the table could tell apart: the rows are a part of them. */
	for (kind = 0; kind < FS_GPS; kind++)
		if (s->grace[kind].req_prov == PROV_MEASURED && g->stat[kind].req_full)
			s->grace[kind].req_prov = PROV_LOWER_BOUND;
	free(keys);
	free(counts);
	return err;
}
