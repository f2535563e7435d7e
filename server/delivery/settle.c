/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `settle`.
 *
 * The items (outbox rows) of a lane are consecutive in a parcel, in order.  An
 * item is done if the destination has accepted or rejected it, or if it becomes
 * a dead letter after its last retry.  The lane continues at its first item
 * that is not done: one that becomes pending again, or one for which the
 * destination has promised a later answer ("later").  Items behind that item
 * that are not accepted, rejected or answered "later" become pending again
 * without a charge (their retry_count does not grow).  So does any item that
 * the destination refuses only because an earlier message of the lane is
 * missing ("predecessor"), and so do all items if the destination was not
 * reached.
 */
#include <string.h>

#include "base/fault.h"
#include "delivery/dead_letter.h"
#include "delivery/settle.h"
#include "txn/lane.h"
#include "txn/lockset.h"
#include "txn/verb.h"

#define ACK_TIMEOUT_MS 60000

/* The items of one lane. */
struct run {
	struct tx *tx;
	const struct parcel *parcel;
	struct cached_lane *lane;
	const struct parcel_item *items;
	size_t n;
	uint32_t random;

	int64_t stalled; /* the first lane_seq that is not settled; 0: none */
	int64_t due;     /* when ${stalled} is due; 0: now */
	int back;        /* the highest priority of the rows that wait again */
};

/* ---- one message ---- */

static enum rc
end_attempt(struct run *r, const struct parcel_item *item, const char *outcome,
    const char *error, struct err *err)
{
	const struct store_attempt attempt = {.outbox_id = item->row.id,
	    .attempt = item->row.attempts,
	    .outcome = outcome,
	    .status = r->parcel->status,
	    .error = error};

	if (item->replay)
		return (RC_OK);
	return (store_attempt_end(r->tx->db, &attempt, r->tx->now_ms, err));
}

static void
stall(struct run *r, const struct parcel_item *item, int64_t due)
{

	if (r->stalled != 0)
		return;
	r->stalled = item->row.lane_seq;
	r->due = due;
}

/* Notes that the row waits again until ${due}. */
static void
wait_again(struct run *r, const struct parcel_item *item, int64_t due)
{

	backlog_move(txn_env_of(r->tx)->backlog, item->row.kind, OUTBOX_SENDING,
	    OUTBOX_PENDING);
	if (r->back < item->row.priority)
		r->back = item->row.priority;
	stall(r, item, due);
}

/* Makes the row pending again without a charge. */
static enum rc
put_off(struct run *r, const struct parcel_item *item, const char *outcome,
    const char *error, struct err *err)
{
	const struct store_back back = {
	    item->row.id, item->row.retry_count, 0, error};
	enum rc rc;

	rc = end_attempt(r, item, outcome, error, err);
	if (rc == RC_OK)
		rc = store_remote_back(r->tx->db, &back, r->tx->now_ms, err);
	wait_again(r, item, 0);
	return (rc);
}

/* Advances the recipient's delivered watermark. */
static void
mark_delivered(struct run *r, const struct store_row *row)
{
	struct cached_conversation *c = r->lane->conversation;
	struct cached_member *m = cache_member_find(c, row->dest_user);

	if (m == NULL || m->delivered_upto >= row->conversation_seq)
		return;
	m->delivered_upto = row->conversation_seq;
	cache_member_touch(txn_env_of(r->tx)->cache, c, m);
}

/* Marks the row of a message, which the destination has accepted now, as acked
 * if a receipt has arrived before this answer: a receipt that covers the row's
 * place in the lane, or, if the row was requeued, a receipt that has named the
 * message.  Otherwise changes nothing.  ${taken_seq} is the lane_seq at which
 * the destination had accepted the row in an earlier attempt (0: not known); if
 * ${taken_seq} is below the current lane_seq of the row, it counts as the row's
 * place. */
static enum rc
ack_early(struct run *r, const struct store_row *row, int64_t taken_seq,
    struct err *err)
{
	const int64_t place = taken_seq > 0 && taken_seq < row->lane_seq
				  ? taken_seq
				  : row->lane_seq;
	const bool covered = place <= r->lane->lane.acked_seq;
	bool acked;
	enum rc rc;

