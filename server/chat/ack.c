/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `ack`.  A cumulative ack touches only what lies beyond the
 * previous mark; a long one is done in several batches.
 */
#include <string.h>

#include "base/fault.h"
#include "chat/mark.h"
#include "chat/mark_internal.h"
#include "store/inbox.h"
#include "txn/add.h"
#include "txn/lockset.h"
#include "txn/order.h"

static enum rc
walk_one(void *arg, const struct store_inbox_message *m, struct err *err)
{
	struct mark_walk *walk = arg;
	struct txn_env *env = txn_env_of(walk->tx);
	struct cached_conversation *c;
	struct sql_outbox_settle_acked *v;
	enum rc rc;

	rc = cache_conversation_by_id(
	    env->cache, walk->tx, m->conversation_id, &c, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "inbox row without conversation");
	if (rc != RC_OK)
		return (rc);
	if (!c->marked) {
		c->marked = true;
		c->mark_seq = 0;
		c->next_marked = walk->first;
		walk->first = c;
	}
	if (m->conversation_seq > c->mark_seq) {
		c->mark_seq = m->conversation_seq;
		c->mark_mid = m->mid;
		c->mark_sender = m->sender_id;
	}
	if (!walk->settle || m->outbox_id == 0)
		return (RC_OK);
	rc = store_next_outbox_settle_acked(walk->tx->db, &env->acked, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->id = db_v_i64(m->outbox_id);
	v->now = db_v_i64(walk->tx->now_ms);
	return (
	    txn_tell_change(walk->tx, m->sender_id, m->mid, CHANGE_ACKED, err));
}

int64_t
mark_reach(struct txn_env *env, int64_t after, int64_t upto)
{
	int64_t span;

	if (upto <= after)
		return (upto);
	span = upto - after < env->walk_left ? upto - after : env->walk_left;
	env->walk_left -= span;
	return (after + span);
}

enum rc
mark_range(struct mark_walk *walk, struct cached_user *user, int64_t after,
    int64_t upto, struct err *err)
{
	struct txn_env *env = txn_env_of(walk->tx);
	struct cached_conversation *c;
	enum rc rc;

	walk->first = NULL;
	rc = txn_need_effects(env, err);
	if (rc == RC_OK)
		rc = store_inbox_range(walk->tx->db, user->user_id, after, upto,
		    walk_one, walk, err);
	FAULT("ack.settle.before");
	if (rc == RC_OK && walk->settle)
		rc = store_rows_write(walk->tx->db, &env->acked, false, err);
	txn_count_acked(env, env->acked.changed);
	env->acked.changed = 0;
	for (c = walk->first; c != NULL; c = c->next_marked)
		c->marked = false;
	return (rc);
}

/* The person has them: his mark in the conversation, and the sender's
 * delivered receipt. */
static enum rc
conversation_acked(struct tx *tx, struct cached_user *user,
    struct cached_conversation *c, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_member *m;
	struct cached_user *sender;
	struct receipt_new r;
	enum rc rc;

	m = cache_member_find(c, user->user_id);
	if (m == NULL || m->acked_upto >= c->mark_seq)
		return (RC_OK);
	m->acked_upto = c->mark_seq;
	m->acked_at = tx->now_ms;
	cache_member_touch(env->cache, c, m);
	rc = cache_user_by_id(env->cache, tx, c->mark_sender, &sender, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a message without a sender");
	r = (struct receipt_new){
	    EVENT_DELIVERED, c, user, sender, c->mark_mid, c->mark_seq};
	if (rc == RC_OK)
		rc = txn_add_receipt(tx, &r, err);
	FAULT("ack.receipt.after");
	return (rc);
}

enum rc
mark_acked(struct tx *tx, struct cached_user *user, int64_t device_id,
    int64_t upto, int64_t *ret_acked, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct mark_walk walk = {tx, true, NULL};
	struct effect_acked told;
	struct cached_conversation *c;
	struct cached_device *device;
	enum rc rc;

	rc = cache_device_by_id(env->cache, tx, device_id, &device, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "an ack without a device");
	if (rc != RC_OK)
		return (rc);
	if (device->acked < upto)
		device->acked = upto;
	cache_device_touch(env->cache, device);
	cache_inbox_touch(env->cache, user);
	*ret_acked = device->acked;
	rc = txn_need_effects(env, err);
	told = (struct effect_acked){user->user_id, device_id, *ret_acked};
	if (rc == RC_OK)
		rc = effects_add_acked(env->effects, &told, err);
	if (rc != RC_OK || upto <= user->counter.acked)
		return (rc);
	rc = mark_range(&walk, user, user->counter.acked, upto, err);
	for (c = walk.first; c != NULL && rc == RC_OK; c = c->next_marked)
		rc = conversation_acked(tx, user, c, err);
	user->counter.acked = upto;
	return (rc);
}

static enum rc
ack_one(struct tx *tx, struct ack_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_user *user;
	int64_t end;
	enum rc rc;

	u->refusal = (struct refusal)REFUSAL_INIT;
	rc = cache_user_by_id(env->cache, tx, u->user_id, &user, err);
	if (rc == RC_OK)
		rc = cache_inbox(tx, user, err);
	if (rc != RC_OK)
		return (rc);
	u->head = user->counter.head;
	if (u->upto > u->head) {
		refusal_set(&u->refusal, PROBLEM_ACK_BEYOND_HEAD, "/upto",
		    "the inbox ends at %lld", (long long)u->head);
		u->refusal.head = u->head;
		return (RC_OK);
	}
	end = mark_reach(env, user->counter.acked, u->upto);
	u->unit.again = end < u->upto;
	return (mark_acked(tx, user, u->device_id, end, &u->acked, err));
}

static enum rc
ack_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (ack_one(tx, CONTAINER_OF(unit, struct ack_unit, unit), err));
}

static enum rc
ack_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct ack_unit *u = CONTAINER_OF(unit, struct ack_unit, unit);
	enum rc rc;

	rc = lockset_inbox_range(set, u->user_id, u->upto, 0, err);
	return (rc == RC_OK
		    ? lockset_inbox_marks(set, u->user_id, u->device_id, err)
		    : rc);
}

UNIT_KIND(ack, ack_locks, .queue = UNIT_DELIVERY, .order = ORDER_ACK,
    .apply_one = ack_apply, .any_order = true);

void
ack_unit_init(struct ack_unit *u)
{

	u->unit.kind = &ack_kind;
	u->unit.bytes = 256;
	u->refusal = (struct refusal)REFUSAL_INIT;
}
