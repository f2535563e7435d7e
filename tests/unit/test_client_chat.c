/* SPDX-License-Identifier: MIT */
/*
 * A chat as a conversation: how messages of anybody are displayed, what is sent
 * to the server, and what happens at a lost connection, a restored server and
 * the end of the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "unit/chat_fixture.h"

/* ---- the history ---- */

static void
play_quit(struct stage *s)
{

	chat_connect(s);
	/* The first event has been displayed already, the second one is new. */
	chat_said(s, WITH_BOB, 4, "ann", "bob", "four");
	chat_said(s, WITH_BOB, 5, "bob", "ann", "five");
	stage_timer(s);
	chat_type("/quit");
}

static void
test_history(void **state)
{
	static const char page[] =
	    "{'messages':["
	    "{'id':'m1','conversation_seq':1,'from':'bob','body':'one'},"
	    "{'id':'m2','conversation_seq':2,'from':'ann','body':'two'},"
	    "{'id':'m3','conversation_seq':3,'from':'ann','body':'three'},"
	    "{'id':'m4','conversation_seq':4,'from':'ann','body':'four'}]}";
	struct stage *s = *state;

	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	stage_answer(s, 200, page);
	s->play = play_quit;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messa"
	    "ges?limit=20 timeout=0 patience=0\n"
	    "-      bob           one\n"
	    "-      you           two  ✓✓ read\n"
	    "-      you           three  ✓✓\n"
	    "-      you           four  ✓\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "> read c0000000 4\n"
	    "| -      bob           five\n"
	    "> read c0000000 5\n"
	    "> ack 5\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	assert_string_equal(stage_run(s, "chat", "bob", "--history", "0", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      you           four  ✓\n"
	    "> read c0000000 4\n"
	    "| -      bob           five\n"
	    "> read c0000000 5\n"
	    "> ack 5\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	assert_string_equal(stage_run(s, "chat", "b\xff", NULL),
	    "= 64 the name is not in UTF-8; see twinbox chat --help\n");
	assert_string_equal(stage_run(s, "chat", "bob", "--history", "x", NULL),
	    "= 64 --history takes a whole number from 0 to 200, not \"x\"; see "
	    "twinbox chat --help\n");
	stage_answer(s, 401, "{'status':401,'code':'unauthenticated'}");
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "= 77 this device was logged out; log in again: twinbox login "
	    "NAME\n");
	/* The command leaves standard input open, which it did not open. */
	assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
}

/* ---- without the server ---- */

/* Stores the messages of bob that this computer has seen, and a draft. */
static void
store_seen(struct stage *s)
{
	struct fail fail = FAIL_INIT;
	char ref[LOCAL_REF_SIZE];
	json_t *seen = stage_json(
	    "[{'event_id':'a','kind':'message','own':true,'id':'m2',"
	    "'conversation':'" WITH_BOB "','conversation_seq':2,"
	    "'from':'ann','to':'bob','body':'two'},"
	    "{'event_id':'b','kind':'message','own':false,'id':'m3',"
	    "'conversation':'" WITH_BOB "','conversation_seq':3,"
	    "'from':'bob','to':'ann','body':'three'},"
	    "{'event_id':'c','kind':'message','own':false,'id':'x',"
	    "'conversation':'" WITH_EVE "','conversation_seq':1,"
	    "'from':'eve','to':'ann','body':'psst'},"
	    "{'event_id':'d','kind':'receipt','by':'bob','state':'delivered',"
	    "'conversation':'" WITH_BOB "','upto':2}]");
	json_t *message = json_pack("{ss ss ss}", "to", "bob", "body", "waits",
	    "id", "01a1fdfa-0000-7000-8000-000000000000");

	assert_int_equal(
	    local_shown(s->cli.local, seen, NULL, NULL, 0, &fail), RC_OK);
	assert_int_equal(
	    sender_submit(s->cli.local, message, NULL, ref, &fail), RC_OK);
	json_decref(seen);
	json_decref(message);
}

static void
play_offline(struct stage *s)
{

	stage_lost(s, "nobody answers");
	chat_type("typed");
	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	/* The fourth message was acked but never displayed.  The stream does
	 * not send it again. */
	stage_answer(s, 200,
	    "{'messages':["
	    "{'id':'m3','conversation_seq':3,'from':'bob','body':'three'},"
	    "{'id':'m4','conversation_seq':4,'from':'bob','body':'four'}]}");
	stage_welcome(s, "E", 4);
	chat_said(s, WITH_BOB, 5, "bob", "ann", "five");
	s->ops->caught_up(s->arg);
	stage_timer(s);
	chat_type("/quit");
}

