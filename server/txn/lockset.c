/* SPDX-License-Identifier: MIT */
/*
 * On a multi-writer database the rows that the units of a batch need
 * (unit_kind.locks) are read before the batch's first write, and locked, except
 * users, which are only read, and inboxes.  One statement waits for and locks
 * the conversations, in the order of their ids.  A second one locks the
 * conversations of scheduled messages that are due, and skips those that
 * another transaction has locked.  A third one waits for and locks the devices,
 * in the order of their ids.  Inboxes are locked at the end of the batch
 * (cache_flush.c, add_inbox.c).  If a unit must see new events earlier, the
 * inboxes are locked then.  Inboxes that are needed after that are locked
 * without waiting; if another transaction has locked one, this transaction is
 * tried again.  Because all nodes lock in this order, batches cannot deadlock
 * on these rows.  The units find the rows in the cache.
 *
 * A row that does not exist yet cannot be locked.  Its name is locked instead
 * (an advisory lock), before all rows.  That a row is missing shows only after
 * the other rows are locked.  The transaction, which has written nothing yet,
 * then starts again and locks the names first.
 *
 * A row that another transaction locks for long (an operator's session, a node
 * that hangs) would make the whole batch wait.  After timing.db_patience_ms (50
 * ms; doubled up to four times, to 800 ms, while the batches of this node take
 * long) the batch is tried again: it locks only rows that are free, and the
 * inboxes with them before the first write (lockset_skip.c).  Units that need a
 * row that is not free are deferred.  Later units that need the same row are
 * deferred, too, until a probe finds the row free or the set of contended rows
 * is emptied (lockset_probe()).
 *
 * A unit may need a conversation that its kind did not list.  The unit then
 * reads and locks the conversation without waiting.  If another transaction has
 * locked it, this transaction is tried again and locks the conversation
 * together with the others.
 */
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "txn/cache_internal.h"
#include "txn/lockset_internal.h"

/* ---- rows that were read ---- */

static enum rc
on_user(void *arg, const struct store_user *row, struct err *err)
{
	struct lockset *set = arg;
	struct cached_user *user;

	if (htab_find(set->cache->users_by_id, &row->user_id) != NULL)
		return (RC_OK);
	return (cache_keep_user(set->cache, row, &user, err));
}

static enum rc
on_about(void *arg, size_t number, int64_t conversation_id, struct err *err)
{
	const struct store_conversation_key key = {
	    .conversation_id = conversation_id};
	struct lockset *set = arg;

	set->owner = ((const struct lock_owner *)set->about_owners.v)[number];
	return (lockset_add_key(set, &key, err));
}

static enum rc
on_found(void *arg, size_t number, int64_t conversation_id, int64_t dest_user,
    struct err *err)
{
	struct lockset *set = arg;
	enum rc rc = RC_OK;

	set->owner = ((const struct lock_owner *)set->key_owners.v)[number];
	if (conversation_id != 0)
		rc = lockset_add_need(
		    set, CONTENDED_CONVERSATION, conversation_id, err);
	return (rc == RC_OK && dest_user != 0
		    ? lockset_add_need(set, CONTENDED_INBOX, dest_user, err)
		    : rc);
}

static enum rc
on_conversation(
    void *arg, const struct store_conversation *row, struct err *err)
{
	struct lockset *set = arg;
	struct cached_conversation *c;
	enum rc rc;

	if (htab_find(set->cache->conversations_by_id, &row->conversation_id) !=
	    NULL)
		return (RC_OK);
	rc = cache_keep_conversation(set->cache, row, &c, err);
	return (
	    rc == RC_OK ? lockset_add_id(&set->conversations, c->id, err) : rc);
}

static enum rc
on_member(void *arg, const struct store_lock_member *m, struct err *err)
{
	struct lockset *set = arg;
	struct cached_conversation *c;
	struct cached_user *user;
	enum rc rc;

	rc = on_user(set, &m->user, err);
	c = htab_find(set->cache->conversations_by_id, &m->conversation_id);
	user = htab_find(set->cache->users_by_id, &m->user.user_id);
	if (rc != RC_OK || c == NULL)
		return (rc);
	return (cache_keep_member(c, user, &m->participant, err));
}

