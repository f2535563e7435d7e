/* SPDX-License-Identifier: MIT */
/*
 * fsck finds nothing in a sound database, and each kind of damage in one that
 * was damaged behind the server's back, with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "schema/sql.h"
#include "unit/skip.h"
#include "upkeep/fsck.h"

struct found {
	int n;
	char first[512]; /* "what: place" */
	bool seen;       /* the expected text was among them */
};

static const char *looked_for = "";

static void
keep(void *arg, const char *what, const char *place)
{
	struct found *f = arg;
	char text[sizeof(f->first)];

	(void)snprintf(text, sizeof(text), "%s: %s", what, place);
	f->seen |= strncmp(text, looked_for, strlen(looked_for)) == 0;
	if (f->n++ == 0)
		memcpy(f->first, text, sizeof(text));
}

static struct fsck_report
look(struct rig *r, struct found *ret)
{
	struct fsck_report report;
	struct err err = ERR_INIT;
	struct db *db = rig_reader(r);

	memset(&report, 0, sizeof(report));
	memset(ret, 0, sizeof(*ret));
	if (fsck_run(db, keep, ret, &report, &err) != RC_OK)
		fail_msg("%s", err.text);
	db_close(db);
	return (report);
}

/*
 * Alice (1) and Bob (2): four messages from Alice and two from Bob, all
 * delivered (Bob's own two stand first in Bob's inbox).  Bob has acked the
 * first two of Alice's messages and read one.  One message to Carol (3) waits,
 * and one is scheduled.
 */
static void
tell_story(struct rig *r)
{
	int64_t alice, bob, alice_device, bob_device;
	int i;

	alice = rig_user(r, "alice", &alice_device);
	bob = rig_user(r, "bob", &bob_device);
	(void)rig_user(r, "carol", NULL);
	for (i = 0; i < 4; i++)
		(void)rig_send(r, alice, "bob", "there", NULL);
	for (i = 0; i < 2; i++)
		(void)rig_send(r, bob, "alice", "back", NULL);
	(void)rig_deliver(r);
	(void)rig_ack(r, bob, bob_device, 4);
	(void)rig_read(r, bob, bob_device, 3, false);
	(void)rig_deliver(r);
	(void)rig_send(r, alice, "carol", "waits", NULL);
	(void)rig_send_at(r, alice, "bob", "later", r->clk.wall_ms + 60000);
}

static void
test_sound(void **state)
{
	struct fsck_report report;
	struct found found;
	struct rig r;

	(void)state;
	rig_open(&r);
	report = look(&r, &found);
	assert_int_equal(report.violations, 0);
	assert_int_equal(report.census.messages, 0);
	tell_story(&r);
	report = look(&r, &found);
	if (found.n > 0)
		fail_msg("%s", found.first);
	assert_int_equal(report.violations, 0);
	assert_int_equal(report.census.users, 3);
	assert_int_equal(report.census.messages, 8);
	assert_int_equal(report.links, 7);
	/* One for each message, Bob's two receipts and Bob's own read event. */
	assert_int_equal(report.census.outbox_rows, 8 + 3);
	/* Both sides of six messages, the sender's copy of the one that waits,
	 * and those three. */
	assert_int_equal(report.census.events, 2 * 6 + 1 + 3);
	assert_int_equal(report.kinds, 28);
	rig_close(&r);
}

/* A scheduled note to oneself is acked by its release, and needs no mark. */
static void
test_note_for_later(void **state)
{
	struct found found;
	int64_t alice;
	struct rig r;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_send_at(&r, alice, "alice", "later", r.clk.wall_ms + 60000);
	clk_fake_advance(&r.clk, 60000);
	assert_int_equal(rig_release(&r), 1);
	assert_string_equal(rig_text(&r, "SELECT state FROM outbox"), "acked");
	(void)look(&r, &found);
	if (found.n > 0)
		fail_msg("%s", found.first);
	rig_close(&r);
}

