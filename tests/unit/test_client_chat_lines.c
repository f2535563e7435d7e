/* SPDX-License-Identifier: MIT */
/*
 * The look of a chat: the signs of own messages and when they change, the texts
 * of refusals, and the commands that can be typed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "unit/chat_fixture.h"

/* ---- an own message from being typed to being read ---- */

static void
play_own(struct stage *s)
{

	chat_connect(s);
	chat_type("hello");
	chat_taken(s, 1, "bob");
	/* An answer to a frame that was never sent. */
	chat_taken(s, 7, "bob");
	stage_event(s,
	    "{'seq':1,'kind':'message','own':true,"
	    "'id':'019aa66a-3400-7000-8000-000000000000','from':'ann',"
	    "'to':'bob','conversation':'" WITH_BOB "','conversation_seq':1,"
	    "'body':'hello'}");
	chat_receipt(s, WITH_EVE, "bob", "delivered", 1);
	chat_receipt(s, WITH_BOB, "eve", "delivered", 1);
	chat_receipt(s, WITH_BOB, "bob", "delivered", 1);
	chat_receipt(s, WITH_BOB, "bob", "read", 1);
	/* The message has been read: a later "delivered" changes nothing. */
	chat_receipt(s, WITH_BOB, "bob", "delivered", 1);
	chat_type(NULL);
	/* The chat has ended. */
	chat_said(s, WITH_BOB, 2, "bob", "ann", "too late");
}

