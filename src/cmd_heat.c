// SPDX-License-Identifier: GPL-2.0-only
/* cmd_heat.c - heat and export: one window of time, one report. */
#include <string.h>
#include <sys/signalfd.h>

#include "cmd.h"
#include "log.h"
#include "output.h"
#include "session.h"

#define SECOND_NS 1000000000ULL

/* Waits out the window; a signal that means "stop" ends it early. */
static void wait_window(struct session *s, __u64 ns)
{
	__u64 until = session_now() + ns;
	struct signalfd_siginfo sig;

	while (session_wait(s, until, &sig) == WAIT_SIGNAL)
		if (session_ends_us(&sig))
			return;
}

/* The first and the last snapshot of a recording; flags of all between are kept. */
static int recorded_window(struct session *s, struct snapshot *first, struct snapshot *last)
{
	struct snapshot next;
	__u32 flags = 0;
	size_t n = 0;
	int got;

	while ((got = session_next(s, n ? &next : first)) > 0) {
		if (n++) {
			snapshot_free(last);
			*last = next;
			flags |= next.flags;
		}
	}
	if (got < 0)
		return EXIT_FAILED;
	if (n < 2) {
		log_error("%s: holds %zu snapshot%s; an interval needs two", s->cfg->input, n,
			  n == 1 ? "" : "s");
		return EXIT_FAILED;
	}
	last->flags |= flags;
	return s->damaged ? EXIT_FAILED : EXIT_FINE;
}

int cmd_heat(const struct config *cfg)
{
	__u64 ns = cfg->seconds_ns ?: cfg->verb == VERB_EXPORT ? SECOND_NS : 5 * SECOND_NS;
	struct snapshot first = {}, last = {};
	struct session s;
	int status = session_open(&s, cfg, false), shown;

	if (status)
		return status;
	if (!s.live) {
		status = recorded_window(&s, &first, &last);
	} else if (session_next(&s, &first) < 0) {
		status = EXIT_FAILED;
	} else {
		wait_window(&s, ns);
		if (session_next(&s, &last) < 0)
			status = EXIT_FAILED;
	}
	if (last.mono_ns) {
		shown = output_report(cfg, &first, &last);
		status = status ?: shown;
	}
	snapshot_free(&first);
	snapshot_free(&last);
	session_close(&s);
	return status;
}
