/* SPDX-License-Identifier: MIT */
/*
 * A carrier takes lanes' work to its destinations.
 *
 * The local one hands whole lanes to the writer, which claims, delivers and
 * settles in one transaction.  Every other one carries parcels that were
 * claimed for one destination, and brings answers back: server to server, and
 * the fault carrier of the tests.
 */
#ifndef RELAY_CARRIER_H
#define RELAY_CARRIER_H

#include "delivery/deliver.h"
#include "delivery/parcel.h"

struct carrier {
	void *arg;

	/* The local one: takes ${unit}; its finish is called later, from any
	 * thread, once.  RC_BUSY: not taken, try again soon.  RC_CLOSED: never
	 * again.  NULL: it carries parcels. */
	enum rc (*submit)(void *arg, struct deliver_unit *unit);

	/* Carries ${parcel} and calls its finish, once, from any thread, at the
	 * latest when its time-out is over; it is the carrier's until then.
	 * Never blocks. */
	void (*send)(void *arg, struct parcel *parcel);

	/* No parcel is under way when it returns: those that were have been
	 * finished, as not reached.  May be NULL. */
	void (*stop)(void *arg);
};

/* The carrier into local inboxes: deliveries ride in the writer's batches. */
struct carrier carrier_local(struct writer *writer);

/* The carrier to nowhere: every destination is unreachable. */
struct carrier carrier_none(void);

#endif
