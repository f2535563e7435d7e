/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes rows of the outbox.
 */
#include <assert.h>
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "store/message.h"
#include "store/outbox.h"

enum rc
store_outbox_next_due(
    struct db *db, int64_t now_ms, int64_t *ret, struct err *err)
{
	const struct sql_lanes_next_due v = {.now = db_v_i64(now_ms)};
	int64_t lane, scheduled;
	enum rc rc;

	lane = scheduled = 0;
	rc = db_run(db, SQL_LANES_NEXT_DUE, DB_PARAMS(v), db_take_i64, &lane,
	    NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, SQL_OUTBOX_NEXT_SCHEDULED, NULL, 0, db_take_i64,
		    &scheduled, NULL, err);
	if (rc != RC_OK)
		return (rc);
	if (lane == 0 || (scheduled != 0 && scheduled < lane))
		lane = scheduled;
	*ret = lane;
	return (RC_OK);
}

/* ---- rows ---- */

struct claim {
	struct store_claimed *rows;
	size_t n;
};

static enum rc
take_claimed(void *arg, const struct db_row *row, struct err *err)
{
	struct claim *c = arg;
	struct store_claimed *r = &c->rows[c->n++];

	(void)err;
	r->id = db_row_i64(row, COL_OUTBOX_CLAIM_ID);
	r->event_id = db_row_uuid(row, COL_OUTBOX_CLAIM_EVENT_ID);
	r->kind = (int)db_row_i64(row, COL_OUTBOX_CLAIM_KIND);
	r->mid = db_row_i64(row, COL_OUTBOX_CLAIM_MID);
	r->conversation_seq =
	    db_row_i64(row, COL_OUTBOX_CLAIM_CONVERSATION_SEQ);
	r->sender_id = db_row_i64(row, COL_OUTBOX_CLAIM_SENDER_ID);
	r->lane_seq = db_row_i64(row, COL_OUTBOX_CLAIM_LANE_SEQ);
	r->dest_user = db_row_i64(row, COL_OUTBOX_CLAIM_DEST_ID);
	r->event_time = db_row_i64(row, COL_OUTBOX_CLAIM_EVENT_TIME);
	r->created_at = db_row_i64(row, COL_OUTBOX_CLAIM_CREATED_AT);
	r->attempts = (int)db_row_i64(row, COL_OUTBOX_CLAIM_ATTEMPTS);
	r->expires_at = db_row_i64(row, COL_OUTBOX_CLAIM_EXPIRES_AT);
	r->deliver_at = db_row_i64(row, COL_OUTBOX_CLAIM_DELIVER_AT);
	r->lane_id = db_row_i64(row, COL_OUTBOX_CLAIM_LANE_ID);
	return (RC_OK);
}

enum rc
store_outbox_claim(struct db *db, const struct store_claim *claims, size_t n,
    struct store_claimed *ret, size_t *ret_n, struct err *err)
{
	struct sql_outbox_claim v[STORE_CLAIMS];
	const struct db_set set = DB_SET(v, n);
	struct claim c = {ret, 0};
	enum rc rc;
	size_t i;

	assert(n <= STORE_CLAIMS);
	for (i = 0; i < n; i++) {
		v[i].lane_id = db_v_i64(claims[i].lane_id);
		v[i].from_seq = db_v_i64(claims[i].from_seq);
		v[i].limit = db_v_i64(claims[i].most);
	}
	rc = db_run_many(db, SQL_OUTBOX_CLAIM, &set, take_claimed, &c, err);
	*ret_n = c.n;
	return (rc);
}

enum rc
store_outbox_last_id(struct db *db, int64_t *ret, struct err *err)
{

	return (db_run(
	    db, SQL_OUTBOX_LAST_ID, NULL, 0, db_take_i64, ret, NULL, err));
}

enum rc
store_message_last_id(struct db *db, int64_t *ret, struct err *err)
{

	return (db_run(
	    db, SQL_MESSAGE_LAST_ID, NULL, 0, db_take_i64, ret, NULL, err));
}

struct id_list {
	int64_t *list;
	size_t n;
};

