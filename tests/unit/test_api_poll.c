/* SPDX-License-Identifier: MIT */
/*
 * Long-polls, step by step.  This file plays push, the readers and the http
 * loop, so that the tests cover every order in which these may finish.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rest/poll.h"
#include "rest/rest_internal.h"

/* ---- push, the readers and the http loop ---- */

static struct {
	struct push_waiter *waiter; /* the registered waiter */
	bool canceled;
	struct read_job *job; /* the submitted job */
	void (*wake)(struct http_request *req, void *arg);
	void *wake_arg;
	enum rc wait_rc, submit_rc;
	bool found;       /* query() finds events */
	enum rc query_rc; /* the failure of query() */
	bool revoked;     /* the token is */
	int queries, answers, failures, waits, refusals;
} world;

static struct rest rest;
static struct poll poll;

enum rc
push_wait(struct push *p, struct push_waiter *w)
{

	(void)p;
	assert_null(world.waiter);
	if (world.wait_rc == RC_OK) {
		world.waiter = w;
		world.canceled = false;
		world.waits++;
	}
	return (world.wait_rc);
}

void
push_wait_cancel(struct push *p, struct push_waiter *w)
{

	(void)p;
	assert_ptr_equal(world.waiter, w);
	assert_false(world.canceled);
	world.canceled = true;
}

enum rc
readers_submit(struct readers *readers, struct read_job *job)
{

	(void)readers;
	assert_null(world.job);
	if (world.submit_rc == RC_OK)
		world.job = job;
	return (world.submit_rc);
}

void
http_set_timer(struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg)
{

	(void)req;
	assert_int_equal(20000, at_ms);
	world.wake = wake;
	world.wake_arg = arg;
}

void
call_fail(struct call *call, const struct err *err)
{

	(void)call;
	assert_int_not_equal(RC_OK, err->rc);
	world.failures++;
}

enum rc
rest_still_admitted(struct call *call, struct db *db, struct err *err)
{

	(void)call;
	(void)err;
	assert_non_null(db);
	return (world.revoked ? RC_NOT_FOUND : RC_OK);
}

void
caller_refuse_stranger(struct call *call)
{

	(void)call;
	world.refusals++;
}

static enum rc
query(struct poll *p, struct db *db, bool *ret_found, struct err *err)
{

	(void)p;
	assert_non_null(db);
	world.queries++;
	*ret_found = world.found;
	if (world.query_rc != RC_OK)
		return (err_set(err, world.query_rc, "query"));
	return (RC_OK);
}

static void
answer(struct poll *p)
{

	(void)p;
	world.answers++;
}

/* ---- steps ---- */

static void
begin(int64_t wait_s)
{
	static const struct principal principal = {
	    .user_id = 3, .device_id = 7};
	static struct clk_fake clk;

	memset(&world, 0, sizeof(world));
	memset(&poll, 0, sizeof(poll));
	memset(&rest, 0, sizeof(rest));
	clk_fake_init(&clk, 0);
	rest.o.clk = &clk.clk;
	lock_init(&rest.poll_lock, LOCK_POLL);
	poll.call.rest = &rest;
	poll.call.principal = &principal;
	poll.query = query;
	poll.answer = answer;
	poll_start(&poll, wait_s * 1000);
}

/* A reader runs the job. */
static void
read_now(bool found)
{
	struct read_job *job = world.job;
	struct err err = ERR_INIT;
	static char db;

	assert_non_null(job);
	world.job = NULL;
	world.found = found;
	job->run(job, (struct db *)(void *)&db, &err);
}

/* Push returns the waiter. */
static void
give_back(bool woken)
{
	struct push_waiter *w = world.waiter;

	assert_non_null(w);
	world.waiter = NULL;
	w->done(w, woken);
}

static void
time_up(void)
{

	world.wake(NULL, world.wake_arg);
}

/* There was one answer, and no thread holds a part of the request any more. */
static void
assert_over(void)
{

	assert_int_equal(1, world.answers + world.failures + world.refusals);
	assert_null(world.waiter);
	assert_null(world.job);
}

static void
assert_waiting(void)
{

	assert_int_equal(0, world.answers + world.failures);
	assert_non_null(world.waiter);
	assert_null(world.job);
}

/* ---- tests ---- */

static void
test_without_wait(void **state)
{

	(void)state;
	begin(0);
	assert_null(world.waiter);
	assert_null(world.wake);
	read_now(false);
	assert_over();
	assert_int_equal(1, world.answers);
}

static void
test_something_at_once(void **state)
{

	(void)state;
	begin(20);
	assert_non_null(world.waiter);
	read_now(true);
	/* The waiter is a part of the request, so push must return it first. */
	assert_int_equal(0, world.answers);
	assert_true(world.canceled);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.queries);
}

static void
test_something_at_once_and_woken(void **state)
{

	(void)state;
	begin(20);
	read_now(true);
	give_back(true);
	assert_over();
	assert_int_equal(1, world.queries);
}

