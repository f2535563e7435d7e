/* SPDX-License-Identifier: MIT */
/*
 * Streams, from one piece to the next.  This file plays push, the readers and
 * http, so that a client leaves, a token is revoked, memory is short or the
 * server stops at each moment at which it can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/htab.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rest/rest_internal.h"
#include "rest/stream.h"

#define STREAMS (LIMIT_STREAMS_PER_DEVICE + 2)

/* ---- push, the readers and http ---- */

struct http_request {
	struct principal who;
	void (*fini)(void *arg);
	void *fini_arg;
};

static struct {
	struct push_waiter *waiter; /* the registered waiter */
	bool canceled;
	struct read_job *job; /* the submitted job */
	void (*wake)(struct http_request *req, void *arg);
	void *wake_arg;
	int64_t wake_ms;
	http_more_fn more;
	void *more_arg;
	enum rc wait_rc, submit_rc, on_free_rc;
	enum rc query_rc;
	bool found;   /* query() finds events */
	bool revoked; /* the token is */
	int admitted; /* checks of the token */
	int queries, answers, refusals, failures, logged;
	int ends[STREAM_FAILED + 1]; /* ends of streams, by reason */
	int pieces[3];               /* pieces, by kind */
	enum problem problem;
	int retry_after_s;
} world;

static struct rest rest;
static struct clk_fake clk;
static struct http_request requests[STREAMS];
static struct stream streams[STREAMS];

enum rc
push_wait(struct push *p, struct push_waiter *w)
{

	(void)p;
	assert_null(world.waiter);
	/* The waiter is registered before the read. */
	assert_null(world.job);
	if (world.wait_rc == RC_OK) {
		world.waiter = w;
		world.canceled = false;
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
	world.wake = wake;
	world.wake_arg = arg;
	world.wake_ms = at_ms;
}

enum rc
http_on_free(struct http_request *req, void (*fini)(void *arg), void *arg)
{

	assert_null(req->fini);
	if (world.on_free_rc == RC_OK) {
		req->fini = fini;
		req->fini_arg = arg;
	}
	return (world.on_free_rc);
}

void
http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first, http_more_fn more, void *arg)
{

	(void)req;
	assert_null(world.more);
	assert_string_equal(content_type, "text/event-stream");
	buf_fini(first);
	world.more = more;
	world.more_arg = arg;
}

void
http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece)
{

	(void)req;
	assert_non_null(world.more);
	buf_fini(piece);
	world.pieces[kind]++;
}

void
rest_leave(struct rest *r)
{

	atomic_fetch_sub(&r->busy, 1);
}

void
call_refuse(struct call *call, const struct refusal *r)
{

	world.problem = r->problem;
	world.retry_after_s = r->retry_after_s;
	world.refusals++;
	rest_leave(call->rest);
}

void
caller_refuse_stranger(struct call *call)
{

	world.refusals++;
	rest_leave(call->rest);
}

void
call_fail(struct call *call, const struct err *err)
{

	assert_int_not_equal(RC_OK, err->rc);
	world.failures++;
	rest_leave(call->rest);
}

void
call_log_failed(const struct call *call, const struct err *err)
{

	(void)call;
	assert_int_not_equal(RC_OK, err->rc);
	world.logged++;
}

