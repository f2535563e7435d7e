/* SPDX-License-Identifier: MIT */
/*
 * Commits that PostgreSQL does not confirm: the connection is lost before or
 * after COMMIT was sent, the session is ended during COMMIT, the server warns.
 * RC_UNCERTAIN is returned if the transaction may or may not be stored, and
 * only then.  In each case the message is there exactly once after it was sent
 * again with its id.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "contract/rig.h"
#include "db/db_internal.h"

static struct err err = ERR_INIT;

/* ---- a message ---- */

/* A fault in a transaction. */
struct way {
	const char *name;
	enum rc rc;
	bool there;       /* whether it is stored */
	bool early;       /* before its first write; else in the commit */
	int how;          /* for shutdown(); -1: the connection stays */
	const char *does; /* what PostgreSQL runs in the commit; or NULL */
};

static const struct way ways[] = {
    {"the connection is lost before", RC_AWAY, false, true, SHUT_RDWR, NULL},
    {"COMMIT does not arrive", RC_UNCERTAIN, false, false, SHUT_WR, NULL},
    {"its answer does not arrive", RC_UNCERTAIN, true, false, SHUT_RD, NULL},
    {"the session is ended in it", RC_UNCERTAIN, false, false, -1,
	"PERFORM pg_terminate_backend(pg_backend_pid())"},
    {"the server warns in it", RC_UNCONFIRMED, true, false, -1,
	"RAISE WARNING 'canceling wait for synchronous replication'"},
    /* An error from the server is certain. */
    {"the server refuses it", RC_INTERNAL, false, false, -1,
	"RAISE EXCEPTION 'no'"},
    {"nothing happens", RC_OK, true, false, -1, NULL},
};

/* A driver that makes the fault of ${way}, once. */
static struct db_driver cutting;
static const struct db_driver *real;
static const struct way *way;

static void
cut(const struct db *db)
{

	assert_int_equal(shutdown(real->notification_fd(db), way->how), 0);
	way = NULL;
}

static enum rc
cutting_pipeline_write(
    struct db *db, int stmt, const struct db_set *set, struct err *e)
{

	if (way != NULL && way->early)
		cut(db);
	return (real->pipeline_write(db, stmt, set, e));
}

static enum rc
cutting_commit(struct db *db, bool *ret_owed, struct err *e)
{
	enum rc rc = RC_OK;

	if (way != NULL && way->how >= 0) {
		/* With this, COMMIT is sent alone. */
		rc = real->pipeline_flush(db, e);
		cut(db);
	}
	return (rc == RC_OK ? real->commit_early(db, ret_owed, e) : rc);
}

static void
set_trap(struct rig *r, const char *does)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
	    "CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS "
	    "$$BEGIN %s; RETURN NULL; END$$",
	    does);
	pg_exec(r->pg, sql);
	pg_exec(r->pg,
	    "CREATE CONSTRAINT TRIGGER trap AFTER INSERT ON messages "
	    "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
	    "EXECUTE FUNCTION trap()");
}

static void
check_way(const struct way *w)
{
	struct send_unit u;
	struct uuid id;
	int64_t ann;
	struct rig r;

	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_send(&r, ann, "bob", "before", NULL);
	id = uuid_gen_next(&r.ids);
	if (w->does != NULL)
		set_trap(&r, w->does);
	real = r.db->driver;
	cutting = *real;
	cutting.pipeline_write = cutting_pipeline_write;
	cutting.commit_early = cutting_commit;
	r.db->driver = &cutting;
	way = w;
	u = rig_send(&r, ann, "bob", "hello", &id);
	if (u.unit.rc != w->rc)
		fail_msg("%s: %s", w->name, rc_name(u.unit.rc));
	assert_true(way == NULL || way->how < 0);
	way = NULL;
	if (w->does != NULL)
		pg_exec(r.pg, "DROP FUNCTION trap CASCADE");
	/* The repeated send is answered at once, without a wait, and with the
	 * truth. */
	u = rig_send(&r, ann, "bob", "hello", &id);
	if (u.unit.rc != RC_OK || u.refusal.problem != PROBLEM_NONE ||
	    u.replayed != w->there)
		fail_msg("%s, again: %s, %d", w->name, rc_name(u.unit.rc),
		    u.replayed);
	u = rig_send(&r, ann, "bob", "hello", &id);
	assert_true(u.unit.rc == RC_OK && u.replayed);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 2);
	(void)rig_deliver(&r);
	assert_int_equal(
	    pg_number(r.pg, "SELECT count(*) FROM inbox WHERE own = 0"), 2);
	assert_int_equal(r.fatal, 0);
	rig_check_promises(&r);
	r.db->driver = real;
	rig_close(&r);
}

