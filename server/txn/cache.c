/* SPDX-License-Identifier: MIT */
/*
 * See cache.h.  There is a table for each key by which objects are found.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "model/message.h"
#include "store/lock.h"
#include "txn/cache_internal.h"

/* A cache with more objects than this (about 60 MB) is emptied at the beginning
 * of the next transaction. */
#define CACHE_OBJECTS_MAX 200000
#define FLUSH_ROWS 128

/* Returns ${name} as a zero-padded key. */
static struct name_key
name_key(const char *name, size_t n)
{
	struct name_key key;

	memset(&key, 0, sizeof(key));
	memcpy(key.name, name, n);
	return (key);
}

/* ---- life ---- */

static void
forget_all(struct cache *cache)
{
	struct cached_conversation *c;
	struct cached_user *u;
	void *p;
	size_t pos;

	for (pos = 0; (u = htab_next(cache->users_by_id, &pos)) != NULL;) {
		text_unref(u->name);
		mem_free(u);
	}
	for (pos = 0;
	     (c = htab_next(cache->conversations_by_id, &pos)) != NULL;) {
		mem_free(c->members);
		mem_free(c);
	}
	for (pos = 0; (p = htab_next(cache->lanes_by_id, &pos)) != NULL;)
		mem_free(p);
	for (pos = 0; (p = htab_next(cache->devices, &pos)) != NULL;)
		mem_free(p);
	htab_clear(cache->devices);
	htab_clear(cache->users_by_name);
	htab_clear(cache->users_by_address);
	htab_clear(cache->users_by_id);
	htab_clear(cache->direct);
	htab_clear(cache->conversations_by_public);
	htab_clear(cache->conversations_by_id);
	htab_clear(cache->lanes_by_key);
	htab_clear(cache->lanes_by_id);
	cache->dirty_devices = NULL;
	cache->dirty_users = NULL;
	cache->filling = NULL;
	cache->dirty_conversations = NULL;
	cache->dirty_lanes = NULL;
	cache->device_rows.n = cache->counter_rows.n =
	    cache->participant_rows.n = cache->lane_rows.n =
		cache->remote_rows.n = 0;
	cache->mids.last = cache->outbox_ids.last = -1;
	cache->mids.n = cache->mids.at = cache->outbox_ids.n =
	    cache->outbox_ids.at = 0;
	cache->mids.more = cache->outbox_ids.more = 0;
	htab_clear(cache->taken);
	cache->gathered = cache->locks_inboxes = false;
}

void
cache_contended_add(
    struct contended_ids *met, int64_t id, const struct db *db, enum rc rc)
{

	size_t cap = met->cap == 0 ? 16 : met->cap * 2;
	int64_t *ids;

	if (rc != RC_BUSY || !db_retryable(db))
		return;
	if (met->n == met->cap) {
		ids = mem_realloc(met->ids, cap * sizeof(*ids));
		if (ids == NULL)
			return;
		met->ids = ids;
		met->cap = cap;
	}
	met->ids[met->n++] = id;
}

/* The tables of a cache.  X(table, key type) */
#define CACHE_TABLES(X)                                                        \
	X(taken, struct uuid)                                                  \
	X(devices, int64_t)                                                    \
	X(users_by_name, struct name_key)                                      \
	X(users_by_address, uint64_t)                                          \
	X(users_by_id, int64_t)                                                \
	X(direct, struct pair_key)                                             \
	X(conversations_by_public, struct uuid)                                \
	X(conversations_by_id, int64_t)                                        \
	X(lanes_by_key, struct lane_key)                                       \
	X(lanes_by_id, int64_t)

static bool
make_tables(struct cache *cache)
{
	bool made = true;

#define X(table, key)                                                          \
	cache->table = htab_new(sizeof(key));                                  \
	made = made && cache->table != NULL;
	CACHE_TABLES(X)
#undef X
	return (made);
}

static bool
make_rows(struct cache *cache)
{

	return (
	    store_rows_init(
		&cache->device_rows, STORE_DEVICE_ACKED_SET, FLUSH_ROWS) &&
	    store_rows_init(
		&cache->counter_rows, STORE_COUNTER_SET, FLUSH_ROWS) &&
	    store_rows_init(
		&cache->participant_rows, STORE_PARTICIPANT_SET, FLUSH_ROWS) &&
	    store_rows_init(&cache->lane_rows, STORE_LANE_SET, FLUSH_ROWS) &&
	    store_rows_init(
		&cache->remote_rows, STORE_LANE_REMOTE_SET, FLUSH_ROWS));
}

