// SPDX-License-Identifier: GPL-2.0-only
/*
 * live_refcount.c - references: exact counts where a workload has exact ones, bounces and pairs of
 * threads that take turns, what is derived and what is sampled against what is exact.
 *
 * With page_ref every get and put is seen; elsewhere a get and a put are derived for each folio of
 * an access, and bounces are those of gets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define TURNS 1000

static bool has_page_ref(const struct report *r)
{
	const char *backend = json_string_value(json_object_get(hook_of(r, "refcount.ops"),
								"backend"));

	return backend && !strcmp(backend, "page_ref");
}

static void need_page_ref(const struct report *r)
{
	need_hook(r, "refcount.ops");
	if (!has_page_ref(r))
		skip("no page_ref tracepoints");
}

static void need_cpus(unsigned int n)
{
	if (cpus_online() < n)
		skip("needs %u CPUs", n);
}

static long long refs_int(const json_t *row, const char *key)
{
	return report_int(row, text("refs.%s", key));
}

/* Bounces of gets and, where they are known, of puts. */
static long long bounces(const json_t *row)
{
	json_t *puts = json_object_get(row, "put_bounces");

	return row_int(row, "get_bounces") + json_integer_value(puts);
}

static long long pair(const struct report *r, long long from, long long to)
{
	json_t *p;
	size_t i;

	json_array_foreach(report_get(r->root, "transfers.pairs"), i, p)
		if (json_integer_value(json_array_get(p, 0)) == from &&
		    json_integer_value(json_array_get(p, 1)) == to)
			return json_integer_value(json_array_get(p, 2));
	return 0;
}

/* Every bounce has a pair. */
static void check_pairs(const struct report *r)
{
	long long sum = report_int(r->root, "transfers.other");
	json_t *p;
	size_t i;

	json_array_foreach(report_get(r->root, "transfers.pairs"), i, p)
		sum += json_integer_value(json_array_get(p, 2));
	CHECK(sum == bounces(report_get(r->root, "totals")), "pairs and other: %lld, bounces %lld",
	      sum, bounces(report_get(r->root, "totals")));
}

/* A file whose pages are as active as the LRU makes them, in no batch any more. */
static void warm(const char *file, const char *size)
{
	run_status(0, "bench readonce --file %s --create --size %s --bs %s --count 8", file, size,
		   size);
	drain_lru();
	run_status(0, "bench readonce --file %s --bs %s --count 2", file, size);
	drain_lru();
}

/* ---- turns ---- */

/* Other files' bounces (libraries that the threads share) can be in the same pairs. */
static void check_pair(const struct report *r, const json_t *row, int from, int to, long long want)
{
	long long noise = bounces(report_get(r->root, "totals")) - bounces(row);
	long long got = pair(r, from, to);

	CHECK(got >= want && got <= want + noise, "pair %d to %d: %lld, not %lld to %lld", from, to,
	      got, want, want + noise);
}

static void turns_on(const char *file)
{
	struct report *r;
	json_t *row;

	need_cpus(2);
	warm(file, "4K");
	r = observe("--exact", "bench pread --file %s --threads 2 --cpus 0,1 --turns --count %d",
		    file, TURNS);
	need_hook(r, "refcount.ops");
	row = row_of(r, file);
	CHECK(row_int(row, "ref_ops") == 4 * TURNS, "ref_ops: %lld", row_int(row, "ref_ops"));
	CHECK(bounces(row) == 2 * TURNS - 1, "bounces: %lld", bounces(row));
	CHECK(refs_int(row, "not_followed") == 0, "not followed: %lld",
	      refs_int(row, "not_followed"));
	check_pair(r, row, 0, 1, TURNS);
	check_pair(r, row, 1, 0, TURNS - 1);
	check_pairs(r);
}

static void turns_ext4(void)
{
	turns_on(scratch("file"));
}

static void turns_tmpfs(void)
{
	if (kernel_is("6.18"))
		skip("nothing sees tmpfs reads here");
	turns_on(scratch_tmpfs("file"));
}

