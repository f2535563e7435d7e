/* SPDX-License-Identifier: MIT */
/*
 * A client's message on its way from a draft to its outbox entry, the same for
 * REST and WebSocket.
 *
 * 1. send_request_prepare() makes the unit of work from the draft.
 * 2. send_request_admit() counts it in its sender's quota.  If the quota is
 *    used up, or the disk nearly full, it makes the unit refuse a new message.
 * 3. The caller sets unit.unit.finish and submits the unit to the writer.
 * 4. When the unit is finished, or was not accepted by the writer or not
 *    submitted, the caller calls send_request_done().
 * 5. After that, send_request_entry() appends the entry of a message that was
 *    just accepted to a buffer.  The entry of a message that was accepted
 *    before (send_request_replayed()) is read with entry_get().
 *
 * Thread: any, one at a time: the submitter's, then the one that calls
 * unit.unit.finish, then one to which finish hands the request.
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

/* Makes ${r}->unit, the unit of work with which the writer will store a message
 * by ${sender_id}: sets its message id, recipient and fingerprint, and renders
 * the part that clients get.  The caller has zeroed ${r} and filled in the
 * draft, which has passed model_draft_check().  If the result is not RC_OK,
 * ${refusal} is set and nothing needs to be released; the caller may then drop
 * the request, or set unit.refusal and go on with send_request_admit() and
 * send_request_done(), but must not submit the unit. */
enum rc send_request_prepare(struct send_request *r, struct send_gate *gate,
    int64_t sender_id, struct refusal *refusal) MUST_USE;

/* Adds the messages of the ${n} >= 1 requests at ${list}, all of one sender, to
 * the sender's usage of today: all or none.  If that would exceed the quota, or
 * the disk is nearly full, fills ${no_room} with the reason, and the unit of
 * each request will refuse its message for that reason, unless that message
 * was accepted before.  The units keep the pointer ${no_room} until they are
 * finished. */
void send_request_admit(
    struct send_request *list, size_t n, struct refusal *no_room);

/* Must be called once after send_request_admit(), when the unit is finished,
 * was not accepted by the writer, or will not be submitted; in the last two
 * cases the caller sets unit.unit.rc or unit.refusal first.  Releases the
 * rendered part.  If send_request_admit() has added the message to the sender's
 * usage, subtracts it again, unless the unit has accepted it as a new
 * message. */
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
