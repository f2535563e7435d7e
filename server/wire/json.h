/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON by hand into a buffer: the hot frames (RFC 8259).  Text must be
 * valid UTF-8; control characters, quote and backslash are escaped, all else
 * goes out byte for byte.  Failure is sticky in the buffer.
 *
 * Members write their comma themselves: jw_member() puts one unless it follows
 * '{' or '['.
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uuid.h"

/* A JSON string with its quotes. */
void jw_string(struct buf *b, const char *s, size_t n);

/* [,]"name": */
void jw_member(struct buf *b, const char *name);

/* Member ${name} with a text; NULL: null. */
void jw_str(struct buf *b, const char *name, const char *s);

/* Member ${name} with ${n} bytes of text; NULL: null. */
void jw_strn(struct buf *b, const char *name, const char *s, size_t n);

/* Member ${name} with an integer. */
void jw_int(struct buf *b, const char *name, int64_t v);

/* Member ${name} with true or false. */
void jw_bool(struct buf *b, const char *name, bool v);

/* Member ${name} with null. */
void jw_null(struct buf *b, const char *name);

/* Member ${name} with an id as text. */
void jw_uuid(struct buf *b, const char *name, const struct uuid *u);

/* Member ${name} with a time of RFC 3339 in UTC with milliseconds; 0: null. */
void jw_time(struct buf *b, const char *name, int64_t wall_ms);

/* Member ${name} with ${n} bytes that are JSON already. */
void jw_raw(struct buf *b, const char *name, const char *json, size_t n);

/* A comma unless the last byte is '{' or '[' (or there is none). */
void jw_comma(struct buf *b);

#endif
