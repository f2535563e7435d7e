/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `cancel`.  A canceled outbox row leaves a gap in its lane, the
 * queue of a conversation's messages to one recipient; the delivery skips the
 * gap.  The row of a scheduled message has no place in the lane before the
 * message is due, so it leaves no gap.  Unless the message is still scheduled,
 * the sender's inbox has got the sender's own copy, and a delete event for the
 * copy is added to that inbox.
 */
#include <string.h>

#include "chat/cancel.h"
#include "model/outbox.h"
#include "txn/add.h"
#include "txn/lane.h"
#include "txn/lockset.h"
#include "txn/verb.h"

struct finding {
	struct tx *tx;
	struct store_entry entry;
	int64_t canceled;
};

static enum rc
found_entry(void *arg, const struct store_entry *e, struct err *err)
{
	struct finding *f = arg;

	(void)err;
	f->entry = *e;
	return (RC_OK);
}

/* Counts outbox row ${id} as canceled. */
static enum rc
count_canceled(struct tx *tx, int64_t id, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_lane *lane;
	struct store_row row;
	enum rc rc;

	rc = store_row_get(tx->db, id, &row, err);
	if (rc != RC_OK || row.kind != EVENT_MESSAGE)
		return (rc);
	if (row.lane_seq == 0) {
		backlog_add(env->backlog, TOTAL_SCHEDULED, -1);
		backlog_move(env->backlog, row.kind, -1, OUTBOX_CANCELED);
		return (RC_OK);
	}
	backlog_move(env->backlog, row.kind, OUTBOX_PENDING, OUTBOX_CANCELED);
	rc = cache_lane_by_id(env->cache, tx, row.lane_id, &lane, err);
	if (rc == RC_OK)
		rc = txn_lane_row_gone(tx, lane, &row, err);
	return (rc == RC_OK ? txn_backlog_add(tx, lane, &row, -1, err) : rc);
}

static enum rc
found_destination(void *arg, const struct store_destination *d, struct err *err)
{
	struct finding *f = arg;
	enum rc rc;

	if (d->state != OUTBOX_PENDING)
		return (RC_OK);
	f->canceled++;
	rc = store_outbox_cancel(f->tx->db, d->id, f->tx->now_ms, err);
	return (rc == RC_OK ? count_canceled(f->tx, d->id, err) : rc);
}

/* Adds a delete event to the sender's inbox.  The event informs the sender's
 * devices that the sender's own copy of the canceled message is void.  The
 * caller has checked that the message has a conversation_seq: a message gets
 * that number and its own copy in the same transaction. */
static enum rc
add_own_delete(struct tx *tx, struct cancel_unit *u, const struct finding *f,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct inbox_new i;
	struct uuid event_id;
	enum rc rc;

	memset(&i, 0, sizeof(i));
	rc = cache_user_by_id(env->cache, tx, u->sender_id, &i.user, err);
	if (rc == RC_OK)
		rc = cache_conversation_by_id(env->cache, tx,
		    f->entry.conversation_id, &i.conversation, err);
	if (rc != RC_OK)
		return (rc);
	event_id = uuid_gen_next(&env->ids);
	i.kind = EVENT_DELETE;
	i.own = true;
	i.event_id = &event_id;
	i.mid = f->entry.mid;
	i.conversation_seq = f->entry.conversation_seq;
	i.actor = i.user;
	i.event_time = tx->now_ms;
	i.attempt = 1;
	i.message_id = &u->id;
	rc = txn_add_inbox(tx, &i, err);
	if (rc == RC_OK)
		rc = txn_write_inbox(tx, err);
	return (rc);
}

static enum rc
cancel_one(struct tx *tx, struct cancel_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct finding f;
	enum rc rc;

	u->refusal = (struct refusal)REFUSAL_INIT;
	memset(&f, 0, sizeof(f));
	f.tx = tx;
	rc =
	    store_entry_get(tx->db, u->sender_id, &u->id, found_entry, &f, err);
	if (rc == RC_NOT_FOUND) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "",
		    "your outbox has no such message");
		return (RC_OK);
	}
	if (rc == RC_OK)
		rc = store_destinations(
		    tx->db, &f.entry.event_id, found_destination, &f, err);
	if (rc != RC_OK)
		return (rc);
	if (f.canceled == 0) {
		refusal_set(&u->refusal, PROBLEM_ALREADY_SENT, "",
		    "it is no longer pending for any recipient");
		return (RC_OK);
	}
	/* Setting the outbox rows to canceled has locked them.  Before that,
	 * but after the entry was read above, another node may have released a
	 * scheduled message, which gives the message its conversation_seq and
	 * adds the sender's own copy.  So the entry of a message that seemed
	 * scheduled is read again. */
	if (f.entry.conversation_seq == 0 && db_multi_writer(tx->db))
		rc = store_entry_get(
		    tx->db, u->sender_id, &u->id, found_entry, &f, err);
	if (rc == RC_OK && f.entry.conversation_seq != 0)
		rc = add_own_delete(tx, u, &f, err);
	if (rc == RC_OK)
		rc = txn_need_effects(env, err);
	if (rc == RC_OK)
		rc = txn_notify_change(
		    tx, u->sender_id, f.entry.mid, CHANGE_OTHER, err);
	return (rc);
}

static enum rc
cancel_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (
	    cancel_one(tx, CONTAINER_OF(unit, struct cancel_unit, unit), err));
}

static enum rc
cancel_locks(struct unit *unit, struct lockset *set, struct err *err)
{

	return (lockset_message(
	    set, &CONTAINER_OF(unit, struct cancel_unit, unit)->id, err));
}

UNIT_KIND(cancel, cancel_locks, .queue = UNIT_CLIENT, .order = ORDER_CANCEL,
    .apply_one = cancel_apply, .any_order = true);

void
cancel_unit_init(struct cancel_unit *u)
{

	u->unit.kind = &cancel_kind;
	u->unit.bytes = 256;
	u->refusal = (struct refusal)REFUSAL_INIT;
}
