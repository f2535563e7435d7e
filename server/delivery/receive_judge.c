/* SPDX-License-Identifier: MIT */
/*
 * The decisions about the envelopes of a request.  This file writes nothing: a
 * unit of work decides before its first write.
 */
#include <assert.h>
#include <string.h>

#include "crypt/crypt.h"
#include "delivery/receive_internal.h"
#include "store/epoch.h"
#include "store/incoming.h"
#include "txn/verb.h"

/* One envelope while it is decided. */
struct judging {
	struct tx *tx;
	struct receive_unit *u;
	const struct envelope *e;
	struct receive_item *item;
	size_t at; /* its place in order */
};

int
receive_class(int kind)
{

	return (kind == EVENT_MESSAGE ? LANE_MESSAGES : LANE_RECEIPTS);
}

size_t
receive_name_len(const struct span *address)
{
	const char *at = memchr(address->p, '@', address->n);

	return (at == NULL ? address->n : (size_t)(at - address->p));
}

void
receive_local_name(const struct span *address, char ret[LIMIT_NAME_LEN + 1])
{
	const size_t n = receive_name_len(address);

	ret[0] = '\0';
	if (n > LIMIT_NAME_LEN)
		return;
	memcpy(ret, address->p, n);
	ret[n] = '\0';
}

bool
receive_is_of(const struct span *address, const char *domain)
{
	const size_t n = receive_name_len(address) + 1;

	return (n < address->n && address->n - n == strlen(domain) &&
		memcmp(address->p + n, domain, address->n - n) == 0);
}

static bool
same_text(const struct span *a, const struct span *b)
{

	return (a->n == b->n && memcmp(a->p, b->p, a->n) == 0);
}

/* Two envelopes with one fingerprint carry the same message. */
static void
fingerprint(const struct envelope *e, uint8_t ret[STORE_FINGERPRINT_LEN])
{
	const struct message_draft *m = &e->message;
	uint8_t full[CRYPT_HASH_SIZE];
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_field(&h, e->from.p, e->from.n);
	crypt_hash_field(&h, e->recipient.p, e->recipient.n);
	crypt_hash_field(&h, m->body.p, m->body.n);
	crypt_hash_field(&h, m->content_type.p, m->content_type.n);
	crypt_hash_field(&h, m->metadata.p, m->metadata.n);
	crypt_hash_field(&h, m->correlation_id.p, m->correlation_id.n);
	crypt_hash_field(
	    &h, m->has_reply_to ? m->reply_to.b : NULL, sizeof(m->reply_to.b));
	crypt_hash_i64(&h, m->priority);
	crypt_hash_final(&h, full);
	memcpy(ret, full, STORE_FINGERPRINT_LEN);
}

/* Whether one before ${j} in its sequence is refused for now. */
static bool
has_predecessor(const struct judging *j)
{
	const struct receive_unit *u = j->u;
	const struct envelope *before;
	size_t i;

	for (i = 0; i < j->at; i++) {
		before = &u->envelopes[u->order[i]];
		if (envelope_reason_status(u->items[u->order[i]].reason) ==
			ENVELOPE_RETRYABLE &&
		    receive_class(before->kind) == receive_class(j->e->kind) &&
		    same_text(&before->from, &j->e->from) &&
		    same_text(&before->recipient, &j->e->recipient))
			return (true);
	}
	return (false);
}

/* ---- people ---- */

/* The user here called ${name}; RC_NOT_FOUND.  The unit has listed the name. */
static enum rc
find_local(
    struct tx *tx, const char *name, struct cached_user **ret, struct err *err)
{
	struct cache *cache = txn_env_of(tx)->cache;

	*ret = cache_user_known(cache, name);
	if (*ret != NULL)
		return (RC_OK);
	return (cache_gathered(cache) ? RC_NOT_FOUND
				      : cache_user_by_name(cache, tx, name,
					    strlen(name), ret, err));
}

