/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in one thread, on a real store, with a clock that the test
 * moves and a carrier that brings nothing back until it is told to: leases of
 * what is under way are renewed, for so long and no longer.  And what wakes it,
 * what it sends together, what it logs.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "contract/rig.h"
#include "contract/watched.h"
#include "domain/settle.h"
#include "relay/core.h"
#include "schema/sql.h"

#define SECOND 1000
#define LEASE (60 * SECOND)
#define THIRD (LEASE / 3)

static struct rig rig;
static struct db *reader;
static struct core *core;
static struct core_job *jobs, **jobs_tail;
static struct parcel *carried[4];
static size_t ncarried;
static const char *refused; /* units of this kind are not taken */
/* The next rescue or release finds what it is about held by somebody else. */
static const char *passes_over;
static int renewals; /* statements */

/* ---- the world around the core ---- */

/* A rescue that leaves the lease as it is, because somebody else is at work on
 * its conversation. */
static void
pass_over(struct rescue_unit *u)
{

	u->unit.rc = RC_OK;
	u->next_lease = rig.clk.wall_ms;
	u->finish(u);
}

/* The same of what is due. */
static void
pass_over_due(struct release_unit *u)
{

	u->unit.rc = RC_OK;
	u->passed_over = true;
	u->finish(u);
}

static enum rc
submit(void *arg, struct unit *unit)
{

	(void)arg;
	if (passes_over != NULL && strcmp(unit->kind->name, passes_over) == 0) {
		if (strcmp(passes_over, "rescue") == 0)
			pass_over((struct rescue_unit *)(void *)unit);
		else
			pass_over_due((struct release_unit *)(void *)unit);
		passes_over = NULL;
		return (RC_OK);
	}
	if (refused != NULL && strcmp(unit->kind->name, refused) == 0)
		return (RC_BUSY);
	return (writer_submit(rig.writer, unit));
}

static enum rc
deliver(void *arg, struct deliver_unit *unit)
{

	return (submit(arg, &unit->unit));
}

static void
back(void *arg, struct core_job *job)
{

	(void)arg;
	job->next = NULL;
	*jobs_tail = job;
	jobs_tail = &job->next;
}

static void
carry(void *arg, struct parcel *parcel)
{

	(void)arg;
	assert_true(ncarried < sizeof(carried) / sizeof(carried[0]));
	carried[ncarried++] = parcel;
}

/* One turn of the core, without the writer's, that ${wake} may cause. */
static void
turn_by(struct wake *wake)
{
	struct core_job *list = jobs;

	jobs = NULL;
	jobs_tail = &jobs;
	(void)core_turn(core, wake != NULL ? &wake->node : NULL, list, true);
}

static void
turn(void)
{

	turn_by(NULL);
}

/* Lets ${ms} pass, and then all happen that is to happen at once. */
static void
pass(int64_t ms)
{
	int i;

	clk_fake_advance(&rig.clk, ms);
	for (i = 0; i < 50; i++) {
		turn();
		(void)writer_run_once(rig.writer);
	}
}

/* ${ms}, a second at a time. */
static void
pass_slowly(int64_t ms)
{

	for (; ms > 0; ms -= SECOND)
		pass(SECOND);
}

/* The carrier comes back with all of ${p} accepted. */
static void
answer(struct parcel *p)
{
	size_t i;

	p->reached = true;
	p->status = 200;
	for (i = 0; i < p->n; i++)
		p->items[i].answer = ANSWER_ACCEPTED;
	p->finish(p);
}

static void
send_finished(struct send_unit *u)
{

	(void)u;
}

static void
send_far(const char *to)
{
	struct message_draft draft = {0};
	struct send_unit u;

	draft.has_id = true;
	draft.id = uuid_gen_next(&rig.ids);
	draft.to = (struct span){"ann", 3};
	draft.body = (struct span){"hello", 5};
	memset(&u, 0, sizeof(u));
	send_unit_init(&u);
	u.finish = send_finished;
	assert_true(send_unit_ask(&u, 1, &draft, "localhost"));
	(void)snprintf(u.to, sizeof(u.to), "%s", to);
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

static int64_t
lease_left(void)
{

	return (rig_number(&rig,
		    "SELECT coalesce(max(lease_until), 0) FROM outbox_lanes "
		    "WHERE state = 'leased'") -
		rig.clk.wall_ms);
}

static int64_t
count(const char *what)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", what);
	return (rig_number(&rig, sql));
}

