/* SPDX-License-Identifier: MIT */
/*
 * The admin commands: their requests, their output for people and for programs,
 * and their errors. test_client_admin_view.c tests the look of the tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "unit/cli_stage.h"

#define ID "01987a1c-0000-7000-8000-0000000000ab"
#define BIG_ID "01987A1C-0000-7000-8000-0000000000AB"
#define ADMIN "/v1/admin/"
#define NOT_FOUND "{'code': 'not_found', 'detail': 'it is not there'}"
#define CONFLICT "{'code': 'conflict', 'detail': 'it has left'}"

/* ---- lists ---- */

static void
test_list_filters(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'entries': [], 'next': null}");
	SHOWS(s, "GET " ADMIN "outbox?state=acked&limit=50\n", "", "", "admin",
	    "outbox", "--state", "delivered");
	played_say(s->played, 200, "{'entries': [], 'next': null}");
	SHOWS(s,
	    "GET " ADMIN "outbox?state=sent&destination=d&sender=u&stuck=60s"
	    "&near_failure=0&before=b%2F&limit=1\n",
	    "{\"entries\":[],\"next\":null}\n", "", "admin", "outbox",
	    "--state", "sent", "--destination", "d", "--sender", "u", "--stuck",
	    "1m", "--near-failure", "0", "--before", "b/", "--limit", "1",
	    "--json", "--page");
	played_say(s->played, 200, "{'dead_letters': [], 'next': null}");
	SHOWS(s,
	    "GET " ADMIN "dead-letters?reason=poison&resolved=any"
	    "&limit=200\n",
	    "", "", "admin", "dlq", "--reason", "poison", "--resolved", "any",
	    "--limit", "200");
	played_say(s->played, 200, "{'lanes': [], 'next': null}");
	SHOWS(s, "GET " ADMIN "lanes?after=7&limit=50\n", "", "", "admin",
	    "lanes", "--after", "7");
	REFUSES(s, "", EX_USAGE,
	    "--stuck takes a time such as 30s, 5m, 2h or 3d, not \"x\"; see "
	    "twinbox admin outbox --help",
	    "admin", "outbox", "--stuck", "x");
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 100000, not \"0\"; see "
	    "twinbox admin outbox --help",
	    "admin", "outbox", "--limit", "0");
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 100000, not \"100001\"; "
	    "see twinbox admin outbox --help",
	    "admin", "outbox", "--limit", "100001");
	REFUSES(s, "", EX_USAGE,
	    "--near-failure takes a whole number from 0 to 1000, not "
	    "\"1001\"; see twinbox admin outbox --help",
	    "admin", "outbox", "--near-failure", "1001");
}

/* At a terminal a note says that a list is empty, or that there is more. */
static void
test_list_notes(void **state)
{
	static const char user[] =
	    "NAME  DISPLAY NAME  ROLE  DEVICES  PENDING  CREATED\n"
	    "ann                             -        -  -\n";
	static const struct {
		const char *next;
		const char *note;
	} table[] = {
	    {"'z'", "twinbox: admin users: there is more: --after z\n"},
	    {"12", "twinbox: admin users: there is more: --after 12\n"},
	    {"'a\\u001bb'",
		"twinbox: admin users: there is more: --after a\\x1bb\n"},
	    {"null", ""},
	    {"1.5", ""},
	};
	struct stage *s = *state;
	char answer[100];
	size_t i;

	s->terminal = true;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		(void)snprintf(answer, sizeof(answer),
		    "{'users': [{'name': 'ann'}], 'next': %s}", table[i].next);
		played_say(s->played, 200, answer);
		SHOWS(s, "GET " ADMIN "users?limit=1\n", user, table[i].note,
		    "admin", "users", "--limit", "1");
	}
	played_say(s->played, 200, "{'users': [], 'next': null}");
	SHOWS(s, "GET " ADMIN "users?limit=50\n", "",
	    "twinbox: admin users: nothing\n", "admin", "users");
	played_say(s->played, 200, "{'entries': [{}], 'next': 'y'}");
	SHOWS(s, "GET " ADMIN "audit?limit=1\n",
	    "WHEN  WHO  DID  TO\n-     ?    ?\n",
	    "twinbox: admin audit: there is more: --before y\n", "admin",
	    "audit", "--limit", "1");
	played_say(s->played, 200, "{'users': [{'name': 'ann'}], 'next': 'z'}");
	SHOWS(s, "GET " ADMIN "users?limit=1\n",
	    "{\"users\":[{\"name\":\"ann\"}],\"next\":\"z\"}\n", "", "admin",
	    "users", "--limit", "1", "--json", "--page");
	played_say(s->played, 200, "{'users': [{'n': 1}, {'n': 2}]}");
	SHOWS(s, "GET " ADMIN "users?limit=50\n", "{\"n\":1}\n{\"n\":2}\n", "",
	    "admin", "users", "--json");
	s->terminal = false;
	played_say(s->played, 200, "{'users': [{'name': 'ann'}], 'next': 'z'}");
	SHOWS(s, "GET " ADMIN "users?limit=1\n", user, "", "admin", "users",
	    "--limit", "1");
}

