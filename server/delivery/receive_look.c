/* SPDX-License-Identifier: MIT */
/*
 * Reads what the store knows about the envelopes of a request, for all of them
 * at once: on PostgreSQL each query is a round trip, during which the batch
 * holds locks that other nodes wait for.  This file decides nothing and writes
 * nothing.
 *
 * Relies on: an event id is in a request only once (wire/read_envelope.c).
 */
#include <assert.h>
#include <string.h>

#include "delivery/receive_internal.h"
#include "store/incoming.h"
#include "txn/verb.h"

/* ---- what comes ---- */

/* Returns `known` of the envelope in ${u} with event id ${id}, which must
 * exist.  Rows mostly arrive in the order of the query, so the search begins
 * behind the envelope that the last call returned, and wraps around. */
static struct receive_known *
known_of(struct receive_unit *u, const struct uuid *id)
{
	size_t k, i = u->came;

	for (k = 0; k < u->n; k++, i++) {
		i = i < u->n ? i : 0;
		if (uuid_equal(&u->envelopes[i].event_id, id))
			break;
	}
	assert(k < u->n);
	u->came = i + 1;
	return (&u->items[i].known);
}

/* The event of ${p} was accepted before.  Notes this, and the lane_seq that the
 * ack of the duplicate returns.  Normally (p->behind is 0) this is the lane_seq
 * with which the event was accepted (0: not known).  But if an equal or higher
 * lane_seq of the same lane was accepted at most 11 minutes before the event,
 * p->behind is the highest of those, and the ack returns p->behind + 1.  A
 * receipt whose upto_sequence is at or above the returned lane_seq covers the
 * event. */
static void
on_processed(void *arg, const struct store_processed *p)
{
	struct receive_known *known = known_of(arg, &p->key.event_id);

	known->processed = true;
	known->sequence = p->behind == 0 ? p->sequence : p->behind + 1;
}

static void
on_incoming(void *arg, const struct uuid *event_id, int64_t user_id,
    const uint8_t fingerprint[STORE_FINGERPRINT_LEN])
{
	struct receive_known *known = known_of(arg, event_id);

	(void)user_id;
	known->in_inbox = true;
	memcpy(known->fingerprint, fingerprint, sizeof(known->fingerprint));
}

/* Several envelopes may have one message id. */
static void
on_taken(void *arg, const struct uuid *message_id, int64_t sender_id,
    const uint8_t fingerprint[STORE_FINGERPRINT_LEN])
{
	struct receive_unit *u = arg;
	struct receive_known *known;
	size_t i;

	for (i = 0; i < u->n; i++) {
		if (!uuid_equal(&u->envelopes[i].message.id, message_id))
			continue;
		known = &u->items[i].known;
		known->taken_by = sender_id;
		memcpy(known->taken_fingerprint, fingerprint,
		    sizeof(known->taken_fingerprint));
	}
}

static void
on_sequence(void *arg, const struct store_sequence *s)
{
	struct receive_unit *u = arg;
	struct receive_known *known;
	size_t i;

	for (i = 0; i < u->n; i++) {
		if (u->items[i].sender_id != s->sender_id ||
		    u->items[i].recipient_id != s->recipient_id ||
		    receive_class(u->envelopes[i].kind) != s->class)
			continue;
		known = &u->items[i].known;
		known->last = s->last;
		known->highest = s->highest;
		known->highest_at = s->highest_at;
	}
}

/* Two receipts may name one message. */
static void
on_target(void *arg, const struct store_target *t)
{
	struct receive_unit *u = arg;
	size_t i;

	for (i = 0; i < u->n; i++)
		if (u->envelopes[i].kind != EVENT_MESSAGE &&
		    u->items[i].sender_id == t->key.dest_id &&
		    uuid_equal(&u->envelopes[i].upto, &t->key.message_id))
			u->items[i].known.target = *t;
}

/* ---- what is asked ---- */

/* Queues the queries whether each event was accepted before.  Reads both
 * processed_messages and the inbox of the recipient, because the row of
 * processed_messages may have been purged. */
static enum rc
ask_events(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct store_event_key events[ENVELOPE_ITEMS];
	struct store_incoming_key incoming[ENVELOPE_ITEMS];
	const struct receive_item *item;
	size_t i, nevents = 0, nincoming = 0;
	enum rc rc;

	for (i = 0; i < u->n; i++) {
		item = &u->items[i];
		if (item->reason != ENVELOPE_NO_REASON)
			continue;
		events[nevents] = (struct store_event_key){
		    u->envelopes[i].event_id, u->origin_id};
		if (item->recipient_id != 0)
			incoming[nincoming++] = (struct store_incoming_key){
			    events[nevents], item->recipient_id};
		nevents++;
	}
	rc = store_processed_find(tx->db, events, nevents, &u->handler, err);
	return (rc == RC_OK ? store_incoming_find(
				  tx->db, incoming, nincoming, &u->handler, err)
			    : rc);
}

