/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz_record.c - the record reader. The first byte chooses what the rest is:
 *     'f'		a whole file, as it is
 *     anything else	blocks, each u8 type, u16 length and payload: packed and given a good
 *			checksum here, so that the fuzzer need not find one to get past it
 * What was read is written again and must be read back without complaint.
 */
/* units: record.c record_block.c record_rows.c snapshot.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "record.h"
#include "standalone.h"

static void le32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static void put_block(int fd, uint8_t type, const uint8_t *raw, size_t len)
{
	uLongf stored = compressBound(len);
	uint8_t *p = malloc(16 + stored);

	if (!p || compress2(p + 16, &stored, raw, len, 1) != Z_OK)
		abort();
	le32(p, type);
	le32(p + 4, (uint32_t)stored);
	le32(p + 8, (uint32_t)len);
	le32(p + 12, (uint32_t)crc32(crc32(0, p, 12), p + 16, (uInt)stored));
	if (write(fd, p, 16 + stored) < 0)
		abort();
	free(p);
}

static int make_file(const uint8_t *data, size_t size)
{
	static const uint8_t header[24] = "FOLIOSC\n\1\0\030\0\1";
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t len;

	if (fd < 0)
		abort();
	if (data[0] == 'f') {
		if (write(fd, data + 1, size - 1) < 0)
			abort();
	} else {
		if (write(fd, header, sizeof(header)) < 0)
			abort();
		for (data++, size--; size > 3; data += len, size -= len) {
			len = data[1] | data[2] << 8;
			data += 3;
			size -= 3;
			len = len < size ? len : size;
			put_block(fd, data[-3], data, len);
		}
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Reads all there is; each snapshot goes to w as well, if there is one. Returns how many. */
static size_t read_all(int fd, struct record_writer *w, int *last)
{
	struct record_reader *r;
	struct snapshot s;
	size_t n = 0;
	char err[200];

	*last = -1;
	r = record_open_fd(fd, err, sizeof(err));
	if (!r)
		return 0;
	while ((*last = record_read(r, &s)) == 1) {
		if (w && record_write(w, &s))
			abort();
		snapshot_free(&s);
		n++;
	}
	if (*last < 0 && !*record_error(r))
		abort();
	record_reader_close(r);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int copy, last;
	struct record_writer *w;
	size_t n;

	if (!size)
		return 0;
	copy = memfd_create("copy", MFD_CLOEXEC);
	w = record_create_fd(dup(copy));
	if (!w)
		abort();
	n = read_all(make_file(data, size), w, &last);
	if (record_close(w))
		abort();
	lseek(copy, 0, SEEK_SET);
	if (read_all(copy, NULL, &last) != n || last)
		abort();
	return 0;
}
