/* SPDX-License-Identifier: MIT */
/*
 * Text from other people, made safe for a terminal: control characters and
 * what turns the direction of writing are shown as escapes (\x1b, \u202e), so
 * that a message cannot move the cursor, colour the screen, set a title, forge
 * a line, or show a name backwards.  What is no UTF-8 is shown byte by byte.
 */
#ifndef LIB_SAFE_H
#define LIB_SAFE_H

#include <stddef.h>

#include "base/buf.h"

/* Appends ${n} bytes at ${s} to ${b} as one line: line ends are shown as \n. */
void safe_add(struct buf *b, const char *s, size_t n);

/* As safe_add(), but line ends stay, each followed by ${indent} spaces, so
 * that a second line cannot pass for a message of its own; tabs become four
 * spaces. */
void safe_add_lines(struct buf *b, const char *s, size_t n, int indent);

/* Writes ${n} bytes at ${s} as one safe line into ${ret} of ${size} bytes,
 * cut between characters where it does not fit. */
void safe_line(const char *s, size_t n, char *ret, size_t size);

/* Appends ${n} bytes of JSON text to ${b} with its meaning kept: characters
 * that safe_add() would show as escapes become \uXXXX, in which JSON writes the
 * same string.  Returns how many bytes were taken: fewer than ${n} (by at most
 * 3) when the text ends inside a character, whose rest is yet to come. */
size_t safe_json_add(struct buf *b, const char *s, size_t n);

/* How many columns ${n} bytes of safe text take in a terminal. */
int safe_width(const char *s, size_t n);

/* The longest prefix of safe text ${s} that takes at most ${columns}. */
size_t safe_cut(const char *s, size_t n, int columns);

#endif
