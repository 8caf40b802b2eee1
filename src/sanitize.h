/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sanitize.h - the one place that makes foreign strings (file names, process names) harmless.
 *
 * Printable valid UTF-8 passes. Everything else becomes an escape that shows what it was and can
 * be undone: control characters, invalid bytes, C1 controls as \xHH (byte by byte); a backslash
 * as \\; format characters that reorder or hide text (bidi controls, zero width, line and
 * paragraph separators, BOM, tags, unassigned/private/surrogate code points) as \u{HHHH}.
 * So the result is valid printable UTF-8 on one line, and two different inputs stay different.
 */
#ifndef SANITIZE_H
#define SANITIZE_H

#include <stddef.h>

/*
 * Writes the harmless form of src (srclen bytes, may hold NUL) to dst (size bytes), always
 * NUL-terminated, never ending inside a character or an escape. Returns the length that would
 * have been needed without NUL, like snprintf.
 */
size_t sanitize(char *dst, size_t size, const char *src, size_t srclen);

/* The same into fresh memory; NULL when there is none. */
char *sanitize_dup(const char *src, size_t srclen);

/* What a sanitized string begins with, one character or one escape: its bytes and its columns. */
size_t sanitize_unit(const char *s, size_t *columns);

/* Columns that a sanitized string takes on a terminal (wcwidth of each character, at least 0). */
size_t sanitize_width(const char *s);

/*
 * Cuts a sanitized string to at most width columns, keeping both ends with an ellipsis
 * in the middle (the end gets the larger half: names differ there). dst holds size bytes.
 */
void sanitize_ellipsis(char *dst, size_t size, const char *s, size_t width);

#endif