	if (row->kind != EVENT_MESSAGE || (!covered && !row->requeued))
		return (RC_OK);
	rc = covered ? store_remote_acked_early(
			   r->tx->db, row->id, r->tx->now_ms, &acked, err)
		     : store_remote_acked_noted(
			   r->tx->db, row->id, r->tx->now_ms, &acked, err);
	if (rc != RC_OK || !acked)
		return (rc);
	txn_count_acked(txn_env_of(r->tx), 1);
	return (txn_notify_change(
	    r->tx, row->sender_id, row->mid, CHANGE_ACKED, err));
}

static enum rc
accepted(struct run *r, const struct parcel_item *item, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	const struct store_row *row = &item->row;
	const bool later = item->answer == ANSWER_LATER;
	int64_t deadline = 0, from;
	enum rc rc;

	if (later)
		deadline = r->tx->now_ms + (env->options.ack_timeout_ms != 0
						   ? env->options.ack_timeout_ms
						   : ACK_TIMEOUT_MS);
	rc = end_attempt(r, item,
	    item->duplicate ? "duplicate" : parcel_answer_outcome(item->answer),
	    NULL, err);
	if (rc == RC_OK)
		rc = store_remote_sent(r->tx->db, row->id, r->tx->now_ms,
		    deadline, item->duplicate, err);
	FAULT("settle.row.after");
	backlog_move(env->backlog, row->kind, OUTBOX_SENDING, OUTBOX_SENT);
	if (rc == RC_OK)
		rc = txn_backlog_add(r->tx, r->lane, row, -1, err);
	if (later)
		stall(r, item, deadline);
	else if (r->lane->lane.last_published_seq < row->lane_seq)
		r->lane->lane.last_published_seq = row->lane_seq;
	if (item->duplicate)
		metrics_add(env->options.metrics, METRIC_DUPLICATES, 1);
	if (rc != RC_OK || row->kind != EVENT_MESSAGE)
		return (rc);
	from = row->deliver_at > row->created_at ? row->deliver_at
						 : row->created_at;
	metrics_observe_us(env->options.metrics, METRIC_DELIVERY_SECONDS,
	    (r->tx->now_ms - from) * 1000);
	metrics_observe_us(env->options.metrics, METRIC_EVENT_SECONDS,
	    (r->tx->now_ms - row->event_time) * 1000);
	rc = txn_notify_change(
	    r->tx, row->sender_id, row->mid, CHANGE_SENT, err);
	if (rc != RC_OK || later)
		return (rc);
	mark_delivered(r, row);
	return (ack_early(r, row, item->taken_seq, err));
}

/* The destination refuses the message for now, or has answered without a result
 * for it.  The row is charged with a retry and offered again after a delay, or
 * becomes a dead letter if it has no retry left. */
static enum rc
refused(struct run *r, const struct parcel_item *item, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	const enum retry_profile profile = env->options.retry;
	const char *error =
	    item->error[0] != '\0' ? item->error : "no answer to this message";
	struct store_back back = {
	    item->row.id, item->row.retry_count + 1, 0, error};
	enum rc rc;

	rc = end_attempt(
	    r, item, parcel_answer_outcome(item->answer), error, err);
	if (rc != RC_OK)
		return (rc);
	if (item->row.retry_count >= retry_most(profile))
		return (dead_letter_make(
		    r->tx, &item->row, REASON_MAX_RETRIES, error, err));
	back.next_retry_at =
	    r->tx->now_ms + retry_delay_ms(profile, item->row.retry_count,
				item->retry_after_ms,
				r->random + (uint32_t)item->row.lane_seq);
	rc = store_remote_back(r->tx->db, &back, r->tx->now_ms, err);
	wait_again(r, item, back.next_retry_at);
	if (rc != RC_OK || item->row.kind != EVENT_MESSAGE)
		return (rc);
	backlog_add(env->backlog, TOTAL_EVER_RETRIED, 1);
	return (txn_notify_change(
	    r->tx, item->row.sender_id, item->row.mid, CHANGE_RETRY, err));
}

