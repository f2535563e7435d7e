/* SPDX-License-Identifier: MIT */
/*
 * The beginning and the end of a session: hello and its deadline, the first
 * cursor, instances of a device, close frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/owner.h"
#include "unit/logged.h"
#include "unit/push_fixture.h"
#include "wire/wire.h"

#define CURSOR(text) ",\"after\":\"" text "\""
#define INSTANCE(text) ",\"instance\":\"" text "\""

/* ---- hello ---- */

static void
test_hello_deadline(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_connect();
	b = client_connect();
	pass(times.push_hello_ms - 1);
	assert_frames(a, "");
	say(b, "{\"type\":\"hello\",\"token\":\"u1d1\"}");
	pass(1);
	assert_frames(a, "CLOSE:4408");
	/* The deadline ends with hello: the store may take longer. */
	pass(times.push_hello_ms);
	assert_frames(b, "");
	jobs_run();
	assert_frames(b, "welcome caught_up=0");
}

/* A read waits in the queue of its network until the user is known, then in the
 * queue of the user. */
static void
test_lines_of_reads(void **state)
{

	(void)state;
	scene->inboxes[1].head = 9;
	(void)client_hello("u1d1", "");
	assert_int_equal(scene->njobs, 1);
	assert_true(scene->jobs[0]->owner == owner_peer("192.0.2.1"));
	do {
		job_read();
		turn();
		assert_int_equal(scene->njobs, 1);
	} while (!session_is_open(session_of(library_newest())));
	assert_true(scene->jobs[0]->owner == owner_user(1));
	jobs_run();
}

/* The library has no memory for its part of a connection: this connection ends,
 * and the next one is served. */
static void
test_no_slot(void **state)
{
	struct lws *a;

	(void)state;
	library_starve(true);
	a = client_connect();
	turn();
	library_starve(false);
	assert_true(a->ended);
	assert_int_equal(push_sessions(scene->push), 0);
	a = client_open("u1d1", "");
	assert_frames(a, "");
}

static void
test_hello_comes_first_and_once(void **state)
{
	struct lws *a;

	(void)state;
	a = client_connect();
	say(a, "{\"type\":\"ping\",\"id\":7}");
	assert_frames(a, "error=7:400 CLOSE:4400");
	a = client_hello("u1d1", "");
	say(a, "{\"type\":\"ping\",\"id\":8}");
	assert_frames(a, "error=8:400 CLOSE:4400");
	jobs_run();
	assert_frames(a, "");
	a = client_open("u1d1", "");
	say(a, "{\"type\":\"hello\",\"token\":\"u1d1\"}");
	assert_frames(a, "CLOSE:4400");
}

/* A bad frame with an id gets an error frame.  A bad frame without one ends the
 * session. */
static void
test_bad_frames(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say(a, "{\"type\":\"ack\",\"id\":3}");
	assert_frames(a, "error=3:400");
	say(a, "{\"type\":\"ping\",\"id\":4}");
	assert_frames(a, "pong=4");
	say(a, "{\"type\":\"ack\"}");
	assert_frames(a, "error:400 CLOSE:4400");
	a = client_open("u1d1", "");
	say(a, "{\"type\":");
	assert_frames(a, "error:400 CLOSE:4400");
}

/* A frame that cannot be parsed for want of memory is not a bad frame: close
 * code 4400 would keep the client from connecting again. */
static void
test_no_memory_for_a_frame(void **state)
{
	struct lws *a;
	int k;

	(void)state;
	wire_init();
	/* The first allocations are those of the parser. */
	for (k = 1; k < 5; k++) {
		a = client_open("u1d1", "");
		mem_fail_at(k);
		say(a, "{\"type\":\"ping\",\"id\":4}");
		assert_false(mem_fail_pending());
		assert_frames(a, "error:503 CLOSE:1013");
	}
}

static void
test_tokens(void **state)
{
	struct lws *a;

	(void)state;
	a = client_connect();
	say(a, "{\"type\":\"hello\",\"id\":1}");
	assert_frames(a, "error=1:401 CLOSE:4401");
	a = client_hello("none", ",\"id\":2");
	jobs_run();
	assert_frames(a, "error=2:401 CLOSE:4401");
	/* The token is revoked after it was found and before the session has
	 * its place: the session looks the token up again. */
	a = client_hello("u1d1", ",\"id\":3");
	job_read();
	turn();
	publish_revoked(1);
	jobs_run();
	assert_frames(a, "CLOSE:4401");
	a = client_hello("u1d2", ",\"id\":4");
	job_read();
	scene->revoked[2] = true;
	turn();
	jobs_run();
	assert_frames(a, "error=4:401 CLOSE:4401");
}

