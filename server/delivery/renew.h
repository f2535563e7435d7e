/* SPDX-License-Identifier: MIT */
/*
 * Renews leases: a request is still under way, or its answer could not be
 * written yet.  Fenced like the settling (settle.h): a lease that another node
 * has ended is not brought back.
 */
#ifndef DELIVERY_RENEW_H
#define DELIVERY_RENEW_H

#include "txn/env.h"

struct renew_lease {
	int64_t lane_id;
	int64_t token;
	bool lost; /* answered: another node has ended it */
};

struct renew_unit {
	struct unit unit; /* first */

	/* Asked: leases that are to run for ${lease_ms} from now on; kept until
	 * finish. */
	struct renew_lease *leases;
	size_t n;
	int64_t lease_ms;

	/* Answered, when unit.rc is RC_OK. */
	size_t lost;
	void *arg;
};

/* Makes ${u} a unit of work. */
void renew_unit_init(struct renew_unit *u);

#endif
