/* SPDX-License-Identifier: MIT */
/*
 * A receipt is added to the outbox, or a receipt that waits is moved on.
 */
#include <string.h>

#include "base/thr.h"
#include "txn/add.h"
#include "txn/verb.h"

enum rc
txn_add_receipt(struct tx *tx, const struct receipt_new *r, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	struct outbox_new o;
	struct uuid event_id;
	int64_t id;
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = cache_lane_to(
	    env->cache, tx, r->conversation, r->to, LANE_RECEIPTS, &lane, err);
	if (rc != RC_OK)
		return (rc);
	id = 0;
	if (lane->lane.next_seq <= lane->lane.tail_seq)
		rc = store_receipt_pending(tx->db, lane->lane.lane_id, r->kind,
		    r->by->user_id, &id, err);
	if (rc != RC_OK)
		return (rc);
	if (id != 0)
		return (store_receipt_move(
		    tx->db, id, r->mid, r->upto, tx->now_ms, err));
	memset(&o, 0, sizeof(o));
	o.kind = r->kind;
	o.mid = r->mid;
	o.conversation = r->conversation;
	o.conversation_seq = r->upto;
	o.sender_id = r->by->user_id;
	o.lane = lane;
	o.dest = r->to;
	o.event_time = tx->now_ms;
	event_id = uuid_gen_next(&env->ids);
	metrics_add(env->options.metrics, METRIC_RECEIPTS, 1);
	rc = txn_add_outbox(tx, &o, &event_id, &id, err);
	/* A later receipt of this batch must find it. */
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &env->outbox, true, err);
	return (rc);
}
