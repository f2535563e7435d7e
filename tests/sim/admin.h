/* SPDX-License-Identifier: MIT */
/*
 * The operator: he pauses and resumes, requeues and discards, rewinds; and at
 * the end puts everything in order.
 */
#ifndef SIM_ADMIN_H
#define SIM_ADMIN_H

#include "sim/sim.h"

/* He does one thing. */
void admin_acts(struct sim *s);

/* He gives a peer another rate, mostly a low one. */
void admin_paces(struct sim *s);

/* He pauses what goes to people here. */
void admin_pauses_here(struct sim *s);

/* What the operator asked for is done, ${well} or not; never called when the
 * server dies of it or before. */
typedef void (*admin_done_fn)(struct sim *s, void *arg, bool well);

/* The operator pauses or resumes the destination ${name}, a static text; false:
 * it cannot be asked for now. */
bool admin_pauses(struct sim *s, const char *name, bool pause);

/* The operator has a lane offered again from its first place; the same. */
bool admin_rewinds(
    struct sim *s, int64_t lane_id, admin_done_fn done, void *arg);

/* Calm comes: nothing is paused any more. */
void admin_resumes_all(struct sim *s);

/* A peer says that it has taken what it had said "later" of. */
void admin_confirm(struct sim *s, int64_t outbox_id);

/* It has said so of a row that waited for it, which was committed. */
void admin_confirmed(struct sim *s, int64_t outbox_id);

/* Forgets what he asked for; the server is gone. */
void admin_free(struct sim *s);

#endif
