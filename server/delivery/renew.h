/* SPDX-License-Identifier: MIT */
/*
 * Renews the leases of lanes while the request with their messages to another
 * server is still running, or while the other server's answer could not be
 * settled (written to the database) yet.  The renewal is fenced like settling
 * (settle.h): it extends a lease that has run out but was not reclaimed.  It
 * does not restore a lease that has ended.  A lease ends when the lane is
 * settled, or when the lease has run out and is reclaimed, after which another
 * node may have the lane.
 */
#ifndef DELIVERY_RENEW_H
#define DELIVERY_RENEW_H

#include "txn/env.h"

struct renew_lease {
	int64_t lane_id;
	int64_t token;
	bool lost; /* output: the lease has ended */
};

struct renew_unit {
	struct unit unit; /* first */

	/* Input: leases that are to last ${lease_ms} from now on.  Kept until
	 * finish. */
	struct renew_lease *leases;
	size_t n;
	int64_t lease_ms;

	/* Output, valid when unit.rc is RC_OK. */
	size_t lost;
	void *arg;
};

/* Makes ${u} a unit of work. */
void renew_unit_init(struct renew_unit *u);

#endif
