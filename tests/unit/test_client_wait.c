/* SPDX-License-Identifier: MIT */
/*
 * Waiting until a message is delivered or read: the requests, how long the
 * client waits, when the wait is over, and the error if it can never succeed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/cli_fixture.h"

/* Waits up to ${timeout_ms} for message m1 to reach ${state}.  Returns the
 * requests and the result. */
static const char *
wait_for(struct stage *s, const char *state, int64_t timeout_ms)
{
	struct fail fail = FAIL_INIT;
	json_t *entry = NULL;

	stage_listen(s);
	if (cli_wait(&s->cli, "m1", state, timeout_ms, &entry, &fail) == RC_OK)
		stage_note(
		    "= %s", json_string_value(json_object_get(entry, "state")));
	else
		stage_note("= %d %s; %s", fail.exit, fail.what, fail.cure);
	if (s->nasked < s->nanswers)
		stage_note("! %d answers are left", s->nanswers - s->nasked);
	s->nasked = s->nanswers = 0;
	json_decref(entry);
	return (stage_heard(s));
}

/* Whether the first answer already shows the wanted state. */
static void
test_reached(void **state)
{
	static const struct {
		const char *wanted, *entry;
		bool reached;
	} table[] = {
	    {"delivered", "{'state':'pending'}", false},
	    {"delivered", "{'state':'sent'}", false},
	    {"delivered", "{}", false},
	    {"delivered", "{'state':'acked'}", true},
	    {"delivered", "{'state':'sent','labels':['new','read']}", true},
	    {"delivered", "{'state':'sent','labels':['new',7]}", false},
	    {"delivered", "{'state':'sent','counts':{'recipients':0}}", false},
	    {"delivered",
		"{'state':'sent','counts':{'recipients':1,'acked':0}}", false},
	    {"delivered",
		"{'state':'sent','counts':{'recipients':1,'acked':1}}", true},
	    {"delivered",
		"{'state':'sent','counts':{'recipients':3,'acked':2}}", false},
	    {"delivered",
		"{'state':'sent','counts':{'recipients':3,'acked':3}}", true},
	    {"delivered",
		"{'state':'sent','counts':{'recipients':3,'acked':4}}", true},
	    {"read", "{'state':'acked','labels':[]}", false},
	    {"read", "{'state':'acked','labels':['read']}", true},
	    /* With one recipient the label decides, in a group the counts
	     * do. */
	    {"read",
		"{'state':'acked','labels':[],"
		"'counts':{'recipients':1,'read':1}}",
		false},
	    {"read",
		"{'state':'acked','labels':['read'],"
		"'counts':{'recipients':1,'read':0}}",
		true},
	    {"read",
		"{'state':'acked','labels':['read'],"
		"'counts':{'recipients':2,'read':1}}",
		false},
	    {"read", "{'state':'acked','counts':{'recipients':2,'read':2}}",
		true},
	    {"read", "{'state':'acked','counts':{'recipients':2,'read':3}}",
		true},
	};
	struct stage *s = *state;
	const char *heard;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		stage_answer(s, 200, table[i].entry);
		heard = wait_for(s, table[i].wanted, 0);
		assert_ptr_equal(strstr(heard, "! "), NULL);
		assert_int_equal(
		    strstr(heard, "= 75 accepted") == NULL, table[i].reached);
		assert_memory_equal(heard,
		    "> GET /v1/outbox/m1?wait=0 timeout=20000 patience=0\n",
		    sizeof("> GET /v1/outbox/m1?wait=0 timeout=20000 "
			   "patience=0"));
	}
}

/* The first request reads the state, the others wait for a change. */
static void
test_polls(void **state)
{
	struct stage *s = *state;
	struct stage_answer *answer;

	stage_answer(s, 200, "{'state':'pending'}")->etag = "\"a\"";
	answer = stage_answer(s, 304, NULL);
	answer->took_ms = 10000;
	answer = stage_answer(s, 200, "{'state':'sent'}");
	answer->etag = "\"b\"";
	answer->took_ms = 4000;
	stage_answer(s, 200, "{'state':'acked'}");
	assert_string_equal(wait_for(s, "delivered", 25500),
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=25500\n"
	    "> GET /v1/outbox/m1?wait=10 if-none-match=\"a\" timeout=30000 "
	    "patience=25500\n"
	    "> GET /v1/outbox/m1?wait=10 if-none-match=\"a\" timeout=30000 "
	    "patience=15500\n"
	    "> GET /v1/outbox/m1?wait=10 if-none-match=\"b\" timeout=30000 "
	    "patience=11500\n"
	    "= acked\n");
}

