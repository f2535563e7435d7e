/* SPDX-License-Identifier: MIT */
/*
 * The database seam over drivers that this file plays: one with only the
 * functions that every driver has, as SQLite's, and one with all of them, as
 * PostgreSQL's.  Each call reaches the right function and counts once for each
 * statement.  Without the function in the driver, a call is refused or done row
 * by row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "db/db_internal.h"

static char did[300];
static enum rc answer;
static int64_t changed;

static enum rc __attribute__((format(printf, 1, 2)))
record(const char *fmt, ...)
{
	size_t n = strlen(did);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(did + n, sizeof(did) - n, fmt, ap);
	va_end(ap);
	return (answer);
}

static enum rc
fake_run(struct db *db, int stmt, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{

	(void)db;
	(void)each;
	(void)arg;
	(void)err;
	assert_null(ret_changed);
	return (record("run %d of %zu at %d;", stmt, n, (int)params->u.i64));
}

static enum rc
fake_exec_many(struct db *db, int stmt, const struct db_val *params, size_t n,
    size_t nrows, int64_t *ret_changed, struct err *err)
{

	(void)db;
	(void)params;
	(void)err;
	*ret_changed += changed;
	return (record("exec %d of %zu, %zu rows;", stmt, n, nrows));
}

static enum rc
fake_run_many(struct db *db, int stmt, const struct db_set *set, db_row_fn each,
    void *arg, struct err *err)
{

	(void)db;
	(void)each;
	(void)arg;
	(void)err;
	return (record("run many %d, %zu rows;", stmt, set->n));
}

static enum rc
fake_pipeline_write(
    struct db *db, int stmt, const struct db_set *set, struct err *err)
{

	(void)db;
	(void)err;
	return (record("write %d, %zu rows;", stmt, set->n));
}

static enum rc
fake_pipeline_query(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err)
{

	(void)db;
	(void)each;
	(void)arg;
	(void)err;
	return (record("query %d, %zu rows;", stmt, set->n));
}

static enum rc
fake_pipeline_flush(struct db *db, struct err *err)
{

	(void)db;
	(void)err;
	return (record("flush;"));
}

static bool
fake_retryable(const struct db *db)
{

	(void)db;
	return (answer != RC_OK);
}

static enum rc
fake_allow_long_statements(struct db *db, struct err *err)
{

	(void)db;
	(void)err;
	return (record("long;"));
}

static enum rc
fake_set_node(struct db *db, int64_t node, struct err *err)
{

	(void)db;
	(void)err;
	return (record("node %d;", (int)node));
}

static enum rc
fake_lineage_get(struct db *db, struct db_lineage *ret, struct err *err)
{

	(void)db;
	(void)err;
	ret->id = 7;
	return (record("lineage;"));
}

static enum rc
fake_notification_listen(struct db *db, const char *channel, struct err *err)
{

	(void)db;
	(void)err;
	return (record("listen %s;", channel));
}

static enum rc
fake_notification_send(
    struct db *db, const char *channel, const char *text, struct err *err)
{

	(void)db;
	(void)err;
	return (record("send %s %s;", channel, text));
}

static int
fake_notification_fd(const struct db *db)
{

	(void)db;
	return (7);
}

static enum rc
fake_notification_poll(
    struct db *db, db_notification_fn each, void *arg, struct err *err)
{

	(void)db;
	(void)each;
	(void)arg;
	(void)err;
	return (record("poll;"));
}

static const char bytes[] = "0123456789abcdef";
static size_t nbytes;

static const void *
fake_bytes(const struct db_row *row, int col, bool text, size_t *ret_n)
{

	(void)row;
	(void)text;
	*ret_n = nbytes;
	return (col == 0 ? bytes : NULL);
}

static const struct db_driver bare_driver = {
    .run = fake_run, .exec_many = fake_exec_many, .col_bytes = fake_bytes};
static const struct db_driver full_driver = {.multi_writer = true,
    .run = fake_run,
    .exec_many = fake_exec_many,
    .retryable = fake_retryable,
    .run_many = fake_run_many,
    .pipeline_write = fake_pipeline_write,
    .pipeline_query = fake_pipeline_query,
    .pipeline_flush = fake_pipeline_flush,
    .allow_long_statements = fake_allow_long_statements,
    .set_node = fake_set_node,
    .lineage_get = fake_lineage_get,
    .notification_listen = fake_notification_listen,
    .notification_send = fake_notification_send,
    .notification_fd = fake_notification_fd,
    .notification_poll = fake_notification_poll};

static const struct sql_text statements[] = {
    {"first", "", NULL}, {"second", "", NULL}};
static const struct db_schema schema = {statements, 2, NULL, 0};
static struct db bare = {.driver = &bare_driver, .schema = &schema};
static struct db full = {.driver = &full_driver, .schema = &schema};
static struct db_val rows[6];

static int
begin(void **state)
{
	int i;

	(void)state;
	did[0] = '\0';
	answer = RC_OK;
	changed = 0;
	bare.statements = full.statements = 0;
	for (i = 0; i < 6; i++)
		rows[i] = db_v_i64(i);
	return (0);
}

/* The driver must have done ${what}, with ${n} statements of ${db}. */
static void
check(struct db *db, const char *what, uint64_t n)
{

	assert_string_equal(did, what);
	assert_int_equal(db_statements(db), n);
	did[0] = '\0';
	db->statements = 0;
}

