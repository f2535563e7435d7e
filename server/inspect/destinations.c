/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the whole outbox, the destinations, and the backlog of each.
 */
#include <string.h>

#include "inspect/inspect_internal.h"
#include "model/event.h"
#include "schema/sql.h"

#define LOCAL 1 /* the destination of local inboxes */

const int64_t inspect_age_limits_ms[INSPECT_AGES - 1] = {
    60000, 300000, 600000, 1200000, 2400000, 4800000, 9600000};

/* Reads a number with a statement that has one parameter. */
static enum rc
number(struct db *db, int stmt, int64_t param, int64_t *ret, struct err *err)
{
	struct db_val v = db_v_i64(param);

	*ret = 0;
	return (db_run(db, stmt, &v, 1, db_take_i64, ret, NULL, err));
}

/* Returns since when a row could be delivered: the later one of the times in
 * the columns created_at and deliver_at. */
static int64_t
ready_at(const struct db_row *row, int created_at, int deliver_at)
{
	int64_t created = db_row_i64(row, created_at),
		deliver = db_row_i64(row, deliver_at);

	return (deliver > created ? deliver : created);
}

static int64_t
backlog_ready_at(const struct db_row *row)
{

	return (ready_at(row, COL_BACKLOG_CREATED_AT, COL_BACKLOG_DELIVER_AT));
}

/* ---- numbers of the whole outbox ---- */

static enum rc
take_oldest(void *arg, const struct db_row *row, struct err *err)
{
	int64_t at = backlog_ready_at(row), *oldest = arg;

	(void)err;
	if (*oldest == 0 || at < *oldest)
		*oldest = at;
	return (RC_OK);
}

struct latency {
	struct inspect_stats *stats;
	int64_t since;
};

static enum rc
take_latency(void *arg, const struct db_row *row, struct err *err)
{
	struct latency *l = arg;
	int64_t ms, sent_at = db_row_i64(row, COL_INSPECT_NEWEST_SENT_AT);

	(void)err;
	if (db_row_i64(row, COL_INSPECT_NEWEST_KIND) != EVENT_MESSAGE ||
	    sent_at < l->since)
		return (RC_OK);
	ms = sent_at - ready_at(row, COL_INSPECT_NEWEST_CREATED_AT,
			   COL_INSPECT_NEWEST_DELIVER_AT);
	l->stats->latency_count++;
	l->stats->latency_ms += ms > 0 ? ms : 0;
	return (RC_OK);
}

/* Sets ret->oldest_at to the time since when the oldest pending row that is not
 * scheduled could be delivered (ready_at()); leaves it 0 if there is none.  For
 * local inboxes, only the first pending row of each lane (the queue of one
 * conversation to one recipient) is read, in the INSPECT_WALK lanes with the
 * lowest ids.  For other servers, the oldest row is assumed to be among the
 * 1000 rows that expire first. */
static enum rc
find_oldest(struct db *db, struct inspect_stats *ret, struct err *err)
{
	const struct sql_inspect_heads_local heads = {
	    .limit = db_v_i64(INSPECT_WALK)};
	const struct sql_inspect_backlog_remote remote = {
	    .limit = db_v_i64(1000)};
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_HEADS_LOCAL, DB_PARAMS(heads), take_oldest,
	    &ret->oldest_at, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_INSPECT_BACKLOG_REMOTE, DB_PARAMS(remote),
		    take_oldest, &ret->oldest_at, NULL, err);
	return (rc);
}

enum rc
inspect_stats(struct db *db, int64_t stuck_before, int64_t retry_count,
    int64_t since, struct inspect_stats *ret, struct err *err)
{
	const struct sql_inspect_newest v = {
	    .before = db_v_i64(INT64_MAX), .limit = db_v_i64(INSPECT_WALK / 2)};
	struct latency l = {ret, since};
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	rc = store_totals_get(db, &ret->totals, err);
	if (rc == RC_OK)
		rc = number(db, SQL_INSPECT_DEAD_LETTER_COUNT, INSPECT_COUNT,
		    &ret->dead_open, err);
	if (rc == RC_OK)
		rc = number(db, SQL_INSPECT_STUCK_COUNT, stuck_before,
		    &ret->stuck_sending, err);
	if (rc == RC_OK)
		rc = number(db, SQL_INSPECT_RETRYING_COUNT, retry_count,
		    &ret->near_failure, err);
	if (rc == RC_OK)
		rc = find_oldest(db, ret, err);
	if (rc != RC_OK)
		return (rc);
	return (db_run(
	    db, SQL_INSPECT_NEWEST, DB_PARAMS(v), take_latency, &l, NULL, err));
}

/* ---- destinations ---- */

struct destination_each {
	inspect_destination_fn each;
	void *arg;
	bool found;
};

