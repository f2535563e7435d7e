/* SPDX-License-Identifier: MIT */
/*
 * The cache: the rows that a transaction works with.  Each row is read once and
 * written back once, however many units of a batch use it.
 *
 * Invariants
 * 1. Between transactions nothing is dirty: the cache equals the committed
 *    rows.  A single-writer database lets the cache stay valid from one
 *    transaction to the next.  On a multi-writer database each transaction
 *    begins with an empty cache, and locks protect most rows that it reads
 *    until it ends: the lock on a conversation protects all that belongs to the
 *    conversation (messages, members' watermarks, lanes, outbox rows); a device
 *    has a lock of its own.  Users are not locked.  Neither are the counters of
 *    inboxes, which only grow; an inbox is locked before it is written
 *    (cache_lock_inboxes()).
 * 2. After an abandoned transaction the cache is empty.
 * 3. Names, the members of a conversation and the key of a lane never change.
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
	 * the last message in that range that another user sent in this
	 * conversation.  Valid until the next walk. */
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

/* Returns an empty cache, which keeps ${ids} and uses it to make public ids;
 * NULL if there is no memory. */
struct cache *cache_new(struct uuid_gen *ids);
void cache_free(struct cache *cache);

/* Starts a transaction.  Empties the cache if it is too large, and always on a
 * multi-writer database. */
void cache_begin(struct cache *cache, struct tx *tx);

/* Empties the cache, because the transaction was abandoned. */
void cache_abort(struct cache *cache);

