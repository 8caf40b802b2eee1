/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_topology.c - distances on machines we do not have: trees like sysfs, generated from a
 * machine's shape or unpacked from data/topology, and what becomes of them after hotplug.
 */
/* units: topology.c cpus.c */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DATA "tests/unit/data/topology/"

/* A machine. CPU numbers: first threads of all cores, then the second ones, as usual on x86. */
struct shape {
	const char *name;
	int nodes, llcs, cores, smt;	/* llcs in a node, cores under one of them */
	int stride;			/* CPU numbers are multiples of it */
	bool no_cache, no_numa, old_names, leaders_only;
	int offline[4];			/* CPU numbers, ended by 0 */
};

static char root[128];

/* ---- trees ---- */

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int tree_begin(void **state)
{
	snprintf(root, sizeof(root), "%s/topology.XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	return mkdtemp(root) ? 0 : -1;
}

static int tree_end(void **state)
{
	return nftw(root, unlink_one, 32, FTW_DEPTH | FTW_PHYS);
}

static void tree_clear(void)
{
	assert_int_equal(tree_end(NULL), 0);
	assert_int_equal(mkdir(root, 0700), 0);
}

/* Writes root/path with the directories it needs. */
__attribute__((format(printf, 2, 3)))
static void put(const char *path, const char *fmt, ...)
{
	char full[512];
	va_list ap;
	FILE *f;

	assert_true((size_t)snprintf(full, sizeof(full), "%s/%s", root, path) < sizeof(full));
	for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		assert_true(!mkdir(full, 0700) || errno == EEXIST);
		*s = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fputc('\n', f);
	assert_int_equal(fclose(f), 0);
}

static int shape_cpus(const struct shape *s)
{
	return s->nodes * s->llcs * s->cores * s->smt;
}

static int shape_cores(const struct shape *s)
{
	return s->nodes * s->llcs * s->cores;
}

/* The CPU number of the n-th CPU, and what it is part of. */
static int nr(const struct shape *s, int n)
{
	return n * (s->stride ? s->stride : 1);
}

static int core_of(const struct shape *s, int n)
{
	return n % shape_cores(s);
}

static int llc_of(const struct shape *s, int n)
{
	return core_of(s, n) / s->cores;
}

static int node_of(const struct shape *s, int n)
{
	return llc_of(s, n) / s->llcs;
}

static bool is_offline(const struct shape *s, int n)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->offline) && s->offline[i]; i++) {
		if (s->offline[i] == nr(s, n))
			return true;
	}
	return false;
}

/* Online CPUs for which of() is what it is for n, as the kernel prints them. */
static const char *members(const struct shape *s, int n, int (*of)(const struct shape *, int))
{
	static char text[64 << 10];
	int cpus = shape_cpus(s), last;
	size_t len = 0;

	text[0] = '\0';
	for (int i = 0; i < cpus; i = last + 1) {
		last = i;
		if (of(s, i) != of(s, n) || is_offline(s, i))
			continue;
		while (s->stride <= 1 && last + 1 < cpus && of(s, last + 1) == of(s, n) &&
		       !is_offline(s, last + 1))
			last++;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					last > i ? "%s%d-%d" : "%s%d", len ? "," : "", nr(s, i),
					nr(s, last));
		assert_true(len < sizeof(text));
	}
	return text;
}

static void cpu_make(const struct shape *s, int n)
{
	static const int level[] = { 1, 1, 2, 3 };
	bool leader = core_of(s, n) % s->cores == 0 && n < shape_cores(s);
	const char *list;
	char path[128];

#define PATH(...) (snprintf(path, sizeof(path), __VA_ARGS__), path)
	if (is_offline(s, n)) {
		put(PATH("cpu/cpu%d/online", nr(s, n)), "0");
		return;
	}
	put(PATH("cpu/cpu%d/topology/physical_package_id", nr(s, n)), "%d", node_of(s, n));
	if (s->leaders_only && n >= shape_cores(s))
		return;
	put(PATH("cpu/cpu%d/topology/%s", nr(s, n),
		 s->old_names ? "thread_siblings_list" : "core_cpus_list"),
	    "%s", members(s, n, core_of));
	if (s->leaders_only && !leader)
		return;
	put(PATH("cpu/cpu%d/topology/%s", nr(s, n),
		 s->old_names ? "core_siblings_list" : "package_cpus_list"),
	    "%s", members(s, n, node_of));
	for (size_t i = 0; !s->no_cache && i < ARRAY_SIZE(level); i++) {
		list = members(s, n, level[i] == 3 ? llc_of : core_of);
		put(PATH("cpu/cpu%d/cache/index%zu/level", nr(s, n), i), "%d", level[i]);
		put(PATH("cpu/cpu%d/cache/index%zu/shared_cpu_list", nr(s, n), i), "%s", list);
	}
}

