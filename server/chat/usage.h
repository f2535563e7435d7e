/* SPDX-License-Identifier: MIT */
/*
 * The usage of each user: how many messages, and how many bytes of text and
 * metadata, the user has sent today (UTC).
 *
 * The numbers are in memory.  When a user sends for the first time on a day,
 * the user's numbers are read from the database.  If other nodes accept
 * messages, too, they are read again when the user sends and the last read was
 * a minute ago or more.  So a restart loses nothing, and several nodes share a
 * quota, with a delay of a minute.  Until the first read is done, only the
 * messages that the user has sent through this process count.
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
	int64_t messages_most;    /* per user and day; 0: no limit */
	int64_t bytes_most;       /* per user and day; 0: no limit */
	atomic_size_t *under_way; /* the number of running reader jobs */
};

struct usage;

/* The usage of one message, or of several. */
struct usage_amount {
	int64_t messages, bytes;
};

/* Makes an empty usage.  ${options} is copied; the objects that it points to
 * are kept.  Returns NULL if there is no memory. */
struct usage *usage_new(const struct usage_options *options);

/* Frees ${u}.  No reader job may be running.  NULL is allowed. */
void usage_free(struct usage *u);

/* Adds ${amount} to the usage of ${user_id} today.  Returns false if that would
 * exceed the quota; then nothing is added, and *ret_wait_s is the time until
 * midnight (UTC) in seconds.  Without a quota nothing is counted. */
bool usage_take(struct usage *u, int64_t user_id,
    const struct usage_amount *amount, int *ret_wait_s);

/* Subtracts ${amount}, because it was not accepted, or had been accepted
 * before. */
void usage_return(
    struct usage *u, int64_t user_id, const struct usage_amount *amount);

#endif
