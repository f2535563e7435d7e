/* SPDX-License-Identifier: MIT */
/*
 * Reads inboxes: the events, for clients; the messages that an ack or a read
 * (a user's report of what was read) covers; and the seq of the newest event.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_INBOX_H
#define STORE_INBOX_H

#include "db/db.h"
#include "model/event.h"

/* A message in an inbox, as acks and reads need it. */
struct store_inbox_message {
	int64_t seq;
	int64_t mid;
	int64_t conversation_id;
	int64_t conversation_seq;
	int64_t sender_id;
	int64_t outbox_id; /* 0: it came from another server */
	bool own;          /* set by store_inbox_find() only */
};

typedef enum rc (*store_event_fn)(
    void *arg, const struct event_view *event, struct err *err);
typedef enum rc (*store_inbox_fn)(
    void *arg, const struct store_inbox_message *message, struct err *err);

/* A part of an inbox: after < seq <= upto, at most ${limit} events. */
struct store_range {
	int64_t after;
	int64_t upto;
	int64_t limit;
};

/* Calls ${each} for the events of ${user_id} in ${range}, in ascending order of
 * seq.  The views are borrowed until the callback returns.  An error of ${each}
 * ends the calls and is returned. */
enum rc store_inbox_page(struct db *db, int64_t user_id,
    const struct store_range *range, store_event_fn each, void *arg,
    struct err *err) MUST_USE;

/* Calls ${each} for the messages of others with after < seq <= upto. */
enum rc store_inbox_range(struct db *db, int64_t user_id, int64_t after,
    int64_t upto, store_inbox_fn each, void *arg, struct err *err) MUST_USE;

/* Finds message ${id} in the inbox of ${user_id}, also if that user has sent
 * it.  Does not read outbox_id: it is 0 in *ret.  RC_NOT_FOUND: the message is
 * not in the inbox. */
enum rc store_inbox_find(struct db *db, int64_t user_id, const struct uuid *id,
    struct store_inbox_message *ret, struct err *err) MUST_USE;

/* Finds, in a conversation, the message with the highest conversation_seq among
 * those that another user has sent, that are in the inbox of ${user_id}, and
 * whose conversation_seq is above ${after} and at most ${upto}.  Does not read
 * seq and outbox_id: they are 0 in *ret.  RC_NOT_FOUND: there is none. */
enum rc store_last_of_others(struct db *db, int64_t conversation_id,
    int64_t user_id, int64_t after, int64_t upto,
    struct store_inbox_message *ret, struct err *err) MUST_USE;

/* Calls ${each}, in any order, for each of ${n} users who has an inbox, with
 * the seq of the last event that was put into the inbox, even if this event was
 * purged since (0: there was none yet). */
enum rc store_inbox_heads(struct db *db, const int64_t *users, size_t n,
    enum rc (*each)(void *arg, int64_t user_id, int64_t head, struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
