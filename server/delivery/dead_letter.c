/* SPDX-License-Identifier: MIT */
/*
 * See dead_letter.h.
 */
#include <string.h>

#include "base/fault.h"
#include "delivery/dead_letter.h"
#include "store/dead_letter.h"
#include "store/totals.h"
#include "txn/add.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* ---- the bounce ---- */

/* Adds the bounce for ${row} to the inbox of the message's sender.  Also adds
 * an outbox row for the bounce itself, in the state acked.  Inbox queries read
 * the bounce's reason from that row, which is never purged. */
static enum rc
add_bounce(struct tx *tx, const struct store_row *row, struct cached_lane *lane,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct uuid event_id, of;
	struct cached_user *sender;
	struct outbox_new o;
	struct inbox_new i;
	int64_t id;
	enum rc rc;

	rc = cache_user_by_id(env->cache, tx, row->sender_id, &sender, err);
	if (rc == RC_OK)
		rc = store_message_uuid(tx->db, row->mid, &of, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row %lld of nobody",
		    (long long)row->id);
	if (rc != RC_OK)
		return (rc);
	event_id = uuid_gen_next(&env->ids);
	memset(&o, 0, sizeof(o));
	o.kind = EVENT_BOUNCE;
	o.mid = row->mid;
	o.conversation = lane->conversation;
	o.conversation_seq = row->conversation_seq;
	o.sender_id = row->sender_id;
	o.dest = sender;
	o.event_time = tx->now_ms;
	rc = txn_add_outbox(tx, &o, &event_id, &id, err);
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &env->outbox, true, err);
	if (rc == RC_OK)
		rc = store_row_reason_set(tx->db, id, row->reason, err);
	memset(&i, 0, sizeof(i));
	i.user = sender;
	i.kind = EVENT_BOUNCE;
	i.own = true;
	i.event_id = &event_id;
	i.mid = row->mid;
	i.conversation = lane->conversation;
	i.conversation_seq = row->conversation_seq;
	i.actor = sender;
	i.outbox_id = id;
	i.event_time = tx->now_ms;
	i.attempt = 1;
	i.reason = row->reason;
	i.message_id = &of;
	if (rc == RC_OK)
		rc = txn_add_inbox(tx, &i, err);
	if (rc == RC_OK)
		rc = txn_write_inbox(tx, err);
	metrics_add(env->options.metrics, METRIC_BOUNCES, 1);
	return (rc);
}

/* ---- dying ---- */

enum rc
dead_letter_make(struct tx *tx, const struct store_row *row,
    enum outbox_reason reason, const char *error, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	struct store_row dead = *row;
	enum rc rc;

	dead.reason = (int)reason;
	dead.state = reason == REASON_EXPIRED ? OUTBOX_EXPIRED : OUTBOX_FAILED;
	rc = cache_lane_by_id(env->cache, tx, row->lane_id, &lane, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row %lld in no lane",
		    (long long)row->id);
	if (rc == RC_OK)
		rc = store_row_dead(
		    tx->db, &dead, dead.state, error, tx->now_ms, err);
	FAULT("dead.row.after");
	if (rc != RC_OK)
		return (rc);
	backlog_move(env->backlog, row->kind, row->state, dead.state);
	rc = txn_lane_row_gone(tx, lane, row, err);
	/* A failed or expired receipt has no dead letter and no bounce: no user
	 * waits for it. */
	if (rc != RC_OK || row->kind != EVENT_MESSAGE)
		return (rc);
	if (dead.state == OUTBOX_FAILED)
		metrics_add_by(env->options.metrics, METRIC_BY_OUTBOX_FAILED,
		    outbox_reason_word(reason), 1);
	rc = txn_backlog_add(tx, lane, row, -1, err);
	if (rc == RC_OK)
		rc = store_dead_letter_insert(tx->db, &dead,
		    lane->lane.destination_id, error, tx->now_ms, err);
	FAULT("dead.letter.after");
	if (rc == RC_OK)
		rc = add_bounce(tx, &dead, lane, err);
	if (rc == RC_OK)
		rc = txn_notify_change(
		    tx, row->sender_id, row->mid, CHANGE_FAILED, err);
	return (rc);
}