static void tree_make(const struct shape *s)
{
	int per_node = s->llcs * s->cores;
	char path[128];

	tree_clear();
	put("cpu/possible", "0");
	put("cpu/cpufreq/boost", "1");
	put("cpu/cpuidle/x", "1");
	for (int n = 0; n < shape_cpus(s); n++)
		cpu_make(s, n);
	for (int n = 0; !s->no_numa && n < s->nodes; n++)
		put(PATH("node/node%d/cpulist", n), "%s", members(s, n * per_node, node_of));
	if (!s->no_numa)
		put(PATH("node/node%d/cpulist", s->nodes + 3), "%s", "");	/* memory only */
}

/* data/topology/NAME: lines "path:text", made by grep (see the README there). */
static void tree_unpack(const char *name)
{
	char path[256], *line = NULL, *text;
	size_t size = 0;
	FILE *f;

	tree_clear();
	snprintf(path, sizeof(path), DATA "%s", name);
	f = fopen(path, "r");
	assert_non_null(f);
	while (getline(&line, &size, f) > 0) {
		if (line[0] == '#')
			continue;
		text = strchr(line, ':');
		assert_non_null(text);
		*text++ = '\0';
		text[strcspn(text, "\n")] = '\0';
		put(line, "%s", text);
	}
	free(line);
	fclose(f);
}

/* ---- distances ---- */

/* From the shape, without going through lists. */
static enum distance want(const struct shape *s, int a, int b)
{
	if (a == b)
		return DIST_SAME;
	if (is_offline(s, a) || is_offline(s, b))
		return DIST_UNKNOWN;
	if (core_of(s, a) == core_of(s, b))
		return DIST_SMT;
	if (!s->no_cache && llc_of(s, a) == llc_of(s, b))
		return DIST_LLC;
	return node_of(s, a) == node_of(s, b) ? DIST_NODE : DIST_REMOTE;
}

/* All pairs, or for large machines every pair with one of some CPUs. */
static void check(const struct shape *s, const struct topology *t)
{
	int n = shape_cpus(s), step = n > 512 ? 397 : 1, offline = 0;

	for (int a = 0; a < n; a++)
		offline += is_offline(s, a);
	assert_int_equal(t->online, n - offline);
	assert_int_equal(t->ncpus, nr(s, n - 1) + 1);
	assert_int_equal(t->numa, !s->no_numa);
	assert_int_equal(t->llc_unknown, s->no_cache);
	for (int a = 0; a < n; a += step) {
		for (int b = 0; b < n; b++) {
			enum distance d = topology_distance(t, (__u32)nr(s, a), (__u32)nr(s, b));

			if (d != want(s, a, b))
				fail_msg("%s: %d and %d: %s, not %s", s->name, nr(s, a), nr(s, b),
					 distance_names[d], distance_names[want(s, a, b)]);
			assert_int_equal(d, topology_distance(t, (__u32)nr(s, b), (__u32)nr(s, a)));
		}
	}
}

static void shapes(void **state)
{
	static const struct shape t[] = {
		{ "one CPU", 1, 1, 1, 1, .stride = 1 },
		{ "two CPUs", 1, 1, 2, 1, .stride = 1 },
		{ "2 x 12", 2, 1, 12, 1, .stride = 1 },
		{ "2 x 12 with SMT", 2, 1, 12, 2, .stride = 1 },
		{ "2 x 96 with SMT", 2, 12, 8, 2, .stride = 1 },
		{ "2 x 96 with SMT, names before 5.3", 2, 12, 8, 2, .old_names = true },
		{ "SMT 8, four nodes", 4, 1, 6, 8, .stride = 1 },
		{ "sparse", 2, 2, 3, 2, .stride = 8 },
		{ "offline", 2, 1, 12, 2, .offline = { 1, 5, 12, 47 } },
		{ "offline sibling", 1, 1, 2, 2, .offline = { 2 } },
		{ "no cache directory", 2, 1, 12, 2, .no_cache = true },
		{ "no NUMA", 1, 2, 4, 2, .no_numa = true },
		{ "no NUMA, two packages", 2, 2, 4, 2, .no_numa = true },
		{ "neither", 2, 1, 4, 1, .no_cache = true, .no_numa = true },
		{ "8192", 8, 64, 8, 2, .leaders_only = true },
	};
	struct topology topo;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		tree_make(&t[i]);
		assert_int_equal(topology_load(&topo, root), 0);
		check(&t[i], &topo);
		topology_free(&topo);
		assert_null(topo.cpu);
	}
}

