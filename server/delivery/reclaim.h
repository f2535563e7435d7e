/* SPDX-License-Identifier: MIT */
/*
 * Reclaims the rows of leases that ran out, and takes out what has expired.
 * Thread: writer.
 */
#ifndef DELIVERY_RECLAIM_H
#define DELIVERY_RECLAIM_H

#include "txn/env.h"

/* A lease is never longer than this. */
#define LEASE_MAX_MS INT64_C(3600000)

struct reclaim_unit {
	struct unit unit; /* first */

	/* Asked: all leases, and no message is charged for it (at the start,
	 * when no other process can hold one). */
	bool all;

	/* Answered, when unit.rc is RC_OK. */
	size_t reclaimed;    /* lanes; STORE_LANES: there may be more */
	int64_t next_lease;  /* when the next one runs out; 0: none */
	int64_t next_expiry; /* when the next message expires; 0: none */
	size_t expired;      /* messages that have expired now */

	/* Asked: whether what has expired is to be taken out, too, and of
	 * which local lanes (0, 0: none). */
	bool expire;
	int64_t local_after, local_upto;
	void *arg;
};

/* Makes ${u} a unit of work. */
void reclaim_unit_init(struct reclaim_unit *u);

#endif