static void
test_store_fails(void **state)
{
	struct lws *a;

	(void)state;
	scene->readers_rc = RC_BUSY;
	a = client_hello("u1d1", "");
	assert_frames(a, "CLOSE:1013");
	scene->readers_rc = RC_OK;
	a = client_hello("u1d1", "");
	job_read();
	scene->readers_rc = RC_BUSY;
	turn();
	assert_frames(a, "CLOSE:1013");
	scene->readers_rc = RC_OK;
	a = client_hello("u1d1", "");
	job_read();
	turn();
	scene->store_rc = RC_IO;
	jobs_run();
	assert_frames(a, "CLOSE:1011");
	a = client_hello("u1d1", "");
	jobs_run();
	assert_frames(a, "CLOSE:1011");
	scene->store_rc = RC_AWAY;
	a = client_hello("u1d1", "");
	jobs_run();
	assert_frames(a, "CLOSE:1013");
}

/* ---- the first cursor ---- */

static void
test_welcome(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1] = (struct inbox){.head = 9, .oldest = 3, .unread = 5};
	scene->acked[1] = 7;
	a = client_hello("u1d1", ",\"window\":1,\"id\":6");
	job_read();
	turn();
	job_read();
	turn();
	assert_frames(a, "welcome=6");
	assert_non_null(strstr(a->last, "\"user\":\"u1\""));
	assert_non_null(strstr(a->last, "\"epoch\":\"e1\""));
	assert_non_null(strstr(a->last, "\"head\":9"));
	assert_non_null(strstr(a->last, "\"oldest\":3"));
	assert_non_null(strstr(a->last, "\"acked\":7"));
	assert_non_null(strstr(a->last, "\"unread\":5"));
	assert_non_null(strstr(a->last, "\"recovered\":true"));
	assert_non_null(strstr(a->last, "\"window\":1"));
	jobs_run();
	assert_frames(a, "event=8");
}

/* The cursor is the one in hello, or else the ack watermark of the device. */
static void
test_cursor(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1] = (struct inbox){.head = 9, .oldest = 1};
	scene->acked[1] = 6;
	a = client_hello("u1d1", CURSOR("e1:8") ",\"window\":1");
	jobs_run();
	assert_frames(a, "welcome event=9 caught_up=9");
	/* The cursor is before the watermark: acked events do not use the
	 * window. */
	a = client_hello("u1d1", CURSOR("e1:4") ",\"window\":1");
	jobs_run();
	assert_frames(a, "welcome event=5 event=6 event=7");
	a = client_hello("u1d1", CURSOR("9"));
	jobs_run();
	assert_frames(a, "welcome caught_up=9");
	a = client_hello("u1d1", CURSOR("10"));
	jobs_run();
	assert_frames(a, "error:410 CLOSE:4410");
	assert_non_null(strstr(a->last, "\"head\":9"));
	a = client_hello("u1d1", CURSOR("e1:10"));
	jobs_run();
	assert_frames(a, "error:410 CLOSE:4410");
	a = client_hello("u1d1", CURSOR("e2:8"));
	jobs_run();
	assert_frames(a, "error:410 CLOSE:4410");
}

/* Another node has sent a later event in this epoch: the client connects
 * again. */
static void
test_cursor_ahead_of_the_node(void **state)
{
	struct lws *a;

	(void)state;
	scene->shared = true;
	scene->inboxes[1] = (struct inbox){.head = 9, .oldest = 1};
	a = client_hello("u1d1", CURSOR("e1:10"));
	jobs_run();
	assert_frames(a, "CLOSE:1013");
	a = client_hello("u1d1", CURSOR("10"));
	jobs_run();
	assert_frames(a, "error:410 CLOSE:4410");
	a = client_hello("u1d1", CURSOR("e2:10"));
	jobs_run();
	assert_frames(a, "error:410 CLOSE:4410");
}

/* Events before oldest are gone: the session skips them, and welcome says
 * so. */
static void
test_cursor_before_the_oldest(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1] = (struct inbox){.head = 9, .oldest = 8};
	a = client_hello("u1d1", CURSOR("6"));
	job_read();
	turn();
	job_read();
	turn();
	assert_non_null(strstr(a->last, "\"recovered\":false"));
	jobs_run();
	assert_frames(a, "welcome event=8 event=9 caught_up=9");
	a = client_hello("u1d1", CURSOR("7"));
	job_read();
	turn();
	job_read();
	turn();
	assert_non_null(strstr(a->last, "\"recovered\":true"));
	jobs_run();
	assert_frames(a, "welcome event=8 event=9 caught_up=9");
}