/* ---- life ---- */

static int
open_core(void **state)
{
	struct core_options o = {0};
	struct db_options db = {0};
	struct err err = ERR_INIT;

	(void)state;
	jobs = NULL;
	jobs_tail = &jobs;
	ncarried = 0;
	renewals = 0;
	refused = NULL;
	passes_over = NULL;
	watched_start("UPDATE outbox_lanes SET lease_until", &renewals);
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	db.url = rig.url;
	db.mode = DB_READER;
	db.schema = &sql_sqlite_schema;
	assert_int_equal(db_open(&db, &reader, &err), RC_OK);
	o.local = (struct carrier){.submit = deliver};
	o.remote = (struct carrier){.send = carry};
	o.submit = submit;
	o.back = back;
	o.db = reader;
	o.clk = &rig.clk.clk;
	o.rnd = &rig.rnd.rnd;
	o.owner = "test";
	o.poll_ms = 500;
	assert_int_equal(core_new(&o, &core, &err), RC_OK);
	assert_int_equal(core_start(core, &err), RC_OK);
	return (0);
}

static int
close_core(void **state)
{

	(void)state;
	watched_stop();
	core_free(core);
	db_close(reader);
	rig_close(&rig);
	return (0);
}

/* ---- a carrier that hangs ---- */

/* Each third of a lease it is renewed; after two leases no more, and when the
 * last has run out the messages are rescued and travel again.  The first
 * answer comes too late for anything. */
static void
test_hanging(void **state)
{
	int i;

	(void)state;
	send_far("bob@a.example");
	send_far("dan@a.example");
	pass(SECOND);
	assert_int_equal(ncarried, 1);
	assert_int_equal(carried[0]->n, 2);
	assert_int_equal(lease_left(), LEASE);
	pass_slowly(THIRD - SECOND);
	assert_int_equal(renewals, 0);
	for (i = 1; i <= 5; i++) {
		pass(SECOND);
		assert_int_equal(lease_left(), LEASE);
		/* A statement for each lane. */
		assert_int_equal(renewals, 2 * i);
		pass_slowly(THIRD - SECOND);
		assert_int_equal(lease_left(), LEASE - THIRD + SECOND);
	}
	pass_slowly(LEASE - THIRD);
	assert_int_equal(renewals, 10);
	assert_int_equal(lease_left(), SECOND);
	assert_int_equal(count("outbox WHERE rescue_count > 0"), 0);
	pass_slowly(2 * SECOND);
	assert_int_equal(count("outbox WHERE rescue_count = 1"), 2);
	/* Whoever says nothing is sent nothing more. */
	pass_slowly(60 * SECOND);
	assert_int_equal(ncarried, 1);
	answer(carried[0]);
	pass(SECOND);
	assert_int_equal(ncarried, 2);
	assert_int_equal(carried[1]->n, 2);
	assert_int_equal(
	    rig_number(&rig, "SELECT fenced_total FROM outbox_totals"), 2);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 0);
	answer(carried[1]);
	pass(0);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&rig);
}

/* What is settled is not held: neither later nor when its renewal is with the
 * writer already. */
static void
test_settled(void **state)
{

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	answer(carried[0]);
	pass(0);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 1);
	pass_slowly(3 * LEASE);
	assert_int_equal(renewals, 0);

	send_far("bob@a.example");
	pass(SECOND);
	assert_int_equal(ncarried, 2);
	clk_fake_advance(&rig.clk, THIRD);
	turn(); /* the renewal is asked for */
	answer(carried[1]);
	turn(); /* and the settling, in the same batch */
	assert_int_equal(writer_waiting(rig.writer), 2);
	pass(0);
	assert_int_equal(renewals, 1);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 2);
	assert_int_equal(
	    count("outbox_lanes WHERE state = 'idle' AND lease_until IS NULL"),
	    1);
	rig_check_promises(&rig);
}

static void
rescue_finished(struct rescue_unit *u)
{

	(void)u;
}

/* Somebody has ended the lease: nobody brings it back, and nobody asks again.
 */