static enum rc
rejected(struct run *r, const struct parcel_item *item, struct err *err)
{
	const char *error = item->error[0] != '\0' ? item->error : NULL;
	enum rc rc;

	rc = end_attempt(
	    r, item, parcel_answer_outcome(item->answer), error, err);
	if (rc == RC_OK)
		rc = dead_letter_make(r->tx, &item->row,
		    item->answer == ANSWER_TOO_LARGE ? REASON_TOO_LARGE
						     : REASON_REJECTED,
		    error, err);
	return (rc);
}

static enum rc
settle_item(struct run *r, const struct parcel_item *item, struct err *err)
{

	if (item->replay)
		return (RC_OK);
	if (!r->parcel->reached)
		return (put_off(r, item, "unavailable", r->parcel->error, err));
	if (item->answer == ANSWER_ACCEPTED || item->answer == ANSWER_LATER)
		return (accepted(r, item, err));
	if (item->answer == ANSWER_REJECTED || item->answer == ANSWER_TOO_LARGE)
		return (rejected(r, item, err));
	/* A message behind one that waits is not charged. */
	if (r->stalled != 0 || item->answer == ANSWER_PREDECESSOR)
		return (put_off(r, item, "predecessor", NULL, err));
	return (refused(r, item, err));
}

/* ---- one lane ---- */

/* The lease of the lane has ended: stores the outcome "fenced" for those
 * attempts of the items that have no outcome yet, and leaves the rows as they
 * are.  The next owner of the lane sends and settles those that are neither
 * dead letters nor canceled by then. */
static enum rc
fenced(struct run *r, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < r->n && rc == RC_OK; i++)
		rc = end_attempt(r, &r->items[i], "fenced", NULL, err);
	backlog_add(env->backlog, TOTAL_EVER_FENCED, 1);
	return (rc);
}

/* Sets the place and the time at which a replay continues; a replay offers
 * accepted rows again after a rewind by an operator.  The replay continues,
 * after a retry delay, at the first row that the destination has refused for
 * now or not answered.  If there is none, the replay continues at once behind
 * the last row of this lane in the parcel.  A row of a replay is never charged
 * with a retry, because its sender has seen it as sent. */
static void
replay_on(struct run *r)
{
	struct store_lane *l = &r->lane->lane;
	const struct parcel_item *item;
	size_t i;

	for (i = 0; i < r->n; i++) {
		item = &r->items[i];
		l->replay_seq = item->row.lane_seq;
		if (item->answer == ANSWER_NONE ||
		    item->answer == ANSWER_RETRYABLE ||
		    item->answer == ANSWER_PREDECESSOR) {
			l->due_at =
			    r->tx->now_ms +
			    retry_delay_ms(txn_env_of(r->tx)->options.retry, 0,
				item->retry_after_ms, r->random);
			return;
		}
	}
	l->replay_seq++;
	l->due_at = 0;
}

/* Sets where and when the lane continues. */
static void
move_on(struct run *r)
{
	struct store_lane *l = &r->lane->lane;
	const struct parcel_item *last = &r->items[r->n - 1];

	l->lease_until = 0;
	l->lease_owner[0] = '\0';
	if (last->replay) {
		/* If the destination was not reached, replay_seq stays, so the
		 * same rows are offered again.  If an operator has rewound the
		 * lane in the meantime, replay_seq has the new place and stays,
		 * too. */
		if (r->parcel->reached &&
		    l->replay_seq == r->items[0].row.lane_seq)
			replay_on(r);
	} else {
		l->next_seq =
		    r->stalled != 0 ? r->stalled : last->row.lane_seq + 1;
		l->due_at = r->due;
	}
	l->state = l->next_seq <= l->tail_seq || l->replay_seq != 0 ? LANE_READY
								    : LANE_IDLE;
	if (l->state == LANE_IDLE)
		l->due_at = 0;
	else if (r->back < l->priority)
		cache_lane_recheck_priority(
		    txn_env_of(r->tx)->cache, r->lane, l->priority);
}

