/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes rows of lanes.
 */
#include <string.h>

#include "model/message.h"
#include "schema/sql.h"
#include "store/lane.h"
#include "store/store_internal.h"

static const char *const names[LANE_STATES] = {
#define X(id, name) name,
    LANE_STATE_TABLE(X)
#undef X
};

const char *
lane_state_name(enum lane_state state)
{

	return (names[state]);
}

static enum lane_state
state_of(const char *name)
{
	int i;

	for (i = 0; i < LANE_STATES; i++)
		if (strcmp(names[i], name) == 0)
			return ((enum lane_state)i);
	return (LANE_IDLE);
}

void
store_read_lane(const struct db_row *row, struct store_lane *l)
{
	char state[16];

	l->lane_id = db_row_i64(row, COL_LANE_LANE_ID);
	l->conversation_id = db_row_i64(row, COL_LANE_CONVERSATION_ID);
	l->dest_user = db_row_i64(row, COL_LANE_DEST_ID);
	l->class = db_row_i64(row, COL_LANE_CLASS) == LANE_RECEIPTS
		       ? LANE_RECEIPTS
		       : LANE_MESSAGES;
	l->tail_seq = db_row_i64(row, COL_LANE_TAIL_SEQ);
	l->next_seq = db_row_i64(row, COL_LANE_NEXT_SEQ);
	if (l->tail_seq < l->next_seq - 1)
		l->tail_seq = l->next_seq - 1;
	l->last_published_seq = db_row_i64(row, COL_LANE_LAST_PUBLISHED_SEQ);
	l->due_at = db_row_i64(row, COL_LANE_DUE_AT);
	l->destination_id = db_row_i64(row, COL_LANE_DESTINATION_ID);
	db_row_copy_text(row, COL_LANE_STATE, state, sizeof(state));
	l->state = state_of(state);
	l->priority = (int)db_row_i64(row, COL_LANE_PRIORITY);
	l->lease_token = db_row_i64(row, COL_LANE_LEASE_TOKEN);
	l->lease_until = db_row_i64(row, COL_LANE_LEASE_UNTIL);
	db_row_copy_text(
	    row, COL_LANE_LEASE_OWNER, l->lease_owner, sizeof(l->lease_owner));
	l->replay_seq = db_row_i64(row, COL_LANE_REPLAY_SEQ);
	l->acked_seq = db_row_i64(row, COL_LANE_ACKED_SEQ);
}

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	store_read_lane(row, arg);
	return (RC_OK);
}

static struct db_val
dest_kind(int64_t destination_id)
{

	return (destination_id == DESTINATION_LOCAL ? db_v_text("user", 4)
						    : db_v_text("server", 6));
}

enum rc
store_lane_find(struct db *db, const struct store_lane *key,
    struct store_lane *ret, struct err *err)
{
	const struct sql_lane_find v = {
	    .conversation_id = db_v_i64(key->conversation_id),
	    .dest_kind = dest_kind(key->destination_id),
	    .dest_id = db_v_i64(key->dest_user),
	    .class = db_v_i64(key->class)};
	enum rc rc;

