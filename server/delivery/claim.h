/* SPDX-License-Identifier: MIT */
/*
 * Claiming for another server: lanes are leased, their rows go from pending to
 * sending, an attempt is noted for each, all before anything leaves.  Claiming
 * costs what is taken, not what waits.
 */
#ifndef DELIVERY_CLAIM_H
#define DELIVERY_CLAIM_H

#include "delivery/parcel.h"
#include "model/breaker.h"
#include "model/message.h"
#include "store/lane.h"
#include "txn/env.h"

/* How often a lease may be lost before a message travels alone, and before it
 * is taken out as poison. */
#define CLAIM_ALONE_AFTER 3
#define CLAIM_POISON_AFTER 5

/* The passes over the ready lanes of a destination, by priority from the
 * lowest.  The relay keeps them from one claim to the next: a full parcel ends
 * a claim, and the next claim goes on behind its last lane.  So each lane has
 * its turn, however much waits in the others.  All zero: the first lane. */
struct claim_passes {
	struct store_pass of[PRIORITIES];
};

struct claim_unit {
	struct unit unit; /* first */

	/* Asked. */
	struct parcel *parcel; /* with its destination; its items are filled */
	size_t most;           /* messages, at most PARCEL_ITEMS */
	int priority;          /* lanes of this priority first */
	int64_t lease_ms;
	const char *owner;

	struct claim_passes from; /* how far earlier claims have come */

	/* Answered, when unit.rc is RC_OK.  When the destination's next lane
	 * is due: 0 none is ready, else wall time, now or later. */
	int64_t next_due;
	struct claim_passes upto; /* how far this one has come */
	void *arg;
};

/* Makes ${u} a unit of work. */
void claim_unit_init(struct claim_unit *u);

#endif
