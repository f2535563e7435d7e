/* SPDX-License-Identifier: MIT */
/*
 * See hold.h.
 */
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "store/hold.h"
#include "store/read.h"

/* Rows of values on their way. */
struct rows {
	struct db_val *v; /* NULL: there was no memory */
	size_t width, n;
};

/* Runs ${stmt} for ${rows}, which are freed. */
static enum rc
run(struct db *db, int stmt, struct rows rows, db_row_fn each, void *arg,
    struct err *err)
{
	const struct db_set set = {rows.v, rows.width, rows.n};
	enum rc rc;

	if (rows.v == NULL)
		return (err_set(err, RC_NO_MEMORY, "hold"));
	rc = db_run_many(db, stmt, &set, each, arg, err);
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

/* What a row is given to.  The callbacks' types differ, so each function has
 * its own. */
#define EACH(type, ...)                                                        \
	struct type {                                                          \
		enum rc (*each)(__VA_ARGS__);                                  \
		void *arg;                                                     \
	}

EACH(lane_owner_each, void *, const struct store_lane_owner *, struct err *);
EACH(user_each, void *, const struct store_user *, struct err *);
EACH(
    conversation_each, void *, const struct store_conversation *, struct err *);
EACH(member_each, void *, const struct store_held_member *, struct err *);
EACH(lane_each, void *, const struct store_lane *, struct err *);
EACH(inbox_each, void *, int64_t, const struct store_counter *, struct err *);
EACH(device_each, void *, int64_t, int64_t, struct err *);
EACH(key_each, void *, const struct uuid *, struct err *);
EACH(acked_each, void *, int64_t, struct err *);

/* ---- lanes' owners ---- */

static enum rc
take_lane_owner(void *arg, const struct db_row *row, struct err *err)
{
	const struct lane_owner_each *e = arg;
	const struct store_lane_owner lane = {db_row_i64(row, 0),
	    db_row_i64(row, 1), db_row_i64(row, 2), db_row_i64(row, 3)};

	return (e->each(e->arg, &lane, err));
}

enum rc
store_hold_lanes(struct db *db, const int64_t *ids, size_t n,
    enum rc (*each)(
	void *arg, const struct store_lane_owner *lane, struct err *err),
    void *arg, struct err *err)
{
	struct lane_owner_each e = {each, arg};

	if (n == 0)
		return (RC_OK);
	return (
	    run(db, SQL_HOLD_LANES, of_ids(ids, n), take_lane_owner, &e, err));
}

/* ---- users ---- */

static enum rc
take_user(void *arg, const struct db_row *row, struct err *err)
{
	const struct user_each *e = arg;
	struct store_user user;

	store_read_user(row, &user);
	return (e->each(e->arg, &user, err));
}

enum rc
store_hold_users(struct db *db, const struct store_user_key *keys, size_t n,
    enum rc (*each)(void *arg, const struct store_user *user, struct err *err),
    void *arg, struct err *err)
{
	struct user_each e = {each, arg};
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
	return (run(
	    db, SQL_HOLD_USERS, (struct rows){v, 2, n}, take_user, &e, err));
}

/* ---- conversations ---- */

static enum rc
take_conversation(void *arg, const struct db_row *row, struct err *err)
{
	const struct conversation_each *e = arg;
	struct store_conversation c;
	enum rc rc;

	rc = store_read_conversation(row, &c, err);
	return (rc == RC_OK ? e->each(e->arg, &c, err) : rc);
}

enum rc
store_hold_conversations(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    enum rc (*each)(
	void *arg, const struct store_conversation *c, struct err *err),
    void *arg, struct err *err)
{
	struct conversation_each e = {each, arg};
	struct db_val *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(3 * n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[3 * i] = db_v_i64_or_null(keys[i].id, 0);
		v[3 * i + 1] = keys[i].public_id != NULL
				   ? db_v_uuid(keys[i].public_id)
				   : DB_V_NULL;
		v[3 * i + 2] = db_v_str(keys[i].direct);
	}
	return (run(db, SQL_HOLD_CONVERSATIONS, (struct rows){v, 3, n},
	    take_conversation, &e, err));
}

static enum rc
take_member(void *arg, const struct db_row *row, struct err *err)
{
	const struct member_each *e = arg;
	struct store_held_member m;

	memset(&m, 0, sizeof(m));
	store_read_participant(row, &m.participant);
	m.conversation_id = db_row_i64(row, 12);
	m.user.user_id = m.participant.user_id;
	memcpy(m.user.name, m.participant.name, sizeof(m.participant.name));
	m.user.disabled = !db_row_null(row, 13);
	m.user.destination_id = db_row_i64(row, 14);
	return (e->each(e->arg, &m, err));
}

enum rc
store_hold_members(struct db *db, const int64_t *conversations, size_t n,
    enum rc (*each)(
	void *arg, const struct store_held_member *m, struct err *err),
    void *arg, struct err *err)
{
	struct member_each e = {each, arg};

	if (n == 0)
		return (RC_OK);
	return (run(db, SQL_HOLD_MEMBERS, of_ids(conversations, n), take_member,
	    &e, err));
}

static enum rc
take_lane(void *arg, const struct db_row *row, struct err *err)
{
	const struct lane_each *e = arg;
	struct store_lane lane;

	store_read_lane(row, &lane);
	return (e->each(e->arg, &lane, err));
}

enum rc
store_hold_lanes_of(struct db *db, const int64_t *conversations, size_t n,
    enum rc (*each)(void *arg, const struct store_lane *lane, struct err *err),
    void *arg, struct err *err)
{
	struct lane_each e = {each, arg};

	if (n == 0)
		return (RC_OK);
	return (run(db, SQL_HOLD_LANES_OF, of_ids(conversations, n), take_lane,
	    &e, err));
}

/* ---- inboxes and devices ---- */

static enum rc
take_inbox(void *arg, const struct db_row *row, struct err *err)
{
	const struct inbox_each *e = arg;
	const struct store_counter counter = {.head = db_row_i64(row, 1),
	    .oldest = db_row_i64(row, 2),
	    .acked = db_row_i64(row, 3),
	    .read = db_row_i64(row, 4)};

	return (e->each(e->arg, db_row_i64(row, 0), &counter, err));
}

static enum rc
counters(struct db *db, int stmt, struct rows users, store_counter_fn each,
    void *arg, struct err *err)
{
	struct inbox_each e = {each, arg};

	return (run(db, stmt, users, take_inbox, &e, err));
}

enum rc
store_hold_counters(struct db *db, const int64_t *users, size_t n,
    store_counter_fn each, void *arg, struct err *err)
{

	if (n == 0)
		return (RC_OK);
	return (
	    counters(db, SQL_HOLD_COUNTERS, of_ids(users, n), each, arg, err));
}

enum rc
store_hold_inboxes(struct db *db, const int64_t *users, size_t n,
    store_counter_fn each, void *arg, struct err *err)
{

	if (n == 0)
		return (RC_OK);
	return (
	    counters(db, SQL_HOLD_INBOXES, of_ids(users, n), each, arg, err));
}

static enum rc
take_device(void *arg, const struct db_row *row, struct err *err)
{
	const struct device_each *e = arg;

	return (e->each(e->arg, db_row_i64(row, 0), db_row_i64(row, 1), err));
}

enum rc
store_hold_devices(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, int64_t device_id, int64_t acked, struct err *err),
    void *arg, struct err *err)
{
	struct device_each e = {each, arg};

	if (n == 0)
		return (RC_OK);
	return (run(
	    db, SQL_HOLD_DEVICES, of_ids(devices, n), take_device, &e, err));
}

