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

struct tally;

/* An empty tally; NULL: no memory. */
struct tally *tally_new(void);
void tally_free(struct tally *t);

/* A transaction begins: counts what waits if that is not known. */
enum rc tally_begin(struct tally *t, struct tx *tx, struct err *err) MUST_USE;

/* Writes the differences. */
enum rc tally_flush(struct tally *t, struct tx *tx, struct err *err) MUST_USE;

/* The transaction was abandoned. */
void tally_abort(struct tally *t);

/* ${n} more (or less) of ${total}. */
void tally_add(struct tally *t, enum store_total total, int64_t n);

/* A message of ${kind} moves between states (enum outbox_state; -1: it was not
 * there).  Other kinds are not counted. */
void tally_move(struct tally *t, int kind, int from, int to);

/* Who sends where. */
struct tally_key {
	int64_t sender_id;
	int64_t destination_id;
};

/* ${n} more (or fewer) messages of ${key} wait. */
enum rc tally_wait(struct tally *t, const struct tally_key *key, int64_t n,
    struct err *err) MUST_USE;

/* How many wait: of a sender, for a destination, in all. */
int64_t tally_of_sender(const struct tally *t, int64_t sender_id);
int64_t tally_of_destination(const struct tally *t, int64_t destination_id);
int64_t tally_waiting(const struct tally *t);

#endif
