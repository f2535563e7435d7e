/* SPDX-License-Identifier: MIT */
/*
 * Checks which messages are charged for failed attempts.  A peer's refusal
 * charges the message at the head of its lane, and no message behind it.  An
 * outage charges no message, and neither does a restart.
 */
#ifndef SIM_CHARGES_H
#define SIM_CHARGES_H

#include "sim/peer.h"

/* Notes an answer that has come to the server: an attempt that was refused at
 * the head of its lane may be charged. */
void charges_heard(struct sim *s, const struct cargo *cargo);

/* At the end: checks that no other attempt was charged. */
void charges_judge(struct sim *s);

void charges_free(struct sim *s);

#endif
