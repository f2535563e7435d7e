/* SPDX-License-Identifier: MIT */
/*
 * What the readers of requests and of answers share: members that may be
 * absent or wrong without refusing the whole.
 */
#ifndef WIRE_ENVELOPE_INTERNAL_H
#define WIRE_ENVELOPE_INTERNAL_H

#include "model/envelope.h"
#include "wire/wire.h"

/* Member ${name} of ${object}, borrowed; NULL: it is absent or null, or
 * ${object} is not an object. */
json_t *wire_member(const json_t *object, const char *name);

/* Reads member ${name} as a UUID.  False: it is not one. */
bool wire_member_uuid(const json_t *object, const char *name, struct uuid *ret);

/* Reads member ${name} as a time after 1970.  False: it is not one. */
bool wire_member_time(const json_t *object, const char *name, int64_t *ret);

/* Reads an ack.  False: it has no id of a message that can be read. */
bool wire_ack_read(const json_t *object, struct envelope_ack *ret);

#endif