struct cache *
cache_new(struct uuid_gen *ids)
{
	struct cache *cache;

	cache = mem_zalloc(1, sizeof(*cache));
	if (cache == NULL)
		return (NULL);
	cache->ids = ids;
	cache->mids.last = cache->outbox_ids.last = -1;
	cache->complete = make_tables(cache);
	if (!cache->complete || !make_rows(cache)) {
		cache_free(cache);
		return (NULL);
	}
	return (cache);
}

void
cache_free(struct cache *cache)
{

	if (cache == NULL)
		return;
	if (cache->complete)
		forget_all(cache);
	mem_free(cache->contended_conversations.ids);
	mem_free(cache->contended_inboxes.ids);
#define X(table, key) htab_free(cache->table);
	CACHE_TABLES(X)
#undef X
	store_rows_fini(&cache->device_rows);
	store_rows_fini(&cache->counter_rows);
	store_rows_fini(&cache->participant_rows);
	store_rows_fini(&cache->lane_rows);
	store_rows_fini(&cache->remote_rows);
	mem_free(cache);
}

void
cache_begin(struct cache *cache, struct tx *tx)
{

	thr_assert(THR_WRITER);
	assert(cache->dirty_devices == NULL && cache->dirty_users == NULL &&
	       cache->dirty_conversations == NULL &&
	       cache->dirty_lanes == NULL && cache->filling == NULL);
	cache->shared = db_multi_writer(tx->db);
	if (tx->tries == 0)
		cache->contended_conversations.n = cache->contended_inboxes.n =
		    0;
	if (cache->shared || htab_count(cache->devices) +
				     htab_count(cache->users_by_id) +
				     htab_count(cache->conversations_by_id) +
				     htab_count(cache->lanes_by_id) >
				 CACHE_OBJECTS_MAX)
		forget_all(cache);
}

void
cache_abort(struct cache *cache)
{

	forget_all(cache);
}

/* ---- users ---- */

/* Adds ${u} to the table of names or of addresses. */
static enum rc
index_name(struct cache *cache, struct cached_user *u)
{
	struct name_key name;
	uint64_t address;

	if (u->destination_id != 0) {
		address = htab_hash(u->name->data, u->name->len);
		return (htab_set(cache->users_by_address, &address, u));
	}
	name = name_key(u->name->data, u->name->len);
	return (htab_set(cache->users_by_name, &name, u));
}

static void
unindex_name(struct cache *cache, const struct cached_user *u)
{
	struct name_key name;
	uint64_t address;

	if (u->destination_id != 0) {
		address = htab_hash(u->name->data, u->name->len);
		(void)htab_remove(cache->users_by_address, &address);
	} else {
		name = name_key(u->name->data, u->name->len);
		(void)htab_remove(cache->users_by_name, &name);
	}
}

enum rc
cache_keep_user(struct cache *cache, const struct store_user *row,
    struct cached_user **ret, struct err *err)
{
	struct cached_user *u;
	size_t n;
	enum rc rc;

	n = strlen(row->name);
	u = mem_zalloc(1, sizeof(*u));
	if (u == NULL || (n > LIMIT_NAME_LEN && row->destination_id == 0) ||
	    (u->name = text_new(row->name, n)) == NULL) {
		mem_free(u);
		return (err_set(err, RC_NO_MEMORY, "cache: user"));
	}
	u->user_id = row->user_id;
	u->disabled = row->disabled;
	u->destination_id = row->destination_id;
	rc = index_name(cache, u);
	if (rc == RC_OK) {
		rc = htab_set(cache->users_by_id, &u->user_id, u);
		if (rc != RC_OK)
			unindex_name(cache, u);
	}
	if (rc != RC_OK) {
		text_unref(u->name);
		mem_free(u);
		return (err_set(err, rc, "cache: user"));
	}
	*ret = u;
	return (RC_OK);
}

struct cached_user *
cache_user_known_by_id(const struct cache *cache, int64_t user_id)
{

	return (htab_find(cache->users_by_id, &user_id));
}