/* The last request waits for the time that is left, in whole seconds. */
static void
test_time_is_up(void **state)
{
	struct stage *s = *state;
	struct stage_answer *answer;

	answer = stage_answer(s, 200, "{'state':'pe\\u001bnding'}");
	answer->etag = "\"a\"";
	answer->took_ms = 1;
	stage_answer(s, 304, NULL)->took_ms = 999;
	stage_answer(s, 304, NULL)->took_ms = 1000;
	assert_string_equal(wait_for(s, "read", 2000),
	    "> GET /v1/outbox/m1?wait=0 timeout=22000 patience=2000\n"
	    "> GET /v1/outbox/m1?wait=2 if-none-match=\"a\" timeout=22000 "
	    "patience=1999\n"
	    "> GET /v1/outbox/m1?wait=1 if-none-match=\"a\" timeout=21000 "
	    "patience=1000\n"
	    "= 75 accepted, but not read in time (now: pe\\x1bnding); it is "
	    "not lost: look with twinbox outbox, wait with --timeout\n");
	/* One millisecond is left. */
	answer = stage_answer(s, 200, "{'state':'pending'}");
	answer->etag = "\"a\"";
	answer->took_ms = 1999;
	stage_answer(s, 200, "{'state':'acked'}");
	assert_string_equal(wait_for(s, "delivered", 2000),
	    "> GET /v1/outbox/m1?wait=0 timeout=22000 patience=2000\n"
	    "> GET /v1/outbox/m1?wait=1 if-none-match=\"a\" timeout=21000 "
	    "patience=1\n"
	    "= acked\n");
}

/* If a server does not wait, and gives no tag, the client waits between its
 * requests. */
static void
test_server_does_not_wait(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, "{'state':'pending'}");
	stage_answer(s, 200, "{'state':'pending'}")->took_ms = 49;
	stage_answer(s, 200, "{'state':'pending'}")->took_ms = 50;
	stage_answer(s, 200, "{'state':'pending'}")->etag = "\"a\"";
	stage_answer(s, 304, NULL);
	stage_answer(s, 200, "{'state':'acked'}");
	assert_string_equal(wait_for(s, "delivered", 9000),
	    "> GET /v1/outbox/m1?wait=0 timeout=29000 patience=9000\n"
	    "> sleep 100\n"
	    "> GET /v1/outbox/m1?wait=9 timeout=29000 patience=8900\n"
	    "> sleep 100\n"
	    "> GET /v1/outbox/m1?wait=9 timeout=29000 patience=8751\n"
	    "> GET /v1/outbox/m1?wait=9 timeout=29000 patience=8701\n"
	    "> GET /v1/outbox/m1?wait=9 if-none-match=\"a\" timeout=29000 "
	    "patience=8701\n"
	    "> GET /v1/outbox/m1?wait=9 if-none-match=\"a\" timeout=29000 "
	    "patience=8701\n"
	    "= acked\n");
}

/* A state that is final ends the wait at once. */
static void
test_dead(void **state)
{
	static const struct {
		const char *entry, *end;
	} table[] = {
	    {"{'state':'failed'}",
		"= 69 the message failed; see twinbox outbox ID\n"},
	    {"{'state':'failed','last_error':'no\\u001b room'}",
		"= 69 the message failed: no\\x1b room; see twinbox outbox "
		"ID\n"},
	    {"{'state':'expired','last_error':null}",
		"= 69 the message expired; see twinbox outbox ID\n"},
	    {"{'state':'canceled','last_error':'x'}",
		"= 69 the message was canceled: x; see twinbox outbox ID\n"},
	};
	struct stage *s = *state;
	const char *heard;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		stage_answer(s, 200, table[i].entry);
		heard = strchr(wait_for(s, "read", 5000), '\n');
		assert_non_null(heard);
		assert_string_equal(heard + 1, table[i].end);
	}
}

/* A failure that may pass is followed by another request, after a growing
 * pause; other failures end the wait. */
static void
test_failures(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 0, NULL);
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	stage_answer(s, 200, "{'state':'acked'}");
	assert_string_equal(wait_for(s, "delivered", 60000),
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=60000\n"
	    "> sleep 500\n"
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=59500\n"
	    "> sleep 1000\n"
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=58500\n"
	    "= acked\n");
	stage_answer(s, 404, "{'status':404,'code':'not_found'}");
	assert_string_equal(wait_for(s, "delivered", 60000),
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=60000\n= 65 No such thing; check the id; lists show only what is yours\n");
	stage_answer(s, 200, "{'state':'pending'}")->etag = "\"a\"";
	stage_answer(s, 0, NULL)->took_ms = 60000;
	assert_string_equal(wait_for(s, "delivered", 60000),
	    "> GET /v1/outbox/m1?wait=0 timeout=30000 patience=60000\n"
	    "> GET /v1/outbox/m1?wait=10 if-none-match=\"a\" timeout=30000 "
	    "patience=60000\n"
	    "= 69 cannot reach http://home; start the server, or name another "
	    "with --server URL\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_reached, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_polls, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_time_is_up, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_server_does_not_wait, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_dead, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_failures, stage_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
