/* SPDX-License-Identifier: MIT */
/*
 * Lists of outbox rows.  A rare state has an index of its own, which is read
 * whole if it is small enough.  All other rows are found by walking back from
 * the newest, a bounded number of rows per call.
 */
#include <string.h>

#include "inspect/inspect_internal.h"
#include "model/event.h"
#include "model/outbox.h"
#include "schema/sql.h"

/* ---- one row ---- */

struct row_each {
	inspect_outbox_row_fn each;
	void *arg;
	bool found;
};

static void
read_times(const struct db_row *row, struct inspect_outbox_row *r)
{
	int64_t seq;

	r->event_time = db_row_i64(row, 13);
	r->created_at = db_row_i64(row, 14);
	r->last_attempt_at = db_row_i64(row, 15);
	r->last_status_at = db_row_i64(row, 16);
	r->next_retry_at = db_row_i64(row, 17);
	r->deliver_at = db_row_i64(row, 18);
	r->expires_at = db_row_i64(row, 19);
	r->sent_at = db_row_i64(row, 20);
	r->acked_at = db_row_i64(row, 21);
	seq = db_row_i64(row, 25);
	if (seq != 0 && r->sent_at != 0 && seq <= db_row_i64(row, 26))
		r->read_at = db_row_i64(row, 27);
}

static enum rc
take_row(void *arg, const struct db_row *row, struct err *err)
{
	struct row_each *e = arg;
	struct inspect_outbox_row r;

	memset(&r, 0, sizeof(r));
	e->found = true;
	r.id = db_row_i64(row, 0);
	r.message_id = db_row_uuid(row, 1);
	r.kind = (int)db_row_i64(row, 2);
	r.from = inspect_text(row, 3);
	r.to = inspect_text(row, 4);
	r.destination = inspect_text(row, 5);
	r.state = inspect_text(row, 6);
	r.reason = inspect_text(row, 7);
	r.priority = db_row_i64(row, 8);
	r.attempts = db_row_i64(row, 9);
	r.retry_count = db_row_i64(row, 10);
	r.rescue_count = db_row_i64(row, 11);
	r.requeues = db_row_i64(row, 12);
	read_times(row, &r);
	r.last_error = inspect_text(row, 22);
	r.lane_id = db_row_i64(row, 23);
	r.lane_seq = db_row_i64(row, 24);
	return (e->each(e->arg, &r, err));
}

enum rc
inspect_outbox_row(struct db *db, int64_t id, inspect_outbox_row_fn each,
    void *arg, struct err *err)
{
	struct row_each e = {each, arg, false};
	struct db_val v = db_v_i64(id);
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_OUTBOX_ROW, &v, 1, take_row, &e, NULL, err);
	return (rc == RC_OK && !e.found ? RC_NOT_FOUND : rc);
}

/* ---- choosing ---- */

struct choosing {
	const struct inspect_outbox_filter *filter;
	struct inspect_page page;
};

static bool
is_wanted(const struct inspect_outbox_filter *f, const struct db_row *row)
{
	const char *state = inspect_text(row, 2);

	if (db_row_i64(row, 1) != EVENT_MESSAGE)
		return (false);
	if (f->state >= 0 && strcmp(state, outbox_state_name(f->state)) != 0)
		return (false);
	if (f->state == OUTBOX_PENDING && db_row_null(row, 3) != f->scheduled)
		return (false);
	if (f->sender_id != 0 && db_row_i64(row, 4) != f->sender_id)
		return (false);
	if (f->destination_id >= 0 && db_row_i64(row, 5) != f->destination_id)
		return (false);
	if (f->retry_count > 0 && (db_row_i64(row, 6) < f->retry_count ||
				      (strcmp(state, "pending") != 0 &&
					  strcmp(state, "sending") != 0)))
		return (false);
	return (f->unchanged_since == 0 ||
		(strcmp(state, "sending") == 0 &&
		    db_row_i64(row, 7) <= f->unchanged_since));
}

/* RC_LIMIT ends a walk: the page is full. */
static enum rc
walk_row(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	c->page.looked++;
	c->page.last = db_row_i64(row, 0);
	if (is_wanted(c->filter, row))
		inspect_page_add(&c->page, c->page.last);
	return (inspect_page_full(&c->page) ? RC_LIMIT : RC_OK);
}

static enum rc
set_row(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	c->page.looked++;
	if (is_wanted(c->filter, row))
		inspect_page_add(&c->page, db_row_i64(row, 0));
	return (RC_OK);
}

/* Looks at a set; *ret_whole: at all of it. */
static enum rc
look_at_set(struct db *db, int stmt, const int64_t *bound, struct choosing *c,
    bool *ret_whole, struct err *err)
{
	struct db_val v[2];
	enum rc rc;

	c->page.looked = 0;
	v[0] = db_v_i64(INSPECT_WALK);
	v[1] = db_v_i64(bound != NULL ? *bound : 0);
	rc = db_run(db, stmt, v, bound != NULL ? 2 : 1, set_row, c, NULL, err);
	*ret_whole = c->page.looked < INSPECT_WALK;
	return (rc);
}

/* Fills the page from the smallest set that holds all that is wanted;
 * *ret_whole false: there is none, or it is too large. */
static enum rc
choose_from_set(
    struct db *db, struct choosing *c, bool *ret_whole, struct err *err)
{
	const struct inspect_outbox_filter *f = c->filter;
	const int64_t ever = INT64_MAX;
	bool there = false;
	enum rc rc;

