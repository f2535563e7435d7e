/* SPDX-License-Identifier: MIT */
/*
 * Rows of lanes, and how they become structs.
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

	l->lane_id = db_row_i64(row, 0);
	l->conversation_id = db_row_i64(row, 1);
	l->dest_user = db_row_i64(row, 3);
	l->class =
	    db_row_i64(row, 4) == LANE_RECEIPTS ? LANE_RECEIPTS : LANE_MESSAGES;
	l->tail_seq = db_row_i64(row, 5);
	l->next_seq = db_row_i64(row, 6);
	if (l->tail_seq < l->next_seq - 1)
		l->tail_seq = l->next_seq - 1;
	l->last_published_seq = db_row_i64(row, 7);
	l->due_at = db_row_i64(row, 8);
	l->destination_id = db_row_i64(row, 9);
	db_row_copy_text(row, 10, state, sizeof(state));
	l->state = state_of(state);
	l->priority = (int)db_row_i64(row, 11);
	l->lease_token = db_row_i64(row, 12);
	l->lease_until = db_row_i64(row, 13);
	db_row_copy_text(row, 14, l->lease_owner, sizeof(l->lease_owner));
	l->replay_seq = db_row_i64(row, 15);
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
	struct db_val v[4];
	enum rc rc;

	v[0] = db_v_i64(key->conversation_id);
	v[1] = dest_kind(key->destination_id);
	v[2] = db_v_i64(key->dest_user);
	v[3] = db_v_i64(key->class);
	ret->lane_id = 0;
	rc = db_run(db, SQL_LANE_FIND, v, 4, take_lane, ret, NULL, err);
	if (rc == RC_OK && ret->lane_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_lane_get(
    struct db *db, int64_t lane_id, struct store_lane *ret, struct err *err)
{
	struct db_val v;
	enum rc rc;

	ret->lane_id = 0;
	v = db_v_i64(lane_id);
	rc = db_run(db, SQL_LANE_GET, &v, 1, take_lane, ret, NULL, err);
	if (rc == RC_OK && ret->lane_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_lane_insert(
    struct db *db, struct store_lane *lane, int64_t now_ms, struct err *err)
{
	struct db_val v[7];

	lane->next_seq = 1;
	lane->state =
	    lane->destination_id == DESTINATION_LOCAL ? LANE_LOCAL : LANE_IDLE;
	v[0] = db_v_i64(lane->conversation_id);
	v[1] = dest_kind(lane->destination_id);
	v[2] = db_v_i64(lane->dest_user);
	v[3] = db_v_i64(lane->class);
	v[4] = db_v_i64(now_ms);
	v[5] = db_v_i64(lane->destination_id);
	v[6] = db_v_str(names[lane->state]);
	return (db_run(
	    db, SQL_LANE_INSERT, v, 7, db_take_i64, &lane->lane_id, NULL, err));
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
	e->last = db_row_i64(row, 0);
	if (db_row_i64(row, 1) <= e->now_ms)
		e->each(e->arg, e->last);
	return (RC_OK);
}

enum rc
store_lanes_pending(struct db *db, int64_t now_ms, int64_t after, int64_t limit,
    void (*each)(void *arg, int64_t lane_id), void *arg, int64_t *ret_last,
    struct err *err)
{
	struct lane_each e = {each, arg, now_ms, 0, 0};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_i64(after);
	v[1] = db_v_i64(limit);
	rc = db_run(db, SQL_LANES_PENDING, v, 2, each_lane, &e, NULL, err);
	*ret_last = e.count < limit ? 0 : e.last;
	return (rc);
}

static enum rc
add_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct store_lanes *l = arg;

	(void)err;
	if (l->n < STORE_LANES)
		l->ids[l->n++] = db_row_i64(row, 0);
	return (RC_OK);
}

static enum rc
add_ready_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct store_lanes *l = arg;

	if (l->n < STORE_LANES)
		l->due[l->n] = db_row_i64(row, 1);
	return (add_lane(arg, row, err));
}

enum rc
store_lanes_ready(struct db *db, int64_t destination_id, int priority,
    const struct store_pass *pass, struct store_lanes *ret, struct err *err)
{
	struct db_val v[6];

	ret->n = 0;
	v[0] = db_v_i64(destination_id);
	v[1] = db_v_i64(priority);
	v[2] = db_v_i64(pass->upto_ms);
	v[3] = db_v_i64(pass->due_at);
	v[4] = db_v_i64(pass->lane_id);
	v[5] = db_v_i64(STORE_LANES);
	return (
	    db_run(db, SQL_LANES_READY, v, 6, add_ready_lane, ret, NULL, err));
}

struct least {
	bool any;
	int64_t value;
};

/* The least of what is there; something that is due at 0 is due at 1. */
static enum rc
take_least(void *arg, const struct db_row *row, struct err *err)
{
	struct least *l = arg;
	int64_t v;

	(void)err;
	if (db_row_null(row, 0))
		return (RC_OK);
	v = db_row_i64(row, 0);
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
	struct db_val v = db_v_i64(destination_id);

	return (run_least(db, SQL_LANES_READY_NEXT, &v, 1, ret, err));
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
	struct db_val v = db_v_i64(beyond_ms);
	int64_t due;
	enum rc rc;

	rc = run_least(db, SQL_LANES_DUE_BEYOND, &v, 1, &due, err);
	*ret = due != 0;
	return (rc);
}

