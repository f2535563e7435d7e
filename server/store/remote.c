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

	r->id = db_row_i64(row, 0);
	r->event_id = db_row_uuid(row, 1);
	r->kind = (int)db_row_i64(row, 2);
	r->mid = db_row_i64(row, 3);
	r->conversation_id = db_row_i64(row, 4);
	r->conversation_seq = db_row_i64(row, 5);
	r->sender_id = db_row_i64(row, 6);
	r->lane_id = db_row_i64(row, 7);
	r->lane_seq = db_row_i64(row, 8);
	r->dest_user = db_row_i64(row, 9);
	db_row_copy_text(row, 10, word, sizeof(word));
	r->state = outbox_state_parse(word);
	r->attempts = (int)db_row_i64(row, 11);
	r->retry_count = (int)db_row_i64(row, 12);
	r->rescue_count = (int)db_row_i64(row, 13);
	r->next_retry_at = db_row_i64(row, 14);
	r->deliver_at = db_row_i64(row, 15);
	r->expires_at = db_row_i64(row, 16);
	r->event_time = db_row_i64(row, 17);
	r->created_at = db_row_i64(row, 18);
	r->ack_deadline = db_row_i64(row, 19);
	db_row_copy_text(row, 20, word, sizeof(word));
	r->reason = outbox_reason_parse(word);
	r->priority = (int)db_row_i64(row, 21);
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
	struct db_val v = db_v_i64(id);
	enum rc rc;

	rc = db_run(db, SQL_OUTBOX_ROW, &v, 1, take_row, &t, NULL, err);
	if (rc == RC_OK && t.n == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_remote_claim(struct db *db, int64_t lane_id, int64_t from_seq,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	struct db_val v[3];
	enum rc rc;

	v[0] = db_v_i64(lane_id);
	v[1] = db_v_i64(from_seq);
	v[2] = db_v_i64((int64_t)limit);
	rc = db_run(db, SQL_REMOTE_CLAIM, v, 3, take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_remote_replay(struct db *db, const struct store_replay *replay,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	struct db_val v[4];
	enum rc rc;

	v[0] = db_v_i64(replay->lane_id);
	v[1] = db_v_i64(replay->from_seq);
	v[2] = db_v_i64(replay->upto_seq);
	v[3] = db_v_i64((int64_t)limit);
	rc = db_run(db, SQL_REMOTE_REPLAY, v, 4, take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_remote_in_flight(struct db *db, int64_t lane_id, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	struct db_val v = db_v_i64(lane_id);
	enum rc rc;

	rc = db_run(db, SQL_REMOTE_IN_FLIGHT, &v, 1, take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_rows_expired(struct db *db, int64_t now_ms, struct store_row *ret,
    size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_i64(now_ms);
	v[1] = db_v_i64((int64_t)limit);
	rc = db_run(db, SQL_OUTBOX_EXPIRED, v, 2, take_row, &t, NULL, err);
	*ret_n = t.n;
	return (rc);
}

enum rc
store_rows_expired_local(struct db *db, const struct store_expired_local *ask,
    struct store_row *ret, size_t limit, size_t *ret_n, struct err *err)
{
	struct taking t = {ret, 0, limit};
	struct db_val v[4];
	enum rc rc;

	v[0] = db_v_i64(ask->after);
	v[1] = db_v_i64(ask->upto);
	v[2] = db_v_i64(ask->now_ms);
	v[3] = db_v_i64((int64_t)limit);
	rc =
	    db_run(db, SQL_OUTBOX_EXPIRED_LOCAL, v, 4, take_row, &t, NULL, err);
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
	m->id = db_row_uuid(row, 0);
	m->body = db_row_text(row, 1, &m->body_len);
	m->content_type = db_row_text(row, 2, NULL);
	m->metadata = db_row_text(row, 3, &m->metadata_len);
	m->correlation_id = db_row_text(row, 4, NULL);
	m->has_reply_to = !db_row_null(row, 5);
	m->reply_to = db_row_uuid(row, 5);
	l.conversation = db_row_uuid(row, 6);
	l.from = db_row_text(row, 7, NULL);
	l.to = db_row_text(row, 8, NULL);
	return (e->each(e->arg, &l, err));
}

enum rc
store_letter_get(struct db *db, const struct store_row *row,
    store_letter_fn each, void *arg, struct err *err)
{
	struct letter_each e = {each, arg, false};
	struct db_val v[3];
	enum rc rc;

	v[0] = db_v_i64(row->mid);
	v[1] = db_v_i64(row->sender_id);
	v[2] = db_v_i64(row->dest_user);
	rc = db_run(db, SQL_REMOTE_MESSAGE, v, 3, take_letter, &e, NULL, err);
	if (rc == RC_OK && !e.found)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- moves ---- */

/* A move that must find its row in the state that it names. */
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

static enum rc
move_at(struct db *db, int stmt, int64_t id, int64_t now_ms, const char *what,
    struct err *err)
{
	struct db_val v[2];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(now_ms);
	return (move(db, stmt, v, 2, what, err));
}

enum rc
store_remote_sending(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{

	return (move_at(db, SQL_REMOTE_SENDING, id, now_ms, "claim", err));
}

enum rc
store_remote_late(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{

	return (move_at(db, SQL_REMOTE_LATE, id, now_ms, "late", err));
}

enum rc
store_remote_confirm(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{

	return (move_at(db, SQL_REMOTE_CONFIRM, id, now_ms, "confirm", err));
}

enum rc
store_row_due_now(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{

	return (move_at(db, SQL_OUTBOX_DUE_NOW, id, now_ms, "retry", err));
}

enum rc
store_remote_sent(struct db *db, int64_t id, int64_t now_ms,
    int64_t ack_deadline, struct err *err)
{
	struct db_val v[3];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(now_ms);
	v[2] = db_v_i64_or_null(ack_deadline, 0);
	return (move(db, SQL_REMOTE_SENT, v, 3, "settle", err));
}

/* What a destination said is cut to what a column takes. */
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
	struct db_val v[5];

	v[0] = db_v_i64(back->id);
	v[1] = db_v_i64(now_ms);
	v[2] = db_v_i64(back->retry_count);
	v[3] = db_v_i64_or_null(back->next_retry_at, 0);
	v[4] = v_error(back->error);
	return (move(db, SQL_REMOTE_BACK, v, 5, "put back", err));
}

enum rc
store_remote_rescue(
    struct db *db, int64_t id, int64_t now_ms, int charge, struct err *err)
{
	struct db_val v[3];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(now_ms);
	v[2] = db_v_i64(charge);
	return (move(db, SQL_REMOTE_RESCUE, v, 3, "rescue", err));
}

enum rc
store_row_dead(struct db *db, const struct store_row *row, int state,
    const char *error, int64_t now_ms, struct err *err)
{
	struct db_val v[5];

	v[0] = db_v_i64(row->id);
	v[1] = db_v_str(outbox_state_name(state));
	v[2] = db_v_str(outbox_reason_word((enum outbox_reason)row->reason));
	v[3] = v_error(error);
	v[4] = db_v_i64(now_ms);
	return (move(db, SQL_OUTBOX_DEAD, v, 5, "dead letter", err));
}

enum rc
store_row_reason_set(struct db *db, int64_t id, int reason, struct err *err)
{
	struct db_val v[2];

	v[0] = db_v_i64(id);
	v[1] = db_v_str(outbox_reason_word((enum outbox_reason)reason));
	return (move(db, SQL_OUTBOX_REASON_SET, v, 2, "bounce", err));
}

enum rc
store_row_requeue(struct db *db, int64_t id, int64_t lane_seq,
    int64_t expires_at, int64_t now_ms, struct err *err)
{
	struct db_val v[4];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(lane_seq);
	v[2] = db_v_i64(expires_at);
	v[3] = db_v_i64(now_ms);
	return (move(db, SQL_OUTBOX_REQUEUE, v, 4, "requeue", err));
}

/* ---- attempts ---- */

enum rc
store_attempt_start(struct db *db, const struct store_attempt *a,
    int64_t now_ms, struct err *err)
{
	struct db_val v[5];

	v[0] = db_v_i64(a->outbox_id);
	v[1] = db_v_i64(a->attempt);
	v[2] = db_v_i64(a->destination_id);
	v[3] = db_v_str(a->owner);
	v[4] = db_v_i64(now_ms);
	return (db_run(db, SQL_ATTEMPT_START, v, 5, NULL, NULL, NULL, err));
}

enum rc
store_attempt_end(struct db *db, const struct store_attempt *a, int64_t now_ms,
    struct err *err)
{
	struct db_val v[6];

	v[0] = db_v_i64(a->outbox_id);
	v[1] = db_v_i64(a->attempt);
	v[2] = db_v_i64(now_ms);
	v[3] = db_v_str(a->outcome);
	v[4] = db_v_i64_or_null(a->status, 0);
	v[5] = v_error(a->error);
	return (db_run(db, SQL_ATTEMPT_END, v, 6, NULL, NULL, NULL, err));
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

	return (e->each(e->arg, db_row_i64(row, 0), db_row_i64(row, 1),
	    db_row_i64(row, 2), err));
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
