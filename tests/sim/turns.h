/* SPDX-License-Identifier: MIT */
/*
 * Checks that lanes take turns: of the lanes to a server that are ready and of
 * the same priority, none leaves again and again while another waits.  And a
 * message that nothing delays leaves at once.
 */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include "delivery/parcel.h"
#include "sim/peer.h"

/* ${parcel} leaves for ${peer}. */
void turns_judge(struct sim *s, int peer, const struct parcel *parcel);

#endif
