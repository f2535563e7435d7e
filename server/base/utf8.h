/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 (RFC 3629): shortest form only, no surrogates, at most U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether ${n} bytes at ${s} are valid UTF-8; if not, *ret_bad (may be NULL)
 * is the offset of the first byte that belongs to no valid character. */
bool utf8_valid(const char *s, size_t n, size_t *ret_bad);

/* Decodes the character at ${s}, which has ${n} bytes (at least 1); returns
 * its length in bytes, or 0 if no valid character begins there. */
size_t utf8_decode(const char *s, size_t n, uint32_t *ret);

/* How many of the ${n} bytes at ${s} (valid UTF-8) are whole characters that
 * fit into ${max} bytes. */
size_t utf8_cut(const char *s, size_t n, size_t max);

/* Whether ${c} is a format character (general category Cf of Unicode 15) or a
 * line or paragraph separator: it has no shape of its own, and changes in which
 * order or on which line a terminal shows its neighbours. */
bool utf8_is_format(uint32_t c);

/* Whether ${c} must not reach a terminal: a format character, or a control of
 * C0, DEL or C1, which moves the cursor or ends the line. */
bool utf8_is_unsafe(uint32_t c);

/* Whether the ${n} bytes at ${s} are UTF-8 that stays in its line and leaves
 * the direction of its neighbours alone: no control (C0, DEL, C1), line or
 * paragraph separator, bidirectional embedding, override or isolate.  Joiners
 * and direction marks, which emoji and some scripts need, may be in it.  If
 * not, *ret_bad is the offset of the first byte of what must not be there. */
bool utf8_line_valid(const char *s, size_t n, size_t *ret_bad);

#endif
