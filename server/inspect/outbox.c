/* SPDX-License-Identifier: MIT */
/*
 * Lists of outbox rows; also single rows, messages and attempts.  Rows that are
 * scheduled, pending, sending or retried are usually few, and each of these
 * kinds has its own index (pending rows: two), called a set.  A list of one
 * kind reads its set completely if the set has fewer than INSPECT_WALK rows.
 * Every other list is a walk from the page's cursor towards older rows, which
 * examines at most INSPECT_WALK rows per call.
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

	r->event_time = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_EVENT_TIME);
	r->created_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_CREATED_AT);
	r->last_attempt_at =
	    db_row_i64(row, COL_INSPECT_OUTBOX_ROW_LAST_ATTEMPT_AT);
	r->last_status_at =
	    db_row_i64(row, COL_INSPECT_OUTBOX_ROW_LAST_STATUS_AT);
	r->next_retry_at =
	    db_row_i64(row, COL_INSPECT_OUTBOX_ROW_NEXT_RETRY_AT);
	r->deliver_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_DELIVER_AT);
	r->expires_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_EXPIRES_AT);
	r->sent_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_SENT_AT);
	r->acked_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_ACKED_AT);
	seq = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_CONVERSATION_SEQ);
	if (seq != 0 && r->sent_at != 0 &&
	    seq <= db_row_i64(row, COL_INSPECT_OUTBOX_ROW_SHOWN_UPTO))
		r->read_at = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_SHOWN_AT);
}

static enum rc
take_row(void *arg, const struct db_row *row, struct err *err)
{
	struct row_each *e = arg;
	struct inspect_outbox_row r;

	memset(&r, 0, sizeof(r));
	e->found = true;
	r.id = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_ID);
	r.message_id = db_row_uuid(row, COL_INSPECT_OUTBOX_ROW_MESSAGE_ID);
	r.kind = (int)db_row_i64(row, COL_INSPECT_OUTBOX_ROW_KIND);
	r.from = inspect_text(row, COL_INSPECT_OUTBOX_ROW_SENDER);
	r.to = inspect_text(row, COL_INSPECT_OUTBOX_ROW_RECIPIENT);
	r.destination = inspect_text(row, COL_INSPECT_OUTBOX_ROW_DESTINATION);
	r.state = inspect_text(row, COL_INSPECT_OUTBOX_ROW_STATE);
	r.reason = inspect_text(row, COL_INSPECT_OUTBOX_ROW_REASON);
	r.priority = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_PRIORITY);
	r.attempts = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_ATTEMPTS);
	r.retry_count = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_RETRY_COUNT);
	r.rescue_count = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_RESCUE_COUNT);
	r.requeues = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_REQUEUES);
	read_times(row, &r);
	r.last_error = inspect_text(row, COL_INSPECT_OUTBOX_ROW_LAST_ERROR);
	r.lane_id = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_LANE_ID);
	r.lane_seq = db_row_i64(row, COL_INSPECT_OUTBOX_ROW_LANE_SEQ);
	return (e->each(e->arg, &r, err));
}

enum rc
inspect_outbox_row(struct db *db, int64_t id, inspect_outbox_row_fn each,
    void *arg, struct err *err)
{
	struct row_each e = {each, arg, false};
	const struct sql_inspect_outbox_row v = {.id = db_v_i64(id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_INSPECT_OUTBOX_ROW, DB_PARAMS(v), take_row, &e, NULL, err);
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
	const char *state = inspect_text(row, COL_OUTBOX_CANDIDATE_STATE);

	if (db_row_i64(row, COL_OUTBOX_CANDIDATE_KIND) != EVENT_MESSAGE)
		return (false);
	if (f->state >= 0 && strcmp(state, outbox_state_name(f->state)) != 0)
		return (false);
	if (f->state == OUTBOX_PENDING &&
	    db_row_null(row, COL_OUTBOX_CANDIDATE_LANE_SEQ) != f->scheduled)
		return (false);
	if (f->sender_id != 0 &&
	    db_row_i64(row, COL_OUTBOX_CANDIDATE_SENDER_ID) != f->sender_id)
		return (false);
	if (f->destination_id >= 0 &&
	    db_row_i64(row, COL_OUTBOX_CANDIDATE_DESTINATION_ID) !=
		f->destination_id)
		return (false);
	if (f->retry_count > 0 &&
	    (db_row_i64(row, COL_OUTBOX_CANDIDATE_RETRY_COUNT) <
		    f->retry_count ||
		(strcmp(state, "pending") != 0 &&
		    strcmp(state, "sending") != 0)))
		return (false);
	return (f->unchanged_since == 0 ||
		(strcmp(state, "sending") == 0 &&
		    db_row_i64(row, COL_OUTBOX_CANDIDATE_LAST_STATUS_AT) <=
			f->unchanged_since));
}

/* RC_LIMIT ends a walk: the page is full. */
static enum rc
walk_row(void *arg, const struct db_row *row, struct err *err)
{
	struct choosing *c = arg;

	(void)err;
	c->page.looked++;
	c->page.last = db_row_i64(row, COL_OUTBOX_CANDIDATE_ID);
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
		inspect_page_add(
		    &c->page, db_row_i64(row, COL_OUTBOX_CANDIDATE_ID));
	return (RC_OK);
}

