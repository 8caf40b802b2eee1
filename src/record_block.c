/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record_block.c - the fields of a snapshot block. One description of each field serves both
 * directions (struct codec), so that what is written is what is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "record_block.h"

#define HOOKS_MAX 4096
#define PROGS_MAX 4096
#define REQUESTERS_MAX 65536
#define ROWS_MAX 4194304
#define PAIRS_MAX 4194304
#define SITES_MAX 1048576
#define FOLIOS_MAX 1048576
#define REF_EVERY_MAX 65536
#define FIG_IDS_MAX 256

/* A payload being written or read. After an error every call does nothing; reads give zeros. */
struct codec {
	__u8 *buf;
	size_t pos;
	size_t end;		/* reading: of the innermost frame; writing: room in buf */
	bool reading;
	int err;
	const char *what;	/* the section at work, for messages */
	__u32 nfigs;
	__u16 figs[FIG_IDS_MAX];	/* what the values of this section are */
};

/* ---- fields ---- */

static void put_le(__u8 *p, __u64 v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (__u8)(v >> (8 * i));
}

static __u64 get_le(const __u8 *p, size_t bytes)
{
	__u64 v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (__u64)p[i] << (8 * i);
	return v;
}

/* Says no to a value that has no place in a record. */
static void check(struct codec *c, bool ok)
{
	if (!ok && !c->err)
		c->err = c->reading ? -EBADMSG : -EINVAL;
}

static void grow(struct codec *c, size_t n)
{
	size_t cap = c->end;
	__u8 *p;

	if (n <= c->end - c->pos)
		return;
	while (cap - c->pos < n && cap <= BLOCK_MAX)
		cap = cap ? cap * 2 : 65536;
	p = cap > BLOCK_MAX ? NULL : realloc(c->buf, cap);
	if (!p) {
		c->err = cap > BLOCK_MAX ? -E2BIG : -ENOMEM;
		return;
	}
	c->buf = p;
	c->end = cap;
}

/* The next n bytes of the payload; NULL after an error. */
static __u8 *take(struct codec *c, size_t n)
{
	if (c->reading)
		check(c, n <= c->end - c->pos);
	else if (!c->err)
		grow(c, n);
	if (c->err)
		return NULL;
	c->pos += n;
	return c->buf + c->pos - n;
}

/* Returns v when writing, what was read when reading. Writing never touches the caller's data. */
static __u64 field(struct codec *c, __u64 v, size_t bytes)
{
	__u8 *p = take(c, bytes);

	if (c->reading)
		return p ? get_le(p, bytes) : 0;
	if (p)
		put_le(p, v, bytes);
	return v;
}

static void f_u8(struct codec *c, __u8 *v)
{
	__u64 x = field(c, *v, 1);

	if (c->reading)
		*v = (__u8)x;
}

static void f_u16(struct codec *c, __u16 *v)
{
	__u64 x = field(c, *v, 2);

	if (c->reading)
		*v = (__u16)x;
}

static void f_u32(struct codec *c, __u32 *v)
{
	__u64 x = field(c, *v, 4);

	if (c->reading)
		*v = (__u32)x;
}

static void f_u64(struct codec *c, __u64 *v)
{
	__u64 x = field(c, *v, 8);

	if (c->reading)
		*v = x;
}

/* A provenance of a later program is one that this one cannot vouch for. */
static void f_prov(struct codec *c, __u32 *v)
{
	f_u32(c, v);
	if (c->reading && *v >= PROVS)
		*v = PROV_UNAVAILABLE;
}

/* A string in an array, at most max bytes of it, up to its NUL. Reading finds it zeroed. */
static void f_str(struct codec *c, char *s, size_t max)
{
	__u16 len = c->reading ? 0 : (__u16)strnlen(s, max);
	__u8 *p;

	f_u16(c, &len);
	check(c, len <= max);
	p = take(c, len);
	if (!c->reading) {
		if (p)
			memcpy(p, s, len);
		return;
	}
	if (!p)
		return;
	check(c, !memchr(p, 0, len));
	memcpy(s, p, len);
}

#define F_STR(c, array) f_str(c, array, sizeof(array) - 1)

