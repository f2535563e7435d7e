/* SPDX-License-Identifier: MIT */
/*
 * See node.h.
 */
#include "store/node.h"

#include "base/mem.h"
#include "schema/sql.h"

static enum rc
take_id(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

enum rc
store_node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err)
{
	const struct db_val v[] = {db_v_str(name), db_v_i64(now_ms)};

	return (
	    db_run(db, SQL_NODE_INSERT, v, 2, take_id, ret_node_id, NULL, err));
}

static enum rc
set_time(
    struct db *db, int stmt, struct db_val key, int64_t now_ms, struct err *err)
{
	const struct db_val v[] = {key, db_v_i64(now_ms)};

	return (db_run(db, stmt, v, 2, NULL, NULL, NULL, err));
}

enum rc
store_node_beat(struct db *db, int64_t node_id, const char *name,
    int64_t now_ms, struct err *err)
{
	const struct db_val v[] = {
	    db_v_i64(node_id), db_v_i64(now_ms), db_v_str(name)};

	return (db_run(db, SQL_NODE_BEAT, v, 3, NULL, NULL, NULL, err));
}

enum rc
store_node_get(
    struct db *db, int64_t node_id, int64_t *ret_beat_at, struct err *err)
{
	const struct db_val v = db_v_i64(node_id);
	enum rc rc;

	*ret_beat_at = -1;
	rc = db_run(db, SQL_NODE_GET, &v, 1, take_id, ret_beat_at, NULL, err);
	return (rc == RC_OK && *ret_beat_at < 0 ? RC_NOT_FOUND : rc);
}

enum rc
store_node_leave(
    struct db *db, int64_t node_id, int64_t now_ms, struct err *err)
{

	return (set_time(db, SQL_NODE_LEAVE, db_v_i64(node_id), now_ms, err));
}

enum rc
store_node_bury(struct db *db, int64_t node_id, int64_t beat_at, int64_t now_ms,
    struct err *err)
{
	const struct db_val v[] = {
	    db_v_i64(node_id), db_v_i64(now_ms), db_v_i64(beat_at)};

	return (db_run(db, SQL_NODE_BURY, v, 3, NULL, NULL, NULL, err));
}

enum rc
store_lanes_forsaken(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err)
{
	const struct db_val v[] = {db_v_str(owner), db_v_i64(now_ms)};
	enum rc rc;

	rc = db_run(db, SQL_LANES_FORSAKEN, v, 2, NULL, NULL, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_LANES_LEASED_TO, v, 2, take_id, ret_left,
		    NULL, err);
	return (rc);
}

struct node_each {
	void (*each)(void *arg, const struct store_node *node);
	void *arg;
};

static enum rc
take_node(void *arg, const struct db_row *row, struct err *err)
{
	struct node_each *e = arg;
	struct store_node node;

	(void)err;
	node.node_id = db_row_i64(row, 0);
	db_row_copy_text(row, 1, node.name, sizeof(node.name));
	node.beat_at = db_row_i64(row, 2);
	e->each(e->arg, &node);
	return (RC_OK);
}

enum rc
store_nodes_here(struct db *db,
    void (*each)(void *arg, const struct store_node *node), void *arg,
    struct err *err)
{
	struct node_each e = {each, arg};

	return (db_run(db, SQL_NODES_HERE, NULL, 0, take_node, &e, NULL, err));
}

struct gone_nodes {
	int64_t ids[STORE_NODES_FOLD];
	size_t n;
};

static enum rc
take_gone_node(void *arg, const struct db_row *row, struct err *err)
{
	struct gone_nodes *gone = arg;

	(void)err;
	gone->ids[gone->n++] = db_row_i64(row, 0);
	return (RC_OK);
}

/* In a transaction.  A node that beats again meanwhile waits, and makes both of
 * its rows anew. */
static enum rc
fold_one(struct db *db, int64_t node_id, int64_t before_ms, bool *ret_folded,
    struct err *err)
{
	const struct db_val v[] = {db_v_i64(node_id), db_v_i64(before_ms)};
	int64_t changed;
	enum rc rc;

	rc = db_run(db, SQL_NODE_FORGET, v, 2, NULL, NULL, &changed, err);
	*ret_folded = rc == RC_OK && changed > 0;
	if (*ret_folded)
		rc = db_run(db, SQL_TOTALS_FOLD, v, 1, NULL, NULL, NULL, err);
	return (rc);
}

enum rc
store_nodes_fold(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err)
{
	const struct db_val v[] = {
	    db_v_i64(before_ms), db_v_i64(STORE_NODES_FOLD)};
	struct gone_nodes gone = {.n = 0};
	bool folded;
	enum rc rc;
	size_t i;

	*ret_n = 0;
	rc = db_run(db, SQL_NODES_GONE, v, 2, take_gone_node, &gone, NULL, err);
	for (i = 0; i < gone.n && rc == RC_OK; i++) {
		if ((rc = db_begin(db, err)) != RC_OK)
			break;
		rc = fold_one(db, gone.ids[i], before_ms, &folded, err);
		if (rc == RC_OK)
			rc = db_commit(db, err);
		if (rc != RC_OK)
			db_rollback(db);
		else
			*ret_n += folded ? 1 : 0;
	}
	return (rc);
}

/* Runs ${stmt} for each of ${n} ids. */
static enum rc
run_ids(struct db *db, int stmt, const int64_t *ids, size_t n, db_row_fn each,
    void *arg, struct err *err)
{
	struct db_val *v;
	enum rc rc;
	size_t i;

	if (n == 0)
		return (RC_OK);
	if ((v = mem_zalloc(n, sizeof(*v))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "ids"));
	for (i = 0; i < n; i++)
		v[i] = db_v_i64(ids[i]);
	rc = db_run_many(db, stmt, &(struct db_set){v, 1, n}, each, arg, err);
	mem_free(v);
	return (rc);
}

struct head_each {
	enum rc (*each)(
	    void *arg, int64_t user_id, int64_t head, struct err *err);
	void *arg;
};

static enum rc
take_head(void *arg, const struct db_row *row, struct err *err)
{
	const struct head_each *e = arg;

	return (e->each(e->arg, db_row_i64(row, 0), db_row_i64(row, 1), err));
}

enum rc
store_inbox_heads(struct db *db, const int64_t *users, size_t n,
    enum rc (*each)(void *arg, int64_t user_id, int64_t head, struct err *err),
    void *arg, struct err *err)
{
	struct head_each e = {each, arg};

	return (run_ids(db, SQL_INBOX_HEADS, users, n, take_head, &e, err));
}

struct now_each {
	enum rc (*each)(
	    void *arg, const struct store_device_now *now, struct err *err);
	void *arg;
};

static enum rc
take_now(void *arg, const struct db_row *row, struct err *err)
{
	const struct now_each *e = arg;
	struct store_device_now now;
	size_t n;

	now.device_id = db_row_i64(row, 0);
	now.user_id = db_row_i64(row, 1);
	now.acked = db_row_i64(row, 2);
	now.gone = db_row_blob(row, 3, &n);
	if (now.gone != NULL && n != 32)
		return (err_set(err, RC_CORRUPT, "a device's token hash"));
	return (e->each(e->arg, &now, err));
}

enum rc
store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err)
{
	struct now_each e = {each, arg};

	return (run_ids(db, SQL_DEVICES_NOW, devices, n, take_now, &e, err));
}
