/* SPDX-License-Identifier: MIT */
/*
 * The ack's part that reading by inbox seq shares.
 */
#ifndef CHAT_MARK_INTERNAL_H
#define CHAT_MARK_INTERNAL_H

#include "txn/verb.h"

/* Conversations met while walking an inbox range, each with the last of the
 * others' messages in it. */
struct mark_walk {
	struct tx *tx;
	bool settle; /* move their outbox rows to acked */
	struct cached_conversation *first;
};

/* Walks others' messages with after < seq <= upto. */
enum rc mark_range(struct mark_walk *walk, struct cached_user *user,
    int64_t after, int64_t upto, struct err *err) MUST_USE;

/* How far of (${after}, ${upto}] this batch may still walk; less than ${upto}:
 * the rest has to come in a later one. */
int64_t mark_reach(struct txn_env *env, int64_t after, int64_t upto);

/* The device has everything up to ${upto} (at most the head).  ${ret_acked}:
 * its mark then. */
enum rc mark_acked(struct tx *tx, struct cached_user *user, int64_t device_id,
    int64_t upto, int64_t *ret_acked, struct err *err) MUST_USE;

#endif
