/* SPDX-License-Identifier: MIT */
/*
 * Following an inbox: which events are displayed, stored and acked, and when;
 * which are displayed again after a restore; signals, losses and ends.
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
#include <stdio_ext.h>
#include <unistd.h>

#include "unit/cli_fixture.h"

/* Event ${seq}, a message with text ${body}. */
static void
message(struct stage *s, int seq, const char *body)
{
	char json[256];

	(void)snprintf(json, sizeof(json),
	    "{'type':'event','seq':%d,'event_id':'e%s','kind':'message',"
	    "'from':'bob','to':'ann','body':'%s'}",
	    seq, body, body);
	stage_event(s, json);
}

static void
signalled(struct stage *s, int number)
{

	(void)raise(number);
	stage_readable(s, 0);
}

/* ---- events are displayed, then stored, then acked ---- */

static void
play_two(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_note("- timer %d", (int)s->timer_ms);
	message(s, 2, "two");
	stage_timer(s);
	stage_note("- timer %d", (int)s->timer_ms);
	signalled(s, SIGWINCH);
	stage_event(s, "{'type':'event','seq':3,'kind':'message','from':'bob',"
		       "'to':'ann','body':'three',"
		       "'event_time':'2026-11-21T09:05:00.000Z'}");
	signalled(s, SIGTERM);
	/* The command has ended: later events are not displayed. */
	message(s, 4, "four");
}

static void
play_nothing(struct stage *s)
{

	stage_welcome(s, "E", 3);
	signalled(s, SIGINT);
}

static void
test_shown_and_acked(void **state)
{
	struct stage *s = *state;

	s->play = play_two;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "- timer 20\n"
	    "#2     -      bob           two\n"
	    "> ack 2\n"
	    "- timer -1\n"
	    "#3     09:05  bob           three\n"
	    "> ack 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	/* The next run continues at the cursor, and repeats the last ack. */
	s->play = play_nothing;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"E\" 3, acks\n"
	    "> ack 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	assert_string_equal(stage_run(s, "tail", "--no-ack", "--json", NULL),
	    "> stream of tb_ann after \"E\" 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	s->play = play_two;
	assert_string_equal(stage_run(s, "tail", "--no-ack", "--json", NULL),
	    "> stream of tb_ann after \"E\" 3\n"
	    "{\"seq\":1,\"event_id\":\"eone\",\"kind\":\"message\",\"from\":\"b"
	    "ob\",\"to\":\"ann\",\"body\":\"one\"}\n"
	    "- timer 20\n"
	    "{\"seq\":2,\"event_id\":\"etwo\",\"kind\":\"message\",\"from\":\"b"
	    "ob\",\"to\":\"ann\",\"body\":\"two\"}\n"
	    "- timer -1\n"
	    "{\"seq\":3,\"kind\":\"message\",\"from\":\"bob\","
	    "\"to\":\"ann\",\"body\":\"three\","
	    "\"event_time\":\"2026-11-21T09:05:00.000Z\"}\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
}

/* ---- the bell ---- */

#define RING(text) "\a\033]9;bob: " text "\033\\"

static void
play_bell(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "missed");
	s->ops->caught_up(s->arg);
	message(s, 2, "one\\u0007");
	message(s, 3, "soon");
	stage_pass(999);
	message(s, 4, "too soon");
	stage_pass(1);
	stage_event(s, "{'type':'event','seq':5,'kind':'message','own':true,"
		       "'from':'ann','to':'bob','body':'mine'}");
	stage_event(s, "{'type':'event','seq':6,'kind':'receipt','by':'bob'}");
	message(s, 7, "two");
	stage_welcome(s, "E", 7);
	stage_pass(1000);
	message(s, 8, "missed, too");
	signalled(s, SIGTERM);
}

/* The bell rings for messages of others that come after the stream has caught
 * up, at most once a second.  It never rings without a terminal or with
 * --json. */
