/* SPDX-License-Identifier: MIT */
/*
 * Settles the answers that a carrier brought back.
 *
 * Only the owner of a lane's lease may settle its rows (the fence).  If the
 * lease has ended, because it ran out and was reclaimed or because another node
 * has the lane, the answers are ignored.  The rows are then sent a second time,
 * which is harmless because the receiver detects duplicates.
 */
#ifndef DELIVERY_SETTLE_H
#define DELIVERY_SETTLE_H

#include "delivery/parcel.h"
#include "model/breaker.h"
#include "txn/env.h"

struct settle_unit {
	struct unit unit; /* first */

	/* Input: an answered parcel, and a random number for the jitter of
	 * retry times. */
	const struct parcel *parcel;
	uint32_t random;

	/* Output, valid when unit.rc is RC_OK. */
	int64_t next_due; /* as in claim_unit */
	size_t fenced;    /* number of lanes whose lease had ended */
	void *arg;
};

/* Makes ${u} a unit of work. */
void settle_unit_init(struct settle_unit *u);

/* Settles message ${outbox_id} as accepted by a peer that had said "later".
 * Does nothing if the row does not exist or does not wait for that answer. */
enum rc settle_confirm(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

#endif
