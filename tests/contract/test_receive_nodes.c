/* SPDX-License-Identifier: MIT */
/*
 * Requests of another server on a multi-writer database: their cost, and their
 * locks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "contract/received.h"
#include "db/db_internal.h"
#include "schema/sql.h"

/* The senders of a request, who take turns. */
static char froms[ENVELOPE_ITEMS][LIMIT_ADDRESS_LEN + 1];

static void
people(size_t first)
{
	size_t i;

	for (i = 0; i < ENVELOPE_ITEMS; i++)
		(void)snprintf(
		    froms[i], sizeof(froms[i]), "p%zu@" FAR, first + i);
}

/* Makes a request of ${envelopes} messages, each from another person. */
static void
fill(size_t envelopes, int64_t sequence)
{
	size_t i;

	n = 0;
	for (i = 0; i < envelopes; i++)
		(void)add_message(froms[i], i % 2 == 0 ? ANN : BEN, sequence);
}

/* Returns the number of statements that the next request runs, from BEGIN to
 * COMMIT. */
static uint64_t
cost(void)
{
	const uint64_t before = db_statements(rig.db);

	(void)answers();
	return (db_statements(rig.db) - before);
}

/* A request with many envelopes runs the same statements as one with few.  Each
 * of them may be a round trip. */
static void
test_cost(void **state)
{
	uint64_t one, again;

	(void)state;
	people(0);
	fill(ENVELOPE_ITEMS, 1);
	(void)answers();
	fill(1, 2);
	one = cost();
	again = cost();
	fill(ENVELOPE_ITEMS, 3);
	assert_int_equal(cost(), one);
	assert_int_equal(count("messages"), 2 * ENVELOPE_ITEMS + 1);
	assert_int_equal(cost(), again);
	assert_int_equal(count("messages"), 2 * ENVELOPE_ITEMS + 1);
}

/* The same with new people and conversations.  A person who writes twice, or to
 * two people here, is made once. */
static void
test_cost_of_new(void **state)
{
	uint64_t one;

	(void)state;
	people(0);
	fill(1, 1);
	one = cost();
	people(100);
	fill(ENVELOPE_ITEMS - 2, 1);
	(void)add_message(froms[0], ANN, 2);
	(void)add_message(froms[0], BEN, 1);
	assert_int_equal(cost(), one);
	assert_int_equal(count("messages"), ENVELOPE_ITEMS + 1);
	assert_int_equal(count("conversations"), ENVELOPE_ITEMS);
	assert_int_equal(
	    rig_number(
		&rig, "SELECT count(*) FROM users WHERE name LIKE '%@%'"),
	    ENVELOPE_ITEMS - 1);
}

/* ---- round trips ---- */

/* The rig's driver, and a copy that counts. */
static const struct db_driver *real;
static struct db_driver counting;

/* Round trips, and statements that were sent with the next one. */
static int trips, queued;

