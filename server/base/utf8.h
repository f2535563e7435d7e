/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 (RFC 3629): shortest form only, no surrogates, at most U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether ${n} bytes at ${s} are valid UTF-8; if not, *ret_bad (may be NULL)
 * is the offset of the first byte that belongs to no valid character. */
bool utf8_valid(const char *s, size_t n, size_t *ret_bad);

#endif
