// SPDX-License-Identifier: GPL-2.0-only
/* hotbits.c - see hotbits.h. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hotbits.h"

/* The value of an enumerator, -1: absent. */
static int enum_value(const struct btf *btf, const char *type, const char *name)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM), i;
	const struct btf_type *t;

	if (id < 0)
		return -1;
	t = btf__type_by_id(btf, id);
	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off), name))
			return btf_enum(t)[i].val;
	return -1;
}

static __u64 page_flag(const struct btf *btf, const char *name)
{
	int bit = enum_value(btf, "pageflags", name);

	return bit < 0 ? 0 : 1ULL << bit;
}

static const struct btf_member *find_member(const struct btf *btf, const char *type,
					    const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT), i;
	const struct btf_type *t;

	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return &btf_members(t)[i];
	return NULL;
}

static int log2_up(__u64 n)
{
	int bits = 0;

	while ((1ULL << bits) < n)
		bits++;
	return bits;
}

/* log2 of the bits in a bitmap type: nodemask_t, struct cpumask. */
static int bitmap_log2(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name(btf, name);
	long size = id < 0 ? -1 : btf__resolve_size(btf, id);

	return size <= 0 ? -1 : log2_up(size * 8);
}

/* Places of the MGLRU fields; masks stay 0 where the kernel has none. */
static void lru_gen_fields(const struct btf *btf, struct fs_hot *out)
{
	int nodes = bitmap_log2(btf, "nodemask_t"), cpus = bitmap_log2(btf, "cpumask");
	int zones = enum_value(btf, "zone_type", "__MAX_NR_ZONES");
	int flags = enum_value(btf, "pageflags", "__NR_PAGEFLAGS");
	int cpupid, free_bits, shift, width;

	if (!find_member(btf, "lruvec", "lrugen") || nodes < 0 || cpus < 0 || zones < 0 || flags < 0)
		return;
	/* One word holds 64 nodes; a kernel for a single node has no field for it. */
	if (nodes == 6 && !find_member(btf, "task_struct", "numa_faults"))
		nodes = 0;
	zones = log2_up(zones);
	cpupid = find_member(btf, "task_struct", "numa_faults") ? 8 + cpus : 0;
	if (flags + nodes + zones + cpupid + 3 > 64)
		cpupid = 0;	/* LAST_CPUPID_NOT_IN_PAGE_FLAGS */
	free_bits = 64 - flags - nodes - zones - cpupid - 3;
	if (free_bits < 0)
		return;
	width = free_bits < 2 ? free_bits : 2;
	shift = 64 - nodes - zones - cpupid - 3;
	out->style = FS_LRU_GEN;
	out->gen_mask = 7ULL << shift;
	out->refs_mask = ((1ULL << width) - 1) << (shift - width);
}

int hotbits_from_btf(const struct btf *btf, struct fs_hot *out)
{
	memset(out, 0, sizeof(*out));
	out->referenced = page_flag(btf, "PG_referenced");
	out->active = page_flag(btf, "PG_active");
	out->unevictable = page_flag(btf, "PG_unevictable");
	out->workingset = page_flag(btf, "PG_workingset");
	out->dropbehind = page_flag(btf, "PG_dropbehind");
	out->lru = page_flag(btf, "PG_lru");
	out->head = page_flag(btf, "PG_head");
	if (!out->referenced || !out->active || !out->lru || !out->head)
		return -ENOENT;
	lru_gen_fields(btf, out);
	return 0;
}

__u32 hotbits_mglru_on(void)
{
	FILE *f = fopen("/sys/kernel/mm/lru_gen/enabled", "re");
	unsigned int v = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%x", &v) != 1)
		v = 0;
	fclose(f);
	return v & 1;
}