	ret->lane_id = 0;
	rc = db_run(db, SQL_LANE_FIND, DB_PARAMS(v), take_lane, ret, NULL, err);
	if (rc == RC_OK && ret->lane_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_lane_get(
    struct db *db, int64_t lane_id, struct store_lane *ret, struct err *err)
{
	const struct sql_lane_get v = {.lane_id = db_v_i64(lane_id)};
	enum rc rc;

	ret->lane_id = 0;
	rc = db_run(db, SQL_LANE_GET, DB_PARAMS(v), take_lane, ret, NULL, err);
	if (rc == RC_OK && ret->lane_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_lane_insert(
    struct db *db, struct store_lane *lane, int64_t now_ms, struct err *err)
{
	struct sql_lane_insert v = {
	    .conversation_id = db_v_i64(lane->conversation_id),
	    .dest_kind = dest_kind(lane->destination_id),
	    .dest_id = db_v_i64(lane->dest_user),
	    .class = db_v_i64(lane->class),
	    .now = db_v_i64(now_ms),
	    .destination_id = db_v_i64(lane->destination_id)};

	lane->next_seq = 1;
	lane->state =
	    lane->destination_id == DESTINATION_LOCAL ? LANE_LOCAL : LANE_IDLE;
	v.state = db_v_str(names[lane->state]);
	return (db_run(db, SQL_LANE_INSERT, DB_PARAMS(v), db_take_i64,
	    &lane->lane_id, NULL, err));
}

struct lane_each {
	void (*each)(void *arg, int64_t lane_id);
	void *arg;
	int64_t now_ms, last;
	int64_t count;
};

static enum rc
each_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct lane_each *e = arg;

	(void)err;
	e->count++;
	e->last = db_row_i64(row, COL_DUE_LANE_LANE_ID);
	if (db_row_i64(row, COL_DUE_LANE_DUE_AT) <= e->now_ms)
		e->each(e->arg, e->last);
	return (RC_OK);
}

enum rc
store_lanes_pending(struct db *db, int64_t now_ms, int64_t after, int64_t limit,
    void (*each)(void *arg, int64_t lane_id), void *arg, int64_t *ret_last,
    struct err *err)
{
	struct lane_each e = {each, arg, now_ms, 0, 0};
	const struct sql_lanes_pending v = {
	    .after = db_v_i64(after), .limit = db_v_i64(limit)};
	enum rc rc;

	rc = db_run(
	    db, SQL_LANES_PENDING, DB_PARAMS(v), each_lane, &e, NULL, err);
	*ret_last = e.count < limit ? 0 : e.last;
	return (rc);
}

static enum rc
add_stale_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct store_lanes *l = arg;

	(void)err;
	if (l->n < STORE_LANES)
		l->ids[l->n++] = db_row_i64(row, COL_LANES_STALE_LANE_ID);
	return (RC_OK);
}

static enum rc
add_ready_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct store_lanes *l = arg;

	(void)err;
	if (l->n < STORE_LANES) {
		l->due[l->n] = db_row_i64(row, COL_DUE_LANE_DUE_AT);
		l->ids[l->n++] = db_row_i64(row, COL_DUE_LANE_LANE_ID);
	}
	return (RC_OK);
}

enum rc
store_lanes_ready(struct db *db, int64_t destination_id, int priority,
    const struct store_pass *pass, struct store_lanes *ret, struct err *err)
{
	const struct sql_lanes_ready v = {
	    .destination_id = db_v_i64(destination_id),
	    .priority = db_v_i64(priority),
	    .upto = db_v_i64(pass->upto_ms),
	    .after_due_at = db_v_i64(pass->due_at),
	    .after_lane_id = db_v_i64(pass->lane_id),
	    .limit = db_v_i64(STORE_LANES)};

	ret->n = 0;
	return (db_run(
	    db, SQL_LANES_READY, DB_PARAMS(v), add_ready_lane, ret, NULL, err));
}

struct least {
	bool any;
	int64_t value;
};

/* Keeps the least value of the result rows; ignores NULL.  run_least() returns
 * this value in *ret, or 0 if there is none; a value below 1 is therefore
 * returned as 1. */
static enum rc
take_least(void *arg, const struct db_row *row, struct err *err)
{
	struct least *l = arg;
	int64_t v;

	(void)err;
	if (db_row_null(row, COL_LEAST_LEAST))
		return (RC_OK);
	v = db_row_i64(row, COL_LEAST_LEAST);
	if (!l->any || v < l->value)
		l->value = v;
	l->any = true;
	return (RC_OK);
}

static enum rc
run_least(struct db *db, int stmt, const struct db_val *v, size_t n,
    int64_t *ret, struct err *err)
{
	struct least l = {false, 0};
	enum rc rc;

	rc = db_run(db, stmt, v, n, take_least, &l, NULL, err);
	*ret = !l.any ? 0 : l.value < 1 ? 1 : l.value;
	return (rc);
}

enum rc
store_lanes_ready_next(
    struct db *db, int64_t destination_id, int64_t *ret, struct err *err)
{
	const struct sql_lanes_ready_next v = {
	    .destination_id = db_v_i64(destination_id)};

	return (run_least(db, SQL_LANES_READY_NEXT, DB_PARAMS(v), ret, err));
}

enum rc
store_lanes_lease_next(struct db *db, int64_t *ret, struct err *err)
{

	return (run_least(db, SQL_LANES_LEASE_NEXT, NULL, 0, ret, err));
}

enum rc
store_lanes_due_beyond(
    struct db *db, int64_t beyond_ms, bool *ret, struct err *err)
{
	const struct sql_lanes_due_beyond v = {.beyond = db_v_i64(beyond_ms)};
	int64_t due;
	enum rc rc;

