/* SPDX-License-Identifier: MIT */
/*
 * send: the message that the arguments make, arguments that are refused, the
 * answers of the server, and the drafts that are kept on this computer for
 * later commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <sysexits.h>

#include "unit/cli_stage.h"

#define ID "01987a1c-0000-7000-8000-0000000000ab"
#define BIG_ID "01987A1C-0000-7000-8000-0000000000AB"
#define POST "POST /v1/messages\n"
#define ACCEPTED "{'id': '" ID "', 'state': 'pending'}"
#define BUSY "{'code': 'busy', 'detail': 'busy'}"
#define FULL "{'code': 'inbox_full', 'detail': 'full'}"
#define UNKNOWN "{'code': 'unknown_recipient', 'detail': 'nobody'}"
#define USAGE(what) what "; see twinbox --help"
#define TEXT(text) "{\"to\":\"bob\",\"body\":\"" text "\",\"id\":\"" ID "\"}\n"

/* ---- the message ---- */

static void
test_message(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("a b  c"), "✓ accepted  to bob: a b  c  " ID "\n",
	    "", "send", "bob", "a", "b ", "c", "--id", BIG_ID);
	assert_null(strstr(played_head(s->played), "Idempotency-Key"));
	played_say_more(
	    s->played, 201, "Idempotency-Replayed: true\r\n", ACCEPTED);
	SHOWS(s, POST "{\"to\":\"bob\",\"body\":\"a\"}\n",
	    "✓ accepted before  to bob: a  " ID "\n", "", "send", "bob", "a",
	    "--key", "order 7");
	assert_non_null(
	    strstr(played_head(s->played), "\r\nIdempotency-Key: order 7\r\n"));
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST "{\"conversation\":\"" ID "\",\"body\":\"a b\"}\n",
	    "{\"id\":\"" ID "\",\"state\":\"pending\"}\n", "", "send", "a", "b",
	    "--conversation", BIG_ID, "--key", "k", "--json");
	/* --in two hours, by the clock of this computer. */
	played_say(s->played, 201, "{'state': 'pending'}");
	SHOWS(s,
	    POST "{\"to\":\"bob\",\"body\":\"a\",\"priority\":\"high\","
		 "\"content_type\":\"text/x\",\"reply_to\":\"r\","
		 "\"correlation_id\":\"c\","
		 "\"metadata\":{\"n\":\"t=u\",\"m\":\"\"},"
		 "\"deliver_at\":\"2030-01-01T02:00:00.000Z\","
		 "\"expires_in\":60}\n",
	    "✓ accepted  to bob: a  ?\n", "", "send", "bob", "a", "--key", "k2",
	    "--priority", "high", "--content-type", "text/x", "--reply-to", "r",
	    "--correlation-id", "c", "--metadata", "n=t=u", "--metadata",
	    "m=", "--in", "2h", "--expires-in", "1m");
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s,
	    POST "{\"to\":\"bob\",\"body\":\"a\","
		 "\"deliver_at\":\"2031-02-03T04:05:06.000Z\"}\n",
	    "✓ accepted  to bob: a  " ID "\n", "", "send", "bob", "a", "--key",
	    "k3", "--at", "2031-02-03T04:05:06Z");
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s,
	    POST "{\"to\":\"bob\",\"body\":\"a\","
		 "\"deliver_at\":\"2030-01-01T00:00:00.000Z\","
		 "\"expires_in\":0}\n",
	    "✓ accepted  to bob: a  " ID "\n", "", "send", "bob", "a", "--key",
	    "k4", "--in", "0s", "--expires-in", "0s");
}