/* The chat opens with the messages that this computer has seen and the drafts
 * that wait here.  Once the server answers, the missing messages are added. */
static void
test_offline(void **state)
{
	struct stage *s = *state;

	store_seen(s);
	stage_answer(s, 0, NULL);
	stage_answer(s, 0, NULL);
	s->play = play_offline;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> POST /v1/messages {\"to\":\"bob\",\"body\":\"waits\",\"id\":\"01a1fdfa-0000-7000-8000-000000000000\"} timeout=0 patience=0\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "-      you           two  ✓✓\n"
	    "-      bob           three\n"
	    "12:00  you           waits  …\n"
	    "· cannot reach http://home; what you type is kept\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| 12:00  you           typed  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"typed\",\"id\":\"01a1fdfa-4600-7000-8000-000000000000\"} (not now)\n"
	    "| · connected\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "|=-      you           two  ✓✓ read\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messages?limit=200 timeout=0 patience=0\n"
	    "| -      bob           four\n"
	    "> ack 4\n"
	    "> send {\"to\":\"bob\",\"body\":\"waits\",\"id\":\"01a1fdfa-0000-7000-8000-000000000000\"}\n"
	    "> send {\"to\":\"bob\",\"body\":\"typed\",\"id\":\"01a1fdfa-4600-7000-8000-000000000000\"}\n"
	    "| -      bob           five\n"
	    "> read c0000000 5\n"
	    "> ack 5\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "twinbox: chat: what could not be sent is kept and goes out with the next twinbox command\n"
	    "= 0\n");
}

static void
play_nothing_seen(struct stage *s)
{

	stage_answer(s, 200, NOBODY_YET);
	stage_welcome(s, "E", 0);
	s->ops->caught_up(s->arg);
	chat_type("/quit");
}

static void
play_first_seen(struct stage *s)
{

	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	stage_answer(s, 200,
	    "{'messages':["
	    "{'id':'m3','conversation_seq':3,'from':'bob','body':'three'}]}");
	stage_welcome(s, "E", 0);
	s->ops->caught_up(s->arg);
	chat_type("/quit");
}

