/* SPDX-License-Identifier: MIT */
/*
 * See node.h.
 */
#include "cluster/node.h"

#include "schema/sql.h"

enum rc
node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err)
{
	const struct sql_node_insert v = {
	    .name = db_v_str(name), .now = db_v_i64(now_ms)};

	return (db_run(db, SQL_NODE_INSERT, DB_PARAMS(v), db_take_i64,
	    ret_node_id, NULL, err));
}

enum rc
node_heartbeat(struct db *db, int64_t node_id, const char *name, int64_t now_ms,
    struct err *err)
{
	const struct sql_node_heartbeat v = {.node_id = db_v_i64(node_id),
	    .now = db_v_i64(now_ms),
	    .name = db_v_str(name)};

	return (db_run(
	    db, SQL_NODE_HEARTBEAT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
node_get(
    struct db *db, int64_t node_id, int64_t *ret_heartbeat_at, struct err *err)
{
	const struct sql_node_get v = {.node_id = db_v_i64(node_id)};
	enum rc rc;

	*ret_heartbeat_at = -1;
	rc = db_run(db, SQL_NODE_GET, DB_PARAMS(v), db_take_i64,
	    ret_heartbeat_at, NULL, err);
	return (rc == RC_OK && *ret_heartbeat_at < 0 ? RC_NOT_FOUND : rc);
}

enum rc
node_leave(struct db *db, int64_t node_id, int64_t now_ms, struct err *err)
{
	const struct sql_node_leave v = {
	    .node_id = db_v_i64(node_id), .now = db_v_i64(now_ms)};

	return (
	    db_run(db, SQL_NODE_LEAVE, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
node_mark_dead(struct db *db, int64_t node_id, int64_t heartbeat_at,
    int64_t now_ms, struct err *err)
{
	const struct sql_node_mark_dead v = {.node_id = db_v_i64(node_id),
	    .now = db_v_i64(now_ms),
	    .beat_at = db_v_i64(heartbeat_at)};

	return (db_run(
	    db, SQL_NODE_MARK_DEAD, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
node_end_leases(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err)
{
	const struct sql_node_end_leases end = {
	    .owner = db_v_str(owner), .now = db_v_i64(now_ms)};
	const struct sql_node_leases_left left = {
	    .owner = end.owner, .now = end.now};
	enum rc rc;

	rc = db_run(
	    db, SQL_NODE_END_LEASES, DB_PARAMS(end), NULL, NULL, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_NODE_LEASES_LEFT, DB_PARAMS(left),
		    db_take_i64, ret_left, NULL, err);
	return (rc);
}

struct node_each {
	void (*each)(void *arg, const struct node_row *node);
	void *arg;
};

static enum rc
on_row_node(void *arg, const struct db_row *row, struct err *err)
{
	struct node_each *e = arg;
	struct node_row node;

	(void)err;
	node.node_id = db_row_i64(row, COL_NODES_ALIVE_NODE_ID);
	db_row_copy_text(
	    row, COL_NODES_ALIVE_NAME, node.name, sizeof(node.name));
	node.heartbeat_at = db_row_i64(row, COL_NODES_ALIVE_BEAT_AT);
	e->each(e->arg, &node);
	return (RC_OK);
}

enum rc
node_each_alive(struct db *db,
    void (*each)(void *arg, const struct node_row *node), void *arg,
    struct err *err)
{
	struct node_each e = {each, arg};

	return (
	    db_run(db, SQL_NODES_ALIVE, NULL, 0, on_row_node, &e, NULL, err));
}

struct left_nodes {
	int64_t ids[NODE_FORGET_MAX];
	size_t n;
};

static enum rc
on_row_left_node(void *arg, const struct db_row *row, struct err *err)
{
	struct left_nodes *left = arg;

	(void)err;
	left->ids[left->n++] = db_row_i64(row, COL_NODES_LEFT_NODE_ID);
	return (RC_OK);
}

/* Deletes the row of a node if it left before ${before_ms}, and moves the
 * node's totals into row 0 of outbox_totals; *ret_folded: whether the row was
 * deleted.  Runs inside a transaction of the caller.  If the node was only held
 * up and goes on now, its next heartbeat and its next commit wait for this
 * transaction, and then insert the node's row and its row of totals again. */
static enum rc
fold_one(struct db *db, int64_t node_id, int64_t before_ms, bool *ret_folded,
    struct err *err)
{
	const struct sql_node_forget forget = {
	    .node_id = db_v_i64(node_id), .before = db_v_i64(before_ms)};
	const struct sql_totals_fold fold = {.node = forget.node_id};
	int64_t changed;
	enum rc rc;

	rc = db_run(
	    db, SQL_NODE_FORGET, DB_PARAMS(forget), NULL, NULL, &changed, err);
	*ret_folded = rc == RC_OK && changed > 0;
	if (*ret_folded)
		rc = db_run(db, SQL_TOTALS_FOLD, DB_PARAMS(fold), NULL, NULL,
		    NULL, err);
	return (rc);
}

enum rc
node_forget_left(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err)
{
	const struct sql_nodes_left v = {
	    .before = db_v_i64(before_ms), .limit = db_v_i64(NODE_FORGET_MAX)};
	struct left_nodes left = {.n = 0};
	bool folded;
	enum rc rc;
	size_t i;

	*ret_n = 0;
	rc = db_run(db, SQL_NODES_LEFT, DB_PARAMS(v), on_row_left_node, &left,
	    NULL, err);
	for (i = 0; i < left.n && rc == RC_OK; i++) {
		if ((rc = db_begin(db, err)) != RC_OK)
			break;
		rc = fold_one(db, left.ids[i], before_ms, &folded, err);
		if (rc == RC_OK)
			rc = db_commit(db, err);
		if (rc != RC_OK)
			db_rollback(db);
		else
			*ret_n += folded ? 1 : 0;
	}
	return (rc);
}
