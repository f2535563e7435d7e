/* SPDX-License-Identifier: MIT */
/*
 * How a stream reacts to each frame that a server can send: known kinds,
 * unknown kinds, and malformed frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/stream_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* An epoch of 39 characters, the longest that is accepted. */
#define LONGEST "epoch-that-is-39-characters-long-and-ok"

/* Makes a stream that is live, at event ${seq} of epoch E. */
static void
live(struct scene *s, int seq)
{

	scene_again(s, "E", seq, true);
	scene_welcome(s, "E", seq);
	scene_say(s, "{'type':'caught_up','seq':%d}", seq);
	assert_int_equal(stream_state(s->stream), STREAM_LIVE);
	(void)scene_told(s);
	(void)scene_written(s);
}

static void
event(struct scene *s, int seq)
{

	scene_say(s, "{'type':'event','seq':%d,'kind':'message'}", seq);
}

/* ---- welcome ---- */

/* (The instance is a UUIDv7 of the fake clock and of zeros.) */
static void
test_welcome_starts_at_acked(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	assert_string_equal(scene_hello(s),
	    "{\"type\":\"hello\",\"id\":1,\"token\":\"tb_secret\",\"instance\":"
	    "\"01b8dac5-b400-7000-8000-000000000000\",\"window\":256}\n");
	assert_string_equal(stream_epoch(s->stream), "");
	scene_say(s, "{'type':'welcome','epoch':'" LONGEST "','acked':4}");
	assert_string_equal(scene_told(s), "welcome; ");
	assert_int_equal(stream_state(s->stream), STREAM_CATCHING_UP);
	assert_string_equal(stream_epoch(s->stream), LONGEST);
	assert_int_equal(stream_seq(s->stream), 4);
	event(s, 4);
	event(s, 5);
	assert_string_equal(scene_told(s), "event 5; ");
}

static void
test_welcome_keeps_the_cursor(void **state)
{
	struct scene *s = *state;

	scene_open(s, "E", 7, true);
	assert_non_null(strstr(scene_hello(s), ",\"after\":\"E:7\"}\n"));
	scene_say(s, "{'type':'welcome','epoch':'E','acked':4,'head':7}");
	assert_int_equal(stream_seq(s->stream), 7);
	event(s, 7);
	event(s, 8);
	assert_string_equal(scene_told(s), "welcome; event 8; ");
}

/* A cursor without an epoch comes from a person; the welcome gives the
 * epoch. */
static void
test_welcome_names_the_epoch(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", 3, true);
	assert_non_null(strstr(scene_hello(s), ",\"after\":\"3\"}\n"));
	scene_say(s, "{'type':'welcome','epoch':'E','acked':9,'head':9}");
	assert_string_equal(scene_told(s), "welcome; ");
	assert_string_equal(stream_epoch(s->stream), "E");
	assert_int_equal(stream_seq(s->stream), 3);
	/* So does the cursor 0. */
	scene_again(s, "", 0, true);
	assert_non_null(strstr(scene_hello(s), ",\"after\":\"0\"}\n"));
	scene_say(s, "{'type':'welcome','epoch':'E','acked':9,'head':9}");
	assert_string_equal(scene_told(s), "welcome; ");
	assert_int_equal(stream_seq(s->stream), 0);
}

static void
test_welcome_malformed(void **state)
{
	static const char *const frames[] = {
	    "{'type':'welcome','acked':0}",
	    "{'type':'welcome','epoch':'','acked':0}",
	    "{'type':'welcome','epoch':7,'acked':0}",
	    "{'type':'welcome','epoch':'" LONGEST "+','acked':0}",
	    "{'type':'welcome','epoch':'E'}",
	    "{'type':'welcome','epoch':'E','acked':-1}",
	    "{'type':'welcome','epoch':'E','acked':'0'}",
	    "{'type':'welcome','epoch':'E','acked':0,'window':0}",
	    "{'type':'welcome','epoch':'E','acked':0,'window':-5}",
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(frames); i++) {
		scene_again(s, "", -1, true);
		(void)scene_hello(s);
		scene_say(s, "%s", frames[i]);
		assert_string_equal(scene_told(s), "ended protocol; ");
		assert_int_equal(stream_state(s->stream), STREAM_ENDED);
	}
}

