/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes rows of users, devices, inboxes and meta.
 */
#include <string.h>

#include "base/mem.h"
#include "schema/sql.h"
#include "store/account.h"
#include "store/rows.h"
#include "store/store_internal.h"

/* ---- users ---- */

enum rc
store_user_insert(struct db *db, const struct store_user *user, int64_t now_ms,
    int64_t *ret_user_id, struct err *err)
{
	struct sql_user_insert v = {.name = db_v_str(user->name),
	    .admin = db_v_i64(user->admin ? 1 : 0),
	    .now = db_v_i64(now_ms)};
	struct sql_counter_insert counter;
	int64_t id;
	enum rc rc;

	id = 0;
	if (user->display_name[0] != '\0')
		v.display_name = db_v_str(user->display_name);
	if (user->password_hash[0] != '\0')
		v.password_hash = db_v_str(user->password_hash);
	rc = db_run(
	    db, SQL_USER_INSERT, DB_PARAMS(v), db_take_i64, &id, NULL, err);
	if (rc != RC_OK)
		return (rc);
	if (id == 0)
		return (err_set(err, RC_EXISTS, "user %s exists", user->name));
	counter.user_id = db_v_i64(id);
	rc = db_run(
	    db, SQL_COUNTER_INSERT, DB_PARAMS(counter), NULL, NULL, NULL, err);
	if (rc == RC_OK)
		*ret_user_id = id;
	return (rc);
}

/* The users that a statement adds; its result rows set their ids. */
struct adding {
	struct store_remote_user *users;
	size_t n;
};

static enum rc
take_remote(void *arg, const struct db_row *row, struct err *err)
{
	struct adding *a = arg;
	const char *name;
	size_t i, len;

	name = db_row_text(row, COL_USER_REMOTE_INSERT_NAME, &len);
	for (i = 0; i < a->n; i++)
		if (strlen(a->users[i].address) == len &&
		    memcmp(a->users[i].address, name, len) == 0)
			break;
	if (i == a->n)
		return (err_set(err, RC_INTERNAL, "a user nobody has added"));
	a->users[i].user_id = db_row_i64(row, COL_USER_REMOTE_INSERT_USER_ID);
	return (RC_OK);
}

enum rc
store_users_remote_insert(struct db *db, struct store_remote_user *users,
    size_t n, int64_t destination_id, int64_t now_ms, struct err *err)
{
	struct adding a = {users, n};
	struct sql_user_remote_insert *v;
	enum rc rc;
	size_t i;

	if (n == 0)
		return (RC_OK);
	v = mem_zalloc(n, sizeof(*v));
	if (v == NULL)
		return (err_set(err, RC_NO_MEMORY, "users"));
	for (i = 0; i < n; i++) {
		v[i].name = db_v_str(users[i].address);
		v[i].now = db_v_i64(now_ms);
		v[i].destination_id = db_v_i64(destination_id);
	}
	rc = db_run_many(
	    db, SQL_USER_REMOTE_INSERT, &DB_SET(v, n), take_remote, &a, err);
	mem_free(v);
	return (rc);
}

void
store_read_user(const struct db_row *row, struct store_user *u)
{

	u->user_id = db_row_i64(row, COL_USER_USER_ID);
	db_row_copy_text(row, COL_USER_NAME, u->name, sizeof(u->name));
	db_row_copy_text(row, COL_USER_DISPLAY_NAME, u->display_name,
	    sizeof(u->display_name));
	db_row_copy_text(row, COL_USER_PASSWORD_HASH, u->password_hash,
	    sizeof(u->password_hash));
	u->admin = db_row_i64(row, COL_USER_ADMIN) != 0;
	u->disabled = !db_row_null(row, COL_USER_DISABLED_AT);
	u->destination_id = db_row_i64(row, COL_USER_DESTINATION_ID);
	u->password_once = !db_row_null(row, COL_USER_PASSWORD_ONCE_UNTIL);
	u->password_once_until = db_row_i64(row, COL_USER_PASSWORD_ONCE_UNTIL);
}

static enum rc
take_user(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	store_read_user(row, arg);
	return (RC_OK);
}

static enum rc
get_user(struct db *db, int stmt, struct db_val key, struct store_user *ret,
    struct err *err)
{
	enum rc rc;

