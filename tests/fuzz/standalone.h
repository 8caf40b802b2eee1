/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * standalone.h - the entry point of a fuzzer, and with -DSTANDALONE a main() that runs it once on
 * each file given, where there is no libFuzzer. Included by one file of a program.
 */
#ifndef STANDALONE_H
#define STANDALONE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef STANDALONE
#define INPUT_MAX (1 << 20)

/* Exit status 0: every file was read and run. */
int main(int argc, char **argv)
{
	uint8_t *buf = malloc(INPUT_MAX), *exact;
	size_t n;
	FILE *f;

	for (int i = 1; i < argc; i++) {
		f = fopen(argv[i], "rb");
		if (!f || !buf) {
			perror(argv[i]);
			return 1;
		}
		n = fread(buf, 1, INPUT_MAX, f);
		fclose(f);
		/* As long as the input, so that a sanitizer sees a byte too many. */
		exact = malloc(n ? n : 1);
		if (!exact)
			return 1;
		for (size_t k = 0; k < n; k++)
			exact[k] = buf[k];
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	}
	free(buf);
	printf("%d inputs\n", argc - 1);
	return 0;
}
#endif

#endif
