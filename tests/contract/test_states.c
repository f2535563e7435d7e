/* SPDX-License-Identifier: MIT */
/*
 * Tries every pair of states: runs each statement that moves an outbox row on a
 * row in each state.  Each change must be in the table of transitions, and each
 * transition in the table must be made by some statement.
 *
 * A statement that sets a state must have a row in `movers`, or the test fails,
 * so that none is forgotten.  Also checks which states the recipient can see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "delivery/operator.h"
#include "model/outbox.h"
#include "schema/sql.h"
#include "store/message.h"

#define PARAMS 12
#define HISTORY_SIZE 400

/* A statement and its parameters, a letter each: i the row's id, n the present
 * time, l its lane, p its place in the lane, c its conversation, m a number
 * below and M a number above all messages of it, r its recipient, w a word, F
 * "failed", E "expired", 1 one, 0 zero. */
struct mover {
	int stmt;
	const char *params;
	bool later; /* for a row that waits for a peer's ack */
};

static const struct mover movers[] = {
    {SQL_OUTBOX_SETTLE_SENT, "in", false},
    {SQL_OUTBOX_SETTLE_ACKED, "in", false},
    {SQL_OUTBOX_SETTLE_READ, "cmMrn", false},
    {SQL_OUTBOX_CANCEL, "in", false},
    {SQL_REMOTE_SENDING, "in", false},
    {SQL_REMOTE_ACKED_EARLY, "in", false},
    {SQL_REMOTE_ACKED_NOTED, "in", false},
    {SQL_REMOTE_LATE, "in", false},
    {SQL_REMOTE_LATE, "in", true},
    {SQL_REMOTE_SENT, "in01", false},
    {SQL_REMOTE_BACK, "in100", false},
    {SQL_REMOTE_RESCUE, "in1", false},
    {SQL_OUTBOX_DEAD, "iFw0n", false},
    {SQL_OUTBOX_DEAD, "iEw0n", false},
    {SQL_OUTBOX_REQUEUE, "ipnn", false},
    {SQL_COPY_RESCUE_ROWS, "n", false},
};

#define NMOVERS (sizeof(movers) / sizeof(movers[0]))

struct target {
	int64_t id, lane, place, conversation, recipient;
};

static struct rig rig;
static bool made[OUTBOX_STATE_COUNT][OUTBOX_STATE_COUNT];

static int
setup(void **state)
{

	(void)state;
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	(void)rig_user(&rig, "ben", NULL);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	rig_close(&rig);
	return (0);
}

/* ---- rows ---- */

static struct target
fresh_row(int state, bool later)
{
	struct target t;
	char sql[160];

	(void)rig_send(&rig, 1, "ben", "hello", NULL);
	t.id = rig_number(&rig, "SELECT max(id) FROM outbox");
	t.lane = rig_number(
	    &rig, "SELECT lane_id FROM outbox ORDER BY id DESC LIMIT 1");
	t.place = rig_number(
	    &rig, "SELECT lane_seq FROM outbox ORDER BY id DESC LIMIT 1");
	t.conversation = rig_number(&rig,
	    "SELECT conversation_id FROM outbox ORDER BY id DESC LIMIT 1");
	t.recipient = 2;
	(void)snprintf(sql, sizeof(sql),
	    "UPDATE outbox SET state = '%s', ack_deadline = %s WHERE id = %lld",
	    outbox_state_name(state), later ? "1" : "NULL", (long long)t.id);
	assert_int_equal(rig_exec(&rig, sql), 1);
	return (t);
}

static int
state_of(int64_t id)
{
	char sql[80];
	int state;

	(void)snprintf(sql, sizeof(sql),
	    "SELECT state FROM outbox WHERE id = %lld", (long long)id);
	state = outbox_state_parse(rig_text(&rig, sql));
	assert_true(state >= 0);
	return (state);
}

static struct db_val
value(char letter, const struct target *t)
{

	switch (letter) {
	case 'i':
		return (db_v_i64(t->id));
	case 'n':
		return (db_v_i64(rig.clk.wall_ms));
	case 'l':
		return (db_v_i64(t->lane));
	case 'p':
		return (db_v_i64(t->place));
	case 'c':
		return (db_v_i64(t->conversation));
	case 'm':
		return (db_v_i64(0));
	case 'M':
		return (db_v_i64(1000000));
	case 'r':
		return (db_v_i64(t->recipient));
	case 'w':
		return (db_v_str("word"));
	case 'F':
		return (db_v_str("failed"));
	case 'E':
		return (db_v_str("expired"));
	case '1':
		return (db_v_i64(1));
	default:
		return (DB_V_NULL);
	}
}

/* ---- the pairs ---- */

