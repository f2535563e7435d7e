/* SPDX-License-Identifier: MIT */
/*
 * See ledger.h.  Tables by every key that is asked for.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/message.h"
#include "store/destination.h"
#include "store/lock.h"
#include "txn/cache_internal.h"

/* When it holds more objects than this, it starts anew: about 60 MB. */
#define LEDGER_MAX 200000
#define FLUSH_ROWS 128

/* A name as a key. */
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
forget_all(struct ledger *l)
{
	struct ledger_conversation *c;
	struct ledger_user *u;
	void *p;
	size_t pos;

	for (pos = 0; (u = htab_next(l->users_by_id, &pos)) != NULL;) {
		text_unref(u->name);
		mem_free(u);
	}
	for (pos = 0; (c = htab_next(l->conversations_by_id, &pos)) != NULL;) {
		mem_free(c->members);
		mem_free(c);
	}
	for (pos = 0; (p = htab_next(l->lanes_by_id, &pos)) != NULL;)
		mem_free(p);
	for (pos = 0; (p = htab_next(l->devices, &pos)) != NULL;)
		mem_free(p);
	htab_clear(l->devices);
	htab_clear(l->users_by_name);
	htab_clear(l->users_by_address);
	htab_clear(l->users_by_id);
	htab_clear(l->direct);
	htab_clear(l->conversations_by_public);
	htab_clear(l->conversations_by_id);
	htab_clear(l->lanes_by_key);
	htab_clear(l->lanes_by_id);
	l->dirty_devices = NULL;
	l->dirty_users = NULL;
	l->filling = NULL;
	l->dirty_conversations = NULL;
	l->dirty_lanes = NULL;
	l->device_rows.n = l->counter_rows.n = l->mark_rows.n = l->lane_rows.n =
	    l->remote_rows.n = 0;
	l->mids.last = l->outbox_ids.last = -1;
	l->mids.n = l->mids.at = l->outbox_ids.n = l->outbox_ids.at = 0;
	htab_clear(l->taken);
	l->gathered = l->holds_inboxes = false;
}

