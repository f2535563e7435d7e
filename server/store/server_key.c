/* SPDX-License-Identifier: MIT */
/*
 * See server_key.h.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/server_key.h"

struct listing {
	struct store_server_key *keys;
	size_t n;
};

/* Copies the ${size} bytes of a column. */
static enum rc
take_bytes(const struct db_row *row, int column, uint8_t *ret, size_t size,
    struct err *err)
{
	const void *p;
	size_t n;

	p = db_row_blob(row, column, &n);
	if (p == NULL || n != size)
		return (err_set(err, RC_CORRUPT, "a key of this server"));
	memcpy(ret, p, size);
	return (RC_OK);
}

static enum rc
take_key(void *arg, const struct db_row *row, struct err *err)
{
	struct listing *l = arg;
	struct store_server_key *key;
	enum rc rc;

	if (l->n == STORE_SERVER_KEYS)
		return (RC_OK);
	key = &l->keys[l->n];
	db_row_copy_text(
	    row, COL_SERVER_KEY_KEY_ID, key->key_id, sizeof(key->key_id));
	key->created_at = db_row_i64(row, COL_SERVER_KEY_CREATED_AT);
	key->signs_at = db_row_i64(row, COL_SERVER_KEY_SIGNS_AT);
	key->retires_at = db_row_i64(row, COL_SERVER_KEY_RETIRES_AT);
	rc = take_bytes(
	    row, COL_SERVER_KEY_PUBLIC, key->public, sizeof(key->public), err);
	if (rc == RC_OK)
		rc = take_bytes(row, COL_SERVER_KEY_SEED, key->seed,
		    sizeof(key->seed), err);
	if (rc == RC_OK)
		l->n++;
	return (rc);
}

enum rc
store_server_keys_list(struct db *db,
    struct store_server_key ret[STORE_SERVER_KEYS], size_t *ret_n,
    struct err *err)
{
	struct listing l = {ret, 0};
	const struct sql_server_keys_live v = {
	    .limit = db_v_i64(STORE_SERVER_KEYS)};
	enum rc rc;

	rc = db_run(
	    db, SQL_SERVER_KEYS_LIVE, DB_PARAMS(v), take_key, &l, NULL, err);
	*ret_n = rc == RC_OK ? l.n : 0;
	return (rc);
}

enum rc
store_server_key_insert(
    struct db *db, const struct store_server_key *key, struct err *err)
{
	const struct sql_server_key_insert v = {.key_id = db_v_str(key->key_id),
	    .public = db_v_blob(key->public, sizeof(key->public)),
	    .seed = db_v_blob(key->seed, sizeof(key->seed)),
	    .created_at = db_v_i64(key->created_at),
	    .signs_at = db_v_i64(key->signs_at)};

	return (db_run(
	    db, SQL_SERVER_KEY_INSERT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

/* Runs an update that must find its key. */
static enum rc
change(
    struct db *db, int stmt, const struct db_val *v, size_t n, struct err *err)
{
	int64_t changed;
	enum rc rc;

	rc = db_run(db, stmt, v, n, NULL, NULL, &changed, err);
	if (rc == RC_OK && changed != 1)
		return (err_set(err, RC_NOT_FOUND, "a key of this server"));
	return (rc);
}

enum rc
store_server_key_retires_set(
    struct db *db, const char *key_id, int64_t retires_at, struct err *err)
{
	const struct sql_server_key_retires_set v = {
	    .key_id = db_v_str(key_id), .retires_at = db_v_i64(retires_at)};

	return (change(db, SQL_SERVER_KEY_RETIRES_SET, DB_PARAMS(v), err));
}

enum rc
store_server_key_retired_set(
    struct db *db, const char *key_id, int64_t now_ms, struct err *err)
{
	const struct sql_server_key_retired_set v = {
	    .key_id = db_v_str(key_id), .now = db_v_i64(now_ms)};

	return (change(db, SQL_SERVER_KEY_RETIRED_SET, DB_PARAMS(v), err));
}

enum rc
store_server_keys_wipe(struct db *db, struct err *err)
{
	static const uint8_t none[STORE_SERVER_KEY_SEED_SIZE];
	const struct sql_server_keys_wipe v = {
	    .seed = db_v_blob(none, sizeof(none))};

	return (db_run(
	    db, SQL_SERVER_KEYS_WIPE, DB_PARAMS(v), NULL, NULL, NULL, err));
}
