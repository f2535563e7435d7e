/* SPDX-License-Identifier: MIT */
/*
 * `fsck --with-peer` finds nothing in two databases whose servers have
 * delivered to each other, whatever is still on its way.  It finds each kind of
 * difference in a pair that was made to differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/linked.h"
#include "unit/folder.h"
#include "upkeep/fsck.h"

/* The messages of the story: those of Ann to Bob, then those of Bob to Ann. */
#define OF_ANN 5
#define OF_BOB 2
#define STORY (OF_ANN + OF_BOB)

/* Static, because they are too large for the stack. */
static struct linked a, b;
static struct uuid ids[STORY];
static struct uuid between; /* an id between those of two events */
static struct pair_report report;

struct found {
	int n;
	char first[1024]; /* "what: place" */
};
static struct found found;

static void
keep(void *arg, const char *what, const char *place)
{
	struct found *f = arg;

	if (f->n++ == 0)
		(void)snprintf(
		    f->first, sizeof(f->first), "%s: %s", what, place);
}

static void
look(void)
{
	struct err err = ERR_INIT;

	memset(&found, 0, sizeof(found));
	if (linked_compare(&a, &b, keep, &found, &report, &err) != RC_OK)
		fail_msg("%s", err.text);
	assert_int_equal(report.violations, found.n);
}

/* Fails if fsck finds anything.  ${why} describes the situation. */
static void
expect_nothing(const char *why)
{

	look();
	if (found.n > 0)
		fail_msg("%s\n  found %d: %s", why, found.n, found.first);
}

/*
 * Bob has Ann's first five messages and has acked four.  The receipt for the
 * fourth waits.  Ann has Bob's two messages and has read the first.  A sixth
 * message of Ann waits, too.
 */
static void
tell_story(void)
{
	size_t i;

	linked_open(&a, &b, NULL);
	for (i = 0; i < OF_ANN; i++)
		ids[i] = linked_send(&a, b.address);
	assert_int_equal(linked_carry(&a, &b), OF_ANN);
	for (; i < STORY; i++)
		ids[i] = linked_send(&b, a.address);
	linked_ack(&b, &ids[2]);
	assert_int_equal(linked_carry(&b, &a), OF_BOB + 1);
	linked_read(&a, &ids[OF_ANN]);
	assert_int_equal(linked_carry(&a, &b), 2);
	linked_ack(&b, &ids[3]);
	(void)linked_send(&a, b.address);
	between = linked_event_id(&a, &ids[1]);
	memset(between.b + 9, 0xff, sizeof(between.b) - 9);
}

static void
test_agree(void **state)
{

	(void)state;
	tell_story();
	rig_check_promises(&a.rig);
	rig_check_promises(&b.rig);
	expect_nothing("the story");
	assert_int_equal(report.kinds, 8);
	assert_int_equal(report.messages, STORY);
	/* The messages, one receipt of Bob and two of Ann. */
	assert_int_equal(report.events, STORY + 3);
	while (linked_carry(&a, &b) + linked_carry(&b, &a) > 0)
		continue;
	expect_nothing("all of it carried");
	assert_int_equal(report.messages, STORY + 1);
	assert_int_equal(report.events, STORY + 3 + 2);
	assert_string_equal(rig_list(&a.rig, "SELECT state FROM outbox WHERE "
					     "dest_kind = 'server' AND kind = 1"
					     " ORDER BY id"),
	    "acked acked acked acked sent sent");
	linked_close(&a, &b);
}

/* Writes ${sql} for the database of ${of}.  $0 to $6 are the ids of the
 * messages, $e is the event id between two of them, and $f is the id of the
 * other server's destination. */
static const char *
expand(const struct linked *of, const char *sql)
{
	static char text[2048];
	size_t n = 0;

	for (; *sql != '\0'; sql++) {
		assert_true(n < sizeof(text) - 64);
		if (*sql != '$')
			text[n++] = *sql;
		else if (*++sql == 'f')
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%lld", (long long)of->origin_id);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
			    linked_literal(
				of, *sql == 'e' ? &between : &ids[*sql - '0']));
	}
	text[n] = '\0';
	return (text);
}

static void
change(struct linked *of, const char *sql)
{

	if (rig_exec_past(&of->rig, expand(of, sql)) == 0)
		fail_msg("%s: changed nothing", sql);
}

