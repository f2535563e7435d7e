/* SPDX-License-Identifier: MIT */
/*
 * The set of rows of a shared database that another transaction has held for
 * longer than a batch waits.  Units that need one of them are laid aside.
 * Thread: writer.
 */
#ifndef DOMAIN_HELD_H
#define DOMAIN_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

enum held_kind {
	HELD_CONVERSATION,
	HELD_INBOX, /* by its user */
	HELD_DEVICE,
	HELD_SEND /* the name of what a send makes, by held_send_id() */
};

/* Without padding: it is a key. */
struct held_row {
	int64_t kind; /* enum held_kind */
	int64_t id;
};

struct held;

/* An empty set; NULL: no memory. */
struct held *held_new(void);
void held_free(struct held *held);

/* Adds a row; nothing when it is there. */
enum rc held_add(struct held *held, const struct held_row *row) MUST_USE;

/* Takes a row out, or all. */
void held_remove(struct held *held, const struct held_row *row);
void held_clear(struct held *held);

/* Whether ${row} is in it, and how many are. */
bool held_has(const struct held *held, const struct held_row *row);
size_t held_count(const struct held *held);

/* Walks as htab_next() does; NULL at the end. */
const struct held_row *held_next(const struct held *held, size_t *pos);

/* What later sends of ${sender_id} to ${to} share with one that is laid aside.
 */
int64_t held_send_id(int64_t sender_id, const char *to);

#endif