/* Reads at most INSPECT_WALK rows of the set that the statement ${stmt} selects
 * (${bound}: its parameter; NULL: it has none), and adds those that match the
 * filter of ${c} to the page.  *ret_whole: true if the statement gave fewer
 * than INSPECT_WALK rows, so all were read. */
static enum rc
look_at_set(struct db *db, int stmt, const int64_t *bound, struct choosing *c,
    bool *ret_whole, struct err *err)
{
	const struct sql_inspect_set_scheduled all = {
	    .limit = db_v_i64(INSPECT_WALK)};
	const struct sql_inspect_set_sending some = {
	    .limit = all.limit, .bound = db_v_i64(bound != NULL ? *bound : 0)};
	enum rc rc;

	c->page.looked = 0;
	if (bound != NULL)
		rc = db_run(db, stmt, DB_PARAMS(some), set_row, c, NULL, err);
	else
		rc = db_run(db, stmt, DB_PARAMS(all), set_row, c, NULL, err);
	*ret_whole = c->page.looked < INSPECT_WALK;
	return (rc);
}

/* Fills the page of ${c} from a set that holds all rows that the filter of ${c}
 * can match (pending rows that are not scheduled: from two sets).  *ret_whole:
 * false if there is no such set, or if a set has INSPECT_WALK rows or more; the
 * caller then empties the page and fills it by a walk. */
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
	const struct sql_inspect_walk all = {.before = db_v_i64(c->page.cursor),
	    .limit = db_v_i64(INSPECT_WALK)};
	const struct sql_inspect_walk_ended ended = {.before = all.before,
	    .limit = all.limit,
	    .state = db_v_str(outbox_state_name(f->state))};
	enum rc rc;

	c->page.n = 0;
	c->page.looked = 0;
	if (f->state == OUTBOX_FAILED || f->state == OUTBOX_EXPIRED ||
	    f->state == OUTBOX_CANCELED)
		rc = db_run(db, SQL_INSPECT_WALK_ENDED, DB_PARAMS(ended),
		    walk_row, c, NULL, err);
	else
		rc = db_run(db, SQL_INSPECT_WALK, DB_PARAMS(all), walk_row, c,
		    NULL, err);
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
	m.id = db_row_uuid(row, COL_INSPECT_MESSAGE_MESSAGE_ID);
	m.from = inspect_text(row, COL_INSPECT_MESSAGE_SENDER);
	m.conversation = db_row_uuid(row, COL_INSPECT_MESSAGE_PUBLIC_ID);
	m.conversation_seq =
	    db_row_i64(row, COL_INSPECT_MESSAGE_CONVERSATION_SEQ);
	m.event_time = db_row_i64(row, COL_INSPECT_MESSAGE_EVENT_TIME);
	m.created_at = db_row_i64(row, COL_INSPECT_MESSAGE_CREATED_AT);
	m.correlation_id =
	    inspect_text(row, COL_INSPECT_MESSAGE_CORRELATION_ID);
	return (e->each(e->arg, &m, err));
}

enum rc
inspect_message(struct db *db, const struct uuid *id,
    enum rc (*each)(
	void *arg, const struct inspect_message *m, struct err *err),
    void *arg, struct err *err)
{
	struct message_each e = {each, arg, false};
	const struct sql_inspect_message v = {.message_id = db_v_uuid(id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_INSPECT_MESSAGE, DB_PARAMS(v), take_message, &e, NULL, err);
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

	a.attempt = db_row_i64(row, COL_INSPECT_ATTEMPTS_ATTEMPT);
	a.started_at = db_row_i64(row, COL_INSPECT_ATTEMPTS_STARTED_AT);
	a.finished_at = db_row_i64(row, COL_INSPECT_ATTEMPTS_FINISHED_AT);
	a.outcome = inspect_text(row, COL_INSPECT_ATTEMPTS_OUTCOME);
	a.status = db_row_i64(row, COL_INSPECT_ATTEMPTS_STATUS);
	a.error = inspect_text(row, COL_INSPECT_ATTEMPTS_ERROR);
	a.owner = inspect_text(row, COL_INSPECT_ATTEMPTS_OWNER);
	return (e->each(e->arg, &a, err));
}

enum rc
inspect_attempts(struct db *db, int64_t outbox_id, int64_t limit,
    enum rc (*each)(
	void *arg, const struct inspect_attempt *a, struct err *err),
    void *arg, struct err *err)
{
	struct attempt_each e = {each, arg};
	const struct sql_inspect_attempts v = {
	    .outbox_id = db_v_i64(outbox_id), .limit = db_v_i64(limit)};

	return (db_run(db, SQL_INSPECT_ATTEMPTS, DB_PARAMS(v), take_attempt, &e,
	    NULL, err));
}
