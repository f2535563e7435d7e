/* SPDX-License-Identifier: MIT */
/*
 * A client's database that was damaged: a stored message that cannot be read
 * is reported, and the messages after it are sent; a query that fails is
 * reported as what it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sqlite3.h>

#include "unit/chat_fixture.h"

#define DAMAGED "00000000-0000-7000-8000-00000000000d"
#define WHOLE "00000000-0000-7000-8000-00000000000e"

/* Stores a message to eve, which is damaged, and one to bob. */
static void
store_drafts(struct stage *s, bool damaged_first)
{
	static const char *const drafts[3][2] = {
	    {"eve", DAMAGED}, {"bob", WHOLE}, {"eve", DAMAGED}};
	char ref[LOCAL_REF_SIZE];
	struct fail fail = FAIL_INIT;
	json_t *message;
	sqlite3 *db;
	int i;

	for (i = 0; i < 2; i++) {
		const char *const *draft = drafts[damaged_first ? i : i + 1];

		message = json_pack("{ss ss ss}", "to", draft[0], "body",
		    "text", "id", draft[1]);
		assert_int_equal(
		    sender_submit(s->cli.local, message, NULL, ref, &fail),
		    RC_OK);
		json_decref(message);
	}
	assert_int_equal(sqlite3_open(s->scratch.path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db,
		"UPDATE outbox SET request = '{' WHERE recipient = 'eve'", NULL,
		NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
test_send(void **state)
{
	struct stage *s = *state;

	store_drafts(s, true);
	stage_answer(s, 201, "{'id':'" WHOLE "','to':'bob'}");
	stage_answer(s, 201, "{'id':'x','to':'bob'}");
	assert_string_equal(
	    stage_run(s, "send", "bob", "hi", "--key", "k", NULL),
	    "twinbox: send: an earlier message to eve was refused: its text on "
	    "this computer is damaged\n"
	    "> POST /v1/messages {\"to\":\"bob\",\"body\":\"text\","
	    "\"id\":\"" WHOLE "\"} timeout=0 patience=0\n"
	    "twinbox: send: an earlier message to bob has gone out\n"
	    "> POST /v1/messages key=k {\"to\":\"bob\",\"body\":\"hi\"} "
	    "timeout=0 patience=0\n"
	    "✓ accepted  to bob: hi  x\n"
	    "= 0\n");
	/* It is reported once. */
	stage_answer(s, 201, "{'id':'x','to':'bob'}");
	assert_null(strstr(
	    stage_run(s, "send", "bob", "hi", "--key", "l", NULL), "damaged"));
}

static void
test_list(void **state)
{
	struct stage *s = *state;

	store_drafts(s, true);
	stage_answer(s, 0, NULL);
	assert_string_equal(stage_run(s, "outbox", NULL),
	    "> GET /v1/outbox?limit=50 timeout=0 patience=0\n"
	    "STATE    TO   CREATED            TEXT  LAST ERROR           ID\n"
	    "waiting  eve  21 Nov 2026 12:00        the text is "
	    "damaged  " DAMAGED "\n"
	    "waiting  bob  21 Nov 2026 12:00  text                       " WHOLE
	    "\n"
	    "= 69 cannot reach http://home; start the server, or name another "
	    "with --server URL\n");
}

static void
test_cancel(void **state)
{
	struct stage *s = *state;

	store_drafts(s, true);
	assert_string_equal(stage_run(s, "outbox", "cancel", DAMAGED, NULL),
	    "canceled " DAMAGED "\n= 0\n");
	stage_answer(s, 0, NULL);
	(void)stage_run(s, "outbox", NULL);
	assert_null(strstr(s->text, DAMAGED));
	assert_non_null(strstr(s->text, WHOLE));
}

static void
play_chat(struct stage *s)
{

	stage_answer(s, 200, NOBODY_YET);
	chat_connect(s);
	chat_taken(s, 1, "bob");
	chat_signalled(s, SIGTERM);
}

/* The chat begins without the server. */
static void
test_chat(void **state)
{
	struct stage *s = *state;

	store_drafts(s, false);
	s->play = play_chat;
	stage_answer(s, 0, NULL);
	stage_answer(s, 0, NULL);
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> POST /v1/messages {\"to\":\"bob\",\"body\":\"text\","
	    "\"id\":\"" WHOLE "\"} timeout=0 patience=0\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 "
	    "patience=0\n"
	    "12:00  you           text  …\n"
	    "· cannot reach http://home; what you type is kept\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · connected\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 "
	    "patience=0\n"
	    "> send {\"to\":\"bob\",\"body\":\"text\",\"id\":\"" WHOLE "\"}\n"
	    "| · a message to eve was given up: its text on this computer is "
	    "damaged; write it once more\n"
	    "|=12:00  you           text  ✓\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

/* A query that fails is reported as what it is. */
static void
test_query_fails(void **state)
{
	static const char said[] =
	    "= 74 DIR/db: no such table: event; check the disk\n";
	struct stage *s = *state;

	stage_spoil(s, "event");
	assert_string_equal(stage_run(s, "complete", "names", NULL), said);
	assert_string_equal(
	    stage_run(s, "history", "bob", "--offline", NULL), said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_send, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_list, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_cancel, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_chat, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_query_fails, chat_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
