/* SPDX-License-Identifier: MIT */
/*
 * See deferred.h.
 */
#include "engine/deferred.h"

void
deferred_init(struct deferred *a)
{

	*a = (struct deferred){.head = NULL};
	a->tail = &a->head;
}

void
deferred_put(struct deferred *a, struct unit *unit, int64_t now_ms)
{

	if (unit->deferred_ms < 0)
		unit->deferred_ms = now_ms;
	unit->node.next = NULL;
	*a->tail = &unit->node;
	a->tail = &unit->node.next;
	a->n++;
}

size_t
deferred_take(struct deferred *a, struct unit **ret, size_t most)
{
	size_t n;

	for (n = 0; n < most && a->head != NULL; n++) {
		ret[n] = CONTAINER_OF(a->head, struct unit, node);
		a->head = a->head->next;
	}
	if (a->head == NULL)
		a->tail = &a->head;
	a->n -= n;
	return (n);
}
