/* SPDX-License-Identifier: MIT */
/*
 * The relay's thread with a carrier of the test.  Lanes of wake-ups are handed
 * over, lanes without a wake-up are found, refused units are tried again, and a
 * stop waits for units under way.  Then the whole way, with the carrier into
 * local inboxes.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thr.h"
#include "contract/rig.h"
#include "relay/relay.h"
#include "schema/sql.h"
#include "unit/sleeps.h"

#define LONG_MS 3600000
#define MOST 1200

/* The carrier's reaction to a unit. */
enum mood { TAKE, HOLD, REFUSE_BUSY, FAIL_ONCE, HANG };

struct post {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	enum mood mood;
	int offers;         /* units that were offered */
	int64_t seen[MOST]; /* lanes in the order of their arrival */
	int nseen;
	struct deliver_unit *held;
	int64_t more_of; /* this lane has more rows, once */
	bool answered;
};

static struct post post;

static void
post_init(enum mood mood)
{

	memset(&post, 0, sizeof(post));
	(void)pthread_mutex_init(&post.lock, NULL);
	(void)pthread_cond_init(&post.cond, NULL);
	post.mood = mood;
}

/* Records the lanes of ${u} and finishes it. */
static void
take(struct deliver_unit *u, enum rc rc)
{
	size_t i;

	for (i = 0; i < u->nlanes; i++) {
		if (post.nseen < MOST)
			post.seen[post.nseen++] = u->lanes[i];
		u->more[i] = u->lanes[i] == post.more_of;
		if (u->more[i])
			post.more_of = 0;
	}
	u->unit.rc = rc;
	post.answered = true;
}

static enum rc
offer(void *arg, struct deliver_unit *u)
{
	enum rc rc;
	bool finish;

	(void)arg;
	rc = RC_OK;
	finish = true;
	(void)pthread_mutex_lock(&post.lock);
	post.offers++;
	(void)pthread_cond_broadcast(&post.cond);
	while (post.mood == HANG)
		(void)pthread_cond_wait(&post.cond, &post.lock);
	switch (post.mood) {
	case HOLD:
		post.held = u;
		finish = false;
		break;
	case REFUSE_BUSY:
		post.mood = TAKE;
		rc = RC_BUSY;
		break;
	case FAIL_ONCE:
		post.mood = TAKE;
		u->unit.rc = RC_FULL;
		break;
	case HANG:
	case TAKE:
	default:
		take(u, RC_OK);
		break;
	}
	(void)pthread_cond_broadcast(&post.cond);
	(void)pthread_mutex_unlock(&post.lock);
	if (rc == RC_OK && finish)
		u->unit.finish(&u->unit);
	return (rc);
}

/* Waits until the carrier does anything, and fails after 20 s.  The caller
 * holds the lock of ${post}. */
static void
wait_post(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 20;
	if (pthread_cond_timedwait(&post.cond, &post.lock, &ts) == 0)
		return;
	(void)pthread_mutex_unlock(&post.lock);
	fail_msg("the relay does nothing");
}

static void
wait_seen(int n)
{

	(void)pthread_mutex_lock(&post.lock);
	while (post.nseen < n)
		wait_post();
	(void)pthread_mutex_unlock(&post.lock);
}

static void
wait_offers(int n)
{

	(void)pthread_mutex_lock(&post.lock);
	while (post.offers < n)
		wait_post();
	(void)pthread_mutex_unlock(&post.lock);
}

/* Finishes the unit that is held. */
static void
answer_held(enum mood next)
{
	struct deliver_unit *u;

	(void)pthread_mutex_lock(&post.lock);
	while (post.held == NULL)
		wait_post();
	u = post.held;
	post.held = NULL;
	post.mood = next;
	take(u, RC_OK);
	(void)pthread_cond_broadcast(&post.cond);
	(void)pthread_mutex_unlock(&post.lock);
	u->unit.finish(&u->unit);
}

/* ---- a relay on a rig ---- */

/* As in the product, but the waits after an error are as short as possible. */
static struct timing quick;

