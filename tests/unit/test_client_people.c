/* SPDX-License-Identifier: MIT */
/*
 * inbox, read, ack, outbox, history and conversations: the requests of each,
 * the output for people and for programs, and the errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sysexits.h>

#include "unit/cli_stage.h"

#define ID "01987a1c-0000-7000-8000-0000000000ab"
#define OTHER_ID "01987a1c-0000-7000-8000-0000000000cd"
#define BIG_ID "01987A1C-0000-7000-8000-0000000000AB"
#define NOT_FOUND "{'code': 'not_found', 'detail': 'it is not there'}"
#define CONFLICT "{'code': 'conflict', 'detail': 'it was sent'}"
#define NO_UUID "is not a valid UUID; copy it whole: 8-4-4-4-12 hex digits"

/* ---- inbox ---- */

/* Event ${seq} from bob, with its id and text. */
#define EVENT(seq)                                                             \
	"{'seq': " #seq ", 'event_id': 'e" #seq "', 'kind': 'message',"        \
	" 'from': 'bob', 'to': 'ann', 'conversation': 'c', 'body': 'm" #seq    \
	"', 'event_time': '2030-01-01T00:00:00Z', 'own': false}"

#define LINE(seq) "#" #seq "     00:00  bob           m" #seq "\n"

static void
test_inbox(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(1) ", " EVENT(
		2) "],"
		   " 'unread': 2, 'has_more': true}");
	SHOWS(s, "GET /v1/inbox?limit=50\n", LINE(1) LINE(2), "", "inbox");
	s->terminal = true;
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(1) ", " EVENT(
		2) "],"
		   " 'unread': 2, 'has_more': true}");
	SHOWS(s, "GET /v1/inbox?limit=2&after=0\n", LINE(1) LINE(2),
	    "twinbox: inbox: there is more: twinbox inbox --after 2\n", "inbox",
	    "--after", "0", "--limit", "2");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(3) "], 'unread': 2,"
						  " 'has_more': false}");
	SHOWS(s, "GET /v1/inbox?limit=200&after=2\n", LINE(3), "", "inbox",
	    "--after", "2", "--limit", "200");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [], 'unread': 3, 'has_more': true}");
	SHOWS(s, "GET /v1/inbox?limit=50\n", "",
	    "twinbox: inbox: nothing new; 3 unread\n", "inbox");
	s->terminal = false;
	played_say(s->played, 200, "{'epoch': 'E', 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=50\n", "", "", "inbox");
	played_say(s->played, 200, "{'epoch': 'E', 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=50\n",
	    "{\"epoch\":\"E\",\"events\":[]}\n", "", "inbox", "--json",
	    "--page");
	/* Events that were displayed are stored for history. */
	SHOWS(s, "",
	    "00:00  bob           m1\n00:00  bob           m2\n"
	    "00:00  bob           m3\n",
	    "", "history", "bob", "--offline");
}

static void
test_inbox_wait(void **state)
{
	static const struct {
		const char *wait;
		const char *asked;
	} table[] = {
	    {"0s", "GET /v1/inbox?limit=50\n"},
	    {"1s", "GET /v1/inbox?limit=50&wait=1\n"},
	    {"55s", "GET /v1/inbox?limit=50&wait=55\n"},
	    {"56s", "GET /v1/inbox?limit=50&wait=55\n"},
	    {"1h", "GET /v1/inbox?limit=50&wait=55\n"},
	};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		played_say(s->played, 200, "{'epoch': 'E', 'events': []}");
		SHOWS(s, table[i].asked, "", "", "inbox", "--wait",
		    table[i].wait);
	}
}

