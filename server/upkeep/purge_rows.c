/* SPDX-License-Identifier: MIT */
/*
 * See purge_rows.h.  Tables with ascending ids are walked by id.  Ids are
 * nearly in the order of time, so the first row that is younger than the
 * retention ends the walk.  (A row whose time is in the future, because it was
 * made while the clock was wrong, does not end the walk.)
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event.h"
#include "model/outbox.h"
#include "schema/sql.h"
#include "store/account.h"
#include "upkeep/purge_rows.h"

#define MARK_KEY "purge_mark"

/* Rows bound for one db_exec_many(). */
#define CHUNK 50

static const char *const names[] = {
#define X(id, table) table,
    STORE_PURGE_TABLE(X)
#undef X
};

const char *
purge_rows_name(enum purge_table table)
{

	assert(table < PURGE_TABLES);
	return (names[table]);
}

/* ---- listing ---- */

/* Returns whether a row that was made at ${at} ends the walk. */
static bool
too_young(const struct purge_list *l, int64_t at)
{

	return (at >= l->before_ms && at <= l->now_ms);
}

static void
keep(struct purge_list *l, const struct purge_key *key)
{

	if (l->n < PURGE_ROWS)
		l->rows[l->n++] = *key;
}

/* Counts an examined row.  RC_LIMIT: the list is full, which ends the
 * statement. */
static enum rc
seen(struct purge_list *l, const struct purge_key *key)
{

	l->last = *key;
	l->examined++;
	return (l->n == PURGE_ROWS ? RC_LIMIT : RC_OK);
}

static bool
is_state(const struct db_row *row, int col, const char *state)
{
	const char *text = db_row_text(row, col, NULL);

	return (text != NULL && strcmp(text, state) == 0);
}

/* Returns whether an outbox row may be deleted.  These rows stay: all whose
 * last change is younger than the retention; rows that are pending or being
 * sent; rows that were sent to another server whose final answer has not come
 * yet; bounces, which hold the reason of the failure; rows that failed, expired
 * or were canceled; messages that were sent and whose recipient has not acked;
 * and requeued rows, since the requeue explains why they came out of order.
 * (The statement that lists the rows leaves out the last row of the table,
 * which stays, too.) */
static bool
outbox_may_go(const struct purge_list *l, const struct db_row *row)
{
	int64_t kind = db_row_i64(row, COL_PURGE_OUTBOX_LOOK_KIND);

	if (kind == EVENT_BOUNCE ||
	    db_row_i64(row, COL_PURGE_OUTBOX_LOOK_LAST_STATUS_AT) >=
		l->before_ms ||
	    db_row_i64(row, COL_PURGE_OUTBOX_LOOK_REQUEUES) != 0)
		return (false);
	return (is_state(row, COL_PURGE_OUTBOX_LOOK_STATE, "acked") ||
		(is_state(row, COL_PURGE_OUTBOX_LOOK_STATE, "sent") &&
		    kind != EVENT_MESSAGE &&
		    db_row_i64(row, COL_PURGE_OUTBOX_LOOK_AWAITS_ANSWER) == 0));
}

static enum rc
on_row_outbox(void *arg, const struct db_row *row, struct err *err)
{
	struct purge_list *l = arg;
	struct purge_key key = {
	    .id = db_row_i64(row, COL_PURGE_OUTBOX_LOOK_ID)};

	(void)err;
	if (too_young(l, db_row_i64(row, COL_PURGE_OUTBOX_LOOK_CREATED_AT))) {
		l->end = true;
		return (RC_LIMIT);
	}
	if (outbox_may_go(l, row)) {
		keep(l, &key);
		if (db_row_i64(row, COL_PURGE_OUTBOX_LOOK_KIND) ==
			EVENT_MESSAGE &&
		    db_row_i64(row, COL_PURGE_OUTBOX_LOOK_MID) > l->mid)
			l->mid = db_row_i64(row, COL_PURGE_OUTBOX_LOOK_MID);
	}
	return (seen(l, &key));
}

/* Examines the row ${id}, whose age is counted from ${at}.  Lists the row for
 * deletion if it is older than the retention and ${over} (nothing needs it any
 * more).  RC_LIMIT, which ends the statement: the row is too young, which also
 * ends the walk (l->end), or the list is full. */
