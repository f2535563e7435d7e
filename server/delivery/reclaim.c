/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `reclaim`: ends leases that have run out, makes expired
 * messages dead letters (with reclaim_unit.expire), and makes lanes due now
 * whose due time is so far in the future that the clock must have been set
 * back.  For the same reason it ends leases that would last longer than
 * LEASE_MAX_MS from now.
 *
 * When a lease ends, the lane gets a new token, and its rows that were being
 * sent become pending again.  Each of these rows is charged one lost lease
 * (claim.h says what follows from that).  With reclaim_unit.all, which is for
 * the time after a restart, no row is charged: it is unknown which row caused
 * the restart, if any.  The former owner of the lease detects the new token
 * when it settles (settle.h).
 */
#include <assert.h>
#include <string.h>

#include "base/fault.h"
#include "delivery/dead_letter.h"
#include "delivery/parcel.h"
#include "delivery/reclaim.h"
#include "model/breaker.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* Maximum number of messages that expire in one unit. */
#define EXPIRE_ROWS 100

static enum rc
reclaim_row(
    struct tx *tx, const struct store_row *row, bool charge, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	const struct store_attempt attempt = {.outbox_id = row->id,
	    .attempt = row->attempts,
	    .outcome = charge ? "lease_lost" : "restart"};
	enum rc rc;

	rc = store_remote_rescue(
	    tx->db, row->id, tx->now_ms, charge ? 1 : 0, err);
	if (rc == RC_OK)
		rc = store_attempt_end(tx->db, &attempt, tx->now_ms, err);
	backlog_move(env->backlog, row->kind, OUTBOX_SENDING, OUTBOX_PENDING);
	if (charge)
		backlog_add(env->backlog, TOTAL_EVER_RESCUED, 1);
	return (rc);
}

/* Returns true if the lease of ${lane} must still be ended: always on a
 * single-writer database.  On a multi-writer database returns false if another
 * node has ended or renewed the lease after the query and before this
 * transaction locked the lane. */
static bool
is_stale(const struct tx *tx, const struct cached_lane *lane, bool charge)
{
	const struct store_lane *l = &lane->lane;

	if (!db_multi_writer(tx->db))
		return (true);
	if (l->state != LANE_LEASED)
		return (false);
	return (!charge || l->lease_until <= tx->now_ms ||
		l->lease_until > tx->now_ms + LEASE_MAX_MS);
}