static struct relay *
start(struct rig *r, struct carrier_local carrier, int64_t poll_ms)
{
	struct relay_options o = {0};
	struct db_options db = {0};
	struct err err = ERR_INIT;
	struct relay *relay;

	db.url = r->url;
	db.sync = DB_SYNC_FULL;
	db.schema = &sql_sqlite_schema;
	o.db = &db;
	o.carrier = carrier;
	o.writer = r->writer;
	o.clk = clk_system();
	o.rnd = rnd_system();
	o.poll_ms = poll_ms;
	quick = *timing_real();
	quick.relay_pause_ms = quick.relay_pause_full_ms = 1;
	o.timing = &quick;
	if (relay_new(&o, &relay, &err) != RC_OK ||
	    relay_start(relay, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (relay);
}

static struct relay *
start_fake(struct rig *r, enum mood mood, int64_t poll_ms)
{

	post_init(mood);
	return (start(r, (struct carrier_local){.submit = offer}, poll_ms));
}

static void
stop(struct relay *relay)
{

	relay_stop(relay);
	relay_free(relay);
}

static void
wake(struct relay *relay, int64_t from, int64_t to)
{
	struct err err = ERR_INIT;
	struct wake *w;

	w = wake_new();
	for (; from <= to; from++)
		assert_int_equal(wake_add(w, from, 0, &err), RC_OK);
	relay_wake(relay, w);
}

/* Returns how many times ${lane} came. */
static int
times(int64_t lane)
{
	int i, n;

	(void)pthread_mutex_lock(&post.lock);
	for (i = n = 0; i < post.nseen; i++)
		n += post.seen[i] == lane ? 1 : 0;
	(void)pthread_mutex_unlock(&post.lock);
	return (n);
}

/* ---- with the fake carrier ---- */

/* An empty store, which is enough for most tests. */
static struct rig common;

static int
open_common(void **state)
{

	(void)state;
	rig_open(&common);
	return (0);
}

static int
close_common(void **state)
{

	(void)state;
	rig_close(&common);
	return (0);
}

static void
test_delivers_what_wakes_name(void **state)
{
	struct relay *relay;
	int64_t lane;

	(void)state;
	relay = start_fake(&common, TAKE, LONG_MS);
	wake(relay, 1, 3);
	wait_seen(3);
	/* More lanes than one unit holds, and one lane twice. */
	wake(relay, 100, 219);
	wake(relay, 219, 219);
	wait_seen(3 + 120);
	stop(relay);
	for (lane = 1; lane <= 3; lane++)
		assert_int_equal(times(lane), 1);
	for (lane = 100; lane < 219; lane++)
		assert_int_equal(times(lane), 1);
	assert_true(times(219) >= 1);
}

/* A lane is with the carrier once at a time.  If it is woken meanwhile, it
 * comes again afterwards. */
static void
test_once_at_a_time(void **state)
{
	struct relay *relay;

	(void)state;
	relay = start_fake(&common, HOLD, LONG_MS);
	wake(relay, 5, 5);
	wait_offers(1);
	wake(relay, 5, 5);
	/* Another lane need not wait for it. */
	(void)pthread_mutex_lock(&post.lock);
	post.mood = TAKE;
	(void)pthread_mutex_unlock(&post.lock);
	wake(relay, 6, 6);
	wait_seen(1);
	assert_int_equal(times(6), 1);
	assert_int_equal(times(5), 0);
	answer_held(TAKE);
	wait_seen(3);
	assert_int_equal(times(5), 2);
	stop(relay);
}

/* A turn that does not end does not block relay_stats(). */
static void
test_stats(void **state)
{
	static struct relay_stats stats;
	struct relay *relay;
	int64_t turned;

	(void)state;
	relay = start_fake(&common, HANG, LONG_MS);
	relay_stats(relay, &stats);
	turned = stats.last_turn_ms;
	assert_true(turned > 0);
	wake(relay, 5, 5);
	wait_offers(1);
	relay_stats(relay, &stats);
	assert_int_equal(stats.n, 0);
	turned = stats.last_turn_ms;
	relay_stats(relay, &stats);
	assert_int_equal(stats.last_turn_ms, turned);
	(void)pthread_mutex_lock(&post.lock);
	post.mood = TAKE;
	(void)pthread_cond_broadcast(&post.cond);
	(void)pthread_mutex_unlock(&post.lock);
	wait_seen(1);
	stop(relay);
}

static void
test_more(void **state)
{
	struct relay *relay;

	(void)state;
	relay = start_fake(&common, TAKE, LONG_MS);
	(void)pthread_mutex_lock(&post.lock);
	post.more_of = 8;
	(void)pthread_mutex_unlock(&post.lock);
	wake(relay, 8, 8);
	wait_seen(2);
	stop(relay);
	assert_int_equal(times(8), 2);
}

/* R37 R76: without a wake-up, rows that exist at the start are found at once,
 * and later ones by the safety poll, each second. */
static void
test_lost_wake(void **state)
{
	struct relay *relay;
	struct rig r;
	int64_t alice, first;

	(void)state;
	assert_int_equal(timing_real()->relay_poll_ms, 1000);
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_user(&r, "carol", NULL);
	(void)rig_send(&r, alice, "bob", "hello", NULL);
	first = r.lanes[0];
	relay = start_fake(&r, TAKE, LONG_MS);
	wait_seen(1);
	stop(relay);
	assert_int_equal(post.seen[0], first);
	/* This carrier delivers no row, so the lane still has one. */
	(void)rig_deliver(&r);
	relay = start_fake(&r, TAKE, 20);
	rig_forget(&r);
	(void)rig_send(&r, alice, "carol", "hello", NULL);
	wait_seen(1);
	stop(relay);
	assert_int_equal(post.seen[0], r.lanes[0]);
	assert_int_not_equal(post.seen[0], first);
	rig_close(&r);
}

static void
test_busy_is_tried_again(void **state)
{
	struct relay *relay;

	(void)state;
	relay = start_fake(&common, REFUSE_BUSY, LONG_MS);
	wake(relay, 1, 2);
	wait_seen(2);
	assert_true(post.offers >= 2);
	stop(relay);
	assert_int_equal(times(1), 1);
	assert_int_equal(times(2), 1);
}

static void
test_failed_is_tried_again(void **state)
{
	struct relay *relay;

	(void)state;
	relay = start_fake(&common, FAIL_ONCE, LONG_MS);
	wake(relay, 1, 2);
	wait_seen(2);
	stop(relay);
	assert_int_equal(times(1), 1);
	assert_int_equal(times(2), 1);
}

static atomic_bool let_go;

/* Finishes the held unit when the test's thread waits for it in the stop. */
static void
answer_late(void *arg)
{

	(void)arg;
	while (!sleeps(getpid()))
		(void)sched_yield();
	atomic_store(&let_go, true);
	answer_held(TAKE);
}

static void
test_stop_waits(void **state)
{
	struct err err = ERR_INIT;
	struct relay *relay;
	struct thr *late;

	(void)state;
	atomic_store(&let_go, false);
	relay = start_fake(&common, HOLD, LONG_MS);
	wake(relay, 1, 1);
	wait_offers(1);
	assert_int_equal(
	    thr_start(THR_OTHER, 0, answer_late, NULL, &late, &err), RC_OK);
	relay_stop(relay);
	assert_true(atomic_load(&let_go));
	assert_true(post.answered);
	thr_join(&late);
	/* Later wake-ups are freed with the relay. */
	wake(relay, 2, 2);
	relay_free(relay);
	assert_int_equal(post.offers, 1);
}

static void
test_never_started(void **state)
{
	struct relay_options o = {0};
	struct db_options db = {0};
	struct err err = ERR_INIT;
	struct relay *relay;

	(void)state;
	db.url = common.url;
	db.schema = &sql_sqlite_schema;
	o.db = &db;
	o.clk = clk_system();
	o.rnd = rnd_system();
	assert_int_equal(relay_new(&o, &relay, &err), RC_OK);
	wake(relay, 1, 1);
	stop(relay);
	db.url = "sqlite:/no/such/file";
	assert_int_equal(relay_new(&o, &relay, &err), RC_NOT_FOUND);
	relay_free(NULL);
}

/* R37 R408 R420: after a restart many lanes have rows and there are no
 * wake-ups.  They are found faster than one safety poll after the other.  One
 * unit has at most fifty lanes. */
static void
test_many_lanes_at_start(void **state)
{
	struct relay *relay;
	sqlite3 *raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	assert_int_equal(sqlite3_open(r.path, &raw), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(raw,
		"BEGIN;"
		"WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 "
		"FROM k LIMIT 1100) INSERT INTO outbox_lanes (lane_id, "
		"conversation_id, dest_kind, dest_id, updated_at) "
		"SELECT n, n, 'user', n, 0 FROM k;"
		"INSERT INTO outbox (event_id, kind, mid, conversation_id, "
		"sender_id, lane_id, lane_seq, dest_kind, dest_id, "
		"event_time, created_at, last_status_at) SELECT "
		"randomblob(16), 1, lane_id, lane_id, 1, lane_id, 1, 'user', "
		"lane_id, 0, 0, 0 FROM outbox_lanes;"
		"COMMIT",
		NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_close(raw), SQLITE_OK);
	relay = start_fake(&r, TAKE, LONG_MS);
	wait_seen(1100);
	stop(relay);
	assert_true(post.offers >= 1100 / 50);
	rig_close(&r);
}

/* ---- with the real carrier ---- */

static int64_t
at_once(int i)
{

	(void)i;
	return (0);
}

static int64_t
soon(int i)
{

	(void)i;
	return (RIG_START_MS + 1000);
}

/* Waits until ${sql} returns ${n}, and fails after 20 s. */
static void
wait_until(struct rig *r, const char *sql, int64_t n)
{
	const struct timespec ts = {0, 2000000};
	int i;

	for (i = 0; i < 10000 && rig_number(r, sql) != n; i++)
		(void)nanosleep(&ts, NULL);
	assert_int_equal(rig_number(r, sql), n);
}

/* Accepted messages, and scheduled ones that are due, reach the inboxes, with
 * the relay and the writer in their threads and without any wake-up. */
static void
test_local(void **state)
{
	struct err err = ERR_INIT;
	struct relay *relay;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_user(&r, "carol", NULL);
	rig_send_many(&r, alice, "bob", 150, at_once);
	rig_send_many(&r, alice, "carol", 1, at_once);
	rig_send_many(&r, alice, "carol", 5, soon);
	rig_send_many(&r, alice, "alice", 1, soon);
	clk_fake_advance(&r.clk, 2000);
	assert_int_equal(writer_start(r.writer, &err), RC_OK);
	relay = start(&r, carrier_local(r.writer), 20);
	wait_until(
	    &r, "SELECT count(*) FROM outbox WHERE state = 'pending'", 0);
	stop(relay);
	/* Each message is there once, and the sender's own copies. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE own = 0"), 156);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE own = 1"), 157);
	assert_int_equal(
	    rig_number(&r,
		"SELECT count(*) FROM inbox a JOIN "
		"inbox b ON b.user_id = a.user_id AND b.seq = a.seq + 1 "
		"AND b.conversation_id = a.conversation_id "
		"WHERE b.conversation_seq <= a.conversation_seq"),
	    0);
	rig_close(&r);
}

/* Many messages are due at the same moment: these, too, need not wait for
 * further polls. */
static void
test_many_due(void **state)
{
	struct err err = ERR_INIT;
	struct relay *relay;
	struct rig r;
	int64_t alice, bob;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", NULL);
	rig_send_many(&r, alice, "alice", LIMIT_SCHEDULED, soon);
	rig_send_many(&r, bob, "bob", RELEASE_ROWS + 5 - LIMIT_SCHEDULED, soon);
	clk_fake_advance(&r.clk, 2000);
	assert_int_equal(writer_start(r.writer, &err), RC_OK);
	relay = start(&r, carrier_local(r.writer), LONG_MS);
	wait_until(&r, "SELECT count(*) FROM outbox WHERE state = 'acked'",
	    RELEASE_ROWS + 5);
	stop(relay);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_delivers_what_wakes_name),
	    cmocka_unit_test(test_once_at_a_time),
	    cmocka_unit_test(test_stats),
	    cmocka_unit_test(test_more),
	    cmocka_unit_test(test_lost_wake),
	    cmocka_unit_test(test_busy_is_tried_again),
	    cmocka_unit_test(test_failed_is_tried_again),
	    cmocka_unit_test(test_stop_waits),
	    cmocka_unit_test(test_never_started),
	    cmocka_unit_test(test_many_lanes_at_start),
	    cmocka_unit_test(test_local),
	    cmocka_unit_test(test_many_due),
	};

	return (cmocka_run_group_tests(tests, open_common, close_common));
}
