/* SPDX-License-Identifier: MIT */
/*
 * Ends the leases that have run out.  A lease belongs to a lane, the queue of
 * one conversation to one recipient; messages of the lane that were being sent
 * become pending again.  With reclaim_unit.expire also makes expired messages
 * dead letters.
 * Thread: writer.
 */
#ifndef DELIVERY_RECLAIM_H
#define DELIVERY_RECLAIM_H

#include "txn/env.h"

/* The longest possible lease. */
#define LEASE_MAX_MS INT64_C(3600000)

struct reclaim_unit {
	struct unit unit; /* first */

	/* Input: end all leases, also those that have not run out, and charge
	 * their messages no lost lease.  A unit, with or without ${all}, ends
	 * at most STORE_LANES leases, so the caller submits more units until
	 * ${reclaimed} is less.  Used at the start on a database with one
	 * writer, when no other process can hold a lease. */
	bool all;

	/* Output, valid when unit.rc is RC_OK. */
	/* number of lanes; STORE_LANES: there may be more */
	size_t reclaimed;
	int64_t next_lease;  /* wall time of the next end of a lease; 0: none */
	int64_t next_expiry; /* wall time of the next expiry; 0: none */
	size_t expired;      /* number of messages that expired */

	/* Input: whether to make expired messages dead letters, too (at most
	 * 100 in a unit).  These are pending messages to other servers, and
	 * those in the local lanes whose lane_id is above local_after and at
	 * most local_upto (both 0: no local lanes). */
	bool expire;
	int64_t local_after, local_upto;
	void *arg;
};

/* Makes ${u} a unit of work. */
void reclaim_unit_init(struct reclaim_unit *u);

#endif
