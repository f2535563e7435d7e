/* SPDX-License-Identifier: MIT */
/*
 * Reads messages: by id, to recognise a send that is repeated; as the sender's
 * list of sent messages (entries); as the history of a conversation for one of
 * its members; and the number and size of the messages that a user has sent.
 * The texts in the struct that a callback gets are valid until the callback
 * returns.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_MESSAGE_H
#define STORE_MESSAGE_H

#include "db/db.h"
#include "model/event.h"

#define STORE_FINGERPRINT_LEN 16

struct store_message_key {
	int64_t mid;
	int64_t sender_id;
	uint8_t fingerprint[STORE_FINGERPRINT_LEN];
};

/* A message with its conversation, as its sender's outbox shows it. */
struct store_entry {
	int64_t mid;
	struct uuid event_id;
	struct uuid conversation;
	int64_t conversation_seq; /* 0: scheduled */
	int priority;
	int64_t event_time;
	int64_t created_at;
	bool direct;
	int64_t conversation_id;
	struct message_view message; /* without body */
};

/* A message as a reader of its conversation sees it. */
struct store_history {
	struct uuid event_id;
	int64_t conversation_seq;
	int64_t sender_id;
	const char *sender;
	int64_t event_time;
	struct message_view message; /* its body is NULL if it was deleted */
	struct uuid conversation;    /* set by store_message_visible() only */
	int64_t conversation_id;     /* set by store_message_visible() only */
};

/* Reads what is stored under a message id; RC_NOT_FOUND: the id is free. */
enum rc store_message_key(struct db *db, const struct uuid *id,
    struct store_message_key *ret, struct err *err) MUST_USE;

/* Reads the public id of message ${mid}; RC_NOT_FOUND: there is none. */
enum rc store_message_uuid(
    struct db *db, int64_t mid, struct uuid *ret, struct err *err) MUST_USE;

/* Lists the ids of the outbox rows of message ${id}, at most ${max}. */
enum rc store_message_rows(struct db *db, const struct uuid *id, int64_t *ret,
    size_t max, size_t *ret_n, struct err *err) MUST_USE;

/* How much a user has sent. */
struct store_sizes {
	int64_t messages;
	int64_t bytes; /* of texts and metadata */
};

/* Selects the messages of a sender that were created from from_ms on and before
 * before_ms. */
struct store_sizes_query {
	int64_t sender_id;
	int64_t from_ms, before_ms;
};

/* *ret: the number of the messages that ${query} selects, and the bytes of
 * their texts and metadata.  Reads the sender's messages by descending id and
 * stops at the first one that was created before from_ms, so the cost grows
 * with the number of messages since from_ms. */
enum rc store_sizes_get(struct db *db, const struct store_sizes_query *query,
    struct store_sizes *ret, struct err *err) MUST_USE;

typedef enum rc (*store_entry_fn)(
    void *arg, const struct store_entry *entry, struct err *err);

/* Reads message ${id} of ${sender_id}; RC_NOT_FOUND: it is not a message of
 * this user. */
enum rc store_entry_get(struct db *db, int64_t sender_id, const struct uuid *id,
    store_entry_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} for at most ${limit} messages of ${sender_id} whose internal id
 * is below ${before}, the newest first. */
enum rc store_entries(struct db *db, int64_t sender_id, int64_t before,
    int64_t limit, store_entry_fn each, void *arg, struct err *err) MUST_USE;

typedef enum rc (*store_history_fn)(
    void *arg, const struct store_history *message, struct err *err);

/* Selects at most limit messages of a conversation that user_id may see: the
 * user's own, and those of others with a conversation_seq of at most
 * delivered_upto, except messages of others whose outbox row to the user exists
 * and is neither sent nor acked.  Scheduled messages are left out.  If before
 * is true: messages with a conversation_seq below seq, the highest first; else
 * messages above seq, the lowest first. */
struct store_history_query {
	int64_t conversation_id;
	int64_t user_id;
	bool before;
	int64_t seq;
	int64_t delivered_upto;
	int64_t limit;
};

/* Calls ${each} for the messages that ${query} selects. */
enum rc store_history(struct db *db, const struct store_history_query *query,
    store_history_fn each, void *arg, struct err *err) MUST_USE;

/* Reads one message, if ${user_id} may see it; else RC_NOT_FOUND. */
enum rc store_message_visible(struct db *db, int64_t user_id,
    const struct uuid *id, store_history_fn each, void *arg,
    struct err *err) MUST_USE;

#endif
