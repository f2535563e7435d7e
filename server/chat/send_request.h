/* SPDX-License-Identifier: MIT */
/*
 * A client's message on its way from a draft to its outbox entry, the same for
 * REST and WebSocket.
 *
 *  1. send_request_prepare() makes the unit of work from the draft,
 *  2. send_request_admit() counts it in its sender's quota,
 *  3. the caller sets unit.unit.finish and submits the unit to the writer,
 *  4. send_request_done() is due when the unit is finished, or was not taken,
 *  5. send_request_entry() writes the entry of what was accepted; what was
 *     accepted before (send_request_replayed()) is read with entry_get().
 *
 * Thread: whoever has the request.
 */
#ifndef CHAT_SEND_REQUEST_H
#define CHAT_SEND_REQUEST_H

#include "base/buf.h"
#include "chat/entry.h"
#include "chat/send.h"
#include "chat/send_gate.h"

struct send_request {
	struct message_draft draft;
	struct send_unit unit;
	struct send_gate *gate;
	int64_t sender_id;
	char content_type[LIMIT_CONTENT_TYPE_LEN + 1]; /* NUL-terminated */
	bool counted; /* in its sender's usage */
};

/* Makes the unit of a message by ${sender_id} from the draft, which is in order
 * by itself: id, recipient, fingerprint, rendered part.  After another result
 * than RC_OK, ${refusal} says why and nothing is due. */
enum rc send_request_prepare(struct send_request *r, struct send_gate *gate,
    int64_t sender_id, struct refusal *refusal) MUST_USE;

/* Counts ${n} prepared requests of one sender in its usage, all or none.  If
 * there is no room, ${no_room} says so, which the units then refuse new
 * messages with; it stays valid as long as they. */
void send_request_admit(
    struct send_request *list, size_t n, struct refusal *no_room);

/* The unit is finished, or was not taken: releases the rendered part, and gives
 * the message back to its sender's quota if it was not accepted just now. */
void send_request_done(struct send_request *r);

/* Whether the message was accepted before, and its entry is to be read.  The
 * unit of a refused message may say so, too: of an earlier try of its
 * transaction, which found the rows of another unit in it and was undone. */
bool send_request_replayed(const struct send_request *r);

/* Appends the entry of a message that was accepted just now. */
void send_request_entry(const struct send_request *r, struct buf *b);

#endif
