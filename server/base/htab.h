/* SPDX-License-Identifier: MIT */
/*
 * A hash table from keys of a fixed size (integers, uuids, hashes, short names)
 * to pointers.  Open addressing; SipHash with a random key per process, so that
 * clients cannot choose keys that collide.  Thread: a table has no lock; if
 * several threads use it, they need a lock of their own.
 */
#ifndef BASE_HTAB_H
#define BASE_HTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

struct htab;

/* Makes a table with keys of ${key_size} bytes (1 to 64).  Returns NULL if
 * there is no memory. */
struct htab *htab_new(size_t key_size);

/* Frees the table, not the objects that its values point to.  NULL is
 * allowed. */
void htab_free(struct htab *t);

/* Returns the value for ${key}, NULL if there is none. */
void *htab_find(const struct htab *t, const void *key);

/* Sets the value (not NULL) for ${key}: replaces the value of an entry with
 * this key, or else adds an entry with a copy of ${key}.  Returns RC_OK, or
 * RC_NO_MEMORY, with ${t} unchanged; replacing a value never needs memory. */
enum rc htab_set(struct htab *t, const void *key, void *value) MUST_USE;

/* Removes ${key} and returns its value, NULL if there was none. */
void *htab_remove(struct htab *t, const void *key);

/* Returns the number of entries. */
size_t htab_count(const struct htab *t);

/* Removes all entries and keeps the memory. */
void htab_clear(struct htab *t);

/* Returns the next value of a walk over all entries, NULL at the end.  Start
 * with *pos = 0.  The table must not change during the walk, except that the
 * entry just returned may be removed; the walk still returns every other entry
 * once. */
void *htab_next(const struct htab *t, size_t *pos);

/* Test aid: sets the SipHash key of the process, so that walks have the same
 * order in each process that sets this key.  No table may exist yet. */
void htab_key_set(const uint8_t key[16]);

/* Returns the SipHash-2-4 of ${n} bytes with the key of the process.  Thread:
 * any. */
uint64_t htab_hash(const void *p, size_t n);

#endif