static void saved(void **state)
{
	static const struct {
		const char *name;
		__u32 a, b;
		enum distance want;
	} t[] = {
		{ "micro-vm-2", 0, 1, DIST_LLC },
		{ "vm-2x4x2-offline", 0, 1, DIST_SMT },
		{ "vm-2x4x2-offline", 14, 15, DIST_SMT },
		{ "vm-2x4x2-offline", 0, 7, DIST_LLC },
		{ "vm-2x4x2-offline", 4, 6, DIST_LLC },
		{ "vm-2x4x2-offline", 4, 5, DIST_UNKNOWN },
		{ "vm-2x4x2-offline", 0, 8, DIST_UNKNOWN },
		{ "vm-2x4x2-offline", 7, 9, DIST_REMOTE },
		{ "vm-2x4x2-offline", 9, 10, DIST_LLC },
	};
	struct topology topo;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		tree_unpack(t[i].name);
		assert_int_equal(topology_load(&topo, root), 0);
		assert_int_equal(topology_distance(&topo, t[i].a, t[i].b), t[i].want);
		assert_int_equal(topology_distance(&topo, t[i].b, t[i].a), t[i].want);
		topology_free(&topo);
	}
}

static void out_of_range(void **state)
{
	static const struct shape two = { "two", 1, 1, 2, 1, .stride = 1 };
	struct topology t, empty = { 0 };

	tree_make(&two);
	assert_int_equal(topology_load(&t, root), 0);
	assert_int_equal(topology_distance(&t, 0, 2), DIST_UNKNOWN);
	assert_int_equal(topology_distance(&t, 1U << 31, 0), DIST_UNKNOWN);
	assert_int_equal(topology_distance(&t, TOPOLOGY_NONE, TOPOLOGY_NONE), DIST_SAME);
	assert_int_equal(topology_distance(&empty, 0, 1), DIST_UNKNOWN);
	assert_int_equal(topology_distance(&empty, 3, 3), DIST_SAME);
	topology_free(&t);
	topology_free(&empty);
}

/* Caches as real machines have them, told by single files on top of a made tree. */
static void caches(void **state)
{
	static const struct shape four = { "four", 1, 1, 4, 1, .no_cache = true };
	struct topology t;

	/* Small cores without the third level that the others have. */
	tree_make(&four);
	for (int i = 0; i < 4; i++) {
		char path[128];

		put(PATH("cpu/cpu%d/cache/index0/level", i), "2");
		put(PATH("cpu/cpu%d/cache/index0/shared_cpu_list", i), "%s",
		    i == 0 ? "0" : i == 1 ? "1" : "2-3");
		if (i >= 2)
			continue;
		put(PATH("cpu/cpu%d/cache/index1/level", i), "3");
		put(PATH("cpu/cpu%d/cache/index1/shared_cpu_list", i), "0-1");
	}
	assert_int_equal(topology_load(&t, root), 0);
	assert_false(t.llc_unknown);
	assert_int_equal(topology_distance(&t, 0, 1), DIST_LLC);
	assert_int_equal(topology_distance(&t, 2, 3), DIST_LLC);
	assert_int_equal(topology_distance(&t, 1, 2), DIST_NODE);
	topology_free(&t);

	/* First level only, no list, a list without the CPU itself, no number. */
	tree_make(&four);
	put("cpu/cpu0/cache/index0/level", "1");
	put("cpu/cpu0/cache/index0/shared_cpu_list", "0-3");
	put("cpu/cpu1/cache/index0/level", "3");
	put("cpu/cpu2/cache/index0/level", "3");
	put("cpu/cpu2/cache/index0/shared_cpu_list", "0-1");
	put("cpu/cpu3/cache/index0/level", "L3");
	put("cpu/cpu3/cache/index0/shared_cpu_list", "0-3");
	assert_int_equal(topology_load(&t, root), 0);
	assert_true(t.llc_unknown);
	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(topology_distance(&t, i, i + 1), DIST_NODE);
	topology_free(&t);

	/* numa=fake=2 lists every CPU in both nodes. */
	tree_make(&four);
	put("node/node1/cpulist", "0-3");
	assert_int_equal(topology_load(&t, root), 0);
	assert_int_equal(topology_distance(&t, 0, 3), DIST_NODE);
	topology_free(&t);

	/* One cache over two nodes: the nearest thing shared decides. */
	tree_make(&four);
	put("node/node0/cpulist", "0-1");
	put("node/node1/cpulist", "2-3");
	for (int i = 0; i < 4; i++) {
		char path[128];

		put(PATH("cpu/cpu%d/cache/index0/level", i), "3");
		put(PATH("cpu/cpu%d/cache/index0/shared_cpu_list", i), "0-3");
	}
	assert_int_equal(topology_load(&t, root), 0);
	assert_int_equal(topology_distance(&t, 0, 3), DIST_LLC);
	topology_free(&t);
}