	rc = run_least(db, SQL_LANES_DUE_BEYOND, DB_PARAMS(v), &due, err);
	*ret = due != 0;
	return (rc);
}

static enum rc
take_top_priority(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int *)arg =
	    db_row_null(row, COL_LANE_TOP_PRIORITY_PRIORITY)
		? PRIORITY_LOW
		: (int)db_row_i64(row, COL_LANE_TOP_PRIORITY_PRIORITY);
	return (RC_OK);
}

enum rc
store_lane_top_priority(
    struct db *db, int64_t lane_id, int *ret, struct err *err)
{
	const struct sql_lane_top_priority v = {.lane_id = db_v_i64(lane_id)};

	return (db_run(db, SQL_LANE_TOP_PRIORITY, DB_PARAMS(v),
	    take_top_priority, ret, NULL, err));
}

enum rc
store_lane_fence(struct db *db, int64_t lane_id, int64_t token, int64_t now_ms,
    struct err *err)
{
	const struct sql_lane_fence v = {.lane_id = db_v_i64(lane_id),
	    .lease_token = db_v_i64(token),
	    .now = db_v_i64(now_ms)};
	int64_t changed;
	enum rc rc;

	rc =
	    db_run(db, SQL_LANE_FENCE, DB_PARAMS(v), NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = RC_CONFLICT;
	return (rc);
}

enum rc
store_lane_renew(struct db *db, const struct store_renewal *r, int64_t now_ms,
    struct err *err)
{
	const struct sql_lane_renew v = {.lane_id = db_v_i64(r->lane_id),
	    .lease_token = db_v_i64(r->token),
	    .lease_until = db_v_i64(r->until_ms),
	    .now = db_v_i64(now_ms)};
	int64_t changed;
	enum rc rc;

	rc =
	    db_run(db, SQL_LANE_RENEW, DB_PARAMS(v), NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = RC_CONFLICT;
	return (rc);
}

enum rc
store_lanes_stale(struct db *db, int64_t now_ms, int64_t beyond_ms,
    struct store_lanes *ret, struct err *err)
{
	const struct sql_lanes_stale v = {.now = db_v_i64(now_ms),
	    .beyond = db_v_i64(beyond_ms),
	    .limit = db_v_i64(STORE_LANES)};

	ret->n = 0;
	return (db_run(
	    db, SQL_LANES_STALE, DB_PARAMS(v), add_stale_lane, ret, NULL, err));
}

void
store_lane_local_row(
    const struct store_lane *lane, int64_t now_ms, struct sql_lane_set *ret)
{

	ret->lane_id = db_v_i64(lane->lane_id);
	ret->next_seq = db_v_i64(lane->next_seq);
	ret->last_published_seq = db_v_i64(lane->last_published_seq);
	ret->due_at = db_v_i64(lane->due_at);
	ret->now = db_v_i64(now_ms);
}

void
store_lane_remote_row(const struct store_lane *lane, int64_t now_ms,
    struct sql_lane_remote_set *ret)
{

	ret->lane_id = db_v_i64(lane->lane_id);
	ret->next_seq = db_v_i64(lane->next_seq);
	ret->last_published_seq = db_v_i64(lane->last_published_seq);
	ret->due_at = db_v_i64(lane->due_at);
	ret->now = db_v_i64(now_ms);
	ret->state = db_v_str(names[lane->state]);
	ret->tail_seq = db_v_i64(lane->tail_seq);
	ret->priority = db_v_i64(lane->priority);
	ret->lease_token = db_v_i64(lane->lease_token);
	ret->lease_until = db_v_i64_or_null(lane->lease_until, 0);
	ret->lease_owner = lane->lease_owner[0] != '\0'
			       ? db_v_str(lane->lease_owner)
			       : DB_V_NULL;
	ret->replay_seq = db_v_i64_or_null(lane->replay_seq, 0);
	ret->acked_seq = db_v_i64(lane->acked_seq);
}

enum rc
store_lanes_cap_due(struct db *db, int64_t now_ms, int64_t beyond_ms,
    int64_t *ret, struct err *err)
{
	const struct sql_lanes_cap_due v = {
	    .now = db_v_i64(now_ms), .beyond = db_v_i64(beyond_ms)};

	return (
	    db_run(db, SQL_LANES_CAP_DUE, DB_PARAMS(v), NULL, NULL, ret, err));
}
