/* SPDX-License-Identifier: MIT */
/*
 * The objects and tables of the cache.  Only cache*.c and lockset*.c include
 * this.
 */
#ifndef TXN_CACHE_INTERNAL_H
#define TXN_CACHE_INTERNAL_H

#include "base/htab.h"
#include "store/rows.h"
#include "txn/cache.h"

/* Keys of fixed size, zero-padded. */
struct name_key {
	char name[LIMIT_NAME_LEN + 8];
};

struct pair_key {
	int64_t low, high;
};

struct lane_key {
	int64_t conversation_id, dest_user, class;
};

/* Reserved internal ids. */
#define CACHE_IDS 512
struct cached_ids {
	/* single writer: the last id; -1: not read yet */
	int64_t last;
	int64_t list[CACHE_IDS]; /* multi-writer: reserved ids */
	size_t n, at;            /* reserved; used of these */
	size_t more;             /* needed by the batch beyond ${list} */
};

/* Ids of rows that another transaction had locked when a unit needed them.  The
 * cache has two such structs.  One is for conversations that a unit looked up
 * by internal id without having listed them.  The other is for inboxes that
 * were needed after this transaction had locked other inboxes; all inboxes of
 * the failed statement are added, because the error does not say which of them
 * was locked.  The next try of this transaction locks these rows together with
 * the listed ones.  If there is no memory to remember an id, the next try only
 * runs into the same lock again. */
struct contended_ids {
	int64_t *ids;
	size_t n, cap;
};

struct cache {
	struct uuid_gen *ids;
	bool complete; /* all tables were allocated */
	bool shared;   /* the database is multi-writer */
	struct htab *users_by_name, *users_by_id;
	/* users of other servers, by the hash of the address */
	struct htab *users_by_address;
	struct htab *direct, *conversations_by_public, *conversations_by_id;
	struct htab *lanes_by_key, *lanes_by_id;
	struct htab *devices;
	struct cached_device *dirty_devices;
	struct cached_user *dirty_users;
	struct cached_user *filling;
	struct cached_conversation *dirty_conversations;
	struct cached_lane *dirty_lanes;
	struct cached_ids mids, outbox_ids;
	/* message ids of the batch that exist; valid if ${gathered} */
	struct htab *taken;
	bool gathered;
	/* this transaction holds locks on inboxes */
	bool locks_inboxes;
	struct contended_ids contended_conversations, contended_inboxes;
	struct store_rows device_rows, counter_rows, participant_rows,
	    lane_rows;
	struct store_rows remote_rows;
};

/* Each of these functions adds to the cache an object for a row that the caller
 * has read from the store: a user, a conversation without its members, a
 * member, a device, or a lane, whose conversation and recipient are loaded if
 * necessary.  The caller must ensure that the row is not cached yet, and must
 * add the members of a conversation in ascending order of user ids. */
enum rc cache_keep_user(struct cache *cache, const struct store_user *row,
    struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_keep_conversation(struct cache *cache,
    const struct store_conversation *row, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_keep_member(struct cached_conversation *c,
    struct cached_user *user, const struct store_participant *p,
    struct err *err) MUST_USE;
enum rc cache_keep_device(struct cache *cache, int64_t device_id, int64_t acked,
    struct err *err) MUST_USE;
enum rc cache_keep_lane(struct cache *cache, struct tx *tx,
    const struct store_lane *row, struct cached_lane **ret,
    struct err *err) MUST_USE;

/* Remembers ${id} if ${rc} and ${db} say that another transaction has locked
 * the row. */
void cache_contended_add(
    struct contended_ids *met, int64_t id, const struct db *db, enum rc rc);

/* The batch may need ${n} internal ids.  Returns the number of ids that the
 * caller must reserve now: ${n}, but at most CACHE_IDS, the size of ids->list.
 * Sets ids->more to the number of the remaining ids; cache_next_mid() and
 * cache_next_outbox_id() reserve these when the ids in the list are used up. */
size_t cache_ids_room(struct cached_ids *ids, size_t n);

/* Adds a reserved id. */
enum rc cache_keep_id(
    struct cached_ids *ids, int64_t id, struct err *err) MUST_USE;

#endif
