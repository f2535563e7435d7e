/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: messages that were given up.
 * Thread: the owner of ${db}, in all of these.
 */
#ifndef STORE_DEAD_LETTER_H
#define STORE_DEAD_LETTER_H

#include "db/db.h"
#include "store/remote.h"

/* A dead letter for ${row}, which has ended in ${state}. */
enum rc store_dead_letter_insert(struct db *db, const struct store_row *row,
    int64_t destination_id, const char *error, int64_t now_ms,
    struct err *err) MUST_USE;

/* Somebody has dealt with the open dead letter of row ${outbox_id}:
 * "requeued" or "discarded".  RC_NOT_FOUND: there is none. */
enum rc store_dead_letter_resolve(struct db *db, int64_t outbox_id,
    const char *resolution, const char *by, int64_t now_ms,
    struct err *err) MUST_USE;

/* The message and the recipient of a dead letter. */
struct store_dead_letter {
	int64_t outbox_id;
	bool open;
	struct uuid message_id;
	char to[287];
};

/* Dead letter ${dead_id}; RC_NOT_FOUND if there is none. */
enum rc store_dead_letter_get(struct db *db, int64_t dead_id,
    struct store_dead_letter *ret, struct err *err) MUST_USE;

#endif
