// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmd_top.c - live view: one report an interval, as text batches or on the terminal (view.h). A
 * recording runs at its own pace, but no interval longer than -d.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "output.h"
#include "session.h"
#include "view.h"

#define SAMPLE_NS 100000000ULL	/* peaks are as fine as this */
#define NEVER (~0ULL)

/* ---- batches ---- */

/* One report per pair of snapshots, until the count, the recording or the user's patience ends. */
static int top_batch(struct session *s)
{
	struct snapshot prev = {}, cur = {};
	struct signalfd_siginfo sig;
	__u64 left = s->cfg->count ?: ~0ULL, until;
	int status = EXIT_FINE, got;

	got = session_next(s, &prev);
	while (got > 0 && left-- && !status) {
		until = session_now() + s->cfg->interval_ns;
		while (session_wait(s, until, &sig) == WAIT_SIGNAL)
			if (session_ends_us(&sig))
				goto out;
		got = session_next(s, &cur);
		if (got <= 0)
			break;
		status = output_report(s->cfg, &prev, &cur);
		snapshot_free(&prev);
		prev = cur;
	}
out:
	snapshot_free(&prev);
	return got < 0 || s->damaged ? EXIT_FAILED : status;
}

/* ---- the screen ---- */

struct top {
	struct session *s;
	struct view_term *term;
	struct view_screen screen;
	struct view_state state;
	struct snapshot first, last;	/* what the report is of */
	struct snapshot next;		/* recording: read ahead, to know when it is due */
	struct report report;
	bool has_report;
	__u64 due;			/* CLOCK_MONOTONIC of the next interval's end */
	__u64 left;			/* intervals still wanted */
	bool dirty, quit;
	int status;
};

/* The report of the two snapshots, with every file: which are seen is the screen's choice. */
static void make_report(struct top *t)
{
	struct view view = { .sort = t->state.sort,
			     .paths = t->s->cfg->npaths ? t->s->cfg->paths : NULL };
	int err;

	if (t->has_report)
		report_free(&t->report);
	err = report_make(&t->report, &t->first, &t->last, &view);
	t->has_report = !err;
	t->dirty = true;
	if (err)
		log_warn("report: make: %s; the interval is not shown", errstr(err));
}

static void stop(struct top *t, int status)
{
	t->quit = true;
	t->status = t->status ?: status;
}

/* When the next snapshot is wanted. Live: at a steady pace, without catching up. */
static void set_due(struct top *t, __u64 now)
{
	__u64 pace = t->state.interval_ns, gap;

	if (t->s->live) {
		t->due = t->due + pace > now ? t->due + pace : now + pace;
		return;
	}
	gap = t->next.mono_ns > t->last.mono_ns ? t->next.mono_ns - t->last.mono_ns : 0;
	t->due = t->state.ended ? NEVER : now + (gap < pace ? gap : pace);
}

/* Reads a recording one ahead; at its end the last screen stays. */
static void read_ahead(struct top *t)
{
	int got = session_next(t->s, &t->next);

	if (got > 0)
		return;
	t->state.ended = t->dirty = true;
	if (got < 0 || t->s->damaged)
		t->status = EXIT_FAILED;
}

static int next_snapshot(struct top *t, struct snapshot *snap)
{
	int got;

	if (t->s->live) {
		got = session_next(t->s, snap);
		return got;
	}
	*snap = t->next;
	memset(&t->next, 0, sizeof(t->next));
	read_ahead(t);
	return 1;
}

/* One interval on. */
static void step(struct top *t)
{
	struct snapshot snap;
	int got = next_snapshot(t, &snap);

	if (got <= 0) {
		stop(t, got < 0 ? EXIT_FAILED : EXIT_FINE);
		return;
	}
	if (t->has_report)
		report_free(&t->report);
	t->has_report = false;
	snapshot_free(&t->first);
	t->first = t->last;
	t->last = snap;
	make_report(t);
	set_due(t, session_now());
	if (t->left && !--t->left)
		stop(t, EXIT_FINE);
}

static void begin(struct top *t)
{
	int got = session_next(t->s, &t->last);

	if (got < 0) {
		stop(t, EXIT_FAILED);
		return;
	}
	t->due = session_now();
	if (t->s->live) {
		t->due += t->state.interval_ns;
		return;
	}
	/* A recording's first interval is there at once. */
	t->state.ended = !got;
	if (got)
		read_ahead(t);
	if (t->state.ended)
		t->due = NEVER;
}

