/* SPDX-License-Identifier: MIT */
/*
 * See lock.h.
 */
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "store/lock.h"
#include "store/store_internal.h"

/* Rows of values on their way. */
struct rows {
	struct db_val *v; /* NULL: there was no memory */
	size_t width, n;
};

/* Asks ${stmt} for ${rows}, which are freed; ${each} gets the holder. */
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

/* A value for each of ${n} ids. */
static struct rows
of_ids(const int64_t *ids, size_t n)
{
	struct rows rows = {mem_zalloc(n, sizeof(*rows.v)), 1, n};
	size_t i;

	for (i = 0; rows.v != NULL && i < n; i++)
		rows.v[i] = db_v_i64(ids[i]);
	return (rows);
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
	struct rows rows = {mem_zalloc(n, sizeof(*rows.v)), 1, n};
	size_t i;

	for (i = 0; rows.v != NULL && i < n; i++)
		rows.v[i] = db_v_str(names[i]);
	return (rows);
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

	return (h->name_taken(h->arg, (size_t)db_row_i64(row, 0) - 1, err));
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
	struct db_val *v = mem_zalloc(2 * n + 1, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++) {
		v[2 * i] = db_v_i64_or_null(keys[i].user_id, 0);
		v[2 * i + 1] = keys[i].name != NULL
				   ? db_v_text(keys[i].name, keys[i].n)
				   : DB_V_NULL;
	}
	if (n == 0) {
		mem_free(v);
		return (RC_OK);
	}
	return (
	    ask(db, SQL_LOCK_USERS, (struct rows){v, 2, n}, take_user, h, err));
}

/* ---- conversations ---- */

static enum rc
take_about(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->about(
	    h->arg, (size_t)db_row_i64(row, 1) - 1, db_row_i64(row, 0), err));
}

enum rc
store_lock_about(struct db *db, const struct store_about *about, size_t n,
    const struct store_lock_handler *h, struct err *err)
{
	struct db_val *v = mem_zalloc(2 * n, sizeof(*v));
	size_t i;

	for (i = 0; v != NULL && i < n; i++) {
		v[2 * i] = about[i].message_id != NULL
			       ? db_v_uuid(about[i].message_id)
			       : DB_V_NULL;
		v[2 * i + 1] = db_v_i64_or_null(about[i].dead_id, 0);
	}
	return (ask(
	    db, SQL_LOCK_ABOUT, (struct rows){v, 2, n}, take_about, h, err));
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

static struct rows
of_keys(const struct store_conversation_key *keys, size_t n)
{
	struct rows rows = {mem_zalloc(n * 7, sizeof(*rows.v)), 7, n};
	struct db_val *v = rows.v;
	size_t i;

	for (i = 0; v != NULL && i < n; i++, v += 7) {
		v[0] = keys[i].public_id != NULL ? db_v_uuid(keys[i].public_id)
						 : DB_V_NULL;
		v[1] = db_v_i64_or_null(keys[i].user_id, 0);
		v[2] = db_v_str(keys[i].with);
		v[3] = db_v_i64_or_null(keys[i].lane_id, 0);
		v[4] = db_v_i64_or_null(keys[i].acked_upto, 0);
		v[5] = db_v_i64_or_null(keys[i].conversation_id, 0);
		v[6] = db_v_i64_or_null(keys[i].read_upto, 0);
	}
	return (rows);
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

	return (h->found(h->arg, (size_t)db_row_i64(row, 0) - 1,
	    db_row_i64(row, 1), db_row_i64(row, 2), err));
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
	const struct db_val v[2] = {db_v_i64(now_ms), db_v_i64(limit)};

	return (db_pipeline_query(db, SQL_LOCK_DUE, &(struct db_set){v, 2, 1},
	    take_conversation, (void *)(uintptr_t)h, err));
}

static enum rc
take_member(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;
	struct store_lock_member m;

	memset(&m, 0, sizeof(m));
	store_read_participant(row, &m.participant);
	m.conversation_id = db_row_i64(row, 12);
	m.user.user_id = m.participant.user_id;
	memcpy(m.user.name, m.participant.name, sizeof(m.participant.name));
	m.user.disabled = !db_row_null(row, 13);
	m.user.destination_id = db_row_i64(row, 14);
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
	const struct store_counter counter = {.head = db_row_i64(row, 1),
	    .oldest = db_row_i64(row, 2),
	    .acked = db_row_i64(row, 3),
	    .read = db_row_i64(row, 4)};

	return (h->counter(h->arg, db_row_i64(row, 0), &counter, err));
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

	return (h->device(h->arg, db_row_i64(row, 0), db_row_i64(row, 1), err));
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

	return (h->device_exists(h->arg, db_row_i64(row, 0), err));
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
	const struct uuid id = db_row_uuid(row, 0);

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
	return (
	    ask(db, SQL_LOCK_KEYS, (struct rows){v, 1, n}, take_key, h, err));
}

/* ---- new ids ---- */

static enum rc
take_message_id(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->message_id(h->arg, db_row_i64(row, 0), err));
}

static enum rc
take_outbox_id(void *arg, const struct db_row *row, struct err *err)
{
	const struct store_lock_handler *h = arg;

	return (h->outbox_id(h->arg, db_row_i64(row, 0), err));
}

static enum rc
ask_ids(struct db *db, int stmt, size_t n, db_row_fn each,
    const struct store_lock_handler *h, struct err *err)
{
	const struct db_val v = db_v_i64((int64_t)n);
	const struct db_set set = {&v, 1, 1};

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
