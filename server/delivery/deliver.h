/* SPDX-License-Identifier: MIT */
/*
 * Local delivery: the claim, the inbox row and the outcome are one transaction.
 * Therefore a message is in the inbox exactly once.
 */
#ifndef DELIVERY_DELIVER_H
#define DELIVERY_DELIVER_H

#include "txn/env.h"

/* Maximum number of lanes of one unit, and of rows of a lane in one
 * sub-batch. */
#define DELIVER_LANES 50
#define DELIVER_ROWS 100

struct deliver_unit {
	struct unit unit; /* first */

	/* Input. */
	int64_t lanes[DELIVER_LANES];
	size_t nlanes;
	/* There is one lane; its first message becomes a dead letter
	 * (poison). */
	bool poison;

	/* Output, valid when unit.rc is RC_OK: which of the lanes have more
	 * rows. */
	bool more[DELIVER_LANES];
	/* These lanes need rows that another transaction has locked: nothing
	 * was delivered from them. */
	bool contended[DELIVER_LANES];
	size_t delivered;
	void *arg;
};

/* Makes ${u} a unit of work with no lanes yet. */
void deliver_unit_init(struct deliver_unit *u);

/* Clears the flag ${contended} of all lanes. */
void deliver_unit_free(struct deliver_unit *u);

#endif
