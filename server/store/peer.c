/* SPDX-License-Identifier: MIT */
/*
 * See peer.h.
 */
#include <string.h>

#include "schema/sql.h"
#include "store/peer.h"

/* ---- rows ---- */

struct peers_each {
	store_peer_fn each;
	void *arg;
};

static enum rc
each_peer(void *arg, const struct db_row *row, struct err *err)
{
	struct peers_each *e = arg;
	struct store_peer_row p;

	p.destination_id = db_row_i64(row, COL_PEER_DESTINATION_ID);
	db_row_copy_text(row, COL_PEER_NAME, p.domain, sizeof(p.domain));
	p.first_seen_at = db_row_i64(row, COL_PEER_FIRST_SEEN_AT);
	p.last_seen_at = db_row_i64(row, COL_PEER_LAST_SEEN_AT);
	db_row_copy_text(row, COL_PEER_EPOCH, p.epoch, sizeof(p.epoch));
	p.blocked_at = db_row_i64(row, COL_PEER_BLOCKED_AT);
	db_row_copy_text(
	    row, COL_PEER_BLOCKED_BY, p.blocked_by, sizeof(p.blocked_by));
	p.live = db_row_i64(row, COL_PEER_LIVE);
	p.pinned = db_row_i64(row, COL_PEER_PINNED);
	p.used = db_row_i64(row, COL_PEER_USED) != 0;
	return (e->each(e->arg, &p, err));
}

static enum rc
take_peer(void *arg, const struct store_peer_row *row, struct err *err)
{

	(void)err;
	*(struct store_peer_row *)arg = *row;
	return (RC_OK);
}

enum rc
store_peer_get(struct db *db, const char *domain, struct store_peer_row *ret,
    struct err *err)
{
	const struct sql_peer_by_name v = {.name = db_v_str(domain)};
	struct peers_each e = {take_peer, ret};
	enum rc rc;

	ret->destination_id = -1;
	rc = db_run(
	    db, SQL_PEER_BY_NAME, DB_PARAMS(v), each_peer, &e, NULL, err);
	return (rc == RC_OK && ret->destination_id < 0 ? RC_NOT_FOUND : rc);
}

enum rc
store_peers_after(struct db *db, int64_t after, int64_t limit,
    store_peer_fn each, void *arg, struct err *err)
{
	const struct sql_peers_after v = {
	    .after = db_v_i64(after), .limit = db_v_i64(limit)};
	struct peers_each e = {each, arg};

	return (db_run(
	    db, SQL_PEERS_AFTER, DB_PARAMS(v), each_peer, &e, NULL, err));
}

