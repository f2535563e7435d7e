/* SPDX-License-Identifier: MIT */
/*
 * Shared by lockset*.c: the rows of a batch, and which unit needs each of them.
 * Only these files include this.
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

/* A unit of the batch, by its index, and one of its parts. */
struct lock_owner {
	size_t unit; /* LOCK_NOBODY: a row of an earlier try */
	size_t part;
};

#define LOCK_NOBODY SIZE_MAX

/* A row that its owner needs: without the lock, the owner is deferred. */
struct lock_need {
	struct contended_row row;
	struct lock_owner owner;
};

/* A name, which is locked before all rows, and the unit that needs it. */
struct lock_name {
	char name[STORE_DIRECT_KEY_SIZE];
	size_t unit;
};

struct lockset {
	struct cache *cache;
	struct contended *contended;
	struct tx *tx;
	/* receives the rows that were read */
	struct store_lock_handler handler;
	struct unit **units;
	size_t nunits;
	struct lock_owner owner; /* owner of the rows that are listed now */

	struct list conversations;    /* of int64_t; locked */
	struct list inboxes, devices; /* of int64_t */
	struct list users;            /* of struct store_user_key */
	struct list keys;             /* of struct store_conversation_key */
	struct list key_owners;       /* of struct lock_owner, one for each */
	struct list about;            /* of struct store_about */
	struct list about_owners;
	struct list messages; /* of struct uuid */
	struct list names;    /* of struct lock_name */
	size_t nreceipts;     /* outbox rows other than those of new messages */
	int due;              /* at most this number of scheduled messages */
	bool has_ids; /* internal ids are reserved; a retry keeps them */

	/* Used only if ${selective}: some rows may be contended. */
	bool selective;
	struct list needs;     /* of struct lock_need */
	struct contended *got; /* inboxes that are locked, devices that exist */
};

/* ---- lockset_add.c ---- */

/* Appends a copy of the item of ${width} bytes at ${item}.  All items of a list
 * have the same width.  RC_NO_MEMORY: the list is unchanged. */
enum rc lockset_push(struct list *list, const void *item, size_t width,
    struct err *err) MUST_USE;

/* Appends ${id}. */
enum rc lockset_add_id(struct list *ids, int64_t id, struct err *err) MUST_USE;

/* Lists a conversation for set->owner. */
enum rc lockset_add_key(struct lockset *set,
    const struct store_conversation_key *key, struct err *err) MUST_USE;

/* Notes that set->owner needs row ${id} of ${kind}.  Does nothing unless
 * set->selective. */
enum rc lockset_add_need(struct lockset *set, enum contended_kind kind,
    int64_t id, struct err *err) MUST_USE;

/* Empties the lists and lists the rows of all units that are not deferred. */
enum rc lockset_add_all(struct lockset *set, struct err *err) MUST_USE;

/* Lists the names of missing rows that units will add: calls
 * unit_kind.locks_names, if it is set, for each unit that is not deferred.  The
 * other rows of the units must be locked already. */
enum rc lockset_add_names(struct lockset *set, struct err *err) MUST_USE;

/* Returns a new array of the set->names.n listed names; NULL, with ${err} set,
 * if there is no memory.  The caller frees the array with mem_free(), but not
 * the names, which are borrowed from ${set} until another name is listed. */
const char **lockset_name_list(
    const struct lockset *set, struct err *err) MUST_USE;

/* Finds the conversations of the listed messages and dead letters. */
enum rc lockset_find_about(struct lockset *set, struct err *err) MUST_USE;

/* ---- lockset_skip.c ---- */

/* Queries which conversations and inboxes the listed keys (struct
 * store_conversation_key), messages and dead letters mean, and adds these to
 * set->needs; locks nothing.  Then defers the units that need a row that is in
 * set->contended. */
enum rc lockset_find(struct lockset *set, struct err *err) MUST_USE;

/* Locks the listed names that no other transaction has locked.  If another
 * transaction has locked a name, defers the unit that listed the name, and the
 * units that must stay behind that unit (lockset_send_order()). */
enum rc lockset_skip_names(struct lockset *set, struct err *err) MUST_USE;

/* lockset_skip_conversations() queues the statement that locks the
 * conversations that the units need, lockset_skip_rest() those that lock the
 * devices and the inboxes.  The rows of deferred units are left out.  The
 * statements skip rows that another transaction has locked.  The caller sends
 * them with store_lock_answers(). */
enum rc lockset_skip_conversations(
    struct lockset *set, struct err *err) MUST_USE;
enum rc lockset_skip_rest(struct lockset *set, struct err *err) MUST_USE;

/* Defers each unit (or part of a unit) that needs a row that another
 * transaction has locked, and adds that row to set->contended; of several such
 * rows of one unit only the first.  Looks at conversations or, with ${rest}, at
 * inboxes and devices.  Called after store_lock_answers() has received the
 * results of the locking statements. */
enum rc lockset_defer(struct lockset *set, bool rest, struct err *err) MUST_USE;

#endif