static void
test_offline_nothing_seen(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 0, NULL);
	s->play = play_nothing_seen;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "· cannot reach http://home; what you type is kept\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · connected\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	/* The conversation can be read, but not its messages. */
	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	s->play = play_first_seen;
	assert_string_equal(stage_run(s, "chat", "bob", "--history", "3", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messages?limit=3 timeout=0 patience=0\n"
	    "· The server is busy; what you type is kept\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · connected\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> GET /v1/conversations/c0000000-0000-7000-8000-00000000000b/messages?limit=3 timeout=0 patience=0\n"
	    "| -      bob           three\n"
	    "> read c0000000 3\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

/* Writing the history to the terminal fails. */
static void
test_history_not_printed(void **state)
{
	struct stage *s = *state;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	stage_answer(s, 200, BOB_DELIVERED_3_READ_2);
	stage_answer(s, 200,
	    "{'messages':[{'id':'m1','conversation_seq':1,"
	    "'from':'bob','body':'one'}]}");
	s->instead = full;
	(void)stage_run(s, "chat", "bob", NULL);
	assert_string_equal(s->end,
	    "= 74 cannot write the output: No space left on device; check "
	    "where it goes");
	(void)close(full);
}

/* ---- messages of others ---- */

static void
play_others(struct stage *s)
{

	stage_welcome(s, "E", 0);
	chat_said(s, WITH_EVE, 1, "eve", "ann", "psst");
	chat_said(s, WITH_EVE, 2, "eve", "ann", "psst");
	chat_said(s, WITH_EVE, 3, "ann", "eve", "what?");
	chat_said(s, "c0", 4, "max", "ann", "a\\u001bb");
	chat_said(s, WITH_BOB, 5, "bob", "ann", "hi");
	s->ops->caught_up(s->arg);
	s->ops->caught_up(s->arg);
	chat_said(s, WITH_EVE, 6, "eve", "ann", "now\\u001b");
	chat_said(s, WITH_EVE, 7, "ann", "eve", "yes?");
	chat_said(s, WITH_BOB, 8, "bob", "ann", "and");
	chat_said(s, WITH_BOB, 8, "bob", "ann", "and");
	stage_event(s, "{'seq':9,'kind':'wave'}");
	stage_timer(s);
	chat_signalled(s, SIGTERM);
}

/* A message to a group has no single recipient: it does not belong to the
 * conversation with its sender. */
static void
play_group(struct stage *s)
{

	chat_connect(s);
	stage_event(s,
	    "{'seq':1,'kind':'message','from':'bob','to':null,"
	    "'conversation':'" WITH_EVE "','conversation_seq':1,'body':'all'}");
	chat_said(s, "short", 2, "bob", "ann", "odd");
	chat_said(s, WITH_BOB, 3, "ann", "bob", "from my phone");
	chat_receipt(s, WITH_BOB, "bob", "read", 2);
	chat_said(s, WITH_BOB, 4, "ann", "bob", "again");
	chat_receipt(s, WITH_BOB, "bob", "read", 3);
	chat_type("/quit");
}

static void
test_others(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_others;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      bob           hi\n"
	    "| · 2 messages from eve: twinbox history eve\n"
	    "| · 1 message from max: twinbox history max\n"
	    "> read c0000000 5\n"
	    "| · eve writes: now\\x1b\n"
	    "| -      bob           and\n"
	    "> read c0000000 8\n"
	    "> ack 9\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	stage_answer(s, 200, NOBODY_YET);
	s->play = play_group;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| · bob writes: all\n"
	    "| · bob writes: odd\n"
	    "| -      you           from my phone  ✓\n"
	    "> read c0000000 3\n"
	    "| -      you           again  ✓\n"
	    "> read c0000000 4\n"
	    "|=-      you           from my phone  ✓✓ read\n"
	    "> ack 99\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

/* ---- the own database fails ---- */

static void
play_unsettled(struct stage *s)
{

	chat_connect(s);
	chat_type("one");
	stage_spoil(s, "outbox");
	chat_type("two");
	chat_taken(s, 1, "bob");
}

static void
play_unrefused(struct stage *s)
{

	chat_connect(s);
	chat_type("one");
	stage_spoil(s, "outbox");
	chat_refused(s, 1, 404, "{'status':404,'code':'unknown_recipient'}");
}

static void
test_unsettled(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_unsettled;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| 12:00  you           one  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"one\",\"id\":\"01a1fdfa-4600-700"
	    "0-8000-000000000000\"}\n"
	    "| · not sent: DIR/db: no such table: outbox\n"
	    "> finish\n"
	    "> stop\n"
	    "|=12:00  you           one  ✓\n"
	    "| (close)\n"
	    "= 74 DIR/db: no such table: outbox; check the disk\n");
}

static void
test_unrefused(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_unrefused;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| 12:00  you           one  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"one\",\"id\":\"01a1fdfa-4600-700"
	    "0-8000-000000000000\"}\n"
	    "> finish\n"
	    "> stop\n"
	    "|=12:00  you           one  ✗\n"
	    "| · refused: No such recipient; check the spelling of the "
	    "address\n"
	    "| (close)\n"
	    "= 74 DIR/db: no such table: outbox; check the disk\n");
}

static void
play_keys(struct stage *s)
{

	chat_connect(s);
	chat_taken(s, 1, "bob");
	chat_refused(s, 2, 422,
	    "{'code':'key_reused','title':'Key used','detail':'another text'}");
	chat_screen.hung_up = true;
	stage_readable(s, 1);
}

static void
play_hung_up(struct stage *s)
{

	chat_connect(s);
	chat_screen.hung_up = true;
	stage_readable(s, 1);
}

/* Drafts with a key are sent as frames with the member "key", and the answers
 * settle them. */
static void
test_key(void **state)
{
	struct stage *s = *state;
	static const char *const keys[] = {"k", "l"};
	struct fail fail = FAIL_INIT;
	struct local_draft draft;
	char ref[LOCAL_REF_SIZE];
	json_t *message = json_pack("{ss ss}", "to", "bob", "body", "keyed");
	size_t i;

	for (i = 0; i < 2; i++)
		assert_int_equal(
		    sender_submit(s->cli.local, message, keys[i], ref, &fail),
		    RC_OK);
	json_decref(message);
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	stage_answer(s, 200, NOBODY_YET);
	s->play = play_keys;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> POST /v1/messages key=k {\"to\":\"bob\",\"body\":\"keyed\"} "
	    "timeout=0 patience=0\n"
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "twinbox: chat: messages still wait here: The server is busy\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "> send {\"to\":\"bob\",\"body\":\"keyed\",\"key\":\"k\"}\n"
	    "> send {\"to\":\"bob\",\"body\":\"keyed\",\"key\":\"l\"}\n"
	    "| · refused: another text; use a fresh --id or --key for another "
	    "text\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	for (i = 0; i < 2; i++) {
		(void)snprintf(ref, sizeof(ref), "key:%s", keys[i]);
		assert_int_equal(
		    local_outbox_find(s->cli.local, ref, &draft, &fail), RC_OK);
		assert_string_equal(
		    draft.state, i == 0 ? "answered" : "refused");
		local_draft_fini(&draft);
	}
}

/* ---- the server is away, or another one ---- */

static void
play_away(struct stage *s)
{

	chat_connect(s);
	chat_said(s, WITH_BOB, 1, "bob", "ann", "one");
	stage_lost(s, "it went away");
	chat_type("offline");
	stage_lost(s, "it is still away");
	chat_type("twice");
	stage_welcome(s, "E", 1);
	s->ops->caught_up(s->arg);
	chat_taken(s, 1, "bob");
	s->ops->epoch_changed(s->arg);
	stage_welcome(s, "F", 0);
	chat_said(s, WITH_BOB, 1, "bob", "ann", "one");
	s->ops->caught_up(s->arg);
	chat_type("/quit");
}

static void
test_away(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_away;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      bob           one\n"
	    "> read c0000000 1\n"
	    "> ack 1\n"
	    "| · it went away; what you type is kept\n"
	    "| 12:00  you           offline  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"offline\",\"id\":\"01a1fdfa-4600"
	    "-7000-8000-000000000000\"} (not now)\n"
	    "| 12:00  you           twice  …\n"
	    "> send {\"to\":\"bob\",\"body\":\"twice\",\"id\":\"01a1fdfa-4600-7"
	    "000-8100-000000000000\"} (not now)\n"
	    "| · connected again\n"
	    "> ack 1\n"
	    "> send {\"to\":\"bob\",\"body\":\"offline\",\"id\":\"01a1fdfa-4600"
	    "-7000-8000-000000000000\"}\n"
	    "> send {\"to\":\"bob\",\"body\":\"twice\",\"id\":\"01a1fdfa-4600-7"
	    "000-8100-000000000000\"}\n"
	    "> read c0000000 1\n"
	    "|=12:00  you           offline  ✓\n"
	    "| · the server was restored; it gets your messages again\n"
	    "> send {\"to\":\"bob\",\"body\":\"offline\",\"id\":\"01a1fdfa-4600"
	    "-7000-8000-000000000000\"}\n"
	    "> send {\"to\":\"bob\",\"body\":\"twice\",\"id\":\"01a1fdfa-4600-7"
	    "000-8100-000000000000\"}\n"
	    "> read c0000000 1\n"
	    "> ack 1\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "twinbox: chat: what could not be sent is kept and goes out with "
	    "the next twinbox command\n"
	    "= 0\n");
}

static void
play_ended(struct stage *s)
{
	struct fail why = FAIL_INIT;

	chat_connect(s);
	chat_said(s, WITH_BOB, 1, "bob", "ann", "one");
	(void)fail_set(&why, FAIL_NOT_LOGGED_IN, "the token was revoked");
	stage_ended(s, &why);
}

static void
test_ended(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_ended;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| -      bob           one\n"
	    "> read c0000000 1\n"
	    "> ack 1\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 77 the token was revoked; twinbox login NAME\n");
}

