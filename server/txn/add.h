/* SPDX-License-Identifier: MIT */
/*
 * Adds the rows that verbs (the operations of a transaction, such as send, ack
 * or settle) create: outbox rows (add_outbox.c), inbox events (add_inbox.c) and
 * receipts (add_receipt.c).  Rows are gathered in buffers of struct txn_env and
 * written together (store/rows.h).  When a buffer is full, its rows are written
 * before one more is added; only the buffer of inbox rows on a multi-writer
 * database is enlarged instead.  Before a verb ends, it writes the remaining
 * outbox rows (store_rows_write()) and calls txn_write_inbox().
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

/* Adds an outbox row, and sets *ret_id to its internal id.  The new row is
 * - acked, if ${o->lane} is NULL;
 * - pending without a place in its lane, if ${o->deliver_at} is set
 *   (scheduled);
 * - sent, at the end of its lane, if ${o->at_once} is set: the caller must then
 *   deliver it in this transaction (txn_local_deliver());
 * - otherwise pending at the end of its lane; the relay is woken for the lane
 *   after the commit.
 * The row is only gathered: the memory at ${event_id} must stay valid until
 * env->outbox is written (store_rows_write()).  If the row is a message, also
 * counts it in the backlog. */
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

/* Adds an event to an inbox and to the effects of the transaction, which are
 * published after the commit.  The inbox row is only gathered: the caller must
 * call txn_write_inbox() before the verb ends.  On a single-writer database the
 * event gets its seq in this call; on a multi-writer database it gets its seq
 * in txn_flush_inbox() or txn_flush_inbox_of(). */
enum rc txn_add_inbox(
    struct tx *tx, const struct inbox_new *i, struct err *err) MUST_USE;

/* Write the gathered inbox rows.  A verb calls txn_write_inbox() after it has
 * added events; on a multi-writer database this call does nothing, and
 * txn_flush_inbox() does the work: it locks the inboxes, numbers the events and
 * writes the rows.  txn_flush_inbox() is the last step of each transaction,
 * because other nodes wait for these locks until the commit; on a single-writer
 * database it finds no rows and does nothing.  RC_BUSY: another transaction has
 * locked one of the inboxes (cache_lock_inboxes()). */
enum rc txn_write_inbox(struct tx *tx, struct err *err) MUST_USE;
enum rc txn_flush_inbox(struct tx *tx, struct err *err) MUST_USE;

/* Writes all gathered inbox rows, as txn_flush_inbox() does, if any of them is
 * an event of conversation ${conversation_id} in the inbox of ${user_id};
 * otherwise writes none.  Must be called before a query that must see these
 * events on a multi-writer database; on a single-writer database they have been
 * written by txn_write_inbox(). */
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

/* Adds a receipt to the lane of ${r->conversation} to ${r->to}.  If this
 * transaction can deliver the receipt (txn_local_at_once()), the lane only
 * remembers it in memory.  A later receipt of the same kind by the same user
 * replaces it, so that several receipts of one batch become one event.  The
 * remembered receipt is added when a receipt of the same kind by another user
 * comes, at the latest by txn_write_receipts().  If this transaction cannot
 * deliver the receipt, this call adds a row for the relay or, if
 * store_receipt_pending() finds a pending receipt of the same kind and user in
 * the lane, updates the row of that receipt. */
enum rc txn_add_receipt(
    struct tx *tx, const struct receipt_new *r, struct err *err) MUST_USE;

/* Adds the receipts that txn_add_receipt() has remembered, and writes their
 * rows.  Called at the end of each transaction.  This transaction delivers the
 * receipts; those for which this is no longer possible, for example because an
 * operator has paused deliveries since, are left to the relay. */
enum rc txn_write_receipts(struct tx *tx, struct err *err) MUST_USE;

#endif