/* People see the recipient and the text, cut to the terminal's width. */
static void
test_shown(void **state)
{
	struct stage *s = *state;
	char text[81], said[300], asked[300];

	memset(text, 'x', 80);
	text[80] = '\0';
	played_say(s->played, 201, ACCEPTED);
	(void)snprintf(asked, sizeof(asked),
	    POST "{\"to\":\"bob\",\"body\":\"%s\"}\n", text);
	(void)snprintf(
	    said, sizeof(said), "✓ accepted  to bob: %.59s…  " ID "\n", text);
	SHOWS(s, asked, said, "", "send", "bob", text, "--key", "a");
	s->terminal = true;
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s,
	    POST "{\"to\":\"bob\",\"body\":\"a\\u001B[2Jb\\nc and more\"}\n",
	    "✓ accepted  to bob: a\\x1b[2Jb\\nc and more  " ID "\n", "", "send",
	    "bob", "a\033[2Jb\nc and more", "--key", "b");
	played_say(s->played, 201, ACCEPTED);
	(void)snprintf(
	    said, sizeof(said), "✓ accepted  to bob: %.21s…  " ID "\n", text);
	SHOWS(s, asked, said, "", "send", "bob", text, "--key", "e");
	/* The server's answer names the other user of a conversation; a group
	 * has no name. */
	played_say(s->played, 201, "{'id': '" ID "', 'to': 'carol'}");
	SHOWS(s, POST "{\"conversation\":\"" ID "\",\"body\":\"a\"}\n",
	    "✓ accepted  to carol: a  " ID "\n", "", "send", "a",
	    "--conversation", ID, "--key", "c");
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST "{\"conversation\":\"" ID "\",\"body\":\"a\"}\n",
	    "✓ accepted  to the group: a  " ID "\n", "", "send", "a",
	    "--conversation", ID, "--key", "d");
}

/* A message without --id and --key gets an id of its own. */
static void
test_own_id(void **state)
{
	static const char begin[] = POST "{\"to\":\"bob\",\"body\":\"a\","
					 "\"id\":\"";
	struct stage *s = *state;
	char first[200];

	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "a"), RC_OK);
	(void)snprintf(first, sizeof(first), "%s", played_asked(s->played));
	assert_memory_equal(first, begin, strlen(begin));
	/* A UUIDv7 of 1 Jan 2030. */
	assert_memory_equal(first + strlen(begin), "01b8dac5-b400-7", 15);
	assert_string_equal(first + strlen(begin) + 36, "\"}\n");
	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "a"), RC_OK);
	assert_string_not_equal(played_asked(s->played), first);
}

static void
test_input(void **state)
{
	static const struct {
		const char *input;
		const char *body;
	} table[] = {{"one\ntwo\n", "one\\ntwo"}, {"one", "one"},
	    {"\n\n", "\\n"}, {" \n", " "}};
	struct stage *s = *state;
	char asked[200], said[200], key[8], *long_text;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		s->input = table[i].input;
		(void)snprintf(key, sizeof(key), "k%zu", i);
		(void)snprintf(asked, sizeof(asked),
		    POST "{\"to\":\"bob\",\"body\":\"%s\"}\n", table[i].body);
		played_say(s->played, 201, ACCEPTED);
		(void)snprintf(said, sizeof(said),
		    "✓ accepted  to bob: %s  " ID "\n", table[i].body);
		SHOWS(s, asked, said, "", "send", "bob", "-", "--key", key);
	}
	/* Followed by more words, "-" is a part of the text. */
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("- a"), "✓ accepted  to bob: - a  " ID "\n", "",
	    "send", "bob", "-", "a", "--id", ID);
	for (i = 0; i < 2; i++) {
		s->input = i == 0 ? "" : "\n";
		REFUSES(s, "", EX_DATAERR, "the text is empty; say something",
		    "send", "bob", "-");
	}
	s->input = "a\xff";
	REFUSES(s, "", EX_DATAERR,
	    "the text is not text in UTF-8; convert it, for example with "
	    "iconv",
	    "send", "bob", "-");
	REFUSES(s, "", EX_USAGE,
	    "the recipient is not in UTF-8; see twinbox send --help", "send",
	    "\xff", "a");
	REFUSES(s, "", EX_USAGE,
	    "the value of --reply-to is not in UTF-8; see twinbox send --help",
	    "send", "bob", "a", "--reply-to", "\xff");
	REFUSES(s, "", EX_USAGE,
	    "the value of --key is not in UTF-8; see twinbox send --help",
	    "send", "bob", "a", "--key", "\xff");
	long_text = test_calloc(1, 16384 + 2);
	memset(long_text, 'x', 16384 + 1);
	s->input = long_text;
	REFUSES(s, "", EX_DATAERR,
	    "the text is longer than 16384 bytes; send less in one message",
	    "send", "bob", "-");
	long_text[16384] = '\n';
	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "-"), RC_OK);
	assert_true(strlen(played_asked(s->played)) > 16384);
	long_text[16384] = '\0';
	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "-"), RC_OK);
	(void)played_asked(s->played);
	test_free(long_text);
}

