/* SPDX-License-Identifier: MIT */
/*
 * The reasons for which a stream is lost or ends, as people read them, and what
 * a stream writes without memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/stream_fixture.h"
#include "wire/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "lost: what; cure" or "over: ..." */
static char told[512];

static void
on_lost(void *arg, const struct fail *why, int64_t wait_ms)
{

	(void)arg;
	(void)wait_ms;
	(void)snprintf(
	    told, sizeof(told), "lost: %s; %s", why->what, why->cure);
}

static void
on_ended(void *arg, const struct fail *why)
{

	(void)arg;
	if (why != NULL)
		(void)snprintf(
		    told, sizeof(told), "over: %s; %s", why->what, why->cure);
}

static const struct stream_ops ops = {.lost = on_lost, .ended = on_ended};

/* Starts a stream whose owner only has callbacks for its losses and its end. */
static void
begin(struct scene *s)
{

	scene_close(s);
	memset(s, 0, sizeof(*s));
	s->ops = &ops;
	told[0] = '\0';
	scene_open(s, "", -1, true);
}

#define SERVER "http://server.example:8080"
#define START "; start the server, or name another with --server URL"
#define NAMES "; check that --server names a twinbox server"
#define REPEAT "; repeat it; what was done is not done twice"

/* The connection cannot be made. */
static void
test_refused(void **state)
{
	static const struct {
		unsigned status;
		const char *why;
		const char *told;
	} cases[] = {
	    {0, "Connection refused",
		"lost: cannot reach " SERVER ": Connection refused" START},
	    {0, "a\033b", "lost: cannot reach " SERVER ": a\\x1bb" START},
	    {0, NULL, "lost: cannot reach " SERVER ": no connection" START},
	    {299, "x", "lost: cannot reach " SERVER ": x" START},
	    {300, "x",
		"over: " SERVER " has no WebSocket for us (HTTP 300)" NAMES},
	    {499, "x",
		"over: " SERVER " has no WebSocket for us (HTTP 499)" NAMES},
	    {500, "x", "lost: cannot reach " SERVER ": x" START},
	    {401, "x",
		"over: this device was logged out; log in again: twinbox login "
		"NAME"},
	    {503, "x", "lost: The server is busy; repeat in a moment"},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		begin(s);
		scene_timer(s);
		scene_refuse(s, cases[i].status, cases[i].why);
		assert_string_equal(told, cases[i].told);
	}
	/* The stream's own reason comes before the library's. */
	begin(s);
	scene_timer(s);
	scene_timer(s);
	assert_string_equal(told, "lost: " SERVER " does not answer" START);
}

/* The server closes the connection. */
static void
test_closed(void **state)
{
	static const struct {
		int code;
		const char *told;
	} cases[] = {
	    {4401, "over: this device was logged out; log in again: twinbox "
		   "login NAME"},
	    {4403, "over: the server does not allow this; use an account that "
		   "may"},
	    {4409, "over: another connection took this one's place; start it "
		   "again"},
	    {1008,
		"over: " SERVER " closed the connection with code 1008" NAMES},
	    {2999, "lost: " SERVER " closed the connection (2999)" START},
	    {3000,
		"over: " SERVER " closed the connection with code 3000" NAMES},
	    {1011, "lost: " SERVER " closed the connection (1011)" START},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		begin(s);
		scene_welcome(s, "E", 0);
		scene_end(s, cases[i].code);
		assert_string_equal(told, cases[i].told);
	}
	begin(s);
	scene_welcome(s, "E", 0);
	scene_cut(s);
	assert_string_equal(
	    told, "lost: the connection to " SERVER " broke" START);
}

/* The server has sent a frame before the connection closed. */
static void
test_said(void **state)
{
	static const struct {
		const char *frame;
		const char *told;
	} cases[] = {
	    {"[]", "over: " SERVER
		   " broke the protocol: a frame that is not a JSON "
		   "object" NAMES},
	    {"{'type':'event'",
		"over: " SERVER " broke the protocol: a frame that cannot be "
		"read: not valid JSON at line 1, column 15: '}' expected near "
		"end of file" NAMES},
	    {"{}", "over: " SERVER
		   " broke the protocol: a frame without type" NAMES},
	    {"{'type':'welcome','epoch':'E','acked':0}",
		"over: " SERVER " broke the protocol: a second welcome" NAMES},
	    {"{'type':'reconnect','after_ms':5}",
		"lost: the server asks to connect again" REPEAT},
	    {"{'type':'error','problem':{'status':503,'code':'draining',"
	     "'detail':'it goes down'}}",
		"lost: it goes down; repeat in a moment"},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		begin(s);
		scene_welcome(s, "E", 0);
		scene_say(s, "%s", cases[i].frame);
		if (told[0] == '\0')
			scene_end(s, 1012);
		assert_string_equal(told, cases[i].told);
	}
}

/* "reconnect" may make a stream wait up to an hour. */
static void
test_reconnect(void **state)
{
	static const struct {
		int after_ms;
		int waits_ms;
	} cases[] = {{0, 500}, {-1, 500}, {500, 500}, {501, 501},
	    {3599999, 3599999}, {3600000, 500}};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		begin(s);
		scene_welcome(s, "E", 0);
		scene_say(
		    s, "{'type':'reconnect','after_ms':%d}", cases[i].after_ms);
		scene_end(s, 1012);
		assert_int_equal(scene_timer_ms(s), cases[i].waits_ms);
	}
}

/* A hello has the cursor, whichever allocation fails, and an ack is not lost.
 */
static void
test_no_memory(void **state)
{
	struct scene *s = *state;
	const char *written;
	bool failed;
	int k;

	for (k = 1;; k++) {
		assert_true(k < 100);
		scene_again(s, "E", 5, true);
		scene_timer(s);
		(void)scene_written(s);
		mem_fail_at(k);
		scene_accept(s);
		failed = !mem_fail_pending();
		mem_fail_at(0);
		written = scene_written(s);
		if (written[0] != '\0')
			assert_non_null(strstr(written, "\"after\":\"E:5\""));
		if (!failed)
			break;
	}
	assert_true(k > 10);
	assert_non_null(strstr(written, "hello"));
	for (k = 1;; k++) {
		assert_true(k < 100);
		scene_again(s, "E", 5, true);
		scene_welcome(s, "E", 5);
		(void)scene_written(s);
		mem_fail_at(k);
		stream_ack(s->stream, 6);
		scene_settle(s);
		failed = !mem_fail_pending();
		mem_fail_at(0);
		stream_read(s->stream, "c", 1);
		scene_settle(s);
		assert_non_null(
		    strstr(scene_written(s), "{\"type\":\"ack\",\"upto\":6}"));
		if (!failed)
			break;
	}
	assert_true(k > 5);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_refused),
	    TEST(test_closed),
	    TEST(test_said),
	    TEST(test_reconnect),
	    TEST(test_no_memory),
	};

	/* From here on jansson allocates by mem_alloc(). */
	wire_init();
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
