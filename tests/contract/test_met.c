/* SPDX-License-Identifier: MIT */
/*
 * A unit needs a row that was not foreseen, and another writer has locked it.
 * A transaction that holds locks does not wait for it.  The transaction begins
 * anew, locks the row before all others, and waits then.  Also rows that change
 * between a query and the lock.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "contract/pg.h"
#include "db/db_internal.h"
#include "delivery/server_keys.h"
#include "schema/sql.h"
#include "txn/cache.h"
#include "txn/verb.h"

/* A unit that needs conversations, and then inboxes, each by itself. */
struct need {
	struct unit unit; /* must be first */
	int64_t conversations[2], inboxes[2];
	size_t crowd; /* this many more inboxes at once, from id 1000 on */
	int tries, done;
};

static enum rc
hold_inbox(struct tx *tx, int64_t user_id, struct err *e)
{
	struct cache *cache = txn_env_of(tx)->cache;
	struct cached_user *user;
	enum rc rc;

	rc = cache_user_by_id(cache, tx, user_id, &user, e);
	if (rc != RC_OK)
		return (rc);
	cache_inbox_touch(cache, user);
	return (cache_lock_inboxes(cache, tx, e));
}

/* Locks ${n} inboxes at once. */
static enum rc
hold_crowd(struct tx *tx, size_t n, struct err *e)
{
	struct cache *cache = txn_env_of(tx)->cache;
	struct cached_user *user;
	enum rc rc = RC_OK;
	size_t i;

	for (i = 0; i < n && rc == RC_OK; i++) {
		rc = cache_user_by_id(cache, tx, (int64_t)(1000 + i), &user, e);
		if (rc == RC_OK)
			cache_inbox_touch(cache, user);
	}
	return (rc == RC_OK ? cache_lock_inboxes(cache, tx, e) : rc);
}

static enum rc
need_apply(struct tx *tx, struct unit **units, size_t n, struct err *e)
{
	struct need *need = (struct need *)(void *)units[0];
	struct cached_conversation *c;
	enum rc rc = RC_OK;
	int i;

	assert_int_equal(n, 1);
	need->tries++;
	for (i = 0; i < 2 && rc == RC_OK; i++)
		if (need->conversations[i] != 0)
			rc = cache_conversation_by_id(txn_env_of(tx)->cache, tx,
			    need->conversations[i], &c, e);
	for (i = 0; i < 2 && rc == RC_OK; i++)
		if (need->inboxes[i] != 0)
			rc = hold_inbox(tx, need->inboxes[i], e);
	return (rc == RC_OK && need->crowd > 0 ? hold_crowd(tx, need->crowd, e)
					       : rc);
}

static void
need_done(struct unit *unit)
{

	((struct need *)(void *)unit)->done++;
}

UNIT_KIND(need, unit_locks_nothing, .queue = UNIT_CLIENT, .order = 90,
    .apply = need_apply);

/* Two people who have written to each other and to themselves. */
struct scene {
	struct rig r;
	int64_t users[2];
};

/* ${timing}: of the writer (rig_options.timing). */
static void
open_scene_with(struct scene *s, const struct timing *timing)
{
	static const char *const names[] = {"ann", "bob"};
	const struct rig_options options = {.timing = timing};
	int64_t device;
	int i;

	rig_open_with(&s->r, &options);
	if (s->r.pg == NULL) {
		rig_close(&s->r);
		skip();
	}
	for (i = 0; i < 2; i++)
		s->users[i] = rig_user(&s->r, names[i], &device);
	(void)rig_send(&s->r, s->users[0], "bob", "x", NULL);
	(void)rig_send(&s->r, s->users[0], "ann", "x", NULL);
	assert_int_equal(rig_number(&s->r, "SELECT count(*) FROM conversations"
					   " WHERE conversation_id IN (1, 2)"),
	    2);
}

static void
open_scene(struct scene *s)
{

	open_scene_with(s, timing_real());
}

/* Opens a scene whose writer waits for locks as long as a slow machine
 * needs. */
static void
open_patient(struct scene *s)
{

	open_scene_with(s, NULL);
}

static void *
run(void *arg)
{
	struct rig *r = arg;

	(void)writer_run_once(r->writer);
	return (NULL);
}

static void
submit(struct scene *s, struct need *need)
{

	need->unit.kind = &need_kind;
	need->unit.finish = need_done;
	need->unit.bytes = 1;
	assert_int_equal(writer_submit(s->r.writer, &need->unit), RC_OK);
}

