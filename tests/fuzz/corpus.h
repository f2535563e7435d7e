/* SPDX-License-Identifier: MIT */
/*
 * A corpus as text, so that git can store and compare it: each line is one
 * input.  Printable ASCII stands for itself.  The backslash, every other byte,
 * and a space at the end of the line (which editors remove) are written as \\,
 * \n, \r, \t or \xHH (two lower-case digits).  Equal inputs have equal lines,
 * so that sort -u removes duplicates.
 */
#ifndef TESTS_FUZZ_CORPUS_H
#define TESTS_FUZZ_CORPUS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the line for the ${n} bytes at ${p}, without a line end.  The caller
 * frees it with free(). */
char *corpus_line(const uint8_t *p, size_t n);

/* Returns the input that ${line} stands for, in memory of exactly its size, so
 * that a sanitizer reports a read beyond it.  The caller frees it with free().
 * Returns NULL if corpus_line() would not write ${line} in this form. */
uint8_t *corpus_input(const char *line, size_t *ret_n);

#endif
