/* SPDX-License-Identifier: MIT */
/*
 * Receiving: the envelopes of one request of another server, whose signature
 * has been verified, become rows here in one transaction.
 *
 * The verb promises the other server:
 * 1. Once: an event is identified by its origin and its id (processed_messages,
 *    written in the same transaction).  A known event is accepted again and has
 *    no effect.
 * 2. In order: the envelopes of a sequence (messages, or receipts, from one
 *    user to another) are accepted in the order of their numbers.  If one is
 *    refused for now, no new one behind it in the request is accepted.
 * 3. A server can send only for its own users, and only messages add rows of
 *    users and conversations.
 * 4. A request is accepted once: its nonce is recorded in the same transaction.
 * 5. Nothing is accepted from a peer that is blocked or forgotten.  The
 *    transaction checks this itself, because the key that verified the
 *    signature came from a cache.
 *
 * All envelopes are decided before the first row is written.
 */
#ifndef DELIVERY_RECEIVE_H
#define DELIVERY_RECEIVE_H

#include <stdbool.h>

#include "base/text.h"
#include "model/envelope.h"
#include "store/conversation.h"
#include "store/incoming.h"
#include "store/message.h"
#include "txn/env.h"

/* Maximum number of messages that the receipts of one request may settle, so
 * that one request does not delay the commit for all others.  A receipt that
 * covers more is applied up to the limit, as if it were a smaller receipt, and
 * is refused for now: the rest follows when the other server repeats it. */
#define RECEIVE_WALK_ROWS 4000

/* The rows that an envelope adds. */
enum receive_plan {
	RECEIVE_NOTHING, /* it is refused, or was accepted before */
	RECEIVE_KNOWN,   /* its message exists: only record the event */
	RECEIVE_MESSAGE,
	RECEIVE_RECEIPT
};

/* The stored facts about an envelope. */
struct receive_known {
	bool processed;   /* the event was accepted before */
	int64_t sequence; /* if processed: the lane_seq; 0: not known */
	bool in_inbox;    /* the event's message is in the recipient's inbox */
	/* if in_inbox: that of the message */
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	int64_t taken_by; /* sender of a message with the same id; 0: none */
	uint8_t taken_fingerprint[STORE_FINGERPRINT_LEN];
	/* The state of its sequence (store/incoming.h). */
	int64_t last, highest, highest_at;
	/* of a receipt; mid is 0 if there is none */
	struct store_target target;
};

/* The ${n} rows that receipts cover (receive_cover.c); the first ${next} are
 * processed. */
struct receive_covered {
	struct store_covered_row *rows;
	size_t n, cap, next;
};

struct receive_item {
	/* Output, valid when unit.rc is RC_OK. */
	enum envelope_reason reason; /* ENVELOPE_NO_REASON: accepted */
	bool duplicate;              /* it was accepted before */
	int64_t sequence; /* of a duplicate: its lane_seq; 0: not known */

	/* Internal. */
	enum receive_plan plan;
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	int64_t recipient_id, sender_id; /* 0: not known here */
	bool disabled;                   /* the recipient */
	struct receive_known known;
	bool makes; /* RECEIVE_MESSAGE: the conversation is new */
	/* Of a receipt: ${mid}, the message that it names, and ${upto}, the
	 * conversation_seq of that message.  Both are 0 for a receipt that is
	 * applied only up to the limit; writing it sets them to the newest
	 * message that it covers.  The receipt covers lane ${lane_id} (0: none)
	 * up to the lane_seq ${place}.  ${alone}: it also covers the named
	 * message itself, which may have another lane_seq.  ${moved}: the
	 * message was given up or requeued, so its row may be in another state
	 * than sent. */
	int64_t conversation_id, mid, upto;
	int64_t lane_id, place;
	bool alone, moved;
};

struct receive_unit {
	struct unit unit; /* first */

	/* Input, all of it borrowed.  The signature has been verified. */
	const char *domain; /* of this server */
	const char *origin; /* the domain that signed the request */
	int64_t origin_id;  /* its destination id */
	const char *key_id;
	/* The public key that verified the signature.  The transaction checks
	 * that it is still valid.  NULL: no check (tests). */
	const uint8_t *public;
	const char *nonce;
	int64_t nonce_until; /* ms; store_nonce.keep_until */
	const struct envelope *envelopes;
	size_t n; /* at most ENVELOPE_ITEMS */
	/* of each message, rendered; NULL for receipts */
	struct text **message;
	bool full;         /* there is no room for new messages */
	int64_t walk_most; /* RECEIVE_WALK_ROWS, unless a test sets less */
	/* Maximum number of new conversations, each with at most one new user.
	 * A message that needs one more is refused for now. */
	size_t new_most; /* SIZE_MAX: any number */

	/* Output, valid when unit.rc is RC_OK. */
	bool repeated; /* the nonce is known: nothing was done */
	/* ${public} is not valid any more, or an operator has blocked the peer:
	 * nothing was done. */
	bool unknown, blocked;
	bool used; /* a user of the peer was known here before */
	struct receive_item items[ENVELOPE_ITEMS];
	/* sequences that went back, as after a restore of the peer */
	size_t went_back;
	size_t made; /* new conversations */
	void *arg;

	/* Internal. */
	struct store_origin signer;
	size_t order[ENVELOPE_ITEMS]; /* sorted by sequence */
	int64_t walk_left;            /* of walk_most */
	struct store_incoming_handler handler;
	size_t came; /* where known_of() begins its search */
	size_t noted[ENVELOPE_ITEMS], nnoted; /* events that are accepted */
	struct receive_covered covered;
	/* names of the recipients */
	char names[ENVELOPE_ITEMS][LIMIT_NAME_LEN + 1];
	char keys[ENVELOPE_ITEMS][STORE_DIRECT_KEY_SIZE];
};

/* Makes ${u} a unit of work. */
void receive_unit_init(struct receive_unit *u);

#endif
