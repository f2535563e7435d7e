/* SPDX-License-Identifier: MIT */
/*
 * The verb `receive`: writes the envelopes of one request of another server to
 * the database of this server in one transaction.  The caller has verified the
 * signature of the request.
 *
 * The verb promises the other server:
 * 1. Once: an event is identified by its origin and its id (processed_messages,
 *    written in the same transaction).  An event that was accepted before is
 *    answered as an accepted duplicate and has no effect, unless it carries
 *    another message than the one in the inbox: then it is rejected.
 * 2. In order: the envelopes of a sequence (messages, or receipts, from one
 *    user to another) in one request are accepted in the order of their
 *    numbers.  If one is refused for now, no new envelope of the same sequence
 *    behind it in this order is accepted.  The numbers of a later request are
 *    accepted even if they are lower than those of an earlier request, as after
 *    a restore of the other server.
 * 3. A server can send only for its own users, and only messages add rows of
 *    users and conversations.
 * 4. A request has an effect only once: its nonce is recorded in the same
 *    transaction, and another request with this nonce is refused as a whole.
 * 5. Nothing is accepted from a peer (another server) that an operator has
 *    blocked or that was deleted from the table of peers.  The transaction
 *    checks this itself, because the key that verified the signature came from
 *    a cache, which may be out of date.
 *
 * The verb decides which envelopes it accepts before it writes the first row.
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

/* Maximum number of places that the receipts of one request may cover together,
 * so that one request does not delay the commit for all others.  A place is the
 * number (lane_seq) of an outbox row in its lane, the queue of one conversation
 * to one recipient.  If a receipt covers more than the rest of this limit, the
 * messages up to the limit become acked, but not read even if it is a `read`
 * receipt.  The receipt is answered "busy": the other server repeats it, and
 * the rest follows then. */
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
	/* Of a receipt: ${mid} is the message that the receipt names, and
	 * ${upto} is the conversation_seq of that message.  If a message that
	 * the receipt covers has a higher conversation_seq, applying the
	 * receipt replaces ${mid} and ${upto} by those of the covered message
	 * with the highest one.  ${lane_id} is the lane (a queue of outbox
	 * rows) of the named message; 0: the message has no outbox row.  The
	 * receipt covers the rows of this lane up to the lane_seq ${place}.
	 * ${alone}: the receipt also covers the named message itself, whose
	 * lane_seq may be above ${place}.  ${moved}: the named message was
	 * given up or requeued, so its outbox row may be in another state than
	 * sent.  If the receipt is applied only up to the limit
	 * (RECEIVE_WALK_ROWS), ${mid} and ${upto} begin at 0, and ${alone} and
	 * ${moved} are false. */
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
	 * that this key is still valid and that the peer is not blocked.  NULL
	 * (tests): neither is checked, and ${unknown}, ${blocked} and ${used}
	 * stay false. */
	const uint8_t *public;
	const char *nonce;
	int64_t nonce_until; /* ms; store_nonce.keep_until */
	const struct envelope *envelopes;
	size_t n; /* at most ENVELOPE_ITEMS */
	/* of each message, rendered; NULL for receipts */
	struct text **message;
	bool full;         /* there is no room for new messages */
	int64_t walk_most; /* RECEIVE_WALK_ROWS, unless a test sets less */
	/* Maximum number of conversations that this request may add, each with
	 * at most one new user.  A message that would add one more is refused
	 * for now. */
	size_t new_most; /* SIZE_MAX: any number */

	/* Output, valid when unit.rc is RC_OK. */
	bool repeated; /* the nonce is known: nothing was done */
	/* If one of them is true, nothing was done.  ${blocked}: an operator
	 * has blocked the peer.  ${unknown}: the peer is not blocked, but
	 * ${public} is not a valid key of the peer any more, or the peer was
	 * deleted from the table of peers. */
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
