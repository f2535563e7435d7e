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
		    (subscriber->take_effects != NULL &&
			p->list[i].take_effects != NULL))
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
		if (p->list[i].on_wake != NULL)
			p->list[i].on_wake(p->list[i].arg, wake);
		if (p->list[i].take_wake != NULL)
			taker = &p->list[i];
	}
	if (taker != NULL)
		taker->take_wake(taker->arg, wake);
	else
		wake_free(wake);
}

static void
tell(const struct subscriber *to, const struct effects *effects)
{
	size_t i;

	if (to->on_effects != NULL)
		to->on_effects(to->arg, effects);
	if (to->on_change == NULL)
		return;
	for (i = 0; i < effects->nchanges; i++)
		if ((to->events & EVENT_BIT(effects->changes[i].event)) != 0)
			to->on_change(to->arg, &effects->changes[i]);
}

void
publisher_effects(const struct publisher *p, struct effects *effects)
{
	const struct subscriber *taker = NULL;
	size_t i;

	for (i = 0; i < p->n; i++) {
		tell(&p->list[i], effects);
		if (p->list[i].take_effects != NULL)
			taker = &p->list[i];
	}
	if (taker != NULL)
		taker->take_effects(taker->arg, effects);
	else
		effects_free(effects);
}