/* Runs ${need} while another session has locked what ${theirs} selects.  What
 * ${ours} selects must be free until that session commits. */
static void
run_beside(
    struct scene *s, struct need *need, const char *theirs, const char *ours)
{
	struct pg *pg = s->r.pg;
	pthread_t thread;

	pg_exec(pg, "BEGIN");
	pg_exec(pg, theirs);
	submit(s, need);
	assert_int_equal(pthread_create(&thread, NULL, run, &s->r), 0);
	while (pg_number(
		   pg, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
		continue;
	pg_exec(pg, ours);
	pg_exec(pg, "COMMIT");
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(need->unit.rc, RC_OK);
	assert_int_equal(need->done, 1);
	assert_int_equal(need->tries, 2);
}

#define CONVERSATION(id)                                                       \
	"SELECT 1 FROM conversations WHERE conversation_id = " id " FOR UPDATE"

static void
test_conversation(void **state)
{
	struct need need = {.conversations = {1, 2}}, other = {.tries = 0};
	struct scene s;

	(void)state;
	open_patient(&s);
	run_beside(&s, &need, CONVERSATION("2"), CONVERSATION("1") " NOWAIT");
	/* The next unit has nothing to do with the locked row and does not
	 * wait. */
	pg_exec(s.r.pg, "BEGIN");
	pg_exec(s.r.pg, CONVERSATION("2"));
	submit(&s, &other);
	(void)run(&s.r);
	assert_int_equal(other.unit.rc, RC_OK);
	assert_int_equal(other.tries, 1);
	pg_exec(s.r.pg, "COMMIT");
	rig_close(&s.r);
}

#define INBOX(name)                                                            \
	"SELECT 1 FROM inboxes WHERE user_id = (SELECT user_id FROM users "    \
	"WHERE name = '" name "') FOR UPDATE"

/* Inboxes are locked in the order of their ids, whatever the order in which the
 * unit met them. */
static void
test_inbox(void **state)
{
	struct need need = {.tries = 0};
	struct scene s;

	(void)state;
	open_patient(&s);
	need.inboxes[0] = s.users[1];
	need.inboxes[1] = s.users[0];
	run_beside(&s, &need, INBOX("ann"), INBOX("bob") " NOWAIT");
	rig_close(&s.r);
}

/* Many inboxes are met at once, of which another session has locked one. */
static void
test_crowd(void **state)
{
	struct need need = {.crowd = 500};
	struct scene s;

	(void)state;
	open_patient(&s);
	need.inboxes[0] = s.users[1];
	pg_exec(s.r.pg,
	    "INSERT INTO users (user_id, name, password_hash, created_at) "
	    "SELECT n, 'p' || n, '', 1 FROM generate_series(1000, 1499) n");
	pg_exec(s.r.pg, "INSERT INTO inboxes (user_id) "
			"SELECT n FROM generate_series(1000, 1499) n");
	run_beside(&s, &need, INBOX("p1000"), INBOX("p1499") " NOWAIT");
	rig_close(&s.r);
}

/* The other session keeps its lock: the unit is deferred and keeps no lock that
 * others could need.  It is done when the lock is released, or refused when it
 * has waited for too long. */
static void
test_in_vain(void **state)
{
	struct need need = {.conversations = {1, 2}}, late = need;
	struct scene s;

	(void)state;
	open_scene(&s);
	pg_exec(s.r.pg, "BEGIN");
	pg_exec(s.r.pg, CONVERSATION("2"));
	submit(&s, &need);
	(void)run(&s.r);
	assert_int_equal(need.done, 0);
	assert_int_equal(writer_stats_get(s.r.writer).deferred, 1);
	pg_exec(s.r.pg, "COMMIT; BEGIN");
	pg_exec(s.r.pg, CONVERSATION("1") " NOWAIT");
	pg_exec(s.r.pg, "COMMIT");
	clk_fake_advance(&s.r.clk, timing_real()->db_look_ms);
	(void)run(&s.r);
	assert_int_equal(need.done, 1);
	assert_int_equal(need.unit.rc, RC_OK);

	pg_exec(s.r.pg, "BEGIN");
	pg_exec(s.r.pg, CONVERSATION("2"));
	submit(&s, &late);
	(void)run(&s.r);
	clk_fake_advance(&s.r.clk, timing_real()->db_lock_ms);
	(void)run(&s.r);
	assert_int_equal(late.done, 1);
	assert_int_equal(late.unit.rc, RC_BUSY);
	pg_exec(s.r.pg, "COMMIT");
	rig_close(&s.r);
}

/* ---- changes between a query and the lock ---- */

static void
key_done(struct unit *unit)
{

	(void)unit;
}

/* The rig's driver, and a copy that does what another node could do after one
 * of the statements. */
static const struct db_driver *real;
static struct db_driver meddled;
static struct pg *meddler;

/* The owner of all leases renews them right after a query has found that they
 * have run out. */
static enum rc
run_meddled(struct db *db, int stmt, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{
	enum rc rc;

	rc = real->run(db, stmt, params, n, each, arg, ret_changed, err);
	if (stmt == SQL_LANES_STALE)
		assert_int_equal(
		    pg_change(meddler,
			"UPDATE outbox_lanes SET lease_until = lease_until + "
			"60000 WHERE state = 'leased'"),
		    1);
	return (rc);
}

static const char *
lease(struct rig *r)
{

	return (rig_text(r,
	    "SELECT state || ' ' || lease_token || ' ' || "
	    "coalesce(lease_until - 1700000000000, 0) || ' ' || (SELECT "
	    "state || ' ' || rescue_count FROM outbox WHERE dest_kind = "
	    "'server') FROM outbox_lanes WHERE state <> 'local'"));
}

/* A lease has run out, and its owner renews it before this node has locked the
 * lane.  The lease must not be ended, because its messages are on their way. */
static void
test_renewed_meanwhile(void **state)
{
	struct parcel p = {.n = 0};
	struct scene s;

	(void)state;
	open_scene(&s);
	(void)far_send(&s.r, s.users[0], "dan@a.example", PRIORITY_NORMAL, 0);
	assert_int_equal(
	    far_claim(&s.r, &p, "a.example", 1, PRIORITY_NORMAL)->n, 1);
	assert_string_equal(lease(&s.r), "leased 1 60000 sending 0");
	clk_fake_advance(&s.r.clk, FAR_LEASE_MS);
	meddler = s.r.pg;
	real = s.r.db->driver;
	meddled = *real;
	meddled.run = run_meddled;
	s.r.db->driver = &meddled;
	(void)far_rescue(&s.r, false);
	s.r.db->driver = real;
	assert_string_equal(lease(&s.r), "leased 1 120000 sending 0");
	/* A lease that was not renewed is ended. */
	clk_fake_advance(&s.r.clk, FAR_LEASE_MS);
	assert_int_equal(far_rescue(&s.r, false), 1);
	assert_string_equal(lease(&s.r), "ready 2 0 pending 1");
	buf_fini(&p.text);
	rig_close(&s.r);
}

/* Another node makes the server's first key while this node begins to make
 * one. */
static void
test_first_key(void **state)
{
	struct server_keys_unit u;
	struct scene s;
	pthread_t thread;

	(void)state;
	open_scene(&s);
	pg_exec(s.r.pg, "BEGIN");
	pg_exec(s.r.pg,
	    "SELECT pg_advisory_xact_lock(6451064, hashtext('#server_keys'))");
	server_keys_unit_init(&u, SERVER_KEYS_ENSURE, "", &s.r.rnd.rnd);
	u.unit.finish = key_done;
	assert_int_equal(writer_submit(s.r.writer, &u.unit), RC_OK);
	assert_int_equal(pthread_create(&thread, NULL, run, &s.r), 0);
	while (pg_number(s.r.pg,
		   "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
		continue;
	pg_exec(s.r.pg,
	    "INSERT INTO server_keys (key_id, public, seed, created_at, "
	    "signs_at) VALUES ('k1', decode(repeat('00', 32), 'hex'), "
	    "decode(repeat('00', 32), 'hex'), 1, 1)");
	pg_exec(s.r.pg, "COMMIT");
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_false(u.made);
	assert_string_equal(
	    rig_list(&s.r, "SELECT key_id FROM server_keys"), "k1");
	server_keys_unit_fini(&u);
	rig_close(&s.r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_first_key),
	    cmocka_unit_test(test_conversation),
	    cmocka_unit_test(test_inbox),
	    cmocka_unit_test(test_crowd),
	    cmocka_unit_test(test_in_vain),
	    cmocka_unit_test(test_renewed_meanwhile),
	};

	(void)setenv("TWINBOX_TEST_RIG", "postgres", 1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
