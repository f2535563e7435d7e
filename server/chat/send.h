/* SPDX-License-Identifier: MIT */
/*
 * Sending: adds the message row, the outbox row and, unless the message is
 * scheduled, the sender's own inbox copy in one transaction.  Sending is
 * idempotent by the message id.
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

	/* Input; must stay valid until finish. */
	int64_t sender_id;
	const struct message_draft *draft; /* with an id */
	/* The recipient's name, or name@domain on another server; "": the
	 * message goes to draft->conversation. */
	char to[LIMIT_ADDRESS_LEN + 1];
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	struct text *message; /* rendered for push; borrowed */
	/* The refusal for a new message, or NULL.  A message that was accepted
	 * before is answered anyway, because its sender may not know that it
	 * was accepted. */
	const struct refusal *refuse_new;

	/* Output, valid when unit.rc is RC_OK. */
	struct refusal refusal; /* PROBLEM_NONE: accepted or replayed */
	/* accepted before: read the entry from the store */
	bool replayed;
	int64_t mid;
	struct uuid conversation;
	int64_t conversation_seq; /* 0: scheduled */
	char recipient[LIMIT_ADDRESS_LEN + 1];
	bool remote;    /* the recipient is on another server */
	bool to_self;   /* to oneself and not scheduled: acked at once */
	bool delivered; /* it is in the recipient's inbox already */
	int64_t created_at;
	int64_t deliver_at;
	int64_t expires_at;
	int max_retries; /* of the server's retry profile */

	/* For the verb only: an earlier unit of the batch has the same message
	 * id. */
	bool repeated;

	/* The caller's, for its finish function. */
	void *arg;
};

/* Approximate memory of a send in bytes, without its text and metadata. */
#define SEND_UNIT_BYTES 1024

/* Makes ${u} a unit of work.  The caller fills in the input. */
void send_unit_init(struct send_unit *u);

/* Which addresses are accepted. */
struct addressing {
	const char *domain; /* the domain of this server */
	/* Returns true if messages to ${domain} are accepted.  NULL: no other
	 * domain is. */
	bool (*reaches)(void *arg, const char *domain);
	void *arg;
};

/* Fills the input of ${u} for a message from ${sender_id}: ${draft} (kept; must
 * have an id), the recipient's address and the fingerprint.  Removes the
 * content type from ${draft} if it is the default one, so that a message has
 * the same fingerprint with and without it.  Returns false, with a refusal in
 * ${u}->refusal, if the address is not valid or its domain is not accepted. */
bool send_unit_ask(struct send_unit *u, int64_t sender_id,
    struct message_draft *draft, const struct addressing *where);

/* The outbox entry of a message that was just accepted, equal to what the store
 * has.  The views borrow from ${u}, its draft and ${ret} itself. */
struct send_view {
	struct entry_view entry;
	struct destination_view destination;
	char content_type[LIMIT_CONTENT_TYPE_LEN + 1];
	char correlation_id[LIMIT_CORRELATION_ID_LEN + 1];
};
void send_unit_view(const struct send_unit *u, struct send_view *ret);

/* Hashes the content of ${draft} and the recipient ${to}.  A message that is
 * sent again with the same id must have the same fingerprint. */
void send_fingerprint(const struct message_draft *draft, const char *to,
    uint8_t ret[STORE_FINGERPRINT_LEN]);

/* Returns the message id that belongs to an Idempotency-Key (${n} bytes at
 * ${key}) of ${sender_id}.  The same key of the same sender always gives the
 * same id. */
struct uuid send_id_of_key(int64_t sender_id, const char *key, size_t n);

#endif