static void
test_inbox_all(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(1) ", " EVENT(
		2) "],"
		   " 'has_more': true}");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(3) "], 'has_more': false}");
	SHOWS(s,
	    "GET /v1/inbox?limit=200&after=0\n"
	    "GET /v1/inbox?limit=200&after=2\n",
	    LINE(1) LINE(2) LINE(3), "", "inbox", "--all");
	/* An empty page is the last one, even with has_more.  Nothing but that
	 * page says that there is more. */
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [{'seq': 8}], 'has_more': true}");
	played_say(
	    s->played, 200, "{'epoch': 'E', 'events': [], 'has_more': true}");
	SHOWS(s,
	    "GET /v1/inbox?limit=200&after=7\n"
	    "GET /v1/inbox?limit=200&after=8\n",
	    "{\"epoch\":\"E\",\"events\":[{\"seq\":8}],\"has_more\":false}\n"
	    "{\"epoch\":\"E\",\"events\":[],\"has_more\":true}\n",
	    "", "inbox", "--all", "--after", "7", "--json", "--page");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [" EVENT(1) "], 'has_more': true}");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s,
	    "GET /v1/inbox?limit=200&after=0\n"
	    "GET /v1/inbox?limit=200&after=1\n",
	    EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "inbox", "--all");
	assert_string_equal(s->out, LINE(1));
}

static void
test_inbox_refused(void **state)
{
	static const char *const none[] = {
	    "{'epoch': 'E'}", "{'events': []}", "{'epoch': 'E', 'events': 7}"};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		played_say(s->played, 200, none[i]);
		REFUSES(s, "GET /v1/inbox?limit=50\n", EX_PROTOCOL,
		    "the server's inbox has no epoch or events; check that "
		    "--server names a twinbox server",
		    "inbox");
	}
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 200, not \"201\"; see "
	    "twinbox inbox --help",
	    "inbox", "--limit", "201");
	REFUSES(s, "", EX_USAGE,
	    "--after takes a whole number from 0, not \"x\"; see twinbox "
	    "inbox --help",
	    "inbox", "--after", "x");
	REFUSES(s, "", EX_USAGE,
	    "--wait takes a time such as 30s, 5m, 2h or 3d, not \"x\"; see "
	    "twinbox inbox --help",
	    "inbox", "--wait", "x");
}

/* A receipt has the number that the inbox shows for the message, which is on
 * this page or was displayed before. */
static void
test_inbox_receipts(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': ["
	    "{'seq': 20, 'event_id': 'a', 'kind': 'message', 'own': true,"
	    " 'to': 'bob', 'conversation': 'c', 'conversation_seq': 12,"
	    " 'body': 'hi'}, {'seq': 21, 'event_id': 'b', 'kind': 'receipt',"
	    " 'by': 'bob', 'conversation': 'c', 'upto': 12}]}");
	SHOWS(s, "GET /v1/inbox?limit=50\n",
	    "#20    -      → bob         hi\n"
	    "#21    -                    ✓✓ delivered to bob up to #20\n",
	    "", "inbox");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': ["
	    "{'seq': 22, 'event_id': 'c', 'kind': 'receipt', 'by': 'bob',"
	    " 'conversation': 'c', 'upto': 12, 'state': 'read'},"
	    "{'seq': 23, 'event_id': 'd', 'kind': 'receipt', 'by': 'bob',"
	    " 'conversation': 'c', 'upto': 13, 'state': 'read'}]}");
	SHOWS(s, "GET /v1/inbox?limit=50\n",
	    "#22    -                    ✓✓ read by bob up to #20\n"
	    "#23    -                    ✓✓ read by bob up to message 13 of "
	    "the conversation\n",
	    "", "inbox");
}

/* ---- read, ack ---- */

