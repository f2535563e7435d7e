/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `read`.  Each member of a conversation has a row, which holds
 * the number up to which the member has read and the number up to which
 * messages have been delivered to the member.  A read never advances the read
 * number beyond the delivered number, even if the client names a higher number,
 * because messages that are delivered later must show as unread.
 */
#include <stdio.h>
#include <string.h>

#include "chat/read.h"
#include "chat/watermark.h"
#include "store/inbox.h"
#include "txn/add.h"
#include "txn/env.h"
#include "txn/lockset.h"

/* Adds an event to the reader's own inbox, from which the reader's other
 * devices learn about the read.  Nothing is left to deliver, so the outbox row
 * of the event is added in the state acked. */
static enum rc
add_own_read(struct tx *tx, struct cached_user *user,
    struct cached_conversation *c, const struct store_inbox_message *last,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct outbox_new o;
	struct inbox_new i;
	struct uuid event_id, message_id;
	int64_t id;
	enum rc rc;

	rc = store_message_uuid(tx->db, last->mid, &message_id, err);
	if (rc != RC_OK)
		return (rc);
	event_id = uuid_gen_next(&env->ids);
	memset(&o, 0, sizeof(o));
	o.kind = EVENT_OWN_READ;
	o.mid = last->mid;
	o.conversation = c;
	o.conversation_seq = last->conversation_seq;
	o.sender_id = user->user_id;
	o.dest = user;
	o.event_time = tx->now_ms;
	rc = txn_add_outbox(tx, &o, &event_id, &id, err);
	if (rc == RC_OK)
		rc = store_rows_write(tx->db, &env->outbox, true, err);
	memset(&i, 0, sizeof(i));
	i.user = user;
	i.kind = EVENT_OWN_READ;
	i.own = true;
	i.event_id = &event_id;
	i.mid = last->mid;
	i.conversation = c;
	i.conversation_seq = last->conversation_seq;
	i.actor = user;
	i.outbox_id = id;
	i.event_time = tx->now_ms;
	i.attempt = 1;
	i.message_id = &message_id;
	if (rc == RC_OK)
		rc = txn_add_inbox(tx, &i, err);
	if (rc == RC_OK)
		rc = txn_write_inbox(tx, err);
	return (rc);
}

