/* SPDX-License-Identifier: MIT */
/*
 * The set of rows of a multi-writer database that another transaction has held
 * for longer than a batch waits.  Units that need one of them are deferred.
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
	CONTENDED_INBOX, /* by its user */
	CONTENDED_DEVICE,
	CONTENDED_SEND /* all sends of one user to another, which stay in order
			*/
};

/* Without padding: it is a key. */
struct contended_row {
	int64_t kind; /* enum contended_kind */
	int64_t id;
};

struct contended;

/* An empty set; NULL: no memory. */
struct contended *contended_new(void);
void contended_free(struct contended *set);

/* Adds a row; nothing when it is there. */
enum rc contended_add(
    struct contended *set, const struct contended_row *row) MUST_USE;

/* Takes a row out, or all. */
void contended_remove(struct contended *set, const struct contended_row *row);
void contended_clear(struct contended *set);

/* Whether ${row} is in it, and how many are. */
bool contended_has(
    const struct contended *set, const struct contended_row *row);
size_t contended_count(const struct contended *set);

/* Walks as htab_next() does; NULL at the end. */
const struct contended_row *contended_next(
    const struct contended *set, size_t *pos);

/* An id for all sends of ${sender_id} to ${to}: a later one stays behind one
 * that was deferred. */
int64_t contended_send_id(int64_t sender_id, const char *to);

#endif