static void
test_read(void **state)
{
	static const char needed[] =
	    "one of NAME, --all, --upto, or --conversation with "
	    "--upto-conversation-seq, is needed; see twinbox read --help";
	struct stage *s = *state;

	played_say(s->played, 200, "{'unread': 3}");
	SHOWS(s, "POST /v1/inbox/read\n{\"upto\":1}\n", "read; 3 unread\n", "",
	    "read", "--upto", "1");
	played_say(s->played, 200, "{'unread': 3}");
	SHOWS(s, "POST /v1/inbox/read\n{\"upto\":7,\"private\":true}\n",
	    "{\"unread\":3}\n", "", "read", "--upto", "7", "--private",
	    "--json");
	played_say(s->played, 200, "{'unread': 0}");
	SHOWS(s,
	    "POST /v1/inbox/read\n{\"conversation\":\"" ID "\","
	    "\"upto_conversation_seq\":1}\n",
	    "read; 0 unread\n", "", "read", "--conversation", BIG_ID,
	    "--upto-conversation-seq", "1");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "POST /v1/inbox/read\n{\"upto\":1}\n", EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "read", "--upto", "1");
	REFUSES(s, "", EX_USAGE, needed, "read");
	REFUSES(s, "", EX_USAGE, needed, "read", "--conversation", ID);
	REFUSES(
	    s, "", EX_USAGE, needed, "read", "--upto-conversation-seq", "1");
	REFUSES(s, "", EX_USAGE, needed, "read", "--upto", "1",
	    "--upto-conversation-seq", "1");
	REFUSES(s, "", EX_USAGE, needed, "read", "--upto", "1",
	    "--conversation", ID, "--upto-conversation-seq", "1");
	REFUSES(s, "", EX_USAGE, "--conversation \"x\" " NO_UUID, "read",
	    "--conversation", "x", "--upto-conversation-seq", "1");
	REFUSES(s, "", EX_USAGE,
	    "--upto takes a whole number from 1, not \"0\"; see twinbox read "
	    "--help",
	    "read", "--upto", "0");
}

/* read NAME and read --all get the numbers from the server. */
static void
test_read_without_numbers(void **state)
{
	static const char needed[] =
	    "one of NAME, --all, --upto, or --conversation with "
	    "--upto-conversation-seq, is needed; see twinbox read --help";
	static const char list[] = "{'conversations': [{'id': '" ID
				   "', 'kind': 'direct', 'last': 7, 'unread': "
				   "3, 'members': [{'address': 'ann'}, "
				   "{'address': 'bob'}]}], 'next': null}";
	struct stage *s = *state;

	played_say(s->played, 200, list);
	played_say(s->played, 200, "{'unread': 4}");
	SHOWS(s,
	    "GET /v1/conversations?order=created&limit=200\nPOST /v1/inbox/read\n"
	    "{\"conversation\":\"" ID "\",\"upto_conversation_seq\":7}\n",
	    "read 3 messages from bob; 4 unread\n", "", "read", "bob");
	played_say(s->played, 200, list);
	played_say(s->played, 200, "{'unread': 4}");
	SHOWS(s,
	    "GET /v1/conversations?order=created&limit=200\nPOST /v1/inbox/read\n"
	    "{\"conversation\":\"" ID "\",\"upto_conversation_seq\":7,"
	    "\"private\":true}\n",
	    "{\"unread\":4}\n", "", "read", "bob", "--private", "--json");
	played_say(s->played, 200, list);
	REFUSES(s, "GET /v1/conversations?order=created&limit=200\n",
	    EX_DATAERR,
	    "there is no conversation with e\\x1be; check the name; twinbox "
	    "conversations lists them",
	    "read", "e\033e");
	played_say(s->played, 200, "{'head': 9, 'events': []}");
	played_say(s->played, 200, "{'unread': 0}");
	SHOWS(s, "GET /v1/inbox?limit=1\nPOST /v1/inbox/read\n{\"upto\":9}\n",
	    "read; 0 unread\n", "", "read", "--all");
	played_say(s->played, 200, "{'head': 0, 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=1\n", "nothing to read\n", "", "read",
	    "--all");
	played_say(s->played, 200, "{'head': 0, 'events': []}");
	SHOWS(s, "GET /v1/inbox?limit=1\n", "{\"unread\":0}\n", "", "read",
	    "--all", "--json");
	REFUSES(s, "", EX_USAGE, needed, "read", "bob", "--all");
	REFUSES(s, "", EX_USAGE, needed, "read", "--all", "--upto", "1");
	REFUSES(s, "", EX_USAGE, needed, "read", "bob", "--conversation", ID,
	    "--upto-conversation-seq", "1");
}

