/* SPDX-License-Identifier: MIT */
/*
 * A pile of messages from users of this server to people on one other server,
 * written straight into the database of a stopped server.  The messages either
 * wait for that server, or were acked by it when they were written.  They were
 * written 1 ms apart, the last one now.
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
	int senders;  /* u0, u1 …; lane i has sender i modulo senders */
	bool settled; /* all acked, none waits */
};

/* Writes ${pile} into ${db}, which must have the senders.  Ends the program on
 * a failure. */
void pile_write(struct db *db, const struct pile *pile);

#endif
