/* SPDX-License-Identifier: MIT */
/*
 * Reading outbox entries: one message of a sender with its destinations.
 * Thread: owner of ${db}.
 */
#ifndef CHAT_ENTRY_H
#define CHAT_ENTRY_H

#include "db/db.h"
#include "model/outbox.h"
#include "store/message.h"

/* The sender whose entries are read, and the value that all of them share. */
struct entry_of {
	int64_t sender_id;
	int max_retries; /* of the server's retry profile */
};

/* Called with an outbox entry and the internal id of its message.  ${entry},
 * with its texts and destinations, is valid only during the call.  A result
 * other than RC_OK ends the reading, and the reading function returns it. */
typedef enum rc (*entry_fn)(
    void *arg, const struct entry_view *entry, int64_t mid, struct err *err);

/* Reads the sender's entry for message ${id} and calls ${each} once with it.
 * RC_NOT_FOUND: there is no such message, or another user sent it; ${each} is
 * not called. */
enum rc entry_get(struct db *db, const struct entry_of *of,
    const struct uuid *id, entry_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} for at most ${limit} of the sender's entries whose messages
 * have an internal id below ${before} (INT64_MAX: any id), in descending order
 * of this id. */
enum rc entry_list(struct db *db, const struct entry_of *of, int64_t before,
    int64_t limit, entry_fn each, void *arg, struct err *err) MUST_USE;

/* An entry_fn that appends the entry as JSON to the struct buf ${arg}. */
enum rc entry_append(void *arg, const struct entry_view *e, int64_t mid,
    struct err *err) MUST_USE;

#endif