static enum rc
settle_lane(struct run *r, size_t *ret_fenced, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	size_t i;
	enum rc rc;

	rc = cache_lane_by_id(
	    env->cache, r->tx, r->items[0].row.lane_id, &r->lane, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a lane that is not there");
	if (rc == RC_OK)
		rc = store_lane_fence(r->tx->db, r->items[0].row.lane_id,
		    r->items[0].lane_token, r->tx->now_ms, err);
	if (rc == RC_CONFLICT) {
		(*ret_fenced)++;
		return (fenced(r, err));
	}
	for (i = 0; i < r->n && rc == RC_OK; i++)
		rc = settle_item(r, &r->items[i], err);
	FAULT("settle.rows.after");
	if (rc != RC_OK)
		return (rc);
	move_on(r);
	cache_lane_touch(env->cache, r->lane);
	return (RC_OK);
}

/* ---- the verb ---- */

static enum rc
settle_one(struct tx *tx, struct settle_unit *u, struct err *err)
{
	const struct parcel *p = u->parcel;
	struct txn_env *env = txn_env_of(tx);
	struct run r;
	size_t i, k;
	enum rc rc;

	u->fenced = 0;
	metrics_observe_us(env->options.metrics, METRIC_ATTEMPT_SECONDS,
	    (tx->now_ms - p->left_ms) * 1000);
	/* Write the cached changes of lanes by earlier units of this batch:
	 * store_lane_fence() compares the token of the lease with the row in
	 * the database, not with the cache. */
	rc = cache_flush_lanes(env->cache, tx, err);
	for (i = 0; i < p->n && rc == RC_OK; i = k) {
		for (k = i + 1; k < p->n && p->items[k].row.lane_id ==
						p->items[i].row.lane_id;
		     k++)
			continue;
		memset(&r, 0, sizeof(r));
		r.tx = tx;
		r.parcel = p;
		r.items = &p->items[i];
		r.n = k - i;
		r.random = u->random;
		r.back = PRIORITY_LOW;
		rc = settle_lane(&r, &u->fenced, err);
	}
	return (rc == RC_OK ? parcel_next_due(tx, p, &u->next_due, err) : rc);
}

static enum rc
settle_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (
	    settle_one(tx, CONTAINER_OF(unit, struct settle_unit, unit), err));
}

/* Adds the lanes of the parcel to the lock set ${set}.  Each lane is added
 * once: the items of a lane are consecutive, so it is enough to compare an item
 * with the one before it. */
static enum rc
settle_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct parcel *p =
	    CONTAINER_OF(unit, struct settle_unit, unit)->parcel;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < p->n && rc == RC_OK; i++)
		if (i == 0 ||
		    p->items[i].row.lane_id != p->items[i - 1].row.lane_id)
			rc = lockset_lane(set, p->items[i].row.lane_id, err);
	return (rc);
}

UNIT_KIND(settle, settle_locks, .queue = UNIT_DELIVERY, .order = ORDER_SETTLE,
    .apply_one = settle_apply);

void
settle_unit_init(struct settle_unit *u)
{

	u->unit.kind = &settle_kind;
	u->unit.bytes = 4096;
	u->next_due = 0;
	u->fenced = 0;
}

/* ---- an answer that was promised ---- */

enum rc
settle_confirm(struct tx *tx, int64_t outbox_id, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct run r = {.tx = tx};
	struct store_row row;
	enum rc rc;

	rc = store_row_get(tx->db, outbox_id, &row, err);
	/* Read it again when its lane is locked. */
	if (rc == RC_OK && row.lane_id != 0)
		rc =
		    cache_lane_by_id(env->cache, tx, row.lane_id, &r.lane, err);
	if (rc == RC_OK)
		rc = store_row_get(tx->db, outbox_id, &row, err);
	if (rc != RC_OK || row.state != OUTBOX_SENT || row.ack_deadline == 0)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	rc = store_remote_confirm(tx->db, outbox_id, tx->now_ms, err);
	if (rc != RC_OK)
		return (rc);
	mark_delivered(&r, &row);
	if (r.lane->lane.last_published_seq < row.lane_seq)
		r.lane->lane.last_published_seq = row.lane_seq;
	/* The lane has waited for this answer. */
	if (r.lane->lane.state == LANE_READY)
		r.lane->lane.due_at = 0;
	cache_lane_touch(env->cache, r.lane);
	rc = ack_early(&r, &row, 0, err);
	return (
	    rc == RC_OK ? txn_wake_lane(tx, r.lane, row.priority, err) : rc);
}
