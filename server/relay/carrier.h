/* SPDX-License-Identifier: MIT */
/*
 * A carrier brings messages of lanes to their destination.
 *
 * The local carrier hands lane ids to the writer, which claims, delivers and
 * settles their messages in one transaction.  A remote carrier sends parcels,
 * each claimed for one destination, and returns them with the answers.
 */
#ifndef RELAY_CARRIER_H
#define RELAY_CARRIER_H

#include <stdbool.h>

#include "delivery/deliver.h"
#include "delivery/parcel.h"

/* Delivers to inboxes of this server. */
struct carrier_local {
	void *arg;

	/* Takes ${unit}.  Its finish is called once, later, from any thread.
	 * RC_BUSY: the unit was not taken, try again soon.  RC_CLOSED: the
	 * writer takes no more units. */
	enum rc (*submit)(void *arg, struct deliver_unit *unit);
};

/* Delivers to other servers. */
struct carrier_remote {
	void *arg;

	/* Returns true if messages to users of ${domain} may be accepted, and
	 * heartbeats sent to it.  NULL: no domain is reached.  Thread: any.
	 * Never blocks. */
	bool (*reaches)(void *arg, const char *domain);

	/* Sends ${parcel} (a parcel without items is a heartbeat) and calls its
	 * finish once, from any thread, at the latest when its time-out is
	 * over.  The carrier owns the parcel until then.  Never blocks. */
	void (*send)(void *arg, struct parcel *parcel);

	/* Finishes all parcels that are under way as not reached, and returns
	 * when none is left.  May be NULL. */
	void (*stop)(void *arg);
};

/* Makes the local carrier: each delivery is a unit that ${writer} runs in one
 * of its batches. */
struct carrier_local carrier_local(struct writer *writer);

/* Makes the carrier of a server without federation: it finishes each parcel as
 * not reached. */
struct carrier_remote carrier_none(void);

#endif