static enum rc
take_next_id(void *arg, const struct db_row *row, struct err *err)
{
	struct id_list *ids = arg;

	(void)err;
	ids->list[ids->n++] = db_row_i64(row, COL_NEW_ID_ID);
	return (RC_OK);
}

static enum rc
take_ids(struct db *db, int stmt, int64_t *list, size_t n, struct err *err)
{
	const struct sql_outbox_ids v = {.count = db_v_i64((int64_t)n)};
	struct id_list ids = {list, 0};
	enum rc rc;

	rc = db_run(db, stmt, DB_PARAMS(v), take_next_id, &ids, NULL, err);
	return (rc == RC_OK && ids.n != n
		    ? err_set(err, RC_CORRUPT, "no more ids")
		    : rc);
}

enum rc
store_outbox_ids(struct db *db, int64_t *list, size_t n, struct err *err)
{

	return (take_ids(db, SQL_OUTBOX_IDS, list, n, err));
}

enum rc
store_message_ids(struct db *db, int64_t *list, size_t n, struct err *err)
{

	return (take_ids(db, SQL_MESSAGE_IDS, list, n, err));
}

enum rc
store_receipt_pending(struct db *db, int64_t lane_id, int kind,
    int64_t sender_id, int64_t *ret_id, struct err *err)
{
	const struct sql_outbox_receipt_pending v = {
	    .lane_id = db_v_i64(lane_id),
	    .kind = db_v_i64(kind),
	    .sender_id = db_v_i64(sender_id)};

	*ret_id = 0;
	return (db_run(db, SQL_OUTBOX_RECEIPT_PENDING, DB_PARAMS(v),
	    db_take_i64, ret_id, NULL, err));
}

/* Runs an update that must change exactly one row. */
static enum rc
update_one(struct db *db, int stmt, const struct db_val *v, size_t n,
    const char *what, struct err *err)
{
	int64_t changed;
	enum rc rc;

	rc = db_run(db, stmt, v, n, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		rc = err_set(err, RC_CONFLICT, "%s: it is not pending", what);
	return (rc);
}

enum rc
store_receipt_move(struct db *db, int64_t id, int64_t mid,
    int64_t conversation_seq, int64_t event_time, struct err *err)
{
	const struct sql_outbox_receipt_move v = {.id = db_v_i64(id),
	    .mid = db_v_i64(mid),
	    .conversation_seq = db_v_i64(conversation_seq),
	    .event_time = db_v_i64(event_time)};

	return (update_one(
	    db, SQL_OUTBOX_RECEIPT_MOVE, DB_PARAMS(v), "receipt", err));
}

enum rc
store_outbox_cancel(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	const struct sql_outbox_cancel v = {
	    .id = db_v_i64(id), .now = db_v_i64(now_ms)};

	return (update_one(db, SQL_OUTBOX_CANCEL, DB_PARAMS(v), "cancel", err));
}

struct destination_each {
	enum rc (*each)(
	    void *arg, const struct store_destination *d, struct err *err);
	void *arg;
};

static enum rc
each_destination(void *arg, const struct db_row *row, struct err *err)
{
	struct destination_each *e = arg;
	struct store_destination d;
	char state[16];

	d.id = db_row_i64(row, COL_OUTBOX_OF_EVENT_ID);
	db_row_copy_text(row, COL_OUTBOX_OF_EVENT_NAME, d.name, sizeof(d.name));
	db_row_copy_text(row, COL_OUTBOX_OF_EVENT_STATE, state, sizeof(state));
	d.state = outbox_state_parse(state);
	d.attempts = (int)db_row_i64(row, COL_OUTBOX_OF_EVENT_ATTEMPTS);
	d.retry_count = (int)db_row_i64(row, COL_OUTBOX_OF_EVENT_RETRY_COUNT);
	d.last_attempt_at =
	    db_row_i64(row, COL_OUTBOX_OF_EVENT_LAST_ATTEMPT_AT);
	d.last_status_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_LAST_STATUS_AT);
	d.next_retry_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_NEXT_RETRY_AT);
	d.sent_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_SENT_AT);
	d.acked_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_ACKED_AT);
	db_row_copy_text(row, COL_OUTBOX_OF_EVENT_LAST_ERROR, d.last_error,
	    sizeof(d.last_error));
	d.deliver_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_DELIVER_AT);
	d.expires_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_EXPIRES_AT);
	d.read_upto = db_row_i64(row, COL_OUTBOX_OF_EVENT_SHOWN_UPTO);
	d.read_at = db_row_i64(row, COL_OUTBOX_OF_EVENT_SHOWN_AT);
	d.released = !db_row_null(row, COL_OUTBOX_OF_EVENT_LANE_SEQ);
	d.dest_user = db_row_i64(row, COL_OUTBOX_OF_EVENT_DEST_ID);
	db_row_copy_text(
	    row, COL_OUTBOX_OF_EVENT_REASON, d.reason, sizeof(d.reason));
	return (e->each(e->arg, &d, err));
}

