/* SPDX-License-Identifier: MIT */
/*
 * The state that verbs share: the environment behind a transaction (struct
 * txn_env), and functions by which a verb counts messages and adds to the
 * effects.  A verb is the function that does the work of one kind of unit, such
 * as a send or an ack (engine/writer.h).  In the server only txn, chat and
 * delivery include this.
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

/* Maximum number of rows that are gathered for one statement. */
#define BATCH_ROWS 512

/* If the wall clock has advanced by more than CLOCK_JUMP_MS milliseconds more
 * than the monotonic clock since the previous transaction began, txn_expired()
 * returns false for the next CLOCK_JUMP_MS. */
#define CLOCK_JUMP_MS 60000

/* Maximum number of rows that are delivered together into local inboxes. */
#define CLAIMED_ROWS 2048

/* Maximum number of rows (events of an inbox, or messages of a conversation) by
 * which all acks and reads of one batch together advance watermarks; the rest
 * follows in later batches.  A user who comes back to a full inbox must not
 * delay the commit for all others. */
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
	/* rows that another transaction has locked for long */
	struct contended *contended;
	/* when the last transaction began */
	int64_t seen_wall_ms, seen_mono_ms;
	int64_t expiry_from_ms;  /* monotonic: nothing expires before */
	struct effects *effects; /* of the running transaction */
	struct wake *wake;
	bool pauses_known, paused;    /* deliveries into the inboxes here */
	struct cached_lane *receipts; /* lanes with remembered receipts */
	struct message_cache message_cache;
	int64_t walk_left; /* rows that acks and reads may walk in this batch */
	struct store_rows messages, outbox, inbox, sent, acked;
	/* Values that the gathered rows of messages and events point to. */
	struct scratch {
		uint8_t salt[16];
		uint8_t digest[32];
		struct uuid event_id;
	} scratch[BATCH_ROWS];
	struct store_claimed claimed[CLAIMED_ROWS];
	struct htab *batch_ids; /* message ids seen in the running batch */
};

/* Returns the environment of ${tx}. */
static inline struct txn_env *
txn_env_of(const struct tx *tx)
{

	return (tx->env);
}

/* Creates the effects and the wake-up of the running transaction if there are
 * none yet. */
enum rc txn_need_effects(struct txn_env *env, struct err *err) MUST_USE;

/* Counts an accepted message, or with ${replayed} one that had been accepted
 * before.  The metrics change when the transaction is on disk. */
enum rc txn_count_accepted(
    struct tx *tx, bool replayed, struct err *err) MUST_USE;

/* Adds to the effects that ${event} has happened to the sender's outbox entry
 * of ${mid}. */
enum rc txn_notify_change(struct tx *tx, int64_t sender_id, int64_t mid,
    enum outbox_event event, struct err *err) MUST_USE;

/* Returns true if fewer than pending_most messages of ${sender_id} wait for
 * delivery, or if pending_most is 0 (no limit).  Otherwise sets ${ret} to the
 * refusal PROBLEM_QUEUE_FULL, counts it in the metrics, and returns false. */
bool txn_sender_has_room(
    struct txn_env *env, int64_t sender_id, struct refusal *ret) MUST_USE;

/* Counts ${n} messages that moved from sent to acked. */
static inline void
txn_count_acked(struct txn_env *env, int64_t n)
{

	if (n == 0)
		return;
	backlog_add(env->backlog, TOTAL_SENT, -n);
	backlog_add(env->backlog, TOTAL_EVER_ACKED, n);
}

/* Returns true if the time ${expires_at} (0: never) has passed.  Always returns
 * false for CLOCK_JUMP_MS after the wall clock jumped forward by more than
 * CLOCK_JUMP_MS, because the jump may be a mistake that is corrected soon. */
bool txn_expired(const struct tx *tx, int64_t expires_at);

#endif
