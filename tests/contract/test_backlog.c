/* SPDX-License-Identifier: MIT */
/*
 * The backlog's counts of waiting messages.  After an abandoned transaction the
 * counts are restored without a query.  Only if that is impossible, everything
 * is counted again.  Also the refusals that depend on these counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contract/far.h"
#include "model/event.h"
#include "model/outbox.h"
#include "txn/backlog.h"

static const struct backlog_key ann = {1, 7}, bob = {2, 7};

struct bench {
	struct rig rig;
	struct backlog *backlog;
	struct tx tx;
	struct err err;
};

static void
open_bench(struct bench *b)
{

	memset(b, 0, sizeof(*b));
	rig_open(&b->rig);
	b->backlog = backlog_new();
	assert_non_null(b->backlog);
	b->tx.db = b->rig.db;
	assert_int_equal(db_begin(b->rig.db, &b->err), RC_OK);
}

static void
close_bench(struct bench *b)
{

	db_rollback(b->rig.db);
	backlog_free(b->backlog);
	rig_close(&b->rig);
}

/* Begins a transaction.  Returns true if that needed a query. */
static bool
begins_reading(struct bench *b)
{
	uint64_t before = db_statements(b->rig.db);

	assert_int_equal(backlog_begin(b->backlog, &b->tx, &b->err), RC_OK);
	return (db_statements(b->rig.db) != before);
}

static void
waits(struct bench *b, const struct backlog_key *key, int64_t n)
{

	assert_int_equal(backlog_wait(b->backlog, key, n, &b->err), RC_OK);
}

static void
check(const struct bench *b, int64_t anns, int64_t bobs)
{

	assert_int_equal(backlog_of_sender(b->backlog, 1), anns);
	assert_int_equal(backlog_of_sender(b->backlog, 2), bobs);
	assert_int_equal(backlog_of_destination(b->backlog, 7), anns + bobs);
	assert_int_equal(backlog_waiting(b->backlog), anns + bobs);
}

static void
test_taken_back(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_true(begins_reading(&b));
	waits(&b, &ann, 5);
	assert_false(begins_reading(&b)); /* the one before was committed */
	waits(&b, &bob, 3);
	waits(&b, &bob, 1);
	waits(&b, &ann, -2);
	check(&b, 3, 4);
	backlog_abort(b.backlog);
	check(&b, 5, 0);
	assert_false(begins_reading(&b));
	check(&b, 5, 0);
	close_bench(&b);
}

/* The database is empty, so counting again gives zero. */
static void
test_counted_anew(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_true(begins_reading(&b));
	waits(&b, &ann, 5);
	/* The commit failed. */
	assert_int_equal(backlog_flush(b.backlog, &b.tx, &b.err), RC_OK);
	backlog_abort(b.backlog);
	assert_true(begins_reading(&b));
	check(&b, 0, 0);

	/* More changes than the backlog can take back. */
	for (int i = 0; i < 5000; i++)
		waits(&b, i % 2 == 0 ? &ann : &bob, 1);
	backlog_abort(b.backlog);
	assert_true(begins_reading(&b));
	check(&b, 0, 0);
	close_bench(&b);
}

/* ---- limits ---- */

static void
open_limited(struct rig *r, int64_t most)
{
	const struct rig_options options = {.pending_most_total = most};

	rig_open_with(r, &options);
	(void)rig_user(r, "ann", NULL);
	(void)rig_user(r, "bob", NULL);
}

/* Sends to Bob.  The message must be accepted, or be refused at ${pointer}. */
static void
sends(struct rig *r, int64_t from, bool accepted, const char *pointer)
{
	const struct send_unit u = rig_send(r, from, "bob", "hello", NULL);

	assert_int_equal(
	    u.refusal.problem, accepted ? PROBLEM_NONE : PROBLEM_QUEUE_FULL);
	assert_string_equal(u.refusal.pointer, pointer);
}

static void
sends_far(struct rig *r, const char *to, bool accepted, const char *pointer)
{
	const struct refusal u = far_send_try(r, 1, to);

	assert_int_equal(
	    u.problem, accepted ? PROBLEM_NONE : PROBLEM_QUEUE_FULL);
	assert_string_equal(u.pointer, pointer);
}

/* Exactly as many messages may wait as the limit for all senders says, whoever
 * sends them.  Delivered messages and notes to oneself do not wait. */
static void
test_total(void **state)
{
	struct rig r;
	int i;

	(void)state;
	open_limited(&r, 10);
	for (i = 0; i < 7; i++)
		sends(&r, 1 + i % 2, true, "");
	assert_int_equal(rig_deliver(&r), 4);
	for (i = 0; i < 5; i++)
		sends_far(&r, "dan@a.example", true, "");
	for (i = 0; i < 5; i++)
		sends_far(&r, "eve@b.example", true, "");
	sends_far(&r, "fay@c.example", false, "");
	sends(&r, 1, false, "");
	sends(&r, 2, true, ""); /* a note to oneself */
	rig_check_promises(&r);
	rig_close(&r);
}

/* One destination may have four fifths of the limit: a server that is away
 * leaves room for other servers, and so does this one. */
static void
test_share(void **state)
{
	struct rig r;
	int i;

	(void)state;
	open_limited(&r, 10);
	for (i = 0; i < 8; i++)
		sends_far(&r, i % 2 == 0 ? "dan@a.example" : "eve@a.example",
		    true, "");
	sends_far(&r, "dan@a.example", false, "/to");
	sends_far(&r, "eve@a.example", false, "/to");
	sends(&r, 1, true, "");
	sends_far(&r, "dan@b.example", true, "");
	sends(&r, 1, false, "");
	rig_close(&r);
	open_limited(&r, 10);
	for (i = 0; i < 8; i++)
		sends(&r, 1, true, "");
	sends(&r, 1, false, "/to");
	sends_far(&r, "dan@a.example", true, "");
	assert_int_equal(rig_deliver(&r), 8);
	sends(&r, 1, true, "");
	rig_check_promises(&r);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_taken_back),
	    cmocka_unit_test(test_counted_anew),
	    cmocka_unit_test(test_total),
	    cmocka_unit_test(test_share),
	};

	return (cmocka_run_group_tests_name("backlog", tests, NULL, NULL));
}
