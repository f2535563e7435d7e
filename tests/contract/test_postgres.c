/* SPDX-License-Identifier: MIT */
/*
 * The work of statements on PostgreSQL alone: counters for several writers,
 * locks of writers (readers take none), numbers from sequences, totals for each
 * node, protected columns.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "model/event.h"
#include "schema/sql.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"
#include "store/lock.h"
#include "store/outbox.h"
#include "store/remote.h"
#include "store/rows.h"
#include "store/totals.h"

static struct err err = ERR_INIT;

static struct uuid
id_of(char kind, int64_t n)
{
	struct uuid u;
	char text[32];

	(void)snprintf(text, sizeof(text), "%c%015lld", kind, (long long)n);
	memcpy(u.b, text, sizeof(u.b));
	return (u);
}

/* ---- rows ---- */

static const uint8_t bytes[32] = "0123456789abcdef0123456789abcde";

static int64_t
make_user(struct pg_two *t, const char *name)
{
	struct store_user u = {0};
	int64_t id = 0;

	(void)snprintf(u.name, sizeof(u.name), "%s", name);
	must(store_user_insert(t->a, &u, 1, &id, &err));
	return (id);
}

static int64_t
make_conversation(struct pg_two *t, int64_t n)
{
	char key[32];
	struct store_new_conversation c = {id_of('c', n), key, 0};

	(void)snprintf(key, sizeof(key), "a b%lld", (long long)n);
	must(store_conversations_insert(t->a, &c, 1, 1, &err));
	return (c.conversation_id);
}

/* One row of message_insert (seq 0: scheduled).  ${fill} fills the digest. */
static void
put_message(struct sql_message_insert *v, int64_t mid, int64_t conversation,
    int64_t seq, uint8_t *digest, uint8_t fill)
{
	static struct uuid ids[64];

	memset(digest, fill, 32);
	ids[mid] = id_of('m', mid);
	*v = (struct sql_message_insert){.mid = db_v_i64(mid),
	    .message_id = db_v_uuid(&ids[mid]),
	    .event_id = db_v_uuid(&ids[mid]),
	    .conversation_id = db_v_i64(conversation),
	    .conversation_seq = db_v_i64_or_null(seq, 0),
	    .sender_id = db_v_i64(1),
	    .body = db_v_str("text"),
	    .priority = db_v_i64(0),
	    .event_time = db_v_i64(1),
	    .now = db_v_i64(1),
	    .fingerprint = db_v_blob(bytes, 16),
	    .salt = db_v_blob(bytes, 16),
	    .digest = seq == 0 ? DB_V_NULL : db_v_blob(digest, 32)};
}

/* One row of outbox_insert (place 0: scheduled). */
static void
put_row(struct sql_outbox_insert *v, int64_t id, const struct store_lane *lane,
    int64_t place, const char *state)
{
	static struct uuid ids[64];

	ids[id] = id_of('e', id);
	*v = (struct sql_outbox_insert){.id = db_v_i64(id),
	    .attempts = db_v_i64(0),
	    .event_id = db_v_uuid(&ids[id]),
	    .kind = db_v_i64(EVENT_MESSAGE),
	    .mid = db_v_i64(id),
	    .conversation_id = db_v_i64(lane->conversation_id),
	    .sender_id = db_v_i64(1),
	    .lane_id = db_v_i64(lane->lane_id),
	    .lane_seq = db_v_i64_or_null(place, 0),
	    .dest_kind =
		db_v_str(lane->destination_id == 1 ? "user" : "server"),
	    .dest_id = db_v_i64(lane->dest_user),
	    .priority = db_v_i64(1),
	    .state = db_v_str(state),
	    .event_time = db_v_i64(1),
	    .now = db_v_i64(1)};
	if (place == 0)
		v->deliver_at = db_v_i64(5);
}

static int64_t
many(struct db *db, int stmt, struct db_set set)
{
	int64_t changed;

	must(db_exec_many(db, stmt, set.v, set.width, set.n, &changed, &err));
	return (changed);
}

static struct store_conversation
conversation(struct pg_two *t, int64_t id)
{
	struct store_conversation c;

	must(store_conversation_by_id(t->a, id, &c, &err));
	return (c);
}

