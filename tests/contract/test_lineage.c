/* SPDX-License-Identifier: MIT */
/*
 * When a server keeps its epoch and when it starts another one
 * (cluster/lineage.h).  The test writes the row that names the database's
 * former lineage.  The current lineage is that of the PostgreSQL server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/lineage.h"
#include "contract/pg.h"
#include "store/account.h"

static struct err err = ERR_INIT;

struct rig {
	struct pg pg;
	struct db *db;
	struct lineage_node node;
	int64_t now_ms;
	int spares;
};

static void
new_spare(struct rig *r)
{

	(void)snprintf(r->node.fresh_epoch, sizeof(r->node.fresh_epoch),
	    "epoch%d", ++r->spares);
}

static void
rig_open(struct rig *r, const char *settings)
{

	memset(r, 0, sizeof(*r));
	pg_open(&r->pg);
	r->db = pg_db(&r->pg, DB_WRITER, settings);
	r->now_ms = 1000;
	new_spare(r);
}

static void
rig_close(struct rig *r)
{

	db_close(r->db);
	pg_close(&r->pg);
}

static enum lineage_decision
begin(struct rig *r, enum lineage_start asked)
{
	enum lineage_decision decision;

	must(db_begin(r->db, &err));
	must(lineage_begin(r->db, &r->node, asked, r->now_ms, &decision, &err));
	if (decision == LINEAGE_WAIT)
		db_rollback(r->db);
	else
		must(db_commit(r->db, &err));
	new_spare(r);
	if (r->node.node_id == 0) {
		(void)snprintf(r->node.name, sizeof(r->node.name), "n");
		must(
		    node_insert(r->db, "n", r->now_ms, &r->node.node_id, &err));
	}
	return (decision);
}

static enum lineage_decision
beat_as(struct rig *r, bool again)
{
	enum lineage_decision decision;

	r->now_ms += 2000;
	must(lineage_heartbeat(
	    r->db, &r->node, r->now_ms, again, &decision, &err));
	return (decision);
}

static enum lineage_decision
heartbeat(struct rig *r)
{

	return (beat_as(r, false));
}

/* Sets the former lineage, in the row and in the node's memory, to the present
 * one with ${tail} in place of the timeline, and to ${mode}. */
static void
was_on(struct rig *r, const char *tail, const char *mode)
{
	char name[DB_LINEAGE_SIZE], text[DB_LINEAGE_SIZE + 16];

	(void)snprintf(name, sizeof(name), "%s", r->node.lineage.name);
	(void)snprintf(strrchr(name, '/'), 8, "/%s", tail);
	(void)snprintf(text, sizeof(text), "%s %s", name, mode);
	must(store_meta_set(r->db, "line", text, &err));
	(void)snprintf(
	    r->node.lineage.name, sizeof(r->node.lineage.name), "%s", name);
}

static void
check_row(struct rig *r, const char *key, const char *end)
{
	char text[128] = "";

	must(store_meta_get(r->db, key, text, sizeof(text), &err));
	assert_true(strlen(text) >= strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* ---- starting ---- */

static void
test_start(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	assert_string_equal(r.node.epoch, "epoch1");
	check_row(&r, "line", " async");
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	assert_string_equal(r.node.epoch, "epoch1");
	/* On another lineage, without a synchronous standby: commits may be
	 * lost. */
	was_on(&r, "77", "async");
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_EPOCH_CHANGED);
	assert_string_equal(r.node.epoch, "epoch3");
	check_row(&r, "epoch", "epoch3");
	check_row(&r, "line", " async");
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	/* With a synchronous standby: the node waits for nodes that were there
	 * before, and changes nothing. */
	was_on(&r, "77", "sync");
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_WAIT);
	check_row(&r, "line", "/77 sync");
	check_row(&r, "epoch", "epoch3");
	assert_int_equal(begin(&r, LINEAGE_START_ALONE), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "epoch6");
	/* Another database: no node was there before. */
	must(store_meta_set(r.db, "line", "1/2/1 sync", &err));
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "epoch7");
	must(store_meta_set(r.db, "line", "nonsense", &err));
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_EPOCH_CHANGED);
	/* An operator's word is enough. */
	assert_int_equal(
	    begin(&r, LINEAGE_START_ROLLBACK), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "epoch9");
	rig_close(&r);
}

/* ---- the mode in the row ---- */

static void
test_modes(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, " -csynchronous_commit=local");
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	/* There are no standbys. */
	check_row(&r, "line", " async");
	assert_false(r.node.replicated);
	rig_close(&r);

	/* Another node waited for standbys, and there are none any more. */
	rig_open(&r, NULL);
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	pg_exec(&r.pg, "UPDATE meta SET value = replace(value, 'async', "
		       "'sync') WHERE key = 'line'");
	r.node.replicated = true;
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	check_row(&r, "line", " async");
	assert_false(r.node.replicated);
	rig_close(&r);
}

