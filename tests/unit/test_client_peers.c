/* SPDX-License-Identifier: MIT */
/*
 * twinbox admin peers: its requests, its output and its errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sysexits.h>

#include "unit/cli_stage.h"

#define PEERS "/v1/admin/peers"
#define PUBLIC "AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define DATE "Date: Tue, 01 Jan 2030 00:03:20 GMT\r\n"
#define FAR                                                                    \
	"'domain': 'far.example', 'first_seen_at': '2030-01-01T00:01:00Z',"    \
	"'last_seen_at': '2030-01-01T00:02:00Z', 'epoch': 'e1',"               \
	"'blocked_at': null, 'blocked_by': null, 'live_keys': 2,"              \
	"'pinned_keys': 1"
#define NEAR                                                                   \
	"'domain': 'b.example', 'first_seen_at': null, 'last_seen_at': null,"  \
	"'epoch': null, 'blocked_at': '2030-01-01T00:03:00Z',"                 \
	"'blocked_by': 'root', 'live_keys': 0, 'pinned_keys': 0"
#define HEAD "SERVER       STATE    KEYS  PINNED  FIRST SEEN  LAST SEEN\n"

static void
test_list(void **state)
{
	struct stage *s = *state;

	played_say_more(s->played, 200, DATE,
	    "{'peers': [{" FAR "}, {" NEAR "}, {'domain': 'c.example',"
	    " 'live_keys': 1, 'pinned_keys': 0}, {}], 'next': null}");
	SHOWS(s, "GET " PEERS "?limit=50\n",
	    HEAD "far.example  pinned      2       1  00:01:00    00:02:00\n"
		 "b.example    blocked     0       0  -           -\n"
		 "    blocked 20s ago by root\n"
		 "c.example    open        1       0  -           -\n"
		 "?            open        -       -  -           -\n",
	    "", "admin", "peers");
	played_say(s->played, 200, "{'peers': [], 'next': 9}");
	played_say(s->played, 200, "{'peers': [{}], 'next': null}");
	SHOWS(s,
	    "GET " PEERS "?after=7&limit=2\nGET " PEERS "?after=9&limit=2\n",
	    "{\"peers\":[{}],\"next\":null}\n", "", "admin", "peers", "--after",
	    "7", "--limit", "2", "--json", "--page");
}

/* A cursor that is too long does not end a list before its end. */
static void
test_long_cursor(void **state)
{
	struct stage *s = *state;
	char answer[2000], cursor[1001];

	memset(cursor, 'x', sizeof(cursor) - 1);
	cursor[sizeof(cursor) - 1] = '\0';
	(void)snprintf(
	    answer, sizeof(answer), "{'peers': [{}], 'next': '%s'}", cursor);
	played_say(s->played, 200, answer);
	REFUSES(s, "GET " PEERS "?limit=50\n", EX_PROTOCOL,
	    "the server's cursor for the next page is too long; check that "
	    "--server names a twinbox server",
	    "admin", "peers");
	(void)snprintf(answer, sizeof(answer),
	    "{'conversations': [], 'next': '%s'}", cursor);
	played_say(s->played, 200, answer);
	REFUSES(s, "GET /v1/conversations?order=created&limit=200\n",
	    EX_PROTOCOL,
	    "the server's cursor for the next page is too long; check that "
	    "--server names a twinbox server",
	    "history", "bob");
}

static void
test_show(void **state)
{
	struct stage *s = *state;

	played_say_more(s->played, 200, DATE,
	    "{" FAR ", 'keys': [{'id': 'k1', 'public': 'AAA=',"
	    " 'pinned_by': 'ann', 'first_seen_at': '2030-01-01T00:01:00Z',"
	    " 'last_seen_at': '2030-01-01T00:02:00Z', 'retired_at': null,"
	    " 'verifies': true}, {'id': 'k2', 'public': 'BBB=',"
	    " 'pinned_by': null, 'verifies': false, 'retired_at': null},"
	    " {'id': 'k3', 'public': 'CCC=', 'pinned_by': null,"
	    " 'verifies': false, 'retired_at': '2030-01-01T00:02:00Z'}]}");
	SHOWS(s, "GET " PEERS "/far.example\n",
	    "SERVER       STATE   KEYS  PINNED  FIRST SEEN  LAST SEEN\n"
	    "far.example  pinned     2       1  00:01:00    00:02:00\n"
	    "\n"
	    "KEY  STATE       FIRST SEEN  LAST SEEN  PINNED BY\n"
	    "k1   verifies    00:01:00    00:02:00   ann\n"
	    "    AAA=\n"
	    "k2   not pinned  -           -\n"
	    "    BBB=\n"
	    "k3   retired     -           -\n"
	    "    CCC=\n",
	    "", "admin", "peers", "show", "far.example");
	played_say_more(s->played, 200, DATE, "{" NEAR ", 'keys': []}");
	SHOWS(s, "GET " PEERS "/b.example\n",
	    "SERVER     STATE    KEYS  PINNED  FIRST SEEN  LAST SEEN\n"
	    "b.example  blocked     0       0  -           -\n"
	    "    blocked 20s ago by root\n",
	    "", "admin", "peers", "show", "b.example");
	played_say(s->played, 200, "{'domain': 'x'}");
	SHOWS(s, "GET " PEERS "/%2A\n", "{\"domain\":\"x\"}\n", "", "admin",
	    "peers", "show", "*", "--json");
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'none'}");
	REFUSES(s, "GET " PEERS "/x.example\n", EX_DATAERR,
	    "none; twinbox admin peers lists them", "admin", "peers", "show",
	    "x.example");
}

