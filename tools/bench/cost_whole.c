// SPDX-License-Identifier: GPL-2.0-only
/* cost_whole.c - table (b): what a loop of small reads costs with a program attached (cost.h). */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cost.h"
#include "log.h"

#define READS 50000
#define TURNS 45		/* short ones: the machine changes its speed meanwhile */

static const struct way {	/* the first is what the others are compared with */
	const char *what;
	enum { NONE, EMPTY, OURS, BPFTRACE } who;
	unsigned int setup;
} ways[] = {
	{ "nothing attached", NONE, 0 },
	{ "empty program", EMPTY, 0 },
	{ "ours, no hot test", OURS, 0 },
	{ "ours (default)", OURS, SETUP_HOT },
	{ "ours, as `run`: tree filter", OURS, SETUP_HOT | SETUP_IN },
	{ "bpftrace count", BPFTRACE, 0 },
};

struct side {
	struct probes_bpf *skel;
	int prog_fd;		/* negative: not measured, except NONE */
	double ns[TURNS];
	size_t n;
};

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int measure(const struct way *w, struct side *s, const struct work *work)
{
	int link = -1;
	double begin;

	if (w->who != NONE) {
		link = attach(w->who == BPFTRACE ? KIND_TRACEPOINT : KIND_TP_BTF, s->prog_fd, READ_TP);
		if (link < 0)
			return link;
	}
	work->run(READS / 10);
	begin = cpu_ns();
	work->run(READS);
	s->ns[s->n++] = (cpu_ns() - begin) / READS;
	if (link >= 0)
		close(link);
	return 0;
}

static int prepare(const struct cost *c, const struct way *w, struct side *s)
{
	int err = 0;

	s->prog_fd = -1;
	if (w->who == EMPTY)
		s->prog_fd = attach_empty_prog(KIND_TP_BTF, READ_TP);
	else if (w->who == BPFTRACE)
		s->prog_fd = c->bpftrace_fd;
	else if (w->who == OURS)
		s->skel = attach_ours(c, "access_read_tp", KIND_TP_BTF, READ_TP, w->setup, &err);
	if (s->skel)
		s->prog_fd = attach_ours_fd(s->skel, "access_read_tp");
	if (w->who == EMPTY && s->prog_fd < 0)
		err = s->prog_fd;
	return err;
}

/* Median of what a way adds to a read without it in the same round. */
static double added(const struct side *none, const struct side *s)
{
	double diff[TURNS], min, med;
	size_t i;

	for (i = 0; i < s->n; i++)
		diff[i] = s->ns[i] - none->ns[i];
	stat_of(diff, s->n, &min, &med);
	return med;
}

static void print_place(const char *place, struct side *sides)
{
	double base_min = 0, base_med = 0, min, med, more[ARRAY_SIZE(ways)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)	/* before they are sorted */
		more[i] = added(&sides[0], &sides[i]);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		printf("%-10s %-30s", place, ways[i].what);
		if (!sides[i].n) {
			printf(" n/a\n");
			continue;
		}
		stat_of(sides[i].ns, sides[i].n, &min, &med);
		printf(" %7.1f %7.1f", min, med);
		if (ways[i].who == NONE) {
			base_min = min;
			base_med = med;
		} else {
			printf("  %+7.1f %+7.1f  %+6.1f%% %+6.1f%%", min - base_min, more[i],
			       100 * (min / base_min - 1), 100 * more[i] / base_med);
		}
		printf("\n");
	}
	fflush(stdout);
}

static int measure_place(struct cost *c, const char *place, const struct work *work)
{
	struct side sides[ARRAY_SIZE(ways)] = {};
	size_t i;
	int err = 0, round;

	for (i = 0; i < ARRAY_SIZE(ways) && !err; i++)
		err = prepare(c, &ways[i], &sides[i]);
	for (round = 0; round < TURNS && !err; round++)
		for (i = 0; i < ARRAY_SIZE(ways) && !err; i++)
			if (ways[i].who == NONE || sides[i].prog_fd >= 0)
				err = measure(&ways[i], &sides[i], work);
	if (err)
		printf("%-10s n/a: attach %s: %s\n", place, READ_TP, errstr(err));
	else
		print_place(place, sides);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (sides[i].skel)
			attach_ours_close(sides[i].skel);
		else if (ways[i].who == EMPTY && sides[i].prog_fd >= 0)
			close(sides[i].prog_fd);
	}
	return 0;
}

int cost_whole(struct cost *c)
{
	printf("\n(b) A loop of 16-byte preads on one CPU, ns of CPU time a read: minimum and median of "
	       "%d rounds of\n    %d reads in turns. Added: minimum less minimum, and median of the "
	       "differences within a round.\n%-10s %-30s %15s  %15s  %15s\n", TURNS, READS, "place",
	       "attached", "min     med", "added           ", "added          ");
	measure_place(c, "index 0", &work_read_first);
	return measure_place(c, "elsewhere", &work_read_later);
}
