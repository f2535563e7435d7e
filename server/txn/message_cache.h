/* SPDX-License-Identifier: MIT */
/*
 * A cache of the messages that this process added most recently: their public
 * ids and their texts as rendered for clients.  The delivery and the receipts
 * of a message follow soon, and need not read these from the store.  An
 * abandoned transaction empties the cache.
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

/* A hash table with one message in each slot; the slot of a message is mid %
 * MESSAGE_CACHE_SIZE.  A new message replaces the one in its slot. */
struct message_cache {
	struct cached_message list[MESSAGE_CACHE_SIZE];
};

/* Returns message ${mid}, or NULL if it is not in the cache.  Borrowed until
 * the next message_cache_put() or message_cache_clear(). */
const struct cached_message *message_cache_find(
    const struct message_cache *r, int64_t mid);

/* Stores message ${mid} with its public id ${id} (copied) and ${message}, its
 * text rendered for clients; NULL: readers take the text from the store.  The
 * cache takes a reference of its own to ${message}; the caller keeps its
 * reference. */
void message_cache_put(struct message_cache *r, int64_t mid,
    const struct uuid *id, struct text *message);

/* Removes all messages.  Also initializes zeroed memory. */
void message_cache_clear(struct message_cache *r);

#endif
