/* SPDX-License-Identifier: MIT */
/*
 * Usage: what users have sent today.  This file plays the readers and the
 * store: the edges of the quota, reads that are late, fail or return another
 * day, and messages that were not accepted after all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chat/send_gate.h"
#include "store/message.h"

#define DAY_MS INT64_C(86400000)
#define NOON (19000 * DAY_MS + DAY_MS / 2)

static struct clk_fake clk;
static atomic_size_t under_way;
static struct read_job *jobs[8];
static int njobs;
static enum rc submit_rc, store_rc;
static struct store_sizes stored;
static struct store_sizes_query asked;

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	if (submit_rc == RC_OK)
		jobs[njobs++] = job;
	return (submit_rc);
}

enum rc
store_sizes_get(struct db *db, const struct store_sizes_query *query,
    struct store_sizes *ret, struct err *err)
{

	assert_non_null(db);
	asked = *query;
	*ret = stored;
	return (store_rc == RC_OK ? RC_OK : err_set(err, store_rc, "no"));
}

/* The reader runs the jobs that wait, with a store or without. */
static void
read_all(bool store)
{
	static char nothing;
	struct err err = ERR_INIT;
	int i, n = njobs;

	njobs = 0;
	if (!store)
		(void)err_set(&err, RC_BUSY, "no store");
	for (i = 0; i < n; i++)
		jobs[i]->run(jobs[i],
		    store ? (struct db *)(void *)&nothing : NULL, &err);
}

static struct usage *
begin(int64_t messages, int64_t bytes, bool shared)
{
	const struct usage_options options = {.clk = &clk.clk,
	    .shared = shared,
	    .messages_most = messages,
	    .bytes_most = bytes,
	    .under_way = &under_way};
	struct usage *u;

	clk_fake_init(&clk, NOON);
	submit_rc = store_rc = RC_OK;
	stored = (struct store_sizes){0, 0};
	njobs = 0;
	u = usage_new(&options);
	assert_non_null(u);
	return (u);
}

static bool
take(struct usage *u, int64_t user, int64_t messages, int64_t bytes)
{
	const struct usage_amount amount = {messages, bytes};
	int wait_s = -1;
	bool ok = usage_take(u, user, &amount, &wait_s);

	if (!ok)
		assert_int_equal(wait_s,
		    (DAY_MS - clk_wall_ms(&clk.clk) % DAY_MS + 999) / 1000);
	else
		assert_int_equal(wait_s, -1);
	return (ok);
}

static void
end(struct usage *u)
{

	read_all(true);
	assert_int_equal(atomic_load(&under_way), 0);
	usage_free(u);
}

static void
test_quota(void **state)
{
	struct usage *u = begin(3, 100, false);

	(void)state;
	assert_true(take(u, 1, 2, 99));
	assert_false(take(u, 1, 1, 2));
	assert_false(take(u, 1, 2, 1));
	assert_true(take(u, 1, 1, 1));
	assert_false(take(u, 1, 1, 0));
	/* Another user has a quota of their own. */
	assert_true(take(u, 2, 3, 100));
	/* The quota is new on the next day, to the millisecond. */
	clk_fake_advance(&clk, DAY_MS / 2 - 1);
	assert_false(take(u, 1, 1, 0));
	clk_fake_advance(&clk, 1);
	assert_true(take(u, 1, 3, 100));
	end(u);
	usage_free(NULL);
}

static void
test_no_quota(void **state)
{
	struct usage *u = begin(0, 0, false);

	(void)state;
	assert_true(take(u, 1, 1000000, INT64_C(1) << 50));
	assert_int_equal(njobs, 0);
	end(u);
	u = begin(0, 10, false);
	assert_true(take(u, 1, 1000000, 10));
	assert_false(take(u, 1, 1, 1));
	end(u);
	u = begin(5, 0, false);
	assert_true(take(u, 1, 5, INT64_C(1) << 50));
	assert_false(take(u, 1, 1, 0));
	end(u);
}

/* Today's rows of the database count, together with the messages since the
 * read. */
static void
test_reading(void **state)
{
	struct usage *u = begin(10, 1000, false);

	(void)state;
	assert_true(take(u, 7, 1, 10));
	assert_int_equal(njobs, 1);
	assert_int_equal(atomic_load(&under_way), 1);
	assert_true(take(u, 7, 1, 10));
	assert_int_equal(njobs, 1);
	stored = (struct store_sizes){7, 500};
	read_all(true);
	assert_int_equal(atomic_load(&under_way), 0);
	assert_int_equal(asked.sender_id, 7);
	assert_int_equal(asked.from_ms, NOON - DAY_MS / 2);
	/* The read ends where the first message begins, which is created
	 * later. */
	assert_int_equal(asked.before_ms, NOON);
	/* 7 from the database, and 2 since then. */
	assert_false(take(u, 7, 2, 0));
	assert_true(take(u, 7, 1, 480));
	assert_false(take(u, 7, 0, 1));
	/* If this is the only node, there is one read a day. */
	clk_fake_advance(&clk, DAY_MS / 2 - 1);
	(void)take(u, 7, 1, 1);
	assert_int_equal(njobs, 0);
	clk_fake_advance(&clk, 1);
	assert_true(take(u, 7, 1, 1));
	assert_int_equal(njobs, 1);
	end(u);
}