static void
test_message(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		check_way(&ways[i]);
}

/* ---- statements that are sent with COMMIT ---- */

enum { PUT, SET, STATEMENTS };

static const struct sql_text statements[] = {
    {"put", "INSERT INTO things (a) SELECT * FROM unnest($1::bigint[])", NULL},
    {"set", "UPDATE things SET a = -a WHERE a = $1", NULL}};

static const struct db_schema schema = {
    .statements = statements, .nstatements = STATEMENTS};

static enum rc
say(struct db *db, int stmt, int64_t a)
{
	const struct db_val v = db_v_i64(a);

	return (db_pipeline_write(db, stmt, &(struct db_set){&v, 1, 1}, &err));
}

static void
pause_briefly(void)
{
	const struct timespec moment = {0, 1000000};

	(void)nanosleep(&moment, NULL);
}

/* While the pipeline has statements whose checks may fail, COMMIT waits for
 * their results, and is not sent if none comes.  Statements that only insert
 * are sent together with COMMIT. */
static void
test_checks(void **state)
{
	struct pg pg;
	struct db *db;

	(void)state;
	pg_open(&pg);
	pg_exec(&pg, "CREATE TABLE things (a BIGINT PRIMARY KEY)");
	db = pg_db_with(&pg, &schema);
	must(db_begin(db, &err));
	must(say(db, PUT, 1));
	must(db_commit(db, &err));
	must(db_begin(db, &err));
	must(say(db, SET, 1));
	assert_int_equal(shutdown(db_notification_fd(db), SHUT_RD), 0);
	assert_int_equal(db_commit(db, &err), RC_AWAY);
	assert_false(db_retryable(db));
	db_rollback(db);
	/* On the new connection the driver first has to learn which statements
	 * only insert. */
	must(db_begin(db, &err));
	must(say(db, PUT, 2));
	must(db_commit(db, &err));
	must(db_begin(db, &err));
	must(say(db, PUT, 3));
	assert_int_equal(shutdown(db_notification_fd(db), SHUT_RD), 0);
	assert_int_equal(db_commit(db, &err), RC_UNCERTAIN);
	assert_false(db_retryable(db));
	db_rollback(db);
	while (pg_number(&pg, "SELECT count(*) FROM things WHERE a = 3") == 0)
		pause_briefly();
	assert_string_equal(
	    pg_list(&pg, "SELECT a FROM things ORDER BY a"), "1 2 3");
	db_close(db);
	pg_close(&pg);
}

/* A warning before the commit does not concern the commit. */
static void
test_warned_before(void **state)
{
	struct pg pg;
	struct db *db;

	(void)state;
	pg_open(&pg);
	pg_exec(&pg, "CREATE TABLE things (a BIGINT PRIMARY KEY)");
	pg_exec(&pg, "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql "
		     "AS $$BEGIN RAISE WARNING 'so so'; RETURN NULL; END$$");
	pg_exec(&pg, "CREATE TRIGGER warn AFTER UPDATE ON things "
		     "FOR EACH ROW EXECUTE FUNCTION warn()");
	db = pg_db_with(&pg, &schema);
	must(db_begin(db, &err));
	must(say(db, PUT, 1));
	must(say(db, SET, 1));
	must(db_commit(db, &err));
	assert_string_equal(pg_list(&pg, "SELECT a FROM things"), "-1");
	db_close(db);
	pg_close(&pg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_message),
	    cmocka_unit_test(test_checks),
	    cmocka_unit_test(test_warned_before),
	};

	/* Without a PostgreSQL each test is skipped. */
	(void)setenv("TWINBOX_TEST_RIG", "postgres", 1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
