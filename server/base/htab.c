/* SPDX-License-Identifier: MIT */
/*
 * The hash table.  Owns its slots, in which keys are copied; does not own the
 * objects that the values point to.  Linear probing.  A removal shifts the
 * following entries of the cluster back, so there are no tombstones and a table
 * that is used for years does not become slower.
 *
 * Invariants:
 *  1. cap is 0 or a power of two, and at least a third of the slots is empty;
 *  2. no slot between the home slot of an entry (hash mod cap) and its actual
 *     slot, cyclically, is empty.
 */
#include "base/htab.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/rnd.h"
#include "base/siphash.h"

#define FIRST_CAP 8
#define KEY_MAX 64

struct slot {
	void *value; /* NULL: the slot is empty */
	uint64_t hash;
	unsigned char key[]; /* key_size bytes */
};

struct htab {
	unsigned char
	    *slots; /* cap slots of stride bytes; NULL while cap is 0 */
	size_t cap;
	size_t count;
	size_t key_size;
	size_t stride;
};

static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;
static uint8_t hash_key[16];

static void
make_hash_key(void)
{

	rnd_fill(rnd_system(), hash_key, sizeof(hash_key));
}

void
htab_key_set(const uint8_t key[16])
{

	(void)pthread_once(&hash_key_once, make_hash_key);
	memcpy(hash_key, key, sizeof(hash_key));
}

uint64_t
htab_hash(const void *p, size_t n)
{

	(void)pthread_once(&hash_key_once, make_hash_key);
	return (siphash24(hash_key, p, n));
}

struct htab *
htab_new(size_t key_size)
{
	struct htab *t;

	assert(key_size >= 1 && key_size <= KEY_MAX);
	t = mem_zalloc(1, sizeof(*t));
	if (t == NULL)
		return (NULL);
	t->key_size = key_size;
	t->stride = (offsetof(struct slot, key) + key_size +
			_Alignof(struct slot) - 1) /
		    _Alignof(struct slot) * _Alignof(struct slot);
	return (t);
}

void
htab_free(struct htab *t)
{

	if (t == NULL)
		return;
	mem_free(t->slots);
	mem_free(t);
}

static inline struct slot *
slot_at(const struct htab *t, size_t i)
{

	return ((struct slot *)(void *)(t->slots + i * t->stride));
}

/* Returns the slot that holds ${key}, or the empty slot where it belongs.  The
 * loop ends because a third of the slots is empty (invariant 1); cap must not
 * be 0. */
static size_t
probe(const struct htab *t, const void *key, uint64_t hash)
{
	const struct slot *s;
	size_t i;

	for (i = (size_t)hash & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
		s = slot_at(t, i);
		if (s->value == NULL)
			return (i);
		if (s->hash == hash && memcmp(s->key, key, t->key_size) == 0)
			return (i);
	}
}

void *
htab_find(const struct htab *t, const void *key)
{

	if (t->count == 0)
		return (NULL);
	return (slot_at(t, probe(t, key, htab_hash(key, t->key_size)))->value);
}

/* Moves all entries into twice as many slots (FIRST_CAP at first).  Returns
 * false, with nothing changed, if there is no memory. */
static bool
grow(struct htab *t)
{
	struct htab wider = *t;
	const struct slot *s;
	size_t i, to;

	wider.cap = t->cap == 0 ? FIRST_CAP : t->cap * 2;
	if (wider.cap < t->cap)
		return (false);
	wider.slots = mem_zalloc(wider.cap, t->stride);
	if (wider.slots == NULL)
		return (false);
	for (i = 0; i < t->cap; i++) {
		s = slot_at(t, i);
		if (s->value == NULL)
			continue;
		to = (size_t)s->hash & (wider.cap - 1);
		while (slot_at(&wider, to)->value != NULL)
			to = (to + 1) & (wider.cap - 1);
		memcpy(slot_at(&wider, to), s, t->stride);
	}
	mem_free(t->slots);
	*t = wider;
	return (true);
}

enum rc
htab_set(struct htab *t, const void *key, void *value)
{
	uint64_t hash;
	struct slot *s;

	assert(value != NULL);
	hash = htab_hash(key, t->key_size);
	if (t->count > 0) {
		s = slot_at(t, probe(t, key, hash));
		if (s->value != NULL) {
			s->value = value;
			return (RC_OK);
		}
	}
	if ((t->count + 1) * 3 > t->cap * 2 && !grow(t))
		return (RC_NO_MEMORY);
	s = slot_at(t, probe(t, key, hash));
	s->value = value;
	s->hash = hash;
	memcpy(s->key, key, t->key_size);
	t->count++;
	return (RC_OK);
}

/* Removes the entry in the slot ${hole}, which becomes the hole.  Walks through
 * the later entries of the cluster; each entry that may move is moved into the
 * hole, and its old slot becomes the hole.  The last hole stays empty.  An
 * entry may move only if the hole is its home slot (hash mod cap) or lies,
 * cyclically, between its home slot and its slot: no slot from its home slot to
 * its slot may be empty (invariant 2). */
static void
close_hole(struct htab *t, size_t hole)
{
	size_t mask = t->cap - 1, i, home;
	const struct slot *s;

	for (i = (hole + 1) & mask;; i = (i + 1) & mask) {
		s = slot_at(t, i);
		if (s->value == NULL)
			break;
		home = (size_t)s->hash & mask;
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		memcpy(slot_at(t, hole), s, t->stride);
		hole = i;
	}
	slot_at(t, hole)->value = NULL;
}

void *
htab_remove(struct htab *t, const void *key)
{
	void *value;
	size_t i;

	if (t->count == 0)
		return (NULL);
	i = probe(t, key, htab_hash(key, t->key_size));
	value = slot_at(t, i)->value;
	if (value == NULL)
		return (NULL);
	close_hole(t, i);
	t->count--;
	return (value);
}

size_t
htab_count(const struct htab *t)
{

	return (t->count);
}

void
htab_clear(struct htab *t)
{

	if (t->count > 0)
		memset(t->slots, 0, t->cap * t->stride);
	t->count = 0;
}

/*
 * The walk goes downwards.  A removal moves entries downwards only, from slots
 * that the walk has passed already, into the slot of the entry just returned or
 * into other slots that it has passed.  So every other entry is returned
 * exactly once.  A cluster that wraps around the end of the table would break
 * this if the walk began inside it.  The walk therefore begins below the
 * highest empty slot e, which no cluster crosses: it goes from e - 1 down to 0,
 * then from cap - 1 down to e.  The second leg ends at the first empty slot.
 * This is e, because no removal has changed the slots below the current one.
 *
 * *pos is 0 at the start; 1 + i while the first leg still has to visit the
 * slots i - 1 to 0; and cap + 1 + i while the second leg still has to visit the
 * slots i - 1 to e.
 */
void *
htab_next(const struct htab *t, size_t *pos)
{
	size_t i;

	if (t->cap == 0)
		return (NULL);
	if (*pos == 0) {
		for (i = t->cap; slot_at(t, i - 1)->value != NULL;)
			i--;
		*pos = i;
	}
	while (*pos <= t->cap) {
		if (*pos == 1) {
			*pos = t->cap + 1 + t->cap;
			break;
		}
		--*pos;
		if (slot_at(t, *pos - 1)->value != NULL)
			return (slot_at(t, *pos - 1)->value);
	}
	i = *pos - t->cap - 1;
	if (i == 0 || slot_at(t, i - 1)->value == NULL)
		return (NULL);
	--*pos;
	return (slot_at(t, i - 1)->value);
}
