/* SPDX-License-Identifier: MIT */
/*
 * Settling what a carrier brought back.
 *
 * Only the owner of a lane's lease may settle its rows (the fence): a lease
 * that was taken over meanwhile makes the answers worthless, and the receiver's
 * memory makes the second sending harmless.
 */
#ifndef DELIVERY_SETTLE_H
#define DELIVERY_SETTLE_H

#include "delivery/parcel.h"
#include "model/breaker.h"
#include "txn/env.h"

struct settle_unit {
	struct unit unit; /* first */

	/* Asked: an answered parcel, and a number to take the jitter from. */
	const struct parcel *parcel;
	uint32_t random;

	/* Answered, when unit.rc is RC_OK. */
	int64_t next_due; /* as in claim_unit */
	size_t fenced;    /* lanes whose lease another node has */
	void *arg;
};

/* Makes ${u} a unit of work. */
void settle_unit_init(struct settle_unit *u);

/* A peer that had said "later" has now taken message ${outbox_id} in. */
enum rc settle_confirm(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

#endif
