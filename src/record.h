/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * record.h - the record file: a sequence of snapshots. docs/record-format.md has every field.
 *
 * Little-endian. Header: magic "FOLIOSC\n", u16 version, u16 header bytes, u32 flags (bit 0:
 * incomplete; cleared by record_close()), u64 reserved. Then blocks: u32 type, u32 stored bytes,
 * u32 raw bytes, u32 CRC-32 (zlib) of type, both lengths and the stored bytes; payload deflated
 * by zlib. Block types and field ids are append-only; an unknown block type is skipped. Strings
 * are u16 length + bytes. A snapshot block holds the rows that changed since the one before; the
 * reader puts whole snapshots together again. Reading is safe on any bytes.
 *
 * A snapshot read back equals the one written in every field; its rows come in the order of their
 * keys, and bytes behind the NUL of a fixed string are 0.
 */
#ifndef RECORD_H
#define RECORD_H

#include "snapshot.h"

struct record_writer;
struct record_reader;

/* Creates path (0600, truncated; "-" is stdout). NULL: errno. */
struct record_writer *record_create(const char *path);
/* The same on an open descriptor, which the writer takes over, also on failure. */
struct record_writer *record_create_fd(int fd);
/*
 * Appends one snapshot and hands it to the kernel. -errno; a regular file then ends with the
 * snapshot before, and writing may go on. On a pipe or socket a block that went out in part is
 * the end: every later call returns the same error. -EINVAL: not a snapshot (two rows of one key,
 * CPUs out of order); -E2BIG: more than a record holds. SIGPIPE and SIGXFSZ are the caller's
 * to ignore.
 */
int record_write(struct record_writer *w, const struct snapshot *s);
/*
 * Writes the end block, clears the incomplete mark (on a regular file), closes, frees. -errno of
 * anything lost since the beginning; then there is no end block and the mark stays. NULL is fine.
 */
int record_close(struct record_writer *w);

/*
 * Opens path ("-" is stdin). On failure NULL and one line of reason in err ("not a folioscope
 * record", "version 9 is newer than this program knows (1)", ...).
 */
struct record_reader *record_open(const char *path, char *err, size_t errlen);
/* The same on an open, blocking descriptor, which the reader takes over, also on failure. */
struct record_reader *record_open_fd(int fd, char *err, size_t errlen);
/*
 * The next whole snapshot, to be freed by the caller. 1: got one; 0: end of file;
 * -EBADMSG: damaged or cut short here (reason in record_error()); what came before is good, and
 * every later call returns the same. Other -errno: reading failed; after -EINTR and -EAGAIN
 * nothing is lost and the call may be made again. *s is empty unless 1 is returned.
 */
int record_read(struct record_reader *r, struct snapshot *s);
/* One line on the last failure, with the place in the file; "" without one. */
const char *record_error(const struct record_reader *r);
/*
 * The writer has not closed the file, as far as is known: its mark is set and no end block was
 * read so far. Ask after record_read() returned 0: on a pipe the mark is never cleared and only
 * the end block tells.
 */
bool record_incomplete(const struct record_reader *r);
void record_reader_close(struct record_reader *r);

#endif