static void
test_welcome_twice(void **state)
{
	struct scene *s = *state;

	live(s, 3);
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0}");
	assert_string_equal(scene_told(s), "ended protocol; ");
}

/* Some events are no longer kept: the owner gets their numbers. */
static void
test_welcome_gap(void **state)
{
	static const struct {
		const char *recovered;
		int oldest;
		const char *told;
		int seq;
	} cases[] = {
	    {"false", 5, "gap 2 to 4; welcome; ", 4},
	    {"false", 3, "gap 2 to 2; welcome; ", 2},
	    {"false", 2, "welcome; ", 1},
	    {"true", 5, "welcome; ", 1},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_again(s, "E", 1, true);
		(void)scene_hello(s);
		scene_say(s,
		    "{'type':'welcome','epoch':'E','acked':0,'head':9,"
		    "'recovered':%s,'oldest':%d}",
		    cases[i].recovered, cases[i].oldest);
		assert_string_equal(scene_told(s), cases[i].told);
		assert_int_equal(stream_seq(s->stream), cases[i].seq);
	}
}

/* Another epoch, or a head before the cursor, shows that the server was
 * restored.  The stream connects again at once and requests all events. */
static void
test_welcome_restored(void **state)
{
	static const char *const frames[] = {
	    "{'type':'welcome','epoch':'F','acked':0,'head':9}",
	    "{'type':'welcome','epoch':'E','acked':0,'head':4}",
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(frames); i++) {
		scene_again(s, "E", 5, true);
		(void)scene_hello(s);
		scene_say(s, "%s", frames[i]);
		assert_string_equal(scene_told(s), "new epoch; ");
		assert_int_equal(scene_timer_ms(s), 0);
		assert_non_null(strstr(scene_hello(s), ",\"after\":\"0\"}\n"));
	}
	/* A head that equals the cursor is not a restore. */
	scene_again(s, "E", 5, true);
	(void)scene_hello(s);
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0,'head':5}");
	assert_string_equal(scene_told(s), "welcome; ");
}

/* A stream gives up a server that has another epoch each time. */
static void
test_welcome_restored_for_ever(void **state)
{
	struct scene *s = *state;
	int i;

	scene_open(s, "E", 5, true);
	for (i = 1; i <= 6; i++) {
		(void)scene_hello(s);
		scene_say(s, "{'type':'error','re':1,'problem':{'status':410,"
			     "'code':'cursor_expired'}}");
		assert_string_equal(scene_told(s),
		    i <= 5 ? "new epoch; " : "new epoch; ended uncertain; ");
	}
}

/* ---- event ---- */

static void
test_event_order(void **state)
{
	struct scene *s = *state;

	live(s, 0);
	event(s, 1);
	event(s, 2);
	event(s, 2);
	event(s, 1);
	event(s, 3);
	assert_string_equal(scene_told(s), "event 1; event 2; event 3; ");
	assert_int_equal(stream_seq(s->stream), 3);
}

static void
test_event_gap(void **state)
{
	struct scene *s = *state;

	live(s, 3);
	event(s, 5);
	assert_string_equal(scene_told(s), "lost uncertain, 500 ms; ");
	assert_int_equal(stream_seq(s->stream), 3);
	assert_non_null(strstr(scene_hello(s), ",\"after\":\"E:3\"}\n"));
}

static void
test_event_malformed(void **state)
{
	static const char *const frames[] = {
	    "{'type':'event'}",
	    "{'type':'event','seq':0}",
	    "{'type':'event','seq':-1}",
	    "{'type':'event','seq':'4'}",
	    "{'type':'event','seq':4.0}",
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(frames); i++) {
		live(s, 3);
		scene_say(s, "%s", frames[i]);
		assert_string_equal(scene_told(s), "ended protocol; ");
		assert_int_equal(stream_seq(s->stream), 3);
	}
	/* An event before the welcome breaks the protocol. */
	scene_again(s, "E", 3, true);
	(void)scene_hello(s);
	event(s, 4);
	assert_string_equal(scene_told(s), "ended protocol; ");
}

