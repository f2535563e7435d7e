/* SPDX-License-Identifier: MIT */
/*
 * Defects on purpose in the receiving server.  See fed_broken.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fed_broken.h"
#include "sim/server.h"
#include "store/incoming.h"
#include "txn/verb.h"

/* ---- ack-early ---- */

static const struct unit_kind *receive_kind;

static enum rc
apply_and_answer(struct tx *tx, struct unit *base, struct err *err)
{
	struct receive_unit *u = CONTAINER_OF(base, struct receive_unit, unit);
	enum rc rc;

	rc = receive_kind->apply_one(tx, base, err);
	if (rc == RC_OK && !u->repeated)
		fed_answer(u->arg);
	return (rc);
}

static void
answer_early(struct hearing *h)
{

	receive_kind = h->unit.unit.kind;
	h->kind = *receive_kind;
	h->kind.apply_one = apply_and_answer;
	h->unit.unit.kind = &h->kind;
}

/* ---- sequence ---- */

static void
keep_as_written(struct hearing *h)
{
	size_t i;

	for (i = 0; i < h->request.n; i++)
		h->request.envelopes[i].sequence = (int64_t)i + 1;
}

/* ---- stranger ---- */

/* Treats a receipt as if it came from the person to whom its message was
 * sent. */
static void
believe(struct hearing *h)
{
	struct envelope *e = &h->request.envelopes[0];
	sqlite3_stmt *st;

	if (h->request.n != 1 || e->fault != ENVELOPE_NO_REASON ||
	    e->kind == EVENT_MESSAGE)
		return;
	st = server_ask(h->s,
	    "SELECT u.name, u.destination_id FROM messages m JOIN participants "
	    "p ON p.conversation_id = m.conversation_id JOIN users u ON "
	    "u.user_id = p.user_id WHERE m.message_id = ?1 AND "
	    "u.destination_id IS NOT NULL");
	if (st == NULL)
		return;
	(void)sqlite3_bind_blob(st, 1, e->upto.b, 16, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW) {
		(void)snprintf(h->partner, sizeof(h->partner), "%s",
		    (const char *)sqlite3_column_text(st, 0));
		e->from = (struct span){h->partner, strlen(h->partner)};
		h->unit.origin = strchr(h->partner, '@') + 1;
		h->unit.origin_id = sqlite3_column_int64(st, 1);
	}
	server_asked(st);
}

/* ---- back ---- */

/* Refuses an envelope whose sequence is not after the last one. */
static void
refuse_back(struct hearing *h)
{
	struct envelope *e;
	sqlite3_stmt *st;
	size_t i;

	for (i = 0; i < h->request.n; i++) {
		e = &h->request.envelopes[i];
		if (e->fault != ENVELOPE_NO_REASON)
			continue;
		st = server_ask(h->s,
		    "SELECT 1 FROM federation_lanes l JOIN users a ON "
		    "a.user_id = l.sender_id JOIN users b ON b.user_id = "
		    "l.recipient_id WHERE a.name = ?1 AND b.name || '@' || ?2 "
		    "= ?3 AND l.class = (?4 <> 1) AND l.last_sequence >= ?5 "
		    "AND NOT EXISTS (SELECT 1 FROM processed_messages WHERE "
		    "event_id = ?6)");
		if (st == NULL)
			return;
		(void)sqlite3_bind_text(st, 1, e->from.p, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(st, 2, h->s->domain, -1, SQLITE_STATIC);
		(void)sqlite3_bind_text(
		    st, 3, e->recipient.p, -1, SQLITE_STATIC);
		(void)sqlite3_bind_int(st, 4, e->kind);
		(void)sqlite3_bind_int64(st, 5, e->sequence);
		(void)sqlite3_bind_blob(
		    st, 6, e->event_id.b, 16, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW)
			e->fault = ENVELOPE_MALFORMED;
		server_asked(st);
	}
}

void
fed_break(struct hearing *h)
{

	if (sim_is_broken(h->s, "back"))
		refuse_back(h);

	if (sim_is_broken(h->s, "ack-early"))
		answer_early(h);
	if (sim_is_broken(h->s, "sequence"))
		keep_as_written(h);
	if (sim_is_broken(h->s, "stranger"))
		believe(h);
}

/* ---- dedup-here ---- */

struct note {
	struct unit unit; /* must be first */
	struct store_event_key events[ENVELOPE_ITEMS];
	size_t n;
};

static void
on_known(void *arg, const struct store_processed *p)
{
	bool *known = arg;

	(void)p;
	*known = true;
}

static enum rc
note_apply(struct tx *tx, struct unit *unit, struct err *err)
{
	const struct note *n = (const struct note *)(void *)unit;
	bool known = false;
	const struct store_incoming_handler h = {
	    .processed = on_known, .arg = &known};
	struct store_processed event = {.sequence = 0};
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < n->n && rc == RC_OK; i++, known = false) {
		event.key = n->events[i];
		rc = store_processed_find(tx->db, &event.key, 1, &h, err);
		if (rc == RC_OK && !known)
			rc = store_processed_add(
			    tx->db, &event, 1, -tx->now_ms, err);
	}
	return (rc);
}

UNIT_KIND(note, unit_locks_nothing, .queue = UNIT_CLIENT, .order = ORDER_UPKEEP,
    .apply_one = note_apply);

static void
noted(struct unit *unit)
{

	free(unit);
}

void
fed_broken_note(struct hearing *h)
{
	struct note *n = calloc(1, sizeof(*n));
	size_t i;

	assert(n != NULL);
	n->unit.kind = &note_kind;
	n->unit.finish = noted;
	for (i = 0; i < h->request.n; i++)
		if (h->unit.items[i].reason == ENVELOPE_NO_REASON)
			n->events[n->n++] = (struct store_event_key){
			    h->request.envelopes[i].event_id,
			    h->unit.origin_id};
	if (writer_submit(h->s->server->writer, &n->unit) == RC_OK)
		server_turn_soon(h->s);
	else
		free(n);
}
