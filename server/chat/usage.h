/* SPDX-License-Identifier: MIT */
/*
 * The usage of each user: how many messages, and how many bytes of text and
 * metadata, the user has sent today (UTC).
 *
 * The numbers are in memory.  At a user's first message of a day in this
 * process, a reader job begins to read the user's numbers from the database;
 * until it is done, only the messages that the user has sent through this
 * process count.  If other nodes accept messages, too, a message also starts
 * such a read when the last one began a minute ago or more.  So the numbers
 * survive a restart, and several nodes share a quota, but a node learns only by
 * its next read of messages that the user has sent through other nodes.
 * Without a quota nothing is counted.
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

/* Returns a usage without users, which the caller frees with usage_free(); NULL
 * if there is no memory.  ${options} is copied; the objects that it points to
 * must outlive the usage. */
struct usage *usage_new(const struct usage_options *options);

/* Frees ${u}.  No reader job may be running.  NULL is allowed. */
void usage_free(struct usage *u);

/* Adds ${amount} to the usage of ${user_id} today and returns true.  Returns
 * false if that would exceed the quota; then nothing is added, and *ret_wait_s
 * is the time until midnight (UTC) in seconds.  Without a quota, or if there is
 * no memory, returns true and adds nothing. */
bool usage_take(struct usage *u, int64_t user_id,
    const struct usage_amount *amount, int *ret_wait_s);

/* Subtracts ${amount}, because it was not accepted, or had been accepted
 * before. */
void usage_return(
    struct usage *u, int64_t user_id, const struct usage_amount *amount);

#endif
