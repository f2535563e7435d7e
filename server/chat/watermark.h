/* SPDX-License-Identifier: MIT */
/*
 * Advances the ack watermarks of devices, and walks over the part of an inbox
 * by which an ack or a read advances a watermark.  The verbs ack and read use
 * these functions.  Only chat/ includes this header.
 *
 * Thread: writer.
 */
#ifndef CHAT_WATERMARK_H
#define CHAT_WATERMARK_H

#include "txn/verb.h"

/* A walk over a range of an inbox, and its result: the list (first,
 * next_walked) of the conversations in which other users sent messages of the
 * range; first is NULL if there are none.  The members walk_* of a conversation
 * describe, of these messages, the one with the highest conversation_seq.  The
 * result is valid until the next walk begins. */
struct watermark_walk {
	struct tx *tx;
	bool settle; /* move the outbox rows of these messages to acked */
	struct cached_conversation *first;
};

/* Finds user ${user_id} and loads the counters of the user's inbox. */
enum rc watermark_user(struct tx *tx, int64_t user_id, struct cached_user **ret,
    struct err *err) MUST_USE;

/* Walks over the messages of others with ${after} < seq <= ${upto}. */
enum rc watermark_walk(struct watermark_walk *walk, struct cached_user *user,
    int64_t after, int64_t upto, struct err *err) MUST_USE;

/* Returns the last seq of the range (${after}, ${upto}] of an inbox or a
 * conversation up to which this batch may still walk, and subtracts the number
 * of seqs up to it from what is left to the batch (WALK_ROWS at its start).
 * Returns ${upto} if the range is empty, and ${after} if nothing is left.  If
 * the result is less than ${upto}, the caller requeues its unit of work, so
 * that a later batch walks over the rest. */
int64_t watermark_reach(struct txn_env *env, int64_t after, int64_t upto);

/* Advances the ack watermark of the device to ${upto}, never lowers it, and
 * sets *ret_acked to the watermark after that.  The caller has checked that
 * ${upto} is not beyond the head of the inbox.  The messages of other users up
 * to ${upto} that no device of the user had acked before are newly acked: the
 * outbox row of each moves from sent to acked (a message from another server
 * has no row here).  In each conversation in which the watermark of this user
 * advances, one "delivered" receipt goes to the sender of the last newly acked
 * message of that conversation. */
enum rc watermark_ack(struct tx *tx, struct cached_user *user,
    int64_t device_id, int64_t upto, int64_t *ret_acked,
    struct err *err) MUST_USE;

#endif