static void
test_lost(void **state)
{
	struct rescue_unit u;

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	assert_int_equal(ncarried, 1);
	refused = "claim";
	rescue_unit_init(&u);
	u.all = true;
	u.finish = rescue_finished;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.rescued, 1);
	pass_slowly(LEASE);
	assert_int_equal(renewals, 1);
	assert_int_equal(
	    count("outbox_lanes WHERE state = 'ready' AND lease_until IS NULL"),
	    1);
	answer(carried[0]);
	pass(SECOND);
	assert_int_equal(
	    rig_number(&rig, "SELECT fenced_total FROM outbox_totals"), 1);
	assert_int_equal(count("outbox WHERE state = 'pending'"), 1);
	rig_check_promises(&rig);
}

/* A lease that has run out is passed over: it is looked for again soon, not
 * with the next look of every 10 s. */
static void
test_passed_over(void **state)
{

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	assert_int_equal(ncarried, 1);
	refused = "renew";
	passes_over = "rescue";
	pass(lease_left());
	assert_null(passes_over);
	assert_int_equal(count("outbox WHERE rescue_count > 0"), 0);
	pass(SECOND);
	assert_int_equal(count("outbox WHERE rescue_count = 1"), 1);
	rig_check_promises(&rig);
}

/* What is due and was passed over is looked at again soon, and not with the
 * next poll. */
static void
test_due_passed_over(void **state)
{

	(void)state;
	(void)rig_send_at(&rig, 1, "ann", "later", rig.clk.wall_ms + SECOND);
	passes_over = "release";
	pass(SECOND);
	assert_null(passes_over);
	assert_int_equal(count("outbox WHERE lane_seq IS NULL"), 1);
	pass(100);
	assert_int_equal(count("outbox WHERE lane_seq IS NULL"), 0);
	rig_check_promises(&rig);
}

/* One of a parcel's lanes is lost: the others are held. */
static void
test_one_lost(void **state)
{
	char state_of[80];
	sqlite3 *hand;

	(void)state;
	send_far("bob@a.example");
	send_far("dan@a.example");
	pass(SECOND);
	assert_int_equal(carried[0]->n, 2);
	assert_int_equal(sqlite3_open(rig.path, &hand), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(hand,
		"UPDATE outbox_lanes SET lease_token = lease_token + 1 WHERE "
		"lane_id = (SELECT min(lane_id) FROM outbox_lanes WHERE state "
		"= 'leased')",
		NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(hand);
	pass_slowly(THIRD);
	assert_int_equal(renewals, 2);
	pass_slowly(THIRD);
	assert_int_equal(renewals, 3);
	(void)snprintf(state_of, sizeof(state_of), "%s",
	    rig_text(&rig,
		"SELECT group_concat(lease_until - updated_at, ' ') FROM "
		"(SELECT * FROM outbox_lanes WHERE state = 'leased' ORDER BY "
		"lane_id)"));
	assert_string_equal(state_of, "60000 60000");
	assert_int_equal(lease_left(), LEASE);
	assert_int_equal(
	    count("outbox_lanes WHERE lease_until = 60000 + (SELECT "
		  "min(updated_at) FROM outbox_lanes WHERE state "
		  "= 'leased')"),
	    1);
}

/* The answer is there and the store would not write it: its lease is held until
 * it does. */
static void
test_unsettled(void **state)
{

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	refused = "settle";
	pass(SECOND);
	answer(carried[0]);
	pass_slowly(LEASE + THIRD);
	assert_true(renewals >= 3);
	assert_int_equal(count("outbox WHERE state = 'sending'"), 1);
	assert_true(lease_left() > LEASE - THIRD - SECOND);
	refused = NULL;
	pass_slowly(SECOND);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 1);
	assert_int_equal(count("outbox WHERE rescue_count > 0"), 0);
	renewals = 0;
	pass_slowly(2 * LEASE);
	assert_int_equal(renewals, 0);
	rig_check_promises(&rig);
}

/* The renewal itself is not taken: it is asked for again soon. */
static void
test_renewal_refused(void **state)
{

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	refused = "renew";
	pass_slowly(THIRD + 5 * SECOND);
	assert_int_equal(renewals, 0);
	refused = NULL;
	pass(SECOND);
	assert_int_equal(renewals, 1);
	assert_int_equal(lease_left(), LEASE);
	answer(carried[0]);
	pass(0);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 1);
}

/* ---- wake-ups ---- */

/* In these tests the clock stands still after the wake-up, so that no safety
 * poll comes. */

