/* SPDX-License-Identifier: MIT */
/*
 * Transactions that fail because of other transactions: deadlocks and
 * serialization failures.  The loser's failure is retryable, and the retry
 * succeeds at once.  Other failures are not retryable.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"

enum { BUMP, PUT, SEE, SNAPSHOT, PATIENCE, STRANGE, STATEMENTS };

static const struct sql_text statements[] = {
    {"bump", "UPDATE things SET b = b + 1 WHERE a = $1", NULL},
    {"put", "INSERT INTO things (a) SELECT * FROM unnest($1::bigint[])", NULL},
    {"see", "SELECT b FROM things WHERE a = $1", NULL},
    {"snapshot", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL},
    {"patience", "SET LOCAL lock_timeout TO 10", NULL},
    {"strange", "SELECT pg_advisory_unlock_all()", NULL}};

static const struct db_schema schema = {
    .statements = statements, .nstatements = STATEMENTS};

static struct err err = ERR_INIT;

/* Two writers, and the result of each. */
struct side {
	struct db *db;
	int64_t second; /* the row that the other writer takes first */
	enum rc (*take)(struct side *, int64_t);
	enum rc rc;
	struct err err;
};

struct bench {
	struct pg pg;
	struct side a, b;
};

static struct db *
connect_to(const struct pg *pg)
{
	struct db_options options = {.mode = DB_WRITER, .schema = &schema};
	char url[640];
	struct db *db;

	/* PostgreSQL then looks for a deadlock after 50 ms. */
	(void)snprintf(
	    url, sizeof(url), "%s%%20-cdeadlock_timeout%%3D50ms", pg->url);
	options.url = url;
	must(db_open(&options, &db, &err));
	return (db);
}

static void
open_bench(struct bench *k)
{

	memset(k, 0, sizeof(*k));
	pg_open(&k->pg);
	pg_exec(&k->pg, "CREATE TABLE things (a BIGINT PRIMARY KEY, "
			"b BIGINT NOT NULL DEFAULT 0)");
	pg_exec(&k->pg, "INSERT INTO things (a) VALUES (1), (2)");
	k->a.db = connect_to(&k->pg);
	k->b.db = connect_to(&k->pg);
	err = (struct err)ERR_INIT;
}

static void
close_bench(struct bench *k)
{

	db_close(k->a.db);
	db_close(k->b.db);
	pg_close(&k->pg);
}

/* ---- three ways to need a row that another writer has ---- */

static enum rc
bump(struct side *s, int64_t a)
{
	const struct db_val v = db_v_i64(a);

	return (db_run(s->db, BUMP, &v, 1, NULL, NULL, NULL, &s->err));
}

/* Changes the row without waiting for the result. */
static enum rc
bump_later(struct side *s, int64_t a)
{
	const struct db_val v = db_v_i64(a);

	return (db_pipeline_write(
	    s->db, BUMP, &(struct db_set){&v, 1, 1}, &s->err));
}

/* A statement that only inserts is sent together with COMMIT. */
static enum rc
put_later(struct side *s, int64_t a)
{
	const struct db_val v = db_v_i64(a);

	return (
	    db_pipeline_write(s->db, PUT, &(struct db_set){&v, 1, 1}, &s->err));
}

/* ---- deadlocks ---- */

static void *
finish(void *arg)
{
	struct side *s = arg;

	s->rc = s->take(s, s->second);
	if (s->rc == RC_OK)
		s->rc = db_commit(s->db, &s->err);
	if (s->rc != RC_OK)
		db_rollback(s->db);
	return (NULL);
}

/* Begins a transaction and locks row ${first}. */
static void
begin(struct side *s, enum rc (*take)(struct side *, int64_t), int64_t first,
    int64_t second)
{

	s->take = take;
	s->second = second;
	s->err = (struct err)ERR_INIT;
	must(db_begin(s->db, &err));
	must(take(s, first));
	must(db_pipeline_flush(s->db, &err));
}

/* Each writer needs the row that the other one has.  Returns the loser.  The
 * other one has committed. */
static struct side *
deadlock(struct bench *k, enum rc (*take)(struct side *, int64_t), int64_t one,
    int64_t two)
{
	pthread_t threads[2];

	begin(&k->a, take, one, two);
	begin(&k->b, take, two, one);
	assert_int_equal(pthread_create(&threads[0], NULL, finish, &k->a), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, finish, &k->b), 0);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(pthread_join(threads[1], NULL), 0);
	assert_true((k->a.rc == RC_OK) != (k->b.rc == RC_OK));
	return (k->a.rc != RC_OK ? &k->a : &k->b);
}

static int64_t
sum(struct bench *k)
{

	return (pg_number(&k->pg, "SELECT sum(b) FROM things"));
}

static void
check_loser(const struct side *loser, enum rc rc)
{

	assert_int_equal(loser->rc, rc);
	if (strstr(loser->err.text, "(PostgreSQL 40P01)") == NULL)
		fail_msg("%s", loser->err.text);
	/* It stays retryable after the rollback, when the writer checks it. */
	assert_true(db_retryable(loser->db));
	assert_false(db_in_transaction(loser->db));
}

static void check_deadlock(enum rc (*take)(struct side *, int64_t))
{
	struct side *loser, *winner;
	struct bench k;

	open_bench(&k);
	loser = deadlock(&k, take, 1, 2);
	winner = loser == &k.a ? &k.b : &k.a;
	check_loser(loser, RC_CONFLICT);
	assert_false(db_retryable(winner->db));
	/* The winner's changes are stored, and none of the loser's. */
	assert_int_equal(sum(&k), 2);
	/* The retry succeeds at once, and the flag is reset. */
	begin(loser, take, 1, 2);
	(void)finish(loser);
	assert_int_equal(loser->rc, RC_OK);
	assert_false(db_retryable(loser->db));
	assert_int_equal(sum(&k), 4);
	close_bench(&k);
}

