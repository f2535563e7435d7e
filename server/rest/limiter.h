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

/* Token buckets by key: ${rate} a second, ${burst} at once.  The table is
 * bounded: with too many keys full buckets are dropped, or else all. */
struct limiter *limiter_new(double rate, double burst);
void limiter_free(struct limiter *l);

/* Takes a token of the key of ${n} bytes.  False: there is none; there will be
 * one in *ret_wait_s seconds.  Thread: any. */
bool limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s);

/* As limiter_take() for a cost of several tokens, all or none.  A cost that is
 * larger than the bucket passes when the bucket is full, and leaves a debt. */
struct limiter_charge {
	const void *key;
	size_t n; /* bytes of the key */
	double cost;
};
bool limiter_charge(struct limiter *l, const struct limiter_charge *charge,
    int64_t now_ms, int *ret_wait_s);

/* Gives one token back. */
void limiter_return(
    struct limiter *l, const void *key, size_t n, int64_t now_ms);

#endif
