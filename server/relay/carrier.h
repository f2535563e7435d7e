/* SPDX-License-Identifier: MIT */
/*
 * A carrier takes lanes' work to its destinations.
 *
 * The local one hands whole lanes to the writer, which claims, delivers and
 * settles in one transaction.  A remote one carries parcels that were claimed
 * for one destination, and brings answers back.
 */
#ifndef RELAY_CARRIER_H
#define RELAY_CARRIER_H

#include <stdbool.h>

#include "delivery/deliver.h"
#include "delivery/parcel.h"

/* Into the inboxes here. */
struct carrier_local {
	void *arg;

	/* Takes ${unit}; its finish is called later, from any thread, once.
	 * RC_BUSY: not taken, try again soon.  RC_CLOSED: never again. */
	enum rc (*submit)(void *arg, struct deliver_unit *unit);
};

/* To other servers. */
struct carrier_remote {
	void *arg;

	/* Whether messages to people of ${domain} may be accepted, and
	 * heartbeats sent to it.  NULL: to none.  Thread: any.  Never
	 * blocks. */
	bool (*reaches)(void *arg, const char *domain);

	/* Carries ${parcel} (one without items is a heartbeat) and calls its
	 * finish, once, from any thread, at the latest when its time-out is
	 * over; it is the carrier's until then. Never blocks. */
	void (*send)(void *arg, struct parcel *parcel);

	/* No parcel is under way when it returns: those that were have been
	 * finished, as not reached.  May be NULL. */
	void (*stop)(void *arg);
};

/* Deliveries here ride in the writer's batches. */
struct carrier_local carrier_local(struct writer *writer);

/* The carrier to nowhere: it reaches nobody. */
struct carrier_remote carrier_none(void);

#endif