static void
check_end(struct pg_two *t, int64_t id, int64_t seq, uint8_t fill)
{
	struct store_conversation c = conversation(t, id);
	uint8_t digest[32];

	memset(digest, fill, sizeof(digest));
	assert_int_equal(c.last_seq, seq);
	assert_memory_equal(c.digest, digest, sizeof(digest));
}

/* ---- counters ---- */

static void
test_conversation_end(void **state)
{
	struct sql_message_insert v[3];
	struct sql_message_release release;
	uint8_t d[3][32];
	int64_t one, two, changed;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	one = make_conversation(&t, 1);
	two = make_conversation(&t, 2);
	check_end(&t, one, 0, 0);
	put_message(v, 1, one, 1, d[0], 'x');
	put_message(v + 1, 2, two, 1, d[1], 'y');
	put_message(v + 2, 3, one, 2, d[2], 'z');
	assert_int_equal(many(t.a, SQL_MESSAGE_INSERT, DB_SET(v, 3)), 3);
	check_end(&t, one, 2, 'z');
	check_end(&t, two, 1, 'y');
	/* Scheduled: not at the end yet. */
	put_message(v, 4, two, 0, d[0], 'w');
	assert_int_equal(many(t.a, SQL_MESSAGE_INSERT, DB_SET(v, 1)), 1);
	check_end(&t, two, 1, 'y');
	release.mid = db_v_i64(4);
	release.conversation_seq = db_v_i64(2);
	release.digest = db_v_blob(d[0], 32);
	must(db_run(t.a, SQL_MESSAGE_RELEASE, DB_PARAMS(release), NULL, NULL,
	    &changed, &err));
	assert_int_equal(changed, 1);
	check_end(&t, two, 2, 'w');
	/* A second time nothing changes. */
	release.conversation_seq = db_v_i64(3);
	must(db_run(t.a, SQL_MESSAGE_RELEASE, DB_PARAMS(release), NULL, NULL,
	    &changed, &err));
	assert_int_equal(changed, 0);
	check_end(&t, two, 2, 'w');
	pg_two_close(&t);
}

static struct store_lane
make_lane(struct pg_two *t, int64_t conversation_id, int64_t destination)
{
	struct store_lane l = {0};

	l.conversation_id = conversation_id;
	l.dest_user = 9;
	l.destination_id = destination;
	must(store_lane_insert(t->a, &l, 1, &err));
	return (l);
}

static int64_t
tail(struct pg_two *t, const struct store_lane *lane)
{
	struct store_lane l;

	must(store_lane_get(t->a, lane->lane_id, &l, &err));
	return (l.tail_seq);
}

static void
test_lane_tail(void **state)
{
	struct store_release r = {.id = 4, .mid = 60, .lane_seq = 3};
	struct store_lane here, there;
	struct sql_outbox_insert v[4];
	struct sql_outbox_settle_sent sent[2];
	struct sql_outbox_settle_acked acked;
	struct sql_message_insert message;
	uint8_t d[32];
	int64_t c;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	c = make_conversation(&t, 1);
	here = make_lane(&t, c, 1);
	there = make_lane(&t, c, 2);
	assert_int_equal(tail(&t, &here), 0);
	put_row(v, 1, &here, 1, "pending");
	put_row(v + 1, 2, &here, 2, "pending");
	put_row(v + 2, 3, &there, 1, "pending");
	put_row(v + 3, 4, &here, 0, "pending");
	assert_int_equal(many(t.a, SQL_OUTBOX_INSERT, DB_SET(v, 4)), 4);
	assert_int_equal(tail(&t, &here), 2);
	assert_int_equal(tail(&t, &there), 1);
	/* Of two that name the same row, one finds it. */
	sent[0].id = sent[1].id = acked.id = db_v_i64(1);
	sent[0].now = sent[1].now = acked.now = db_v_i64(50);
	assert_int_equal(many(t.a, SQL_OUTBOX_SETTLE_SENT, DB_SET(sent, 2)), 1);
	assert_int_equal(
	    many(t.a, SQL_OUTBOX_SETTLE_ACKED, DB_SET(&acked, 1)), 1);
	assert_int_equal(tail(&t, &here), 2);
	/* The scheduled message gets its place. */
	put_message(&message, 60, c, 0, d, 'x');
	assert_int_equal(many(t.a, SQL_MESSAGE_INSERT, DB_SET(&message, 1)), 1);
	r.conversation_seq = 1;
	memset(d, 'x', sizeof(d));
	r.digest = d;
	must(store_outbox_release(t.a, &r, 60, &err));
	assert_int_equal(tail(&t, &here), 3);
	assert_int_equal(store_outbox_release(t.a, &r, 60, &err), RC_CONFLICT);
	/* A failed message gets a new place. */
	pg_exec(&t.pg, "UPDATE outbox SET state = 'failed', reason = 'poison' "
		       "WHERE id = 2");
	must(store_row_requeue(t.a, 2, 4, 90, 70, &err));
	assert_int_equal(tail(&t, &here), 4);
	assert_int_equal(
	    store_row_requeue(t.a, 2, 5, 90, 70, &err), RC_CONFLICT);
	assert_int_equal(tail(&t, &here), 4);
	pg_two_close(&t);
}