static void damaged(void **state)
{
	static const struct shape two = { "two", 1, 1, 2, 1, .stride = 1 };
	static const struct {
		const char *path, *text;
		int err;
	} t[] = {
		{ "cpu/cpu0/topology/core_cpus_list", "0;1", -EINVAL },
		{ "cpu/cpu0/topology/core_cpus_list", "65536", -ERANGE },
		{ "cpu/cpu0/cache/index3/shared_cpu_list", "1-0", -EINVAL },
		{ "node/node0/cpulist", "x", -EINVAL },
		{ "cpu/cpu65536/topology/core_id", "0", -ERANGE },
		{ "cpu/cpu99999999999999999999/online", "0", -ERANGE },
		/* Not ours to judge, or not about any CPU here. */
		{ "cpu/cpu0/topology/core_cpus_list", "", 0 },
		{ "cpu/cpu0/topology/core_cpus_list", "40-50", 0 },
		{ "cpu/cpu1x/topology/core_cpus_list", "x", 0 },
		{ "cpu/cpu/topology/core_cpus_list", "x", 0 },
		{ "node/nodes/cpulist", "x", 0 },
	};
	struct topology topo;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		tree_make(&two);
		put(t[i].path, "%s", t[i].text);
		assert_int_equal(topology_load(&topo, root), t[i].err);
		if (t[i].err)
			assert_null(topo.cpu);
		else
			assert_int_equal(topology_distance(&topo, 0, 1), DIST_LLC);
		topology_free(&topo);
	}
	tree_clear();
	assert_int_equal(topology_load(&topo, root), -ENOENT);
	put("cpu/possible", "0-3");
	assert_int_equal(topology_load(&topo, root), -ENOENT);
	assert_int_equal(topology_load(&topo, "/nonexistent"), -ENOENT);
	assert_null(topo.cpu);
}

/* ---- hotplug ---- */

static void hotplug(void **state)
{
	struct shape s = { "hotplug", 2, 2, 3, 2, .stride = 1 };	/* CPU 0's sibling is 12 */
	static const int gone[][4] = {
		{ 12 }, { 12, 13, 14, 1 }, { 1, 2, 3, 15 }, { 0 }, { 3, 4, 5, 15 },
	};
	struct shape full = s;
	struct topology t = { 0 };

	tree_make(&full);
	assert_int_equal(topology_update(&t, root), 0);
	check(&full, &t);
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		memcpy(s.offline, gone[i], sizeof(s.offline));
		tree_make(&s);
		assert_int_equal(topology_update(&t, root), 0);
		for (int a = 0; a < 24; a++) {
			for (int b = 0; b < 24; b++)
				assert_int_equal(topology_distance(&t, (__u32)a, (__u32)b),
						 want(&full, a, b));
		}
	}
	/* A failed update changes nothing. */
	assert_int_equal(topology_update(&t, "/nonexistent"), -ENOENT);
	assert_int_equal(topology_distance(&t, 0, 12), DIST_SMT);
	topology_free(&t);
}