/* ---- message ids and acks ---- */

static enum rc
take_key(void *arg, const struct db_row *row, struct err *err)
{
	const struct key_each *e = arg;
	const struct uuid id = db_row_uuid(row, 0);

	return (e->each(e->arg, &id, err));
}

enum rc
store_hold_keys(struct db *db, const struct uuid *ids, size_t n,
    enum rc (*each)(void *arg, const struct uuid *id, struct err *err),
    void *arg, struct err *err)
{
	struct key_each e = {each, arg};
	struct db_val *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++)
		v[i] = db_v_uuid(&ids[i]);
	return (
	    run(db, SQL_HOLD_KEYS, (struct rows){v, 1, n}, take_key, &e, err));
}

static enum rc
take_acked(void *arg, const struct db_row *row, struct err *err)
{
	const struct acked_each *e = arg;

	return (e->each(e->arg, db_row_i64(row, 0), err));
}

enum rc
store_hold_acked(struct db *db, const struct store_ack_key *keys, size_t n,
    enum rc (*each)(void *arg, int64_t conversation_id, struct err *err),
    void *arg, struct err *err)
{
	struct acked_each e = {each, arg};
	struct db_val *v;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(2 * n, sizeof(*v));
	for (i = 0; v != NULL && i < n; i++) {
		v[2 * i] = db_v_i64(keys[i].user_id);
		v[2 * i + 1] = db_v_i64(keys[i].upto);
	}
	return (run(
	    db, SQL_HOLD_ACKED, (struct rows){v, 2, n}, take_acked, &e, err));
}
