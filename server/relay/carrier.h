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

	/* Takes ${unit}.  Its finish is called once, from any thread and
	 * perhaps before this function returns.  After another result than
	 * RC_OK the unit was not taken: RC_CLOSED if the writer takes no more
	 * units, else try again soon (writer_submit()). */
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
	 * finish once, from any thread and perhaps before it returns, at the
	 * latest soon after its time-out.  The carrier owns the parcel until
	 * then.  Never blocks. */
	void (*send)(void *arg, struct parcel *parcel);

	/* Finishes all parcels that are under way as not reached, and returns
	 * when none is left.  A parcel that is sent afterwards is finished at
	 * once.  May be NULL. */
	void (*stop)(void *arg);
};

/* Makes the local carrier: each delivery is a unit that ${writer} (borrowed)
 * runs in one of its batches. */
struct carrier_local carrier_local(struct writer *writer);

/* Makes the carrier of a server without federation: it reaches no domain, and
 * finishes each parcel at once as not reached. */
struct carrier_remote carrier_none(void);

#endif