static enum rc
look(struct purge_list *l, int64_t id, int64_t at, bool over)
{
	struct purge_key key = {.id = id};

	if (too_young(l, at)) {
		l->end = true;
		return (RC_LIMIT);
	}
	if (at < l->before_ms && over)
		keep(l, &key);
	return (seen(l, &key));
}

static enum rc
on_row_attempt(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	return (look(arg, db_row_i64(row, COL_PURGE_ATTEMPT_LOOK_ATTEMPT_ID),
	    db_row_i64(row, COL_PURGE_ATTEMPT_LOOK_STARTED_AT),
	    db_row_i64(row, COL_PURGE_ATTEMPT_LOOK_CLOSED) != 0));
}

static enum rc
on_row_by_id(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	return (look(arg, db_row_i64(row, COL_PURGE_CANDIDATE_ID),
	    db_row_i64(row, COL_PURGE_CANDIDATE_AT), true));
}

/* Examines a row of processed_messages.  Its event id comes from another
 * server, so the rows are not in the order of time: a row that is too young is
 * skipped, and the walk ends only at the end of the table. */
static enum rc
on_row_processed(void *arg, const struct db_row *row, struct err *err)
{
	struct purge_list *l = arg;
	struct purge_key key = {
	    .id = db_row_i64(row, COL_PURGE_PROCESSED_LOOK_ORIGIN)};

	(void)err;
	key.event_id = db_row_uuid(row, COL_PURGE_PROCESSED_LOOK_EVENT_ID);
	if (db_row_i64(row, COL_PURGE_PROCESSED_LOOK_PROCESSED_AT) <
	    l->before_ms)
		keep(l, &key);
	return (seen(l, &key));
}

static enum rc
on_row_destination(void *arg, const struct db_row *row, struct err *err)
{
	struct purge_list *l = arg;
	const int64_t id = db_row_i64(row, COL_PURGE_DESTINATION_LOOK_ID);
	const int64_t at = db_row_i64(row, COL_PURGE_DESTINATION_LOOK_AT);
	const size_t n = l->n;
	enum rc rc;

	(void)err;
	rc = look(
	    l, id, at, db_row_i64(row, COL_PURGE_DESTINATION_LOOK_UNUSED) != 0);
	if (l->n > n)
		db_row_copy_text(row, COL_PURGE_DESTINATION_LOOK_NAME,
		    l->names[n], sizeof(l->names[n]));
	return (rc == RC_OK && l->n == PURGE_NAMES ? RC_LIMIT : rc);
}

/* The statements of each table. */
static const struct {
	int look;
	db_row_fn each;
	int delete;
	int archive; /* -1: not archived */
} tables[PURGE_TABLES] = {
    [PURGE_OUTBOX] = {SQL_PURGE_OUTBOX_LOOK, on_row_outbox, SQL_PURGE_OUTBOX,
	SQL_ARCHIVE_OUTBOX},
    [PURGE_ATTEMPTS] = {SQL_PURGE_ATTEMPT_LOOK, on_row_attempt,
	SQL_PURGE_ATTEMPT, SQL_ARCHIVE_ATTEMPT},
    [PURGE_PROCESSED] = {SQL_PURGE_PROCESSED_LOOK, on_row_processed,
	SQL_PURGE_PROCESSED, -1},
    [PURGE_DEAD] = {SQL_PURGE_DEAD_LOOK, on_row_by_id, SQL_PURGE_DEAD,
	SQL_ARCHIVE_DEAD},
    [PURGE_AUDIT] = {SQL_PURGE_AUDIT_LOOK, on_row_by_id, SQL_PURGE_AUDIT,
	SQL_ARCHIVE_AUDIT},
    [PURGE_NONCES] = {SQL_PURGE_NONCE_LOOK, on_row_by_id, SQL_NONCE_EXPIRE, -1},
    [PURGE_DESTINATIONS] = {SQL_PURGE_DESTINATION_LOOK, on_row_destination,
	SQL_PURGE_DESTINATION, -1},
};