static enum rc
on_lane(void *arg, const struct store_lane *row, struct err *err)
{
	struct lockset *set = arg;
	struct cached_lane *lane;

	return (cache_keep_lane(set->cache, set->tx, row, &lane, err));
}

static enum rc
on_counter(void *arg, int64_t user_id, const struct store_counter *counter,
    struct err *err)
{
	struct lockset *set = arg;
	struct cached_user *user = htab_find(set->cache->users_by_id, &user_id);
	const struct contended_row row = {CONTENDED_INBOX, user_id};

	if (user != NULL) {
		user->counter = *counter;
		user->counted = true;
	}
	if (set->got != NULL && contended_add(set->got, &row) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "lock set"));
	return (RC_OK);
}

static enum rc
on_device(void *arg, int64_t device_id, int64_t acked, struct err *err)
{
	struct lockset *set = arg;

	return (cache_keep_device(set->cache, device_id, acked, err));
}

static enum rc
on_device_that_exists(void *arg, int64_t device_id, struct err *err)
{
	const struct contended_row row = {CONTENDED_DEVICE, device_id};
	struct lockset *set = arg;

	return (contended_add(set->got, &row) == RC_OK
		    ? RC_OK
		    : err_set(err, RC_NO_MEMORY, "lock set"));
}

static enum rc
on_key(void *arg, const struct uuid *id, struct err *err)
{
	struct lockset *set = arg;

	if (htab_set(set->cache->taken, id, set->cache) != RC_OK)
		return (err_set(err, RC_NO_MEMORY, "lock set"));
	return (RC_OK);
}

static enum rc
on_message_id(void *arg, int64_t id, struct err *err)
{
	struct lockset *set = arg;

	return (cache_keep_id(&set->cache->mids, id, err));
}

static enum rc
on_outbox_id(void *arg, int64_t id, struct err *err)
{
	struct lockset *set = arg;

	return (cache_keep_id(&set->cache->outbox_ids, id, err));
}

static const struct store_lock_handler handler = {.user = on_user,
    .about = on_about,
    .found = on_found,
    .conversation = on_conversation,
    .member = on_member,
    .lane = on_lane,
    .counter = on_counter,
    .device = on_device,
    .device_exists = on_device_that_exists,
    .key = on_key,
    .message_id = on_message_id,
    .outbox_id = on_outbox_id};

/* ---- in order ---- */

/* Adds the conversations that were read to the table of direct
 * conversations. */
static enum rc
note_direct(struct lockset *set, struct err *err)
{
	const struct cached_conversation *c;
	struct pair_key key;
	size_t pos = 0;

	while ((c = htab_next(set->cache->conversations_by_id, &pos)) != NULL) {
		if (!c->direct || c->nmembers == 0)
			continue;
		key.low = c->members[0].user->user_id;
		key.high = c->members[c->nmembers - 1].user->user_id;
		if (htab_set(set->cache->direct, &key, (void *)(uintptr_t)c) !=
		    RC_OK)
			return (err_set(err, RC_NO_MEMORY, "lock set"));
	}
	return (RC_OK);
}

/* Reads the users and locks the conversations. */
static enum rc
lock_conversations(struct lockset *set, struct err *err)
{
	const struct store_lock_handler *h = &set->handler;
	struct db *db = set->tx->db;
	enum rc rc;

	rc = store_lock_users(db, set->users.v, set->users.n, h, err);
	if (rc == RC_OK)
		rc = set->tx->search ? lockset_skip_conversations(set, err)
				     : store_lock_conversations(db, set->keys.v,
					   set->keys.n, h, err);
	/* This statement skips locked rows, so it comes after the one that
	 * waits. */
	if (rc == RC_OK && set->due > 0)
		rc = store_lock_due(db, set->tx->now_ms, set->due, h, err);
	if (rc == RC_OK)
		rc = store_lock_answers(db, err);
	return (rc == RC_OK && set->tx->search ? lockset_defer(set, false, err)
					       : rc);
}

