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

/* Whose entries, and what is the same in all of them. */
struct entry_of {
	int64_t sender_id;
	int max_retries; /* of the profile that the server runs with */
};

/* Gets an entry with its internal id; views are borrowed. */
typedef enum rc (*entry_fn)(
    void *arg, const struct entry_view *entry, int64_t mid, struct err *err);

/* The sender's entry for message ${id}; RC_NOT_FOUND if another user sent
 * it. */
enum rc entry_get(struct db *db, const struct entry_of *of,
    const struct uuid *id, entry_fn each, void *arg, struct err *err) MUST_USE;

/* The sender's entries with internal id below ${before} (INT64_MAX: from the
 * newest), newest first; ${each} sees at most ${limit} of them. */
enum rc entry_list(struct db *db, const struct entry_of *of, int64_t before,
    int64_t limit, entry_fn each, void *arg, struct err *err) MUST_USE;

/* For entry_get(): appends the entry, as JSON, to the struct buf ${arg}. */
enum rc entry_append(void *arg, const struct entry_view *e, int64_t mid,
    struct err *err) MUST_USE;

#endif
