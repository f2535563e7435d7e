/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `deliver`.
 *
 * A lane's pending rows are read in order, put into the recipient's inbox with
 * the next seq, and settled, all in the transaction at hand.  The settling
 * update names the state it expects and its row count is checked: if anything
 * else has touched a row, the whole transaction is abandoned.
 */
#include <string.h>

#include "base/fault.h"
#include "domain/dead.h"
#include "domain/deliver.h"
#include "domain/domain_internal.h"
#include "domain/order.h"
#include "model/outbox.h"

/* The message id of ${mid}: from memory, else from the store. */
static enum rc
message_id_of(struct tx *tx, const struct recent *recent, int64_t mid,
    struct uuid *ret, struct err *err)
{
	enum rc rc;

	if (recent != NULL) {
		*ret = recent->id;
		return (RC_OK);
	}
	rc = store_message_uuid(tx->db, mid, ret, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row without a message");
	return (rc);
}

static enum rc
add_inbox_row(struct tx *tx, struct ledger_lane *lane,
    const struct store_claimed *row, struct err *err)
{
	struct domain *d = domain_of(tx);
	const struct recent *recent;
	struct ledger_user *actor;
	struct inbox_new i;
	struct uuid of;
	enum rc rc;

	rc = ledger_user_by_id(d->ledger, tx, row->sender_id, &actor, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "outbox row without a sender");
	if (rc != RC_OK)
		return (rc);
	memset(&i, 0, sizeof(i));
	recent = recent_find(d, row->mid);
	if (row->kind == EVENT_MESSAGE && recent != NULL)
		i.message = recent->message;
	rc = message_id_of(tx, recent, row->mid, &of, err);
	i.user = lane->dest;
	i.kind = row->kind;
	i.own = false;
	i.event_id = &row->event_id;
	i.mid = row->mid;
	i.conversation = lane->conversation;
	i.conversation_seq = row->conversation_seq;
	i.actor = actor;
	i.outbox_id = row->id;
	i.event_time = row->event_time;
	i.attempt = row->attempts + 1;
	i.message_id = &of;
	if (rc == RC_OK)
		rc = inbox_add(tx, &i, err);
	return (rc);
}

/* The row is in the inbox now. */
static enum rc
settle(struct tx *tx, struct ledger_lane *lane, const struct store_claimed *row,
    struct err *err)
{
	struct domain *d = domain_of(tx);
	struct metrics *m = d->options.metrics;
	struct ledger_member *member;
	struct db_val *v;
	enum rc rc;

