/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot.c - ownership of snapshots: deep copy and release. Nothing here knows what they mean.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

const char *const hook_state_names[HOOK_STATES] = {
	[HOOK_UNAVAILABLE] = "unavailable",
	[HOOK_ATTACHED] = "attached",
	[HOOK_DEGRADED] = "degraded",
	[HOOK_UNVERIFIED] = "unverified",
};

/* NULL for an empty array, which is not an error: *err is left alone then. */
static void *dup_array(const void *src, size_t n, size_t size, int *err)
{
	void *p;

	if (!n)
		return NULL;
	p = reallocarray(NULL, n, size);
	if (!p) {
		*err = -ENOMEM;
		return NULL;
	}
	memcpy(p, src, n * size);
	return p;
}

static struct snap_row *dup_rows(const struct snap_row *src, size_t n, int *err)
{
	struct snap_row *rows = dup_array(src, n, sizeof(*src), err);

	for (size_t i = 0; rows && i < n; i++) {
		if (!src[i].path)
			continue;
		rows[i].path = strdup(src[i].path);
		if (!rows[i].path)
			*err = -ENOMEM;
	}
	return rows;
}

int snapshot_copy(struct snapshot *dst, const struct snapshot *src)
{
	int err = 0;

	/* A failed array is NULL with its count still set; the counts are mended before freeing. */
	*dst = *src;
	dst->rows = dup_rows(src->rows, src->nrows, &err);
	dst->cpus = dup_array(src->cpus, src->ncpus, sizeof(*src->cpus), &err);
	dst->hooks = dup_array(src->hooks, src->nhooks, sizeof(*src->hooks), &err);
	dst->progs = dup_array(src->progs, src->nprogs, sizeof(*src->progs), &err);
	dst->refs.files = dup_array(src->refs.files, src->refs.nfiles, sizeof(*src->refs.files),
				    &err);
	dst->refs.cpus = dup_array(src->refs.cpus, src->refs.ncpus, sizeof(*src->refs.cpus), &err);
	dst->refs.pairs = dup_array(src->refs.pairs, src->refs.npairs, sizeof(*src->refs.pairs),
				    &err);
	for (int i = 0; i < FS_GPS; i++)
		dst->grace[i].req = dup_array(src->grace[i].req, src->grace[i].nreq,
					      sizeof(*src->grace[i].req), &err);
	dst->refs.sites = dup_array(src->refs.sites, src->refs.nsites, sizeof(*src->refs.sites),
				    &err);
	dst->refs.folios = dup_array(src->refs.folios, src->refs.nfolios,
				     sizeof(*src->refs.folios), &err);
	if (err) {
		if (!dst->rows)
			dst->nrows = 0;
		snapshot_free(dst);
	}
	return err;
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nrows; i++)
		free(s->rows[i].path);
	free(s->rows);
	free(s->cpus);
	free(s->hooks);
	free(s->progs);
	free(s->refs.files);
	free(s->refs.cpus);
	free(s->refs.pairs);
	free(s->refs.sites);
	free(s->refs.folios);
	for (int i = 0; i < FS_GPS; i++)
		free(s->grace[i].req);
	memset(s, 0, sizeof(*s));
}
