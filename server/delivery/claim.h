/* SPDX-License-Identifier: MIT */
/*
 * Claiming outbox rows for one request to another server.  Lanes (the queues of
 * the rows of one conversation to one recipient) are leased, their rows move
 * from pending to sending, and an attempt is recorded for each row, all before
 * anything is sent.  Only rows that are offered again after a rewind by an
 * operator keep their state and get no attempt.  The cost of a claim grows with
 * the number of rows that it takes, not with the number of rows that wait.
 */
#ifndef DELIVERY_CLAIM_H
#define DELIVERY_CLAIM_H

#include "delivery/parcel.h"
#include "model/breaker.h"
#include "model/message.h"
#include "store/lane.h"
#include "txn/env.h"

/* A message is sent in a parcel of its own once the lease of its lane has run
 * out CLAIM_ALONE_AFTER times while the message was being sent (rescue_count;
 * leases that a restart ends do not count).  After CLAIM_POISON_AFTER times the
 * message becomes a dead letter (poison). */
#define CLAIM_ALONE_AFTER 3
#define CLAIM_POISON_AFTER 5

/* How far the passes over the ready lanes of one destination have come.  There
 * is one pass for each priority; element 0 belongs to the lowest priority.  The
 * relay keeps this struct from one claim to the next: a full parcel ends a
 * claim, and the next claim continues after the last lane of that parcel.  So
 * each lane gets its turn, however many rows wait in the others.  All zero:
 * begin with the first lane. */
struct claim_passes {
	struct store_pass of[PRIORITIES];
};

struct claim_unit {
	struct unit unit; /* first */

	/* Input. */
	struct parcel *parcel; /* destination set; the claim fills the items */
	/* maximum number of messages, at most PARCEL_ITEMS */
	size_t most;
	int priority; /* lanes of this priority first */
	int64_t lease_ms;
	const char *owner;

	struct claim_passes from; /* where the earlier claims stopped */

	/* Output, valid when unit.rc is RC_OK.  The earliest due_at (wall time,
	 * in milliseconds) of the lanes to the destination that are in the
	 * state LANE_READY after this claim; the lanes that it has leased do
	 * not count.  A time in the past: a lane is due now; 0: no lane is
	 * ready. */
	int64_t next_due;
	struct claim_passes upto; /* where this claim stopped */
	void *arg;
};

/* Makes ${u} a unit of work. */
void claim_unit_init(struct claim_unit *u);

#endif
