/* SPDX-License-Identifier: MIT */
/*
 * Rate limits by key: token buckets.  Thread: any.
 */
#ifndef REST_LIMITER_H
#define REST_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limiter;

/* Makes a table of buckets, one for each key: each gets ${rate} tokens a second
 * and holds at most ${burst}.  A new bucket is full.  The table is bounded:
 * beyond 65,536 keys the full buckets are dropped, or all if 32,768 or more are
 * not full.  Returns NULL if there is no memory. */
struct limiter *limiter_new(double rate, double burst);
void limiter_free(struct limiter *l);

/* Takes a token from the bucket of ${key}, which has ${n} bytes.  Returns false
 * if there is none; there will be one in *ret_wait_s seconds.  Without memory
 * the request passes.  ${now_ms} is monotonic. */
bool limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s);

/* Like limiter_take() for a cost of several tokens: takes all or none.  A cost
 * of the burst or more passes if the bucket is full or, if the burst is above
 * 2, has one token less; the number of tokens may then become negative. */
struct limiter_charge {
	const void *key;
	size_t n; /* bytes of the key */
	double cost;
};
bool limiter_charge(struct limiter *l, const struct limiter_charge *charge,
    int64_t now_ms, int *ret_wait_s);

/* Returns one token to the bucket of the key. */
void limiter_return(
    struct limiter *l, const void *key, size_t n, int64_t now_ms);

#endif
