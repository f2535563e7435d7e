/* SPDX-License-Identifier: MIT */
/*
 * See promise.h.
 */
#include "delivery/promise.h"
#include "delivery/dead_letter.h"
#include "delivery/settle.h"
#include "model/retry.h"
#include "store/remote.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* Minimum delay after a "not now", in milliseconds. */
#define AGAIN_MIN_MS 1000

/* A row that waits for an answer, and its lane. */
struct promised {
	struct tx *tx;
	struct store_row row;
	struct cached_lane *lane;
};

/* The ack has the status "retryable" (not now) and a delay, which is raised to
 * AGAIN_MIN_MS or cut to RETRY_HINT_MAX_MS.  If the delay ends before the
 * deadline of the row, moves the deadline to that end; a deadline never moves
 * to a later time.  After the deadline claim.c charges the row with a retry
 * (take_back()) and offers it again, or makes it a dead letter if it has
 * expired or its retries are used up. */
static enum rc
put_off(struct promised *p, const struct envelope_ack *ack, struct err *err)
{
	struct store_lane *l = &p->lane->lane;
	int64_t wait = ack->retry_after_ms, until;
	enum rc rc;

	if (wait < AGAIN_MIN_MS)
		wait = AGAIN_MIN_MS;
	if (wait > RETRY_HINT_MAX_MS)
		wait = RETRY_HINT_MAX_MS;
	until = p->tx->now_ms + wait;
	if (until >= p->row.ack_deadline)
		return (RC_OK);
	rc = store_remote_hasten(p->tx->db, p->row.id, until, err);
	if (rc != RC_OK || l->state != LANE_READY ||
	    l->next_seq != p->row.lane_seq)
		return (rc);
	l->due_at = until;
	cache_lane_touch(txn_env_of(p->tx)->cache, p->lane);
	return (txn_wake_lane(p->tx, p->lane, p->row.priority, err));
}

/* The ack says "rejected": the row is charged and becomes a dead letter. */
static enum rc
give_up(struct promised *p, const struct envelope_ack *ack, struct err *err)
{
	struct txn_env *env = txn_env_of(p->tx);
	struct store_row *row = &p->row;
	enum rc rc;

	rc = store_remote_late(p->tx->db, row->id, p->tx->now_ms, err);
	if (rc != RC_OK)
		return (rc);
	backlog_move(env->backlog, row->kind, OUTBOX_SENT, OUTBOX_PENDING);
	row->state = OUTBOX_PENDING;
	row->retry_count++;
	row->ack_deadline = 0;
	rc = txn_backlog_add(p->tx, p->lane, row, 1, err);
	return (rc == RC_OK
		    ? dead_letter_make(p->tx, row, REASON_REJECTED,
			  ack->reason[0] != '\0' ? ack->reason : NULL, err)
		    : rc);
}

/* Sets ${ret} to the outbox row of the event in ${ack} and to the row's lane.
 * On a multi-writer database, locks the lane's conversation.  RC_NOT_FOUND: no
 * row of the event to a user of server ${origin_id} is being sent or waits for
 * a promised answer. */
static enum rc
find(struct tx *tx, int64_t origin_id, const struct envelope_ack *ack,
    struct promised *ret, struct err *err)
{
	int64_t id;
	enum rc rc;

	rc = store_promised_find(tx->db, &ack->event_id, origin_id, &id, err);
	if (rc == RC_OK)
		rc = store_row_get(tx->db, id, &ret->row, err);
	if (rc == RC_OK)
		rc = cache_lane_by_id(txn_env_of(tx)->cache, tx,
		    ret->row.lane_id, &ret->lane, err);
	/* Read it again: its lane is locked now. */
	if (rc == RC_OK)
		rc = store_row_get(tx->db, id, &ret->row, err);
	if (rc == RC_OK && ret->row.state != OUTBOX_SENDING &&
	    (ret->row.state != OUTBOX_SENT || ret->row.ack_deadline == 0))
		rc = RC_NOT_FOUND;
	ret->tx = tx;
	return (rc);
}

static enum rc
settle_ack(struct tx *tx, struct promise_unit *u,
    const struct envelope_ack *ack, struct err *err)
{
	struct promised p;
	enum rc rc;

	/* Any other status, such as another "later", changes nothing. */
	if (ack->status != ENVELOPE_ACCEPTED &&
	    ack->status != ENVELOPE_RETRYABLE &&
	    ack->status != ENVELOPE_REJECTED)
		return (RC_OK);
	rc = find(tx, u->origin_id, ack, &p, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	if (p.row.state == OUTBOX_SENDING) {
		u->early++;
		return (RC_OK);
	}
	u->settled++;
	if (ack->status == ENVELOPE_ACCEPTED)
		return (settle_confirm(tx, p.row.id, err));
	if (ack->status == ENVELOPE_REJECTED)
		return (give_up(&p, ack, err));
	return (put_off(&p, ack, err));
}

static enum rc
promise_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct promise_unit *u = CONTAINER_OF(unit, struct promise_unit, unit);
	enum rc rc;
	size_t i;

	u->settled = u->early = 0;
	/* Write the cached changes of lanes by earlier units of this batch: the
	 * queries read the database. */
	rc = cache_flush_lanes(txn_env_of(tx)->cache, tx, err);
	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = settle_ack(tx, u, &u->acks[i], err);
	return (rc);
}

UNIT_KIND(promise, unit_locks_nothing, .queue = UNIT_DELIVERY,
    .order = ORDER_SETTLE, .apply_one = promise_apply, .any_order = true);

void
promise_unit_init(struct promise_unit *u)
{

	u->unit.kind = &promise_kind;
	u->unit.bytes = sizeof(*u);
	u->settled = u->early = 0;
}
