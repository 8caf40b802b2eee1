/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cells.h - figures as people read them: the same in the text report and on the live screen.
 * Pure; everything written is printable ASCII, but for names, which are sanitized.
 */
#ifndef CELLS_H
#define CELLS_H

#include "model.h"
#include "text.h"

/* What the cells written so far need a legend for. */
struct cell_marks {
	bool lower, upper, sampled, projected, few, absent;
};

/* The figure with the mark of its provenance; "n/a" when there is none. */
void cell_value(struct cell_marks *m, char cell[TEXT_CELL], const struct value *v, bool compact);
void cell_share(struct cell_marks *m, char cell[TEXT_CELL], const struct value *part,
		const struct value *whole);
/* ns: a latency of g. edge: it is known to be at most that. */
void cell_latency(struct cell_marks *m, char cell[TEXT_CELL], const struct report_grace *g,
		  __u64 ns, bool edge);

/* "", or what the marks mean. */
void cell_legend(const struct cell_marks *m, char *buf, size_t size);
/* "nothing", or what was lost. */
void cell_losses(const struct snap_lost *l, char *buf, size_t size);

/* --- files --- */

enum cell_column {
	COL_ACCESSES, COL_PAGES, COL_HOT, COL_MARKS, COL_INSERTED, COL_REMOVED, COL_WRITTEN,
	COL_CACHED, COL_SIZE, FILE_COLS,
};

extern const struct cell_column_info {
	const char *title;
	int fig;	/* enum fig, or -1: made otherwise */
	int dropped;	/* order in which columns make room for the path; 0: never */
} cell_columns[FILE_COLS];

/* The FILE_COLS cells of a row; cached and size stay as they are where row stands for no one file. */
void cell_file(struct cell_marks *m, char (*cells)[TEXT_CELL], const struct report_row *row,
	       __u32 page_size, bool compact);

#define CELL_NAME (4 * 4096 + 32)	/* PATH_MAX, every byte escaped, and what is said of it */

/* Name of a file, sanitized, cut in the middle to width columns (0: not cut). */
void cell_name(char buf[CELL_NAME], const struct snap_row *row, bool basename, size_t width);

/* --- CPUs --- */

#define CELL_CPU_COLS 9	/* the CPU, then eight gauges */

extern const char *const cell_cpu_titles[CELL_CPU_COLS];

/* For qsort() of pointers: worst first. */
int cell_cpu_worse(const void *a, const void *b);
void cell_cpu(struct cell_marks *m, char (*cells)[TEXT_CELL], const struct report_cpu *cpu);
/* The sums over n CPUs; the first cell is the caller's. How many of them are known. */
size_t cell_cpu_sum(struct cell_marks *m, char (*cells)[TEXT_CELL],
		    const struct report_cpu *const *cpus, size_t n);

#endif
