/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * log.h - messages for people, on stderr: "subject: operation: cause; what happens next".
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

extern enum log_level log_threshold;	/* LOG_WARN; set once by the option parser */

__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_warn(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);

/* "EPERM (Operation not permitted)"; err may be negative. Static buffer per thread. */
const char *errstr(int err);

#endif
