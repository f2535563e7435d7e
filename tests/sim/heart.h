/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in the simulated server.  The world gives it wake-ups,
 * answers and time, and takes its units to the writer and its parcels to the
 * peers.
 */
#ifndef SIM_HEART_H
#define SIM_HEART_H

#include "base/err.h"
#include "sim/peer.h"
#include "sim/sim.h"
#include "txn/effects.h"
#include "txn/wake.h"

/* Makes the core with a database connection of its own.  It takes up all
 * pending rows. */
enum rc heart_new(struct sim *s, const char *url, struct err *err) MUST_USE;

/* Frees the core.  The writer must be stopped. */
void heart_free(struct sim *s);

/* A commit has named lanes.  Takes ownership of ${wake}. */
void heart_wake(struct sim *s, struct wake *wake);

/* An answer has come. */
void heart_answer(struct sim *s, struct cargo *cargo);

#endif
