/* SPDX-License-Identifier: MIT */
/*
 * A row is added to the outbox, at the end of its lane.
 */
#include "base/thr.h"
#include "txn/add.h"
#include "txn/lane.h"
#include "txn/verb.h"

/* A message was accepted: where it stands. */
static void
count_new(struct txn_env *env, const struct outbox_new *o)
{

	backlog_add(env->backlog, TOTAL_EVER_ACCEPTED, 1);
	if (o->lane == NULL) {
		backlog_add(env->backlog, TOTAL_EVER_SENT, 1);
		backlog_add(env->backlog, TOTAL_EVER_ACKED, 1);
	} else {
		backlog_add(env->backlog,
		    o->deliver_at != 0 ? TOTAL_SCHEDULED : TOTAL_PENDING, 1);
	}
}

/* Only a row that is born acked has sent_at and acked_at. */
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
	if (o->lane != NULL && o->deliver_at == 0) {
		lane_seq = txn_lane_append(tx, o->lane, o->priority);
		rc = txn_wake_lane(tx, o->lane, o->priority, err);
	}
	if (o->kind == EVENT_MESSAGE)
		count_new(env, o);
	if (rc == RC_OK && o->kind == EVENT_MESSAGE && lane_seq != 0)
		rc = backlog_wait(env->backlog,
		    &(struct backlog_key){
			o->sender_id, o->lane->lane.destination_id},
		    1, err);
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
	v->state =
	    o->lane != NULL ? db_v_text("pending", 7) : db_v_text("acked", 5);
	v->deliver_at = db_v_i64_or_null(o->deliver_at, 0);
	v->expires_at = db_v_i64_or_null(o->expires_at, 0);
	v->event_time = db_v_i64(o->event_time);
	v->now = db_v_i64(tx->now_ms);
	v->acked_at = o->lane != NULL ? DB_V_NULL : db_v_i64(tx->now_ms);
	return (rc);
}
