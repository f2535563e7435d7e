/* SPDX-License-Identifier: MIT */
/*
 * The cursor of a session: every event is written once and in order, whatever
 * happens to effects, socket, window and pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/push_fixture.h"

/* ---- effects ---- */

static void
test_next_event_is_written(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	arrive(1);
	assert_frames(a, "event=1");
	arrive(1);
	arrive(2);
	assert_frames(a, "event=2");
	assert_int_equal(scene->njobs, 0);
	/* An event that was written is not written again. */
	publish_event(1, 2);
	publish_event(1, 1);
	assert_frames(a, "");
	assert_int_equal(scene->njobs, 0);
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_EVENTS), 2);
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_BEHIND), 0);
}

/* Publishes ${e} to user 1, from "u2" and about CONVERSATION. */
static void
publish(struct effect_event e, const char *to, const char *message)
{
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;

	e.user_id = 1;
	assert_true(
	    uuid_parse(CONVERSATION, strlen(CONVERSATION), &e.conversation));
	e.event_id = e.of = e.conversation;
	e.from = text_new("u2", 2);
	e.to = to != NULL ? text_new(to, strlen(to)) : NULL;
	if (message != NULL)
		e.message = text_new(message, strlen(message));
	e.event_time = 1700000000001;
	e.delivered_at = 1700000000002;
	assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
	push_effects(scene->push, effects);
	turn();
}

#define AT "2023-11-14T22:13:20.00"

/* A complete event that is written without a page. */
static void
test_whole_event(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	publish((struct effect_event){.seq = 1,
		    .kind = EVENT_MESSAGE,
		    .conversation_seq = 7,
		    .attempt = 3},
	    "u1", "\"id\":\"m\"");
	assert_string_equal(a->last, "{\"type\":\"event\","
				     "\"seq\":1,"
				     "\"event_id\":\"" CONVERSATION "\","
				     "\"kind\":\"message\","
				     "\"own\":false,"
				     "\"conversation\":\"" CONVERSATION "\","
				     "\"conversation_seq\":7,"
				     "\"from\":\"u2\","
				     "\"to\":\"u1\","
				     "\"id\":\"m\","
				     "\"event_time\":\"" AT "1Z\","
				     "\"delivered_at\":\"" AT "2Z\","
				     "\"read_at\":null,"
				     "\"attempt\":3}");
	publish((struct effect_event){.seq = 2,
		    .kind = EVENT_MESSAGE,
		    .own = true,
		    .conversation_seq = 8},
	    NULL, "\"id\":\"m\"");
	assert_string_equal(a->last, "{\"type\":\"event\","
				     "\"seq\":2,"
				     "\"event_id\":\"" CONVERSATION "\","
				     "\"kind\":\"message\","
				     "\"own\":true,"
				     "\"conversation\":\"" CONVERSATION "\","
				     "\"conversation_seq\":8,"
				     "\"from\":\"u2\","
				     "\"to\":null,"
				     "\"id\":\"m\","
				     "\"event_time\":\"" AT "1Z\","
				     "\"delivered_at\":\"" AT "2Z\","
				     "\"read_at\":null,"
				     "\"attempt\":0}");
	publish(
	    (struct effect_event){
		.seq = 3, .kind = EVENT_READ, .conversation_seq = 8},
	    "u1", NULL);
	assert_string_equal(a->last, "{\"type\":\"event\","
				     "\"seq\":3,"
				     "\"event_id\":\"" CONVERSATION "\","
				     "\"kind\":\"receipt\","
				     "\"of\":\"" CONVERSATION "\","
				     "\"conversation\":\"" CONVERSATION "\","
				     "\"upto\":8,"
				     "\"by\":\"u2\","
				     "\"state\":\"read\","
				     "\"at\":\"" AT "1Z\"}");
	publish(
	    (struct effect_event){
		.seq = 4, .kind = EVENT_BOUNCE, .reason = REASON_EXPIRED},
	    "u1", NULL);
	assert_string_equal(a->last,
	    "{\"type\":\"event\","
	    "\"seq\":4,"
	    "\"event_id\":\"" CONVERSATION "\","
	    "\"kind\":\"bounce\","
	    "\"of\":\"" CONVERSATION "\","
	    "\"conversation\":\"" CONVERSATION "\","
	    "\"to\":\"u1\","
	    "\"state\":\"expired\","
	    "\"reason\":\"it could not be delivered before it expired\","
	    "\"at\":\"" AT "1Z\"}");
}

