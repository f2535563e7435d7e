/* SPDX-License-Identifier: MIT */
/*
 * See lock.h.
 */
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "store/lock.h"
#include "store/store_internal.h"

/* The parameters of a statement, row by row. */
struct rows {
	void *v; /* values or structs of values; NULL: out of memory */
	size_t width, n;
};

/* ${n} rows at ${v}. */
#define ROWS(v, n)                                                             \
	((struct rows){(v), sizeof(*(v)) / sizeof(struct db_val), (n)})

/* Queues ${stmt} for ${rows}, which it frees; ${each} is called with ${h}. */
static enum rc
ask(struct db *db, int stmt, struct rows rows, db_row_fn each,
    const struct store_lock_handler *h, struct err *err)
{
	const struct db_set set = {rows.v, rows.width, rows.n};
	enum rc rc;

	if (rows.v == NULL)
		return (err_set(err, RC_NO_MEMORY, "hold"));
	rc = db_pipeline_query(db, stmt, &set, each, (void *)(uintptr_t)h, err);
	mem_free(rows.v);
	return (rc);
}

/* One value for each of ${n} ids. */
static struct rows
of_ids(const int64_t *ids, size_t n)
{
	struct db_val *v = mem_zalloc(n, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++)
		v[i] = db_v_i64(ids[i]);
	return (ROWS(v, n));
}

enum rc
store_lock_answers(struct db *db, struct err *err)
{

	return (db_pipeline_flush(db, err));
}

/* ---- new names ---- */

static struct rows
of_names(const char *const *names, size_t n)
{
	struct db_val *v = mem_zalloc(n, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++)
		v[i] = db_v_str(names[i]);
	return (ROWS(v, n));
}

enum rc
store_lock_names(
    struct db *db, const char *const *names, size_t n, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_NAMES, of_names(names, n), NULL, NULL,
			     err));
}

static enum rc
take_name_held(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->name_taken(h->arg,
	    (size_t)db_row_i64(row, COL_LOCK_NAMES_SKIP_NUMBER) - 1, err));
}

enum rc
store_lock_names_skip(struct db *db, const char *const *names, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_NAMES_SKIP, of_names(names, n),
			     take_name_held, h, err));
}

/* ---- users ---- */

static enum rc
take_user(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	struct store_user user;

	store_read_user(row, &user);
	return (h->user(h->arg, &user, err));
}

enum rc
store_lock_users(struct db *db, const struct store_user_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	struct sql_lock_users *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[i].user_id = db_v_i64_or_null(keys[i].user_id, 0);
		if (keys[i].name != NULL)
			v[i].name = db_v_text(keys[i].name, keys[i].n);
	}
	return (ask(db, SQL_LOCK_USERS, ROWS(v, n), take_user, h, err));
}

/* ---- conversations ---- */

static enum rc
take_about(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (
	    h->about(h->arg, (size_t)db_row_i64(row, COL_LOCK_ABOUT_NUMBER) - 1,
		db_row_i64(row, COL_LOCK_ABOUT_CONVERSATION_ID), err));
}

enum rc
store_lock_about(struct db *db, const struct store_about *about, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	struct sql_lock_about *v = mem_zalloc(n, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++) {
		if (about[i].message_id != NULL)
			v[i].message_id = db_v_uuid(about[i].message_id);
		v[i].dead_id = db_v_i64_or_null(about[i].dead_id, 0);
	}
	return (ask(db, SQL_LOCK_ABOUT, ROWS(v, n), take_about, h, err));
}

static enum rc
take_conversation(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	struct store_conversation c;
	enum rc rc;

	rc = store_read_conversation(row, &c, err);
	return (rc == RC_OK ? h->conversation(h->arg, &c, err) : rc);
}

/* The parameters of lock_conversations and of lock_find, which are the same. */
static struct rows
of_keys(const struct store_conversation_key *keys, size_t n)
{
	struct sql_lock_conversations *v = mem_zalloc(n, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++) {
		if (keys[i].public_id != NULL)
			v[i].public_id = db_v_uuid(keys[i].public_id);
		v[i].user_id = db_v_i64_or_null(keys[i].user_id, 0);
		v[i].name = db_v_str(keys[i].with);
		v[i].lane_id = db_v_i64_or_null(keys[i].lane_id, 0);
		v[i].acked_upto = db_v_i64_or_null(keys[i].acked_upto, 0);
		v[i].conversation_id =
		    db_v_i64_or_null(keys[i].conversation_id, 0);
		v[i].read_upto = db_v_i64_or_null(keys[i].read_upto, 0);
		v[i].direct_key = db_v_str(keys[i].direct_key);
	}
	return (ROWS(v, n));
}

enum rc
store_lock_conversations(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_CONVERSATIONS, of_keys(keys, n),
			     take_conversation, h, err));
}

static enum rc
take_found(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (
	    h->found(h->arg, (size_t)db_row_i64(row, COL_LOCK_FIND_NUMBER) - 1,
		db_row_i64(row, COL_LOCK_FIND_CONVERSATION_ID),
		db_row_i64(row, COL_LOCK_FIND_INBOX_USER_ID), err));
}

enum rc
store_lock_find(struct db *db, const struct store_conversation_key *keys,
    size_t n, const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_FIND, of_keys(keys, n), take_found, h,
			     err));
}

enum rc
store_lock_conversations_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_CONVERSATIONS_SKIP, of_ids(ids, n),
			     take_conversation, h, err));
}

