/* SPDX-License-Identifier: MIT */
/*
 * Lists of lanes, and one of them.
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
	l.lane_id = db_row_i64(row, 0);
	l.conversation = db_row_uuid(row, 1);
	l.to = inspect_text(row, 2);
	l.destination = inspect_text(row, 3);
	l.class = db_row_i64(row, 4);
	l.state = inspect_text(row, 5);
	l.priority = db_row_i64(row, 6);
	l.next_seq = db_row_i64(row, 7);
	l.last_published_seq = db_row_i64(row, 8);
	l.tail_seq = db_row_i64(row, 9);
	if (l.tail_seq < l.next_seq - 1)
		l.tail_seq = l.next_seq - 1;
	l.due_at = db_row_i64(row, 10);
	l.lease_owner = inspect_text(row, 11);
	l.lease_until = db_row_i64(row, 12);
	l.lease_token = db_row_i64(row, 13);
	l.updated_at = db_row_i64(row, 14);
	l.replay_seq = db_row_i64(row, 15);
	return (e->each(e->arg, &l, err));
}

enum rc
inspect_lane(struct db *db, int64_t lane_id, inspect_lane_fn each, void *arg,
    struct err *err)
{
	struct lane_each e = {each, arg, false};
	struct db_val v = db_v_i64(lane_id);
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_LANE, &v, 1, take_lane, &e, NULL, err);
	return (rc == RC_OK && !e.found ? RC_NOT_FOUND : rc);
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
	c->page.last = db_row_i64(row, 0);
	if ((f->state == NULL || strcmp(inspect_text(row, 1), f->state) == 0) &&
	    (f->destination_id < 0 || f->destination_id == db_row_i64(row, 2)))
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

/* Lanes that are ready or leased have indexes of their own. */
static enum rc
choose_from_set(
    struct db *db, struct choosing *c, bool *ret_whole, struct err *err)
{
	struct db_val v[2];
	size_t n = 1;
	int stmt;
	enum rc rc;

	*ret_whole = false;
	if (c->filter->state == NULL)
		return (RC_OK);
	v[0] = db_v_i64(INSPECT_WALK);
	v[1] = db_v_i64(c->filter->destination_id);
	if (strcmp(c->filter->state, "leased") == 0) {
		stmt = SQL_INSPECT_LANES_LEASED;
	} else if (strcmp(c->filter->state, "ready") != 0) {
		return (RC_OK);
	} else if (c->filter->destination_id >= 0) {
		stmt = SQL_INSPECT_LANES_READY_TO;
		n = 2;
	} else {
		stmt = SQL_INSPECT_LANES_READY;
	}
	rc = db_run(db, stmt, v, n, set_lane, c, NULL, err);
	*ret_whole = c->page.looked < INSPECT_WALK;
	return (rc);
}

enum rc
inspect_lanes(struct db *db, const struct inspect_lane_filter *filter,
    int64_t after, int64_t limit, inspect_lane_fn each, void *arg,
    int64_t *ret_next, struct err *err)
{
	struct choosing c = {.filter = filter};
	struct db_val v[2];
	bool whole;
	size_t i;
	enum rc rc;

	inspect_page_init(&c.page, true, after, limit);
	rc = choose_from_set(db, &c, &whole, err);
	if (rc == RC_OK && !whole) {
		inspect_page_init(&c.page, true, after, limit);
		v[0] = db_v_i64(after);
		v[1] = db_v_i64(INSPECT_WALK);
		rc = db_run(
		    db, SQL_INSPECT_LANES_WALK, v, 2, walk_lane, &c, NULL, err);
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