enum rc
store_destinations(struct db *db, const struct uuid *event_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err)
{
	struct destination_each e = {each, arg};
	const struct sql_outbox_of_event v = {.event_id = db_v_uuid(event_id)};

	return (db_run(db, SQL_OUTBOX_OF_EVENT, DB_PARAMS(v), each_destination,
	    &e, NULL, err));
}

/* ---- destinations of purged rows ---- */

struct purged {
	const struct store_entry *entry;
	int64_t sender_id;
	enum rc (*each)(
	    void *arg, const struct store_destination *d, struct err *err);
	void *arg;
};

static enum rc
take_purged(void *arg, const struct db_row *row, struct err *err)
{
	const struct purged *p = arg;
	struct store_destination d;
	int64_t seq = p->entry->conversation_seq;

	memset(&d, 0, sizeof(d));
	db_row_copy_text(
	    row, COL_PURGED_DESTINATIONS_NAME, d.name, sizeof(d.name));
	d.dest_user = db_row_i64(row, COL_PURGED_DESTINATIONS_USER_ID);
	d.sent_at = db_row_i64(row, COL_PURGED_DESTINATIONS_DELIVERED_AT);
	d.state = OUTBOX_SENT;
	if (d.dest_user == p->sender_id) {
		d.acked_at = d.sent_at; /* to oneself: acked at once */
	} else {
		d.attempts =
		    (int)db_row_i64(row, COL_PURGED_DESTINATIONS_ATTEMPT);
		if (db_row_i64(row, COL_PURGED_DESTINATIONS_ACKED_UPTO) >= seq)
			d.acked_at =
			    db_row_i64(row, COL_PURGED_DESTINATIONS_ACKED_AT);
	}
	if (d.acked_at != 0)
		d.state = OUTBOX_ACKED;
	/* The inbox of a recipient on another server is not here. */
	if (d.sent_at == 0)
		d.sent_at = d.acked_at;
	if (d.attempts > 0)
		d.last_attempt_at = d.sent_at;
	d.last_status_at = d.acked_at != 0 ? d.acked_at : d.sent_at;
	d.read_upto = db_row_i64(row, COL_PURGED_DESTINATIONS_SHOWN_UPTO);
	d.read_at = db_row_i64(row, COL_PURGED_DESTINATIONS_SHOWN_AT);
	d.released = true;
	return (p->each(p->arg, &d, err));
}

enum rc
store_purged_destinations(struct db *db, const struct store_entry *e,
    int64_t sender_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err)
{
	struct purged p = {e, sender_id, each, arg};
	const struct sql_purged_destinations v = {
	    .conversation_id = db_v_i64(e->conversation_id),
	    .event_id = db_v_uuid(&e->event_id),
	    .sender_id = db_v_i64(sender_id)};

	return (db_run(db, SQL_PURGED_DESTINATIONS, DB_PARAMS(v), take_purged,
	    &p, NULL, err));
}

enum rc
store_outbox_pending_count(struct db *db, int64_t *ret, struct err *err)
{

	*ret = 0;
	return (db_run(db, SQL_OUTBOX_PENDING_COUNT, NULL, 0, db_take_i64, ret,
	    NULL, err));
}

