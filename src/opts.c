// SPDX-License-Identifier: GPL-2.0-only
/* opts.c - see opts.h. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "log.h"
#include "opts.h"
#include "parse.h"
#include "sanitize.h"
#include "version.h"

#define DAY_NS (86400ULL * 1000000000ULL)
#define MS_NS 1000000ULL
#define V(verb) (1U << VERB_##verb)
#define V_LIVE (V(TOP) | V(HEAT) | V(RUN) | V(RECORD) | V(EXPORT))
#define V_REPORT (V(TOP) | V(HEAT) | V(RUN) | V(EXPORT))
#define V_ALL (V_LIVE | V(PROBE))
#define LIVE_ONLY (1U << 31)	/* means nothing for a recording: refused with -i */

static const struct verb_info {
	const char *name, *usage, *summary, *more;
} verbs[VERBS] = {
	[VERB_PROBE] = { "probe", "probe [OPTION...]",
		"what works on this kernel: signal by backend, cost, and the reason for every no", NULL },
	[VERB_TOP] = { "top", "top [OPTION...]", "live view of files, CPUs and grace periods",
		"Without a terminal it prints batches, as with -b.\n"
		"Keys: q quit, p pause, s next sort key, r reverse, f short names, + and - interval,\n"
		"arrows scroll, ? help." },
	[VERB_HEAT] = { "heat", "heat [OPTION...] [PATH...]", "per-file heat report of a time window",
		"With PATHs (directories, files or patterns) only those files are rows; the rest is `other`." },
	[VERB_RUN] = { "run", "run [OPTION...] -- CMD [ARG...]",
		"run CMD, report what it and its children did, and the whole machine beside it",
		"CMD starts when all hooks are live. Its exit status is passed through (128 + N when signal\n"
		"N ended it); 125: observation could not start, and CMD did not run; 126, 127: CMD could not\n"
		"be executed, was not found. With -i there is no CMD, and the recording is reported." },
	[VERB_RECORD] = { "record", "record -o FILE [OPTION...] [-- CMD [ARG...]]",
		"record snapshots, for any verb's -i",
		"Ends with CMD, after -t or -n, or on Ctrl-C. With -i it copies what is whole of a recording." },
	[VERB_EXPORT] = { "export", "export {--once | --textfile FILE} [OPTION...]",
		"Prometheus text of a time window",
		"Without -o or --textfile it goes to stdout." },
};

enum opt_id {
	OPT_INPUT = 'i', OPT_OUTPUT = 'o', OPT_SECONDS = 't', OPT_INTERVAL = 'd', OPT_COUNT = 'n',
	OPT_SORT = 's', OPT_BATCH = 'b', OPT_FILTER = 'f', OPT_VERBOSE = 'v', OPT_QUIET = 'q',
	OPT_HELP = 'h',
	OPT_JSON = 256, OPT_RECORD, OPT_TEXTFILE, OPT_BTF, OPT_FORMAT, OPT_TOP, OPT_ONCE,
	OPT_BASENAME, OPT_STATS, OPT_BEST_EFFORT, OPT_FAIL_ON_LOSS, OPT_MEMORY, OPT_MAX_SERIES,
	OPT_EXPLAIN, OPT_HOOK, OPT_BACKEND, OPT_REQUIRE, OPT_TMPFS_SYSCALLS,
	OPT_VERSION, OPT_COMPLETE,
	OPT_EXACT, OPT_SAMPLE, OPT_SITES, OPT_FOLIOS,
};