/* ---- signals, and the end of the terminal ---- */

static void
play_signals(struct stage *s)
{

	chat_connect(s);
	chat_signalled(s, SIGWINCH);
	chat_signalled(s, SIGTSTP);
	chat_signalled(s, SIGCONT);
	chat_screen.typing = true;
	chat_signalled(s, SIGINT);
	stage_note("- it goes on");
	stage_readable(s, 1);
	stage_note("- it goes on");
	chat_signalled(s, SIGINT);
	stage_readable(s, 1);
}

static void
test_signals(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, NOBODY_YET);
	s->play = play_signals;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "| (resized)\n"
	    "| (stopped)\n"
	    "| (goes on)\n"
	    "- it goes on\n"
	    "- it goes on\n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
	stage_answer(s, 200, NOBODY_YET);
	s->play = play_hung_up;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "> GET /v1/conversations?order=created&limit=200 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "| (open) > \n"
	    "> finish\n"
	    "> stop\n"
	    "| (close)\n"
	    "= 0\n");
}

static void
test_no_terminal(void **state)
{
	struct stage *s = *state;

	chat_screen.terminal_in = false;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "= 64 chat needs a terminal; use twinbox send and twinbox tail\n");
	chat_screen.terminal_in = true;
	chat_screen.terminal_out = false;
	assert_string_equal(stage_run(s, "chat", "bob", NULL),
	    "= 64 chat needs a terminal; use twinbox send and twinbox tail\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_history, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_offline, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_offline_nothing_seen, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_history_not_printed, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_others, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_unsettled, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_unrefused, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_key, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_away, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_ended, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_signals, chat_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_no_terminal, chat_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
