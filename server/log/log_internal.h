/* SPDX-License-Identifier: MIT */
/*
 * What the log's two halves share: the ring (log.c) carries records, which
 * log_format.c fills from a format and turns into lines.
 *
 * A record's fields are text in which a mark stands before each key.  A mark
 * is a control character and a random word made when the first line is logged:
 * so a value cannot pretend to be another field, whatever it contains.  The
 * control character says whether the value was converted from a number.
 */
#ifndef BASE_LOG_INTERNAL_H
#define BASE_LOG_INTERNAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "log/log.h"

/* Most bytes of fields that a call can give, marks included. */
#define LOG_FIELDS_MAX 4096
/* Most bytes of one value that are shown. */
#define LOG_VALUE_MAX 512
/* No line is longer: fields at most doubled by escapes, and the frame. */
#define LOG_LINE_MAX (2 * LOG_FIELDS_MAX + 512)

struct log_record {
	int64_t wall_ms;
	uint16_t event;
	uint16_t len; /* bytes of fields that follow */
	char thread[16];
};

/* Prints ${fmt} with marks to ${out} (LOG_FIELDS_MAX bytes), and ${story}
 * (may be NULL) as the field "error".  Returns the length.  Thread: any. */
size_t log_fields_print(char *out, const char *story, const char *fmt,
    va_list ap) __attribute__((format(printf, 3, 0)));

/* Appends the line of ${rec} with ${fields} and a newline to ${out}.
 * Thread: any. */
void log_line_add(struct buf *out, enum log_format format,
    const struct log_record *rec, const char *fields);

/* The level of ${event}. */
enum log_level log_event_level(enum log_event event);

#endif
