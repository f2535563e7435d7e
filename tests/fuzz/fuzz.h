/* SPDX-License-Identifier: MIT */
/*
 * What every fuzz target has: the entry that libFuzzer calls (replay.c calls it
 * where there is no libFuzzer), and claims that end the program when they are
 * not true, in every build.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "model/refusal.h"

/* One input.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Once, before the first input.  Returns 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* ${claim} is true, or the input is a find. */
#define MUST(claim)                                                            \
	do {                                                                   \
		if (!(claim))                                                  \
			fuzz_fail(__FILE__, __LINE__, #claim);                 \
	} while (0)

/* Prints what is not true and ends the program by SIGABRT. */
_Noreturn void fuzz_fail(const char *file, int line, const char *claim);

/* A copy of ${n} bytes at ${p}, with a NUL behind, in memory of exactly that
 * size, so that a sanitizer sees a read beyond it.  free() it. */
char *fuzz_copy(const uint8_t *p, size_t n);

/* The next line of *${p} (${*n} bytes left), without its line end. */
const uint8_t *fuzz_line(const uint8_t **p, size_t *n, size_t *ret_len);

/* UTF-8 by the grammar of RFC 3629, section 4, alternative by alternative:
 * slow, and written apart from base/utf8.c.  The length of the valid prefix.
 */
size_t fuzz_utf8_prefix(const uint8_t *p, size_t n);

#endif