/* A list is read page by page until it has the wanted number of rows. */
static void
test_list_pages(void **state)
{
	char longest[600], answer[700], asked[700];
	struct stage *s = *state;

	played_say(
	    s->played, 200, "{'users': [{'n': 1}, {'n': 2}], 'next': 'b'}");
	played_say(s->played, 200, "{'users': [], 'next': 5}");
	played_say(s->played, 200, "{'users': [{'n': 3}], 'next': 'x y'}");
	SHOWS(s,
	    "GET " ADMIN "users?limit=3\nGET " ADMIN "users?after=b&limit=1\n"
	    "GET " ADMIN "users?after=5&limit=1\n",
	    "{\"users\":[{\"n\":1},{\"n\":2},{\"n\":3}],\"next\":\"x y\"}\n",
	    "", "admin", "users", "--limit", "3", "--json", "--page");
	/* A cursor that does not change ends the list. */
	played_say(s->played, 200, "{'entries': [{'n': 1}], 'next': 9}");
	played_say(s->played, 200, "{'entries': [{'n': 2}], 'next': 9}");
	SHOWS(s,
	    "GET " ADMIN "audit?limit=200\n"
	    "GET " ADMIN "audit?before=9&limit=200\n",
	    "{\"entries\":[{\"n\":1},{\"n\":2}],\"next\":9}\n", "", "admin",
	    "audit", "--limit", "201", "--json", "--page");
	/* A text that is too long to be a cursor is a failure. */
	memset(longest, 'c', sizeof(longest));
	longest[512] = '\0';
	(void)snprintf(
	    answer, sizeof(answer), "{'users': [], 'next': '%s'}", longest);
	played_say(s->played, 200, answer);
	REFUSES(s, "GET " ADMIN "users?limit=50\n", EX_PROTOCOL,
	    "the server's cursor for the next page is too long; check that "
	    "--server names a twinbox server",
	    "admin", "users");
	longest[511] = '\0';
	(void)snprintf(
	    answer, sizeof(answer), "{'users': [], 'next': '%s'}", longest);
	played_say(s->played, 200, answer);
	played_say(s->played, 200, "{'users': [], 'next': null}");
	(void)snprintf(asked, sizeof(asked),
	    "GET " ADMIN "users?limit=50\n"
	    "GET " ADMIN "users?after=%s&limit=50\n",
	    longest);
	SHOWS(s, asked, "", "", "admin", "users");
	/* A list that cannot be read completely is not printed. */
	played_say(s->played, 200, "{'users': [{'n': 1}], 'next': 'b'}");
	played_say(s->played, 200, "{'users': 7}");
	REFUSES(s,
	    "GET " ADMIN "users?limit=50\n"
	    "GET " ADMIN "users?after=b&limit=49\n",
	    EX_PROTOCOL,
	    "the server's answer has no users; check that --server names a "
	    "twinbox server",
	    "admin", "users");
	assert_string_equal(s->out, "");
}

/* Ages are relative to the server's clock. */
static void
test_clock(void **state)
{
	struct stage *s = *state;

	played_say_more(s->played, 200,
	    "Date: Tue, 01 Jan 2030 00:03:20 GMT\r\n",
	    "{'entries': [{'id': 'i', 'state': 'sent',"
	    " 'created_at': '2030-01-01T00:00:00Z'}], 'next': null}");
	SHOWS(s, "GET " ADMIN "outbox?limit=50\n",
	    "ID  STATE  TRIES     AGE  NEXT TRY\n"
	    "i   sent       -  3m 20s\n    ? → group\n",
	    "", "admin", "outbox");
	played_say(s->played, 200,
	    "{'entries': [{'id': 'i', 'state': 'sent',"
	    " 'created_at': '2029-12-31T23:59:00Z'}], 'next': null}");
	SHOWS(s, "GET " ADMIN "outbox?limit=50\n",
	    "ID  STATE  TRIES  AGE  NEXT TRY\n"
	    "i   sent       -   1m\n    ? → group\n",
	    "", "admin", "outbox");
}

