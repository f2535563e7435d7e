/* SPDX-License-Identifier: MIT */
/*
 * The verb `promise`: what another server had answered "later" for
 * (202, docs/federation.md) it settles now, by the acks of a request of its
 * own.
 *
 * An ack counts for a row that was sent to a person of the signing server and
 * waits for such an answer.  One may overtake the "later" itself, whose row is
 * still under way: it is counted as early, and wants to be repeated.  Every
 * other ack changes nothing.
 */
#ifndef DELIVERY_PROMISE_H
#define DELIVERY_PROMISE_H

#include "model/envelope.h"
#include "txn/env.h"

struct promise_unit {
	struct unit unit; /* first */

	/* Asked. */
	int64_t origin_id;               /* the signing server's destination */
	const struct envelope_ack *acks; /* borrowed */
	size_t n;                        /* at most ENVELOPE_ACKS */

	/* Answered, when unit.rc is RC_OK. */
	size_t settled; /* acks that counted */
	size_t early;   /* acks of rows that are still under way */
	void *arg;
};

/* Makes ${u} a unit of work. */
void promise_unit_init(struct promise_unit *u);

#endif
