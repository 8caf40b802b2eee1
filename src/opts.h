/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * opts.h - the command line: verbs, and one table of options that parsing, --help and shell
 * completion are made from.
 */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "figures.h"
#include "fs_abi.h"
#include "hooks.h"

enum verb { VERB_PROBE, VERB_TOP, VERB_HEAT, VERB_RUN, VERB_RECORD, VERB_EXPORT, VERBS };

/* Exit status; `run` passes its command's through. */
enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNAVAILABLE = 3,	/* a required signal, or BTF */
	EXIT_PERMISSION = 4,
	EXIT_NOT_STARTED = 125,	/* run: could not observe, CMD was not started */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_PROM };

#define MAX_PIDS 64
#define MAX_PATHS 64
#define MAX_USER_HOOKS 16

struct config {
	enum verb verb;
	const char *input;		/* -i */
	const char *output;		/* -o */
	const char *json;		/* --json FILE */
	const char *record;		/* --record FILE */
	const char *textfile;		/* --textfile FILE */
	const char *btf;
	enum format format;
	__u64 seconds_ns;		/* -t; 0: the verb's own */
	__u64 interval_ns;		/* -d */
	__u64 count;			/* -n; 0: no limit */
	__u64 top;
	enum fig sort;
	bool batch;
	bool once;
	bool basename;
	bool verbose;
	bool quiet;
	bool stats;
	bool best_effort;
	bool fail_on_loss;
	__u64 memory;
	__u64 max_series;
	__u64 every;			/* --sample, --exact: 1 */
	bool sites;
	const char *folios;		/* --folios PATH */
	/* --filter */
	pid_t pids[MAX_PIDS];
	size_t npids;
	const char *paths[MAX_PATHS + 1];	/* NULL-terminated; [PATH...] of heat, too */
	size_t npaths;
	const char *cgroup;
	const char *comm;
	/* --hook, --require, --tmpfs-syscalls */
	struct user_hook hooks[MAX_USER_HOOKS];
	size_t nhooks;
	const char *backend[SIGNALS];		/* --backend SIGNAL=NAME */
	unsigned long long requested;		/* bit per signal */
	unsigned long long required;		/* bit per signal */
	char **argv;			/* what is left: CMD or PATHs */
	int argc;
};

/*
 * Fills *cfg. 0: go on; otherwise the exit status + 1 (help and version: EXIT_FINE + 1), after
 * having printed what there is to say.
 */
int opts_parse(struct config *cfg, int argc, char **argv);

/*
 * For a shell, one word a line: the verbs (what is NULL), the options of a verb (its name), or the
 * values of an option ("--sort"), where they can be listed.
 */
void opts_complete(FILE *out, const char *what);

#endif
