// SPDX-License-Identifier: GPL-2.0-only
/* refs_detail.c - see refs_detail.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "refs_detail.h"
#include "probes.skel.h"

#define FRAMES 16	/* as bpf/refcount.bpf.c */
#define BATCH 1024U

void detail_open(struct refs_detail *d, const struct tracer *t)
{
	const struct verdict *v = t->sig[SIG_REFCOUNT_OPS].chosen;
	int err;

	memset(d, 0, sizeof(*d));
	d->tracer = t;
	d->folios = t->skel->rodata->cfg_ref_folios_ino != 0;
	if (!t->skel->rodata->cfg_ref_sites)
		return;
	if (v->variant->ref == REFS_DERIVED) {
		log_warn("--sites: unavailable: references are derived from accesses here");
		return;
	}
	d->sites = true;
	err = ksyms_load(&d->ksyms, KSYMS_PATH);
	if (err)
		log_warn("--sites: " KSYMS_PATH ": %s; callers have no names", ksyms_errstr(err));
}

void detail_close(struct refs_detail *d)
{
	ksyms_free(d->ksyms);
	memset(d, 0, sizeof(*d));
}

/* All of a hash: keys and values, to be freed. A change meanwhile can double an entry. */
static int read_hash(const struct bpf_map *m, size_t key_size, size_t val_size, void **keys,
		     void **vals, size_t *n)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	__u32 token = 0, got, room = bpf_map__max_entries(m);
	int fd = bpf_map__fd(m), err = 0;

	*n = 0;
	*keys = malloc((size_t)room * key_size);
	*vals = malloc((size_t)room * val_size);
	if (!*keys || !*vals)
		return -ENOMEM;
	while (!err && *n < room) {
		got = room - *n < BATCH ? room - *n : BATCH;
		err = bpf_map_lookup_batch(fd, *n ? &token : NULL, &token,
					   (char *)*keys + *n * key_size,
					   (char *)*vals + *n * val_size, &got, &opts);
		if (!err || err == -ENOENT)
			*n += got;
	}
	return 0;
}

/* ---- sites ---- */

static int compare_sites(const void *pa, const void *pb)
{
	const struct snap_site *a = pa, *b = pb;
	int c = memcmp(&a->key, &b->key, sizeof(a->key));

	return c ? c : strcmp(a->name, b->name);
}

static int flatten(const struct sites *sites, struct snap_refs *out)
{
	size_t i, k, n = 0;

	for (i = 0; i < sites->nfiles; i++)
		n += sites->file[i].nsites;
	out->sites = calloc(n + 1, sizeof(*out->sites));
	if (!out->sites)
		return -ENOMEM;
	for (i = 0; i < sites->nfiles; i++) {
		for (k = 0; k < sites->file[i].nsites; k++) {
			const struct site *s = &sites->file[i].site[k];
			struct snap_site *to = &out->sites[out->nsites++];

			to->key = sites->file[i].file;
			strncpy(to->name, s->name, sizeof(to->name) - 1);
			to->ops[FS_REF_GET] = s->gets;
			to->ops[FS_REF_PUT] = s->puts;
		}
	}
	if (out->nsites)
		qsort(out->sites, out->nsites, sizeof(*out->sites), compare_sites);
	return 0;
}

static int make_sites(struct refs_detail *d, const struct fs_ref_site_key *keys,
		      const struct fs_ref_site *vals, size_t n, struct snap_refs *out)
{
	struct site_stack *in = calloc(n + 1, sizeof(*in));
	__u64 (*addr)[FRAMES] = calloc(n + 1, sizeof(*addr));
	int fd = bpf_map__fd(d->tracer->skel->maps.refcount_stacks), err = -ENOMEM;
	struct sites sites = {};
	size_t i;

	for (i = 0; in && addr && i < n; i++) {
		bpf_map_lookup_elem(fd, &keys[i].stack, addr[i]);
		in[i] = (struct site_stack){ .file = keys[i].key, .addr = addr[i], .depth = FRAMES,
					     .gets = vals[i].ops[FS_REF_GET],
					     .puts = vals[i].ops[FS_REF_PUT] };
	}
	if (in && addr)
		err = sites_make(&sites, d->ksyms, in, n, 0);
	err = err ?: flatten(&sites, out);
	sites_free(&sites);
	free(in);
	free(addr);
	return err;
}

static int read_sites(struct refs_detail *d, struct snap_refs *out)
{
	void *keys = NULL, *vals = NULL;
	size_t n;
	int err = read_hash(d->tracer->skel->maps.refcount_sites, sizeof(struct fs_ref_site_key),
			    sizeof(struct fs_ref_site), &keys, &vals, &n);

	err = err ?: make_sites(d, keys, vals, n, out);
	free(keys);
	free(vals);
	out->flags |= REFS_SITES;
	return err;
}

/* ---- folios ---- */

static int compare_folios(const void *pa, const void *pb)
{
	const struct snap_folio *a = pa, *b = pb;

	return a->index < b->index ? -1 : a->index > b->index;
}

static int read_folios(struct refs_detail *d, struct snap_refs *out)
{
	const struct probes_bpf *skel = d->tracer->skel;
	void *keys = NULL, *vals = NULL;
	size_t i, n;
	int err = read_hash(skel->maps.refcount_folios, sizeof(__u64), sizeof(struct fs_ref_folio),
			    &keys, &vals, &n);

	out->folios = err ? NULL : calloc(n + 1, sizeof(*out->folios));
	for (i = 0; out->folios && i < n; i++) {
		const struct fs_ref_folio *f = &((struct fs_ref_folio *)vals)[i];

		out->folios[i] = (struct snap_folio){
			.index = ((__u64 *)keys)[i], .order = f->order, .ops = f->ops,
			.bounces = f->bounces, .cpus = { f->cpus[0], f->cpus[1] },
		};
	}
	free(keys);
	free(vals);
	if (!out->folios)
		return -ENOMEM;
	qsort(out->folios, n, sizeof(*out->folios), compare_folios);
	/* An entry read twice, or of a bucket that moved. */
	for (i = 0; i < n; i++)
		if (!i || out->folios[i].index != out->folios[i - 1].index)
			out->folios[out->nfolios++] = out->folios[i];
	out->folios_ino = skel->rodata->cfg_ref_folios_ino;
	out->folios_dev = skel->rodata->cfg_ref_folios_dev;
	return 0;
}

int detail_read(struct refs_detail *d, struct snap_refs *out)
{
	int err = d->sites ? read_sites(d, out) : 0;

	if (!err && d->folios)
		err = read_folios(d, out);
	return err;
}
