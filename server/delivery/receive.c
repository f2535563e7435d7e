/* SPDX-License-Identifier: MIT */
/*
 * The verb `receive`: the envelopes of one request become rows.
 *
 * receive_judge.c decides which envelopes are accepted; this file,
 * receive_make.c and receive_receipt.c write the rows.  A message of another
 * server has no outbox row here: that row is on the other server.
 */
#include <assert.h>
#include <string.h>

#include "base/fault.h"
#include "crypt/digest.h"
#include "delivery/receive_internal.h"
#include "store/incoming.h"
#include "txn/add.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* Number of expired nonces that are removed with each new one. */
#define NONCES_EXPIRED 4

enum rc
receive_add_inbox(struct receiving *r, struct inbox_new *i, struct err *err)
{

	i->user = r->recipient;
	i->origin = r->u->origin_id;
	i->conversation = r->conversation;
	i->actor = r->sender;
	i->event_time = receive_event_time(r);
	i->attempt = r->e->attempt;
	return (txn_add_inbox(r->tx, i, err));
}

/* ---- a message ---- */

static struct db_val
v_span(const struct span *s)
{

	return (s->p != NULL ? db_v_text(s->p, s->n) : DB_V_NULL);
}

/* Gives the message its conversation_seq and the next digest of the
 * conversation, as for a message of this server. */
static void
give_number(struct receiving *r, struct scratch *s)
{
	const struct message_draft *m = &r->e->message;
	struct cached_conversation *c = r->conversation;
	uint8_t body[DIGEST_LEN];

	rnd_fill(txn_env_of(r->tx)->options.rnd, s->salt, sizeof(s->salt));
	c->last_seq++;
	digest_body(s->salt, m->body.p, m->body.n, body);
	digest_next(
	    c->digest, c->last_seq, &m->id, r->sender->name->data, body);
	memcpy(s->digest, c->digest, sizeof(s->digest));
}

static enum rc
add_message(struct receiving *r, int64_t mid, struct err *err)
{
	const struct message_draft *m = &r->e->message;
	struct txn_env *env = txn_env_of(r->tx);
	struct cached_conversation *c = r->conversation;
	struct sql_message_insert *v;
	struct scratch *s;
	enum rc rc;

	assert(env->messages.n < BATCH_ROWS);
	s = &env->scratch[env->messages.n];
	give_number(r, s);
	rc = store_next_message_insert(r->tx->db, &env->messages, &v, err);
	if (rc != RC_OK)
		return (rc);
	v->mid = db_v_i64(mid);
	v->message_id = db_v_uuid(&m->id);
	v->event_id = db_v_uuid(&r->e->event_id);
	v->conversation_id = db_v_i64(c->id);
	v->conversation_seq = db_v_i64(c->last_seq);
	v->sender_id = db_v_i64(r->sender->user_id);
	v->body = v_span(&m->body);
	v->content_type = v_span(&m->content_type);
	v->metadata = v_span(&m->metadata);
	v->correlation_id = v_span(&m->correlation_id);
	v->reply_to = m->has_reply_to ? db_v_uuid(&m->reply_to) : DB_V_NULL;
	v->priority = db_v_i64(m->priority);
	v->event_time = db_v_i64(receive_event_time(r));
	v->now = db_v_i64(r->tx->now_ms);
	v->fingerprint =
	    db_v_blob(r->item->fingerprint, sizeof(r->item->fingerprint));
	v->salt = db_v_blob(s->salt, sizeof(s->salt));
	v->digest = db_v_blob(s->digest, sizeof(s->digest));
	return (RC_OK);
}

/* Advances the recipient's delivered watermark to this message. */
static void
mark_delivered(struct receiving *r)
{
	struct cached_conversation *c = r->conversation;
	struct cached_member *m = cache_member_find(c, r->recipient->user_id);

	if (m == NULL || m->delivered_upto >= c->last_seq)
		return;
	m->delivered_upto = c->last_seq;
	cache_member_touch(txn_env_of(r->tx)->cache, c, m);
}

