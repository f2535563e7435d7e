/* SPDX-License-Identifier: MIT */
/*
 * Messages on their way to another server, verb by verb: what a claim takes,
 * and what each answer, a lost lease, a restart and an expiry leave in lanes,
 * rows, attempts and dead letters, member by member.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "model/outbox.h"

#define SAID_SIZE 8192

static struct rig rig;
static struct parcel parcel;
static int64_t ann;
static char said[SAID_SIZE];
static size_t nsaid;

static int
open_story(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", NULL);
	memset(&parcel, 0, sizeof(parcel));
	clk_fake_advance(&rig.clk, 1000);
	return (0);
}

static int
close_story(void **state)
{

	(void)state;
	buf_fini(&parcel.text);
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsaid += (size_t)vsnprintf(said + nsaid, sizeof(said) - nsaid, fmt, ap);
	va_end(ap);
	assert_true(nsaid < sizeof(said));
}

/* Returns a time in ms since the story began.  0 stays 0. */
static int
since(int64_t ms)
{

	return (ms == 0 ? 0 : (int)(ms - RIG_START_MS));
}

/* Sends ${n} messages to x at far.example. */
static void
send_far(int n, int priority)
{

	while (n-- > 0)
		(void)far_send(&rig, ann, "x@far.example", priority, 0);
}

/* ---- the present state ---- */

#define SINCE(column) "coalesce(" column " - 1700000000000, 0)"
#define OF_ROW(column)                                                         \
	"(SELECT count(*) FROM outbox o WHERE o.kind = 1 AND o.id <= " column  \
	")"

/* Returns lanes, rows, attempts and dead letters as they are.  A second
 * passes. */
static const char *
told(void)
{
	int i;

	nsaid = 0;
	said[0] = '\0';
	say("lanes: %s\n",
	    rig_list(&rig,
		"SELECT state || ' next ' || next_seq || ' tail ' || tail_seq "
		"|| ' published ' || last_published_seq || ' due ' || "
		"CASE WHEN due_at > 0 THEN due_at - 1700000000000 ELSE 0 END "
		"|| ' priority ' || priority || ' token ' || lease_token || "
		"' until ' || " SINCE(
		    "lease_until") " || ' of ' || "
				   "coalesce(lease_owner, '-') || ' again ' || "
				   "coalesce(replay_seq, 0) || ';' FROM outbox_lanes "
				   "WHERE state <> 'local' ORDER BY lane_id"));
	say("rows: %s\n",
	    rig_list(&rig,
		"SELECT state || ' ' || lane_seq || ' tries ' || attempts || "
		"' ' || retry_count || ' ' || rescue_count || ' next ' || " SINCE("next_retry_at") " || ' last ' || " SINCE("last_attempt_at") " || ' ' || " SINCE(
		    "last_status_at") " || ' sent ' || " SINCE("sent_at") " || ' owed ' || " SINCE("ack_deadline") " || ' ' || "
														   "coalesce(reason, '-') || ' ' || coalesce(last_error, '-') || "
														   "';' FROM outbox WHERE kind = 1 ORDER BY id"));
	say("attempts: %s\n",
	    rig_list(&rig,
		"SELECT " OF_ROW(
		    "outbox_id") " || '.' || attempt || ' to ' || "
				 "destination_id || ' of ' || owner || ' ' || " SINCE("started_at") " || '-' || " SINCE(
				     "finished_at") " || ' ' || coalesce(outcome, '-') || ' ' || "
						    "coalesce(status, 0) || ' ' || coalesce(error, '-') || ';' "
						    "FROM outbox_attempts ORDER BY outbox_id, attempt"));
	say("letters: %s\n",
	    rig_list(&rig,
		"SELECT " OF_ROW(
		    "outbox_id") " || ' to ' || destination_id "
				 "|| ' ' || state || ' ' || reason || ' ' || "
				 "coalesce(last_error, '-') || ' tries ' || attempts || ' ' || "
				 "retry_count || ' at ' || " SINCE(
				     "dead_at") " || ';' "
						"FROM dead_letter_queue ORDER BY dead_id"));
	for (i = 0; i < rig.nchanges; i++)
		say("change: %d %s\n", (int)rig.changes[i].mid,
		    effects_outbox_event_name(rig.changes[i].event));
	rig_forget(&rig);
	clk_fake_advance(&rig.clk, 1000);
	return (said);
}