/* Somebody on CPU 1 touched the page before. */
static void turns_after_toucher(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;

	need_cpus(2);
	warm(file, "4K");
	r = observe("--exact", "sh -c '%s pread --quiet --file %s --cpus 1 && "
		    "%s pread --quiet --file %s --threads 2 --cpus 0,1 --turns --count %d'",
		    getenv("FOLIO_BENCH"), file, getenv("FOLIO_BENCH"), file, TURNS);
	need_hook(r, "refcount.ops");
	row = row_of(r, file);
	CHECK(row_int(row, "ref_ops") == 4 * TURNS + 2, "ref_ops: %lld", row_int(row, "ref_ops"));
	CHECK(bounces(row) == 2 * TURNS, "bounces: %lld", bounces(row));
	check_pair(r, row, 0, 1, TURNS);
	check_pair(r, row, 1, 0, TURNS);
}

static void private_files(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *row;
	int i;

	need_cpus(2);
	for (i = 0; i < 2; i++)
		warm(text("%s.%d", file, i), "4K");
	r = observe("--exact", "bench pread --file %s --private --threads 2 --cpus 0,1 --count %d",
		    file, TURNS);
	need_hook(r, "refcount.ops");
	for (i = 0; i < 2; i++) {
		row = row_of(r, text("%s.%d", file, i));
		CHECK(row_int(row, "ref_ops") == 2 * TURNS, "ref_ops: %lld",
		      row_int(row, "ref_ops"));
		CHECK(bounces(row) == 0, "bounces: %lld", bounces(row));
	}
}

/* ---- exact numbers of ops ---- */

static void active_on(const char *file)
{
	struct report *r;
	json_t *row;

	warm(file, "256K");
	r = observe("--exact", "bench readonce --file %s", file);
	need_hook(r, "refcount.ops");
	row = row_of(r, file);
	CHECK(refs_int(row, "gets") == 64 && refs_int(row, "puts") == 64, "gets %lld, puts %lld",
	      refs_int(row, "gets"), refs_int(row, "puts"));
}

static void active_ext4(void)
{
	active_on(scratch("file"));
}

static void active_tmpfs(void)
{
	if (kernel_is("6.18"))
		skip("nothing sees tmpfs reads here");
	active_on(scratch_tmpfs("file"));
}

/* A get and a put for the lookup, and the put of the page cache itself. */
static void truncated_on(const char *file, long long want)
{
	struct report *r;
	long long puts;
	json_t *row;

	warm(file, "256K");
	r = observe("--exact", "bench truncate --file %s --to 128K", file);
	need_page_ref(r);
	row = row_of(r, file);
	puts = refs_int(row, "puts") + report_int(r->root, "unattributed.refs.puts");
	/* Buffers hold a reference of their own. Puts of LRU batches can come late. */
	CHECK(refs_int(row, "gets") == 32 && puts >= want && puts < want + 32,
	      "gets %lld, puts %lld and %lld unattributed", refs_int(row, "gets"),
	      refs_int(row, "puts"), report_int(r->root, "unattributed.refs.puts"));
}

static void truncated_ext4(void)
{
	truncated_on(scratch("file"), 96);
}

static void truncated_tmpfs(void)
{
	truncated_on(scratch_tmpfs("file"), 64);
}

static void truncated_ramfs(void)
{
	char *dir = scratch("ramfs");

	own_mounts();
	make_dir(dir);
	run_status(0, "mount -t ramfs none %s", dir);
	truncated_on(text("%s/file", dir), 64);
}

/* ---- two observers of one run ---- */

struct both {
	struct report *outer, *inner;
	json_t *exact, *other;		/* the file's rows */
};

/* The workload, observed exactly and, inside of that, with options. */
static struct both observe_both(const char *file, const char *options, const char *workload)
{
	char *json = scratch(".inner");
	struct both b;

	b.outer = observe("--exact", "%s run -q --top 0 --json=%s %s -- %s %s --quiet --file %s",
			  getenv("FOLIOSCOPE"), json, options, getenv("FOLIO_BENCH"), workload, file);
	need_hook(b.outer, "refcount.ops");
	b.inner = report_load(json);
	b.exact = row_of(b.outer, file);
	b.other = row_of(b.inner, file);
	return b;
}