enum rc
store_lock_due(struct db *db, int64_t now_ms, int64_t limit,
    const struct store_lock_handler *h, struct err *err)
{
	const struct sql_lock_due v = {
	    .now = db_v_i64(now_ms), .limit = db_v_i64(limit)};

	return (db_pipeline_query(db, SQL_LOCK_DUE, &DB_SET(&v, 1),
	    take_conversation, (void *)(uintptr_t)h, err));
}

static enum rc
take_member(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	struct store_lock_member m;

	memset(&m, 0, sizeof(m));
	store_read_participant(row, &m.participant);
	m.conversation_id = db_row_i64(row, COL_LOCK_MEMBERS_CONVERSATION_ID);
	m.user.user_id = m.participant.user_id;
	memcpy(m.user.name, m.participant.name, sizeof(m.participant.name));
	m.user.disabled = !db_row_null(row, COL_LOCK_MEMBERS_DISABLED_AT);
	m.user.destination_id =
	    db_row_i64(row, COL_LOCK_MEMBERS_DESTINATION_ID);
	return (h->member(h->arg, &m, err));
}

enum rc
store_lock_members(struct db *db, const int64_t *conversations, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	if (n == 0)
		return (RC_OK);
	return (ask(db, SQL_LOCK_MEMBERS, of_ids(conversations, n), take_member,
	    h, err));
}

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	struct store_lane lane;

	store_read_lane(row, &lane);
	return (h->lane(h->arg, &lane, err));
}

enum rc
store_lock_lanes_of(struct db *db, const int64_t *conversations, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	if (n == 0)
		return (RC_OK);
	return (ask(db, SQL_LOCK_LANES_OF, of_ids(conversations, n), take_lane,
	    h, err));
}

/* ---- inboxes and devices ---- */

static enum rc
take_inbox(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	const struct store_counter counter = {
	    .head = db_row_i64(row, COL_COUNTERS_HEAD),
	    .oldest = db_row_i64(row, COL_COUNTERS_OLDEST),
	    .acked = db_row_i64(row, COL_COUNTERS_ACKED),
	    .read = db_row_i64(row, COL_COUNTERS_READ_SEQ)};

	return (h->counter(
	    h->arg, db_row_i64(row, COL_COUNTERS_USER_ID), &counter, err));
}

enum rc
store_lock_counters(struct db *db, const int64_t *users, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	if (n == 0)
		return (RC_OK);
	return (
	    ask(db, SQL_LOCK_COUNTERS, of_ids(users, n), take_inbox, h, err));
}

enum rc
store_lock_inboxes(struct db *db, const int64_t *users, size_t n, bool more,
    const struct store_lock_handler *h, struct err *err)
{

	if (n == 0)
		return (RC_OK);
	return (ask(db, more ? SQL_LOCK_INBOXES_NOWAIT : SQL_LOCK_INBOXES,
	    of_ids(users, n), take_inbox, h, err));
}

enum rc
store_lock_inboxes_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_INBOXES_SKIP, of_ids(ids, n),
			     take_inbox, h, err));
}

static enum rc
take_device(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->device(h->arg, db_row_i64(row, COL_ACKED_DEVICE_DEVICE_ID),
	    db_row_i64(row, COL_ACKED_DEVICE_ACKED_SEQ), err));
}

enum rc
store_lock_devices(struct db *db, const int64_t *devices, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	if (n == 0)
		return (RC_OK);
	return (
	    ask(db, SQL_LOCK_DEVICES, of_ids(devices, n), take_device, h, err));
}

enum rc
store_lock_devices_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_DEVICES_SKIP, of_ids(ids, n),
			     take_device, h, err));
}

static enum rc
take_device_there(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->device_exists(
	    h->arg, db_row_i64(row, COL_LOCK_DEVICES_EXIST_DEVICE_ID), err));
}

enum rc
store_lock_devices_exist(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (n == 0 ? RC_OK
		       : ask(db, SQL_LOCK_DEVICES_EXIST, of_ids(ids, n),
			     take_device_there, h, err));
}

/* ---- message ids ---- */

static enum rc
take_key(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	const struct uuid id = db_row_uuid(row, COL_LOCK_KEYS_MESSAGE_ID);

	return (h->key(h->arg, &id, err));
}

enum rc
store_lock_keys(struct db *db, const struct uuid *ids, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	struct db_val *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++)
		v[i] = db_v_uuid(&ids[i]);
	return (ask(db, SQL_LOCK_KEYS, ROWS(v, n), take_key, h, err));
}

/* ---- new ids ---- */

static enum rc
take_message_id(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->message_id(h->arg, db_row_i64(row, COL_NEW_ID_ID), err));
}

static enum rc
take_outbox_id(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->outbox_id(h->arg, db_row_i64(row, COL_NEW_ID_ID), err));
}

static enum rc
ask_ids(struct db *db, int stmt, size_t n, db_row_fn each,
    const struct store_lock_handler *h, struct err *err)
{
	const struct sql_outbox_ids v = {.count = db_v_i64((int64_t)n)};
	const struct db_set set = DB_SET(&v, 1);

	return (n == 0 ? RC_OK
		       : db_pipeline_query(
			     db, stmt, &set, each, (void *)(uintptr_t)h, err));
}

enum rc
store_lock_message_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (ask_ids(db, SQL_MESSAGE_IDS, n, take_message_id, h, err));
}

enum rc
store_lock_outbox_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err)
{

	return (ask_ids(db, SQL_OUTBOX_IDS, n, take_outbox_id, h, err));
}
