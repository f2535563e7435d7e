/* SPDX-License-Identifier: MIT */
/*
 * The JSON of the protocol between servers (docs/federation.md): requests with
 * envelopes, and their answers, both ways.
 *
 * A client's JSON is read strictly: an unknown member is a slip, and its person
 * learns of it.  A peer's is read as the protocol says: unknown members of
 * envelopes, payloads, control and answers are ignored, so that a newer server
 * can talk to an older one, and one wrong envelope does not refuse the others
 * of its request.
 *
 * Thread: any, in all of these.
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

/* A request under way.  Private to write_envelope.c. */
struct wire_request {
	struct buf *b;
	size_t items; /* that were added */
	size_t items_max, bytes_max;
};

/* Begins a request in ${b}, which ${q} keeps until wire_request_end(); ${b}
 * is empty and has no limit of its own.  The request will have at most
 * ${items_max} envelopes and ${bytes_max} bytes, and never more than
 * ENVELOPE_ITEMS and ENVELOPE_REQUEST_LEN.  ${control} (NULL: none) is
 * borrowed. */
void wire_request_begin(struct wire_request *q, struct buf *b, size_t items_max,
    size_t bytes_max, const struct envelope_control *control);

/* Adds ${e}, which has no fault and keeps the limits of the protocol.
 * RC_LIMIT: the request has no room for it and is as it was before.  The first
 * envelope finds room up to ENVELOPE_REQUEST_LEN, whatever ${bytes_max} was: it
 * cannot be made smaller, and the peer's answer decides.  RC_NO_MEMORY: the
 * request cannot be sent. */
enum rc wire_request_add(
    struct wire_request *q, const struct envelope *e) MUST_USE;

/* Ends the request.  RC_NO_MEMORY: it cannot be sent. */
enum rc wire_request_end(struct wire_request *q) MUST_USE;

/* Reads a request that wire_parse() made ${doc} of.  ${ret} borrows from
 * ${doc}.
 *
 * RC_INVALID, with a pointer in ${refusal}: the whole is refused, because the
 * frame is wrong (unknown member beside envelopes and control, more than
 * ENVELOPE_ITEMS envelopes, wrong type in control), or because the message_id
 * of an envelope cannot be read, so that no ack could name it.  Anything else
 * that is wrong with an envelope becomes its fault: ENVELOPE_MALFORMED,
 * ENVELOPE_UNSUPPORTED or ENVELOPE_TOO_LARGE.  RC_NO_MEMORY: as it says.
 *
 * An envelope without a fault has canonical addresses with a domain (of which
 * server is not looked at), a message that model_draft_check() takes (its id
 * may be of version 4 too), times between 1970 and 9999, and an event id that
 * no envelope before it has. */
enum rc wire_request_read(struct wire_doc *doc, struct envelope_request *ret,
    struct refusal *refusal) MUST_USE;

/* ---- answers ---- */

/* Writes ${answer} to ${b}.  An ack that is ENVELOPE_LATER goes into `later`,
 * one that is ENVELOPE_NO_ANSWER is left out.  Failure sticks in ${b}. */
void wire_answer_write(struct buf *b, const struct envelope_answer *answer);

/* Reads the ${n} bytes of an answer to a request with the events ${ids}, at
 * most ENVELOPE_ITEMS.  ${ret}->acks[i] is what it says of ids[i]: the first
 * ack of an id counts; ENVELOPE_NO_ANSWER without one, ENVELOPE_LATER if the id
 * is in `later`.  A status that is not known is retryable.  Acks of other ids
 * are ignored, and so is every member of a wrong type or out of its range;
 * times to wait are cut to RETRY_HINT_MAX_MS.  ${ret} borrows nothing.
 *
 * RC_INVALID: this is no answer of this protocol: too long, not JSON, or
 * without `acks`, although it does not ask to reconnect either. */
enum rc wire_answer_read(const char *text, size_t n, const struct uuid *ids,
    size_t nids, struct envelope_answer *ret, struct refusal *refusal) MUST_USE;

#endif