static void
test_changes(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{}");
	SHOWS(s,
	    "POST " PEERS "/far.example/pin\n"
	    "{\"key_id\":\"k1\",\"public\":\"" PUBLIC "\"}\n",
	    "far.example has a pinned key\n", "", "admin", "peers", "pin",
	    "far.example", "k1", PUBLIC);
	played_say(s->played, 200, "{}");
	SHOWS(s, "POST " PEERS "/far.example/unpin\n{\"key_id\":\"k1\"}\n",
	    "far.example has a pinned key less\n", "", "admin", "peers",
	    "unpin", "far.example", "k1");
	played_say(s->played, 200, "{}");
	SHOWS(s, "POST " PEERS "/far.example/forget\n{}\n",
	    "far.example is forgotten\n", "", "admin", "peers", "forget",
	    "far.example");
	played_say(s->played, 200, "{}");
	SHOWS(s, "POST " PEERS "/far.example/block\n{}\n",
	    "far.example is blocked\n", "", "admin", "peers", "block",
	    "far.example");
	played_say(s->played, 200, "{}");
	SHOWS(s, "POST " PEERS "/far.example/block\n{\"reason\":\"spam\"}\n",
	    "far.example is blocked\n", "", "admin", "peers", "block",
	    "far.example", "--reason", "spam");
	played_say(s->played, 200, "{'domain': 'y'}");
	SHOWS(s, "POST " PEERS "/%1B/unblock\n{}\n", "{\"domain\":\"y\"}\n", "",
	    "admin", "peers", "unblock", "\033", "--json");
	played_say(s->played, 200, "{}");
	SHOWS(s, "POST " PEERS "/%1B/unblock\n{}\n", "\\x1b is not blocked\n",
	    "", "admin", "peers", "unblock", "\033");
}

static void
test_refusals(void **state)
{
	static const char *const bad[][4] = {{"show"}, {"pin"},
	    {"forget", NULL}, {"look", "x.example"}, {"block", "a", "b"},
	    {"pin", "x.example", "k1"}, {"show", "a", "b"},
	    {"unpin", "x.example"}};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSES(s, "", EX_USAGE,
		    "\"show\", \"forget\", \"block\" and \"unblock\" take a "
		    "DOMAIN, \"pin\" takes DOMAIN KEY-ID PUBLIC, \"unpin\" "
		    "DOMAIN KEY-ID; see twinbox admin peers --help",
		    "admin", "peers", bad[i][0], bad[i][1], bad[i][2],
		    bad[i][3]);
	REFUSES(s, "", EX_USAGE,
	    "the value of --reason is not in UTF-8; see twinbox admin peers "
	    "--help",
	    "admin", "peers", "block", "x.example", "--reason", "\xff");
	REFUSES(s, "", EX_USAGE,
	    "an argument is not in UTF-8; see twinbox --help", "admin", "peers",
	    "pin", "x.example", "\xff", PUBLIC);
	played_say(s->played, 409,
	    "{'code': 'conflict', 'detail': '8 keys are pinned'}");
	REFUSES(s,
	    "POST " PEERS "/x.example/pin\n"
	    "{\"key_id\":\"k9\",\"public\":\"" PUBLIC "\"}\n",
	    EX_DATAERR,
	    "8 keys are pinned; see twinbox admin peers show DOMAIN", "admin",
	    "peers", "pin", "x.example", "k9", PUBLIC);
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'none'}");
	REFUSES(s, "POST " PEERS "/x.example/forget\n{}\n", EX_DATAERR,
	    "none; twinbox admin peers lists them", "admin", "peers", "forget",
	    "x.example");
	/* The server is older than this command. */
	played_say(s->played, 404, "{'code': 'not_found', 'detail': 'none'}");
	REFUSES(s, "GET " PEERS "?limit=50\n", EX_PROTOCOL,
	    "this server does not support admin commands; use a newer server",
	    "admin", "peers");
}

#define TEST(f)                                                                \
	cmocka_unit_test_setup_teardown(f, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_list),
	    TEST(test_long_cursor),
	    TEST(test_show),
	    TEST(test_changes),
	    TEST(test_refusals),
	};

	return (cmocka_run_group_tests_name("client_peers", tests, NULL, NULL));
}
