/* SPDX-License-Identifier: MIT */
/*
 * Who is charged.  A peer's refusal charges the message that stood at the head
 * of its lane, and nobody behind it; an outage charges nobody, and neither does
 * a restart.
 */
#ifndef SIM_CHARGES_H
#define SIM_CHARGES_H

#include "sim/peer.h"

/* An answer has come to the server: what was refused at the head of its lane
 * may be charged for this attempt. */
void charges_heard(struct sim *s, const struct cargo *cargo);

/* At the end: nothing else was. */
void charges_judge(struct sim *s);

void charges_free(struct sim *s);

#endif