static void
test_ack(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'acked': 2, 'head': 3}");
	SHOWS(s, "POST /v1/inbox/ack\n{\"upto\":0}\n", "acked up to 2 of 3\n",
	    "", "ack", "0");
	played_say(s->played, 200, "{'acked': 2, 'head': 3}");
	SHOWS(s, "POST /v1/inbox/ack\n{\"upto\":2}\n",
	    "{\"acked\":2,\"head\":3}\n", "", "ack", "2", "--json");
	played_say(
	    s->played, 422, "{'code': 'ack_beyond_head', 'detail': 'no'}");
	REFUSES(s, "POST /v1/inbox/ack\n{\"upto\":9}\n", EX_DATAERR,
	    "no; name an event that twinbox inbox has shown", "ack", "9");
	REFUSES(s, "", EX_USAGE,
	    "SEQ is a whole number; take it from twinbox inbox, or leave it "
	    "out",
	    "ack", "x");
	played_say(s->played, 200, "{'head': 9, 'events': []}");
	played_say(s->played, 200, "{'acked': 9, 'head': 9}");
	SHOWS(s, "GET /v1/inbox?limit=1\nPOST /v1/inbox/ack\n{\"upto\":9}\n",
	    "acked up to 9 of 9\n", "", "ack");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "GET /v1/inbox?limit=1\n", EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "ack");
}

/* ---- outbox ---- */

#define HEADING "STATE      TO   CREATED  TEXT  ID\n"

static void
test_outbox(void **state)
{
	struct stage *s = *state;
	static const char page[] =
	    "{'entries': [{'id': 'i', 'to': 'bob', 'state': 'acked',"
	    " 'created_at': '2030-01-01T10:00:00Z', 'last_error': 'e'}],"
	    " 'next': 'a\\u001b'}";

	played_say(s->played, 200, page);
	SHOWS(s, "GET /v1/outbox?limit=50&state=acked&before=x%2Fy\n",
	    HEADING "delivered  bob  10:00          i\n", "", "outbox",
	    "--state", "delivered", "--before", "x/y");
	played_say(s->played, 200, "{'entries': [{'id': 'j', 'to': null}]}");
	SHOWS(s, "GET /v1/outbox?limit=200&state=sent\n",
	    "STATE  TO     CREATED  TEXT  ID\n"
	    "?      group                 j\n",
	    "", "outbox", "--state", "sent", "--limit", "200");
	s->terminal = true;
	played_say(s->played, 200, page);
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "STATE      TO   WHEN   TEXT  ID\n"
	    "delivered  bob  10:00        i\n",
	    "twinbox: outbox: there is more: --before a\\x1b\n", "outbox");
	played_say(
	    s->played, 200, "{'entries': [], 'next': '/v1/outbox?before=7'}");
	SHOWS(s, "GET /v1/outbox?limit=50\n", "", "twinbox: outbox: nothing\n",
	    "outbox");
	played_say(s->played, 200, "{'entries': [], 'next': null}");
	SHOWS(s, "GET /v1/outbox?limit=50\n",
	    "{\"entries\":[],\"next\":null,\"waiting_here\":[]}\n", "",
	    "outbox", "--json", "--page");
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 200, not \"0\"; see "
	    "twinbox outbox --help",
	    "outbox", "--limit", "0");
}

/* The outbox shows each text, from the nearest place that has it, and the due
 * time of a scheduled message.  It shows a reason only where something is
 * wrong. */
