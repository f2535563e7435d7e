/* SPDX-License-Identifier: MIT */
/*
 * Adds rows to the outbox.  A row that has a lane and is not scheduled gets a
 * place at the end of its lane; all other rows get no place.
 */
#include "base/thr.h"
#include "txn/add.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* Adds a new message to the totals of the outbox: to TOTAL_EVER_ACCEPTED, and
 * to the totals of its initial state.  A message that this transaction delivers
 * is added only to TOTAL_EVER_ACCEPTED; txn_local_deliver() then counts the
 * message as sent. */
static void
count_new(struct txn_env *env, const struct outbox_new *o)
{

	backlog_add(env->backlog, TOTAL_EVER_ACCEPTED, 1);
	if (o->lane == NULL) {
		backlog_add(env->backlog, TOTAL_EVER_SENT, 1);
		backlog_add(env->backlog, TOTAL_EVER_ACKED, 1);
	} else if (!o->at_once) {
		backlog_add(env->backlog,
		    o->deliver_at != 0 ? TOTAL_SCHEDULED : TOTAL_PENDING, 1);
	}
}

/* Sets *ret_lane_seq to a new place at the end of the lane, for a row that has
 * a lane and is not scheduled (the caller checks this).  Unless this
 * transaction delivers the row, also notes that the relay is to be woken for
 * the lane and, if the row is a message, counts the message as waiting. */
static enum rc
give_place(struct tx *tx, const struct outbox_new *o, int64_t *ret_lane_seq,
    struct err *err)
{
	const struct backlog_key key = {
	    o->sender_id, o->lane->lane.destination_id};
	enum rc rc;

	*ret_lane_seq = txn_lane_append(tx, o->lane, o->priority);
	if (o->at_once)
		return (RC_OK);
	rc = txn_wake_lane(tx, o->lane, o->priority, err);
	return (rc == RC_OK && o->kind == EVENT_MESSAGE
		    ? backlog_wait(txn_env_of(tx)->backlog, &key, 1, err)
		    : rc);
}

/* Sets the initial state of the row, and the number of attempts and the times
 * (last attempt, sent, acked) that belong to the state. */
static void
set_state(struct sql_outbox_insert *v, const struct outbox_new *o, int64_t now)
{

	if (o->lane == NULL)
		v->state = db_v_text("acked", 5);
	else if (o->at_once)
		v->state = db_v_text("sent", 4);
	else
		v->state = db_v_text("pending", 7);
	v->attempts = db_v_i64(o->at_once);
	v->attempt_at = o->at_once ? db_v_i64(now) : DB_V_NULL;
	v->sent_at = o->at_once || o->lane == NULL ? db_v_i64(now) : DB_V_NULL;
	v->acked_at = o->lane == NULL ? db_v_i64(now) : DB_V_NULL;
}

enum rc
txn_add_outbox(struct tx *tx, const struct outbox_new *o,
    const struct uuid *event_id, int64_t *ret_id, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct sql_outbox_insert *v;
	int64_t lane_seq;
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = txn_need_effects(env, err);
	if (rc == RC_OK)
		rc = cache_next_outbox_id(env->cache, tx, ret_id, err);
	if (rc == RC_OK)
		rc = store_next_outbox_insert(tx->db, &env->outbox, &v, err);
	if (rc != RC_OK)
		return (rc);
	lane_seq = 0;
	if (o->lane != NULL && o->deliver_at == 0)
		rc = give_place(tx, o, &lane_seq, err);
	if (o->kind == EVENT_MESSAGE)
		count_new(env, o);
	v->id = db_v_i64(*ret_id);
	v->event_id = db_v_uuid(event_id);
	v->kind = db_v_i64(o->kind);
	v->mid = db_v_i64(o->mid);
	v->conversation_id = db_v_i64(o->conversation->id);
	v->conversation_seq = db_v_i64_or_null(o->conversation_seq, 0);
	v->sender_id = db_v_i64(o->sender_id);
	v->lane_id =
	    o->lane != NULL ? db_v_i64(o->lane->lane.lane_id) : DB_V_NULL;
	v->lane_seq = db_v_i64_or_null(lane_seq, 0);
	v->dest_kind = o->lane != NULL && cache_lane_remote(o->lane)
			   ? db_v_text("server", 6)
			   : db_v_text("user", 4);
	v->dest_id = db_v_i64(o->dest->user_id);
	v->priority = db_v_i64(o->priority);
	set_state(v, o, tx->now_ms);
	v->deliver_at = db_v_i64_or_null(o->deliver_at, 0);
	v->expires_at = db_v_i64_or_null(o->expires_at, 0);
	v->event_time = db_v_i64(o->event_time);
	v->now = db_v_i64(tx->now_ms);
	return (rc);
}
