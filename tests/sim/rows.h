/* SPDX-License-Identifier: MIT */
/*
 * Judges each row that the server changes, at the moment of the change: which
 * columns only increase, which transitions an outbox row makes, what it is
 * charged, and whether a delivery on this server waited without a reason.
 */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "sim/sim.h"

/* From now on every row that a connection changes belongs to ${s}.  NULL: rows
 * are not judged. */
void rows_watch(struct sim *s);

/* The server is up: reads which destinations are paused. */
void rows_server_up(struct sim *s);

#endif
