/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the lock set: the rows of a batch, and which unit
 * needs each.  Only lockset*.c include this.
 */
#ifndef TXN_LOCKSET_INTERNAL_H
#define TXN_LOCKSET_INTERNAL_H

#include "store/lock.h"
#include "txn/contended.h"
#include "txn/lockset.h"
#include "txn/verb.h"

/* A list of items of one type. */
struct list {
	void *v;
	size_t n, cap;
};

/* A unit of the batch, by its place in it, and one of its parts. */
struct lock_owner {
	size_t unit; /* LOCK_NOBODY: an earlier try of the transaction */
	size_t part;
};

#define LOCK_NOBODY SIZE_MAX

/* A row without which its owner cannot go on. */
struct lock_need {
	struct contended_row row;
	struct lock_owner owner;
};

/* A name that is locked before all rows, and a unit that needs it. */
struct lock_name {
	char name[STORE_DIRECT_KEY_SIZE];
	size_t unit;
};

struct lockset {
	struct cache *cache;
	struct contended *contended;
	struct tx *tx;
	struct store_lock_handler handler; /* gets the rows for this set */
	struct unit **units;
	size_t nunits;
	struct lock_owner owner; /* of the rows that are being added */

	struct list conversations;    /* of int64_t: those that are locked */
	struct list inboxes, devices; /* of int64_t */
	struct list users;            /* of struct store_user_key */
	struct list keys;             /* of struct store_conversation_key */
	struct list key_owners;       /* of struct lock_owner, one for each */
	struct list about;            /* of struct store_about */
	struct list about_owners;
	struct list messages; /* of struct uuid */
	struct list names;    /* of struct lock_name */
	size_t nreceipts;     /* outbox rows beside those of messages */
	int due;              /* so many scheduled messages at most */
	bool has_ids; /* internal ids are reserved; a retry keeps them */

	/* Only when some rows may be held by others for long. */
	bool selective;
	struct list needs;     /* of struct lock_need */
	struct contended *got; /* inboxes that are locked, devices that exist */
};

/* ---- lockset_add.c ---- */

/* Appends the item of ${width} bytes at ${item}, all of one width in a list. */
enum rc lockset_push(struct list *list, const void *item, size_t width,
    struct err *err) MUST_USE;

/* The same for an id. */
enum rc lockset_add_id(struct list *ids, int64_t id, struct err *err) MUST_USE;

/* A conversation, for set->owner. */
enum rc lockset_add_key(struct lockset *set,
    const struct store_conversation_key *key, struct err *err) MUST_USE;

/* Row ${id} of ${kind}, for set->owner; nothing unless set->selective. */
enum rc lockset_add_need(struct lockset *set, enum contended_kind kind,
    int64_t id, struct err *err) MUST_USE;

/* Lists anew the rows of all units that are not deferred. */
enum rc lockset_add_all(struct lockset *set, struct err *err) MUST_USE;

/* Adds the names of what these units will make (unit_kind.locks_names). */
enum rc lockset_add_names(struct lockset *set, struct err *err) MUST_USE;

/* The names, for a statement: a list that the caller frees; NULL: no memory. */
const char **lockset_name_list(
    const struct lockset *set, struct err *err) MUST_USE;

/* Finds the conversations of messages and dead letters. */
enum rc lockset_find_about(struct lockset *set, struct err *err) MUST_USE;

/* ---- lockset_skip.c ---- */

/* Finds which rows the units need, and defers those that need one of
 * set->contended. */
enum rc lockset_find(struct lockset *set, struct err *err) MUST_USE;

/* Locks those of set->names that no other transaction has; defers the units
 * that need another one. */
enum rc lockset_skip_names(struct lockset *set, struct err *err) MUST_USE;

/* Asks for the conversations, or for the inboxes and devices, that are needed
 * and free, … */
enum rc lockset_skip_conversations(
    struct lockset *set, struct err *err) MUST_USE;
enum rc lockset_skip_rest(struct lockset *set, struct err *err) MUST_USE;

/* … and, when they have come, defers the units that need others. */
enum rc lockset_defer(struct lockset *set, bool rest, struct err *err) MUST_USE;

#endif
