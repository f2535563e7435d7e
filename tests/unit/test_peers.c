/* SPDX-License-Identifier: MIT */
/*
 * The other nodes: a peer is dead when its heartbeat has not moved for ten
 * seconds by this node's clock, and not before.  Its leases are ended until
 * none is left; the first node alive does the upkeep.  This file plays the
 * store, and the clock stands still until the test moves it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster_internal.h"
#include "log/log.h"

#define OWN 50
#define WALL INT64_C(1000000000000)
#define ROWS_MOST 80

/* ---- the store ---- */

static struct node_row rows[ROWS_MOST];
static size_t nrows;
static enum rc answer; /* the result of the next calls of the store */
static int64_t leases; /* leases that remain after a call that ends them */
static char did[400];  /* the calls of the store */
static size_t folds;   /* the number of times that more rows can be deleted */

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	size_t n = strlen(did);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(did + n, sizeof(did) - n, fmt, ap);
	va_end(ap);
}

enum rc
node_each_alive(struct db *db,
    void (*each)(void *arg, const struct node_row *node), void *arg,
    struct err *err)
{
	size_t i;

	(void)db;
	if (answer != RC_OK)
		return (err_set(err, answer, "here"));
	for (i = 0; i < nrows; i++)
		each(arg, &rows[i]);
	return (RC_OK);
}

enum rc
node_end_leases(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err)
{

	(void)db;
	note("end %s at %lld;", owner, (long long)(now_ms - WALL));
	*ret_left = leases;
	return (leases < 0 ? err_set(err, RC_BUSY, "leases") : RC_OK);
}

enum rc
node_mark_dead(struct db *db, int64_t node_id, int64_t heartbeat_at,
    int64_t now_ms, struct err *err)
{

	(void)db;
	(void)err;
	note("mark %lld dead, heartbeat %lld, at %lld;", (long long)node_id,
	    (long long)heartbeat_at, (long long)(now_ms - WALL));
	return (RC_OK);
}

enum rc
node_forget_left(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err)
{

	(void)db;
	note("fold %lld;", (long long)(before_ms - WALL));
	*ret_n = NODE_FORGET_MAX - (folds == 0);
	if (folds == 77)
		return (err_set(err, RC_BUSY, "fold"));
	folds -= folds > 0;
	return (RC_OK);
}

/* ---- this node ---- */

static struct clk_fake fake;
static struct cluster c;

static int
begin(void **state)
{

	(void)state;
	memset(&c, 0, sizeof(c));
	memset(rows, 0, sizeof(rows));
	clk_fake_init(&fake, WALL);
	c.options.clk = &fake.clk;
	c.options.timing = timing_real();
	c.node.node_id = OWN;
	nrows = 0;
	answer = RC_OK;
	leases = 0;
	did[0] = '\0';
	folds = 0;
	return (0);
}

/* Adds a node, which exists from now on. */
static struct node_row *
row(int64_t node_id)
{
	struct node_row *r = &rows[nrows++];

	r->node_id = node_id;
	r->heartbeat_at = 1;
	(void)snprintf(
	    r->name, sizeof(r->name), "node%lld", (long long)node_id);
	return (r);
}

/* Lets ${ms} pass and checks the peers: ${n} nodes must be alive. */
static void
check(int64_t ms, int n)
{
	struct err err = ERR_INIT;
	int live = -1;

	clk_fake_advance(&fake, ms);
	did[0] = '\0';
	assert_int_equal(RC_OK, peers_check(&c, &live, &err));
	assert_int_equal(live, n);
}

/* The same, and the calls of the store must be ${what}. */
static void
turn(int64_t ms, int n, const char *what)
{

	check(ms, n);
	assert_string_equal(did, what);
}

static bool
first(void)
{

	return (atomic_load(&c.first));
}

/* ---- tests ---- */

static void
test_alone(void **state)
{

	(void)state;
	row(OWN);
	turn(0, 1, "fold -3600000;");
	assert_true(first());
	turn(2000, 1, "");
	/* Once a minute the rows of departed nodes are deleted, while there are
	 * more. */
	turn(57999, 1, "");
	folds = 2;
	turn(1, 1, "fold -3540000;fold -3540000;fold -3540000;");
	turn(2000, 1, "");
}

