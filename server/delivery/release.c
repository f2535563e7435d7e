/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `release`.
 */
#include <string.h>

#include "crypt/digest.h"
#include "delivery/dead_letter.h"
#include "delivery/release.h"
#include "model/outbox.h"
#include "txn/add.h"
#include "txn/lane.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* A scheduled row that is due.  It has the salted hash of its body in place of
 * the body and the salt (both NULL in ${row}), because these two are valid only
 * during the callback of store_outbox_due(). */
struct due {
	struct store_due row;
	uint8_t body[DIGEST_LEN];
};

struct due_list {
	struct due list[RELEASE_ROWS];
	size_t n;
};

static enum rc
on_row_due(void *arg, const struct store_due *row, struct err *err)
{
	struct due_list *dues = arg;
	struct due *due = &dues->list[dues->n++];

	(void)err;
	due->row = *row;
	digest_body(row->salt, row->body, row->body_len, due->body);
	due->row.salt = NULL;
	due->row.body = NULL;
	return (RC_OK);
}

static enum rc
add_own_copy(struct tx *tx, const struct due *due, struct cached_user *from,
    struct cached_conversation *c, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	const struct cached_message *cached;
	struct inbox_new i;
	enum rc rc;

	memset(&i, 0, sizeof(i));
	i.user = from;
	i.kind = EVENT_MESSAGE;
	i.own = true;
	i.event_id = &due->row.event_id;
	i.mid = due->row.mid;
	i.conversation = c;
	i.conversation_seq = c->last_seq;
	i.actor = from;
	i.event_time = due->row.event_time;
	i.attempt = 1;
	i.message_id = &due->row.message_id;
	cached = message_cache_find(&env->message_cache, due->row.mid);
	i.message = cached != NULL ? cached->message : NULL;
	rc = txn_add_inbox(tx, &i, err);
	if (rc == RC_OK)
		rc = txn_write_inbox(tx, err);
	return (rc);
}

/* Settles a note to oneself: the own copy is the delivery. */
static enum rc
settle_note(struct tx *tx, const struct due *due, struct cached_lane *lane,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct sql_outbox_settle_sent *sent;
	struct sql_outbox_settle_acked *acked;
	enum rc rc;

	lane->lane.next_seq = lane->lane.tail_seq + 1;
	lane->lane.last_published_seq = lane->lane.tail_seq;
	cache_lane_touch(env->cache, lane);
	rc = store_next_outbox_settle_sent(tx->db, &env->sent, &sent, err);
	if (rc != RC_OK)
		return (rc);
	sent->id = db_v_i64(due->row.id);
	sent->now = db_v_i64(tx->now_ms);
	rc = store_rows_write(tx->db, &env->sent, true, err);
	if (rc == RC_OK)
		rc = store_next_outbox_settle_acked(
		    tx->db, &env->acked, &acked, err);
	if (rc != RC_OK)
		return (rc);
	acked->id = db_v_i64(due->row.id);
	acked->now = db_v_i64(tx->now_ms);
	rc = store_rows_write(tx->db, &env->acked, true, err);
	env->acked.changed = 0;
	backlog_move(env->backlog, EVENT_MESSAGE, OUTBOX_PENDING, OUTBOX_SENT);
	backlog_move(env->backlog, EVENT_MESSAGE, OUTBOX_SENT, OUTBOX_ACKED);
	return (rc);
}

/* Makes the message wait in its lane. */
static enum rc
begin_wait(struct tx *tx, const struct due *due, struct cached_lane *lane,
    struct err *err)
{
	struct backlog_key key = {
	    due->row.sender_id, lane->lane.destination_id};
	enum rc rc;

	rc = backlog_wait(txn_env_of(tx)->backlog, &key, 1, err);
	/* The recipient was disabled after the message was accepted. */
	if (rc == RC_OK && lane->dest->disabled)
		return (dead_letter_make_by_id(tx, due->row.id, REASON_REJECTED,
		    "the recipient is here no more", err));
	if (rc == RC_OK)
		rc = txn_wake_lane(tx, lane, due->row.priority, err);
	return (rc);
}

/* Cancels the message, because its sender has been disabled. */
static enum rc
drop(struct tx *tx, const struct due *due, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);

	backlog_add(env->backlog, TOTAL_SCHEDULED, -1);
	backlog_move(env->backlog, EVENT_MESSAGE, -1, OUTBOX_CANCELED);
	return (store_outbox_cancel(tx->db, due->row.id, tx->now_ms, err));
}

static enum rc
release_one(struct tx *tx, const struct due *due, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_conversation *c;
	struct cached_lane *lane;
	struct cached_user *from;
	struct store_release places;
	enum rc rc;

	rc = cache_lane_by_id(env->cache, tx, due->row.lane_id, &lane, err);
	if (rc == RC_OK)
		rc = cache_user_by_id(
		    env->cache, tx, due->row.sender_id, &from, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a scheduled row without lane");
	if (rc == RC_OK)
		rc = txn_need_effects(env, err);
	if (rc != RC_OK)
		return (rc);
	if (from->disabled)
		return (drop(tx, due, err));
	c = lane->conversation;
	c->last_seq++;
	digest_next(c->digest, c->last_seq, &due->row.message_id,
	    from->name->data, due->body);
	(void)txn_lane_append(tx, lane, due->row.priority);
	backlog_add(env->backlog, TOTAL_SCHEDULED, -1);
	backlog_add(env->backlog, TOTAL_PENDING, 1);
	places = (struct store_release){due->row.id, lane->lane.tail_seq,
	    due->row.mid, c->last_seq, c->digest};
	rc = store_outbox_release(tx->db, &places, tx->now_ms, err);
	if (rc == RC_OK)
		rc = add_own_copy(tx, due, from, c, err);
	if (rc == RC_OK)
		rc = lane->dest == from ? settle_note(tx, due, lane, err)
					: begin_wait(tx, due, lane, err);
	if (rc == RC_OK)
		rc = txn_notify_change(tx, from->user_id, due->row.mid,
		    lane->dest == from ? CHANGE_ACKED : CHANGE_OTHER, err);
	return (rc);
}

static enum rc
release_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	struct release_unit *u = CONTAINER_OF(unit, struct release_unit, unit);
	const struct cache *cache = txn_env_of(tx)->cache;
	struct due_list dues = {.n = 0};
	enum rc rc;
	size_t i;

	u->released = 0;
	rc = store_outbox_due(
	    tx->db, tx->now_ms, RELEASE_ROWS, on_row_due, &dues, err);
	for (i = 0; i < dues.n && rc == RC_OK; i++) {
		if (!cache_conversation_ours(
			cache, dues.list[i].row.conversation_id))
			continue;
		rc = release_one(tx, &dues.list[i], err);
		u->released++;
	}
	u->passed_over = u->released < dues.n;
	return (rc);
}

static enum rc
release_locks(struct unit *unit, struct lockset *set, struct err *err)
{

	(void)unit;
	(void)err;
	lockset_due(set, RELEASE_ROWS);
	return (RC_OK);
}

UNIT_KIND(release, release_locks, .queue = UNIT_DELIVERY,
    .order = ORDER_RELEASE, .apply_one = release_apply);

void
release_unit_init(struct release_unit *u)
{

	u->unit.kind = &release_kind;
	u->unit.bytes = 4096;
	u->released = 0;
	u->passed_over = false;
}
