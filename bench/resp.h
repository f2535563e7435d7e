/* SPDX-License-Identifier: MIT */
/*
 * The protocol of redis (RESP, version 2) as far as a load generator needs it:
 * commands that are made once, where a reply ends, and the strings in it.
 * https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
#ifndef BENCH_RESP_H
#define BENCH_RESP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Begins a command of ${n} words in ${b}; each word follows by resp_word(). */
void resp_command(struct buf *b, int n);

/* Appends a word of ${n} bytes at ${p}; returns where its bytes begin in ${b}.
 */
size_t resp_word(struct buf *b, const char *p, size_t n);

/* Appends the NUL-terminated word ${word}. */
void resp_words(struct buf *b, const char *word);

/* Returns the length of the first reply in ${n} bytes at ${p}, 0 while it is
 * not complete.  Gives up on an error and on what is not a reply. */
size_t resp_reply(const char *p, size_t n);

/* Finds the next string of the reply of ${n} bytes at ${p}, from *at on, which
 * moves behind it.  False: there are no more.  ${ret} points into the reply. */
bool resp_string(
    const char *p, size_t n, size_t *at, const char **ret, size_t *ret_n);

#endif
