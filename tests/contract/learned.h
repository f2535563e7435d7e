/* SPDX-License-Identifier: MIT */
/*
 * Units that change what is known of other servers, for the tests of `peer`.
 */
#ifndef CONTRACT_LEARNED_H
#define CONTRACT_LEARNED_H

#include "contract/rig.h"
#include "delivery/peers.h"

/* Reads "k1=1 k2=2" into the keys of ${u}: ids, and the digit whose value each
 * byte of the public key has. */
void learned_keys(struct peer_unit *u, const char *text);

/* The end of a unit: sets the bool that its arg points to, if there is one. */
void learned(struct unit *unit);

#endif
