/* SPDX-License-Identifier: MIT */
/*
 * Reads rows of inboxes and turns them into events.
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

	m->id = db_row_uuid(row, COL_INBOX_PAGE_MESSAGE_ID);
	m->body = db_row_text(row, COL_INBOX_PAGE_BODY, &m->body_len);
	m->content_type = db_row_text(row, COL_INBOX_PAGE_CONTENT_TYPE, NULL);
	if (m->content_type == NULL)
		m->content_type = "text/plain";
	m->metadata =
	    db_row_text(row, COL_INBOX_PAGE_METADATA, &m->metadata_len);
	m->correlation_id =
	    db_row_text(row, COL_INBOX_PAGE_CORRELATION_ID, NULL);
	m->has_reply_to = !db_row_null(row, COL_INBOX_PAGE_REPLY_TO);
	m->reply_to = db_row_uuid(row, COL_INBOX_PAGE_REPLY_TO);
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
	e.seq = db_row_i64(row, COL_INBOX_PAGE_SEQ);
	e.kind = (int)db_row_i64(row, COL_INBOX_PAGE_KIND);
	e.own = db_row_i64(row, COL_INBOX_PAGE_OWN) != 0;
	e.event_id = db_row_uuid(row, COL_INBOX_PAGE_EVENT_ID);
	e.conversation = db_row_uuid(row, COL_INBOX_PAGE_PUBLIC_ID);
	e.conversation_seq = db_row_i64(row, COL_INBOX_PAGE_CONVERSATION_SEQ);
	e.from = db_row_text(row, COL_INBOX_PAGE_ACTOR, NULL);
	e.event_time = db_row_i64(row, COL_INBOX_PAGE_EVENT_TIME);
	e.delivered_at = db_row_i64(row, COL_INBOX_PAGE_DELIVERED_AT);
	e.attempt = (int)db_row_i64(row, COL_INBOX_PAGE_ATTEMPT);
	read_message(row, &e.message);
	e.of = e.message.id;
	key = db_row_text(row, COL_INBOX_PAGE_DIRECT_KEY, &key_len);
	if (e.from != NULL && store_direct_other(key, key_len, e.from, to))
		e.to = to;
	if (e.kind == EVENT_MESSAGE && !e.own &&
	    e.conversation_seq <= db_row_i64(row, COL_INBOX_PAGE_READ_UPTO))
		e.read_at = db_row_i64(row, COL_INBOX_PAGE_READ_AT);
	if (e.kind == EVENT_BOUNCE) {
		db_row_copy_text(
		    row, COL_INBOX_PAGE_REASON, reason, sizeof(reason));
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
	const struct sql_inbox_page v = {.user_id = db_v_i64(user_id),
	    .after = db_v_i64(range->after),
	    .upto = db_v_i64(range->upto),
	    .limit = db_v_i64(range->limit)};

	return (db_run(
	    db, SQL_INBOX_PAGE, DB_PARAMS(v), each_event, &x, NULL, err));
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

	m.seq = db_row_i64(row, COL_INBOX_RANGE_SEQ);
	m.mid = db_row_i64(row, COL_INBOX_RANGE_MID);
	m.conversation_id = db_row_i64(row, COL_INBOX_RANGE_CONVERSATION_ID);
	m.conversation_seq = db_row_i64(row, COL_INBOX_RANGE_CONVERSATION_SEQ);
	m.sender_id = db_row_i64(row, COL_INBOX_RANGE_ACTOR_ID);
	m.outbox_id = db_row_i64(row, COL_INBOX_RANGE_OUTBOX_ID);
	m.own = false;
	return (x->each(x->arg, &m, err));
}

enum rc
store_inbox_range(struct db *db, int64_t user_id, int64_t after, int64_t upto,
    store_inbox_fn each, void *arg, struct err *err)
{
	struct range_each x = {each, arg};
	const struct sql_inbox_range v = {.user_id = db_v_i64(user_id),
	    .after = db_v_i64(after),
	    .upto = db_v_i64(upto)};

	return (db_run(
	    db, SQL_INBOX_RANGE, DB_PARAMS(v), each_range, &x, NULL, err));
}

static enum rc
take_found(void *arg, const struct db_row *row, struct err *err)
{
	struct store_inbox_message *m = arg;

	(void)err;
	m->seq = db_row_i64(row, COL_INBOX_MESSAGE_SEQ);
	m->mid = db_row_i64(row, COL_INBOX_MESSAGE_MID);
	m->conversation_id = db_row_i64(row, COL_INBOX_MESSAGE_CONVERSATION_ID);
	m->conversation_seq =
	    db_row_i64(row, COL_INBOX_MESSAGE_CONVERSATION_SEQ);
	m->sender_id = db_row_i64(row, COL_INBOX_MESSAGE_ACTOR_ID);
	m->outbox_id = 0;
	m->own = db_row_i64(row, COL_INBOX_MESSAGE_OWN) != 0;
	return (RC_OK);
}

enum rc
store_inbox_find(struct db *db, int64_t user_id, const struct uuid *id,
    struct store_inbox_message *ret, struct err *err)
{
	const struct sql_inbox_message v = {
	    .message_id = db_v_uuid(id), .user_id = db_v_i64(user_id)};
	enum rc rc;

	ret->mid = 0;
	rc = db_run(
	    db, SQL_INBOX_MESSAGE, DB_PARAMS(v), take_found, ret, NULL, err);
	if (rc == RC_OK && ret->mid == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

static enum rc
take_last(void *arg, const struct db_row *row, struct err *err)
{
	struct store_inbox_message *m = arg;

	(void)err;
	m->mid = db_row_i64(row, COL_MESSAGE_LAST_OF_OTHERS_MID);
	m->conversation_seq =
	    db_row_i64(row, COL_MESSAGE_LAST_OF_OTHERS_CONVERSATION_SEQ);
	m->sender_id = db_row_i64(row, COL_MESSAGE_LAST_OF_OTHERS_SENDER_ID);
	return (RC_OK);
}

enum rc
store_last_of_others(struct db *db, int64_t conversation_id, int64_t user_id,
    int64_t after, int64_t upto, struct store_inbox_message *ret,
    struct err *err)
{
	const struct sql_message_last_of_others v = {
	    .conversation_id = db_v_i64(conversation_id),
	    .upto = db_v_i64(upto),
	    .user_id = db_v_i64(user_id),
	    .after = db_v_i64(after)};
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	ret->conversation_id = conversation_id;
	rc = db_run(db, SQL_MESSAGE_LAST_OF_OTHERS, DB_PARAMS(v), take_last,
	    ret, NULL, err);
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

	return (e->each(e->arg, db_row_i64(row, COL_INBOX_HEADS_USER_ID),
	    db_row_i64(row, COL_INBOX_HEADS_HEAD), err));
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
