/* SPDX-License-Identifier: MIT */
/*
 * Lists of lanes, and single lanes.
 */
#include <string.h>

#include "inspect/inspect_internal.h"
#include "schema/sql.h"

struct lane_each {
	inspect_lane_fn each;
	void *arg;
	bool found;
};

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct lane_each *e = arg;
	struct inspect_lane l;

	e->found = true;
	l.lane_id = db_row_i64(row, COL_INSPECT_LANE_LANE_ID);
	l.conversation = db_row_uuid(row, COL_INSPECT_LANE_PUBLIC_ID);
	l.to = inspect_text(row, COL_INSPECT_LANE_RECIPIENT);
	l.destination = inspect_text(row, COL_INSPECT_LANE_DESTINATION);
	l.class = db_row_i64(row, COL_INSPECT_LANE_CLASS);
	l.state = inspect_text(row, COL_INSPECT_LANE_STATE);
	l.priority = db_row_i64(row, COL_INSPECT_LANE_PRIORITY);
	l.next_seq = db_row_i64(row, COL_INSPECT_LANE_NEXT_SEQ);
	l.last_published_seq =
	    db_row_i64(row, COL_INSPECT_LANE_LAST_PUBLISHED_SEQ);
	l.tail_seq = db_row_i64(row, COL_INSPECT_LANE_TAIL_SEQ);
	if (l.tail_seq < l.next_seq - 1)
		l.tail_seq = l.next_seq - 1;
	l.due_at = db_row_i64(row, COL_INSPECT_LANE_DUE_AT);
	l.lease_owner = inspect_text(row, COL_INSPECT_LANE_LEASE_OWNER);
	l.lease_until = db_row_i64(row, COL_INSPECT_LANE_LEASE_UNTIL);
	l.lease_token = db_row_i64(row, COL_INSPECT_LANE_LEASE_TOKEN);
	l.updated_at = db_row_i64(row, COL_INSPECT_LANE_UPDATED_AT);
	l.replay_seq = db_row_i64(row, COL_INSPECT_LANE_REPLAY_SEQ);
	return (e->each(e->arg, &l, err));
}

enum rc
inspect_lane(struct db *db, int64_t lane_id, inspect_lane_fn each, void *arg,
    struct err *err)
{
	struct lane_each e = {each, arg, false};
	const struct sql_inspect_lane v = {.lane_id = db_v_i64(lane_id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_INSPECT_LANE, DB_PARAMS(v), take_lane, &e, NULL, err);
	return (rc == RC_OK && !e.found ? RC_NOT_FOUND : rc);
}

static enum rc
take_place(void *arg, const struct db_row *row, struct err *err)
{
	int64_t *seq = arg;

	(void)err;
	*seq = db_row_i64(row, COL_INSPECT_LANE_SENT_SINCE_LANE_SEQ);
	return (RC_OK);
}

enum rc
inspect_lane_sent_since(struct db *db, int64_t lane_id, int64_t since_ms,
    int64_t *ret_seq, struct err *err)
{
	const struct sql_inspect_lane_sent_since v = {
	    .lane_id = db_v_i64(lane_id), .since = db_v_i64(since_ms)};
	int64_t seq = 0;
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_LANE_SENT_SINCE, DB_PARAMS(v), take_place,
	    &seq, NULL, err);
	if (rc == RC_OK && seq == 0)
		return (RC_NOT_FOUND);
	if (rc == RC_OK)
		*ret_seq = seq;
	return (rc);
}

struct choosing {
	const struct inspect_lane_filter *filter;
	struct inspect_page page;
};

static void
look(struct choosing *c, const struct db_row *row)
{
	const struct inspect_lane_filter *f = c->filter;

	c->page.looked++;
	c->page.last = db_row_i64(row, COL_LANE_CANDIDATE_LANE_ID);
	if ((f->state == NULL ||
		strcmp(inspect_text(row, COL_LANE_CANDIDATE_STATE), f->state) ==
		    0) &&
	    (f->destination_id < 0 ||
		f->destination_id ==
		    db_row_i64(row, COL_LANE_CANDIDATE_DESTINATION_ID)))
		inspect_page_add(&c->page, c->page.last);
}

/* RC_LIMIT ends the walk: the page is full. */
static enum rc
walk_lane(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	look(c, row);
	return (inspect_page_full(&c->page) ? RC_LIMIT : RC_OK);
}

static enum rc
set_lane(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	look(arg, row);
	return (RC_OK);
}

/* If the filter of ${c} asks for the state ready or leased, fills the page of
 * ${c} from the index of that state, of which at most INSPECT_WALK lanes are
 * read (of the ready lanes, only those to the filter's destination, if any).
 * *ret_whole is false if the filter asks for neither state, or if INSPECT_WALK
 * lanes were read, so that there may be more; the caller then empties the page
 * and fills it by a walk. */
static enum rc
choose_from_set(
    struct db *db, struct choosing *c, bool *ret_whole, struct err *err)
{
	const struct sql_inspect_lanes_leased leased = {
	    .limit = db_v_i64(INSPECT_WALK)};
	const struct sql_inspect_lanes_ready ready = {.limit = leased.limit};
	const struct sql_inspect_lanes_ready_to to = {.limit = leased.limit,
	    .destination_id = db_v_i64(c->filter->destination_id)};
	enum rc rc;

	*ret_whole = false;
	if (c->filter->state == NULL)
		return (RC_OK);
	if (strcmp(c->filter->state, "leased") == 0)
		rc = db_run(db, SQL_INSPECT_LANES_LEASED, DB_PARAMS(leased),
		    set_lane, c, NULL, err);
	else if (strcmp(c->filter->state, "ready") != 0)
		return (RC_OK);
	else if (c->filter->destination_id >= 0)
		rc = db_run(db, SQL_INSPECT_LANES_READY_TO, DB_PARAMS(to),
		    set_lane, c, NULL, err);
	else
		rc = db_run(db, SQL_INSPECT_LANES_READY, DB_PARAMS(ready),
		    set_lane, c, NULL, err);
	*ret_whole = c->page.looked < INSPECT_WALK;
	return (rc);
}

enum rc
inspect_lanes(struct db *db, const struct inspect_lane_filter *filter,
    int64_t after, int64_t limit, inspect_lane_fn each, void *arg,
    int64_t *ret_next, struct err *err)
{
	const struct sql_inspect_lanes_walk v = {
	    .after = db_v_i64(after), .limit = db_v_i64(INSPECT_WALK)};
	struct choosing c = {.filter = filter};
	bool whole;
	size_t i;
	enum rc rc;

	inspect_page_init(&c.page, true, after, limit);
	rc = choose_from_set(db, &c, &whole, err);
	if (rc == RC_OK && !whole) {
		inspect_page_init(&c.page, true, after, limit);
		rc = db_run(db, SQL_INSPECT_LANES_WALK, DB_PARAMS(v), walk_lane,
		    &c, NULL, err);
		if (rc == RC_LIMIT)
			rc = RC_OK;
	}
	if (rc != RC_OK)
		return (rc);
	*ret_next =
	    inspect_page_next(&c.page, !whole, c.page.looked < INSPECT_WALK);
	for (i = 0; i < c.page.n && rc == RC_OK; i++)
		rc = inspect_lane(db, c.page.ids[i], each, arg, err);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}
