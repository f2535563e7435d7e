/* SPDX-License-Identifier: MIT */
/*
 * The JSON of the protocol between servers (docs/federation.md): requests with
 * envelopes, and their answers, both read and written.
 *
 * The JSON of a client is read strictly: an unknown member is a mistake, and
 * the client gets an error.  The JSON of another server is read as the protocol
 * prescribes.  Unknown members of envelopes, payloads, control and answers are
 * ignored, so that a newer server can talk to an older one.  A malformed
 * envelope does not make the other envelopes of its request be refused.
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
 * length; ${q} keeps ${b} until wire_request_end().  The request gets at most
 * ${items_max} envelopes and ${bytes_max} bytes, and never more than
 * ENVELOPE_ITEMS and ENVELOPE_REQUEST_LEN.  Only the first envelope may exceed
 * ${items_max} and ${bytes_max}, see wire_request_add().  Borrows ${control},
 * which may be NULL. */
void wire_request_begin(struct wire_request *q, struct buf *b, size_t items_max,
    size_t bytes_max, const struct envelope_control *control);

/* Adds ${e}, a message or a receipt, which has no fault and keeps the limits of
 * the protocol.  RC_LIMIT: the request has no room for ${e} and is unchanged.
 * The first envelope is added even if ${items_max} is 0, and may use up to
 * ENVELOPE_REQUEST_LEN bytes even if ${bytes_max} is smaller.  An envelope
 * cannot be split, so it is sent and the peer's answer decides.  RC_NO_MEMORY:
 * the request is broken and cannot be sent. */
enum rc wire_request_add(
    struct wire_request *q, const struct envelope *e) MUST_USE;

/* Ends the request.  RC_NO_MEMORY: it cannot be sent. */
enum rc wire_request_end(struct wire_request *q) MUST_USE;

/* Reads a request that wire_parse() has parsed into ${doc}.  ${ret} borrows
 * from ${doc}.
 *
 * RC_INVALID: the whole request is refused, and ${refusal} has a pointer to the
 * place.  Either the request has a member other than envelopes and control,
 * more than ENVELOPE_ITEMS envelopes, or a member of control that is of a wrong
 * type or over its limit.  Or the message_id of an envelope cannot be read, so
 * that no ack could name the envelope.  Every other fault of an envelope is
 * noted in the member fault of that envelope: ENVELOPE_MALFORMED,
 * ENVELOPE_UNSUPPORTED or ENVELOPE_TOO_LARGE.  RC_NO_MEMORY: there is no
 * memory.
 *
 * In an envelope without a fault, addresses are canonical and have a domain
 * (the caller checks of which server), the message is one that
 * model_draft_check() accepts, times are between 1970 and 9999, and the event
 * id is a UUID of version 1 to 8 that no envelope before it has. */
enum rc wire_request_read(struct wire_doc *doc, struct envelope_request *ret,
    struct refusal *refusal) MUST_USE;

/* ---- answers ---- */

/* Writes ${answer} to ${b}.  Acks with the status ENVELOPE_LATER go into the
 * member `later`; those with ENVELOPE_NO_ANSWER are left out.  An error stays
 * in ${b} (buf_ok()). */
void wire_answer_write(struct buf *b, const struct envelope_answer *answer);

/* Reads the ${n} bytes of the answer to a request with the events ${ids}, at
 * most ENVELOPE_ITEMS.  ${ret}->acks[i] becomes the answer for ids[i]: the
 * first ack that names this id; without an ack ENVELOPE_LATER if the id is in
 * the member `later`; otherwise ENVELOPE_NO_ANSWER.  An unknown or missing
 * status is read as retryable.  Acks of other ids are ignored, and so is each
 * member of a wrong type or out of its range.  Waiting times are cut to
 * RETRY_HINT_MAX_MS.  ${ret} borrows nothing.
 *
 * RC_INVALID: this is not an answer of this protocol.  It is too long, not
 * JSON, or has neither `acks` nor a request to reconnect.  RC_NO_MEMORY: there
 * is no memory. */
enum rc wire_answer_read(const char *text, size_t n, const struct uuid *ids,
    size_t nids, struct envelope_answer *ret, struct refusal *refusal) MUST_USE;

#endif