#define MID(message)                                                           \
	"(SELECT mid FROM messages WHERE message_id = $" #message ")"
#define BOB "(SELECT user_id FROM users WHERE name = 'bob')"
#define ANN "(SELECT user_id FROM users WHERE name = 'ann')"
#define LOSE(message)                                                          \
	"DELETE FROM inbox WHERE mid = " MID(                                  \
	    message) ";"                                                       \
		     "DELETE FROM messages WHERE message_id = $" #message
/* Adds Bob's event for Ann's second message once more, under another event id
 * or origin. */
#define TWICE(event, origin)                                                   \
	"INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,"   \
	" conversation_id, conversation_seq, actor_id, event_time,"            \
	" delivered_at) SELECT user_id, 99, kind, own, " event ", " origin     \
	", mid, conversation_id, conversation_seq, actor_id, event_time,"      \
	" delivered_at FROM inbox WHERE user_id = " BOB " AND mid = " MID(1)

/* A change of one database, the first difference that fsck finds, and how many
 * it finds. */
static const struct {
	struct linked *of;
	const char *sql;
	const char *name;
	int message; /* -1: the difference is about an event */
	int n;
} forgeries[] = {
    {&b, LOSE(1), "pair-missing", 1, 1},
    {&b, "DELETE FROM messages WHERE message_id = $1", "pair-missing", 1, 1},
    {&a, LOSE(6), "pair-missing", 6, 1},
    {&b, "UPDATE messages SET body = 'other' WHERE message_id = $1",
	"pair-changed", 1, 1},
    {&a, "UPDATE messages SET body = 'other' WHERE message_id = $1",
	"pair-changed", 1, 1},
    {&b,
	"INSERT INTO users (name, admin, created_at, destination_id)"
	" VALUES ('eve@a.example', 0, 0, $f);"
	"UPDATE messages SET sender_id = (SELECT user_id FROM users"
	" WHERE name = 'eve@a.example') WHERE message_id = $1",
	"pair-changed", 1, 1},
    {&b, "DELETE FROM inbox WHERE mid = " MID(1), "pair-inbox", 1, 1},
    {&a, "DELETE FROM inbox WHERE mid = " MID(6), "pair-inbox", 6, 1},
    {&b, TWICE("event_id", "77"), "pair-inbox", 1, 1},
    {&b,
	TWICE("event_id", "77") ";UPDATE inboxes SET trimmed = 1"
				" WHERE user_id = " BOB,
	"pair-inbox", 1, 1},
    {&b,
	TWICE("$0", "$f") ";INSERT INTO processed_messages (event_id, origin,"
			  " processed_at) VALUES ($0, $f, 0)",
	"pair-inbox", 1, 1},
    {&b,
	"UPDATE messages SET conversation_seq = 100 WHERE message_id = $0;"
	"UPDATE messages SET conversation_seq = 1 WHERE message_id = $1;"
	"UPDATE messages SET conversation_seq = 2 WHERE message_id = $0",
	"pair-order", 1, 1},
    /* The receipt on its way covers only later messages. */
    {&a,
	"UPDATE outbox SET state = 'sent', acked_at = NULL"
	" WHERE kind = 1 AND mid = " MID(1),
	"pair-untold", 1, 1},
    /* The receipt on its way does not reach this message. */
    {&b, "UPDATE participants SET acked_upto = 5 WHERE user_id = " BOB,
	"pair-untold", 4, 1},
    /* The receipt never left; it was given up; the other server took it. */
    {&b, "DELETE FROM outbox WHERE kind = 2 AND state = 'pending'",
	"pair-untold", 3, 1},
    {&b,
	"UPDATE outbox SET state = 'failed', reason = 'rejected'"
	" WHERE kind = 2 AND state = 'pending'",
	"pair-untold", 3, 1},
    {&b,
	"UPDATE outbox SET state = 'sent', sent_at = 1"
	" WHERE kind = 2 AND state = 'pending'",
	"pair-untold", 3, 1},
    {&a,
	"UPDATE outbox SET state = 'acked', acked_at = last_status_at"
	" WHERE kind = 1 AND mid = " MID(4),
	"pair-unfounded", 4, 1},
    {&a,
	"DELETE FROM outbox WHERE mid = " MID(
	    0) ";"
	       "DELETE FROM messages WHERE message_id = $0",
	"pair-unsent", 0, 1},
    /* By another person. */
    {&a,
	"INSERT INTO users (name, admin, created_at) VALUES ('cat', 0, 0);"
	"UPDATE messages SET sender_id = (SELECT user_id FROM users"
	" WHERE name = 'cat') WHERE message_id = $1",
	"pair-unsent", 1, 1},
    /* To another person. */
    {&a,
	"UPDATE messages SET conversation_id = (SELECT conversation_id + 1"
	" FROM messages WHERE message_id = $1) WHERE message_id = $1",
	"pair-unsent", 1, 1},
    {&b,
	"INSERT INTO processed_messages (event_id, origin, processed_at)"
	" VALUES ($e, $f, 0)",
	"pair-event", -1, 0},
    {&b,
	"UPDATE inbox SET actor_id = " BOB " WHERE own = 0 AND user_id = " BOB
	" AND mid = " MID(1),
	"pair-event", -1, 1},
    {&a, "UPDATE participants SET shown_upto = 0 WHERE user_id = " ANN,
	"pair-event", -1, 1},
    /* Ann's server has messages as acked, with a receipt of Bob, but Bob's
     * server says that Bob has acked nothing. */
    {&b, "UPDATE participants SET acked_upto = 0 WHERE user_id = " BOB,
	"pair-unfounded", 0, 4},
};

