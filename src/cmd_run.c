// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmd_run.c - run and record: a window as long as a command runs, or as the user says.
 *
 * CMD is forked first and held; it is flagged, the hooks are live and the baseline is read before
 * it starts, so that its first read counts.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "cmd.h"
#include "log.h"
#include "output.h"
#include "sanitize.h"
#include "session.h"
#include "tree.h"

struct run {
	const struct config *cfg;
	struct session session;
	struct child child;
	bool has_child;
	struct record_writer *record;
	struct snapshot first, last;
	__u32 flags;			/* of all snapshots after the first */
	int status;			/* of recording and reporting */
};

/*
 * A signal somebody sent to us goes on to CMD. One from the terminal's keys has reached CMD already:
 * it is in our process group.
 */
static void pass_on(struct run *r, const struct signalfd_siginfo *sig)
{
	if (sig->ssi_signo == SIGCHLD || sig->ssi_signo == SIGWINCH)
		return;
	if (sig->ssi_code == SI_USER || sig->ssi_code == SI_QUEUE)
		kill(r->child.pid, sig->ssi_signo);
}

/* One snapshot more: the newest is kept for the report, all go to the recording. */
static int take_snapshot(struct run *r, bool final)
{
	struct snapshot s;
	int err;

	if (session_next(&r->session, &s) <= 0)
		return EXIT_FAILED;
	if (final)
		s.flags |= SNAP_FINAL;
	err = r->record ? record_write(r->record, &s) : 0;
	if (err) {
		log_error("%s: write: %s; the recording ends here", r->cfg->record ?: r->cfg->output,
			  errstr(err));
		record_close(r->record);
		r->record = NULL;
		r->status = EXIT_FAILED;
	}
	if (!r->first.mono_ns) {
		r->first = s;
		return 0;
	}
	r->flags |= s.flags;
	snapshot_free(&r->last);
	r->last = s;
	return 0;
}

/* Until CMD ends, the time is over, or somebody stops us. */
static void observe(struct run *r)
{
	const struct config *cfg = r->cfg;
	__u64 intervals = cfg->count ?: ~0ULL, due = session_now();
	__u64 end = cfg->seconds_ns ? due + cfg->seconds_ns : ~0ULL;
	struct signalfd_siginfo sig;

	for (due += cfg->interval_ns;;) {
		if (session_wait(&r->session, due < end ? due : end, &sig) == WAIT_TIME) {
			if (!--intervals || due >= end || take_snapshot(r, false))
				return;
			due = session_now() + cfg->interval_ns;
			continue;
		}
		if (r->has_child) {
			pass_on(r, &sig);
			if (child_reap(&r->child))
				return;
		} else if (session_ends_us(&sig)) {
			return;
		}
	}
}

/* On a time limit CMD goes on: its end is waited for, observed or not, and signals still reach it. */
static void await_child(struct run *r)
{
	struct signalfd_siginfo sig;

	while (r->has_child && !child_reap(&r->child))
		if (session_wait(&r->session, ~0ULL, &sig) == WAIT_SIGNAL)
			pass_on(r, &sig);
}