/* An event that does not follow the cursor is not written: the session reads a
 * page, which has the missing events, too. */
static void
test_gap_is_read(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	arrive(1);
	scene->inboxes[1].head = 4;
	publish_event(1, 4);
	assert_frames(a, "event=1");
	assert_int_equal(scene->njobs, 1);
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_BEHIND), 1);
	/* A session that is behind writes only what it reads. */
	arrive(1);
	assert_frames(a, "");
	jobs_run();
	assert_frames(a, "event=2 event=3 event=4 event=5");
	arrive(1);
	assert_frames(a, "event=6");
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_BEHIND), 1);
}

/* An event may be published without the text of the message. */
static void
test_bare_event_is_read(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->inboxes[1].head = 1;
	publish_bare_event(1, 1);
	assert_frames(a, "");
	jobs_run();
	assert_frames(a, "event=1");
}

/* ---- the window ---- */

/* The window lets exactly its number of events through, from effects … */
static void
test_window_of_effects(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", ",\"window\":3");
	for (i = 0; i < 5; i++)
		arrive(1);
	jobs_run();
	assert_frames(a, "event=1 event=2 event=3");
	say_ack(a, 1);
	finish_ack(1, RC_OK);
	jobs_run();
	assert_frames(a, "event=4");
	say_ack(a, 4);
	finish_ack(4, RC_OK);
	jobs_run();
	assert_frames(a, "event=5");
	arrive(1);
	arrive(1);
	assert_frames(a, "event=6 event=7");
	arrive(1);
	jobs_run();
	assert_frames(a, "");
}

static void
test_window_of_pages(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1].head = 10;
	scene->acked[1] = 2;
	a = client_hello("u1d1", ",\"window\":4");
	jobs_run();
	assert_frames(a, "welcome event=3 event=4 event=5 event=6");
	/* A failed ack does not open the window. */
	say_ack(a, 3);
	finish_ack(3, RC_BUSY);
	jobs_run();
	assert_frames(a, "error:503");
	say_ack(a, 5);
	finish_ack(5, RC_OK);
	jobs_run();
	assert_frames(a, "event=7 event=8 event=9");
	say_ack(a, 9);
	finish_ack(9, RC_OK);
	jobs_run();
	assert_frames(a, "event=10 caught_up=10");
}

/* A device has one ack watermark.  An ack of another instance opens the window,
 * an ack of another device does not. */
static void
test_window_opened_elsewhere(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", ",\"window\":1,\"instance\":\"a\"");
	b = client_open("u1d2", ",\"window\":1");
	arrive(1);
	arrive(1);
	jobs_run();
	assert_frames(a, "event=1");
	assert_frames(b, "event=1");
	publish_acked(1, 1, 1);
	jobs_run();
	assert_frames(a, "event=2");
	assert_frames(b, "");
	publish_acked(2, 2, 1);
	assert_int_equal(scene->njobs, 0);
	publish_acked(1, 2, 1);
	jobs_run();
	assert_frames(b, "event=2");
	assert_frames(a, "");
}

static void
test_stalled(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", ",\"window\":1");
	arrive(1);
	/* The window is full, but no event waits. */
	pass(2 * times.push_stalled_ms);
	assert_frames(a, "event=1");
	arrive(1);
	pass(times.push_stalled_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "stalled");
	pass(3 * times.push_stalled_ms);
	assert_frames(a, "");
	/* An ack restarts the time. */
	arrive(1);
	publish_acked(1, 1, 1);
	jobs_run();
	assert_frames(a, "event=2");
	pass(times.push_stalled_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "stalled");
}

/* ---- pages ---- */

