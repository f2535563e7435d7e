/* SPDX-License-Identifier: MIT */
/*
 * Whose turn it is.  Of the lanes to a server that are ready and as urgent as
 * each other none goes again and again while another waits, and what nothing
 * hinders goes at once.
 */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include "delivery/parcel.h"
#include "sim/peer.h"

/* ${parcel} leaves for ${peer}. */
void turns_judge(struct sim *s, int peer, const struct parcel *parcel);

#endif
