/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes rows of conversations and participants.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "store/conversation.h"
#include "store/store_internal.h"

void
store_direct_key(const char *a, const char *b, char ret[STORE_DIRECT_KEY_SIZE])
{
	bool ordered;

	ordered = strcmp(a, b) <= 0;
	(void)snprintf(ret, STORE_DIRECT_KEY_SIZE, "%s %s", ordered ? a : b,
	    ordered ? b : a);
}

bool
store_direct_other(const char *key, size_t n, const char *name,
    char ret[LIMIT_ADDRESS_LEN + 1])
{
	const char *space, *other;
	size_t len, first, other_len;

	len = strlen(name);
	space = key == NULL ? NULL : memchr(key, ' ', n);
	if (space == NULL)
		return (false);
	first = (size_t)(space - key);
	if (first == len && memcmp(key, name, len) == 0) {
		other = space + 1;
		other_len = n - first - 1;
	} else if (n - first - 1 == len && memcmp(space + 1, name, len) == 0) {
		other = key;
		other_len = first;
	} else {
		return (false);
	}
	if (other_len > LIMIT_ADDRESS_LEN)
		return (false);
	memcpy(ret, other, other_len);
	ret[other_len] = '\0';
	return (true);
}

/* The conversations that a statement adds; its result rows set their ids. */
struct adding {
	struct store_new_conversation *c;
	size_t n;
};

static enum rc
take_new(void *arg, const struct db_row *row, struct err *err)
{
	struct adding *a = arg;
	const struct uuid id =
	    db_row_uuid(row, COL_CONVERSATION_INSERT_PUBLIC_ID);
	size_t i = 0;

	while (i < a->n && !uuid_equal(&a->c[i].public_id, &id))
		i++;
	if (i == a->n)
		return (err_set(
		    err, RC_INTERNAL, "a conversation nobody has added"));
	a->c[i].conversation_id =
	    db_row_i64(row, COL_CONVERSATION_INSERT_CONVERSATION_ID);
	return (RC_OK);
}

enum rc
store_conversations_insert(struct db *db, struct store_new_conversation *c,
    size_t n, int64_t now_ms, struct err *err)
{
	struct adding a = {c, n};
	struct sql_conversation_insert *v;
	enum rc rc;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	if (v == NULL)
		return (err_set(err, RC_NO_MEMORY, "conversations"));
	for (i = 0; i < n; i++) {
		v[i].public_id = db_v_uuid(&c[i].public_id);
		v[i].kind =
		    db_v_str(c[i].direct_key != NULL ? "direct" : "group");
		v[i].direct_key = db_v_str(c[i].direct_key);
		v[i].now = db_v_i64(now_ms);
	}
	rc = db_run_many(
	    db, SQL_CONVERSATION_INSERT, &DB_SET(v, n), take_new, &a, err);
	mem_free(v);
	return (rc);
}

static bool
is_direct(const struct db_row *row, int col)
{
	const char *kind;
	size_t n;

	kind = db_row_text(row, col, &n);
	return (kind != NULL && n == 6 && memcmp(kind, "direct", 6) == 0);
}

enum rc
store_read_conversation(
    const struct db_row *row, struct store_conversation *c, struct err *err)
{
	const void *digest;
	size_t n;

	c->conversation_id = db_row_i64(row, COL_CONVERSATION_CONVERSATION_ID);
	c->public_id = db_row_uuid(row, COL_CONVERSATION_PUBLIC_ID);
	c->direct = is_direct(row, COL_CONVERSATION_KIND);
	c->last_seq = db_row_i64(row, COL_CONVERSATION_LAST_SEQ);
	memset(c->digest, 0, sizeof(c->digest));
	if (c->last_seq == 0)
		return (RC_OK);
	digest = db_row_blob(row, COL_CONVERSATION_LAST_DIGEST, &n);
	if (digest == NULL || n != sizeof(c->digest))
		return (err_set(err, RC_CORRUPT, "a conversation's digest"));
	memcpy(c->digest, digest, n);
	return (RC_OK);
}

static enum rc
take_conversation(void *arg, const struct db_row *row, struct err *err)
{

	return (store_read_conversation(row, arg, err));
}

static enum rc
get_conversation(struct db *db, int stmt, struct db_val key,
    struct store_conversation *ret, struct err *err)
{
	enum rc rc;

