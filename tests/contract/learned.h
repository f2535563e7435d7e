/* SPDX-License-Identifier: MIT */
/*
 * Units that change what this server knows of others, for the tests of `peer`.
 */
#ifndef CONTRACT_LEARNED_H
#define CONTRACT_LEARNED_H

#include "contract/rig.h"
#include "delivery/peers.h"

/* Reads "k1=1 k2=2" into the keys of ${u}: the ids, and the value of each byte
 * of the public key. */
void learned_keys(struct peer_unit *u, const char *text);

/* The callback of a unit.  Sets the bool to which its arg points; NULL is
 * allowed. */
void learned(struct unit *unit);

#endif