static const struct opt {
	int id;			/* its short form when it is a character */
	const char *name;
	const char *arg;	/* NULL: takes none; "[X]": optional */
	unsigned int verbs;
	const char *help;	/* what is in brackets at the end is the default */
} opts[] = {
	{ OPT_INPUT, "input", "FILE", V_ALL,
	  "show a recording instead of this machine (- is stdin)" },
	{ OPT_SECONDS, "seconds", "TIME", V(HEAT) | V(EXPORT) | V(RECORD) | LIVE_ONLY,
	  "length of the window, as 5, 0.5 or 100ms (heat 5, export 1, record: no end)" },
	{ OPT_INTERVAL, "interval", "TIME", V(TOP) | V(RECORD) | V(RUN),
	  "time between snapshots (1)" },
	{ OPT_COUNT, "count", "N", V(TOP) | V(RECORD), "end after N intervals" },
	{ OPT_BATCH, "batch", NULL, V(TOP), "text, one report an interval, no terminal needed" },
	{ OPT_SORT, "sort", "KEY", V_REPORT, "order rows by this figure (accesses)" },
	{ OPT_TOP, "top", "K", V_REPORT, "rows shown; the rest is `other` (20; 0: all)" },
	{ OPT_FORMAT, "format", "FORMAT", V(HEAT), "text or json (text)" },
	{ OPT_JSON, "json", "[FILE]", V_ALL & ~V(EXPORT),
	  "JSON to stdout; or to FILE, with the text on stdout" },
	{ OPT_RECORD, "record", "FILE", V(RUN) | LIVE_ONLY, "also record the snapshots" },
	{ OPT_OUTPUT, "output", "FILE", V(HEAT) | V(RUN) | V(RECORD) | V(EXPORT),
	  "write to FILE instead of stdout" },
	{ OPT_ONCE, "once", NULL, V(EXPORT) | V(TOP), "one window, then end; top: as -n 1" },
	{ OPT_TEXTFILE, "textfile", "FILE", V(EXPORT),
	  "replace FILE atomically (in node_exporter's textfile directory)" },
	{ OPT_MAX_SERIES, "max-series", "N", V(EXPORT), "at most this many series (500)" },
	{ OPT_FILTER, "filter", "WHAT", V_LIVE,
	  "pid=N (with its children), comm=NAME, cgroup=DIR, path=PATTERN; repeatable" },
	{ OPT_HOOK, "hook", "SIGNAL=FUNCTION[:ARG]", V_ALL | LIVE_ONLY,
	  "one more function to try for a signal" },
	{ OPT_BACKEND, "backend", "SIGNAL=NAME", V_ALL | LIVE_ONLY,
	  "this backend for a signal, or none (`folioscope probe` names them)" },
	{ OPT_REQUIRE, "require", "SIGNAL[,...]", V_LIVE | LIVE_ONLY,
	  "end with 3 (run: 125) unless these are attached" },
	{ OPT_TMPFS_SYSCALLS, "tmpfs-syscalls", NULL, V_ALL | LIVE_ONLY,
	  "see tmpfs reads at every system call's end, where nothing else can (slows all calls)" },
	{ OPT_SAMPLE, "sample", "N", V_LIVE | LIVE_ONLY,
	  "follow bounces in one of N short windows of time, a power of two (16)" },
	{ OPT_SITES, "sites", NULL, V_LIVE | LIVE_ONLY,
	  "also the kernel functions that get and put (a stack for each: slow)" },
	{ OPT_FOLIOS, "folios", "PATH", V(HEAT) | V(RUN) | LIVE_ONLY,
	  "also the folios of this file, most bounces first" },
	{ OPT_EXACT, "exact", NULL, V_LIVE | LIVE_ONLY,
	  "follow every reference (shares a cache line between CPUs: slows what is observed)" },
	{ OPT_BTF, "btf", "FILE", V_ALL | LIVE_ONLY,
	  "the kernel's types, where /sys/kernel/btf/vmlinux is missing" },
	{ OPT_MEMORY, "memory", "BYTES", V_LIVE | LIVE_ONLY, "kernel memory for the tables (32M)" },
	{ OPT_STATS, "stats", NULL, V_LIVE | LIVE_ONLY,
	  "time our programs (taxes all BPF programs meanwhile)" },
	{ OPT_BASENAME, "basename", NULL, V_REPORT, "file names without directories" },
	{ OPT_BEST_EFFORT, "best-effort", NULL, V(RUN) | LIVE_ONLY,
	  "run CMD even when observation cannot start" },
	{ OPT_FAIL_ON_LOSS, "fail-on-loss", NULL, V(HEAT) | V(RUN) | V(EXPORT),
	  "end with 1 when anything was lost" },
	{ OPT_VERBOSE, "verbose", NULL, V_ALL, "say more; twice: what libbpf says" },
	{ OPT_QUIET, "quiet", NULL, V_ALL, "errors only, and no text report" },
	{ OPT_EXPLAIN, "explain", "[FIGURE]", V_ALL,
	  "what a figure means, its formula and its blind spots" },
	{ OPT_HELP, "help", NULL, V_ALL, "this text" },
	{ OPT_VERSION, "version", NULL, V_ALL, "version" },
	{ OPT_COMPLETE, "complete", "[VERB]", 0, NULL },
};