/* ---- scheduled rows ---- */

struct due_each {
	enum rc (*each)(
	    void *arg, const struct store_due *due, struct err *err);
	void *arg;
};

static enum rc
each_due(void *arg, const struct db_row *row, struct err *err)
{
	struct due_each *e = arg;
	struct store_due due;
	size_t n;

	due.id = db_row_i64(row, COL_OUTBOX_DUE_ID);
	due.event_id = db_row_uuid(row, COL_OUTBOX_DUE_EVENT_ID);
	due.mid = db_row_i64(row, COL_OUTBOX_DUE_MID);
	due.conversation_id = db_row_i64(row, COL_OUTBOX_DUE_CONVERSATION_ID);
	due.sender_id = db_row_i64(row, COL_OUTBOX_DUE_SENDER_ID);
	due.lane_id = db_row_i64(row, COL_OUTBOX_DUE_LANE_ID);
	due.event_time = db_row_i64(row, COL_OUTBOX_DUE_EVENT_TIME);
	due.message_id = db_row_uuid(row, COL_OUTBOX_DUE_MESSAGE_ID);
	due.salt = db_row_blob(row, COL_OUTBOX_DUE_SALT, &n);
	due.body = db_row_text(row, COL_OUTBOX_DUE_BODY, &due.body_len);
	due.priority = (int)db_row_i64(row, COL_OUTBOX_DUE_PRIORITY);
	if (due.salt == NULL || n != 16 || due.body == NULL)
		return (err_set(
		    err, RC_CORRUPT, "a scheduled message without content"));
	return (e->each(e->arg, &due, err));
}

enum rc
store_outbox_due(struct db *db, int64_t now_ms, int64_t limit,
    enum rc (*each)(void *arg, const struct store_due *due, struct err *err),
    void *arg, struct err *err)
{
	struct due_each e = {each, arg};
	const struct sql_outbox_due v = {
	    .now = db_v_i64(now_ms), .limit = db_v_i64(limit)};

	return (
	    db_run(db, SQL_OUTBOX_DUE, DB_PARAMS(v), each_due, &e, NULL, err));
}

enum rc
store_outbox_release(struct db *db, const struct store_release *r,
    int64_t now_ms, struct err *err)
{
	const struct sql_message_release message = {.mid = db_v_i64(r->mid),
	    .conversation_seq = db_v_i64(r->conversation_seq),
	    .digest = db_v_blob(r->digest, 32)};
	const struct sql_outbox_release row = {.id = db_v_i64(r->id),
	    .lane_seq = db_v_i64(r->lane_seq),
	    .conversation_seq = db_v_i64(r->conversation_seq),
	    .now = db_v_i64(now_ms)};
	enum rc rc;

	rc = update_one(
	    db, SQL_MESSAGE_RELEASE, DB_PARAMS(message), "release", err);
	if (rc != RC_OK)
		return (rc);
	return (
	    update_one(db, SQL_OUTBOX_RELEASE, DB_PARAMS(row), "release", err));
}

enum rc
store_outbox_scheduled_count(
    struct db *db, int64_t sender_id, int64_t *ret, struct err *err)
{
	const struct sql_outbox_scheduled_count v = {
	    .sender_id = db_v_i64(sender_id)};

	*ret = 0;
	return (db_run(db, SQL_OUTBOX_SCHEDULED_COUNT, DB_PARAMS(v),
	    db_take_i64, ret, NULL, err));
}

enum rc
store_outbox_settle_read(struct db *db, const struct store_read *read,
    int64_t now_ms, int64_t *ret_changed, struct err *err)
{
	const struct sql_outbox_settle_read v = {
	    .conversation_id = db_v_i64(read->conversation_id),
	    .after = db_v_i64(read->after),
	    .upto = db_v_i64(read->upto),
	    .user_id = db_v_i64(read->user_id),
	    .now = db_v_i64(now_ms)};

	*ret_changed = 0;
	return (db_run(db, SQL_OUTBOX_SETTLE_READ, DB_PARAMS(v), NULL, NULL,
	    ret_changed, err));
}