static enum rc
reclaim_lane(struct tx *tx, int64_t lane_id, bool charge, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_row rows[PARCEL_LANE_ROWS];
	struct cached_lane *lane;
	int back = PRIORITY_LOW;
	size_t i, n;
	enum rc rc;

	rc = cache_lane_by_id(env->cache, tx, lane_id, &lane, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a lane that is not there");
	if (rc == RC_OK && !is_stale(tx, lane, charge))
		return (RC_OK);
	if (rc == RC_OK)
		rc = store_remote_in_flight(
		    tx->db, lane_id, rows, PARCEL_LANE_ROWS, &n, err);
	if (rc != RC_OK)
		return (rc);
	for (i = 0; i < n && rc == RC_OK; i++) {
		rc = reclaim_row(tx, &rows[i], charge, err);
		back = rows[i].priority > back ? rows[i].priority : back;
	}
	FAULT("reclaim.rows.after");
	/* The cursor needs no change: it moves only when rows are settled. */
	lane->lane.lease_token++;
	lane->lane.lease_until = 0;
	lane->lane.lease_owner[0] = '\0';
	lane->lane.state = LANE_READY;
	lane->lane.due_at = 0;
	if (back < lane->lane.priority)
		cache_lane_recheck_priority(
		    env->cache, lane, lane->lane.priority);
	cache_lane_touch(env->cache, lane);
	if (rc == RC_OK)
		rc = txn_wake_lane(tx, lane, lane->lane.priority, err);
	return (rc);
}

/* Makes the message of row ${found} a dead letter, if the row, read again when
 * its conversation is locked, is still pending, not scheduled, and expired.  If
 * another transaction has locked the conversation, skips the row (RC_OK); a
 * later unit finds it again. */
static enum rc
expire_row(struct tx *tx, struct reclaim_unit *u, const struct store_row *found,
    struct err *err)
{
	struct cached_conversation *c;
	struct store_row row;
	enum rc rc;

	rc = cache_conversation_if_free(
	    txn_env_of(tx)->cache, tx, found->conversation_id, &c, err);
	if (rc == RC_OK)
		rc = store_row_get(tx->db, found->id, &row, err);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	if (rc != RC_OK || row.state != OUTBOX_PENDING || row.lane_seq == 0 ||
	    !txn_expired(tx, row.expires_at))
		return (rc);
	u->expired++;
	return (dead_letter_make(tx, &row, REASON_EXPIRED, NULL, err));
}

static enum rc
expire(struct tx *tx, struct reclaim_unit *u, struct err *err)
{
	const struct store_expired_local local = {
	    u->local_after, u->local_upto, tx->now_ms};
	struct store_row rows[EXPIRE_ROWS];
	size_t i, n, more = 0;
	enum rc rc;

	u->expired = 0;
	if (!txn_expired(tx, tx->now_ms))
		return (RC_OK);
	rc = store_rows_expired(tx->db, tx->now_ms, rows, EXPIRE_ROWS, &n, err);
	if (rc == RC_OK && n < EXPIRE_ROWS && u->local_upto > 0)
		rc = store_rows_expired_local(
		    tx->db, &local, rows + n, EXPIRE_ROWS - n, &more, err);
	for (i = 0; i < n + more && rc == RC_OK; i++)
		rc = expire_row(tx, u, &rows[i], err);
	return (rc);
}

static enum rc
reclaim_one(struct tx *tx, struct reclaim_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_lanes lanes;
	int64_t clamped;
	enum rc rc;
	size_t i;

	u->expired = 0;
	rc = cache_flush_lanes(env->cache, tx, err);
	if (rc == RC_OK)
		rc = store_lanes_stale(tx->db, u->all ? INT64_MAX : tx->now_ms,
		    u->all ? INT64_MAX : tx->now_ms + LEASE_MAX_MS, &lanes,
		    err);
	for (i = 0; rc == RC_OK && i < lanes.n; i++)
		rc = reclaim_lane(tx, lanes.ids[i], !u->all, err);
	u->reclaimed = rc == RC_OK ? lanes.n : 0;
	if (rc == RC_OK && u->expire)
		rc = expire(tx, u, err);
	if (rc == RC_OK)
		rc = cache_flush_lanes(env->cache, tx, err);
	if (rc == RC_OK)
		rc = store_lanes_cap_due(tx->db, tx->now_ms,
		    tx->now_ms + BREAKER_SANE_MS, &clamped, err);
	/* The statement above has changed ${clamped} lanes in the database but
	 * not in the cache.  Removing the lanes from the cache loses no receipt
	 * that is still to be added to a lane (env->receipts): the kinds of
	 * units that add receipts run later in a batch. */
	assert(env->receipts == NULL);
	if (rc == RC_OK && clamped > 0)
		cache_forget_lanes(env->cache);
	if (rc == RC_OK)
		rc = store_lanes_lease_next(tx->db, &u->next_lease, err);
	if (rc == RC_OK)
		rc = store_rows_expiry_next(tx->db, &u->next_expiry, err);
	return (rc);
}

static enum rc
reclaim_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (reclaim_one(
	    tx, CONTAINER_OF(unit, struct reclaim_unit, unit), err));
}

UNIT_KIND(reclaim, unit_locks_nothing, .queue = UNIT_DELIVERY,
    .order = ORDER_RECLAIM, .apply_one = reclaim_apply);

void
reclaim_unit_init(struct reclaim_unit *u)
{

	u->unit.kind = &reclaim_kind;
	u->unit.bytes = 4096;
	u->all = u->expire = false;
	u->local_after = u->local_upto = 0;
	u->reclaimed = u->expired = 0;
	u->next_lease = u->next_expiry = 0;
}