static void
test_many(void **state)
{
	const struct db_set set = {rows, 2, 3}, none = {rows, 2, 0};
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(RC_OK, db_run_many(&bare, 1, &set, NULL, NULL, &err));
	check(&bare, "run 1 of 2 at 0;run 1 of 2 at 2;run 1 of 2 at 4;", 3);
	assert_int_equal(RC_OK, db_run_many(&full, 1, &set, NULL, NULL, &err));
	check(&full, "run many 1, 3 rows;", 1);
	assert_int_equal(
	    RC_OK, db_pipeline_query(&bare, 1, &set, NULL, NULL, &err));
	check(&bare, "run 1 of 2 at 0;run 1 of 2 at 2;run 1 of 2 at 4;", 3);
	assert_int_equal(
	    RC_OK, db_pipeline_query(&full, 1, &set, NULL, NULL, &err));
	check(&full, "query 1, 3 rows;", 1);
	/* With no rows no statement is sent. */
	assert_int_equal(RC_OK, db_run_many(&bare, 1, &none, NULL, NULL, &err));
	assert_int_equal(RC_OK, db_run_many(&full, 1, &none, NULL, NULL, &err));
	assert_int_equal(
	    RC_OK, db_pipeline_query(&bare, 1, &none, NULL, NULL, &err));
	assert_int_equal(
	    RC_OK, db_pipeline_query(&full, 1, &none, NULL, NULL, &err));
	check(&bare, "", 0);
	check(&full, "", 0);
	/* The first row that fails is the last one that is sent. */
	answer = RC_BUSY;
	assert_int_equal(
	    RC_BUSY, db_run_many(&bare, 1, &set, NULL, NULL, &err));
	check(&bare, "run 1 of 2 at 0;", 1);
	assert_int_equal(
	    RC_BUSY, db_run_many(&full, 1, &set, NULL, NULL, &err));
	assert_int_equal(
	    RC_BUSY, db_pipeline_query(&full, 1, &set, NULL, NULL, &err));
	check(&full, "run many 1, 3 rows;query 1, 3 rows;", 2);
}

static void
test_write(void **state)
{
	const struct db_set set = {rows, 2, 3}, none = {rows, 2, 0};
	struct err err = ERR_INIT;
	int64_t n = 77;

	(void)state;
	changed = 3;
	assert_int_equal(RC_OK, db_pipeline_write(&bare, 1, &set, &err));
	check(&bare, "exec 1 of 2, 3 rows;", 3);
	assert_int_equal(RC_OK, db_pipeline_write(&full, 1, &set, &err));
	check(&full, "write 1, 3 rows;", 1);
	assert_int_equal(RC_OK, db_pipeline_write(&bare, 1, &none, &err));
	assert_int_equal(RC_OK, db_pipeline_write(&full, 1, &none, &err));
	check(&bare, "", 0);
	check(&full, "", 0);
	for (changed = 2; changed <= 4; changed += 2) {
		err = (struct err)ERR_INIT;
		assert_int_equal(
		    RC_CONFLICT, db_pipeline_write(&bare, 1, &set, &err));
		assert_string_equal(err.text,
		    "second: a row is not in the state it should be in");
	}
	/* A failure is returned unchanged. */
	answer = RC_IO;
	assert_int_equal(RC_IO, db_pipeline_write(&bare, 1, &set, &err));
	did[0] = '\0';
	bare.statements = 0;
	/* The count starts at 0, also with no rows. */
	answer = RC_OK;
	assert_int_equal(RC_OK, db_exec_many(&bare, 0, rows, 2, 3, &n, &err));
	assert_int_equal(n, 6);
	check(&bare, "exec 0 of 2, 3 rows;", 3);
	assert_int_equal(RC_OK, db_exec_many(&bare, 0, rows, 2, 0, &n, &err));
	assert_int_equal(n, 0);
	assert_int_equal(RC_OK, db_exec_many(&bare, 0, rows, 2, 0, NULL, &err));
	check(&bare, "", 0);
}

