/* SPDX-License-Identifier: MIT */
/*
 * See remote.h.
 */
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "store/remote.h"

/* ---- reading ---- */

struct taking {
	struct store_row *rows;
	size_t n, cap;
};

static void
read_row(const struct db_row *row, struct store_row *r)
{
	char word[33];

	r->id = db_row_i64(row, COL_OUTBOX_ID);
	r->event_id = db_row_uuid(row, COL_OUTBOX_EVENT_ID);
	r->kind = (int)db_row_i64(row, COL_OUTBOX_KIND);
	r->mid = db_row_i64(row, COL_OUTBOX_MID);
	r->conversation_id = db_row_i64(row, COL_OUTBOX_CONVERSATION_ID);
	r->conversation_seq = db_row_i64(row, COL_OUTBOX_CONVERSATION_SEQ);
	r->sender_id = db_row_i64(row, COL_OUTBOX_SENDER_ID);
	r->lane_id = db_row_i64(row, COL_OUTBOX_LANE_ID);
	r->lane_seq = db_row_i64(row, COL_OUTBOX_LANE_SEQ);
	r->dest_user = db_row_i64(row, COL_OUTBOX_DEST_ID);
	db_row_copy_text(row, COL_OUTBOX_STATE, word, sizeof(word));
	r->state = outbox_state_parse(word);
	r->attempts = (int)db_row_i64(row, COL_OUTBOX_ATTEMPTS);
	r->retry_count = (int)db_row_i64(row, COL_OUTBOX_RETRY_COUNT);
	r->rescue_count = (int)db_row_i64(row, COL_OUTBOX_RESCUE_COUNT);
	r->next_retry_at = db_row_i64(row, COL_OUTBOX_NEXT_RETRY_AT);
	r->deliver_at = db_row_i64(row, COL_OUTBOX_DELIVER_AT);
	r->expires_at = db_row_i64(row, COL_OUTBOX_EXPIRES_AT);
	r->event_time = db_row_i64(row, COL_OUTBOX_EVENT_TIME);
	r->created_at = db_row_i64(row, COL_OUTBOX_CREATED_AT);
	r->ack_deadline = db_row_i64(row, COL_OUTBOX_ACK_DEADLINE);
	db_row_copy_text(row, COL_OUTBOX_REASON, word, sizeof(word));
	r->reason = outbox_reason_parse(word);
	r->priority = (int)db_row_i64(row, COL_OUTBOX_PRIORITY);
	r->requeued = db_row_i64(row, COL_OUTBOX_REQUEUES) > 0;
}

static enum rc
take_row(void *arg, const struct db_row *row, struct err *err)
{
	struct taking *t = arg;

	(void)err;
	if (t->n < t->cap)
		read_row(row, &t->rows[t->n++]);
	return (RC_OK);
}

