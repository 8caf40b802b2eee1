/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_parse.c - option numbers and CPU lists: never a crash, never a value outside the limits.
 */
/* units: parse.c cpus.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "parse.h"
#include "standalone.h"

static void number(const char *s, int (*parse)(const char *, __u64, __u64, __u64 *))
{
	const __u64 min = 10, max = 1ULL << 60;
	__u64 v = 0;
	int err = parse(s, min, max, &v);

	if (err ? v != 0 : v < min || v > max)
		abort();
}

static void list(const char *text, size_t len)
{
	static struct cpus c, again;
	static char buf[CPUS_MAX * 6];
	size_t n = 0;

	if (cpus_parse(&c, text, len)) {
		if (cpus_count(&c) || cpus_last(&c) != -1)
			abort();
		return;
	}
	/* What the set says about itself is the same set. */
	for (int i = cpus_next(&c, 0); i >= 0; i = cpus_next(&c, i + 1))
		n += (size_t)sprintf(buf + n, "%s%d", n ? "," : "", i);
	if (cpus_parse(&again, buf, n) || !cpus_equal(&c, &again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	if (!s)
		return 0;
	memcpy(s, data, size);
	s[size] = '\0';
	number(s, parse_u64);
	number(s, parse_bytes);
	number(s, parse_seconds);
	list(s, size);
	free(s);
	return 0;
}