static void
test_outbox_texts(void **state)
{
	static const char page[] =
	    "{'entries': ["
	    "{'id': '" OTHER_ID "', 'to': 'bob', 'state': 'pending',"
	    " 'labels': ['scheduled'], 'created_at': '2030-01-01T00:00:00Z',"
	    " 'deliver_at': '2030-01-01T09:00:00Z', 'last_error': null},"
	    "{'id': '" ID "', 'to': 'bob', 'state': 'failed',"
	    " 'created_at': '2030-01-01T00:00:00Z', 'last_error': 'gone'}]}";
	struct stage *s = *state;

	/* One text was displayed on this computer before, the other one is
	 * requested. */
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': [{'seq': 1, 'event_id': 'e1',"
	    " 'kind': 'message', 'id': '" ID "', 'own': true, 'to': 'bob',"
	    " 'body': 'one\\ntwo'}]}");
	assert_int_equal(RUN(s, "inbox"), RC_OK);
	(void)played_asked(s->played);
	played_say(s->played, 200, page);
	played_say(s->played, 200, "{'id': '" OTHER_ID "', 'body': 'later'}");
	SHOWS(s, "GET /v1/outbox?limit=50\nGET /v1/messages/" OTHER_ID "\n",
	    "STATE      TO   CREATED  DUE    TEXT      LAST ERROR  ID\n"
	    "scheduled  bob  00:00    09:00  later                 " OTHER_ID
	    "\n"
	    "failed     bob  00:00           one\\ntwo  gone        " ID "\n",
	    "", "outbox");
	/* In a narrow terminal each entry is one line, with one time. */
	s->terminal = true;
	played_say(s->played, 200, page);
	played_say(s->played, 200, "{'body': 'A text that is too long'}");
	SHOWS(s, "GET /v1/outbox?limit=50\nGET /v1/messages/" OTHER_ID "\n",
	    "STATE      TO   WHEN   TEXT                 ID\n"
	    "scheduled  bob  09:00  A text that is too…  " OTHER_ID "\n"
	    "failed     bob  00:00  one\\ntwo             " ID "\n",
	    "", "outbox");
	/* A text that cannot be read is left out. */
	played_say(s->played, 200, page);
	played_say(s->played, 404, NOT_FOUND);
	SHOWS(s, "GET /v1/outbox?limit=50\nGET /v1/messages/" OTHER_ID "\n",
	    "STATE      TO   WHEN   TEXT      ID\n"
	    "scheduled  bob  09:00            " OTHER_ID "\n"
	    "failed     bob  00:00  one\\ntwo  " ID "\n",
	    "", "outbox");
}

static void
test_outbox_one(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200, "{'id': 'i', 'state': 'sent'}");
	SHOWS(s, "GET /v1/outbox/" ID "\n",
	    "id            i\nstate         sent\n", "", "outbox", BIG_ID);
	played_say(s->played, 200, "{'id': 'i', 'state': 'sent'}");
	SHOWS(s, "GET /v1/outbox/" ID "\n",
	    "{\"id\":\"i\",\"state\":\"sent\"}\n", "", "outbox", ID, "--json");
	played_say(s->played, 200, "{'id': 'i', 'state': 'canceled'}");
	SHOWS(s, "DELETE /v1/outbox/" ID "\n", "canceled " ID "\n", "",
	    "outbox", "cancel", ID);
	played_say(s->played, 200, "{'id': 'i', 'state': 'canceled'}");
	SHOWS(s, "DELETE /v1/outbox/" ID "\n",
	    "{\"id\":\"i\",\"state\":\"canceled\"}\n", "", "outbox", "cancel",
	    ID, "--json");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "DELETE /v1/outbox/" ID "\n", EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "outbox", "cancel", ID);
	played_say(s->played, 200, "{'id': 'i'}");
	SHOWS(s, "POST /v1/outbox/" ID "/retry\n", "trying " ID " again\n", "",
	    "outbox", "retry", ID);
	played_say(s->played, 409, CONFLICT);
	REFUSES(s, "POST /v1/outbox/" ID "/retry\n", EX_DATAERR,
	    "it was sent; see how it is: twinbox outbox " ID, "outbox", "retry",
	    ID);
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "POST /v1/outbox/" ID "/retry\n", EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "outbox", "retry", ID);
	REFUSES(s, "", EX_USAGE, "the id \"x\" " NO_UUID, "outbox", "x");
	REFUSES(s, "", EX_USAGE,
	    "only \"cancel ID\" and \"retry ID\" are known; see twinbox "
	    "outbox --help",
	    "outbox", "delete", ID);
}

/* ---- history ---- */

#define LIST "GET /v1/conversations?order=created&limit=200\n"
#define MESSAGE(n, from)                                                       \
	"{'conversation_seq': " #n ", 'from': '" from "', 'body': 'm" #n       \
	"', 'event_time': '2030-01-01T00:00:00Z'}"

/* The conversation ID with bob, who has received messages up to 3 and has read
 * up to 2. */
#define WITH_BOB                                                               \
	"{'id': '" ID "', 'kind': 'direct', 'unread': 1, 'last': 12,"          \
	" 'members': [{'address': 'ann', 'delivered': 9, 'read': 9},"          \
	" {'address': 'bob', 'delivered': 3, 'read': 2}]}"