static void
test_bell(void **state)
{
	static const char rung[] = "#2     -      bob           one\\x07\n" RING(
	    "one\\x07") "#3     -      bob           soon\n"
			"#4     -      bob           too soon\n"
			"#5     -      → bob         mine\n"
			"#6     -                    ✓✓ delivered to bob up to "
			"message 0 of the conversation\n"
			"#7     -      bob           two\n" RING("two");
	struct stage *s = *state;

	s->play = play_bell;
	s->cli.terminal = true;
	assert_non_null(strstr(
	    stage_run(s, "tail", "--bell", "--after", "0", NULL), "missed"));
	assert_non_null(strstr(s->text, rung));
	assert_null(strstr(strstr(s->text, rung) + strlen(rung), "\a"));
	s->cli.terminal = false;
	assert_null(
	    strchr(stage_run(s, "tail", "--bell", "--after", "0", NULL), '\a'));
	s->cli.terminal = true;
	assert_null(strchr(stage_run(s, "tail", "--after", "0", NULL), '\a'));
	assert_int_equal(setenv("TWINBOX_BELL", "1", 1), 0);
	assert_non_null(
	    strchr(stage_run(s, "tail", "--after", "0", NULL), '\a'));
	assert_int_equal(setenv("TWINBOX_BELL", "0", 1), 0);
	assert_null(strchr(stage_run(s, "tail", "--after", "0", NULL), '\a'));
	assert_int_equal(unsetenv("TWINBOX_BELL"), 0);
	assert_null(strchr(
	    stage_run(s, "tail", "--bell", "--json", "--after", "0", NULL),
	    '\a'));
	s->cli.terminal = false;
}

/* ---- in batches ---- */

static void
play_batches(struct stage *s)
{
	int i;

	stage_welcome(s, "E", 0);
	for (i = 1; i <= 130; i++) {
		message(s, i, "x");
		if (i == 63 || i == 64 || i == 65)
			stage_note("- timer %d", (int)s->timer_ms);
	}
	signalled(s, SIGHUP);
}

static void
test_batches(void **state)
{
	struct stage *s = *state;
	const char *text;
	char *p, *q;

	s->play = play_batches;
	text = stage_run(s, "tail", NULL);
	/* Leave out the lines of messages. */
	for (p = q = s->text; *p != '\0';) {
		size_t n = strcspn(p, "\n") + 1;

		if (*p != '#') {
			memmove(q, p, n);
			q += n;
		}
		p += n;
	}
	*q = '\0';
	assert_string_equal(text, "> stream of tb_ann after \"\" -1, acks\n"
				  "- timer 20\n"
				  "> ack 64\n"
				  "- timer -1\n"
				  "- timer 20\n"
				  "> ack 128\n"
				  "> ack 130\n"
				  "> finish\n"
				  "> stop\n"
				  "= 0\n");
}

/* ---- until caught up ---- */

static void
play_caught_up(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	s->ops->caught_up(s->arg);
}

static void
play_not_once(struct stage *s)
{

	play_caught_up(s);
	stage_note("- it goes on");
	signalled(s, SIGINT);
}