	ret->user_id = 0;
	rc = db_run(db, stmt, &key, 1, take_user, ret, NULL, err);
	if (rc == RC_OK && ret->user_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_user_by_name(struct db *db, const char *name, size_t n,
    struct store_user *ret, struct err *err)
{

	return (get_user(db, SQL_USER_BY_NAME, db_v_text(name, n), ret, err));
}

enum rc
store_user_by_id(
    struct db *db, int64_t user_id, struct store_user *ret, struct err *err)
{

	return (get_user(db, SQL_USER_BY_ID, db_v_i64(user_id), ret, err));
}

enum rc
store_user_lock(
    struct db *db, int64_t user_id, struct store_user *ret, struct err *err)
{

	return (get_user(db, SQL_USER_LOCK, db_v_i64(user_id), ret, err));
}

enum rc
store_user_any(struct db *db, bool *ret, struct err *err)
{
	int64_t id;
	enum rc rc;

	id = 0;
	rc = db_run(db, SQL_USER_ANY, NULL, 0, db_take_i64, &id, NULL, err);
	if (rc == RC_OK)
		*ret = id != 0;
	return (rc);
}

enum rc
store_user_password_set(struct db *db, int64_t user_id, const char *hash,
    int64_t once_until, struct err *err)
{
	struct sql_user_password_set v = {
	    .user_id = db_v_i64(user_id), .password_hash = db_v_str(hash)};

	if (once_until != 0)
		v.password_once_until = db_v_i64(once_until);
	return (db_run(
	    db, SQL_USER_PASSWORD_SET, DB_PARAMS(v), NULL, NULL, NULL, err));
}

/* Runs a statement that changes one row; RC_NOT_FOUND if it changed none. */
static enum rc
change_user(struct db *db, int stmt, const struct db_val *values, size_t n,
    struct err *err)
{
	int64_t changed;
	enum rc rc;

	rc = db_run(db, stmt, values, n, NULL, NULL, &changed, err);
	return (rc == RC_OK && changed == 0 ? RC_NOT_FOUND : rc);
}

enum rc
store_user_password_spend(struct db *db, int64_t user_id, struct err *err)
{
	const struct sql_user_password_spend v = {.user_id = db_v_i64(user_id)};

	return (change_user(db, SQL_USER_PASSWORD_SPEND, DB_PARAMS(v), err));
}

enum rc
store_user_disable(
    struct db *db, int64_t user_id, int64_t now_ms, struct err *err)
{
	const struct sql_user_disable v = {
	    .user_id = db_v_i64(user_id), .now = db_v_i64(now_ms)};

	return (change_user(db, SQL_USER_DISABLE, DB_PARAMS(v), err));
}

enum rc
store_user_enable(struct db *db, int64_t user_id, struct err *err)
{
	const struct sql_user_enable v = {.user_id = db_v_i64(user_id)};

	return (change_user(db, SQL_USER_ENABLE, DB_PARAMS(v), err));
}

enum rc
store_user_admin_set(
    struct db *db, int64_t user_id, bool admin, struct err *err)
{
	const struct sql_user_admin_set v = {
	    .user_id = db_v_i64(user_id), .admin = db_v_i64(admin ? 1 : 0)};

	return (change_user(db, SQL_USER_ADMIN_SET, DB_PARAMS(v), err));
}

enum rc
store_admin_other(struct db *db, int64_t user_id, bool *ret, struct err *err)
{
	const struct sql_admin_other v = {.user_id = db_v_i64(user_id)};
	int64_t id = 0;
	enum rc rc;

	rc = db_run(
	    db, SQL_ADMIN_OTHER, DB_PARAMS(v), db_take_i64, &id, NULL, err);
	if (rc == RC_OK)
		*ret = id != 0;
	return (rc);
}

/* ---- devices ---- */

enum rc
store_device_insert(struct db *db, const struct store_device *device,
    const uint8_t token_hash[STORE_HASH_LEN], int64_t *ret_device_id,
    struct err *err)
{
	const struct sql_device_insert v = {
	    .public_id = db_v_uuid(&device->public_id),
	    .user_id = db_v_i64(device->user_id),
	    .name = db_v_str(device->name),
	    .token_hash = db_v_blob(token_hash, STORE_HASH_LEN),
	    .acked_seq = db_v_i64(device->acked_seq),
	    .now = db_v_i64(device->created_at)};

	return (db_run(db, SQL_DEVICE_INSERT, DB_PARAMS(v), db_take_i64,
	    ret_device_id, NULL, err));
}

static enum rc
take_device(void *arg, const struct db_row *row, struct err *err)
{
	struct store_device *d = arg;

	(void)err;
	d->device_id = db_row_i64(row, COL_DEVICE_BY_TOKEN_DEVICE_ID);
	d->public_id = db_row_uuid(row, COL_DEVICE_BY_TOKEN_PUBLIC_ID);
	d->user_id = db_row_i64(row, COL_DEVICE_BY_TOKEN_USER_ID);
	db_row_copy_text(row, COL_DEVICE_BY_TOKEN_USER_NAME, d->user_name,
	    sizeof(d->user_name));
	d->admin = db_row_i64(row, COL_DEVICE_BY_TOKEN_ADMIN) != 0;
	db_row_copy_text(
	    row, COL_DEVICE_BY_TOKEN_NAME, d->name, sizeof(d->name));
	return (RC_OK);
}

enum rc
store_device_by_token(struct db *db, const uint8_t token_hash[STORE_HASH_LEN],
    struct store_device *ret, struct err *err)
{
	const struct sql_device_by_token v = {
	    .token_hash = db_v_blob(token_hash, STORE_HASH_LEN)};
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	rc = db_run(
	    db, SQL_DEVICE_BY_TOKEN, DB_PARAMS(v), take_device, ret, NULL, err);
	if (rc == RC_OK && ret->device_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_device_count(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err)
{
	const struct sql_device_count v = {.user_id = db_v_i64(user_id)};

	return (db_run(
	    db, SQL_DEVICE_COUNT, DB_PARAMS(v), db_take_i64, ret, NULL, err));
}

struct device_each {
	void (*each)(void *arg, const struct store_device *device);
	void *arg;
	int64_t user_id;
};

static enum rc
list_device(void *arg, const struct db_row *row, struct err *err)
{
	struct device_each *e = arg;
	struct store_device d;

	(void)err;
	memset(&d, 0, sizeof(d));
	d.public_id = db_row_uuid(row, COL_DEVICE_LIST_PUBLIC_ID);
	d.user_id = e->user_id;
	db_row_copy_text(row, COL_DEVICE_LIST_NAME, d.name, sizeof(d.name));
	d.acked_seq = db_row_i64(row, COL_DEVICE_LIST_ACKED_SEQ);
	d.created_at = db_row_i64(row, COL_DEVICE_LIST_CREATED_AT);
	d.last_seen_at = db_row_i64(row, COL_DEVICE_LIST_LAST_SEEN_AT);
	d.device_id = db_row_i64(row, COL_DEVICE_LIST_DEVICE_ID);
	e->each(e->arg, &d);
	return (RC_OK);
}

enum rc
store_device_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct store_device *device), void *arg,
    struct err *err)
{
	struct device_each e = {each, arg, user_id};
	const struct sql_device_list v = {.user_id = db_v_i64(user_id)};

	return (db_run(
	    db, SQL_DEVICE_LIST, DB_PARAMS(v), list_device, &e, NULL, err));
}

struct revoke_each {
	store_token_fn each;
	void *arg;
	int count;
};

static enum rc
revoked_device(void *arg, const struct db_row *row, struct err *err)
{
	struct revoke_each *e = arg;
	const void *hash;
	size_t n;

	hash = db_row_blob(row, COL_REVOKED_DEVICE_TOKEN_HASH, &n);
	if (hash == NULL || n != STORE_HASH_LEN)
		return (err_set(err, RC_CORRUPT, "a device's token hash"));
	e->count++;
	e->each(e->arg, db_row_i64(row, COL_REVOKED_DEVICE_DEVICE_ID), hash);
	return (RC_OK);
}

enum rc
store_device_revoke(struct db *db, int64_t user_id,
    const struct uuid *public_id, int64_t now_ms, store_token_fn each,
    void *arg, struct err *err)
{
	struct revoke_each e = {each, arg, 0};
	const struct sql_device_revoke v = {.user_id = db_v_i64(user_id),
	    .public_id = db_v_uuid(public_id),
	    .now = db_v_i64(now_ms)};
	enum rc rc;

	rc = db_run(
	    db, SQL_DEVICE_REVOKE, DB_PARAMS(v), revoked_device, &e, NULL, err);
	if (rc == RC_OK && e.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_device_revoke_others(struct db *db, int64_t user_id, int64_t keep,
    int64_t now_ms, store_token_fn each, void *arg, struct err *err)
{
	struct revoke_each e = {each, arg, 0};
	const struct sql_device_revoke_others v = {.user_id = db_v_i64(user_id),
	    .keep = db_v_i64(keep),
	    .now = db_v_i64(now_ms)};

	return (db_run(db, SQL_DEVICE_REVOKE_OTHERS, DB_PARAMS(v),
	    revoked_device, &e, NULL, err));
}

enum rc
store_device_tokens(struct db *db, int64_t user_id, store_token_fn each,
    void *arg, struct err *err)
{
	struct revoke_each e = {each, arg, 0};
	const struct sql_device_tokens v = {.user_id = db_v_i64(user_id)};

	return (db_run(db, SQL_DEVICE_TOKENS, DB_PARAMS(v), revoked_device, &e,
	    NULL, err));
}

enum rc
store_device_rename(struct db *db, int64_t user_id,
    const struct uuid *public_id, const char *name, size_t n,
    int64_t *ret_device_id, struct err *err)
{
	const struct sql_device_rename v = {.user_id = db_v_i64(user_id),
	    .public_id = db_v_uuid(public_id),
	    .name = db_v_text(name, n)};
	int64_t id;
	enum rc rc;

	id = 0;
	rc = db_run(
	    db, SQL_DEVICE_RENAME, DB_PARAMS(v), db_take_i64, &id, NULL, err);
	if (rc == RC_OK && id == 0)
		return (RC_NOT_FOUND);
	*ret_device_id = id;
	return (rc);
}

enum rc
store_device_lock(struct db *db, int64_t device_id, bool *ret, struct err *err)
{
	const struct sql_device_lock v = {.device_id = db_v_i64(device_id)};
	int64_t id = 0;
	enum rc rc;

	rc = db_run(
	    db, SQL_DEVICE_LOCK, DB_PARAMS(v), db_take_i64, &id, NULL, err);
	*ret = id != 0;
	return (rc);
}

enum rc
store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err)
{
	const struct sql_device_acked_get v = {
	    .device_id = db_v_i64(device_id)};
	enum rc rc;

	*ret = -1;
	rc = db_run(db, SQL_DEVICE_ACKED_GET, DB_PARAMS(v), db_take_i64, ret,
	    NULL, err);
	return (rc == RC_OK && *ret < 0 ? RC_NOT_FOUND : rc);
}

/* ---- counters and meta ---- */

static enum rc
take_counter(void *arg, const struct db_row *row, struct err *err)
{
	struct store_counter *c = arg;

	(void)err;
	c->head = db_row_i64(row, COL_COUNTER_GET_HEAD);
	c->oldest = db_row_i64(row, COL_COUNTER_GET_OLDEST);
	c->acked = db_row_i64(row, COL_COUNTER_GET_ACKED);
	c->read = db_row_i64(row, COL_COUNTER_GET_READ_SEQ);
	return (RC_OK);
}

enum rc
store_counter_get(
    struct db *db, int64_t user_id, struct store_counter *ret, struct err *err)
{
	const struct sql_counter_get v = {.user_id = db_v_i64(user_id)};
	enum rc rc;

	ret->oldest = 0;
	rc = db_run(
	    db, SQL_COUNTER_GET, DB_PARAMS(v), take_counter, ret, NULL, err);
	if (rc == RC_OK && ret->oldest == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

struct meta_text {
	char *p;
	size_t size;
	bool found;
};

static enum rc
take_meta(void *arg, const struct db_row *row, struct err *err)
{
	struct meta_text *t = arg;

	(void)err;
	db_row_copy_text(row, COL_META_VALUE, t->p, t->size);
	t->found = true;
	return (RC_OK);
}

static enum rc
ask_meta(struct db *db, int id, const char *key, struct meta_text *t,
    struct err *err)
{
	const struct sql_meta_get v = {.key = db_v_str(key)};
	enum rc rc;

	rc = db_run(db, id, DB_PARAMS(v), take_meta, t, NULL, err);
	return (rc == RC_OK && !t->found ? RC_NOT_FOUND : rc);
}

enum rc
store_meta_get(
    struct db *db, const char *key, char *ret, size_t size, struct err *err)
{
	struct meta_text t = {ret, size, false};

	return (ask_meta(db, SQL_META_GET, key, &t, err));
}

enum rc
store_meta_lock(
    struct db *db, const char *key, char *ret, size_t size, struct err *err)
{
	struct meta_text t = {ret, size, false};

	return (ask_meta(db, SQL_META_LOCK, key, &t, err));
}

static enum rc
say_meta(
    struct db *db, int id, const char *key, const char *value, struct err *err)
{
	const struct sql_meta_set v = {
	    .key = db_v_str(key), .value = db_v_str(value)};

	return (db_run(db, id, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_meta_set(
    struct db *db, const char *key, const char *value, struct err *err)
{

	return (say_meta(db, SQL_META_SET, key, value, err));
}

enum rc
store_meta_make(
    struct db *db, const char *key, const char *value, struct err *err)
{

	return (say_meta(db, SQL_META_MAKE, key, value, err));
}

struct now_each {
	enum rc (*each)(
	    void *arg, const struct store_device_now *now, struct err *err);
	void *arg;
};

static enum rc
take_now(void *arg, const struct db_row *row, struct err *err)
{
	const struct now_each *e = arg;
	struct store_device_now now;
	size_t n;

	now.device_id = db_row_i64(row, COL_DEVICES_NOW_DEVICE_ID);
	now.user_id = db_row_i64(row, COL_DEVICES_NOW_USER_ID);
	now.acked = db_row_i64(row, COL_DEVICES_NOW_ACKED_SEQ);
	now.gone = db_row_blob(row, COL_DEVICES_NOW_TOKEN_HASH, &n);
	if (now.gone != NULL && n != 32)
		return (err_set(err, RC_CORRUPT, "a device's token hash"));
	return (e->each(e->arg, &now, err));
}

enum rc
store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err)
{
	struct now_each e = {each, arg};

	return (
	    store_run_ids(db, SQL_DEVICES_NOW, devices, n, take_now, &e, err));
}
