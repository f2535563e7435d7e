/* SPDX-License-Identifier: MIT */
/*
 * Rows of messages, and how they become views.
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

	k->mid = db_row_i64(row, 0);
	k->sender_id = db_row_i64(row, 1);
	p = db_row_blob(row, 2, &n);
	if (p == NULL || n != sizeof(k->fingerprint))
		return (err_set(err, RC_CORRUPT, "a message's fingerprint"));
	memcpy(k->fingerprint, p, n);
	return (RC_OK);
}

enum rc
store_message_key(struct db *db, const struct uuid *id,
    struct store_message_key *ret, struct err *err)
{
	struct db_val v;
	enum rc rc;

	ret->mid = 0;
	v = db_v_uuid(id);
	rc = db_run(db, SQL_MESSAGE_KEY, &v, 1, take_key, ret, NULL, err);
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
	*f->id = db_row_uuid(row, 0);
	f->found = true;
	return (RC_OK);
}

enum rc
store_message_uuid(
    struct db *db, int64_t mid, struct uuid *ret, struct err *err)
{
	struct uuid_found f = {ret, false};
	struct db_val v;
	enum rc rc;

	v = db_v_i64(mid);
	rc = db_run(db, SQL_MESSAGE_UUID, &v, 1, take_uuid, &f, NULL, err);
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
	ids->ids[ids->n++] = db_row_i64(row, 0);
	return (RC_OK);
}

enum rc
store_message_rows(struct db *db, const struct uuid *id, int64_t *ret,
    size_t max, size_t *ret_n, struct err *err)
{
	struct row_ids ids = {ret, 0};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_uuid(id);
	v[1] = db_v_i64((int64_t)max);
	rc = db_run(db, SQL_MESSAGE_ROWS, v, 2, take_row_id, &ids, NULL, err);
	*ret_n = ids.n;
	return (rc);
}

/* Reads content_type, metadata, correlation_id, reply_to from ${col} on. */
static void
read_content(const struct db_row *row, int col, struct message_view *m)
{

	m->content_type = db_row_text(row, col, NULL);
	if (m->content_type == NULL)
		m->content_type = "text/plain";
	m->metadata = db_row_text(row, col + 1, &m->metadata_len);
	m->correlation_id = db_row_text(row, col + 2, NULL);
	m->has_reply_to = !db_row_null(row, col + 3);
	m->reply_to = db_row_uuid(row, col + 3);
}

struct entry_each {
	store_entry_fn each;
	void *arg;
	int count;
};

static enum rc
each_entry(void *arg, const struct db_row *row, struct err *err)
{
	struct entry_each *x = arg;
	struct store_entry e;
	const char *kind;

	memset(&e, 0, sizeof(e));
	e.mid = db_row_i64(row, 0);
	e.message.id = db_row_uuid(row, 1);
	e.event_id = db_row_uuid(row, 2);
	e.conversation = db_row_uuid(row, 3);
	e.conversation_seq = db_row_i64(row, 4);
	read_content(row, 5, &e.message);
	e.priority = (int)db_row_i64(row, 9);
	e.event_time = db_row_i64(row, 10);
	e.created_at = db_row_i64(row, 11);
	kind = db_row_text(row, 12, NULL);
	e.direct = kind != NULL && strcmp(kind, "direct") == 0;
	e.conversation_id = db_row_i64(row, 13);
	x->count++;
	return (x->each(x->arg, &e, err));
}

enum rc
store_entry_get(struct db *db, int64_t sender_id, const struct uuid *id,
    store_entry_fn each, void *arg, struct err *err)
{
	struct entry_each x = {each, arg, 0};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_uuid(id);
	v[1] = db_v_i64(sender_id);
	rc = db_run(db, SQL_MESSAGE_ENTRY, v, 2, each_entry, &x, NULL, err);
	if (rc == RC_OK && x.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_entries(struct db *db, int64_t sender_id, int64_t before, int64_t limit,
    store_entry_fn each, void *arg, struct err *err)
{
	struct entry_each x = {each, arg, 0};
	struct db_val v[3];

	v[0] = db_v_i64(sender_id);
	v[1] = db_v_i64(before);
	v[2] = db_v_i64(limit);
	return (
	    db_run(db, SQL_MESSAGE_ENTRIES, v, 3, each_entry, &x, NULL, err));
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
	struct history_each *x = arg;
	struct store_history h;

	memset(&h, 0, sizeof(h));
	h.message.id = db_row_uuid(row, 0);
	h.event_id = db_row_uuid(row, 1);
	h.conversation_seq = db_row_i64(row, 2);
	h.sender_id = db_row_i64(row, 3);
	h.sender = db_row_text(row, 4, NULL);
	h.message.body = db_row_text(row, 5, &h.message.body_len);
	read_content(row, 6, &h.message);
	h.event_time = db_row_i64(row, 10);
	if (x->with_conversation) {
		h.conversation = db_row_uuid(row, 11);
		h.conversation_id = db_row_i64(row, 12);
	}
	x->count++;
	return (x->each(x->arg, &h, err));
}

enum rc
store_history(struct db *db, const struct store_history_query *query,
    store_history_fn each, void *arg, struct err *err)
{
	struct history_each x = {each, arg, false, 0};
	struct db_val v[5];

	v[0] = db_v_i64(query->conversation_id);
	v[1] = db_v_i64(query->user_id);
	v[2] = db_v_i64(query->seq);
	v[3] = db_v_i64(query->delivered_upto);
	v[4] = db_v_i64(query->limit);
	return (
	    db_run(db, query->before ? SQL_HISTORY_BEFORE : SQL_HISTORY_AFTER,
		v, 5, each_history, &x, NULL, err));
}

enum rc
store_message_visible(struct db *db, int64_t user_id, const struct uuid *id,
    store_history_fn each, void *arg, struct err *err)
{
	struct history_each x = {each, arg, true, 0};
	struct db_val v[2];
	enum rc rc;

	v[0] = db_v_uuid(id);
	v[1] = db_v_i64(user_id);
	rc = db_run(db, SQL_MESSAGE_VISIBLE, v, 2, each_history, &x, NULL, err);
	if (rc == RC_OK && x.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- what a user has sent ---- */

/* Messages of one page. */
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
	const int64_t created_at = db_row_i64(row, 1);

	(void)err;
	if (created_at < x->query->from_ms)
		return (RC_LIMIT);
	x->last_mid = db_row_i64(row, 0);
	x->rows++;
	if (created_at < x->query->before_ms) {
		x->sum->messages++;
		x->sum->bytes += db_row_i64(row, 2);
	}
	return (RC_OK);
}

enum rc
store_sizes_get(struct db *db, const struct store_sizes_query *query,
    struct store_sizes *ret, struct err *err)
{
	struct store_sizes sum = {0, 0};
	struct sizes_each x = {query, &sum, INT64_MAX, 0};
	struct db_val v[3];
	enum rc rc;

	do {
		x.rows = 0;
		v[0] = db_v_i64(query->sender_id);
		v[1] = db_v_i64(x.last_mid);
		v[2] = db_v_i64(SIZES_PAGE);
		rc = db_run(
		    db, SQL_MESSAGE_SIZES, v, 3, add_sizes, &x, NULL, err);
	} while (rc == RC_OK && x.rows == SIZES_PAGE);
	if (rc == RC_LIMIT)
		rc = RC_OK;
	if (rc == RC_OK)
		*ret = sum;
	return (rc);
}