/* One row of inbox_insert. */
static void
put_event(struct sql_inbox_insert *v, int64_t user, int64_t seq)
{
	static struct uuid ids[64];
	struct uuid *id = &ids[user * 8 + seq];

	*id = id_of('i', user * 8 + seq);
	*v = (struct sql_inbox_insert){.user_id = db_v_i64(user),
	    .seq = db_v_i64(seq),
	    .kind = db_v_i64(EVENT_MESSAGE),
	    .own = db_v_i64(0),
	    .event_id = db_v_uuid(id),
	    .origin = db_v_i64(0),
	    .mid = db_v_i64(1),
	    .conversation_id = db_v_i64(1),
	    .conversation_seq = db_v_i64(1),
	    .actor_id = db_v_i64(1),
	    .event_time = db_v_i64(1),
	    .delivered_at = db_v_i64(1),
	    .attempt = db_v_i64(1)};
}

static struct store_counter
counter(struct pg_two *t, int64_t user)
{
	struct store_counter c;

	must(store_counter_get(t->a, user, &c, &err));
	return (c);
}

static int64_t
make_device(struct pg_two *t, int64_t user, int64_t n, int64_t acked)
{
	struct store_device d = {.user_id = user, .name = "x"};
	uint8_t hash[32] = {(uint8_t)n};
	int64_t id = 0;

	d.public_id = id_of('d', n);
	d.acked_seq = acked;
	must(store_device_insert(t->a, &d, hash, &id, &err));
	return (id);
}

static void
test_inbox_counters(void **state)
{
	int64_t ann, bob, phone, tablet;
	struct sql_device_acked_set acked[2];
	struct sql_counter_set mark;
	struct sql_inbox_insert v[3];
	struct db_set twice;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	ann = make_user(&t, "ann");
	bob = make_user(&t, "bob");
	assert_int_equal(counter(&t, ann).head, 0);
	assert_int_equal(counter(&t, ann).oldest, 1);
	put_event(v, ann, 1);
	put_event(v + 1, bob, 1);
	put_event(v + 2, ann, 2);
	assert_int_equal(many(t.a, SQL_INBOX_INSERT, DB_SET(v, 3)), 3);
	assert_int_equal(counter(&t, ann).head, 2);
	assert_int_equal(counter(&t, bob).head, 1);
	/* One duplicate makes the whole statement fail. */
	put_event(v, ann, 3);
	put_event(v + 1, bob, 1);
	twice = DB_SET(v, 2);
	assert_int_equal(db_exec_many(t.a, SQL_INBOX_INSERT, twice.v,
			     twice.width, twice.n, NULL, &err),
	    RC_EXISTS);
	assert_int_equal(counter(&t, ann).head, 2);
	/* The highest number that any device has acked. */
	phone = make_device(&t, ann, 1, 0);
	tablet = make_device(&t, ann, 2, 1);
	assert_int_equal(counter(&t, ann).acked, 1);
	acked[0].device_id = db_v_i64(phone);
	acked[0].acked_seq = db_v_i64(2);
	acked[1].device_id = db_v_i64(tablet);
	acked[1].acked_seq = db_v_i64(1);
	acked[0].now = acked[1].now = db_v_i64(77);
	assert_int_equal(many(t.a, SQL_DEVICE_ACKED_SET, DB_SET(acked, 2)), 2);
	assert_int_equal(counter(&t, ann).acked, 2);
	assert_int_equal(counter(&t, bob).acked, 0);
	mark.user_id = db_v_i64(bob);
	mark.read_seq = db_v_i64(1);
	assert_int_equal(many(t.a, SQL_COUNTER_SET, DB_SET(&mark, 1)), 1);
	assert_int_equal(counter(&t, bob).read, 1);
	pg_two_close(&t);
}

