// SPDX-License-Identifier: GPL-2.0-only
/* cells.c - see cells.h. */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "cells.h"
#include "render.h"
#include "sanitize.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define RATIO_MIN 10	/* a share of fewer says nothing */

/* --- numbers ---------------------------------------------------------------------------- */

static const char *mark(struct cell_marks *m, __u32 prov)
{
	switch (prov) {
	case PROV_LOWER_BOUND:
		m->lower = true;
		return ">=";
	case PROV_UPPER_BOUND:
		m->upper = true;
		return "<=";
	case PROV_SAMPLED:
		m->sampled = true;
		return "~";
	case PROV_PROJECTED:
		m->projected = true;
		return "*";
	default:
		return "";
	}
}

static void not_available(struct cell_marks *m, char cell[TEXT_CELL])
{
	m->absent = true;
	strcpy(cell, "n/a");
}

void cell_value(struct cell_marks *m, char cell[TEXT_CELL], const struct value *v, bool compact)
{
	char num[TEXT_CELL - 4];

	if (v->prov == PROV_UNAVAILABLE) {
		not_available(m, cell);
		return;
	}
	text_count(num, sizeof(num), v->v, compact);
	snprintf(cell, TEXT_CELL, "%s%s", mark(m, v->prov), num);
}

/* How a share of two figures may be read: a bound only where the two do not pull apart. */
static __u32 share_prov(__u32 part, __u32 whole)
{
	bool part_exact = part == PROV_MEASURED || part == PROV_DERIVED;
	bool whole_exact = whole == PROV_MEASURED || whole == PROV_DERIVED;

	if (part_exact && whole_exact)
		return PROV_MEASURED;
	if ((part_exact || part == PROV_LOWER_BOUND) &&
	    (whole_exact || whole == PROV_UPPER_BOUND))
		return PROV_LOWER_BOUND;
	if ((part_exact || part == PROV_UPPER_BOUND) &&
	    (whole_exact || whole == PROV_LOWER_BOUND))
		return PROV_UPPER_BOUND;
	return PROV_SAMPLED;
}

void cell_share(struct cell_marks *m, char cell[TEXT_CELL], const struct value *part,
		const struct value *whole)
{
	double percent;

	if (part->prov == PROV_UNAVAILABLE || whole->prov == PROV_UNAVAILABLE) {
		not_available(m, cell);
		return;
	}
	if (whole->v < RATIO_MIN) {
		m->few = true;
		strcpy(cell, "-");
		return;
	}
	percent = 100.0 * part->v / whole->v;
	/* Not all is not 100 %, and some is not 0 %. */
	if (percent > 99 && percent < 100)
		percent = 99;
	if (percent > 0 && percent < 1)
		strcpy(cell, "<1%");
	else
		snprintf(cell, TEXT_CELL, "%s%.0f%%", mark(m, share_prov(part->prov, whole->prov)),
			 percent);
}

void cell_latency(struct cell_marks *m, char cell[TEXT_CELL], const struct report_grace *g,
		  __u64 ns, bool edge)
{
	char num[TEXT_CELL - 4];

	if (g->lat_prov == PROV_UNAVAILABLE) {
		not_available(m, cell);
	} else if (!g->lat_count) {
		strcpy(cell, "-");
	} else {
		text_time(num, sizeof(num), ns);
		snprintf(cell, TEXT_CELL, "%s%s", edge ? "<=" : "", num);
	}
}

/* --- said beside them ------------------------------------------------------------------- */

void cell_legend(const struct cell_marks *m, char *buf, size_t size)
{
	const struct {
		bool on;
		const char *text;
	} parts[] = {
		{ m->lower, ">= at least" },
		{ m->upper, "<= at most" },
		{ m->sampled, "~ estimated" },
		{ m->projected, "* projected" },
		{ m->few, "- under 10 pages: no share" },
		{ m->absent, "n/a not available" },
	};
	size_t i, len = 0;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].on && len < size)
			len += snprintf(buf + len, size - len, "%s%s", len ? "; " : "",
					parts[i].text);
}

void cell_losses(const struct snap_lost *l, char *buf, size_t size)
{
	const struct {
		__u64 v;
		const char *what;
	} parts[] = {
		{ l->map_full, "events without room for their file (in other)" },
		{ l->recursion_misses, "calls the kernel skipped" },
		{ l->witness, "events not told from the one before (counted apart)" },
		{ l->ring_full, "file names (ring full)" },
		{ l->torn, "snapshots torn" },
	};
	size_t i, len = 0;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].v && len < size)
			len += snprintf(buf + len, size - len, "%s%" PRIu64 " %s", len ? ", " : "",
					(uint64_t)parts[i].v, parts[i].what);
	if (!len)
		snprintf(buf, size, "nothing");
}

/* --- files ------------------------------------------------------------------------------ */

const struct cell_column_info cell_columns[FILE_COLS] = {
	[COL_ACCESSES] = { "accesses", FIG_ACCESSES, 0 },
	[COL_PAGES] = { "pages", FIG_PAGES, 8 },
	[COL_HOT] = { "hot%", -1, 7 },
	[COL_MARKS] = { "marks", FIG_MARKS, 1 },
	[COL_INSERTED] = { "ins", FIG_INSERTED, 6 },
	[COL_REMOVED] = { "rem", FIG_REMOVED, 5 },
	[COL_WRITTEN] = { "wrt", FIG_WRITTEN, 4 },
	[COL_CACHED] = { "cached", -1, 3 },
	[COL_SIZE] = { "size", -1, 2 },
};