	ret->conversation_id = 0;
	rc = db_run(db, stmt, &key, 1, take_conversation, ret, NULL, err);
	if (rc == RC_OK && ret->conversation_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_conversation_by_key(struct db *db, const char *direct_key,
    struct store_conversation *ret, struct err *err)
{

	return (get_conversation(
	    db, SQL_CONVERSATION_BY_KEY, db_v_str(direct_key), ret, err));
}

enum rc
store_conversation_by_public(struct db *db, const struct uuid *id,
    struct store_conversation *ret, struct err *err)
{

	return (get_conversation(
	    db, SQL_CONVERSATION_BY_PUBLIC, db_v_uuid(id), ret, err));
}

enum rc
store_conversation_by_id(
    struct db *db, int64_t id, struct store_conversation *ret, struct err *err)
{

	return (get_conversation(
	    db, SQL_CONVERSATION_BY_ID, db_v_i64(id), ret, err));
}

enum rc
store_conversation_if_free(
    struct db *db, int64_t id, struct store_conversation *ret, struct err *err)
{

	return (get_conversation(
	    db, SQL_CONVERSATION_IF_FREE, db_v_i64(id), ret, err));
}

/* ---- participants ---- */

enum rc
store_members_insert(
    struct db *db, const struct store_new_member *m, size_t n, struct err *err)
{
	struct sql_participant_insert *v;
	enum rc rc;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	if (v == NULL)
		return (err_set(err, RC_NO_MEMORY, "members"));
	for (i = 0; i < n; i++) {
		v[i].conversation_id = db_v_i64(m[i].conversation_id);
		v[i].user_id = db_v_i64(m[i].user_id);
		v[i].role = db_v_str("member");
	}
	rc = db_pipeline_write(db, SQL_PARTICIPANT_INSERT, &DB_SET(v, n), err);
	mem_free(v);
	return (rc);
}

void
store_read_participant(const struct db_row *row, struct store_participant *p)
{

	p->user_id = db_row_i64(row, COL_PARTICIPANT_USER_ID);
	db_row_copy_text(row, COL_PARTICIPANT_NAME, p->name, sizeof(p->name));
	p->joined_seq = db_row_i64(row, COL_PARTICIPANT_JOINED_SEQ);
	p->left_seq = db_row_i64(row, COL_PARTICIPANT_LEFT_SEQ);
	p->delivered_upto = db_row_i64(row, COL_PARTICIPANT_DELIVERED_UPTO);
	p->acked_upto = db_row_i64(row, COL_PARTICIPANT_ACKED_UPTO);
	p->read_upto = db_row_i64(row, COL_PARTICIPANT_READ_UPTO);
	p->acked_at = db_row_i64(row, COL_PARTICIPANT_ACKED_AT);
	p->read_at = db_row_i64(row, COL_PARTICIPANT_READ_AT);
	p->shown_upto = db_row_i64(row, COL_PARTICIPANT_SHOWN_UPTO);
	p->shown_at = db_row_i64(row, COL_PARTICIPANT_SHOWN_AT);
}

struct participant_each {
	enum rc (*each)(
	    void *arg, const struct store_participant *p, struct err *err);
	void *arg;
};

static enum rc
each_participant(void *arg, const struct db_row *row, struct err *err)
{
	struct participant_each *e = arg;
	struct store_participant p;

	store_read_participant(row, &p);
	return (e->each(e->arg, &p, err));
}

enum rc
store_participants(struct db *db, int64_t conversation_id,
    enum rc (*each)(
	void *arg, const struct store_participant *p, struct err *err),
    void *arg, struct err *err)
{
	struct participant_each e = {each, arg};
	const struct sql_participants_of v = {
	    .conversation_id = db_v_i64(conversation_id)};

	return (db_run(db, SQL_PARTICIPANTS_OF, DB_PARAMS(v), each_participant,
	    &e, NULL, err));
}

static enum rc
take_participant(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	store_read_participant(row, arg);
	return (RC_OK);
}

enum rc
store_participant_get(struct db *db, int64_t conversation_id, int64_t user_id,
    struct store_participant *ret, struct err *err)
{
	const struct sql_participant_get v = {
	    .conversation_id = db_v_i64(conversation_id),
	    .user_id = db_v_i64(user_id)};
	enum rc rc;

	ret->user_id = 0;
	rc = db_run(db, SQL_PARTICIPANT_GET, DB_PARAMS(v), take_participant,
	    ret, NULL, err);
	if (rc == RC_OK && ret->user_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- lists and counts ---- */

static void
read_item(const struct db_row *row, struct store_conversation_item *item)
{

	item->conversation_id =
	    db_row_i64(row, COL_CONVERSATION_ITEM_CONVERSATION_ID);
	item->public_id = db_row_uuid(row, COL_CONVERSATION_ITEM_PUBLIC_ID);
	item->direct = is_direct(row, COL_CONVERSATION_ITEM_KIND);
	item->created_at = db_row_i64(row, COL_CONVERSATION_ITEM_CREATED_AT);
	item->delivered_upto =
	    db_row_i64(row, COL_CONVERSATION_ITEM_DELIVERED_UPTO);
	item->acked_upto = db_row_i64(row, COL_CONVERSATION_ITEM_ACKED_UPTO);
	item->read_upto = db_row_i64(row, COL_CONVERSATION_ITEM_READ_UPTO);
	item->unread = db_row_i64(row, COL_CONVERSATION_ITEM_UNREAD);
	item->last_seq = db_row_i64(row, COL_CONVERSATION_ITEM_LAST_SEQ);
	item->last_at = db_row_i64(row, COL_CONVERSATION_ITEM_LAST_AT);
}

struct item_each {
	enum rc (*each)(void *arg, const struct store_conversation_item *item,
	    struct err *err);
	void *arg;
};

static enum rc
each_item(void *arg, const struct db_row *row, struct err *err)
{
	struct item_each *e = arg;
	struct store_conversation_item item;

	read_item(row, &item);
	return (e->each(e->arg, &item, err));
}

enum rc
store_conversation_list(struct db *db, int64_t user_id, int64_t before,
    int64_t limit,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err)
{
	struct item_each e = {each, arg};
	const struct sql_conversation_list v = {.user_id = db_v_i64(user_id),
	    .before = db_v_i64(before),
	    .limit = db_v_i64(limit)};

	return (db_run(
	    db, SQL_CONVERSATION_LIST, DB_PARAMS(v), each_item, &e, NULL, err));
}

enum rc
store_conversation_recent(struct db *db, const struct store_recent_query *query,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err)
{
	struct item_each e = {each, arg};
	const struct sql_conversation_recent v = {
	    .user_id = db_v_i64(query->user_id),
	    .before_at = db_v_i64(query->before_at),
	    .before_id = db_v_uuid(&query->before_id),
	    .limit = db_v_i64(query->limit)};

	return (db_run(db, SQL_CONVERSATION_RECENT, DB_PARAMS(v), each_item, &e,
	    NULL, err));
}

static enum rc
take_item(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	read_item(row, arg);
	return (RC_OK);
}

enum rc
store_conversation_one(struct db *db, int64_t user_id,
    const struct uuid *public_id, struct store_conversation_item *ret,
    struct err *err)
{
	const struct sql_conversation_one v = {
	    .user_id = db_v_i64(user_id), .public_id = db_v_uuid(public_id)};
	enum rc rc;

	ret->conversation_id = 0;
	rc = db_run(
	    db, SQL_CONVERSATION_ONE, DB_PARAMS(v), take_item, ret, NULL, err);
	if (rc == RC_OK && ret->conversation_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_unread_total(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err)
{
	const struct sql_unread_total v = {.user_id = db_v_i64(user_id)};

	*ret = 0;
	return (db_run(
	    db, SQL_UNREAD_TOTAL, DB_PARAMS(v), db_take_i64, ret, NULL, err));
}

struct unread_each {
	void (*each)(void *arg, const struct uuid *conversation, int64_t unread,
	    int64_t last);
	void *arg;
};

static enum rc
each_unread(void *arg, const struct db_row *row, struct err *err)
{
	struct unread_each *e = arg;
	struct uuid id;

	(void)err;
	id = db_row_uuid(row, COL_UNREAD_LIST_PUBLIC_ID);
	e->each(e->arg, &id, db_row_i64(row, COL_UNREAD_LIST_UNREAD),
	    db_row_i64(row, COL_UNREAD_LIST_LAST_SEQ));
	return (RC_OK);
}

enum rc
store_unread_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct uuid *conversation, int64_t unread,
	int64_t last),
    void *arg, struct err *err)
{
	struct unread_each e = {each, arg};
	const struct sql_unread_list v = {.user_id = db_v_i64(user_id)};

	return (db_run(
	    db, SQL_UNREAD_LIST, DB_PARAMS(v), each_unread, &e, NULL, err));
}