/* ---- locks ---- */

#define LOCKED "55P03" /* lock_not_available */

static enum rc
take_counter(
    void *arg, int64_t user_id, const struct store_counter *k, struct err *e)
{

	(void)user_id;
	(void)e;
	*(struct store_counter *)arg = *k;
	return (RC_OK);
}

static void
test_row_locks(void **state)
{
	struct store_conversation c;
	struct store_counter k;
	const struct store_lock_handler holder = {
	    .counter = take_counter, .arg = &k};
	struct db *reader;
	int64_t ann, phone, acked, id;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	reader = pg_db(&t.pg, DB_READER, NULL);
	ann = make_user(&t, "ann");
	phone = make_device(&t, ann, 1, 0);
	id = make_conversation(&t, 1);
	/* A reader locks nothing. */
	must(db_begin(reader, &err));
	must(store_conversation_by_id(reader, id, &c, &err));
	must(store_counter_get(reader, ann, &k, &err));
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM conversations FOR UPDATE NOWAIT"),
	    "");
	/* A writer does, until it commits. */
	must(db_begin(t.a, &err));
	must(store_conversation_by_id(t.a, id, &c, &err));
	must(store_device_acked_get(t.a, phone, &acked, &err));
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM conversations FOR UPDATE NOWAIT"),
	    LOCKED);
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM devices FOR UPDATE NOWAIT"), LOCKED);
	/* All writers meet in inboxes: locked only when written. */
	must(store_counter_get(t.a, ann, &k, &err));
	must(store_lock_counters(t.a, &ann, 1, &holder, &err));
	must(store_lock_answers(t.a, &err));
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM inboxes FOR UPDATE NOWAIT"), "");
	must(store_lock_inboxes(t.a, &ann, 1, false, &holder, &err));
	must(store_lock_answers(t.a, &err));
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM inboxes FOR UPDATE NOWAIT"), LOCKED);
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM users FOR UPDATE NOWAIT"), "");
	must(db_commit(t.a, &err));
	assert_string_equal(
	    pg_state(&t.pg, "SELECT 1 FROM conversations FOR UPDATE NOWAIT"),
	    "");
	db_close(reader);
	pg_two_close(&t);
}

static enum rc
take_held(void *arg, const struct store_conversation *c, struct err *e)
{
	int64_t *last = arg;

	(void)e;
	*last = *last * 10 + c->conversation_id;
	return (RC_OK);
}

/* Locks the conversations of due rows, as far as they are free.  Returns their
 * ids as digits. */
static int64_t
lock_due(struct db *db, int64_t limit)
{
	int64_t seen = 0;
	const struct store_lock_handler holder = {
	    .conversation = take_held, .arg = &seen};

	must(store_lock_due(db, 9, limit, &holder, &err));
	must(store_lock_answers(db, &err));
	return (seen);
}