/* Changes that the test makes behind the server's back, and the first line that
 * fsck reports for each. */
static const struct damage {
	const char *sql;
	const char *first; /* the beginning of the report */
} damages[] = {
    {"DELETE FROM outbox WHERE mid=2 AND kind=1",
	"accepted, but there is no outbox row: message 2"},
    {"DELETE FROM messages WHERE mid=2",
	"a row refers to nothing: outbox row 2 about no message"},
    {"UPDATE messages SET sender_id=99 WHERE mid=2",
	"a row refers to nothing: message 2 of no user"},
    {"UPDATE messages SET sender_id=3 WHERE mid=2",
	"a row refers to nothing: message 2 of somebody who is not in its "
	"conversation"},
    {"UPDATE messages SET conversation_id=77 WHERE mid=2",
	"a row refers to nothing: message 2 of no conversation"},
    {"UPDATE outbox SET lane_id=77 WHERE id=2",
	"a row refers to nothing: outbox row 2 in no lane"},
    {"UPDATE inbox SET mid=77 WHERE user_id=2 AND seq=3",
	"a row refers to nothing: event 3 of user 2 about no message"},
    {"UPDATE inbox SET user_id=77 WHERE user_id=2 AND seq=3",
	"a row refers to nothing: event 3 of no user 77"},
    {"DELETE FROM inbox WHERE user_id=1 AND seq=1 AND own=1",
	"accepted, but not in its sender's inbox: message 1 of user 1"},
    {"DELETE FROM inbox WHERE user_id=2 AND own=0 AND mid=4",
	"called sent, but not in the inbox: outbox row 4 to user 2"},
    {"UPDATE outbox SET state='pending', sent_at=NULL WHERE id=4",
	"in the inbox, but still owed: outbox row 4 to user 2"},
    {"UPDATE inbox SET mid=1 WHERE user_id=2 AND mid=2",
	"twice in an inbox: message 1 to user 2"},
    {"UPDATE inbox SET seq=seq+1 WHERE user_id=1 AND seq="
     "(SELECT max(seq) FROM inbox WHERE user_id=1)",
	"an inbox has a hole: user 1: "},
    {"UPDATE inboxes SET trimmed=1 WHERE user_id=1",
	"an inbox has a hole: user 1: "},
    {"UPDATE messages SET conversation_seq=9 WHERE mid=6",
	"a conversation has a hole: conversation 1: 6 messages from 1 to 9"},
    {"UPDATE inbox SET conversation_seq=CASE conversation_seq WHEN 3 THEN 4 "
     "ELSE 3 END WHERE user_id=2 AND conversation_seq IN (3, 4)",
	"out of order: event 6 of user 2: message 3 of conversation 1 after 4"},
    {"UPDATE outbox_lanes SET next_seq=2 WHERE lane_id=1",
	"a row that its lane has passed over, or has not reached: outbox row 2 (acked) "
	"has place 2 in lane 1, which is at 2"},
    {"UPDATE outbox_lanes SET next_seq=next_seq+1 WHERE lane_id="
     "(SELECT min(lane_id) FROM outbox WHERE state='pending' AND lane_seq NOTNULL)",
	"a row that its lane has passed over, or has not reached: outbox row "},
    {"UPDATE outbox_lanes SET acked_seq=3 WHERE lane_id=1",
	"a row that its lane has passed over, or has not reached: outbox row 3 (sent) "
	"has place 3 in lane 1, which is at 5 and acked up to 3"},
    {"UPDATE outbox SET acked_at=5 WHERE id=3",
	"times that contradict the state: outbox row 3 is sent"},
    {"UPDATE outbox_totals SET sent=sent+1",
	"the totals are wrong: messages that are sent: "},
    {"UPDATE outbox_totals SET scheduled=0",
	"the totals are wrong: messages that are scheduled: 1, but the totals "
	"say 0"},
    {"INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id,"
     "destination_id, state, reason, attempts, retry_count, event_time,"
     "created_at, dead_at) VALUES (4, 4, 1, 2, 1, 'failed', 'rejected', 1, 0,"
     "1, 1, 1)",
	"failed without a bounce, or a dead letter of a live message: dead letter 1 "
	"is open, its outbox row 4 is sent"},
    {"UPDATE outbox SET state='failed' WHERE id=4",
	"failed without a bounce, or a dead letter of a live message: outbox row 4 "
	"is failed without a bounce to user 1"},
    {"UPDATE outbox_lanes SET state='idle', tail_seq=9 WHERE lane_id="
     "(SELECT min(lane_id) FROM outbox WHERE state='pending' AND lane_seq NOTNULL);"
     "UPDATE outbox SET dest_kind='server' WHERE state='pending' AND lane_seq "
     "NOTNULL",
	"a pending row that its lane does not reach: outbox row "},
    {"UPDATE outbox_lanes SET state='ready', tail_seq=9, priority=1 WHERE "
     "lane_id=(SELECT min(lane_id) FROM outbox WHERE state='pending' AND lane_seq "
     "NOTNULL);"
     "UPDATE outbox SET dest_kind='server' WHERE state='pending' AND lane_seq "
     "NOTNULL",
	"its lane is not as urgent as what waits in it: lane 4 has priority 1, "
	"the highest in it is 0"},
    {"UPDATE devices SET acked_seq=100 WHERE user_id=2",
	"a watermark beyond the last event: device 2 has acked 100, the inbox of "
	"user 2 ends before"},
    {"UPDATE inboxes SET read_seq=100 WHERE user_id=2",
	"a watermark beyond the last event: user 2 has read 100"},
    {"UPDATE participants SET delivered_upto=100 WHERE user_id=2",
	"a watermark beyond the last event: user 2 has marks beyond the end of "
	"conversation 1"},
    {"UPDATE participants SET acked_upto=0 WHERE user_id=2",
	"a watermark beyond the last event: outbox row 1 is acked, user 2 is at 0"},
    {"UPDATE inbox SET actor_id=3 WHERE user_id=2 AND mid=2 AND kind=1",
	"an event differs from its message: event 4 of user 2: sender"},
    {"UPDATE inbox SET conversation_id=2 WHERE user_id=2 AND mid=2 AND kind=1",
	"an event differs from its message: event 4 of user 2: conversation"},
    {"UPDATE inbox SET conversation_seq=100002 WHERE user_id=1 AND kind=2",
	"an event differs from its message: event 7 of user 1: number"},
    {"UPDATE inbox SET own=1 WHERE user_id=2 AND mid=2 AND kind=1",
	"an event differs from its message: event 4 of user 2: own"},
    {"UPDATE inbox SET kind=2 WHERE user_id=2 AND mid=2 AND kind=1",
	"called sent, but not in the inbox: outbox row 2 to user 2"},
    {"UPDATE inbox SET kind=2 WHERE user_id=1 AND mid=2 AND kind=1",
	"accepted, but not in its sender's inbox: message 2 of user 1"},
    {"UPDATE inbox SET outbox_id=3 WHERE user_id=2 AND mid=2 AND kind=1",
	"an event differs from its outbox row: event 4 of user 2: outbox id"},
    {"UPDATE inbox SET delivered_at=5 WHERE user_id=2 AND mid=2 AND kind=1",
	"an event differs from its outbox row: event 4 of user 2: time of "
	"delivery"},
    {"UPDATE inbox SET event_time=5 WHERE user_id=1 AND kind=2",
	"an event differs from its outbox row: event 7 of user 1: event time"},
    {"UPDATE participants SET shown_at=5, read_at=5 WHERE user_id=2",
	"an event differs from the marks: event "},
    {"UPDATE outbox SET sender_id=3 WHERE id=2",
	"an event differs from its outbox row: event 4 of user 2: sender"},
    {"UPDATE outbox SET sender_id=3 WHERE state='pending' AND lane_seq NOTNULL",
	"an outbox row differs from its message: outbox row "},
    {"UPDATE outbox SET lane_id=2 WHERE id=2",
	"an outbox row differs from its lane: outbox row 2: lane"},
    {"UPDATE participants SET role='owner' WHERE user_id=2",
	"a member's marks differ from the inboxes: user 2 in conversation 1: "
	"membership"},
    {"UPDATE messages SET body='other' WHERE mid=2",
	"not what was accepted: its digest does not follow from the one "
	"before: message 2 of conversation 1"},
    {"UPDATE messages SET digest=zeroblob(32) WHERE mid=6",
	"not what was accepted: its digest does not follow from the one "
	"before: message 6 of conversation 1"},
    {"UPDATE messages SET salt=NULL WHERE mid=3",
	"not what was accepted: its digest does not follow from the one "
	"before: message 3 of conversation 1"},
};

