/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * figures.c - every figure with its meaning, formula and blind spots. Words as in the JSON, the
 * metrics and the man page; a sentence changed here changes in all of them.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "figures.h"
#include "text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

const char *const prov_names[PROVS] = {
	[PROV_UNAVAILABLE] = "unavailable",
	[PROV_MEASURED] = "measured",
	[PROV_SAMPLED] = "sampled",
	[PROV_DERIVED] = "derived",
	[PROV_UPPER_BOUND] = "upper_bound",
	[PROV_LOWER_BOUND] = "lower_bound",
	[PROV_PROJECTED] = "projected",
};

const struct figure_info figures[FIGS] = {
	[FIG_ACCESSES] = {
		"accesses", "accesses", "events", "accesses",
		"Read calls and page faults that touched at least one page of a file's page cache.",
		"Page-cache lookups of a read, where lookups with the same task, ioac.syscr, "
		"mapping and end and a rising index are one call; plus file faults, where events "
		"with the same min_flt + maj_flt of a task are one fault. sendfile is one per "
		"system call, splice one per call.",
		"io_uring does not raise syscr: two of its reads that look like one going on count "
		"as one. O_DIRECT is none where the file system bypasses the cache; DAX is none. "
		"tmpfs and shared memory only where a backend for them is attached. Reads that "
		"fail or return early on a missed folio. A write to a page that is mapped already, but "
		"read-only, faults without an event; so does, with tracepoints, a fault that maps a "
		"whole huge page. Reads of nothing, at or beyond the end are none by definition; so "
		"are writes.",
		METRIC_COUNTER,
	},
	[FIG_PAGES] = {
		"pages", "pages", "pages", "pages",
		"Page-cache indexes that accesses touched, each once per access.",
		"Sum over accesses of the indexes from first to last, clamped to the file's size; "
		"of a fault-around its whole window.",
		"A fault-around maps only what is cached and up to date in its window: for faults "
		"it is an upper bound, and windows of neighbouring faults may overlap. A read that "
		"stops early counts to the end it asked for. Else as accesses.",
		METRIC_COUNTER,
	},
	[FIG_HOT_PAGES] = {
		"hot_pages", "hot_pages", "pages", "hot",
		"Touches that found the folio saturated: as accessed as the LRU records, so that "
		"one more mark changes nothing.",
		"Folio flags at the touch. Classic LRU: referenced, and active or unevictable. "
		"MGLRU: unevictable; or referenced, workingset and the refs counter at its "
		"maximum.",
		"A state, not an event: it says nothing of when the folio became hot. On the "
		"classic LRU activation waits in a per-CPU batch, so hot comes up to one batch "
		"late. Pages not looked at are in hot_untested_pages, and make this a lower bound. "
		"Uncached (RWF_DONTCACHE) folios never become hot.",
		METRIC_COUNTER,
	},
	[FIG_HOT_ACCESSES] = {
		"hot_accesses", "hot_accesses", "events", "hot acc",
		"Accesses with at least one hot page.",
		"An access is counted when the first of its touches finds a saturated folio.",
		"As hot_pages and accesses.",
		METRIC_COUNTER,
	},
	[FIG_MARKS] = {
		"marks", "marks", "events", "marks",
		"Calls of folio_mark_accessed for folios of a file.",
		"Entries of folio_mark_accessed.",
		"Not a measure of accesses: repeated reads of one position skip the mark, and "
		"munmap marks young pages. Unavailable without that hook, as on kernels where "
		"functions cannot be traced.",
		METRIC_COUNTER,
	},
	[FIG_MARKS_HOT] = {
		"marks_hot", "marks_hot", "events", "hot marks",
		"Calls of folio_mark_accessed that found the folio saturated.",
		"Folio flags at the entry of folio_mark_accessed, judged as for hot_pages.",
		"As marks; on the classic LRU up to one activation batch late.",
		METRIC_COUNTER,
	},
	[FIG_INSERTED] = {
		"inserted_pages", "inserted_pages", "pages", "ins",
		"Pages that entered the page cache.",
		"Sum of folio sizes at mm_filemap_add_to_page_cache.",
		"tmpfs and shared memory do not fire it: null in their rows. A folio replaced by "
		"migration or by a huge-page collapse enters without an event.",
		METRIC_COUNTER,
	},
	[FIG_REMOVED] = {
		"removed_pages", "removed_pages", "pages", "rem",
		"Pages that left the page cache: truncated, dropped, reclaimed.",
		"Sum of folio sizes at mm_filemap_delete_from_page_cache, single and batched.",
		"A folio replaced by migration or by a huge-page collapse leaves without an event. "
		"The page's memory may live on while others hold references.",
		METRIC_COUNTER,
	},
	[FIG_WRITTEN] = {
		"written_pages", "written_pages", "pages", "wrt",
		"Pages that became dirty.",
		"Sum of folio sizes at writeback_dirty_folio.",
		"A large folio counts whole, even when one byte of it is written: an upper bound of "
		"what was written. A page that is dirty already does not count again. File systems "
		"without dirty accounting (tmpfs) do not fire it. O_DIRECT writes are none.",
		METRIC_COUNTER,
	},
	[FIG_UNTESTED] = {
		"hot_untested_pages", "hot_untested_pages", "pages", "untested",
		"Touched pages whose heat was not looked at.",
		"Pages of an access beyond those whose folio was found and tested.",
		"Nothing; it is the blind spot of hot_pages, counted.",
		METRIC_COUNTER,
	},
	[FIG_WINDOW] = {
		"window_pages", "window_pages", "pages", "window",
		"Pages that count as touched only because they lie in a fault-around window.",
		"For each fault: the pages of its windows, less the one that was touched.",
		"Which of them were mapped, and touched later without a fault.",
		METRIC_COUNTER,
	},
	[FIG_REF_OPS] = {
		"ref_ops", "ref_ops", "events", "ref ops",
		"Atomic gets and puts on the _refcount of a file's folios.",
		"page_ref events; else functions that get and put (--exact); else a get and a put "
		"for each folio that a read or fault found.",
		"folio_put is inline: without CONFIG_DEBUG_PAGE_REF single puts cannot be hooked, "
		"and references that are not of reads and faults are not seen. Reference "
		"operations follow folios, not pages.",
		METRIC_COUNTER,
	},
	[FIG_GET_BOUNCES] = {
		"get_bounces", "get_bounces", "events", "get bnc",
		"Gets on a folio whose previous reference operation came from another CPU.",
		"Gets whose CPU differs from the folio's last-CPU witness; by default only in "
		"sampled time windows, scaled, where the first access of a window does not count.",
		"Derived from accesses it does not see the puts between two gets: off by up to 18 "
		"percent, to either side, where reads overlap. A folio that finds no room among "
		"the witnesses is not followed, never counted as a bounce.",
		METRIC_COUNTER,
	},
	[FIG_PUT_BOUNCES] = {
		"put_bounces", "put_bounces", "events", "put bnc",
		"Puts on a folio whose previous reference operation came from another CPU.",
		"Puts whose CPU differs from the folio's last-CPU witness.",
		"Unavailable where the backend sees gets only.",
		METRIC_COUNTER,
	},
	[FIG_FAILED_GETS] = {
		"failed_gets", "failed_gets", "events", "failed",
		"Attempts to get a reference that found the folio being freed.",
		"page_ref_mod_unless events that returned 0.",
		"Only with CONFIG_DEBUG_PAGE_REF.",
		METRIC_COUNTER,
	},
	[FIG_WOULD_DEFER] = {
		"would_defer_pages", "would_defer_pages", "pages", "would defer",
		"Pages that a kernel with deferred freeing would hand to RCU instead of freeing.",
		"Pages of folios saturated when they leave the page cache while their inode lives.",
		"An upper bound: that kernel flags a folio at the mark after the one that "
		"saturates it, so a folio marked exactly often enough counts here and not there.",
		METRIC_COUNTER,
	},
};

