/* SPDX-License-Identifier: MIT */
/*
 * The part of redis' protocol (RESP, version 2) that a load generator needs:
 * building commands, finding the end of a reply, and reading its strings.
 * https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
#ifndef BENCH_RESP_H
#define BENCH_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Begins a command of ${n} words in ${b}.  Append each word with resp_word().
 */
void resp_command(struct buf *b, int n);

/* Appends a word of ${n} bytes at ${p}.  Returns the offset of its bytes in
 * ${b}. */
size_t resp_word(struct buf *b, const char *p, size_t n);

/* Appends the NUL-terminated word ${word}. */
void resp_words(struct buf *b, const char *word);

/* Returns the length of the first reply in ${n} bytes at ${p}, 0 if it is not
 * complete yet.  Ends the program on an error reply, or if the bytes are not a
 * reply. */
size_t resp_reply(const char *p, size_t n);

/* Finds the next string of the reply of ${n} bytes at ${p}, from offset *at on,
 * and moves *at behind it.  Returns false if there are no more strings.  *ret
 * points into the reply. */
bool resp_string(
    const char *p, size_t n, size_t *at, const char **ret, size_t *ret_n);

#endif
