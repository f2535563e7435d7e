/* SPDX-License-Identifier: MIT */
/*
 * The cache: the counters and facts that a transaction works with, each read
 * once and written back once, however many units of a batch touch it.
 *
 * Invariants
 * 1. Between transactions nothing is dirty: what the cache holds equals what
 *    is committed.  The embedded database has one writer, so that it stays
 *    true from one transaction to the next; where others write, too, each
 *    transaction begins with an empty cache, and what it reads is locked
 *    until it ends: a conversation with all that belongs to it (messages,
 *    members' marks, lanes, outbox rows) by its row; an inbox by its own, but
 *    only when it is written.
 * 2. An abandoned transaction empties it.
 * 3. Names, conversations' members and lanes' keys never change once made.
 *
 * Pointers it gives stay valid until the next cache_begin().
 * Thread: writer.
 */
#ifndef TXN_CACHE_H
#define TXN_CACHE_H

#include <stdbool.h>

#include "base/text.h"
#include "base/uuid.h"
#include "engine/writer.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/outbox.h"

struct cached_user {
	int64_t user_id;
	struct text *name;
	bool disabled;
	int64_t destination_id;       /* 0: a user of this server */
	struct store_counter counter; /* of the inbox, once counted */
	bool counted;
	bool dirty;
	struct cached_user *next_dirty;
	bool filling; /* the inbox gets events, or watermarks in it advance */
	struct cached_user *next_filling;
};

struct cached_device {
	int64_t device_id;
	int64_t acked; /* never goes back */
	bool dirty;
	struct cached_device *next_dirty;
};

struct cached_member {
	struct cached_user *user;
	int64_t delivered_upto;
	int64_t acked_upto;
	int64_t read_upto;
	int64_t acked_at;
	int64_t read_at;
	int64_t shown_upto;
	int64_t shown_at;
	bool dirty;
};

struct cached_conversation {
	int64_t id;
	struct uuid public_id;
	bool direct;
	int64_t last_seq;
	uint8_t digest[STORE_DIGEST_LEN];
	struct cached_member *members; /* ascending by user id */
	size_t nmembers;
	bool listed; /* in the dirty list: a member's watermarks changed */
	struct cached_conversation *next_dirty;

	/* While an inbox range is walked (chat/watermark.h): the last of the
	 * others' messages in this conversation. */
	bool walked;
	int64_t walk_seq, walk_mid, walk_sender;
	struct cached_conversation *next_walked;
};

struct cached_lane {
	struct store_lane lane;
	struct cached_conversation *conversation;
	struct cached_user *dest;
	bool recheck_priority; /* its priority may be too high */
	bool in_sub_batch;     /* it is being delivered (deliver.c) */
	bool dirty;
	struct cached_lane *next_dirty;

	/* Receipts that the batch will add (add_receipt.c), by kind: the last
	 * message that each covers. */
	struct cached_receipt {
		struct cached_user *by; /* NULL: none */
		int64_t mid, upto;
		struct uuid event_id; /* of the rows that are gathered */
	} delivered, read;
	bool has_receipts; /* it is in the list of such lanes */
	struct cached_lane *next_receipts;
};

struct cache;

/* An empty cache that makes public ids with ${ids} (kept). */
struct cache *cache_new(struct uuid_gen *ids);
void cache_free(struct cache *cache);

/* A transaction begins: forgets what is too much, and where others write to the
 * database, too, everything. */
void cache_begin(struct cache *cache, struct tx *tx);

/* The transaction was abandoned: forgets everything. */
void cache_abort(struct cache *cache);

