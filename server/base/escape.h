/* SPDX-License-Identifier: MIT */
/*
 * Text for a terminal that may hold anything: a damaged database, a file name.
 * Characters that a terminal obeys instead of showing, and bytes that are not
 * UTF-8, would let data move the cursor or forge lines.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

/* Writes ${s} into ${ret} of ${size} bytes (at least 1), cut between characters
 * and NUL-terminated.  Controls and the invisible characters that change the
 * direction or the layout of text become \u{202E}, bytes that are not UTF-8
 * become \xFF.  Returns ${ret}.  Thread: any. */
char *escape_text(const char *s, char *ret, size_t size);

#endif