void
ledger_meet(struct ledger_met *met, int64_t id, const struct db *db, enum rc rc)
{

	size_t cap = met->cap == 0 ? 16 : met->cap * 2;
	int64_t *ids;

	if (rc != RC_BUSY || !db_again(db))
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

struct ledger *
ledger_new(struct uuid_gen *ids)
{
	struct ledger *l;

	l = mem_zalloc(1, sizeof(*l));
	if (l == NULL)
		return (NULL);
	l->ids = ids;
	l->mids.last = l->outbox_ids.last = -1;
	l->taken = htab_new(sizeof(struct uuid));
	l->devices = htab_new(sizeof(int64_t));
	l->users_by_name = htab_new(sizeof(struct name_key));
	l->users_by_address = htab_new(sizeof(uint64_t));
	l->users_by_id = htab_new(sizeof(int64_t));
	l->direct = htab_new(sizeof(struct pair_key));
	l->conversations_by_public = htab_new(sizeof(struct uuid));
	l->conversations_by_id = htab_new(sizeof(int64_t));
	l->lanes_by_key = htab_new(sizeof(struct lane_key));
	l->lanes_by_id = htab_new(sizeof(int64_t));
	if (l->taken == NULL || l->devices == NULL ||
	    l->users_by_name == NULL || l->users_by_address == NULL ||
	    l->users_by_id == NULL || l->direct == NULL ||
	    l->conversations_by_public == NULL ||
	    l->conversations_by_id == NULL || l->lanes_by_key == NULL ||
	    l->lanes_by_id == NULL ||
	    !store_rows_init(
		&l->device_rows, STORE_DEVICE_ACKED_SET, FLUSH_ROWS) ||
	    !store_rows_init(&l->counter_rows, STORE_COUNTER_SET, FLUSH_ROWS) ||
	    !store_rows_init(
		&l->mark_rows, STORE_PARTICIPANT_SET, FLUSH_ROWS) ||
	    !store_rows_init(&l->lane_rows, STORE_LANE_SET, FLUSH_ROWS) ||
	    !store_rows_init(
		&l->remote_rows, STORE_LANE_REMOTE_SET, FLUSH_ROWS)) {
		ledger_free(l);
		return (NULL);
	}
	return (l);
}

void
ledger_free(struct ledger *l)
{

	if (l == NULL)
		return;
	if (l->taken != NULL && l->devices != NULL &&
	    l->users_by_name != NULL && l->users_by_address != NULL &&
	    l->users_by_id != NULL && l->direct != NULL &&
	    l->conversations_by_public != NULL &&
	    l->conversations_by_id != NULL && l->lanes_by_key != NULL &&
	    l->lanes_by_id != NULL)
		forget_all(l);
	mem_free(l->met_conversations.ids);
	mem_free(l->met_inboxes.ids);
	htab_free(l->taken);
	htab_free(l->devices);
	htab_free(l->users_by_name);
	htab_free(l->users_by_address);
	htab_free(l->users_by_id);
	htab_free(l->direct);
	htab_free(l->conversations_by_public);
	htab_free(l->conversations_by_id);
	htab_free(l->lanes_by_key);
	htab_free(l->lanes_by_id);
	store_rows_fini(&l->device_rows);
	store_rows_fini(&l->counter_rows);
	store_rows_fini(&l->mark_rows);
	store_rows_fini(&l->lane_rows);
	store_rows_fini(&l->remote_rows);
	mem_free(l);
}

void
ledger_begin(struct ledger *l, struct tx *tx)
{

	assert(l->dirty_devices == NULL && l->dirty_users == NULL &&
	       l->dirty_conversations == NULL && l->dirty_lanes == NULL &&
	       l->filling == NULL);
	l->shared = db_shared(tx->db);
	if (tx->tries == 0)
		l->met_conversations.n = l->met_inboxes.n = 0;
	if (l->shared || htab_count(l->devices) + htab_count(l->users_by_id) +
				 htab_count(l->conversations_by_id) +
				 htab_count(l->lanes_by_id) >
			     LEDGER_MAX)
		forget_all(l);
}

void
ledger_abort(struct ledger *l)
{

	forget_all(l);
}

/* ---- users ---- */

/* Where ${u} is found by his name. */
static enum rc
index_name(struct ledger *l, struct ledger_user *u)
{
	struct name_key name;
	uint64_t address;

	if (u->destination_id != 0) {
		address = htab_hash(u->name->data, u->name->len);
		return (htab_set(l->users_by_address, &address, u));
	}
	name = name_key(u->name->data, u->name->len);
	return (htab_set(l->users_by_name, &name, u));
}

static void
unindex_name(struct ledger *l, const struct ledger_user *u)
{
	struct name_key name;
	uint64_t address;

	if (u->destination_id != 0) {
		address = htab_hash(u->name->data, u->name->len);
		(void)htab_remove(l->users_by_address, &address);
	} else {
		name = name_key(u->name->data, u->name->len);
		(void)htab_remove(l->users_by_name, &name);
	}
}

enum rc
ledger_keep_user(struct ledger *l, const struct store_user *row,
    struct ledger_user **ret, struct err *err)
{
	struct ledger_user *u;
	size_t n;
	enum rc rc;

	n = strlen(row->name);
	u = mem_zalloc(1, sizeof(*u));
	if (u == NULL || (n > LIMIT_NAME_LEN && row->destination_id == 0) ||
	    (u->name = text_new(row->name, n)) == NULL) {
		mem_free(u);
		return (err_set(err, RC_NO_MEMORY, "ledger: user"));
	}
	u->user_id = row->user_id;
	u->disabled = row->disabled;
	u->destination_id = row->destination_id;
	rc = index_name(l, u);
	if (rc == RC_OK) {
		rc = htab_set(l->users_by_id, &u->user_id, u);
		if (rc != RC_OK)
			unindex_name(l, u);
	}
	if (rc != RC_OK) {
		text_unref(u->name);
		mem_free(u);
		return (err_set(err, rc, "ledger: user"));
	}
	*ret = u;
	return (RC_OK);
}

struct ledger_user *
ledger_user_known_by_id(const struct ledger *l, int64_t user_id)
{

	return (htab_find(l->users_by_id, &user_id));
}

struct ledger_user *
ledger_user_known(const struct ledger *l, const char *to)
{
	const size_t n = strlen(to);
	struct ledger_user *u;
	struct name_key name;
	uint64_t address;

	if (strchr(to, '@') != NULL) {
		address = htab_hash(to, n);
		u = htab_find(l->users_by_address, &address);
		/* Another one with this hash is asked for again. */
		return (u != NULL && strcmp(u->name->data, to) == 0 ? u : NULL);
	}
	name = name_key(to, n);
	return (htab_find(l->users_by_name, &name));
}

enum rc
ledger_user_by_name(struct ledger *l, struct tx *tx, const char *name, size_t n,
    struct ledger_user **ret, struct err *err)
{
	struct store_user row;
	struct name_key key;
	enum rc rc;

	if (n == 0 || n > LIMIT_NAME_LEN)
		return (RC_NOT_FOUND);
	key = name_key(name, n);
	*ret = htab_find(l->users_by_name, &key);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_user_by_name(tx->db, name, n, &row, err);
	if (rc == RC_OK)
		rc = ledger_keep_user(l, &row, ret, err);
	return (rc);
}

enum rc
ledger_user_by_id(struct ledger *l, struct tx *tx, int64_t user_id,
    struct ledger_user **ret, struct err *err)
{
	struct store_user row;
	enum rc rc;

	*ret = htab_find(l->users_by_id, &user_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_user_by_id(tx->db, user_id, &row, err);
	if (rc == RC_OK)
		rc = ledger_keep_user(l, &row, ret, err);
	return (rc);
}

/* Destination ${name}, made if there is none. */
static enum rc
find_destination(struct tx *tx, const char *name, int64_t *ret, struct err *err)
{
	struct store_destination_row row;
	enum rc rc;

	rc = store_destination_by_name(tx->db, name, &row, err);
	if (rc == RC_NOT_FOUND)
		return (store_destination_insert(
		    tx->db, name, tx->now_ms, ret, err));
	*ret = row.destination_id;
	return (rc);
}

enum rc
ledger_user_remote(struct ledger *l, struct tx *tx, const char *address,
    struct ledger_user **ret, struct err *err)
{
	struct store_user row;
	const char *at = strchr(address, '@');
	enum rc rc;

	assert(at != NULL);
	*ret = ledger_user_known(l, address);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_user_by_name(tx->db, address, strlen(address), &row, err);
	if (rc == RC_NOT_FOUND) {
		memset(&row, 0, sizeof(row));
		(void)snprintf(row.name, sizeof(row.name), "%s", address);
		rc = find_destination(tx, at + 1, &row.destination_id, err);
		if (rc == RC_OK)
			rc = store_user_remote_insert(tx->db, address,
			    row.destination_id, tx->now_ms, &row.user_id, err);
	}
	if (rc != RC_OK)
		return (rc);
	*ret = htab_find(l->users_by_id, &row.user_id);
	return (*ret != NULL ? RC_OK : ledger_keep_user(l, &row, ret, err));
}

enum rc
ledger_inbox(struct tx *tx, struct ledger_user *u, struct err *err)
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
ledger_inbox_touch(struct ledger *l, struct ledger_user *u)
{

	if (!l->shared || u->filling)
		return;
	u->filling = true;
	u->next_filling = l->filling;
	l->filling = u;
}

static enum rc
take_head(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	struct ledger *l = arg;
	struct ledger_user *u = htab_find(l->users_by_id, &user_id);

	(void)err;
	/* One that an earlier try met is not asked for yet. */
	if (u == NULL)
		return (RC_OK);
	u->counter.head = counter->head;
	u->filling = false;
	return (RC_OK);
}

/* Whoever was listed and not found has no inbox. */
static enum rc
all_held(struct ledger *l, struct err *err)
{
	const struct ledger_user *u;

	for (u = l->filling; u != NULL; u = u->next_filling)
		if (u->filling)
			return (err_set(err, RC_CORRUPT, "user %s has no inbox",
			    u->name->data));
	l->filling = NULL;
	return (RC_OK);
}

enum rc
ledger_hold_inboxes(struct ledger *l, struct tx *tx, struct err *err)
{
	const struct store_lock_handler holder = {
	    .counter = take_head, .arg = l};
	const bool more = l->holds_inboxes;
	const struct ledger_user *u;
	int64_t *ids;
	size_t n, k = 0;
	enum rc rc;

	if (l->filling == NULL)
		return (RC_OK);
	n = more ? 0 : l->met_inboxes.n;
	for (u = l->filling; u != NULL; u = u->next_filling)
		n++;
	ids = mem_alloc(n * sizeof(*ids));
	if (ids == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: inboxes"));
	for (u = l->filling; u != NULL; u = u->next_filling)
		ids[k++] = u->user_id;
	if (k < n)
		memcpy(ids + k, l->met_inboxes.ids, (n - k) * sizeof(*ids));
	l->holds_inboxes = true;
	rc = store_lock_inboxes(tx->db, ids, n, more, &holder, err);
	if (rc == RC_OK)
		rc = store_lock_answers(tx->db, err);
	for (k = 0; more && k < n; k++)
		ledger_meet(&l->met_inboxes, ids[k], tx->db, rc);
	mem_free(ids);
	return (rc == RC_OK ? all_held(l, err) : rc);
}

void
ledger_user_touch(struct ledger *l, struct ledger_user *u)
{

	ledger_inbox_touch(l, u);
	if (u->dirty)
		return;
	u->dirty = true;
	u->next_dirty = l->dirty_users;
	l->dirty_users = u;
}

/* ---- devices ---- */

enum rc
ledger_keep_device(
    struct ledger *l, int64_t device_id, int64_t acked, struct err *err)
{
	struct ledger_device *device;

	device = mem_zalloc(1, sizeof(*device));
	if (device == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: device"));
	device->device_id = device_id;
	device->acked = acked;
	if (htab_set(l->devices, &device->device_id, device) != RC_OK) {
		mem_free(device);
		return (err_set(err, RC_NO_MEMORY, "ledger: device"));
	}
	return (RC_OK);
}

enum rc
ledger_device_by_id(struct ledger *l, struct tx *tx, int64_t device_id,
    struct ledger_device **ret, struct err *err)
{
	int64_t acked;
	enum rc rc;

	*ret = htab_find(l->devices, &device_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_device_acked_get(tx->db, device_id, &acked, err);
	if (rc == RC_OK)
		rc = ledger_keep_device(l, device_id, acked, err);
	if (rc == RC_OK)
		*ret = htab_find(l->devices, &device_id);
	return (rc);
}

void
ledger_device_touch(struct ledger *l, struct ledger_device *device)
{

	if (device->dirty)
		return;
	device->dirty = true;
	device->next_dirty = l->dirty_devices;
	l->dirty_devices = device;
}

/* ---- ids ---- */

/* Taken when what was reserved is not enough. */
#define LEDGER_IDS_AGAIN 8

size_t
ledger_ids_room(size_t n)
{

	return (n < LEDGER_IDS ? n : LEDGER_IDS);
}

enum rc
ledger_keep_id(struct ledger_ids *ids, int64_t id, struct err *err)
{

	if (ids->n == LEDGER_IDS)
		return (err_set(err, RC_INTERNAL, "more ids than asked for"));
	ids->list[ids->n++] = id;
	return (RC_OK);
}

/* The next number of ${ids}.  Where nobody else writes it is the one after the
 * last; else the store gives them out, a handful at a time. */
static enum rc
next_id(struct tx *tx, struct ledger_ids *ids,
    enum rc (*last)(struct db *db, int64_t *ret, struct err *err),
    enum rc (*take)(struct db *db, int64_t *list, size_t n, struct err *err),
    int64_t *ret, struct err *err)
{
	enum rc rc = RC_OK;

	if (!db_shared(tx->db)) {
		if (ids->last < 0)
			rc = last(tx->db, &ids->last, err);
		if (rc == RC_OK)
			*ret = ++ids->last;
		return (rc);
	}
	if (ids->at == ids->n) {
		ids->n = ids->at = 0;
		rc = take(tx->db, ids->list, LEDGER_IDS_AGAIN, err);
		if (rc != RC_OK)
			return (rc);
		ids->n = LEDGER_IDS_AGAIN;
	}
	*ret = ids->list[ids->at++];
	return (RC_OK);
}

bool
ledger_id_free(const struct ledger *l, const struct uuid *id)
{

	return (l->gathered && htab_find(l->taken, id) == NULL);
}

enum rc
ledger_next_mid(struct ledger *l, struct tx *tx, int64_t *ret, struct err *err)
{

	return (next_id(
	    tx, &l->mids, store_message_last_id, store_message_ids, ret, err));
}

enum rc
ledger_next_outbox_id(
    struct ledger *l, struct tx *tx, int64_t *ret, struct err *err)
{

	return (next_id(tx, &l->outbox_ids, store_outbox_last_id,
	    store_outbox_ids, ret, err));
}