static enum rc
take_top_priority(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int *)arg =
	    db_row_null(row, 0) ? PRIORITY_LOW : (int)db_row_i64(row, 0);
	return (RC_OK);
}

enum rc
store_lane_top_priority(
    struct db *db, int64_t lane_id, int *ret, struct err *err)
{
	const struct db_val v = db_v_i64(lane_id);

	return (db_run(db, SQL_LANE_TOP_PRIORITY, &v, 1, take_top_priority, ret,
	    NULL, err));
}

enum rc
store_lane_fence(struct db *db, int64_t lane_id, int64_t token, int64_t now_ms,
    struct err *err)
{
	struct db_val v[3];
	int64_t changed;
	enum rc rc;

	v[0] = db_v_i64(lane_id);
	v[1] = db_v_i64(token);
	v[2] = db_v_i64(now_ms);
	rc = db_run(db, SQL_LANE_FENCE, v, 3, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = RC_CONFLICT;
	return (rc);
}

enum rc
store_lane_renew(struct db *db, const struct store_renewal *r, int64_t now_ms,
    struct err *err)
{
	struct db_val v[4];
	int64_t changed;
	enum rc rc;

	v[0] = db_v_i64(r->lane_id);
	v[1] = db_v_i64(r->token);
	v[2] = db_v_i64(r->until_ms);
	v[3] = db_v_i64(now_ms);
	rc = db_run(db, SQL_LANE_RENEW, v, 4, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = RC_CONFLICT;
	return (rc);
}

enum rc
store_lanes_stale(struct db *db, int64_t now_ms, int64_t beyond_ms,
    struct store_lanes *ret, struct err *err)
{
	struct db_val v[3];

	ret->n = 0;
	v[0] = db_v_i64(now_ms);
	v[1] = db_v_i64(beyond_ms);
	v[2] = db_v_i64(STORE_LANES);
	return (db_run(db, SQL_LANES_STALE, v, 3, add_lane, ret, NULL, err));
}

void
store_lane_values(
    const struct store_lane *lane, int64_t now_ms, struct db_val *v)
{

	v[0] = db_v_i64(lane->lane_id);
	v[1] = db_v_i64(lane->next_seq);
	v[2] = db_v_i64(lane->last_published_seq);
	v[3] = db_v_i64(lane->due_at);
	v[4] = db_v_i64(now_ms);
	if (lane->state == LANE_LOCAL)
		return;
	v[5] = db_v_str(names[lane->state]);
	v[6] = db_v_i64(lane->tail_seq);
	v[7] = db_v_i64(lane->priority);
	v[8] = db_v_i64(lane->lease_token);
	v[9] = db_v_i64_or_null(lane->lease_until, 0);
	v[10] = lane->lease_owner[0] != '\0' ? db_v_str(lane->lease_owner)
					     : DB_V_NULL;
	v[11] = db_v_i64_or_null(lane->replay_seq, 0);
}

enum rc
store_lanes_cap_due(struct db *db, int64_t now_ms, int64_t beyond_ms,
    int64_t *ret, struct err *err)
{
	struct db_val v[2];

	v[0] = db_v_i64(now_ms);
	v[1] = db_v_i64(beyond_ms);
	return (db_run(db, SQL_LANES_CAP_DUE, v, 2, NULL, NULL, ret, err));
}
