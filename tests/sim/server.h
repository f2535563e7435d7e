/* SPDX-License-Identifier: MIT */
/*
 * The simulated server: the product's store, verbs and relay on a disk in
 * memory, without a thread.  It dies (a kill keeps what was written, a power
 * cut what was synced and some of the rest) and comes back.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <sqlite3.h>

#include "sim/sim.h"
#include "txn/env.h"

/* Statements that are kept prepared for looking. */
#define SERVER_ASKS 64

struct heart;

struct server {
	struct plvfs *disks[2]; /* one is in use, the other takes an image */
	int disk;
	bool up;
	uint64_t incarnation; /* counts starts */
	bool dying;           /* what is answered now goes nowhere */
	bool by_power;        /* so will it die */
	bool doomed;          /* its disk is out of reach */
	bool fatal;           /* it said so itself: the store has failed */
	bool unsynced;    /* it died of its disk, and has not started since */
	uint64_t doom_at; /* this call of the disk is its last; 0: none */
	uint64_t calls;
	bool starving; /* an allocation was to fail since it started */

	struct db *db;
	struct txn_env *env;
	struct writer *writer;
	struct heart *heart;
	sqlite3 *look; /* what people are shown is read here */
	struct {
		const char *sql;
		sqlite3_stmt *st;
	} asks[SERVER_ASKS];
	bool turning; /* the writer's next batch is under way */
};

/* An empty server on fresh disks, with its people; not started. */
struct server *server_new(struct sim *s);
void server_free(struct sim *s);

/* Starts it; after a failure it tries again later. */
void server_start(struct sim *s);

/* It dies at once. */
void server_die(struct sim *s, bool by_power);

/* It dies at the ${n}-th call of its disk from now. */
void server_doom(struct sim *s, uint64_t n, bool by_power);

/* One of its next allocations fails. */
void server_starve(struct sim *s);

/* After each event: if it has died of it, it is dead. */
void server_look_after(struct sim *s);

/* The disk in use. */
struct plvfs *server_disk(const struct sim *s);

/* The writer has units: a batch is run soon. */
void server_turn_soon(struct sim *s);

/* A statement (static text) on the database as a reader sees it; NULL: out of
 * reach.  Dies of an error in it. */
sqlite3_stmt *server_ask(const struct sim *s, const char *sql);

/* What server_ask() gave is not needed any more.  NULL is allowed. */
void server_asked(sqlite3_stmt *st);

#endif
