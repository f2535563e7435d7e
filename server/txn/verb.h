/* SPDX-License-Identifier: MIT */
/*
 * What verbs share: the state behind a transaction, and what each transaction
 * counts and tells.  A verb is the work of a kind of unit (engine/writer.h);
 * only the modules chat and delivery, which have them, include this.
 *
 * Thread: writer.
 */
#ifndef TXN_VERB_H
#define TXN_VERB_H

#include "base/htab.h"
#include "model/event.h"
#include "model/message.h"
#include "model/refusal.h"
#include "store/message.h"
#include "store/remote.h"
#include "store/rows.h"
#include "txn/backlog.h"
#include "txn/cache.h"
#include "txn/contended.h"
#include "txn/env.h"
#include "txn/message_cache.h"
#include "txn/new_domains.h"

/* Rows gathered for one statement before it is run. */
#define BATCH_ROWS 512

/* When the clock is put forward by more than this, nothing expires for as long
 * as that. */
#define CLOCK_JUMP_MS 60000

/* Rows of lanes to local inboxes that are delivered together. */
#define CLAIMED_ROWS 2048

/* Rows that acks and reads of one batch walk at most: a person who comes back
 * to a full inbox must not hold up everybody's commit. */
#define WALK_ROWS 2000

struct txn_env {
	struct txn_env_options options;
	struct new_domains *new_domains;
	struct publisher publisher; /* does not change once started */
	bool started;
	struct writer_hooks hooks;
	struct uuid_gen ids;
	struct cache *cache;
	struct backlog *backlog;
	struct contended *contended; /* rows that others locked for long */
	int64_t seen_wall_ms, seen_mono_ms; /* when the last one began */
	int64_t expiry_from_ms;  /* monotonic: nothing expires before */
	struct effects *effects; /* of the running transaction */
	struct wake *wake;
	bool pauses_known, paused;    /* deliveries into the inboxes here */
	struct cached_lane *receipts; /* lanes with receipts to be added */
	struct message_cache message_cache;
	int64_t walk_left; /* rows that acks and reads may walk in this batch */
	struct store_rows messages, outbox, inbox, sent, acked;
	/* Values that rows of the running statement point to. */
	struct scratch {
		uint8_t salt[16];
		uint8_t digest[32];
		struct uuid event_id;
	} scratch[BATCH_ROWS];
	struct store_claimed claimed[CLAIMED_ROWS];
	struct htab *batch_ids; /* message ids seen in the running batch */
};

/* The environment of a transaction. */
static inline struct txn_env *
txn_env_of(const struct tx *tx)
{

	return (tx->env);
}

/* Makes effects and wake-up for the running transaction if there are none. */
enum rc txn_need_effects(struct txn_env *env, struct err *err) MUST_USE;

/* A message was accepted, or (${replayed}) was accepted before: counted when
 * the transaction is on disk. */
enum rc txn_count_accepted(
    struct tx *tx, bool replayed, struct err *err) MUST_USE;

/* Tells the sender of ${mid} what has happened to it. */
enum rc txn_notify_change(struct tx *tx, int64_t sender_id, int64_t mid,
    enum outbox_event event, struct err *err) MUST_USE;

/* Whether ${sender_id} may have one more waiting; if not, ${ret} says so. */
bool txn_sender_has_room(
    struct txn_env *env, int64_t sender_id, struct refusal *ret) MUST_USE;

/* ${n} messages that were sent are acked now. */
static inline void
txn_count_acked(struct txn_env *env, int64_t n)
{

	if (n == 0)
		return;
	backlog_add(env->backlog, TOTAL_SENT, -n);
	backlog_add(env->backlog, TOTAL_EVER_ACKED, n);
}

/* Whether what lives until ${expires_at} (0: for ever) has expired.  Nothing
 * does for a while after the clock was put forward: it may be put back. */
bool txn_expired(const struct tx *tx, int64_t expires_at);

#endif