/* Functions that a database of one server does not have. */
static void
test_others(void **state)
{
	static const char alone[] = "db: it has no other nodes";
	struct err err = ERR_INIT;
	struct db_lineage lineage = {.id = 0};

	(void)state;
	assert_int_equal(RC_OK, db_pipeline_flush(&bare, &err));
	assert_int_equal(RC_OK, db_allow_long_statements(&bare, &err));
	assert_false(db_retryable(&bare));
	assert_false(db_multi_writer(&bare));
	assert_int_equal(-1, db_notification_fd(&bare));
	assert_int_equal(RC_INTERNAL, db_set_node(&bare, 3, &err));
	assert_string_equal(err.text, alone);
	assert_int_equal(RC_INTERNAL, db_lineage_get(&bare, &lineage, &err));
	assert_int_equal(RC_INTERNAL, db_notification_listen(&bare, "c", &err));
	assert_int_equal(
	    RC_INTERNAL, db_notification_send(&bare, "c", "t", &err));
	assert_int_equal(
	    RC_INTERNAL, db_notification_poll(&bare, NULL, NULL, &err));
	assert_string_equal(err.text, alone);
	check(&bare, "", 0);

	assert_int_equal(RC_OK, db_pipeline_flush(&full, &err));
	assert_int_equal(RC_OK, db_allow_long_statements(&full, &err));
	assert_false(db_retryable(&full));
	assert_true(db_multi_writer(&full));
	assert_int_equal(7, db_notification_fd(&full));
	assert_int_equal(RC_OK, db_set_node(&full, 3, &err));
	assert_int_equal(RC_OK, db_lineage_get(&full, &lineage, &err));
	assert_int_equal(7, lineage.id);
	assert_int_equal(RC_OK, db_notification_listen(&full, "c", &err));
	assert_int_equal(RC_OK, db_notification_send(&full, "c", "t", &err));
	assert_int_equal(RC_OK, db_notification_poll(&full, NULL, NULL, &err));
	check(&full, "flush;long;node 3;lineage;listen c;send c t;poll;", 0);
	answer = RC_BUSY;
	assert_true(db_retryable(&full));
	assert_int_equal(RC_BUSY, db_pipeline_flush(&full, &err));
}

/* After a failure of the disk nothing is certain.  A server for several writers
 * may come back. */
static void
test_fatal(void **state)
{
	enum rc rc;

	(void)state;
	for (rc = RC_OK; rc < RC_COUNT; rc++) {
		assert_int_equal(db_is_fatal(&bare, rc),
		    rc == RC_CORRUPT || rc == RC_IO || rc == RC_UNCERTAIN);
		assert_int_equal(db_is_fatal(&full, rc), rc == RC_CORRUPT);
	}
}

static void
test_columns(void **state)
{
	static const struct uuid zero = {{0}};
	const struct db_row row = {&bare, NULL};
	struct uuid u;
	char text[8];

	(void)state;
	for (nbytes = 15; nbytes <= 17; nbytes++) {
		u = db_row_uuid(&row, 0);
		assert_memory_equal(u.b,
		    nbytes == 16 ? (const void *)bytes : zero.b, sizeof(u.b));
	}
	nbytes = 16;
	u = db_row_uuid(&row, 1);
	assert_memory_equal(u.b, zero.b, sizeof(u.b));
	for (nbytes = 0; nbytes <= 9; nbytes++) {
		memset(text, 'x', sizeof(text));
		db_row_copy_text(&row, 0, text, sizeof(text));
		assert_int_equal(strlen(text), nbytes < 7 ? nbytes : 7);
		assert_memory_equal(text, bytes, strlen(text));
	}
	db_row_copy_text(&row, 1, text, sizeof(text));
	assert_string_equal(text, "");
	db_row_copy_text(&row, 0, text, 1);
	assert_string_equal(text, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_many, begin),
	    cmocka_unit_test_setup(test_write, begin),
	    cmocka_unit_test_setup(test_others, begin),
	    cmocka_unit_test_setup(test_fatal, begin),
	    cmocka_unit_test_setup(test_columns, begin),
	};

	return (cmocka_run_group_tests_name("db_seam", tests, NULL, NULL));
}
