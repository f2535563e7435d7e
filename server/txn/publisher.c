/* SPDX-License-Identifier: MIT */
/*
 * See publisher.h.
 */
#include "txn/publisher.h"

enum rc
publisher_add(
    struct publisher *p, const struct subscriber *subscriber, struct err *err)
{
	size_t i;

	if (p->n == SUBSCRIBERS_MAX)
		return (err_set(err, RC_LIMIT, "more than %d subscribers",
		    SUBSCRIBERS_MAX));
	for (i = 0; i < p->n; i++)
		if ((subscriber->take_wake != NULL &&
			p->list[i].take_wake != NULL) ||
		    (subscriber->take_news != NULL &&
			p->list[i].take_news != NULL))
			return (err_set(
			    err, RC_LIMIT, "a second subscriber takes it"));
	p->list[p->n++] = *subscriber;
	return (RC_OK);
}

void
publisher_wake(const struct publisher *p, struct wake *wake)
{
	const struct subscriber *taker = NULL;
	size_t i;

	for (i = 0; i < p->n; i++) {
		if (p->list[i].woken != NULL)
			p->list[i].woken(p->list[i].arg, wake);
		if (p->list[i].take_wake != NULL)
			taker = &p->list[i];
	}
	if (taker != NULL)
		taker->take_wake(taker->arg, wake);
	else
		wake_free(wake);
}

static void
tell(const struct subscriber *to, const struct news *news)
{
	size_t i;

	if (to->told != NULL)
		to->told(to->arg, news);
	if (to->changed == NULL)
		return;
	for (i = 0; i < news->nchanges; i++)
		if ((to->events & EVENT_BIT(news->changes[i].event)) != 0)
			to->changed(to->arg, &news->changes[i]);
}

void
publisher_news(const struct publisher *p, struct news *news)
{
	const struct subscriber *taker = NULL;
	size_t i;

	for (i = 0; i < p->n; i++) {
		tell(&p->list[i], news);
		if (p->list[i].take_news != NULL)
			taker = &p->list[i];
	}
	if (taker != NULL)
		taker->take_news(taker->arg, news);
	else
		news_free(news);
}
