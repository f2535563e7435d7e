/* SPDX-License-Identifier: MIT */
/*
 * The pipeline: statements are sent with the next one whose result is needed,
 * and results come in order.  The error of a statement is returned at the
 * latest by the commit, and then nothing of the transaction is stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"

enum { PUT, SET, LIST, PUT_ONE, PUT_NEW, STATEMENTS };

static const struct sql_text statements[] = {
    {"put", "INSERT INTO things (a) SELECT * FROM unnest($1::bigint[])", NULL},
    {"set",
	"UPDATE things t SET b = r.b FROM unnest($1::bigint[], $2::bigint[]) "
	"AS r (a, b) WHERE t.a = r.a",
	NULL},
    {"list", "SELECT a FROM things WHERE a = ANY ($1::bigint[]) ORDER BY a",
	NULL},
    {"put_one", "INSERT INTO things (a) VALUES ($1)", NULL},
    {"put_new", "INSERT INTO things (a) VALUES ($1)", NULL}};

static const struct db_schema schema = {
    .statements = statements, .nstatements = STATEMENTS};

static struct err err = ERR_INIT;

struct bench {
	struct pg pg;
	struct db *db;
	char seen[64]; /* the rows, as they came */
};

static void
open_bench(struct bench *k)
{

	memset(k, 0, sizeof(*k));
	pg_open(&k->pg);
	pg_exec(&k->pg, "CREATE TABLE things (a BIGINT PRIMARY KEY, b BIGINT)");
	k->db = pg_db_with(&k->pg, &schema);
	err = (struct err)ERR_INIT;
}

static void
close_bench(struct bench *k)
{

	db_close(k->db);
	pg_close(&k->pg);
}

static enum rc
put(struct bench *k, int64_t a, int64_t b)
{
	const struct db_val v[] = {db_v_i64(a), db_v_i64(b)};

	return (db_pipeline_write(
	    k->db, PUT, &(struct db_set){v, 1, b == 0 ? 1 : 2}, &err));
}

static enum rc
set(struct bench *k, int64_t a, int64_t b)
{
	const struct db_val v[] = {db_v_i64(a), db_v_i64(b)};

	return (db_pipeline_write(k->db, SET, &(struct db_set){v, 2, 1}, &err));
}

static enum rc
see(void *arg, const struct db_row *row, struct err *e)
{
	struct bench *k = arg;
	size_t n = strlen(k->seen);

	(void)e;
	(void)snprintf(k->seen + n, sizeof(k->seen) - n, "%lld ",
	    (long long)db_row_i64(row, 0));
	return (RC_OK);
}

static enum rc
refuse(void *arg, const struct db_row *row, struct err *e)
{

	(void)arg;
	(void)row;
	return (err_set(e, RC_FULL, "no room for it"));
}

static enum rc
ask(struct bench *k, int64_t a, db_row_fn each)
{
	const struct db_val v = db_v_i64(a);

	return (db_pipeline_query(
	    k->db, LIST, &(struct db_set){&v, 1, 1}, each, k, &err));
}

static int64_t
things(struct bench *k)
{

	return (pg_number(&k->pg, "SELECT count(*) FROM things"));
}

/* Runs each statement once, so that it is prepared and its result is known. */
static void
warm_up(struct bench *k)
{

	must(db_begin(k->db, &err));
	must(put(k, 1, 2));
	must(set(k, 1, 10));
	must(ask(k, 1, see));
	must(db_commit(k->db, &err));
	assert_string_equal(k->seen, "1 ");
	assert_int_equal(things(k), 2);
	k->seen[0] = '\0';
}

static void
test_order(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	must(ask(&k, 7, see));
	must(put(&k, 7, 8));
	must(ask(&k, 7, see));
	must(ask(&k, 1, see));
	assert_string_equal(k.seen, "");
	must(db_pipeline_flush(k.db, &err));
	assert_string_equal(k.seen, "7 1 ");
	/* A commit sends what is still in the pipeline. */
	must(put(&k, 9, 0));
	must(ask(&k, 9, see));
	must(db_commit(k.db, &err));
	assert_string_equal(k.seen, "7 1 9 ");
	assert_int_equal(things(&k), 5);
	close_bench(&k);
}

/* More statements than the pipeline holds. */
static void
test_many(void **state)
{
	struct bench k;
	int64_t i;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	for (i = 100; i < 300; i++)
		must(put(&k, i, 0));
	must(db_commit(k.db, &err));
	assert_int_equal(things(&k), 202);
	close_bench(&k);
}

/* Outside of a transaction a statement is sent at once, because no later one
 * would send it. */