static enum rc
run_trip(struct db *db, int stmt, const struct db_val *params, size_t np,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{

	trips++;
	queued = 0;
	return (real->run(db, stmt, params, np, each, arg, ret_changed, err));
}

static enum rc
exec_many_trip(struct db *db, int stmt, const struct db_val *params, size_t np,
    size_t nrows, int64_t *ret_changed, struct err *err)
{

	trips++;
	queued = 0;
	return (real->exec_many(db, stmt, params, np, nrows, ret_changed, err));
}

static enum rc
run_many_trip(struct db *db, int stmt, const struct db_set *set, db_row_fn each,
    void *arg, struct err *err)
{

	trips++;
	queued = 0;
	return (real->run_many(db, stmt, set, each, arg, err));
}

static enum rc
pipeline_write_queued(
    struct db *db, int stmt, const struct db_set *set, struct err *err)
{

	queued++;
	return (real->pipeline_write(db, stmt, set, err));
}

static enum rc
pipeline_query_queued(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err)
{

	queued++;
	return (real->pipeline_query(db, stmt, set, each, arg, err));
}

static enum rc
pipeline_flush_trip(struct db *db, struct err *err)
{

	trips += queued > 0 ? 1 : 0;
	queued = 0;
	return (real->pipeline_flush(db, err));
}

/* Returns the number of round trips of the next request, without the commit. */
static int
round_trips(void)
{

	trips = queued = 0;
	real = rig.db->driver;
	counting = *real;
	counting.run = run_trip;
	counting.exec_many = exec_many_trip;
	counting.run_many = run_many_trip;
	counting.pipeline_write = pipeline_write_queued;
	counting.pipeline_query = pipeline_query_queued;
	counting.pipeline_flush = pipeline_flush_trip;
	rig.db->driver = &counting;
	(void)answers();
	rig.db->driver = real;
	return (trips);
}

/* The messages that Ann has sent, one to each person. */
static struct uuid sent[ENVELOPE_ITEMS];

static void
write_all(void)
{
	static struct parcel parcel;
	size_t i;

	for (i = 0; i < ENVELOPE_ITEMS; i++)
		sent[i] = far_send(&rig, ann, froms[i], PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, ENVELOPE_ITEMS);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	buf_fini(&parcel.text);
	memset(&parcel, 0, sizeof(parcel));
}

/* Makes a request of receipts of ${kind} for the messages from ${first} to
 * ${end} - 1. */
static void
fill_receipts(int kind, size_t first, size_t end, int64_t sequence)
{

	for (n = 0; first < end; first++)
		(void)add_receipt(
		    kind, froms[first], ANN, sequence, &sent[first]);
}

/* A request with many receipts costs the same round trips as one with few. */
static void
test_cost_of_receipts(void **state)
{
	int one, all, read;

	(void)state;
	people(0);
	write_all();
	fill_receipts(EVENT_DELIVERED, 0, 1, 1);
	one = round_trips();
	assert_int_equal(unit.items[0].reason, ENVELOPE_NO_REASON);
	fill_receipts(EVENT_DELIVERED, 1, ENVELOPE_ITEMS, 1);
	all = round_trips();
	assert_int_equal(
	    rig_number(&rig, "SELECT acked_total FROM outbox_totals"),
	    ENVELOPE_ITEMS);
	assert_int_equal(count("inbox WHERE kind = 2"), ENVELOPE_ITEMS);
	fill_receipts(EVENT_READ, 0, ENVELOPE_ITEMS, 2);
	read = round_trips();
	assert_int_equal(count("inbox WHERE kind = 3"), ENVELOPE_ITEMS);
	print_message("# round trips: one %d, %d receipts %d, read %d\n", one,
	    ENVELOPE_ITEMS - 1, all, read);
	assert_int_equal(all, one);
	assert_in_range(read, 1, one);
}

/* ---- many requests at once ---- */

/* Locks on each of their names would need three times the room of PostgreSQL's
 * lock table. */
#define REQUESTS 130

static struct posted {
	struct receive_unit unit;
	struct envelope list[ENVELOPE_ITEMS];
	char froms[ENVELOPE_ITEMS][LIMIT_ADDRESS_LEN + 1];
	char nonce[32];
} posted[REQUESTS];

static int nfinished;

static void
finished(struct unit *base)
{

	(void)base;
	nfinished++;
}

/* Runs the writer until ${all} requests are finished.  Another test on the same
 * server may lock a name for a moment. */
static void
finish(int all)
{

	(void)writer_run_once(rig.writer);
	while (nfinished < all) {
		clk_fake_advance(&rig.clk, 1);
		(void)writer_run_once(rig.writer);
	}
}

/* Submits request ${i} of ${envelopes} messages, each from a new person. */
static void
post(int i, size_t envelopes)
{
	struct posted *p = &posted[i];
	size_t k;

	people(1000 + ENVELOPE_ITEMS * (size_t)i);
	memcpy(p->froms, froms, sizeof(froms));
	n = 0;
	for (k = 0; k < envelopes; k++)
		(void)add_message(p->froms[k], k % 2 == 0 ? ANN : BEN, 1);
	memcpy(p->list, list, sizeof(list));
	(void)snprintf(p->nonce, sizeof(p->nonce), "nonce-of-many-%06d", i);
	prepare(p->nonce, false);
	p->unit = unit;
	p->unit.envelopes = p->list;
	p->unit.unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &p->unit.unit), RC_OK);
}

/* The largest number of locks that a transaction had. */
static int64_t locks_most;

/* Counts the names that the transaction has locked which has locked the
 * server's name. */
#define LOCKS                                                                  \
	"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "           \
	"AND classid = 6451064 AND pid = (SELECT pid FROM pg_locks "           \
	"WHERE classid = 6451064 AND granted AND objid::bigint = "             \
	"hashtext('" FAR "')::bigint & 4294967295)"