static void
test_history(void **state)
{
	struct stage *s = *state;

	/* Only own messages have signs.  A page may begin with the newest
	 * message. */
	played_say(s->played, 200,
	    "{'conversations': [{'kind': 'group', 'title': 'bob'},"
	    " {'kind': 'direct', 'members': [{'address': 'eve'}]}],"
	    " 'next': 'a/b'}");
	played_say(s->played, 200,
	    "{'conversations': [" WITH_BOB "], 'next': 'more'}");
	played_say(s->played, 200,
	    "{'messages': [" MESSAGE(4, "ann") ", " MESSAGE(
		3, "ann") ","
			  " " MESSAGE(2, "ann") ", " MESSAGE(1, "bob") "]}");
	SHOWS(s,
	    LIST "GET /v1/conversations?order=created&limit=200&after=a%2Fb\n"
		 "GET /v1/conversations/" ID "/messages?limit=50\n",
	    "00:00  bob           m1\n00:00  you           m2  ✓✓ read\n"
	    "00:00  you           m3  ✓✓\n00:00  you           m4  ✓\n",
	    "", "history", "bob");
	played_say(s->played, 200, WITH_BOB);
	played_say(s->played, 200,
	    "{'messages': [" MESSAGE(1, "bob") ", " MESSAGE(2, "ann") "]}");
	SHOWS(s,
	    "GET /v1/conversations/" ID "\n"
	    "GET /v1/conversations/" ID "/messages?limit=1&before=1\n",
	    "00:00  bob           m1\n00:00  you           m2  ✓✓ read\n", "",
	    "history", "--conversation", BIG_ID, "--limit", "1", "--before",
	    "1");
	s->terminal = true;
	played_say(s->played, 200, WITH_BOB);
	played_say(s->played, 200, "{'messages': []}");
	SHOWS(s,
	    "GET /v1/conversations/" ID "\n"
	    "GET /v1/conversations/" ID "/messages?limit=200\n",
	    "", "twinbox: history: nothing yet\n", "history", "--conversation",
	    ID, "--limit", "200");
	played_say(s->played, 200, WITH_BOB);
	played_say(s->played, 200, "{'messages': []}");
	SHOWS(s,
	    "GET /v1/conversations/" ID "\n"
	    "GET /v1/conversations/" ID "/messages?limit=50\n",
	    "{\"messages\":[]}\n", "", "history", "--conversation", ID,
	    "--json", "--page");
	s->terminal = false;
	played_say(s->played, 200, WITH_BOB);
	played_say(s->played, 200, "{'messages': []}");
	SHOWS(s,
	    "GET /v1/conversations/" ID "\n"
	    "GET /v1/conversations/" ID "/messages?limit=50\n",
	    "", "", "history", "--conversation", ID);
}

static void
test_history_refused(void **state)
{
	static const char needed[] =
	    "either NAME or --conversation ID is needed; see twinbox history "
	    "--help";
	struct stage *s = *state;

	REFUSES(s, "", EX_USAGE, needed, "history");
	REFUSES(
	    s, "", EX_USAGE, needed, "history", "bob", "--conversation", ID);
	REFUSES(s, "", EX_USAGE, "--conversation \"x\" " NO_UUID, "history",
	    "--conversation", "x");
	REFUSES(s, "", EX_USAGE,
	    "--before takes a whole number from 1, not \"0\"; see twinbox "
	    "history --help",
	    "history", "bob", "--before", "0");
	REFUSES(s, "", EX_USAGE,
	    "--limit takes a whole number from 1 to 200, not \"201\"; see "
	    "twinbox history --help",
	    "history", "bob", "--limit", "201");
	played_say(s->played, 200, "{'conversations': [], 'next': null}");
	REFUSES(s, LIST, EX_DATAERR,
	    "there is no conversation with b\\x1b; check the name; twinbox "
	    "conversations lists them",
	    "history", "b\033");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, LIST, EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "history", "bob");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, "GET /v1/conversations/" ID "\n", EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "history", "--conversation", ID);
	played_say(s->played, 200, WITH_BOB);
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s,
	    "GET /v1/conversations/" ID "\n"
	    "GET /v1/conversations/" ID "/messages?limit=50\n",
	    EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "history", "--conversation", ID);
}

/* The messages that this computer has displayed, from a user and to the
 * user. */