static void draw(struct top *t)
{
	size_t rows, cols;

	if (view_term_message(t->term, t->state.message, sizeof(t->state.message)))
		t->dirty = true;
	if (!t->dirty)
		return;
	t->dirty = false;
	view_term_size(t->term, &rows, &cols);
	view_draw(&t->screen, t->has_report ? &t->report : NULL, &t->state, rows, cols);
	view_term_show(t->term, &t->screen);
}

static void take_keys(struct top *t)
{
	int key;

	while (!t->quit && (key = view_term_key(t->term)) != VIEW_KEY_NONE) {
		t->dirty = true;
		switch (view_key(&t->state, key, t->has_report ? &t->report : NULL)) {
		case VIEW_QUIT:
			t->quit = true;
			break;
		case VIEW_RERANK:
			if (t->has_report)
				make_report(t);
			break;
		case VIEW_RESUME:
			t->due = t->state.ended ? NEVER : session_now();
			break;
		case VIEW_REPACE:
			t->due = session_now();
			set_due(t, t->due);
			break;
		default:
			break;
		}
	}
}

/* All that wait: a storm of resizes is one redraw. */
static void take_signals(struct top *t)
{
	struct signalfd_siginfo sig;

	while (read(t->s->sigfd, &sig, sizeof(sig)) == sizeof(sig)) {
		if (session_ends_us(&sig))
			t->quit = true;
		else if (sig.ssi_signo == SIGTSTP)
			view_term_stop(t->term);
		else if (sig.ssi_signo == SIGCONT)
			view_term_redo(t->term);
		t->dirty = true;
	}
}

/* Until something happens or the next interval is due, sampling meanwhile. */
static void wait_event(struct top *t)
{
	struct pollfd fds[3] = {
		{ .fd = t->s->sigfd, .events = POLLIN },
		{ .fd = view_term_fd(t->term), .events = POLLIN },
		{ .fd = t->s->live ? collector_fd(&t->s->collector) : -1, .events = POLLIN },
	};
	__u64 now = session_now(), due = t->state.paused ? NEVER : t->due;
	__u64 left = due > now ? due - now : 0;
	struct timespec ts;

	if (t->s->live && left > SAMPLE_NS)
		left = SAMPLE_NS;
	ts = (struct timespec){ left / 1000000000ULL, left % 1000000000ULL };
	ppoll(fds, 3, due == NEVER && !t->s->live ? NULL : &ts, NULL);
	if (fds[0].revents)
		take_signals(t);
	if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		t->quit = true;
	else if (fds[1].revents)
		take_keys(t);
	if (t->s->live)
		collector_sample(&t->s->collector);
}

static void run_screen(struct top *t)
{
	begin(t);
	t->dirty = true;
	while (!t->quit) {
		draw(t);
		wait_event(t);
		if (!t->quit && !t->state.paused && session_now() >= t->due)
			step(t);
	}
}

static int top_screen(struct session *s, struct view_term *term)
{
	struct top t = {
		.s = s,
		.term = term,
		.left = s->cfg->count,
		.state = {
			.sort = s->cfg->sort,
			.basename = s->cfg->basename,
			.interval_ns = s->cfg->interval_ns,
			.input = s->cfg->input,
			.ascii = view_term_ascii(term),
		},
	};

	run_screen(&t);
	view_term_close(term);
	/* The screen is gone: what -n asked for stays. */
	if (s->cfg->count && !t.left && t.has_report)
		output_report(s->cfg, &t.first, &t.last);
	if (t.has_report)
		report_free(&t.report);
	snapshot_free(&t.first);
	snapshot_free(&t.last);
	snapshot_free(&t.next);
	view_free(&t.screen);
	return t.status;
}

static bool wants_batch(const struct config *cfg)
{
	return cfg->batch || cfg->once || cfg->format != FORMAT_TEXT || cfg->quiet;
}

int cmd_top(const struct config *cfg)
{
	struct view_term *term = NULL;
	struct session s;
	int status = session_open(&s, cfg, false);

	if (status)
		return status;
	if (!wants_batch(cfg))
		term = view_term_open(!cfg->input || strcmp(cfg->input, "-"));
	status = term ? top_screen(&s, term) : top_batch(&s);
	session_close(&s);
	return status;
}
