/* SPDX-License-Identifier: MIT */
/*
 * The frame of every fuzz target: the entry points that libFuzzer calls
 * (replay.c calls them in a build without libFuzzer), and MUST(), which ends
 * the program when a claim is false.  Unlike assert(), MUST() is active in
 * every build.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "model/refusal.h"

/* Runs one input.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs once, before the first input.  Returns 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Claims that ${claim} is true.  If it is false, the input is a find. */
#define MUST(claim)                                                            \
	do {                                                                   \
		if (!(claim))                                                  \
			fuzz_fail(__FILE__, __LINE__, #claim);                 \
	} while (0)

/* Prints the false claim and ends the program with SIGABRT. */
_Noreturn void fuzz_fail(const char *file, int line, const char *claim);

/* Copies the ${n} bytes at ${p} and adds a NUL.  The memory has exactly that
 * size, so that a sanitizer reports a read beyond it.  The caller frees the
 * copy with free(). */
char *fuzz_copy(const uint8_t *p, size_t n);

/* Returns the first line of the *${n} bytes at *${p}, without its line end, and
 * moves *${p} and *${n} behind the line. */
const uint8_t *fuzz_line(const uint8_t **p, size_t *n, size_t *ret_len);

/* Returns the length of the longest prefix of ${p} that is valid UTF-8.  It
 * tries each alternative of the grammar of RFC 3629, section 4: slow, but
 * independent of base/utf8.c, which it checks. */
size_t fuzz_utf8_prefix(const uint8_t *p, size_t n);

#endif