static void
test_history_offline(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': ["
	    "{'seq': 1, 'event_id': 'a', 'kind': 'message', 'from': 'bob',"
	    " 'to': 'ann', 'body': 'one', 'conversation': 'x',"
	    " 'event_time': '2030-01-01T00:00:00Z'},"
	    "{'seq': 2, 'event_id': 'b', 'kind': 'message', 'from': 'ann',"
	    " 'to': 'bob', 'body': 'two', 'own': true, 'conversation': '" ID
	    "', 'event_time': '2030-01-01T00:00:00Z'},"
	    "{'seq': 3, 'event_id': 'c', 'kind': 'message', 'from': 'eve',"
	    " 'to': 'ann', 'body': 'three',"
	    " 'event_time': '2030-01-01T00:00:00Z'},"
	    "{'seq': 4, 'event_id': 'd', 'kind': 'receipt', 'from': 'bob',"
	    " 'to': 'ann', 'conversation': '" ID "'},"
	    "{'seq': 5, 'event_id': 'e', 'kind': 'message', 'from': 'bob',"
	    " 'body': 'five', 'conversation': '" ID "',"
	    " 'event_time': '2030-01-01T00:00:00Z'}]}");
	assert_int_equal(RUN(s, "inbox", "--json", "--page"), RC_OK);
	(void)played_asked(s->played);
	SHOWS(s, "", "00:00  bob           one\n00:00  you           two\n", "",
	    "history", "bob", "--offline");
	SHOWS(s, "", "00:00  you           two\n", "", "history", "bob",
	    "--offline", "--limit", "1");
	SHOWS(s, "", "00:00  you           two\n00:00  bob           five\n",
	    "", "history", "--conversation", BIG_ID, "--offline");
	SHOWS(s, "", "", "", "history", "ann", "--offline");
}

static void
test_conversations(void **state)
{
	struct stage *s = *state;

	played_say(s->played, 200,
	    "{'conversations': [" WITH_BOB ","
	    " {'kind': 'group', 'title': 'all', 'unread': 0, 'last': 3}]}");
	SHOWS(s, LIST,
	    "WITH  UNREAD  MESSAGES  ID\nbob   1       12        " ID "\n"
	    "all           3         \n",
	    "", "conversations");
	played_say(s->played, 200, "{'conversations': []}");
	SHOWS(s, LIST, "", "", "conversations");
	played_say(s->played, 200, "{'conversations': []}");
	SHOWS(s, LIST, "{\"conversations\":[]}\n", "", "conversations",
	    "--json", "--page");
	/* Page by page, with one object a line. */
	played_say(s->played, 200,
	    "{'conversations': [{'id': 'a'}, {'id': 'b'}], 'next': 'x/y'}");
	played_say(s->played, 200, "{'conversations': [{'id': 'c'}]}");
	SHOWS(s,
	    LIST "GET /v1/conversations?order=created&limit=200&after=x%2Fy\n",
	    "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n", "",
	    "conversations", "--json");
	played_say(
	    s->played, 200, "{'conversations': [" WITH_BOB "], 'next': 'x'}");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s,
	    LIST "GET /v1/conversations?order=created&limit=200&after=x\n",
	    EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "conversations");
	assert_string_equal(s->out, "");
	s->terminal = true;
	played_say(s->played, 200, "{'conversations': []}");
	SHOWS(s, LIST, "",
	    "twinbox: conversations: none yet; twinbox send NAME TEXT begins "
	    "one\n",
	    "conversations");
	played_say(s->played, 404, NOT_FOUND);
	REFUSES(s, LIST, EX_DATAERR,
	    "it is not there; check the id; lists show only what is yours",
	    "conversations");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_inbox),
	    TEST(test_inbox_wait),
	    TEST(test_inbox_all),
	    TEST(test_inbox_refused),
	    TEST(test_inbox_receipts),
	    TEST(test_read),
	    TEST(test_read_without_numbers),
	    TEST(test_ack),
	    TEST(test_outbox),
	    TEST(test_outbox_texts),
	    TEST(test_outbox_one),
	    TEST(test_history),
	    TEST(test_history_refused),
	    TEST(test_history_offline),
	    TEST(test_conversations),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