static void
hurt(struct rig *r, const char *sql)
{

	if (rig_exec_past(r, sql) == 0)
		fail_msg("%s: changed nothing", sql);
}

static void
test_damage(void **state)
{
	const struct damage *d;
	struct found found;
	struct rig r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		d = &damages[i];
		rig_open(&r);
		tell_story(&r);
		hurt(&r, d->sql);
		looked_for = d->first;
		(void)look(&r, &found);
		/* PostgreSQL reports them in any order. */
		if (r.pg != NULL
			? !found.seen
			: strncmp(found.first, d->first, strlen(d->first)) != 0)
			fail_msg("%s\n  found %d: %s\n  not: %s", d->sql,
			    found.n, found.first, d->first);
		rig_close(&r);
	}
	print_message("# ok - %zu kinds of damage\n", i);
}

/* A body that was erased on purpose leaves the chain intact. */
static void
test_erased(void **state)
{
	struct found found;
	struct rig r;

	(void)state;
	rig_open(&r);
	tell_story(&r);
	hurt(&r, "UPDATE messages SET body=NULL, salt=NULL WHERE mid=2");
	(void)look(&r, &found);
	if (found.n > 0)
		fail_msg("%s", found.first);
	/* But its digest must still be right. */
	hurt(&r, "UPDATE messages SET digest=zeroblob(32) WHERE mid=2");
	(void)look(&r, &found);
	assert_int_equal(found.n, 1);
	rig_close(&r);
}

