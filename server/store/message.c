/* SPDX-License-Identifier: MIT */
/*
 * Reads rows of messages and turns them into views.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/message.h"

static enum rc
take_key(void *arg, const struct db_row *row, struct err *err)
{
	struct store_message_key *k = arg;
	const void *p;
	size_t n;

	k->mid = db_row_i64(row, COL_MESSAGE_KEY_MID);
	k->sender_id = db_row_i64(row, COL_MESSAGE_KEY_SENDER_ID);
	p = db_row_blob(row, COL_MESSAGE_KEY_FINGERPRINT, &n);
	if (p == NULL || n != sizeof(k->fingerprint))
		return (err_set(err, RC_CORRUPT, "a message's fingerprint"));
	memcpy(k->fingerprint, p, n);
	return (RC_OK);
}

enum rc
store_message_key(struct db *db, const struct uuid *id,
    struct store_message_key *ret, struct err *err)
{
	const struct sql_message_key v = {.message_id = db_v_uuid(id)};
	enum rc rc;

	ret->mid = 0;
	rc =
	    db_run(db, SQL_MESSAGE_KEY, DB_PARAMS(v), take_key, ret, NULL, err);
	if (rc == RC_OK && ret->mid == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

struct uuid_found {
	struct uuid *id;
	bool found;
};

static enum rc
take_uuid(void *arg, const struct db_row *row, struct err *err)
{
	struct uuid_found *f = arg;

	(void)err;
	*f->id = db_row_uuid(row, COL_MESSAGE_UUID_MESSAGE_ID);
	f->found = true;
	return (RC_OK);
}

enum rc
store_message_uuid(
    struct db *db, int64_t mid, struct uuid *ret, struct err *err)
{
	struct uuid_found f = {ret, false};
	const struct sql_message_uuid v = {.mid = db_v_i64(mid)};
	enum rc rc;

	rc = db_run(
	    db, SQL_MESSAGE_UUID, DB_PARAMS(v), take_uuid, &f, NULL, err);
	if (rc == RC_OK && !f.found)
		rc = RC_NOT_FOUND;
	return (rc);
}

struct row_ids {
	int64_t *ids;
	size_t n;
};

static enum rc
take_row_id(void *arg, const struct db_row *row, struct err *err)
{
	struct row_ids *ids = arg;

	(void)err;
	ids->ids[ids->n++] = db_row_i64(row, COL_MESSAGE_ROWS_ID);
	return (RC_OK);
}

enum rc
store_message_rows(struct db *db, const struct uuid *id, int64_t *ret,
    size_t max, size_t *ret_n, struct err *err)
{
	struct row_ids ids = {ret, 0};
	const struct sql_message_rows v = {
	    .message_id = db_v_uuid(id), .limit = db_v_i64((int64_t)max)};
	enum rc rc;

	rc = db_run(
	    db, SQL_MESSAGE_ROWS, DB_PARAMS(v), take_row_id, &ids, NULL, err);
	*ret_n = ids.n;
	return (rc);
}

/* The columns that hold a message's content besides its body. */
struct content {
	int content_type, metadata, correlation_id, reply_to;
};

static void
read_content(
    const struct db_row *row, const struct content *col, struct message_view *m)
{

	m->content_type = db_row_text(row, col->content_type, NULL);
	if (m->content_type == NULL)
		m->content_type = "text/plain";
	m->metadata = db_row_text(row, col->metadata, &m->metadata_len);
	m->correlation_id = db_row_text(row, col->correlation_id, NULL);
	m->has_reply_to = !db_row_null(row, col->reply_to);
	m->reply_to = db_row_uuid(row, col->reply_to);
}

struct entry_each {
	store_entry_fn each;
	void *arg;
	int count;
};

static enum rc
each_entry(void *arg, const struct db_row *row, struct err *err)
{
	static const struct content content = {
	    .content_type = COL_ENTRY_CONTENT_TYPE,
	    .metadata = COL_ENTRY_METADATA,
	    .correlation_id = COL_ENTRY_CORRELATION_ID,
	    .reply_to = COL_ENTRY_REPLY_TO};
	struct entry_each *x = arg;
	struct store_entry e;
	const char *kind;

	memset(&e, 0, sizeof(e));
	e.mid = db_row_i64(row, COL_ENTRY_MID);
	e.message.id = db_row_uuid(row, COL_ENTRY_MESSAGE_ID);
	e.event_id = db_row_uuid(row, COL_ENTRY_EVENT_ID);
	e.conversation = db_row_uuid(row, COL_ENTRY_PUBLIC_ID);
	e.conversation_seq = db_row_i64(row, COL_ENTRY_CONVERSATION_SEQ);
	read_content(row, &content, &e.message);
	e.priority = (int)db_row_i64(row, COL_ENTRY_PRIORITY);
	e.event_time = db_row_i64(row, COL_ENTRY_EVENT_TIME);
	e.created_at = db_row_i64(row, COL_ENTRY_CREATED_AT);
	kind = db_row_text(row, COL_ENTRY_KIND, NULL);
	e.direct = kind != NULL && strcmp(kind, "direct") == 0;
	e.conversation_id = db_row_i64(row, COL_ENTRY_CONVERSATION_ID);
	x->count++;
	return (x->each(x->arg, &e, err));
}