const struct figure_info gauges[GAUGES] = {
	[GAUGE_CALLBACKS] = {
		"callbacks", "backlog_callbacks", "callbacks", "callbacks",
		"RCU callbacks queued on a CPU or being invoked there.",
		"rcu_data.cblist.len, plus the bypass list of an offloaded CPU, at this moment.",
		"A gauge: what came and went between two looks is not seen. kfree_rcu objects are "
		"counted apart. SRCU and Tasks RCU have queues of their own.",
		METRIC_GAUGE,
	},
	[GAUGE_SEG_DONE] = {
		"done", "backlog_done", "callbacks", "done",
		"Callbacks whose grace period is over and which wait to be invoked.",
		"rcu_data.cblist.seglen[0].", "As callbacks.",
		METRIC_GAUGE,
	},
	[GAUGE_SEG_WAIT] = {
		"wait", "backlog_wait", "callbacks", "wait",
		"Callbacks that wait for the grace period which is running.",
		"rcu_data.cblist.seglen[1].", "As callbacks.",
		METRIC_GAUGE,
	},
	[GAUGE_SEG_NEXT_READY] = {
		"next_ready", "backlog_next_ready", "callbacks", "next-rdy",
		"Callbacks that wait for the grace period after the one which is running.",
		"rcu_data.cblist.seglen[2].", "As callbacks.",
		METRIC_GAUGE,
	},
	[GAUGE_SEG_NEXT] = {
		"next", "backlog_next", "callbacks", "next",
		"Callbacks with no grace period assigned yet.",
		"rcu_data.cblist.seglen[3].", "As callbacks.",
		METRIC_GAUGE,
	},
	[GAUGE_INVOKING] = {
		"invoking", "backlog_invoking", "callbacks", "invoking",
		"Callbacks taken off the queue and being invoked.",
		"callbacks minus the sum of the four segments, at least 0.",
		"Derived from words read one after the other while the CPU works on. On an "
		"offloaded CPU it holds the bypass list too.",
		METRIC_GAUGE,
	},
	[GAUGE_KVFREE] = {
		"kvfree", "backlog_kvfree", "objects", "kvfree",
		"Objects that wait in kvfree_rcu on a CPU.",
		"kfree_rcu_cpu: objects in its list and in its bulk pages.",
		"From 6.18 on caches with sheaves bypass it: 32 objects then are one callback.",
		METRIC_GAUGE,
	},
	[GAUGE_PEAK_CALLBACKS] = {
		"peak_callbacks", "backlog_peak_callbacks", "callbacks", "peak",
		"Most callbacks seen on a CPU at any look since the observation began.",
		"Maximum of callbacks over all samples.",
		"A lower bound: a peak between two looks is not seen.",
		METRIC_GAUGE,
	},
	[GAUGE_BACKLOG_CPUS] = {
		NULL, "backlog_cpus", "CPUs", "cpus",
		"CPUs whose RCU backlog could be read.",
		"Number of CPUs with a known rcu_data.",
		"A CPU that was absent at boot has none until it comes online.",
		METRIC_GAUGE,
	},
	[GAUGE_GP_STARTED] = {
		"started", "grace_started", "events", "started",
		"Grace periods that began.",
		"Steps of rcu_state.gp_seq or expedited_sequence, or start events.",
		"Sequences are read at samples: which of two back-to-back periods is which is not "
		"told apart, their number is exact.",
		METRIC_COUNTER,
	},
	[GAUGE_GP_COMPLETED] = {
		"completed", "grace_completed", "events", "completed",
		"Grace periods that ended.",
		"Steps of rcu_state.gp_seq or expedited_sequence, or end events.", "As started.",
		METRIC_COUNTER,
	},
	[GAUGE_GP_OURS] = {
		"ours", "grace_ours", "events", "ours",
		"Grace periods that folioscope itself caused, by attaching and by its map changes.",
		"Estimated from its own requests.",
		"A period shared with another requester counts here too.",
		METRIC_COUNTER,
	},
	[GAUGE_GP_LATENCY] = {
		"latency_ns", "grace_latency_seconds", "ns", "latency",
		"Time from the start to the end of a grace period.",
		"Difference of the times of the start and end event, in power-of-two buckets; p50 "
		"and p99 are the upper edges of the buckets they fall in.",
		"Periods running when observation began or ended have no latency. Where the grace "
		"period kthread is watched, two back-to-back periods share one boundary. max is "
		"the upper edge of its bucket when the longest lies before this interval.",
		METRIC_HISTOGRAM,
	},
	[GAUGE_GP_REQUESTERS] = {
		"requesters", NULL, "events", "requested by",
		"Who asked for grace periods: process name, thread-group id, requests.",
		"Counted in the requester's context.",
		"call_rcu asks for normal periods without being seen. Requests from kernel threads "
		"carry the thread's name. Expedited requests answered by another's period are not "
		"seen.",
		METRIC_GAUGE,
	},
	[GAUGE_CACHED_PAGES] = {
		"cached_pages", "file_cached_pages", "pages", "cached",
		"Pages of the file in the page cache at the end of the interval.",
		"inode.i_mapping.nrpages.",
		"Unknown when the inode is gone. For a tmpfs file it holds what is not swapped "
		"out.",
		METRIC_GAUGE,
	},
	[GAUGE_SIZE_BYTES] = {
		"size_bytes", "file_size_bytes", "bytes", "size",
		"Size of the file at the end of the interval.",
		"inode.i_size.", "Unknown when the inode is gone.",
		METRIC_GAUGE,
	},
	[GAUGE_COVERAGE] = {
		"coverage", NULL, "share", "coverage",
		"How much of the interval the shown files stand for.",
		"Files shown, files with any count, and accesses of the shown over all accesses.",
		"The rest is in other and unattributed; null where nothing was accessed.",
		METRIC_GAUGE,
	},
	[GAUGE_FILES_SEEN] = {
		"files_seen", "files_seen", "files", "files",
		"Files with any count in the interval.",
		"Number of rows that grew.",
		"Files that found no room in the tables (map_full) are not among them.",
		METRIC_GAUGE,
	},
	[GAUGE_SERIES_FOLDED] = {
		NULL, "series_folded", "files", "folded",
		"Files without series of their own, to keep the scrape under its limit.",
		"Files seen minus files that have series.",
		"Their counts are in path=\"other\". A file that gets or loses its own series "
		"moves counts out of or into it.",
		METRIC_GAUGE,
	},
	[GAUGE_TRANSFERS] = {
		NULL, "transfers", "events", "transfers",
		"Bounces by how far apart the two CPUs are: smt (one core), llc (one last-level "
		"cache), node, remote.",
		"Bounces of gets and puts by pair of CPUs, and for each pair what the two share by "
		"/sys/devices/system/cpu and node.",
		"unknown: a CPU that was never seen online, and pairs that found no place. As "
		"get_bounces, and where puts are not seen without theirs.",
		METRIC_COUNTER,
	},
	[GAUGE_BOUND] = {
		NULL, "bounces_bound", "events", "bound",
		"The true count of bounces is within plus or minus this of what is told, in 19 of "
		"20 cases. Only where it is estimated.",
		"From the spread between eight groups of the windows that were followed; sums add "
		"up the bounds of their files.",
		"A workload that repeats itself exactly with the windows.",
		METRIC_GAUGE,
	},
	[GAUGE_LOST] = {
		"lost", "lost", "events", "lost",
		"Losses of the observation, by cause.",
		"map_full: events without room for their file; ring_full: names that did not fit "
		"the ring; recursion_misses: calls the kernel skipped; torn: snapshots not read in "
		"one piece; witness: events whose call could not be told from the one before.",
		"A figure that a loss touches is a bound and says so in its provenance: lower, but "
		"upper for witness, since each such event counts as an access of its own.",
		METRIC_COUNTER,
	},
	[GAUGE_HOOK_STATE] = {
		"hooks", "hook_state", "state", "state",
		"One signal with the backend that gives it and its state; always 1.",
		"attached, degraded (it loses events or did not answer the canary), unverified (no "
		"canary could be sent) or unavailable.",
		"What an unavailable signal would have counted has no series and is null.",
		METRIC_GAUGE,
	},
	[GAUGE_HOOK_MISSES] = {
		"misses", "hook_misses", "events", "misses",
		"Calls of a signal's programs that the kernel skipped.",
		"recursion_misses of its programs; the kernel counts them always.",
		"Programs preempted on a CPU (fentry on preemptible kernels) are the usual reason.",
		METRIC_COUNTER,
	},
	[GAUGE_PROVENANCE] = {
		"provenance", "figure_provenance", "state", "provenance",
		"How a figure of the whole came about; always 1.",
		"measured: every event seen. sampled: one in N, scaled. derived: computed from "
		"measured facts. upper_bound, lower_bound (events were lost). projected: what "
		"another kernel would do. unavailable: null.",
		"A single file can be worse off than the whole, for instance when the tables are "
		"full.",
		METRIC_GAUGE,
	},
	[GAUGE_INTERVAL] = {
		"duration_s", "interval_seconds", "seconds", "duration",
		"Length of the interval that the counts are for.",
		"CLOCK_MONOTONIC of the last snapshot minus that of the first.",
		"Time asleep (suspend) is not in it.",
		METRIC_GAUGE,
	},
	[GAUGE_INTERVAL_FLAG] = {
		"interval", "interval_flag", "state", "flags",
		"What makes the interval doubtful: 1 where it holds.",
		"torn: a snapshot could not be read in one piece; hotplug: the set of online CPUs "
		"changed; clamped: a counter went back and counts as 0.",
		"Across a hotplug callbacks migrate: trust sums, not single CPUs.",
		METRIC_GAUGE,
	},
	[GAUGE_SELF_CPU] = {
		"self_cpu_s", "self_cpu_seconds", "seconds", "self cpu",
		"CPU time of the folioscope process.",
		"User plus system time.",
		"Not the time its BPF programs take in other tasks.",
		METRIC_COUNTER,
	},
	[GAUGE_MAP_BYTES] = {
		"map_bytes", "map_bytes", "bytes", "maps",
		"Kernel memory of folioscope's BPF maps.",
		"memlock of every map.", "Memory of the programs themselves.",
		METRIC_GAUGE,
	},
	[GAUGE_PROG_RUNS] = {
		"runs", "program_runs", "events", "runs",
		"Runs of a BPF program.",
		"run_cnt of the kernel's run statistics.",
		"Null unless the statistics were asked for, since they tax every BPF program.",
		METRIC_COUNTER,
	},
	[GAUGE_PROG_TIME] = {
		"ns", "program_seconds", "ns", "time",
		"Time spent in a BPF program.",
		"run_time_ns of the kernel's run statistics.",
		"The body only: the dispatch before it is not in there and often costs more.",
		METRIC_COUNTER,
	},
	[GAUGE_BUILD_INFO] = {
		NULL, "build_info", "state", "build",
		"Version of folioscope and the kernel it observes; always 1.",
		"Constant.", "Nothing.",
		METRIC_GAUGE,
	},
};

