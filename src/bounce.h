/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bounce.h - from bounces seen in short time windows to bounces of the whole interval, with a
 * bound. Pure. What is computed and why is at the top of bounce.c.
 *
 * Meant for one population (a file's gets, or its puts). For a sum of populations add the
 * estimates, and add the lows and the highs: valid whatever the windows have in common.
 */
#ifndef BOUNCE_H
#define BOUNCE_H

#include <linux/types.h>
#include <stdbool.h>

#define BOUNCE_GROUPS 8		/* group of a window: its ordinal number mod 8 */

/*
 * Counts of an interval, summed over CPUs. An op inside a window is either followed (its
 * predecessor on that folio is known: bounced or not) or first (none seen in this window).
 */
struct bounce_sample {
	__u64 followed[BOUNCE_GROUPS];
	__u64 bounced[BOUNCE_GROUPS];	/* of followed */
	/*
	 * First ops; each may or may not have been a bounce, and the bound allows for both. All 0
	 * where they are not counted: then the bound holds for ops that follow each other within
	 * a window only.
	 */
	__u64 first[BOUNCE_GROUPS];
	/* Windows in the interval (bounce_windows); 0: taken as one in each group that is used. */
	__u64 windows;
};

struct bounce_estimate {
	bool valid;		/* false: nothing was followed (and there were ops) */
	bool bounded;		/* false: low and high are all that is possible */
	bool clamped;		/* more bounced than followed (a torn read) */
	__u64 count;		/* estimated bounces, low <= count <= high */
	__u64 low, high;	/* two-sided 95 % */
	double share;		/* of ops; low <= share * ops <= high up to rounding */
	double share_low, share_high;
};

/* ops: all ops of the population in the interval, exact. */
void bounce_estimate(struct bounce_estimate *out, const struct bounce_sample *s, __u64 ops);

/* cur - prev, word by word; a word that fell counts as 0. windows: of cur. */
void bounce_sample_sub(struct bounce_sample *out, const struct bounce_sample *cur,
		       const struct bounce_sample *prev);

/* Adds every word; windows: the larger (the windows are common to all). */
void bounce_sample_add(struct bounce_sample *sum, const struct bounce_sample *s);

/* Windows, those with (time >> shift) % every == 0, that lie at least half in [from, to), ns. */
__u64 bounce_windows(__u64 from, __u64 to, unsigned int shift, __u32 every);

/* part of followed, scaled to ops and rounded: a pair's, a CPU's or a distance's bounces. */
__u64 bounce_scale(__u64 part, __u64 followed, __u64 ops);

#endif
