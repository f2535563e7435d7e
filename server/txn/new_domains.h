/* SPDX-License-Identifier: MIT */
/*
 * Limits the number of servers unknown to this server to which a user can write
 * per day.  Each user has a token bucket, which is full at first, holds the
 * allowance of one day and fills at that rate per day.
 *
 * The buckets are in memory.  A restart fills all of them, and each node has
 * its own.  Tokens that an abandoned transaction took are returned, at most 256
 * for each transaction.
 * Thread: writer.
 */
#ifndef TXN_NEW_DOMAINS_H
#define TXN_NEW_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of buckets.  If a user needs a further one, all full buckets
 * are removed or, if none is full, all buckets.  A user whose bucket was
 * removed gets a full one at the next send to an unknown server. */
#define NEW_DOMAINS_USERS 16384

struct new_domains;

/* Makes the limit: each user can write to ${most} unknown servers per day (0:
 * no limit).  Returns NULL if there is no memory.  The caller frees it with
 * new_domains_free(). */
struct new_domains *new_domains_new(int64_t most);

/* Frees ${q}.  NULL is allowed. */
void new_domains_free(struct new_domains *q);

/* Takes one token from the bucket of ${user_id} at monotonic time ${now_ms}.
 * Returns false if the bucket has less than one token; only then *ret_wait_s is
 * set, to the time until the next token, in seconds, at least 1.  Returns true
 * if a token was taken, if there is no limit, or if there is no memory for a
 * bucket. */
bool new_domains_take(
    struct new_domains *q, int64_t user_id, int64_t now_ms, int *ret_wait_s);

/* new_domains_begin() is called when a transaction begins: tokens taken before
 * this call can no longer be returned.  new_domains_abort() is called when the
 * transaction is abandoned: it returns the tokens taken since
 * new_domains_begin() (at most the first 256). */
void new_domains_begin(struct new_domains *q);
void new_domains_abort(struct new_domains *q);

/* Returns the number of buckets. */
size_t new_domains_users(const struct new_domains *q);

#endif
