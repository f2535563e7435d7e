/* SPDX-License-Identifier: MIT */
/*
 * Limits how many servers unknown to this one a user can write to: a token
 * bucket for each user, which holds the allowance of one day and fills at that
 * rate.
 *
 * The buckets are in memory.  A restart fills all of them, and each node has
 * its own.  Tokens that an abandoned transaction took are returned, at most 256
 * of them.
 * Thread: writer.
 */
#ifndef TXN_NEW_DOMAINS_H
#define TXN_NEW_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of buckets.  When it is reached, full buckets are removed; if
 * that is not enough, all are. */
#define NEW_DOMAINS_USERS 16384

struct new_domains;

/* Returns buckets of ${most} servers per user and day (0: no limit), or NULL if
 * there is no memory. */
struct new_domains *new_domains_new(int64_t most);

/* Frees ${q}.  NULL is allowed. */
void new_domains_free(struct new_domains *q);

/* Takes one token from the bucket of ${user_id} at monotonic time ${now_ms}.
 * Returns false if the bucket is empty; then *ret_wait_s is the time until the
 * next token, in seconds, at least 1.  Returns true if there is no limit, or no
 * memory for a bucket. */
bool new_domains_take(
    struct new_domains *q, int64_t user_id, int64_t now_ms, int *ret_wait_s);

/* new_domains_begin() starts a transaction.  new_domains_abort() returns the
 * tokens that the abandoned transaction took (at most 256 of them). */
void new_domains_begin(struct new_domains *q);
void new_domains_abort(struct new_domains *q);

/* Returns the number of buckets. */
size_t new_domains_users(const struct new_domains *q);

#endif
