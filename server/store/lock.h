/* SPDX-License-Identifier: MIT */
/*
 * Reads and locks the rows of a batch, where several nodes write to the
 * database.  Each function asks by one statement for any number of rows, which
 * the handler gets at the latest when store_lock_answers() is called.  It gets
 * no row that does not exist.  Thread: owner of ${db}, in a transaction.
 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "store/account.h"
#include "store/conversation.h"
#include "store/lane.h"
#include "store/message.h"

/* A user by id or (0) by name. */
struct store_user_key {
	int64_t user_id;
	const char *name; /* borrowed */
	size_t n;
};

/* A conversation by its id, by public id, as the direct one of a user with
 * another, or by one of its lanes; or those whose messages an ack of the user
 * up to a number of his inbox is about, or a read.  What is not meant is 0 or
 * NULL. */
struct store_conversation_key {
	int64_t conversation_id;
	const struct uuid *public_id; /* borrowed */
	int64_t user_id;
	const char *with; /* borrowed */
	int64_t lane_id;
	int64_t acked_upto, read_upto;
	const char *direct_key; /* borrowed */
};

/* What a conversation is looked for by: a message, or (NULL) a dead letter. */
struct store_about {
	const struct uuid *message_id; /* borrowed */
	int64_t dead_id;
};

/* A member of one of the conversations, with what is known of him as a user
 * (id, name, disabled, destination). */
struct store_lock_member {
	int64_t conversation_id;
	struct store_participant participant;
	struct store_user user;
};

/* Who gets what was asked for, each from the function below that names it.  It
 * must stay as it is until all answers have come. */
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

/* Waits for all that was asked for. */
enum rc store_lock_answers(struct db *db, struct err *err) MUST_USE;

/* Holds ${n} names of what may have to be made: a conversation's direct key, a
 * server; before all else that is held here.  Nobody else who does
 * so makes any of these until the transaction ends, and what was made before
 * is found by whatever is asked next. */
enum rc store_lock_names(struct db *db, const char *const *names, size_t n,
    struct err *err) MUST_USE;

/* The same without waiting.  name_taken: of ${names} those, counted from 0,
 * that somebody else holds; the others are ours. */
enum rc store_lock_names_skip(struct db *db, const char *const *names, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* user: in no order. */
enum rc store_lock_users(struct db *db, const struct store_user_key *keys,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* about: the conversations of ${about}, each with its place there, counted from
 * 0; locks nothing. */
enum rc store_lock_about(struct db *db, const struct store_about *about,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* conversation: locks them, in the order of their ids. */
enum rc store_lock_conversations(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* found: the conversations that ${keys} lead to, each with the place of its
 * key, counted from 0, and whose inbox a lane to one here leads to (0: none);
 * and for a key with a name alone, no conversation (0) and that user's inbox.
 * Locks nothing. */
enum rc store_lock_find(struct db *db,
    const struct store_conversation_key *keys, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* conversation, counter, device: locks those of ${ids} that nobody else has,
 * and gives no other. */
enum rc store_lock_conversations_skip(struct db *db, const int64_t *ids,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_inboxes_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_devices_skip(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* device_exists: of ${ids} those that there are; locks nothing. */
enum rc store_lock_devices_exist(struct db *db, const int64_t *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* conversation: locks those of the first ${limit} scheduled messages that are
 * due at ${now_ms}, but for those that somebody else has. */
enum rc store_lock_due(struct db *db, int64_t now_ms, int64_t limit,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* member: of conversations, ascending by user in each. */
enum rc store_lock_members(struct db *db, const int64_t *conversations,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* lane: all of conversations. */
enum rc store_lock_lanes_of(struct db *db, const int64_t *conversations,
    size_t n, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* counter: of inboxes, which are not locked, because they only grow. */
enum rc store_lock_counters(struct db *db, const int64_t *users, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* counter: of inboxes, which are locked, in the order of their users; when some
 * are held already (${more}), RC_BUSY and db_retryable() if another writer has
 * one of them. */
enum rc store_lock_inboxes(struct db *db, const int64_t *users, size_t n,
    bool more, const struct store_lock_handler *h, struct err *err) MUST_USE;

/* device: locks them, in their order. */
enum rc store_lock_devices(struct db *db, const int64_t *devices, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* key: which of these message ids are taken. */
enum rc store_lock_keys(struct db *db, const struct uuid *ids, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

/* message_id, outbox_id: the next ${n} ids, ascending. */
enum rc store_lock_message_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;
enum rc store_lock_outbox_ids(struct db *db, size_t n,
    const struct store_lock_handler *h, struct err *err) MUST_USE;

#endif