static double share(const json_t *row)
{
	return (double)row_int(row, "get_bounces") / refs_int(row, "gets");
}

static const char *const mixes[] = {
	"pread --threads 2 --cpus 0,1 --turns --count 1000",
	"pread --threads 4 --seconds 1",
	"zipf --threads 4 --seconds 1 --pages 1000",
	"pread --threads 4 --seconds 1 --bs 64",
};

/* A backend against every get and put. tolerance: of the share of gets that bounce. */
static void compared(const char *backend, double tolerance)
{
	char *file = scratch("file"), *table = text("%s", backend);
	struct both b;
	size_t i;

	need_cpus(4);
	warm(file, "4000K");
	for (i = 0; i < ARRAY_SIZE(mixes); i++) {
		b = observe_both(file, text("--exact --backend refcount.ops=%s", backend),
				 mixes[i]);
		need_page_ref(b.outer);
		table = text("%s; %s: ops %lld, %lld, share %.3f, %.3f", table, mixes[i],
			     row_int(b.exact, "ref_ops"), row_int(b.other, "ref_ops"),
			     share(b.exact), share(b.other));
		CHECK(row_int(b.exact, "ref_ops") == row_int(b.other, "ref_ops"), "%s", table);
		CHECK(fabs(share(b.other) - share(b.exact)) <= tolerance * share(b.exact) + 0.01,
		      "%s", table);
	}
	fprintf(stderr, "%s\n", table);
}

/* Puts between two gets are not seen: more overlap, more error, to either side. */
static void derived(void)
{
	compared("derived", 0.2);
}

static void functions(void)
{
	compared("functions", 0.05);
}

/* Inside its own bound, in 19 of 20 runs. */
static void sampled(int every)
{
	char *file = scratch("file"), *table = text(" ");
	int runs = 20, inside = 0, narrow = 0, i;

	need_cpus(4);
	warm(file, "4000K");
	for (i = 0; i < runs; i++) {
		/* As many windows, whatever their distance. */
		const char *mix = text("%s --seconds %d", i % 3 == 1 ?
				       "zipf --threads 4 --pages 1000" : "pread --threads 4",
				       every > 16 ? 4 : 1);
		struct both b = observe_both(file, text("--sample %d", every), mix);
		long long exact = row_int(b.exact, "get_bounces");
		long long got = row_int(b.other, "get_bounces");
		long long bound = report_int(b.other, "bounds.get_bounces");

		table = text("%s; %lld, %lld +- %lld of %lld", table, exact, got, bound,
			     refs_int(b.other, "gets"));
		inside += llabs(exact - got) <= bound;
		narrow += bound * 4 < refs_int(b.other, "gets");
	}
	/* Many pages and slow CPUs: hardly a page is met twice in a window, and the bound says so. */
	CHECK(narrow >= runs / 3, "bounds say nothing:%s", table);
	CHECK(inside >= runs - 1, "1/%d: %d of %d inside:%s", every, inside, runs, table);
	fprintf(stderr, "1/%d: %d of %d inside:%s\n", every, inside, runs, table);
}

static void sampled_16(void)
{
	sampled(16);
}

static void sampled_64(void)
{
	sampled(64);
}

/* ---- sites and folios ---- */

/* Gets of all functions whose name has a part. */
static long long site_gets(const json_t *row, const char *part)
{
	long long sum = 0;
	json_t *site;
	size_t i;

	json_array_foreach(report_get(row, "sites.functions"), i, site)
		if (strstr(json_string_value(json_object_get(site, "function")), part))
			sum += json_integer_value(json_object_get(site, "gets"));
	return sum;
}

/* The read that activates 64 pages takes a reference for the LRU's batch, besides its own. */
static void sites_lru(void)
{
	char *file = scratch("file");
	struct report *r;
	long long lookups, lru;
	json_t *row;

	if (exists("/sys/kernel/mm/lru_gen/enabled"))
		put_file("/sys/kernel/mm/lru_gen/enabled", "n");
	run_status(0, "bench readonce --file %s --create --size 256K --count 1", file);
	drain_lru();
	r = observe("--exact --sites", "bench readonce --file %s", file);
	need_page_ref(r);
	row = row_of(r, file);
	lookups = site_gets(row, "filemap_get_read_batch");
	lru = site_gets(row, "activate") + site_gets(row, "folio_mark_accessed") +
	      site_gets(row, "lru") + site_gets(row, "batch_add");
	CHECK(lookups == 64 && lru >= 64 && refs_int(row, "gets") == lookups + lru,
	      "gets %lld, of lookups %lld, of the LRU %lld: %s", refs_int(row, "gets"), lookups, lru,
	      json_dumps(json_object_get(row, "sites"), 0));
}

