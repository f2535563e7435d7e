/* SPDX-License-Identifier: MIT */
/*
 * A carrier takes lanes' work to its destinations.  The local one lets the
 * writer put events into inboxes; others (server to server, push endpoints, a
 * faulty one for tests) stand behind the same seam.
 */
#ifndef RELAY_CARRIER_H
#define RELAY_CARRIER_H

#include "domain/deliver.h"

struct carrier {
	void *arg;

	/* Takes ${unit}; its finish is called later, from any thread, once.
	 * RC_BUSY: not taken, try again soon.  RC_CLOSED: never again. */
	enum rc (*submit)(void *arg, struct deliver_unit *unit);
};

/* The carrier into local inboxes: deliveries ride in the writer's batches. */
struct carrier carrier_local(struct writer *writer);

#endif
