/* SPDX-License-Identifier: MIT */
/*
 * Makes other people's text safe for a terminal.  Control characters,
 * characters that change the direction of writing, and some invisible ones (the
 * list is in safe.c) are shown as escapes (\x1b, \u202e), so that a message
 * cannot move the cursor, colour the screen, set a title, forge a line, or show
 * a name backwards.  Bytes that are not UTF-8 are shown one by one (\xff).
 */
#ifndef LIB_SAFE_H
#define LIB_SAFE_H

#include <stddef.h>

#include "base/buf.h"

/* Appends ${n} bytes at ${s} to ${b} as one line, with escapes for unsafe
 * characters: an LF becomes the two characters \n, a tab \t, and a CR \x0d. */
void safe_add(struct buf *b, const char *s, size_t n);

/* Like safe_add(), but keeps line ends (LF, or CR LF, which becomes LF) and
 * puts ${indent} spaces after each, so that a second line cannot look like
 * another message.  A tab becomes four spaces; a CR without LF is escaped. */
void safe_add_lines(struct buf *b, const char *s, size_t n, int indent);

/* Writes ${n} bytes at ${s} as one safe line into ${ret} of ${size} bytes.
 * Text that does not fit is cut between shown characters.  ${ret} ends with a
 * NUL; ${size} is at least 1. */
void safe_line(const char *s, size_t n, char *ret, size_t size);

/* Appends ${n} bytes of JSON text to ${b}.  Characters that safe_add() would
 * escape become \uXXXX, which means the same in JSON; only LF, CR and tab,
 * which JSON allows between values, stay.  A byte that is not UTF-8 becomes
 * \uFFFD.  Returns the number of bytes taken.  When the text ends inside a
 * character, up to 3 bytes are not taken; pass them again with the rest of the
 * character. */
size_t safe_json_add(struct buf *b, const char *s, size_t n);

/* Returns the number of terminal columns that ${n} bytes of safe text take.
 * Without a UTF-8 locale (LC_CTYPE) every character counts as one. */
int safe_width(const char *s, size_t n);

/* Returns the length in bytes of the longest prefix of the ${n} bytes of safe
 * text at ${s} that takes at most ${columns} columns and ends between
 * characters. */
size_t safe_cut(const char *s, size_t n, int columns);

#endif