static enum rc
receive_message(struct receiving *r, struct err *err)
{
	struct txn_env *env = txn_env_of(r->tx);
	struct inbox_new event = {.kind = EVENT_MESSAGE,
	    .event_id = &r->e->event_id,
	    .message_id = &r->e->message.id,
	    .message = r->message};
	enum rc rc;

	rc = cache_user_remote_find(
	    env->cache, r->tx, r->e->from.p, &r->sender, err);
	if (rc == RC_OK)
		rc = cache_direct_find(env->cache, r->tx, r->sender,
		    r->recipient, &r->conversation, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a conversation is not made");
	if (rc == RC_OK)
		rc = cache_next_mid(env->cache, r->tx, &event.mid, err);
	if (rc == RC_OK)
		rc = add_message(r, event.mid, err);
	/* A later send of this batch may use the same id. */
	if (rc == RC_OK)
		rc = cache_id_take(env->cache, event.message_id, err);
	if (rc == RC_OK) {
		event.conversation_seq = r->conversation->last_seq;
		rc = receive_add_inbox(r, &event, err);
	}
	if (rc != RC_OK)
		return (rc);
	mark_delivered(r);
	if (r->message != NULL)
		message_cache_put(&env->message_cache, event.mid,
		    event.message_id, r->message);
	r->item->sender_id = r->sender->user_id;
	receive_note_event(r);
	return (RC_OK);
}

/* ---- sequences ---- */

static bool
has_sequence(const struct receive_item *item)
{

	return (
	    item->reason == ENVELOPE_NO_REASON &&
	    (item->plan == RECEIVE_MESSAGE || item->plan == RECEIVE_RECEIPT));
}

/* Returns true if the envelopes at positions ${a} and ${b} of u->order are both
 * accepted as new and belong to one sequence: same sender, same recipient, and
 * both messages or both receipts. */
static bool
same_sequence(const struct receive_unit *u, size_t a, size_t b)
{
	const struct receive_item *x = &u->items[u->order[a]];
	const struct receive_item *y = &u->items[u->order[b]];

	return (has_sequence(x) && has_sequence(y) &&
		x->sender_id == y->sender_id &&
		x->recipient_id == y->recipient_id &&
		receive_class(u->envelopes[u->order[a]].kind) ==
		    receive_class(u->envelopes[u->order[b]].kind));
}

static struct store_sequence
sequence_at(const struct receive_unit *u, size_t at)
{
	const struct envelope *e = &u->envelopes[u->order[at]];
	const struct receive_item *item = &u->items[u->order[at]];

	return ((struct store_sequence){.sender_id = item->sender_id,
	    .recipient_id = item->recipient_id,
	    .class = receive_class(e->kind),
	    .last = e->sequence,
	    .highest = e->sequence});
}

/* Returns true if no envelope at the positions of u->order from ${from} to
 * before ${upto} belongs to the sequence of the envelope at position ${at}. */
static bool
is_alone(const struct receive_unit *u, size_t at, size_t from, size_t upto)
{

	while (from < upto && !same_sequence(u, from, at))
		from++;
	return (from >= upto);
}

/* Returns the highest lane_seq that is stored for the sequence of ${item} (the
 * messages, or the receipts, of one sender to one recipient) if that lane_seq
 * was accepted at most RECEIVE_LATE_COPY_MS (11 minutes) ago, else 0.  After
 * that time no late copy of a request can arrive any more; then a lower
 * lane_seq can only mean that the other server was restored from a backup and
 * assigns the same lane_seqs again. */
static int64_t
behind(const struct tx *tx, const struct receive_item *item)
{

	return (tx->now_ms - item->known.highest_at <= RECEIVE_LATE_COPY_MS
		    ? item->known.highest
		    : 0);
}

/* Stores for each sequence of the request (the messages, or the receipts, of
 * one sender to one recipient) the lane_seq of its last new envelope, and the
 * highest lane_seq that was accepted in the last 11 minutes (behind()).  A
 * sequence has gone back if its first new envelope has no higher lane_seq than
 * the last one that an earlier request stored: the peer was restored from a
 * backup, or a copy of a request came late.  The envelopes of such a sequence
 * are accepted nevertheless, and ${u->went_back} counts the sequence. */
static enum rc
keep_sequences(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct store_sequence s, lasts[ENVELOPE_ITEMS];
	size_t at, n = 0;

	for (at = 0; at < u->n; at++) {
		if (!has_sequence(&u->items[u->order[at]]))
			continue;
		s = sequence_at(u, at);
		if (is_alone(u, at, 0, at) &&
		    s.last <= u->items[u->order[at]].known.last)
			u->went_back++;
		if (!is_alone(u, at, at + 1, u->n))
			continue;
		s.highest_at = tx->now_ms;
		if (s.highest < behind(tx, &u->items[u->order[at]])) {
			s.highest = u->items[u->order[at]].known.highest;
			s.highest_at = u->items[u->order[at]].known.highest_at;
		}
		lasts[n++] = s;
	}
	return (store_sequences_set(tx->db, lasts, n, err));
}

/* ---- the verb ---- */

static enum rc
receive_item(struct tx *tx, struct receive_unit *u, size_t i, struct err *err)
{
	struct receiving r = {.tx = tx,
	    .u = u,
	    .e = &u->envelopes[i],
	    .item = &u->items[i],
	    .message = u->message != NULL ? u->message[i] : NULL};
	enum rc rc;

	if (r.item->plan == RECEIVE_NOTHING)
		return (RC_OK);
	if (r.item->plan == RECEIVE_KNOWN) {
		receive_note_event(&r);
		return (RC_OK);
	}
	rc = cache_user_by_id(
	    txn_env_of(tx)->cache, tx, r.item->recipient_id, &r.recipient, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a recipient is gone");
	if (rc != RC_OK)
		return (rc);
	return (r.item->plan == RECEIVE_MESSAGE ? receive_message(&r, err)
						: receive_receipt(&r, err));
}

static enum rc
write_rows(struct tx *tx, struct err *err)
{
	enum rc rc;

	FAULT("receive.messages.before");
	rc = store_rows_write(tx->db, &txn_env_of(tx)->messages, true, err);
	FAULT("receive.inbox.before");
	return (rc == RC_OK ? txn_write_inbox(tx, err) : rc);
}

/* Returns the row of processed_messages for item ${i}.  If the item's event or
 * message was stored before (RECEIVE_KNOWN), the row gets no lane_seq, because
 * the event may have been accepted with another lane_seq.  If behind() returns
 * a lane_seq at or above that of the item, the row also stores the returned
 * lane_seq as ${behind}: if the event comes again, the ack of this duplicate
 * names ${behind} + 1 as the place of the event (on_processed()). */
static struct store_processed
event_of(const struct tx *tx, const struct receive_unit *u, size_t i)
{
	const struct receive_item *item = &u->items[i];
	struct store_processed p = {
	    .key = {u->envelopes[i].event_id, u->origin_id}};

	if (item->plan == RECEIVE_KNOWN)
		return (p);
	p.sequence = u->envelopes[i].sequence;
	if (p.sequence <= behind(tx, item))
		p.behind = item->known.highest;
	return (p);
}

/* Records the accepted events of the request. */
static enum rc
note_events(struct tx *tx, const struct receive_unit *u, struct err *err)
{
	struct store_processed events[ENVELOPE_ITEMS];
	size_t i;

	for (i = 0; i < u->nnoted; i++)
		events[i] = event_of(tx, u, u->noted[i]);
	return (
	    store_processed_add(tx->db, events, u->nnoted, tx->now_ms, err));
}

/* Writes the decisions. */
static enum rc
write_all(struct tx *tx, struct receive_unit *u, struct err *err)
{
	const struct store_nonce nonce = {
	    u->origin_id, u->key_id, u->nonce, u->nonce_until};
	enum rc rc;
	size_t i;

	/* store_nonce_add() waits for its result, and thereby also for the
	 * queries for the rows that receipts cover, which receive_judge() has
	 * queued. */
	rc = store_nonce_add(tx->db, &nonce, err);
	if (rc == RC_OK)
		rc = store_nonces_expire(
		    tx->db, tx->now_ms, NONCES_EXPIRED, err);
	FAULT("receive.nonce.after");
	if (rc == RC_OK)
		rc = receive_make(tx, u, err);
	FAULT("receive.people.after");
	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = receive_item(tx, u, u->order[i], err);
	if (rc == RC_OK)
		rc = receive_receipts_write(tx, u, err);
	if (rc == RC_OK)
		rc = note_events(tx, u, err);
	if (rc == RC_OK)
		rc = keep_sequences(tx, u, err);
	return (rc == RC_OK ? write_rows(tx, err) : rc);
}

static enum rc
receive_all(struct tx *tx, struct receive_unit *u, struct err *err)
{
	enum rc rc;

	assert(u->n <= ENVELOPE_ITEMS);
	u->went_back = u->nnoted = 0;
	memset(&u->covered, 0, sizeof(u->covered));
	rc = receive_judge(tx, u, err);
	if (rc == RC_OK && !receive_refused(u))
		rc = write_all(tx, u, err);
	receive_cover_free(u);
	return (rc);
}

static enum rc
receive_apply(struct tx *tx, struct unit *unit, struct err *err)
{

	return (receive_all(
	    tx, CONTAINER_OF(unit, struct receive_unit, unit), err));
}

/* ---- what it locks ---- */

/* Adds to the lock set the id of message ${i} and the conversation of its two
 * users, by the direct key in u->keys[i], which the lock set borrows until
 * lockset_lock() has returned.  lockset_send_order() keeps the messages between
 * two users in order: while a unit with one of them is deferred, later units
 * with others are deferred, too. */
static enum rc
lock_message(
    struct lockset *set, struct receive_unit *u, size_t i, struct err *err)
{
	const struct envelope *e = &u->envelopes[i];
	enum rc rc;

	store_direct_key(e->from.p, u->names[i], u->keys[i]);
	rc = lockset_new_message(set, &e->message.id, err);
	if (rc == RC_OK)
		rc = lockset_send_order(set, 0, u->keys[i], err);
	return (rc == RC_OK ? lockset_direct_key(set, u->keys[i], err) : rc);
}

/* Lists what envelope ${i} needs, unless it will be refused. */
static enum rc
lock_envelope(
    struct lockset *set, struct receive_unit *u, size_t i, struct err *err)
{
	const struct envelope *e = &u->envelopes[i];
	char *name = u->names[i];
	enum rc rc;

	u->keys[i][0] = '\0';
	if (e->fault != ENVELOPE_NO_REASON ||
	    !receive_is_of(&e->from, u->origin) ||
	    !receive_is_of(&e->recipient, u->domain))
		return (RC_OK);
	receive_local_name(&e->recipient, name);
	if (name[0] == '\0')
		return (RC_OK);
	rc = lockset_user_named(set, name, strlen(name), err);
	if (rc == RC_OK)
		rc = lockset_user_named(set, e->from.p, e->from.n, err);
	if (rc == RC_OK)
		rc = lockset_inbox_events_named(set, name, err);
	if (rc != RC_OK)
		return (rc);
	return (e->kind == EVENT_MESSAGE ? lock_message(set, u, i, err)
					 : lockset_message(set, &e->upto, err));
}

static enum rc
receive_locks(struct unit *unit, struct lockset *set, struct err *err)
{
	struct receive_unit *u = CONTAINER_OF(unit, struct receive_unit, unit);
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < u->n && rc == RC_OK; i++)
		rc = lock_envelope(set, u, i, err);
	return (rc);
}

/* Returns true if message ${i} adds its conversation, and perhaps its
 * sender. */
static bool
makes(const struct receive_unit *u, const struct cache *cache, size_t i)
{
	const struct cached_user *from, *to;

	if (u->keys[i][0] == '\0')
		return (false);
	from = cache_user_known(cache, u->envelopes[i].from.p);
	to = cache_user_known(cache, u->names[i]);
	return (to != NULL && !to->disabled &&
		(from == NULL || cache_direct_known(cache, from, to) == NULL));
}

/* If the request adds a user or a conversation, the name of the other server is
 * locked: one lock, however many rows are added.  With its default settings
 * PostgreSQL has room for about 7,000 locks in total. */
static enum rc
receive_locks_names(
    struct unit *unit, struct tx *tx, struct lockset *set, struct err *err)
{
	const struct receive_unit *u =
	    CONTAINER_OF(unit, struct receive_unit, unit);
	size_t i;

	for (i = 0; i < u->n; i++)
		if (makes(u, txn_env_of(tx)->cache, i))
			return (lockset_name(set, u->origin, err));
	return (RC_OK);
}

UNIT_KIND(receive, receive_locks, .queue = UNIT_CLIENT, .order = ORDER_RECEIVE,
    .apply_one = receive_apply, .locks_names = receive_locks_names);

void
receive_unit_init(struct receive_unit *u)
{

	u->unit.kind = &receive_kind;
	u->unit.bytes = sizeof(*u);
	u->walk_most = RECEIVE_WALK_ROWS;
	u->new_most = SIZE_MAX;
	u->public = NULL;
	u->repeated = u->unknown = u->blocked = u->used = false;
	u->went_back = 0;
	u->made = 0;
}
