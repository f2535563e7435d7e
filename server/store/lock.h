/* SPDX-License-Identifier: MIT */
/*
 * Reads the rows that a transaction needs on a multi-writer database, and locks
 * them where the comment of the function says so.  Each function, except
 * store_lock_answers(), queues one statement for any number of rows.  The
 * functions of the handler (struct store_lock_handler) receive the rows at the
 * latest while store_lock_answers() runs; for a row that does not exist none of
 * them is called.
 * Thread: the owner of ${db}, in a transaction.
 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"
#include "store/message.h"

/* A user by id or, if user_id is 0, by name. */
struct store_user_key {
	int64_t user_id;
	const char *name; /* borrowed */
	size_t n;
};

/* Identifies a conversation: by conversation_id, by public_id, by direct_key,
 * by lane_id (one of its lanes), or as the direct one of user_id with the user
 * called `with`.  Or identifies the conversations of the messages of others in
 * a range of the inbox of user_id.  acked_upto is for an ack: the range begins
 * after the highest seq that is acked in this inbox, and ends at acked_upto.
 * read_upto is for a read: the range begins after the highest seq that is read,
 * and ends at read_upto.  Only the first 2000 messages of a range count.
 * Members that are not used are 0 or NULL.  A key that has only `with`
 * identifies no conversation: store_lock_find() returns the user of that name,
 * and store_lock_conversations() ignores the key. */
struct store_conversation_key {
	int64_t conversation_id;
	const struct uuid *public_id; /* borrowed */
	int64_t user_id;
	const char *with; /* borrowed */
	int64_t lane_id;
	int64_t acked_upto, read_upto;
	const char *direct_key; /* borrowed */
};

/* Identifies a conversation: by one of its messages or, if message_id is NULL,
 * by a dead letter of one of its messages. */
struct store_about {
	const struct uuid *message_id; /* borrowed */
	int64_t dead_id;
};

/* A member of a conversation, and the member as a user.  Of `user` only
 * user_id, name, disabled and destination_id are set; its other members are 0.
 */
struct store_lock_member {
	int64_t conversation_id;
	struct store_participant participant;
	struct store_user user;
};

/* Receives the results: the statement of each function below calls the member
 * that the comment of the function names, at the latest while
 * store_lock_answers() runs.  Other members may be NULL.  If a member returns
 * an error, the call that sends the queue returns this error.  The struct must
 * live and not change until store_lock_answers() has returned, and its
 * functions must not use the database. */
struct store_lock_handler {
	enum rc (*user)(
	    void *arg, const struct store_user *user, struct err *err);
	enum rc (*about)(
	    void *arg, size_t number, int64_t conversation_id, struct err *err);
	enum rc (*found)(void *arg, size_t number, int64_t conversation_id,
	    int64_t dest_user, struct err *err);
	enum rc (*name_taken)(void *arg, size_t number, struct err *err);
	enum rc (*conversation)(
	    void *arg, const struct store_conversation *c, struct err *err);
	enum rc (*member)(
	    void *arg, const struct store_lock_member *m, struct err *err);
	enum rc (*lane)(
	    void *arg, const struct store_lane *lane, struct err *err);
	enum rc (*counter)(void *arg, int64_t user_id,
	    const struct store_counter *counter, struct err *err);
	enum rc (*device)(
	    void *arg, int64_t device_id, int64_t acked, struct err *err);
	enum rc (*device_exists)(void *arg, int64_t device_id, struct err *err);
	enum rc (*key)(void *arg, const struct uuid *id, struct err *err);
	enum rc (*message_id)(void *arg, int64_t id, struct err *err);
	enum rc (*outbox_id)(void *arg, int64_t id, struct err *err);
	void *arg;
};

/* Sends the queued statements and waits for their results. */
enum rc store_lock_answers(struct db *db, struct err *err) MUST_USE;

/* Locks ${n} names of rows that may have to be inserted or changed, for example
 * the direct key of a conversation, or the name of a server or an account.
 * Must come before all other locks of the transaction.  The statement waits for
 * each other transaction that has locked one of these names; rows that such a
 * transaction commits are visible to all later statements of this transaction.
 * The locks end with this transaction.  Names with the same hash share a lock.
 */
enum rc store_lock_names(struct db *db, const char *const *names, size_t n,
    struct err *err) MUST_USE;

/* As store_lock_names(), but the statement does not wait.  It locks the names
 * that are free, and calls name_taken() for each name that another transaction
 * has locked, with the index of the name in ${names}. */
enum rc store_lock_names_skip(struct db *db, const char *const *names, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* user: reads the users, in any order; does not lock them. */
enum rc store_lock_users(struct db *db, const struct store_user_key *keys,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* Calls about() with the conversation of each element of ${about} and the index
 * of that element.  Does not lock the conversations. */
enum rc store_lock_about(struct db *db, const struct store_about *about,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* conversation: locks the conversations of ${keys}, in the order of their ids.
 */
enum rc store_lock_conversations(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* Calls found() for each conversation that one of ${keys} identifies, with the
 * index of that key.  ${dest_user} is the owner of the inbox to which the lane
 * of the key leads, 0 if that inbox is not here or the key has no lane.  For a
 * key that has only the name `with`, conversation_id is 0 and ${dest_user} is
 * the user of that name.  Locks nothing. */
enum rc store_lock_find(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* Lock the conversations, inboxes or devices with the ids ${ids} (of an inbox:
 * the id of its user), except those that another transaction has locked,
 * without waiting.  Each call passes the rows that it has locked itself to
 * conversation(), counter() or device() of ${h}. */
enum rc store_lock_conversations_skip(struct db *db, const int64_t *ids,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_inboxes_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_devices_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* device_exists: those of ${ids} that exist; locks nothing. */
enum rc store_lock_devices_exist(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* Locks the conversations of the ${limit} scheduled messages that have been due
 * longest at ${now_ms}, except conversations that another transaction has
 * locked (their messages count towards ${limit}, too).  Calls conversation()
 * once for each that it has locked. */
enum rc store_lock_due(struct db *db, int64_t now_ms, int64_t limit,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* member: the members of the conversations, by user id within each. */
enum rc store_lock_members(struct db *db, const int64_t *conversations,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* lane: all lanes of the conversations. */
enum rc store_lock_lanes_of(struct db *db, const int64_t *conversations,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* counter: the counters of inboxes.  They are not locked, because they only
 * grow. */
enum rc store_lock_counters(struct db *db, const int64_t *users, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* Locks the inboxes of ${users}, in the order of user ids, and calls counter()
 * for each.  ${more} false: waits for locks of other transactions, and fails
 * with RC_BUSY if one of them is not free in time.  ${more} true: this
 * transaction has locked other inboxes already, so waiting might be a deadlock.
 * The statement then does not wait: if another transaction has locked one of
 * ${users}, the call that sends the queue returns RC_BUSY, and db_retryable()
 * returns true: the transaction may be tried again. */
enum rc store_lock_inboxes(struct db *db, const int64_t *users, size_t n,
    bool more, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* device: locks devices, in the order of their ids. */
enum rc store_lock_devices(struct db *db, const int64_t *devices, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* key: those of these message ids that exist. */
enum rc store_lock_keys(struct db *db, const struct uuid *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* message_id, outbox_id: reserves the next ${n} ids, in ascending order. */
enum rc store_lock_message_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_outbox_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

#endif
