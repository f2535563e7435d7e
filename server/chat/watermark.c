/* SPDX-License-Identifier: MIT */
/*
 * See watermark.h.
 */
#include <string.h>

#include "base/fault.h"
#include "chat/watermark.h"
#include "store/inbox.h"
#include "txn/add.h"

static enum rc
walk_one(void *arg, const struct store_inbox_message *m, struct err *err)
{
	struct watermark_walk *walk = arg;
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
	if (!c->walked) {
		c->walked = true;
		c->walk_seq = 0;
		c->next_walked = walk->first;
		walk->first = c;
	}
	if (m->conversation_seq > c->walk_seq) {
		c->walk_seq = m->conversation_seq;
		c->walk_mid = m->mid;
		c->walk_sender = m->sender_id;
	}
	if (!walk->settle || m->outbox_id == 0)
		return (RC_OK);
	rc = store_next_outbox_settle_acked(walk->tx->db, &env->acked, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->id = db_v_i64(m->outbox_id);
	v->now = db_v_i64(walk->tx->now_ms);
	return (txn_notify_change(
	    walk->tx, m->sender_id, m->mid, CHANGE_ACKED, err));
}

enum rc
watermark_user(
    struct tx *tx, int64_t user_id, struct cached_user **ret, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	enum rc rc;

	rc = cache_user_by_id(env->cache, tx, user_id, ret, err);
	return (rc == RC_OK ? cache_inbox(tx, *ret, err) : rc);
}

int64_t
watermark_reach(struct txn_env *env, int64_t after, int64_t upto)
{
	int64_t span;

	if (upto <= after)
		return (upto);
	span = upto - after < env->walk_left ? upto - after : env->walk_left;
	env->walk_left -= span;
	return (after + span);
}

enum rc
watermark_walk(struct watermark_walk *walk, struct cached_user *user,
    int64_t after, int64_t upto, struct err *err)
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
	for (c = walk->first; c != NULL; c = c->next_walked)
		c->walked = false;
	return (rc);
}

/* Advances the ack watermark of ${user} in the conversation ${c} to the last
 * message that the walk found in ${c}, and adds a "delivered" receipt for the
 * sender of that message.  Does nothing if the watermark is that high already,
 * or if ${user} is not a member of ${c}. */
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
	if (m == NULL || m->acked_upto >= c->walk_seq)
		return (RC_OK);
	m->acked_upto = c->walk_seq;
	m->acked_at = tx->now_ms;
	cache_member_touch(env->cache, c, m);
	rc = cache_user_by_id(env->cache, tx, c->walk_sender, &sender, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a message without a sender");
	r = (struct receipt_new){
	    EVENT_DELIVERED, c, user, sender, c->walk_mid, c->walk_seq};
	if (rc == RC_OK)
		rc = txn_add_receipt(tx, &r, err);
	FAULT("ack.receipt.after");
	return (rc);
}

enum rc
watermark_ack(struct tx *tx, struct cached_user *user, int64_t device_id,
    int64_t upto, int64_t *ret_acked, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct watermark_walk walk = {tx, true, NULL};
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
	rc = watermark_walk(&walk, user, user->counter.acked, upto, err);
	for (c = walk.first; c != NULL && rc == RC_OK; c = c->next_walked)
		rc = conversation_acked(tx, user, c, err);
	user->counter.acked = upto;
	return (rc);
}
