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

/* Calm comes: nothing is paused any more. */
void admin_resumes_all(struct sim *s);

/* A peer says that it has taken what it had said "later" of. */
void admin_confirm(struct sim *s, int64_t outbox_id);

/* Forgets what he asked for; the server is gone. */
void admin_free(struct sim *s);

#endif
