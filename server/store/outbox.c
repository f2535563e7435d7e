/* SPDX-License-Identifier: MIT */
/*
 * Rows of lanes and outbox, and how they become structs.
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
	struct db_val v;
	int64_t lane, scheduled;
	enum rc rc;

	lane = scheduled = 0;
	v = db_v_i64(now_ms);
	rc = db_run(
	    db, SQL_LANES_NEXT_DUE, &v, 1, db_take_i64, &lane, NULL, err);
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
	r->id = db_row_i64(row, 0);
	r->event_id = db_row_uuid(row, 1);
	r->kind = (int)db_row_i64(row, 2);
	r->mid = db_row_i64(row, 3);
	r->conversation_seq = db_row_i64(row, 4);
	r->sender_id = db_row_i64(row, 5);
	r->lane_seq = db_row_i64(row, 6);
	r->dest_user = db_row_i64(row, 7);
	r->event_time = db_row_i64(row, 8);
	r->created_at = db_row_i64(row, 9);
	r->attempts = (int)db_row_i64(row, 10);
	r->expires_at = db_row_i64(row, 11);
	r->deliver_at = db_row_i64(row, 12);
	r->lane_id = db_row_i64(row, 13);
	return (RC_OK);
}

enum rc
store_outbox_claim(struct db *db, const struct store_claim *claims, size_t n,
    struct store_claimed *ret, size_t *ret_n, struct err *err)
{
	struct db_val v[STORE_CLAIMS * 3];
	const struct db_set set = {v, 3, n};
	struct claim c = {ret, 0};
	enum rc rc;
	size_t i;

	assert(n <= STORE_CLAIMS);
	for (i = 0; i < n; i++) {
		v[3 * i] = db_v_i64(claims[i].lane_id);
		v[3 * i + 1] = db_v_i64(claims[i].from_seq);
		v[3 * i + 2] = db_v_i64(claims[i].most);
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
	ids->list[ids->n++] = db_row_i64(row, 0);
	return (RC_OK);
}

static enum rc
take_ids(struct db *db, int stmt, int64_t *list, size_t n, struct err *err)
{
	const struct db_val v = db_v_i64((int64_t)n);
	struct id_list ids = {list, 0};
	enum rc rc;

	rc = db_run(db, stmt, &v, 1, take_next_id, &ids, NULL, err);
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
	struct db_val v[3];

	*ret_id = 0;
	v[0] = db_v_i64(lane_id);
	v[1] = db_v_i64(kind);
	v[2] = db_v_i64(sender_id);
	return (db_run(db, SQL_OUTBOX_RECEIPT_PENDING, v, 3, db_take_i64,
	    ret_id, NULL, err));
}

/* An update that must hit its one row. */
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
	struct db_val v[4];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(mid);
	v[2] = db_v_i64(conversation_seq);
	v[3] = db_v_i64(event_time);
	return (update_one(db, SQL_OUTBOX_RECEIPT_MOVE, v, 4, "receipt", err));
}

enum rc
store_outbox_cancel(struct db *db, int64_t id, int64_t now_ms, struct err *err)
{
	struct db_val v[2];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(now_ms);
	return (update_one(db, SQL_OUTBOX_CANCEL, v, 2, "cancel", err));
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

	d.id = db_row_i64(row, 0);
	db_row_copy_text(row, 1, d.name, sizeof(d.name));
	db_row_copy_text(row, 2, state, sizeof(state));
	d.state = outbox_state_parse(state);
	d.attempts = (int)db_row_i64(row, 3);
	d.retry_count = (int)db_row_i64(row, 4);
	d.last_attempt_at = db_row_i64(row, 5);
	d.last_status_at = db_row_i64(row, 6);
	d.next_retry_at = db_row_i64(row, 7);
	d.sent_at = db_row_i64(row, 8);
	d.acked_at = db_row_i64(row, 9);
	db_row_copy_text(row, 10, d.last_error, sizeof(d.last_error));
	d.deliver_at = db_row_i64(row, 11);
	d.expires_at = db_row_i64(row, 12);
	d.read_upto = db_row_i64(row, 13);
	d.read_at = db_row_i64(row, 14);
	d.released = !db_row_null(row, 15);
	d.dest_user = db_row_i64(row, 17);
	db_row_copy_text(row, 18, d.reason, sizeof(d.reason));
	return (e->each(e->arg, &d, err));
}