enum rc
dead_letter_make_by_id(struct tx *tx, int64_t outbox_id,
    enum outbox_reason reason, const char *error, struct err *err)
{
	struct store_row row;
	enum rc rc;

	rc = store_row_get(tx->db, outbox_id, &row, err);
	return (
	    rc == RC_OK ? dead_letter_make(tx, &row, reason, error, err) : rc);
}

/* ---- coming back ---- */

/* An outbox row that an operator, or the sender of its message, wants to
 * change, and the row's lane.  ${by} is the name of that operator or sender. */
struct found {
	struct store_row row;
	struct cached_lane *lane;
	const char *by;
};

/* Reads the row with ${outbox_id} and its lane into ${f}.  If there is no such
 * row, or if it is in no lane, sets the refusal *ret and returns RC_OK.  On a
 * multi-writer database reading the lane locks its conversation; then the row
 * is read again, because its state may have changed before the lock. */
static enum rc
find(struct tx *tx, int64_t outbox_id, struct found *f, struct refusal *ret,
    struct err *err)
{
	enum rc rc;

	rc = store_row_get(tx->db, outbox_id, &f->row, err);
	if (rc == RC_OK && f->row.lane_id != 0) {
		rc = cache_lane_by_id(
		    txn_env_of(tx)->cache, tx, f->row.lane_id, &f->lane, err);
		if (rc != RC_OK || !db_multi_writer(tx->db))
			return (rc);
		rc = store_row_get(tx->db, outbox_id, &f->row, err);
		if (rc == RC_OK)
			return (rc);
	}
	if (rc == RC_OK) {
		/* A message to oneself has no lane. */
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it is %s, and was never on its way",
		    outbox_state_name(f->row.state));
	} else if (rc == RC_NOT_FOUND) {
		refusal_set(ret, PROBLEM_NOT_FOUND, "",
		    "there is no such message on its way");
		rc = RC_OK;
	}
	return (rc);
}

typedef enum rc (*found_fn)(
    struct tx *tx, const struct found *f, struct refusal *ret, struct err *err);

/* Finds the row with ${f->row.id} and applies ${change}. */
static enum rc
find_and_change(struct tx *tx, struct found *f, found_fn change,
    struct refusal *ret, struct err *err)
{
	enum rc rc;

	rc = find(tx, f->row.id, f, ret, err);
	if (rc != RC_OK || ret->problem != PROBLEM_NONE)
		return (rc);
	return (change(tx, f, ret, err));
}

enum rc
dead_letter_lock(struct tx *tx, int64_t outbox_id, struct err *err)
{
	struct refusal none = REFUSAL_INIT;
	struct found f;

	return (find(tx, outbox_id, &f, &none, err));
}

static bool
is_dead(const struct store_row *row)
{

	return (row->state == OUTBOX_FAILED || row->state == OUTBOX_EXPIRED);
}

static enum rc
requeue(struct tx *tx, const struct store_row *row, struct cached_lane *lane,
    const char *by, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	int64_t lane_seq;
	enum rc rc;

	lane_seq = txn_lane_append(tx, lane, row->priority);
	rc = store_row_requeue(tx->db, row->id, lane_seq,
	    tx->now_ms + env->options.expiry_ms, tx->now_ms, err);
	if (rc == RC_OK)
		rc = store_dead_letter_resolve(
		    tx->db, row->id, "requeued", by, tx->now_ms, err);
	/* A discarded row has no open dead letter. */
	if (rc == RC_NOT_FOUND)
		rc = RC_OK;
	FAULT("requeue.row.after");
	backlog_move(env->backlog, row->kind, row->state, OUTBOX_PENDING);
	backlog_add(env->backlog, TOTAL_EVER_REQUEUED, 1);
	if (rc == RC_OK)
		rc = txn_backlog_add(tx, lane, row, 1, err);
	if (rc == RC_OK)
		rc = txn_wake_lane(tx, lane, row->priority, err);
	if (rc == RC_OK)
		rc = txn_notify_change(
		    tx, row->sender_id, row->mid, CHANGE_RETRY, err);
	return (rc);
}

