/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_model_refs.c - references of an interval: exact and estimated bounces, sums that add up,
 * transfers by pair and distance, sites and folios.
 */
/* units: model.c model_refs.c model_detail.c bounce.c topology.c cpus.c snapshot.c record.c record_block.c record_rows.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture_snapshot.h"
#include "model.h"
#include "record.h"

static struct snap_ref *add_ref(struct snapshot *s, const struct snap_row *row)
{
	struct snap_ref *r;

	s->refs.files = fix_grow(s->refs.files, &s->refs.nfiles, sizeof(*s->refs.files));
	r = &s->refs.files[s->refs.nfiles - 1];
	r->key = row->key;
	r->birth = row->birth;
	r->grouped = 1;
	return r;
}

/* ops gets and as many puts; of the followed ones share bounced, the same in every group. */
static void set_ref(struct snap_ref *r, __u64 ops, __u64 followed, __u64 bounced)
{
	int side, g;

	for (side = 0; side < FS_REF_SIDES; side++) {
		r->ops[side] = ops;
		for (g = 0; g < BOUNCE_GROUPS; g++) {
			r->sample[side].followed[g] = followed / BOUNCE_GROUPS;
			r->sample[side].bounced[g] = bounced / BOUNCE_GROUPS;
		}
	}
}

static void set_prov(struct snapshot *s, __u32 every)
{
	s->refs.every = every;
	s->refs.shift = 17;
	s->refs.sides = 3;
	s->prov[FIG_REF_OPS] = s->prov[FIG_FAILED_GETS] = PROV_MEASURED;
	s->prov[FIG_GET_BOUNCES] = s->prov[FIG_PUT_BOUNCES] = every > 1 ? PROV_SAMPLED :
								PROV_MEASURED;
	s->sample_n[FIG_GET_BOUNCES] = s->sample_n[FIG_PUT_BOUNCES] = every > 1 ? every : 0;
}

static void set_row(struct snap_row *row, __u64 ops, __u64 bounces)
{
	row->v[FIG_REF_OPS] = 2 * ops;
	row->v[FIG_GET_BOUNCES] = row->v[FIG_PUT_BOUNCES] = bounces;
}

/* Two files; a third with no row is in the totals only. cut: how far the observation has come. */
static void build(struct snapshot *s, __u32 every, __u32 seq, __u64 n)
{
	struct snap_row *row;
	int i;

	fix_init(s, seq, seq * 10 * FIX_SEC);
	set_prov(s, every);
	for (i = 0; i < 2; i++) {
		__u64 ops = n * (i ? 1000 : 100000), seen = ops / every;

		row = fix_row(s, 10 + i, i ? "/b" : "/a");
		set_row(row, ops, i ? 0 : seen / 2);
		set_ref(add_ref(s, row), ops, seen, i ? 0 : seen / 2);
	}
	set_ref(&s->refs.total, n * 103000, n * 103000 / every / 8 * 8, n * 50000 / every / 8 * 8);
	s->total[FS_SCOPE_IN][FIG_REF_OPS] = 2 * n * 103000;
	s->total[FS_SCOPE_IN][FIG_GET_BOUNCES] = n * 50000;
	s->total[FS_SCOPE_IN][FIG_PUT_BOUNCES] = n * 50000;
	s->refs.unattributed.ops[FS_REF_PUT] = n * 5;
	s->unattributed[FIG_REF_OPS] = n * 5;
}

static void make(struct report *r, struct snapshot s[2], __u32 every)
{
	build(&s[0], every, 1, 1);
	build(&s[1], every, 2, 3);
	assert_int_equal(report_make(r, &s[0], &s[1], &(struct view){ .sort = FIG_GET_BOUNCES }), 0);
}

static void done(struct report *r, struct snapshot s[2])
{
	report_free(r);
	snapshot_free(&s[0]);
	snapshot_free(&s[1]);
}

static void adds_up(const struct report *r, enum fig f)
{
	__u64 sum = r->other.v[f].v + r->unattributed.v[f].v;
	size_t i;

	for (i = 0; i < r->nfiles; i++)
		sum += r->files[i].v[f].v;
	assert_int_equal(sum, r->totals.v[f].v);
	assert_false(r->clamped);
}

static void exact(void **state)
{
	struct snapshot s[2];
	struct report r;

	make(&r, s, 1);
	assert_string_equal(r.files[0].row->path, "/a");
	assert_int_equal(r.files[0].v[FIG_GET_BOUNCES].v, 100000);
	assert_int_equal(r.files[0].v[FIG_GET_BOUNCES].prov, PROV_MEASURED);
	assert_false(r.files[0].v[FIG_GET_BOUNCES].bounded);
	assert_int_equal(r.files[0].refs.ops[FS_REF_GET], 200000);
	adds_up(&r, FIG_GET_BOUNCES);
	adds_up(&r, FIG_REF_OPS);
	assert_int_equal(r.unattributed.refs.ops[FS_REF_PUT], 10);
	assert_int_equal(r.other.refs.ops[FS_REF_GET], 4000);
	done(&r, s);
}

