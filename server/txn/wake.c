/* SPDX-License-Identifier: MIT */
/*
 * See wake.h.
 */
#include "txn/wake.h"
#include "base/mem.h"
#include "txn/effects.h"

struct wake *
wake_new(void)
{

	return (mem_zalloc(1, sizeof(struct wake)));
}

void
wake_free(struct wake *wake)
{

	if (wake == NULL)
		return;
	mem_free(wake->lanes);
	mem_free(wake->destinations);
	mem_free(wake);
}

enum rc
wake_add(struct wake *wake, int64_t lane_id, int priority, struct err *err)
{
	struct wake_lane *last;
	void *list;

	last = wake->nlanes > 0 ? &wake->lanes[wake->nlanes - 1] : NULL;
	if (last != NULL && last->lane_id == lane_id) {
		if (last->priority < priority)
			last->priority = priority;
		return (RC_OK);
	}
	list = wake->lanes;
	if (!effects_grow(&list, wake->nlanes, &wake->cap, sizeof(*last)))
		return (err_set(err, RC_NO_MEMORY, "wake"));
	wake->lanes = list;
	wake->lanes[wake->nlanes++] = (struct wake_lane){lane_id, priority};
	return (RC_OK);
}

enum rc
wake_add_destination(struct wake *wake, int64_t destination_id, struct err *err)
{
	void *list = wake->destinations;

	if (wake->ndestinations > 0 &&
	    wake->destinations[wake->ndestinations - 1] == destination_id)
		return (RC_OK);
	if (!effects_grow(&list, wake->ndestinations, &wake->destinations_cap,
		sizeof(int64_t)))
		return (err_set(err, RC_NO_MEMORY, "wake"));
	wake->destinations = list;
	wake->destinations[wake->ndestinations++] = destination_id;
	return (RC_OK);
}

bool
wake_empty(const struct wake *wake)
{

	return (wake->nlanes == 0 && wake->ndestinations == 0 &&
		!wake->destinations_changed);
}