/* Writes what is dirty. */
enum rc cache_flush(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* A user of this server by name, or any by id; RC_NOT_FOUND (without a text) if
 * there is none. */
enum rc cache_user_by_name(struct cache *cache, struct tx *tx, const char *name,
    size_t n, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_by_id(struct cache *cache, struct tx *tx, int64_t user_id,
    struct cached_user **ret, struct err *err) MUST_USE;

/* Without a query: the user with this id, or with the name or address ${to},
 * who is in the cache; NULL: it has none. */
struct cached_user *cache_user_known_by_id(
    const struct cache *cache, int64_t user_id);
struct cached_user *cache_user_known(const struct cache *cache, const char *to);

/* The person with ${address} (name@domain) on another server, whom the unit has
 * listed.  The first makes the rows of the person and of the destination if
 * there are none; the second returns RC_NOT_FOUND. */
enum rc cache_user_remote(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_remote_find(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;

/* Makes ${n} people of a destination, all of them different and not there. */
enum rc cache_users_remote_make(struct cache *cache, struct tx *tx,
    int64_t destination_id, const char *const *addresses, size_t n,
    struct err *err) MUST_USE;

/* The counters of ${user}'s inbox: must be called before they are looked at.
 * They only grow; where others write as well, they may have done so since. */
enum rc cache_inbox(
    struct tx *tx, struct cached_user *user, struct err *err) MUST_USE;

/* ${user}'s inbox will be written. */
void cache_inbox_touch(struct cache *cache, struct cached_user *user);

/* Inboxes that will be written are ours from now on until the transaction ends,
 * and their heads are the last ones.  When some are ours already another
 * writer's are not waited for: RC_BUSY, and the next try holds them at once. */
enum rc cache_lock_inboxes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* The user's read watermark has changed (the others need no writing: the head
 * is the last row's seq, acked the highest of the devices'). */
void cache_user_touch(struct cache *cache, struct cached_user *user);

/* A device by its id; RC_NOT_FOUND if there is none. */
enum rc cache_device_by_id(struct cache *cache, struct tx *tx,
    int64_t device_id, struct cached_device **ret, struct err *err) MUST_USE;

/* The device's acked mark has been changed, or it has just been seen. */
void cache_device_touch(struct cache *cache, struct cached_device *device);

/* The direct conversation of two users (or of one with themselves), which the
 * unit has listed.  The first makes it if there is none; the second returns
 * RC_NOT_FOUND. */
enum rc cache_direct(struct cache *cache, struct tx *tx, struct cached_user *a,
    struct cached_user *b, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_direct_find(struct cache *cache, struct tx *tx,
    struct cached_user *a, struct cached_user *b,
    struct cached_conversation **ret, struct err *err) MUST_USE;

/* Makes the direct conversations of ${n} pairs, all of them different and not
 * there. */
struct cached_pair {
	struct cached_user *a, *b;
};
enum rc cache_directs_make(struct cache *cache, struct tx *tx,
    const struct cached_pair *pairs, size_t n, struct err *err) MUST_USE;

/* Without a query: the direct conversation of ${a} and ${b} that is in the
 * cache; NULL: it has none. */
struct cached_conversation *cache_direct_known(const struct cache *cache,
    const struct cached_user *a, const struct cached_user *b);

/* A conversation; RC_NOT_FOUND if there is none. */
enum rc cache_conversation_by_public(struct cache *cache, struct tx *tx,
    const struct uuid *id, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_conversation_by_id(struct cache *cache, struct tx *tx, int64_t id,
    struct cached_conversation **ret, struct err *err) MUST_USE;

/* The same; RC_NOT_FOUND, too, while another writer has it. */
enum rc cache_conversation_if_free(struct cache *cache, struct tx *tx,
    int64_t id, struct cached_conversation **ret, struct err *err) MUST_USE;

/* Whether no other transaction changes the conversation: there is one writer,
 * or the batch has locked it. */
bool cache_conversation_ours(const struct cache *cache, int64_t id);

/* The member of ${c} who is ${user_id}; NULL if there is none. */
struct cached_member *cache_member_find(
    struct cached_conversation *c, int64_t user_id);

/* In a direct conversation the member other than ${user_id} (himself in a
 * note to oneself); NULL in groups. */
struct cached_member *cache_member_other(
    struct cached_conversation *c, int64_t user_id);

/* Marks of ${m} in ${c} have changed. */
void cache_member_touch(struct cache *cache, struct cached_conversation *c,
    struct cached_member *m);

/* The lane of ${c} to ${dest}, made if there is none; and one by its id,
 * RC_NOT_FOUND if there is none. */
enum rc cache_lane_to(struct cache *cache, struct tx *tx,
    struct cached_conversation *c, struct cached_user *dest,
    enum lane_class class, struct cached_lane **ret, struct err *err) MUST_USE;
enum rc cache_lane_by_id(struct cache *cache, struct tx *tx, int64_t lane_id,
    struct cached_lane **ret, struct err *err) MUST_USE;

/* Whether ${lane} leads to another server. */
static inline bool
cache_lane_remote(const struct cached_lane *lane)
{

	return (lane->lane.state != LANE_LOCAL);
}

/* Something of ${priority} waits no more in ${lane}, which goes on: when
 * nothing else is as urgent its priority falls, as it is written.  A lane that
 * is leased is not looked at: who ends its lease says so again. */
void cache_lane_recheck_priority(
    struct cache *cache, struct cached_lane *lane, int priority);

/* Writes the lanes that are dirty, so that statements which look for lanes see
 * them.  The rows of the outbox must have been written. */
enum rc cache_flush_lanes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Forgets all lanes, which another transaction has changed; none may be dirty.
 */
void cache_forget_lanes(struct cache *cache);

/* The lane's cursor has moved (a local one's tail needs no writing). */
void cache_lane_touch(struct cache *cache, struct cached_lane *lane);

/* Whether the rows that the units of this batch list were read (lockset.c).  Of
 * those, what the cache does not have does not exist. */
bool cache_gathered(const struct cache *cache);

/* Whether it is known, without asking, that no message has this id: what the
 * batch brings was asked at once (lockset.c). */
bool cache_id_free(const struct cache *cache, const struct uuid *id);

/* This transaction makes a message with this id: it is free no more. */
enum rc cache_id_take(
    struct cache *cache, const struct uuid *id, struct err *err) MUST_USE;

/* The next internal id of a message, of an outbox row. */
enum rc cache_next_mid(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;
enum rc cache_next_outbox_id(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;

#endif