static void
test_pages(void **state)
{
	char want[4096];
	struct lws *a;
	int i, n;

	(void)state;
	scene->inboxes[1].head = 2 * PAGE_EVENTS + 3;
	a = client_hello("u1d1", "");
	jobs_run();
	n = snprintf(want, sizeof(want), "welcome");
	for (i = 1; i <= 2 * PAGE_EVENTS + 3; i++)
		n += snprintf(
		    want + n, sizeof(want) - (size_t)n, " event=%d", i);
	(void)snprintf(want + n, sizeof(want) - (size_t)n, " caught_up=%d",
	    2 * PAGE_EVENTS + 3);
	assert_frames(a, want);
}

/* A page ends at PAGE_BYTES, before it has PAGE_EVENTS. */
static void
test_long_pages(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1].head = 5;
	scene->body = PAGE_BYTES / 2;
	a = client_hello("u1d1", "");
	job_read();
	turn();
	job_read();
	turn();
	assert_frames(a, "welcome");
	job_read();
	turn();
	assert_frames(a, "event=1 event=2");
	jobs_run();
	assert_frames(a, "event=3 event=4 event=5 caught_up=5");
}

/* A page that has exactly PAGE_BYTES takes no further event. */
static void
test_full_page(void **state)
{
	const struct event_view e = {
	    .kind = EVENT_MESSAGE, .from = "u1", .seq = 1, .message.body = ""};
	struct buf frame = BUF_INIT;
	struct lws *a;

	(void)state;
	wire_event(&frame, &e, NULL, 0, "event");
	assert_true(buf_ok(&frame));
	scene->inboxes[1].head = 3;
	scene->body = PAGE_BYTES / 2 - frame.len;
	buf_fini(&frame);
	a = client_hello("u1d1", "");
	job_read();
	turn();
	job_read();
	turn();
	job_read();
	turn();
	assert_frames(a, "welcome event=1 event=2");
	jobs_run();
	assert_frames(a, "event=3 caught_up=3");
}

/* caught_up is written once, also when there is nothing to read. */
static void
test_caught_up_once(void **state)
{
	struct lws *a;

	(void)state;
	a = client_hello("u1d1", "");
	jobs_run();
	assert_frames(a, "welcome caught_up=0");
	scene->inboxes[1].head = 2;
	publish_event(1, 2);
	jobs_run();
	assert_frames(a, "event=1 event=2");
}

/* An event that commits while a page is under way may be missing on it. */
static void
test_event_while_reading(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->inboxes[1].head = 2;
	publish_event(1, 2);
	job_read();
	arrive(1);
	jobs_run();
	assert_frames(a, "event=1 event=2 event=3");
	/* The effects arrive before the page, whose snapshot is older. */
	scene->inboxes[1].head = 5;
	publish_event(1, 5);
	arrive(1);
	scene->inboxes[1].head = 5;
	job_read();
	scene->inboxes[1].head = 6;
	turn();
	jobs_run();
	assert_frames(a, "event=4 event=5 event=6");
	arrive(1);
	assert_frames(a, "event=7");
}

static void
test_busy_readers(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->readers_rc = RC_BUSY;
	scene->inboxes[1].head = 2;
	publish_event(1, 2);
	scene->readers_rc = RC_OK;
	assert_int_equal(scene->njobs, 0);
	pass(1);
	jobs_run();
	assert_frames(a, "event=1 event=2");
}

static void
test_store_fails(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->store_rc = RC_IO;
	scene->inboxes[1].head = 2;
	publish_event(1, 2);
	jobs_run();
	assert_frames(a, "CLOSE:1011");
	/* A database that is away comes back: the client gets 1013 and tries
	 * again. */
	scene->store_rc = RC_OK;
	a = client_open("u1d1", "");
	scene->store_rc = RC_AWAY;
	scene->inboxes[1].head = 4;
	publish_event(1, 4);
	jobs_run();
	assert_frames(a, "CLOSE:1013");
}

/* ---- effects that were dropped ---- */

static void
test_overflow(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	arrive(1);
	arrive_dropped(1);
	arrive_dropped(1);
	jobs_run();
	assert_frames(a, "event=1 event=2 event=3");
	arrive(1);
	assert_frames(a, "event=4");
}

/* A page that was under way when effects were dropped does not show the end of
 * the inbox. */
