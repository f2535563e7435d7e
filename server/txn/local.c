/* SPDX-License-Identifier: MIT */
/*
 * See local.h.
 */
#include <string.h>

#include "base/thr.h"
#include "model/outbox.h"
#include "store/destination.h"
#include "txn/add.h"
#include "txn/local.h"
#include "txn/verb.h"

/* ---- the rule ---- */

struct delivery_lane
txn_local_lane(const struct cached_lane *lane)
{

	return ((struct delivery_lane){.next_seq = lane->lane.next_seq,
	    .tail_seq = lane->lane.tail_seq,
	    .due_at = lane->lane.due_at});
}

void
txn_local_pauses_changed(struct tx *tx)
{

	txn_env_of(tx)->pauses_known = false;
}

static enum rc
take_pause(void *arg, const struct store_destination_row *row, struct err *err)
{
	bool *paused = arg;

	(void)err;
	*paused = *paused || row->paused_at != 0;
	return (RC_OK);
}

/* Sets *ret to true if an operator has paused deliveries into the inboxes of
 * this server (destination "local") or all deliveries ("*").  The two rows are
 * read once and remembered until an operator changes a destination or a
 * transaction is abandoned.  No other process changes the rows: the caller
 * calls this only if `at_once` is set, which a multi-writer database
 * excludes. */
static enum rc
is_paused(struct tx *tx, bool *ret, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc = RC_OK;

	/* The destinations "*" and "local" have the two lowest ids. */
	_Static_assert(
	    DESTINATION_ALL == 0 && DESTINATION_LOCAL == 1, "the first two");
	if (!env->pauses_known) {
		env->paused = false;
		rc = store_destinations_after(
		    tx->db, -1, 2, take_pause, &env->paused, err);
		env->pauses_known = rc == RC_OK;
	}
	*ret = env->paused;
	return (rc);
}

enum rc
txn_local_at_once(
    struct tx *tx, const struct cached_lane *lane, bool *ret, struct err *err)
{
	struct delivery_lane l = txn_local_lane(lane);
	enum rc rc;

	thr_assert(THR_WRITER);
	*ret = false;
	if (!txn_env_of(tx)->options.at_once || tx->alone ||
	    cache_lane_remote(lane))
		return (RC_OK);
	rc = is_paused(tx, &l.paused, err);
	*ret = rc == RC_OK && delivery_at_once(&l, tx->now_ms);
	return (rc);
}

/* ---- a row ---- */

/* Sets *ret to the message id of ${mid}, from memory or from the store. */
static enum rc
message_id_of(struct tx *tx, const struct cached_message *cached, int64_t mid,
    struct uuid *ret, struct err *err)
{
	enum rc rc;

	if (cached != NULL) {
		*ret = cached->id;
		return (RC_OK);
	}
	rc = store_message_uuid(tx->db, mid, ret, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row without a message");
	return (rc);
}

static enum rc
add_inbox_row(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, const struct uuid *event_id,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	const struct cached_message *cached;
	struct cached_user *actor;
	struct inbox_new i;
	struct uuid of;
	enum rc rc;

	rc = cache_user_by_id(env->cache, tx, row->sender_id, &actor, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row without a sender");
	if (rc != RC_OK)
		return (rc);
	memset(&i, 0, sizeof(i));
	cached = message_cache_find(&env->message_cache, row->mid);
	if (row->kind == EVENT_MESSAGE && cached != NULL)
		i.message = cached->message;
	rc = message_id_of(tx, cached, row->mid, &of, err);
	i.user = lane->dest;
	i.kind = row->kind;
	i.own = false;
	i.event_id = event_id;
	i.mid = row->mid;
	i.conversation = lane->conversation;
	i.conversation_seq = row->conversation_seq;
	i.actor = actor;
	i.outbox_id = row->id;
	i.event_time = row->event_time;
	i.attempt = row->attempts + 1;
	i.message_id = &of;
	if (rc == RC_OK)
		rc = txn_add_inbox(tx, &i, err);
	return (rc);
}

enum rc
txn_local_deliver(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, const struct uuid *event_id, int from,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct metrics *m = env->options.metrics;
	struct cached_member *member;
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = add_inbox_row(tx, lane, row, event_id, err);
	if (rc != RC_OK)
		return (rc);
	lane->lane.next_seq = row->lane_seq + 1;
	lane->lane.last_published_seq = row->lane_seq;
	cache_lane_touch(env->cache, lane);
	if (row->kind != EVENT_MESSAGE)
		return (RC_OK);
	metrics_observe_us(m, METRIC_DELIVERY_SECONDS,
	    (tx->now_ms - (row->deliver_at > row->created_at
				  ? row->deliver_at
				  : row->created_at)) *
		1000);
	metrics_observe_us(
	    m, METRIC_EVENT_SECONDS, (tx->now_ms - row->event_time) * 1000);
	member = cache_member_find(lane->conversation, lane->dest->user_id);
	if (member != NULL && member->delivered_upto < row->conversation_seq) {
		member->delivered_upto = row->conversation_seq;
		cache_member_touch(env->cache, lane->conversation, member);
	}
	backlog_move(env->backlog, row->kind, from, OUTBOX_SENT);
	return (
	    txn_notify_change(tx, row->sender_id, row->mid, CHANGE_SENT, err));
}
