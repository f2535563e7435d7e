/* SPDX-License-Identifier: MIT */
/*
 * Checks each parcel at the moment when it leaves for a peer: it is claimed,
 * its destination is not paused, it is not faster than the rate, and nothing
 * more urgent is left behind.
 */
#ifndef SIM_LEAVING_H
#define SIM_LEAVING_H

#include "delivery/parcel.h"
#include "sim/sim.h"

/* ${parcel} leaves for ${peer}. */
void leaving_judge(struct sim *s, int peer, const struct parcel *parcel);

#endif