#define NOPTS (sizeof(opts) / sizeof(opts[0]))

static void print_usage(FILE *out)
{
	int v;

	fprintf(out, "Usage: folioscope VERB [OPTION...]\n\n"
		"Shows what the Linux page cache does to folios on a live machine.\n\nVerbs:\n");
	for (v = 0; v < VERBS; v++)
		fprintf(out, "  %-8s %s\n", verbs[v].name, verbs[v].summary);
	fprintf(out, "\n`folioscope VERB --help` lists the verb's options. --explain tells what each figure means.\n"
		"Exit status: 0 fine, 1 failed, 2 bad usage, 3 a required signal is unavailable,\n"
		"4 not permitted; `run` passes CMD's through, 125 when it could not start observing.\n");
}

static void print_verb_help(FILE *out, enum verb v)
{
	char form[64];
	size_t i;

	fprintf(out, "Usage: folioscope %s\n\n%c%s.\n", verbs[v].usage,
		toupper(verbs[v].summary[0]), verbs[v].summary + 1);
	if (verbs[v].more)
		fprintf(out, "%s\n", verbs[v].more);
	fprintf(out, "\nOptions:\n");
	for (i = 0; i < NOPTS; i++) {
		const struct opt *o = &opts[i];
		const char *arg = o->arg ?: "";

		if (!(o->verbs & (1U << v)))
			continue;
		snprintf(form, sizeof(form), "%c%c%s --%s%s%s%s", o->id < 256 ? '-' : ' ',
			 o->id < 256 ? o->id : ' ', o->id < 256 ? "," : " ", o->name,
			 arg[0] == '[' ? "[=" : o->arg ? " " : "", arg[0] == '[' ? arg + 1 : arg, "");
		if (strlen(form) > 27)
			fprintf(out, "  %s\n  %-27s %s\n", form, "", o->help);
		else
			fprintf(out, "  %-27s %s\n", form, o->help);
	}
}

/* The words an option's value may be. */
static void complete_value(FILE *out, const char *name)
{
	size_t n;
	int i;

	if (!strcmp(name, "sort") || !strcmp(name, "explain"))
		for (i = 0; i < FIGS; i++)
			fprintf(out, "%s\n", figures[i].json);
	if (!strcmp(name, "explain"))
		for (i = 0; i < GAUGES; i++)
			fprintf(out, "%s\n", gauges[i].json ?: gauges[i].metric);
	if (!strcmp(name, "require"))
		for (i = 0; i < SIGNALS; i++)
			fprintf(out, "%s\n", signals[i].name);
	if (!strcmp(name, "backend"))
		for (n = 0; n < nvariants; n++)
			fprintf(out, "%s=%s\n", signals[variants[n].signal].name, variants[n].name);
	if (!strcmp(name, "hook"))
		for (i = 0; i < SIGNALS; i++)
			if (signals[i].user)
				fprintf(out, "%s=\n", signals[i].name);
	if (!strcmp(name, "format"))
		fprintf(out, "text\njson\n");
	if (!strcmp(name, "filter"))
		fprintf(out, "pid=\ncomm=\ncgroup=\npath=\n");
}

void opts_complete(FILE *out, const char *what)
{
	size_t i;
	int v;

	if (what && !strncmp(what, "--", 2)) {
		complete_value(out, what + 2);
		return;
	}
	for (v = 0; v < VERBS; v++) {
		if (!what)
			fprintf(out, "%s\n", verbs[v].name);
		else if (!strcmp(what, verbs[v].name))
			for (i = 0; i < NOPTS; i++)
				if (opts[i].verbs & (1U << v))
					fprintf(out, "--%s\n", opts[i].name);
	}
}

