/* SPDX-License-Identifier: MIT */
/*
 * What the use cases share.  Only domain/ includes this.
 */
#ifndef TXN_VERB_H
#define TXN_VERB_H

#include "base/htab.h"
#include "model/event.h"
#include "model/message.h"
#include "model/refusal.h"
#include "store/message.h"
#include "store/remote.h"
#include "store/rows.h"
#include "txn/backlog.h"
#include "txn/cache.h"
#include "txn/contended.h"
#include "txn/env.h"

/* Rows gathered for one statement before it is run. */
#define BATCH_ROWS 512
/* Messages kept for the delivery and the receipt that soon follow. */
#define RECENT_SIZE 8192

/* When the clock is put forward by more than this, nothing expires for as long
 * as that. */
#define CLOCK_JUMP_MS 60000

/* Rows of lanes to inboxes here that are delivered together. */
#define CLAIMED_ROWS 2048

/* Rows that acks and reads of one batch walk at most: a person who comes back
 * to a full inbox must not hold up everybody's commit. */
#define WALK_ROWS 2000

struct recent {
	int64_t mid;
	struct uuid id;
	struct text *message; /* may be NULL */
};

struct domain {
	struct domain_options options;
	struct publisher publisher; /* does not change once started */
	bool started;
	struct writer_hooks hooks;
	struct uuid_gen ids;
	struct ledger *ledger;
	struct tally *tally;
	struct contended *contended;        /* rows that others hold for long */
	int64_t seen_wall_ms, seen_mono_ms; /* when the last one began */
	int64_t expiry_from_ms; /* monotonic: nothing expires before */
	struct news *news;      /* of the running transaction */
	struct wake *wake;
	struct recent recent[RECENT_SIZE];
	int64_t walk_left; /* rows that marks may still walk in this batch */
	struct store_rows messages, outbox, inbox, sent, acked;
	/* Values that rows of the running statement point to. */
	struct scratch {
		uint8_t salt[16];
		uint8_t digest[32];
		struct uuid event_id;
	} scratch[BATCH_ROWS];
	struct store_claimed claimed[CLAIMED_ROWS];
	struct htab *batch_ids; /* message ids seen in the running batch */
};

/* The domain behind a transaction. */
static inline struct domain *
domain_of(const struct tx *tx)
{

	return (tx->domain);
}

/* Makes news and wake-up for the running transaction if there are none. */
enum rc need_news(struct domain *d, struct err *err) MUST_USE;

/* A message was accepted, or (${replayed}) was accepted before: counted when
 * the transaction is on disk. */
enum rc count_accepted(struct tx *tx, bool replayed, struct err *err) MUST_USE;

/* Tells the sender of ${mid} what has happened to it. */
enum rc tell_change(struct tx *tx, int64_t sender_id, int64_t mid,
    enum outbox_event event, struct err *err) MUST_USE;

/* Whether the destination of ${lane} or the lane itself has work now: wakes
 * the relay. */
enum rc wake_lane(struct tx *tx, const struct ledger_lane *lane, int priority,
    struct err *err) MUST_USE;

/* Whether ${sender_id} may have one more waiting; if not, ${ret} says so. */
bool sender_has_room(
    struct domain *d, int64_t sender_id, struct refusal *ret) MUST_USE;

/* ${n} messages that were sent are acked now. */
static inline void
count_acked(struct domain *d, int64_t n)
{

	if (n == 0)
		return;
	tally_add(d->tally, TOTAL_SENT, -n);
	tally_add(d->tally, TOTAL_EVER_ACKED, n);
}

/* Whether what lives until ${expires_at} (0: for ever) has expired.  Nothing
 * does for a while after the clock was put forward: it may be put back. */
bool expired(const struct tx *tx, int64_t expires_at);

/* The next place at the end of ${lane}, which is ready then. */
int64_t lane_place(struct tx *tx, struct ledger_lane *lane, int priority);

/* ${row} waits in ${lane} no more and never left.  If the lane waited for the
 * row's next attempt, what stands behind the row may go now. */
enum rc lane_row_gone(struct tx *tx, struct ledger_lane *lane,
    const struct store_row *row, struct err *err) MUST_USE;

/* What waits in ${lane} by ${row}'s sender changes by ${n} messages. */
enum rc wait_add(struct tx *tx, const struct ledger_lane *lane,
    const struct store_row *row, int64_t n, struct err *err) MUST_USE;

/* An outbox row about to be written. */
struct outbox_new {
	struct uuid event_id;
	int kind;
	int64_t mid;
	struct ledger_conversation *conversation;
	int64_t conversation_seq; /* 0: not released */
	int64_t sender_id;
	struct ledger_lane *lane; /* NULL: born acked */
	struct ledger_user *dest;
	int priority;
	int64_t deliver_at; /* 0: now */
	int64_t expires_at; /* 0: never */
	int64_t event_time;
};

/* Adds an outbox row at the end of its lane and wakes the lane, or with
 * deliver_at as scheduled, or without lane as acked.  ${event_id} must stay
 * valid until the set is written.  ${ret_id}: its internal id. */
enum rc outbox_add(struct tx *tx, const struct outbox_new *o,
    const struct uuid *event_id, int64_t *ret_id, struct err *err) MUST_USE;

/* An inbox row about to be written. */
struct inbox_new {
	struct ledger_user *user;
	int kind;
	bool own;
	const struct uuid *event_id; /* valid until inbox_write() */
	int64_t mid;
	struct ledger_conversation *conversation;
	int64_t conversation_seq;
	struct ledger_user *actor;
	int64_t outbox_id; /* 0: none */
	int64_t event_time;
	int attempt;
	int reason;                    /* of a bounce: enum outbox_reason */
	const struct uuid *message_id; /* what it is about, for the news */
	struct text *message;          /* rendered part or NULL; borrowed */
};

/* Adds the event to an inbox and tells the news (inbox.c). */
enum rc inbox_add(
    struct tx *tx, const struct inbox_new *i, struct err *err) MUST_USE;

/* Writes what was added: at once, or, where others write as well, only when all
 * else is written. */
enum rc inbox_write(struct tx *tx, struct err *err) MUST_USE;
enum rc inbox_flush(struct tx *tx, struct err *err) MUST_USE;

/* Who looks for what is in the inbox of ${user_id} from a conversation finds
 * all of it. */
enum rc inbox_flush_of(struct tx *tx, int64_t user_id, int64_t conversation_id,
    struct err *err) MUST_USE;

/* Message ${mid} if it is still in memory (borrowed until the next is put). */
const struct recent *recent_find(struct domain *d, int64_t mid);

/* Keeps a message's id and its rendered part (may be NULL). */
void recent_put(
    struct domain *d, int64_t mid, const struct uuid *id, struct text *message);

/* A receipt: ${by} has (or has read) everything of ${to} up to a message. */
struct receipt_new {
	int kind; /* EVENT_DELIVERED, EVENT_READ */
	struct ledger_conversation *conversation;
	struct ledger_user *by, *to;
	int64_t mid;  /* the last message that it covers */
	int64_t upto; /* its conversation_seq */
};

/* Adds a receipt: one pending row a lane moves on instead of a second. */
enum rc receipt_add(
    struct tx *tx, const struct receipt_new *r, struct err *err) MUST_USE;

#endif