/* ---- output ---- */

static void
test_users_changed(void **state)
{
	static const struct {
		const char *word, *said;
	} verbs[] = {{"disable", "ann is disabled\n"},
	    {"enable", "ann is enabled\n"},
	    {"promote", "ann is an administrator\n"},
	    {"demote", "ann is no longer an administrator\n"}};
	static const char *const bad[][3] = {
	    {"demote"}, {"ann"}, {"delete", "ann"}, {"Demote", "ann"}};
	struct stage *s = *state;
	char asked[80];
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		(void)snprintf(asked, sizeof(asked),
		    "POST " ADMIN "users/ann/%s\n{}\n", verbs[i].word);
		played_say(s->played, 200, "{}");
		SHOWS(s, asked, verbs[i].said, "", "admin", "users",
		    verbs[i].word, "ann");
	}
	played_say(s->played, 200, "{'name': 'ann'}");
	SHOWS(s, "POST " ADMIN "users/ann/demote\n{}\n", "{\"name\":\"ann\"}\n",
	    "", "admin", "users", "demote", "ann", "--json");
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'none'}");
	REFUSES(s, "POST " ADMIN "users/%1B/enable\n{}\n", EX_DATAERR,
	    "none; twinbox admin users lists them", "admin", "users", "enable",
	    "\033");
	played_say(s->played, 409, "{'code': 'conflict', 'detail': 'is so'}");
	REFUSES(s, "POST " ADMIN "users/ann/demote\n{}\n", EX_DATAERR,
	    "is so; see twinbox admin users", "admin", "users", "demote",
	    "ann");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSES(s, "", EX_USAGE,
		    "\"disable\", \"enable\", \"promote\", \"demote\" and "
		    "\"password\" take a NAME; see twinbox admin users --help",
		    "admin", "users", bad[i][0], bad[i][1]);
}

#define ONCE                                                                   \
	"{'name': 'ann', 'password': 'K7QM-X2RT', 'expires_at': "              \
	"'2030-01-02T00:00:00Z'}"

static void
test_users_password(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, ONCE);
	SHOWS(s, "POST " ADMIN "users/ann/password\n{}\n",
	    "one-time password of ann: K7QM-X2RT\n"
	    "It is good for one log-in until 02 Jan 00:00:00, and is shown only "
	    "here. All devices of ann are logged out.\n",
	    "", "admin", "users", "password", "ann");
	played_say(s->played, 200, ONCE);
	SHOWS(s, "POST " ADMIN "users/ann/password\n{}\n",
	    "{\"name\":\"ann\",\"password\":\"K7QM-X2RT\",\"expires_at\":"
	    "\"2030-01-02T00:00:00Z\"}\n",
	    "", "admin", "users", "password", "ann", "--json");
	played_say(s->played, 200, "{'name': 'ann'}");
	REFUSES(s, "POST " ADMIN "users/ann/password\n{}\n", EX_PROTOCOL,
	    "the server gave no password; check that --server names a twinbox "
	    "server",
	    "admin", "users", "password", "ann");
	played_say(s->played, 409,
	    "{'code': 'conflict', 'detail': 'ann is disabled'}");
	REFUSES(s, "POST " ADMIN "users/ann/password\n{}\n", EX_DATAERR,
	    "ann is disabled; see twinbox admin users", "admin", "users",
	    "password", "ann");
}

