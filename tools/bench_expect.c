/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_expect.c - the ground truth as arithmetic: pages of a range, a fault's window, and a skewed
 * choice that is the same on every machine.
 */
#include "bench.h"

#include <stdlib.h>

/* Page-cache indexes that [offset, offset + len) touches. */
uint64_t expect_pages(uint64_t offset, uint64_t len, unsigned int page_shift)
{
	if (!len)
		return 0;
	return ((offset + len - 1) >> page_shift) - (offset >> page_shift) + 1;
}

/*
 * Pages of the window that fault-around maps. All arguments in pages, counted from the start of
 * an area that one page table covers: pte is the fault, [vma_first, vma_first + vma_pages) the
 * mapping. The window starts at a multiple of its size, but not before the mapping, and a start
 * moved up does not shorten it: windows can overlap.
 */
unsigned int expect_window(uint64_t pte, uint64_t vma_first, uint64_t vma_pages,
			   unsigned int around, unsigned int ptes)
{
	uint64_t table = pte - pte % ptes;
	uint64_t first = pte - pte % around;
	uint64_t end;

	if (first < vma_first)
		first = vma_first;
	end = first + around;
	if (end > table + ptes)
		end = table + ptes;
	if (end > vma_first + vma_pages)
		end = vma_first + vma_pages;
	return (unsigned int)(end - first);
}

struct zipf {
	uint64_t items;
	uint64_t sum[];		/* of the weights up to and with this item */
};

/* Item k (from 0) has weight 1 / (k + 1), in fixed point: no floating point, no libm. */
struct zipf *zipf_new(uint64_t items)
{
	struct zipf *z;
	uint64_t i, sum = 0;

	if (!items || items > (1ULL << 28))
		return NULL;
	z = malloc(sizeof(*z) + items * sizeof(z->sum[0]));
	if (!z)
		return NULL;
	z->items = items;
	for (i = 0; i < items; i++) {
		sum += (1ULL << 40) / (i + 1);
		z->sum[i] = sum;
	}
	return z;
}

/* A linear congruential generator's high bits, scaled by a 128-bit product. */
uint64_t zipf_pick(const struct zipf *z, uint64_t *rng)
{
	uint64_t low = 0, high = z->items - 1, mid, want;

	*rng = *rng * 6364136223846793005ULL + 1442695040888963407ULL;
	want = (uint64_t)(((unsigned __int128)(*rng >> 16) * z->sum[high]) >> 48);
	while (low < high) {
		mid = low + (high - low) / 2;
		if (z->sum[mid] > want)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void zipf_free(struct zipf *z)
{
	free(z);
}