/* Half of what was followed bounced: so did half of all ops, whatever the rest was. */
static void estimated(void **state)
{
	struct snapshot s[2];
	struct report r;
	const struct value *v;

	make(&r, s, 16);
	v = &r.files[0].v[FIG_GET_BOUNCES];
	assert_int_equal(v->prov, PROV_SAMPLED);
	assert_int_equal(v->n, 16);
	assert_true(v->bounded);
	assert_in_range(v->v, 99900, 100100);
	assert_in_range(v->bound, 1, 10000);
	v = &r.files[1].v[FIG_GET_BOUNCES];
	assert_int_equal(v->v, 0);
	assert_true(v->bound > 0);
	adds_up(&r, FIG_GET_BOUNCES);
	adds_up(&r, FIG_PUT_BOUNCES);
	assert_true(r.totals.v[FIG_GET_BOUNCES].bound >= r.files[0].v[FIG_GET_BOUNCES].bound);
	done(&r, s);
}

/* What found no room may have bounced. */
static void not_followed(void **state)
{
	struct snapshot s[2];
	struct report r;

	build(&s[0], 1, 1, 1);
	build(&s[1], 1, 2, 3);
	s[1].refs.total.not_followed = 7;
	assert_int_equal(report_make(&r, &s[0], &s[1], NULL), 0);
	assert_int_equal(r.totals.v[FIG_GET_BOUNCES].prov, PROV_LOWER_BOUND);
	assert_int_equal(r.totals.v[FIG_REF_OPS].prov, PROV_MEASURED);
	assert_int_equal(r.totals.refs.not_followed, 7);
	done(&r, s);
}

static void add_pair(struct snapshot *s, __u32 from, __u32 to, __u64 count)
{
	s->refs.pairs = fix_grow(s->refs.pairs, &s->refs.npairs, sizeof(*s->refs.pairs));
	s->refs.pairs[s->refs.npairs - 1] = (struct snap_pair){ from, to, count };
}

/* Four CPUs: two threads a core, two cores a node. */
static void add_cpus(struct snapshot *s, __u64 n)
{
	__u32 i;

	for (i = 0; i < 8; i++) {
		struct snap_ref_cpu *c;

		fix_cpu(s, i, 0);
		s->refs.cpus = fix_grow(s->refs.cpus, &s->refs.ncpus, sizeof(*s->refs.cpus));
		c = &s->refs.cpus[i];
		c->cpu = i;
		c->place[0] = i / 2 * 2;
		c->place[1] = i / 4 * 4;
		c->place[2] = i / 4;
		c->ops[FS_REF_GET] = n * i;
		c->bounces[FS_REF_GET] = n;
	}
	s->refs.flags = REFS_NUMA;
}

static void pairs(void **state)
{
	struct snapshot s[2];
	struct report r;
	int i;

	for (i = 0; i < 2; i++) {
		build(&s[i], 1, i + 1, 2 * i + 1);
		add_cpus(&s[i], 10 * (i + 1));
		add_pair(&s[i], 1, 0, 5 + i * 100);
		add_pair(&s[i], 2, 0, 5 + i * 10);
		if (i)
			add_pair(&s[i], 7, 0, 3);
		add_pair(&s[i], 3, 6, 9);
		s[i].refs.other = i * 4;
	}
	assert_int_equal(report_make(&r, &s[0], &s[1], NULL), 0);
	assert_int_equal(r.transfers.npairs, 3);
	assert_int_equal(r.transfers.pairs[0].from, 1);
	assert_int_equal(r.transfers.pairs[0].count, 100);
	assert_int_equal(r.transfers.distance[DIST_SMT], 100);
	assert_int_equal(r.transfers.distance[DIST_LLC], 10);
	assert_int_equal(r.transfers.distance[DIST_REMOTE], 3);
	assert_int_equal(r.transfers.distance[DIST_UNKNOWN], 4);
	assert_int_equal(r.transfers.other, 4);
	assert_int_equal(r.ncpus, 8);
	assert_int_equal(r.cpus[3].ref_ops.v, 30);
	assert_int_equal(r.cpus[3].get_bounces.v, 10);
	done(&r, s);
}

static void add_site(struct snapshot *s, const struct fs_key *key, const char *name, __u64 gets)
{
	struct snap_site *site;

	s->refs.sites = fix_grow(s->refs.sites, &s->refs.nsites, sizeof(*s->refs.sites));
	site = &s->refs.sites[s->refs.nsites - 1];
	site->key = *key;
	strncpy(site->name, name, sizeof(site->name) - 1);
	site->ops[FS_REF_GET] = gets;
	s->refs.flags |= REFS_SITES;
}

