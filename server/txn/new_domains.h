/* SPDX-License-Identifier: MIT */
/*
 * How many servers that nobody here had met each user has written to lately: a
 * bucket for each user, which holds a day's worth and fills at that rate.
 *
 * It is in memory, of this process alone: a restart fills all buckets, and each
 * node has its own.  What an abandoned transaction took is given back.
 * Thread: writer.
 */
#ifndef TXN_NEW_DOMAINS_H
#define TXN_NEW_DOMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Users that are remembered.  With more of them those with full buckets are
 * forgotten; if that is not enough, all. */
#define NEW_DOMAINS_USERS 16384

struct new_domains;

/* ${most} a user and day; 0: any number.  NULL: no memory. */
struct new_domains *new_domains_new(int64_t most);

/* Frees it.  NULL is allowed. */
void new_domains_free(struct new_domains *q);

/* Takes one from ${user_id}'s bucket at monotonic ${now_ms}.  False: it is
 * empty, and *ret_wait_s is the time until there is one.  Without memory to
 * count, the result is true. */
bool new_domains_take(
    struct new_domains *q, int64_t user_id, int64_t now_ms, int *ret_wait_s);

/* A transaction begins; or was abandoned: what was taken since its begin is
 * given back, as far as it can be remembered. */
void new_domains_begin(struct new_domains *q);
void new_domains_abort(struct new_domains *q);

/* How many users are remembered. */
size_t new_domains_users(const struct new_domains *q);

#endif
