/* SPDX-License-Identifier: MIT */
/*
 * The client without memory.  Each allocation of a step fails once: an event is
 * acked only if it was displayed and stored, and a request that lacks a member
 * is not sent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <unistd.h>

#include "base/mem.h"
#include "unit/chat_fixture.h"
#include "wire/wire.h"

#define ALLOCATIONS_MOST 400

/* The number of the allocation that fails, and whether it has. */
static int failing;
static bool armed, failed;

/* Makes allocation ${failing} fail from here on to the next disarm(). */
static void
arm(void)
{

	armed = true;
	mem_fail_at(failing);
}

static void
disarm(void)
{

	if (armed)
		failed = !mem_fail_pending();
	armed = false;
	mem_fail_at(0);
}

/* ---- events ---- */

/* An event with its text on the screen. */
struct happening {
	const char *json; /* its members after the event_id */
	const char *seen;
	bool before_caught_up;
};

static const struct happening *happening;
static int number;

/* Returns the event number ${number}.  The caller owns it. */
static json_t *
make_event(void)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "{'seq':%d,'event_id':'e%d',%s}",
	    number, number, happening->json);
	return (stage_json(text));
}

/* The event comes, and then the command is asked to end. */
static void
play_happening(struct stage *s)
{
	json_t *event = make_event();

	stage_welcome(s, "E", number - 1);
	if (!happening->before_caught_up)
		s->ops->caught_up(s->arg);
	arm();
	s->ops->event(s->arg, event);
	disarm();
	if (happening->before_caught_up)
		s->ops->caught_up(s->arg);
	json_decref(event);
	chat_signalled(s, SIGTERM);
}

/* Checks what the last command did with its event. */
static void
assert_event_kept(struct stage *s)
{
	json_t *event = make_event();
	bool stored = local_has_shown(s->cli.local, event);
	char ack[32];

	(void)snprintf(ack, sizeof(ack), "> ack %d\n", number);
	if (strstr(s->text, ack) != NULL) {
		assert_true(stored);
		assert_non_null(strstr(s->text, happening->seen));
		assert_string_equal(s->end, "= 0");
	} else {
		assert_true(failed);
		assert_false(stored);
		assert_string_equal(
		    s->end, "= 71 out of memory; free some memory");
	}
	/* A message that was not displayed is not marked as read. */
	if (strstr(s->text, "> read") != NULL)
		assert_non_null(strstr(s->text, happening->seen));
	json_decref(event);
}

/* The event ${h} comes while each allocation fails once.  ${name} is the
 * command, with ${argument}. */
static void
every_allocation_fails(struct stage *s, const struct happening *h,
    const char *name, const char *argument)
{
	bool chat = strcmp(name, "chat") == 0;
	int failures = 0;

	happening = h;
	s->play = play_happening;
	for (failing = 1;; failing++) {
		assert_true(failing < ALLOCATIONS_MOST);
		number++;
		if (chat)
			stage_answer(s, 200, NOBODY_YET);
		(void)stage_run(s, name, argument, NULL);
		assert_event_kept(s);
		if (!failed)
			break;
		failures += strcmp(s->end, "= 0") != 0;
	}
	assert_true(failures > 3);
}

static void
test_tail(void **state)
{
	static const struct happening h = {
	    "'kind':'message','from':'bob','to':'ann','body':'a text'",
	    "a text", false};

	every_allocation_fails(*state, &h, "tail", NULL);
	every_allocation_fails(*state, &h, "tail", "--json");
}