static void sites(void **state)
{
	struct snapshot s[2];
	struct report r;
	char name[16];
	int i, k;

	for (i = 0; i < 2; i++) {
		build(&s[i], 1, i + 1, 2 * i + 1);
		for (k = 0; k < 12; k++) {
			snprintf(name, sizeof(name), "f%02d", k);
			add_site(&s[i], &s[i].rows[0].key, name, 100 + i * k);
		}
	}
	assert_int_equal(report_make(&r, &s[0], &s[1], NULL), 0);
	for (i = 0; strcmp(r.files[i].row->path, "/a"); i++)
		;
	assert_int_equal(r.files[i].nsites, REPORT_SITES);
	assert_string_equal(r.files[i].sites[0].name, "f11");
	assert_int_equal(r.files[i].sites[0].ops[FS_REF_GET], 11);
	assert_int_equal(r.files[i].sites_other[FS_REF_GET], 1);
	assert_int_equal(r.files[!i].nsites, 0);
	done(&r, s);
}

static void folios(void **state)
{
	struct snapshot s[2];
	struct report r;
	int i, k;

	for (i = 0; i < 2; i++) {
		build(&s[i], 16, i + 1, 2 * i + 1);
		s[i].refs.folios_ino = 10;
		s[i].refs.folios_dev = FIX_DEV(8, 1);
		for (k = 0; k < 3; k++) {
			s[i].refs.folios = fix_grow(s[i].refs.folios, &s[i].refs.nfolios,
						    sizeof(*s[i].refs.folios));
			s[i].refs.folios[k] = (struct snap_folio){ .index = 4 * k, .order = 2,
				.ops = 10 + i * 5 * k, .bounces = i * k, .cpus = { 3 } };
		}
	}
	assert_int_equal(report_make(&r, &s[0], &s[1], NULL), 0);
	assert_int_equal(r.nfolios, 2);
	assert_int_equal(r.folios[0].index, 8);
	assert_int_equal(r.folios[0].bounces, 2 * 16);
	assert_int_equal(r.folios[0].ops, 10 * 16);
	assert_non_null(r.folios_row);
	assert_string_equal(r.folios_row->row->path, "/a");
	done(&r, s);
}

/* All of it comes back from a record file. */
static void recorded(void **state)
{
	char path[] = "/tmp/test_model_refs.XXXXXX", err[128];
	struct record_reader *in;
	struct record_writer *out;
	struct snapshot s, back;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	build(&s, 16, 1, 1);
	add_cpus(&s, 3);
	add_pair(&s, 1, 0, 5);
	add_pair(&s, 0, 1, 6);
	s.refs.other = 9;
	s.refs.sites_full = 2;
	add_site(&s, &s.rows[0].key, "filemap_read", 4);
	s.refs.folios = fix_grow(s.refs.folios, &s.refs.nfolios, sizeof(*s.refs.folios));
	s.refs.folios[0] = (struct snap_folio){ .index = 3, .order = 1, .ops = 2, .bounces = 1 };
	s.refs.folios_ino = 10;
	s.refs.total.sample[FS_REF_PUT].first[7] = 77;
	s.refs.outside.freezes = 3;
	out = record_create(path);
	assert_non_null(out);
	assert_int_equal(record_write(out, &s), 0);
	assert_int_equal(record_close(out), 0);
	in = record_open(path, err, sizeof(err));
	assert_non_null(in);
	assert_int_equal(record_read(in, &back), 1);
	assert_int_equal(back.refs.every, 16);
	assert_int_equal(back.refs.other, 9);
	assert_int_equal(back.refs.sites_full, 2);
	assert_int_equal(back.refs.nfiles, 2);
	assert_memory_equal(back.refs.files, s.refs.files, 2 * sizeof(*s.refs.files));
	assert_memory_equal(&back.refs.total, &s.refs.total, sizeof(s.refs.total));
	assert_memory_equal(&back.refs.outside, &s.refs.outside, sizeof(s.refs.total));
	assert_int_equal(back.refs.ncpus, 8);
	assert_memory_equal(back.refs.cpus, s.refs.cpus, 8 * sizeof(*s.refs.cpus));
	assert_memory_equal(back.refs.pairs, s.refs.pairs, 2 * sizeof(*s.refs.pairs));
	assert_memory_equal(back.refs.sites, s.refs.sites, sizeof(*s.refs.sites));
	assert_int_equal(back.refs.folios[0].index, 3);
	snapshot_free(&back);
	snapshot_free(&s);
	record_reader_close(in);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact),
		cmocka_unit_test(estimated),
		cmocka_unit_test(not_followed),
		cmocka_unit_test(pairs),
		cmocka_unit_test(sites),
		cmocka_unit_test(folios),
		cmocka_unit_test(recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
