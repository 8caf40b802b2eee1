/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test_opts.c - command lines, good and bad: what they are taken for, what is said about them.
 */
/* units: opts.c figures.c hook_table.c hooks.c caps.c log.c parse.c sanitize.c text.c */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cpus.h"
#include "log.h"
#include "opts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_WORDS 80
#define MS 1000000ULL
#define SEC (1000 * MS)

#define GO_ON 0
#define FINE (EXIT_FINE + 1)
#define USAGE (EXIT_USAGE + 1)

/* One parsed command line; texts are valid until the next parse(). */
static struct {
	struct config cfg;
	char buf[8192], *word[MAX_WORDS + 1];
	char *out, *err;
	int status;
} got;

/* Splits at spaces; '' is an empty word. */
static int split(const char *line)
{
	char *save, *w;
	int n = 0;

	assert_true(strlen(line) < sizeof(got.buf));
	strcpy(got.buf, line);
	for (w = strtok_r(got.buf, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(n < MAX_WORDS);
		got.word[n++] = strcmp(w, "''") ? w : w + 2;
	}
	got.word[n] = NULL;
	return n;
}

static void parse_words(int argc)
{
	FILE *out = stdout, *err = stderr;
	size_t len;

	free(got.out);
	free(got.err);
	log_threshold = LOG_WARN;
	stdout = open_memstream(&got.out, &len);
	stderr = open_memstream(&got.err, &len);
	got.status = opts_parse(&got.cfg, argc, got.word);
	fclose(stdout);
	fclose(stderr);
	stdout = out;
	stderr = err;
}

static const struct config *parse(const char *line)
{
	char full[8192];

	snprintf(full, sizeof(full), "folioscope %s", line);
	parse_words(split(full));
	return &got.cfg;
}

static const struct config *parse_good(const char *line)
{
	parse(line);
	if (got.status != GO_ON || *got.out || *got.err)
		fail_msg("%s: %d, '%s', '%s'", line, got.status, got.out, got.err);
	return &got.cfg;
}

static void defaults(void **state)
{
	const struct config *c = parse_good("heat");

	assert_int_equal(c->verb, VERB_HEAT);
	assert_int_equal(c->seconds_ns, 0);
	assert_int_equal(c->interval_ns, SEC);
	assert_int_equal(c->count, 0);
	assert_int_equal(c->top, 20);
	assert_int_equal(c->sort, FIG_ACCESSES);
	assert_int_equal(c->format, FORMAT_TEXT);
	assert_int_equal(c->memory, TABLE_BUDGET);
	assert_int_equal(c->max_series, 500);
	assert_null(c->input);
	assert_null(c->json);
	assert_int_equal(c->argc, 0);
	assert_int_equal(log_threshold, LOG_WARN);
}

static void every_verb(void **state)
{
	static const struct {
		const char *line;
		enum verb verb;
	} t[] = {
		{ "probe", VERB_PROBE }, { "top", VERB_TOP }, { "heat", VERB_HEAT },
		{ "run true", VERB_RUN }, { "record -o f", VERB_RECORD },
		{ "export --once", VERB_EXPORT },
	};

	assert_int_equal(COUNT(t), VERBS);
	for (size_t i = 0; i < COUNT(t); i++)
		assert_int_equal(parse_good(t[i].line)->verb, t[i].verb);
}

/* Each number: what it becomes, or that it is refused and the message names option and value. */
static void numbers(void **state)
{
	static const struct {
		const char *verb, *opt, *val;
		size_t field;
		int status;
		__u64 want;
	} t[] = {
#define F(f) offsetof(struct config, f)
		{ "heat", "-t", "5", F(seconds_ns), GO_ON, 5 * SEC },
		{ "heat", "--seconds", "0.5", F(seconds_ns), GO_ON, 500 * MS },
		{ "heat", "-t", "100ms", F(seconds_ns), GO_ON, 100 * MS },
		{ "heat", "-t", "1ms", F(seconds_ns), GO_ON, MS },
		{ "heat", "-t", "86400", F(seconds_ns), GO_ON, 86400 * SEC },
		{ "heat", "-t", "86401", 0, USAGE, 0 },
		{ "heat", "-t", "0", 0, USAGE, 0 },
		{ "heat", "-t", "999us", 0, USAGE, 0 },
		{ "heat", "-t", "5x", 0, USAGE, 0 },
		{ "heat", "-t", "-5", 0, USAGE, 0 },
		{ "heat", "-t", "five", 0, USAGE, 0 },
		{ "top", "-d", "2", F(interval_ns), GO_ON, 2 * SEC },
		{ "top", "--interval", "10ms", F(interval_ns), GO_ON, 10 * MS },
		{ "top", "-d", "9ms", 0, USAGE, 0 },
		{ "top", "-d", "1s1", 0, USAGE, 0 },
		{ "top", "-n", "3", F(count), GO_ON, 3 },
		{ "top", "--count", "1000000000", F(count), GO_ON, 1000000000 },
		{ "top", "-n", "1000000001", 0, USAGE, 0 },
		{ "top", "-n", "0", 0, USAGE, 0 },
		{ "top", "-n", "10x", 0, USAGE, 0 },
		{ "top", "-n", "0x10", 0, USAGE, 0 },
		{ "heat", "--top", "0", F(top), GO_ON, 0 },
		{ "heat", "--top", "1000000", F(top), GO_ON, 1000000 },
		{ "heat", "--top", "1000001", 0, USAGE, 0 },
		{ "heat", "--top", "-1", 0, USAGE, 0 },
		{ "heat", "--top", "3.5", 0, USAGE, 0 },
		{ "heat", "--memory", "64K", F(memory), GO_ON, 64 << 10 },
		{ "heat", "--memory", "65536", F(memory), GO_ON, 64 << 10 },
		{ "heat", "--memory", "16G", F(memory), GO_ON, 16ULL << 30 },
		{ "heat", "--memory", "65535", 0, USAGE, 0 },
		{ "heat", "--memory", "17G", 0, USAGE, 0 },
		{ "heat", "--memory", "32MB", 0, USAGE, 0 },
		{ "export --once", "--max-series", "100", F(max_series), GO_ON, 100 },
		{ "export --once", "--max-series", "1000000", F(max_series), GO_ON, 1000000 },
		{ "export --once", "--max-series", "99", 0, USAGE, 0 },
		{ "export --once", "--max-series", "1e6", 0, USAGE, 0 },
#undef F
	};
	char line[256];
	__u64 v;

	for (size_t i = 0; i < COUNT(t); i++) {
		snprintf(line, sizeof(line), "%s %s %s", t[i].verb, t[i].opt, t[i].val);
		parse(line);
		memcpy(&v, (const char *)&got.cfg + t[i].field, sizeof(v));
		if (got.status != t[i].status || (got.status == GO_ON && v != t[i].want))
			fail_msg("%s: %d, %llu", line, got.status, v);
		snprintf(line, sizeof(line), "'%s' is not a", t[i].val);
		if (got.status != GO_ON && !strstr(got.err, line))
			fail_msg("%s %s: '%s'", t[i].opt, t[i].val, got.err);
	}
}

/* What is refused, and a part of what is said. */
static void refused(void **state)
{
	static const struct {
		const char *line, *say;
	} t[] = {
		/* verbs */
		{ "", "Usage:" },
		{ "nonsense", "'nonsense' is no verb" },
		{ "he", "'he' is no verb" },
		{ "''", "'' is no verb" },
		{ "HEAT", "'HEAT' is no verb" },
		{ "help nonsense", "'nonsense' is no verb" },
		{ "x\033[2Jy", "'x\\x1B[2Jy' is no verb" },
		{ "--json", "--json: give a verb first" },
		{ "-t 3 heat", "--seconds: give a verb first" },
		/* unknown options, and those of other verbs */
		{ "heat --bogus", "'--bogus' is no option" },
		{ "heat --bogus=3", "'--bogus=3' is no option" },
		{ "heat --b", "'--b' is no option" },
		{ "heat -x", "'-x' is no option" },
		{ "heat -vx", "'-x' is no option" },
		{ "heat -\033", "'-?' is no option" },
		{ "heat --record f", "--record: is no option of heat" },
		{ "heat -d 1", "--interval: is no option of heat" },
		{ "probe -t 1", "--seconds: is no option of probe" },
		{ "top -t 1", "--seconds: is no option of top" },
		{ "top -o f", "--output: is no option of top" },
		{ "run -t 1 true", "--seconds: is no option of run" },
		{ "run -n 1 true", "--count: is no option of run" },
		{ "record -o f -t 1 -i g", "--seconds: is not for a recording" },
		{ "record -o f -i g true", "record: a recording (-i) runs no command" },
		{ "record -o f --top 1", "--top: is no option of record" },
		{ "export --once --json", "--json: is no option of export" },
		{ "export --once --best-effort", "--best-effort: is no option of export" },
		{ "heat --max-series 500", "--max-series: is no option of heat" },
		/* values that are missing, empty or not wanted */
		{ "heat -t", "--seconds: needs a value" },
		{ "heat --seconds", "--seconds: needs a value" },
		{ "heat -vt", "--seconds: needs a value" },
		{ "heat -i", "--input: needs a value" },
		{ "heat -i ''", "--input: needs a value" },
		{ "heat --json=", "--json: needs a value" },
		{ "heat --sort=", "--sort: needs a value" },
		{ "record -o ''", "--output: needs a value" },
		{ "heat --basename=3", "--basename: takes no value" },
		{ "top --batch=yes", "--batch: takes no value" },
		/* words from lists */
		{ "heat -s nope", "--sort: 'nope' is none of accesses, pages" },
		{ "heat -s Pages", "--sort: 'Pages' is none of" },
		{ "heat --format yaml", "--format: 'yaml' is not text or json" },
		{ "heat --require nope", "--require: 'nope' is not a list of signals" },
		{ "heat --require access.read,nope", "is not a list of signals" },
		{ "heat --require access.read,", "is not a list of signals" },
		{ "heat --require access", "is not a list of signals" },
		{ "heat --hook access.marks", "--hook: " },
		{ "heat --hook nope=f", "--hook: " },
		{ "heat --hook access.marks=", "--hook: " },
		{ "heat --hook access.marks=f:x", "--hook: " },
		{ "heat --backend access.read", "--backend: 'access.read' is not SIGNAL=NAME" },
		{ "heat --backend access.read=", "is not SIGNAL=NAME" },
		{ "heat --backend nope=tp_btf", "is not SIGNAL=NAME" },
		{ "heat -f nope", "--filter: 'nope' is not pid=N, comm=NAME, cgroup=DIR or path=" },
		{ "heat -f pid=", "--filter: 'pid=' is not pid=NUMBER" },
		{ "heat -f pid=0", "is not pid=NUMBER" },
		{ "heat -f pid=12x", "is not pid=NUMBER" },
		{ "heat -f pid=4194305", "is not pid=NUMBER" },
		{ "heat -f comm=", "is not comm=NAME" },
		{ "heat -f comm=sixteen-bytes-xx", "is not comm=NAME" },
		{ "heat -f comm=a -f comm=b", "--filter: more than one comm" },
		{ "heat -f cgroup=", "--filter: 'cgroup=' is not" },
		{ "heat -f cgroup=/a -f cgroup=/b", "--filter: more than one cgroup" },
		{ "heat -f path=", "--filter: 'path=' is not" },
		/* words that are too many or too few */
		{ "heat ''", "heat: '' is no path" },
		{ "probe x", "probe: 'x' was not expected" },
		{ "top x", "top: 'x' was not expected" },
		{ "export --once x", "export: 'x' was not expected" },
		{ "run", "run: no command" },
		{ "run --", "run: no command" },
		{ "run --json true", "run: no command" },
		{ "record", "record: no file; give -o FILE" },
		{ "record -- true", "record: no file; give -o FILE" },
		{ "export", "export: give --once or --textfile FILE" },
		/* what contradicts itself */
		{ "export --textfile f -o g", "exclude each other" },
		{ "heat --json --format text", "exclude each other" },
		/* what a recording cannot do */
		{ "run -i f true", "run: a recording (-i) runs no command" },
		{ "heat -i f -t 3", "--seconds: is not for a recording" },
		{ "run --record g -i f", "--record: is not for a recording" },
		{ "heat -i f --hook access.marks=g", "--hook: is not for a recording" },
		{ "heat -i f --backend access.read=tp_btf", "--backend: is not for a recording" },
		{ "heat -i f --require access.read", "--require: is not for a recording" },
		{ "heat -i f --tmpfs-syscalls", "--tmpfs-syscalls: is not for a recording" },
		{ "heat -i f --btf g", "--btf: is not for a recording" },
		{ "heat -i f --memory 1M", "--memory: is not for a recording" },
		{ "heat -i f --stats", "--stats: is not for a recording" },
		{ "run -i f --best-effort", "--best-effort: is not for a recording" },
		{ "heat -i f -f pid=3", "--filter: a recording (-i) can be filtered by path" },
		{ "heat -i f -f comm=x", "--filter: a recording (-i) can be filtered by path" },
		{ "heat -i f -f cgroup=x", "--filter: a recording (-i) can be filtered by path" },
		/* explanations */
		{ "--explain=nope", "--explain: 'nope' is no figure" },
		{ "heat --explain nope", "--explain: 'nope' is no figure" },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		parse(t[i].line);
		if (got.status != USAGE || !strstr(got.err, t[i].say) || *got.out)
			fail_msg("'%s': %d, '%s', '%s'", t[i].line, got.status, got.out, got.err);
		/* One line, in its own words, and where to read on. */
		if (*t[i].line && (strchr(got.err, '\n') != got.err + strlen(got.err) - 1 ||
				   !strstr(got.err, "; see --help\n")))
			fail_msg("'%s': '%s'", t[i].line, got.err);
	}
}

/* Help, version, explanation and completion end the program well, on stdout alone. */
static void finals(void **state)
{
	static const struct {
		const char *line, *begins, *holds;
	} t[] = {
		{ "--help", "Usage: folioscope VERB", "record" },
		{ "-h", "Usage: folioscope VERB", "Exit status" },
		{ "help", "Usage: folioscope VERB", "probe" },
		{ "help top", "Usage: folioscope top", "--batch" },
		{ "probe --help", "Usage: folioscope probe", "What works" },
		{ "top -h", "Usage: folioscope top", "Live view" },
		{ "heat --help", "Usage: folioscope heat", "--format" },
		{ "run --help", "Usage: folioscope run", "--best-effort" },
		{ "record --help", "Usage: folioscope record", "--count" },
		{ "export --help", "Usage: folioscope export", "Prometheus text" },
		{ "run --help -- true", "Usage: folioscope run", "--json[=FILE]" },
		{ "--version", "folioscope ", "." },
		{ "heat --version", "folioscope ", "." },
		{ "--explain", "accesses (events)", "would_defer_pages" },
		{ "--explain=pages", "pages (pages)", "blind to" },
		{ "--explain pages", "pages (pages)", "formula" },
		{ "top --explain callbacks", "callbacks (callbacks)", "meaning" },
		{ "--complete", "probe\ntop\nheat\n", "export\n" },
		{ "--complete=heat", "--input\n", "--fail-on-loss\n" },
		{ "--complete run", "--input\n", "--record\n" },
		{ "--complete=--sort", "accesses\n", "would_defer_pages\n" },
		{ "--complete=--explain", "accesses\n", "\ncallbacks\n" },
		{ "--complete=--require", "access.read\n", "grace.expedited\n" },
		{ "--complete=--backend", "access.read=tp_btf\n", "grace.count=sequence\n" },
		{ "--complete=--hook", "access.marks=\n", "" },
		{ "--complete=--format", "text\njson\n", "" },
		{ "--complete=--filter", "pid=\n", "path=\n" },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		parse(t[i].line);
		if (got.status != FINE || strncmp(got.out, t[i].begins, strlen(t[i].begins)) ||
		    !strstr(got.out, t[i].holds) || *got.err)
			fail_msg("'%s': %d, '%s', '%s'", t[i].line, got.status, got.out, got.err);
	}
	parse("--complete=heat");
	assert_null(strstr(got.out, "--record\n"));
	assert_null(strstr(got.out, "--complete\n"));
	parse("--complete=nonsense");
	assert_string_equal(got.out, "");
	parse("--complete=--once");
	assert_string_equal(got.out, "");
}

/* A verb's help lists its options and no others, within the width of a usual terminal's help. */
static void help_is_per_verb(void **state)
{
	parse("heat --help");
	assert_non_null(strstr(got.out, "  -t, --seconds TIME"));
	assert_non_null(strstr(got.out, "      --explain[=FIGURE]"));
	assert_null(strstr(got.out, "--record"));
	assert_null(strstr(got.out, "--complete"));
	parse("probe --help");
	assert_null(strstr(got.out, "--top"));
	assert_non_null(strstr(got.out, "--json[=FILE]"));
}

static void json_forms(void **state)
{
	static const struct {
		const char *line, *json;
		int argc;
	} t[] = {
		{ "run --json -- true", "-", 1 },
		{ "run --json=F -- true", "F", 1 },
		{ "run --json F -- true", "F", 1 },
		{ "run --json F true", "F", 1 },
		{ "run --json - true -x", "-", 2 },
		{ "run --json=- true", "-", 1 },
		{ "run --json -q true", "-", 1 },
		{ "run --json F --record G -- true", "F", 1 },
		{ "top --json", "-", 0 },
		{ "top --json F", "F", 0 },
		{ "probe --json F", "F", 0 },
		{ "record -o R --json F", "F", 0 },
		{ "heat --json", "-", 0 },
		{ "heat --json=F", "F", 0 },
		{ "heat --json --format json", "-", 0 },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		const struct config *c = parse_good(t[i].line);

		if (!c->json || strcmp(c->json, t[i].json) || c->argc != t[i].argc ||
		    c->format != FORMAT_JSON)
			fail_msg("%s: '%s', %d", t[i].line, c->json ? c->json : "NULL", c->argc);
	}
	/* There the word is a PATH. */
	assert_string_equal(parse_good("heat --json /no/such/path")->json, "-");
	assert_int_equal(got.cfg.npaths, 1);
	assert_string_equal(got.cfg.paths[0], "/no/such/path");
	assert_null(parse_good("heat --format json")->json);
	assert_int_equal(got.cfg.format, FORMAT_JSON);
}

/* CMD's own options are CMD's, with and without --. */
static void commands(void **state)
{
	static const struct {
		const char *line;
		const char *words[5];
	} t[] = {
		{ "run -- ls -l --json /", { "ls", "-l", "--json", "/" } },
		{ "run ls -l --json /", { "ls", "-l", "--json", "/" } },
		{ "run -q ls --help", { "ls", "--help" } },
		{ "run -- --help", { "--help" } },
		{ "run -- -- x", { "--", "x" } },
		{ "run ls -- x", { "ls", "--", "x" } },
		{ "run -- ls ''", { "ls", "" } },
		{ "run -d 1 -- ls -d 2", { "ls", "-d", "2" } },
		{ "record -o f ls -o g", { "ls", "-o", "g" } },
		{ "record -o f -- ls -o g", { "ls", "-o", "g" } },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		const struct config *c = parse_good(t[i].line);
		int n = 0;

		for (; n < 5 && t[i].words[n]; n++)
			if (n >= c->argc || strcmp(c->argv[n], t[i].words[n]))
				fail_msg("%s: word %d", t[i].line, n);
		if (c->argc != n || c->argv[n])
			fail_msg("%s: %d words, want %d", t[i].line, c->argc, n);
	}
	parse_good("run -d 2 -- ls -d 3");
	assert_int_equal(got.cfg.interval_ns, 2 * SEC);
	parse_good("record -o f ls -o g");
	assert_string_equal(got.cfg.output, "f");
}

static void strings_and_flags(void **state)
{
	const struct config *c = parse_good("run -o O --json=J --record R --btf B --stats --basename "
					    "--best-effort --fail-on-loss -q true");

	assert_string_equal(c->output, "O");
	assert_string_equal(c->json, "J");
	assert_string_equal(c->record, "R");
	assert_string_equal(c->btf, "B");
	assert_true(c->stats && c->basename && c->best_effort && c->fail_on_loss && c->quiet);
	assert_int_equal(log_threshold, LOG_ERROR);
	assert_string_equal(parse_good("probe -i I")->input, "I");
	assert_string_equal(parse_good("record -i I -o O")->input, "I");
	c = parse_good("export --textfile T -i -");
	assert_string_equal(c->textfile, "T");
	assert_string_equal(c->input, "-");
	assert_int_equal(parse_good("top --once")->count, 1);
	assert_int_equal(parse_good("export --once")->once, true);
	assert_true(parse_good("top -b")->batch);
	assert_true(parse_good("heat -v")->verbose);
	assert_int_equal(log_threshold, LOG_INFO);
	parse_good("heat -vv");
	assert_int_equal(log_threshold, LOG_DEBUG);
	assert_int_equal(parse_good("heat --sort hot_pages")->sort, FIG_HOT_PAGES);
	assert_int_equal(parse_good("heat -s would_defer_pages")->sort, FIG_WOULD_DEFER);
}

static void filters(void **state)
{
	const struct config *c = parse_good("heat -f pid=1 --filter pid=4194304 --filter=comm=a=b "
					    "-f cgroup=/sys/fs/cgroup/x -fpath=/no/*.such");

	assert_int_equal(c->npids, 2);
	assert_int_equal(c->pids[0], 1);
	assert_int_equal(c->pids[1], 4194304);
	assert_string_equal(c->comm, "a=b");
	assert_string_equal(c->cgroup, "/sys/fs/cgroup/x");
	assert_int_equal(c->npaths, 1);
	assert_string_equal(c->paths[0], "/no/*.such");
	parse_good("heat -i f -f path=/x");
}

static void many(const char *verb, const char *word, int n, int status, const char *say)
{
	char line[8192];
	size_t len = snprintf(line, sizeof(line), "folioscope %s", verb);

	for (int i = 0; i < n; i++)
		len += snprintf(line + len, sizeof(line) - len, " %s", word);
	parse_words(split(line));
	if (got.status != status || (status && !strstr(got.err, say)))
		fail_msg("%d times %s: %d, '%s'", n, word, got.status, got.err);
}

static void limits(void **state)
{
	many("heat", "-fpid=1", MAX_PIDS, GO_ON, "");
	many("heat", "-fpid=1", MAX_PIDS + 1, USAGE, "more than 64 pids");
	many("heat", "-fpath=/no/x", MAX_PATHS, GO_ON, "");
	many("heat", "-fpath=/no/x", MAX_PATHS + 1, USAGE, "more than 64 paths");
	many("heat", "/no/x", MAX_PATHS, GO_ON, "");
	many("heat", "/no/x", MAX_PATHS + 1, USAGE, "more than 64 paths");
	many("heat -fpath=/no/y", "/no/x", MAX_PATHS, USAGE, "more than 64 paths");
	many("heat", "--hook=access.marks=f", MAX_USER_HOOKS, GO_ON, "");
	many("heat", "--hook=access.marks=f", MAX_USER_HOOKS + 1, USAGE, "more than 16");
}

static void signals_and_hooks(void **state)
{
	const struct config *c = parse_good("heat --require access.read,grace.count "
					    "--require backlog.cpus --tmpfs-syscalls "
					    "--hook access.marks=mark_it:1 "
					    "--backend access.read=kprobe");

	assert_int_equal(c->required, 1ULL << SIG_ACCESS_READ | 1ULL << SIG_GRACE_COUNT |
				      1ULL << SIG_BACKLOG);
	assert_int_equal(c->requested, 1ULL << SIG_ACCESS_TMPFS);
	assert_int_equal(c->nhooks, 1);
	assert_int_equal(c->hooks[0].signal, SIG_ACCESS_MARKS);
	assert_string_equal(c->hooks[0].function, "mark_it");
	assert_int_equal(c->hooks[0].arg, 1);
	assert_string_equal(c->backend[SIG_ACCESS_READ], "kprobe");
	assert_null(c->backend[SIG_ACCESS_FAULT]);
}

/* Options may follow PATHs; links and relative paths become what rows show. */
static void paths(void **state)
{
	char dir[PATH_MAX], line[2 * PATH_MAX], tmp[] = "/tmp/test_opts.XXXXXX", *real;
	const struct config *c = parse_good("heat /no/a -t 2 /no/b --top 3 -- -c");

	assert_int_equal(c->npaths, 3);
	assert_string_equal(c->paths[0], "/no/a");
	assert_string_equal(c->paths[1], "/no/b");
	assert_string_equal(c->paths[2], "-c");
	assert_int_equal(c->seconds_ns, 2 * SEC);
	assert_int_equal(c->top, 3);
	assert_int_equal(c->argc, 0);

	assert_non_null(getcwd(dir, sizeof(dir)));
	assert_string_equal(parse_good("heat .")->paths[0], dir);
	assert_string_equal(parse_good("heat -f path=.")->paths[0], dir);

	assert_non_null(mkdtemp(tmp));
	real = realpath(tmp, NULL);
	snprintf(line, sizeof(line), "%s/link", tmp);
	assert_int_equal(symlink(real, line), 0);
	snprintf(line, sizeof(line), "heat %s/link", tmp);
	assert_string_equal(parse_good(line)->paths[0], real);
	snprintf(line, sizeof(line), "%s/link", tmp);
	unlink(line);
	rmdir(tmp);
	free(real);
}

static void record_windows(void **state)
{
	static const struct {
		const char *line;
		__u64 seconds, interval;
	} t[] = {
		{ "record -o f", 0, SEC },
		{ "record -o f -t 10", 10 * SEC, SEC },
		{ "record -o f -t 100ms", 100 * MS, 100 * MS },
		{ "record -o f -t 5 -d 10", 5 * SEC, 5 * SEC },
		{ "record -o f -d 10ms -t 1", SEC, 10 * MS },
	};

	for (size_t i = 0; i < COUNT(t); i++) {
		const struct config *c = parse_good(t[i].line);

		if (c->seconds_ns != t[i].seconds || c->interval_ns != t[i].interval)
			fail_msg("%s: %llu %llu", t[i].line, c->seconds_ns, c->interval_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_verb),
		cmocka_unit_test(numbers),
		cmocka_unit_test(refused),
		cmocka_unit_test(finals),
		cmocka_unit_test(help_is_per_verb),
		cmocka_unit_test(json_forms),
		cmocka_unit_test(commands),
		cmocka_unit_test(strings_and_flags),
		cmocka_unit_test(filters),
		cmocka_unit_test(limits),
		cmocka_unit_test(signals_and_hooks),
		cmocka_unit_test(paths),
		cmocka_unit_test(record_windows),
	};
	int status = cmocka_run_group_tests(tests, NULL, NULL);

	free(got.out);
	free(got.err);
	return status;
}
