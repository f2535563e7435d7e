/* SPDX-License-Identifier: MIT */
/*
 * Shared by the two halves of the log.  The ring (log.c) carries records;
 * log_format.c prints the fields of a record from a format and turns records
 * into lines.
 *
 * The fields of a record are text with a mark before each key.  A mark is a
 * control character and a random word, which is made once per process, when the
 * first line is formatted.  Nobody who chooses a value knows the word, so no
 * value can add a field.  The control character says whether the value after
 * the key was converted from one decimal number.
 */
#ifndef BASE_LOG_INTERNAL_H
#define BASE_LOG_INTERNAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "log/log.h"

/* The most bytes of fields in one call, marks included. */
#define LOG_FIELDS_MAX 4096
/* The most bytes of one value that are logged. */
#define LOG_VALUE_MAX 512
/* The most bytes of a line, as text or JSON: escapes at most double the fields;
 * the 512 bytes are for the time, the level, the event and the thread. */
#define LOG_LINE_MAX (2 * LOG_FIELDS_MAX + 512)

struct log_record {
	int64_t wall_ms;
	uint16_t event;
	uint16_t len; /* bytes of fields behind the record */
	char thread[16];
};

/* Prints ${fmt} with the arguments ${ap} and a mark before each key to ${out},
 * which has LOG_FIELDS_MAX bytes, then ${story} as the field "error" (NULL:
 * without this field).  If the text of the other fields is too long, its end is
 * cut; ${story} is cut, too, but has room for at least 256 bytes.  Returns the
 * length, at most LOG_FIELDS_MAX; do not rely on a NUL at the end.  Thread:
 * any. */
size_t log_fields_print(char *out, const char *story, const char *fmt,
    va_list ap) __attribute__((format(printf, 3, 0)));

/* Appends the line of ${rec} with ${fields} and a newline to ${out}.
 * Thread: any. */
void log_line_add(struct buf *out, enum log_format format,
    const struct log_record *rec, const char *fields);

/* Returns the level of ${event}. */
enum log_level log_event_level(enum log_event event);

#endif
