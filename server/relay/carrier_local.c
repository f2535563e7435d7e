/* SPDX-License-Identifier: MIT */
/*
 * Local delivery is a unit of the writer: claim, inbox row and outcome are one
 * transaction.
 */
#include "relay/carrier.h"

static enum rc
submit(void *arg, struct deliver_unit *unit)
{

	return (writer_submit(arg, &unit->unit));
}

struct carrier
carrier_local(struct writer *writer)
{

	return ((struct carrier){writer, submit});
}
