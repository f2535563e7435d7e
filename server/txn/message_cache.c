/* SPDX-License-Identifier: MIT */
/*
 * See message_cache.h.
 */
#include "txn/message_cache.h"

const struct cached_message *
message_cache_find(const struct message_cache *r, int64_t mid)
{
	const struct cached_message *one = &r->list[mid % MESSAGE_CACHE_SIZE];

	return (one->mid == mid ? one : NULL);
}

void
message_cache_put(struct message_cache *r, int64_t mid, const struct uuid *id,
    struct text *message)
{
	struct cached_message *one = &r->list[mid % MESSAGE_CACHE_SIZE];

	text_unref(one->message);
	one->mid = mid;
	one->id = *id;
	one->message = message != NULL ? text_ref(message) : NULL;
}

void
message_cache_clear(struct message_cache *r)
{
	size_t i;

	for (i = 0; i < MESSAGE_CACHE_SIZE; i++) {
		text_unref(r->list[i].message);
		r->list[i].message = NULL;
		r->list[i].mid = -1;
	}
}
