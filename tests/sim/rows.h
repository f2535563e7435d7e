/* SPDX-License-Identifier: MIT */
/*
 * The judge of each row that the server changes, at the moment of the change:
 * what only goes forward, which moves an outbox row makes, what it is charged,
 * and whether a delivery here waited for nothing.
 */
#ifndef SIM_ROWS_H
#define SIM_ROWS_H

#include "sim/sim.h"

/* From now on every row that any connection changes is one of ${s}; NULL: rows
 * are not judged. */
void rows_watch(struct sim *s);

/* The server is up: reads what is paused. */
void rows_server_up(struct sim *s);

#endif