static void
try_pair(const struct mover *m, int from)
{
	struct target t = fresh_row(from, m->later);
	struct db_val v[PARAMS];
	struct err err = ERR_INIT;
	size_t i, n = strlen(m->params);
	int to;

	for (i = 0; i < n; i++)
		v[i] = value(m->params[i], &t);
	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	if (db_run(rig.db, m->stmt, v, n, NULL, NULL, NULL, &err) != RC_OK)
		fail_msg("%s: %s", sql_sqlite[m->stmt].name, err.text);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
	to = state_of(t.id);
	if (to == from)
		return;
	made[from][to] = true;
	if (!outbox_move_allowed(from, to))
		fail_msg("%s moves %s to %s, which the table does not list",
		    sql_sqlite[m->stmt].name, outbox_state_name(from),
		    outbox_state_name(to));
}

static void
test_pairs(void **state)
{
	size_t i;
	int from;

	(void)state;
	for (i = 0; i < NMOVERS; i++)
		for (from = 0; from < OUTBOX_STATE_COUNT; from++)
			try_pair(&movers[i], from);
}

/* Returns true if the statement sets outbox.state. */
static bool
sets_state(const char *text)
{
	const char *set = strstr(text, "UPDATE outbox SET"), *where, *p;

	if (set == NULL)
		return (false);
	where = strstr(set, "WHERE");
	p = strstr(set, "state = ");
	return (p != NULL && (where == NULL || p < where));
}

static void
test_none_forgotten(void **state)
{
	size_t k, n = 0;
	int i;

	(void)state;
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		if (!sets_state(sql_sqlite[i].text))
			continue;
		n++;
		for (k = 0; k < NMOVERS && movers[k].stmt != i; k++)
			continue;
		if (k == NMOVERS)
			fail_msg("%s moves rows and is not tried",
			    sql_sqlite[i].name);
	}
	assert_true(n > 0);
}

/* R289: the CHECK of the database allows only the states of the table, and not
 * NULL. */
static void
test_no_other_state(void **state)
{
	static const char *const others[] = {"'lost'", "''", "NULL", "0"};
	struct target t = fresh_row(OUTBOX_PENDING, false);
	char sql[96];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		(void)snprintf(sql, sizeof(sql),
		    "UPDATE outbox SET state = %s WHERE id = %lld", others[i],
		    (long long)t.id);
		assert_true(rig_refuses(&rig, sql));
		assert_int_equal(state_of(t.id), OUTBOX_PENDING);
	}
}

/* ---- the columns that a transition writes ---- */

static enum rc
count_row(void *arg, const struct db_row *row, struct err *err)
{

	(void)row;
	(void)err;
	(*(size_t *)arg)++;
	return (RC_OK);
}

/* Runs ${stmt}.  Returns the number of rows. */
static size_t
run(int stmt, const struct db_val *v, size_t n)
{
	struct err err = ERR_INIT;
	size_t rows = 0;

	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	if (db_run(rig.db, stmt, v, n, count_row, &rows, NULL, &err) != RC_OK)
		fail_msg("%s: %s", sql_sqlite[stmt].name, err.text);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
	return (rows);
}

/* Makes a pending row to another server, in a lane of its own. */
static struct target
fresh_remote(void)
{
	struct target t = fresh_row(OUTBOX_PENDING, false);
	char sql[400];

	t.lane += 1000000;
	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO outbox (id, event_id, kind, mid, conversation_id, "
	    "sender_id, lane_id, lane_seq, dest_kind, dest_id, event_time, "
	    "created_at, last_status_at) SELECT id + 1, randomblob(16), kind, mid, "
	    "conversation_id, sender_id, %lld, 1, 'server', dest_id, "
	    "event_time, created_at, last_status_at FROM outbox "
	    "WHERE id = %lld",
	    (long long)t.lane, (long long)t.id);
	assert_int_equal(rig_exec(&rig, sql), 1);
	t.id++;
	t.place = 1;
	return (t);
}

static size_t
claimable(const struct target *t)
{
	const struct db_val v[] = {
	    db_v_i64(t->lane), db_v_i64(t->place), db_v_i64(10)};

	return (run(SQL_REMOTE_CLAIM, v, 3));
}

/* Checks the row: state, attempts, retries, error, next retry, last change, in
 * ms since the rig's start. */
static void
assert_row(const struct target *t, const char *want)
{
	char sql[400];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT state || ' ' || attempts || ' ' || retry_count || ' ' || "
	    "coalesce(last_error, '-') || ' ' || "
	    "coalesce(CAST(next_retry_at - 1700000000000 AS TEXT), '-') || ' ' || "
	    "(last_status_at - 1700000000000) FROM outbox WHERE id = %lld",
	    (long long)t->id);
	assert_string_equal(rig_text(&rig, sql), want);
}

/* R298 R304 R305 R342: a claim makes a row unclaimable and counts the attempt;
 * a retry makes it claimable again, with the reason, the number of retries, the
 * next time and the time of the change, in one statement and by the clock. */