	*ret_whole = false;
	if (f->unchanged_since != 0)
		return (look_at_set(db, SQL_INSPECT_SET_SENDING,
		    &f->unchanged_since, c, ret_whole, err));
	if (f->state == OUTBOX_SENDING)
		return (look_at_set(
		    db, SQL_INSPECT_SET_SENDING, &ever, c, ret_whole, err));
	if (f->retry_count > 0)
		return (look_at_set(db, SQL_INSPECT_SET_RETRYING,
		    &f->retry_count, c, ret_whole, err));
	if (f->state != OUTBOX_PENDING)
		return (RC_OK);
	if (f->scheduled)
		return (look_at_set(
		    db, SQL_INSPECT_SET_SCHEDULED, NULL, c, ret_whole, err));
	rc = look_at_set(
	    db, SQL_INSPECT_SET_PENDING_LOCAL, NULL, c, ret_whole, err);
	if (rc == RC_OK && *ret_whole) {
		rc = look_at_set(
		    db, SQL_INSPECT_SET_PENDING_REMOTE, NULL, c, &there, err);
		*ret_whole = there;
	}
	return (rc);
}

static enum rc
choose_by_walk(
    struct db *db, struct choosing *c, bool *ret_ended, struct err *err)
{
	const struct inspect_outbox_filter *f = c->filter;
	bool over;
	struct db_val v[3];
	const char *name;
	enum rc rc;

	over = f->state == OUTBOX_FAILED || f->state == OUTBOX_EXPIRED ||
	       f->state == OUTBOX_CANCELED;
	name = outbox_state_name(f->state);
	c->page.n = 0;
	c->page.looked = 0;
	v[0] = db_v_i64(c->page.cursor);
	v[1] = db_v_i64(INSPECT_WALK);
	v[2] = db_v_str(name);
	rc = db_run(db, over ? SQL_INSPECT_WALK_ENDED : SQL_INSPECT_WALK, v,
	    over ? 3 : 2, walk_row, c, NULL, err);
	*ret_ended = c->page.looked < INSPECT_WALK;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

enum rc
inspect_outbox(struct db *db, const struct inspect_outbox_filter *filter,
    int64_t before, int64_t limit, inspect_outbox_row_fn each, void *arg,
    int64_t *ret_next, struct err *err)
{
	struct choosing c = {.filter = filter};
	bool ended = true, whole;
	size_t i;
	enum rc rc;

	inspect_page_init(&c.page, false, before, limit);
	rc = choose_from_set(db, &c, &whole, err);
	if (rc == RC_OK && !whole)
		rc = choose_by_walk(db, &c, &ended, err);
	if (rc != RC_OK)
		return (rc);
	*ret_next = inspect_page_next(&c.page, !whole, ended);
	for (i = 0; i < c.page.n && rc == RC_OK; i++) {
		rc = inspect_outbox_row(db, c.page.ids[i], each, arg, err);
		if (rc == RC_NOT_FOUND)
			rc = RC_OK;
	}
	return (rc);
}

/* ---- a message ---- */

struct message_each {
	enum rc (*each)(void *, const struct inspect_message *, struct err *);
	void *arg;
	bool found;
};

static enum rc
take_message(void *arg, const struct db_row *row, struct err *err)
{
	struct message_each *e = arg;
	struct inspect_message m;

	e->found = true;
	m.id = db_row_uuid(row, 0);
	m.from = inspect_text(row, 1);
	m.conversation = db_row_uuid(row, 2);
	m.conversation_seq = db_row_i64(row, 3);
	m.event_time = db_row_i64(row, 4);
	m.created_at = db_row_i64(row, 5);
	m.correlation_id = inspect_text(row, 6);
	return (e->each(e->arg, &m, err));
}

enum rc
inspect_message(struct db *db, const struct uuid *id,
    enum rc (*each)(
	void *arg, const struct inspect_message *m, struct err *err),
    void *arg, struct err *err)
{
	struct message_each e = {each, arg, false};
	struct db_val v = db_v_uuid(id);
	enum rc rc;

	rc =
	    db_run(db, SQL_INSPECT_MESSAGE, &v, 1, take_message, &e, NULL, err);
	return (rc == RC_OK && !e.found ? RC_NOT_FOUND : rc);
}

struct attempt_each {
	enum rc (*each)(void *, const struct inspect_attempt *, struct err *);
	void *arg;
};

static enum rc
take_attempt(void *arg, const struct db_row *row, struct err *err)
{
	struct attempt_each *e = arg;
	struct inspect_attempt a;

	a.attempt = db_row_i64(row, 0);
	a.started_at = db_row_i64(row, 1);
	a.finished_at = db_row_i64(row, 2);
	a.outcome = inspect_text(row, 3);
	a.status = db_row_i64(row, 4);
	a.error = inspect_text(row, 5);
	a.owner = inspect_text(row, 6);
	return (e->each(e->arg, &a, err));
}

enum rc
inspect_attempts(struct db *db, int64_t outbox_id, int64_t limit,
    enum rc (*each)(
	void *arg, const struct inspect_attempt *a, struct err *err),
    void *arg, struct err *err)
{
	struct attempt_each e = {each, arg};
	struct db_val v[2];

	v[0] = db_v_i64(outbox_id);
	v[1] = db_v_i64(limit);
	return (db_run(
	    db, SQL_INSPECT_ATTEMPTS, v, 2, take_attempt, &e, NULL, err));
}
