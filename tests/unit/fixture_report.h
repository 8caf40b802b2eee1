/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixture_report.h - hand-made reports and what tests of every renderer look at.
 */
#ifndef FIXTURE_REPORT_H
#define FIXTURE_REPORT_H

#include <jansson.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_snapshot.h"
#include "model.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* Not inlined: gcc 12 with sanitizers sees dangling and null pointers in here where none are. */
#define FIX_APART __attribute__((unused, noinline))

/* Two snapshots and the report of what lies between them. */
struct pair {
	struct snapshot first, last;
	struct report r;
};

FIX_INLINE void pair_init(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	fix_init(&p->first, 1, 0);
	fix_init(&p->last, 2, 1500000001);
}

FIX_INLINE void pair_make(struct pair *p, const struct view *view)
{
	report_free(&p->r);
	assert_int_equal(report_make(&p->r, &p->first, &p->last, view), 0);
}

FIX_INLINE void pair_free(struct pair *p)
{
	report_free(&p->r);
	snapshot_free(&p->first);
	snapshot_free(&p->last);
}

FIX_INLINE void file(struct pair *p, __u64 ino, const char *path, __u64 n)
{
	struct snap_row *row = fix_row(&p->last, ino, path);
	int f;

	row->flags = ROW_CACHED_VALID;
	row->cached_pages = 3 * n;
	row->size_bytes = 4096 * 3 * n;
	for (f = FIG_ACCESSES; f < FIG_UNTESTED; f++) {
		row->v[f] = f == FIG_HOT_PAGES ? n / 2 : n;
		p->last.total[FS_SCOPE_IN][f] += row->v[f] + 1;
	}
}

/* Something of everything. */
FIX_INLINE void pair_rich(struct pair *p)
{
	size_t i;

	pair_init(p);
	file(p, 1, "/var/lib/postgresql/15/main/base/16384/2619", 81920);
	file(p, 2, "/usr/lib/x86_64-linux-gnu/libc.so.6", 1234);
	file(p, 3, NULL, 12);
	for (i = 0; i < 4; i++)
		fix_cpu(&p->last, i, 100 * i);
	fix_hook(&p->last, "access.read", HOOK_ATTACHED, "tp_btf", "mm_filemap_get_pages", "");
	fix_hook(&p->last, "access.marks", HOOK_UNAVAILABLE, "", "",
		 "functions cannot be traced: kprobe and fentry are refused (EPERM)");
	fix_hook(&p->last, "grace.expedited", HOOK_DEGRADED, "fentry", "rcu_exp_wait_wake",
		 "preemptible kernel: calls may be skipped")->misses = 3;
	p->last.prov[FIG_MARKS] = p->last.prov[FIG_MARKS_HOT] = PROV_UNAVAILABLE;
	for (i = 0; i < FS_GPS; i++) {
		p->last.grace[i].count_prov = PROV_MEASURED;
		p->last.grace[i].started = 12 + i;
		p->last.grace[i].completed = 11 + i;
	}
	p->last.grace[1].lat_prov = p->last.grace[1].req_prov = PROV_MEASURED;
	p->last.grace[1].ours = 2;
	fix_latency(&p->last.grace[1], 3, 1);	/* below the first edge that is exported */
	fix_latency(&p->last.grace[1], 17, 99);
	fix_latency(&p->last.grace[1], 21, 1);
	fix_latency(&p->last.grace[1], 40, 1);	/* beyond the last */
	fix_requester(&p->last.grace[1], "mount", 1234, 9);
	fix_requester(&p->last.grace[1], "evil\x1b[31m\"", 1, 2);
	p->last.filtered = p->last.machine = 1;
	p->last.total[FS_SCOPE_OUT][FIG_ACCESSES] = 5000;
	p->last.lost.map_full = 7;
	p->last.run_stats = 1;
	fix_prog(&p->last, "access_get_pages", 1000, 75000);
	p->last.self_cpu_ns = 12345678;
	p->last.map_bytes = 4 << 20;
	pair_make(p, NULL);
}

/* The strings of fix_hostile in every place that takes one, and a long name. */
FIX_INLINE void pair_hostile(struct pair *p)
{
	char longname[4096];
	size_t i;

	pair_rich(p);
	for (i = 0; i < FIX_HOSTILE; i++) {
		const char *s = fix_hostile[i];

		file(p, 100 + i, s, 100000);
		fix_hook(&p->last, s, i % HOOK_STATES, s, s, s);
		fix_requester(&p->last.grace[1], s + 5, i, 1);
		fix_prog(&p->last, s, 1, 1);
	}
	memset(longname, 'x', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = '\0';
	memcpy(longname, "/\xff/\x9b/", 5);
	file(p, 99, longname, 90000);
	snprintf(p->last.kernel, sizeof(p->last.kernel), "%s", fix_hostile[0]);
	pair_make(p, NULL);
}

/* Nothing could be observed, whatever the counters hold. */
FIX_INLINE void pair_unavailable(struct pair *p)
{
	pair_init(p);
	memset(p->last.prov, 0, sizeof(p->last.prov));
	fix_row(&p->last, 1, "/x")->v[FIG_ACCESSES] = 10;
	fix_cpu(&p->last, 0, 10)->flags = CPU_ONLINE;
	fix_hook(&p->last, "access.read", HOOK_UNAVAILABLE, "", "", "");
	pair_make(p, NULL);
}

static FIX_APART
char *rendered(int (*render)(FILE *, const struct report *, unsigned int),
	       const struct pair *p, unsigned int arg)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(render(out, &p->r, arg), 0);
	fclose(out);
	return text;
}

/* A full disk is an error, not a short file that looks whole. */
FIX_INLINE void assert_full_disk(int (*render)(FILE *, const struct report *, unsigned int))
{
	FILE *out = fopen("/dev/full", "w");
	struct pair p;

	assert_non_null(out);
	pair_rich(&p);
	assert_int_equal(render(out, &p.r, 500), -ENOSPC);
	fclose(out);
	pair_free(&p);
}

static FIX_APART void assert_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is missing in:\n%s", what, text);
}

static FIX_APART void assert_has_not(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("'%s' should not be in:\n%s", what, text);
}

/* One line feed at each line's end is the only control character; all of it is UTF-8. */
FIX_INLINE void assert_clean(const char *text)
{
	json_t *j = json_string(text);	/* checks the encoding */
	const unsigned char *s;

	assert_non_null(j);
	json_decref(j);
	for (s = (const unsigned char *)text; *s; s++) {
		assert_true(*s >= 0x20 || *s == '\n');
		assert_true(*s != 0x7f);
		if (*s == 0xc2)
			assert_true(s[1] >= 0xa0);	/* no C1 control */
	}
	assert_has_not(text, "\xe2\x80\xae");
	assert_has_not(text, "\xe2\x80\x8b");
}

#endif
