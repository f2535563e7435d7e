/* SPDX-License-Identifier: MIT */
/*
 * What leaves for a peer is judged at once: it has been claimed, nobody paused
 * it, it is no faster than its rate, and nothing more urgent was left behind.
 */
#ifndef SIM_LEAVING_H
#define SIM_LEAVING_H

#include "delivery/parcel.h"
#include "sim/sim.h"

/* ${parcel} leaves for ${peer}. */
void leaving_judge(struct sim *s, int peer, const struct parcel *parcel);

#endif