static void
test_overflow_while_reading(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->inboxes[1].head = 2;
	publish_event(1, 2);
	assert_int_equal(scene->njobs, 1);
	arrive_dropped(1);
	assert_int_equal(scene->njobs, 1);
	/* The snapshot of the page is older than the commit. */
	scene->inboxes[1].head = 2;
	job_read();
	scene->inboxes[1].head = 3;
	turn();
	assert_frames(a, "event=1 event=2");
	jobs_run();
	assert_frames(a, "event=3");
	arrive(1);
	assert_frames(a, "event=4");
}

/* A session with a full window reads, too: the effects of an ack may be among
 * those that were dropped. */
static void
test_overflow_of_acks(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", ",\"window\":1");
	arrive(1);
	arrive(1);
	jobs_run();
	assert_frames(a, "event=1");
	scene->acked[1] = 1;
	arrive_dropped(1);
	jobs_run();
	assert_frames(a, "event=2");
	/* The window is still full: the session reads one page, not one per
	 * tick. */
	arrive_dropped(1);
	jobs_run();
	pass(1);
	assert_int_equal(scene->njobs, 0);
	assert_frames(a, "");
	publish_acked(1, 1, 3);
	jobs_run();
	assert_frames(a, "event=3 event=4");
}

/* ---- the socket ---- */

static void
test_full_socket_falls_behind(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->full = true;
	arrive(1);
	arrive(1);
	assert_int_equal(scene->njobs, 0);
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "event=1 event=2");
}

/* The socket fills up within a page.  The session reads the rest again when the
 * socket is writable. */
static void
test_full_in_a_page(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->push->batch_bytes = 1; /* each frame is a write */
	scene->inboxes[1].head = 5;
	a->takes = 2;
	publish_event(1, 5);
	jobs_run();
	assert_frames(a, "event=1 event=2");
	pass(2000);
	assert_int_equal(scene->njobs, 0);
	a->takes = 1;
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "event=3");
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "event=4 event=5");
}

static void
test_socket_fails(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	a->fails = true;
	arrive(1);
	assert_frames(a, "END");
	assert_frames(b, "event=1");
	scene->inboxes[1].head = 3;
	publish_event(1, 3);
	b->fails = true;
	jobs_run();
	assert_frames(b, "END");
}

/* A socket may be full again and again: only the time without a break
 * counts. */
static void
test_full_for_a_moment(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", "");
	for (i = 0; i < 5; i++) {
		a->full = true;
		pass(1);
		a->full = false;
		pass(times.push_stuck_ms);
	}
	a->full = true;
	pass(times.push_stuck_ms);
	a->full = false;
	pass(1);
	/* The same while an event waits. */
	for (i = 0; i < 5; i++) {
		a->full = true;
		arrive(1);
		pass(times.push_stuck_ms / 2);
		a->full = false;
		turn();
		jobs_run();
	}
	assert_frames(a, "event=1 event=2 event=3 event=4 event=5");
	assert_true(session_is_open(session_of(a)));
}

static void
test_full_for_long(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->full = true;
	pass(1);
	pass(times.push_stuck_ms - 1);
	assert_true(session_is_open(session_of(a)));
	pass(1);
	assert_int_equal(session_of(a)->state, SESSION_CLOSING);
	assert_int_equal(session_of(a)->close.code, 1013);
	/* The close frame cannot be written either. */
	pass(times.push_close_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "END");
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_next_event_is_written),
	    T(test_whole_event),
	    T(test_gap_is_read),
	    T(test_bare_event_is_read),
	    T(test_window_of_effects),
	    T(test_window_of_pages),
	    T(test_window_opened_elsewhere),
	    T(test_stalled),
	    T(test_pages),
	    T(test_long_pages),
	    T(test_full_page),
	    T(test_caught_up_once),
	    T(test_event_while_reading),
	    T(test_busy_readers),
	    T(test_store_fails),
	    T(test_overflow),
	    T(test_overflow_while_reading),
	    T(test_overflow_of_acks),
	    T(test_full_socket_falls_behind),
	    T(test_full_in_a_page),
	    T(test_socket_fails),
	    T(test_full_for_a_moment),
	    T(test_full_for_long),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
