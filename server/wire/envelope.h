/* SPDX-License-Identifier: MIT */
/*
 * The JSON of the protocol between servers (docs/federation.md): requests with
 * envelopes (each is one message or receipt), and the answers to requests.
 * Requests and answers are both read and written here.
 *
 * The JSON of a client is read strictly: an unknown member is a mistake, and
 * the client gets an error.  The JSON of another server is read as the protocol
 * prescribes.  Unknown members of envelopes, payloads, control and answers are
 * ignored, so that a newer server can talk to an older one; an unknown member
 * of the request itself is refused.  A malformed envelope is refused alone, not
 * the other envelopes of its request; but if the message_id of an envelope
 * cannot be read, the whole request is refused.
 *
 * Thread: any, for all functions.
 */
#ifndef WIRE_ENVELOPE_H
#define WIRE_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/rc.h"
#include "model/envelope.h"
#include "model/refusal.h"
#include "wire/wire.h"

/* ---- requests ---- */

/* A request that is being written.  Private to write_envelope.c. */
struct wire_request {
	struct buf *b;
	size_t items; /* envelopes added so far */
	size_t items_max, bytes_max;
};

/* Begins a request in ${b}, which must be empty and without a limit of its
 * length; ${q} keeps ${b} until wire_request_end().  The envelopes are limited
 * to ${items_max}, at most ENVELOPE_ITEMS, and the bytes of the whole request
 * to ${bytes_max}, at most ENVELOPE_REQUEST_LEN.  Only the first envelope may
 * exceed ${items_max} and ${bytes_max}, see wire_request_add().  Writes
 * ${control} now, unless it is NULL.  If memory runs out, wire_request_add()
 * and wire_request_end() return RC_NO_MEMORY. */
void wire_request_begin(struct wire_request *q, struct buf *b, size_t items_max,
    size_t bytes_max, const struct envelope_control *control);

/* Adds ${e}, a message or a receipt.  The caller must make sure that ${e} has
 * no fault and keeps the limits of the protocol; this is not checked here.
 * RC_LIMIT: the request has no room for ${e} (envelopes or bytes), and is
 * unchanged.  The first envelope is added even if ${items_max} is 0 or
 * ${bytes_max} is too small, as it cannot be split and the peer may accept it;
 * RC_LIMIT only if the request would exceed ENVELOPE_REQUEST_LEN.
 * RC_NO_MEMORY: the request is broken and cannot be sent. */
enum rc wire_request_add(
    struct wire_request *q, const struct envelope *e) MUST_USE;

/* Ends the request.  RC_NO_MEMORY: it cannot be sent. */
enum rc wire_request_end(struct wire_request *q) MUST_USE;

/* Reads a request that wire_parse() has parsed into ${doc}.  ${ret} borrows
 * from ${doc}, and is not to be used after an error.
 *
 * RC_INVALID: the whole request is refused, and ${refusal} has a JSON pointer
 * to the place.  There are four reasons: the request is not an object; it has a
 * member other than `envelopes` and `control`; `envelopes`, `control` or a
 * known member of `control` is of a wrong type or over its limit
 * (ENVELOPE_ITEMS envelopes); or the message_id of an envelope cannot be read,
 * so that no ack could name the envelope.  Every other fault of an envelope is
 * noted in the member fault of that envelope: ENVELOPE_MALFORMED,
 * ENVELOPE_UNSUPPORTED or ENVELOPE_TOO_LARGE.  An ack in `control` whose
 * message_id cannot be read is skipped.  RC_NO_MEMORY: there is no memory.
 *
 * In an envelope without a fault, addresses are canonical and have a domain
 * (the caller checks of which server), the message is one that
 * model_draft_check() accepts, times that are given are between 1970 and 9999,
 * and the event id (the JSON member message_id) is a UUID of version 1 to 8
 * that no earlier envelope of the request has. */
enum rc wire_request_read(struct wire_doc *doc, struct envelope_request *ret,
    struct refusal *refusal) MUST_USE;

/* ---- answers ---- */

/* Writes ${answer} to ${b}.  Acks with the status ENVELOPE_LATER go into the
 * member `later`; those with ENVELOPE_NO_ANSWER are left out.  An error stays
 * in ${b} (buf_ok()). */
void wire_answer_write(struct buf *b, const struct envelope_answer *answer);

/* Reads the answer, the ${n} bytes at ${text}, to a request that had the
 * ${nids} events ${ids}, at most ENVELOPE_ITEMS.  ${ret}->acks[i] becomes the
 * ack of ids[i]: the first one in the answer that names this id; without one,
 * its status is ENVELOPE_LATER if the id is in the member `later`, otherwise
 * ENVELOPE_NO_ANSWER.  An unknown or missing status is read as retryable.  Acks
 * of other ids are ignored, and so is each member of a wrong type or out of its
 * range, but waiting times are cut to RETRY_HINT_MAX_MS and reasons to
 * ENVELOPE_REASON_LEN.  ${ret} borrows nothing.
 *
 * RC_INVALID: this is not an answer of this protocol, as ${refusal} says.  It
 * is longer than ENVELOPE_ANSWER_LEN, is not JSON within the limits of
 * wire_parse(), or has neither an array `acks` nor a request to reconnect.
 * RC_NO_MEMORY: there is no memory.  After an error, too, ${ret} is set: each
 * ack has the status ENVELOPE_NO_ANSWER. */
enum rc wire_answer_read(const char *text, size_t n, const struct uuid *ids,
    size_t nids, struct envelope_answer *ret, struct refusal *refusal) MUST_USE;

#endif
