/* SPDX-License-Identifier: MIT */
/*
 * See aside.h.
 */
#include "engine/aside.h"

void
aside_init(struct aside *a)
{

	*a = (struct aside){.head = NULL};
	a->tail = &a->head;
}

void
aside_put(struct aside *a, struct unit *unit, int64_t now_ms)
{

	if (unit->aside_ms < 0)
		unit->aside_ms = now_ms;
	unit->node.next = NULL;
	*a->tail = &unit->node;
	a->tail = &unit->node.next;
	a->n++;
}

size_t
aside_take(struct aside *a, struct unit **ret, size_t most)
{
	size_t n;

	for (n = 0; n < most && a->head != NULL; n++) {
		ret[n] = (struct unit *)(void *)a->head;
		a->head = a->head->next;
	}
	if (a->head == NULL)
		a->tail = &a->head;
	a->n -= n;
	return (n);
}
