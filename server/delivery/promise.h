/* SPDX-License-Identifier: MIT */
/*
 * The verb `promise`: another server had answered "later" (202,
 * docs/federation.md) for outbox rows of this server, and now settles these
 * rows by the acks of a request of its own.
 *
 * An ack with the status accepted, retryable or rejected counts for a row that
 * was sent to a user of the signing server and that waits for such an answer.
 * An ack may overtake the "later" itself; then the row is still in the state
 * sending, the ack is counted as early, and the other server should repeat it.
 * Every other ack changes nothing.
 */
#ifndef DELIVERY_PROMISE_H
#define DELIVERY_PROMISE_H

#include "model/envelope.h"
#include "txn/env.h"

struct promise_unit {
	struct unit unit; /* first */

	/* Input. */
	/* destination id of the signing server */
	int64_t origin_id;
	const struct envelope_ack *acks; /* borrowed */
	size_t n;                        /* at most ENVELOPE_ACKS */

	/* Output, valid when unit.rc is RC_OK. */
	size_t settled; /* acks that counted */
	size_t early;   /* acks of rows that are still being sent */
	void *arg;
};

/* Makes ${u} a unit of work. */
void promise_unit_init(struct promise_unit *u);

#endif