#define EXPLAIN_INDENT 14
#define EXPLAIN_WIDTH 80

static void explain_field(FILE *out, const char *name, const char *text)
{
	fprintf(out, "    %-*s", EXPLAIN_INDENT - 4, name);
	text_wrap(out, text, EXPLAIN_INDENT, EXPLAIN_WIDTH);
}

static void explain_metric(FILE *out, const struct figure_info *f, const char *scope,
			   const char *what)
{
	const char *total = f->type == METRIC_COUNTER ? "_total" : "";

	fprintf(out, "    %-*sfolioscope_%s%s%s\n", EXPLAIN_INDENT - 4, what, scope, f->metric,
		total);
}

static void explain(FILE *out, const struct figure_info *f, bool by_file)
{
	fprintf(out, "%s (%s)\n", f->json ? f->json : f->metric, f->unit);
	explain_field(out, "meaning", f->help);
	explain_field(out, "formula", f->formula);
	explain_field(out, "blind to", f->blind);
	if (f->metric)
		explain_metric(out, f, "", "metric");
	if (by_file)
		explain_metric(out, f, "file_", "");
}

static bool named(const struct figure_info *f, const char *id)
{
	static const char prefix[] = "folioscope_", total[] = "_total";
	size_t len;

	if (f->json && !strcmp(f->json, id))
		return true;
	if (!f->metric)
		return false;
	if (!strncmp(id, prefix, sizeof(prefix) - 1))
		id += sizeof(prefix) - 1;
	len = strlen(f->metric);
	return !strncmp(f->metric, id, len) && (!id[len] || !strcmp(id + len, total));
}

static size_t explain_table(FILE *out, const struct figure_info *t, size_t n, const char *id,
			    size_t done)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (id && !named(&t[i], id))
			continue;
		if (done++)
			fputc('\n', out);
		explain(out, &t[i], t == figures);
	}
	return done;
}

int figures_explain(FILE *out, const char *id)
{
	size_t done;

	done = explain_table(out, figures, ARRAY_SIZE(figures), id, 0);
	done = explain_table(out, gauges, ARRAY_SIZE(gauges), id, done);
	if (!done)
		return -ENOENT;
	return ferror(out) ? -EIO : 0;
}