/* Damages a page of the file itself. */
static void
test_damaged_page(void **state)
{
	struct found found;
	char noise[64];
	struct rig r;
	long page;
	FILE *f;

	(void)state;
	rig_open(&r);
	tell_story(&r);
	rig_restart(&r); /* moves the log into the file */
	page = (long)rig_number(&r,
	    "SELECT rootpage FROM sqlite_schema WHERE name='messages_sender'");
	memset(noise, 0x5a, sizeof(noise));
	f = fopen(r.path, "r+");
	assert_non_null(f);
	/* The number of cells in the header of an index page. */
	assert_int_equal(fseek(f, (page - 1) * 4096 + 3, SEEK_SET), 0);
	assert_int_equal(fwrite(noise, 1, 2, f), 2);
	assert_int_equal(fclose(f), 0);
	(void)look(&r, &found);
	assert_true(found.n > 0);
	assert_memory_equal(found.first, "the file is damaged: ", 21);
	rig_close(&r);
}

int
main(void)
{
	struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sound),
	    cmocka_unit_test(test_note_for_later),
	    cmocka_unit_test(test_damage),
	    cmocka_unit_test(test_erased),
	    cmocka_unit_test(test_damaged_page),
	};

	if (rig_is_postgres())
		SKIP_TEST(tests, test_damaged_page, "PostgreSQL has no file");
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
