/* SPDX-License-Identifier: GPL-2.0-only */
/* render_refs.c - see render_refs.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "render_refs.h"
#include "sanitize.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define CPUS_SHOWN 8
#define PAIRS_SHOWN 8

enum refs_column { REFS_OPS, REFS_GETS, REFS_GETS_BOUND, REFS_PUTS, REFS_PUTS_BOUND, REFS_SHARE,
		   REFS_FAILED, REFS_COLS };

static const char *const titles[REFS_COLS] = {
	"ref ops", "get bnc", "+-", "put bnc", "+-", "bounced", "failed",
};

static void bound_cell(char cell[TEXT_CELL], const struct value *v)
{
	if (v->prov == PROV_SAMPLED && v->bounded)
		text_count(cell, TEXT_CELL, v->bound, true);
}

/* Of all ops; of gets, where only their bounces are known. */
static void share_of(struct cell_marks *m, char cell[TEXT_CELL], const struct report_row *row)
{
	struct value part = row->v[FIG_GET_BOUNCES], whole = row->v[FIG_REF_OPS];

	if (row->v[FIG_PUT_BOUNCES].prov != PROV_UNAVAILABLE)
		part.v += row->v[FIG_PUT_BOUNCES].v;
	else
		whole.v = row->refs.ops[FS_REF_GET];
	cell_share(m, cell, &part, &whole);
}

static void row_cells(struct cell_marks *m, struct text_grid *g, size_t at,
		      const struct report_row *row)
{
	cell_value(m, text_cell(g, at, REFS_OPS), &row->v[FIG_REF_OPS], true);
	cell_value(m, text_cell(g, at, REFS_GETS), &row->v[FIG_GET_BOUNCES], true);
	bound_cell(text_cell(g, at, REFS_GETS_BOUND), &row->v[FIG_GET_BOUNCES]);
	cell_value(m, text_cell(g, at, REFS_PUTS), &row->v[FIG_PUT_BOUNCES], true);
	bound_cell(text_cell(g, at, REFS_PUTS_BOUND), &row->v[FIG_PUT_BOUNCES]);
	share_of(m, text_cell(g, at, REFS_SHARE), row);
	cell_value(m, text_cell(g, at, REFS_FAILED), &row->v[FIG_FAILED_GETS], true);
}

static void print_name(FILE *out, const char *name, unsigned int width, size_t used)
{
	unsigned int room = width > used + 2 ? width - used - 2 : 1;

	if (width && strlen(name) > room)
		fprintf(out, "  %.*s\n", (int)room, name);
	else
		fprintf(out, "  %s\n", name);
}

static int files(FILE *out, struct cell_marks *m, const struct report *r, unsigned int width,
		 bool basename)
{
	char *name = malloc(CELL_NAME);
	struct text_grid g = {};
	size_t i, n = 0, used, room;
	int col;

	for (i = 0; i < r->nfiles; i++)
		n += r->files[i].v[FIG_REF_OPS].v != 0;
	if (!name || text_grid_make(&g, n + 4, REFS_COLS)) {
		free(name);
		return -ENOMEM;
	}
	for (col = 0; col < REFS_COLS; col++)
		strcpy(text_cell(&g, 0, col), titles[col]);
	for (i = n = 0; i < r->nfiles; i++)
		if (r->files[i].v[FIG_REF_OPS].v)
			row_cells(m, &g, ++n, &r->files[i]);
	row_cells(m, &g, n + 1, &r->other);
	row_cells(m, &g, n + 2, &r->unattributed);
	row_cells(m, &g, n + 3, &r->totals);
	g.hidden[REFS_GETS_BOUND] = r->totals.v[FIG_GET_BOUNCES].prov != PROV_SAMPLED;
	g.hidden[REFS_PUTS_BOUND] = r->totals.v[FIG_PUT_BOUNCES].prov != PROV_SAMPLED;
	used = text_grid_measure(&g);
	room = width > used + 2 ? width - used - 2 : 1;
	fputc('\n', out);
	text_grid_row(out, &g, 0);
	print_name(out, "references of", width, used);
	for (i = n = 0; i < r->nfiles; i++) {
		if (!r->files[i].v[FIG_REF_OPS].v)
			continue;
		text_grid_row(out, &g, ++n);
		cell_name(name, r->files[i].row, basename, width ? room : 0);
		fprintf(out, "  %s\n", name);
	}
	text_grid_row(out, &g, n + 1);
	print_name(out, "(other)", width, used);
	text_grid_row(out, &g, n + 2);
	print_name(out, "(unattributed)", width, used);
	text_grid_row(out, &g, n + 3);
	print_name(out, "total", width, used);
	text_grid_free(&g);
	free(name);
	return 0;
}

