/* SPDX-License-Identifier: MIT */
/*
 * Receiving: the envelopes of one request of another server, whose signature
 * holds, become rows here, in one transaction.
 *
 * The verb promises the other server:
 *  1. Once: an event is known by its origin and its id (processed_messages, in
 *     the same transaction); what is known is accepted again and does nothing.
 *  2. In order: envelopes of a sequence are taken in the order of their
 *     numbers, and behind one that is refused for now none of it is.
 *  3. A server speaks for its own people only, and only a message makes rows
 *     of people and conversations.
 *  4. A request is taken once: its nonce is noted in the same transaction.
 *  5. Nothing is taken from a peer that is blocked or gone by then: the keys
 *     that were compared before are those of a memory.
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

/* Messages that the receipts of one request may settle.  A receipt that covers
 * more counts so far as a receipt of its own, and is refused for now: the rest
 * of it follows when it is repeated.  One request must not hold up everybody's
 * commit. */
#define RECEIVE_WALK_ROWS 4000

/* The rows that an envelope makes. */
enum receive_plan {
	RECEIVE_NOTHING, /* it is refused, or was taken before */
	RECEIVE_KNOWN,   /* its message is here; the event is noted */
	RECEIVE_MESSAGE,
	RECEIVE_RECEIPT
};

/* What the store knows of an envelope. */
struct receive_known {
	bool processed;   /* the event was taken before */
	int64_t sequence; /* … at this place; 0: not known */
	bool in_inbox;    /* and its message is in the recipient's inbox */
	uint8_t fingerprint[STORE_FINGERPRINT_LEN]; /* … with this one */
	int64_t taken_by; /* the sender of a message with its id; 0: none */
	uint8_t taken_fingerprint[STORE_FINGERPRINT_LEN];
	/* Of its sequence (store/incoming.h). */
	int64_t last, highest, highest_at;
	struct store_target target; /* of a receipt; mid 0: none */
};

/* Rows that receipts cover: ${n} of them, of which the first ${next} were
 * taken. */
struct receive_covered {
	struct store_covered_row *rows;
	size_t n, cap, next;
};

struct receive_item {
	/* Answered, when unit.rc is RC_OK. */
	enum envelope_reason reason; /* ENVELOPE_NO_REASON: accepted */
	bool duplicate;              /* it was taken before */
	int64_t sequence; /* duplicate: its place then; 0: not said */

	/* The unit's own. */
	enum receive_plan plan;
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
	int64_t recipient_id, sender_id; /* 0: not known here */
	bool disabled;                   /* the recipient */
	struct receive_known known;
	bool makes; /* RECEIVE_MESSAGE: the conversation is new */
	/* Of a receipt: the message that it names and its number; a part of one
	 * that reaches too far names none.  It covers lane_id (0: none) up to
	 * place; alone: and the message, which stands elsewhere, perhaps;
	 * moved: it was given up or requeued, so that it may not be sent. */
	int64_t conversation_id, mid, upto;
	int64_t lane_id, place;
	bool alone, moved;
};

struct receive_unit {
	struct unit unit; /* first */

	/* Asked; all of it borrowed.  The signature holds. */
	const char *domain; /* of this server */
	const char *origin; /* the domain that has signed */
	int64_t origin_id;  /* of its destination */
	const char *key_id;
	/* The public key that has verified the signature: the transaction looks
	 * whether it still does.  NULL: it does (tests). */
	const uint8_t *public;
	const char *nonce;
	int64_t nonce_until; /* ms; store_nonce.keep_until */
	const struct envelope *envelopes;
	size_t n;              /* at most ENVELOPE_ITEMS */
	struct text **message; /* of each, rendered; NULL for others */
	bool full;             /* there is no room for messages */
	int64_t walk_most;     /* RECEIVE_WALK_ROWS, unless a test sets less */
	/* Conversations that may be made, each with one new person at most; a
	 * message that would make another is refused for now. */
	size_t new_most; /* SIZE_MAX: any number */

	/* Answered, when unit.rc is RC_OK. */
	bool repeated; /* the nonce was taken before: nothing was done */
	/* ${public} does not verify any more, or an operator has blocked the
	 * peer: nothing was done. */
	bool unknown, blocked;
	bool used; /* somebody of the peer was known here before */
	struct receive_item items[ENVELOPE_ITEMS];
	size_t went_back; /* sequences that went back: the peer was restored */
	size_t made;      /* conversations */
	void *arg;

	/* The unit's own. */
	struct store_origin signer;
	size_t order[ENVELOPE_ITEMS]; /* by sequence */
	int64_t walk_left;            /* of walk_most */
	struct store_incoming_handler handler;
	size_t came; /* where what is known of an event came last */
	size_t noted[ENVELOPE_ITEMS], nnoted; /* events that are taken */
	struct receive_covered covered;
	char names[ENVELOPE_ITEMS][LIMIT_NAME_LEN + 1]; /* recipients' */
	char keys[ENVELOPE_ITEMS][STORE_DIRECT_KEY_SIZE];
};

/* Makes ${u} a unit of work. */
void receive_unit_init(struct receive_unit *u);

#endif