/* ---- verbs ---- */

static void
run(struct unit *unit)
{

	assert_int_equal(writer_submit(rig.writer, unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(unit->rc, RC_OK);
}

/* Claims at most ${most} messages.  Returns the content of the parcel. */
static const char *
claim(size_t most)
{
	const struct parcel_item *item;
	const char *text;
	size_t i;

	(void)far_claim(&rig, &parcel, "far.example", most, PRIORITY_NORMAL);
	nsaid = 0;
	said[0] = '\0';
	text = parcel.text.data;
	for (i = 0; i < parcel.n; i++) {
		item = &parcel.items[i];
		say("%d %s>%s %s %d try %d token %d left %d%s\n",
		    (int)item->row.lane_seq, text + item->from, text + item->to,
		    text + item->body, (int)item->body_len, item->row.attempts,
		    (int)item->lane_token, since(parcel.left_ms),
		    item->replay ? " again" : "");
		assert_int_equal(item->row.state,
		    item->replay ? OUTBOX_SENT : OUTBOX_SENDING);
	}
	return (said);
}

static void
settle_finished(struct unit *base)
{
	struct settle_unit *u = CONTAINER_OF(base, struct settle_unit, unit);

	(void)u;
}

/* Settles the parcel; returns the time at which its destination is due again
 * and the number of lanes whose lease another node holds. */
static const char *
settle(bool reached)
{
	static char text[64];
	struct settle_unit u;

	parcel.reached = reached;
	settle_unit_init(&u);
	u.parcel = &parcel;
	u.random = 200;
	u.unit.finish = settle_finished;
	run(&u.unit);
	(void)snprintf(text, sizeof(text), "due %d, fenced %zu",
	    u.next_due <= 1 ? (int)u.next_due : since(u.next_due), u.fenced);
	return (text);
}

static void
answer(size_t i, enum answer answer, const char *error, int64_t retry_after_ms)
{
	struct parcel_item *item = &parcel.items[i];

	item->answer = answer;
	item->retry_after_ms = retry_after_ms;
	(void)snprintf(item->error, sizeof(item->error), "%s", error);
}

static void
rescue_finished(struct unit *base)
{
	struct reclaim_unit *u = CONTAINER_OF(base, struct reclaim_unit, unit);

	(void)u;
}

static const char *
rescue(bool all)
{
	static char text[96];
	struct reclaim_unit u;

	reclaim_unit_init(&u);
	u.all = all;
	u.expire = true;
	u.unit.finish = rescue_finished;
	run(&u.unit);
	(void)snprintf(text, sizeof(text),
	    "rescued %zu, expired %zu, next lease %d, next expiry %d",
	    u.reclaimed, u.expired, since(u.next_lease), since(u.next_expiry));
	return (text);
}

/* ---- stories ---- */

static void
all_answers(void)
{

	send_far(6, PRIORITY_NORMAL);
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 6 published 0 due 0 priority 0 token 0 "
	    "until 0 of - again 0;\n"
	    "rows: pending 1 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -; "
	    "pending 2 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -; "
	    "pending 3 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -; "
	    "pending 4 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -; "
	    "pending 5 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -; "
	    "pending 6 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -;\n"
	    "attempts: \n"
	    "letters: \n");
	assert_string_equal(claim(5),
	    "1 ann>x@far.example hello 5 try 1 token 1 left 2000\n"
	    "2 ann>x@far.example hello 5 try 1 token 1 left 2000\n"
	    "3 ann>x@far.example hello 5 try 1 token 1 left 2000\n"
	    "4 ann>x@far.example hello 5 try 1 token 1 left 2000\n"
	    "5 ann>x@far.example hello 5 try 1 token 1 left 2000\n");
	assert_string_equal(told(),
	    "lanes: leased next 1 tail 6 published 0 due 0 priority 0 token 1 "
	    "until 62000 of test again 0;\n"
	    "rows: sending 1 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - "
	    "-; sending 2 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - -; "
	    "sending 3 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - -; "
	    "sending 4 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - -; "
	    "sending 5 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - -; "
	    "pending 6 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-0 - 0 -; 2.1 to 2 of test 2000-0 "
	    "- 0 -; 3.1 to 2 of test 2000-0 - 0 -; 4.1 to 2 of test 2000-0 - 0 "
	    "-; 5.1 to 2 of test 2000-0 - 0 -;\n"
	    "letters: \n");
	answer(0, ANSWER_ACCEPTED, "", 0);
	answer(1, ANSWER_ACCEPTED, "", 0);
	parcel.items[1].duplicate = true;
	answer(2, ANSWER_REJECTED, "no such person", 0);
	answer(3, ANSWER_TOO_LARGE, "", 0);
	answer(4, ANSWER_LATER, "", 0);
	parcel.status = 207;
	assert_string_equal(settle(true), "due 63000, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 5 tail 6 published 2 due 63000 priority 0 token "
	    "1 until 0 of - again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 2000 3000 sent 3000 owed 0 - "
	    "-; sent 2 tries 1 0 0 next 0 last 2000 3000 sent 3000 owed 0 - -; "
	    "failed 3 tries 1 0 0 next 0 last 2000 3000 sent 0 owed 0 rejected "
	    "no such person; failed 4 tries 1 0 0 next 0 last 2000 3000 sent 0 "
	    "owed 0 too_large -; sent 5 tries 1 0 0 next 0 last 2000 3000 sent "
	    "3000 owed 63000 - -; pending 6 tries 0 0 0 next 0 last 0 1000 "
	    "sent 0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-3000 accepted 207 -; 2.1 to 2 of "
	    "test 2000-3000 duplicate 207 -; 3.1 to 2 of test 2000-3000 "
	    "rejected 207 no such person; 4.1 to 2 of test 2000-3000 too_large "
	    "207 -; 5.1 to 2 of test 2000-3000 later 207 -;\n"
	    "letters: 3 to 2 failed rejected no such person tries 1 0 at 3000; "
	    "4 to 2 failed too_large - tries 1 0 at 3000;\n"
	    "change: 1 sent\n"
	    "change: 2 sent\n"
	    "change: 3 failed\n"
	    "change: 4 failed\n"
	    "change: 5 sent\n");
}

static void
broken_promise(void)
{

	/* The promised ack has not come: the message is offered once more. */
	assert_string_equal(claim(5), "");
	clk_fake_advance(&rig.clk, 60000);
	assert_string_equal(
	    claim(5), "5 ann>x@far.example hello 5 try 2 token 2 left 64000\n");
	assert_string_equal(told(),
	    "lanes: leased next 5 tail 6 published 2 due 63000 priority 0 "
	    "token 2 until 124000 of test again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 2000 3000 sent 3000 owed 0 - "
	    "-; sent 2 tries 1 0 0 next 0 last 2000 3000 sent 3000 owed 0 - -; "
	    "failed 3 tries 1 0 0 next 0 last 2000 3000 sent 0 owed 0 rejected "
	    "no such person; failed 4 tries 1 0 0 next 0 last 2000 3000 sent 0 "
	    "owed 0 too_large -; sending 5 tries 2 1 0 next 0 last 64000 64000 "
	    "sent 0 owed 0 - -; pending 6 tries 0 0 0 next 0 last 0 1000 sent "
	    "0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-3000 accepted 207 -; 2.1 to 2 of "
	    "test 2000-3000 duplicate 207 -; 3.1 to 2 of test 2000-3000 "
	    "rejected 207 no such person; 4.1 to 2 of test 2000-3000 too_large "
	    "207 -; 5.1 to 2 of test 2000-3000 later 207 -; 5.2 to 2 of test "
	    "64000-0 - 0 -;\n"
	    "letters: 3 to 2 failed rejected no such person tries 1 0 at 3000; "
	    "4 to 2 failed too_large - tries 1 0 at 3000;\n"
	    "change: 5 retry\n");
}

static void
test_answers(void **state)
{

	(void)state;
	all_answers();
	broken_promise();
}

static void
refused_twice(void)
{

	send_far(4, PRIORITY_NORMAL);
	(void)claim(9);
	answer(0, ANSWER_ACCEPTED, "", 0);
	answer(1, ANSWER_RETRYABLE, "full", 0);
	answer(2, ANSWER_RETRYABLE, "full", 0);
	answer(3, ANSWER_ACCEPTED, "", 0);
	assert_string_equal(settle(true), "due 2002, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 2 tail 4 published 4 due 2002 priority 0 token "
	    "1 until 0 of - again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 1000 1000 sent 1000 owed 0 - "
	    "-; pending 2 tries 1 1 0 next 2002 last 1000 1000 sent 0 owed 0 - "
	    "full; pending 3 tries 1 0 0 next 0 last 1000 1000 sent 0 owed 0 - "
	    "-; sent 4 tries 1 0 0 next 0 last 1000 1000 sent 1000 owed 0 - "
	    "-;\n"
	    "attempts: 1.1 to 2 of test 1000-1000 accepted 0 -; 2.1 to 2 of "
	    "test 1000-1000 retryable 0 full; 3.1 to 2 of test 1000-1000 "
	    "predecessor 0 -; 4.1 to 2 of test 1000-1000 accepted 0 -;\n"
	    "letters: \n"
	    "change: 1 sent\n"
	    "change: 2 retry\n"
	    "change: 4 sent\n");
	/* Not before its time, and then alone. */
	assert_string_equal(claim(9), "");
	clk_fake_advance(&rig.clk, 60000);
	assert_string_equal(
	    claim(9), "2 ann>x@far.example hello 5 try 2 token 2 left 62000\n");
	answer(0, ANSWER_NONE, "", 90000);
	assert_string_equal(settle(true), "due 152000, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 2 tail 4 published 4 due 152000 priority 0 "
	    "token 2 until 0 of - again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 1000 1000 sent 1000 owed 0 - "
	    "-; pending 2 tries 2 2 0 next 152000 last 62000 62000 sent 0 owed "
	    "0 - no answer to this message; pending 3 tries 1 0 0 next 0 last "
	    "1000 1000 sent 0 owed 0 - -; sent 4 tries 1 0 0 next 0 last 1000 "
	    "1000 sent 1000 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 1000-1000 accepted 0 -; 2.1 to 2 of "
	    "test 1000-1000 retryable 0 full; 2.2 to 2 of test 62000-62000 "
	    "no_answer 0 no answer to this message; 3.1 to 2 of test 1000-1000 "
	    "predecessor 0 -; 4.1 to 2 of test 1000-1000 accepted 0 -;\n"
	    "letters: \n"
	    "change: 2 retry\n");
}

static void
put_off_twice(void)
{

	clk_fake_advance(&rig.clk, 90000);
	(void)claim(9);
	answer(0, ANSWER_PREDECESSOR, "", 0);
	assert_string_equal(settle(true), "due 1, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 2 tail 4 published 4 due 0 priority 0 token 3 "
	    "until 0 of - again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 1000 1000 sent 1000 owed 0 - "
	    "-; pending 2 tries 3 2 0 next 0 last 153000 153000 sent 0 owed 0 "
	    "- no answer to this message; pending 3 tries 1 0 0 next 0 last "
	    "1000 1000 sent 0 owed 0 - -; sent 4 tries 1 0 0 next 0 last 1000 "
	    "1000 sent 1000 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 1000-1000 accepted 0 -; 2.1 to 2 of "
	    "test 1000-1000 retryable 0 full; 2.2 to 2 of test 62000-62000 "
	    "no_answer 0 no answer to this message; 2.3 to 2 of test "
	    "153000-153000 predecessor 0 -; 3.1 to 2 of test 1000-1000 "
	    "predecessor 0 -; 4.1 to 2 of test 1000-1000 accepted 0 -;\n"
	    "letters: \n");
	/* The server is not reached: no message is charged. */
	(void)claim(9);
	(void)snprintf(parcel.error, sizeof(parcel.error), "no route");
	assert_string_equal(settle(false), "due 1, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 2 tail 4 published 4 due 0 priority 0 token 4 "
	    "until 0 of - again 0;\n"
	    "rows: sent 1 tries 1 0 0 next 0 last 1000 1000 sent 1000 owed 0 - "
	    "-; pending 2 tries 4 2 0 next 0 last 154000 154000 sent 0 owed 0 "
	    "- no route; pending 3 tries 1 0 0 next 0 last 1000 1000 sent 0 "
	    "owed 0 - -; sent 4 tries 1 0 0 next 0 last 1000 1000 sent 1000 "
	    "owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 1000-1000 accepted 0 -; 2.1 to 2 of "
	    "test 1000-1000 retryable 0 full; 2.2 to 2 of test 62000-62000 "
	    "no_answer 0 no answer to this message; 2.3 to 2 of test "
	    "153000-153000 predecessor 0 -; 2.4 to 2 of test 154000-154000 "
	    "unavailable 0 no route; 3.1 to 2 of test 1000-1000 predecessor 0 "
	    "-; 4.1 to 2 of test 1000-1000 accepted 0 -;\n"
	    "letters: \n");
}

static void
test_refusals(void **state)
{

	(void)state;
	refused_twice();
	put_off_twice();
}

static void
test_leases(void **state)
{

	(void)state;
	send_far(2, PRIORITY_HIGH);
	(void)told();
	assert_string_equal(rescue(false),
	    "rescued 0, expired 0, next lease 0, next expiry 432001000");
	(void)claim(1);
	assert_string_equal(rescue(false),
	    "rescued 0, expired 0, next lease 62000, next expiry 432001000");
	assert_string_equal(told(),
	    "lanes: leased next 1 tail 2 published 0 due 0 priority 1 token 1 "
	    "until 62000 of test again 0;\n"
	    "rows: sending 1 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - "
	    "-; pending 2 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-0 - 0 -;\n"
	    "letters: \n");
	clk_fake_advance(&rig.clk, FAR_LEASE_MS);
	assert_string_equal(rescue(false),
	    "rescued 1, expired 0, next lease 0, next expiry 432001000");
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 2 published 0 due 0 priority 1 token 2 "
	    "until 0 of - again 0;\n"
	    "rows: pending 1 tries 1 0 1 next 0 last 2000 63000 sent 0 owed 0 "
	    "- -; pending 2 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-63000 lease_lost 0 -;\n"
	    "letters: \n");
	/* The first owner of the lease answers too late. */
	answer(0, ANSWER_ACCEPTED, "", 0);
	assert_string_equal(settle(true), "due 1, fenced 1");
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 2 published 0 due 0 priority 1 token 2 "
	    "until 0 of - again 0;\n"
	    "rows: pending 1 tries 1 0 1 next 0 last 2000 63000 sent 0 owed 0 "
	    "- -; pending 2 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 - -;\n"
	    "attempts: 1.1 to 2 of test 2000-63000 lease_lost 0 -;\n"
	    "letters: \n");
	assert_int_equal(
	    rig_number(&rig, "SELECT sum(fenced_total) FROM outbox_totals"), 1);
	assert_int_equal(
	    rig_number(&rig, "SELECT sum(rescues_total) FROM outbox_totals"),
	    1);
	/* A start ends all leases, and no message is charged. */
	(void)claim(9);
	assert_string_equal(rescue(true),
	    "rescued 1, expired 0, next lease 0, next expiry 432001000");
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 2 published 0 due 0 priority 1 token 4 "
	    "until 0 of - again 0;\n"
	    "rows: pending 1 tries 2 0 1 next 0 last 65000 65000 sent 0 owed 0 "
	    "- -; pending 2 tries 1 0 0 next 0 last 65000 65000 sent 0 owed 0 "
	    "- -;\n"
	    "attempts: 1.1 to 2 of test 2000-63000 lease_lost 0 -; 1.2 to 2 of "
	    "test 65000-65000 restart 0 -; 2.1 to 2 of test 65000-65000 "
	    "restart 0 -;\n"
	    "letters: \n");
	assert_int_equal(
	    rig_number(&rig, "SELECT sum(rescues_total) FROM outbox_totals"),
	    1);
}