static void f_path(struct codec *c, char **path)
{
	size_t full = c->reading ? 0 : strlen(*path);
	__u16 len = (__u16)full;
	__u8 *p;

	if (full > 0xffff && !c->err)
		c->err = -E2BIG;
	f_u16(c, &len);
	p = take(c, len);
	if (!p)
		return;
	if (!c->reading) {
		memcpy(p, *path, len);
		return;
	}
	check(c, !memchr(p, 0, len));
	*path = strndup((char *)p, len);
	if (!*path)
		c->err = -ENOMEM;
}

/* A frame carries its length, so that a reader can skip what a later version put behind. */
static size_t frame_begin(struct codec *c)
{
	size_t outer = c->reading ? c->end : c->pos;
	__u32 len = 0;

	f_u32(c, &len);
	if (!c->reading)
		return outer;
	check(c, len <= c->end - c->pos);
	if (!c->err)
		c->end = c->pos + len;
	return outer;
}

static void frame_end(struct codec *c, size_t outer)
{
	if (c->err)
		return;
	if (c->reading) {
		c->pos = c->end;
		c->end = outer;
	} else {
		put_le(c->buf + outer, c->pos - outer - 4, 4);
	}
}

/*
 * An array of frames. Reading allocates, no more items than the bytes left can hold: a count is
 * only believed so far. On error what is returned is still *n items, zeroed or read.
 */
static void *f_array(struct codec *c, void *v, size_t *n, size_t size, size_t max,
		     void (*item)(struct codec *c, void *item))
{
	__u32 count = (__u32)*n;
	size_t outer;

	if (!c->reading && *n > max && !c->err)
		c->err = -E2BIG;
	f_u32(c, &count);
	if (c->reading) {
		check(c, count <= max && count <= (c->end - c->pos) / 4);
		*n = 0;
		v = c->err || !count ? NULL : calloc(count, size);
		if (!v) {
			if (count && !c->err)
				c->err = -ENOMEM;
			return NULL;
		}
		*n = count;
	}
	for (size_t i = 0; i < *n && !c->err; i++) {
		outer = frame_begin(c);
		item(c, (char *)v + i * size);
		frame_end(c, outer);
	}
	return v;
}

/* Which figures the values that follow are. Ids this program does not know are skipped later. */
static void f_fig_ids(struct codec *c)
{
	__u16 n = FIGS;

	f_u16(c, &n);
	check(c, n <= FIG_IDS_MAX);
	c->nfigs = c->err ? 0 : n;
	for (__u16 i = 0; i < c->nfigs; i++) {
		if (!c->reading)
			c->figs[i] = i;
		f_u16(c, &c->figs[i]);
	}
}

static void f_values(struct codec *c, __u64 v[FIGS])
{
	__u64 skipped;

	for (__u32 i = 0; i < c->nfigs; i++)
		f_u64(c, c->figs[i] < FIGS ? &v[c->figs[i]] : &skipped);
}

/* ---- sections of a snapshot block ---- */

static void f_head(struct codec *c, struct block *b)
{
	struct snapshot *s = &b->s;

	f_u32(c, &b->index);
	f_u32(c, &s->seq);
	f_u32(c, &s->flags);
	f_u64(c, &s->mono_ns);
	f_u64(c, &s->wall_ns);
	F_STR(c, s->kernel);
	f_u32(c, &s->page_size);
	f_u32(c, &s->possible_cpus);
	f_u32(c, &s->filtered);
	f_u32(c, &s->machine);
	f_u32(c, &s->run_stats);
	f_u64(c, &s->self_cpu_ns);
	f_u64(c, &s->map_bytes);
	check(c, s->possible_cpus <= CPUS_MAX);
}

static void f_provs(struct codec *c, struct block *b)
{
	__u32 prov, sample_n;

	f_fig_ids(c);
	for (__u32 i = 0; i < c->nfigs; i++) {
		__u16 id = c->figs[i];

		prov = c->reading ? 0 : b->s.prov[id];
		sample_n = c->reading ? 0 : b->s.sample_n[id];
		f_prov(c, &prov);
		f_u32(c, &sample_n);
		if (!c->reading || id >= FIGS)
			continue;
		b->s.prov[id] = (__u8)prov;
		b->s.sample_n[id] = sample_n;
	}
}

