/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parse.c - strict numbers for options. Grammar in parse.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "parse.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Reads digits; *end is the first character behind them. -EINVAL without any. A number too large
 * is read to its end all the same, so that "99999999999999999999x" is -EINVAL in the end.
 */
static int digits(const char *s, const char **end, __u64 *out)
{
	__u64 v = 0;
	int err = 0;

	if (!s || !is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (__u64)(*s - '0'), &v))
			err = -ERANGE;
	}
	*end = s;
	*out = v;
	return err;
}

static int in_range(__u64 v, __u64 min, __u64 max, __u64 *out)
{
	if (v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

int parse_u64(const char *s, __u64 min, __u64 max, __u64 *out)
{
	const char *end;
	__u64 v;
	int err;

	err = digits(s, &end, &v);
	if (err == -EINVAL || *end)
		return -EINVAL;
	return err ? err : in_range(v, min, max, out);
}

int parse_bytes(const char *s, __u64 min, __u64 max, __u64 *out)
{
	static const char units[] = "KMG";
	const char *end, *unit;
	__u64 v;
	int err;

	err = digits(s, &end, &v);
	if (err == -EINVAL)
		return err;
	if (*end) {
		unit = strchr(units, *end);
		if (!unit || end[1])
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1ULL << (10 * (unit - units + 1)), &v))
			err = -ERANGE;
	}
	return err ? err : in_range(v, min, max, out);
}

/* The digits behind the point in units of scale (a power of ten). -EINVAL: finer than 1 ns. */
static int fraction(const char *s, const char **end, __u64 scale, __u64 *out)
{
	__u64 v = 0;

	if (!is_digit(*s))
		return -EINVAL;
	for (; is_digit(*s); s++) {
		scale /= 10;
		if (!scale && *s != '0')
			return -EINVAL;
		v += scale * (__u64)(*s - '0');
	}
	*end = s;
	*out = v;
	return 0;
}

static __u64 time_unit(const char *s)
{
	static const struct {
		const char *name;
		__u64 ns;
	} units[] = {
		{ "", 1000000000 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 },
		{ "ns", 1 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(s, units[i].name))
			return units[i].ns;
	}
	return 0;
}

int parse_seconds(const char *s, __u64 min, __u64 max, __u64 *out)
{
	const char *point, *end;
	__u64 v, part = 0, unit;
	int err;

	err = digits(s, &point, &v);
	if (err == -EINVAL)
		return err;
	/* The unit stands behind the fraction but scales it, so it is looked up first. */
	end = point;
	if (*point == '.')
		end += 1 + strspn(point + 1, "0123456789");
	unit = time_unit(end);
	if (!unit)
		return -EINVAL;
	if (*point == '.' && fraction(point + 1, &end, unit, &part))
		return -EINVAL;
	if (__builtin_mul_overflow(v, unit, &v) || __builtin_add_overflow(v, part, &v))
		err = -ERANGE;
	return err ? err : in_range(v, min, max, out);
}
