/* SPDX-License-Identifier: MIT */
/*
 * The totals of the outbox, and how much waits by sender and destination.
 *
 * The totals are a row that each transaction adds its differences to.  What
 * waits is counted in memory, from the store at the start; what an abandoned
 * transaction changed is taken back, or all is counted anew.  Where other nodes
 * write as well, theirs is counted only now and then: a limit may be passed by
 * what they accept meanwhile.  Both are of
 * messages only: receipts and bounces are never refused for want of room.
 * Thread: writer.
 */
#ifndef TXN_BACKLOG_H
#define TXN_BACKLOG_H

#include "engine/writer.h"
#include "store/totals.h"

struct backlog;

/* An empty backlog; NULL: no memory. */
struct backlog *backlog_new(void);
void backlog_free(struct backlog *b);

/* A transaction begins: counts what waits if that is not known. */
enum rc backlog_begin(
    struct backlog *b, struct tx *tx, struct err *err) MUST_USE;

/* Writes the differences. */
enum rc backlog_flush(
    struct backlog *b, struct tx *tx, struct err *err) MUST_USE;

/* The transaction was abandoned. */
void backlog_abort(struct backlog *b);

/* ${n} more (or less) of ${total}. */
void backlog_add(struct backlog *b, enum store_total total, int64_t n);

/* A message of ${kind} moves between states (enum outbox_state; -1: it was not
 * there).  Other kinds are not counted. */
void backlog_move(struct backlog *b, int kind, int from, int to);

/* Who sends where. */
struct backlog_key {
	int64_t sender_id;
	int64_t destination_id;
};

/* ${n} more (or fewer) messages of ${key} wait. */
enum rc backlog_wait(struct backlog *b, const struct backlog_key *key,
    int64_t n, struct err *err) MUST_USE;

/* How many wait: of a sender, for a destination, in all. */
int64_t backlog_of_sender(const struct backlog *b, int64_t sender_id);
int64_t backlog_of_destination(const struct backlog *b, int64_t destination_id);
int64_t backlog_waiting(const struct backlog *b);

#endif