static enum rc
add_receipt(struct tx *tx, struct cached_user *user,
    struct cached_conversation *c, const struct store_inbox_message *last,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_user *sender;
	struct receipt_new r;
	enum rc rc;

	rc = cache_user_by_id(env->cache, tx, last->sender_id, &sender, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a message without a sender");
	r = (struct receipt_new){
	    EVENT_READ, c, user, sender, last->mid, last->conversation_seq};
	if (rc == RC_OK)
		rc = txn_add_receipt(tx, &r, err);
	if (rc == RC_OK)
		rc = txn_need_effects(env, err);
	if (rc == RC_OK)
		rc = txn_notify_change(
		    tx, sender->user_id, last->mid, CHANGE_OTHER, err);
	return (rc);
}

/* Sets in ${m}, the reader's row, the watermarks that the other members see:
 * the one of reads (shown_upto) to ${upto}, and the one of acks (acked_upto) as
 * well unless it is as high already.  Sends no receipt. */
static void
show(struct cached_member *m, int64_t upto, int64_t now_ms)
{

	m->shown_upto = upto;
	m->shown_at = now_ms;
	if (m->acked_upto >= upto)
		return;
	m->acked_upto = upto;
	m->acked_at = now_ms;
}

/* Advances the read watermark of ${user} in ${c} to ${upto}. */
static enum rc
conversation_read(struct tx *tx, const struct read_unit *u,
    struct cached_user *user, struct cached_conversation *c, int64_t upto,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_inbox_message last;
	struct store_read settled;
	struct cached_member *m;
	int64_t before, nacked = 0;
	enum rc rc;

	m = cache_member_find(c, user->user_id);
	if (m == NULL)
		return (RC_OK);
	if (upto > m->delivered_upto)
		upto = m->delivered_upto;
	if (upto <= m->read_upto)
		return (RC_OK);
	before = m->read_upto;
	m->read_upto = upto;
	m->read_at = tx->now_ms;
	cache_member_touch(env->cache, c, m);
	/* The query must also see messages that this batch has delivered. */
	rc = txn_flush_inbox_of(tx, user->user_id, c->id, err);
	if (rc == RC_OK)
		rc = store_last_of_others(
		    tx->db, c->id, user->user_id, before, upto, &last, err);
	/* RC_NOT_FOUND: no message after ${before} up to ${upto} is by another
	 * member, so no receipt is sent.  The watermark that others see
	 * (shown_upto) may then advance only if it equals ${before}, the read
	 * watermark before this read; otherwise it would reveal earlier private
	 * reads.  A private read never advances it. */
	if (!u->is_private && (rc == RC_OK || m->shown_upto == before))
		show(m, upto, tx->now_ms);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	if (rc == RC_OK)
		rc = add_own_read(tx, user, c, &last, err);
	settled = (struct store_read){c->id, user->user_id, before, upto};
	if (rc == RC_OK && !u->is_private)
		rc = store_outbox_settle_read(
		    tx->db, &settled, tx->now_ms, &nacked, err);
	txn_count_acked(env, nacked);
	if (rc == RC_OK && !u->is_private)
		rc = add_receipt(tx, user, c, &last, err);
	return (rc);
}

/* As conversation_read(), but advances the watermark only as far as the row
 * limit of this batch allows (watermark_reach()).  If that is not the whole
 * read, sets the unit's requeue, so that a later batch does the rest. */
static enum rc
conversation_read_on(struct tx *tx, struct read_unit *u,
    struct cached_user *user, struct cached_conversation *c, int64_t upto,
    struct err *err)
{
	struct cached_member *m;
	int64_t end;

	m = cache_member_find(c, user->user_id);
	if (m == NULL)
		return (RC_OK);
	if (upto > m->delivered_upto)
		upto = m->delivered_upto;
	end = watermark_reach(txn_env_of(tx), m->read_upto, upto);
	if (end < upto)
		u->unit.requeue = true;
	return (conversation_read(tx, u, user, c, end, err));
}

/* ---- the three forms ---- */

static enum rc
read_upto(struct tx *tx, struct read_unit *u, struct cached_user *user,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct watermark_walk walk = {tx, false, NULL};
	struct cached_conversation *c;
	int64_t acked, before, end;
	enum rc rc;

	if (u->upto > user->counter.head) {
		refusal_set(&u->refusal, PROBLEM_ACK_BEYOND_HEAD, "/upto",
		    "the inbox ends at %lld", (long long)user->counter.head);
		u->refusal.head = user->counter.head;
		return (RC_OK);
	}
	before = user->counter.read;
	end = watermark_reach(env,
	    before < user->counter.acked ? before : user->counter.acked,
	    u->upto);
	u->unit.requeue = end < u->upto;
	rc = watermark_ack(tx, user, u->device_id, end, &acked, err);
	if (rc != RC_OK || end <= before)
		return (rc);
	user->counter.read = end;
	cache_user_touch(env->cache, user);
	rc = watermark_walk(&walk, user, before, end, err);
	for (c = walk.first; c != NULL && rc == RC_OK; c = c->next_walked)
		rc = conversation_read(tx, u, user, c, c->walk_seq, err);
	return (rc);
}

static enum rc
read_conversation(struct tx *tx, struct read_unit *u, struct cached_user *user,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_conversation *c;
	enum rc rc;

	rc = cache_conversation_by_public(
	    env->cache, tx, &u->conversation, &c, err);
	if (rc == RC_NOT_FOUND ||
	    (rc == RC_OK && cache_member_find(c, user->user_id) == NULL)) {
		refusal_set(&u->refusal, PROBLEM_NOT_FOUND, "/conversation",
		    "you are in no such conversation");
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	if (u->upto > c->last_seq) {
		refusal_set(&u->refusal, PROBLEM_ACK_BEYOND_HEAD,
		    "/upto_conversation_seq", "the conversation ends at %lld",
		    (long long)c->last_seq);
		u->refusal.head = c->last_seq;
		return (RC_OK);
	}
	return (conversation_read_on(tx, u, user, c, u->upto, err));
}

static enum rc
read_ids(struct tx *tx, struct read_unit *u, struct cached_user *user,
    struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct store_inbox_message m;
	struct cached_conversation *c;
	char pointer[REFUSAL_POINTER_SIZE];
	enum rc rc;
	size_t i;

	/* Check all ids before the first write, as a refusal must come
	 * first. */
	for (i = 0; i < u->nids; i++) {
		rc = store_inbox_find(
		    tx->db, user->user_id, &u->ids[i], &m, err);
		if (rc == RC_NOT_FOUND) {
			(void)snprintf(pointer, sizeof(pointer), "/ids/%zu", i);
			refusal_set(&u->refusal, PROBLEM_NOT_FOUND, pointer,
			    "no such message is in your inbox");
			return (RC_OK);
		}
		if (rc != RC_OK)
			return (rc);
	}
	for (i = 0; i < u->nids; i++) {
		rc = store_inbox_find(
		    tx->db, user->user_id, &u->ids[i], &m, err);
		if (rc == RC_OK)
			rc = cache_conversation_by_id(
			    env->cache, tx, m.conversation_id, &c, err);
		if (rc == RC_OK)
			rc = conversation_read_on(
			    tx, u, user, c, m.conversation_seq, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

static enum rc
read_one(struct tx *tx, struct read_unit *u, struct err *err)
{
	struct cached_user *user;
	enum rc rc;

	u->refusal = (struct refusal)REFUSAL_INIT;
	rc = watermark_user(tx, u->user_id, &user, err);
	if (rc != RC_OK)
		return (rc);
	switch (u->form) {
	case READ_UPTO:
		return (read_upto(tx, u, user, err));
	case READ_CONVERSATION:
		return (read_conversation(tx, u, user, err));
	case READ_IDS:
	default:
		return (read_ids(tx, u, user, err));
	}
}

static enum rc
read_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (read_one(tx, CONTAINER_OF(unit, struct read_unit, unit), err));
}

/* Lists the rows to lock: the conversations in which the read advances a
 * watermark, and the watermarks in the reader's inbox and device.  A read up to
 * a seq of the inbox implies an ack; then also lists the conversations of the
 * messages to ack. */
static enum rc
read_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	const struct read_unit *u = CONTAINER_OF(unit, struct read_unit, unit);
	enum rc rc = RC_OK;
	size_t i;

	switch (u->form) {
	case READ_UPTO:
		rc =
		    lockset_inbox_range(set, u->user_id, u->upto, u->upto, err);
		break;
	case READ_CONVERSATION:
		rc = lockset_conversation(set, &u->conversation, err);
		break;
	case READ_IDS:
	default:
		for (i = 0; i < u->nids && rc == RC_OK; i++)
			rc = lockset_message(set, &u->ids[i], err);
		break;
	}
	return (rc == RC_OK ? lockset_inbox_watermarks(
				  set, u->user_id, u->device_id, err)
			    : rc);
}

UNIT_KIND(read, read_locks, .queue = UNIT_DELIVERY, .order = ORDER_READ,
    .apply_one = read_apply, .any_order = true);

void
read_unit_init(struct read_unit *u)
{

	u->unit.kind = &read_kind;
	u->unit.bytes = 256;
	u->refusal = (struct refusal)REFUSAL_INIT;
}
