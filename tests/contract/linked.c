/* SPDX-License-Identifier: MIT */
/*
 * Two rigs.  See linked.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/linked.h"
#include "model/event.h"

/* ---- opening and closing ---- */

static void
open_one(struct linked *l, const struct rig_options *options, const char *name,
    const char *domain)
{

	memset(l, 0, sizeof(*l));
	l->name = name;
	l->domain = domain;
	(void)snprintf(l->address, sizeof(l->address), "%s@%s", name, domain);
	rig_open_with(&l->rig, options);
	l->person = rig_user(&l->rig, name, &l->device);
}

static void
know(struct linked *l, const char *domain)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO destinations (name, created_at, updated_at)"
	    " VALUES ('%s', 0, 0)",
	    domain);
	(void)rig_exec(&l->rig, sql);
	(void)snprintf(sql, sizeof(sql),
	    "SELECT destination_id FROM destinations WHERE name = '%s'",
	    domain);
	l->origin_id = rig_number(&l->rig, sql);
}

void
linked_open(struct linked *a, struct linked *b, const char *other)
{
	/* With one seed both rigs would make the same ids. */
	const struct rig_options first = {.seed = 1};
	const struct rig_options second = {.seed = 2, .path = other};

	open_one(a, &first, "ann", "a.example");
	open_one(b, &second, "bob", "b.example");
	know(a, b->domain);
	know(b, a->domain);
}

void
linked_close(struct linked *a, struct linked *b)
{

	buf_fini(&a->parcel.text);
	buf_fini(&b->parcel.text);
	rig_close(&a->rig);
	rig_close(&b->rig);
}

/* ---- the actions of people ---- */

struct uuid
linked_send(struct linked *of, const char *to)
{

	return (far_send(&of->rig, of->person, to, PRIORITY_NORMAL, 0));
}

const char *
linked_literal(const struct linked *of, const struct uuid *id)
{
	static char texts[4][48];
	static int at;
	char *text = texts[at++ % 4];
	size_t i;
	int n;

	n = snprintf(text, 48, of->rig.pg != NULL ? "'" : "x'");
	for (i = 0; i < sizeof(id->b); i++)
		n += snprintf(text + n, 48 - (size_t)n, "%02x", id->b[i]);
	(void)snprintf(text + n, 48 - (size_t)n, "'");
	return (text);
}

struct uuid
linked_event_id(struct linked *of, const struct uuid *id)
{
	char sql[256], text[UUID_TEXT_LEN + 1];
	struct uuid ret;
	const char *hex;

	(void)snprintf(sql, sizeof(sql),
	    "SELECT %s FROM messages WHERE message_id = %s",
	    of->rig.pg != NULL ? "replace(event_id::text, '-', '')"
			       : "lower(hex(event_id))",
	    linked_literal(of, id));
	hex = rig_text(&of->rig, sql);
	(void)snprintf(text, sizeof(text), "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
	    hex + 8, hex + 12, hex + 16, hex + 20);
	assert_true(uuid_parse(text, UUID_TEXT_LEN, &ret));
	return (ret);
}

static int64_t
seq_of(struct linked *of, const struct uuid *id)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT seq FROM inbox WHERE user_id = %lld AND kind = 1 AND mid ="
	    " (SELECT mid FROM messages WHERE message_id = %s)",
	    (long long)of->person, linked_literal(of, id));
	return (rig_number(&of->rig, sql));
}