static enum rc
run_counting(struct db *db, int stmt, const struct db_val *params, size_t np,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{
	int64_t locks;

	if (stmt == SQL_NONCE_INSERT) {
		locks = pg_number(rig.pg, LOCKS);
		locks_most = locks > locks_most ? locks : locks_most;
	}
	return (real->run(db, stmt, params, np, each, arg, ret_changed, err));
}

/* All new people of a server are made under one lock. */
static void
test_names(void **state)
{
	int i;

	(void)state;
	nfinished = 0;
	locks_most = 0;
	for (i = 0; i < 3; i++)
		post(i, ENVELOPE_ITEMS);
	real = rig.db->driver;
	counting = *real;
	counting.run = run_counting;
	rig.db->driver = &counting;
	finish(3);
	rig.db->driver = real;
	assert_int_equal(locks_most, 1);
	assert_int_equal(count("messages"), 3 * ENVELOPE_ITEMS);
}

/* The lock table does not overflow. */
static void
test_many(void **state)
{
	int i;

	(void)state;
	nfinished = 0;
	for (i = 0; i < REQUESTS; i++)
		post(i, ENVELOPE_ITEMS);
	finish(REQUESTS);
	for (i = 0; i < REQUESTS; i++)
		assert_int_equal(posted[i].unit.unit.rc, RC_OK);
	assert_int_equal(writer_stats_get(rig.writer).abandoned, 0);
	assert_int_equal(count("messages"), REQUESTS * ENVELOPE_ITEMS);
	assert_int_equal(
	    rig_number(&rig, "SELECT count(DISTINCT (mid, conversation_id)) "
			     "FROM messages WHERE conversation_seq = 1"),
	    REQUESTS * ENVELOPE_ITEMS);
}

/* Closes the rig without fsck, which needs more than the time-out of a
 * statement for the thousands of people of this test. */
static int
close_many(void **state)
{

	(void)state;
	rig_close(&rig);
	return (0);
}

/* ---- locks of another node ---- */

/* While another node has locked Ann's inbox, a request with a message to Ann
 * waits, and a request in the same batch that does not need the inbox is
 * done. */
static void
test_inbox(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	(void)add_message(BOB, BEN, 1);
	assert_string_equal(answers(), "accepted accepted");
	nfinished = 0;
	pg_exec(rig.pg, "BEGIN");
	pg_exec(rig.pg,
	    "SELECT 1 FROM inboxes WHERE user_id = (SELECT user_id FROM users "
	    "WHERE name = 'ann') FOR UPDATE");
	post(0, 1); /* to Ann */
	n = 0;
	(void)add_message(BOB, BEN, 2);
	prepare("a-nonce-beside-it", false);
	unit.unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &unit.unit), RC_OK);
	(void)writer_run_once(rig.writer);
	assert_int_equal(nfinished, 1);
	assert_int_equal(unit.unit.rc, RC_OK);
	assert_int_equal(unit.items[0].reason, ENVELOPE_NO_REASON);
	assert_int_equal(writer_stats_get(rig.writer).deferred, 1);
	assert_int_equal(writer_stats_get(rig.writer).abandoned, 0);
	pg_exec(rig.pg, "COMMIT");
	finish(2);
	assert_int_equal(posted[0].unit.unit.rc, RC_OK);
	assert_int_equal(count("messages"), 4);
}

/* A message waits for a name that another node has locked.  A later message of
 * the same person to the same recipient, which does not need the lock any more,
 * waits behind it. */
static void
test_order(void **state)
{

	(void)state;
	nfinished = 0;
	pg_exec(
	    rig.pg, "SELECT pg_advisory_lock(6451064, hashtext('" FAR "'))");
	post(0, 1);
	(void)writer_run_once(rig.writer);
	assert_int_equal(nfinished, 0);
	pg_exec(rig.pg,
	    "INSERT INTO users (name, admin, created_at, destination_id) "
	    "SELECT 'p1000@' || name, 0, 1, destination_id "
	    "FROM destinations WHERE name = '" FAR "'");
	pg_exec(rig.pg,
	    "INSERT INTO conversations (public_id, kind, direct_key, "
	    "created_at) VALUES (gen_random_uuid(), 'direct', "
	    "'ann p1000@" FAR "', 1)");
	pg_exec(rig.pg,
	    "INSERT INTO participants (conversation_id, user_id, role) "
	    "SELECT max(conversation_id), user_id, 'member' "
	    "FROM conversations, users WHERE name LIKE 'p1000@%' OR name = "
	    "'ann' GROUP BY user_id");
	n = 0;
	(void)add_message(posted[0].froms[0], ANN, 2);
	prepare("a-nonce-behind-it", false);
	unit.unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &unit.unit), RC_OK);
	(void)writer_run_once(rig.writer);
	assert_int_equal(nfinished, 0);
	assert_int_equal(writer_stats_get(rig.writer).deferred, 2);
	pg_exec(
	    rig.pg, "SELECT pg_advisory_unlock(6451064, hashtext('" FAR "'))");
	finish(2);
	assert_int_equal(posted[0].unit.unit.rc, RC_OK);
	assert_int_equal(unit.unit.rc, RC_OK);
	assert_int_equal(unit.went_back, 0);
	assert_int_equal(count("messages"), 2);
	assert_int_equal(
	    rig_number(&rig, "SELECT max(conversation_seq) FROM messages m "
			     "JOIN federation_lanes l USING (sender_id) "
			     "WHERE l.last_sequence = 2"),
	    2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_cost, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_cost_of_new, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_cost_of_receipts, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_names, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_many, open_rig, close_many),
	    cmocka_unit_test_setup_teardown(
		test_inbox, open_impatient, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_order, open_impatient, close_rig),
	};

	(void)setenv("TWINBOX_TEST_RIG", "postgres", 1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
