/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON (RFC 8259) into a buffer, by hand, because frames to clients are
 * written often and must be fast.  Text must be valid UTF-8, which is not
 * checked; characters below U+0020, quotes and backslashes are escaped, all
 * other bytes are copied.  Names of members are copied unescaped.  A lack of
 * memory is not returned, but stays in the buffer (buf_ok()).
 *
 * Callers write no commas between members: jw_member(), which the functions
 * with a ${name} call, puts one before the name unless the name follows '{' or
 * '[' or begins the buffer.  Between items of an array, callers call
 * jw_comma().
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uuid.h"

/* Writes a JSON string with its quotes. */
void jw_string(struct buf *b, const char *s, size_t n);

/* Writes [,]"name": */
void jw_member(struct buf *b, const char *name);

/* Writes member ${name} with a text.  NULL is written as null. */
void jw_str(struct buf *b, const char *name, const char *s);

/* Writes member ${name} with ${n} bytes of text.  NULL is written as null. */
void jw_strn(struct buf *b, const char *name, const char *s, size_t n);

/* Writes member ${name} with an integer. */
void jw_int(struct buf *b, const char *name, int64_t v);

/* Writes member ${name} with true or false. */
void jw_bool(struct buf *b, const char *name, bool v);

/* Writes member ${name} with null. */
void jw_null(struct buf *b, const char *name);

/* Writes member ${name} with an id as text. */
void jw_uuid(struct buf *b, const char *name, const struct uuid *u);

/* Writes member ${name} with the time ${wall_ms}, in milliseconds since 1970,
 * as text of RFC 3339 in UTC, with milliseconds.  0 means "no time" and is
 * written as null. */
void jw_time(struct buf *b, const char *name, int64_t wall_ms);

/* Writes member ${name} with ${n} bytes that are JSON already. */
void jw_raw(struct buf *b, const char *name, const char *json, size_t n);

/* Writes a comma, unless the last byte is '{' or '[' or the buffer is empty. */
void jw_comma(struct buf *b);

#endif