/* Writes all dirty objects. */
enum rc cache_flush(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Find a user of this server by name, and any user by id.  They return
 * RC_NOT_FOUND, without an error text, if there is none. */
enum rc cache_user_by_name(struct cache *cache, struct tx *tx, const char *name,
    size_t n, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_by_id(struct cache *cache, struct tx *tx, int64_t user_id,
    struct cached_user **ret, struct err *err) MUST_USE;

/* Return the cached user with this id, or with the name (at most LIMIT_NAME_LEN
 * bytes) or address ${to}; NULL if the user is not in the cache.  They do not
 * query the store. */
struct cached_user *cache_user_known_by_id(
    const struct cache *cache, int64_t user_id);
struct cached_user *cache_user_known(const struct cache *cache, const char *to);

/* The user with ${address} (name@domain) on another server.  The unit must have
 * listed the address in its lock set.  cache_user_remote() adds the missing
 * rows of the user and the destination; cache_user_remote_find() returns
 * RC_NOT_FOUND instead. */
enum rc cache_user_remote(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;
enum rc cache_user_remote_find(struct cache *cache, struct tx *tx,
    const char *address, struct cached_user **ret, struct err *err) MUST_USE;

/* Adds ${n} users of a destination to the store and to the cache.  The
 * addresses must be distinct.  RC_EXISTS: one of them exists already. */
enum rc cache_users_remote_make(struct cache *cache, struct tx *tx,
    int64_t destination_id, const char *const *addresses, size_t n,
    struct err *err) MUST_USE;

/* Loads user->counter.  Must be called before a member of the counter is read.
 * RC_CORRUPT: the user has no inbox (a user of another server has none).  On a
 * multi-writer database another node may increase the counter afterwards,
 * unless the inbox is locked; the members of the counter only grow. */
enum rc cache_inbox(
    struct tx *tx, struct cached_user *user, struct err *err) MUST_USE;

/* Notes that ${user}'s inbox will be written, so that cache_lock_inboxes()
 * locks it.  Does nothing on a single-writer database. */
void cache_inbox_touch(struct cache *cache, struct cached_user *user);

/* Locks the inboxes that were noted and reads their heads.  If this transaction
 * already holds locks on inboxes, waiting for another one might be a deadlock.
 * In that case the function does not wait: it returns RC_BUSY if another
 * transaction has locked one of them, and the next try of this transaction
 * locks all of them together. */
enum rc cache_lock_inboxes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Marks ${user} as dirty: the read watermark has changed.  The other counters
 * need no write of their own: the head follows from the inbox rows, and acked
 * from the watermarks of the user's devices.  On PostgreSQL the statements that
 * write those rows and watermarks also update the two counters. */
void cache_user_touch(struct cache *cache, struct cached_user *user);

/* Finds a device by its id; RC_NOT_FOUND if there is none. */
enum rc cache_device_by_id(struct cache *cache, struct tx *tx,
    int64_t device_id, struct cached_device **ret, struct err *err) MUST_USE;

/* Marks ${device} as dirty: its ack watermark has changed, or the device was
 * seen just now. */
void cache_device_touch(struct cache *cache, struct cached_device *device);

/* The direct conversation of two users, or of a user with themselves (${a} is
 * ${b}).  The unit must have listed it in its lock set.  cache_direct() adds a
 * missing one; cache_direct_find() returns RC_NOT_FOUND instead. */
enum rc cache_direct(struct cache *cache, struct tx *tx, struct cached_user *a,
    struct cached_user *b, struct cached_conversation **ret,
    struct err *err) MUST_USE;
enum rc cache_direct_find(struct cache *cache, struct tx *tx,
    struct cached_user *a, struct cached_user *b,
    struct cached_conversation **ret, struct err *err) MUST_USE;

/* Adds the direct conversations of ${n} pairs to the store and to the cache.
 * The pairs must be distinct.  RC_EXISTS: one of them has a conversation
 * already. */
struct cached_pair {
	struct cached_user *a, *b;
};
enum rc cache_directs_make(struct cache *cache, struct tx *tx,
    const struct cached_pair *pairs, size_t n, struct err *err) MUST_USE;

/* Returns the direct conversation of ${a} and ${b} if it is in the cache, else
 * NULL.  Does not query the store. */
struct cached_conversation *cache_direct_known(const struct cache *cache,
    const struct cached_user *a, const struct cached_user *b);

/* Find a conversation by its public or internal id; RC_NOT_FOUND if there is
 * none.  On a multi-writer database a conversation that is not in the cache is
 * locked without waiting.  RC_BUSY: another transaction has locked it; this
 * transaction is then tried again. */
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

/* Returns the member of a direct conversation other than ${user_id}; the only
 * member of a conversation with oneself; NULL for a group. */
struct cached_member *cache_member_other(
    struct cached_conversation *c, int64_t user_id);

/* Marks member ${m} of ${c} as dirty: a watermark has changed. */
void cache_member_touch(struct cache *cache, struct cached_conversation *c,
    struct cached_member *m);

/* cache_lane_to() finds the lane of ${c} to ${dest}, and adds a missing one.
 * cache_lane_by_id() returns RC_NOT_FOUND if there is no such lane; on a
 * multi-writer database it locks the conversation as cache_conversation_by_id()
 * does. */
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

/* Notes that a row of ${priority} has left ${lane} while other rows wait in it.
 * If the row was as urgent as the lane, the priority of the lane is read again
 * when the lane is written.  A leased lane keeps its priority, so the unit that
 * ends the lease must call this again.  A lane to a local inbox has no
 * priority; for it this does nothing. */
void cache_lane_recheck_priority(
    struct cache *cache, struct cached_lane *lane, int priority);

/* Writes the dirty lanes, so that queries for lanes see them.  The gathered
 * outbox rows must have been written before. */
enum rc cache_flush_lanes(
    struct cache *cache, struct tx *tx, struct err *err) MUST_USE;

/* Removes all lanes from the cache, because a statement has changed their rows
 * directly.  No lane may be dirty. */
void cache_forget_lanes(struct cache *cache);

/* Marks ${lane} as dirty.  For a lane to a local inbox this is needed only when
 * its cursor (next_seq, last_published_seq) or due_at changes: the cache does
 * not write the tail_seq of such a lane, which follows from its outbox rows. */
void cache_lane_touch(struct cache *cache, struct cached_lane *lane);

/* Returns true if all rows that the units of this batch have listed were read
 * (lockset.c), except those of deferred units.  A listed row that is not in the
 * cache then does not exist.  Always false on a single-writer database. */
bool cache_gathered(const struct cache *cache);

/* Returns true if it is known, without a query, that no message has this id:
 * the ids of all new messages of the batch were checked together
 * (lockset.c). */
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