static void
test_stats_and_destinations(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'states': {'pending': 7}}");
	SHOWS(s, "GET " ADMIN "stats\n", "{\"states\":{\"pending\":7}}\n", "",
	    "admin", "stats", "--json");
	played_say(s->played, 200, "{'states': {'pending': 7}}");
	assert_int_equal(RUN(s, "admin", "stats"), RC_OK);
	assert_memory_equal(s->out, "pending       7\n", 16);
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	REFUSES(s, "GET " ADMIN "stats\nGET " ADMIN "stats\n", EX_NOPERM,
	    "no; log in as an administrator (the operator makes one: "
	    "twinboxd user promote NAME)",
	    "admin", "stats");
	played_say(s->played, 200,
	    "{'destinations': [{'name': 'a'}], 'age_limits_ms': [],"
	    " 'next': 'a'}");
	played_say(
	    s->played, 200, "{'destinations': [{'name': 'b'}], 'next': null}");
	SHOWS(s,
	    "GET " ADMIN "destinations?limit=200\n"
	    "GET " ADMIN "destinations?after=a&limit=200\n",
	    "DESTINATION  BREAKER  SENDING  PENDING  OLDEST  LIMIT  READY\n"
	    "a            -              -        -       -      -      -\n"
	    "b            -              -        -       -      -      -\n"
	    "\nPENDING BY AGE  ALL\na                 0\nb                 0\n",
	    "", "admin", "destinations");
	played_say(s->played, 200, "{'destinations': [], 'next': null}");
	SHOWS(s, "GET " ADMIN "destinations?limit=200\n",
	    "{\"destinations\":[],\"next\":null}\n", "", "admin",
	    "destinations", "--json", "--page");
}

static void
test_show(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'id': 'x', 'rows': []}");
	SHOWS(s, "GET " ADMIN "outbox/" ID "\n",
	    "id  x\n\nnothing of it is left in the outbox\n", "", "admin",
	    "show", BIG_ID);
	played_say(s->played, 200, "{'id': 'x', 'rows': []}");
	SHOWS(s, "GET " ADMIN "outbox/" ID "\n", "{\"id\":\"x\",\"rows\":[]}\n",
	    "", "admin", "show", ID, "--json");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "GET " ADMIN "outbox/" ID "\n", EX_DATAERR,
	    "it is not there; twinbox admin outbox and dlq list the ids",
	    "admin", "show", ID);
	REFUSES(s, "", EX_USAGE,
	    "the id \"x\" is not a valid UUID; copy it whole: 8-4-4-4-12 hex digits",
	    "admin", "show", "x");
}

/* ---- messages ---- */

static void
test_retry_and_discard(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'id': 'x'}");
	SHOWS(s, "POST " ADMIN "outbox/" ID "/retry\n", ID " is tried again\n",
	    "", "admin", "retry", BIG_ID);
	played_say(s->played, 200, "{'id': 'x'}");
	SHOWS(s, "POST " ADMIN "outbox/" ID "/retry\n", "{\"id\":\"x\"}\n", "",
	    "admin", "retry", ID, "--json");
	played_say(s->played, 200, "{'id': 'x'}");
	SHOWS(s, "POST " ADMIN "outbox/" ID "/discard\n", ID " is discarded\n",
	    "", "admin", "discard", ID);
	played_say(s->played, 409, CONFLICT);
	REFUSES(s, "POST " ADMIN "outbox/" ID "/retry\n", EX_DATAERR,
	    "it has left; see twinbox admin show ID", "admin", "retry", ID);
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "POST " ADMIN "outbox/" ID "/discard\n", EX_DATAERR,
	    "it is not there; twinbox admin outbox and dlq list the ids",
	    "admin", "discard", ID);
	played_say(s->played, 500, "{'code': 'internal', 'detail': 'oh'}");
	REFUSES(s, "POST " ADMIN "outbox/" ID "/retry\n", EX_SOFTWARE,
	    "oh; repeat with the same id, which is safe; tell the operator",
	    "admin", "retry", ID);
	REFUSES(s, "", EX_USAGE,
	    "the id \"7\" is not a valid UUID; copy it whole: 8-4-4-4-12 hex digits",
	    "admin", "retry", "7");
}

/* ---- destinations, lanes ---- */

static void
test_pause_and_resume(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'name': 'far'}");
	SHOWS(s, "POST " ADMIN "destinations/far/pause\n{}\n",
	    "far is paused\n", "", "admin", "pause", "far");
	played_say(s->played, 200, "{'name': 'far'}");
	SHOWS(s,
	    "POST " ADMIN "destinations/%2A/pause\n{\"reason\":\"disk\"}\n",
	    "everything is paused\n", "", "admin", "pause", "*", "--reason",
	    "disk");
	played_say(s->played, 200, "{'name': 'far'}");
	SHOWS(s, "POST " ADMIN "destinations/%1B/resume\n{}\n",
	    "\\x1b goes on\n", "", "admin", "resume", "\033");
	played_say(s->played, 200, "{'name': 'far'}");
	SHOWS(s, "POST " ADMIN "destinations/far/resume\n{}\n",
	    "{\"name\":\"far\"}\n", "", "admin", "resume", "far", "--json");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "POST " ADMIN "destinations/far/pause\n{}\n", EX_DATAERR,
	    "it is not there; twinbox admin destinations lists them", "admin",
	    "pause", "far");
	played_say(s->played, 409, CONFLICT);
	REFUSES(s, "POST " ADMIN "destinations/far/pause\n{}\n", EX_CANTCREAT,
	    "it has left; choose another name or id", "admin", "pause", "far");
	REFUSES(s, "", EX_USAGE,
	    "the value of --reason is not in UTF-8; see twinbox admin pause "
	    "--help",
	    "admin", "pause", "far", "--reason", "\xff");
}

