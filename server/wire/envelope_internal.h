/* SPDX-License-Identifier: MIT */
/*
 * Functions that the readers of requests and of answers share.  They refuse
 * nothing: their return value shows that a member is absent or wrong, and the
 * caller decides whether to refuse the request or answer.  In an ack only the
 * message_id must be right; other wrong members are ignored, and a wrong status
 * is read as retryable.
 */
#ifndef WIRE_ENVELOPE_INTERNAL_H
#define WIRE_ENVELOPE_INTERNAL_H

#include "model/envelope.h"
#include "wire/wire.h"

/* Returns the member ${name} of ${object}, borrowed, or NULL if it is absent or
 * null, or ${object} is not an object. */
json_t *wire_member(const json_t *object, const char *name);

/* Reads the member ${name} as a UUID.  Returns false if it is not one. */
bool wire_member_uuid(const json_t *object, const char *name, struct uuid *ret);

/* Reads the member ${name} as a time of RFC 3339, in milliseconds since 1970.
 * Returns false, with ${ret} unchanged, if the member is absent or not such a
 * time, is 0 or less, or is after the year 9999. */
bool wire_member_time(const json_t *object, const char *name, int64_t *ret);

/* Reads an ack.  Returns false if its message_id cannot be read. */
bool wire_ack_read(const json_t *object, struct envelope_ack *ret);

#endif
