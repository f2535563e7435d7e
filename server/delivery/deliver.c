/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `deliver`.
 *
 * The pending rows of a lane (the outbox rows of one conversation to one user)
 * are read in order, added to the user's inbox with the next seq, and settled
 * (set to sent), all in the current transaction.  The statement that settles
 * the rows requires the state pending, and its row count is checked: if another
 * transaction has changed a row, the whole transaction is abandoned.
 */
#include <string.h>

#include "base/fault.h"
#include "delivery/dead_letter.h"
#include "delivery/deliver.h"
#include "model/outbox.h"
#include "txn/add.h"
#include "txn/local.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* Adds ${row} to the inbox and settles it. */
static enum rc
deliver_now(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct sql_outbox_settle_sent *v;
	enum rc rc;

	rc = txn_local_deliver(
	    tx, lane, row, &row->event_id, OUTBOX_PENDING, err);
	if (rc == RC_OK)
		rc = store_next_outbox_settle_sent(tx->db, &env->sent, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->id = db_v_i64(row->id);
	v->now = db_v_i64(tx->now_ms);
	return (
	    row->kind == EVENT_MESSAGE
		? backlog_wait(env->backlog,
		      &(struct backlog_key){row->sender_id, DESTINATION_LOCAL},
		      -1, err)
		: RC_OK);
}

/* Delivers ${row}, or makes it a dead letter if it has expired, for example
 * because delivery was paused. */
static enum rc
deliver_row(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, struct err *err)
{

	if (txn_expired(tx, row->expires_at)) {
		lane->lane.next_seq = row->lane_seq + 1;
		return (dead_letter_make_by_id(
		    tx, row->id, REASON_EXPIRED, NULL, err));
	}
	return (deliver_now(tx, lane, row, err));
}

/* ---- sub-batches ---- */

/* Lanes that are delivered together: their rows are read by one query, and are
 * written together as well.  A lane is in a sub-batch at most once. */
#define SUB_BATCH_LANES STORE_CLAIMS

struct sub_batch {
	struct tx *tx;
	struct cached_lane *lanes[SUB_BATCH_LANES];
	struct deliver_unit *units[SUB_BATCH_LANES]; /* the unit of each lane */
	/* the lane's index in its unit */
	size_t parts[SUB_BATCH_LANES];
	size_t n;
};

/* Returns the maximum number of rows per lane: the lanes of ${t} share
 * CLAIMED_ROWS equally, but none gets more than DELIVER_ROWS. */
static size_t
rows_each(const struct sub_batch *t)
{
	size_t most = CLAIMED_ROWS / t->n;

	return (most < DELIVER_ROWS ? most : DELIVER_ROWS);
}

/* Delivers the ${n} rows at ${rows} that were read of lane ${i}. */
static enum rc
deliver_lane(struct sub_batch *t, size_t i, const struct store_claimed *rows,
    size_t n, struct err *err)
{
	struct txn_env *env = txn_env_of(t->tx);
	struct cached_lane *lane = t->lanes[i];
	const size_t most = rows_each(t);
	enum rc rc = RC_OK;
	size_t k;

	for (k = 0; k < n && rc == RC_OK; k++)
		rc = deliver_row(t->tx, lane, &rows[k], err);
	if (rc != RC_OK)
		return (rc);
	/* Fewer rows were found than requested, so no pending row is left in
	 * the lane: the cursor skips the rows up to the tail, which are
	 * canceled, expired or failed. */
	if (n < most)
		lane->lane.next_seq = lane->lane.tail_seq + 1;
	cache_lane_touch(env->cache, lane);
	t->units[i]->more[t->parts[i]] =
	    n == most && lane->lane.next_seq <= lane->lane.tail_seq;
	t->units[i]->delivered += n;
	return (RC_OK);
}

/* Delivers the lanes of the sub-batch.  The gathered inbox rows point to event
 * ids in env->claimed, which the next sub-batch overwrites, so the rows are
 * written here.  On a multi-writer database they are written later, after
 * number() in add_inbox.c has made them point to the copies of the event ids in
 * env->effects. */
static enum rc
deliver_sub_batch(struct sub_batch *t, struct err *err)
{
	struct txn_env *env = txn_env_of(t->tx);
	struct store_claim claims[SUB_BATCH_LANES];
	size_t i, n, at = 0, end;
	enum rc rc;

	for (i = 0; i < t->n; i++)
		claims[i] = (struct store_claim){t->lanes[i]->lane.lane_id,
		    t->lanes[i]->lane.next_seq, (int64_t)rows_each(t)};
	rc = store_outbox_claim(t->tx->db, claims, t->n, env->claimed, &n, err);
	for (i = 0; i < t->n && rc == RC_OK; i++) {
		for (end = at; end < n && env->claimed[end].lane_id ==
					      t->lanes[i]->lane.lane_id;
		     end++)
			continue;
		rc = deliver_lane(t, i, env->claimed + at, end - at, err);
		t->lanes[i]->in_sub_batch = false;
		at = end;
	}
	FAULT("deliver.inbox.before");
	if (rc == RC_OK)
		rc = txn_write_inbox(t->tx, err);
	FAULT("deliver.settle.before");
	if (rc == RC_OK)
		rc = store_rows_write(t->tx->db, &env->sent, true, err);
	FAULT("deliver.settle.after");
	t->n = 0;
	return (rc);
}

/* Adds lane ${part} of ${u} to the sub-batch.  A full sub-batch is delivered
 * first. */
static enum rc
join_sub_batch(struct sub_batch *t, struct cached_lane *lane,
    struct deliver_unit *u, size_t part, struct err *err)
{
	enum rc rc = RC_OK;

	if (t->n == SUB_BATCH_LANES)
		rc = deliver_sub_batch(t, err);
	lane->in_sub_batch = true;
	t->lanes[t->n] = lane;
	t->units[t->n] = u;
	t->parts[t->n++] = part;
	return (rc);
}

/* Lets the first pending row of a lane, in the order of lane_seq, fail with
 * REASON_POISON (dead_letter_make()).  The relay requests this when deliveries
 * of the lane have broken off too often without a success in between
 * (SCHEDULE_POISON_AFTER).  Does nothing if no row is pending. */
static enum rc
take_poison(struct tx *tx, struct cached_lane *lane, struct err *err)
{
	const struct store_claim claim = {
	    lane->lane.lane_id, lane->lane.next_seq, 1};
	struct txn_env *env = txn_env_of(tx);
	size_t n;
	enum rc rc;

	rc = store_outbox_claim(tx->db, &claim, 1, env->claimed, &n, err);
	if (rc != RC_OK || n == 0)
		return (rc);
	lane->lane.next_seq = env->claimed[0].lane_seq + 1;
	cache_lane_touch(env->cache, lane);
	return (dead_letter_make_by_id(
	    tx, env->claimed[0].id, REASON_POISON, NULL, err));
}

static enum rc
deliver_unit_apply(struct sub_batch *t, struct deliver_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(t->tx);
	struct delivery_lane turn;
	struct cached_lane *lane;
	enum rc rc = RC_OK;
	size_t i;

	u->delivered = 0;
	for (i = 0; i < u->nlanes && rc == RC_OK; i++) {
		u->more[i] = false;
		if (u->contended[i])
			continue;
		rc = cache_lane_by_id(
		    env->cache, t->tx, u->lanes[i], &lane, err);
		if (rc == RC_NOT_FOUND) {
			rc = RC_OK;
			continue;
		}
		if (rc != RC_OK)
			return (rc);
		/* If the lane is in the sub-batch already, deliver the
		 * sub-batch first: the decision about the lane depends on the
		 * result. */
		if (lane->in_sub_batch)
			rc = deliver_sub_batch(t, err);
		turn = txn_local_lane(lane);
		if (rc != RC_OK ||
		    delivery_turn(&turn, t->tx->now_ms) != DELIVERY_NOW)
			continue;
		if (u->poison && t->n > 0)
			rc = deliver_sub_batch(t, err);
		if (rc == RC_OK && u->poison)
			rc = take_poison(t->tx, lane, err);
		if (rc == RC_OK)
			rc = join_sub_batch(t, lane, u, i, err);
	}
	return (rc);
}

static enum rc
deliver_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct sub_batch batch = {.tx = tx};
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < n && rc == RC_OK; i++)
		rc = deliver_unit_apply(&batch,
		    CONTAINER_OF(units[i], struct deliver_unit, unit), err);
	if (rc == RC_OK && batch.n > 0)
		rc = deliver_sub_batch(&batch, err);
	return (rc);
}

static enum rc
deliver_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct deliver_unit *u =
	    CONTAINER_OF(unit, struct deliver_unit, unit);
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->nlanes && rc == RC_OK; i++) {
		lockset_part(set, i);
		if (!u->contended[i])
			rc = lockset_lane(set, u->lanes[i], err);
	}
	return (rc);
}

/* Each lane is a part: one can be deferred while the others are delivered. */
static bool *
deliver_parts(struct unit *unit, size_t *ret_n)
{
	struct deliver_unit *u = CONTAINER_OF(unit, struct deliver_unit, unit);

	*ret_n = DELIVER_LANES;
	return (u->contended);
}

UNIT_KIND(deliver, deliver_locks, .queue = UNIT_DELIVERY,
    .order = ORDER_DELIVER, .apply = deliver_apply, .parts = deliver_parts);

void
deliver_unit_init(struct deliver_unit *u)
{

	u->unit.kind = &deliver_kind;
	u->unit.bytes = 4096;
	u->nlanes = 0;
	u->poison = false;
	u->delivered = 0;
	deliver_unit_free(u);
}

void
deliver_unit_free(struct deliver_unit *u)
{

	memset(u->contended, 0, sizeof(u->contended));
}