/* One page of many is the one that bounces. */
static void folios(void)
{
	char *file = scratch("file");
	struct report *r;
	json_t *first;

	need_cpus(2);
	warm(file, "64K");
	r = observe(text("--exact --folios %s", file), "bench pread --file %s --offset 20K "
		    "--threads 2 --cpus 0,1 --turns --count %d", file, TURNS);
	need_hook(r, "refcount.ops");
	first = json_array_get(json_object_get(row_of(r, file), "folios"), 0);
	CHECK(first, "no folios");
	CHECK(report_int(first, "index") <= 5 &&
	      report_int(first, "index") + (1 << report_int(first, "order")) > 5, "index %lld",
	      report_int(first, "index"));
	CHECK(report_int(first, "bounces") == 2 * TURNS - 1, "bounces %lld",
	      report_int(first, "bounces"));
	CHECK(json_array_size(json_object_get(first, "cpus")) == 2, "%zu CPUs",
	      json_array_size(json_object_get(first, "cpus")));
}

/* ---- what it is for ---- */

/* Small reads of one file by many threads: that file is the first by bounces. */
static void ranks(const char *file)
{
	struct report *r;
	json_t *first;

	need_cpus(2);
	warm(file, "64K");
	r = observe("--sort get_bounces", "bench pread --bs 64 --threads %u --seconds 2 --file %s",
		    cpus_online(), file);
	need_hook(r, "refcount.ops");
	first = json_array_get(report_get(r->root, "files"), 0);
	CHECK(first == row_of(r, file), "%s is first", json_string_value(json_object_get(first,
											 "path")));
	CHECK(row_int(first, "get_bounces") * 1000 > refs_int(first, "gets"), "get_bounces %lld of %lld",
	      row_int(first, "get_bounces"), refs_int(first, "gets"));
}

static void ranks_ext4(void)
{
	ranks(scratch("file"));
}

static void ranks_tmpfs(void)
{
	if (kernel_is("6.18"))
		skip("nothing sees tmpfs reads here");
	ranks(scratch_tmpfs("file"));
}

/* With a file for each thread none bounces. */
static void ranks_none(void)
{
	unsigned int n = cpus_online(), i;
	char *file = scratch("file");
	struct report *r;

	need_cpus(2);
	for (i = 0; i < n; i++)
		warm(text("%s.%u", file, i), "4K");
	r = observe("", "bench pread --bs 64 --private --threads %u --cpus 0-%u --seconds 2 --file %s",
		    n, n - 1, file);
	need_hook(r, "refcount.ops");
	for (i = 0; i < n; i++) {
		json_t *row = row_of(r, text("%s.%u", file, i));

		CHECK(bounces(row) * 100 < row_int(row, "ref_ops"), "bounces %lld of %lld",
		      bounces(row), row_int(row, "ref_ops"));
	}
}

int main(int argc, char **argv)
{
	static const struct live_test tests[] = {
		TEST(turns_ext4),
		TEST(turns_tmpfs),
		TEST(turns_after_toucher),
		TEST(private_files),
		TEST(active_ext4),
		TEST(active_tmpfs),
		TEST(truncated_ext4),
		TEST(truncated_tmpfs),
		TEST(truncated_ramfs),
		TEST(derived),
		TEST(functions),
		TEST(sites_lru),
		TEST(folios),
		TEST_LONG(sampled_16, 400),
		TEST_LONG(sampled_64, 400),
		TEST(ranks_ext4),
		TEST(ranks_tmpfs),
		TEST(ranks_none),
	};

	return live_main(argc, argv, tests, ARRAY_SIZE(tests));
}