static struct wake *
wake_of_far(void)
{
	struct err err = ERR_INIT;
	struct wake *wake = wake_new();

	assert_non_null(wake);
	assert_int_equal(
	    wake_add_destination(wake,
		rig_number(&rig, "SELECT destination_id FROM destinations "
				 "WHERE name = 'a.example'"),
		&err),
	    RC_OK);
	return (wake);
}

/* Who commits for another server wakes the relay, which claims and sends at
 * once. */
static void
test_wake(void **state)
{

	(void)state;
	send_far("bob@a.example");
	pass(SECOND); /* the poll meets a server that nobody has told of */
	answer(carried[0]);
	pass(0);
	assert_int_equal(ncarried, 1);
	send_far("bob@a.example");
	pass(0);
	assert_int_equal(ncarried, 1);
	turn_by(wake_of_far());
	(void)writer_run_once(rig.writer);
	turn();
	assert_int_equal(ncarried, 2);
	answer(carried[1]);
	pass(0);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&rig);
}

/* A wake-up that arrives between a claim, which has found nothing, and its
 * result is not lost. */
static void
test_wake_before_claim_is_back(void **state)
{
	struct core_job *claim_job;

	(void)state;
	send_far("bob@a.example");
	pass(SECOND);
	answer(carried[0]);
	pass(0);
	turn_by(wake_of_far());
	assert_int_equal(writer_run_once(rig.writer), 1);
	claim_job = jobs;
	assert_non_null(claim_job);
	assert_null(claim_job->next);
	jobs = NULL;
	jobs_tail = &jobs;
	send_far("bob@a.example");
	turn_by(wake_of_far());
	assert_int_equal(writer_waiting(rig.writer), 0);
	jobs = claim_job;
	jobs_tail = &claim_job->next;
	pass(0);
	assert_int_equal(ncarried, 2);
	answer(carried[1]);
	pass(0);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&rig);
}

/* ---- parcels ---- */

/* R103: what waits for a server leaves in parcels of fifty. */
static void
test_parcels_of_fifty(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 51; i++)
		send_far(i % 2 == 0 ? "bob@a.example" : "dan@a.example");
	pass(SECOND);
	assert_int_equal(carried[0]->n, 50);
	answer(carried[0]);
	pass(0);
	assert_int_equal(ncarried, 2);
	assert_int_equal(carried[1]->n, 1);
	answer(carried[1]);
	pass(0);
	assert_int_equal(ncarried, 2);
	assert_int_equal(count("outbox WHERE state = 'sent'"), 51);
	rig_check_promises(&rig);
}

/* ---- the log ---- */

/* R431: each turn that has handed something over is a line of the log, with
 * where it went and how many rows it was. */
static void
test_turns_are_logged(void **state)
{
	struct log_options o = {
	    .level = LVL_DEBUG, .format = LOG_FMT_TEXT, .clk = &rig.clk.clk};
	struct err err = ERR_INIT;
	char text[4096];
	int fds[2];
	ssize_t n;

	(void)state;
	(void)rig_user(&rig, "ben", NULL);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	o.fd = fds[1];
	assert_int_equal(log_start(&o, &err), RC_OK);
	(void)rig_send(&rig, 1, "ben", "one", NULL);
	(void)rig_send(&rig, 1, "ben", "two", NULL);
	send_far("bob@a.example");
	pass(SECOND);
	answer(carried[0]);
	pass(SECOND); /* with nothing to do */
	log_stop();
	(void)close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	(void)close(fds[0]);
	assert_non_null(
	    strstr(text, "debug relay.turn destination=local rows=2\n"));
	assert_non_null(
	    strstr(text, "debug relay.turn destination=a.example rows=1\n"));
	assert_ptr_equal(
	    strstr(strstr(text, "destination=local") + 1, "destination=local"),
	    NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_core, close_core)
	const struct CMUnitTest tests[] = {
	    TEST(test_hanging),
	    TEST(test_settled),
	    TEST(test_lost),
	    TEST(test_passed_over),
	    TEST(test_due_passed_over),
	    TEST(test_one_lost),
	    TEST(test_unsettled),
	    TEST(test_renewal_refused),
	    TEST(test_wake),
	    TEST(test_wake_before_claim_is_back),
	    TEST(test_parcels_of_fifty),
	    TEST(test_turns_are_logged),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
