/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - where snapshots come from: this machine, or a recording. Commands ask for the next
 * one and for time to pass, and do not see the difference.
 */
#ifndef SESSION_H
#define SESSION_H

#include <signal.h>
#include <sys/signalfd.h>

#include "collector.h"
#include "opts.h"
#include "record.h"

struct session {
	const struct config *cfg;
	bool live;
	struct tracer tracer;
	struct collector collector;
	struct record_reader *reader;
	bool damaged;			/* the recording ended before its end */
	int sigfd;			/* the signals that end or concern us; blocked meanwhile */
	sigset_t old_mask;
};

/*
 * filter_tree: follow a process tree even without --filter pid= (run). 0, or the exit status, with
 * the reason told.
 */
int session_open(struct session *s, const struct config *cfg, bool filter_tree);
void session_close(struct session *s);

/* 1: *snap is filled and the caller's to free; 0: no more; -errno: told. */
int session_next(struct session *s, struct snapshot *snap);

enum wait_end { WAIT_TIME, WAIT_SIGNAL };

/* CLOCK_MONOTONIC, ns. */
__u64 session_now(void);

/* Whether somebody wants us to end. */
bool session_ends_us(const struct signalfd_siginfo *sig);

/*
 * Waits until that moment of session_now(), sampling meanwhile. WAIT_SIGNAL: one came before, *sig
 * has it. The terminal's stop key stops us here, as any program. A recording has no time to pass:
 * returns at once.
 */
enum wait_end session_wait(struct session *s, __u64 until, struct signalfd_siginfo *sig);

#endif