static void
test_chat(void **state)
{
	static const struct happening table[] = {
	    {"'kind':'message','own':false,'id':'m','conversation':'" WITH_BOB
	     "','conversation_seq':1,'from':'bob','to':'ann','body':'a text'",
		"| -      bob           a text\n", false},
	    {"'kind':'message','own':true,'id':'m','conversation':'" WITH_BOB
	     "','conversation_seq':1,'from':'ann','to':'bob','body':'a text'",
		"| -      you           a text", false},
	    {"'kind':'message','own':false,'id':'m','conversation':'" WITH_EVE
	     "','conversation_seq':1,'from':'eve','to':'ann','body':'a text'",
		"| · eve writes: a text\n", false},
	    {"'kind':'message','own':false,'id':'m','conversation':'" WITH_EVE
	     "','conversation_seq':1,'from':'eve','to':'ann','body':'a text'",
		"| · 1 message from eve: twinbox history eve\n", true},
	    {"'kind':'bounce','of':'m','reason':'a reason'",
		"| · not delivered: a reason\n", false},
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		every_allocation_fails(*state, &table[i], "chat", "bob");
}

/* ---- messages typed in a chat ---- */

static void
play_typed(struct stage *s)
{

	chat_connect(s);
	arm();
	chat_type("hello");
	disarm();
	chat_signalled(s, SIGTERM);
}

/* A typed message is displayed as the user's own, or the user sees an error. */
static void
test_typed(void **state)
{
	/* The clock stands still, so each message has this id. */
	static const char id[] = "01a1fdfa-4600-7000-8000-000000000000";
	struct stage *s = *state;
	struct fail fail = FAIL_INIT;
	int failures = 0;

	s->play = play_typed;
	for (failing = 1;; failing++) {
		assert_true(failing < ALLOCATIONS_MOST);
		stage_answer(s, 200, NOBODY_YET);
		(void)stage_run(s, "chat", "bob", NULL);
		if (!failed)
			break;
		failures++;
		assert_true(
		    strstr(s->text, "| 12:00  you           hello") != NULL ||
		    strstr(s->text, "| · not sent: out of memory\n") != NULL ||
		    strcmp(s->end, "= 71 out of memory; free some memory") ==
			0);
		assert_null(strstr(s->text, "?             hello"));
		assert_int_equal(
		    local_outbox_remove(s->cli.local, id, &fail), RC_OK);
	}
	assert_non_null(strstr(s->text, id));
	assert_string_equal(s->end, "= 0");
	assert_true(failures > 10);
}

/* ---- requests ---- */

/* Runs the command in ${words} while each allocation before its request fails
 * once.  A request has the text ${member}. */
static void
every_request_complete(
    struct stage *s, const char *const words[7], const char *member)
{
	static const char said[] = "= 71 out of memory; ";

	s->asked = disarm;
	for (failing = 1;; failing++) {
		assert_true(failing < ALLOCATIONS_MOST);
		assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
		stage_answer(s, 200, "{'requeued':2,'refused':[]}");
		arm();
		(void)stage_run(s, words[0], words[1], words[2], words[3],
		    words[4], words[5], words[6], NULL);
		disarm();
		if (strstr(s->text, "> POST") != NULL)
			assert_non_null(strstr(s->text, member));
		else
			assert_memory_equal(s->end, said, strlen(said));
		if (!failed)
			break;
	}
	assert_non_null(strstr(s->text, member));
	assert_string_equal(s->end, "= 0");
	assert_true(failing > 3);
}

static void
test_requests(void **state)
{
	static const struct {
		const char *words[7];
		const char *member;
	} table[] = {
	    {{"read", "--upto", "5", "--private"}, "\"private\":true"},
	    {{"register", "zoe", "--no-login", "--password-stdin",
		 "--display-name", "Zoe"},
		"\"display_name\":\"Zoe\""},
	    {{"send", "bob", "hi", "--key", "k", "--priority", "high"},
		"\"priority\":\"high\""},
	    {{"admin", "pause", "far.example", "--reason", "no"},
		"\"reason\":\"no\""},
	    {{"admin", "requeue", "1", "2"}, "\"dead_ids\":[1,2]"},
	};
	struct stage *s = *state;
	FILE *input = tmpfile();
	int saved = dup(STDIN_FILENO);
	size_t i;

	assert_non_null(input);
	assert_true(fputs("a long password\n", input) >= 0);
	assert_int_equal(fflush(input), 0);
	assert_int_equal(dup2(fileno(input), STDIN_FILENO), STDIN_FILENO);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		every_request_complete(s, table[i].words, table[i].member);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	(void)close(saved);
	(void)fclose(input);
}

/* ---- the server's lists ---- */

/* Allocations fail after each answer, until one has failed. */
static void
arm_again(void)
{

	if (!failed)
		arm();
}

/* A list of the server is complete, or there is none. */
static void
test_pages(void **state)
{
	static const char conversations[] =
	    "{'conversations':[{'id':'" WITH_EVE "','kind':'direct',"
	    "'members':[{'address':'ann'},{'address':'eve'}]},"
	    "{'id':'" WITH_BOB "','kind':'direct',"
	    "'members':[{'address':'ann'},{'address':'bob'}]}]}";
	static const char messages[] =
	    "{'messages':[{'conversation_seq':1,'from':'bob','body':'one'},"
	    "{'conversation_seq':2,'from':'bob','body':'two'}]}";
	static const char *const commands[2][2] = {
	    {"conversations", NULL}, {"history", "bob"}};
	struct stage *s = *state;
	int i;

	s->asked = disarm;
	s->answered = arm_again;
	for (i = 0; i < 2; i++) {
		for (failing = 1;; failing++) {
			assert_true(failing < ALLOCATIONS_MOST);
			failed = false;
			stage_answer(s, 200, conversations);
			if (i == 1)
				stage_answer(s, 200, messages);
			(void)stage_run(
			    s, commands[i][0], commands[i][1], NULL);
			disarm();
			if (!failed)
				break;
			assert_true(
			    strcmp(s->end,
				"= 71 out of memory; free some memory") == 0 ||
			    (strstr(s->text, i == 0 ? "eve" : "one") != NULL &&
				strstr(s->text, i == 0 ? "bob" : "two") !=
				    NULL));
		}
		assert_string_equal(s->end, "= 0");
		assert_true(failing > 5);
	}
}

/* ---- the client's own database ---- */

static bool
any(const json_t *event, void *arg)
{

	(void)event;
	(void)arg;
	return (true);
}

/* A list is complete, or there is none. */
static void
test_lists(void **state)
{
	struct stage *s = *state;
	struct fail fail = FAIL_INIT;
	json_t *events, *found;
	enum rc rc;
	int list;

	events = stage_json(
	    "[{'event_id':'e1','from':'bob','to':'ann','body':'one'},"
	    "{'event_id':'e2','from':'eve','to':'ann','body':'two'}]");
	assert_int_equal(
	    local_shown(s->cli.local, events, NULL, NULL, 0, &fail), RC_OK);
	json_decref(events);
	for (list = 0; list < 2; list++) {
		for (failing = 1;; failing++) {
			assert_true(failing < ALLOCATIONS_MOST);
			arm();
			rc = list == 0
				 ? local_history(s->cli.local, any, NULL, 9,
				       &found, &fail)
				 : local_names(s->cli.local, &found, &fail);
			disarm();
			if (!failed)
				break;
			assert_int_equal(rc, RC_NO_MEMORY);
			assert_int_equal(fail.rc, RC_NO_MEMORY);
		}
		assert_int_equal(rc, RC_OK);
		assert_int_equal(json_array_size(found), list == 0 ? 2 : 3);
		json_decref(found);
		assert_true(failing > 5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_tail, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_chat, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_typed, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_requests, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_lists, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_pages, chat_set_up, stage_tear_down),
	};

	/* From here on jansson allocates by mem_alloc(). */
	wire_init();
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