static void f_totals(struct codec *c, struct block *b)
{
	__u64 skipped[FIGS];
	__u16 scopes = FS_SCOPES;

	f_fig_ids(c);
	f_values(c, b->s.unattributed);
	f_u16(c, &scopes);
	for (__u16 i = 0; i < scopes && !c->err; i++)
		f_values(c, i < FS_SCOPES ? b->s.total[i] : skipped);
}

static void f_key(struct codec *c, void *item)
{
	struct fs_key *k = item;

	f_u64(c, &k->ino);
	f_u32(c, &k->dev);
	f_u32(c, &k->gen);
	f_u32(c, &k->subdev);
	f_u32(c, &k->scope);
	check(c, k->scope < FS_SCOPES);
}

static void f_row(struct codec *c, void *item)
{
	struct row_delta *d = item;

	f_key(c, &d->row.key);
	f_u32(c, &d->row.flags);
	f_u32(c, &d->row.birth);
	f_u64(c, &d->row.cached_pages);
	f_u64(c, &d->row.size_bytes);
	f_values(c, d->row.v);
	f_u8(c, &d->path_kind);
	check(c, d->path_kind < PATH_KINDS);
	if (d->path_kind == PATH_GIVEN && !c->err)
		f_path(c, &d->row.path);
}

static void f_rows(struct codec *c, struct block *b)
{
	f_fig_ids(c);
	b->delta = f_array(c, b->delta, &b->ndelta, sizeof(*b->delta), ROWS_MAX, f_row);
}

static void f_gone(struct codec *c, struct block *b)
{
	b->gone = f_array(c, b->gone, &b->ngone, sizeof(*b->gone), ROWS_MAX, f_key);
}

static void f_cpu(struct codec *c, void *item)
{
	struct snap_cpu *cpu = item;

	f_u32(c, &cpu->cpu);
	f_u32(c, &cpu->flags);
	f_u64(c, &cpu->callbacks);
	for (int i = 0; i < 4; i++)
		f_u64(c, &cpu->seg[i]);
	f_u64(c, &cpu->kvfree);
	f_u64(c, &cpu->peak_callbacks);
	f_u64(c, &cpu->invoked);
	check(c, cpu->cpu < CPUS_MAX);
}

static void f_cpus(struct codec *c, struct block *b)
{
	struct snapshot *s = &b->s;

	s->cpus = f_array(c, s->cpus, &s->ncpus, sizeof(*s->cpus), CPUS_MAX, f_cpu);
	for (size_t i = 1; i < s->ncpus; i++)
		check(c, s->cpus[i - 1].cpu < s->cpus[i].cpu);
}

static void f_hook(struct codec *c, void *item)
{
	struct snap_hook *h = item;

	F_STR(c, h->signal);
	F_STR(c, h->backend);
	F_STR(c, h->target);
	F_STR(c, h->reason);
	f_u32(c, &h->state);
	f_u64(c, &h->misses);
	if (c->reading && h->state >= HOOK_STATES)
		h->state = HOOK_UNAVAILABLE;
}

static void f_hooks(struct codec *c, struct block *b)
{
	b->s.hooks = f_array(c, b->s.hooks, &b->s.nhooks, sizeof(*b->s.hooks), HOOKS_MAX, f_hook);
}

static void f_requester(struct codec *c, void *item)
{
	struct snap_requester *r = item;

	f_str(c, r->comm, sizeof(r->comm));
	f_u32(c, &r->tgid);
	f_u64(c, &r->count);
}

static void f_grace_kind(struct codec *c, void *item)
{
	struct snap_grace *g = item;
	__u16 buckets = FS_LAT_BUCKETS;

	f_prov(c, &g->count_prov);
	f_prov(c, &g->lat_prov);
	f_prov(c, &g->req_prov);
	f_u64(c, &g->started);
	f_u64(c, &g->completed);
	f_u64(c, &g->lat_count);
	f_u64(c, &g->lat_sum);
	f_u64(c, &g->lat_max);
	f_u64(c, &g->ours);
	f_u16(c, &buckets);
	check(c, buckets <= FS_LAT_BUCKETS);
	for (__u16 i = 0; i < buckets && !c->err; i++)
		f_u64(c, &g->buckets[i]);
	g->req = f_array(c, g->req, &g->nreq, sizeof(*g->req), REQUESTERS_MAX, f_requester);
}

