/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * model.h - what happened between two snapshots: differences, ranking, rest. Pure: calls neither
 * libbpf nor stdio. Everything a renderer prints is in struct report.
 *
 * Rows + other + unattributed = totals holds for every figure that is not null, by construction:
 * other is totals - shown rows - unattributed. Where a torn read makes the parts more than the
 * total, the total is raised to them (a row's count proves its events) and torn and clamped set.
 */
#ifndef MODEL_H
#define MODEL_H

#include "snapshot.h"
#include "topology.h"

/* One value with how it came about; prov PROV_UNAVAILABLE: no value (null). */
struct value {
	__u64 v;
	__u32 prov;		/* enum prov */
	__u32 n;		/* PROV_SAMPLED: one in n */
	bool bounded;		/* PROV_SAMPLED: bound is known */
	__u64 bound;		/* the true value is within v +- bound, in 19 of 20 cases */
};

/* What ref_ops and bounces are made of. */
struct report_refs {
	bool valid;
	__u64 ops[FS_REF_SIDES];
	__u64 freezes;
	__u64 followed, bounced;	/* as seen, of gets and puts */
	__u64 first;			/* no predecessor seen */
	__u64 not_followed;		/* no room for the folio */
};

struct report_row {
	const struct snap_row *row;	/* NULL for totals, other, unattributed, machine */
	struct value v[FIGS];
	struct report_refs refs;
	/* --sites: most first, at most REPORT_SITES; into report.sites. NULL: not known. */
	const struct snap_site *sites;
	size_t nsites;
	__u64 sites_other[FS_REF_SIDES];
};

#define REPORT_SITES 10
#define REPORT_FOLIOS 50

struct report_cpu {
	const struct snap_cpu *cpu;
	struct value callbacks, seg[4], invoking, kvfree;
	struct value peak_callbacks;	/* lower bound: seen at samples only */
	/* References of ops that ran here; bounces that came here. */
	struct value ref_ops, get_bounces, put_bounces;
};

/* Bounces by pair of CPUs, in sampled mode scaled. */
struct report_transfers {
	__u32 prov, n;			/* enum prov; PROV_SAMPLED: one in n */
	struct snap_pair *pairs;	/* owned; most first */
	size_t npairs;
	__u64 other;			/* of pairs that found no place */
	__u64 distance[DISTANCES];	/* sums of pairs; other is in DIST_UNKNOWN */
	bool llc_unknown;		/* distance[DIST_NODE] may be nearer */
};

struct report_grace {
	struct value started, completed;
	__u32 lat_prov;
	__u64 lat_count, lat_sum;
	__u64 lat_max;
	bool max_is_edge;		/* lat_max is its bucket's upper edge, not exact */
	__u64 p50, p99;			/* upper edges of the buckets they fall in, ns */
	__u64 buckets[FS_LAT_BUCKETS];
	__u32 req_prov;
	__u64 ours;
	struct snap_requester *req;	/* owned; of the interval, most first, no zeroes */
	size_t nreq;
};

/* What the user asked to see. */
struct view {
	size_t top;		/* rows shown; the rest goes to other; 0: all */
	enum fig sort;		/* ranking, largest first; ties by path, then key */
	/* Only files that one of these matches (model_path_matches); NULL-terminated; NULL: all. */
	const char *const *paths;
};

struct report {
	const struct snapshot *first, *last;	/* not owned */
	double duration_s;
	bool torn, hotplug, clamped;	/* clamped: a difference would have been negative */
	struct report_row totals, other, unattributed;
	struct report_row machine;	/* inside + outside the filter; valid when has_machine */
	bool has_machine;
	struct report_row *files;	/* owned, ranked */
	size_t nfiles;
	size_t nfiles_all;		/* files with any count in the interval */
	double coverage;		/* accesses of files[] over all; NAN: there were none */
	struct snap_hook *hooks;	/* owned; as in last, misses of the interval */
	size_t nhooks;
	struct report_cpu *cpus;	/* owned; online or with a backlog */
	size_t ncpus;
	struct report_transfers transfers;
	struct snap_site *sites;	/* owned; of files[], of the interval */
	struct snap_folio *folios;	/* owned; --folios: most bounces first */
	size_t nfolios;
	struct report_row *folios_row;	/* the file they are of; NULL: it has no row */
	struct report_grace grace[FS_GPS];
	struct snap_lost lost;		/* of the interval */
	struct snap_prog *progs;	/* owned; of the interval */
	size_t nprogs;
	__u64 self_cpu_ns;
};

/*
 * Fills *out from two snapshots of one observation, first before last. Both must outlive it.
 * -ENOMEM; -EINVAL when last is not after first. On error *out is empty.
 */
int report_make(struct report *out, const struct snapshot *first, const struct snapshot *last,
		const struct view *view);
void report_free(struct report *r);

/* Events per second; NAN for an interval of no length. */
double model_rate(__u64 count, double seconds);

/*
 * Quantile q (0..1) of a histogram of power-of-two buckets: the upper edge 2^k of the bucket in
 * which the ceil(q * count)-th smallest lies, capped by max. 0 when it is empty.
 */
__u64 model_quantile(const __u64 buckets[FS_LAT_BUCKETS], double q, __u64 max);

/* Whether path is at or below prefix, or matches it as a glob (fnmatch, no flags). */
bool model_path_matches(const char *path, const char *pattern);

#endif