struct cached_user *
cache_user_known(const struct cache *cache, const char *to)
{
	const size_t n = strlen(to);
	struct cached_user *u;
	struct name_key name;
	uint64_t address;

	if (strchr(to, '@') != NULL) {
		address = htab_hash(to, n);
		u = htab_find(cache->users_by_address, &address);
		/* A different address with the same 64-bit hash counts as
		 * unknown. */
		return (u != NULL && strcmp(u->name->data, to) == 0 ? u : NULL);
	}
	name = name_key(to, n);
	return (htab_find(cache->users_by_name, &name));
}

enum rc
cache_user_by_name(struct cache *cache, struct tx *tx, const char *name,
    size_t n, struct cached_user **ret, struct err *err)
{
	struct store_user row;
	struct name_key key;
	enum rc rc;

	assert(memchr(name, '@', n) == NULL);
	if (n == 0 || n > LIMIT_NAME_LEN)
		return (RC_NOT_FOUND);
	key = name_key(name, n);
	*ret = htab_find(cache->users_by_name, &key);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_user_by_name(tx->db, name, n, &row, err);
	if (rc == RC_OK)
		rc = cache_keep_user(cache, &row, ret, err);
	return (rc);
}

enum rc
cache_user_by_id(struct cache *cache, struct tx *tx, int64_t user_id,
    struct cached_user **ret, struct err *err)
{
	struct store_user row;
	enum rc rc;

