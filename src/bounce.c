/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bounce.c - the estimator of sampled bounces.
 *
 * All CPUs follow ops in the same short time windows. Window number mod 8 is the window's group g,
 * a random group in the sense of survey sampling: each is a thinner sample of the same interval.
 * With f followed, b bounced and i first ops in group g, F, B, I their sums, k groups in use:
 *
 *	estimate	ops x R, R = B / F				(ratio estimator)
 *	variance of R	(k-1)/k x sum over g of (R(g) - R)^2,
 *			R(g) = (B - b) / (F - f)			(delete-a-group jackknife)
 *	two-sided 95 %	R +- t x sqrt(variance), t: Student's, k-1 degrees of freedom, 2.365 for 8
 *
 * W. G. Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6, for the ratio estimator; K. M.
 * Wolter, Introduction to Variance Estimation, 2nd ed. 2007, chapters 2 (random groups) and 4
 * (jackknife). Ops within a window depend on each other (a CPU takes runs of them) without harm:
 * only groups are compared, no independence of ops is used. No finite population correction: it
 * would be sqrt(1 - 1/N), and leaving it out errs on the safe side.
 *
 * Eight groups that agree by chance show no spread at all, so the interval is never less than
 *  - Wilson's score interval of B out of F (E. B. Wilson, J. Amer. Statist. Assoc. 22, 1927): as if
 *    ops were independent. It governs tiny counts: 12 of 12 is [76 %, 100 %].
 *  - what unseen windows may hide: behaviour that took a share u of the time is missed by all W
 *    windows with probability (1-u)^W, below 2.5 % from u = 3.69 / W on (the "rule of three" at
 *    97.5 %; J. A. Hanley, A. Lippman-Hand, JAMA 249, 1983). That much may be all bounces or none:
 *    [R (1-u), R + (1-R) u]. It governs few windows: 100 of 100 in 8 of them is [54 %, 100 %].
 *
 * First ops have a predecessor too, but nobody saw it. Leaving them out takes followed ops to stand
 * for all; they do not where most folios are touched once a window, since then the followed ops
 * are those of the busiest folios, which bounce most. So the bound is that of two ratios, from
 * below B / (F + I), no first op bounced, from above (B + I) / (F + I), all did (C. F. Manski,
 * Amer. Econ. Rev. 80(2), 1990: bounds without assumptions on what is missing).
 *
 * At last, what was seen is certain: count >= B, and count <= ops - (F - B).
 *
 * Limits. Windows lie at equal distances: a workload that repeats itself with a period near theirs
 * (2^17 ns x N, or a small fraction of it) is seen at one point of its period, and no bound shows
 * that. Phases longer than eight windows apart are seen well, and the groups agree on them; single
 * phases shorter than the interval / W can be missed whole, and weigh more than u where ops come
 * faster in them. Windows that only begin on some CPUs (clocks apart) are not modelled. A bound of
 * 95 % fails once in 20 by design.
 *
 * Why not from each CPU's share p of the accesses, 1 - sum of p^2? That is the probability that two
 * ops drawn at random come from different CPUs; it is right only if the order of ops is random.
 * It never is: a CPU that owns the line gets the next op in before the others (runs: two CPUs with
 * half each bounce at 0.02 where runs are 50 long, and the formula says 0.5), and threads that take
 * turns bounce at 1.0 (the formula still says 0.5). It is off by a factor in either direction, and
 * nothing in the shares tells which.
 */
#include <math.h>
#include <string.h>

#include "bounce.h"

#define NORMAL_975 1.959964
#define UNSEEN_975 3.688879	/* -ln 0.025 */

/* 97.5 % quantiles of Student's t, index: degrees of freedom. */
static const double student_975[BOUNCE_GROUPS] = { 0,	     12.706205, 4.302653, 3.182446,
						   2.776445, 2.570582,	2.446912, 2.364624 };

struct range {
	double low, high;
};

/* A ratio of sums over groups. */
struct ratio {
	double num[BOUNCE_GROUPS], den[BOUNCE_GROUPS];
	double n, d;		/* their sums */
	unsigned int used;	/* groups with a denominator */
};

static void ratio_add(struct ratio *r, unsigned int g, double num, double den)
{
	r->num[g] = num;
	r->den[g] = den;
	r->n += num;
	r->d += den;
	r->used += den > 0;
}

/* Half the width of the jackknife interval; needs two groups. */
static double spread(const struct ratio *r)
{
	double without, sum = 0, k = r->used;

	for (unsigned int g = 0; g < BOUNCE_GROUPS; g++) {
		if (!(r->den[g] > 0))
			continue;
		without = (r->n - r->num[g]) / (r->d - r->den[g]) - r->n / r->d;
		sum += without * without;
	}
	return student_975[r->used - 1] * sqrt((k - 1) / k * sum);
}

static struct range wilson(double share, double n)
{
	double z2 = NORMAL_975 * NORMAL_975;
	double mid = (share + z2 / (2 * n)) / (1 + z2 / n);
	double half = NORMAL_975 / (1 + z2 / n) *
		      sqrt(share * (1 - share) / n + z2 / (4 * n * n));

	return (struct range){ mid - half, mid + half };
}

static struct range unseen(double share, double windows)
{
	double u = windows > UNSEEN_975 ? UNSEEN_975 / windows : 1;

