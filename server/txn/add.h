/* SPDX-License-Identifier: MIT */
/*
 * Adds the rows that verbs create: outbox rows (add_outbox.c), inbox events
 * (add_inbox.c) and receipts (add_receipt.c).  Rows are gathered in buffers of
 * the environment and written by one statement for many of them.  When a buffer
 * is full, its rows are written before one more is added (but see
 * number_event() in add_inbox.c).  A verb writes the remaining outbox rows
 * (store_rows_write()) before it ends.
 * Thread: writer, in a transaction.
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
	int64_t conversation_seq; /* 0 until the message is released */
	int64_t sender_id;
	struct cached_lane *lane; /* NULL: the row is added as acked */
	struct cached_user *dest;
	int priority;
	int64_t deliver_at; /* 0: now */
	int64_t expires_at; /* 0: never */
	int64_t event_time;
	bool at_once; /* this transaction delivers it (local.h) */
};

/* Adds an outbox row.  The new row is
 * - acked, if ${o->lane} is NULL;
 * - pending without a place in its lane, if ${o->deliver_at} is set
 *   (scheduled);
 * - sent, at the end of its lane, if ${o->at_once} is set: the caller delivers
 *   it;
 * - otherwise pending at the end of its lane, which is woken.
 * The row is gathered for the next write, so ${event_id} must stay valid until
 * then.  Sets *ret_id to the row's internal id. */
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
	int reason; /* of a bounce: enum outbox_reason */
	/* the message that the event is about; used for the effects */
	const struct uuid *message_id;
	/* rendered for clients, or NULL; borrowed */
	struct text *message;
};

/* Adds an event to an inbox and to the effects of the transaction.  On a
 * multi-writer database the event gets its seq only in txn_flush_inbox(). */
enum rc txn_add_inbox(
    struct tx *tx, const struct inbox_new *i, struct err *err) MUST_USE;

/* txn_write_inbox() writes the gathered inbox rows, unless the database is
 * multi-writer.  There it does nothing, and txn_flush_inbox() locks the
 * inboxes, numbers the events and writes the rows.  txn_flush_inbox() is the
 * last step of a transaction, because other nodes wait for these locks until
 * the commit.  RC_BUSY: see cache_lock_inboxes(). */
enum rc txn_write_inbox(struct tx *tx, struct err *err) MUST_USE;
enum rc txn_flush_inbox(struct tx *tx, struct err *err) MUST_USE;

/* Writes all gathered inbox rows, as txn_flush_inbox() does, if any of them is
 * an event of conversation ${conversation_id} in the inbox of ${user_id}.  Call
 * it before a query that must see these events. */
enum rc txn_flush_inbox_of(struct tx *tx, int64_t user_id,
    int64_t conversation_id, struct err *err) MUST_USE;

/* A receipt: in ${conversation}, user ${by} has received (or read) all messages
 * of user ${to} up to the message ${mid}. */
struct receipt_new {
	int kind; /* EVENT_DELIVERED or EVENT_READ */
	struct cached_conversation *conversation;
	struct cached_user *by, *to;
	int64_t mid;  /* the last message that it covers */
	int64_t upto; /* conversation_seq of ${mid} */
};

/* Adds a receipt.  If a receipt of the same kind and user is already pending in
 * the lane, its row is updated instead of adding a second one.  A receipt that
 * this transaction can deliver is only remembered until txn_write_receipts(),
 * so that several receipts of one batch become one event. */
enum rc txn_add_receipt(
    struct tx *tx, const struct receipt_new *r, struct err *err) MUST_USE;

/* Adds the receipts that txn_add_receipt() has remembered.  They are delivered
 * by this transaction if that is still possible, and are left to the relay
 * otherwise. */
enum rc txn_write_receipts(struct tx *tx, struct err *err) MUST_USE;

#endif
