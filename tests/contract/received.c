/* SPDX-License-Identifier: MIT */
/*
 * Requests of another server.  See received.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/received.h"

struct rig rig;
struct receive_unit unit;
struct envelope list[ENVELOPE_ITEMS];
size_t n;
int nonces;
int64_t origin_id, ann, ann_device, ben, walk_most;
size_t new_most;
const uint8_t *signer_public;

static void
open_with(const struct timing *timing)
{

	rig_open_with(&rig, &(struct rig_options){.timing = timing});
	ann = rig_user(&rig, "ann", &ann_device);
	ben = rig_user(&rig, "ben", NULL);
	(void)rig_exec(&rig,
	    "INSERT INTO destinations (name, created_at, updated_at)"
	    " VALUES ('" FAR "', 0, 0)");
	origin_id = rig_number(&rig,
	    "SELECT destination_id FROM destinations WHERE name = '" FAR "'");
	nonces = 0;
	walk_most = RECEIVE_WALK_ROWS;
	new_most = SIZE_MAX;
	signer_public = NULL;
	n = 0;
}

int
open_rig(void **state)
{

	(void)state;
	open_with(NULL);
	return (0);
}

int
open_impatient(void **state)
{

	(void)state;
	open_with(timing_real());
	return (0);
}

int
close_rig(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

struct span
span(const char *text)
{

	return ((struct span){text, strlen(text)});
}

/* Adds an envelope to the next request. */
static struct envelope *
add(int kind, const char *from, const char *to, int64_t sequence)
{
	struct envelope *e = &list[n++];

	memset(e, 0, sizeof(*e));
	e->event_id = uuid_gen_next(&rig.ids);
	e->kind = kind;
	e->sequence = sequence;
	e->timestamp_ms = RIG_START_MS - 1000;
	e->attempt = 1;
	e->from = span(from);
	e->recipient = span(to);
	return (e);
}

struct envelope *
add_message(const char *from, const char *to, int64_t sequence)
{
	struct envelope *e = add(EVENT_MESSAGE, from, to, sequence);

	e->message.has_id = true;
	e->message.id = uuid_gen_next(&rig.ids);
	e->message.body = span("hello");
	return (e);
}

struct envelope *
add_receipt(int kind, const char *from, const char *to, int64_t sequence,
    const struct uuid *upto)
{
	struct envelope *e = add(kind, from, to, sequence);

	e->upto = *upto;
	return (e);
}

static bool done; /* the unit is finished */

static void
finished(struct unit *base)
{

	assert_ptr_equal(base, &unit.unit);
	done = true;
}

/* Prepares the request with nonce ${nonce}.  The envelopes stay, so that the
 * test can repeat the request. */
void
prepare(const char *nonce, bool full)
{

	memset(&unit, 0, sizeof(unit));
	receive_unit_init(&unit);
	unit.unit.finish = finished;
	unit.domain = HERE;
	unit.origin = FAR;
	unit.origin_id = origin_id;
	unit.key_id = "k1";
	unit.public = signer_public;
	unit.nonce = nonce;
	unit.nonce_until = RIG_START_MS + 600000;
	unit.envelopes = list;
	unit.n = n;
	unit.full = full;
	unit.walk_most = walk_most;
	unit.new_most = new_most;
}

void
request(const char *nonce, bool full)
{

	prepare(nonce, full);
	done = false;
	assert_int_equal(writer_submit(rig.writer, &unit.unit), RC_OK);
	/* The unit is deferred while its rows are locked: by the test, or for a
	 * moment by another session of the same database. */
	(void)writer_run_once(rig.writer);
	while (!done) {
		clk_fake_advance(&rig.clk, 1);
		(void)writer_run_once(rig.writer);
	}
	assert_int_equal(unit.unit.rc, RC_OK);
}

/* Returns the answers to the request: a word for each envelope. */
const char *
answers_of(bool full)
{
	static char text[1024];
	char nonce[32];
	size_t i, at = 0;

	(void)snprintf(nonce, sizeof(nonce), "nonce-number-%06d", nonces++);
	request(nonce, full);
	assert_false(unit.repeated);
	text[0] = '\0';
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
		    i == 0 ? "" : " ",
		    unit.items[i].duplicate ? "duplicate"
		    : unit.items[i].reason == ENVELOPE_NO_REASON
			? "accepted"
			: envelope_reason_word(unit.items[i].reason));
	return (text);
}

const char *
answers(void)
{

	return (answers_of(false));
}

/* Reads the event id of the outbox row that ${where} selects. */
void
take_event_id(struct uuid *ret, const char *where)
{
	const char *text;
	char sql[160];

	(void)snprintf(sql, sizeof(sql), "SELECT %s FROM outbox WHERE %s",
	    rig.pg != NULL ? "replace(event_id::text, '-', '')"
			   : "lower(hex(event_id))",
	    where);
	text = rig_text(&rig, sql);
	(void)snprintf(sql, sizeof(sql), "%.8s-%.4s-%.4s-%.4s-%.12s", text,
	    text + 8, text + 12, text + 16, text + 20);
	assert_true(uuid_parse(sql, UUID_TEXT_LEN, ret));
}

int64_t
count(const char *table)
{
	char sql[80];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return (rig_number(&rig, sql));
}

/* Ann sends ${m} messages to Bob, which the other server takes.  Their ids go
 * to ${ids}. */
void
send_bob(struct uuid *ids, size_t m)
{
	static struct parcel parcel;
	size_t i;

	for (i = 0; i < m; i++)
		ids[i] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, m);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	buf_fini(&parcel.text);
	memset(&parcel, 0, sizeof(parcel));
}

const char *
states(void)
{

	return (
	    rig_list(&rig, "SELECT state FROM outbox WHERE dest_kind = 'server'"
			   " ORDER BY id"));
}
