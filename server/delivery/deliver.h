/* SPDX-License-Identifier: MIT */
/*
 * Local delivery: claim, inbox row and outcome in one transaction, so that a
 * message is in the inbox exactly once by construction.
 */
#ifndef DELIVERY_DELIVER_H
#define DELIVERY_DELIVER_H

#include "txn/env.h"

/* Lanes that one unit serves, and rows of a lane in one sub-batch. */
#define DELIVER_LANES 50
#define DELIVER_ROWS 100

struct deliver_unit {
	struct unit unit; /* first */

	/* Asked. */
	int64_t lanes[DELIVER_LANES];
	size_t nlanes;
	bool poison; /* of its one lane the first message is taken out */

	/* Answered, when unit.rc is RC_OK: which of them have more. */
	bool more[DELIVER_LANES];
	/* Another transaction has locked what these lanes need: nothing was
	 * done. */
	bool contended[DELIVER_LANES];
	size_t delivered;
	void *arg;
};

/* Makes ${u} a unit of work with no lanes yet. */
void deliver_unit_init(struct deliver_unit *u);

/* No lane of it is contended. */
void deliver_unit_free(struct deliver_unit *u);

#endif