/* ---- messages that are refused here ---- */

static void
test_mistakes(void **state)
{
	static const char at[] =
	    "--at takes a time such as 2030-01-31T09:00:00Z, and stands "
	    "without --in; see twinbox send --help";
	static const char none[] =
	    "there is no text to send; twinbox send TO TEXT, or - to read it "
	    "from standard input";
	struct stage *s = *state;

	REFUSES(s, "", EX_USAGE, none, "send", "bob");
	REFUSES(s, "", EX_DATAERR, "the text is empty; say something", "send",
	    "bob", "");
	REFUSES(s, "", EX_USAGE, at, "send", "bob", "a", "--at", "soon");
	REFUSES(s, "", EX_USAGE, at, "send", "bob", "a", "--at",
	    "2031-02-03T04:05:06Z", "--in", "0s");
	REFUSES(s, "", EX_USAGE,
	    "--in takes a time such as 30s, 5m, 2h or 3d, not \"x\"; see "
	    "twinbox send --help",
	    "send", "bob", "a", "--in", "x");
	REFUSES(s, "", EX_USAGE,
	    "--expires-in takes a time such as 30s, 5m, 2h or 3d, not "
	    "\"x\"; see twinbox send --help",
	    "send", "bob", "a", "--expires-in", "x");
	REFUSES(s, "", EX_USAGE, USAGE("--metadata takes NAME=TEXT"), "send",
	    "bob", "a", "--metadata", "a=b", "--metadata", "name");
	REFUSES(s, "", EX_USAGE, USAGE("--metadata takes NAME=TEXT"), "send",
	    "bob", "a", "--metadata==text");
	REFUSES(s, "", EX_USAGE, USAGE("--id and --key exclude each other"),
	    "send", "bob", "a", "--id", ID, "--key", "k");
	REFUSES(s, "", EX_USAGE,
	    "--id \"x\" is not a valid UUID; copy it whole: 8-4-4-4-12 hex digits",
	    "send", "bob", "a", "--id", "x");
	REFUSES(s, "", EX_USAGE,
	    "--conversation \"x\" is not a valid UUID; copy it whole: 8-4-4-4-12 hex "
	    "digits",
	    "send", "a", "--conversation", "x");
	REFUSES(s, "", EX_USAGE,
	    "--wait takes \"delivered\" or \"read\"; see twinbox send --help",
	    "send", "bob", "a", "--wait", "seen");
	REFUSES(s, "", EX_USAGE,
	    "--try-for takes a time such as 30s, 5m, 2h or 3d, not \"x\"; "
	    "see twinbox send --help",
	    "send", "bob", "a", "--try-for", "x");
}

static void
test_keys(void **state)
{
	static const char *const bad[] = {"", "a\nb", "a\rb"};
	struct stage *s = *state;
	char key[257];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSES(s, "", EX_USAGE,
		    USAGE("--key takes a text of 1 to 255 bytes"), "send",
		    "bob", "a", "--key", bad[i]);
	memset(key, 'k', sizeof(key));
	key[256] = '\0';
	REFUSES(s, "", EX_USAGE, USAGE("--key takes a text of 1 to 255 bytes"),
	    "send", "bob", "a", "--key", key);
	key[255] = '\0';
	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "a", "--key", key), RC_OK);
	assert_non_null(strstr(played_head(s->played), key));
	(void)played_asked(s->played);
}

