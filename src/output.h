/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * output.h - from two snapshots to what the user asked for, in the file where it is wanted.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "opts.h"
#include "snapshot.h"

/*
 * Reports the interval between two snapshots as cfg says. The exit status: EXIT_FINE, or
 * EXIT_FAILED with the reason told (a full disk, losses under --fail-on-loss).
 */
int output_report(const struct config *cfg, const struct snapshot *first,
		  const struct snapshot *last);

/*
 * Whether the files that the report will go to can be written; told when not. Before a long run, not
 * after it.
 */
bool output_possible(const struct config *cfg);

/*
 * The whole of one text written by fn (0 or -errno) to path: NULL or "-" is stdout. replace: through
 * a temporary file beside it, so that a reader never sees half of it. 0, or -errno, told.
 */
int output_file(const char *path, bool replace, int (*fn)(FILE *out, void *ctx), void *ctx);

#endif
