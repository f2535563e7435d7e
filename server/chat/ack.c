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
#include "txn/lockset.h"
#include "txn/order.h"

static enum rc
walk_one(void *arg, const struct store_inbox_message *m, struct err *err)
{
	struct mark_walk *walk = arg;
	struct domain *d = domain_of(walk->tx);
	struct ledger_conversation *c;
	struct db_val *v;
	enum rc rc;

	rc = ledger_conversation_by_id(
	    d->ledger, walk->tx, m->conversation_id, &c, err);
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
	rc = store_rows_next(walk->tx->db, &d->acked, &v, err);
	if (rc != RC_OK)
		return (rc);
	v[0] = db_v_i64(m->outbox_id);
	v[1] = db_v_i64(walk->tx->now_ms);
	return (tell_change(walk->tx, m->sender_id, m->mid, CHANGE_ACKED, err));
}

int64_t
mark_reach(struct domain *d, int64_t after, int64_t upto)
{
	int64_t span;

	if (upto <= after)
		return (upto);
	span = upto - after < d->walk_left ? upto - after : d->walk_left;
	d->walk_left -= span;
	return (after + span);
}

enum rc
mark_range(struct mark_walk *walk, struct ledger_user *user, int64_t after,
    int64_t upto, struct err *err)
{
	struct domain *d = domain_of(walk->tx);
	struct ledger_conversation *c;
	enum rc rc;

	walk->first = NULL;
	rc = need_news(d, err);
	if (rc == RC_OK)
		rc = store_inbox_range(walk->tx->db, user->user_id, after, upto,
		    walk_one, walk, err);
	FAULT("ack.settle.before");
	if (rc == RC_OK && walk->settle)
		rc = store_rows_write(walk->tx->db, &d->acked, false, err);
	count_acked(d, d->acked.changed);
	d->acked.changed = 0;
	for (c = walk->first; c != NULL; c = c->next_marked)
		c->marked = false;
	return (rc);
}

/* The person has them: his mark in the conversation, and the sender's
 * delivered receipt. */
static enum rc
conversation_acked(struct tx *tx, struct ledger_user *user,
    struct ledger_conversation *c, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct ledger_member *m;
	struct ledger_user *sender;
	struct receipt_new r;
	enum rc rc;

	m = ledger_member_find(c, user->user_id);
	if (m == NULL || m->acked_upto >= c->mark_seq)
		return (RC_OK);
	m->acked_upto = c->mark_seq;
	m->acked_at = tx->now_ms;
	ledger_member_touch(d->ledger, c, m);
	rc = ledger_user_by_id(d->ledger, tx, c->mark_sender, &sender, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a message without a sender");
	r = (struct receipt_new){
	    EVENT_DELIVERED, c, user, sender, c->mark_mid, c->mark_seq};
	if (rc == RC_OK)
		rc = receipt_add(tx, &r, err);
	FAULT("ack.receipt.after");
	return (rc);
}

enum rc
mark_acked(struct tx *tx, struct ledger_user *user, int64_t device_id,
    int64_t upto, int64_t *ret_acked, struct err *err)
{
	struct domain *d = domain_of(tx);
	struct mark_walk walk = {tx, true, NULL};
	struct domain_acked told;
	struct ledger_conversation *c;
	struct ledger_device *device;
	enum rc rc;

	rc = ledger_device_by_id(d->ledger, tx, device_id, &device, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "an ack without a device");
	if (rc != RC_OK)
		return (rc);
	if (device->acked < upto)
		device->acked = upto;
	ledger_device_touch(d->ledger, device);
	ledger_inbox_touch(d->ledger, user);
	*ret_acked = device->acked;
	rc = need_news(d, err);
	told = (struct domain_acked){user->user_id, device_id, *ret_acked};
	if (rc == RC_OK)
		rc = news_add_acked(d->news, &told, err);
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
	struct domain *d = domain_of(tx);
	struct ledger_user *user;
	int64_t end;
	enum rc rc;

	u->refusal = (struct refusal)REFUSAL_INIT;
	rc = ledger_user_by_id(d->ledger, tx, u->user_id, &user, err);
	if (rc == RC_OK)
		rc = ledger_inbox(tx, user, err);
	if (rc != RC_OK)
		return (rc);
	u->head = user->counter.head;
	if (u->upto > u->head) {
		refusal_set(&u->refusal, PROBLEM_ACK_BEYOND_HEAD, "/upto",
		    "the inbox ends at %lld", (long long)u->head);
		u->refusal.head = u->head;
		return (RC_OK);
	}
	end = mark_reach(d, user->counter.acked, u->upto);
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
