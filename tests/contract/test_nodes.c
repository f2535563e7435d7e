/* SPDX-License-Identifier: MIT */
/*
 * Nodes that have left leave only their counts behind.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/node.h"
#include "contract/pg.h"
#include "store/totals.h"

static struct err err = ERR_INIT;

/* The rows of nodes that have left are deleted, and their counts are kept. */
static void
test_fold(void **state)
{
	struct store_totals delta, before, got;
	struct pg_two t;
	size_t n;
	int i;

	(void)state;
	pg_two_open(&t);
	for (i = 0; i < STORE_TOTALS; i++)
		delta.n[i] = i + 1;
	must(store_totals_add(t.a, &delta, &err));
	delta.n[0] = -5;
	must(store_totals_add(t.b, &delta, &err));
	must(store_totals_get(t.a, &before, &err));
	pg_exec(&t.pg,
	    "INSERT INTO nodes (node_id, name, started_at, beat_at, left_at) "
	    "VALUES (7, 'seven', 1, 1, 50), (8, 'eight', 1, 1, 99), "
	    "(9, 'nine', 1, 1, NULL), (10, 'ten', 1, 1, 1), "
	    "(11, 'eleven', 1, 1, 1)");
	pg_exec(&t.pg,
	    "INSERT INTO outbox_lanes (conversation_id, dest_kind, dest_id, "
	    "updated_at, destination_id, state, lease_owner, lease_until) "
	    "VALUES (1, 'server', 9, 1, 2, 'leased', 'ten', 70)");
	/* Not a node that is here, that left a moment ago, or that a lease
	 * names. */
	must(node_forget_left(t.a, 60, &n, &err));
	assert_int_equal(n, 2);
	assert_int_equal(pg_number(&t.pg, "SELECT count(*) FROM nodes"), 3);
	assert_int_equal(
	    pg_number(&t.pg, "SELECT count(*) FROM nodes WHERE node_id IN "
			     "(8, 9, 10)"),
	    3);
	must(store_totals_get(t.a, &got, &err));
	assert_memory_equal(&got, &before, sizeof(got));
	assert_int_equal(
	    pg_number(&t.pg, "SELECT sum(node) FROM outbox_totals"), 8);
	assert_int_equal(
	    pg_number(&t.pg, "SELECT count(*) FROM outbox_totals"), 2);
	/* The counts are added to the row that exists.  A node that was only
	 * held up continues with new rows. */
	must(node_forget_left(t.a, 100, &n, &err));
	assert_int_equal(n, 1);
	must(store_totals_get(t.a, &got, &err));
	assert_memory_equal(&got, &before, sizeof(got));
	must(node_heartbeat(t.b, 8, "eight", 200, &err));
	must(store_totals_add(t.b, &delta, &err));
	assert_int_equal(
	    pg_number(&t.pg, "SELECT beat_at FROM nodes WHERE node_id = 8"),
	    200);
	assert_int_equal(
	    pg_number(&t.pg, "SELECT count(*) FROM outbox_totals"), 2);
	must(store_totals_get(t.a, &got, &err));
	for (i = 0; i < STORE_TOTALS; i++)
		assert_int_equal(got.n[i], before.n[i] + delta.n[i]);
	/* Without the lease its node is deleted. */
	pg_exec(&t.pg, "UPDATE outbox_lanes SET lease_owner = 'nine'");
	must(node_forget_left(t.a, 100, &n, &err));
	assert_int_equal(n, 1);
	pg_two_close(&t);
}

/* While a writer adds to a node's totals, they are not folded into the other
 * row. */
static void *
fold_nodes(void *arg)
{
	struct err e = ERR_INIT;
	size_t n = 0;

	if (node_forget_left(arg, 100, &n, &e) != RC_OK)
		n = 99;
	return ((void *)(intptr_t)n);
}

static void
test_fold_waits(void **state)
{
	struct store_totals delta, got;
	pthread_t thread;
	struct pg_two t;
	void *folded;
	int i;

	(void)state;
	pg_two_open(&t);
	for (i = 0; i < STORE_TOTALS; i++)
		delta.n[i] = i + 1;
	must(store_totals_add(t.a, &delta, &err));
	pg_exec(&t.pg,
	    "INSERT INTO nodes (node_id, name, started_at, beat_at, left_at) "
	    "VALUES (7, 'seven', 1, 1, 50)");
	must(db_begin(t.a, &err));
	must(store_totals_add(t.a, &delta, &err));
	/* This query also sends the pending statement, whose result is not
	 * needed. */
	must(store_totals_get(t.a, &got, &err));
	assert_int_equal(pthread_create(&thread, NULL, fold_nodes, t.b), 0);
	while (pg_number(&t.pg, "SELECT count(*) FROM pg_locks WHERE NOT "
				"granted AND pid <> pg_backend_pid()") == 0)
		continue;
	must(db_commit(t.a, &err));
	assert_int_equal(pthread_join(thread, &folded), 0);
	assert_int_equal((intptr_t)folded, 1);
	must(store_totals_get(t.a, &got, &err));
	for (i = 0; i < STORE_TOTALS; i++)
		assert_int_equal(got.n[i], 2 * (i + 1));
	assert_int_equal(
	    pg_number(&t.pg, "SELECT max(node) FROM outbox_totals"), 0);
	pg_two_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fold),
	    cmocka_unit_test(test_fold_waits),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
