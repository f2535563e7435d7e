/* SPDX-License-Identifier: MIT */
/*
 * Watermarks of acks and reads, and the walk over the range of an inbox by
 * which a watermark advances.  The verbs ack and read share it.  Only chat/
 * includes this.
 *
 * Thread: writer.
 */
#ifndef CHAT_WATERMARK_H
#define CHAT_WATERMARK_H

#include "txn/verb.h"

/* A walk and its result: the conversations that have messages of others in an
 * inbox range, each with the last of these messages. */
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

/* Returns the last seq of the inbox range (${after}, ${upto}] that this batch
 * may still walk, and counts the rows up to it against the limit of the batch
 * (WALK_ROWS).  Returns ${upto} if the range is empty.  If the result is less
 * than ${upto}, the rest must be done in a later batch. */
int64_t watermark_reach(struct txn_env *env, int64_t after, int64_t upto);

/* Advances the ack watermark of the device to ${upto}, which must not exceed
 * the head of the inbox; never lowers it.  If no device of the user had acked
 * that far, also moves the outbox rows to acked and gives the senders receipts.
 * Sets *ret_acked to the watermark of the device after that. */
enum rc watermark_ack(struct tx *tx, struct cached_user *user,
    int64_t device_id, int64_t upto, int64_t *ret_acked,
    struct err *err) MUST_USE;

#endif