enum rc
store_row_get(struct db *db, int64_t id, struct store_row *ret, struct err *err)
{
	struct taking t = {ret, 0, 1};
	const struct sql_outbox_row v = {.id = db_v_i64(id)};
	enum rc rc;

	rc = db_run(db, SQL_OUTBOX_ROW, DB_PARAMS(v), take_row, &t, NULL, err);
	if (rc == RC_OK && t.n == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_remote_claim(struct db *db, int64_t lane_id, int64_t from_seq,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	const struct sql_remote_claim v = {.lane_id = db_v_i64(lane_id),
	    .from_seq = db_v_i64(from_seq),
	    .limit = db_v_i64((int64_t)limit)};
	enum rc rc;

	rc =
	    db_run(db, SQL_REMOTE_CLAIM, DB_PARAMS(v), take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_remote_replay(struct db *db, const struct store_replay *replay,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	const struct sql_remote_replay v = {
	    .lane_id = db_v_i64(replay->lane_id),
	    .from_seq = db_v_i64(replay->from_seq),
	    .upto_seq = db_v_i64(replay->upto_seq),
	    .limit = db_v_i64((int64_t)limit)};
	enum rc rc;

	rc = db_run(
	    db, SQL_REMOTE_REPLAY, DB_PARAMS(v), take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_remote_in_flight(struct db *db, int64_t lane_id, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	const struct sql_remote_in_flight v = {.lane_id = db_v_i64(lane_id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_REMOTE_IN_FLIGHT, DB_PARAMS(v), take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_rows_expired(struct db *db, int64_t now_ms, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	const struct sql_outbox_expired v = {
	    .now = db_v_i64(now_ms), .limit = db_v_i64((int64_t)limit)};
	enum rc rc;

	rc = db_run(
	    db, SQL_OUTBOX_EXPIRED, DB_PARAMS(v), take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_rows_expired_local(struct db *db, const struct store_expired_local *ask,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	const struct sql_outbox_expired_local v = {
	    .after = db_v_i64(ask->after),
	    .upto = db_v_i64(ask->upto),
	    .now = db_v_i64(ask->now_ms),
	    .limit = db_v_i64((int64_t)limit)};
	enum rc rc;

	rc = db_run(db, SQL_OUTBOX_EXPIRED_LOCAL, DB_PARAMS(v), take_row, &t,
	    NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_rows_expiry_next(struct db *db, int64_t *ret, struct err *err)
{

	*ret = 0;
	return (db_run(
	    db, SQL_OUTBOX_EXPIRY_NEXT, NULL, 0, db_take_i64, ret, NULL, err));
}

struct letter_each {
	store_letter_fn each;
	void *arg;
	bool found;
};

static enum rc
take_letter(void *arg, const struct db_row *row, struct err *err)
{
	struct letter_each *e = arg;
	struct store_letter l;
	struct message_view *m = &l.message;

	memset(&l, 0, sizeof(l));
	e->found = true;
	m->id = db_row_uuid(row, COL_REMOTE_MESSAGE_MESSAGE_ID);
	m->body = db_row_text(row, COL_REMOTE_MESSAGE_BODY, &m->body_len);
	m->content_type =
	    db_row_text(row, COL_REMOTE_MESSAGE_CONTENT_TYPE, NULL);
	m->metadata =
	    db_row_text(row, COL_REMOTE_MESSAGE_METADATA, &m->metadata_len);
	m->correlation_id =
	    db_row_text(row, COL_REMOTE_MESSAGE_CORRELATION_ID, NULL);
	m->has_reply_to = !db_row_null(row, COL_REMOTE_MESSAGE_REPLY_TO);
	m->reply_to = db_row_uuid(row, COL_REMOTE_MESSAGE_REPLY_TO);
	l.conversation = db_row_uuid(row, COL_REMOTE_MESSAGE_PUBLIC_ID);
	l.from = db_row_text(row, COL_REMOTE_MESSAGE_SENDER, NULL);
	l.to = db_row_text(row, COL_REMOTE_MESSAGE_RECIPIENT, NULL);
	l.sequence = db_row_i64(row, COL_REMOTE_MESSAGE_SEQUENCE);
	return (e->each(e->arg, &l, err));
}

enum rc
store_letter_get(struct db *db, const struct store_row *row,
    store_letter_fn each, void *arg, struct err *err)
{
	struct letter_each e = {each, arg, false};
	const struct sql_remote_message v = {.mid = db_v_i64(row->mid),
	    .sender_id = db_v_i64(row->sender_id),
	    .dest_id = db_v_i64(row->dest_user)};
	enum rc rc;

	rc = db_run(
	    db, SQL_REMOTE_MESSAGE, DB_PARAMS(v), take_letter, &e, NULL, err);
	if (rc == RC_OK && !e.found)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- moves ---- */

/* Runs a transition, which must find its row in the state that it expects. */
static enum rc
move(struct db *db, int stmt, const struct db_val *v, size_t n,
    const char *what, struct err *err)
{
	int64_t changed;
	enum rc rc;

	rc = db_run(db, stmt, v, n, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = err_set(err, RC_CONFLICT,
		    "%s: outbox row %lld is in another state", what,
		    (long long)v[0].u.i64);
	return (rc);
}

enum rc
store_remote_sending(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	const struct sql_remote_sending v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};

	return (move(db, SQL_REMOTE_SENDING, DB_PARAMS(v), "claim", err));
}

enum rc
store_remote_late(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	const struct sql_remote_late v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};

	return (move(db, SQL_REMOTE_LATE, DB_PARAMS(v), "late", err));
}

enum rc
store_remote_confirm(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	const struct sql_remote_confirm v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};

	return (move(db, SQL_REMOTE_CONFIRM, DB_PARAMS(v), "confirm", err));
}

enum rc
store_promised_find(struct db *db, const struct uuid *event_id, int64_t origin,
    int64_t *ret, struct err *err)
{
	const struct sql_promised_find v = {
	    .event_id = db_v_uuid(event_id), .origin = db_v_i64(origin)};
	enum rc rc;

	*ret = 0;
	rc = db_run(
	    db, SQL_PROMISED_FIND, DB_PARAMS(v), db_take_i64, ret, NULL, err);
	return (rc == RC_OK && *ret == 0 ? RC_NOT_FOUND : rc);
}

enum rc
store_remote_hasten(
    struct db *db, int64_t id, int64_t ack_deadline, struct err *err)
{
	const struct sql_remote_hasten v = {
	    .id = db_v_i64(id), .ack_deadline = db_v_i64(ack_deadline)};

	return (move(db, SQL_REMOTE_HASTEN, DB_PARAMS(v), "hasten", err));
}

enum rc
store_remote_acked_early(
    struct db *db, int64_t id, int64_t now_ms, bool *ret, struct err *err)
{
	const struct sql_remote_acked_early v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};
	int64_t changed = 0;
	enum rc rc;

	rc = db_run(db, SQL_REMOTE_ACKED_EARLY, DB_PARAMS(v), NULL, NULL,
	    &changed, err);
	*ret = changed > 0;
	return (rc);
}

enum rc
store_remote_acked_noted(
    struct db *db, int64_t id, int64_t now_ms, bool *ret, struct err *err)
{
	const struct sql_remote_acked_noted v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};
	int64_t changed = 0;
	enum rc rc;

	rc = db_run(db, SQL_REMOTE_ACKED_NOTED, DB_PARAMS(v), NULL, NULL,
	    &changed, err);
	*ret = changed > 0;
	return (rc);
}

enum rc
store_row_due_now(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	const struct sql_outbox_due_now v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};

	return (move(db, SQL_OUTBOX_DUE_NOW, DB_PARAMS(v), "retry", err));
}

enum rc
store_remote_sent(struct db *db, int64_t id, int64_t now_ms,
    int64_t ack_deadline, bool duplicate, struct err *err)
{
	const struct sql_remote_sent v = {.id = db_v_i64(id),
	    .duplicate = db_v_i64(duplicate ? 1 : 0),
	    .now = db_v_i64(now_ms),
	    .ack_deadline = db_v_i64_or_null(ack_deadline, 0)};

	return (move(db, SQL_REMOTE_SENT, DB_PARAMS(v), "settle", err));
}

/* The error of a destination, truncated to what the column holds. */
static struct db_val
v_error(const char *error)
{
	size_t n;

	if (error == NULL || error[0] == '\0')
		return (DB_V_NULL);
	n = strlen(error);
	return (db_v_text(error, n < 512 ? n : 512));
}

enum rc
store_remote_back(struct db *db, const struct store_back *back, int64_t now_ms,
    struct err *err)
{
	const struct sql_remote_back v = {.id = db_v_i64(back->id),
	    .now = db_v_i64(now_ms),
	    .retry_count = db_v_i64(back->retry_count),
	    .next_retry_at = db_v_i64_or_null(back->next_retry_at, 0),
	    .error = v_error(back->error)};

	return (move(db, SQL_REMOTE_BACK, DB_PARAMS(v), "put back", err));
}

enum rc
store_remote_rescue(
    struct db *db, int64_t id, int64_t now_ms, int charge, struct err *err)
{
	const struct sql_remote_rescue v = {.id = db_v_i64(id),
	    .now = db_v_i64(now_ms),
	    .charge = db_v_i64(charge)};

	return (move(db, SQL_REMOTE_RESCUE, DB_PARAMS(v), "rescue", err));
}

enum rc
store_row_dead(struct db *db, const struct store_row *row, int state,
    const char *error, int64_t now_ms, struct err *err)
{
	const struct sql_outbox_dead v = {.id = db_v_i64(row->id),
	    .state = db_v_str(outbox_state_name(state)),
	    .reason =
		db_v_str(outbox_reason_word((enum outbox_reason)row->reason)),
	    .error = v_error(error),
	    .now = db_v_i64(now_ms)};

	return (move(db, SQL_OUTBOX_DEAD, DB_PARAMS(v), "dead letter", err));
}

enum rc
store_row_reason_set(struct db *db, int64_t id, int reason, struct err *err)
{
	const struct sql_outbox_reason_set v = {.id = db_v_i64(id),
	    .reason = db_v_str(outbox_reason_word((enum outbox_reason)reason))};

	return (move(db, SQL_OUTBOX_REASON_SET, DB_PARAMS(v), "bounce", err));
}

enum rc
store_row_requeue(struct db *db, int64_t id, int64_t lane_seq,
    int64_t expires_at, int64_t now_ms, struct err *err)
{
	const struct sql_outbox_requeue v = {.id = db_v_i64(id),
	    .lane_seq = db_v_i64(lane_seq),
	    .expires_at = db_v_i64(expires_at),
	    .now = db_v_i64(now_ms)};

	return (move(db, SQL_OUTBOX_REQUEUE, DB_PARAMS(v), "requeue", err));
}

/* ---- attempts ---- */

enum rc
store_attempt_start(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err)
{
	const struct sql_attempt_start v = {.outbox_id = db_v_i64(a->outbox_id),
	    .attempt = db_v_i64(a->attempt),
	    .destination_id = db_v_i64(a->destination_id),
	    .owner = db_v_str(a->owner),
	    .now = db_v_i64(now_ms)};

	return (
	    db_run(db, SQL_ATTEMPT_START, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_attempt_end(struct db *db, const struct store_attempt *a, int64_t now_ms,
    struct err *err)
{
	const struct sql_attempt_end v = {.outbox_id = db_v_i64(a->outbox_id),
	    .attempt = db_v_i64(a->attempt),
	    .now = db_v_i64(now_ms),
	    .outcome = db_v_str(a->outcome),
	    .status = db_v_i64_or_null(a->status, 0),
	    .error = v_error(a->error)};

	return (
	    db_run(db, SQL_ATTEMPT_END, DB_PARAMS(v), NULL, NULL, NULL, err));
}

/* ---- counts ---- */

struct waiting_each {
	store_waiting_fn each;
	void *arg;
};

static enum rc
each_waiting(void *arg, const struct db_row *row, struct err *err)
{
	struct waiting_each *e = arg;

	return (e->each(e->arg, db_row_i64(row, COL_WAITING_SENDER_ID),
	    db_row_i64(row, COL_WAITING_DESTINATION_ID),
	    db_row_i64(row, COL_WAITING_COUNT), err));
}

enum rc
store_waiting(struct db *db, store_waiting_fn each, void *arg, struct err *err)
{
	struct waiting_each e = {each, arg};
	enum rc rc;

	rc = db_run(
	    db, SQL_OUTBOX_WAITING_LOCAL, NULL, 0, each_waiting, &e, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_OUTBOX_WAITING_REMOTE, NULL, 0,
		    each_waiting, &e, NULL, err);
	return (rc);
}
