/* SPDX-License-Identifier: MIT */
/*
 * The totals of the outbox, and the number of waiting messages by sender and by
 * destination.  A message waits while it has a place in its lane and is pending
 * or sending.  The waiting messages and the totals of the states count messages
 * only: receipts and bounces are never refused for lack of room.
 *
 * The totals are one row (on PostgreSQL one for each node), to which each
 * transaction adds its differences.  The waiting messages are counted in
 * memory, starting from a count of the store.  When a transaction is abandoned,
 * its changes are undone, or, if that is not possible, the next transaction
 * counts the store again.
 *
 * On a multi-writer database the messages that other nodes accept or deliver
 * change the waiting messages in memory only when the store is counted again
 * (every 30 s or less often, see backlog.c).  In between, a limit on waiting
 * messages may be exceeded by what other nodes accept, or be reached too early
 * because messages that other nodes have delivered still count.
 * Thread: writer.
 */
#ifndef TXN_BACKLOG_H
#define TXN_BACKLOG_H

#include "engine/writer.h"
#include "store/totals.h"

struct backlog;

/* Returns an empty backlog, or NULL if there is no memory. */
struct backlog *backlog_new(void);
void backlog_free(struct backlog *b);

/* Called at the beginning of a transaction.  Counts the waiting messages in the
 * store if the counts in memory are not known to be right, if they are due to
 * be counted again (multi-writer), or if there are many senders in memory, of
 * which those without waiting messages are dropped in this way. */
enum rc backlog_begin(
    struct backlog *b, struct tx *tx, struct err *err) MUST_USE;

/* Adds the differences of this transaction to the totals row. */
enum rc backlog_flush(
    struct backlog *b, struct tx *tx, struct err *err) MUST_USE;

/* Undoes what the abandoned transaction has changed. */
void backlog_abort(struct backlog *b);

/* Adds ${n}, which may be negative, to ${total}. */
void backlog_add(struct backlog *b, enum store_total total, int64_t n);

/* Counts in the totals the move of a row of ${kind} from state ${from} to state
 * ${to} (enum outbox_state).  ${from} is -1 for a new row that this transaction
 * delivers, and for a scheduled message that is canceled, which the caller
 * subtracts from TOTAL_SCHEDULED.  Rows that are not messages are not counted.
 */
void backlog_move(struct backlog *b, int kind, int from, int to);

/* A sender and the destination that it sends to. */
struct backlog_key {
	int64_t sender_id;
	int64_t destination_id;
};

/* Adds ${n}, which may be negative, to the number of waiting messages of
 * ${key}. */
enum rc backlog_wait(struct backlog *b, const struct backlog_key *key,
    int64_t n, struct err *err) MUST_USE;

/* Return the number of waiting messages of a sender, for a destination, and in
 * total. */
int64_t backlog_of_sender(const struct backlog *b, int64_t sender_id);
int64_t backlog_of_destination(const struct backlog *b, int64_t destination_id);
int64_t backlog_waiting(const struct backlog *b);

#endif