/* A writer skips what another one has locked: lanes by their conversations. */
static void
test_skip_locked(void **state)
{
	struct store_lanes got;
	struct sql_message_insert v[2];
	struct sql_outbox_insert rows[2];
	struct store_lane lane;
	uint8_t d[32];
	int64_t c;
	int i;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	for (c = 1; c <= 5; c++)
		assert_int_equal(make_conversation(&t, c), c);
	pg_exec(&t.pg,
	    "INSERT INTO outbox_lanes (conversation_id, dest_kind, dest_id, "
	    "updated_at, destination_id, state, due_at, lease_until) SELECT n, "
	    "'server', 9, 1, 2, CASE WHEN n < 4 THEN 'ready' ELSE 'leased' END, "
	    "n, n FROM generate_series(1, 5) n");
	pg_exec(
	    &t.pg, "UPDATE outbox_lanes SET lane_id = 100 + conversation_id");
	must(db_begin(t.a, &err));
	must(store_lanes_ready(
	    t.a, 2, 0, &(struct store_pass){2, -1, 0}, &got, &err));
	assert_int_equal(got.n, 2);
	must(db_begin(t.b, &err));
	must(store_lanes_ready(
	    t.b, 2, 0, &(struct store_pass){9, -1, 0}, &got, &err));
	assert_int_equal(got.n, 1);
	assert_int_equal(got.ids[0], 103);
	must(store_lanes_stale(t.a, 4, 9, &got, &err));
	assert_int_equal(got.n, 1);
	must(store_lanes_stale(t.b, 9, 99, &got, &err));
	assert_int_equal(got.n, 1);
	assert_int_equal(got.ids[0], 105);
	db_rollback(t.a);
	must(store_lanes_stale(t.b, 9, 99, &got, &err));
	assert_int_equal(got.n, 2);
	db_rollback(t.b);

	for (i = 0; i < 2; i++) {
		c = make_conversation(&t, 6 + i);
		lane = make_lane(&t, c, 1);
		put_message(v + i, 1 + i, c, 0, d, 'x');
		put_row(rows + i, 1 + i, &lane, 0, "pending");
	}
	assert_int_equal(many(t.a, SQL_MESSAGE_INSERT, DB_SET(v, 2)), 2);
	assert_int_equal(many(t.a, SQL_OUTBOX_INSERT, DB_SET(rows, 2)), 2);
	must(db_begin(t.a, &err));
	assert_int_equal(lock_due(t.a, 1), 6);
	must(db_begin(t.b, &err));
	assert_int_equal(lock_due(t.b, 9), 7);
	db_rollback(t.a);
	assert_int_equal(lock_due(t.b, 9), 67);
	db_rollback(t.b);
	pg_two_close(&t);
}

/* ---- numbers and totals ---- */

struct numbers {
	int64_t at[8];
	int n;
};

static enum rc
take_number(void *arg, const struct db_row *row, struct err *e)
{
	struct numbers *got = arg;

	(void)e;
	got->at[got->n++] = db_row_i64(row, 0);
	return (RC_OK);
}

static void
test_numbers(void **state)
{
	static const int stmts[] = {SQL_MESSAGE_IDS, SQL_OUTBOX_IDS};
	struct db_val three = db_v_i64(3);
	struct numbers got;
	struct pg_two t;
	int i, k;

	(void)state;
	pg_two_open(&t);
	for (k = 0; k < 2; k++) {
		got.n = 0;
		must(db_begin(t.a, &err));
		must(db_run(
		    t.a, stmts[k], &three, 1, take_number, &got, NULL, &err));
		must(db_run(
		    t.b, stmts[k], &three, 1, take_number, &got, NULL, &err));
		/* Numbers are never given again. */
		db_rollback(t.a);
		three = db_v_i64(1);
		must(db_run(
		    t.a, stmts[k], &three, 1, take_number, &got, NULL, &err));
		three = db_v_i64(3);
		assert_int_equal(got.n, 7);
		for (i = 0; i < 7; i++)
			assert_int_equal(got.at[i], i + 1);
	}
	pg_two_close(&t);
}

/* A node that starts: the epoch that it offers, and the epoch that it gets. */
struct starting {
	struct db *db;
	const char *says;
	char finds[16];
};

static void *
start_node(void *arg)
{
	struct starting *n = arg;
	struct err e = ERR_INIT;

	if (db_begin(n->db, &e) != RC_OK ||
	    store_meta_make(n->db, "epoch", n->says, &e) != RC_OK ||
	    store_meta_get(n->db, "epoch", n->finds, sizeof(n->finds), &e) !=
		RC_OK ||
	    db_commit(n->db, &e) != RC_OK)
		(void)snprintf(n->finds, sizeof(n->finds), "error");
	return (NULL);
}