static void
expect_first(const char *sql, const char *name, int message)
{
	char id[UUID_TEXT_LEN + 1], place[64 + 2 * LIMIT_ADDRESS_LEN];
	const bool of_ann = message < OF_ANN;

	assert_memory_equal(found.first, name, strlen(name));
	assert_int_equal(found.first[strlen(name)], ':');
	if (message < 0) {
		assert_non_null(strstr(found.first, ": event "));
		return;
	}
	uuid_format(&ids[message], id);
	(void)snprintf(place, sizeof(place), ": message %s from %s to %s", id,
	    of_ann ? a.address : b.address, of_ann ? b.address : a.address);
	if (strstr(found.first, place) == NULL)
		fail_msg("%s\n  found %s\n  not%s", sql, found.first, place);
}

static void
test_forged(void **state)
{
	size_t i;
	int n;

	(void)state;
	tell_story();
	linked_keep(&a);
	linked_keep(&b);
	for (i = 0; i < sizeof(forgeries) / sizeof(forgeries[0]); i++) {
		change(forgeries[i].of, forgeries[i].sql);
		look();
		/* With several writers the row may have been made and
		 * purged. */
		n = forgeries[i].n;
		if (n == 0)
			n = rig_is_postgres() ? 0 : 1;
		if (found.n != n)
			fail_msg("%s\n  found %d, not %d: %s", forgeries[i].sql,
			    found.n, n, found.first);
		if (n > 0)
			expect_first(forgeries[i].sql, forgeries[i].name,
			    forgeries[i].message);
		linked_put_back(forgeries[i].of);
	}
	expect_nothing("all is put back");
	linked_close(&a, &b);
	print_message("# ok - %zu forgeries\n", i);
}

/* Changes that look wrong but are allowed. */
static const struct {
	struct linked *of;
	const char *sql;
} excuses[] = {
    /* The purger has deleted rows that have ended. */
    {&a, "DELETE FROM outbox WHERE kind = 1 AND state = 'acked'"},
    {&a, "DELETE FROM outbox WHERE kind = 3"},
    {&b, "DELETE FROM outbox WHERE kind = 2 AND state = 'sent'"},
    {&b, "DELETE FROM processed_messages"},
    {&b, "DELETE FROM inbox WHERE mid = " MID(
	     0) ";"
		"UPDATE inboxes SET trimmed = 1 WHERE user_id = " BOB},
    /* Erased. */
    {&b, "UPDATE messages SET body = NULL, salt = NULL WHERE message_id = $1"},
    {&a, "UPDATE messages SET body = NULL, salt = NULL WHERE message_id = $1"},
    /* A receipt that is being sent; one that the other server has answered with
     * "later"; and one that an operator rewinds. */
    {&b, "UPDATE outbox SET state = 'sending' WHERE kind = 2"
	 " AND state = 'pending'"},
    {&b, "UPDATE outbox SET state = 'sent', sent_at = 1, ack_deadline = 9"
	 " WHERE kind = 2 AND state = 'pending'"},
    {&b,
	"UPDATE outbox SET state = 'sent', sent_at = 1 WHERE kind = 2"
	" AND state = 'pending';"
	"UPDATE outbox_lanes SET replay_seq = 1, next_seq = 9 WHERE class = 1"},
    /* A requeued message, which has a new place. */
    {&a, "UPDATE outbox SET state = 'sent', acked_at = NULL, requeues = 1"
	 " WHERE kind = 1 AND mid = " MID(1)},
    {&a, "UPDATE outbox SET state = 'acked', requeues = 1 WHERE kind = 1"
	 " AND mid = " MID(4)},
};

