/* SPDX-License-Identifier: MIT */
/*
 * Rows that strangers leave behind.  A server of which no person is known is
 * purged, with all its rows, unless an operator has said something about it.
 * Also: a request that was verified with cached keys which are older than the
 * database does nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/received.h"
#include "delivery/destination.h"
#include "delivery/peers.h"
#include "upkeep/purger.h"

#define SECOND INT64_C(1000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

static struct purger *purger;
static struct db *eyes;
static struct metrics *metrics;
static int units;    /* submitted by the purger */
static int64_t most; /* the most rows that one of them has deleted */
static const struct store_peer_key key = {.key_id = "k1", .public = {7}};

/* ---- the purger ---- */

static enum rc
submit(void *arg, struct unit *u)
{

	(void)arg;
	units++;
	return (writer_submit(rig.writer, u));
}

static int
open_purged(void **state)
{
	struct purger_options o = {.clk = &rig.clk.clk,
	    .rate = 2000,
	    .submit = submit,
	    .retention_ms = {
		7 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 400 * DAY, HOUR, DAY}};
	struct err err = ERR_INIT;

	(void)open_rig(state);
	metrics = metrics_new();
	eyes = rig_reader(&rig);
	o.db = eyes;
	o.metrics = metrics;
	o.commits = writer_commits(rig.writer);
	assert_int_equal(purger_new(&o, &purger, &err), RC_OK);
	units = 0;
	most = 0;
	signer_public = key.public;
	return (0);
}

static int
close_purged(void **state)
{

	purger_free(purger);
	db_close(eyes);
	metrics_free(metrics);
	return (close_rig(state));
}

static int64_t
purged(const char *table)
{

	return (metrics_get_by(metrics, METRIC_BY_PURGED, table));
}

/* Runs the purger for ${ms} of its clock. */
static void
tidy(int64_t ms)
{
	const int64_t end = clk_mono_ms(&rig.clk.clk) + ms;
	int64_t next, now, before;

	while ((now = clk_mono_ms(&rig.clk.clk)) < end) {
		before = purged("destinations");
		next = purger_turn(purger);
		(void)writer_run_once(rig.writer);
		if (purged("destinations") - before > most)
			most = purged("destinations") - before;
		now = clk_mono_ms(&rig.clk.clk);
		clk_fake_advance(
		    &rig.clk, next > now && next < end ? next - now : 1);
	}
}

/* ---- servers ---- */

static void
finished(struct unit *base)
{

	(void)base;
}

