/* SPDX-License-Identifier: MIT */
/*
 * Sending: message row, outbox row and the sender's own inbox copy in one
 * transaction.  Idempotent by the message id.
 */
#ifndef CHAT_SEND_H
#define CHAT_SEND_H

#include "base/text.h"
#include "model/message.h"
#include "model/outbox.h"
#include "model/refusal.h"
#include "store/message.h"
#include "txn/env.h"

struct send_unit {
	struct unit unit; /* first */

	/* Asked; all of it stays valid until finish. */
	int64_t sender_id;
	const struct message_draft *draft; /* with an id */
	/* A name, or name@domain on another server; "": a conversation. */
	char to[LIMIT_ADDRESS_LEN + 1];
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	struct text *message; /* the rendered part, for push; borrowed */
	/* A new message is refused with this; one that was accepted before is
	 * answered all the same, since its sender may not know.  NULL: a new
	 * one is accepted. */
	const struct refusal *refuse_new;

	/* Answered, when unit.rc is RC_OK. */
	struct refusal refusal; /* problem NONE: accepted or replayed */
	bool replayed;          /* the store has the current entry */
	int64_t mid;
	struct uuid conversation;
	int64_t conversation_seq; /* 0: scheduled */
	char recipient[LIMIT_ADDRESS_LEN + 1];
	bool remote;    /* its recipient is on another server */
	bool to_self;   /* a note to oneself, not for later: acked at once */
	bool delivered; /* it is in the recipient's inbox, too */
	int64_t created_at;
	int64_t deliver_at;
	int64_t expires_at;
	int max_retries; /* of the profile that the server runs with */

	bool repeated; /* the batch has another with its id; the verb's own */

	/* Called once; owns the unit again.  Thread: as unit_kind.done. */
	void *arg;
};

/* What a send holds in memory beside its text and metadata. */
#define SEND_UNIT_BYTES 1024

/* Makes ${u} a unit of work; the asked members are the caller's to fill. */
void send_unit_init(struct send_unit *u);

/* Whose addresses are taken. */
struct addressing {
	const char *domain; /* the local one */
	/* Whether people of another domain are reached; NULL: of none. */
	bool (*reaches)(void *arg, const char *domain);
	void *arg;
};

/* Fills what ${u} asks from ${draft} (kept, with an id) by ${sender_id}: the
 * recipient's name and the fingerprint; the default content type is made the
 * same as none, so that saying it makes no other message.  An address that
 * no carrier reaches is refused: then ${u}->refusal says so and the result is
 * false. */
bool send_unit_ask(struct send_unit *u, int64_t sender_id,
    struct message_draft *draft, const struct addressing *where);

/* The entry of a message that was just accepted, as the store has it.  The
 * views borrow from ${u}, its draft and ${ret} itself. */
struct send_view {
	struct entry_view entry;
	struct destination_view destination;
	char content_type[LIMIT_CONTENT_TYPE_LEN + 1];
	char correlation_id[LIMIT_CORRELATION_ID_LEN + 1];
};
void send_unit_view(const struct send_unit *u, struct send_view *ret);

/* The content of ${draft} to ${to}, hashed: what must be the same under the
 * same id. */
void send_fingerprint(const struct message_draft *draft, const char *to,
    uint8_t ret[STORE_FINGERPRINT_LEN]);

/* The message id for an Idempotency-Key of ${n} bytes of ${sender_id}. */
struct uuid send_id_of_key(int64_t sender_id, const char *key, size_t n);

#endif