static void
test_excused(void **state)
{
	size_t i;

	(void)state;
	tell_story();
	linked_keep(&a);
	linked_keep(&b);
	for (i = 0; i < sizeof(excuses) / sizeof(excuses[0]); i++) {
		change(excuses[i].of, excuses[i].sql);
		expect_nothing(excuses[i].sql);
		linked_put_back(excuses[i].of);
	}
	linked_close(&a, &b);
	print_message("# ok - %zu excuses\n", i);
}

/* A message without an outbox row was acked before the row was purged. */
static void
test_purged_missing(void **state)
{

	(void)state;
	tell_story();
	change(&a, "DELETE FROM outbox WHERE kind = 1 AND state = 'acked'");
	change(&b, LOSE(1));
	look();
	assert_int_equal(found.n, 1);
	expect_first("purged", "pair-missing", 1);
	assert_int_equal(report.messages, STORY);
	linked_close(&a, &b);
}

/* A requeued message arrives later than its number says. */
static void
test_order_requeued(void **state)
{

	(void)state;
	tell_story();
	change(&b, "UPDATE messages SET conversation_seq = 100"
		   " WHERE message_id = $0");
	look();
	assert_true(found.n > 0);
	change(&a, "UPDATE outbox SET requeues = 1 WHERE kind = 1"
		   " AND mid = " MID(0));
	expect_nothing("requeued");
	linked_close(&a, &b);
}

/* B has lost the first two messages.  Then a's lane is rewound: until they are
 * offered again, they are not missing for good. */
static void
test_rewound(void **state)
{

	(void)state;
	tell_story();
	change(&b, LOSE(0) ";" LOSE(1));
	look();
	assert_int_equal(found.n, 2);
	change(&a, "UPDATE outbox_lanes SET replay_seq = 1 WHERE class = 0");
	expect_nothing("rewound");
	change(&a, "UPDATE outbox_lanes SET replay_seq = 2 WHERE class = 0");
	look();
	assert_int_equal(found.n, 1);
	expect_first("rewound to 2", "pair-missing", 0);
	linked_close(&a, &b);
}

/* A message that was answered with "later" is not yet sent. */
static void
test_later(void **state)
{

	(void)state;
	linked_open(&a, &b, NULL);
	(void)linked_send(&a, b.address);
	assert_int_equal(linked_answer(&a, &b, ANSWER_LATER), 1);
	assert_string_equal(
	    rig_text(&a.rig, "SELECT state FROM outbox"), "sent");
	expect_nothing("later");
	assert_int_equal(report.messages, 0);
	linked_close(&a, &b);
}

/* B has nothing: it accepted the messages and lost them. */
static void
test_lost(void **state)
{
	int i;

	(void)state;
	linked_open(&a, &b, NULL);
	for (i = 0; i <= FSCK_PLACES; i++)
		(void)linked_send(&a, b.address);
	assert_int_equal(
	    linked_answer(&a, &b, ANSWER_ACCEPTED), FSCK_PLACES + 1);
	look();
	assert_int_equal(report.messages, FSCK_PLACES + 1);
	assert_int_equal(found.n, FSCK_PLACES);
	linked_close(&a, &b);
}

/* More conversations than one page holds, and more messages and events in one
 * conversation. */
