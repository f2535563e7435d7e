/* SPDX-License-Identifier: MIT */
/*
 * Batches: the frames of one turn of the loop are one write, in order, and the
 * size of batches is limited.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/push_fixture.h"

/* Publishes ${n} events after event ${seq} of user 1 and runs nothing. */
static void
post_events(int64_t seq, int n)
{
	struct effect_event e = {.user_id = 1, .kind = EVENT_MESSAGE};
	struct err err = ERR_INIT;
	struct effects *effects;

	while (n-- > 0) {
		e.seq = ++seq;
		e.from = text_new("u1", 2);
		e.message = text_new("\"body\":\"told\"", 13);
		effects = effects_new();
		assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
		push_effects(scene->push, effects);
	}
	scene->inboxes[1].head = seq;
}

/* Answers ${c} with a frame of ${n} bytes and the head. */
static void
reply(struct lws *c, size_t n)
{
	struct buf *b = push_frame_begin(scene->push);
	static const char begin[] = "{\"type\":\"pong\",\"pad\":\"";

	buf_adds(b, begin);
	for (n -= sizeof(begin) - 1 + 2; n > 0; n--)
		buf_addc(b, 'x');
	buf_adds(b, "\"}");
	session_reply(session_of(c));
}

/* Events, answers and control frames of one turn are one write. */
static void
test_one_write(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	a->writes = b->writes = 0;
	post_events(0, 3);
	say_often(a, "{\"type\":\"ping\",\"id\":7}", 2);
	assert_int_equal(a->writes, 1);
	assert_int_equal(b->writes, 1);
	/* The loop may see the input first or the effects. */
	assert_non_null(strstr(a->frames, "pong=7 pong=7"));
	assert_non_null(strstr(a->frames, "event=1 event=2 event=3"));
	assert_frames(a, a->frames);
	assert_frames(b, "event=1 event=2 event=3");
	assert_int_equal(scene->push->batched_bytes, 0);
	/* A page that is read, too. */
	a->writes = 0;
	scene->inboxes[1].head = 40;
	publish_event(1, 40);
	jobs_run();
	assert_int_equal(a->writes, 1);
	assert_non_null(strstr(a->frames, "event=4 event=5"));
	assert_non_null(strstr(a->frames, "event=40"));
}

/* A tick writes what it has made, although no input follows. */
static void
test_tick_writes(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->mute = true;
	pass(times.push_ping_ms);
	assert_frames(a, "PING");
}

/* The head has a length of 7, 16 or 64 bits; the fixture reads it. */
static void
test_lengths_of_frames(void **state)
{
	static const size_t lengths[] = {
	    125, 126, 255, 256, UINT16_MAX, UINT16_MAX + 1};
	struct lws *a;
	size_t i;

	(void)state;
	a = client_open("u1d1", "");
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		reply(a, lengths[i]);
		turn();
		assert_frames(a, "pong");
	}
}

/* A batch of BATCH_BYTES is written before the turn ends.  Bytes that the
 * socket does not take then wait, and go first. */
static void
test_batch_has_a_limit(void **state)
{
	const size_t half = BATCH_BYTES / 2 - 4;
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->writes = 0;
	a->takes = 1;
	reply(a, half);
	assert_int_equal(a->writes, 0);
	assert_int_equal(scene->push->batched_bytes, BATCH_BYTES / 2);
	reply(a, half);
	assert_int_equal(a->writes, 1);
	assert_int_equal(scene->push->batched_bytes, 0);
	assert_frames(a, "pong pong");
	reply(a, 100);
	assert_int_equal(session_of(a)->tx.nframes, 1);
	post_events(0, 1);
	turn();
	assert_frames(a, "");
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "pong event=1");
}

/* Queued answers that are more than a batch are written as far as the socket
 * takes them. */
static void
test_queue_fills_the_socket(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", "");
	a->full = true;
	for (i = 0; i < 5; i++)
		reply(a, BATCH_BYTES / 2);
	a->takes = 1;
	a->full = false;
	turn();
	assert_frames(a, "pong pong");
	assert_int_equal(session_of(a)->tx.nframes, 3);
	a->full = false;
	turn();
	assert_frames(a, "pong pong pong");
}

/* The batches of all sessions together have a limit: a frame beyond it is
 * written at once. */
static void
test_batches_have_a_limit(void **state)
{
	const size_t n = BATCH_BYTES - 5;
	struct lws *c[BATCHES_BYTES / BATCH_BYTES + 1];
	size_t i, most = sizeof(c) / sizeof(c[0]) - 1;
	char token[16], more[32];

	(void)state;
	for (i = 0; i <= most; i++) {
		(void)snprintf(token, sizeof(token), "u1d%zu", 1 + i % 9);
		(void)snprintf(more, sizeof(more), ",\"instance\":\"i%zu\"", i);
		c[i] = client_open(token, more);
		c[i]->writes = 0;
	}
	for (i = 0; i < most; i++) {
		reply(c[i], n);
		assert_int_equal(c[i]->writes, 0);
	}
	reply(c[most], 100);
	assert_int_equal(c[most]->writes, 1);
	assert_true(scene->push->batched_bytes < BATCHES_BYTES);
	turn();
	for (i = 0; i <= most; i++)
		assert_frames(c[i], "pong");
	assert_int_equal(scene->push->batched_bytes, 0);
}

/* Without memory for a frame the frames before it are written, then the close
 * frame. */
static void
test_no_memory(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	reply(a, 100);
	buf_reset(&scene->push->tx);
	(void)buf_reserve(&scene->push->tx, 8000);
	mem_fail_at(1);
	reply(a, 4000);
	assert_false(mem_fail_pending());
	mem_fail_at(0);
	turn();
	assert_frames(a, "pong CLOSE:1013");
}

/* A connection that is cut is written to first. */
static void
test_cut(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	reply(a, 100);
	push_lws_kill(session_of(a));
	assert_frames(a, "pong END");
	assert_int_equal(scene->push->batched_bytes, 0);
}

/* A connection that is lost keeps no batch, and the others are written. */
static void
test_lost(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	a->fails = true;
	post_events(0, 2);
	turn();
	assert_frames(a, "END");
	assert_frames(b, "event=1 event=2");
	assert_int_equal(scene->push->batched_bytes, 0);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_one_write),
	    T(test_tick_writes),
	    T(test_lengths_of_frames),
	    T(test_batch_has_a_limit),
	    T(test_queue_fills_the_socket),
	    T(test_batches_have_a_limit),
	    T(test_no_memory),
	    T(test_cut),
	    T(test_lost),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
