/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * parse.h - strict numbers for options: the whole string or an error, never a guess.
 *
 *     number  = digit { digit }
 *     bytes   = number [ "K" | "M" | "G" ]			powers of 1024
 *     seconds = number [ "." digit { digit } ] [ "s" | "ms" | "us" | "ns" ]	default: s
 *
 * Base 10, no sign, no spaces, no other letters; leading zeros are fine. All return 0, -EINVAL
 * (not of this form; a time that is no whole number of ns) or -ERANGE (of this form, but outside
 * min..max or too large to hold). On error *out is unchanged.
 */
#ifndef PARSE_H
#define PARSE_H

#include <linux/types.h>

int parse_u64(const char *s, __u64 min, __u64 max, __u64 *out);

/* "32M" is 33554432. */
int parse_bytes(const char *s, __u64 min, __u64 max, __u64 *out);

/* "0.5", "2", "100ms" to ns; min and max in ns too. */
int parse_seconds(const char *s, __u64 min, __u64 max, __u64 *out);

#endif