/* The session gets the effects of an event that commits after its cursor was
 * read. A page with an older snapshot is then not the end. */
static void
test_event_while_opening(void **state)
{
	struct lws *a;

	(void)state;
	a = client_hello("u1d1", "");
	job_read();
	turn();
	job_read();
	arrive(1);
	scene->inboxes[1].head = 0;
	job_read();
	scene->inboxes[1].head = 1;
	jobs_run();
	assert_frames(a, "welcome event=1 caught_up=1");
}

/* ---- instances ---- */

/* A session replaces the one of the same device and instance, and no other. */
static void
test_same_instance_is_replaced(void **state)
{
	struct lws *a, *b, *none, *other, *again;

	(void)state;
	a = client_open("u1d1", INSTANCE("a"));
	b = client_open("u1d1", INSTANCE("b"));
	none = client_open("u1d1", "");
	other = client_open("u1d2", INSTANCE("a"));
	again = client_open("u1d1", INSTANCE("a"));
	assert_frames(a, "CLOSE:4409");
	assert_frames(b, "");
	assert_frames(none, "");
	assert_frames(other, "");
	arrive(1);
	assert_frames(b, "event=1");
	assert_frames(none, "event=1");
	assert_frames(other, "event=1");
	assert_frames(again, "event=1");
	assert_frames(a, "");
	/* A missing name counts as a name, too. */
	again = client_open("u1d1", "");
	assert_frames(none, "CLOSE:4409");
	assert_frames(again, "");
}

static void
test_instances_of_a_device(void **state)
{
	struct lws *some[LIMIT_INSTANCES_PER_DEVICE], *late;
	char name[64];
	int i;

	(void)state;
	for (i = 0; i < LIMIT_INSTANCES_PER_DEVICE; i++) {
		(void)snprintf(name, sizeof(name), ",\"instance\":\"%d\"", i);
		some[i] = client_open("u1d1", name);
	}
	late = client_hello("u1d1", INSTANCE("late"));
	jobs_run();
	assert_frames(late, "CLOSE:4429");
	(void)client_open("u1d2", INSTANCE("late"));
	/* A session that is replaced makes room, and so does one that ends. */
	late = client_open("u1d1", INSTANCE("0"));
	assert_frames(some[0], "CLOSE:4409");
	hang_up(some[1]);
	assert_frames(some[1], "END");
	(void)client_open("u1d1", INSTANCE("late"));
}

static void
test_revoked(void **state)
{
	struct lws *a, *b, *other;

	(void)state;
	a = client_open("u1d1", INSTANCE("a"));
	b = client_open("u1d1", INSTANCE("b"));
	other = client_open("u1d2", "");
	publish_revoked(1);
	assert_frames(a, "CLOSE:4401");
	assert_frames(b, "CLOSE:4401");
	assert_frames(other, "");
}

/* One transaction revokes a device, and changes the rights of a user whose
 * device keeps its token: the session of this device goes on. */
static void
test_kept(void **state)
{
	const uint8_t hash[STORE_HASH_LEN] = {0};
	struct effects *effects = effects_new();
	struct err err = ERR_INIT;
	struct lws *revoked, *kept;

	(void)state;
	revoked = client_open("u1d1", "");
	kept = client_open("u1d2", "");
	assert_int_equal(effects_add_kept(effects, 2, hash, &err), RC_OK);
	assert_int_equal(effects_add_revoked(effects, 1, hash, &err), RC_OK);
	push_effects(scene->push, effects);
	turn();
	assert_frames(revoked, "CLOSE:4401");
	assert_frames(kept, "");
}

/* ---- the end of a session ---- */

static void
test_client_closes(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say_frame(a, 0x88, "\x0f\xa0");
	assert_frames(a, "CLOSE:4000 END");
	a = client_open("u1d1", "");
	say_frame(a, 0x88, "");
	assert_frames(a, "CLOSE END");
	a = client_open("u1d1", "");
	hang_up(a);
	assert_frames(a, "END");
	assert_int_equal(push_sessions(scene->push), 0);
}

/* The server waits for the answer to its close frame, up to a deadline. */
static void
test_we_close(void **state)
{
	struct lws *answers, *silent, *stuck;

	(void)state;
	answers = client_open("u1d1", INSTANCE("a"));
	silent = client_open("u1d1", INSTANCE("b"));
	stuck = client_open("u1d1", INSTANCE("c"));
	stuck->full = true;
	publish_revoked(1);
	assert_frames(answers, "CLOSE:4401");
	assert_frames(silent, "CLOSE:4401");
	/* The server ignores any other frame. */
	say(answers, "{\"type\":\"ping\"}");
	assert_frames(answers, "");
	say_frame(answers, 0x88, "\x0f\xa1");
	assert_frames(answers, "END");
	pass(times.push_close_ms - 1);
	assert_frames(silent, "");
	assert_frames(stuck, "");
	pass(1);
	assert_frames(silent, "END");
	assert_frames(stuck, "END");
}