/* A client that never acks gets a new window by connecting again.  The window
 * counts from the last ack that the server knows, or from the cursor. */
static void
test_event_window(void **state)
{
	struct scene *s = *state;
	int acked;

	for (acked = 0; acked <= 2; acked += 2) {
		scene_again(s, "E", 1, false);
		(void)scene_hello(s);
		scene_say(s,
		    "{'type':'welcome','epoch':'E','acked':%d,'window':3}",
		    acked);
		(void)scene_told(s);
		event(s, 2);
		event(s, 3);
		if (acked == 2)
			event(s, 4);
		assert_int_equal(s->connects, 1);
		event(s, acked == 2 ? 5 : 4);
		assert_string_equal(scene_told(s),
		    acked == 2 ? "event 2; event 3; event 4; event 5; "
			       : "event 2; event 3; event 4; ");
		assert_int_equal(stream_state(s->stream), STREAM_WAITING);
		assert_int_equal(scene_timer_ms(s), 0);
	}
	/* A client that acks stays connected. */
	scene_again(s, "E", 0, true);
	(void)scene_hello(s);
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0,'window':1}");
	event(s, 1);
	event(s, 2);
	assert_string_equal(scene_told(s), "welcome; event 1; event 2; ");
}

/* ---- caught_up, sent, stalled ---- */

static void
test_caught_up(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	assert_int_equal(stream_state(s->stream), STREAM_CATCHING_UP);
	scene_say(s, "{'type':'caught_up','seq':0}");
	assert_int_equal(stream_state(s->stream), STREAM_LIVE);
	/* The server sends it again after each burst. */
	scene_say(s, "{'type':'caught_up','seq':0}");
	assert_int_equal(stream_state(s->stream), STREAM_LIVE);
	assert_string_equal(scene_told(s), "welcome; caught up; caught up; ");
}

static void
test_sent(void **state)
{
	struct scene *s = *state;

	live(s, 0);
	scene_say(s, "{'type':'sent','re':2,'entry':{}}");
	scene_say(s, "{'type':'sent'}");
	assert_string_equal(scene_told(s), "sent 2; sent 0; ");
}

/* "stalled" says that the server has waited long for an ack.  The stream
 * repeats its last ack once. */
static void
test_stalled(void **state)
{
	struct scene *s = *state;

	live(s, 0);
	scene_say(s, "{'type':'stalled'}");
	assert_string_equal(scene_written(s), "");
	event(s, 1);
	stream_ack(s->stream, 1);
	scene_settle(s);
	assert_string_equal(
	    scene_written(s), "{\"type\":\"ack\",\"upto\":1}\n");
	scene_say(s, "{'type':'stalled'}");
	assert_string_equal(
	    scene_written(s), "{\"type\":\"ack\",\"upto\":1}\n");
}

/* ---- error ---- */

static void
test_error_about_a_request(void **state)
{
	struct scene *s = *state;

	live(s, 0);
	scene_say(s, "{'type':'error','re':2,'problem':{'status':507,"
		     "'code':'inbox_full','retry_after':60}}");
	scene_say(s, "{'type':'error','re':3}");
	assert_string_equal(
	    scene_told(s), "refused 2 inbox_full; refused 3 protocol; ");
	assert_int_equal(stream_state(s->stream), STREAM_LIVE);
	/* A refused message does not affect the stream: the next wait is the
	 * usual one. */
	scene_cut(s);
	assert_string_equal(scene_told(s), "lost unreachable, 500 ms; ");
}