static void
test_once(void **state)
{
	struct stage *s = *state;

	s->play = play_caught_up;
	assert_string_equal(stage_run(s, "tail", "--once", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> ack 1\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	s->play = play_not_once;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"E\" 1, acks\n"
	    "#1     -      bob           one\n"
	    "- it goes on\n"
	    "> ack 1\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
}

/* ---- the connection is lost ---- */

static void
play_losses(struct stage *s)
{

	stage_lost(s, "cannot reach it");
	stage_lost(s, "cannot reach it");
	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_lost(s, "it went away");
	stage_note("- timer %d", (int)s->timer_ms);
	stage_welcome(s, "E", 1);
	signalled(s, SIGINT);
}

static void
play_lost_once(struct stage *s)
{

	stage_lost(s, "cannot reach it");
}

static void
play_busy_once(struct stage *s)
{
	struct fail busy = FAIL_INIT;

	(void)fail_set(&busy, FAIL_TIMEOUT, "it is busy");
	s->ops->lost(s->arg, &busy, 1000);
	stage_note("- it goes on");
	signalled(s, SIGINT);
}

static void
test_lost(void **state)
{
	struct stage *s = *state;

	s->play = play_losses;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "twinbox: tail: cannot reach it; trying again\n"
	    "twinbox: tail: connected again\n"
	    "#1     -      bob           one\n"
	    "> ack 1\n"
	    "twinbox: tail: it went away; trying again\n"
	    "- timer -1\n"
	    "twinbox: tail: connected again\n"
	    "> ack 1\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	s->play = play_lost_once;
	assert_string_equal(stage_run(s, "tail", "--once", NULL),
	    "> stream of tb_ann after \"E\" 1, acks\n"
	    "> finish\n"
	    "> stop\n"
	    "= 69 cannot reach it; start the server, or name another with "
	    "--server URL\n");
	s->play = play_busy_once;
	assert_string_equal(stage_run(s, "tail", "--once", NULL),
	    "> stream of tb_ann after \"E\" 1, acks\n"
	    "twinbox: tail: it is busy; trying again\n"
	    "- it goes on\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
}

/* ---- the server was restored ---- */

static void
play_restored(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	message(s, 2, "two");
	stage_timer(s);
	/* The same event is displayed again, except after a restore. */
	message(s, 3, "two");
	s->ops->epoch_changed(s->arg);
	stage_welcome(s, "F", 0);
	message(s, 1, "one");
	message(s, 2, "other");
	stage_timer(s);
	signalled(s, SIGINT);
}

static void
play_other_epoch(struct stage *s)
{

	stage_welcome(s, "G", 0);
	message(s, 1, "one");
	message(s, 2, "new");
	s->ops->gap(s->arg, 3, 6);
	signalled(s, SIGINT);
}

static void
test_restored(void **state)
{
	struct stage *s = *state;

	s->play = play_restored;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "#2     -      bob           two\n"
	    "> ack 2\n"
	    "#3     -      bob           two\n"
	    "twinbox: tail: the server was restored; reading its inbox again "
	    "from the beginning\n"
	    "#2     -      bob           other\n"
	    "> ack 2\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	/* The welcome has another epoch than the stored one. */
	s->play = play_other_epoch;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"F\" 2, acks\n"
	    "#2     -      bob           new\n"
	    "twinbox: tail: events 3 to 5 are no longer kept\n"
	    "> ack 2\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
}

/* ---- the end ---- */

static void
play_revoked(struct stage *s)
{
	struct fail why = FAIL_INIT;

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	(void)fail_set(&why, FAIL_NOT_LOGGED_IN, "the token was revoked");
	stage_ended(s, &why);
}

static void
test_ended(void **state)
{
	struct stage *s = *state;

	s->play = play_revoked;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> ack 1\n"
	    "> stop\n"
	    "= 77 the token was revoked; twinbox login NAME\n");
}

/* A displayed event cannot be stored: the command ends.  If the stream ends at
 * that moment, its reason is reported. */
static void
play_spoilt(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_spoil(s, "event");
	stage_timer(s);
}

static void
test_not_stored(void **state)
{
	struct stage *s = *state;

	s->play = play_spoilt;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> finish\n"
	    "> stop\n"
	    "= 74 DIR/db: no such table: event; check the disk\n");
}

static void
play_spoilt_stop(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_spoil(s, "event");
	signalled(s, SIGTERM);
}

/* The user ends the command, which then cannot store what it displayed. */
static void
test_not_stored_at_stop(void **state)
{
	struct stage *s = *state;

	s->play = play_spoilt_stop;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> finish\n"
	    "> stop\n"
	    "= 74 DIR/db: no such table: event; check the disk\n");
}

/* The stream has connected again without a wait, of which it does not notify
 * the command. */
