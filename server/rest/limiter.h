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

/* Takes one token from the bucket of ${key}; the key has ${n} bytes.  Returns
 * true if the bucket had a token, or if there is no memory for the bucket of a
 * new key.  Otherwise returns false, and sets *ret_wait_s to the seconds, at
 * least 1, after which there will be one.  ${now_ms}: the monotonic clock. */
bool limiter_take(struct limiter *l, const void *key, size_t n, int64_t now_ms,
    int *ret_wait_s);

/* limiter_charge() is like limiter_take(), but takes ${cost} tokens, or none.
 * Let m be the burst, or the burst less 1 if the burst is above 2.  A cost
 * above m passes if the bucket has at least m tokens; the number of its tokens
 * may then become negative. */
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
