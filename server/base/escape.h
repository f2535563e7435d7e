/* SPDX-License-Identifier: MIT */
/*
 * Makes text that may hold anything, such as a file name or a value of a
 * damaged database, safe to print on a terminal.  Control and format characters
 * and bytes that are not UTF-8 would let the text move the cursor or forge
 * lines.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

/* Writes ${s} into ${ret} of ${size} bytes (at least 1), NUL-terminated, and
 * cut if it does not fit, but never inside a character or an escape.  Control
 * and format characters (utf8_is_unsafe()) are written as in \u{202E}; bytes
 * that are not UTF-8 are written as in \xFF.  A backslash of ${s} is not
 * escaped.  Returns ${ret}.  Thread: any. */
char *escape_text(const char *s, char *ret, size_t size);

#endif
