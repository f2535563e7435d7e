/* SPDX-License-Identifier: MIT */
/*
 * What each user has sent today: messages, and bytes of their text and
 * metadata.  The day is that of UTC.
 *
 * The numbers are in memory.  A user's are read from the database when they are
 * needed first, and, where other nodes accept messages too, again each minute;
 * so a restart forgets nothing, and several nodes share a quota, a minute late.
 * Until the first reading is done the user's messages of this process alone
 * count.
 *
 * Thread: any.
 */
#ifndef CHAT_USAGE_H
#define CHAT_USAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clk.h"
#include "engine/reader.h"

struct usage_options {
	const struct clk *clk;
	struct readers *readers;
	bool shared;              /* other nodes accept messages, too */
	int64_t messages_most;    /* a day and user; 0: any */
	int64_t bytes_most;       /* the same */
	atomic_size_t *under_way; /* readings are counted here until they end */
};

struct usage;

/* What a message, or an array of them, adds. */
struct usage_amount {
	int64_t messages, bytes;
};

/* Copies ${options}; what it points to is kept.  NULL: no memory. */
struct usage *usage_new(const struct usage_options *options);

/* Frees it; no reading may be under way.  NULL is allowed. */
void usage_free(struct usage *u);

/* Adds ${amount} to what ${user_id} has sent today.  False: it would exceed the
 * quota, nothing was added, and *ret_wait_s is the time to the next day. */
bool usage_take(struct usage *u, int64_t user_id,
    const struct usage_amount *amount, int *ret_wait_s);

/* Takes ${amount} back: it was not accepted, or had been before. */
void usage_return(
    struct usage *u, int64_t user_id, const struct usage_amount *amount);

#endif