/* Leaves a draft that the server has refused ${times} times for now. */
static void
keep(struct stage *s, int times)
{

	while (times-- > 0) {
		played_say(s->played, 503, BUSY);
		assert_int_not_equal(
		    RUN(s, "send", "bob", "a", "--id", ID, "--try-for", "0s"),
		    RC_OK);
	}
	(void)played_asked(s->played);
}

static void
assert_nothing_waits(struct stage *s)
{

	played_say(s->played, 200, "{}");
	SHOWS(s, "GET /v1/outbox?limit=50\n", "{\"waiting_here\":[]}\n", "",
	    "outbox", "--json", "--page");
}

/* ---- results ---- */

static void
test_refused(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 422, UNKNOWN);
	REFUSES(s, POST TEXT("a"), EX_NOUSER,
	    "nobody; check the spelling of the address", "send", "bob", "a",
	    "--id", ID);
	assert_string_equal(s->out, "");
	/* The message is not kept. */
	played_say(s->played, 200, "{'entries': []}");
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "{\"entries\":[],\"waiting_here\":[]}\n", "", "outbox", "--json",
	    "--page");
	/* Nor does an id that stands for another text here. */
	REFUSES(s, "", EX_DATAERR,
	    "this id or key was used for another text; use a fresh --id or "
	    "--key",
	    "send", "bob", "b", "--id", ID);
}

static void
test_kept(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 503, BUSY);
	REFUSES(s, POST TEXT("a"), EX_TEMPFAIL,
	    "not sent yet: busy; it is kept as " ID
	    " and goes out with the next twinbox command",
	    "send", "bob", "a", "--id", ID, "--try-for", "0s");
	assert_string_equal(s->waits, "");
	/* People see it before the entries of the server. */
	played_say(s->played, 200, "{'entries': [{'id': 'x', 'to': 'eve'}]}");
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "STATE    TO   CREATED  TEXT  LAST ERROR  ID\n"
	    "waiting  bob  00:00    a     busy        " ID "\n"
	    "?        eve                             x\n",
	    "", "outbox");
	played_say(s->played, 200, "{'entries': []}");
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "{\"entries\":[],\"waiting_here\":[{\"id\":\"" ID
	    "\",\"to\":\"bob\",\"state\":\"waiting\","
	    "\"created_at\":\"2030-01-01T00:00:00.000Z\",\"attempts\":1,"
	    "\"last_error\":\"busy\"}]}\n",
	    "", "outbox", "--json", "--page");
	/* So they do if the server's list cannot be read, which is a
	 * failure. */
	played_say(s->played, 500, "{'code': 'internal', 'detail': 'oh'}");
	REFUSES(s, "GET /v1/outbox?limit=50\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "outbox");
	assert_string_equal(s->out,
	    "STATE    TO   CREATED  TEXT  LAST ERROR  ID\n"
	    "waiting  bob  00:00    a     busy        " ID "\n");
	played_say(s->played, 500, "{'code': 'internal', 'detail': 'oh'}");
	REFUSES(s, "GET /v1/outbox?limit=50\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "outbox", "--json", "--page");
	assert_string_equal(s->out, "");
	/* A message in the server's list does not count as waiting here,
	 * although the answer to it was lost. */
	played_say(s->played, 200,
	    "{'entries': [{'id': '" ID "', 'to': 'bob', 'state': 'sent'}]}");
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "STATE  TO   CREATED  TEXT  ID\n"
	    "sent   bob           a     " ID "\n",
	    "", "outbox");
	assert_nothing_waits(s);
	keep(s, 1);
	/* The next message does not overtake the draft, and its command reports
	 * both. */
	played_say(s->played, 201, "{'id': 'first'}");
	played_say(s->played, 201, "{'id': 'second'}");
	SHOWS(s, POST TEXT("a") POST "{\"to\":\"bob\",\"body\":\"b\"}\n",
	    "✓ accepted  to bob: b  second\n",
	    "twinbox: send: an earlier message to bob has gone out\n", "send",
	    "bob", "b", "--key", "k");
}

