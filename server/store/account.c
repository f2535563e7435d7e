/* SPDX-License-Identifier: MIT */
/*
 * Rows of users, devices, inboxes and meta, and how they become structs.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/account.h"
#include "store/rows.h"
#include "store/store_internal.h"

/* ---- users ---- */

enum rc
store_user_insert(struct db *db, const struct store_user *user, int64_t now_ms,
    int64_t *ret_user_id, struct err *err)
{
	struct db_val v[5];
	int64_t id;
	enum rc rc;

	id = 0;
	v[0] = db_v_str(user->name);
	v[1] = user->display_name[0] != '\0' ? db_v_str(user->display_name)
					     : DB_V_NULL;
	v[2] = user->password_hash[0] != '\0' ? db_v_str(user->password_hash)
					      : DB_V_NULL;
	v[3] = db_v_i64(user->admin ? 1 : 0);
	v[4] = db_v_i64(now_ms);
	rc = db_run(db, SQL_USER_INSERT, v, 5, db_take_i64, &id, NULL, err);
	if (rc != RC_OK)
		return (rc);
	if (id == 0)
		return (err_set(err, RC_EXISTS, "user %s exists", user->name));
	v[0] = db_v_i64(id);
	rc = db_run(db, SQL_COUNTER_INSERT, v, 1, NULL, NULL, NULL, err);
	if (rc == RC_OK)
		*ret_user_id = id;
	return (rc);
}

enum rc
store_user_remote_insert(struct db *db, const char *address,
    int64_t destination_id, int64_t now_ms, int64_t *ret_user_id,
    struct err *err)
{
	struct db_val v[3];

	v[0] = db_v_str(address);
	v[1] = db_v_i64(now_ms);
	v[2] = db_v_i64(destination_id);
	return (db_run(db, SQL_USER_REMOTE_INSERT, v, 3, db_take_i64,
	    ret_user_id, NULL, err));
}

