/* SPDX-License-Identifier: MIT */
/*
 * A list that is filled before the threads start and only read afterwards, so
 * that it needs no lock.
 */
#include "domain/subscribers.h"

enum rc
subscribers_add(
    struct subscribers *s, const struct subscriber *subscriber, struct err *err)
{

	if (s->n == SUBSCRIBERS_MAX)
		return (err_set(err, RC_LIMIT, "more than %d subscribers",
		    SUBSCRIBERS_MAX));
	s->list[s->n++] = *subscriber;
	return (RC_OK);
}

void
subscribers_tell(const struct subscribers *s, const struct news *news)
{
	const struct subscriber *to;
	size_t i, k;

	for (i = 0; i < news->nchanges; i++) {
		for (k = 0; k < s->n; k++) {
			to = &s->list[k];
			if (to->events & EVENT_BIT(news->changes[i].event))
				to->told(to->arg, &news->changes[i]);
		}
	}
}