__attribute__((format(printf, 1, 2))) static int usage_error(const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	log_error("%s; see --help", msg);
	return EXIT_USAGE + 1;
}

/* A foreign string in a message. */
static const char *shown(const char *s)
{
	static char buf[128];

	sanitize(buf, sizeof(buf), s, strlen(s));
	return buf;
}

static int bad_value(const struct opt *o, const char *val, const char *want)
{
	return usage_error("--%s: '%s' is not %s", o->name, shown(val), want);
}

static int parse_sort(const struct opt *o, const char *val, struct config *cfg)
{
	char all[256] = "";
	int f;

	for (f = 0; f < FIGS; f++) {
		if (!strcmp(figures[f].json, val)) {
			cfg->sort = f;
			return 0;
		}
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", f ? ", " : "",
			 figures[f].json);
	}
	return usage_error("--%s: '%s' is none of %s", o->name, shown(val), all);
}

static int find_signal(const char *name, size_t len)
{
	int s;

	for (s = 0; s < SIGNALS; s++)
		if (strlen(signals[s].name) == len && !strncmp(signals[s].name, name, len))
			return s;
	return -1;
}

static int parse_require(const struct opt *o, const char *val, struct config *cfg)
{
	const char *p = val, *end;
	int sig;

	for (;; p = end + 1) {
		end = strchrnul(p, ',');
		sig = find_signal(p, end - p);
		if (sig < 0)
			return bad_value(o, val, "a list of signals (`folioscope probe` lists them)");
		cfg->required |= 1ULL << sig;
		if (!*end)
			return 0;
	}
}

static int parse_backend(const struct opt *o, const char *val, struct config *cfg)
{
	const char *name = strchr(val, '=');
	int sig = name ? find_signal(val, name - val) : -1;

	if (sig < 0 || !name[1])
		return bad_value(o, val, "SIGNAL=NAME (`folioscope probe` lists them)");
	cfg->backend[sig] = name + 1;
	return 0;
}

static int parse_filter(const struct opt *o, const char *val, struct config *cfg)
{
	__u64 pid;

	if (!strncmp(val, "pid=", 4)) {
		if (parse_u64(val + 4, 1, 4194304, &pid))
			return bad_value(o, val, "pid=NUMBER");
		if (cfg->npids == MAX_PIDS)
			return usage_error("--%s: more than %d pids", o->name, MAX_PIDS);
		cfg->pids[cfg->npids++] = pid;
	} else if (!strncmp(val, "comm=", 5)) {
		if (!val[5] || strlen(val + 5) >= FS_COMM)
			return bad_value(o, val, "comm=NAME of 1 to 15 bytes");
		if (cfg->comm)
			return usage_error("--%s: more than one comm", o->name);
		cfg->comm = val + 5;
	} else if (!strncmp(val, "cgroup=", 7) && val[7]) {
		if (cfg->cgroup)
			return usage_error("--%s: more than one cgroup", o->name);
		cfg->cgroup = val + 7;
	} else if (!strncmp(val, "path=", 5) && val[5]) {
		if (cfg->npaths == MAX_PATHS)
			return usage_error("--%s: more than %d paths", o->name, MAX_PATHS);
		cfg->paths[cfg->npaths++] = val + 5;
	} else {
		return bad_value(o, val, "pid=N, comm=NAME, cgroup=DIR or path=PATTERN");
	}
	return 0;
}

static int parse_hook(const struct opt *o, const char *val, struct config *cfg)
{
	char err[200];

	if (cfg->nhooks == MAX_USER_HOOKS)
		return usage_error("--%s: more than %d", o->name, MAX_USER_HOOKS);
	if (hooks_parse_user(val, &cfg->hooks[cfg->nhooks], err, sizeof(err)))
		return usage_error("--%s: %s", o->name, err);
	cfg->nhooks++;
	return 0;
}

