/* SPDX-License-Identifier: MIT */
/*
 * Two nodes change this server's knowledge of others at the same time.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/learned.h"
#include "contract/pg.h"
#include "schema/sql.h"
#include "store/lock.h"

#define FAR "far.example"

static struct rig rig;

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

#define ROUNDS 20

/* A second writer on the rig's database, with a thread of its own. */
struct node {
	struct clk_fake clk;
	struct rnd_seeded rnd;
	struct db *db;
	struct txn_env *env;
	struct writer *writer;
	pthread_barrier_t *round;
	const char *keys;
	int news, changes, failed;
	atomic_bool answered; /* the last unit */
};

static void
node_open(struct node *n, unsigned seed)
{
	struct db_options o = {.url = rig.url, .mode = DB_WRITER};
	struct txn_env_options e = {.expiry_ms = 86400000};
	struct writer_options w = {.queue_limit = 10};
	struct err err = ERR_INIT;

	clk_fake_init(&n->clk, RIG_START_MS);
	rnd_seeded_init(&n->rnd, seed);
	o.schema = &sql_postgres_schema;
	if (db_open(&o, &n->db, &err) != RC_OK)
		fail_msg("%s", err.text);
	e.clk = w.clk = &n->clk.clk;
	e.rnd = &n->rnd.rnd;
	assert_int_equal(txn_env_new(&e, &n->env, &err), RC_OK);
	w.db = n->db;
	w.hooks = txn_env_hooks(n->env);
	assert_int_equal(writer_new(&w, &n->writer, &err), RC_OK);
}

static void
node_close(struct node *n)
{

	writer_stop(n->writer);
	writer_free(n->writer);
	txn_env_free(n->env);
	db_close(n->db);
}

/* Learns ${n}->keys.  The clock advances while the other node has the lock. */
static void
node_learn(struct node *n)
{
	struct peer_unit u;
	bool answered = false;

	peer_unit_init(&u, PEER_LEARN, FAR, "");
	learned_keys(&u, n->keys);
	u.unit.finish = learned;
	u.arg = &answered;
	if (writer_submit(n->writer, &u.unit) != RC_OK) {
		n->failed++;
		return;
	}
	while (!answered) {
		(void)writer_run_once(n->writer);
		clk_fake_advance(&n->clk, 1);
	}
	n->failed += u.unit.rc != RC_OK;
	atomic_store(&n->answered, true);
	n->news += u.is_new;
	n->changes += u.keys_changed;
}

static void *
node_run(void *arg)
{
	struct node *n = arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		(void)pthread_barrier_wait(n->round);
		node_learn(n);
		(void)pthread_barrier_wait(n->round);
		/* The test reads the rows now. */
		(void)pthread_barrier_wait(n->round);
	}
	return (NULL);
}

/* Two nodes read different documents at the same time.  One of the documents is
 * stored, as a whole, and one of the nodes reports the first contact. */
static void
test_two_nodes(void **state)
{
	struct node nodes[2] = {{.keys = "k1=1 k2=2"}, {.keys = "k2=2 k3=3"}};
	pthread_barrier_t round;
	pthread_t threads[2];
	const char *live;
	int i;

	(void)state;
	if (rig.pg == NULL)
		skip();
	/* A person of the peer is known here, so the peer's changes are in the
	 * audit log. */
	(void)rig_exec(&rig, "INSERT INTO destinations (name, created_at, "
			     "updated_at) VALUES ('" FAR "', 1, 1)");
	assert_int_equal(pthread_barrier_init(&round, NULL, 3), 0);
	for (i = 0; i < 2; i++) {
		node_open(&nodes[i], 7 + (unsigned)i);
		nodes[i].round = &round;
		assert_int_equal(
		    pthread_create(&threads[i], NULL, node_run, &nodes[i]), 0);
	}
	for (i = 0; i < ROUNDS; i++) {
		(void)pthread_barrier_wait(&round);
		(void)pthread_barrier_wait(&round);
		live = rig_list(&rig, "SELECT key_id FROM peer_keys WHERE "
				      "retired_at IS NULL ORDER BY key_id");
		if (strcmp(live, "k1 k2") != 0 && strcmp(live, "k2 k3") != 0)
			fail_msg("round %d: %s", i, live);
		(void)pthread_barrier_wait(&round);
	}
	for (i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_barrier_destroy(&round);
	assert_int_equal(nodes[0].failed + nodes[1].failed, 0);
	assert_int_equal(nodes[0].news + nodes[1].news, 1);
	/* Each change was reported by the node that made it. */
	assert_int_equal(nodes[0].changes + nodes[1].changes,
	    rig_number(&rig, "SELECT count(*) FROM audit_log WHERE action = "
			     "'peer-keys'"));
	for (i = 0; i < 2; i++)
		node_close(&nodes[i]);
}

static void *
node_learn_once(void *arg)
{

	node_learn(arg);
	return (NULL);
}

/* A node that blocks a server has read and locked its row.  Another node that
 * reads a document waits, and does not restore the old row. */
static void
test_block_is_kept(void **state)
{
	struct node n = {.keys = "k1=1"};
	const char *const names[] = {FAR};
	struct err err = ERR_INIT;
	struct store_peer_row row;
	pthread_t thread;

	(void)state;
	if (rig.pg == NULL)
		skip();
	node_open(&n, 7);
	node_learn(&n);
	atomic_store(&n.answered, false);
	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(store_lock_names(rig.db, names, 1, &err), RC_OK);
	assert_int_equal(store_peer_get(rig.db, FAR, &row, &err), RC_OK);
	assert_int_equal(pthread_create(&thread, NULL, node_learn_once, &n), 0);
	while (rig_number(&rig, "SELECT count(*) FROM pg_locks WHERE NOT "
				"granted") == 0 &&
	       writer_stats_get(n.writer).deferred == 0 &&
	       !atomic_load(&n.answered))
		continue;
	assert_false(atomic_load(&n.answered));
	row.blocked_at = 5;
	assert_int_equal(store_peer_set(rig.db, &row, &err), RC_OK);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(n.failed, 0);
	assert_int_equal(rig_number(&rig, "SELECT blocked_at FROM peers"), 5);
	node_close(&n);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_two_nodes),
	    TEST(test_block_is_kept),
	};

	(void)setenv("TWINBOX_TEST_RIG", "postgres", 1);
	return (cmocka_run_group_tests_name("peers_nodes", tests, NULL, NULL));
}
