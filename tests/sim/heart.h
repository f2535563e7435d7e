/* SPDX-License-Identifier: MIT */
/*
 * The relay's core in the simulated server: the world gives it wakes, answers
 * and time, and takes its units to the writer and its parcels to the peers.
 */
#ifndef SIM_HEART_H
#define SIM_HEART_H

#include "base/err.h"
#include "sim/peer.h"
#include "sim/sim.h"
#include "txn/effects.h"
#include "txn/wake.h"

/* Made with a connection of its own; it takes up what is pending. */
enum rc heart_new(struct sim *s, const char *url, struct err *err) MUST_USE;

/* The writer must be stopped. */
void heart_free(struct sim *s);

/* A commit has named lanes; takes ${wake}. */
void heart_wake(struct sim *s, struct wake *wake);

/* An answer has come. */
void heart_answer(struct sim *s, struct cargo *cargo);

#endif
