/* SPDX-License-Identifier: MIT */
/*
 * The one way by which JSON comes into the client, from a server or from the
 * client's own files: through the server's own reader (wire/parse.c), so that
 * what a broken or hostile server says, or a damaged file holds, cannot cost
 * the stack, all memory, or more than the memory there is.
 */
#ifndef LIB_PARSE_H
#define LIB_PARSE_H

#include <stddef.h>

#include <jansson.h>

#include "base/rc.h"
#include "lib/fail.h"

/* Values in one text.  The longest page, 200 conversations of many members, has
 * a fifth of it. */
#define PARSE_VALUES_MOST 1000000

/* Parses ${n} bytes, an object or an array, into ${ret}, the caller's to
 * json_decref().  Refused are bad JSON, a member twice, a NUL byte, a number
 * beyond 64 bits, more than LIMIT_JSON_DEPTH levels.  On failure *ret is NULL
 * and
 * ${fail} says ${what} ("X answers with what cannot be read"), why, and in
 * which line and column.  Any thread. */
enum rc parse_json(const char *what, const char *text, size_t n, json_t **ret,
    struct fail *fail) MUST_USE;

#endif
