/* SPDX-License-Identifier: MIT */
/*
 * The crowd.  See crowd.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/crowd.h"
#include "contract/far.h"
#include "delivery/operator.h"
#include "upkeep/purge.h"

#define FAR "far.fault.test"
#define DAY_MS (INT64_C(24) * 3600 * 1000)

static const char *const names[CROWD_PEOPLE] = {
    "ann", "bob", "cat", "dan", "eve", "fay"};
static struct parcel parcel;

static uint64_t
below(struct crowd *c, uint64_t bound)
{

	return (rnd_below(&c->rnd.rnd, bound));
}

static void
run(struct crowd *c, struct unit *unit)
{

	assert_int_equal(writer_submit(c->rig.writer, unit), RC_OK);
	while (writer_run_once(c->rig.writer) > 0)
		continue;
	assert_int_equal(unit->rc, RC_OK);
}

/* ---- people ---- */

static void
login_finished(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	(void)u;
}

static int64_t
login(struct crowd *c, int64_t user)
{
	struct account_unit u;

	account_unit_init(&u, ACCOUNT_LOGIN);
	u.user.user_id = user;
	(void)snprintf(u.device.name, sizeof(u.device.name), "tablet");
	rnd_fill(&c->rnd.rnd, u.token_hash, sizeof(u.token_hash));
	u.unit.finish = login_finished;
	run(c, &u.unit);
	return (u.device.device_id);
}

static void
arrive(struct crowd *c)
{
	int i, k;

	for (i = 0; i < CROWD_PEOPLE; i++) {
		c->users[i] = rig_user(&c->rig, names[i], &c->devices[i][0]);
		for (k = 1; k < CROWD_DEVICES; k++)
			c->devices[i][k] = i % 2 == 0 ? login(c, c->users[i])
						      : c->devices[i][0];
	}
}

/* ---- steps ---- */

static void
keep(struct crowd *c, int from, const struct uuid *id)
{

	if (c->nsent == sizeof(c->sent) / sizeof(c->sent[0]))
		return;
	c->sent[c->nsent] = *id;
	c->from[c->nsent++] = from;
}

/* Neighbours send each other most messages, so that their conversations are
 * long. */
static void
send_one(struct crowd *c)
{
	int from = (int)below(c, CROWD_PEOPLE);
	int to =
	    (from + 1 + (int)below(c, below(c, 4) == 0 ? 5 : 2)) % CROWD_PEOPLE;
	struct uuid id = uuid_gen_next(&c->rig.ids);

	if (below(c, 12) == 0)
		to = from;
	(void)rig_send(&c->rig, c->users[from], names[to], "a word", &id);
	keep(c, from, &id);
}

static void
schedule_one(struct crowd *c)
{
	int from = (int)below(c, CROWD_PEOPLE);
	int to = (from + (int)below(c, 3)) % CROWD_PEOPLE;
	struct send_unit u;

	u = rig_send_at(&c->rig, c->users[from], names[to], "later",
	    c->rig.clk.wall_ms + 1 + (int64_t)below(c, 40000));
	(void)u;
}

static void
send_far(struct crowd *c)
{
	int from = (int)below(c, CROWD_PEOPLE);
	char to[64];
	struct uuid id;

	(void)snprintf(to, sizeof(to), "x%d@" FAR, (int)below(c, 3));
	id = far_send(&c->rig, c->users[from], to, (int)below(c, 3) - 1, 0);
	keep(c, from, &id);
}

/* Makes one parcel and answers it before the next one. */
static void
carry(struct crowd *c)
{
	static const enum answer answers[] = {ANSWER_ACCEPTED, ANSWER_ACCEPTED,
	    ANSWER_LATER, ANSWER_RETRYABLE, ANSWER_RETRYABLE, ANSWER_REJECTED};
	size_t i;

	if (rig_number(&c->rig, "SELECT count(*) FROM destinations") < 3)
		return;
	(void)far_claim(&c->rig, &parcel, FAR, 1 + below(c, 5), 0);
	parcel.reached = true;
	for (i = 0; i < parcel.n; i++)
		parcel.items[i].answer = answers[below(c, 6)];
	(void)far_settle(&c->rig, &parcel);
}

static int64_t
head_of(struct crowd *c, int person)
{
	char sql[80];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT coalesce(max(seq), 0) FROM inbox WHERE user_id = %d",
	    (int)c->users[person]);
	return (rig_number(&c->rig, sql));
}

/* Returns a seq, usually one of the newest. */
static int64_t
some_seq(struct crowd *c, int person)
{
	int64_t head = head_of(c, person);

	return (head == 0
		    ? 0
		    : head - (int64_t)below(c, head < 6 ? (uint64_t)head : 6));
}

static void
ack_some(struct crowd *c)
{
	int person = (int)below(c, CROWD_PEOPLE);
	int device = (int)below(c, CROWD_DEVICES);

	(void)rig_ack(&c->rig, c->users[person], c->devices[person][device],
	    some_seq(c, person));
}

