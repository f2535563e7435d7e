/* SPDX-License-Identifier: MIT */
/*
 * Sending a message.  One transaction adds the message row, its outbox row and,
 * unless the message is scheduled, the sender's own inbox row.  If the
 * transaction can deliver the message at once, it also adds the recipient's
 * inbox row; otherwise the relay delivers the message later.  A message to
 * oneself that is not scheduled needs no delivery: the sender's own inbox row
 * is its only one.  A message that its sender sends again with the same id,
 * recipient, content and options adds nothing and is answered as accepted; any
 * other use of an id that a message has is refused.
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
	/* Borrowed until finish.  If not NULL, a new message is refused with
	 * this refusal (the quota is used up, or the disk is nearly full).  A
	 * message that was accepted before is answered as accepted even so,
	 * because its sender may not know that it was accepted. */
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

	/* Set and used by the verb `send` only.  True: an earlier message of
	 * the same batch (one transaction) has the same id, so the verb looks
	 * the id up in the store, even if no message has the id according to
	 * the cache. */
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

/* Fills the input of ${u}, except message and refuse_new, for a message from
 * ${sender_id}: keeps the pointer ${draft} (the caller has given the draft an
 * id), writes the recipient to ${u}->to (NAME on this server, NAME@DOMAIN on
 * another, "" if ${draft} names a conversation), and computes the fingerprint.
 * Removes the content type from ${draft} if it is the default one, so that a
 * message has the same fingerprint with and without it.  Returns false, with a
 * refusal in ${u}->refusal, if the address is not valid or ${where} does not
 * accept its domain. */
bool send_unit_ask(struct send_unit *u, int64_t sender_id,
    struct message_draft *draft, const struct addressing *where);

/* The outbox entry of a message that ${u} has just accepted (not of one that
 * was accepted before), as the store has it after the commit of ${u}.
 * send_unit_view() fills ${ret} without a read of the store.  The pointers in
 * ${ret} lead into ${u}, its draft and ${ret} itself, so ${ret} must not be
 * copied, and is valid only as long as ${u} and the draft. */
struct send_view {
	struct entry_view entry;
	struct destination_view destination;
	char content_type[LIMIT_CONTENT_TYPE_LEN + 1];
	char correlation_id[LIMIT_CORRELATION_ID_LEN + 1];
};
void send_unit_view(const struct send_unit *u, struct send_view *ret);

/* Sets ${ret} to a hash of the recipient (${to}, or the conversation that
 * ${draft} names; then ${to} is "") and of the content and options of ${draft},
 * without its id and key.  A message that has the id of an accepted message and
 * another fingerprint is refused. */
void send_fingerprint(const struct message_draft *draft, const char *to,
    uint8_t ret[STORE_FINGERPRINT_LEN]);

/* Returns the message id for an Idempotency-Key (${n} bytes at ${key}) of
 * ${sender_id}.  The id is a hash of both: the same key of the same sender
 * always gives the same id, and nothing is stored or looked up. */
struct uuid send_id_of_key(int64_t sender_id, const char *key, size_t n);

#endif
