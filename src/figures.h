/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * figures.h - the one list of what folioscope counts: name, unit, meaning, formula, blind spots.
 * JSON keys, Prometheus names and HELP texts, `--explain` and the man page all come from here.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <linux/types.h>
#include <stdio.h>

/* Figures of a row (a file, or a total). Ids are written to record files: append only. */
enum fig {
	FIG_ACCESSES = 0,
	FIG_PAGES = 1,
	FIG_HOT_PAGES = 2,
	FIG_HOT_ACCESSES = 3,
	FIG_MARKS = 4,
	FIG_MARKS_HOT = 5,
	FIG_INSERTED = 6,
	FIG_REMOVED = 7,
	FIG_WRITTEN = 8,
	FIG_UNTESTED = 9,
	FIG_REF_OPS = 10,
	FIG_GET_BOUNCES = 11,
	FIG_PUT_BOUNCES = 12,
	FIG_FAILED_GETS = 13,
	FIG_WOULD_DEFER = 14,
	FIG_WINDOW = 15,
	FIGS = 16,
};

/* How a figure came about. FS: written to record files, append only. */
enum prov {
	PROV_UNAVAILABLE = 0,	/* null: never shown as 0 */
	PROV_MEASURED = 1,	/* every event seen */
	PROV_SAMPLED = 2,	/* one in N, scaled */
	PROV_DERIVED = 3,
	PROV_UPPER_BOUND = 4,
	PROV_LOWER_BOUND = 5,	/* measured, with losses */
	PROV_PROJECTED = 6,
	PROVS,
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct figure_info {
	const char *json;	/* key in the JSON; NULL: not there */
	const char *metric;	/* Prometheus name without prefix and _total; NULL: none */
	const char *unit;
	const char *label;	/* short column heading */
	const char *help;	/* one sentence */
	const char *formula;
	const char *blind;	/* what it does not see */
	enum metric_type type;	/* a counter's metric name ends in _total */
};

/*
 * Everything else that is shown or exported (backlog, grace, losses, cost), for --explain and
 * HELP: no metric goes out without an entry here. Not written anywhere: order is free.
 */
enum gauge {
	GAUGE_CALLBACKS,
	GAUGE_SEG_DONE,
	GAUGE_SEG_WAIT,
	GAUGE_SEG_NEXT_READY,
	GAUGE_SEG_NEXT,
	GAUGE_INVOKING,
	GAUGE_KVFREE,
	GAUGE_PEAK_CALLBACKS,
	GAUGE_BACKLOG_CPUS,
	GAUGE_GP_STARTED,
	GAUGE_GP_COMPLETED,
	GAUGE_GP_OURS,
	GAUGE_GP_LATENCY,
	GAUGE_GP_REQUESTERS,
	GAUGE_CACHED_PAGES,
	GAUGE_SIZE_BYTES,
	GAUGE_COVERAGE,
	GAUGE_FILES_SEEN,
	GAUGE_SERIES_FOLDED,
	GAUGE_TRANSFERS,
	GAUGE_BOUND,
	GAUGE_LOST,
	GAUGE_HOOK_STATE,
	GAUGE_HOOK_MISSES,
	GAUGE_PROVENANCE,
	GAUGE_INTERVAL,
	GAUGE_INTERVAL_FLAG,
	GAUGE_SELF_CPU,
	GAUGE_MAP_BYTES,
	GAUGE_PROG_RUNS,
	GAUGE_PROG_TIME,
	GAUGE_BUILD_INFO,
	GAUGES,
};

extern const struct figure_info figures[FIGS];
extern const struct figure_info gauges[GAUGES];
extern const char *const prov_names[PROVS];

/*
 * Writes the full text of one figure (by JSON key or Prometheus name), or of all when id is NULL.
 * -ENOENT: no such.
 */
int figures_explain(FILE *out, const char *id);

#endif