static int parse_format(const struct opt *o, const char *val, struct config *cfg)
{
	if (!strcmp(val, "text"))
		cfg->format = FORMAT_TEXT;
	else if (!strcmp(val, "json"))
		cfg->format = FORMAT_JSON;
	else
		return bad_value(o, val, "text or json");
	return 0;
}

/* Options with a number. */
static int parse_number(const struct opt *o, const char *val, struct config *cfg)
{
	switch (o->id) {
	case OPT_SECONDS:
		return parse_seconds(val, MS_NS, DAY_NS, &cfg->seconds_ns) ?
			bad_value(o, val, "a time from 1ms to 86400 seconds") : 0;
	case OPT_INTERVAL:
		return parse_seconds(val, 10 * MS_NS, DAY_NS, &cfg->interval_ns) ?
			bad_value(o, val, "a time from 10ms to 86400 seconds") : 0;
	case OPT_COUNT:
		return parse_u64(val, 1, 1000000000, &cfg->count) ?
			bad_value(o, val, "a number from 1 to 1000000000") : 0;
	case OPT_TOP:
		return parse_u64(val, 0, 1000000, &cfg->top) ?
			bad_value(o, val, "a number from 0 to 1000000") : 0;
	case OPT_SAMPLE:
		return parse_u64(val, 1, 65536, &cfg->every) || (cfg->every & (cfg->every - 1)) ?
			bad_value(o, val, "a power of two from 1 to 65536") : 0;
	case OPT_MEMORY:
		return parse_bytes(val, 64 << 10, 16ULL << 30, &cfg->memory) ?
			bad_value(o, val, "a size from 64K to 16G") : 0;
	default:
		return parse_u64(val, 100, 1000000, &cfg->max_series) ?
			bad_value(o, val, "a number from 100 to 1000000") : 0;
	}
}

static int take_option(const struct opt *o, const char *val, struct config *cfg)
{
	if (val && !*val)
		return usage_error("--%s: needs a value", o->name);
	switch (o->id) {
	case OPT_INPUT: cfg->input = val; return 0;
	case OPT_OUTPUT: cfg->output = val; return 0;
	case OPT_JSON:
		cfg->format = FORMAT_JSON;
		cfg->json = val ?: "-";
		return 0;
	case OPT_RECORD: cfg->record = val; return 0;
	case OPT_TEXTFILE: cfg->textfile = val; return 0;
	case OPT_BTF: cfg->btf = val; return 0;
	case OPT_BATCH: cfg->batch = true; return 0;
	case OPT_ONCE: cfg->once = true; cfg->count = 1; return 0;
	case OPT_BASENAME: cfg->basename = true; return 0;
	case OPT_STATS: cfg->stats = true; return 0;
	case OPT_BEST_EFFORT: cfg->best_effort = true; return 0;
	case OPT_FAIL_ON_LOSS: cfg->fail_on_loss = true; return 0;
	case OPT_TMPFS_SYSCALLS: cfg->requested |= 1ULL << SIG_ACCESS_TMPFS; return 0;
	case OPT_EXACT: cfg->every = 1; return 0;
	case OPT_SITES: cfg->sites = true; return 0;
	case OPT_FOLIOS: cfg->folios = val; return 0;
	case OPT_VERBOSE:
		log_threshold = cfg->verbose ? LOG_DEBUG : LOG_INFO;
		cfg->verbose = true;
		return 0;
	case OPT_QUIET: cfg->quiet = true; log_threshold = LOG_ERROR; return 0;
	case OPT_SORT: return parse_sort(o, val, cfg);
	case OPT_FORMAT: return parse_format(o, val, cfg);
	case OPT_FILTER: return parse_filter(o, val, cfg);
	case OPT_HOOK: return parse_hook(o, val, cfg);
	case OPT_BACKEND: return parse_backend(o, val, cfg);
	case OPT_REQUIRE: return parse_require(o, val, cfg);
	default: return parse_number(o, val, cfg);
	}
}

static int find_verb(const char *name)
{
	int v;

	for (v = 0; v < VERBS; v++)
		if (!strcmp(verbs[v].name, name))
			return v;
	return -1;
}