enum rc
store_entry_get(struct db *db, int64_t sender_id, const struct uuid *id,
    store_entry_fn each, void *arg, struct err *err)
{
	struct entry_each x = {each, arg, 0};
	const struct sql_message_entry v = {
	    .message_id = db_v_uuid(id), .sender_id = db_v_i64(sender_id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_MESSAGE_ENTRY, DB_PARAMS(v), each_entry, &x, NULL, err);
	if (rc == RC_OK && x.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_entries(struct db *db, int64_t sender_id, int64_t before, int64_t limit,
    store_entry_fn each, void *arg, struct err *err)
{
	struct entry_each x = {each, arg, 0};
	const struct sql_message_entries v = {.sender_id = db_v_i64(sender_id),
	    .before = db_v_i64(before),
	    .limit = db_v_i64(limit)};

	return (db_run(
	    db, SQL_MESSAGE_ENTRIES, DB_PARAMS(v), each_entry, &x, NULL, err));
}

struct history_each {
	store_history_fn each;
	void *arg;
	bool with_conversation;
	int count;
};

static enum rc
each_history(void *arg, const struct db_row *row, struct err *err)
{
	static const struct content content = {
	    .content_type = COL_HISTORY_CONTENT_TYPE,
	    .metadata = COL_HISTORY_METADATA,
	    .correlation_id = COL_HISTORY_CORRELATION_ID,
	    .reply_to = COL_HISTORY_REPLY_TO};
	struct history_each *x = arg;
	struct store_history h;

	memset(&h, 0, sizeof(h));
	h.message.id = db_row_uuid(row, COL_HISTORY_MESSAGE_ID);
	h.event_id = db_row_uuid(row, COL_HISTORY_EVENT_ID);
	h.conversation_seq = db_row_i64(row, COL_HISTORY_CONVERSATION_SEQ);
	h.sender_id = db_row_i64(row, COL_HISTORY_SENDER_ID);
	h.sender = db_row_text(row, COL_HISTORY_SENDER, NULL);
	h.message.body =
	    db_row_text(row, COL_HISTORY_BODY, &h.message.body_len);
	read_content(row, &content, &h.message);
	h.event_time = db_row_i64(row, COL_HISTORY_EVENT_TIME);
	if (x->with_conversation) {
		h.conversation =
		    db_row_uuid(row, COL_MESSAGE_VISIBLE_PUBLIC_ID);
		h.conversation_id =
		    db_row_i64(row, COL_MESSAGE_VISIBLE_CONVERSATION_ID);
	}
	x->count++;
	return (x->each(x->arg, &h, err));
}

enum rc
store_history(struct db *db, const struct store_history_query *query,
    store_history_fn each, void *arg, struct err *err)
{
	struct history_each x = {each, arg, false, 0};
	const struct sql_history_before v = {
	    .conversation_id = db_v_i64(query->conversation_id),
	    .user_id = db_v_i64(query->user_id),
	    .seq = db_v_i64(query->seq),
	    .delivered_upto = db_v_i64(query->delivered_upto),
	    .limit = db_v_i64(query->limit)};

	return (
	    db_run(db, query->before ? SQL_HISTORY_BEFORE : SQL_HISTORY_AFTER,
		DB_PARAMS(v), each_history, &x, NULL, err));
}

enum rc
store_message_visible(struct db *db, int64_t user_id, const struct uuid *id,
    store_history_fn each, void *arg, struct err *err)
{
	struct history_each x = {each, arg, true, 0};
	const struct sql_message_visible v = {
	    .message_id = db_v_uuid(id), .user_id = db_v_i64(user_id)};
	enum rc rc;

	rc = db_run(
	    db, SQL_MESSAGE_VISIBLE, DB_PARAMS(v), each_history, &x, NULL, err);
	if (rc == RC_OK && x.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- what a user has sent ---- */

/* How many messages one statement reads. */
#define SIZES_PAGE 1000

struct sizes_each {
	const struct store_sizes_query *query;
	struct store_sizes *sum;
	int64_t last_mid;
	int rows;
};

static enum rc
add_sizes(void *arg, const struct db_row *row, struct err *err)
{
	struct sizes_each *x = arg;
	const int64_t created_at =
	    db_row_i64(row, COL_MESSAGE_SIZES_CREATED_AT);

	(void)err;
	if (created_at < x->query->from_ms)
		return (RC_LIMIT);
	x->last_mid = db_row_i64(row, COL_MESSAGE_SIZES_MID);
	x->rows++;
	if (created_at < x->query->before_ms) {
		x->sum->messages++;
		x->sum->bytes += db_row_i64(row, COL_MESSAGE_SIZES_BYTES);
	}
	return (RC_OK);
}

enum rc
store_sizes_get(struct db *db, const struct store_sizes_query *query,
    struct store_sizes *ret, struct err *err)
{
	struct store_sizes sum = {0, 0};
	struct sizes_each x = {query, &sum, INT64_MAX, 0};
	struct sql_message_sizes v = {.sender_id = db_v_i64(query->sender_id),
	    .limit = db_v_i64(SIZES_PAGE)};
	enum rc rc;

	do {
		x.rows = 0;
		v.before = db_v_i64(x.last_mid);
		rc = db_run(db, SQL_MESSAGE_SIZES, DB_PARAMS(v), add_sizes, &x,
		    NULL, err);
	} while (rc == RC_OK && x.rows == SIZES_PAGE);
	if (rc == RC_LIMIT)
		rc = RC_OK;
	if (rc == RC_OK)
		*ret = sum;
	return (rc);
}