static void
test_own_message(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_own;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| 12:00  you           hello  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"hello\",\"id\":\"01a1fdfa-4600-7"
	    "000-8000-000000000000\"}\n"
	    "|=12:00  you           hello  ✓\n"
	    "| -      you           hello  ✓\n"
	    "> read c0000000 1\n"
	    "|=-      you           hello  ✓✓\n"
	    "|=-      you           hello  ✓✓ read\n"
	    "> ack 99\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- signs of messages that have scrolled away ---- */

static void
play_signs(struct stage *s)
{

	chat_connect(s);
	chat_said(s, WITH_BOB, 1, "ann", "bob", "one");
	chat_said(s, WITH_BOB, 2, "ann", "bob", "two");
	chat_said(s, WITH_BOB, 3, "ann", "bob", "three");
	chat_screen.scrolled = true;
	/* The new signs of these messages are not printed; a failure is. */
	chat_receipt(s, WITH_BOB, "bob", "delivered", 2);
	chat_receipt(s, WITH_BOB, "bob", "delivered", 3);
	chat_receipt(s, WITH_BOB, "bob", "read", 3);
	stage_event(s, "{'seq':5,'kind':'bounce','of':'m1','reason':'full'}");
	stage_event(
	    s, "{'seq':6,'kind':'bounce','of':'m3','reason':'no\\u001b'}");
	stage_event(s, "{'seq':7,'kind':'bounce','of':'m9'}");
	chat_type("four");
	chat_taken(s, 1, "bob");
	chat_type("five");
	chat_type("six");
	chat_taken(s, 2, "bob");
	chat_taken(s, 3, "bob");
	chat_type("/quit");
}

/* One receipt for several messages: each of them is printed again in its
 * place. */
static void
play_sign_of_many(struct stage *s)
{

	chat_connect(s);
	chat_said(s, WITH_BOB, 1, "ann", "bob", "one");
	chat_said(s, WITH_BOB, 2, "ann", "bob", "two");
	chat_said(s, WITH_BOB, 3, "ann", "bob", "three");
	chat_receipt(s, WITH_BOB, "bob", "read", 3);
	/* The last message has no number yet. */
	chat_said(s, WITH_BOB, 4, "ann", "bob", "four");
	chat_type("five");
	chat_receipt(s, WITH_BOB, "bob", "read", 4);
	chat_taken(s, 1, "bob");
	chat_screen.scrolled = true;
	chat_receipt(s, WITH_BOB, "bob", "delivered", 3);
	chat_receipt(s, WITH_BOB, "bob", "read", 2);
	chat_type("/quit");
}

static void
test_signs(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_signs;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      you           one  ✓\n"
	    "> read c0000000 1\n"
	    "| -      you           two  ✓\n"
	    "> read c0000000 2\n"
	    "| -      you           three  ✓\n"
	    "> read c0000000 3\n"
	    "| · ✗ one\n"
	    "| · not delivered: full\n"
	    "| · ✗ three\n"
	    "| · not delivered: no\\x1b\n"
	    "| · not delivered: \n"
	    "| 12:00  you           four  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"four\",\"id\":\"01a1fdfa-4600-70"
	    "00-8000-000000000000\"}\n"
	    "| 12:00  you           five  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"five\",\"id\":\"01a1fdfa-4600-70"
	    "00-8100-000000000000\"}\n"
	    "| 12:00  you           six  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"six\",\"id\":\"01a1fdfa-4600-700"
	    "0-8200-000000000000\"}\n"
	    "> ack 7\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	chat_screen.scrolled = false;
	stage_answer(s, 200, NOBODY_YET);
	/* Ids contain the time, so the ids of the second run differ. */
	stage_pass(1000);
	s->play = play_sign_of_many;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      you           one  ✓\n"
	    "> read c0000000 1\n"
	    "| -      you           two  ✓\n"
	    "> read c0000000 2\n"
	    "| -      you           three  ✓\n"
	    "> read c0000000 3\n"
	    "|=-      you           one  ✓✓ read\n"
	    "|=-      you           two  ✓✓ read\n"
	    "|=-      you           three  ✓✓ read\n"
	    "| -      you           four  ✓\n"
	    "> read c0000000 4\n"
	    "| 12:00  you           five  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"five\",\"id\":\"01a1fdfa-49e8-70"
	    "00-8000-000000000000\"}\n"
	    "|=-      you           four  ✓✓ read\n"
	    "|=12:00  you           five  ✓\n"
	    "> ack 99\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- refusals ---- */

static void
play_refused(struct stage *s)
{

	chat_connect(s);
	chat_type("one");
	chat_refused(s, 1, 503, "{'status':503,'code':'busy'}");
	chat_type("two");
	chat_refused(s, 2, 404, "{'status':404,'code':'unknown_recipient'}");
	chat_refused(s, 9, 404, "{'status':404,'code':'unknown_recipient'}");
	chat_type("/quit");
}

static void
test_refused(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_refused;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| 12:00  you           one  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"one\",\"id\":\"01a1fdfa-4600-700"
	    "0-8000-000000000000\"}\n"
	    "| · not sent yet: The server is busy; it is kept here\n"
	    "| 12:00  you           two  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"two\",\"id\":\"01a1fdfa-4600-700"
	    "0-8100-000000000000\"}\n"
	    "|=12:00  you           two  ✗\n"
	    "| · refused: No such recipient; check the spelling of the "
	    "address\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "twinbox: chat: what could not be sent is kept and goes out with "
	    "the next twinbox command\n"
	    "= 0\n");
}

/* ---- commands of the user ---- */

static void
play_commands(struct stage *s)
{

	chat_connect(s);
	chat_type("");
	chat_type("   ");
	chat_type("/");
	chat_type("/help  ");
	chat_type("/hel");
	chat_type("/nonsense");
	chat_type("/historyx");
	chat_type("/history");
	chat_said(s, WITH_BOB, 1, "bob", "ann", "one");
	chat_type("/history");
	chat_type("/history   7");
	chat_type("/history 0");
	chat_type("/history 8x");
	chat_type("/history 2");
	chat_type("//slash ");
	chat_type("/q ");
}

static void
test_commands(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	stage_answer(s, 200,
	    "{'messages':[{'id':'m1','conversation_seq':1,"
	    "'from':'bob','body':'one'}]}");
	stage_answer(s, 200, "{'messages':[]}");
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	s->play = play_commands;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · what you type goes to bob\n"
	    "| · /history [N]  show the last N messages\n"
	    "| · /quit         leave (also Ctrl-D)\n"
	    "| · //text        a text that begins with a slash\n"
	    "| · … kept here  ✓ accepted  ✓✓ delivered  ✓✓ read\n"
	    "| · what you type goes to bob\n"
	    "| · /history [N]  show the last N messages\n"
	    "| · /quit         leave (also Ctrl-D)\n"
	    "| · //text        a text that begins with a slash\n"
	    "| · … kept here  ✓ accepted  ✓✓ delivered  ✓✓ read\n"
	    "| · what you type goes to bob\n"
	    "| · /history [N]  show the last N messages\n"
	    "| · /quit         leave (also Ctrl-D)\n"
	    "| · //text        a text that begins with a slash\n"
	    "| · … kept here  ✓ accepted  ✓✓ delivered  ✓✓ read\n"
	    "| · there is no such command; /help lists them\n"
	    "| · there is no such command; /help lists them\n"
	    "| · nothing yet\n"
	    "| -      bob           one\n"
	    "> read c0000000 1\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messa"
	    "ges?limit=20 timeout=0 patience=0\n"
	    "| -      bob           one\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messa"
	    "ges?limit=7 timeout=0 patience=0\n"
	    "| · /history takes a number up to 200\n"
	    "| · /history takes a number up to 200\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messa"
	    "ges?limit=2 timeout=0 patience=0\n"
	    "| · The server is busy\n"
	    "| 12:00  you           /slash   …\n"
	    "> send {\"to\":\"bob\",\"body\":\"/slash "
	    "\",\"id\":\"01a1fdfa-4600-7000-8000-000000000000\"}\n"
	    "> ack 1\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "twinbox: chat: what could not be sent is kept and goes out with "
	    "the next twinbox command\n"
	    "= 0\n");
}

static void
play_long(struct stage *s)
{
	char *text = malloc(LIMIT_BODY_LEN + 2);

	chat_connect(s);
	assert_non_null(text);
	memset(text, 'x', LIMIT_BODY_LEN + 1);
	text[LIMIT_BODY_LEN + 1] = '\0';
	chat_type(text);
	chat_type("broken \xff");
	free(text);
	chat_type("/quit");
}

static void
test_too_long(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_long;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · not sent: that is longer than 16384 bytes, or no UTF-8\n"
	    "| · not sent: that is longer than 16384 bytes, or no UTF-8\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_own_message, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_signs, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_refused, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_commands, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_too_long, chat_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