static void
test_pages(void **state)
{
	char name[64];
	size_t n = 0;
	int i;

	(void)state;
	linked_open(&a, &b, NULL);
	for (i = 0; i < 45; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)rig_user(&b.rig, name, NULL);
		(void)snprintf(name, sizeof(name), "p%d@b.example", i);
		(void)linked_send(&a, name);
	}
	for (i = 0; i < 205; i++)
		(void)linked_send(&a, b.address);
	ids[0] = linked_send(&a, name);
	ids[1] = linked_send(&a, b.address);
	while (linked_carry(&a, &b) > 0)
		n++;
	assert_true(n > 5);
	expect_nothing("pages");
	assert_int_equal(report.messages, 45 + 205 + 2);
	assert_int_equal(report.events, 45 + 205 + 2);
	change(&b, LOSE(1));
	change(&b, LOSE(0));
	look();
	assert_int_equal(found.n, 2);
	linked_close(&a, &b);
}

/* An event that was never sent stands between two rows.  It may be an event
 * whose row was purged. */
static void
test_purged_event(void **state)
{

	(void)state;
	tell_story();
	change(&b, "INSERT INTO processed_messages (event_id, origin,"
		   " processed_at) VALUES ($e, $f, 0)");
	change(&a, "DELETE FROM outbox WHERE kind = 1 AND state = 'acked'");
	expect_nothing("perhaps purged");
	linked_close(&a, &b);
}

/* An event after all rows cannot have been purged, because the last row is
 * never purged. */
static void
test_newest_event(void **state)
{

	(void)state;
	tell_story();
	memset(ids[0].b, 0xff, sizeof(ids[0].b));
	change(&b, "INSERT INTO processed_messages (event_id, origin,"
		   " processed_at) VALUES ($0, $f, 0)");
	look();
	assert_int_equal(found.n, 1);
	assert_string_equal(found.first,
	    "pair-event: an event came from a server that has not made it: "
	    "event ffffffff-ffff-ffff-ffff-ffffffffffff from a.example to "
	    "b.example");
	linked_close(&a, &b);
}

static void
test_strangers(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	linked_open(&a, &b, NULL);
	b.domain = "c.example";
	/* One server knows the other, to which it has sent nothing yet. */
	a.domain = "a.example";
	assert_int_equal(
	    linked_compare(&a, &b, keep, &found, &report, &err), RC_OK);
	a.domain = "d.example";
	assert_int_equal(
	    linked_compare(&a, &b, keep, &found, &report, &err), RC_INVALID);
	assert_string_equal(err.text,
	    "d.example and c.example have never been in contact: neither "
	    "database knows the other's domain");
	linked_close(&a, &b);
}

/* One database is a file, the other one may be in PostgreSQL. */
static void
test_mixed(void **state)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char dir[64], path[96], name[128];
	size_t i;

	(void)state;
	assert_true(folder_make("pair", dir, sizeof(dir)));
	(void)snprintf(path, sizeof(path), "%s/db", dir);
	linked_open(&a, &b, path);
	ids[0] = linked_send(&a, b.address);
	ids[1] = linked_send(&b, a.address);
	assert_int_equal(linked_carry(&a, &b), 1);
	assert_int_equal(linked_carry(&b, &a), 1);
	linked_ack(&a, &ids[1]);
	linked_read(&b, &ids[0]);
	while (linked_carry(&a, &b) + linked_carry(&b, &a) > 0)
		continue;
	expect_nothing("mixed");
	assert_int_equal(report.messages, 2);
	change(&b, "UPDATE messages SET body = 'x' WHERE message_id = $0");
	change(
	    &a, "UPDATE participants SET acked_upto = 0 WHERE user_id = " ANN);
	look();
	assert_true(found.n >= 2);
	linked_close(&a, &b);
	for (i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		(void)unlink(name);
	}
	(void)rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_agree),
	    cmocka_unit_test(test_forged),
	    cmocka_unit_test(test_excused),
	    cmocka_unit_test(test_purged_missing),
	    cmocka_unit_test(test_order_requeued),
	    cmocka_unit_test(test_rewound),
	    cmocka_unit_test(test_later),
	    cmocka_unit_test(test_lost),
	    cmocka_unit_test(test_pages),
	    cmocka_unit_test(test_purged_event),
	    cmocka_unit_test(test_newest_event),
	    cmocka_unit_test(test_strangers),
	    cmocka_unit_test(test_mixed),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