static void
test_first(void **state)
{
	struct node_row *r;

	(void)state;
	row(60);
	turn(0, 2, "fold -3600000;");
	assert_true(first());
	/* A node that started earlier, but is seen later, is the first. */
	r = row(OWN - 1);
	turn(2000, 3, "");
	assert_false(first());
	turn(60000, 3, "");
	/* It leaves, which the next check sees. */
	*r = rows[--nrows];
	turn(2000, 2, "fold -3536000;");
	assert_true(first());
}

/* A heartbeat that moves keeps a node alive.  A node whose heartbeat stands
 * still for ten seconds is marked dead, with the heartbeat that was seen. */
static void
test_dies(void **state)
{
	struct node_row *a, *b;
	int i;

	(void)state;
	a = row(7);
	b = row(8);
	turn(0, 3, "");
	for (i = 0; i < 4; i++) {
		a->heartbeat_at++;
		turn(2000, 3, "");
	}
	a->heartbeat_at++;
	turn(1999, 3, "");
	assert_false(first());
	/* Ten seconds to the millisecond. */
	turn(1, 2, "end node8 at 10000;mark 8 dead, heartbeat 1, at 10000;");
	/* The store does not return it any more. */
	nrows--;
	b->node_id = 0;
	a->heartbeat_at++;
	turn(2000, 2, "");
	/* The other node dies, too: then this node is the first. */
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	assert_false(first());
	turn(2000, 1,
	    "end node7 at 22000;mark 7 dead, heartbeat 7, at 22000;fold -3578000;");
	assert_true(first());
	assert_int_equal(c.peers.n, 0);
	/* That node was only delayed, and counts again. */
	a->heartbeat_at++;
	turn(2000, 2, "");
	assert_int_equal(c.peers.n, 1);
	assert_false(first());
}

/* Leases whose rows are locked are tried again at each heartbeat, for a minute.
 * A node that is dead in this time is not the first. */
static void
test_leases_left(void **state)
{
	int64_t at;
	char what[100];
	int i;

	(void)state;
	row(7);
	turn(0, 2, "");
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	assert_false(first());
	leases = 3;
	turn(2000, 2, "end node7 at 10000;fold -3590000;");
	assert_true(first());
	for (at = 12000; at < 70000; at += 2000) {
		(void)snprintf(
		    what, sizeof(what), "end node7 at %lld;", (long long)at);
		turn(2000, 2, what);
	}
	turn(2000, 1,
	    "end node7 at 70000;mark 7 dead, heartbeat 1, at 70000;fold -3530000;");
}

/* Leases may last longer than a minute: then they are tried for that time,
 * since a lease that is given up would keep its lane until it runs out. */
static void
test_long_leases(void **state)
{
	char what[100];
	int64_t at;

	(void)state;
	c.options.lease_ms = 3600000;
	row(7);
	turn(0, 2, "");
	for (at = 2000; at < 10000; at += 2000)
		turn(2000, 2, "");
	leases = 1;
	turn(2000, 2, "end node7 at 10000;fold -3590000;");
	for (at = 12000; at < 3610000; at += 2000) {
		(void)snprintf(
		    what, sizeof(what), "end node7 at %lld;", (long long)at);
		check(2000, 2);
		assert_int_equal(strncmp(did, what, strlen(what)), 0);
		assert_null(strstr(did, "mark"));
	}
	check(2000, 1);
	assert_non_null(strstr(did, "mark 7 dead"));
}

/* No lease is left: the node is marked dead at once. */
static void
test_leases_ended(void **state)
{
	int i;

	(void)state;
	row(7);
	turn(0, 2, "");
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	leases = 1;
	turn(2000, 2, "end node7 at 10000;fold -3590000;");
	leases = 0;
	turn(2000, 1, "end node7 at 12000;mark 7 dead, heartbeat 1, at 12000;");
}