/* Most bounces first, then most ops. */
static int compare_cpus(const void *pa, const void *pb)
{
	const struct report_cpu *a = *(const struct report_cpu *const *)pa;
	const struct report_cpu *b = *(const struct report_cpu *const *)pb;
	__u64 x = a->get_bounces.v + a->put_bounces.v, y = b->get_bounces.v + b->put_bounces.v;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->ref_ops.v != b->ref_ops.v)
		return a->ref_ops.v > b->ref_ops.v ? -1 : 1;
	return a->cpu->cpu < b->cpu->cpu ? -1 : 1;
}

static int cpus(FILE *out, struct cell_marks *m, const struct report *r)
{
	static const char *const cpu_titles[] = { "references on", "ref ops", "get bnc", "put bnc" };
	const struct report_cpu **order = malloc((r->ncpus + 1) * sizeof(*order));
	struct text_grid g;
	size_t i, n = 0, shown;

	for (i = 0; order && i < r->ncpus; i++)
		if (r->cpus[i].ref_ops.v)
			order[n++] = &r->cpus[i];
	shown = n < CPUS_SHOWN ? n : CPUS_SHOWN;
	if (!order || text_grid_make(&g, 1 + shown, ARRAY_SIZE(cpu_titles))) {
		free(order);
		return -ENOMEM;
	}
	if (n)
		qsort(order, n, sizeof(*order), compare_cpus);
	g.left = true;
	for (i = 0; i < ARRAY_SIZE(cpu_titles); i++)
		strcpy(text_cell(&g, 0, i), cpu_titles[i]);
	for (i = 0; i < shown; i++) {
		snprintf(text_cell(&g, 1 + i, 0), TEXT_CELL, "cpu %u", order[i]->cpu->cpu);
		cell_value(m, text_cell(&g, 1 + i, 1), &order[i]->ref_ops, true);
		cell_value(m, text_cell(&g, 1 + i, 2), &order[i]->get_bounces, true);
		cell_value(m, text_cell(&g, 1 + i, 3), &order[i]->put_bounces, true);
	}
	text_grid_measure(&g);
	fputc('\n', out);
	for (i = 0; i < g.rows; i++)
		text_grid_line(out, &g, i);
	if (n > shown)
		fprintf(out, "... %zu more CPUs with references\n", n - shown);
	text_grid_free(&g);
	free(order);
	return 0;
}

static void transfers(FILE *out, const struct report *r, unsigned int width)
{
	const struct report_transfers *t = &r->transfers;
	char line[512], num[TEXT_CELL];
	size_t i, len = 0;

	if (t->prov == PROV_UNAVAILABLE || !t->pairs)
		return;
	*line = '\0';
	for (i = DIST_SMT; i < DISTANCES; i++) {
		if (!t->distance[i] && i == DIST_UNKNOWN)
			continue;
		text_count(num, sizeof(num), t->distance[i], true);
		len += snprintf(line + len, sizeof(line) - len, "%s%s %s", len ? ", " : "",
				distance_names[i], num);
	}
	fputs("bounces by distance: ", out);
	text_wrap(out, line, 21, width);
	for (i = len = 0, *line = '\0'; i < t->npairs && i < PAIRS_SHOWN; i++) {
		text_count(num, sizeof(num), t->pairs[i].count, true);
		len += snprintf(line + len, sizeof(line) - len, "%s%u to %u %s", len ? ", " : "",
				t->pairs[i].from, t->pairs[i].to, num);
	}
	if (i < t->npairs)
		len += snprintf(line + len, sizeof(line) - len, ", %zu more", t->npairs - i);
	if (t->other)
		snprintf(line + len, sizeof(line) - len, ", other %" PRIu64, (uint64_t)t->other);
	fputs("bounces by pair: ", out);
	text_wrap(out, *line ? line : "none", 17, width);
}

