/* SPDX-License-Identifier: MIT */
/*
 * Conversations and participants as the store keeps them.
 * Thread: the owner of ${db}; any, for the functions without ${db}.
 */
#ifndef STORE_CONVERSATION_H
#define STORE_CONVERSATION_H

#include <stdbool.h>

#include "base/limits.h"
#include "db/db.h"

#define STORE_DIGEST_LEN 32
/* Two local names and a space. */
#define STORE_DIRECT_KEY_SIZE (2 * LIMIT_ADDRESS_LEN + 2)

struct store_conversation {
	int64_t conversation_id;
	struct uuid public_id;
	bool direct;
	int64_t last_seq;
	uint8_t digest[STORE_DIGEST_LEN]; /* of message last_seq; zero: none */
};

struct store_participant {
	int64_t user_id;
	char name[LIMIT_ADDRESS_LEN + 1];
	int64_t joined_seq;
	int64_t left_seq; /* 0: still a member */
	int64_t delivered_upto;
	int64_t acked_upto;
	int64_t read_upto;
	int64_t acked_at;
	int64_t read_at;
	int64_t shown_upto; /* how much of read_upto others may see */
	int64_t shown_at;
};

/* A conversation as one of its members sees it in a list. */
struct store_conversation_item {
	int64_t conversation_id;
	struct uuid public_id;
	bool direct;
	int64_t created_at;
	int64_t delivered_upto;
	int64_t acked_upto;
	int64_t read_upto;
	int64_t unread;
	int64_t last_seq;
	int64_t last_at; /* of the last message that the member may see */
};

/* Writes the key of the direct conversation of ${a} and ${b}: both names, the
 * lower one by strcmp() first, with a space between them.  A conversation with
 * oneself has the name twice. */
void store_direct_key(
    const char *a, const char *b, char ret[STORE_DIRECT_KEY_SIZE]);

/* Copies to ${ret} the name of the other member of the direct conversation
 * whose key has ${n} bytes at ${key}: the one who is not ${name}, or ${name} in
 * a conversation with oneself.  Returns false, and leaves ${ret} as it is, if
 * ${name} is not in the key, or ${key} is NULL (a group). */
bool store_direct_other(const char *key, size_t n, const char *name,
    char ret[LIMIT_ADDRESS_LEN + 1]);

/* Adds ${n} conversations, whose public_id and direct_key (NULL for a group)
 * the caller has set, and sets their conversation_id.  RC_EXISTS: one of the
 * public ids or keys exists already; the caller must roll back, because other
 * conversations may have been added. */
struct store_new_conversation {
	struct uuid public_id;
	const char *direct_key; /* borrowed */
	int64_t conversation_id;
};
enum rc store_conversations_insert(struct db *db,
    struct store_new_conversation *c, size_t n, int64_t now_ms,
    struct err *err) MUST_USE;

/* Find a conversation by its direct key (store_direct_key()), its public id or
 * its internal id.  On PostgreSQL a connection with DB_WRITER also locks the
 * row, without waiting: if another transaction has locked it, the result is
 * RC_BUSY, and db_retryable() is true.  RC_NOT_FOUND (without an error text):
 * there is no such conversation. */
enum rc store_conversation_by_key(struct db *db, const char *direct_key,
    struct store_conversation *ret, struct err *err) MUST_USE;
enum rc store_conversation_by_public(struct db *db, const struct uuid *id,
    struct store_conversation *ret, struct err *err) MUST_USE;
enum rc store_conversation_by_id(struct db *db, int64_t id,
    struct store_conversation *ret, struct err *err) MUST_USE;

/* As store_conversation_by_id(), which on PostgreSQL also locks the
 * conversation for a DB_WRITER.  But while another transaction has locked the
 * conversation, a DB_WRITER gets RC_NOT_FOUND, not RC_BUSY. */
enum rc store_conversation_if_free(struct db *db, int64_t id,
    struct store_conversation *ret, struct err *err) MUST_USE;

/* Adds ${n} members, who may see their conversations from the beginning. */
struct store_new_member {
	int64_t conversation_id;
	int64_t user_id;
};
enum rc store_members_insert(struct db *db, const struct store_new_member *m,
    size_t n, struct err *err) MUST_USE;

/* Calls ${each} for every member, in ascending order of user ids. */
enum rc store_participants(struct db *db, int64_t conversation_id,
    enum rc (*each)(
	void *arg, const struct store_participant *p, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Reads one member.  RC_NOT_FOUND: the user is not a member. */
enum rc store_participant_get(struct db *db, int64_t conversation_id,
    int64_t user_id, struct store_participant *ret, struct err *err) MUST_USE;

/* Calls ${each} for at most ${limit} conversations of ${user_id} whose internal
 * id is below ${before} (INT64_MAX: from the highest id), in descending order
 * of this id: the conversation that was added last comes first. */
enum rc store_conversation_list(struct db *db, int64_t user_id, int64_t before,
    int64_t limit,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Calls ${each} for at most limit conversations of user_id, in descending order
 * of last_at (the time of the last message that the user may see; without such
 * a message the time when the conversation was created), and of the public id
 * where last_at is equal.  Begins after the place of the conversation that has
 * the public id before_id and the last_at before_at (INT64_MAX: from the
 * latest).  Each call of this function computes last_at of all conversations of
 * the user. */
struct store_recent_query {
	int64_t user_id;
	int64_t before_at;
	struct uuid before_id;
	int64_t limit;
};
enum rc store_conversation_recent(struct db *db,
    const struct store_recent_query *query,
    enum rc (*each)(
	void *arg, const struct store_conversation_item *item, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* Reads one conversation of ${user_id}.  RC_NOT_FOUND: the user is not a member
 * of it. */
enum rc store_conversation_one(struct db *db, int64_t user_id,
    const struct uuid *public_id, struct store_conversation_item *ret,
    struct err *err) MUST_USE;

/* Count the messages of others that were delivered to ${user_id} and that this
 * user has not read.  store_unread_total() sets *ret to their total;
 * store_unread_list() calls ${each} for each conversation that has some.
 * ${last}: the conversation_seq of the conversation's last message, from any
 * sender, delivered or not. */
enum rc store_unread_total(
    struct db *db, int64_t user_id, int64_t *ret, struct err *err) MUST_USE;
enum rc store_unread_list(struct db *db, int64_t user_id,
    void (*each)(void *arg, const struct uuid *conversation, int64_t unread,
	int64_t last),
    void *arg, struct err *err) MUST_USE;

#endif