/* Runs the statement that reads after the cursor of ${l}. */
static enum rc
run_look(struct db *db, struct purge_list *l, struct err *err)
{
	const struct sql_purge_processed_look event = {
	    .event_id = db_v_uuid(&l->after.event_id),
	    .origin = db_v_i64(l->after.id),
	    .limit = db_v_i64(PURGE_EXAMINE)};
	/* For dead letters and nonces.  These two statements have no cursor:
	 * they return only rows that may be deleted, dead letters in the order
	 * of their resolution, nonces in the order of their expiry. */
	const struct sql_purge_dead_look ended = {
	    .before = db_v_i64(l->before_ms), .limit = db_v_i64(PURGE_ROWS)};
	const struct sql_purge_destination_look destination = {
	    .after = db_v_i64(l->after.id),
	    .before = db_v_i64(l->before_ms),
	    .limit = db_v_i64(PURGE_EXAMINE)};
	const struct sql_purge_outbox_look other = {
	    .after = db_v_i64(l->after.id), .limit = db_v_i64(PURGE_EXAMINE)};
	struct db_set v = DB_SET(&other, 1);

	if (l->table == PURGE_PROCESSED)
		v = DB_SET(&event, 1);
	else if (l->table == PURGE_DEAD || l->table == PURGE_NONCES)
		v = DB_SET(&ended, 1);
	else if (l->table == PURGE_DESTINATIONS)
		v = DB_SET(&destination, 1);
	return (db_run(db, tables[l->table].look, v.v, v.width,
	    tables[l->table].each, l, NULL, err));
}

enum rc
purge_rows_look(struct db *db, struct purge_list *l, struct err *err)
{
	enum rc rc;

	l->n = 0;
	l->mid = 0;
	l->examined = 0;
	l->end = false;
	l->last = l->after;
	rc = run_look(db, l, err);
	if (rc == RC_LIMIT)
		return (RC_OK);
	if (rc == RC_OK && l->examined < PURGE_EXAMINE)
		l->end = true;
	return (rc);
}

/* ---- deleting ---- */

static enum rc
delete_events(struct db *db, const struct purge_list *l, size_t from, size_t n,
    int64_t *ret_deleted, struct err *err)
{
	struct sql_purge_processed v[CHUNK];
	const struct db_set set = DB_SET(v, n);
	size_t i;

	for (i = 0; i < n; i++) {
		v[i].event_id = db_v_uuid(&l->rows[from + i].event_id);
		v[i].origin = db_v_i64(l->rows[from + i].id);
		v[i].before = db_v_i64(l->before_ms);
	}
	return (db_exec_many(db, tables[l->table].delete, set.v, set.width,
	    set.n, ret_deleted, err));
}

/* Deletes as many nonces as were listed. */
static enum rc
delete_nonces(struct db *db, const struct purge_list *l, size_t n,
    int64_t *ret_deleted, struct err *err)
{
	const struct sql_nonce_expire v = {
	    .now = db_v_i64(l->before_ms), .limit = db_v_i64((int64_t)n)};

	return (db_run(db, tables[l->table].delete, DB_PARAMS(v), NULL, NULL,
	    ret_deleted, err));
}

/* Deletes rows with ${stmt}, from any table except processed events and
 * nonces. */
static enum rc
delete_rows(struct db *db, int stmt, const struct purge_list *l, size_t from,
    size_t n, int64_t *ret_deleted, struct err *err)
{
	struct sql_purge_outbox v[CHUNK];
	const struct db_set set = DB_SET(v, n);
	size_t i;

	for (i = 0; i < n; i++) {
		v[i].id = db_v_i64(l->rows[from + i].id);
		v[i].before = db_v_i64(l->before_ms);
	}
	return (
	    db_exec_many(db, stmt, set.v, set.width, set.n, ret_deleted, err));
}

/* Deletes the peer rows and keys of servers, before their destinations. */
static enum rc
delete_peers(struct db *db, const struct purge_list *l, size_t from, size_t n,
    struct err *err)
{
	int64_t deleted;
	enum rc rc;

	rc = delete_rows(db, SQL_PURGE_PEER_KEYS, l, from, n, &deleted, err);
	return (rc == RC_OK
		    ? delete_rows(db, SQL_PURGE_PEER, l, from, n, &deleted, err)
		    : rc);
}