/* A waiting message expires; a message under way does not. */
static void
test_expiry(void **state)
{

	(void)state;
	send_far(3, PRIORITY_LOW);
	(void)rig_exec(&rig,
	    "UPDATE outbox SET expires_at = 1700000010000 + lane_seq * 1000");
	(void)told();
	(void)claim(1);
	(void)told();
	assert_string_equal(rescue(false),
	    "rescued 0, expired 0, next lease 62000, next expiry 12000");
	clk_fake_advance(&rig.clk, 9000);
	assert_string_equal(rescue(false),
	    "rescued 0, expired 1, next lease 62000, next expiry 13000");
	assert_string_equal(told(),
	    "lanes: leased next 1 tail 3 published 0 due 0 priority -1 token 1 "
	    "until 62000 of test again 0;\n"
	    "rows: sending 1 tries 1 0 0 next 0 last 2000 2000 sent 0 owed 0 - "
	    "-; expired 2 tries 0 0 0 next 0 last 0 12000 sent 0 owed 0 "
	    "expired -; pending 3 tries 0 0 0 next 0 last 0 1000 sent 0 owed 0 "
	    "- -;\n"
	    "attempts: 1.1 to 2 of test 2000-0 - 0 -;\n"
	    "letters: 2 to 2 expired expired - tries 0 0 at 12000;\n"
	    "change: 2 failed\n");
	clk_fake_advance(&rig.clk, 999);
	assert_string_equal(rescue(false),
	    "rescued 0, expired 1, next lease 62000, next expiry 0");
	answer(0, ANSWER_RETRYABLE, "", 0);
	assert_string_equal(settle(true), "due 15000, fenced 0");
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 3 published 0 due 15000 priority -1 "
	    "token 1 until 0 of - again 0;\n"
	    "rows: pending 1 tries 1 1 0 next 15000 last 2000 13999 sent 0 "
	    "owed 0 - no answer to this message; expired 2 tries 0 0 0 next 0 "
	    "last 0 12000 sent 0 owed 0 expired -; expired 3 tries 0 0 0 next "
	    "0 last 0 13999 sent 0 owed 0 expired -;\n"
	    "attempts: 1.1 to 2 of test 2000-13999 retryable 0 no answer to "
	    "this message;\n"
	    "letters: 2 to 2 expired expired - tries 0 0 at 12000; 3 to 2 "
	    "expired expired - tries 0 0 at 13999;\n"
	    "change: 3 failed\n"
	    "change: 1 retry\n");
	assert_string_equal(
	    rescue(false), "rescued 0, expired 1, next lease 0, next expiry 0");
	assert_string_equal(told(),
	    "lanes: ready next 1 tail 3 published 0 due 0 priority -1 token 1 "
	    "until 0 of - again 0;\n"
	    "rows: expired 1 tries 1 1 0 next 0 last 2000 14999 sent 0 owed 0 "
	    "expired no answer to this message; expired 2 tries 0 0 0 next 0 "
	    "last 0 12000 sent 0 owed 0 expired -; expired 3 tries 0 0 0 next "
	    "0 last 0 13999 sent 0 owed 0 expired -;\n"
	    "attempts: 1.1 to 2 of test 2000-13999 retryable 0 no answer to "
	    "this message;\n"
	    "letters: 2 to 2 expired expired - tries 0 0 at 12000; 3 to 2 "
	    "expired expired - tries 0 0 at 13999; 1 to 2 expired expired - "
	    "tries 1 1 at 14999;\n"
	    "change: 1 failed\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_answers, open_story, close_story),
	    cmocka_unit_test_setup_teardown(
		test_refusals, open_story, close_story),
	    cmocka_unit_test_setup_teardown(
		test_leases, open_story, close_story),
	    cmocka_unit_test_setup_teardown(
		test_expiry, open_story, close_story),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
