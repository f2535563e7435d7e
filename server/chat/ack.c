/* SPDX-License-Identifier: MIT */
/*
 * The batch verb `ack`.  An ack reads only the inbox rows above the highest seq
 * that any device of the user has acked before.  An ack that does not go beyond
 * that seq reads no rows and only advances the watermark of its device.  An ack
 * of more rows than the batch may still read (WALK_ROWS for all acks and reads
 * of a batch) is continued in later batches.
 */
#include "chat/ack.h"
#include "chat/watermark.h"
#include "txn/env.h"
#include "txn/lockset.h"

static enum rc
ack_one(struct tx *tx, struct ack_unit *u, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct cached_user *user;
	int64_t end;
	enum rc rc;

	u->refusal = (struct refusal)REFUSAL_INIT;
	rc = watermark_user(tx, u->user_id, &user, err);
	if (rc != RC_OK)
		return (rc);
	u->head = user->counter.head;
	if (u->upto > u->head) {
		refusal_set(&u->refusal, PROBLEM_ACK_BEYOND_HEAD, "/upto",
		    "the inbox ends at %lld", (long long)u->head);
		u->refusal.head = u->head;
		return (RC_OK);
	}
	end = watermark_reach(env, user->counter.acked, u->upto);
	u->unit.requeue = end < u->upto;
	return (watermark_ack(tx, user, u->device_id, end, &u->acked, err));
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
	return (rc == RC_OK ? lockset_inbox_watermarks(
				  set, u->user_id, u->device_id, err)
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