/* Queued frames are written before the close frame. */
static void
test_last_frames(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->full = true;
	say(a, "{\"type\":\"ping\",\"id\":1}");
	publish_revoked(1);
	assert_frames(a, "");
	a->full = false;
	turn();
	assert_frames(a, "pong=1 CLOSE:4401");
}

/* When the server stops, a session stays open until its requests are
 * answered. */
static void
test_leave(void **state)
{
	struct lws *idle, *asks, *hello;

	(void)state;
	idle = client_open("u1d1", "");
	asks = client_open("u1d2", "");
	hello = client_connect();
	say(asks, "{\"type\":\"ack\",\"upto\":0,\"id\":1}");
	push_drain(scene->push);
	turn();
	(void)uv_timer_stop(&scene->push->timer);
	assert_frames(idle, "reconnect");
	assert_frames(asks, "reconnect");
	assert_frames(hello, "reconnect CLOSE:1012");
	idle->mute = asks->mute = true;
	pass(times.push_drain_quiet_ms);
	assert_frames(idle, "CLOSE:1012");
	assert_frames(asks, "");
	finish_ack(0, RC_OK);
	pass(1);
	assert_frames(asks, "ok=1 CLOSE:1012");
}

/* A connection is with the library when the stop begins, and becomes a session
 * afterwards: its client is asked to reconnect as well, and until then the
 * sessions have not drained. */
static void
test_leave_of_a_newcomer(void **state)
{
	const struct lws *before = library_newest();
	struct lws *late;
	int fd;

	(void)state;
	fd = client_dial("192.0.2.1");
	while (library_newest() == before)
		(void)uv_run(&scene->push->loop, UV_RUN_NOWAIT);
	late = library_newest();
	late->client = fd;
	push_drain(scene->push);
	while (!scene->push->drain_begun)
		(void)uv_run(&scene->push->loop, UV_RUN_NOWAIT);
	(void)uv_timer_stop(&scene->push->timer);
	push_tick(scene->push);
	assert_false(atomic_load(&scene->push->drained));
	turn();
	assert_frames(late, "reconnect CLOSE:1012");
	pass(1);
	assert_true(atomic_load(&scene->push->drained));
}

/* The stop waits for an answer up to a deadline. */
static void
test_leave_deadline(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say_ack(a, 1);
	push_drain(scene->push);
	turn();
	(void)uv_timer_stop(&scene->push->timer);
	pass(times.push_drain_most_ms - 1);
	assert_frames(a, "reconnect");
	pass(1);
	assert_frames(a, "CLOSE:1012");
}

/* The log has a line for the beginning and one for the end of each session,
 * with its number and its close code: 1006 if the connection ended without a
 * close frame. */
static void
test_sessions_are_logged(void **state)
{
	struct lws *a;

	(void)state;
	logged_start(&scene->clk.clk);
	a = client_open("u1d1", "");
	hang_up(a);
	a = client_open("u1d1", "");
	publish_revoked(1);
	say_frame(a, 0x88, "\x0f\xa1");
	assert_frames(a, "CLOSE:4401 END");
#define AT "2023-11-14T22:13:21.000Z debug push."
	assert_string_equal(logged_stop(),
	    AT "open session=s1 peer=192.0.2.1\n" AT
	       "close session=s1 code=1006\n" AT
	       "open session=s2 peer=192.0.2.1\n" AT
	       "close session=s2 code=4401\n");
#undef AT
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_hello_deadline),
	    T(test_lines_of_reads),
	    T(test_no_slot),
	    T(test_hello_comes_first_and_once),
	    T(test_bad_frames),
	    T(test_no_memory_for_a_frame),
	    T(test_tokens),
	    T(test_store_fails),
	    T(test_welcome),
	    T(test_cursor),
	    T(test_cursor_ahead_of_the_node),
	    T(test_cursor_before_the_oldest),
	    T(test_event_while_opening),
	    T(test_same_instance_is_replaced),
	    T(test_instances_of_a_device),
	    T(test_revoked),
	    T(test_kept),
	    T(test_client_closes),
	    T(test_we_close),
	    T(test_last_frames),
	    T(test_leave),
	    T(test_leave_of_a_newcomer),
	    T(test_leave_deadline),
	    T(test_sessions_are_logged),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