static void
read_some(struct crowd *c)
{
	int person = (int)below(c, CROWD_PEOPLE);

	(void)rig_read(&c->rig, c->users[person], c->devices[person][0],
	    some_seq(c, person), below(c, 4) == 0);
}

static void
read_finished(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);

	(void)u;
}

/* Reads up to a message of one conversation.  The inbox's read mark stays. */
static void
read_conversation(struct crowd *c)
{
	int person = (int)below(c, CROWD_PEOPLE);
	struct read_unit u;
	char sql[160];
	int64_t seq;

	if ((seq = some_seq(c, person)) == 0)
		return;
	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.form = READ_IDS;
	(void)snprintf(sql, sizeof(sql),
	    "SELECT m.mid FROM inbox i JOIN messages m ON m.mid = i.mid "
	    "WHERE i.user_id = %d AND i.seq = %d",
	    (int)c->users[person], (int)seq);
	u.user_id = c->users[person];
	u.device_id = c->devices[person][0];
	u.is_private = below(c, 3) == 0;
	u.nids = 1;
	u.unit.finish = read_finished;
	{
		static struct uuid id;
		struct err err = ERR_INIT;

		assert_int_equal(store_message_uuid(c->rig.db,
				     rig_number(&c->rig, sql), &id, &err),
		    RC_OK);
		u.ids = &id;
	}
	run(c, &u.unit);
}

static void
cancel_one(struct crowd *c)
{
	size_t i = c->nsent == 0 ? 0 : (size_t)below(c, c->nsent);

	/* Often the last message, because it may still be pending. */
	if (c->nsent > 0 && below(c, 2) == 0)
		i = c->nsent - 1;
	if (c->nsent > 0)
		(void)rig_cancel(&c->rig, c->users[c->from[i]], &c->sent[i]);
}

static void
admin_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	(void)u;
}

/* An operator discards a waiting message or requeues a failed one, whichever is
 * possible. */
static void
operate(struct crowd *c)
{
	struct operator_unit u;

	if (c->nsent == 0)
		return;
	operator_unit_init(
	    &u, below(c, 2) == 0 ? OPERATOR_DISCARD : OPERATOR_RETRY, "root");
	u.message = c->sent[c->nsent - 1 -
			    (size_t)below(c, c->nsent < 12 ? c->nsent : 12)];
	u.unit.finish = admin_finished;
	run(c, &u.unit);
}

static void
purge_finished(struct unit *base)
{
	struct purge_unit *u = CONTAINER_OF(base, struct purge_unit, unit);

	(void)u;
}

static void
purge(struct crowd *c, int64_t before_ms)
{
	static struct purge_unit u;
	struct err err = ERR_INIT;

	memset(&u, 0, sizeof(u));
	purge_unit_init(&u);
	u.list.table = PURGE_OUTBOX;
	u.list.before_ms = before_ms;
	u.list.now_ms = c->rig.clk.wall_ms;
	assert_int_equal(purge_rows_look(c->rig.db, &u.list, &err), RC_OK);
	u.unit.finish = purge_finished;
	run(c, &u.unit);
}

static void
step(struct crowd *c)
{
	uint64_t what = below(c, 100);

	clk_fake_advance(&c->rig.clk, 1 + (int64_t)below(c, 3000));
	if (what < 34)
		send_one(c);
	else if (what < 38)
		schedule_one(c);
	else if (what < 44)
		send_far(c);
	else if (what < 50)
		carry(c);
	else if (what < 64)
		(void)rig_deliver(&c->rig);
	else if (what < 74)
		ack_some(c);
	else if (what < 80)
		read_some(c);
	else if (what < 85)
		read_conversation(c);
	else if (what < 90)
		cancel_one(c);
	else if (what < 96)
		operate(c);
	else
		(void)rig_release(&c->rig);
	rig_forget(&c->rig);
}

void
crowd_play(struct crowd *c, uint64_t seed, int steps, bool purged)
{
	const struct rig_options options = {.seed = seed};
	int64_t old = 0;
	int i;

	memset(c, 0, sizeof(*c));
	memset(&parcel, 0, sizeof(parcel));
	rig_open_with(&c->rig, &options);
	rnd_seeded_init(&c->rnd, seed + 1);
	arrive(c);
	for (i = 0; i < steps; i++) {
		/* The messages that wait now expire. */
		if (i == steps / 4) {
			clk_fake_advance(&c->rig.clk, 6 * DAY_MS);
			(void)rig_deliver(&c->rig);
			(void)far_rescue(&c->rig, false);
		}
		if (i == steps / 3)
			old = c->rig.clk.wall_ms;
		step(c);
	}
	if (purged)
		purge(c, old);
	buf_fini(&parcel.text);
	rig_check_promises(&c->rig);
}