static const struct opt *find_opt(int id)
{
	size_t i;

	for (i = 0; i < NOPTS; i++)
		if (opts[i].id == id)
			return &opts[i];
	return NULL;
}

/*
 * The tables of getopt_long, made from ours. Where a CMD may follow, its options are its own: the +
 * stops at the first word. Elsewhere options may come after words (heat PATH -t 1).
 */
static void make_getopt(struct option *longs, char *shorts, int verb)
{
	size_t i, n = 0;

	if (verb < 0 || verb == VERB_RUN || verb == VERB_RECORD)
		shorts[n++] = '+';
	shorts[n++] = ':';
	for (i = 0; i < NOPTS; i++) {
		const struct opt *o = &opts[i];
		bool optional = o->arg && o->arg[0] == '[';

		longs[i] = (struct option){ o->name, !o->arg ? no_argument :
			optional ? optional_argument : required_argument, NULL, o->id };
		if (o->id < 256) {
			shorts[n++] = o->id;
			if (o->arg)
				shorts[n++] = ':';
		}
	}
	longs[NOPTS] = (struct option){};
	shorts[n] = 0;
}

static void set_defaults(struct config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->interval_ns = 1000 * MS_NS;
	cfg->top = 20;
	cfg->sort = FIG_ACCESSES;
	cfg->memory = TABLE_BUDGET;
	cfg->max_series = 500;
	cfg->every = 16;
}

/* Options that end the program: help, version and the like. 0: none of them. */
static int take_final(const struct opt *o, const char *val, int verb)
{
	switch (o->id) {
	case OPT_HELP:
		if (verb < 0)
			print_usage(stdout);
		else
			print_verb_help(stdout, verb);
		return EXIT_FINE + 1;
	case OPT_VERSION:
		printf("folioscope %s\n", FOLIOSCOPE_VERSION);
		return EXIT_FINE + 1;
	case OPT_COMPLETE:
		opts_complete(stdout, val);
		return EXIT_FINE + 1;
	case OPT_EXPLAIN:
		if (figures_explain(stdout, val))
			return usage_error("--explain: '%s' is no figure (--explain alone lists all)",
					   shown(val));
		return EXIT_FINE + 1;
	}
	return 0;
}

/* heat: the words are paths. Elsewhere there are none, or they are CMD. */
static int check_words(struct config *cfg)
{
	if (cfg->verb == VERB_HEAT) {
		for (; cfg->argc; cfg->argc--, cfg->argv++) {
			if (cfg->npaths == MAX_PATHS)
				return usage_error("heat: more than %d paths", MAX_PATHS);
			if (!cfg->argv[0][0])
				return usage_error("heat: '' is no path");
			cfg->paths[cfg->npaths++] = cfg->argv[0];
		}
	} else if (cfg->argc && cfg->verb != VERB_RUN && cfg->verb != VERB_RECORD) {
		return usage_error("%s: '%s' was not expected", verbs[cfg->verb].name,
				   shown(cfg->argv[0]));
	}
	if (cfg->verb == VERB_RUN && !cfg->argc && !cfg->input)
		return usage_error("run: no command; give it after --");
	return 0;
}

/* Rows have absolute paths without links; a pattern or a file that is gone stays as it is. */
static void resolve_paths(struct config *cfg)
{
	static char *resolved[MAX_PATHS];	/* kept until the next call */
	size_t i;

	for (i = 0; i < cfg->npaths; i++) {
		free(resolved[i]);
		resolved[i] = realpath(cfg->paths[i], NULL);
		if (resolved[i])
			cfg->paths[i] = resolved[i];
	}
}

/* live_only: an option that was given and means nothing for a recording; NULL: none. */
static int check_input(const struct config *cfg, const struct opt *live_only)
{
	if (!cfg->input)
		return 0;
	if (cfg->argc)
		return usage_error("%s: a recording (-i) runs no command", verbs[cfg->verb].name);
	if (live_only)
		return usage_error("--%s: is not for a recording (-i)", live_only->name);
	if (cfg->npids || cfg->comm || cfg->cgroup)
		return usage_error("--filter: a recording (-i) can be filtered by path only");
	return 0;
}