static void
test_woken_while_waiting(void **state)
{

	(void)state;
	begin(20);
	read_now(false);
	assert_waiting();
	give_back(true);
	/* It registers again before it reads again, so that no event is missed
	 * between. */
	assert_non_null(world.waiter);
	read_now(true);
	give_back(false);
	assert_over();
	assert_int_equal(2, world.waits);
}

/* The read may have missed the event of the wake-up, so there is another
 * read. */
static void
test_woken_while_reading(void **state)
{

	(void)state;
	begin(20);
	give_back(true);
	assert_int_equal(0, world.answers);
	read_now(false);
	assert_non_null(world.job);
	assert_non_null(world.waiter);
	read_now(true);
	give_back(true);
	assert_over();
	assert_int_equal(2, world.queries);
}

static void
test_woken_for_nothing(void **state)
{
	int i;

	(void)state;
	begin(20);
	read_now(false);
	for (i = 0; i < 5; i++) {
		give_back(true);
		read_now(false);
		assert_waiting();
	}
	give_back(false);
	read_now(false);
	assert_over();
}

static void
test_time_is_up(void **state)
{

	(void)state;
	begin(20);
	read_now(false);
	assert_waiting();
	time_up();
	assert_true(world.canceled);
	give_back(false);
	/* One last query follows, and its result is the answer. */
	assert_null(world.waiter);
	read_now(false);
	assert_over();
	assert_int_equal(2, world.queries);
}

/* The time is up twice, but the waiter is canceled once. */
static void
test_time_is_up_twice(void **state)
{

	(void)state;
	begin(20);
	read_now(false);
	time_up();
	time_up();
	give_back(true);
	assert_null(world.waiter);
	read_now(false);
	assert_over();
}

static void
test_time_is_up_while_reading(void **state)
{

	(void)state;
	begin(20);
	time_up();
	assert_true(world.canceled);
	read_now(false);
	assert_int_equal(0, world.answers);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.queries);

	/* The same in the reverse order. */
	begin(20);
	time_up();
	give_back(false);
	assert_int_equal(0, world.answers);
	read_now(false);
	assert_over();
	assert_int_equal(1, world.queries);
}

static void
test_time_is_up_while_ready(void **state)
{

	(void)state;
	begin(20);
	read_now(true);
	time_up();
	give_back(false);
	assert_over();
}

static void
test_draining(void **state)
{

	(void)state;
	begin(20);
	read_now(false);
	give_back(false);
	read_now(false);
	assert_over();

	/* Push accepts no waiters any more. */
	memset(&world, 0, sizeof(world));
	begin(20);
	read_now(false);
	world.wait_rc = RC_CLOSED;
	give_back(true);
	assert_null(world.waiter);
	read_now(false);
	assert_over();
}

static void
test_errors(void **state)
{

	(void)state;
	begin(20);
	world.query_rc = RC_IO;
	read_now(false);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.failures);

	/* The readers' queue is full at the second read. */
	begin(20);
	read_now(false);
	world.submit_rc = RC_BUSY;
	give_back(true);
	assert_true(world.canceled);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.failures);
}

/* The token is revoked during the wait: the wake-up leads to a refusal, without
 * another query. */
static void
test_revoked_while_waiting(void **state)
{

	(void)state;
	begin(20);
	assert_int_equal(7, world.waiter->device_id);
	read_now(false);
	assert_waiting();
	world.revoked = true;
	give_back(true);
	read_now(true);
	assert_non_null(world.waiter);
	assert_true(world.canceled);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.refusals);
	assert_int_equal(1, world.queries);
}

/* The token is revoked before the waiter was registered, or just as the time is
 * up. */
static void
test_revoked_at_the_edges(void **state)
{

	(void)state;
	begin(20);
	world.revoked = true;
	read_now(true);
	give_back(false);
	assert_over();
	assert_int_equal(1, world.refusals);
	begin(20);
	read_now(false);
	world.revoked = true;
	time_up();
	give_back(false);
	read_now(true);
	assert_over();
	assert_int_equal(1, world.refusals);
	assert_int_equal(1, world.queries);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_without_wait),
	    cmocka_unit_test(test_something_at_once),
	    cmocka_unit_test(test_something_at_once_and_woken),
	    cmocka_unit_test(test_woken_while_waiting),
	    cmocka_unit_test(test_woken_while_reading),
	    cmocka_unit_test(test_woken_for_nothing),
	    cmocka_unit_test(test_time_is_up),
	    cmocka_unit_test(test_time_is_up_twice),
	    cmocka_unit_test(test_time_is_up_while_reading),
	    cmocka_unit_test(test_time_is_up_while_ready),
	    cmocka_unit_test(test_draining),
	    cmocka_unit_test(test_errors),
	    cmocka_unit_test(test_revoked_while_waiting),
	    cmocka_unit_test(test_revoked_at_the_edges),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