static int exec_failed(const struct config *cfg, int err)
{
	char name[256];

	sanitize(name, sizeof(name), cfg->argv[0], strlen(cfg->argv[0]));
	log_error("%s: execute: %s", name, errstr(err));
	return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int start_child(struct run *r)
{
	int err;

	if (r->has_child) {
		err = child_release(&r->child);
		if (err)
			return exec_failed(r->cfg, err);
	}
	return 0;
}

static int report(struct run *r)
{
	r->last.flags |= r->flags;
	/* A recording is its own report. */
	if (r->cfg->verb == VERB_RECORD && r->cfg->format != FORMAT_JSON)
		return EXIT_FINE;
	return output_report(r->cfg, &r->first, &r->last);
}

/* Everything is open: baseline, command, window, report. The exit status. */
static int run_window(struct run *r)
{
	int status, err;

	if (r->has_child) {
		err = tree_add_one(r->session.tracer.skel, r->child.pid);
		if (err) {
			log_error("process filter: follow CMD: %s; it is not started", errstr(err));
			child_cancel(&r->child);
			return EXIT_NOT_STARTED;
		}
	}
	if (take_snapshot(r, false)) {
		if (r->has_child)
			child_cancel(&r->child);
		return EXIT_NOT_STARTED;
	}
	status = start_child(r);
	if (status)
		return status;
	observe(r);
	if (take_snapshot(r, true))
		r->status = EXIT_FAILED;
	await_child(r);
	status = r->last.mono_ns ? report(r) : EXIT_FAILED;
	r->status = r->status ?: status;
	return r->has_child ? child_exit_status(&r->child) : EXIT_FINE;
}

static int close_record(struct run *r)
{
	int err = record_close(r->record);

	r->record = NULL;
	if (err)
		log_error("%s: close: %s", r->cfg->record ?: r->cfg->output, errstr(err));
	return err ? EXIT_FAILED : 0;
}

/* Observation cannot start (the reason is told): CMD does not run, unless the user wants it anyhow. */
static int without_observation(struct run *r, int status)
{
	int err;

	if (!r->has_child)
		return status;
	if (!r->cfg->best_effort) {
		child_cancel(&r->child);
		return EXIT_NOT_STARTED;
	}
	log_warn("run: observe: impossible here; the command runs unobserved");
	err = child_release(&r->child);
	if (err)
		return exec_failed(r->cfg, err);
	while (!child_reap(&r->child))
		usleep(10000);
	return child_exit_status(&r->child);
}

static int run_live(struct run *r)
{
	const struct config *cfg = r->cfg;
	const char *path = cfg->verb == VERB_RECORD ? cfg->output : cfg->record;
	sigset_t mask;
	int status, err;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (cfg->argc) {
		err = child_prepare(&r->child, cfg->argv, &mask);
		if (err) {
			log_error("run: fork: %s", errstr(err));
			return EXIT_NOT_STARTED;
		}
		r->has_child = true;
	}
	if (!output_possible(cfg)) {
		if (r->has_child)
			child_cancel(&r->child);
		return r->has_child ? EXIT_NOT_STARTED : EXIT_FAILED;
	}
	status = session_open(&r->session, cfg, r->has_child);
	if (status)
		return without_observation(r, status);
	if (path) {
		r->record = record_create(path);
		if (!r->record) {
			log_error("%s: create: %s", path, errstr(errno));
			if (r->has_child)
				child_cancel(&r->child);
			session_close(&r->session);
			return r->has_child ? EXIT_NOT_STARTED : EXIT_FAILED;
		}
	}
	status = run_window(r);
	if (r->record && close_record(r))
		r->status = EXIT_FAILED;
	snapshot_free(&r->first);
	snapshot_free(&r->last);
	session_close(&r->session);
	/* CMD's own failure says more than ours. */
	return status ?: r->status;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

/* record -i IN -o OUT: the whole snapshots of a recording, so that a damaged one can be saved. */
static int copy_recording(struct run *r)
{
	struct snapshot s;
	int status, got, err = 0;

	/* Creating OUT empties it. */
	if (same_file(r->cfg->input, r->cfg->output)) {
		log_error("%s: copy: it is the recording itself; give another -o FILE", r->cfg->output);
		return EXIT_USAGE;
	}
	status = session_open(&r->session, r->cfg, false);
	if (status)
		return status;
	r->record = record_create(r->cfg->output);
	if (!r->record) {
		log_error("%s: create: %s", r->cfg->output, errstr(errno));
		session_close(&r->session);
		return EXIT_FAILED;
	}
	while (!err && (got = session_next(&r->session, &s)) > 0) {
		err = record_write(r->record, &s);
		snapshot_free(&s);
	}
	if (err)
		log_error("%s: write: %s", r->cfg->output, errstr(err));
	if (close_record(r) || err || got < 0 || r->session.damaged)
		status = EXIT_FAILED;
	session_close(&r->session);
	return status;
}

int cmd_run(const struct config *cfg)
{
	struct run r = { .cfg = cfg };

	if (!cfg->input)
		return run_live(&r);
	return cfg->verb == VERB_RUN ? cmd_heat(cfg) : copy_recording(&r);
}
