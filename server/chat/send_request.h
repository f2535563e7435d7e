/* SPDX-License-Identifier: MIT */
/*
 * A client's message on its way from a draft to its outbox entry, the same for
 * REST and WebSocket.
 *
 * 1. send_request_prepare() makes the unit of work from the draft.
 * 2. send_request_admit() counts it in its sender's quota.
 * 3. The caller sets unit.unit.finish and submits the unit to the writer.
 * 4. The caller calls send_request_done() when the unit is finished, or was not
 *    accepted by the writer.
 * 5. send_request_entry() writes the entry of a message that was just accepted.
 *    The entry of a message that was accepted before (send_request_replayed())
 *    is read with entry_get().
 *
 * Thread: the one that owns the request.
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
	bool counted; /* counted in its sender's usage */
};

/* Makes the unit of a message by ${sender_id} from the draft, which must be
 * valid: id, recipient, fingerprint, and the part rendered for clients.  If the
 * result is not RC_OK, ${refusal} is set and send_request_done() must not be
 * called. */
enum rc send_request_prepare(struct send_request *r, struct send_gate *gate,
    int64_t sender_id, struct refusal *refusal) MUST_USE;

/* Counts ${n} >= 1 prepared requests of one sender in its usage, all or none.
 * If they exceed the quota, or the disk is nearly full, fills ${no_room} with
 * the reason, and the units of all ${n} requests will refuse new messages with
 * it; they still answer repetitions.  The requests keep a pointer to
 * ${no_room}. */
void send_request_admit(
    struct send_request *list, size_t n, struct refusal *no_room);

/* Must be called when the unit is finished or was not accepted by the writer.
 * Releases the rendered part, and returns the message to the sender's quota
 * unless it has just been accepted. */
void send_request_done(struct send_request *r);

/* Returns true if the message was accepted before, so that its entry must be
 * read from the store.  unit.replayed alone does not say this: an earlier try
 * of the transaction may have set it, because it found the rows of another unit
 * that were rolled back later.  If unit.unit.rc is not RC_OK, the caller must
 * therefore set unit.refusal before calling this. */
bool send_request_replayed(const struct send_request *r);

/* Appends the entry of a message that has just been accepted. */
void send_request_entry(const struct send_request *r, struct buf *b);

#endif
