/* SPDX-License-Identifier: MIT */
/*
 * Settles a parcel: writes to the rows of its messages what the other server
 * has answered to each of them.  A parcel has messages of one or more lanes (a
 * lane is the queue of one conversation to one recipient).
 *
 * Only the owner of a lane's lease may settle the rows of that lane (the
 * fence).  If the lease has ended, because it ran out and was reclaimed or
 * because another node has the lane, the answers for this lane are ignored;
 * those for the other lanes of the parcel count.  The rows of the lane are then
 * sent a second time, unless they have become dead letters or their senders
 * have canceled them since.  Sending them again is harmless because the
 * receiver detects duplicates.
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

/* Settles outbox row ${outbox_id}: the peer, which had answered "later", has
 * now accepted the row.  Also wakes the lane, which has waited for this answer.
 * Does nothing and returns RC_OK if the row does not exist or does not wait for
 * such an answer. */
enum rc settle_confirm(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

#endif
