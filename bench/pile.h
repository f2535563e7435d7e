/* SPDX-License-Identifier: MIT */
/*
 * A pile of messages from users here to people on one other server, written
 * straight into a stopped server's database: as they are while they wait for
 * it, or long after it has acked them.
 */
#ifndef BENCH_PILE_H
#define BENCH_PILE_H

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

struct pile {
	const char *domain;
	int64_t messages;
	int lanes;    /* conversations, one recipient each */
	int senders;  /* u0, u1 …: lane i is of u(i modulo senders) */
	bool settled; /* acked, and nothing waits */
};

/* Writes ${pile} into ${db}; gives up when it cannot. */
void pile_write(struct db *db, const struct pile *pile);

#endif
