/* SPDX-License-Identifier: MIT */
/*
 * What the cache holds.  Only cache*.c include this.
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

/* Internal ids to be given. */
#define CACHE_IDS 512
struct cached_ids {
	int64_t last;            /* where only we give them; -1: not read yet */
	int64_t list[CACHE_IDS]; /* where others do, too: taken … */
	size_t n, at;            /* … and given */
	size_t more;             /* that the batch needs beside these */
};

/* Ids of what a unit met that another writer had: the next try of the
 * transaction holds it from the beginning, or with the first of its kind.
 * Without memory it is met again. */
struct contended_ids {
	int64_t *ids;
	size_t n, cap;
};

struct cache {
	struct uuid_gen *ids;
	bool complete; /* all tables are made */
	bool shared;   /* others write as well */
	struct htab *users_by_name, *users_by_id;
	struct htab *users_by_address; /* of other servers, by its hash */
	struct htab *direct, *conversations_by_public, *conversations_by_id;
	struct htab *lanes_by_key, *lanes_by_id;
	struct htab *devices;
	struct cached_device *dirty_devices;
	struct cached_user *dirty_users;
	struct cached_user *filling;
	struct cached_conversation *dirty_conversations;
	struct cached_lane *dirty_lanes;
	struct cached_ids mids, outbox_ids;
	struct htab *taken; /* of the batch's message ids, once gathered */
	bool gathered;
	bool locks_inboxes;
	struct contended_ids contended_conversations, contended_inboxes;
	struct store_rows device_rows, counter_rows, participant_rows,
	    lane_rows;
	struct store_rows remote_rows;
};

/* Rows that were read become objects of the cache: a user, a conversation
 * without its members, a member (ascending by user), a device, a lane whose
 * conversation and user are kept. */
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

/* ${id} was met, if ${rc} and ${db} say so. */
void cache_contended_add(
    struct contended_ids *met, int64_t id, const struct db *db, enum rc rc);

/* Of ${n} ids that may be needed as many as there is room for; the others are
 * taken when those are given. */
size_t cache_ids_room(struct cached_ids *ids, size_t n);

/* An id to be given. */
enum rc cache_keep_id(
    struct cached_ids *ids, int64_t id, struct err *err) MUST_USE;

#endif