enum rc
store_destinations(struct db *db, const struct uuid *event_id,
    enum rc (*each)(
	void *arg, const struct store_destination *d, struct err *err),
    void *arg, struct err *err)
{
	struct destination_each e = {each, arg};
	struct db_val v;

	v = db_v_uuid(event_id);
	return (db_run(
	    db, SQL_OUTBOX_OF_EVENT, &v, 1, each_destination, &e, NULL, err));
}

/* ---- what is left of a purged row ---- */

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
	db_row_copy_text(row, 0, d.name, sizeof(d.name));
	d.dest_user = db_row_i64(row, 1);
	d.sent_at = db_row_i64(row, 6);
	d.state = OUTBOX_SENT;
	if (d.dest_user == p->sender_id) {
		d.acked_at = d.sent_at; /* a note to oneself is born acked */
	} else {
		d.attempts = (int)db_row_i64(row, 7);
		if (db_row_i64(row, 2) >= seq)
			d.acked_at = db_row_i64(row, 3);
	}
	if (d.acked_at != 0)
		d.state = OUTBOX_ACKED;
	/* Another server's inbox is not here. */
	if (d.sent_at == 0)
		d.sent_at = d.acked_at;
	if (d.attempts > 0)
		d.last_attempt_at = d.sent_at;
	d.last_status_at = d.acked_at != 0 ? d.acked_at : d.sent_at;
	d.read_upto = db_row_i64(row, 4);
	d.read_at = db_row_i64(row, 5);
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
	struct db_val v[3];

	v[0] = db_v_i64(e->conversation_id);
	v[1] = db_v_uuid(&e->event_id);
	v[2] = db_v_i64(sender_id);
	return (db_run(
	    db, SQL_PURGED_DESTINATIONS, v, 3, take_purged, &p, NULL, err));
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

	due.id = db_row_i64(row, 0);
	due.event_id = db_row_uuid(row, 1);
	due.mid = db_row_i64(row, 2);
	due.conversation_id = db_row_i64(row, 3);
	due.sender_id = db_row_i64(row, 4);
	due.lane_id = db_row_i64(row, 5);
	due.event_time = db_row_i64(row, 6);
	due.message_id = db_row_uuid(row, 7);
	due.salt = db_row_blob(row, 8, &n);
	due.body = db_row_text(row, 9, &due.body_len);
	due.priority = (int)db_row_i64(row, 10);
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
	struct db_val v[2];

	v[0] = db_v_i64(now_ms);
	v[1] = db_v_i64(limit);
	return (db_run(db, SQL_OUTBOX_DUE, v, 2, each_due, &e, NULL, err));
}

enum rc
store_outbox_release(struct db *db, const struct store_release *r,
    int64_t now_ms, struct err *err)
{
	struct db_val v[4];
	enum rc rc;

	v[0] = db_v_i64(r->mid);
	v[1] = db_v_i64(r->conversation_seq);
	v[2] = db_v_blob(r->digest, 32);
	rc = update_one(db, SQL_MESSAGE_RELEASE, v, 3, "release", err);
	if (rc != RC_OK)
		return (rc);
	v[0] = db_v_i64(r->id);
	v[1] = db_v_i64(r->lane_seq);
	v[2] = db_v_i64(r->conversation_seq);
	v[3] = db_v_i64(now_ms);
	return (update_one(db, SQL_OUTBOX_RELEASE, v, 4, "release", err));
}

enum rc
store_outbox_scheduled_count(
    struct db *db, int64_t sender_id, int64_t *ret, struct err *err)
{
	struct db_val v;

	*ret = 0;
	v = db_v_i64(sender_id);
	return (db_run(db, SQL_OUTBOX_SCHEDULED_COUNT, &v, 1, db_take_i64, ret,
	    NULL, err));
}

enum rc
store_outbox_settle_read(struct db *db, const struct store_read *read,
    int64_t now_ms, int64_t *ret_changed, struct err *err)
{
	struct db_val v[5];

	v[0] = db_v_i64(read->conversation_id);
	v[1] = db_v_i64(read->after);
	v[2] = db_v_i64(read->upto);
	v[3] = db_v_i64(read->user_id);
	v[4] = db_v_i64(now_ms);
	*ret_changed = 0;
	return (db_run(
	    db, SQL_OUTBOX_SETTLE_READ, v, 5, NULL, NULL, ret_changed, err));
}
