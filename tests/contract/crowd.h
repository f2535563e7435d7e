/* SPDX-License-Identifier: MIT */
/*
 * A few people on a rig, whose actions a seed draws until their database has
 * every kind of row in every state.  Messages and receipts wait, were
 * delivered, acked, read privately, scheduled, canceled, discarded, expired,
 * requeued and purged.  Messages to another server were taken, were refused, or
 * are on their way.
 */
#ifndef CONTRACT_CROWD_H
#define CONTRACT_CROWD_H

#include "contract/rig.h"

#define CROWD_PEOPLE 6
#define CROWD_DEVICES 2 /* of every second person; the others have one */

struct crowd {
	struct rig rig;
	struct rnd_seeded rnd;
	int64_t users[CROWD_PEOPLE];
	int64_t devices[CROWD_PEOPLE][CROWD_DEVICES];
	struct uuid sent[1024];
	int from[1024]; /* their senders */
	size_t nsent;
};

/* Opens ${c}->rig and plays ${steps} steps of ${seed}.  Then, if ${purged},
 * purges the outbox rows of the first third. */
void crowd_play(struct crowd *c, uint64_t seed, int steps, bool purged);

#endif
