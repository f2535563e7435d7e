/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: rows for operators about messages that have failed or expired.
 * Thread: the owner of ${db}, for all functions.
 */
#ifndef STORE_DEAD_LETTER_H
#define STORE_DEAD_LETTER_H

#include "db/db.h"
#include "store/remote.h"

/* Adds a dead letter for ${row}, which has its final state and reason already.
 * ${error} (may be NULL): the last error of the destination, truncated to 512
 * bytes. */
enum rc store_dead_letter_insert(struct db *db, const struct store_row *row,
    int64_t destination_id, const char *error, int64_t now_ms,
    struct err *err) MUST_USE;

/* Closes the open dead letter of outbox row ${outbox_id}.  ${resolution}:
 * "requeued" or "discarded"; ${by}: the operator.  RC_NOT_FOUND: there is no
 * open one. */
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

/* Reads dead letter ${dead_id}; RC_NOT_FOUND: there is none. */
enum rc store_dead_letter_get(struct db *db, int64_t dead_id,
    struct store_dead_letter *ret, struct err *err) MUST_USE;

#endif
