/* SPDX-License-Identifier: MIT */
/*
 * Lists of dead letters, the dead letters of one outbox row, and single ones.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/inspect_internal.h"
#include "schema/sql.h"

struct dead_each {
	inspect_dead_letter_fn each;
	void *arg;
};

static enum rc
take_dead(void *arg, const struct db_row *row, struct err *err)
{
	struct dead_each *e = arg;
	struct inspect_dead_letter d;

	d.dead_id = db_row_i64(row, COL_INSPECT_DEAD_LETTER_DEAD_ID);
	d.outbox_id = db_row_i64(row, COL_INSPECT_DEAD_LETTER_OUTBOX_ID);
	d.message_id = db_row_uuid(row, COL_INSPECT_DEAD_LETTER_MESSAGE_ID);
	d.from = inspect_text(row, COL_INSPECT_DEAD_LETTER_SENDER);
	d.to = inspect_text(row, COL_INSPECT_DEAD_LETTER_RECIPIENT);
	d.destination = inspect_text(row, COL_INSPECT_DEAD_LETTER_DESTINATION);
	d.state = inspect_text(row, COL_INSPECT_DEAD_LETTER_STATE);
	d.reason = inspect_text(row, COL_INSPECT_DEAD_LETTER_REASON);
	d.last_error = inspect_text(row, COL_INSPECT_DEAD_LETTER_LAST_ERROR);
	d.attempts = db_row_i64(row, COL_INSPECT_DEAD_LETTER_ATTEMPTS);
	d.retry_count = db_row_i64(row, COL_INSPECT_DEAD_LETTER_RETRY_COUNT);
	d.event_time = db_row_i64(row, COL_INSPECT_DEAD_LETTER_EVENT_TIME);
	d.created_at = db_row_i64(row, COL_INSPECT_DEAD_LETTER_CREATED_AT);
	d.dead_at = db_row_i64(row, COL_INSPECT_DEAD_LETTER_DEAD_AT);
	d.resolution = inspect_text(row, COL_INSPECT_DEAD_LETTER_RESOLUTION);
	d.resolved_at = db_row_i64(row, COL_INSPECT_DEAD_LETTER_RESOLVED_AT);
	d.resolved_by = inspect_text(row, COL_INSPECT_DEAD_LETTER_RESOLVED_BY);
	return (e->each(e->arg, &d, err));
}

/* ---- choosing ---- */

struct choosing {
	const struct inspect_dead_letter_filter *filter;
	struct inspect_page page;
	int64_t count;
};

static bool
is_wanted(const struct inspect_dead_letter_filter *f, const struct db_row *row)
{

	if (f->reason[0] != '\0' &&
	    strcmp(inspect_text(row, COL_DEAD_LETTER_CANDIDATE_REASON),
		f->reason) != 0)
		return (false);
	if (f->sender_id != 0 &&
	    db_row_i64(row, COL_DEAD_LETTER_CANDIDATE_SENDER_ID) !=
		f->sender_id)
		return (false);
	if (f->destination_id >= 0 &&
	    db_row_i64(row, COL_DEAD_LETTER_CANDIDATE_DESTINATION_ID) !=
		f->destination_id)
		return (false);
	return (f->resolved != INSPECT_RESOLVED ||
		!db_row_null(row, COL_DEAD_LETTER_CANDIDATE_RESOLUTION));
}

/* RC_LIMIT ends the walk: the page is full. */
static enum rc
walk_dead(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	c->page.looked++;
	c->page.last = db_row_i64(row, COL_DEAD_LETTER_CANDIDATE_DEAD_ID);
	if (is_wanted(c->filter, row)) {
		c->count++;
		inspect_page_add(&c->page, c->page.last);
	}
	return (inspect_page_full(&c->page) ? RC_LIMIT : RC_OK);
}

static enum rc
walk(struct db *db, int stmt, struct choosing *c, struct err *err)
{
	const struct sql_inspect_dead_letter_walk back = {
	    .before = db_v_i64(c->page.cursor),
	    .limit = db_v_i64(INSPECT_WALK)};
	const struct sql_inspect_dead_letter_oldest on = {
	    .after = back.before, .limit = back.limit};
	const struct db_set v =
	    c->page.ascending ? DB_SET(&on, 1) : DB_SET(&back, 1);
	enum rc rc;

	rc = db_run(db, stmt, v.v, v.width, walk_dead, c, NULL, err);
	return (rc == RC_LIMIT ? RC_OK : rc);
}