/* A message is kept, too, if only the user can remove the obstacle. */
static void
test_not_logged_in(void **state)
{
	struct stage *s = *state;

	played_say(
	    s->played, 401, "{'code': 'unauthenticated', 'detail': 'who?'}");
	REFUSES(s, POST TEXT("a"), EX_NOPERM,
	    "this device was logged out; the message is kept here; log in "
	    "again: twinbox login NAME",
	    "send", "bob", "a", "--id", ID);
	played_say(s->played, 404, "<html>");
	REFUSES(s, POST TEXT("a"), EX_PROTOCOL,
	    "the server answered HTTP 404 without saying why; the message is "
	    "kept here",
	    "send", "bob", "a", "--id", ID);
	played_say(s->played, 422, UNKNOWN);
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("a") POST "{\"to\":\"eve\",\"body\":\"b\"}\n",
	    "✓ accepted  to eve: b  " ID "\n",
	    "twinbox: send: an earlier message to bob was refused: nobody\n",
	    "send", "eve", "b", "--key", "k");
}

/* send tries for the time that --try-for gives. */
static void
test_tries(void **state)
{
	struct stage *s = *state;

	played_say_more(s->played, 503, "Retry-After: 20\r\n", BUSY);
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("a") POST TEXT("a"),
	    "✓ accepted  to bob: a  " ID "\n", "", "send", "bob", "a", "--id",
	    ID, "--try-for", "1m");
	assert_string_equal(s->waits, "20000 ");
	/* The default is 15 seconds. */
	played_say_more(s->played, 503, "Retry-After: 16\r\n", BUSY);
	REFUSES(s, POST TEXT("a"), EX_TEMPFAIL,
	    "not sent yet: busy; it is kept as " ID
	    " and goes out with the next twinbox command",
	    "send", "bob", "a", "--id", ID);
	assert_string_equal(s->waits, "");
	played_say_more(s->played, 503, "Retry-After: 14\r\n", BUSY);
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("a") POST TEXT("a"),
	    "✓ accepted  to bob: a  " ID "\n", "", "send", "bob", "a", "--id",
	    ID);
	assert_string_equal(s->waits, "14000 ");
}

/* send does not wait for a message that is held because another recipient's
 * inbox is full. */
static void
test_others_wait(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 507, FULL);
	REFUSES(s, POST TEXT("a"), EX_TEMPFAIL,
	    "not sent yet: full; it is kept as " ID
	    " and goes out with the next twinbox command",
	    "send", "bob", "a", "--id", ID, "--try-for", "0s");
	played_say(s->played, 507, FULL);
	played_say(s->played, 201, "{'id': 'i'}");
	played_say(s->played, 200, "{'state': 'acked'}");
	SHOWS(s,
	    POST TEXT("a") POST "{\"to\":\"eve\",\"body\":\"b\"}\n"
				"GET /v1/outbox/i?wait=0\n",
	    "✓ accepted  to eve: b  i\n✓✓ delivered\n", "", "send", "eve", "b",
	    "--key", "k", "--wait", "delivered");
	assert_string_equal(s->waits, "");
	/* Nor does the retry of another message. */
	played_say(s->played, 503, BUSY);
	REFUSES(s, POST TEXT("a"), EX_TEMPFAIL,
	    "not sent yet: busy; it is kept as key:l and goes out with the "
	    "next twinbox command",
	    "send", "eve", "c", "--key", "l", "--try-for", "0s");
	played_say(s->played, 201, ACCEPTED);
	played_say(s->played, 507, FULL);
	SHOWS(s, POST TEXT("a") POST "{\"to\":\"eve\",\"body\":\"c\"}\n",
	    "{\"id\":\"" ID "\"}\n", "", "outbox", "retry", ID, "--json");
}