static void f_grace(struct codec *c, struct block *b)
{
	__u16 kinds = FS_GPS;
	size_t outer;

	f_u16(c, &kinds);
	for (__u16 i = 0; i < kinds && !c->err; i++) {
		outer = frame_begin(c);
		if (i < FS_GPS)
			f_grace_kind(c, &b->s.grace[i]);
		frame_end(c, outer);
	}
}

static void f_lost(struct codec *c, struct block *b)
{
	struct snap_lost *l = &b->s.lost;

	f_u64(c, &l->map_full);
	f_u64(c, &l->ring_full);
	f_u64(c, &l->recursion_misses);
	f_u64(c, &l->torn);
	f_u64(c, &l->witness);
}

static void f_prog(struct codec *c, void *item)
{
	struct snap_prog *p = item;

	F_STR(c, p->name);
	f_u64(c, &p->runs);
	f_u64(c, &p->ns);
}

static void f_progs(struct codec *c, struct block *b)
{
	b->s.progs = f_array(c, b->s.progs, &b->s.nprogs, sizeof(*b->s.progs), PROGS_MAX, f_prog);
}

static void f_sample(struct codec *c, struct bounce_sample *b)
{
	for (int i = 0; i < BOUNCE_GROUPS; i++) {
		f_u64(c, &b->followed[i]);
		f_u64(c, &b->bounced[i]);
		f_u64(c, &b->first[i]);
	}
}

static void f_ref_sum(struct codec *c, struct snap_ref *r)
{
	__u16 groups = BOUNCE_GROUPS;

	f_u32(c, &r->grouped);
	for (int side = 0; side < FS_REF_SIDES; side++)
		f_u64(c, &r->ops[side]);
	f_u64(c, &r->freezes);
	f_u64(c, &r->not_followed);
	f_u16(c, &groups);
	check(c, groups == BOUNCE_GROUPS);
	for (int side = 0; side < FS_REF_SIDES && !c->err; side++)
		f_sample(c, &r->sample[side]);
}

static void f_ref_file(struct codec *c, void *item)
{
	struct snap_ref *r = item;

	f_key(c, &r->key);
	f_u32(c, &r->birth);
	f_ref_sum(c, r);
}

static void f_ref_cpu(struct codec *c, void *item)
{
	struct snap_ref_cpu *cpu = item;

	f_u32(c, &cpu->cpu);
	check(c, cpu->cpu < CPUS_MAX);
	for (int i = 0; i < 3; i++)
		f_u32(c, &cpu->place[i]);
	for (int side = 0; side < FS_REF_SIDES; side++) {
		f_u64(c, &cpu->ops[side]);
		f_u64(c, &cpu->followed[side]);
		f_u64(c, &cpu->bounces[side]);
	}
}

static void f_pair(struct codec *c, void *item)
{
	struct snap_pair *p = item;

	f_u32(c, &p->from);
	f_u32(c, &p->to);
	f_u64(c, &p->count);
	check(c, p->from < CPUS_MAX && p->to < CPUS_MAX);
}

static void f_refs(struct codec *c, struct block *b)
{
	struct snap_refs *r = &b->s.refs;
	size_t outer, i;

	f_u32(c, &r->every);
	f_u32(c, &r->shift);
	f_u32(c, &r->flags);
	f_u32(c, &r->sides);
	f_u64(c, &r->other);
	check(c, r->shift < 64 && r->every <= REF_EVERY_MAX);
	outer = frame_begin(c);
	f_ref_sum(c, &r->total);
	frame_end(c, outer);
	outer = frame_begin(c);
	f_ref_sum(c, &r->outside);
	frame_end(c, outer);
	outer = frame_begin(c);
	f_ref_sum(c, &r->unattributed);
	frame_end(c, outer);
	r->files = f_array(c, r->files, &r->nfiles, sizeof(*r->files), ROWS_MAX, f_ref_file);
	r->cpus = f_array(c, r->cpus, &r->ncpus, sizeof(*r->cpus), CPUS_MAX, f_ref_cpu);
	for (i = 1; i < r->ncpus; i++)
		check(c, r->cpus[i - 1].cpu < r->cpus[i].cpu);
	r->pairs = f_array(c, r->pairs, &r->npairs, sizeof(*r->pairs), PAIRS_MAX, f_pair);
	for (i = 1; i < r->npairs; i++)
		check(c, r->pairs[i - 1].to < r->pairs[i].to ||
		      (r->pairs[i - 1].to == r->pairs[i].to &&
		       r->pairs[i - 1].from < r->pairs[i].from));
}

