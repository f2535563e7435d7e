/* SPDX-License-Identifier: MIT */
/*
 * The local carrier, and the carrier that reaches no other server.
 *
 * A local delivery is a unit of the writer: one transaction reads the pending
 * outbox rows, adds the inbox rows and stores the outcome.
 */
#include <stdio.h>

#include "relay/carrier.h"

static enum rc
submit(void *arg, struct deliver_unit *unit)
{

	return (writer_submit(arg, &unit->unit));
}

struct carrier_local
carrier_local(struct writer *writer)
{

	return ((struct carrier_local){.arg = writer, .submit = submit});
}

static void
unreachable(void *arg, struct parcel *parcel)
{

	(void)arg;
	parcel->reached = false;
	parcel->status = 0;
	parcel->retry_after_ms = 0;
	(void)snprintf(parcel->error, sizeof(parcel->error),
	    "this server does not deliver to others");
	parcel->finish(parcel);
}

struct carrier_remote
carrier_none(void)
{

	return ((struct carrier_remote){.send = unreachable});
}
