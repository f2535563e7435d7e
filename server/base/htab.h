/* SPDX-License-Identifier: MIT */
/*
 * A hash table from fixed-size keys (integers, uuids, hashes, short names) to
 * pointers.  Open addressing, SipHash with a key of its own per process, so
 * that strangers cannot choose collisions.  Thread: one owner.
 */
#ifndef BASE_HTAB_H
#define BASE_HTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

struct htab;

/* A table with keys of ${key_size} bytes (1 to 64).  NULL: no memory. */
struct htab *htab_new(size_t key_size);

/* Frees the table, not what its values point to.  NULL is allowed. */
void htab_free(struct htab *t);

/* The value for ${key}, NULL if there is none. */
void *htab_find(const struct htab *t, const void *key);

/* Sets the value (not NULL) for ${key}; RC_NO_MEMORY leaves ${t} as it was. */
enum rc htab_set(struct htab *t, const void *key, void *value) MUST_USE;

/* Removes ${key} and returns its value, NULL if there was none. */
void *htab_remove(struct htab *t, const void *key);

/* The number of entries. */
size_t htab_count(const struct htab *t);

/* Removes all entries, keeps the memory. */
void htab_clear(struct htab *t);

/* Walks: start with *pos = 0; NULL at the end.  The table must not change
 * meanwhile, except by removing the entry just returned; the walk still shows
 * every other entry once. */
void *htab_next(const struct htab *t, size_t *pos);

/* Test aid: the process's key, so that walks go the same way in each process.
 * There must be no table. */
void htab_key_set(const uint8_t key[16]);

/* SipHash-2-4 of ${n} bytes with the process's key.  Thread: any. */
uint64_t htab_hash(const void *p, size_t n);

#endif