static void
test_claim_and_retry(void **state)
{
	struct target t = fresh_remote();
	const int64_t start = rig.clk.wall_ms - RIG_START_MS;
	struct db_val back[5];
	char want[80];

	(void)state;
	assert_int_equal(claimable(&t), 1);
	clk_fake_advance(&rig.clk, 10);
	back[0] = db_v_i64(t.id);
	back[1] = db_v_i64(rig.clk.wall_ms);
	(void)run(SQL_REMOTE_SENDING, back, 2);
	(void)snprintf(
	    want, sizeof(want), "sending 1 0 - - %lld", (long long)start + 10);
	assert_row(&t, want);
	assert_int_equal(claimable(&t), 0);
	clk_fake_advance(&rig.clk, 10);
	back[1] = db_v_i64(rig.clk.wall_ms);
	back[2] = db_v_i64(1);
	back[3] = db_v_i64(rig.clk.wall_ms + 1000);
	back[4] = db_v_str("full");
	(void)run(SQL_REMOTE_BACK, back, 5);
	(void)snprintf(want, sizeof(want), "pending 1 1 full %lld %lld",
	    (long long)start + 1020, (long long)start + 20);
	assert_row(&t, want);
	assert_int_equal(claimable(&t), 1);
}

/* ---- what the recipient sees ---- */

static enum rc
take_history(void *arg, const struct store_history *h, struct err *err)
{
	char *text = arg;
	size_t n = strlen(text);

	(void)err;
	(void)snprintf(text + n, HISTORY_SIZE - n, "%.*s ",
	    (int)h->message.body_len, h->message.body);
	return (RC_OK);
}

/* Returns what ${user} sees of the only conversation, in reading order. */
static const char *
history(struct rig *r, int64_t user, bool before)
{
	static char text[HISTORY_SIZE];
	struct err err = ERR_INIT;
	struct store_history_query q = {
	    .conversation_id =
		rig_number(r, "SELECT conversation_id FROM conversations"),
	    .user_id = user,
	    .before = before,
	    .seq = before ? 100 : 0,
	    .delivered_upto =
		rig_number(r, "SELECT max(delivered_upto) FROM participants"),
	    .limit = 100};

	text[0] = '\0';
	if (store_history(r->db, &q, take_history, text, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (text);
}

static void
admin_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	(void)u;
}

/* An operator discards message ${id}, which then is failed. */
static void
discard(struct rig *r, const struct uuid *id)
{
	struct operator_unit u;

	operator_unit_init(&u, OPERATOR_DISCARD, "op");
	u.message = *id;
	u.unit.finish = admin_finished;
	assert_int_equal(writer_submit(r->writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(r->writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* Canceled, failed and expired messages in the middle of a conversation are
 * visible to their sender only, also after later messages were delivered. */
static void
test_history(void **state)
{
	struct uuid canceled, failed;
	int64_t alice, bob;
	struct rig r;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", NULL);
	canceled = uuid_gen_next(&r.ids);
	failed = uuid_gen_next(&r.ids);
	(void)rig_send(&r, alice, "bob", "first", NULL);
	assert_int_equal(rig_deliver(&r), 1);
	(void)rig_send(&r, alice, "bob", "canceled", &canceled);
	(void)rig_send(&r, alice, "bob", "failed", &failed);
	(void)rig_send(&r, alice, "bob", "expired", NULL);
	(void)rig_cancel(&r, alice, &canceled);
	discard(&r, &failed);
	clk_fake_advance(
	    &r.clk, rig_number(&r, "SELECT max(expires_at) FROM outbox") -
			RIG_START_MS);
	(void)rig_send(&r, alice, "bob", "fifth", NULL);
	(void)rig_deliver(&r);
	(void)rig_send(&r, alice, "bob", "waiting", NULL);
	assert_string_equal(
	    rig_list(&r, "SELECT state FROM outbox WHERE kind = 1 ORDER BY id"),
	    "sent canceled failed expired sent pending");
	assert_string_equal(history(&r, bob, false), "first fifth ");
	assert_string_equal(history(&r, bob, true), "fifth first ");
	assert_string_equal(history(&r, alice, false),
	    "first canceled failed expired fifth waiting ");
	assert_string_equal(history(&r, alice, true),
	    "waiting fifth expired failed canceled first ");
	rig_check_promises(&r);
	rig_close(&r);
}

static void
test_every_move_made(void **state)
{
	int from, to, n = 0;

	(void)state;
	for (from = 0; from < OUTBOX_STATE_COUNT; from++)
		for (to = 0; to < OUTBOX_STATE_COUNT; to++) {
			if (!outbox_move_allowed(from, to))
				continue;
			n++;
			if (!made[from][to])
				fail_msg("no statement moves %s to %s",
				    outbox_state_name(from),
				    outbox_state_name(to));
		}
	assert_true(n > 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pairs),
	    cmocka_unit_test(test_none_forgotten),
	    cmocka_unit_test(test_no_other_state),
	    cmocka_unit_test(test_claim_and_retry),
	    cmocka_unit_test(test_history),
	    cmocka_unit_test(test_every_move_made),
	};

	return (cmocka_run_group_tests(tests, setup, teardown));
}
