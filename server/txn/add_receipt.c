/* SPDX-License-Identifier: MIT */
/*
 * Adds receipts to the outbox, or updates a receipt that is already pending.
 *
 * If this transaction can deliver the receipt (txn_local_at_once()), its lane
 * remembers it in memory until the end of the batch.  A later receipt of the
 * batch with the same lane, kind and user replaces it, and only the last one is
 * added and delivered.  If a later receipt with the same lane and kind comes
 * from another user, the remembered one is added and delivered before that.
 */
#include <string.h>

#include "base/fault.h"
#include "base/thr.h"
#include "txn/add.h"
#include "txn/local.h"
#include "txn/verb.h"

static struct outbox_new
receipt_row(
    const struct tx *tx, const struct receipt_new *r, struct cached_lane *lane)
{

	metrics_add(txn_env_of(tx)->options.metrics, METRIC_RECEIPTS, 1);
	return ((struct outbox_new){.kind = r->kind,
	    .mid = r->mid,
	    .conversation = r->conversation,
	    .conversation_seq = r->upto,
	    .sender_id = r->by->user_id,
	    .lane = lane,
	    .dest = r->to,
	    .event_time = tx->now_ms});
}

/* ---- for the relay ---- */

/* Adds a row for the relay, or updates the pending one. */
static enum rc
add_pending(struct tx *tx, const struct receipt_new *r,
    struct cached_lane *lane, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct outbox_new o;
	struct uuid event_id;
	int64_t id = 0;
	enum rc rc = RC_OK;

	if (lane->lane.next_seq <= lane->lane.tail_seq)
		rc = store_receipt_pending(tx->db, lane->lane.lane_id, r->kind,
		    r->by->user_id, &id, err);
	if (rc != RC_OK)
		return (rc);
	if (id != 0)
		return (store_receipt_move(
		    tx->db, id, r->mid, r->upto, tx->now_ms, err));
	o = receipt_row(tx, r, lane);
	event_id = uuid_gen_next(&env->ids);
	rc = txn_add_outbox(tx, &o, &event_id, &id, err);
	/* store_receipt_pending() must find this row for a later receipt of the
	 * batch. */
	return (rc == RC_OK ? store_rows_write(tx->db, &env->outbox, true, err)
			    : rc);
}

/* ---- at once ---- */

static struct cached_receipt *
kept(struct cached_lane *lane, int kind)
{

	return (kind == EVENT_READ ? &lane->read : &lane->delivered);
}

static void
keep(struct txn_env *env, const struct receipt_new *r, struct cached_lane *lane)
{

	if (!lane->has_receipts) {
		lane->has_receipts = true;
		lane->next_receipts = env->receipts;
		env->receipts = lane;
	}
	*kept(lane, r->kind) = (struct cached_receipt){
	    .by = r->by, .mid = r->mid, .upto = r->upto};
}

/* Adds an outbox row in the state sent for receipt ${r}, and delivers the
 * receipt into the inbox of ${r->to}.  Both rows are only gathered: the caller
 * writes them (write_rows()), and ${event_id} must stay valid until then. */
static enum rc
add_sent(struct tx *tx, const struct receipt_new *r, struct cached_lane *lane,
    const struct uuid *event_id, struct err *err)
{
	struct outbox_new o = receipt_row(tx, r, lane);
	struct store_claimed row = {.kind = r->kind,
	    .mid = r->mid,
	    .conversation_seq = r->upto,
	    .sender_id = o.sender_id,
	    .event_time = tx->now_ms,
	    .created_at = tx->now_ms};
	enum rc rc;

	o.at_once = true;
	rc = txn_add_outbox(tx, &o, event_id, &row.id, err);
	row.lane_seq = lane->lane.tail_seq;
	return (rc == RC_OK
		    ? txn_local_deliver(tx, lane, &row, event_id, -1, err)
		    : rc);
}

static enum rc
write_rows(struct tx *tx, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	FAULT("receipt.outbox.before");
	rc = store_rows_write(tx->db, &env->outbox, true, err);
	FAULT("receipt.inbox.before");
	return (rc == RC_OK ? txn_write_inbox(tx, err) : rc);
}

/* Adds the receipt of ${kind} that ${lane} remembers, if any, and forgets it.
 * Delivers the receipt or, if that is no longer possible, leaves it to the
 * relay.  The gathered rows of a delivered receipt point to the event id in
 * ${lane}, so the caller must write them before ${lane} remembers another
 * receipt of ${kind}. */
static enum rc
write_kept(struct tx *tx, struct cached_lane *lane, int kind, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_receipt *k = kept(lane, kind);
	const struct receipt_new r = {
	    kind, lane->conversation, k->by, lane->dest, k->mid, k->upto};
	bool at_once;
	enum rc rc;

	if (k->by == NULL)
		return (RC_OK);
	k->by = NULL;
	/* A later unit of the batch may have paused deliveries. */
	rc = txn_local_at_once(tx, lane, &at_once, err);
	if (rc != RC_OK || !at_once)
		return (rc == RC_OK ? add_pending(tx, &r, lane, err) : rc);
	if (env->outbox.n == BATCH_ROWS)
		rc = write_rows(tx, err);
	if (rc != RC_OK)
		return (rc);
	k->event_id = uuid_gen_next(&env->ids);
	return (add_sent(tx, &r, lane, &k->event_id, err));
}

enum rc
txn_add_receipt(struct tx *tx, const struct receipt_new *r, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	const struct cached_user *before;
	struct cached_lane *lane;
	bool at_once;
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = cache_lane_to(
	    env->cache, tx, r->conversation, r->to, LANE_RECEIPTS, &lane, err);
	if (rc == RC_OK)
		rc = txn_local_at_once(tx, lane, &at_once, err);
	if (rc != RC_OK)
		return (rc);
	if (!at_once)
		return (add_pending(tx, r, lane, err));
	before = kept(lane, r->kind)->by;
	/* In a group, the receipts of one lane may come from different
	 * users. */
	if (before != NULL && before != r->by)
		rc = write_kept(tx, lane, r->kind, err);
	if (rc == RC_OK && env->outbox.n > 0)
		rc = write_rows(tx, err);
	if (rc == RC_OK)
		keep(env, r, lane);
	return (rc);
}

enum rc
txn_write_receipts(struct tx *tx, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	enum rc rc = RC_OK;

	if (env->receipts == NULL)
		return (RC_OK);
	while (rc == RC_OK && (lane = env->receipts) != NULL) {
		env->receipts = lane->next_receipts;
		lane->has_receipts = false;
		/* A user receives a message before reading it. */
		rc = write_kept(tx, lane, EVENT_DELIVERED, err);
		if (rc == RC_OK)
			rc = write_kept(tx, lane, EVENT_READ, err);
	}
	return (rc == RC_OK ? write_rows(tx, err) : rc);
}