void
linked_ack(struct linked *of, const struct uuid *id)
{
	const struct ack_unit u =
	    rig_ack(&of->rig, of->person, of->device, seq_of(of, id));

	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

void
linked_read(struct linked *of, const struct uuid *id)
{
	const struct read_unit u =
	    rig_read(&of->rig, of->person, of->device, seq_of(of, id), false);

	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* ---- requests ---- */

static void
finished(struct unit *unit)
{

	(void)unit;
}

/* Does what federation/carry.c writes and federation/inbound.c reads. */
static void
fill_envelope(struct linked *from, size_t i)
{
	const struct parcel_item *item = &from->parcel.items[i];
	const char *to = parcel_text(&from->parcel, item->to);
	struct envelope *e = &from->list[i];

	memset(e, 0, sizeof(*e));
	(void)snprintf(from->from[i], sizeof(from->from[i]), "%s@%s",
	    parcel_text(&from->parcel, item->from), from->domain);
	e->event_id = item->row.event_id;
	e->kind = item->row.kind;
	e->sequence = item->row.lane_seq;
	e->timestamp_ms = item->row.event_time;
	e->attempt = item->row.attempts;
	e->from = (struct span){from->from[i], strlen(from->from[i])};
	e->recipient = (struct span){to, strlen(to)};
	if (e->kind != EVENT_MESSAGE) {
		e->upto = item->message_id;
		return;
	}
	e->message.has_id = true;
	e->message.id = item->message_id;
	e->message.body = (struct span){
	    parcel_text(&from->parcel, item->body), item->body_len};
}

static void
receive(struct linked *from, struct linked *to)
{
	struct receive_unit *u = &to->unit;
	char nonce[32];

	(void)snprintf(nonce, sizeof(nonce), "nonce-number-%06d", to->nonces++);
	memset(u, 0, sizeof(*u));
	receive_unit_init(u);
	u->unit.finish = finished;
	u->domain = to->domain;
	u->origin = from->domain;
	u->origin_id = to->origin_id;
	u->key_id = "k1";
	u->nonce = nonce;
	u->nonce_until = RIG_START_MS + 600000;
	u->envelopes = from->list;
	u->n = from->parcel.n;
	assert_int_equal(writer_submit(to->rig.writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(to->rig.writer), 1);
	assert_int_equal(u->unit.rc, RC_OK);
}

static size_t
claim(struct linked *from, const struct linked *to)
{

	(void)far_claim(&from->rig, &from->parcel, to->domain, PARCEL_ITEMS,
	    PRIORITY_NORMAL);
	return (from->parcel.n);
}

size_t
linked_carry(struct linked *from, struct linked *to)
{
	const size_t n = claim(from, to);
	size_t i;

	if (n == 0)
		return (0);
	for (i = 0; i < n; i++)
		fill_envelope(from, i);
	receive(from, to);
	for (i = 0; i < n; i++)
		assert_int_equal(to->unit.items[i].reason, ENVELOPE_NO_REASON);
	assert_int_equal(
	    far_answer(&from->rig, &from->parcel, ANSWER_ACCEPTED), 0);
	return (n);
}

size_t
linked_answer(struct linked *from, const struct linked *to, enum answer answer)
{
	const size_t n = claim(from, to);

	assert_int_equal(far_answer(&from->rig, &from->parcel, answer), 0);
	return (n);
}

/* ---- comparing ---- */

/* The tables that tests change.  Users are only added. */
static const char *const changed[] = {"participants", "inboxes", "messages",
    "outbox", "outbox_lanes", "inbox", "processed_messages"};
#define CHANGED (sizeof(changed) / sizeof(changed[0]))

void
linked_keep(struct linked *of)
{
	char sql[96];
	size_t i;

	(void)rig_exec(
	    &of->rig, "CREATE TABLE keep_users AS SELECT user_id FROM users");
	for (i = 0; i < CHANGED; i++) {
		(void)snprintf(sql, sizeof(sql),
		    "CREATE TABLE keep_%s AS SELECT * FROM %s", changed[i],
		    changed[i]);
		(void)rig_exec(&of->rig, sql);
	}
}

void
linked_put_back(struct linked *of)
{
	char sql[2048];
	size_t i, n = 0;

	for (i = 0; i < CHANGED; i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n,
		    "DELETE FROM %s; INSERT INTO %s SELECT * FROM keep_%s;",
		    changed[i], changed[i], changed[i]);
	(void)snprintf(sql + n, sizeof(sql) - n,
	    "DELETE FROM users WHERE user_id NOT IN"
	    " (SELECT user_id FROM keep_users)");
	(void)rig_exec(&of->rig, sql);
}

enum rc
linked_compare(struct linked *a, struct linked *b, check_found_fn found,
    void *arg, struct pair_report *ret, struct err *err)
{
	const struct pair_side sides[2] = {
	    {rig_reader(&a->rig), a->domain}, {rig_reader(&b->rig), b->domain}};
	enum rc rc;

	rc = pair_run(sides, found, arg, ret, err);
	db_close(sides[0].db);
	db_close(sides[1].db);
	return (rc);
}