/* An error that answers no request is the reason for the close that follows. */
static void
test_error_about_the_stream(void **state)
{
	struct scene *s = *state;

	live(s, 0);
	scene_say(s, "{'type':'error','problem':{'status':503,"
		     "'code':'draining','retry_after':7}}");
	assert_string_equal(scene_told(s), "");
	scene_end(s, 1013);
	assert_string_equal(scene_told(s), "lost draining, 7000 ms; ");
}

/* An error that answers the hello. */
static void
test_error_for_hello(void **state)
{
	static const struct {
		const char *frame;
		const char *told;
	} cases[] = {
	    {"{'type':'error','re':1,'problem':{'status':401,"
	     "'code':'unauthenticated'}}",
		"ended unauthenticated; "},
	    {"{'type':'error','re':1,'problem':{'status':400,"
	     "'code':'bad_request'}}",
		"ended bad_request; "},
	    {"{'type':'error','re':1,'problem':{'status':503,'code':'busy'}}",
		"lost busy, 500 ms; "},
	    {"{'type':'error','re':1,'problem':{'status':429,"
	     "'code':'rate_limited','retry_after':3}}",
		"lost rate_limited, 3000 ms; "},
	    {"{'type':'error','problem':{'status':500,'code':'internal'}}",
		"lost internal, 500 ms; "},
	    {"{'type':'error','re':1,'problem':'none'}", "ended protocol; "},
	    {"{'type':'error'}", "ended protocol; "},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_again(s, "", -1, true);
		(void)scene_hello(s);
		scene_say(s, "%s", cases[i].frame);
		assert_string_equal(scene_told(s), cases[i].told);
	}
}

/* The server does not know the cursor of the hello.  If the epoch is the same,
 * events that are no longer kept are skipped; otherwise the server was
 * restored. */
static void
test_error_cursor(void **state)
{
	static const struct {
		const char *more;
		const char *told;
		const char *after;
	} cases[] = {
	    {",'epoch':'E','oldest':9", "gap 6 to 8; ", "\"E:8\""},
	    {",'oldest':9", "gap 6 to 8; ", "\"E:8\""},
	    {",'epoch':'F','oldest':9", "new epoch; ", "\"0\""},
	    {",'epoch':'E','oldest':6", "new epoch; ", "\"0\""},
	    {",'epoch':'E','oldest':0", "new epoch; ", "\"0\""},
	    {",'epoch':'E'", "new epoch; ", "\"0\""},
	    {"", "new epoch; ", "\"0\""},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_again(s, "E", 5, true);
		(void)scene_hello(s);
		scene_say(s,
		    "{'type':'error','re':1,'problem':{'status':410,"
		    "'code':'cursor_expired'%s}}",
		    cases[i].more);
		assert_string_equal(scene_told(s), cases[i].told);
		assert_int_equal(scene_timer_ms(s), 0);
		assert_non_null(strstr(scene_hello(s), cases[i].after));
	}
}

/* A stream skips events three times in a row; then it requests all events. */
static void
test_error_cursor_again(void **state)
{
	static const char *const told[] = {
	    "gap 6 to 9; ", "gap 10 to 19; ", "gap 20 to 29; ", "new epoch; "};
	struct scene *s = *state;
	size_t i;

	scene_open(s, "E", 5, true);
	for (i = 0; i < COUNT(told); i++) {
		(void)scene_hello(s);
		scene_say(s,
		    "{'type':'error','re':1,'problem':{'status':410,"
		    "'code':'cursor_expired','epoch':'E','oldest':%d}}",
		    10 * ((int)i + 1));
		assert_string_equal(scene_told(s), told[i]);
	}
	assert_non_null(strstr(scene_hello(s), ",\"after\":\"0\"}\n"));
}

/* ---- reconnect ---- */

/* The wait is the longer of the requested one and the back-off.  An invalid
 * value is ignored. */