static void
play_again_at_once(struct stage *s)
{

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_welcome(s, "E", 1);
	stage_note("- timer %d", (int)s->timer_ms);
	message(s, 2, "two");
	stage_spoil(s, "event");
	stage_welcome(s, "E", 2);
}

static void
test_stored_before_ack(void **state)
{
	struct stage *s = *state;

	s->play = play_again_at_once;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> ack 1\n"
	    "> ack 1\n"
	    "- timer -1\n"
	    "#2     -      bob           two\n"
	    "> finish\n"
	    "> stop\n"
	    "= 74 DIR/db: no such table: event; check the disk\n");
}

static void
play_spoilt_epoch(struct stage *s)
{

	stage_spoil(s, "meta");
	stage_welcome(s, "E", 3);
}

/* Without the epoch in its database, the command does not ack. */
static void
test_epoch_not_stored(void **state)
{
	struct stage *s = *state;

	s->play = play_spoilt_epoch;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "> finish\n"
	    "> stop\n"
	    "= 74 DIR/db: no such table: meta; check the disk\n");
}

static void
play_spoilt_end(struct stage *s)
{
	struct fail why = FAIL_INIT;

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	stage_spoil(s, "event");
	(void)fail_set(&why, FAIL_NOT_LOGGED_IN, "the token was revoked");
	stage_ended(s, &why);
}

static void
test_not_stored_at_end(void **state)
{
	struct stage *s = *state;

	s->play = play_spoilt_end;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "> stop\n"
	    "= 77 the token was revoked; twinbox login NAME\n");
}

/* Events that cannot be printed are not acked. */
static void
play_unprinted(struct stage *s)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	stage_welcome(s, "E", 0);
	message(s, 1, "one");
	(void)dup2(full, STDOUT_FILENO);
	message(s, 2, "two");
	(void)dup2(fileno(s->heard), STDOUT_FILENO);
	__fpurge(stdout);
	clearerr(stdout);
	(void)close(full);
}

static void
test_not_printed(void **state)
{
	struct stage *s = *state;

	s->play = play_unprinted;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"\" -1, acks\n"
	    "#1     -      bob           one\n"
	    "= 74 cannot write the output: No space left on device; check "
	    "where it goes\n");
	s->play = play_nothing;
	assert_string_equal(stage_run(s, "tail", NULL),
	    "> stream of tb_ann after \"E\" 1, acks\n"
	    "> ack 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
}

/* ---- the first event ---- */

static void
test_after(void **state)
{
	struct stage *s = *state;

	s->play = play_nothing;
	stage_answer(s, 200, "{'events':[]}");
	assert_string_equal(stage_run(s, "tail", "--after", "0", NULL),
	    "> GET /v1/inbox?limit=1&after=0 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" 0, acks\n"
	    "> ack 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	stage_answer(s, 410, "{'status':410,'code':'cursor_expired'}");
	assert_string_equal(stage_run(s, "tail", "--after", "7", NULL),
	    "> GET /v1/inbox?limit=1&after=7 timeout=0 patience=0\n"
	    "= 65 Cursor no longer valid; leave --after out, or begin with "
	    "--after 0\n");
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	assert_string_equal(stage_run(s, "tail", "--after", "7", NULL),
	    "> GET /v1/inbox?limit=1&after=7 timeout=0 patience=0\n"
	    "> stream of tb_ann after \"\" 7, acks\n"
	    "> ack 3\n"
	    "> finish\n"
	    "> stop\n"
	    "= 0\n");
	assert_string_equal(stage_run(s, "tail", "--after", "x", NULL),
	    "= 64 --after takes a whole number from 0, not \"x\"; see twinbox "
	    "tail --help\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_shown_and_acked, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_bell, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_batches, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_once, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_lost, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_restored, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_ended, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_not_stored, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_not_stored_at_end, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_not_stored_at_stop, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_stored_before_ack, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_epoch_not_stored, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_not_printed, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_after, stage_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