void
store_read_user(const struct db_row *row, struct store_user *u)
{

	u->user_id = db_row_i64(row, 0);
	db_row_copy_text(row, 1, u->name, sizeof(u->name));
	db_row_copy_text(row, 2, u->display_name, sizeof(u->display_name));
	db_row_copy_text(row, 3, u->password_hash, sizeof(u->password_hash));
	u->admin = db_row_i64(row, 4) != 0;
	u->disabled = !db_row_null(row, 5);
	u->destination_id = db_row_i64(row, 6);
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

	return (get_user(db, SQL_USER_HOLD, db_v_i64(user_id), ret, err));
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
store_user_password_set(
    struct db *db, int64_t user_id, const char *hash, struct err *err)
{
	struct db_val v[2];

	v[0] = db_v_i64(user_id);
	v[1] = db_v_str(hash);
	return (db_run(db, SQL_USER_PASSWORD_SET, v, 2, NULL, NULL, NULL, err));
}

enum rc
store_user_disable(
    struct db *db, int64_t user_id, int64_t now_ms, struct err *err)
{
	struct db_val v[2];
	int64_t changed;
	enum rc rc;

	v[0] = db_v_i64(user_id);
	v[1] = db_v_i64(now_ms);
	rc = db_run(db, SQL_USER_DISABLE, v, 2, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

/* ---- devices ---- */

enum rc
store_device_insert(struct db *db, const struct store_device *device,
    const uint8_t token_hash[STORE_HASH_LEN], int64_t *ret_device_id,
    struct err *err)
{
	struct db_val v[6];

	v[0] = db_v_uuid(&device->public_id);
	v[1] = db_v_i64(device->user_id);
	v[2] = db_v_str(device->name);
	v[3] = db_v_blob(token_hash, STORE_HASH_LEN);
	v[4] = db_v_i64(device->acked_seq);
	v[5] = db_v_i64(device->created_at);
	return (db_run(db, SQL_DEVICE_INSERT, v, 6, db_take_i64, ret_device_id,
	    NULL, err));
}

static enum rc
take_device(void *arg, const struct db_row *row, struct err *err)
{
	struct store_device *d = arg;

	(void)err;
	d->device_id = db_row_i64(row, 0);
	d->public_id = db_row_uuid(row, 1);
	d->user_id = db_row_i64(row, 2);
	db_row_copy_text(row, 3, d->user_name, sizeof(d->user_name));
	d->admin = db_row_i64(row, 4) != 0;
	db_row_copy_text(row, 5, d->name, sizeof(d->name));
	return (RC_OK);
}

enum rc
store_device_by_token(struct db *db, const uint8_t token_hash[STORE_HASH_LEN],
    struct store_device *ret, struct err *err)
{
	struct db_val v;
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	v = db_v_blob(token_hash, STORE_HASH_LEN);
	rc =
	    db_run(db, SQL_DEVICE_BY_TOKEN, &v, 1, take_device, ret, NULL, err);
	if (rc == RC_OK && ret->device_id == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_device_count(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err)
{
	struct db_val v;

	v = db_v_i64(user_id);
	return (
	    db_run(db, SQL_DEVICE_COUNT, &v, 1, db_take_i64, ret, NULL, err));
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
	d.public_id = db_row_uuid(row, 0);
	d.user_id = e->user_id;
	db_row_copy_text(row, 1, d.name, sizeof(d.name));
	d.acked_seq = db_row_i64(row, 2);
	d.created_at = db_row_i64(row, 3);
	d.last_seen_at = db_row_i64(row, 4);
	d.device_id = db_row_i64(row, 5);
	e->each(e->arg, &d);
	return (RC_OK);
}

enum rc
store_device_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct store_device *device), void *arg,
    struct err *err)
{
	struct device_each e = {each, arg, user_id};
	struct db_val v;

	v = db_v_i64(user_id);
	return (db_run(db, SQL_DEVICE_LIST, &v, 1, list_device, &e, NULL, err));
}

struct revoke_each {
	store_revoked_fn each;
	void *arg;
	int count;
};

static enum rc
revoked_device(void *arg, const struct db_row *row, struct err *err)
{
	struct revoke_each *e = arg;
	const void *hash;
	size_t n;

	hash = db_row_blob(row, 1, &n);
	if (hash == NULL || n != STORE_HASH_LEN)
		return (err_set(err, RC_CORRUPT, "a device's token hash"));
	e->count++;
	e->each(e->arg, db_row_i64(row, 0), hash);
	return (RC_OK);
}

enum rc
store_device_revoke(struct db *db, int64_t user_id,
    const struct uuid *public_id, int64_t now_ms, store_revoked_fn each,
    void *arg, struct err *err)
{
	struct revoke_each e = {each, arg, 0};
	struct db_val v[3];
	enum rc rc;

	v[0] = db_v_i64(user_id);
	v[1] = db_v_uuid(public_id);
	v[2] = db_v_i64(now_ms);
	rc = db_run(db, SQL_DEVICE_REVOKE, v, 3, revoked_device, &e, NULL, err);
	if (rc == RC_OK && e.count == 0)
		rc = RC_NOT_FOUND;
	return (rc);
}

enum rc
store_device_revoke_others(struct db *db, int64_t user_id, int64_t keep,
    int64_t now_ms, store_revoked_fn each, void *arg, struct err *err)
{
	struct revoke_each e = {each, arg, 0};
	struct db_val v[3];

	v[0] = db_v_i64(user_id);
	v[1] = db_v_i64(keep);
	v[2] = db_v_i64(now_ms);
	return (db_run(
	    db, SQL_DEVICE_REVOKE_OTHERS, v, 3, revoked_device, &e, NULL, err));
}

enum rc
store_device_rename(struct db *db, int64_t user_id,
    const struct uuid *public_id, const char *name, size_t n,
    int64_t *ret_device_id, struct err *err)
{
	struct db_val v[3];
	int64_t id;
	enum rc rc;

	id = 0;
	v[0] = db_v_i64(user_id);
	v[1] = db_v_uuid(public_id);
	v[2] = db_v_text(name, n);
	rc = db_run(db, SQL_DEVICE_RENAME, v, 3, db_take_i64, &id, NULL, err);
	if (rc == RC_OK && id == 0)
		return (RC_NOT_FOUND);
	*ret_device_id = id;
	return (rc);
}

enum rc
store_device_lock(struct db *db, int64_t device_id, bool *ret, struct err *err)
{
	const struct db_val v = db_v_i64(device_id);
	int64_t id = 0;
	enum rc rc;

	rc = db_run(db, SQL_DEVICE_HOLD, &v, 1, db_take_i64, &id, NULL, err);
	*ret = id != 0;
	return (rc);
}

enum rc
store_device_acked_get(
    struct db *db, int64_t device_id, int64_t *ret, struct err *err)
{
	struct db_val v;
	enum rc rc;

	*ret = -1;
	v = db_v_i64(device_id);
	rc = db_run(
	    db, SQL_DEVICE_ACKED_GET, &v, 1, db_take_i64, ret, NULL, err);
	return (rc == RC_OK && *ret < 0 ? RC_NOT_FOUND : rc);
}

/* ---- counters and meta ---- */

static enum rc
take_counter(void *arg, const struct db_row *row, struct err *err)
{
	struct store_counter *c = arg;

	(void)err;
	c->head = db_row_i64(row, 0);
	c->oldest = db_row_i64(row, 1);
	c->acked = db_row_i64(row, 2);
	c->read = db_row_i64(row, 3);
	return (RC_OK);
}

enum rc
store_counter_get(
    struct db *db, int64_t user_id, struct store_counter *ret, struct err *err)
{
	struct db_val v;
	enum rc rc;

	ret->oldest = 0;
	v = db_v_i64(user_id);
	rc = db_run(db, SQL_COUNTER_GET, &v, 1, take_counter, ret, NULL, err);
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
	db_row_copy_text(row, 0, t->p, t->size);
	t->found = true;
	return (RC_OK);
}

static enum rc
ask_meta(struct db *db, int id, const char *key, struct meta_text *t,
    struct err *err)
{
	struct db_val v;
	enum rc rc;

	v = db_v_str(key);
	rc = db_run(db, id, &v, 1, take_meta, t, NULL, err);
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
	struct db_val v[2];

	v[0] = db_v_str(key);
	v[1] = db_v_str(value);
	return (db_run(db, id, v, 2, NULL, NULL, NULL, err));
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

	now.device_id = db_row_i64(row, 0);
	now.user_id = db_row_i64(row, 1);
	now.acked = db_row_i64(row, 2);
	now.gone = db_row_blob(row, 3, &n);
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
