/* SPDX-License-Identifier: MIT */
/*
 * Limits of rates, by key.
 */
#ifndef REST_LIMITER_H
#define REST_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limiter;

/* Token buckets by key: ${rate} a second, ${burst} at once.  Bounded: with too
 * many keys those that are full again are dropped, or else all. */
struct limiter *limiter_new(double rate, double burst);
void limiter_free(struct limiter *l);

/* Takes a token of ${n} bytes of key; if there is none false, and in how many
 * seconds there will be.  Thread: any. */
bool limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s);

/* The same for a cost of several tokens, all or none.  One that is larger than
 * the bucket passes when the bucket is full, and leaves a debt. */
struct limiter_charge {
	const void *key;
	size_t n; /* bytes of the key */
	double cost;
};
bool limiter_charge(struct limiter *l, const struct limiter_charge *charge,
    int64_t now_ms, int *ret_wait_s);

/* Gives one back. */
void limiter_return(
    struct limiter *l, const void *key, size_t n, int64_t now_ms);

#endif