static void how(FILE *out, const struct report *r, unsigned int width)
{
	const struct snap_refs *s = &r->last->refs;
	const struct report_refs *refs = &r->totals.refs;
	char line[512];
	size_t len;

	if (s->every > 1)
		len = snprintf(line, sizeof(line), "estimated (~) from what was followed in one of %u "
			       "windows of %" PRIu64 " us: %" PRIu64 " ops; true values are within +- "
			       "in 19 of 20 cases", s->every,
			       (uint64_t)(1ULL << s->shift) / 1000, (uint64_t)refs->followed);
	else
		len = snprintf(line, sizeof(line), "every op was followed, through a cache line that "
			       "CPUs share: bounces are right, speed is not as without");
	if (!(s->sides & 1U << FS_REF_PUT))
		len += snprintf(line + len, sizeof(line) - len, "; derived from reads and faults, "
				"where bounces of puts are not known");
	if (refs->not_followed)
		snprintf(line + len, sizeof(line) - len, "; %" PRIu64 " ops not followed, for lack of "
			 "room (--memory)", (uint64_t)refs->not_followed);
	fputs("bounces: ", out);
	text_wrap(out, line, 9, width);
}

/* --sites, below the table: by file, most first. */
static int sites(FILE *out, const struct report *r, unsigned int width, bool basename)
{
	char *name = malloc(CELL_NAME), line[256];
	size_t i, k;

	if (!name)
		return -ENOMEM;
	for (i = 0; i < r->nfiles; i++) {
		const struct report_row *row = &r->files[i];

		if (!row->nsites)
			continue;
		cell_name(name, row->row, basename, width);
		fprintf(out, "\n%s\n", name);
		for (k = 0; k < row->nsites; k++) {
			sanitize(line, sizeof(line), row->sites[k].name,
				 strnlen(row->sites[k].name, sizeof(row->sites[k].name)));
			fprintf(out, "%10" PRIu64 " gets %10" PRIu64 " puts  %s\n",
				(uint64_t)row->sites[k].ops[FS_REF_GET],
				(uint64_t)row->sites[k].ops[FS_REF_PUT], line);
		}
	}
	free(name);
	return 0;
}

static void folios(FILE *out, const struct report *r, unsigned int width)
{
	const char *mark = r->last->refs.every > 1 ? "~" : "";
	char line[700] = "";
	size_t i, len;
	int cpu;

	if (!r->nfolios)
		return;
	fprintf(out, "\n%10s %5s %10s %10s  folio on CPUs\n", "index", "order", "ops", "bounces");
	for (i = 0; i < r->nfolios; i++) {
		const struct snap_folio *f = &r->folios[i];
		char ops[TEXT_CELL], bnc[TEXT_CELL];

		snprintf(ops, sizeof(ops), "%s%" PRIu64, mark, (uint64_t)f->ops);
		snprintf(bnc, sizeof(bnc), "%s%" PRIu64, mark, (uint64_t)f->bounces);
		fprintf(out, "%10" PRIu64 " %5u %10s %10s  ", (uint64_t)f->index, f->order, ops, bnc);
		for (cpu = 0, len = 0; cpu < 128 && len < sizeof(line) - 8; cpu++)
			if (f->cpus[cpu / 64] >> (cpu % 64) & 1)
				len += snprintf(line + len, sizeof(line) - len, "%s%d",
						len ? " " : "", cpu);
		text_wrap(out, line, 40, width);
	}
}

int render_text_refs(FILE *out, const struct report *r, unsigned int width, bool basename)
{
	struct cell_marks marks = {};
	int err;

	if (!r->totals.refs.valid)
		return 0;
	err = files(out, &marks, r, width, basename);
	if (!err)
		err = cpus(out, &marks, r);
	if (err)
		return err;
	transfers(out, r, width);
	how(out, r, width);
	folios(out, r, width);
	return sites(out, r, width, basename);
}
