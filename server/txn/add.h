/* SPDX-License-Identifier: MIT */
/*
 * Rows that transactions add: to the outbox (add_outbox.c), to inboxes
 * (add_inbox.c), and receipts (add_receipt.c).
 * Thread: writer.
 */
#ifndef TXN_ADD_H
#define TXN_ADD_H

#include "txn/cache.h"

/* An outbox row about to be written. */
struct outbox_new {
	struct uuid event_id;
	int kind;
	int64_t mid;
	struct cached_conversation *conversation;
	int64_t conversation_seq; /* 0: not released */
	int64_t sender_id;
	struct cached_lane *lane; /* NULL: born acked */
	struct cached_user *dest;
	int priority;
	int64_t deliver_at; /* 0: now */
	int64_t expires_at; /* 0: never */
	int64_t event_time;
	bool at_once; /* this transaction delivers it (local.h) */
};

/* Adds an outbox row at the end of its lane and wakes the lane, or with at_once
 * as sent, with deliver_at as scheduled, without lane as acked.  ${event_id}
 * must stay valid until the set is written.  ${ret_id}: its internal id. */
enum rc txn_add_outbox(struct tx *tx, const struct outbox_new *o,
    const struct uuid *event_id, int64_t *ret_id, struct err *err) MUST_USE;

/* An inbox row about to be written. */
struct inbox_new {
	struct cached_user *user;
	int kind;
	bool own;
	const struct uuid *event_id; /* valid until txn_write_inbox() */
	int64_t origin; /* the server that made the event; 0: this one */
	int64_t mid;
	struct cached_conversation *conversation;
	int64_t conversation_seq;
	struct cached_user *actor;
	int64_t outbox_id; /* 0: none */
	int64_t event_time;
	int attempt;
	int reason;                    /* of a bounce: enum outbox_reason */
	const struct uuid *message_id; /* what it is about, for the effects */
	struct text *message;          /* rendered part or NULL; borrowed */
};

/* Adds an event to an inbox, and to the effects. */
enum rc txn_add_inbox(
    struct tx *tx, const struct inbox_new *i, struct err *err) MUST_USE;

/* Writes what was added: at once, or, where others write as well, only when all
 * else is written. */
enum rc txn_write_inbox(struct tx *tx, struct err *err) MUST_USE;
enum rc txn_flush_inbox(struct tx *tx, struct err *err) MUST_USE;

/* Who looks for what is in the inbox of ${user_id} from a conversation finds
 * all of it. */
enum rc txn_flush_inbox_of(struct tx *tx, int64_t user_id,
    int64_t conversation_id, struct err *err) MUST_USE;

/* A receipt: ${by} has (or has read) everything of ${to} up to a message. */
struct receipt_new {
	int kind; /* EVENT_DELIVERED, EVENT_READ */
	struct cached_conversation *conversation;
	struct cached_user *by, *to;
	int64_t mid;  /* the last message that it covers */
	int64_t upto; /* its conversation_seq */
};

/* Adds a receipt: one pending row a lane moves on instead of a second.  Where
 * it can be delivered at once it is kept until txn_write_receipts(), so that
 * several of one batch become one event. */
enum rc txn_add_receipt(
    struct tx *tx, const struct receipt_new *r, struct err *err) MUST_USE;

/* Adds the receipts that are kept, as sent if they can still be delivered at
 * once, and delivers them. */
enum rc txn_write_receipts(struct tx *tx, struct err *err) MUST_USE;

#endif
