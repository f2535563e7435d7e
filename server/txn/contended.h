/* SPDX-License-Identifier: MIT */
/*
 * The set of contended rows of a multi-writer database; each process has one.
 * When a batch (one transaction for many units of work) has waited too long for
 * a lock, the batch is tried again without waiting.  A unit that then needs a
 * row that another transaction has locked is deferred, and that row (of several
 * rows of one unit the first that is found) is added to the set.  Later units
 * that need a row of the set are deferred, too, until a probe finds the row
 * free or the set is emptied (lockset_probe()).
 * Thread: writer.
 */
#ifndef TXN_CONTENDED_H
#define TXN_CONTENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

enum contended_kind {
	CONTENDED_CONVERSATION,
	CONTENDED_INBOX, /* by user id */
	CONTENDED_DEVICE,
	/* all sends of one user to one recipient, so that they stay in order */
	CONTENDED_SEND
};

/* A key of the table: it must have no padding. */
struct contended_row {
	int64_t kind; /* enum contended_kind */
	int64_t id;
};

struct contended;

/* Returns an empty set, or NULL if there is no memory. */
struct contended *contended_new(void);
void contended_free(struct contended *set);

/* Adds a row.  Does nothing if the row is in the set already. */
enum rc contended_add(
    struct contended *set, const struct contended_row *row) MUST_USE;

/* Remove one row, and all rows. */
void contended_remove(struct contended *set, const struct contended_row *row);
void contended_clear(struct contended *set);

/* Return whether ${row} is in the set, and the number of rows. */
bool contended_has(
    const struct contended *set, const struct contended_row *row);
size_t contended_count(const struct contended *set);

/* Iterates over the rows as htab_next() does.  Returns NULL at the end. */
const struct contended_row *contended_next(
    const struct contended *set, size_t *pos);

/* Returns the id of the CONTENDED_SEND row for all sends of ${sender_id} to
 * ${to}: a hash of the two.  ${to} is a name or an address, or "" for a send to
 * a conversation; for a message from another server ${sender_id} is 0 and ${to}
 * is the direct key of the conversation.  While the row is in the set, sends
 * with the same id are deferred, and so stay behind the deferred send that has
 * added the row. */
int64_t contended_send_id(int64_t sender_id, const char *to);

#endif