static void f_site(struct codec *c, void *item)
{
	struct snap_site *s = item;

	f_key(c, &s->key);
	F_STR(c, s->name);
	for (int side = 0; side < FS_REF_SIDES; side++)
		f_u64(c, &s->ops[side]);
}

static void f_folio(struct codec *c, void *item)
{
	struct snap_folio *f = item;

	f_u64(c, &f->index);
	f_u32(c, &f->order);
	f_u64(c, &f->ops);
	f_u64(c, &f->bounces);
	for (int i = 0; i < 2; i++)
		f_u64(c, &f->cpus[i]);
	check(c, f->order < 64);
}

static void f_ref_detail(struct codec *c, struct block *b)
{
	struct snap_refs *r = &b->s.refs;

	f_u64(c, &r->sites_full);
	f_u64(c, &r->folios_ino);
	f_u32(c, &r->folios_dev);
	r->sites = f_array(c, r->sites, &r->nsites, sizeof(*r->sites), SITES_MAX, f_site);
	r->folios = f_array(c, r->folios, &r->nfolios, sizeof(*r->folios), FOLIOS_MAX, f_folio);
	for (size_t i = 1; i < r->nfolios; i++)
		check(c, r->folios[i - 1].index < r->folios[i].index);
}

/* Ids are written to files: append only. */
static const struct section {
	const char *name;
	void (*fields)(struct codec *c, struct block *b);
} sections[] = {
	[1] = { "head", f_head },
	[2] = { "provenance", f_provs },
	[3] = { "totals", f_totals },
	[4] = { "rows", f_rows },
	[5] = { "removed rows", f_gone },
	[6] = { "cpus", f_cpus },
	[7] = { "hooks", f_hooks },
	[8] = { "grace periods", f_grace },
	[9] = { "losses", f_lost },
	[10] = { "programs", f_progs },
	[11] = { "references", f_refs },
	[12] = { "reference details", f_ref_detail },
};

#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

static void write_sections(struct codec *c, struct block *b)
{
	size_t outer;

	for (__u32 id = 1; id < SECTIONS; id++) {
		f_u32(c, &id);
		outer = frame_begin(c);
		sections[id].fields(c, b);
		frame_end(c, outer);
	}
}

static void read_sections(struct codec *c, struct block *b)
{
	__u32 id = 0, seen = 0;
	size_t outer;

	while (!c->err && c->pos < c->end) {
		c->what = "section list";
		f_u32(c, &id);
		outer = frame_begin(c);
		if (id > 0 && id < SECTIONS) {
			c->what = sections[id].name;
			check(c, !(seen & 1U << id));
			if (!c->err)
				sections[id].fields(c, b);
			seen |= 1U << id;
		}
		frame_end(c, outer);
	}
	if (!(seen & 1U << 1)) {
		c->what = "section list";
		check(c, false);
	}
}

int block_encode(struct payload *out, const struct block *b)
{
	struct codec c = { .buf = out->p, .end = out->cap };
	struct block copy = *b;		/* its arrays are only read */

	write_sections(&c, &copy);
	out->p = c.buf;
	out->cap = c.end;
	out->len = c.pos;
	return c.err;
}

int block_decode(struct block *b, const __u8 *raw, size_t len, const char **what)
{
	struct codec c = { .buf = (__u8 *)raw, .end = len, .reading = true };

	memset(b, 0, sizeof(*b));
	read_sections(&c, b);
	*what = c.what;
	return c.err;
}

void block_free(struct block *b)
{
	for (size_t i = 0; i < b->ndelta; i++)
		free(b->delta[i].row.path);
	free(b->delta);
	free(b->gone);
	snapshot_free(&b->s);
	memset(b, 0, sizeof(*b));
}