/* Locks the devices and reads the counters of the inboxes. */
static enum rc
lock_marks(struct lockset *set, struct err *err)
{
	const struct store_lock_handler *h = &set->handler;
	struct db *db = set->tx->db;
	enum rc rc;

	rc = store_lock_devices(db, set->devices.v, set->devices.n, h, err);
	return (rc == RC_OK ? store_lock_counters(
				  db, set->inboxes.v, set->inboxes.n, h, err)
			    : rc);
}

/* Reads the members and lanes of the locked conversations, including what other
 * nodes have just committed.  Then locks the devices, reads the counters of
 * inboxes, checks which ids of new messages exist, and reserves internal ids
 * unless begin_with_names() has kept them.  With tx->search locks only the
 * devices and inboxes that are free, and defers the units that need a device or
 * an inbox that another transaction has locked. */
static enum rc
lock_rest(struct lockset *set, struct err *err)
{
	const struct store_lock_handler *h = &set->handler;
	const struct list *conversations = &set->conversations;
	struct db *db = set->tx->db;
	enum rc rc;

	rc = store_lock_members(db, conversations->v, conversations->n, h, err);
	if (rc == RC_OK)
		rc = store_lock_lanes_of(
		    db, conversations->v, conversations->n, h, err);
	if (rc == RC_OK)
		rc = set->tx->search ? lockset_skip_rest(set, err)
				     : lock_marks(set, err);
	if (rc == RC_OK)
		rc = store_lock_keys(
		    db, set->messages.v, set->messages.n, h, err);
	if (rc == RC_OK && !set->has_ids)
		rc = store_lock_message_ids(db,
		    cache_ids_room(&set->cache->mids, set->messages.n), h, err);
	if (rc == RC_OK && !set->has_ids)
		rc = store_lock_outbox_ids(db,
		    cache_ids_room(&set->cache->outbox_ids,
			set->messages.n + set->nreceipts),
		    h, err);
	if (rc == RC_OK)
		rc = store_lock_answers(db, err);
	return (rc == RC_OK && set->tx->search ? lockset_defer(set, true, err)
					       : rc);
}

/* Locks all rows in two round trips, however many rows there are. */
static enum rc
lock_rows(struct lockset *set, struct err *err)
{
	enum rc rc;

	rc = lock_conversations(set, err);
	if (rc == RC_OK)
		rc = lock_rest(set, err);
	return (rc == RC_OK ? note_direct(set, err) : rc);
}

/* ---- names ---- */

static enum rc
lock_names(struct lockset *set, struct err *err)
{
	const char **names;
	enum rc rc;

	if (set->tx->search)
		return (lockset_skip_names(set, err));
	names = lockset_name_list(set, err);
	if (names == NULL)
		return (RC_NO_MEMORY);
	rc = store_lock_names(set->tx->db, names, set->names.n, err);
	mem_free(names);
	return (rc);
}

/* Starts the transaction, which has written nothing yet, again: releases all
 * locks, locks the names first and then all rows.  The reserved internal ids
 * are kept. */
static enum rc
begin_with_names(struct lockset *set, struct err *err)
{
	const struct cached_ids mids = set->cache->mids;
	const struct cached_ids outbox_ids = set->cache->outbox_ids;
	struct txn_env *env = txn_env_of(set->tx);
	struct db *db = set->tx->db;
	enum rc rc;

	db_rollback(db);
	cache_abort(set->cache);
	backlog_abort(env->backlog);
	set->conversations.n = 0;
	rc = db_begin(db, err);
	if (rc == RC_OK)
		rc = env->hooks.begin(env, set->tx, err);
	if (rc == RC_OK)
		rc = lock_names(set, err);
	set->cache->mids = mids;
	set->cache->outbox_ids = outbox_ids;
	set->has_ids = true;
	/* Another node may have added a row in the meantime. */
	if (rc == RC_OK && set->tx->search)
		rc = lockset_add_all(set, err);
	if (rc == RC_OK && set->tx->search)
		rc = lockset_find(set, err);
	return (rc == RC_OK ? lock_rows(set, err) : rc);
}

