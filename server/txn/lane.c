/* SPDX-License-Identifier: MIT */
/*
 * See lane.h.
 */
#include "txn/lane.h"
#include "txn/verb.h"

enum rc
txn_wake_lane(struct tx *tx, const struct cached_lane *lane, int priority,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	rc = txn_need_effects(env, err);
	if (rc != RC_OK)
		return (rc);
	if (cache_lane_remote(lane))
		return (wake_add_destination(
		    env->wake, lane->lane.destination_id, err));
	return (wake_add(env->wake, lane->lane.lane_id, priority, err));
}

enum rc
txn_backlog_add(struct tx *tx, const struct cached_lane *lane,
    const struct store_row *row, int64_t n, struct err *err)
{
	struct backlog_key key = {row->sender_id, lane->lane.destination_id};

	if (row->kind != EVENT_MESSAGE)
		return (RC_OK);
	return (backlog_wait(txn_env_of(tx)->backlog, &key, n, err));
}

/* Updates ${lane} for a row of ${priority} that is added at the end of the
 * lane.  If the lane leads to another server, an idle lane becomes ready, due
 * at once and of ${priority}; a ready or leased lane gets ${priority} if its
 * own priority is lower.  Does nothing for a lane to an inbox of this
 * server. */
static void
lane_grown(struct txn_env *env, struct cached_lane *lane, int priority)
{

	if (!cache_lane_remote(lane))
		return;
	if (lane->lane.state == LANE_IDLE) {
		lane->lane.state = LANE_READY;
		lane->lane.due_at = 0;
		lane->lane.priority = priority;
	} else if (lane->lane.priority < priority) {
		lane->lane.priority = priority;
	}
	cache_lane_touch(env->cache, lane);
}

int64_t
txn_lane_append(struct tx *tx, struct cached_lane *lane, int priority)
{

	lane_grown(txn_env_of(tx), lane, priority);
	return (++lane->lane.tail_seq);
}

enum rc
txn_lane_row_gone(struct tx *tx, struct cached_lane *lane,
    const struct store_row *row, struct err *err)
{

	cache_lane_recheck_priority(txn_env_of(tx)->cache, lane, row->priority);
	if (!cache_lane_remote(lane) || lane->lane.state != LANE_READY ||
	    lane->lane.next_seq != row->lane_seq ||
	    lane->lane.due_at <= tx->now_ms)
		return (RC_OK);
	lane->lane.due_at = 0;
	cache_lane_touch(txn_env_of(tx)->cache, lane);
	return (txn_wake_lane(tx, lane, row->priority, err));
}
