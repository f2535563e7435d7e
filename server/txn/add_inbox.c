/* SPDX-License-Identifier: MIT */
/*
 * Adds events to inboxes.  Each event gets the next seq of its inbox.
 *
 * On a single-writer database an event gets its seq at once.  On a multi-writer
 * database a transaction that assigns a seq must first lock the inbox, and
 * holds the lock until its commit; other nodes that add to the inbox wait
 * meanwhile.  On such a database the events of a transaction are therefore
 * numbered together in its last step, or earlier if a query must see one of
 * them (txn_flush_inbox_of()).  The inboxes are locked in the order of their
 * user ids, but the events are numbered in the order in which they were added.
 */
#include <string.h>

#include "base/thr.h"
#include "txn/add.h"
#include "txn/effects.h"
#include "txn/verb.h"

/* Sets *ret to the next seq of the inbox of ${user}.  On a multi-writer
 * database sets *ret to 0 instead and notes that the inbox must be locked;
 * number() assigns the seq after it has locked the noted inboxes.  On such a
 * database this function also enlarges the buffer of inbox rows if it is full:
 * otherwise the buffer would be written to the database when the next row is
 * added, and its rows have no seq yet. */
static enum rc
number_event(
    struct tx *tx, struct cached_user *user, int64_t *ret, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	*ret = 0;
	if (db_multi_writer(tx->db)) {
		cache_inbox_touch(env->cache, user);
		return (env->inbox.n == env->inbox.cap
			    ? store_rows_grow(&env->inbox, err)
			    : RC_OK);
	}
	rc = cache_inbox(tx, user, err);
	if (rc == RC_OK)
		*ret = ++user->counter.head;
	return (rc);
}

enum rc
txn_add_inbox(struct tx *tx, const struct inbox_new *i, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_conversation *c = i->conversation;
	struct cached_member *other;
	struct effect_event e;
	struct sql_inbox_insert *v;
	int64_t seq;
	enum rc rc;

	thr_assert(THR_WRITER);
	rc = txn_need_effects(env, err);
	if (rc == RC_OK)
		rc = number_event(tx, i->user, &seq, err);
	if (rc == RC_OK)
		rc = store_next_inbox_insert(tx->db, &env->inbox, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->user_id = db_v_i64(i->user->user_id);
	v->seq = db_v_i64(seq);
	v->kind = db_v_i64(i->kind);
	v->own = db_v_i64(i->own ? 1 : 0);
	v->event_id = db_v_uuid(i->event_id);
	v->origin = db_v_i64(i->origin);
	v->mid = db_v_i64(i->mid);
	v->conversation_id = db_v_i64(c->id);
	v->conversation_seq = db_v_i64(i->conversation_seq);
	v->actor_id = db_v_i64(i->actor->user_id);
	v->outbox_id = db_v_i64_or_null(i->outbox_id, 0);
	v->event_time = db_v_i64(i->event_time);
	v->delivered_at = db_v_i64(tx->now_ms);
	v->attempt = db_v_i64(i->attempt);

	other = cache_member_other(c, i->actor->user_id);
	memset(&e, 0, sizeof(e));
	e.user_id = i->user->user_id;
	e.seq = seq;
	e.kind = i->kind;
	e.own = i->own;
	e.event_id = *i->event_id;
	e.conversation = c->public_id;
	e.conversation_seq = i->conversation_seq;
	e.from = text_ref(i->actor->name);
	e.to = other != NULL ? text_ref(other->user->name) : NULL;
	e.of = *i->message_id;
	e.message = i->message != NULL ? text_ref(i->message) : NULL;
	e.event_time = i->event_time;
	e.delivered_at = tx->now_ms;
	e.attempt = i->attempt;
	e.reason = i->reason;
	return (effects_add_event(env->effects, &e, err));
}

enum rc
txn_write_inbox(struct tx *tx, struct err *err)
{

	return (
	    db_multi_writer(tx->db)
		? RC_OK
		: store_rows_write(tx->db, &txn_env_of(tx)->inbox, true, err));
}

/* Locks the inboxes of the gathered rows, and assigns a seq to each row and to
 * its event in the effects.  The rows correspond to the last ${env->inbox.n}
 * events of the effects, in the same order.  The event id of each row is set
 * again, to the one in the effects, because the memory to which the row pointed
 * may have been reused since. */
static enum rc
number(struct tx *tx, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct effect_event *e =
	    env->effects->events + env->effects->nevents - env->inbox.n;
	struct cached_user *user;
	struct sql_inbox_insert *v = store_all_inbox_insert(&env->inbox);
	enum rc rc;
	size_t i;

	rc = cache_lock_inboxes(env->cache, tx, err);
	for (i = 0; i < env->inbox.n && rc == RC_OK; i++, e++, v++) {
		rc = cache_user_by_id(env->cache, tx, e->user_id, &user, err);
		if (rc != RC_OK)
			return (rc);
		e->seq = ++user->counter.head;
		v->seq = db_v_i64(e->seq);
		v->event_id = db_v_uuid(&e->event_id);
	}
	return (rc);
}

enum rc
txn_flush_inbox(struct tx *tx, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	thr_assert(THR_WRITER);
	if (env->inbox.n == 0)
		return (RC_OK);
	rc = number(tx, err);
	return (rc == RC_OK ? store_rows_write(tx->db, &env->inbox, true, err)
			    : rc);
}

enum rc
txn_flush_inbox_of(
    struct tx *tx, int64_t user_id, int64_t conversation_id, struct err *err)
{
	const struct store_rows *rows = &txn_env_of(tx)->inbox;
	const struct sql_inbox_insert *v = store_all_inbox_insert(rows);
	size_t i;

	for (i = 0; i < rows->n; i++, v++)
		if (v->user_id.u.i64 == user_id &&
		    v->conversation_id.u.i64 == conversation_id)
			return (txn_flush_inbox(tx, err));
	return (RC_OK);
}
