/* SPDX-License-Identifier: MIT */
/*
 * The messages that were sent last, so that their delivery and receipts, which
 * follow soon, need not read them from the store.
 * Thread: writer.
 */
#ifndef TXN_MESSAGE_CACHE_H
#define TXN_MESSAGE_CACHE_H

#include "base/text.h"
#include "base/uuid.h"

#define MESSAGE_CACHE_SIZE 8192

struct cached_message {
	int64_t mid;
	struct uuid id;
	struct text *message; /* may be NULL */
};

/* A hash table with one message in each slot.  A new message replaces the one
 * in its slot. */
struct message_cache {
	struct cached_message list[MESSAGE_CACHE_SIZE];
};

/* Returns message ${mid}, or NULL if it is no longer in memory.  Borrowed until
 * the next message_cache_put() or message_cache_clear(). */
const struct cached_message *message_cache_find(
    const struct message_cache *r, int64_t mid);

/* Stores the id of a message and its part rendered for clients, which may be
 * NULL.  The cache holds a reference of its own to ${message}. */
void message_cache_put(struct message_cache *r, int64_t mid,
    const struct uuid *id, struct text *message);

/* Removes all messages.  Also initializes zeroed memory. */
void message_cache_clear(struct message_cache *r);

#endif