static void
test_deadlock(void **state)
{

	(void)state;
	check_deadlock(bump);
}

static void
test_deadlock_later(void **state)
{

	(void)state;
	check_deadlock(bump_later);
}

/* The loser gets the error from its commit, which is not uncertain.  The row
 * that it wanted to insert exists then, because the winner has inserted it. */
static void
test_deadlock_in_commit(void **state)
{
	struct side *loser;
	struct bench k;

	(void)state;
	open_bench(&k);
	/* Once, so that the driver knows that the statement only inserts. */
	begin(&k.a, put_later, 3, 4);
	(void)finish(&k.a);
	assert_int_equal(k.a.rc, RC_OK);
	begin(&k.b, put_later, 5, 6);
	(void)finish(&k.b);
	assert_int_equal(k.b.rc, RC_OK);
	loser = deadlock(&k, put_later, 7, 8);
	check_loser(loser, RC_INTERNAL);
	assert_int_equal(
	    pg_number(&k.pg, "SELECT count(*) FROM things WHERE a > 6"), 2);
	must(db_begin(loser->db, &err));
	must(put_later(loser, 9));
	must(db_commit(loser->db, &err));
	assert_false(db_retryable(loser->db));
	close_bench(&k);
}

/* ---- serialization failures ---- */

static enum rc
take_number(void *arg, const struct db_row *row, struct err *e)
{

	(void)e;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

/* Writer a reads row 1, and b changes it.  Returns the result of a's own
 * change.  ${snapshot}: a works on a snapshot. */
static enum rc
overtaken(struct bench *k, bool snapshot)
{
	const struct db_val one = db_v_i64(1);
	int64_t b;
	enum rc rc;

	must(db_begin(k->a.db, &err));
	if (snapshot)
		must(
		    db_run(k->a.db, SNAPSHOT, NULL, 0, NULL, NULL, NULL, &err));
	must(db_run(k->a.db, SEE, &one, 1, take_number, &b, NULL, &err));
	must(db_begin(k->b.db, &err));
	must(bump(&k->b, 1));
	must(db_commit(k->b.db, &err));
	k->a.err = (struct err)ERR_INIT;
	rc = bump(&k->a, 1);
	if (rc != RC_OK) {
		assert_true(db_retryable(k->a.db));
		db_rollback(k->a.db);
		return (rc);
	}
	must(db_commit(k->a.db, &err));
	return (rc);
}

/* A writer's transactions wait for one another and continue with the new rows.
 * In a transaction on a snapshot, the failure is as retryable as a deadlock. */
static void
test_serialization(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	assert_int_equal(overtaken(&k, false), RC_OK);
	assert_int_equal(sum(&k), 2);
	assert_int_equal(overtaken(&k, true), RC_CONFLICT);
	if (strstr(k.a.err.text, "(PostgreSQL 40001)") == NULL)
		fail_msg("%s", k.a.err.text);
	assert_true(db_retryable(k.a.db));
	assert_int_equal(sum(&k), 3);
	must(db_begin(k.a.db, &err));
	must(bump(&k.a, 1));
	must(db_commit(k.a.db, &err));
	assert_false(db_retryable(k.a.db));
	assert_int_equal(sum(&k), 4);
	close_bench(&k);
}

/* ---- failures for which a retry at once is useless ---- */

static void
test_not_again(void **state)
{
	struct bench k;

	(void)state;
	open_bench(&k);
	must(db_begin(k.a.db, &err));
	must(bump(&k.a, 1));
	/* A lock that another writer keeps. */
	must(db_begin(k.b.db, &err));
	must(db_run(k.b.db, PATIENCE, NULL, 0, NULL, NULL, NULL, &err));
	k.b.err = (struct err)ERR_INIT;
	assert_int_equal(bump(&k.b, 1), RC_BUSY);
	assert_non_null(strstr(k.b.err.text, "(PostgreSQL 55P03)"));
	assert_false(db_retryable(k.b.db));
	db_rollback(k.b.db);
	assert_false(db_retryable(k.b.db));
	/* A row that does not exist. */
	must(db_begin(k.b.db, &err));
	must(bump_later(&k.b, 99));
	assert_int_equal(db_commit(k.b.db, &err), RC_CONFLICT);
	assert_false(db_retryable(k.b.db));
	db_rollback(k.b.db);
	must(db_commit(k.a.db, &err));
	assert_int_equal(sum(&k), 1);
	close_bench(&k);
}

/* A statement with an error fails each time, and stops no other statement. */
static void
test_strange(void **state)
{
	struct bench k;
	int i;

	(void)state;
	open_bench(&k);
	for (i = 0; i < 3; i++) {
		assert_int_equal(
		    db_run(k.a.db, STRANGE, NULL, 0, NULL, NULL, NULL, &err),
		    RC_INTERNAL);
		assert_non_null(strstr(
		    err.text, "strange: column 0 is of type 2278: cast it"));
		err = (struct err)ERR_INIT;
		must(bump(&k.a, 1));
	}
	assert_int_equal(sum(&k), 3);
	close_bench(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_deadlock),
	    cmocka_unit_test(test_deadlock_later),
	    cmocka_unit_test(test_deadlock_in_commit),
	    cmocka_unit_test(test_serialization),
	    cmocka_unit_test(test_not_again),
	    cmocka_unit_test(test_strange),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