	*ret = htab_find(cache->users_by_id, &user_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_user_by_id(tx->db, user_id, &row, err);
	if (rc == RC_OK)
		rc = cache_keep_user(cache, &row, ret, err);
	return (rc);
}

enum rc
cache_inbox(struct tx *tx, struct cached_user *u, struct err *err)
{
	enum rc rc;

	if (u->counted)
		return (RC_OK);
	rc = store_counter_get(tx->db, u->user_id, &u->counter, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(
		    err, RC_CORRUPT, "user %s has no inbox", u->name->data);
	u->counted = rc == RC_OK;
	return (rc);
}

void
cache_inbox_touch(struct cache *cache, struct cached_user *u)
{

	if (!cache->shared || u->filling)
		return;
	u->filling = true;
	u->next_filling = cache->filling;
	cache->filling = u;
}

static enum rc
on_row_head(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	struct cache *cache = arg;
	struct cached_user *u = htab_find(cache->users_by_id, &user_id);

	(void)err;
	/* contended_inboxes may name users that only an earlier try of this
	 * transaction needed.  Their inboxes are locked, too, but the users are
	 * not in the cache, and their counters are not needed. */
	if (u == NULL)
		return (RC_OK);
	u->counter.head = counter->head;
	u->filling = false;
	return (RC_OK);
}

/* A user whose inbox was not locked has no inbox row. */
static enum rc
all_locked(struct cache *cache, struct err *err)
{
	const struct cached_user *u;

	for (u = cache->filling; u != NULL; u = u->next_filling)
		if (u->filling)
			return (err_set(err, RC_CORRUPT, "user %s has no inbox",
			    u->name->data));
	cache->filling = NULL;
	return (RC_OK);
}

enum rc
cache_lock_inboxes(struct cache *cache, struct tx *tx, struct err *err)
{
	const struct store_lock_handler holder = {
	    .counter = on_row_head, .arg = cache};
	const bool more = cache->locks_inboxes;
	const struct cached_user *u;
	int64_t *ids;
	size_t n, k = 0;
	enum rc rc;

	if (cache->filling == NULL)
		return (RC_OK);
	n = more ? 0 : cache->contended_inboxes.n;
	for (u = cache->filling; u != NULL; u = u->next_filling)
		n++;
	ids = mem_alloc(n * sizeof(*ids));
	if (ids == NULL)
		return (err_set(err, RC_NO_MEMORY, "cache: inboxes"));
	for (u = cache->filling; u != NULL; u = u->next_filling)
		ids[k++] = u->user_id;
	if (k < n)
		memcpy(ids + k, cache->contended_inboxes.ids,
		    (n - k) * sizeof(*ids));
	cache->locks_inboxes = true;
	rc = store_lock_inboxes(tx->db, ids, n, more, &holder, err);
	if (rc == RC_OK)
		rc = store_lock_answers(tx->db, err);
	for (k = 0; more && k < n; k++)
		cache_contended_add(
		    &cache->contended_inboxes, ids[k], tx->db, rc);
	mem_free(ids);
	return (rc == RC_OK ? all_locked(cache, err) : rc);
}

void
cache_user_touch(struct cache *cache, struct cached_user *u)
{

	cache_inbox_touch(cache, u);
	if (u->dirty)
		return;
	u->dirty = true;
	u->next_dirty = cache->dirty_users;
	cache->dirty_users = u;
}

/* ---- devices ---- */

enum rc
cache_keep_device(
    struct cache *cache, int64_t device_id, int64_t acked, struct err *err)
{
	struct cached_device *device;

	device = mem_zalloc(1, sizeof(*device));
	if (device == NULL)
		return (err_set(err, RC_NO_MEMORY, "cache: device"));
	device->device_id = device_id;
	device->acked = acked;
	if (htab_set(cache->devices, &device->device_id, device) != RC_OK) {
		mem_free(device);
		return (err_set(err, RC_NO_MEMORY, "cache: device"));
	}
	return (RC_OK);
}

enum rc
cache_device_by_id(struct cache *cache, struct tx *tx, int64_t device_id,
    struct cached_device **ret, struct err *err)
{
	int64_t acked;
	enum rc rc;

	*ret = htab_find(cache->devices, &device_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_device_acked_get(tx->db, device_id, &acked, err);
	if (rc == RC_OK)
		rc = cache_keep_device(cache, device_id, acked, err);
	if (rc == RC_OK)
		*ret = htab_find(cache->devices, &device_id);
	return (rc);
}

void
cache_device_touch(struct cache *cache, struct cached_device *device)
{

	if (device->dirty)
		return;
	device->dirty = true;
	device->next_dirty = cache->dirty_devices;
	cache->dirty_devices = device;
}

/* ---- ids ---- */

/* How many ids are taken when the reserved ones are used up. */
#define CACHE_IDS_AGAIN 8

size_t
cache_ids_room(struct cached_ids *ids, size_t n)
{
	const size_t now = n < CACHE_IDS ? n : CACHE_IDS;

	ids->more = n - now;
	return (now);
}

enum rc
cache_keep_id(struct cached_ids *ids, int64_t id, struct err *err)
{

	if (ids->n == CACHE_IDS)
		return (err_set(err, RC_INTERNAL, "more ids than asked for"));
	ids->list[ids->n++] = id;
	return (RC_OK);
}

/* Sets *ret to the next id.  On a single-writer database it is the last id plus
 * one, where last() is called only if the last id is not known.  On a
 * multi-writer database it is the next of the ids in ids->list, which the lock
 * set has reserved in the store for the batch.  When they are used up, take()
 * reserves more: first those that the batch is known to need beyond the list
 * (ids->more), at most CACHE_IDS by one call, then CACHE_IDS_AGAIN by each. */
static enum rc
next_id(struct tx *tx, struct cached_ids *ids,
    enum rc (*last)(struct db *db, int64_t *ret, struct err *err),
    enum rc (*take)(struct db *db, int64_t *list, size_t n, struct err *err),
    int64_t *ret, struct err *err)
{
	enum rc rc = RC_OK;
	size_t n;

	if (!db_multi_writer(tx->db)) {
		if (ids->last < 0)
			rc = last(tx->db, &ids->last, err);
		if (rc == RC_OK)
			*ret = ++ids->last;
		return (rc);
	}
	if (ids->at == ids->n) {
		n = cache_ids_room(
		    ids, ids->more > 0 ? ids->more : CACHE_IDS_AGAIN);
		ids->n = ids->at = 0;
		rc = take(tx->db, ids->list, n, err);
		if (rc != RC_OK)
			return (rc);
		ids->n = n;
	}
	*ret = ids->list[ids->at++];
	return (RC_OK);
}

bool
cache_gathered(const struct cache *cache)
{

	return (cache->gathered);
}

bool
cache_id_free(const struct cache *cache, const struct uuid *id)
{

	return (cache->gathered && htab_find(cache->taken, id) == NULL);
}

enum rc
cache_id_take(struct cache *cache, const struct uuid *id, struct err *err)
{

	if (cache->gathered && htab_set(cache->taken, id, cache) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "cache: message id"));
	return (RC_OK);
}

enum rc
cache_next_mid(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err)
{

	return (next_id(tx, &cache->mids, store_message_last_id,
	    store_message_ids, ret, err));
}

enum rc
cache_next_outbox_id(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err)
{

	return (next_id(tx, &cache->outbox_ids, store_outbox_last_id,
	    store_outbox_ids, ret, err));
}