static void
test_alone(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	must(put(&k, 1, 0));
	assert_int_equal(things(&k), 1);
	assert_int_equal(put(&k, 1, 0), RC_CONFLICT);
	assert_int_equal(set(&k, 2, 5), RC_CONFLICT);
	must(ask(&k, 1, see));
	assert_string_equal(k.seen, "1 ");
	close_bench(&k);
}

/* The commit returns the failure, and commits nothing. */
static void
test_commit_tells(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	must(put(&k, 3, 0));
	must(put(&k, 1, 0)); /* the key exists already */
	must(put(&k, 4, 0));
	assert_int_equal(db_commit(k.db, &err), RC_INTERNAL);
	assert_non_null(strstr(err.text, "put: "));
	assert_true(db_retryable(k.db));
	db_rollback(k.db);
	assert_int_equal(things(&k), 2);
	/* The next transaction works. */
	must(db_begin(k.db, &err));
	must(put(&k, 3, 0));
	must(db_commit(k.db, &err));
	assert_int_equal(things(&k), 3);
	close_bench(&k);
}

/* A statement that changes too few rows is not an error for the server, so the
 * client checks it before it sends the commit. */
static void
test_fence(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	must(put(&k, 3, 0));
	must(set(&k, 99, 1)); /* there is no such row */
	assert_int_equal(db_commit(k.db, &err), RC_CONFLICT);
	db_rollback(k.db);
	assert_int_equal(things(&k), 2);
	/* The same for a row that its callback refuses. */
	must(db_begin(k.db, &err));
	must(put(&k, 3, 0));
	must(ask(&k, 3, refuse));
	assert_int_equal(db_commit(k.db, &err), RC_FULL);
	db_rollback(k.db);
	assert_int_equal(things(&k), 2);
	close_bench(&k);
}

/* A statement does not return RC_EXISTS if an earlier statement of the pipeline
 * has failed with it. */
static void
test_whose_failure(void **state)
{
	const struct db_val one = db_v_i64(1), five = db_v_i64(5);
	struct bench k;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	must(db_run(k.db, PUT_ONE, &five, 1, NULL, NULL, NULL, &err));
	must(put(&k, 1, 0));
	assert_int_equal(
	    db_run(k.db, PUT_ONE, &five, 1, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	assert_true(db_retryable(k.db));
	db_rollback(k.db);
	/* The same if the queue is sent before the statement, which runs for
	 * the first time, also if only the check of a result fails. */
	must(db_begin(k.db, &err));
	must(set(&k, 99, 1)); /* there is no such row */
	assert_int_equal(
	    db_run(k.db, PUT_NEW, &five, 1, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	db_rollback(k.db);
	must(db_begin(k.db, &err));
	must(put(&k, 1, 0));
	assert_int_equal(
	    db_run(k.db, PUT_NEW, &five, 1, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	db_rollback(k.db);
	must(db_begin(k.db, &err));
	must(put(&k, 6, 0));
	assert_int_equal(
	    db_run(k.db, PUT_ONE, &one, 1, NULL, NULL, NULL, &err), RC_EXISTS);
	db_rollback(k.db);
	assert_int_equal(things(&k), 2);
	close_bench(&k);
}

/* A statement without arrays would run for the first row only. */
static void
test_one_row(void **state)
{
	const struct db_val two[] = {db_v_i64(7), db_v_i64(8)};
	struct bench k;

	(void)state;
	open_bench(&k);
	must(db_begin(k.db, &err));
	assert_int_equal(db_pipeline_query(k.db, PUT_ONE,
			     &(struct db_set){two, 1, 2}, refuse, NULL, &err),
	    RC_INTERNAL);
	must(db_pipeline_query(
	    k.db, PUT_ONE, &(struct db_set){two, 1, 1}, refuse, NULL, &err));
	must(db_commit(k.db, &err));
	assert_int_equal(things(&k), 1);
	close_bench(&k);
}

/* A rollback while statements are in the pipeline. */
static void
test_rollback(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	warm_up(&k);
	must(db_begin(k.db, &err));
	must(put(&k, 3, 0));
	db_rollback(k.db);
	assert_false(db_in_transaction(k.db));
	must(db_begin(k.db, &err));
	db_rollback(k.db);
	must(db_begin(k.db, &err));
	must(put(&k, 1, 0));
	db_rollback(k.db);
	assert_false(db_in_transaction(k.db));
	must(db_begin(k.db, &err));
	must(db_commit(k.db, &err));
	assert_int_equal(things(&k), 2);
	close_bench(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_alone),
	    cmocka_unit_test(test_commit_tells),
	    cmocka_unit_test(test_fence),
	    cmocka_unit_test(test_whose_failure),
	    cmocka_unit_test(test_one_row),
	    cmocka_unit_test(test_rollback),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
