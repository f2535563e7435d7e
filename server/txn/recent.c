/* SPDX-License-Identifier: MIT */
/*
 * See recent.h.
 */
#include "txn/recent.h"

const struct recent *
recent_find(const struct recent_messages *r, int64_t mid)
{
	const struct recent *one = &r->list[mid % RECENT_SIZE];

	return (one->mid == mid ? one : NULL);
}

void
recent_put(struct recent_messages *r, int64_t mid, const struct uuid *id,
    struct text *message)
{
	struct recent *one = &r->list[mid % RECENT_SIZE];

	text_unref(one->message);
	one->mid = mid;
	one->id = *id;
	one->message = message != NULL ? text_ref(message) : NULL;
}

void
recent_clear(struct recent_messages *r)
{
	size_t i;

	for (i = 0; i < RECENT_SIZE; i++) {
		text_unref(r->list[i].message);
		r->list[i].message = NULL;
		r->list[i].mid = -1;
	}
}