static void
test_rate(void **state)
{
	static const char *const bad[] = {"1000001", "x", "1x", ""};
	struct stage *s = *state;
	size_t i;

	played_say(s->played, 200, "{}");
	SHOWS(s, "PATCH " ADMIN "destinations/far\n{\"per_second\":null}\n",
	    "far has no limit\n", "", "admin", "rate", "far", "0");
	played_say(s->played, 200, "{}");
	SHOWS(s, "PATCH " ADMIN "destinations/far\n{\"per_second\":1}\n",
	    "far gets at most 1 a second\n", "", "admin", "rate", "far", "1");
	played_say(s->played, 200, "{}");
	SHOWS(s, "PATCH " ADMIN "destinations/far\n{\"per_second\":1000000}\n",
	    "far gets at most 1000000 a second\n", "", "admin", "rate", "far",
	    "1000000");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSES(s, "", EX_USAGE,
		    "N is a whole number of messages a second up to 1000000; "
		    "0 takes the limit away",
		    "admin", "rate", "far", bad[i]);
}

static void
test_rewind(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'lane_id': 1}");
	SHOWS(s, "POST " ADMIN "lanes/1/rewind\n{\"seq\":1}\n",
	    "lane 1 is offered again from 1\n", "", "admin", "rewind", "1",
	    "1");
	played_say(s->played, 200, "{'lane_id': 1}");
	SHOWS(s, "POST " ADMIN "lanes/7/rewind\n{\"seq\":8}\n",
	    "{\"lane_id\":1}\n", "", "admin", "rewind", "7", "8", "--json");
	played_say(s->played, 409, CONFLICT);
	REFUSES(s, "POST " ADMIN "lanes/7/rewind\n{\"seq\":8}\n", EX_DATAERR,
	    "it has left; twinbox admin lanes shows how they are", "admin",
	    "rewind", "7", "8");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "POST " ADMIN "lanes/7/rewind\n{\"seq\":8}\n", EX_DATAERR,
	    "it is not there; twinbox admin lanes shows how they are", "admin",
	    "rewind", "7", "8");
	played_say(s->played, 429,
	    "{'code': 'rate_limited', 'detail': 'no',"
	    " 'retry_after': 60}");
	REFUSES(s, "POST " ADMIN "lanes/7/rewind\n{\"seq\":8}\n", EX_TEMPFAIL,
	    "no; wait, then repeat (the server asks for 60 s)", "admin",
	    "rewind", "7", "8");
	REFUSES(s, "", EX_USAGE,
	    "LANE and SEQ are whole numbers; take them from twinbox admin "
	    "lanes",
	    "admin", "rewind", "0", "1");
	REFUSES(s, "", EX_USAGE,
	    "LANE and SEQ are whole numbers; take them from twinbox admin "
	    "lanes",
	    "admin", "rewind", "1", "0");
}

#define SINCE "{\"since\":\"2026-11-26T10:00:00.000Z\"}\n"
#define LANES(after)                                                           \
	"GET " ADMIN "lanes?destination=far.example" after "&limit=200\n"

