/* SPDX-License-Identifier: MIT */
/*
 * A carrier brings the messages and receipts of lanes to their destination.  A
 * lane is the ordered queue of the messages, or of the receipts, of one
 * conversation to one recipient.
 *
 * The local carrier submits units (changes that the writer commits), each with
 * the ids of some lanes.  A unit reads the next messages of its lanes, adds the
 * messages to the inboxes and stores the outcome, all in one transaction.  A
 * remote carrier sends parcels, each to one destination, fills in the answers,
 * and calls the finish of each parcel.
 */
#ifndef RELAY_CARRIER_H
#define RELAY_CARRIER_H

#include <stdbool.h>

#include "delivery/deliver.h"
#include "delivery/parcel.h"

/* Delivers to inboxes of this server. */
struct carrier_local {
	void *arg;

	/* Submits ${unit} to the writer.  After RC_OK the unit's finish is
	 * called once, from any thread and perhaps before this function
	 * returns.  After another result the caller still owns the unit, and
	 * the finish is not called: RC_CLOSED if the writer takes no more
	 * units, else the caller may try again soon (see writer_submit()). */
	enum rc (*submit)(void *arg, struct deliver_unit *unit);
};

/* Delivers to other servers. */
struct carrier_remote {
	void *arg;

	/* Returns true if this server may accept messages of its users to users
	 * of ${domain}, and may send heartbeats to ${domain}.  If this pointer
	 * is NULL, the carrier reaches no domain.  Thread: any.  Never
	 * blocks. */
	bool (*reaches)(void *arg, const char *domain);

	/* Sends ${parcel} (a parcel without items is a heartbeat), and calls
	 * the parcel's finish once, from any thread and perhaps before this
	 * function returns.  The carrier owns the parcel until then.  It gives
	 * up when timeout_ms of the parcel has passed since the call, but not
	 * before a look-up of the destination that is under way then has ended.
	 * Never blocks. */
	void (*send)(void *arg, struct parcel *parcel);

	/* Finishes all parcels that are under way, and returns when none is
	 * left.  A parcel is finished as not reached, but if some of its items
	 * have an answer already, as reached, with parcel.broke set.  A parcel
	 * that is sent afterwards is finished at once as not reached.  This
	 * pointer may be NULL. */
	void (*stop)(void *arg);
};

/* Returns the local carrier, which submits each delivery as a unit to
 * ${writer}.  The writer is borrowed as long as the carrier is used. */
struct carrier_local carrier_local(struct writer *writer);

/* Makes the carrier of a server without federation: it reaches no domain, and
 * finishes each parcel at once as not reached. */
struct carrier_remote carrier_none(void);

#endif