	rc = store_rows_next(tx->db, &d->sent, &v, err);
	if (rc != RC_OK)
		return (rc);
	v[0] = db_v_i64(row->id);
	v[1] = db_v_i64(tx->now_ms);
	lane->lane.next_seq = row->lane_seq + 1;
	lane->lane.last_published_seq = row->lane_seq;
	if (row->kind != EVENT_MESSAGE)
		return (RC_OK);
	metrics_observe_us(m, METRIC_DELIVERY_SECONDS,
	    (tx->now_ms - (row->deliver_at > row->created_at
				  ? row->deliver_at
				  : row->created_at)) *
		1000);
	metrics_observe_us(
	    m, METRIC_EVENT_SECONDS, (tx->now_ms - row->event_time) * 1000);
	member = ledger_member_find(lane->conversation, row->dest_user);
	if (member != NULL && member->delivered_upto < row->conversation_seq) {
		member->delivered_upto = row->conversation_seq;
		ledger_member_touch(d->ledger, lane->conversation, member);
	}
	tally_move(d->tally, row->kind, OUTBOX_PENDING, OUTBOX_SENT);
	rc = tally_wait(d->tally,
	    &(struct tally_key){row->sender_id, DESTINATION_LOCAL}, -1, err);
	if (rc == RC_OK)
		rc =
		    tell_change(tx, row->sender_id, row->mid, CHANGE_SENT, err);
	return (rc);
}

/* Into the inbox; or, when it has waited too long (behind a pause), out. */
static enum rc
deliver_row(struct tx *tx, struct ledger_lane *lane,
    const struct store_claimed *row, struct err *err)
{
	enum rc rc;

	if (expired(tx, row->expires_at)) {
		lane->lane.next_seq = row->lane_seq + 1;
		return (dead_by_id(tx, row->id, REASON_EXPIRED, NULL, err));
	}
	rc = add_inbox_row(tx, lane, row, err);
	if (rc == RC_OK)
		rc = settle(tx, lane, row, err);
	return (rc);
}

/* One turn of a lane.  Event ids in the rows point into d->claimed, so the
 * rows are written before the next turn. */
static enum rc
deliver_lane(struct tx *tx, struct ledger_lane *lane, bool *ret_more,
    size_t *ret_n, struct err *err)
{
	struct domain *d = domain_of(tx);
	size_t i, n;
	enum rc rc;

	rc = store_outbox_claim(tx->db, lane->lane.lane_id, lane->lane.next_seq,
	    d->claimed, DELIVER_ROWS, &n, err);
	for (i = 0; i < n && rc == RC_OK; i++)
		rc = deliver_row(tx, lane, &d->claimed[i], err);
	FAULT("deliver.inbox.before");
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &d->inbox, true, err);
	FAULT("deliver.settle.before");
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &d->sent, true, err);
	FAULT("deliver.settle.after");
	if (rc != RC_OK)
		return (rc);
	/* Fewer rows than asked for: what is left of the lane is gaps of
	 * canceled or expired rows. */
	if (n < DELIVER_ROWS)
		lane->lane.next_seq = lane->lane.tail_seq + 1;
	ledger_lane_touch(d->ledger, lane);
	*ret_more =
	    n == DELIVER_ROWS && lane->lane.next_seq <= lane->lane.tail_seq;
	*ret_n = n;
	return (RC_OK);
}

/* The first message of a lane has made its delivery break off too often. */
static enum rc
take_poison(struct tx *tx, struct ledger_lane *lane, struct err *err)
{
	struct domain *d = domain_of(tx);
	size_t n;
	enum rc rc;

	rc = store_outbox_claim(tx->db, lane->lane.lane_id, lane->lane.next_seq,
	    d->claimed, 1, &n, err);
	if (rc != RC_OK || n == 0)
		return (rc);
	lane->lane.next_seq = d->claimed[0].lane_seq + 1;
	ledger_lane_touch(d->ledger, lane);
	return (dead_by_id(tx, d->claimed[0].id, REASON_POISON, NULL, err));
}

static enum rc
deliver_unit_apply(struct tx *tx, struct deliver_unit *u, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct ledger_lane *lane;
	size_t i, n;
	enum rc rc;

	u->delivered = 0;
	for (i = 0; i < u->nlanes; i++) {
		u->more[i] = false;
		rc = ledger_lane_by_id(d->ledger, tx, u->lanes[i], &lane, err);
		if (rc == RC_NOT_FOUND)
			continue;
		if (rc != RC_OK)
			return (rc);
		if (lane->lane.next_seq > lane->lane.tail_seq ||
		    lane->lane.due_at > tx->now_ms)
			continue;
		if (u->poison)
			rc = take_poison(tx, lane, err);
		if (rc == RC_OK)
			rc = deliver_lane(tx, lane, &u->more[i], &n, err);
		if (rc != RC_OK)
			return (rc);
		u->delivered += n;
	}
	return (RC_OK);
}

static enum rc
deliver_apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	size_t i;
	enum rc rc;

	for (i = 0; i < n; i++) {
		rc = deliver_unit_apply(
		    tx, (struct deliver_unit *)(void *)units[i], err);
		if (rc != RC_OK)
			return (err_wrap(err, "deliver"));
	}
	return (RC_OK);
}

static void
deliver_done(struct unit *unit)
{
	struct deliver_unit *u = (struct deliver_unit *)(void *)unit;

	u->finish(u);
}

static const struct unit_kind deliver_kind = {
    "deliver", UNIT_DELIVERY, ORDER_DELIVER, deliver_apply, deliver_done};

void
deliver_unit_init(struct deliver_unit *u)
{

	u->unit.kind = &deliver_kind;
	u->unit.bytes = 4096;
	u->nlanes = 0;
	u->poison = false;
	u->delivered = 0;
}