/* The first CPU of every group goes (its number was the group's id), and comes back. */
static void hotplug_leaders(void **state)
{
	static const struct shape full = { "full", 2, 1, 2, 2, .no_numa = true };
	char path[128];
	struct topology t = { 0 };

	tree_make(&full);
	assert_int_equal(topology_update(&t, root), 0);
	for (int left = 6; left >= 2; left -= 2) {
		/* CPUs 0 to left - 1 online: cores are {n, n + 4}, packages {0,1,4,5} {2,3,6,7}. */
		tree_clear();
		for (int i = 8 - left; i < 8; i++) {
			put(PATH("cpu/cpu%d/topology/core_cpus_list", i), "%d,%d",
			    i - 4 >= 8 - left ? i - 4 : i, i);
			put(PATH("cpu/cpu%d/topology/package_cpus_list", i), "%d", i);
		}
		assert_int_equal(topology_update(&t, root), 0);
		assert_int_equal(t.online, left);
		for (__u32 a = 0; a < 4; a++)
			assert_int_equal(topology_distance(&t, a, a + 4), DIST_SMT);
		assert_int_equal(topology_distance(&t, 0, 1), DIST_LLC);
	}
	tree_make(&full);
	assert_int_equal(topology_update(&t, root), 0);
	check(&full, &t);
	topology_free(&t);
}

static void hot_added(void **state)
{
	static const struct shape two = { "two", 1, 1, 2, 1, .stride = 1 };
	static const struct shape eight = { "eight", 2, 1, 4, 1, .stride = 1 };
	struct topology t = { 0 };

	tree_make(&two);
	assert_int_equal(topology_update(&t, root), 0);
	tree_make(&eight);
	assert_int_equal(topology_update(&t, root), 0);
	check(&eight, &t);
	/* Taken away with their directories: still known. */
	tree_make(&two);
	assert_int_equal(topology_update(&t, root), 0);
	assert_int_equal(t.ncpus, 8);
	assert_int_equal(t.online, 2);
	assert_int_equal(topology_distance(&t, 0, 7), DIST_REMOTE);
	assert_int_equal(topology_distance(&t, 6, 7), DIST_LLC);
	topology_free(&t);
}

/* ---- groups ---- */

static void groups(void **state)
{
	static const struct shape s = { "groups", 2, 2, 2, 2, .offline = { 7, 15 } };
	__u64 value[20];
	static const struct topology_group llc[] = {
		{ 0, 4, 0 + 1 + 8 + 9 }, { 2, 4, 2 + 3 + 10 + 11 }, { 4, 4, 4 + 5 + 12 + 13 },
		{ 6, 2, 6 + 14 }, { TOPOLOGY_NONE, 6, 7 + 15 + 16 + 17 + 18 + 19 },
	};
	struct topology_group *g;
	struct topology t;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(value); i++)
		value[i] = i;
	tree_make(&s);
	assert_int_equal(topology_load(&t, root), 0);
	assert_int_equal(topology_group(&t, TOPOLOGY_LLC, value, 20, &g, &n), 0);
	assert_int_equal(n, ARRAY_SIZE(llc));
	assert_memory_equal(g, llc, sizeof(llc));
	free(g);

	assert_int_equal(topology_group(&t, TOPOLOGY_NODE, value, 16, &g, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(g[1].id, 1);
	assert_int_equal(g[1].sum, 4 + 5 + 6 + 12 + 13 + 14);
	free(g);

	/* A CPU nobody knows and that did nothing is no group. Sums stay at the top. */
	memset(value, 0, sizeof(value));
	value[0] = ~0ULL;
	value[8] = 5;
	assert_int_equal(topology_group(&t, TOPOLOGY_CORE, value, 20, &g, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(g[0].sum, ~0ULL);
	assert_int_equal(g[1].sum, 0);
	free(g);
	assert_int_equal(topology_group(&t, TOPOLOGY_CORE, NULL, 0, &g, &n), 0);
	assert_int_equal(n, 0);
	free(g);
	topology_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(saved),
		cmocka_unit_test(out_of_range),
		cmocka_unit_test(caches),
		cmocka_unit_test(damaged),
		cmocka_unit_test(hotplug),
		cmocka_unit_test(hotplug_leaders),
		cmocka_unit_test(hot_added),
		cmocka_unit_test(groups),
	};

	return cmocka_run_group_tests(tests, tree_begin, tree_end);
}
