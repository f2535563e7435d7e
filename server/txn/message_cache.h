/* SPDX-License-Identifier: MIT */
/*
 * The messages that were sent last, so that the delivery and the receipts that
 * soon follow need not read them.
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

/* A message replaces the one in its slot. */
struct message_cache {
	struct cached_message list[MESSAGE_CACHE_SIZE];
};

/* Message ${mid} if it is still in memory (borrowed until the next is put). */
const struct cached_message *message_cache_find(
    const struct message_cache *r, int64_t mid);

/* Keeps a message's id and its rendered part (may be NULL; not taken over). */
void message_cache_put(struct message_cache *r, int64_t mid,
    const struct uuid *id, struct text *message);

/* Forgets all.  Also makes zeroed memory ready for use. */
void message_cache_clear(struct message_cache *r);

#endif