static enum rc
take_destination(void *arg, const struct db_row *row, struct err *err)
{
	struct destination_each *e = arg;
	struct inspect_destination d;

	e->found = true;
	d.destination_id =
	    db_row_i64(row, COL_INSPECTED_DESTINATION_DESTINATION_ID);
	d.name = inspect_text(row, COL_INSPECTED_DESTINATION_NAME);
	d.breaker = inspect_text(row, COL_INSPECTED_DESTINATION_BREAKER);
	d.failures = db_row_i64(row, COL_INSPECTED_DESTINATION_FAILURES);
	d.successes = db_row_i64(row, COL_INSPECTED_DESTINATION_SUCCESSES);
	d.next_probe_at =
	    db_row_i64(row, COL_INSPECTED_DESTINATION_NEXT_PROBE_AT);
	d.failing_since =
	    db_row_i64(row, COL_INSPECTED_DESTINATION_FAILING_SINCE);
	d.last_success_at =
	    db_row_i64(row, COL_INSPECTED_DESTINATION_LAST_SUCCESS_AT);
	d.last_failure_at =
	    db_row_i64(row, COL_INSPECTED_DESTINATION_LAST_FAILURE_AT);
	d.last_error = inspect_text(row, COL_INSPECTED_DESTINATION_LAST_ERROR);
	d.paused_at = db_row_i64(row, COL_INSPECTED_DESTINATION_PAUSED_AT);
	d.paused_by = inspect_text(row, COL_INSPECTED_DESTINATION_PAUSED_BY);
	d.pause_reason =
	    inspect_text(row, COL_INSPECTED_DESTINATION_PAUSE_REASON);
	d.per_second = db_row_i64(row, COL_INSPECTED_DESTINATION_PER_SECOND);
	return (e->each(e->arg, &d, err));
}

enum rc
inspect_destinations(struct db *db, const char *after, int64_t limit,
    inspect_destination_fn each, void *arg, struct err *err)
{
	struct destination_each e = {each, arg, false};
	const struct sql_inspect_destinations v = {
	    .after = db_v_str(after), .limit = db_v_i64(limit)};

	return (db_run(db, SQL_INSPECT_DESTINATIONS, DB_PARAMS(v),
	    take_destination, &e, NULL, err));
}

enum rc
inspect_destination(struct db *db, const char *name,
    inspect_destination_fn each, void *arg, struct err *err)
{
	struct destination_each e = {each, arg, false};
	const struct sql_inspect_destination v = {.name = db_v_str(name)};
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_DESTINATION, DB_PARAMS(v), take_destination,
	    &e, NULL, err);
	return (rc == RC_OK && !e.found ? RC_NOT_FOUND : rc);
}

struct ages {
	struct inspect_backlog *w;
	int64_t now_ms;
};

static enum rc
take_age(void *arg, const struct db_row *row, struct err *err)
{
	struct ages *a = arg;
	int64_t at = backlog_ready_at(row), age = a->now_ms - at;
	int i = 0;

	(void)err;
	while (i < INSPECT_AGES - 1 && age >= inspect_age_limits_ms[i])
		i++;
	a->w->ages[i]++;
	a->w->pending++;
	if (a->w->oldest_at == 0 || at < a->w->oldest_at)
		a->w->oldest_at = at;
	return (RC_OK);
}

struct places {
	int64_t lanes, places;
};

static enum rc
take_places(void *arg, const struct db_row *row, struct err *err)
{
	struct places *p = arg;

	(void)err;
	p->lanes = db_row_i64(row, COL_INSPECT_PLACES_LANES);
	p->places = db_row_i64(row, COL_INSPECT_PLACES_PLACES);
	return (RC_OK);
}

/* Reads the backlog of another server: at most ${budget} pending rows, of its
 * leased lanes (queues that are being delivered) first and then of its ready
 * lanes.  The ages and oldest_at are those of the rows that were read.  If
 * ${budget} rows were read, there may be more: sets truncated, and makes
 * pending the number of places from the cursor to the tail, over at most
 * INSPECT_WALK of its ready lanes, if that number is larger than ${budget}. */
static enum rc
waiting_there(struct db *db, struct ages *a, int64_t destination_id,
    int64_t budget, struct err *err)
{
	const struct sql_inspect_backlog_leased leased = {
	    .limit = db_v_i64(budget),
	    .destination_id = db_v_i64(destination_id)};
	struct sql_inspect_backlog_ready ready = {
	    .destination_id = leased.destination_id};
	const struct sql_inspect_places held = {.limit = db_v_i64(INSPECT_WALK),
	    .destination_id = leased.destination_id};
	struct places p = {0, 0};
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_BACKLOG_LEASED, DB_PARAMS(leased), take_age,
	    a, NULL, err);
	ready.limit = db_v_i64(budget - a->w->pending);
	if (rc == RC_OK)
		rc = db_run(db, SQL_INSPECT_BACKLOG_READY, DB_PARAMS(ready),
		    take_age, a, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_INSPECT_PLACES, DB_PARAMS(held),
		    take_places, &p, NULL, err);
	a->w->lanes_ready = p.lanes;
	a->w->truncated = a->w->pending >= budget;
	if (a->w->truncated && p.places > a->w->pending)
		a->w->pending = p.places;
	return (rc);
}

enum rc
inspect_backlog(struct db *db, int64_t destination_id, int64_t now_ms,
    int64_t budget, struct inspect_backlog *ret, struct err *err)
{
	const struct sql_inspect_backlog_local rows = {
	    .limit = db_v_i64(budget)};
	const struct sql_inspect_heads_local heads = {
	    .limit = db_v_i64(INSPECT_WALK)};
	struct ages a = {ret, now_ms};
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	if (destination_id == 0)
		return (RC_OK);
	if (destination_id != LOCAL)
		return (waiting_there(db, &a, destination_id, budget, err));
	rc = db_run(db, SQL_INSPECT_BACKLOG_LOCAL, DB_PARAMS(rows), take_age,
	    &a, NULL, err);
	ret->truncated = ret->pending >= budget;
	if (rc == RC_OK && ret->truncated) {
		/* Only ${budget} rows were read, in the order of lanes and not
		 * of age.  A row that was not read may be older, so look also
		 * at the first pending row of each of the first INSPECT_WALK
		 * lanes. */
		rc = db_run(db, SQL_INSPECT_HEADS_LOCAL, DB_PARAMS(heads),
		    take_oldest, &ret->oldest_at, NULL, err);
	}
	return (rc);
}