enum rc
inspect_dead_letters(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t before,
    int64_t limit, inspect_dead_letter_fn each, void *arg, int64_t *ret_next,
    struct err *err)
{
	struct choosing c = {.filter = filter};
	struct dead_each e = {each, arg};
	struct sql_inspect_dead_letter v;
	size_t i;
	enum rc rc;

	inspect_page_init(&c.page, false, before, limit);
	rc = walk(db,
	    filter->resolved == INSPECT_OPEN ? SQL_INSPECT_DEAD_LETTER_OPEN
					     : SQL_INSPECT_DEAD_LETTER_WALK,
	    &c, err);
	if (rc != RC_OK)
		return (rc);
	*ret_next =
	    inspect_page_next(&c.page, true, c.page.looked < INSPECT_WALK);
	for (i = 0; i < c.page.n && rc == RC_OK; i++) {
		v.dead_id = db_v_i64(c.page.ids[i]);
		rc = db_run(db, SQL_INSPECT_DEAD_LETTER, DB_PARAMS(v),
		    take_dead, &e, NULL, err);
	}
	return (rc);
}

enum rc
inspect_dead_letter_ids(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t after,
    int64_t *ret, size_t max, size_t *ret_n, int64_t *ret_last, struct err *err)
{
	struct choosing c = {.filter = filter};
	enum rc rc;

	inspect_page_init(&c.page, true, after, (int64_t)max - 1);
	rc = walk(db, SQL_INSPECT_DEAD_LETTER_OLDEST, &c, err);
	memcpy(ret, c.page.ids, c.page.n * sizeof(*ret));
	*ret_n = c.page.n;
	*ret_last = inspect_page_full(&c.page) || c.page.looked == INSPECT_WALK
			? c.page.last
			: 0;
	return (rc);
}

static enum rc
count_dead(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	c->page.looked++;
	c->count += is_wanted(c->filter, row);
	return (RC_OK);
}

enum rc
inspect_dead_letters_left(struct db *db,
    const struct inspect_dead_letter_filter *filter, int64_t after,
    int64_t *ret, bool *ret_all, struct err *err)
{
	struct choosing c = {.filter = filter};
	const struct sql_inspect_dead_letter_oldest v = {
	    .after = db_v_i64(after), .limit = db_v_i64(INSPECT_WALK)};
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_DEAD_LETTER_OLDEST, DB_PARAMS(v),
	    count_dead, &c, NULL, err);
	*ret = c.count;
	*ret_all = c.page.looked < INSPECT_WALK;
	return (rc);
}

/* ---- those of one row, and a single one ---- */

static enum rc
take_of(void *arg, const struct db_row *row, struct err *err)
{
	struct dead_each *e = arg;
	struct inspect_dead_letter d;

	memset(&d, 0, sizeof(d));
	d.dead_id = db_row_i64(row, COL_INSPECT_DEAD_LETTER_OF_DEAD_ID);
	d.state = inspect_text(row, COL_INSPECT_DEAD_LETTER_OF_STATE);
	d.reason = inspect_text(row, COL_INSPECT_DEAD_LETTER_OF_REASON);
	d.dead_at = db_row_i64(row, COL_INSPECT_DEAD_LETTER_OF_DEAD_AT);
	d.resolution = inspect_text(row, COL_INSPECT_DEAD_LETTER_OF_RESOLUTION);
	d.resolved_at = db_row_i64(row, COL_INSPECT_DEAD_LETTER_OF_RESOLVED_AT);
	d.resolved_by =
	    inspect_text(row, COL_INSPECT_DEAD_LETTER_OF_RESOLVED_BY);
	return (e->each(e->arg, &d, err));
}

enum rc
inspect_dead_letters_of(struct db *db, int64_t outbox_id, int64_t limit,
    inspect_dead_letter_fn each, void *arg, struct err *err)
{
	struct dead_each e = {each, arg};
	const struct sql_inspect_dead_letter_of v = {
	    .outbox_id = db_v_i64(outbox_id), .limit = db_v_i64(limit)};

	return (db_run(db, SQL_INSPECT_DEAD_LETTER_OF, DB_PARAMS(v), take_of,
	    &e, NULL, err));
}