enum rc
rest_still_admitted(struct call *call, struct db *db, struct err *err)
{

	(void)call;
	(void)err;
	assert_non_null(db);
	world.admitted++;
	return (world.revoked ? RC_NOT_FOUND : RC_OK);
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

/* Answers as the inbox does: the last piece, once push drains. */
static void
answer(struct poll *p)
{
	struct buf b = BUF_INIT;

	world.answers++;
	buf_adds(&b, "x");
	stream_piece(CONTAINER_OF(p, struct stream, poll),
	    p->drained ? HTTP_PIECE_LAST : HTTP_PIECE_MORE, &b);
}

static void
end(struct stream *s, enum stream_end why)
{
	struct buf b = BUF_INIT;

	world.ends[why]++;
	buf_adds(&b, "x");
	stream_piece(s, HTTP_PIECE_LAST, &b);
}

static int
setup(void **state)
{
	size_t i;

	(void)state;
	memset(&world, 0, sizeof(world));
	memset(&rest, 0, sizeof(rest));
	memset(requests, 0, sizeof(requests));
	memset(streams, 0, sizeof(streams));
	clk_fake_init(&clk, 0);
	rest.o.clk = &clk.clk;
	rest.o.timing = timing_real();
	lock_init(&rest.poll_lock, LOCK_POLL);
	rest.streams = htab_new(sizeof(int64_t));
	assert_non_null(rest.streams);
	for (i = 0; i < STREAMS; i++) {
		requests[i].who =
		    (struct principal){.user_id = 3, .device_id = 7};
		streams[i].poll.call.rest = &rest;
		streams[i].poll.call.req = &requests[i];
		streams[i].poll.call.principal = &requests[i].who;
		streams[i].poll.query = query;
		streams[i].poll.answer = answer;
		streams[i].end = end;
	}
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	assert_int_equal(0, atomic_load(&rest.busy));
	assert_null(world.waiter);
	assert_null(world.job);
	htab_free(rest.streams);
	lock_fini(&rest.poll_lock);
	return (0);
}

/* ---- steps ---- */

/* A request arrives. */
static bool
admit(size_t i)
{

	atomic_fetch_add(&rest.busy, 1);
	return (stream_admit(&streams[i]));
}

/* A request is freed. */
static void
request_end(size_t i)
{

	if (requests[i].fini != NULL)
		requests[i].fini(requests[i].fini_arg);
	requests[i].fini = NULL;
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

/* HTTP has sent the last piece and wants the next one. */
static void
want_more(void)
{

	world.more(&requests[0], world.more_arg);
}

/* Starts a stream, sends its first piece, and lets it wait for events. */
static void
begin(void)
{

	assert_true(admit(0));
	stream_start(&streams[0]);
	assert_null(world.waiter);
	read_now(false);
	assert_non_null(world.more);
	assert_int_equal(0, atomic_load(&rest.busy));
	want_more();
	assert_int_equal(1, atomic_load(&rest.busy));
	read_now(false);
	assert_non_null(world.waiter);
	assert_int_equal(1, world.answers);
}

/* The stream has ended once, for the reason ${why}. */
static void
assert_ended(enum stream_end why)
{

	assert_int_equal(1, world.ends[why]);
	assert_int_equal(1, world.pieces[HTTP_PIECE_LAST]);
	assert_int_equal(0, world.refusals + world.failures);
	request_end(0);
}

/* ---- tests ---- */

static void
test_wanted(void **state)
{
	static const struct {
		const char *accept;
		bool wanted;
	} table[] = {{NULL, false}, {"", false}, {"*/*", false},
	    {"text/*", false}, {"text/event-stream", true},
	    {"TEXT/Event-Stream", true}, {"text/event-stream;q=0", false},
	    {"text/event-stream; q=0.000", false},
	    {"text/event-stream;q=0.1", true},
	    {"text/event-stream; charset=utf-8; Q=1", true},
	    {"application/json, text/event-stream", true},
	    {"application/json;q=0,text/event-stream", true},
	    {"text/event-stream;q=0, */*", false},
	    {"text/event-streams", false}, {"xtext/event-stream", false},
	    {"a/b;c=text/event-stream", false}, {" ,\t,", false}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (stream_is_wanted(table[i].accept) != table[i].wanted)
			fail_msg("\"%s\"", table[i].accept);
}

static void
test_limit(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LIMIT_STREAMS_PER_DEVICE; i++) {
		assert_true(admit(i));
		rest_leave(&rest);
	}
	assert_false(admit(i));
	assert_int_equal(world.problem, PROBLEM_RATE_LIMITED);
	assert_true(world.retry_after_s > 0);
	/* A refused stream takes no place, and gives none back at its end. */
	request_end(i);
	assert_false(admit(i));
	assert_int_equal(2, world.refusals);
	/* Another device has its own places. */
	requests[i].who.device_id = 8;
	assert_true(admit(i));
	rest_leave(&rest);
	/* A place is free as soon as its request has ended. */
	request_end(0);
	assert_true(admit(0));
	rest_leave(&rest);
	for (i = 0; i < STREAMS; i++)
		request_end(i);
	/* The table has no entries for devices without a stream. */
	assert_int_equal(0, htab_count(rest.streams));
}

static void
test_limit_without_memory(void **state)
{

	(void)state;
	mem_fail_at(1);
	assert_false(admit(0));
	mem_fail_at(0);
	assert_int_equal(world.problem, PROBLEM_BUSY);
	world.on_free_rc = RC_NO_MEMORY;
	assert_false(admit(0));
	assert_int_equal(world.problem, PROBLEM_BUSY);
	assert_int_equal(0, htab_count(rest.streams));
}

/* A stream goes on without end, and registers its waiter before each read. */
static void
test_events(void **state)
{
	int i;

	(void)state;
	begin();
	for (i = 0; i < 20; i++) {
		assert_int_equal(7, world.waiter->device_id);
		assert_int_equal(25000, world.wake_ms);
		give_back(true);
		assert_non_null(world.waiter);
		read_now(true);
		assert_true(world.canceled);
		give_back(false);
		assert_int_equal(i + 2, world.answers);
		assert_int_equal(i + 1, world.pieces[HTTP_PIECE_MORE]);
		assert_int_equal(0, atomic_load(&rest.busy));
		want_more();
		read_now(false);
	}
	/* The token is checked in each round, but not for the first read. */
	assert_int_equal(41, world.admitted);
	give_back(false);
	read_now(false);
	assert_int_equal(1, world.pieces[HTTP_PIECE_LAST]);
	request_end(0);
}

/* The time is up, or the client has gone: the answer to the wake-up decides
 * whether the stream goes on. */
static void
test_woken_by_http(void **state)
{

	(void)state;
	begin();
	world.wake(NULL, world.wake_arg);
	assert_true(world.canceled);
	give_back(false);
	assert_false(streams[0].poll.drained);
	read_now(false);
	assert_int_equal(2, world.answers);
	assert_int_equal(1, world.pieces[HTTP_PIECE_MORE]);
	/* This wake-up comes too late: the piece has been sent. */
	world.wake(NULL, world.wake_arg);
	assert_int_equal(2, world.answers);
	request_end(0);
}

/* Until its head is sent, a stream is refused as any other request is. */
static void
test_first_fails(void **state)
{

	(void)state;
	assert_true(admit(0));
	stream_start(&streams[0]);
	world.query_rc = RC_IO;
	read_now(false);
	assert_int_equal(1, world.failures);
	assert_null(world.more);
	request_end(0);
	assert_true(admit(0));
	world.submit_rc = RC_BUSY;
	stream_start(&streams[0]);
	assert_int_equal(2, world.failures);
	request_end(0);
}

static void
test_revoked(void **state)
{

	(void)state;
	begin();
	world.revoked = true;
	give_back(true);
	read_now(true);
	give_back(false);
	/* The inbox is not read for a token that is revoked. */
	assert_int_equal(2, world.queries);
	assert_int_equal(0, world.logged);
	assert_ended(STREAM_REVOKED);
}

static void
test_fails(void **state)
{

	(void)state;
	begin();
	world.query_rc = RC_IO;
	give_back(true);
	read_now(false);
	give_back(false);
	assert_int_equal(1, world.logged);
	assert_ended(STREAM_FAILED);
}

/* The database goes away during a stream.  There is no line for the stream:
 * another log line reports the outage. */
static void
test_away(void **state)
{

	(void)state;
	begin();
	world.query_rc = RC_AWAY;
	give_back(true);
	read_now(false);
	give_back(false);
	assert_int_equal(0, world.logged);
	assert_ended(STREAM_AWAY);
}

/* The readers' queue is full during a stream. */
static void
test_busy(void **state)
{

	(void)state;
	begin();
	world.submit_rc = RC_BUSY;
	give_back(true);
	give_back(false);
	assert_int_equal(0, world.logged);
	assert_ended(STREAM_BUSY);
}

static void
assert_drained(void)
{

	assert_int_equal(0, world.pieces[HTTP_PIECE_LAST]);
	read_now(false);
	assert_true(streams[0].poll.drained);
	assert_int_equal(1, world.pieces[HTTP_PIECE_LAST]);
	request_end(0);
}

static void
test_drains_while_waiting(void **state)
{

	(void)state;
	begin();
	give_back(false);
	assert_drained();
}

static void
test_drains_while_reading(void **state)
{

	(void)state;
	begin();
	give_back(true);
	give_back(false);
	assert_drained();
}

static void
test_drains_before_registering(void **state)
{

	(void)state;
	begin();
	give_back(true);
	read_now(true);
	give_back(false);
	world.wait_rc = RC_CLOSED;
	want_more();
	assert_null(world.waiter);
	assert_drained();
}

/* A stream does not call push or the readers once the kit has stopped. */
static void
test_stopped(void **state)
{

	(void)state;
	begin();
	give_back(true);
	read_now(true);
	give_back(false);
	atomic_store(&rest.stopped, true);
	want_more();
	assert_null(world.waiter);
	assert_null(world.job);
	assert_ended(STREAM_STOPPING);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_wanted),
	    T(test_limit),
	    T(test_limit_without_memory),
	    T(test_events),
	    T(test_woken_by_http),
	    T(test_first_fails),
	    T(test_revoked),
	    T(test_fails),
	    T(test_away),
	    T(test_busy),
	    T(test_drains_while_waiting),
	    T(test_drains_while_reading),
	    T(test_drains_before_registering),
	    T(test_stopped),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
