/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 (RFC 3629): shortest form only, no surrogates, at most U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if ${n} bytes at ${s} are valid UTF-8.  If not, *ret_bad
 * (${ret_bad} may be NULL) is the offset of the first byte that is not part of
 * a valid character; else *ret_bad is left as it is. */
bool utf8_valid(const char *s, size_t n, size_t *ret_bad);

/* Decodes into *ret the character that begins at ${s}; the text from there on
 * has ${n} bytes (at least 1).  Returns the length of the character, 1 to 4
 * bytes, or 0 if it is not valid or is cut off; *ret is then left as it is. */
size_t utf8_decode(const char *s, size_t n, uint32_t *ret);

/* Returns the length of the longest part, at the start of the ${n} bytes at
 * ${s} (valid UTF-8), that fits into ${max} bytes and ends between
 * characters. */
size_t utf8_cut(const char *s, size_t n, size_t max);

/* Returns true if ${c} is a format character (general category Cf of Unicode
 * 15) or a line or paragraph separator.  Most are invisible, and many change
 * the order or the line in which a terminal shows the characters next to
 * them. */
bool utf8_is_format(uint32_t c);

/* Returns true if ${c} must not be written to a terminal: a format character or
 * separator (utf8_is_format()), or a control character (C0, DEL or C1), which
 * can move the cursor or end the line. */
bool utf8_is_unsafe(uint32_t c);

/* Returns true if the ${n} bytes at ${s} are UTF-8 that stays in one line and
 * does not change the direction of the text next to it: without control
 * characters (C0, DEL, C1), line or paragraph separators, and bidirectional
 * embeddings, overrides or isolates.  Joiners and direction marks are allowed,
 * because emoji and some scripts need them.  If not, *ret_bad (${ret_bad} is
 * not NULL) is the offset of the first byte that is not allowed. */
bool utf8_line_valid(const char *s, size_t n, size_t *ret_bad);

#endif
