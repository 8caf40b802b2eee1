/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmd.h - the verbs. Each takes the parsed command line and returns the exit status.
 */
#ifndef CMD_H
#define CMD_H

#include "opts.h"

int cmd_probe(const struct config *cfg);
int cmd_top(const struct config *cfg);
int cmd_heat(const struct config *cfg);		/* export, too */
int cmd_run(const struct config *cfg);		/* record, too */

#endif