/* What only makes sense together. */
static int check_config(struct config *cfg)
{
	if (cfg->verb == VERB_RECORD && !cfg->output)
		return usage_error("record: no file; give -o FILE");
	if (cfg->verb == VERB_EXPORT && !cfg->once && !cfg->textfile)
		return usage_error("export: give --once or --textfile FILE");
	if (cfg->textfile && cfg->output)
		return usage_error("export: --output and --textfile exclude each other");
	if (cfg->json && cfg->format != FORMAT_JSON)
		return usage_error("heat: --json and --format text exclude each other");
	/* A window shorter than the interval between snapshots is one interval. */
	if (cfg->verb == VERB_RECORD && cfg->seconds_ns && cfg->seconds_ns < cfg->interval_ns)
		cfg->interval_ns = cfg->seconds_ns;
	resolve_paths(cfg);
	return 0;
}

/* What getopt_long did not take: ':' or '?'. */
static int bad_option(int c, char **argv)
{
	const struct opt *o = optopt ? find_opt(optopt) : NULL;

	if (c == ':')
		return usage_error("--%s: needs a value", o->name);
	if (o)
		return usage_error("--%s: takes no value", o->name);
	if (optopt)
		return usage_error("'-%c' is no option", isprint(optopt) ? optopt : '?');
	return usage_error("'%s' is no option", shown(argv[optind - 1]));
}

/*
 * A word that may as well be the value of an option with an optional one: --json FILE, but not
 * where it could be a PATH; --explain FIGURE.
 */
static bool takes_word(const struct opt *o, int verb, int argc, char **argv)
{
	if (optarg || optind >= argc || (argv[optind][0] == '-' && argv[optind][1]))
		return false;
	return o->id == OPT_EXPLAIN || o->id == OPT_COMPLETE ||
	       (o->id == OPT_JSON && verb >= 0 && verb != VERB_HEAT);
}

/* `help [VERB]`. */
static int print_help(int argc, char **argv)
{
	int verb = argc > 2 ? find_verb(argv[2]) : -1;

	if (argc > 2 && verb < 0)
		return usage_error("'%s' is no verb", shown(argv[2]));
	if (verb < 0)
		print_usage(stdout);
	else
		print_verb_help(stdout, verb);
	return EXIT_FINE + 1;
}

int opts_parse(struct config *cfg, int argc, char **argv)
{
	struct option longs[NOPTS + 1];
	char shorts[2 * NOPTS + 3];
	const struct opt *o, *live_only = NULL;
	int c, err, verb = -1;

	set_defaults(cfg);
	if (argc > 1 && argv[1][0] != '-') {
		if (!strcmp(argv[1], "help"))
			return print_help(argc, argv);
		verb = find_verb(argv[1]);
		if (verb < 0)
			return usage_error("'%s' is no verb", shown(argv[1]));
		cfg->verb = verb;
		argc--;
		argv++;
	}
	make_getopt(longs, shorts, verb);
	opterr = 0;
	optind = 0;	/* from the start, whatever was parsed before */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == ':' || c == '?')
			return bad_option(c, argv);
		o = find_opt(c);
		if (takes_word(o, verb, argc, argv))
			optarg = argv[optind++];
		err = take_final(o, optarg, verb);
		if (err)
			return err;
		if (verb < 0)
			return usage_error("--%s: give a verb first", o->name);
		if (!(o->verbs & (1U << verb)))
			return usage_error("--%s: is no option of %s", o->name, verbs[verb].name);
		if (o->verbs & LIVE_ONLY)
			live_only = o;
		err = take_option(o, optarg, cfg);
		if (err)
			return err;
	}
	if (verb < 0) {
		print_usage(stderr);
		return EXIT_USAGE + 1;
	}
	cfg->argc = argc - optind;
	cfg->argv = argv + optind;
	err = check_words(cfg);
	err = err ?: check_input(cfg, live_only);
	return err ?: check_config(cfg);
}
