/* SPDX-License-Identifier: MIT */
/*
 * Messages that were sent a moment ago, for the delivery and the receipt that
 * soon follow: they need not be read again.
 * Thread: writer.
 */
#ifndef TXN_RECENT_H
#define TXN_RECENT_H

#include "base/text.h"
#include "base/uuid.h"

#define RECENT_SIZE 8192

struct recent {
	int64_t mid;
	struct uuid id;
	struct text *message; /* may be NULL */
};

/* A message takes the place of another. */
struct recent_messages {
	struct recent list[RECENT_SIZE];
};

/* Message ${mid} if it is still in memory (borrowed until the next is put). */
const struct recent *recent_find(const struct recent_messages *r, int64_t mid);

/* Keeps a message's id and its rendered part (may be NULL; not taken over). */
void recent_put(struct recent_messages *r, int64_t mid, const struct uuid *id,
    struct text *message);

/* Forgets all.  Also makes zeroed memory ready for use. */
void recent_clear(struct recent_messages *r);

#endif
