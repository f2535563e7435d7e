/* SPDX-License-Identifier: MIT */
/*
 * The cache: the rows that a transaction works with.  A transaction commits a
 * batch of units (changes for clients, deliveries and so on).  A row is usually
 * read once for all units of the batch and, if it has changed, written back
 * once at the end of the batch (a lane also earlier, by cache_flush_lanes()).
 *
 * Invariants
 * 1. Between transactions nothing is dirty: the cache equals the committed
 *    rows, except counter.oldest, which no unit uses.  On a single-writer
 *    database the cache therefore stays valid from one transaction to the next.
 *    On a multi-writer database each transaction begins with an empty cache.
 *    Most rows that the transaction reads are locked until its end: the lock on
 *    a conversation protects all that belongs to the conversation (messages,
 *    members' watermarks, lanes, outbox rows); a device has a lock of its own.
 *    Users are read without a lock.  So are the counters of inboxes, which only
 *    grow; an inbox is locked before it is written (cache_lock_inboxes()).
 * 2. After an abandoned transaction the cache is empty.
 * 3. The name of a user, the set of members of a conversation and the key of a
 *    lane never change.
 *
 * Pointers to cached objects stay valid until the next cache_begin() or
 * cache_abort(), pointers to lanes only until cache_forget_lanes().
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
	struct store_counter counter; /* of the inbox, valid if ${counted} */
	bool counted;
	bool dirty;
	struct cached_user *next_dirty;
	/* events will be added to the inbox, or watermarks in it advance */
	bool filling;
	struct cached_user *next_filling;
};

struct cached_device {
	int64_t device_id;
	int64_t acked; /* watermark; never decreases */
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
	/* in the list of dirty ones: a member's watermarks changed */
	bool listed;
	struct cached_conversation *next_dirty;

	/* Result of a walk over a range of a user's inbox (chat/watermark.h):
	 * conversation_seq, mid and sender of the last message in that range
	 * that another user sent in this conversation, and the next
	 * conversation with such a message.  Valid from the end of the walk
	 * until the next walk begins, except `walked`, which is true only
	 * during a walk that has met such a message. */
	bool walked;
	int64_t walk_seq, walk_mid, walk_sender;
	struct cached_conversation *next_walked;
};

struct cached_lane {
	struct store_lane lane;
	struct cached_conversation *conversation;
	struct cached_user *dest;
	/* the priority may be higher than that of any waiting row */
	bool recheck_priority;
	bool in_sub_batch; /* part of the sub-batch of delivery/deliver.c */
	bool dirty;
	struct cached_lane *next_dirty;

	/* The last receipt of each kind that the batch will add
	 * (add_receipt.c). */
	struct cached_receipt {
		struct cached_user *by; /* NULL: none */
		int64_t mid, upto;
		/* of the rows that are gathered but not written yet */
		struct uuid event_id;
	} delivered, read;
	bool has_receipts; /* in the list of lanes with receipts */
	struct cached_lane *next_receipts;
};

struct cache;

/* Returns an empty cache, or NULL if there is no memory.  The cache makes the
 * public ids of new conversations with ${ids}, which is borrowed and must
 * outlive the cache. */
struct cache *cache_new(struct uuid_gen *ids);
void cache_free(struct cache *cache);

/* Starts a transaction.  No object may be dirty.  Empties the cache if it has
 * more than 200000 objects (CACHE_OBJECTS_MAX in cache.c), and always on a
 * multi-writer database. */
void cache_begin(struct cache *cache, struct tx *tx);

/* Empties the cache, because the transaction was abandoned. */
void cache_abort(struct cache *cache);