/* Queues the query which ids of the messages in ${u} belong to a message in the
 * database.  Leaves out envelopes that were accepted before or are refused, and
 * ids that no message has, as the lock set has found already. */
static enum rc
ask_messages(struct tx *tx, struct receive_unit *u, struct err *err)
{
	const struct cache *cache = txn_env_of(tx)->cache;
	struct uuid ids[ENVELOPE_ITEMS];
	const struct receive_item *item;
	const struct envelope *e;
	size_t i, n = 0;

	for (i = 0; i < u->n; i++) {
		item = &u->items[i];
		e = &u->envelopes[i];
		if (item->reason == ENVELOPE_NO_REASON &&
		    e->kind == EVENT_MESSAGE && item->recipient_id != 0 &&
		    !item->known.processed && !item->known.in_inbox &&
		    !cache_id_free(cache, &e->message.id))
			ids[n++] = e->message.id;
	}
	return (store_taken_find(tx->db, ids, n, &u->handler, err));
}

/* Queries the messages that receipts of known users name. */
static enum rc
ask_targets(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct store_target_key keys[ENVELOPE_ITEMS];
	const struct receive_item *item;
	size_t i, n = 0;

	for (i = 0; i < u->n; i++) {
		item = &u->items[i];
		if (item->reason == ENVELOPE_NO_REASON &&
		    u->envelopes[i].kind != EVENT_MESSAGE &&
		    item->recipient_id != 0 && item->sender_id != 0)
			keys[n++] = (struct store_target_key){
			    u->envelopes[i].upto, item->sender_id};
	}
	return (store_targets_find(tx->db, keys, n, &u->handler, err));
}

/* Returns true if the sequence ${s} is in the list. */
static bool
is_listed(
    const struct store_sequence *list, size_t n, const struct store_sequence *s)
{
	size_t i = 0;

	while (i < n && (list[i].sender_id != s->sender_id ||
			    list[i].recipient_id != s->recipient_id ||
			    list[i].class != s->class))
		i++;
	return (i < n);
}

/* Queries how far the sequences of known users have come. */
static enum rc
ask_sequences(struct tx *tx, struct receive_unit *u, struct err *err)
{
	struct store_sequence list[ENVELOPE_ITEMS], s;
	const struct receive_item *item;
	size_t i, n = 0;

	for (i = 0; i < u->n; i++) {
		item = &u->items[i];
		s = (struct store_sequence){item->sender_id, item->recipient_id,
		    receive_class(u->envelopes[i].kind), 0, 0, 0};
		if (item->reason == ENVELOPE_NO_REASON &&
		    item->sender_id != 0 && !is_listed(list, n, &s))
			list[n++] = s;
	}
	return (store_sequences_get(tx->db, list, n, &u->handler, err));
}

/* Queries whether the request is new and whether its key is still valid. */
static enum rc
ask_request(struct tx *tx, struct receive_unit *u, struct err *err)
{
	const struct store_nonce nonce = {
	    u->origin_id, u->key_id, u->nonce, u->nonce_until};
	enum rc rc = RC_OK;

	u->signer = (struct store_origin){
	    .origin = u->origin_id, .key_id = u->key_id, .public = u->public};
	if (u->public != NULL)
		rc = store_origin_ask(tx->db, &u->signer, err);
	return (rc == RC_OK
		    ? store_nonce_find(tx->db, &nonce, &u->repeated, err)
		    : rc);
}

enum rc
receive_look(struct tx *tx, struct receive_unit *u, struct err *err)
{
	enum rc rc;

	u->handler = (struct store_incoming_handler){.processed = on_processed,
	    .incoming = on_incoming,
	    .taken = on_taken,
	    .sequence = on_sequence,
	    .target = on_target,
	    .covered = receive_cover_add,
	    .arg = u};
	u->came = 0;
	rc = ask_request(tx, u, err);
	if (rc == RC_OK)
		rc = ask_events(tx, u, err);
	if (rc == RC_OK)
		rc = ask_sequences(tx, u, err);
	if (rc == RC_OK)
		rc = ask_targets(tx, u, err);
	if (rc == RC_OK)
		rc = store_incoming_answers(tx->db, err);
	u->used = u->public != NULL && u->signer.used;
	u->blocked = u->public != NULL && u->signer.blocked;
	u->unknown = u->public != NULL && !u->blocked && !u->signer.verifies;
	if (rc == RC_OK && !receive_refused(u))
		rc = ask_messages(tx, u, err);
	return (rc == RC_OK ? store_incoming_answers(tx->db, err) : rc);
}
