/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * log.c - messages on stderr, one line each. Foreign parts come sanitized from the callers; what
 * is left of control characters (libbpf ends its lines itself) cannot break the line here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define LOG_LINE 2048	/* longer messages are cut */
#define ENOTSUPP_KERNEL 524	/* kernel-internal, but BPF system calls return it */

enum log_level log_threshold = LOG_WARN;

static void one_line(char *s)
{
	size_t len = strlen(s);

	while (len && s[len - 1] == '\n')
		s[--len] = '\0';
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = ' ';
}

static void emit(enum log_level level, const char *fmt, va_list ap)
{
	int saved = errno;
	char line[LOG_LINE];

	if (level <= log_threshold) {
		vsnprintf(line, sizeof(line), fmt, ap);
		one_line(line);
		fprintf(stderr, "folioscope: %s\n", line);
	}
	errno = saved;
}

#define DEFINE_LOG(name, level)			\
void name(const char *fmt, ...)			\
{						\
	va_list ap;				\
						\
	va_start(ap, fmt);			\
	emit(level, fmt, ap);			\
	va_end(ap);				\
}

DEFINE_LOG(log_error, LOG_ERROR)
DEFINE_LOG(log_warn, LOG_WARN)
DEFINE_LOG(log_info, LOG_INFO)
DEFINE_LOG(log_debug, LOG_DEBUG)

const char *errstr(int err)
{
	static __thread char buf[96];
	const char *name, *text;

	/* INT_MIN has no positive form; it is no errno either. */
	if (err < 0 && err > -4096)
		err = -err;
	name = strerrorname_np(err);
	text = strerrordesc_np(err);
	if (!err)
		snprintf(buf, sizeof(buf), "no error");
	else if (err == ENOTSUPP_KERNEL)
		snprintf(buf, sizeof(buf), "ENOTSUPP (Not supported by this kernel)");
	else if (!name || !text)
		snprintf(buf, sizeof(buf), "errno %d", err);
	else
		snprintf(buf, sizeof(buf), "%s (%s)", name, text);
	return buf;
}