/* Writes all dirty objects. */
enum rc cache_flush(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Find a user of this server by name, and any user by id, in the cache or else
 * in the store; also a user who is disabled.  They return RC_NOT_FOUND, without
 * an error text, if there is no such user.  ${name} must not contain "@". */
enum rc cache_user_by_name(struct cache *cache, struct tx *tx, const char *name,
    size_t n, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_by_id(struct cache *cache, struct tx *tx, int64_t user_id,
    struct cached_user **ret, struct err *err) MUST_USE;

/* Find a user in the cache only: by id, or by ${to}, which is the name of a
 * user of this server or the address name@domain of a user of another server.
 * They return NULL if the user is not in the cache, even if the store has the
 * user.  The caller ensures that a name has at most LIMIT_NAME_LEN bytes. */
struct cached_user *cache_user_known_by_id(
    const struct cache *cache, int64_t user_id);
struct cached_user *cache_user_known(const struct cache *cache, const char *to);

/* Find the user with ${address} (name@domain) on another server.  If there is
 * no such user, cache_user_remote() adds the user, and the destination if that
 * server has none yet; cache_user_remote_find() returns RC_NOT_FOUND.  On a
 * multi-writer database the unit must have listed the address in its lock set:
 * a user who is not in the cache then counts as missing, without a query. */
enum rc cache_user_remote(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_remote_find(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;

/* Adds ${n} users of another server, whose destination is ${destination_id}, to
 * the store and to the cache.  The addresses must be distinct.  RC_EXISTS: one
 * of the users exists already.  After any failure some of the users may have
 * been added, so the caller must abandon the transaction. */
enum rc cache_users_remote_make(struct cache *cache, struct tx *tx,
    int64_t destination_id, const char *const *addresses, size_t n,
    struct err *err) MUST_USE;

/* Reads user->counter from the store, unless it is loaded already.  Must be
 * called before a member of the counter is used, except that after
 * cache_lock_inboxes() counter.head is valid without it.  RC_CORRUPT: the user
 * has no inbox (a user of another server has none).  On a multi-writer database
 * another node may increase the counter in the store afterwards, unless the
 * inbox is locked; the members of the counter only grow. */
enum rc cache_inbox(
    struct tx *tx, struct cached_user *user, struct err *err) MUST_USE;

/* Notes that ${user}'s inbox will be written, so that cache_lock_inboxes()
 * locks it.  Does nothing on a single-writer database. */
void cache_inbox_touch(struct cache *cache, struct cached_user *user);

/* Locks the inboxes that cache_inbox_touch() has noted, if any, and reads their
 * heads into counter.head.  Waits for locks of other transactions, but at most
 * as long as a batch waits, then returns RC_BUSY.  If this transaction already
 * holds locks on inboxes, waiting for another one might be a deadlock.  In that
 * case the function returns RC_BUSY at once if another transaction has locked a
 * noted inbox, and the next try of this transaction locks its inboxes all
 * together.  RC_CORRUPT: a noted user has no inbox. */
enum rc cache_lock_inboxes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Marks ${user} as dirty, because counter.read has changed, and notes the inbox
 * as cache_inbox_touch() does.  For a change of counter.head or counter.acked
 * the caller calls only cache_inbox_touch(): the head follows from the inbox
 * rows, and acked from the watermarks of the user's devices.  On PostgreSQL the
 * statements that write those rows and watermarks also update these two
 * counters. */
void cache_user_touch(struct cache *cache, struct cached_user *user);

/* Finds a device by its id; RC_NOT_FOUND if there is none. */
enum rc cache_device_by_id(struct cache *cache, struct tx *tx,
    int64_t device_id, struct cached_device **ret, struct err *err) MUST_USE;

/* Marks ${device} as dirty.  cache_flush() then writes its ack watermark, and
 * the time of the transaction as the time when the device was last seen. */
void cache_device_touch(struct cache *cache, struct cached_device *device);

/* Find the direct conversation of two users, or of a user with themselves
 * (${a} == ${b}).  If there is none, cache_direct() adds one to the store and
 * the cache; cache_direct_find() returns RC_NOT_FOUND.  On a multi-writer
 * database the unit must have listed the conversation in its lock set: one that
 * is not in the cache then counts as missing, without a query. */
enum rc cache_direct(struct cache *cache, struct tx *tx, struct cached_user *a,
    struct cached_user *b, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_direct_find(struct cache *cache, struct tx *tx,
    struct cached_user *a, struct cached_user *b,
    struct cached_conversation **ret, struct err *err) MUST_USE;

/* Adds the direct conversations of ${n} pairs of users to the store and to the
 * cache.  The pairs must be distinct, where a, b is the same pair as b, a.
 * RC_EXISTS: one of the pairs has a direct conversation already.  After any
 * failure some of the conversations may have been added, so the caller must
 * abandon the transaction. */
struct cached_pair {
	struct cached_user *a, *b;
};
enum rc cache_directs_make(struct cache *cache, struct tx *tx,
    const struct cached_pair *pairs, size_t n, struct err *err) MUST_USE;

/* Returns the direct conversation of ${a} and ${b} if the lock set or
 * cache_direct_find() has read it into the cache, or it was added there.  Else
 * returns NULL, even if the conversation was cached when it was found by its
 * id.  Does not query the store. */
struct cached_conversation *cache_direct_known(const struct cache *cache,
    const struct cached_user *a, const struct cached_user *b);

/* Find a conversation, with its members, by its public id and by its internal
 * id; RC_NOT_FOUND if there is none.  On a multi-writer database a conversation
 * that is not in the cache is locked without waiting.  RC_BUSY: another
 * transaction has locked it; the verb returns this result, and the writer then
 * tries the transaction again. */
enum rc cache_conversation_by_public(struct cache *cache, struct tx *tx,
    const struct uuid *id, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_conversation_by_id(struct cache *cache, struct tx *tx, int64_t id,
    struct cached_conversation **ret, struct err *err) MUST_USE;

/* As cache_conversation_by_id(), but returns RC_NOT_FOUND instead of RC_BUSY
 * while another transaction has locked the conversation. */
enum rc cache_conversation_if_free(struct cache *cache, struct tx *tx,
    int64_t id, struct cached_conversation **ret, struct err *err) MUST_USE;

/* Returns true if no other transaction can change the conversation: the
 * database has a single writer, or this batch has locked the conversation. */
bool cache_conversation_ours(const struct cache *cache, int64_t id);

/* Returns the member of ${c} with ${user_id}, or NULL. */
struct cached_member *cache_member_find(
    struct cached_conversation *c, int64_t user_id);

/* Returns the member of the direct conversation ${c} other than ${user_id}; the
 * only member if it is a conversation with oneself; NULL for a group.  Does not
 * check that ${user_id} is a member. */
struct cached_member *cache_member_other(
    struct cached_conversation *c, int64_t user_id);

/* Marks member ${m} of ${c} as dirty: a watermark has changed. */
void cache_member_touch(struct cache *cache, struct cached_conversation *c,
    struct cached_member *m);

/* cache_lane_to() finds the lane of ${c} to ${dest} for rows of ${class}; if
 * there is none, it adds one to the store and the cache.  On a multi-writer
 * database ${c} is locked, because it is in the cache.  cache_lane_by_id()
 * returns RC_NOT_FOUND if there is no such lane; on a multi-writer database it
 * also locks the conversation of the lane, without waiting, unless it is in the
 * cache.  RC_BUSY: another transaction has locked that conversation. */
enum rc cache_lane_to(struct cache *cache, struct tx *tx,
    struct cached_conversation *c, struct cached_user *dest,
    enum lane_class class, struct cached_lane **ret, struct err *err) MUST_USE;
enum rc cache_lane_by_id(struct cache *cache, struct tx *tx, int64_t lane_id,
    struct cached_lane **ret, struct err *err) MUST_USE;

/* Returns true if ${lane} leads to another server. */
static inline bool
cache_lane_remote(const struct cached_lane *lane)
{

	return (lane->lane.state != LANE_LOCAL);
}

/* Must be called when a row of ${priority} has left ${lane}.  If the row was at
 * least as urgent as the lane, marks the lane as dirty, and the priority of the
 * lane is read from its pending rows in the store when the lane is written.
 * Only a lane that is ready at that time gets a new priority.  Therefore the
 * unit that ends the lease of a lane must call this again, with the priority of
 * the lane, unless it has made a row of at least that priority pending again.
 * Does nothing if the lane has the lowest priority already, and for a lane to
 * an inbox of this server, which has no priority. */
void cache_lane_recheck_priority(
    struct cache *cache, struct cached_lane *lane, int priority);

/* Writes the dirty lanes, so that queries for lanes see them.  The caller must
 * have written the gathered outbox rows (env->outbox) before, because the
 * priority of a lane may be read from its rows in the store. */
enum rc cache_flush_lanes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Removes all lanes from the cache and frees them.  Called after a statement
 * has changed rows of lanes in the store but not in the cache.  No lane may be
 * dirty, or have receipts that are still to be added. */
void cache_forget_lanes(struct cache *cache);

/* Marks ${lane} as dirty.  For a lane to an inbox of this server this is needed
 * only when next_seq, last_published_seq or due_at changes: the cache does not
 * write the tail_seq of such a lane, which follows from its outbox rows. */
void cache_lane_touch(struct cache *cache, struct cached_lane *lane);

/* Returns true if all users, conversations and devices that the units of this
 * batch have listed in the lock set were read into the cache (lockset.c),
 * except the rows of units that wait for locked rows and run later.  A listed
 * row that is not in the cache then does not exist.
 * Always false on a single-writer database. */
bool cache_gathered(const struct cache *cache);

/* Returns true if it is known, without a query, that no message has this id,
 * which the unit must have listed (lockset_new_message()).  False means that a
 * message may have the id, so the caller must query the store; the result is
 * always false on a single-writer database. */
bool cache_id_free(const struct cache *cache, const struct uuid *id);

/* Notes that this transaction adds a message with this id, so that
 * cache_id_free() returns false for it. */
enum rc cache_id_take(
    struct cache *cache, const struct uuid *id, struct err *err) MUST_USE;

/* Take the next internal id of a message, and of an outbox row. */
enum rc cache_next_mid(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;
enum rc cache_next_outbox_id(
    struct cache *cache, struct tx *tx, int64_t *ret, struct err *err) MUST_USE;

#endif
