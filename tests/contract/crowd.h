/* SPDX-License-Identifier: MIT */
/*
 * A few people on a rig, under a seed, until their database has every kind of
 * row in every state: messages and receipts that wait, were delivered, acked,
 * read in private, scheduled, canceled, discarded, expired, requeued, purged,
 * and messages to another server that were taken, refused or are on their way.
 */
#ifndef CONTRACT_CROWD_H
#define CONTRACT_CROWD_H

#include "contract/rig.h"

#define CROWD_PEOPLE 6
#define CROWD_DEVICES 2 /* of every other one; else one */

struct crowd {
	struct rig rig;
	struct rnd_seeded rnd;
	int64_t users[CROWD_PEOPLE];
	int64_t devices[CROWD_PEOPLE][CROWD_DEVICES];
	struct uuid sent[1024];
	int from[1024]; /* whose */
	size_t nsent;
};

/* Opens ${c}->rig and plays ${steps} steps of ${seed}; then purges the outbox
 * rows of the first third, if ${purged}. */
void crowd_play(struct crowd *c, uint64_t seed, int steps, bool purged);

#endif