static void
test_reconnect(void **state)
{
	static const struct {
		const char *after;
		int wait_ms;
	} cases[] = {
	    {"1500", 1500},
	    {"501", 501},
	    {"200", 500},
	    {"0", 500},
	    {"-1500", 500},
	    {"'1500'", 500},
	    {"3599999", 3599999},
	    {"3600000", 500},
	};
	struct scene *s = *state;
	char wanted[64];
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		live(s, 0);
		scene_say(
		    s, "{'type':'reconnect','after_ms':%s}", cases[i].after);
		assert_string_equal(scene_told(s), "");
		scene_end(s, 1012);
		(void)snprintf(wanted, sizeof(wanted),
		    "lost uncertain, %d ms; ", cases[i].wait_ms);
		assert_string_equal(scene_told(s), wanted);
		assert_int_equal(scene_timer_ms(s), cases[i].wait_ms);
	}
}

/* ---- other frames ---- */

static void
test_unknown_kinds(void **state)
{
	static const char *const frames[] = {
	    "{'type':'weather','forecast':'rain'}",
	    "{'type':''}",
	    "{'type':'EVENT','seq':1}",
	    "{'type':'hello','id':1}",
	};
	struct scene *s = *state;
	size_t i;

	live(s, 0);
	for (i = 0; i < COUNT(frames); i++)
		scene_say(s, "%s", frames[i]);
	assert_string_equal(scene_told(s), "");
	assert_string_equal(scene_written(s), "");
	event(s, 1);
	assert_string_equal(scene_told(s), "event 1; ");
}

static void
test_malformed_frames(void **state)
{
	static const char *const frames[] = {
	    "",
	    "hello",
	    "{",
	    "{'type':'event','seq':1}x",
	    "{'type':'caught_up','type':'event','seq':1}",
	    "['type','event']",
	    "'event'",
	    "17",
	    "null",
	    "{}",
	    "{'type':7}",
	    "{'type':null}",
	    "{'type':['event']}",
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(frames); i++) {
		live(s, 0);
		scene_say(s, "%s", frames[i]);
		assert_string_equal(scene_told(s), "ended protocol; ");
	}
	/* Bytes that are not valid UTF-8, and a zero byte. */
	live(s, 0);
	scene_say_piece(s, "{\"type\":\"\xff\"}", 12, true);
	assert_string_equal(scene_told(s), "ended protocol; ");
	live(s, 0);
	scene_say_piece(s, "{\"type\":\"a\"}\0", 13, true);
	assert_string_equal(scene_told(s), "ended protocol; ");
}

/* An owner without callbacks. */
static void
test_deaf_owner(void **state)
{
	static const struct stream_ops nothing = {.event = NULL};
	struct scene *s = *state;

	s->ops = &nothing;
	scene_open(s, "E", 1, true);
	(void)scene_hello(s);
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0,'head':9,"
		     "'recovered':false,'oldest':5}");
	event(s, 5);
	scene_say(s, "{'type':'caught_up'}");
	scene_say(s, "{'type':'sent','re':2}");
	scene_say(s, "{'type':'error','re':2}");
	scene_cut(s);
	(void)scene_hello(s);
	scene_say(s, "{'type':'welcome','epoch':'F','acked':0}");
	(void)scene_hello(s);
	scene_say(s, "17");
	assert_int_equal(stream_state(s->stream), STREAM_ENDED);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_welcome_starts_at_acked),
	    TEST(test_welcome_keeps_the_cursor),
	    TEST(test_welcome_names_the_epoch),
	    TEST(test_welcome_malformed),
	    TEST(test_welcome_twice),
	    TEST(test_welcome_gap),
	    TEST(test_welcome_restored),
	    TEST(test_welcome_restored_for_ever),
	    TEST(test_event_order),
	    TEST(test_event_gap),
	    TEST(test_event_malformed),
	    TEST(test_event_window),
	    TEST(test_caught_up),
	    TEST(test_sent),
	    TEST(test_stalled),
	    TEST(test_error_about_a_request),
	    TEST(test_error_about_the_stream),
	    TEST(test_error_for_hello),
	    TEST(test_error_cursor),
	    TEST(test_error_cursor_again),
	    TEST(test_reconnect),
	    TEST(test_unknown_kinds),
	    TEST(test_malformed_frames),
	    TEST(test_deaf_owner),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
