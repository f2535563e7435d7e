/* SPDX-License-Identifier: MIT */
/*
 * The operator: pauses and resumes destinations, requeues and discards dead
 * letters, rewinds lanes, and repairs everything at the end.
 */
#ifndef SIM_ADMIN_H
#define SIM_ADMIN_H

#include "sim/sim.h"

/* The operator does one thing, at random. */
void admin_acts(struct sim *s);

/* The operator gives a peer another rate, usually a low one. */
void admin_paces(struct sim *s);

/* The operator pauses the deliveries to people on this server. */
void admin_pauses_here(struct sim *s);

/* Called when an operator's action is done.  ${well}: with success.  It is not
 * called when the server dies before or during the action. */
typedef void (*admin_done_fn)(struct sim *s, void *arg, bool well);

/* The operator pauses or resumes the destination ${name}, a static text.
 * Returns false if that is not possible now. */
bool admin_pauses(struct sim *s, const char *name, bool pause);

/* The operator rewinds a lane to its first place, so that all of it is offered
 * again.  Returns false as above. */
bool admin_rewinds(
    struct sim *s, int64_t lane_id, admin_done_fn done, void *arg);

/* Calm comes: resumes all destinations. */
void admin_resumes_all(struct sim *s);

/* A peer acks a message that it had answered with "later". */
void admin_confirm(struct sim *s, int64_t outbox_id);

/* A row that waited for such an ack has got it, and this is committed. */
void admin_confirmed(struct sim *s, int64_t outbox_id);

/* Frees all actions.  The server no longer runs. */
void admin_free(struct sim *s);

#endif
