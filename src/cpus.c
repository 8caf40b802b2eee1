/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpus.c - CPU lists and the sizes of per-CPU tables.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "fs_abi.h"

/* Longest list there can be: every second CPU, five digits and a comma each, is 188 KiB. */
#define LIST_MAX (256U << 10)

static int cpu_number(const char **s, const char *end, __u32 *out)
{
	__u32 v = 0;

	if (*s == end || **s < '0' || **s > '9')
		return -EINVAL;
	for (; *s < end && **s >= '0' && **s <= '9'; (*s)++) {
		v = v * 10 + (__u32)(**s - '0');
		if (v >= CPUS_MAX)
			return -ERANGE;
	}
	*out = v;
	return 0;
}

/* One "N" or "N-M". */
static int cpu_range(const char **s, const char *end, struct cpus *c)
{
	__u32 first, last;
	int err;

	err = cpu_number(s, end, &first);
	if (err)
		return err;
	last = first;
	if (*s < end && **s == '-') {
		(*s)++;
		err = cpu_number(s, end, &last);
		if (err)
			return err;
	}
	if (last < first)
		return -EINVAL;
	for (__u32 i = first; i <= last; i++)
		c->bits[i / 64] |= 1ULL << (i % 64);
	return 0;
}

int cpus_parse(struct cpus *c, const char *text, size_t len)
{
	const char *s = text, *end = text + len;
	int err = 0;

	memset(c, 0, sizeof(*c));
	if (len && end[-1] == '\n')
		end--;
	while (s < end) {
		err = cpu_range(&s, end, c);
		if (err || s == end)
			break;
		/* A comma must be followed by another range. */
		if (*s != ',' || ++s == end) {
			err = -EINVAL;
			break;
		}
	}
	if (err)
		memset(c, 0, sizeof(*c));
	return err;
}

int cpus_load(struct cpus *c, const char *path)
{
	size_t len = 0;
	ssize_t n;
	char *text;
	int fd, err = 0;

	memset(c, 0, sizeof(*c));
	text = malloc(LIST_MAX);
	if (!text)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	do {
		n = read(fd, text + len, LIST_MAX - len);
		if (n < 0) {
			err = -errno;
			goto out;
		}
		len += (size_t)n;
	} while (n && len < LIST_MAX);
	err = len < LIST_MAX ? cpus_parse(c, text, len) : -EFBIG;
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return err;
}

size_t cpus_count(const struct cpus *c)
{
	size_t n = 0;

	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		n += (size_t)__builtin_popcountll(c->bits[i]);
	return n;
}

bool cpus_test(const struct cpus *c, __u32 cpu)
{
	return cpu < CPUS_MAX && (c->bits[cpu / 64] >> (cpu % 64) & 1);
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
	return !memcmp(a, b, sizeof(*a));
}

int cpus_next(const struct cpus *c, int from)
{
	__u32 i = from < 0 ? 0 : (__u32)from;
	__u64 word;

	while (i < CPUS_MAX) {
		word = c->bits[i / 64] >> (i % 64);
		if (word)
			return (int)i + __builtin_ctzll(word);
		i = (i / 64 + 1) * 64;
	}
	return -1;
}

int cpus_last(const struct cpus *c)
{
	for (int i = CPUS_MAX / 64 - 1; i >= 0; i--) {
		if (c->bits[i])
			return i * 64 + 63 - __builtin_clzll(c->bits[i]);
	}
	return -1;
}

/*
 * A spill entry: hash element header, key and value, what the allocator adds to a preallocated
 * element, its bucket.
 */
#define SPILL_BYTES (sizeof(struct fs_key) + sizeof(struct fs_spill) + 64 + 16)
#define GROUP_BYTES (sizeof(struct fs_key) + sizeof(struct fs_ref_groups) + 64 + 16)
#define WITNESS_BYTES sizeof(struct fs_witness_set)
#define GENERATIONS 2ULL
#define SPILL_CAP (1ULL << 30)

static __u64 slot_bytes(__u32 nr_cpu_ids, __u32 set_bits)
{
	return (GENERATIONS * nr_cpu_ids * sizeof(struct fs_set)) << set_bits;
}

static __u64 least_of(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Witnesses and groups, from what slots and spill hashes leave. Their size. */
static __u64 ref_size(__u64 budget, __u64 left, struct table_size *out)
{
	__u64 witnesses = WITNESS_BYTES, groups = GROUP_BYTES * TABLE_GROUPS_MIN;
	__u64 limit = least_of(budget / 8, left - groups);

	out->group_entries = TABLE_GROUPS_MIN;
	for (; out->witness_bits < TABLE_WITNESS_BITS_MAX && witnesses * 2 <= limit; witnesses *= 2)
		out->witness_bits++;
	limit = least_of(budget / 16, left - witnesses);
	for (; out->group_entries < TABLE_GROUPS_MAX && groups * 2 <= limit; groups *= 2)
		out->group_entries *= 2;
	return witnesses + groups;
}

int table_size(__u64 budget, __u32 nr_cpu_ids, struct table_size *out)
{
	__u64 least, entries = TABLE_SPILL_MIN, spill_least;

	memset(out, 0, sizeof(*out));
	if (!nr_cpu_ids || nr_cpu_ids > CPUS_MAX)
		return -EINVAL;
	/* Slots get half at most, so the least spill fits when it fits the other half. */
	spill_least = 2 * GENERATIONS * SPILL_BYTES * TABLE_SPILL_MIN;
	least = 2 * slot_bytes(nr_cpu_ids, 0);
	if (least < spill_least)
		least = spill_least;
	least += 2 * (WITNESS_BYTES + GROUP_BYTES * TABLE_GROUPS_MIN);
	if (budget < least) {
		out->bytes = least;
		return -ENOSPC;
	}
	while (out->set_bits < TABLE_SET_BITS_MAX &&
	       slot_bytes(nr_cpu_ids, out->set_bits + 1) <= budget / 2)
		out->set_bits++;
	while (entries < SPILL_CAP && GENERATIONS * SPILL_BYTES * entries * 2 <= budget / 4)
		entries *= 2;
	out->spill_entries = (__u32)entries;
	out->bytes = slot_bytes(nr_cpu_ids, out->set_bits) + GENERATIONS * SPILL_BYTES * entries;
	out->bytes += ref_size(budget, budget - out->bytes, out);
	return 0;
}
