/* SPDX-License-Identifier: MIT */
/*
 * See destination.h.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/destination.h"

struct destinations_each {
	store_destination_fn each;
	void *arg;
};

static void
read_destination(const struct db_row *row, struct store_destination_row *d)
{
	struct breaker *b = &d->breaker;
	char state[16];
	int known;

	d->destination_id = db_row_i64(row, COL_DESTINATION_DESTINATION_ID);
	db_row_copy_text(row, COL_DESTINATION_NAME, d->name, sizeof(d->name));
	breaker_init(b);
	db_row_copy_text(row, COL_DESTINATION_BREAKER, state, sizeof(state));
	known = breaker_state_parse(state);
	b->state = known < 0 ? BREAKER_CLOSED : (enum breaker_state)known;
	b->failures = (int)db_row_i64(row, COL_DESTINATION_FAILURES);
	b->successes = (int)db_row_i64(row, COL_DESTINATION_SUCCESSES);
	b->interval_ms = db_row_i64(row, COL_DESTINATION_INTERVAL_MS);
	b->next_probe_at = db_row_i64(row, COL_DESTINATION_NEXT_PROBE_AT);
	b->failing_since = db_row_i64(row, COL_DESTINATION_FAILING_SINCE);
	b->last_success_at = db_row_i64(row, COL_DESTINATION_LAST_SUCCESS_AT);
	b->last_failure_at = db_row_i64(row, COL_DESTINATION_LAST_FAILURE_AT);
	db_row_copy_text(row, COL_DESTINATION_LAST_ERROR, d->last_error,
	    sizeof(d->last_error));
	d->paused_at = db_row_i64(row, COL_DESTINATION_PAUSED_AT);
	db_row_copy_text(
	    row, COL_DESTINATION_PAUSED_BY, d->paused_by, sizeof(d->paused_by));
	db_row_copy_text(row, COL_DESTINATION_PAUSE_REASON, d->pause_reason,
	    sizeof(d->pause_reason));
	d->per_second = db_row_i64(row, COL_DESTINATION_PER_SECOND);
}

static enum rc
each_destination(void *arg, const struct db_row *row, struct err *err)
{
	struct destinations_each *e = arg;
	struct store_destination_row d;

	read_destination(row, &d);
	return (e->each(e->arg, &d, err));
}

static enum rc
take_destination(
    void *arg, const struct store_destination_row *row, struct err *err)
{

	(void)err;
	*(struct store_destination_row *)arg = *row;
	return (RC_OK);
}

static enum rc
get_destination(struct db *db, int stmt, struct db_val key,
    struct store_destination_row *ret, struct err *err)
{
	struct destinations_each e = {take_destination, ret};
	enum rc rc;

	ret->destination_id = -1;
	rc = db_run(db, stmt, &key, 1, each_destination, &e, NULL, err);
	if (rc == RC_OK && ret->destination_id < 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_destination_by_name(struct db *db, const char *name,
    struct store_destination_row *ret, struct err *err)
{

	return (get_destination(
	    db, SQL_DESTINATION_BY_NAME, db_v_str(name), ret, err));
}

enum rc
store_destination_by_id(struct db *db, int64_t destination_id,
    struct store_destination_row *ret, struct err *err)
{

	return (get_destination(
	    db, SQL_DESTINATION_BY_ID, db_v_i64(destination_id), ret, err));
}

enum rc
store_destination_insert(struct db *db, const char *name, bool used,
    int64_t now_ms, int64_t *ret_id, struct err *err)
{
	const struct sql_destination_insert v = {.name = db_v_str(name),
	    .now = db_v_i64(now_ms),
	    .updated_at = db_v_i64(used ? now_ms : 0)};

	return (db_run(db, SQL_DESTINATION_INSERT, DB_PARAMS(v), db_take_i64,
	    ret_id, NULL, err));
}

enum rc
store_destination_use(
    struct db *db, int64_t destination_id, int64_t now_ms, struct err *err)
{
	const struct sql_destination_use v = {
	    .destination_id = db_v_i64(destination_id),
	    .now = db_v_i64(now_ms)};

	return (db_run(
	    db, SQL_DESTINATION_USE, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_destinations_after(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err)
{
	struct destinations_each e = {each, arg};
	const struct sql_destinations_after v = {
	    .after = db_v_i64(after), .limit = db_v_i64(limit)};

	return (db_run(db, SQL_DESTINATIONS_AFTER, DB_PARAMS(v),
	    each_destination, &e, NULL, err));
}

enum rc
store_destinations_ready(struct db *db, int64_t after, int64_t limit,
    store_destination_fn each, void *arg, struct err *err)
{
	struct destinations_each e = {each, arg};
	const struct sql_destinations_ready v = {
	    .after = db_v_i64(after), .limit = db_v_i64(limit)};

	return (db_run(db, SQL_DESTINATIONS_READY, DB_PARAMS(v),
	    each_destination, &e, NULL, err));
}

static struct db_val
v_text(const char *s)
{

	return (s[0] != '\0' ? db_v_str(s) : DB_V_NULL);
}

enum rc
store_destination_breaker_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms, struct err *err)
{
	const struct breaker *b = &row->breaker;
	const struct sql_destination_breaker_set v = {
	    .destination_id = db_v_i64(row->destination_id),
	    .breaker = db_v_str(breaker_state_name(b->state)),
	    .failures = db_v_i64(b->failures),
	    .successes = db_v_i64(b->successes),
	    .interval_ms = db_v_i64(b->interval_ms),
	    .next_probe_at = db_v_i64_or_null(b->next_probe_at, 0),
	    .failing_since = db_v_i64_or_null(b->failing_since, 0),
	    .last_success_at = db_v_i64_or_null(b->last_success_at, 0),
	    .last_failure_at = db_v_i64_or_null(b->last_failure_at, 0),
	    .last_error = v_text(row->last_error),
	    .now = db_v_i64(now_ms)};

	return (db_run(db, SQL_DESTINATION_BREAKER_SET, DB_PARAMS(v), NULL,
	    NULL, NULL, err));
}

enum rc
store_destination_pause_set(struct db *db,
    const struct store_destination_row *row, int64_t now_ms, struct err *err)
{
	const struct sql_destination_pause_set v = {
	    .destination_id = db_v_i64(row->destination_id),
	    .paused_at = db_v_i64_or_null(row->paused_at, 0),
	    .paused_by = v_text(row->paused_by),
	    .pause_reason = v_text(row->pause_reason),
	    .now = db_v_i64(now_ms)};

	return (db_run(db, SQL_DESTINATION_PAUSE_SET, DB_PARAMS(v), NULL, NULL,
	    NULL, err));
}

enum rc
store_destination_rate_set(struct db *db, int64_t destination_id,
    int64_t per_second, int64_t now_ms, struct err *err)
{
	const struct sql_destination_rate_set v = {
	    .destination_id = db_v_i64(destination_id),
	    .per_second = db_v_i64(per_second),
	    .now = db_v_i64(now_ms)};

	return (db_run(
	    db, SQL_DESTINATION_RATE_SET, DB_PARAMS(v), NULL, NULL, NULL, err));
}