/* Another process settles the draft each time before this one can: the command
 * makes it a draft again, ten times at most. */
static void
test_settled_elsewhere(void **state)
{
	struct stage *s = *state;
	char path[PATH_MAX];
	sqlite3_stmt *count;
	sqlite3 *db;

	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "a", "--key", "k"), RC_OK);
	(void)played_asked(s->played);
	assert_int_equal(
	    profile_state_path(&s->profile, path, &s->fail), RC_OK);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db,
		"CREATE TABLE seen (ref TEXT);"
		"CREATE TRIGGER added AFTER INSERT ON outbox BEGIN"
		" UPDATE outbox SET state = 'answered'"
		" WHERE ref = NEW.ref; END;"
		"CREATE TRIGGER again AFTER UPDATE OF state ON outbox"
		" WHEN NEW.state = 'waiting' BEGIN"
		" INSERT INTO seen VALUES (NEW.ref);"
		" UPDATE outbox SET state = 'answered'"
		" WHERE ref = NEW.ref; END",
		NULL, NULL, NULL),
	    SQLITE_OK);
	REFUSES(s, "", EX_SOFTWARE,
	    "the message is gone from the own outbox; report this as a bug",
	    "send", "bob", "b", "--id", ID);
	assert_int_equal(sqlite3_prepare_v2(
			     db, "SELECT count(*) FROM seen", -1, &count, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(count), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(count, 0), 10);
	(void)sqlite3_finalize(count);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- canceling, retrying ---- */

static void
test_cancel(void **state)
{
	struct stage *s = *state;
	struct local_draft draft = {.ref = ID, .recipient = "bob"};
	char path[PATH_MAX];
	struct local *local;

	/* A message that was tried may have arrived although the answer was
	 * lost, so the cancel goes to the server. */
	keep(s, 1);
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'no'}");
	SHOWS(s, "DELETE /v1/outbox/" ID "\n", "canceled " ID "\n", "",
	    "outbox", "cancel", ID);
	assert_nothing_waits(s);
	keep(s, 1);
	played_say(s->played, 200, "{'id': 'i', 'state': 'canceled'}");
	SHOWS(s, "DELETE /v1/outbox/" ID "\n",
	    "{\"id\":\"i\",\"state\":\"canceled\"}\n", "", "outbox", "cancel",
	    ID, "--json");
	assert_nothing_waits(s);
	keep(s, 1);
	played_say(s->played, 409, "{'code': 'already_sent', 'detail': 'no'}");
	REFUSES(s, "DELETE /v1/outbox/" ID "\n", EX_DATAERR,
	    "no; what has left cannot be canceled", "outbox", "cancel", ID);
	played_say(s->played, 201, "{'id': 'i'}");
	SHOWS(s, POST TEXT("a"), "trying " ID " again\n", "", "outbox", "retry",
	    ID);
	assert_nothing_waits(s);
	/* A message that was never tried exists on this computer alone. */
	assert_int_equal(
	    profile_state_path(&s->profile, path, &s->fail), RC_OK);
	assert_int_equal(local_open(path, &local, &s->fail), RC_OK);
	assert_int_equal(local_outbox_remove(local, ID, &s->fail), RC_OK);
	draft.request = json_pack("{ss}", "id", ID);
	assert_int_equal(local_outbox_add(local, &draft, &s->fail), RC_OK);
	json_decref(draft.request);
	local_close(local);
	SHOWS(s, "", "{\"id\":\"" ID "\",\"state\":\"canceled\"}\n", "",
	    "outbox", "cancel", ID, "--json");
	assert_nothing_waits(s);
}

