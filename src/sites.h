/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sites.h - which kernel functions get and put a file's folios: kernel stacks to names, per file.
 */
#ifndef SITES_H
#define SITES_H

#include <linux/types.h>
#include <stddef.h>

#include "fs_abi.h"

/*
 * Text symbols, sorted by address. About 15 MB for a distribution kernel: load, use, free. Load
 * after attaching: programs get their names then, and without one a program's frame would be taken
 * for the module function it was placed behind.
 */
struct ksyms;

/*
 * From the text of /proc/kallsyms. Lines that are none are skipped. -EACCES: every address is 0
 * (hidden); -ENODATA: no text symbol at all; -EFBIG, -ENOMEM. On error *out is NULL.
 */
int ksyms_parse(struct ksyms **out, const char *text, size_t len);

/* The same from a file (KSYMS_PATH), or -errno of open and read. */
#define KSYMS_PATH "/proc/kallsyms"
int ksyms_load(struct ksyms **out, const char *path);

/* Why there are no names and what helps, for people: "cause; what to do". Static. */
const char *ksyms_errstr(int err);

size_t ksyms_count(const struct ksyms *k);

/*
 * The function an address lies in: "filemap_read", "ext4_file_read_iter [ext4]"; suffixes of the
 * compiler (.cold, .part.0, .isra.0, .constprop.0, .llvm.1) are dropped. NULL: none. Belongs to k.
 */
const char *ksyms_name(const struct ksyms *k, __u64 addr);

void ksyms_free(struct ksyms *k);

#define SITE_UNKNOWN "[unknown]"

/*
 * The function that gets or puts: the first one up the stack that is neither tracing (BPF,
 * tracepoint, trampoline) nor a mere wrapper (folio_put, folios_put_refs, release_pages, ...).
 * addr[0] is the innermost frame, 0 or depth ends. Where there is nothing but wrappers the
 * outermost of them; SITE_UNKNOWN where no frame has a name. Belongs to k, or is static. k may be
 * NULL.
 */
const char *sites_caller(const struct ksyms *k, const __u64 *addr, size_t depth);

/* Input: one stack of one file. */
struct site_stack {
	struct fs_key file;
	const __u64 *addr;	/* innermost first */
	__u32 depth;
	__u64 gets, puts;
};

struct site {
	char *name;		/* owned */
	__u64 gets, puts;
};

struct site_file {
	struct fs_key file;
	__u64 gets, puts;	/* all sites */
	struct site *site;	/* owned; most gets + puts first, ties by name */
	size_t nsites;
	__u64 other_gets, other_puts;	/* sites past top: the sum is gets and puts above */
};

struct sites {
	struct site_file *file;	/* owned; most gets + puts first, ties by key */
	size_t nfiles;
};

/* Sums stacks up by file and function; top: sites kept for each file, 0: all. Stacks with neither
 * gets nor puts are left out. Sums saturate. -ENOMEM: *out is empty. */
int sites_make(struct sites *out, const struct ksyms *k, const struct site_stack *in, size_t n,
	       size_t top);
void sites_free(struct sites *s);

#endif