static void
test_rewind_since(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'lane_id': 7}");
	SHOWS(s, "POST " ADMIN "lanes/7/rewind\n" SINCE,
	    "lane 7 offers again what was sent since "
	    "2026-11-26T10:00:00.000Z\n",
	    "", "admin", "rewind", "7", "--since", "2026-11-26T12:00:00+02:00");
	played_say(s->played, 409, CONFLICT);
	REFUSES(s, "POST " ADMIN "lanes/7/rewind\n" SINCE, EX_DATAERR,
	    "it has left; twinbox admin lanes shows how they are", "admin",
	    "rewind", "7", "--since", "2026-11-26T10:00:00Z");
	/* A destination is rewound page by page; lanes that lead into an inbox,
	 * or are gone, are skipped. */
	played_say(s->played, 200,
	    "{'lanes': [{'lane_id': 3}, {'lane_id': 5}], 'next': 5}");
	played_say(s->played, 200, "{'lane_id': 3}");
	played_say(s->played, 409, CONFLICT);
	played_say(s->played, 200,
	    "{'lanes': [{'lane_id': 8}, {'lane_id': 9}], 'next': null}");
	played_say(s->played, 404, NOT_FOUND);
	played_say(s->played, 200, "{'lane_id': 9}");
	SHOWS(s,
	    LANES("") "POST " ADMIN "lanes/3/rewind\n" SINCE "POST " ADMIN
		      "lanes/5/rewind\n" SINCE LANES(
			  "&after=5") "POST " ADMIN "lanes/8/rewind\n" SINCE
				      "POST " ADMIN "lanes/9/rewind\n" SINCE,
	    "2 lanes of far.example offer again what was sent since "
	    "2026-11-26T10:00:00.000Z\n",
	    "", "admin", "rewind", "far.example", "--since",
	    "2026-11-26T10:00:00Z");
	/* A cursor that does not change ends it. */
	played_say(s->played, 200, "{'lanes': [{'lane_id': 3}], 'next': 3}");
	played_say(s->played, 200, "{'lane_id': 3}");
	played_say(s->played, 200, "{'lanes': [], 'next': 3}");
	SHOWS(s,
	    LANES("") "POST " ADMIN "lanes/3/rewind\n" SINCE LANES("&after=3"),
	    "{\"lanes\":1}\n", "", "admin", "rewind", "far.example", "--since",
	    "2026-11-26T10:00:00Z", "--json");
	played_say(s->played, 200, "{'lanes': [], 'next': null}");
	REFUSES(s, LANES(""), EX_DATAERR,
	    "no lane leads to a server of that name; twinbox admin destinations "
	    "has the names",
	    "admin", "rewind", "far.example", "--since",
	    "2026-11-26T10:00:00Z");
	played_say(s->played, 200,
	    "{'lanes': [{'lane_id': 3}, {'lane_id': 5}], 'next': null}");
	played_say(s->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	assert_int_not_equal(RUN(s, "admin", "rewind", "far.example", "--since",
				 "2026-11-26T10:00:00Z"),
	    RC_OK);
	assert_string_equal(played_asked(s->played),
	    LANES("") "POST " ADMIN "lanes/3/rewind\n" SINCE);
	REFUSES(s, "", EX_USAGE,
	    "--since takes a time such as 2030-01-31T09:00:00Z; see twinbox "
	    "--help",
	    "admin", "rewind", "7", "--since", "yesterday");
	REFUSES(s, "", EX_USAGE,
	    "it takes LANE SEQ, or LANE or NAME with --since WHEN; see twinbox "
	    "admin rewind --help",
	    "admin", "rewind", "7");
	REFUSES(s, "", EX_USAGE,
	    "it takes LANE SEQ, or LANE or NAME with --since WHEN; see twinbox "
	    "admin rewind --help",
	    "admin", "rewind", "7", "1", "--since", "2026-11-26T10:00:00Z");
}

/* A request that the server is too busy for is repeated for ten seconds. */
static void
test_patience(void **state)
{
	struct stage *s = *state;

	played_say_more(s->played, 503, "Retry-After: 10\r\n",
	    "{'code': 'busy', 'detail': 'later'}");
	played_say(s->played, 200, "{'entries': [], 'next': null}");
	SHOWS(s, "GET " ADMIN "audit?limit=50\nGET " ADMIN "audit?limit=50\n",
	    "", "", "admin", "audit");
	assert_string_equal(s->waits, "10000 ");
	played_say_more(s->played, 503, "Retry-After: 11\r\n",
	    "{'code': 'busy', 'detail': 'later'}");
	REFUSES(s, "GET " ADMIN "audit?limit=50\n", EX_TEMPFAIL,
	    "later; repeat in a moment (the server asks for 11 s)", "admin",
	    "audit");
	assert_string_equal(s->waits, "");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_list_filters),
	    TEST(test_list_notes),
	    TEST(test_list_pages),
	    TEST(test_clock),
	    TEST(test_users_changed),
	    TEST(test_users_password),
	    TEST(test_stats_and_destinations),
	    TEST(test_show),
	    TEST(test_retry_and_discard),
	    TEST(test_pause_and_resume),
	    TEST(test_rate),
	    TEST(test_rewind),
	    TEST(test_rewind_since),
	    TEST(test_patience),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