static void
change(enum peer_op op, const struct store_peer_key *k)
{
	struct peer_unit u;

	peer_unit_init(&u, op, FAR, op == PEER_LEARN ? "" : "ann");
	if (k != NULL) {
		u.keys[0] = *k;
		u.nkeys = 1;
	}
	u.unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_true(writer_run_once(rig.writer) >= 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	if (op == PEER_LEARN)
		origin_id = u.known.destination_id;
}

/* Learns the document of FAR. */
static void
learn(void)
{

	change(PEER_LEARN, &key);
}

static int64_t
known(void)
{

	return (rig_number(
	    &rig, "SELECT count(*) FROM destinations WHERE name = '" FAR "'"));
}

/* Adds ${more} servers besides FAR, whose documents were read some time ago. */
static void
strangers(int more)
{
	char sql[512];
	int i;

	for (i = 0; i < more; i++) {
		(void)snprintf(sql, sizeof(sql),
		    "INSERT INTO destinations (name, created_at, updated_at) "
		    "VALUES ('s%d.example', 1, 0);"
		    "INSERT INTO peers (destination_id, first_seen_at, "
		    "last_seen_at) SELECT destination_id, 1, 1 FROM "
		    "destinations WHERE name = 's%d.example'",
		    i, i);
		(void)rig_exec(&rig, sql);
	}
}

/* ---- what is purged ---- */

static void
test_goes(void **state)
{

	(void)state;
	learn();
	assert_int_equal(count("peers"), 1);
	assert_int_equal(count("peer_keys"), 1);
	clk_fake_advance(&rig.clk, DAY - HOUR);
	tidy(60 * SECOND);
	assert_int_equal(known(), 1);
	assert_int_equal(count("peer_keys"), 1);
	clk_fake_advance(&rig.clk, 5 * HOUR);
	tidy(60 * SECOND);
	assert_int_equal(known(), 0);
	assert_int_equal(count("peers"), 0);
	assert_int_equal(count("peer_keys"), 0);
	assert_int_equal(purged("destinations"), 1);
	/* "*" and "local" are never purged. */
	assert_int_equal(count("destinations"), 2);
}

/* An empty request does not keep the server, once its nonce has expired. */
static void
test_goes_after_requests(void **state)
{

	(void)state;
	learn();
	request("a-nonce-of-16-bytes", false);
	assert_false(unit.unknown || unit.blocked || unit.used);
	assert_int_equal(count("federation_nonces"), 1);
	clk_fake_advance(&rig.clk, 600 * SECOND + HOUR - 60 * SECOND);
	tidy(50 * SECOND);
	assert_int_equal(count("federation_nonces"), 1);
	clk_fake_advance(&rig.clk, 120 * SECOND);
	tidy(60 * SECOND);
	assert_int_equal(count("federation_nonces"), 0);
	assert_int_equal(purged("federation_nonces"), 1);
	/* A round ends, and the next one begins. */
	clk_fake_advance(&rig.clk, 30 * HOUR);
	tidy(150 * SECOND);
	assert_int_equal(known(), 0);
}

/* With many servers each unit still takes only a few. */
static void
test_steps(void **state)
{

	(void)state;
	strangers(180);
	clk_fake_advance(&rig.clk, 2 * DAY);
	tidy(60 * SECOND);
	assert_int_equal(count("destinations"), 2);
	assert_int_equal(count("peers"), 0);
	assert_int_equal(most, PURGE_NAMES);
	assert_int_equal(units, 4);
}

/* ---- what stays ---- */

static void
pin(void)
{

	change(PEER_PIN, &key);
}

static void
block(void)
{

	change(PEER_BLOCK, NULL);
}

/* Pauses the destination, as delivery/destination.c does. */
static void
pause_it(void)
{
	struct store_destination_row row;
	struct err err = ERR_INIT;

	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(
	    store_destination_by_name(rig.db, FAR, &row, &err), RC_OK);
	row.paused_at = 1;
	assert_int_equal(
	    store_destination_pause_set(rig.db, &row, 1, &err), RC_OK);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
}

static void
slow_down(void)
{
	struct err err = ERR_INIT;

	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(
	    store_destination_rate_set(rig.db, origin_id, 5, 1, &err), RC_OK);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
}

static void
hear(void)
{

	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
}

static void
write_there(void)
{
	struct uuid id;

	send_bob(&id, 1);
}

/* A blocked server that was forgotten: only the block is known. */
static void
forget_blocked(void)
{

	block();
	change(PEER_FORGET, NULL);
}

static void
test_stays(void **state)
{
	static void (*const reasons[])(void) = {
	    pin, block, pause_it, slow_down, hear, write_there, forget_blocked};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (i > 0) {
			(void)close_purged(state);
			(void)open_purged(state);
		}
		learn();
		reasons[i]();
		clk_fake_advance(&rig.clk, 40 * DAY);
		tidy(60 * SECOND);
		if (known() != 1 || count("peers") != 1)
			fail_msg("reason %zu", i);
		assert_int_equal(
		    count("peer_keys"), reasons[i] == forget_blocked ? 0 : 1);
	}
}

/* A server that an operator has forgotten leaves only its name, which is
 * purged, too. */
static void
test_forgotten_goes(void **state)
{

	(void)state;
	learn();
	change(PEER_FORGET, NULL);
	assert_int_equal(known(), 1);
	clk_fake_advance(&rig.clk, 2 * DAY);
	tidy(60 * SECOND);
	assert_int_equal(known(), 0);
}