/* Two nodes start on an empty database.  The second waits until the first has
 * committed, and takes the first one's epoch. */
static void
test_first_word_stands(void **state)
{
	struct starting second = {.says = "second"};
	pthread_t thread;
	struct pg_two t;

	(void)state;
	pg_two_open(&t);
	must(db_begin(t.a, &err));
	must(store_meta_make(t.a, "epoch", "first", &err));
	second.db = t.b;
	assert_int_equal(pthread_create(&thread, NULL, start_node, &second), 0);
	must(db_commit(t.a, &err));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(second.finds, "first");
	pg_two_close(&t);
}

static void
test_totals(void **state)
{
	struct store_totals delta, got;
	struct pg_two t;
	int i;

	(void)state;
	pg_two_open(&t);
	must(store_totals_get(t.a, &got, &err));
	for (i = 0; i < STORE_TOTALS; i++) {
		assert_int_equal(got.n[i], 0);
		delta.n[i] = i + 1;
	}
	/* Two nodes do not wait for each other. */
	must(db_begin(t.a, &err));
	must(store_totals_add(t.a, &delta, &err));
	must(db_begin(t.b, &err));
	must(store_totals_add(t.b, &delta, &err));
	must(db_commit(t.b, &err));
	must(db_commit(t.a, &err));
	delta.n[0] = -5;
	must(store_totals_add(t.b, &delta, &err));
	must(store_totals_get(t.a, &got, &err));
	assert_int_equal(got.n[0], 1 + 1 - 5);
	for (i = 1; i < STORE_TOTALS; i++)
		assert_int_equal(got.n[i], 3 * (i + 1));
	assert_int_equal(
	    pg_number(&t.pg, "SELECT count(*) FROM outbox_totals"), 2);
	assert_int_equal(
	    pg_number(&t.pg, "SELECT fenced_total FROM outbox_totals "
			     "WHERE node = 8"),
	    2 * STORE_TOTALS);
	pg_two_close(&t);
}

/* ---- protected columns, and changes that the database refuses ---- */

#define CHECKED "23514" /* check_violation */

static void
test_immutable(void **state)
{
	static const char *const never[] = {
	    "UPDATE messages SET event_time = 9",
	    "UPDATE messages SET sender_id = sender_id",
	    "UPDATE outbox SET created_at = 9", "UPDATE outbox SET dest_id = 9",
	    "UPDATE outbox SET event_time = 9 WHERE kind = 1",
	    "UPDATE outbox SET state = 'lost'",
	    "UPDATE messages SET body = repeat('x', 16385)",
	    "UPDATE conversations SET last_digest = '\\x00'"};
	struct store_lane lane;
	struct sql_message_insert message;
	struct sql_outbox_insert v[2];
	uint8_t d[32];
	int64_t c;
	struct pg_two t;
	size_t i;

	(void)state;
	pg_two_open(&t);
	c = make_conversation(&t, 1);
	lane = make_lane(&t, c, 1);
	put_message(&message, 1, c, 1, d, 'x');
	assert_int_equal(many(t.a, SQL_MESSAGE_INSERT, DB_SET(&message, 1)), 1);
	put_row(v, 1, &lane, 1, "pending");
	put_row(v + 1, 2, &lane, 2, "pending");
	v[1].kind = db_v_i64(EVENT_DELIVERED);
	assert_int_equal(many(t.a, SQL_OUTBOX_INSERT, DB_SET(v, 2)), 2);
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcmp(pg_state(&t.pg, never[i]), CHECKED) != 0)
			fail_msg("it was allowed: %s", never[i]);
	/* A waiting receipt may be moved on; a text may be erased. */
	must(store_receipt_move(t.a, 2, 1, 1, 9, &err));
	assert_string_equal(
	    pg_state(&t.pg, "UPDATE messages SET body = NULL, salt = NULL"),
	    "");
	pg_two_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_conversation_end),
	    cmocka_unit_test(test_lane_tail),
	    cmocka_unit_test(test_inbox_counters),
	    cmocka_unit_test(test_row_locks),
	    cmocka_unit_test(test_skip_locked),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_first_word_stands),
	    cmocka_unit_test(test_totals),
	    cmocka_unit_test(test_immutable),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