/* With other nodes, there is a read each minute. */
static void
test_shared(void **state)
{
	struct usage *u = begin(10, 0, true);

	(void)state;
	assert_true(take(u, 7, 1, 0));
	stored.messages = 1;
	read_all(true);
	clk_fake_advance(&clk, 59999);
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(njobs, 0);
	clk_fake_advance(&clk, 1);
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(njobs, 1);
	stored.messages = 9;
	read_all(true);
	assert_false(take(u, 7, 1, 0));
	end(u);
}

/* A read that fails, or cannot be submitted, is repeated with the next message.
 * The result of a read from yesterday is ignored. */
static void
test_reading_fails(void **state)
{
	struct usage *u = begin(10, 0, false);

	(void)state;
	submit_rc = RC_BUSY;
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(atomic_load(&under_way), 0);
	submit_rc = RC_OK;
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(njobs, 1);
	read_all(false);
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(njobs, 1);
	store_rc = RC_IO;
	read_all(true);
	store_rc = RC_OK;
	assert_true(take(u, 7, 1, 0));
	assert_int_equal(njobs, 1);
	clk_fake_advance(&clk, DAY_MS);
	assert_true(take(u, 7, 1, 0));
	stored.messages = 10;
	read_all(true);
	assert_true(take(u, 7, 8, 0));
	end(u);
}

static void
test_return(void **state)
{
	const struct usage_amount one = {1, 10}, many = {100, 100};
	struct usage *u = begin(2, 100, false);

	(void)state;
	usage_return(u, 7, &one); /* a user who has sent nothing */
	assert_true(take(u, 7, 2, 20));
	usage_return(u, 7, &one);
	stored = (struct store_sizes){0, 0};
	read_all(true);
	assert_true(take(u, 7, 1, 10));
	assert_false(take(u, 7, 1, 10));
	usage_return(u, 7, &many);
	assert_true(take(u, 7, 2, 100));
	assert_false(take(u, 7, 0, 1));
	end(u);
}

/* Without memory for the usage a message is not refused. */
static void
test_no_memory(void **state)
{
	const struct usage_options options = {
	    .clk = &clk.clk, .under_way = &under_way};
	struct usage *u = NULL;
	int64_t k;

	(void)state;
	for (k = 1; u == NULL; k++) {
		mem_fail_at(k);
		u = usage_new(&options);
	}
	mem_fail_at(0);
	assert_true(k > 2);
	usage_free(u);
	u = begin(1, 0, false);
	for (k = 1; k < 5; k++) {
		mem_fail_at(k);
		assert_true(take(u, k, 1, 0));
	}
	mem_fail_at(0);
	end(u);
}

/* ---- the send gate ---- */

static enum problem
admit(struct send_gate *gate)
{
	const struct usage_amount one = {1, 10};
	struct refusal r = REFUSAL_INIT;
	const bool ok = send_gate_take(gate, 7, &one, &r);

	assert_true(ok == (r.problem == PROBLEM_NONE));
	return (r.problem);
}

/* A nearly full disk refuses messages, and they do not count in the quota. */
static void
test_admission(void **state)
{
	static atomic_bool disk_low;
	struct send_gate_options o = {.clk = &clk.clk,
	    .rnd = rnd_system(),
	    .quota_messages = 2,
	    .disk_low = &disk_low};
	struct send_gate *gate;
	struct err err = ERR_INIT;

	(void)state;
	clk_fake_init(&clk, NOON);
	o.metrics = metrics_new();
	assert_non_null(o.metrics);
	assert_int_equal(send_gate_new(&o, &gate, &err), RC_OK);
	submit_rc = RC_BUSY; /* the store is not queried */
	assert_int_equal(admit(gate), PROBLEM_NONE);
	atomic_store(&disk_low, true);
	assert_int_equal(admit(gate), PROBLEM_STORAGE_FULL);
	assert_int_equal(admit(gate), PROBLEM_STORAGE_FULL);
	assert_int_equal(metrics_get(o.metrics, METRIC_SENDS_NO_ROOM), 2);
	atomic_store(&disk_low, false);
	assert_int_equal(admit(gate), PROBLEM_NONE);
	assert_int_equal(admit(gate), PROBLEM_QUOTA_USED);
	assert_int_equal(metrics_get(o.metrics, METRIC_SENDS_OVER_QUOTA), 1);
	assert_int_equal(send_gate_busy(gate), 0);
	submit_rc = RC_OK;
	send_gate_free(gate);
	metrics_free(o.metrics);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_quota),
	    cmocka_unit_test(test_no_quota),
	    cmocka_unit_test(test_reading),
	    cmocka_unit_test(test_shared),
	    cmocka_unit_test(test_reading_fails),
	    cmocka_unit_test(test_return),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_admission),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