/* A server that was blocked before the first contact, and is unblocked. */
static void
test_unblocked_goes(void **state)
{

	(void)state;
	block();
	clk_fake_advance(&rig.clk, 2 * DAY);
	tidy(60 * SECOND);
	assert_int_equal(count("peers"), 1);
	change(PEER_UNBLOCK, NULL);
	clk_fake_advance(&rig.clk, 2 * DAY);
	tidy(60 * SECOND);
	assert_int_equal(known(), 0);
	assert_int_equal(count("peers"), 0);
}

/* The purger has listed the server when something happens that keeps it: the
 * writer checks again. */
static void
test_meanwhile(void **state)
{
	static void (*const reasons[])(void) = {
	    hear, write_there, block, pin, pause_it, learn};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (i > 0) {
			(void)close_purged(state);
			(void)open_purged(state);
		}
		learn();
		clk_fake_advance(&rig.clk, 2 * DAY);
		while (units == 0) {
			(void)purger_turn(purger);
			clk_fake_advance(&rig.clk, 20);
		}
		reasons[i]();
		(void)writer_run_once(rig.writer);
		(void)purger_turn(purger);
		if (known() != 1 || count("peers") != 1 ||
		    count("peer_keys") != 1)
			fail_msg("reason %zu", i);
	}
}

/* ---- requests verified with cached keys ---- */

/* The peer was purged since then: nothing is written for the absent
 * destination, and the peer gets a new id at the next contact. */
static void
test_request_of_purged(void **state)
{
	const int64_t messages = count("messages");
	int64_t old;

	(void)state;
	learn();
	old = origin_id;
	clk_fake_advance(&rig.clk, 2 * DAY);
	tidy(60 * SECOND);
	assert_int_equal(known(), 0);
	(void)add_message(BOB, ANN, 1);
	request("a-nonce-of-16-bytes", false);
	assert_true(unit.unknown);
	assert_int_equal(count("federation_nonces"), 0);
	assert_int_equal(count("messages"), messages);
	assert_int_equal(count("destinations"), 2);
	learn();
	assert_true(origin_id > old);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM users u JOIN peers p ON "
			     "p.destination_id = u.destination_id"),
	    1);
	request("b-nonce-of-16-bytes", false);
	assert_true(unit.used);
}

static void
forget(void)
{

	change(PEER_FORGET, NULL);
}

static void
pin_another(void)
{
	const struct store_peer_key other = {.key_id = "k2", .public = {8}};

	change(PEER_PIN, &other);
}

static void
retire(void)
{
	const struct store_peer_key other = {.key_id = "k2", .public = {8}};

	change(PEER_LEARN, &other);
}

static void
replace(void)
{
	const struct store_peer_key other = {.key_id = "k1", .public = {8}};

	change(PEER_LEARN, &other);
}

/* Another node's operator, or another document, has changed the peer since
 * then. */
static void
test_request_of_changed(void **state)
{
	static const struct {
		void (*change)(void);
		bool unknown, blocked;
	} cases[] = {{block, false, true}, {forget_blocked, false, true},
	    {forget, true, false}, {pin_another, true, false},
	    {retire, true, false}, {replace, true, false}, {pin, false, false},
	    {learn, false, false}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (i > 0) {
			(void)close_purged(state);
			(void)open_purged(state);
		}
		learn();
		cases[i].change();
		(void)add_message(BOB, ANN, 1);
		request("a-nonce-of-16-bytes", false);
		if (unit.unknown != cases[i].unknown ||
		    unit.blocked != cases[i].blocked)
			fail_msg("case %zu", i);
		assert_int_equal(count("federation_nonces"),
		    unit.unknown || unit.blocked ? 0 : 1);
		assert_int_equal(rig_number(&rig, "SELECT count(*) FROM inbox"),
		    unit.unknown || unit.blocked ? 0 : 1);
	}
}

int
main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, open_purged, close_purged)
	const struct CMUnitTest tests[] = {
	    TEST(test_goes),
	    TEST(test_goes_after_requests),
	    TEST(test_steps),
	    TEST(test_stays),
	    TEST(test_forgotten_goes),
	    TEST(test_unblocked_goes),
	    TEST(test_meanwhile),
	    TEST(test_request_of_purged),
	    TEST(test_request_of_changed),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
