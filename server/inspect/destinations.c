/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the whole outbox, destinations, and the backlog of each.
 */
#include <string.h>

#include "inspect/inspect_internal.h"
#include "model/event.h"
#include "schema/sql.h"

#define LOCAL 1 /* the destination of the inboxes here */

const int64_t inspect_age_limits_ms[INSPECT_AGES - 1] = {
    60000, 300000, 600000, 1200000, 2400000, 4800000, 9600000};

/* A number by a statement with one parameter. */
static enum rc
number(struct db *db, int stmt, int64_t param, int64_t *ret, struct err *err)
{
	struct db_val v = db_v_i64(param);

	*ret = 0;
	return (db_run(db, stmt, &v, 1, db_take_i64, ret, NULL, err));
}

/* When a row could go: of columns created_at and deliver_at. */
static int64_t
ready_at(const struct db_row *row, int col)
{
	int64_t created = db_row_i64(row, col),
		deliver = db_row_i64(row, col + 1);

	return (deliver > created ? deliver : created);
}

/* ---- numbers of the whole outbox ---- */

static enum rc
take_oldest(void *arg, const struct db_row *row, struct err *err)
{
	int64_t at = ready_at(row, 1), *oldest = arg;

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
	int64_t ms, sent_at = db_row_i64(row, 3);

	(void)err;
	if (db_row_i64(row, 0) != EVENT_MESSAGE || sent_at < l->since)
		return (RC_OK);
	ms = sent_at - ready_at(row, 1);
	l->stats->latency_count++;
	l->stats->latency_ms += ms > 0 ? ms : 0;
	return (RC_OK);
}

/* The oldest is the first of its lane; of what waits for other servers it is
 * among those that expire first. */
static enum rc
find_oldest(struct db *db, struct inspect_stats *ret, struct err *err)
{
	struct db_val v = db_v_i64(INSPECT_WALK);
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_HEADS_LOCAL, &v, 1, take_oldest,
	    &ret->oldest_at, NULL, err);
	v = db_v_i64(1000);
	if (rc == RC_OK)
		rc = db_run(db, SQL_INSPECT_BACKLOG_REMOTE, &v, 1, take_oldest,
		    &ret->oldest_at, NULL, err);
	return (rc);
}

enum rc
inspect_stats(struct db *db, int64_t stuck_before, int64_t retry_count,
    int64_t since, struct inspect_stats *ret, struct err *err)
{
	struct latency l = {ret, since};
	struct db_val v[2];
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
	v[0] = db_v_i64(INT64_MAX);
	v[1] = db_v_i64(INSPECT_WALK / 2);
	return (
	    db_run(db, SQL_INSPECT_NEWEST, v, 2, take_latency, &l, NULL, err));
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
	d.destination_id = db_row_i64(row, 0);
	d.name = inspect_text(row, 1);
	d.breaker = inspect_text(row, 2);
	d.failures = db_row_i64(row, 3);
	d.successes = db_row_i64(row, 4);
	d.next_probe_at = db_row_i64(row, 5);
	d.failing_since = db_row_i64(row, 6);
	d.last_success_at = db_row_i64(row, 7);
	d.last_failure_at = db_row_i64(row, 8);
	d.last_error = inspect_text(row, 9);
	d.paused_at = db_row_i64(row, 10);
	d.paused_by = inspect_text(row, 11);
	d.pause_reason = inspect_text(row, 12);
	d.per_second = db_row_i64(row, 13);
	return (e->each(e->arg, &d, err));
}

enum rc
inspect_destinations(struct db *db, const char *after, int64_t limit,
    inspect_destination_fn each, void *arg, struct err *err)
{
	struct destination_each e = {each, arg, false};
	struct db_val v[2];

	v[0] = db_v_str(after);
	v[1] = db_v_i64(limit);
	return (db_run(db, SQL_INSPECT_DESTINATIONS, v, 2, take_destination, &e,
	    NULL, err));
}

enum rc
inspect_destination(struct db *db, const char *name,
    inspect_destination_fn each, void *arg, struct err *err)
{
	struct destination_each e = {each, arg, false};
	struct db_val v = db_v_str(name);
	enum rc rc;

	rc = db_run(db, SQL_INSPECT_DESTINATION, &v, 1, take_destination, &e,
	    NULL, err);
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
	int64_t at = ready_at(row, 1), age = a->now_ms - at;
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
	p->lanes = db_row_i64(row, 0);
	p->places = db_row_i64(row, 1);
	return (RC_OK);
}

/* For another server: its lanes know how much they hold, so that only the ages
 * need a look at the rows. */
static enum rc
waiting_there(struct db *db, struct ages *a, int64_t destination_id,
    int64_t budget, struct err *err)
{
	struct places p = {0, 0};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_i64(budget);
	v[1] = db_v_i64(destination_id);
	rc = db_run(
	    db, SQL_INSPECT_BACKLOG_LEASED, v, 2, take_age, a, NULL, err);
	v[0] = db_v_i64(budget - a->w->pending);
	if (rc == RC_OK)
		rc = db_run(db, SQL_INSPECT_BACKLOG_READY, v, 2, take_age, a,
		    NULL, err);
	v[0] = db_v_i64(INSPECT_WALK);
	if (rc == RC_OK)
		rc = db_run(
		    db, SQL_INSPECT_PLACES, v, 2, take_places, &p, NULL, err);
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
	struct ages a = {ret, now_ms};
	struct db_val v = db_v_i64(budget);
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	if (destination_id == 0)
		return (RC_OK);
	if (destination_id != LOCAL)
		return (waiting_there(db, &a, destination_id, budget, err));
	rc = db_run(
	    db, SQL_INSPECT_BACKLOG_LOCAL, &v, 1, take_age, &a, NULL, err);
	ret->truncated = ret->pending >= budget;
	if (rc == RC_OK && ret->truncated) {
		/* In the order of lanes, not of age. */
		v = db_v_i64(INSPECT_WALK);
		rc = db_run(db, SQL_INSPECT_HEADS_LOCAL, &v, 1, take_oldest,
		    &ret->oldest_at, NULL, err);
	}
	return (rc);
}
