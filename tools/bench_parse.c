/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_parse.c - strict readers of option values. No locale, no sign, no blanks, no rest.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x8
#endif
#define RWF_DONTCACHE_BIT 0x80	/* since 6.14: newer than most headers */

/* Digits at *text; moves it past them. */
static int digits(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	}
	*text = p;
	*out = v;
	return 0;
}

int parse_u64(const char *text, uint64_t *out)
{
	uint64_t v;
	int err = digits(&text, &v);

	if (err)
		return err;
	if (*text)
		return -EINVAL;
	*out = v;
	return 0;
}

int parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t v;
	int err = digits(&text, &v);

	if (err)
		return err;
	if (*text) {
		unit = strchr(units, *text);
		if (!unit || text[1])
			return -EINVAL;
		if (__builtin_mul_overflow(v, 1ULL << (10 * (unit - units + 1)), &v))
			return -ERANGE;
	}
	if (v > INT64_MAX)	/* file offsets are signed */
		return -ERANGE;
	*out = v;
	return 0;
}

int parse_ms(const char *text, uint64_t *out)
{
	unsigned int scale = 100;
	uint64_t v;
	int err = digits(&text, &v);

	if (err)
		return err;
	if (__builtin_mul_overflow(v, 1000, &v))
		return -ERANGE;
	if (*text == '.') {
		if (!*++text)
			return -EINVAL;
		for (; *text >= '0' && *text <= '9' && scale; text++, scale /= 10) {
			if (__builtin_add_overflow(v, (uint64_t)(*text - '0') * scale, &v))
				return -ERANGE;
		}
	}
	if (*text)
		return -EINVAL;
	*out = v;
	return 0;
}

int parse_cpus(const char *text, uint16_t *cpu, unsigned int max)
{
	uint64_t first = 0, last;
	unsigned int n = 0;
	int err;

	for (;; text++) {
		err = digits(&text, &first);
		last = first;
		if (!err && *text == '-') {
			text++;
			err = digits(&text, &last);
		}
		if (err)
			return err;
		if (last < first)
			return -EINVAL;
		if (last >= MAX_CPUS || last - first >= max - n)
			return -ERANGE;
		for (; first <= last; first++)
			cpu[n++] = (uint16_t)first;
		if (!*text)
			return (int)n;
		if (*text != ',')
			return -EINVAL;
	}
}

int parse_flags(const char *text, int *out)
{
	static const struct { const char *name; int flag; } flags[] = {
		{ "nowait", RWF_NOWAIT }, { "dontcache", RWF_DONTCACHE_BIT },
		{ "hipri", 0x1 }, { "dsync", 0x2 }, { "sync", 0x4 },
	};
	int all = 0;
	size_t i, len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		for (i = 0; i < ARRAY_SIZE(flags); i++) {
			if (strlen(flags[i].name) == len && !memcmp(flags[i].name, text, len))
				break;
		}
		if (i == ARRAY_SIZE(flags))
			return -EINVAL;
		all |= flags[i].flag;
		if (!text[len])
			break;
	}
	*out = all;
	return 0;
}