/* Finds the conversations of the listed messages and dead letters. */
enum rc
lockset_find_about(struct lockset *set, struct err *err)
{
	struct db *db = set->tx->db;
	enum rc rc;

	if (set->about.n == 0)
		return (RC_OK);
	rc = store_lock_about(
	    db, set->about.v, set->about.n, &set->handler, err);
	return (rc == RC_OK ? store_lock_answers(db, err) : rc);
}

/* Locks the names that the units have listed, then all rows.  If a row is
 * missing, its name must be locked as well.  Names are locked in an order of
 * their own and before all rows, so the transaction starts again.  If after
 * that yet another row turns out to be missing (such as the conversation with a
 * user who was added in the meantime), its unit adds the row without a lock on
 * the name; if another node adds the same row, the transaction is retried.
 * This is rare. */
static enum rc
lock_all(struct lockset *set, struct err *err)
{
	size_t known = set->names.n;
	enum rc rc = RC_OK;

	if (known > 0)
		rc = lock_names(set, err);
	if (rc == RC_OK && !set->tx->search)
		rc = lockset_find_about(set, err);
	if (rc == RC_OK)
		rc = lock_rows(set, err);
	if (rc == RC_OK)
		rc = lockset_add_names(set, err);
	return (rc == RC_OK && set->names.n > known ? begin_with_names(set, err)
						    : rc);
}

/* ---- a batch ---- */

/* Sets the `deferred` flags of the units and of their parts to false.  An
 * earlier try of the transaction may have set them. */
static void
forget_deferred(struct unit **units, size_t n)
{
	size_t i, nparts;
	bool *parts;

	for (i = 0; i < n; i++) {
		units[i]->deferred = false;
		if (units[i]->kind->parts == NULL)
			continue;
		parts = units[i]->kind->parts(units[i], &nparts);
		memset(parts, 0, nparts * sizeof(*parts));
	}
}

static enum rc
prepare(struct lockset *set, struct err *err)
{
	enum rc rc;

	if (set->tx->search && (set->got = contended_new()) == NULL)
		return (err_set(err, RC_NO_MEMORY, "lock set"));
	rc = lockset_add_all(set, err);
	if (rc == RC_OK && set->selective)
		rc = lockset_find(set, err);
	/* Lists the rows again, without those of the units that are deferred
	 * now. */
	if (rc == RC_OK && set->selective && !set->tx->search)
		rc = lockset_add_all(set, err);
	return (rc);
}

static void
release(struct lockset *set)
{

	mem_free(set->conversations.v);
	mem_free(set->inboxes.v);
	mem_free(set->devices.v);
	mem_free(set->users.v);
	mem_free(set->keys.v);
	mem_free(set->key_owners.v);
	mem_free(set->about.v);
	mem_free(set->about_owners.v);
	mem_free(set->messages.v);
	mem_free(set->names.v);
	mem_free(set->needs.v);
	contended_free(set->got);
}

enum rc
lockset_lock(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct txn_env *env = txn_env_of(tx);
	struct lockset set = {.cache = env->cache,
	    .contended = env->contended,
	    .tx = tx,
	    .handler = handler,
	    .units = units,
	    .nunits = n,
	    .selective = tx->search || contended_count(env->contended) > 0};
	enum rc rc;

	thr_assert(THR_WRITER);
	set.handler.arg = &set;
	forget_deferred(units, n);
	rc = prepare(&set, err);
	if (rc == RC_OK)
		rc = lock_all(&set, err);
	/* With tx->search the inboxes that the units have listed are locked by
	 * now (those of deferred units are not).  If a unit needs a further
	 * inbox, cache_lock_inboxes() must not wait for its lock: waiting out
	 * of order could deadlock. */
	env->cache->locks_inboxes = rc == RC_OK && tx->search;
	env->cache->gathered = rc == RC_OK;
	release(&set);
	return (rc);
}
