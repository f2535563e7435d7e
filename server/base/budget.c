/* SPDX-License-Identifier: MIT */
/*
 * See budget.h.  The hash table has an entry for each owner that holds bytes
 * now.  The number of bytes is stored as the value pointer itself.
 */
#include "base/budget.h"
#include "base/lock.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/htab.h"
#include "base/mem.h"

struct budget {
	size_t total, share;
	atomic_size_t used; /* changed under lock */
	struct lock lock;
	struct htab *owners; /* lock */
};

struct budget *
budget_new(size_t total, size_t share)
{
	struct budget *b;

	if ((b = mem_zalloc(1, sizeof(*b))) == NULL)
		return (NULL);
	if ((b->owners = htab_new(sizeof(uint64_t))) == NULL) {
		mem_free(b);
		return (NULL);
	}
	b->total = total;
	b->share = share;
	lock_init(&b->lock, LOCK_BUDGET);
	return (b);
}

void
budget_free(struct budget *b)
{

	if (b == NULL)
		return;
	htab_free(b->owners);
	lock_fini(&b->lock);
	mem_free(b);
}

static uintptr_t
held_by(const struct budget *b, uint64_t owner)
{

	return ((uintptr_t)htab_find(b->owners, &owner));
}

/* Subtracts ${bytes} from the bytes that ${owner} holds, which are at least as
 * many, and removes the owner's entry if none are left; does nothing for owner
 * 0.  Cannot fail: an owner that holds bytes has an entry in the hash table, so
 * htab_set() allocates nothing.  The caller holds the lock. */
static void
lower(struct budget *b, uint64_t owner, size_t bytes)
{
	const uintptr_t n = held_by(b, owner);

	if (owner == 0)
		return;
	assert(n >= bytes);
	if (n == bytes)
		(void)htab_remove(b->owners, &owner);
	else
		(void)!htab_set(b->owners, &owner, (void *)(n - bytes));
}

/* Adds ${bytes} to the bytes that ${owner} holds; does nothing for owner 0.
 * Returns false, with nothing changed, if the owner would exceed its share or
 * if there is no memory for the entry.  The caller holds the lock. */
static bool
raise_owner(struct budget *b, uint64_t owner, size_t bytes)
{
	const uintptr_t n = held_by(b, owner);

	return (owner == 0 ||
		(bytes <= b->share && n <= b->share - bytes &&
		    htab_set(b->owners, &owner, (void *)(n + bytes)) == RC_OK));
}

bool
budget_take(struct budget *b, struct budget_hold *hold, size_t bytes)
{
	size_t used;
	int i = 0;

	if (bytes == 0)
		return (true);
	lock_take(&b->lock);
	used = atomic_load(&b->used);
	if (bytes <= b->total && used <= b->total - bytes)
		while (
		    i < BUDGET_OWNERS && raise_owner(b, hold->owner[i], bytes))
			i++;
	if (i == BUDGET_OWNERS) {
		atomic_store(&b->used, used + bytes);
		hold->bytes += bytes;
	} else {
		while (i-- > 0)
			lower(b, hold->owner[i], bytes);
		i = 0;
	}
	lock_drop(&b->lock);
	return (i == BUDGET_OWNERS);
}

void
budget_give(struct budget *b, struct budget_hold *hold)
{
	int i;

	if (hold->bytes == 0)
		return;
	lock_take(&b->lock);
	atomic_store(&b->used, atomic_load(&b->used) - hold->bytes);
	for (i = 0; i < BUDGET_OWNERS; i++)
		lower(b, hold->owner[i], hold->bytes);
	lock_drop(&b->lock);
	hold->bytes = 0;
}

size_t
budget_used(const struct budget *b)
{

	return (atomic_load(&b->used));
}