void cell_file(struct cell_marks *m, char (*cells)[TEXT_CELL], const struct report_row *row,
	       __u32 page_size, bool compact)
{
	const struct snap_row *s = row->row;
	int col;

	for (col = 0; col < FILE_COLS; col++)
		if (cell_columns[col].fig >= 0)
			cell_value(m, cells[col], &row->v[cell_columns[col].fig], compact);
	cell_share(m, cells[COL_HOT], &row->v[FIG_HOT_PAGES], &row->v[FIG_PAGES]);
	if (s && s->flags & ROW_CACHED_VALID) {
		text_size(cells[COL_CACHED], TEXT_CELL, (double)s->cached_pages * page_size);
		text_size(cells[COL_SIZE], TEXT_CELL, s->size_bytes);
	} else if (s) {
		not_available(m, cells[COL_CACHED]);
		not_available(m, cells[COL_SIZE]);
	}
}

void cell_name(char buf[CELL_NAME], const struct snap_row *row, bool basename, size_t width)
{
	char safe[CELL_NAME], dev[RENDER_DEV], tail[32];
	const char *path = row->path, *slash;

	snprintf(tail, sizeof(tail), "%s%s", row->flags & ROW_DELETED ? " (deleted)" : "",
		 row->flags & ROW_DEV_UNKNOWN ? " (dev?)" : "");
	slash = path && basename ? strrchr(path, '/') : NULL;
	if (slash && slash[1])
		path = slash + 1;
	if (path) {
		sanitize(safe, sizeof(safe), path, strlen(path));
	} else {
		render_dev(dev, &row->key);
		snprintf(safe, sizeof(safe), "(no name: device %s, inode %" PRIu64 ")", dev,
			 (uint64_t)row->key.ino);
	}
	if (width && strlen(tail) >= width)
		*tail = '\0';
	sanitize_ellipsis(buf, CELL_NAME - sizeof(tail), safe,
			  width ? width - strlen(tail) : SIZE_MAX);
	strcat(buf, tail);
}

/* --- CPUs ------------------------------------------------------------------------------- */

const char *const cell_cpu_titles[CELL_CPU_COLS] = {
	"RCU backlog", "callbacks", "done", "wait", "next-rdy", "next", "invoking", "kvfree", "peak",
};

#define PEAK (CELL_CPU_COLS - 2)

static const struct value *gauge(const struct report_cpu *c, size_t i)
{
	const struct value *v[CELL_CPU_COLS - 1] = {
		&c->callbacks, &c->seg[0], &c->seg[1], &c->seg[2], &c->seg[3], &c->invoking,
		&c->kvfree, &c->peak_callbacks,
	};

	return v[i];
}

/* Callbacks first: peaks and kvfree only decide between equals. */
int cell_cpu_worse(const void *pa, const void *pb)
{
	const struct report_cpu *a = *(const struct report_cpu *const *)pa;
	const struct report_cpu *b = *(const struct report_cpu *const *)pb;
	static const size_t order[] = { 0, 6, 7 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		__u64 va = gauge(a, order[i])->v, vb = gauge(b, order[i])->v;

		if (va != vb)
			return va < vb ? 1 : -1;
	}
	return a->cpu->cpu < b->cpu->cpu ? -1 : a->cpu->cpu > b->cpu->cpu;
}

void cell_cpu(struct cell_marks *m, char (*cells)[TEXT_CELL], const struct report_cpu *cpu)
{
	size_t i;

	snprintf(cells[0], TEXT_CELL, "cpu %u%s", cpu->cpu->cpu,
		 cpu->cpu->flags & CPU_ONLINE ? "" : " off");
	for (i = 0; i < CELL_CPU_COLS - 1; i++) {
		/* A peak is a lower bound by nature: saying so in every row would be noise. */
		struct value v = *gauge(cpu, i);

		if (v.prov == PROV_LOWER_BOUND)
			v.prov = PROV_MEASURED;
		cell_value(m, cells[i + 1], &v, true);
	}
}

size_t cell_cpu_sum(struct cell_marks *m, char (*cells)[TEXT_CELL],
		    const struct report_cpu *const *cpus, size_t n)
{
	size_t i, k, known = 0;

	for (k = 0; k < n; k++)
		known += cpus[k]->callbacks.prov != PROV_UNAVAILABLE;
	/* Peaks of different moments have no sum. */
	for (i = 0; i < PEAK; i++) {
		struct value sum = { 0 };

		for (k = 0; k < n; k++) {
			const struct value *v = gauge(cpus[k], i);

			sum.v = sum.v + v->v < sum.v ? ~0ull : sum.v + v->v;
			sum.prov = v->prov != PROV_UNAVAILABLE ? PROV_MEASURED : sum.prov;
		}
		cell_value(m, cells[i + 1], &sum, true);
	}
	cells[PEAK + 1][0] = '\0';
	return known;
}
