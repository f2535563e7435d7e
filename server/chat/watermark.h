/* SPDX-License-Identifier: MIT */
/*
 * Watermarks of acks and reads, and the walk over the part of an inbox by which
 * one advances.  The verbs ack and read share it.  Only chat/ includes this.
 *
 * Thread: writer.
 */
#ifndef CHAT_WATERMARK_H
#define CHAT_WATERMARK_H

#include "txn/verb.h"

/* The conversations of an inbox range, each with the last of the others'
 * messages in the range. */
struct watermark_walk {
	struct tx *tx;
	bool settle; /* move their outbox rows to acked */
	struct cached_conversation *first;
};

/* The user ${user_id} with the counters of the inbox. */
enum rc watermark_user(struct tx *tx, int64_t user_id, struct cached_user **ret,
    struct err *err) MUST_USE;

/* Walks others' messages with after < seq <= upto. */
enum rc watermark_walk(struct watermark_walk *walk, struct cached_user *user,
    int64_t after, int64_t upto, struct err *err) MUST_USE;

/* How far of (${after}, ${upto}] this batch may still walk; less than ${upto}:
 * the rest has to come in a later batch. */
int64_t watermark_reach(struct txn_env *env, int64_t after, int64_t upto);

/* Writes that the device has everything up to ${upto} (at most the head).
 * ${ret_acked}: the device's watermark then. */
enum rc watermark_ack(struct tx *tx, struct cached_user *user,
    int64_t device_id, int64_t upto, int64_t *ret_acked,
    struct err *err) MUST_USE;

#endif
