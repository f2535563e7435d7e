/* SPDX-License-Identifier: MIT */
/*
 * See ledger.h.  Tables by every key that is asked for.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "domain/ledger_internal.h"
#include "model/message.h"
#include "store/destination.h"

/* When it holds more objects than this, it starts anew: about 60 MB. */
#define LEDGER_MAX 200000
#define FLUSH_ROWS 128

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
	htab_clear(l->users_by_id);
	htab_clear(l->direct);
	htab_clear(l->conversations_by_public);
	htab_clear(l->conversations_by_id);
	htab_clear(l->lanes_by_key);
	htab_clear(l->lanes_by_id);
	l->dirty_devices = NULL;
	l->dirty_users = NULL;
	l->dirty_conversations = NULL;
	l->dirty_lanes = NULL;
	l->device_rows.n = l->counter_rows.n = l->mark_rows.n = l->lane_rows.n =
	    l->remote_rows.n = 0;
	l->mids = l->outbox_ids = (struct ledger_ids){.last = -1};
}

struct ledger *
ledger_new(struct uuid_gen *ids)
{
	struct ledger *l;

	l = mem_zalloc(1, sizeof(*l));
	if (l == NULL)
		return (NULL);
	l->ids = ids;
	l->mids = l->outbox_ids = (struct ledger_ids){.last = -1};
	l->devices = htab_new(sizeof(int64_t));
	l->users_by_name = htab_new(sizeof(struct name_key));
	l->users_by_id = htab_new(sizeof(int64_t));
	l->direct = htab_new(sizeof(struct pair_key));
	l->conversations_by_public = htab_new(sizeof(struct uuid));
	l->conversations_by_id = htab_new(sizeof(int64_t));
	l->lanes_by_key = htab_new(sizeof(struct lane_key));
	l->lanes_by_id = htab_new(sizeof(int64_t));
	if (l->devices == NULL || l->users_by_name == NULL ||
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
	if (l->devices != NULL && l->users_by_name != NULL &&
	    l->users_by_id != NULL && l->direct != NULL &&
	    l->conversations_by_public != NULL &&
	    l->conversations_by_id != NULL && l->lanes_by_key != NULL &&
	    l->lanes_by_id != NULL)
		forget_all(l);
	htab_free(l->devices);
	htab_free(l->users_by_name);
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
	       l->dirty_conversations == NULL && l->dirty_lanes == NULL);
	if (db_shared(tx->db) || htab_count(l->devices) +
					 htab_count(l->users_by_id) +
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

static enum rc
keep_user(struct ledger *l, const struct store_user *row,
    struct ledger_user **ret, struct err *err)
{
	struct ledger_user *u;
	struct name_key key;
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
	if (u->destination_id != 0) {
		rc = htab_set(l->users_by_id, &u->user_id, u);
		goto kept;
	}
	key = name_key(row->name, n);
	rc = htab_set(l->users_by_name, &key, u);
	if (rc == RC_OK) {
		rc = htab_set(l->users_by_id, &u->user_id, u);
		if (rc != RC_OK)
			(void)htab_remove(l->users_by_name, &key);
	}
kept:
	if (rc != RC_OK) {
		rc = err_set(err, rc, "ledger: user");
		goto undo_user;
	}
	*ret = u;
	return (RC_OK);

undo_user:
	text_unref(u->name);
	mem_free(u);
	return (rc);
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
		rc = keep_user(l, &row, ret, err);
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
		rc = keep_user(l, &row, ret, err);
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
	return (*ret != NULL ? RC_OK : keep_user(l, &row, ret, err));
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
ledger_user_touch(struct ledger *l, struct ledger_user *u)
{

	if (u->dirty)
		return;
	u->dirty = true;
	u->next_dirty = l->dirty_users;
	l->dirty_users = u;
}

/* ---- devices ---- */

enum rc
ledger_device_by_id(struct ledger *l, struct tx *tx, int64_t device_id,
    struct ledger_device **ret, struct err *err)
{
	struct ledger_device *device;
	enum rc rc;

	*ret = htab_find(l->devices, &device_id);
	if (*ret != NULL)
		return (RC_OK);
	device = mem_zalloc(1, sizeof(*device));
	if (device == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: device"));
	device->device_id = device_id;
	rc = store_device_acked_get(tx->db, device_id, &device->acked, err);
	if (rc == RC_OK &&
	    htab_set(l->devices, &device->device_id, device) != RC_OK)
		rc = err_set(err, RC_NO_MEMORY, "ledger: device");
	if (rc != RC_OK) {
		mem_free(device);
		return (rc);
	}
	*ret = device;
	return (RC_OK);
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

/* ---- conversations ---- */

struct member_load {
	struct ledger *l;
	struct tx *tx;
	struct ledger_conversation *c;
	size_t cap;
};

static enum rc
load_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct member_load *load = arg;
	struct ledger_conversation *c = load->c;
	struct ledger_member *m;
	size_t cap;
	void *list;
	enum rc rc;

	if (c->nmembers == load->cap) {
		cap = load->cap == 0 ? 2 : load->cap * 2;
		list = mem_realloc(c->members, cap * sizeof(*c->members));
		if (list == NULL)
			return (err_set(err, RC_NO_MEMORY, "ledger: member"));
		c->members = list;
		load->cap = cap;
	}
	m = &c->members[c->nmembers];
	memset(m, 0, sizeof(*m));
	rc = ledger_user_by_id(load->l, load->tx, p->user_id, &m->user, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a participant without a user");
	if (rc != RC_OK)
		return (rc);
	m->delivered_upto = p->delivered_upto;
	m->acked_upto = p->acked_upto;
	m->read_upto = p->read_upto;
	m->acked_at = p->acked_at;
	m->read_at = p->read_at;
	m->shown_upto = p->shown_upto;
	m->shown_at = p->shown_at;
	c->nmembers++;
	return (RC_OK);
}

static void
free_conversation(struct ledger_conversation *c)
{

	mem_free(c->members);
	mem_free(c);
}

static enum rc
keep_conversation(struct ledger *l, struct tx *tx,
    const struct store_conversation *row, struct ledger_conversation **ret,
    struct err *err)
{
	struct ledger_conversation *c;
	struct member_load load;
	enum rc rc;

	c = mem_zalloc(1, sizeof(*c));
	if (c == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: conversation"));
	c->id = row->conversation_id;
	c->public_id = row->public_id;
	c->direct = row->direct;
	c->last_seq = row->last_seq;
	memcpy(c->digest, row->digest, sizeof(c->digest));
	load = (struct member_load){l, tx, c, 0};
	rc = store_participants(tx->db, c->id, load_member, &load, err);
	if (rc != RC_OK)
		goto undo;
	rc = htab_set(l->conversations_by_public, &c->public_id, c);
	if (rc == RC_OK) {
		rc = htab_set(l->conversations_by_id, &c->id, c);
		if (rc != RC_OK)
			(void)htab_remove(
			    l->conversations_by_public, &c->public_id);
	}
	if (rc != RC_OK) {
		rc = err_set(err, rc, "ledger: conversation");
		goto undo;
	}
	*ret = c;
	return (RC_OK);

undo:
	free_conversation(c);
	return (rc);
}

enum rc
ledger_conversation_by_public(struct ledger *l, struct tx *tx,
    const struct uuid *id, struct ledger_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->conversations_by_public, id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_conversation_by_public(tx->db, id, &row, err);
	if (rc == RC_OK)
		rc = keep_conversation(l, tx, &row, ret, err);
	return (rc);
}

enum rc
ledger_conversation_by_id(struct ledger *l, struct tx *tx, int64_t id,
    struct ledger_conversation **ret, struct err *err)
{
	struct store_conversation row;
	enum rc rc;

	*ret = htab_find(l->conversations_by_id, &id);
	if (*ret != NULL)
		return (RC_OK);
	rc = store_conversation_by_id(tx->db, id, &row, err);
	if (rc == RC_OK)
		rc = keep_conversation(l, tx, &row, ret, err);
	return (rc);
}

/* Writes a new direct conversation with its one or two members. */
static enum rc
make_direct(struct ledger *l, struct tx *tx, const char *key,
    struct ledger_user *a, struct ledger_user *b,
    struct store_conversation *row, struct err *err)
{
	enum rc rc;

	memset(row, 0, sizeof(*row));
	row->public_id = uuid_gen_next(l->ids);
	row->direct = true;
	rc = store_conversation_insert(tx->db, &row->public_id, key, tx->now_ms,
	    &row->conversation_id, err);
	if (rc == RC_OK)
		rc = store_participant_insert(
		    tx->db, row->conversation_id, a->user_id, err);
	if (rc == RC_OK && a != b)
		rc = store_participant_insert(
		    tx->db, row->conversation_id, b->user_id, err);
	return (rc);
}

enum rc
ledger_direct(struct ledger *l, struct tx *tx, struct ledger_user *a,
    struct ledger_user *b, struct ledger_conversation **ret, struct err *err)
{
	char text[STORE_DIRECT_KEY_SIZE];
	struct store_conversation row;
	struct pair_key key;
	enum rc rc;

	key.low = a->user_id < b->user_id ? a->user_id : b->user_id;
	key.high = a->user_id < b->user_id ? b->user_id : a->user_id;
	*ret = htab_find(l->direct, &key);
	if (*ret != NULL)
		return (RC_OK);
	store_direct_key(a->name->data, b->name->data, text);
	rc = store_conversation_by_key(tx->db, text, &row, err);
	if (rc == RC_NOT_FOUND)
		rc = make_direct(l, tx, text, a, b, &row, err);
	if (rc != RC_OK)
		return (rc);
	*ret = htab_find(l->conversations_by_id, &row.conversation_id);
	if (*ret == NULL)
		rc = keep_conversation(l, tx, &row, ret, err);
	if (rc == RC_OK && htab_set(l->direct, &key, *ret) != RC_OK)
		rc = err_set(err, RC_NO_MEMORY, "ledger: direct");
	return (rc);
}

struct ledger_member *
ledger_member_find(struct ledger_conversation *c, int64_t user_id)
{
	size_t i;

	for (i = 0; i < c->nmembers; i++)
		if (c->members[i].user->user_id == user_id)
			return (&c->members[i]);
	return (NULL);
}

struct ledger_member *
ledger_member_other(struct ledger_conversation *c, int64_t user_id)
{

	if (!c->direct || c->nmembers == 0)
		return (NULL);
	if (c->nmembers == 1 || c->members[0].user->user_id != user_id)
		return (&c->members[0]);
	return (&c->members[1]);
}

void
ledger_member_touch(
    struct ledger *l, struct ledger_conversation *c, struct ledger_member *m)
{

	m->dirty = true;
	if (c->listed)
		return;
	c->listed = true;
	c->next_dirty = l->dirty_conversations;
	l->dirty_conversations = c;
}

/* ---- lanes ---- */

static enum rc
keep_lane(struct ledger *l, struct tx *tx, const struct store_lane *row,
    struct ledger_lane **ret, struct err *err)
{
	struct ledger_lane *lane;
	struct lane_key key;
	enum rc rc;

	lane = mem_zalloc(1, sizeof(*lane));
	if (lane == NULL)
		return (err_set(err, RC_NO_MEMORY, "ledger: lane"));
	lane->lane = *row;
	rc = ledger_conversation_by_id(
	    l, tx, row->conversation_id, &lane->conversation, err);
	if (rc == RC_OK)
		rc = ledger_user_by_id(l, tx, row->dest_user, &lane->dest, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(
		    err, RC_CORRUPT, "a lane without a conversation or a user");
	if (rc != RC_OK)
		goto undo;
	key =
	    (struct lane_key){row->conversation_id, row->dest_user, row->class};
	rc = htab_set(l->lanes_by_key, &key, lane);
	if (rc == RC_OK) {
		rc = htab_set(l->lanes_by_id, &lane->lane.lane_id, lane);
		if (rc != RC_OK)
			(void)htab_remove(l->lanes_by_key, &key);
	}
	if (rc != RC_OK) {
		rc = err_set(err, rc, "ledger: lane");
		goto undo;
	}
	*ret = lane;
	return (RC_OK);

undo:
	mem_free(lane);
	return (rc);
}

enum rc
ledger_lane_to(struct ledger *l, struct tx *tx, struct ledger_conversation *c,
    struct ledger_user *dest, enum lane_class class, struct ledger_lane **ret,
    struct err *err)
{
	struct store_lane row, want;
	struct lane_key key;
	enum rc rc;

	key = (struct lane_key){c->id, dest->user_id, class};
	*ret = htab_find(l->lanes_by_key, &key);
	if (*ret != NULL)
		return (RC_OK);
	memset(&want, 0, sizeof(want));
	want.conversation_id = c->id;
	want.dest_user = dest->user_id;
	want.class = class;
	want.destination_id = dest->destination_id != 0 ? dest->destination_id
							: DESTINATION_LOCAL;
	rc = store_lane_find(tx->db, &want, &row, err);
	if (rc == RC_NOT_FOUND) {
		row = want;
		rc = store_lane_insert(tx->db, &row, tx->now_ms, err);
	}
	if (rc == RC_OK)
		rc = keep_lane(l, tx, &row, ret, err);
	return (rc);
}

/* A lane as it is while its conversation is ours.  Its key, which says whose
 * it is, never changes. */
static enum rc
read_lane(struct ledger *l, struct tx *tx, int64_t lane_id,
    struct store_lane *ret, struct err *err)
{
	struct ledger_conversation *c;
	enum rc rc;

	rc = store_lane_get(tx->db, lane_id, ret, err);
	if (rc != RC_OK || !db_shared(tx->db) ||
	    htab_find(l->conversations_by_id, &ret->conversation_id) != NULL)
		return (rc);
	rc = ledger_conversation_by_id(l, tx, ret->conversation_id, &c, err);
	if (rc == RC_NOT_FOUND)
		return (
		    err_set(err, RC_CORRUPT, "a lane without a conversation"));
	return (rc == RC_OK ? store_lane_get(tx->db, lane_id, ret, err) : rc);
}

enum rc
ledger_lane_by_id(struct ledger *l, struct tx *tx, int64_t lane_id,
    struct ledger_lane **ret, struct err *err)
{
	struct store_lane row;
	enum rc rc;

	*ret = htab_find(l->lanes_by_id, &lane_id);
	if (*ret != NULL)
		return (RC_OK);
	rc = read_lane(l, tx, lane_id, &row, err);
	if (rc == RC_OK)
		rc = keep_lane(l, tx, &row, ret, err);
	return (rc);
}

void
ledger_lane_touch(struct ledger *l, struct ledger_lane *lane)
{

	if (lane->dirty)
		return;
	lane->dirty = true;
	lane->next_dirty = l->dirty_lanes;
	l->dirty_lanes = lane;
}

void
ledger_lane_fell(struct ledger *l, struct ledger_lane *lane, int priority)
{

	if (!ledger_lane_remote(lane) || priority < lane->lane.priority ||
	    lane->lane.priority == PRIORITY_LOW)
		return;
	lane->fell = true;
	ledger_lane_touch(l, lane);
}

void
ledger_forget_lanes(struct ledger *l)
{
	size_t pos;
	void *p;

	assert(l->dirty_lanes == NULL);
	for (pos = 0; (p = htab_next(l->lanes_by_id, &pos)) != NULL;)
		mem_free(p);
	htab_clear(l->lanes_by_key);
	htab_clear(l->lanes_by_id);
}

/* ---- ids ---- */

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
	if (ids->left == 0) {
		rc = take(tx->db, ids->list, LEDGER_IDS, err);
		if (rc != RC_OK)
			return (rc);
		ids->left = LEDGER_IDS;
	}
	*ret = ids->list[LEDGER_IDS - ids->left--];
	return (RC_OK);
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
