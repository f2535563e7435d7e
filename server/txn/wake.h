/* SPDX-License-Identifier: MIT */
/*
 * A wake-up for the relay: the lanes (queues of outbox rows) to inboxes of this
 * server, and the destinations (other servers), that have work now; whether an
 * operator has changed a destination; and which destination has sent a request
 * to this server.  The wake-up of a transaction is, like the effects, collected
 * while the transaction runs, but it is handed over after the commit, perhaps
 * before the commit is on disk.
 */
#ifndef TXN_WAKE_H
#define TXN_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mbox.h"

/* A lane to an inbox of this server. */
struct wake_lane {
	int64_t lane_id;
	int priority; /* enum priority, of the row that was added */
};

struct wake {
	struct mbox_node node;
	struct wake_lane *lanes;
	size_t nlanes, cap;
	int64_t *destinations;
	size_t ndestinations, destinations_cap;
	bool destinations_changed; /* an operator changed one: read all again */
	int64_t contact;    /* the destination that sent a request; 0: none */
	bool contact_alone; /* the request was only a heartbeat */
};

/* Returns an empty wake-up, or NULL if there is no memory. */
struct wake *wake_new(void);
void wake_free(struct wake *wake);

/* Append a lane, and a destination.  Duplicates are harmless. */
enum rc wake_add(
    struct wake *wake, int64_t lane_id, int priority, struct err *err) MUST_USE;
enum rc wake_add_destination(
    struct wake *wake, int64_t destination_id, struct err *err) MUST_USE;

/* Returns true if ${wake} names no lane or destination and no change of one. */
bool wake_empty(const struct wake *wake);

#endif