/* The recipient, if that is a user of this server, and the sender if known
 * here. */
static enum rc
find_people(struct judging *j, struct err *err)
{
	const struct envelope *e = j->e;
	struct cached_user *user;
	char name[LIMIT_NAME_LEN + 1];
	enum rc rc;

	receive_local_name(&e->recipient, name);
	rc = find_local(j->tx, name, &user, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? RC_OK : rc);
	j->item->disabled = user->disabled;
	j->item->recipient_id = user->user_id;
	rc = cache_user_remote_find(
	    txn_env_of(j->tx)->cache, j->tx, e->from.p, &user, err);
	if (rc == RC_OK)
		j->item->sender_id = user->user_id;
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* ---- messages ---- */

/* Whether the event was taken before.  With another content it is refused. */
static bool
judge_known(struct judging *j)
{
	const struct receive_known *known = &j->item->known;

	if (!known->processed && !known->in_inbox)
		return (false);
	if (known->in_inbox && j->e->kind == EVENT_MESSAGE &&
	    memcmp(known->fingerprint, j->item->fingerprint,
		sizeof(known->fingerprint)) != 0) {
		j->item->reason = ENVELOPE_EVENT_REUSED;
		return (true);
	}
	/* It is no more remembered. */
	if (!known->processed)
		j->item->plan = RECEIVE_KNOWN;
	j->item->duplicate = true;
	j->item->sequence = known->sequence;
	return (true);
}

/* A message under this id: the same one has come as another event, or the id is
 * another message's. */
static void
judge_same_id(struct judging *j, bool same)
{

	if (same) {
		j->item->duplicate = true;
		j->item->plan = RECEIVE_KNOWN;
	} else {
		j->item->reason = ENVELOPE_ID_TAKEN;
	}
}

/* Another envelope of this request with the same message id, which will be
 * written; NULL: none. */
static const struct receive_item *
twin(const struct judging *j)
{
	const struct receive_unit *u = j->u;
	size_t i;

	for (i = 0; i < j->at; i++)
		if (u->items[u->order[i]].plan == RECEIVE_MESSAGE &&
		    uuid_equal(&u->envelopes[u->order[i]].message.id,
			&j->e->message.id))
			return (&u->items[u->order[i]]);
	return (NULL);
}

/* Whether one before it in this request makes its conversation. */
static bool
made_before(const struct judging *j)
{
	const struct receive_unit *u = j->u;
	const struct envelope *e;
	size_t i;

	for (i = 0; i < j->at; i++) {
		e = &u->envelopes[u->order[i]];
		if (u->items[u->order[i]].makes &&
		    same_text(&e->from, &j->e->from) &&
		    same_text(&e->recipient, &j->e->recipient))
			return (true);
	}
	return (false);
}

/* Plans the message, unless it is one conversation too many. */
static enum rc
plan_message(struct judging *j, struct err *err)
{
	struct cache *cache = txn_env_of(j->tx)->cache;
	struct receive_item *item = j->item;
	struct cached_user *from, *to;
	struct cached_conversation *c;
	enum rc rc = RC_NOT_FOUND;

	if (item->sender_id != 0) {
		from = cache_user_known_by_id(cache, item->sender_id);
		to = cache_user_known_by_id(cache, item->recipient_id);
		assert(from != NULL && to != NULL); /* find_people() did it */
		rc = cache_direct_find(cache, j->tx, from, to, &c, err);
	}
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	item->makes = rc == RC_NOT_FOUND && !made_before(j);
	if (item->makes && j->u->made >= j->u->new_most) {
		item->makes = false;
		item->reason = ENVELOPE_LIMITED;
		return (RC_OK);
	}
	j->u->made += item->makes ? 1 : 0;
	item->plan = RECEIVE_MESSAGE;
	return (RC_OK);
}

static enum rc
judge_message(struct judging *j, struct err *err)
{
	const struct receive_known *known = &j->item->known;
	const struct receive_item *before = twin(j);

	if (before != NULL)
		judge_same_id(
		    j, memcmp(before->fingerprint, j->item->fingerprint,
			   sizeof(before->fingerprint)) == 0);
	else if (known->taken_by != 0)
		judge_same_id(j,
		    known->taken_by == j->item->sender_id &&
			memcmp(known->taken_fingerprint, j->item->fingerprint,
			    sizeof(known->taken_fingerprint)) == 0);
	else if (j->u->full)
		j->item->reason = ENVELOPE_INBOX_FULL;
	else
		return (plan_message(j, err));
	return (RC_OK);
}

/* ---- receipts ---- */

/* The place up to which a receipt that names the message at ${named} covers its
 * lane.  One that was given up, or has a new place, may have been taken later
 * or earlier than it stands: its server says where.  If that does not, the
 * receipt is about such a message alone. */
static int64_t
place_covered(const struct envelope *e, const struct store_place *named,
    const struct store_lane *lane)
{
	const bool moved = named->requeued || named->given_up;
	const int64_t most = moved ? lane->tail_seq : named->lane_seq;

	if (e->upto_sequence > 0)
		return (e->upto_sequence < most ? e->upto_sequence : most);
	return (named->requeued ? 0 : named->lane_seq);
}

/* Whether the place that a receipt gives for the message at ${named}, which was
 * given up or has a new place, is one of this database.  A server that was
 * restored from a backup gives places of before again.  A peer knows the places
 * of before for as long as a copy of a request may come, and the last copy may
 * come that long after the restore. */
static enum rc
is_place_ours(struct judging *j, const struct store_place *named, bool *ret,
    struct err *err)
{
	int64_t renewed_at;
	enum rc rc;

	rc = store_epoch_renewed_at(j->tx->db, &renewed_at, err);
	*ret =
	    renewed_at == 0 ||
	    named->created_at > renewed_at + (int64_t)2 * RECEIVE_LATE_COPY_MS;
	return (rc);
}

/* How far the receipt reaches: as far as this request may still settle. */
static enum rc
reach(struct judging *j, const struct store_target *target, struct err *err)
{
	const struct store_place *named = &target->place;
	struct receive_item *item = j->item;
	struct cached_lane *lane;
	bool ours = true;
	int64_t span;
	enum rc rc;

	item->plan = RECEIVE_RECEIPT;
	item->reason = ENVELOPE_NO_REASON;
	item->conversation_id = target->conversation_id;
	item->mid = target->mid;
	item->upto = target->conversation_seq;
	if (named->lane_id == 0)
		return (RC_OK);
	rc = cache_lane_by_id(
	    txn_env_of(j->tx)->cache, j->tx, named->lane_id, &lane, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND
			    ? err_set(err, RC_CORRUPT, "a row in no lane")
			    : rc);
	item->lane_id = named->lane_id;
	item->moved = named->requeued || named->given_up;
	if (item->moved)
		rc = is_place_ours(j, named, &ours, err);
	if (rc != RC_OK)
		return (rc);
	item->place = ours ? place_covered(j->e, named, &lane->lane) : 0;
	item->alone = item->moved || named->lane_seq > item->place;
	span = item->place - lane->lane.acked_seq;
	if (span > j->u->walk_left) {
		item->reason = ENVELOPE_BUSY;
		item->place = lane->lane.acked_seq + j->u->walk_left;
		item->alone = item->moved = false;
		item->mid = item->upto = 0;
		span = j->u->walk_left;
	}
	j->u->walk_left -= span > 0 ? span : 0;
	return (RC_OK);
}

/* A receipt counts if it names a message that its recipient wrote to exactly
 * its sender. */
static enum rc
judge_receipt(struct judging *j, struct err *err)
{
	struct cache *cache = txn_env_of(j->tx)->cache;
	struct receive_item *item = j->item;
	const struct store_target *target = &item->known.target;
	struct cached_conversation *c;
	struct cached_member *sender;
	enum rc rc;

	item->reason = ENVELOPE_UNKNOWN_MESSAGE;
	if (target->mid == 0 || target->sender_id != item->recipient_id ||
	    target->conversation_seq == 0)
		return (RC_OK);
	rc = cache_conversation_by_id(
	    cache, j->tx, target->conversation_id, &c, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a message in no conversation");
	if (rc != RC_OK)
		return (rc);
	sender = cache_member_find(c, item->sender_id);
	if (!c->direct || sender == NULL)
		return (RC_OK);
	return (reach(j, target, err));
}

/* ---- one envelope ---- */

/* The faults of an envelope that show without the store. */
static enum envelope_reason
judge_text(const struct judging *j)
{
	const struct envelope *e = j->e;

	if (e->fault != ENVELOPE_NO_REASON)
		return (e->fault);
	if (!receive_is_of(&e->from, j->u->origin))
		return (ENVELOPE_FOREIGN_SENDER);
	if (!receive_is_of(&e->recipient, j->u->domain))
		return (ENVELOPE_UNKNOWN_RECIPIENT);
	return (ENVELOPE_NO_REASON);
}

/* What is decided without the store, and the people of the envelope. */
static enum rc
begin(struct judging *j, struct err *err)
{

	memset(j->item, 0, sizeof(*j->item));
	j->item->reason = judge_text(j);
	if (j->item->reason != ENVELOPE_NO_REASON)
		return (RC_OK);
	if (j->e->kind == EVENT_MESSAGE)
		fingerprint(j->e, j->item->fingerprint);
	return (find_people(j, err));
}

static enum rc
judge(struct judging *j, struct err *err)
{

	if (j->item->reason != ENVELOPE_NO_REASON || judge_known(j))
		return (RC_OK);
	if (j->item->recipient_id == 0 || j->item->disabled) {
		j->item->reason = ENVELOPE_UNKNOWN_RECIPIENT;
		return (RC_OK);
	}
	if (has_predecessor(j)) {
		j->item->reason = ENVELOPE_PREDECESSOR;
		return (RC_OK);
	}
	return (j->e->kind == EVENT_MESSAGE ? judge_message(j, err)
					    : judge_receipt(j, err));
}

/* ---- all of them ---- */

/* Orders ${u}->order by sequence; equal ones stay as they came. */
static void
put_in_order(struct receive_unit *u)
{
	size_t i, k, taken;

	for (i = 0; i < u->n; i++) {
		taken = i;
		for (k = i; k > 0 && u->envelopes[u->order[k - 1]].sequence >
					 u->envelopes[taken].sequence;
		     k--)
			u->order[k] = u->order[k - 1];
		u->order[k] = taken;
	}
}

/* Does ${step} for each envelope, in their order. */
static enum rc
each(struct tx *tx, struct receive_unit *u,
    enum rc (*step)(struct judging *j, struct err *err), struct err *err)
{
	struct judging j = {.tx = tx, .u = u};
	enum rc rc = RC_OK;

	for (j.at = 0; j.at < u->n && rc == RC_OK; j.at++) {
		j.e = &u->envelopes[u->order[j.at]];
		j.item = &u->items[u->order[j.at]];
		rc = step(&j, err);
	}
	return (rc);
}

enum rc
receive_judge(struct tx *tx, struct receive_unit *u, struct err *err)
{
	enum rc rc;

	put_in_order(u);
	u->walk_left = u->walk_most;
	u->made = 0;
	rc = each(tx, u, begin, err);
	if (rc == RC_OK)
		rc = receive_look(tx, u, err);
	if (rc != RC_OK || receive_refused(u))
		return (rc);
	rc = each(tx, u, judge, err);
	return (rc == RC_OK ? receive_cover_ask(tx, u, err) : rc);
}
