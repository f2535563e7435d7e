/* SPDX-License-Identifier: MIT */
/*
 * The lifecycle of an outbox row: states, allowed moves, and the views of rows
 * that the API shows.
 *
 *	pending --claimed--> sending
 *	pending --delivered here, in one transaction--> sent
 *	pending --canceled by its sender, or its sender is disabled--> canceled
 *	pending --its time is over--> expired
 *	pending --poison, rejected, discarded, or retries used up--> failed
 *	sending --accepted--> sent
 *	sending --retry, deferral or lost lease--> pending
 *	sending --rejected, or retries used up--> failed
 *	sent --acked by its recipient--> acked
 *	sent --"later", and then no ack in time, or a rejection--> pending
 *	failed, expired --requeued--> pending
 *
 *	pending  waits for the relay: for its turn in its lane, for its
 *	         destination, or for its next attempt
 *	sending  waits for the answer of another server, under a lease
 *	sent     waits for its recipient, however long that takes
 *
 * A lane is the queue of the rows of one conversation to one recipient.  Poison
 * is a row whose deliveries have broken off again and again.  A new row is
 * pending (a scheduled one waits for its deliver_at before it gets its place in
 * the lane); or sent, if the transaction that adds it delivers it
 * (model/delivery_turn.h); or acked, if its sender is its recipient and it is
 * not scheduled.  "Later" is an answer of another server, which then sends the
 * ack in a request of its own; a rejection there makes the row pending and, in
 * the same transaction, failed.
 *
 * A test (unit/test_state_drawing) compares this drawing with the table of
 * moves.
 */
#ifndef MODEL_OUTBOX_H
#define MODEL_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"
#include "model/event.h"

/* X(id, name, terminal), in order of progress */
#define OUTBOX_STATE_TABLE(X)                                                  \
	X(OUTBOX_PENDING, "pending", false)                                    \
	X(OUTBOX_SENDING, "sending", false)                                    \
	X(OUTBOX_SENT, "sent", false)                                          \
	X(OUTBOX_ACKED, "acked", true)                                         \
	X(OUTBOX_FAILED, "failed", true)                                       \
	X(OUTBOX_EXPIRED, "expired", true)                                     \
	X(OUTBOX_CANCELED, "canceled", true)

enum outbox_state {
#define X(id, name, terminal) id,
	OUTBOX_STATE_TABLE(X)
#undef X
	    OUTBOX_STATE_COUNT
};

/* X(from, to, why) */
#define OUTBOX_MOVE_TABLE(X)                                                   \
	X(OUTBOX_PENDING, OUTBOX_SENDING, "claimed")                           \
	X(OUTBOX_PENDING, OUTBOX_SENT, "delivered locally")                    \
	X(OUTBOX_PENDING, OUTBOX_CANCELED, "canceled by its sender")           \
	X(OUTBOX_PENDING, OUTBOX_EXPIRED, "expired")                           \
	X(OUTBOX_PENDING, OUTBOX_FAILED, "poison")                             \
	X(OUTBOX_SENDING, OUTBOX_SENT, "accepted")                             \
	X(OUTBOX_SENDING, OUTBOX_PENDING, "retry, deferral or lost lease")     \
	X(OUTBOX_SENDING, OUTBOX_FAILED, "rejected or retries used up")        \
	X(OUTBOX_SENT, OUTBOX_ACKED, "acked by its recipient")                 \
	X(OUTBOX_SENT, OUTBOX_PENDING,                                         \
	    "no answer from a peer that said later")                           \
	X(OUTBOX_FAILED, OUTBOX_PENDING, "requeued")                           \
	X(OUTBOX_EXPIRED, OUTBOX_PENDING, "requeued")

/* The reasons for which a row has failed or expired, each with a word for the
 * database and a sentence for the sender.  X(id, word, sentence) */
#define OUTBOX_REASON_TABLE(X)                                                 \
	X(REASON_MAX_RETRIES, "max_retries",                                   \
	    "it was refused again and again, until its retries were used up")  \
	X(REASON_REJECTED, "rejected", "its destination rejected it for good") \
	X(REASON_TOO_LARGE, "too_large",                                       \
	    "it is larger than its destination takes")                         \
	X(REASON_POISON, "poison",                                             \
	    "each attempt to deliver it broke off, so it was taken out")       \
	X(REASON_EXPIRED, "expired",                                           \
	    "it could not be delivered before it expired")                     \
	X(REASON_DISCARDED, "discarded", "an operator discarded it")

enum outbox_reason {
#define X(id, word, sentence) id,
	OUTBOX_REASON_TABLE(X)
#undef X
	    OUTBOX_REASONS
};

/* outbox_reason_word() and outbox_reason_text() return the word and the
 * sentence of ${reason}.  outbox_reason_parse() returns the reason of ${word},
 * -1 if there is none. */
const char *outbox_reason_word(enum outbox_reason reason);
const char *outbox_reason_text(enum outbox_reason reason);
int outbox_reason_parse(const char *word);

/* Sets two members of ${ret}, the view of a bounce: state, to OUTBOX_EXPIRED
 * for REASON_EXPIRED, else to OUTBOX_FAILED; and reason, to the sentence of
 * ${reason} (an enum outbox_reason).  An unknown reason counts as
 * REASON_REJECTED. */
void outbox_bounce_view(struct event_view *ret, int reason);

/* Returns the name of ${state} ("pending"), which the database stores; NULL if
 * it is not a state. */
const char *outbox_state_name(int state);

/* Returns the state called ${name}, -1 if there is none. */
int outbox_state_parse(const char *name);

/* Returns true if the only way out of ${state} is a requeue, or if there is no
 * way out. */
bool outbox_state_terminal(int state);

/* Returns true if the table lists the move ${from} -> ${to}. */
bool outbox_move_allowed(int from, int to);

/* Returns the state of an entry from the states of its ${n} >= 1 destinations:
 * the least advanced state of those that have not failed, expired or been
 * canceled.  If all have, the state is failed if one has failed, else expired
 * if one has expired, else canceled. */
int outbox_entry_state(const int *destination_states, int n);

/* A destination of an entry. */
struct destination_view {
	const char *address;
	int state;
	int attempts;
	int retry_count;
	int64_t last_attempt_at;
	int64_t last_status_at;
	int64_t next_retry_at;
	int64_t sent_at;
	int64_t acked_at;
	int64_t read_at;
	const char *last_error;
};

/* An outbox entry, ready to be shown: one message and its destinations.  A time
 * is 0 if there is none.  Strings and ${destinations} are borrowed: a callback
 * that gets the view may use them until it returns. */
struct entry_view {
	const char *event_type;
	struct uuid conversation;
	int64_t conversation_seq; /* 0: not released yet */
	const char *to;           /* NULL in groups */
	int priority;
	int max_retries;
	int64_t event_time;
	int64_t created_at;
	int64_t deliver_at;
	int64_t expires_at;
	struct message_view message; /* its body is not shown */
	const struct destination_view *destinations;
	int ndestinations;
};

#endif