/* The heartbeat moves after all: the node is alive, and the first again. */
static void
test_comes_back(void **state)
{
	struct node_row *a;
	int i;

	(void)state;
	a = row(7);
	turn(0, 2, "");
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	leases = 1;
	turn(2000, 2, "end node7 at 10000;fold -3590000;");
	assert_true(first());
	a->heartbeat_at = 0; /* its clock has gone back */
	turn(2000, 2, "");
	assert_false(first());
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	turn(2000, 2, "end node7 at 22000;");
}

/* While this node was delayed itself, it could not see a heartbeat move. */
static void
test_held_up(void **state)
{
	int i;

	(void)state;
	row(7);
	turn(0, 2, "");
	for (i = 0; i < 3; i++)
		turn(2000, 2, "");
	/* Twice the time between two heartbeats does not count as a delay. */
	turn(4000, 1,
	    "end node7 at 10000;mark 7 dead, heartbeat 1, at 10000;"
	    "fold -3590000;");
	(void)begin(state);
	row(7);
	turn(0, 2, "");
	for (i = 0; i < 3; i++)
		turn(2000, 2, "");
	/* A millisecond more does: 2001 ms do not count against the peers. */
	turn(4001, 2, "");
	turn(1999, 2, "");
	turn(1, 1,
	    "end node7 at 12001;mark 7 dead, heartbeat 1, at 12001;"
	    "fold -3587999;");
	(void)begin(state);
	row(7);
	turn(0, 2, "");
	turn(3600000, 2, "");
	turn(2000, 2, "");
	/* A peer that is first seen after the delay gets no extra time. */
	row(8);
	turn(100000, 3, "");
	assert_int_equal(c.peers.list[1].seen_ms, 3702000);
}

/* A failure of the store is returned, and the nodes count as before. */
static void
test_failures(void **state)
{
	struct err err = ERR_INIT;
	int n = -1, i;

	(void)state;
	row(7);
	turn(0, 2, "");
	answer = RC_BUSY;
	assert_int_equal(RC_BUSY, peers_check(&c, &n, &err));
	assert_string_equal(err.text, "here");
	assert_int_equal(n, -1);
	answer = RC_OK;
	for (i = 0; i < 4; i++)
		turn(2000, 2, "");
	clk_fake_advance(&fake, 2000);
	leases = -1;
	assert_int_equal(RC_BUSY, peers_check(&c, &n, &err));
	assert_string_equal(err.text, "leases");
	assert_int_equal(n, 2);
	assert_false(first());
	leases = 0;
	folds = 77;
	assert_int_equal(RC_BUSY, peers_check(&c, &n, &err));
	assert_string_equal(err.text, "fold");
	assert_int_equal(n, 1);
	/* The next attempt comes a minute later. */
	nrows = 0;
	turn(2000, 1, "");
}

/* Sixty-four peers are watched; later ones are skipped. */
static void
test_crowd(void **state)
{
	int i;

	(void)state;
	row(OWN);
	for (i = 0; i < PEERS_MAX + 2; i++)
		row(100 + i);
	turn(0, PEERS_MAX + 1, "fold -3600000;");
	assert_int_equal(c.peers.n, PEERS_MAX);
	assert_int_equal(c.peers.list[0].node_id, 100);
	assert_int_equal(c.peers.list[PEERS_MAX - 1].node_id, 163);
	assert_string_equal(c.peers.list[PEERS_MAX - 1].name, "node163");
	/* One of them leaves, and there is room for another one. */
	rows[1].node_id = OWN;
	turn(2000, PEERS_MAX, "");
	turn(2000, PEERS_MAX + 1, "");
	assert_true(first());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_alone, begin),
	    cmocka_unit_test_setup(test_first, begin),
	    cmocka_unit_test_setup(test_dies, begin),
	    cmocka_unit_test_setup(test_leases_left, begin),
	    cmocka_unit_test_setup(test_long_leases, begin),
	    cmocka_unit_test_setup(test_leases_ended, begin),
	    cmocka_unit_test_setup(test_comes_back, begin),
	    cmocka_unit_test_setup(test_held_up, begin),
	    cmocka_unit_test_setup(test_failures, begin),
	    cmocka_unit_test_setup(test_crowd, begin),
	};

	log_set_level(LVL_ERROR);
	return (cmocka_run_group_tests_name("nodes", tests, NULL, NULL));
}