static void
test_retry(void **state)
{
	struct stage *s = *state;

	keep(s, 2);
	played_say(s->played, 503, BUSY);
	REFUSES(s, POST TEXT("a"), EX_TEMPFAIL, "busy; repeat in a moment",
	    "outbox", "retry", ID);
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, POST TEXT("a"), "{\"id\":\"" ID "\"}\n", "", "outbox", "retry",
	    ID, "--json");
	assert_nothing_waits(s);
	/* From now on the message is the server's. */
	played_say(s->played, 200, "{'id': 'i'}");
	SHOWS(s, "POST /v1/outbox/" ID "/retry\n", "trying " ID " again\n", "",
	    "outbox", "retry", ID);
}

/* ---- another epoch ---- */

/* A server that was restored gets own messages again. */
static void
test_restored(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'epoch': 'E', 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=50\n", "", "", "inbox");
	played_say(s->played, 201, ACCEPTED);
	assert_int_equal(RUN(s, "send", "bob", "a", "--id", ID), RC_OK);
	(void)played_asked(s->played);
	played_say(s->played, 200, "{'epoch': 'F', 'events': []}");
	played_say(s->played, 201, ACCEPTED);
	SHOWS(s, "GET /v1/inbox?limit=50\n" POST TEXT("a"), "",
	    "twinbox: inbox: the server was restored; it gets your messages "
	    "again\n"
	    "twinbox: inbox: an earlier message to bob has gone out\n",
	    "inbox");
	played_say(s->played, 200, "{'epoch': 'G', 'events': []}");
	played_say(s->played, 503, BUSY);
	SHOWS(s, "GET /v1/inbox?limit=50\n" POST TEXT("a"), "",
	    "twinbox: inbox: the server was restored; it gets your messages "
	    "again\n"
	    "twinbox: inbox: messages still wait here: busy\n",
	    "inbox");
	played_say(s->played, 200, "{'epoch': 'G', 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=50\n", "", "", "inbox");
}

/* ---- waiting for delivery ---- */

static void
test_wait(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 201, ACCEPTED);
	played_say(s->played, 200, "{'state': 'acked'}");
	SHOWS(s, POST TEXT("a") "GET /v1/outbox/" ID "?wait=0\n",
	    "✓ accepted  to bob: a  " ID "\n✓✓ delivered\n", "", "send", "bob",
	    "a", "--id", ID, "--wait", "delivered");
	played_say(s->played, 201, ACCEPTED);
	played_say(s->played, 200, "{'state': 'acked', 'labels': ['read']}");
	SHOWS(s, POST TEXT("a") "GET /v1/outbox/" ID "?wait=0\n",
	    "✓ accepted  to bob: a  " ID "\n✓✓ read\n", "", "send", "bob", "a",
	    "--id", ID, "--wait", "read");
	played_say(s->played, 201, ACCEPTED);
	played_say(s->played, 200, "{'state': 'acked'}");
	SHOWS(s, POST TEXT("a") "GET /v1/outbox/" ID "?wait=0\n",
	    "{\"state\":\"acked\"}\n", "", "send", "bob", "a", "--id", ID,
	    "--wait", "delivered", "--json");
	played_say(s->played, 201, "{'state': 'pending'}");
	REFUSES(s, POST TEXT("a"), EX_PROTOCOL,
	    "the server's answer has no id; check that --server names a twinbox "
	    "server",
	    "send", "bob", "a", "--id", ID, "--wait", "read");
	/* Nothing was sent, now or later. */
	REFUSES(s, "", EX_USAGE,
	    "--timeout takes a time such as 30s, 5m, 2h or 3d, not \"x\"; "
	    "see twinbox send --help",
	    "send", "bob", "a", "--id", ID, "--wait", "read", "--timeout", "x");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_message),
	    TEST(test_shown),
	    TEST(test_own_id),
	    TEST(test_input),
	    TEST(test_mistakes),
	    TEST(test_keys),
	    TEST(test_refused),
	    TEST(test_kept),
	    TEST(test_not_logged_in),
	    TEST(test_tries),
	    TEST(test_others_wait),
	    TEST(test_settled_elsewhere),
	    TEST(test_cancel),
	    TEST(test_retry),
	    TEST(test_restored),
	    TEST(test_wait),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