	return (struct range){ share * (1 - u), share + (1 - share) * u };
}

static struct range range_join(struct range a, struct range b)
{
	return (struct range){ fmin(a.low, b.low), fmax(a.high, b.high) };
}

static struct range interval(const struct ratio *r, __u64 windows)
{
	double share = r->n / r->d, half = spread(r);
	/* A window without an op has shown nothing. */
	double w = windows ? fmin((double)windows, r->d) : r->used;
	struct range out = { share - half, share + half };

	out = range_join(out, wilson(share, r->d));
	out = range_join(out, unseen(share, w));
	out.low = fmax(out.low, 0);
	out.high = fmin(out.high, 1);
	return out;
}

static __u64 add_sat(__u64 a, __u64 b)
{
	__u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? ~0ULL : sum;
}

/* share x ops; 2^64 as a double is one more than fits. */
static __u64 scale(double share, __u64 ops)
{
	double v = share * (double)ops;

	if (v >= 18446744073709551616.0)
		return ops;
	return (__u64)v < ops ? (__u64)v : ops;
}

static __u64 clamp(__u64 v, __u64 low, __u64 high)
{
	return v < low ? low : v > high ? high : v;
}

/* What the ops seen leave possible. More seen than there were (a torn read): all of it. */
static void certain(__u64 ops, __u64 followed, __u64 bounced, __u64 *least, __u64 *most)
{
	*least = 0;
	*most = ops;
	if (ops < followed)
		return;
	*least = bounced;
	*most = ops - (followed - bounced);
}

static void shares(struct bounce_estimate *out, __u64 ops)
{
	if (!ops)
		return;
	out->share = (double)out->count / (double)ops;
	out->share_low = (double)out->low / (double)ops;
	out->share_high = (double)out->high / (double)ops;
}

void bounce_estimate(struct bounce_estimate *out, const struct bounce_sample *s, __u64 ops)
{
	struct ratio none = { 0 }, all = { 0 };	/* of the first ops bounced */
	__u64 followed = 0, bounced = 0, f, least, most;

	memset(out, 0, sizeof(*out));
	for (unsigned int g = 0; g < BOUNCE_GROUPS; g++) {
		f = s->followed[g];
		if (f < s->bounced[g]) {
			f = s->bounced[g];
			out->clamped = true;
		}
		followed = add_sat(followed, f);
		bounced = add_sat(bounced, s->bounced[g]);
		ratio_add(&none, g, (double)s->bounced[g], (double)f + (double)s->first[g]);
		ratio_add(&all, g, (double)s->bounced[g] + (double)s->first[g],
			  (double)f + (double)s->first[g]);
	}
	certain(ops, followed, bounced, &least, &most);
	out->low = least;
	out->high = most;
	out->valid = followed || !ops;
	out->bounded = !ops;
	if (followed && ops) {
		out->count = clamp(bounce_scale(bounced, followed, ops), least, most);
		if (none.used >= 2) {
			out->bounded = true;
			out->low = clamp(scale(interval(&none, s->windows).low, ops), least,
					 out->count);
			/* Rounded up, so that the bound holds for whole bounces. */
			out->high = clamp(add_sat(scale(interval(&all, s->windows).high, ops), 1),
					  out->count, most);
		}
	}
	shares(out, ops);
}

static __u64 sub_floor(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

void bounce_sample_sub(struct bounce_sample *out, const struct bounce_sample *cur,
		       const struct bounce_sample *prev)
{
	for (unsigned int g = 0; g < BOUNCE_GROUPS; g++) {
		out->followed[g] = sub_floor(cur->followed[g], prev->followed[g]);
		out->bounced[g] = sub_floor(cur->bounced[g], prev->bounced[g]);
		out->first[g] = sub_floor(cur->first[g], prev->first[g]);
	}
	out->windows = cur->windows;
}

void bounce_sample_add(struct bounce_sample *sum, const struct bounce_sample *s)
{
	for (unsigned int g = 0; g < BOUNCE_GROUPS; g++) {
		sum->followed[g] = add_sat(sum->followed[g], s->followed[g]);
		sum->bounced[g] = add_sat(sum->bounced[g], s->bounced[g]);
		sum->first[g] = add_sat(sum->first[g], s->first[g]);
	}
	if (sum->windows < s->windows)
		sum->windows = s->windows;
}

/* Windows whose middle is before t. */
static __u64 windows_before(__u64 t, unsigned int shift, __u32 every)
{
	__u64 half = shift ? 1ULL << (shift - 1) : 0, slots;

	if (t <= half)
		return 0;
	slots = ((t - half - 1) >> shift) + 1;
	return slots / every + !!(slots % every);
}

__u64 bounce_windows(__u64 from, __u64 to, unsigned int shift, __u32 every)
{
	if (to <= from || shift > 63 || !every)
		return 0;
	return windows_before(to, shift, every) - windows_before(from, shift, every);
}

__u64 bounce_scale(__u64 part, __u64 followed, __u64 ops)
{
	unsigned __int128 v;

	if (!followed)
		return 0;
	v = ((unsigned __int128)part * ops + followed / 2) / followed;
	return v > ~0ULL ? ~0ULL : (__u64)v;
}
