/* SPDX-License-Identifier: MIT */
/*
 * Decides which envelopes of a request are accepted.  This file writes nothing:
 * a unit of work must decide before its first write, because it shares the
 * transaction with other units and cannot be rolled back alone.
 */
#include <assert.h>
#include <string.h>

#include "crypt/crypt.h"
#include "delivery/receive_internal.h"
#include "store/epoch.h"
#include "store/incoming.h"
#include "txn/verb.h"

/* The state of deciding about one envelope. */
struct judging {
	struct tx *tx;
	struct receive_unit *u;
	const struct envelope *e;
	struct receive_item *item;
	size_t at; /* its index in u->order */
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

/* Computes the fingerprint.  Envelopes with the same fingerprint carry the same
 * message. */
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

/* Returns true if an earlier envelope of the same sequence is refused for
 * now. */
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

/* Finds the local user called ${name}; RC_NOT_FOUND if there is none.  The unit
 * has listed the name in its lock set.  So if the rows of the lock set were
 * read (cache_gathered(), multi-writer databases only), a user who is not in
 * the cache does not exist; otherwise the user is queried. */
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

/* Sets recipient_id and disabled of the item, and sender_id if the sender is
 * known here; the id of an unknown user stays 0.  If the recipient is not a
 * user of this server, the sender is not looked up, and both ids stay 0. */
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

/* Decides about an event that was accepted before: it is a duplicate, or it is
 * rejected for good, because its message differs from the one that is stored
 * with the event in the recipient's inbox.  Returns false if the event is new.
 */
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
	/* The event's row in processed_messages was purged. */
	if (!known->processed)
		j->item->plan = RECEIVE_KNOWN;
	j->item->duplicate = true;
	j->item->sequence = known->sequence;
	return (true);
}

/* Decides about a message whose id exists, in the database or earlier in this
 * request.  If ${same}, the same message has come as another event: it is a
 * duplicate.  Otherwise the id belongs to another message, and the envelope is
 * rejected for good. */
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

/* Returns the item of an earlier envelope of this request (in u->order) that
 * adds a message with the same message id as the envelope of ${j}; NULL: there
 * is none.  The two may be the same message or different messages: the caller
 * compares their fingerprints. */
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

/* Returns true if an earlier envelope of this request adds the same
 * conversation. */
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

/* Plans the message, unless its conversation would exceed the limit of new
 * ones. */
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
		/* loaded by find_people() */
		assert(from != NULL && to != NULL);
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

/* Returns the lane_seq up to which receipt ${e} covers the rows of ${lane}, the
 * lane of the message that the receipt names; ${named} is the place of this
 * message.  Returns the upto_sequence of the receipt, but at most the lane_seq
 * of the message.  If the message was given up or requeued, the limit is
 * instead the last lane_seq of the lane, because the other server may have
 * accepted the message at another place than ${named}.  If the receipt has no
 * upto_sequence, returns the lane_seq of the message, or 0 if the message was
 * requeued: then the receipt covers only the message itself. */
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

/* Sets *ret to whether a lane_seq in a receipt certainly belongs to the current
 * history of this database.  The receipt names a message at ${named} that was
 * given up or requeued.  After a restore from a backup, or a failover that lost
 * commits, this server assigns the same lane_seqs again.  Copies of requests
 * from before the restore may arrive at a peer for RECEIVE_LATE_COPY_MS, and
 * the peer remembers their lane_seqs for another RECEIVE_LATE_COPY_MS.  So *ret
 * is true if there was no restore, or if the message was created more than
 * twice RECEIVE_LATE_COPY_MS after the last restore.  Otherwise *ret is false,
 * and the receipt covers only the message that it names. */
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

/* Plans a receipt that the caller has found valid, and sets how far it reaches.
 * If the receipt covers more rows than the limit of the request still allows
 * (walk_left), only that number of rows is planned, and the reason is
 * ENVELOPE_BUSY: the other server repeats the receipt. */
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

/* Decides about a receipt.  It is valid if the recipient of the receipt wrote
 * the named message, in the direct conversation with the sender of the receipt,
 * and the message has a conversation_seq, which a scheduled message gets when
 * it is released.  Other receipts are rejected. */
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

/* Returns the reason to refuse an envelope that needs no query. */
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

/* Decides what needs no query, and finds the users of the envelope. */
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

/* Sorts ${u}->order by sequence; equal ones keep their order. */
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

/* Calls ${step} for each envelope, in the order of ${u}->order. */
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