enum rc
store_peer_insert(struct db *db, int64_t destination_id, struct err *err)
{
	const struct sql_peer_insert v = {
	    .destination_id = db_v_i64(destination_id)};

	return (
	    db_run(db, SQL_PEER_INSERT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_peer_set(struct db *db, const struct store_peer_row *row, struct err *err)
{
	const struct sql_peer_set v = {
	    .destination_id = db_v_i64(row->destination_id),
	    .first_seen_at = db_v_i64(row->first_seen_at),
	    .last_seen_at = db_v_i64(row->last_seen_at),
	    .epoch = db_v_text_most(row->epoch, ENVELOPE_EPOCH_LEN),
	    .blocked_at = db_v_i64_or_null(row->blocked_at, 0),
	    .blocked_by = db_v_text_most(row->blocked_by, LIMIT_ADDRESS_LEN)};

	return (db_run(db, SQL_PEER_SET, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_peer_delete(struct db *db, int64_t destination_id, struct err *err)
{
	const struct sql_peer_delete v = {
	    .destination_id = db_v_i64(destination_id)};

	return (
	    db_run(db, SQL_PEER_DELETE, DB_PARAMS(v), NULL, NULL, NULL, err));
}

/* ---- keys ---- */

static enum rc
take_key(void *arg, const struct db_row *row, struct err *err)
{
	struct store_peer_keys *keys = arg;
	struct store_peer_key_row *k = &keys->rows[keys->n++];
	const void *public;
	size_t n;

	public = db_row_blob(row, COL_PEER_KEYS_OF_PUBLIC, &n);
	if (public == NULL || n != sizeof(k->key.public))
		return (err_set(err, RC_CORRUPT, "a key of another server"));
	memcpy(k->key.public, public, n);
	db_row_copy_text(
	    row, COL_PEER_KEYS_OF_KEY_ID, k->key.key_id, sizeof(k->key.key_id));
	db_row_copy_text(row, COL_PEER_KEYS_OF_PINNED_BY, k->key.pinned_by,
	    sizeof(k->key.pinned_by));
	k->first_seen_at = db_row_i64(row, COL_PEER_KEYS_OF_FIRST_SEEN_AT);
	k->last_seen_at = db_row_i64(row, COL_PEER_KEYS_OF_LAST_SEEN_AT);
	k->retired_at = db_row_i64(row, COL_PEER_KEYS_OF_RETIRED_AT);
	return (RC_OK);
}

/* Sets `verifies` of each of ${keys}. */
static void
find_verifying(struct store_peer_keys *keys)
{
	struct store_peer_key_row *k;
	bool pinned = false;
	size_t i;

	for (i = 0; i < keys->n; i++)
		pinned = pinned || keys->rows[i].key.pinned_by[0] != '\0';
	for (i = 0; i < keys->n; i++) {
		k = &keys->rows[i];
		k->verifies =
		    pinned ? k->key.pinned_by[0] != '\0' : k->retired_at == 0;
	}
}

enum rc
store_peer_keys(struct db *db, int64_t destination_id,
    struct store_peer_keys *ret, struct err *err)
{
	const struct sql_peer_keys_of v = {
	    .destination_id = db_v_i64(destination_id),
	    .limit = db_v_i64(STORE_PEER_KEYS_ALL)};
	enum rc rc;

	ret->n = 0;
	rc = db_run(
	    db, SQL_PEER_KEYS_OF, DB_PARAMS(v), take_key, ret, NULL, err);
	if (rc == RC_OK)
		find_verifying(ret);
	return (rc);
}

enum rc
store_peer_known(struct db *db, const char *domain,
    struct store_peer_known *ret, struct err *err)
{
	struct store_peer_row row;
	struct store_peer_keys keys;
	enum rc rc;
	size_t i;

	rc = store_peer_get(db, domain, &row, err);
	if (rc == RC_OK)
		rc = store_peer_keys(db, row.destination_id, &keys, err);
	if (rc != RC_OK)
		return (rc);
	memset(ret, 0, sizeof(*ret));
	ret->destination_id = row.destination_id;
	memcpy(ret->domain, row.domain, sizeof(ret->domain));
	memcpy(ret->epoch, row.epoch, sizeof(ret->epoch));
	ret->blocked = row.blocked_at != 0;
	for (i = 0; i < keys.n && ret->nkeys < STORE_PEER_KEYS; i++)
		if (keys.rows[i].verifies)
			ret->keys[ret->nkeys++] = keys.rows[i].key;
	return (RC_OK);
}

enum rc
store_peer_key_put(struct db *db, int64_t destination_id,
    const struct store_peer_key *key, int64_t now_ms, struct err *err)
{
	const struct sql_peer_key_put v = {
	    .destination_id = db_v_i64(destination_id),
	    .key_id = db_v_str(key->key_id),
	    .public = db_v_blob(key->public, sizeof(key->public)),
	    .pinned_by = db_v_text_most(key->pinned_by, LIMIT_ADDRESS_LEN),
	    .now = db_v_i64(now_ms)};

	return (
	    db_run(db, SQL_PEER_KEY_PUT, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_peer_key_retire(struct db *db, int64_t destination_id, const char *key_id,
    int64_t now_ms, struct err *err)
{
	const struct sql_peer_key_retire v = {
	    .destination_id = db_v_i64(destination_id),
	    .key_id = db_v_str(key_id),
	    .now = db_v_i64(now_ms)};

	return (db_run(
	    db, SQL_PEER_KEY_RETIRE, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_peer_keys_trim(struct db *db, int64_t destination_id, struct err *err)
{
	/* The statement keeps the `keep` keys that were retired last, and
	 * deletes at most `limit` others.  At most STORE_PEER_KEYS others
	 * exist: the last document has retired up to that number.  So it
	 * deletes them all. */
	const struct sql_peer_keys_trim v = {
	    .destination_id = db_v_i64(destination_id),
	    .keep = db_v_i64(STORE_PEER_KEYS_RETIRED),
	    .limit = db_v_i64(STORE_PEER_KEYS_ALL)};

	return (db_run(
	    db, SQL_PEER_KEYS_TRIM, DB_PARAMS(v), NULL, NULL, NULL, err));
}

enum rc
store_peer_keys_delete(struct db *db, int64_t destination_id, struct err *err)
{
	const struct sql_peer_keys_delete v = {
	    .destination_id = db_v_i64(destination_id)};

	return (db_run(
	    db, SQL_PEER_KEYS_DELETE, DB_PARAMS(v), NULL, NULL, NULL, err));
}