/* ---- another lineage ---- */

/* Opens a node that knows that all its commits are on a standby, on a lineage
 * that is not the server's. */
static void
open_sure(struct rig *r, const char *mode)
{

	rig_open(r, NULL);
	assert_int_equal(begin(r, LINEAGE_START_WAIT), LINEAGE_SAME);
	assert_int_equal(heartbeat(r), LINEAGE_SAME);
	r->node.replicated = true;
	was_on(r, "77", mode);
}

static void
test_kept(void **state)
{
	char text[DB_LINEAGE_SIZE + 16];
	struct db_lineage here;
	struct rig r;

	(void)state;
	open_sure(&r, "sync");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_KEPT);
	check_row(&r, "epoch", "epoch1");
	check_row(&r, "line", " async");
	/* On the new lineage nothing is known to be replicated yet. */
	assert_false(r.node.replicated);
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	rig_close(&r);
	/* Another node has written the new lineage first. */
	open_sure(&r, "sync");
	must(db_lineage_get(r.db, &here, &err));
	(void)snprintf(text, sizeof(text), "%s async", here.name);
	must(store_meta_set(r.db, "line", text, &err));
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_KEPT);
	check_row(&r, "epoch", "epoch1");
	check_row(&r, "line", text);
	rig_close(&r);
}

/* Each reason for another epoch, alone. */
static void
test_other(void **state)
{
	struct rig r;

	(void)state;
	open_sure(&r, "sync");
	r.node.replicated = false;
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "epoch2");
	check_row(&r, "line", " async");
	rig_close(&r);
	open_sure(&r, "async");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "epoch2");
	rig_close(&r);
	open_sure(&r, "local");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	rig_close(&r);
	/* The node's last heartbeat is missing, or its whole row. */
	open_sure(&r, "sync");
	pg_exec(&r.pg, "UPDATE nodes SET beat_at = beat_at - 1");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	rig_close(&r);
	open_sure(&r, "sync");
	pg_exec(&r.pg, "DELETE FROM nodes");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	rig_close(&r);
	/* Two failovers, of which only another node knows the first. */
	open_sure(&r, "sync");
	pg_exec(&r.pg, "UPDATE meta SET value = replace(value, '/77', '/78') "
		       "WHERE key = 'line'");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	rig_close(&r);
	/* Another database. */
	open_sure(&r, "sync");
	must(store_meta_set(r.db, "line", "1/2/3 sync", &err));
	(void)snprintf(
	    r.node.lineage.name, sizeof(r.node.lineage.name), "1/2/3");
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	rig_close(&r);
	/* Another node has written a new epoch, which must not be
	 * overwritten. */
	open_sure(&r, "sync");
	must(store_meta_set(r.db, "epoch", "theirs", &err));
	assert_int_equal(beat_as(&r, true), LINEAGE_EPOCH_CHANGED);
	check_row(&r, "epoch", "theirs");
	rig_close(&r);
}

/* A node that returns to the same lineage cannot confirm it until its next
 * heartbeat is on a standby. */
static void
test_back(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	assert_int_equal(begin(&r, LINEAGE_START_WAIT), LINEAGE_SAME);
	r.node.replicated = true;
	assert_int_equal(beat_as(&r, true), LINEAGE_SAME);
	assert_false(r.node.replicated);
	/* A clock that was put back does not put a heartbeat back. */
	r.now_ms = 10;
	assert_int_equal(heartbeat(&r), LINEAGE_SAME);
	assert_true(r.node.heartbeat_at > 3000);
	rig_close(&r);
}

/* A connection begins transactions only on the lineage that its owner
 * follows. */
static void
test_follow(void **state)
{
	atomic_int_fast64_t line = 0;
	struct db_lineage here;
	struct rig r;

	(void)state;
	rig_open(&r, NULL);
	must(db_lineage_get(r.db, &here, &err));
	db_follow_lineage(r.db, &line);
	must(db_begin(r.db, &err));
	must(db_commit(r.db, &err));
	atomic_store(&line, here.id);
	must(db_begin(r.db, &err));
	must(db_commit(r.db, &err));
	atomic_store(&line, DB_LINEAGE_NOWHERE);
	assert_int_equal(db_begin(r.db, &err), RC_AWAY);
	atomic_store(&line, here.id);
	while (db_begin(r.db, &err) != RC_OK)
		assert_non_null(strstr(err.text, "away"));
	must(db_commit(r.db, &err));
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_start),
	    cmocka_unit_test(test_modes),
	    cmocka_unit_test(test_kept),
	    cmocka_unit_test(test_other),
	    cmocka_unit_test(test_back),
	    cmocka_unit_test(test_follow),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
