/* SPDX-License-Identifier: MIT */
/*
 * Rows of inboxes, and how they become events.
 */
#include <string.h>

#include "model/outbox.h"
#include "schema/sql.h"
#include "store/conversation.h"
#include "store/inbox.h"
#include "store/rows.h"

struct event_each {
	store_event_fn each;
	void *arg;
};

static void
read_message(const struct db_row *row, struct message_view *m)
{

	m->id = db_row_uuid(row, 10);
	m->body = db_row_text(row, 11, &m->body_len);
	m->content_type = db_row_text(row, 12, NULL);
	if (m->content_type == NULL)
		m->content_type = "text/plain";
	m->metadata = db_row_text(row, 13, &m->metadata_len);
	m->correlation_id = db_row_text(row, 14, NULL);
	m->has_reply_to = !db_row_null(row, 15);
	m->reply_to = db_row_uuid(row, 15);
}

static enum rc
each_event(void *arg, const struct db_row *row, struct err *err)
{
	struct event_each *x = arg;
	struct event_view e;
	char to[LIMIT_ADDRESS_LEN + 1], reason[33];
	const char *key;
	size_t key_len;

	memset(&e, 0, sizeof(e));
	e.seq = db_row_i64(row, 0);
	e.kind = (int)db_row_i64(row, 1);
	e.own = db_row_i64(row, 2) != 0;
	e.event_id = db_row_uuid(row, 3);
	e.conversation = db_row_uuid(row, 4);
	e.conversation_seq = db_row_i64(row, 5);
	e.from = db_row_text(row, 6, NULL);
	e.event_time = db_row_i64(row, 7);
	e.delivered_at = db_row_i64(row, 8);
	e.attempt = (int)db_row_i64(row, 9);
	read_message(row, &e.message);
	e.of = e.message.id;
	key = db_row_text(row, 16, &key_len);
	if (e.from != NULL && store_direct_other(key, key_len, e.from, to))
		e.to = to;
	if (e.kind == EVENT_MESSAGE && !e.own &&
	    e.conversation_seq <= db_row_i64(row, 17))
		e.read_at = db_row_i64(row, 18);
	if (e.kind == EVENT_BOUNCE) {
		db_row_copy_text(row, 19, reason, sizeof(reason));
		outbox_bounce_view(&e, outbox_reason_parse(reason));
	}
	return (x->each(x->arg, &e, err));
}

enum rc
store_inbox_page(struct db *db, int64_t user_id,
    const struct store_range *range, store_event_fn each, void *arg,
    struct err *err)
{
	struct event_each x = {each, arg};
	struct db_val v[4];

	v[0] = db_v_i64(user_id);
	v[1] = db_v_i64(range->after);
	v[2] = db_v_i64(range->upto);
	v[3] = db_v_i64(range->limit);
	return (db_run(db, SQL_INBOX_PAGE, v, 4, each_event, &x, NULL, err));
}

struct range_each {
	store_inbox_fn each;
	void *arg;
};

static enum rc
each_range(void *arg, const struct db_row *row, struct err *err)
{
	struct range_each *x = arg;
	struct store_inbox_message m;

	m.seq = db_row_i64(row, 0);
	m.mid = db_row_i64(row, 1);
	m.conversation_id = db_row_i64(row, 2);
	m.conversation_seq = db_row_i64(row, 3);
	m.sender_id = db_row_i64(row, 4);
	m.outbox_id = db_row_i64(row, 5);
	m.own = false;
	return (x->each(x->arg, &m, err));
}

enum rc
store_inbox_range(struct db *db, int64_t user_id, int64_t after, int64_t upto,
    store_inbox_fn each, void *arg, struct err *err)
{
	struct range_each x = {each, arg};
	struct db_val v[3];

	v[0] = db_v_i64(user_id);
	v[1] = db_v_i64(after);
	v[2] = db_v_i64(upto);
	return (db_run(db, SQL_INBOX_RANGE, v, 3, each_range, &x, NULL, err));
}

static enum rc
take_found(void *arg, const struct db_row *row, struct err *err)
{
	struct store_inbox_message *m = arg;

	(void)err;
	m->seq = db_row_i64(row, 0);
	m->mid = db_row_i64(row, 1);
	m->conversation_id = db_row_i64(row, 2);
	m->conversation_seq = db_row_i64(row, 3);
	m->sender_id = db_row_i64(row, 4);
	m->outbox_id = 0;
	m->own = db_row_i64(row, 5) != 0;
	return (RC_OK);
}

enum rc
store_inbox_find(struct db *db, int64_t user_id, const struct uuid *id,
    struct store_inbox_message *ret, struct err *err)
{
	struct db_val v[2];
	enum rc rc;

	ret->mid = 0;
	v[0] = db_v_uuid(id);
	v[1] = db_v_i64(user_id);
	rc = db_run(db, SQL_INBOX_MESSAGE, v, 2, take_found, ret, NULL, err);
	if (rc == RC_OK && ret->mid == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

static enum rc
take_last(void *arg, const struct db_row *row, struct err *err)
{
	struct store_inbox_message *m = arg;

	(void)err;
	m->mid = db_row_i64(row, 0);
	m->conversation_seq = db_row_i64(row, 1);
	m->sender_id = db_row_i64(row, 2);
	return (RC_OK);
}

enum rc
store_last_of_others(struct db *db, int64_t conversation_id, int64_t user_id,
    int64_t after, int64_t upto, struct store_inbox_message *ret,
    struct err *err)
{
	struct db_val v[4];
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	ret->conversation_id = conversation_id;
	v[0] = db_v_i64(conversation_id);
	v[1] = db_v_i64(upto);
	v[2] = db_v_i64(user_id);
	v[3] = db_v_i64(after);
	rc = db_run(
	    db, SQL_MESSAGE_LAST_OF_OTHERS, v, 4, take_last, ret, NULL, err);
	if (rc == RC_OK && ret->mid == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

struct head_each {
	enum rc (*each)(
	    void *arg, int64_t user_id, int64_t head, struct err *err);
	void *arg;
};

static enum rc
take_head(void *arg, const struct db_row *row, struct err *err)
{
	const struct head_each *e = arg;

	return (e->each(e->arg, db_row_i64(row, 0), db_row_i64(row, 1), err));
}

enum rc
store_inbox_heads(struct db *db, const int64_t *users, size_t n,
    enum rc (*each)(void *arg, int64_t user_id, int64_t head, struct err *err),
    void *arg, struct err *err)
{
	struct head_each e = {each, arg};

	return (
	    store_run_ids(db, SQL_INBOX_HEADS, users, n, take_head, &e, err));
}