static enum rc
requeue_found(
    struct tx *tx, const struct found *f, struct refusal *ret, struct err *err)
{
	const struct txn_env *env = txn_env_of(tx);

	if (!is_dead(&f->row)) {
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it is %s: only what has failed or expired is requeued",
		    outbox_state_name(f->row.state));
		return (RC_OK);
	}
	if (env->options.requeue_ms != 0 &&
	    tx->now_ms - f->row.created_at > env->options.requeue_ms) {
		/* The destination may have forgotten that it has received
		 * it. */
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it is too old to be requeued (requeue-window): send it "
		    "anew");
		return (RC_OK);
	}
	return (requeue(tx, &f->row, f->lane, f->by, err));
}

enum rc
dead_letter_requeue(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err)
{
	struct found f = {.row.id = outbox_id, .by = by};

	return (find_and_change(tx, &f, requeue_found, ret, err));
}

/* Returns the state of ${row} for the text of a refusal. */
static const char *
state_in_words(const struct store_row *row)
{

	return (row->state == OUTBOX_PENDING && row->lane_seq == 0
		    ? "scheduled"
		    : outbox_state_name(row->state));
}

static enum rc
discard_found(
    struct tx *tx, const struct found *f, struct refusal *ret, struct err *err)
{
	const struct store_row *row = &f->row;
	enum rc rc;

	if (row->state == OUTBOX_PENDING && row->lane_seq != 0) {
		rc = dead_letter_make(tx, row, REASON_DISCARDED, NULL, err);
		if (rc != RC_OK || row->kind != EVENT_MESSAGE)
			return (rc);
	} else if (!is_dead(row)) {
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it is %s: only what waits, has failed or has expired is "
		    "discarded",
		    state_in_words(row));
		return (RC_OK);
	}
	rc = store_dead_letter_resolve(
	    tx->db, row->id, "discarded", f->by, tx->now_ms, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it has been dealt with already");
		rc = RC_OK;
	}
	return (rc);
}

enum rc
dead_letter_discard(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err)
{
	struct found f = {.row.id = outbox_id, .by = by};

	return (find_and_change(tx, &f, discard_found, ret, err));
}

static enum rc
retry_found(
    struct tx *tx, const struct found *f, struct refusal *ret, struct err *err)
{
	const struct store_row *row = &f->row;
	enum rc rc;

	if (is_dead(row))
		return (requeue_found(tx, f, ret, err));
	if (row->state != OUTBOX_PENDING || row->lane_seq == 0) {
		refusal_set(ret, PROBLEM_CONFLICT, "",
		    "it is %s: there is nothing to try again",
		    state_in_words(row));
		return (RC_OK);
	}
	rc = store_row_due_now(tx->db, row->id, tx->now_ms, err);
	if (f->lane->lane.due_at != 0) {
		f->lane->lane.due_at = 0;
		cache_lane_touch(txn_env_of(tx)->cache, f->lane);
	}
	if (rc == RC_OK)
		rc = txn_wake_lane(tx, f->lane, row->priority, err);
	if (rc == RC_OK)
		rc = txn_notify_change(
		    tx, row->sender_id, row->mid, CHANGE_OTHER, err);
	return (rc);
}

enum rc
dead_letter_retry(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err)
{
	struct found f = {.row.id = outbox_id, .by = by};

	return (find_and_change(tx, &f, retry_found, ret, err));
}
