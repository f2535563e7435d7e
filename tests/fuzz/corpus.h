/* SPDX-License-Identifier: MIT */
/*
 * A corpus as text, which git stores and compares well: a line is an input.
 * Printable ASCII stands for itself; the backslash, every other byte, and a
 * space at the end, which editors remove, are \\, \n, \r, \t or \xHH (two
 * lower-case digits).  Equal inputs have equal lines, so that sort -u removes
 * an input that is there twice.
 */
#ifndef TESTS_FUZZ_CORPUS_H
#define TESTS_FUZZ_CORPUS_H

#include <stddef.h>
#include <stdint.h>

/* The line of the ${n} bytes at ${p}, without a line end.  free() it. */
char *corpus_line(const uint8_t *p, size_t n);

/* The input of ${line}, in memory of exactly its size.  free() it.  NULL if
 * corpus_line() would not write the line. */
uint8_t *corpus_input(const char *line, size_t *ret_n);

#endif
