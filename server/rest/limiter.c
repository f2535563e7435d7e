/* SPDX-License-Identifier: MIT */
/*
 * Token buckets.  Each limiter has one lock, for all of its buckets.  A bucket
 * has a 64-bit hash of its key in place of the key, so a long key, which a
 * stranger may send, needs no more memory than a short one.
 */
#include <math.h>
#include <stdlib.h>

#include "base/htab.h"
#include "base/lock.h"
#include "base/mem.h"
#include "rest/rest_internal.h"

/* The most keys; beyond it drop_full() makes room. */
#define KEYS_MAX 65536

struct bucket {
	uint64_t key;
	double tokens;
	int64_t at_ms;
};

struct limiter {
	struct lock lock;
	struct htab *table;
	double rate; /* tokens per millisecond */
	double burst;
};

struct limiter *
limiter_new(double rate, double burst)
{
	struct limiter *l;

	if ((l = mem_zalloc(1, sizeof(*l))) == NULL)
		return (NULL);
	if ((l->table = htab_new(sizeof(uint64_t))) == NULL) {
		mem_free(l);
		return (NULL);
	}
	l->rate = rate / 1000;
	l->burst = burst;
	lock_init(&l->lock, LOCK_LIMITER);
	return (l);
}

void
limiter_free(struct limiter *l)
{
	size_t pos = 0;
	void *p;

	if (l == NULL)
		return;
	while ((p = htab_next(l->table, &pos)) != NULL)
		mem_free(p);
	htab_free(l->table);
	lock_fini(&l->lock);
	mem_free(l);
}

static void
refill(const struct limiter *l, struct bucket *b, int64_t now_ms)
{

	if (now_ms <= b->at_ms)
		return;
	b->tokens += (double)(now_ms - b->at_ms) * l->rate;
	if (b->tokens > l->burst)
		b->tokens = l->burst;
	b->at_ms = now_ms;
}

/* Refills all buckets up to ${now_ms}, and drops those that then have the whole
 * burst of tokens, as a new bucket has.  If at least KEYS_MAX / 2 buckets are
 * left, drops all: the memory stays bounded, at the price that every key starts
 * with a full bucket again. */
static void
drop_full(struct limiter *l, int64_t now_ms)
{
	struct bucket *b;
	size_t pos = 0;

	while ((b = htab_next(l->table, &pos)) != NULL) {
		refill(l, b, now_ms);
		if (b->tokens < l->burst)
			continue;
		(void)htab_remove(l->table, &b->key);
		mem_free(b);
	}
	if (htab_count(l->table) < KEYS_MAX / 2)
		return;
	for (pos = 0; (b = htab_next(l->table, &pos)) != NULL;)
		mem_free(b);
	htab_clear(l->table);
}

/* Returns the bucket of ${key}, a hash, refilled up to ${now_ms}.  If there is
 * none, makes a full one, for which other buckets may be dropped (drop_full()).
 * NULL: there is no memory for a new bucket. */
static struct bucket *
bucket_get(struct limiter *l, uint64_t key, int64_t now_ms)
{
	struct bucket *b;

	if ((b = htab_find(l->table, &key)) != NULL) {
		refill(l, b, now_ms);
		return (b);
	}
	if (htab_count(l->table) >= KEYS_MAX)
		drop_full(l, now_ms);
	if ((b = mem_zalloc(1, sizeof(*b))) == NULL)
		return (NULL);
	b->key = key;
	b->tokens = l->burst;
	b->at_ms = now_ms;
	if (htab_set(l->table, &key, b) != RC_OK) {
		mem_free(b);
		return (NULL);
	}
	return (b);
}

/* Returns how many tokens the bucket must have so that ${cost} passes: ${cost},
 * but at most the burst, because a bucket never has more.  If the burst is
 * above 2, at most the burst less 1: a request takes one token when it arrives,
 * and its items are charged right after that. */
static double
tokens_needed(const struct limiter *l, double cost)
{
	const double most = l->burst > 2 ? l->burst - 1 : l->burst;

	return (cost < most ? cost : most);
}

bool
limiter_charge(struct limiter *l, const struct limiter_charge *charge,
    int64_t now_ms, int *ret_wait_s)
{
	const uint64_t hash = htab_hash(charge->key, charge->n);
	const double need = tokens_needed(l, charge->cost);
	struct bucket *b;
	bool ok = true;

	lock_take(&l->lock);
	b = bucket_get(l, hash, now_ms);
	if (b != NULL && b->tokens < need) {
		*ret_wait_s = (int)ceil((need - b->tokens) / l->rate / 1000);
		if (*ret_wait_s < 1)
			*ret_wait_s = 1;
		ok = false;
	} else if (b != NULL) {
		b->tokens -= charge->cost;
	}
	lock_drop(&l->lock);
	return (ok);
}

bool
limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s)
{
	const struct limiter_charge one = {key, n, 1};

	return (limiter_charge(l, &one, now_ms, ret_wait_s));
}

void
limiter_return(struct limiter *l, const void *key, size_t n, int64_t now_ms)
{
	uint64_t hash = htab_hash(key, n);
	struct bucket *b;

	lock_take(&l->lock);
	b = htab_find(l->table, &hash);
	if (b != NULL) {
		refill(l, b, now_ms);
		b->tokens += 1;
		if (b->tokens > l->burst)
			b->tokens = l->burst;
	}
	lock_drop(&l->lock);
}