static enum rc
delete_listed(struct db *db, const struct purge_list *l, size_t from, size_t n,
    int64_t *ret_deleted, struct err *err)
{
	enum rc rc = RC_OK;

	if (l->table == PURGE_PROCESSED)
		return (delete_events(db, l, from, n, ret_deleted, err));
	if (l->table == PURGE_NONCES)
		return (delete_nonces(db, l, n, ret_deleted, err));
	if (l->table == PURGE_DESTINATIONS)
		rc = delete_peers(db, l, from, n, err);
	return (rc == RC_OK ? delete_rows(db, tables[l->table].delete, l, from,
				  n, ret_deleted, err)
			    : rc);
}

static enum rc
delete_chunk(struct db *db, const struct purge_list *l, size_t from, size_t n,
    int64_t *ret, struct err *err)
{
	struct sql_purge_attempts_of v[CHUNK];
	const struct db_set set = DB_SET(v, n);
	int64_t deleted;
	size_t i;
	enum rc rc;

	rc = delete_listed(db, l, from, n, &deleted, err);
	if (rc != RC_OK)
		return (rc);
	*ret += deleted;
	if (l->table != PURGE_OUTBOX)
		return (RC_OK);
	for (i = 0; i < n; i++)
		v[i].outbox_id = db_v_i64(l->rows[from + i].id);
	return (db_exec_many(
	    db, SQL_PURGE_ATTEMPTS_OF, set.v, set.width, set.n, &deleted, err));
}

enum rc
purge_rows_delete(
    struct db *db, const struct purge_list *l, int64_t *ret, struct err *err)
{
	size_t from, n;
	enum rc rc = RC_OK;

	*ret = 0;
	for (from = 0; from < l->n && rc == RC_OK; from += n) {
		n = l->n - from < CHUNK ? l->n - from : CHUNK;
		rc = delete_chunk(db, l, from, n, ret, err);
	}
	return (rc);
}

/* ---- the mark ---- */

enum rc
purge_rows_mark_get(struct db *db, int64_t *ret, struct err *err)
{
	char text[24];
	enum rc rc;

	rc = store_meta_get(db, MARK_KEY, text, sizeof(text), err);
	if (rc == RC_OK)
		*ret = strtoll(text, NULL, 10);
	else if (rc == RC_NOT_FOUND)
		*ret = 0;
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

enum rc
purge_rows_mark_set(struct db *db, int64_t mid, struct err *err)
{
	char text[24];
	enum rc rc;

	/* Two nodes may purge at the same time for a moment, until one of them
	 * notices that the other now does the upkeep.  So lock the purge mark
	 * until the end of the transaction; otherwise the later commit could
	 * lower it. */
	rc = store_meta_make(db, MARK_KEY, "0", err);
	if (rc == RC_OK)
		rc = store_meta_lock(db, MARK_KEY, text, sizeof(text), err);
	if (rc != RC_OK || mid <= strtoll(text, NULL, 10))
		return (rc);
	(void)snprintf(text, sizeof(text), "%" PRId64, mid);
	return (store_meta_set(db, MARK_KEY, text, err));
}

/* ---- the archive ---- */

struct archiving {
	store_archive_fn each;
	void *arg;
};

static enum rc
on_row_json(void *arg, const struct db_row *row, struct err *err)
{
	const struct archiving *a = arg;
	const char *json;
	size_t n;

	json = db_row_text(row, COL_ARCHIVED_JSON, &n);
	if (json == NULL)
		return (err_set(err, RC_INTERNAL, "archive: an empty row"));
	return (a->each(a->arg, json, n, err));
}

enum rc
purge_rows_archive(struct db *db, const struct purge_list *l,
    store_archive_fn each, void *arg, struct err *err)
{
	struct archiving a = {each, arg};
	struct db_val v;
	enum rc rc = RC_OK;
	size_t i;

	if (tables[l->table].archive < 0)
		return (RC_OK);
	for (i = 0; i < l->n && rc == RC_OK; i++) {
		v = db_v_i64(l->rows[i].id);
		rc = db_run(db, tables[l->table].archive, &v, 1, on_row_json,
		    &a, NULL, err);
	}
	return (rc);
}
