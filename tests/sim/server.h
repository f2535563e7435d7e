/* SPDX-License-Identifier: MIT */
/*
 * The simulated server: the product's store, verbs and relay on a disk in
 * memory, without a thread.  It dies (a kill keeps what was written, a power
 * cut what was synced and some of the rest) and comes back.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <sqlite3.h>

#include "model/envelope.h"
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
	bool starving;        /* an allocation was to fail since it started */
	int64_t starve;       /* of several: this one of an event; 0: none */
	int64_t drains_until; /* of several, simulated ms: it is to stop */
	bool held;            /* it stays down: its database will be replaced */
	bool restored;   /* its database was: the next start makes an epoch */
	unsigned epochs; /* that it has made */
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* of several servers */

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

/* It stops, or stays down, until server_replace(). */
void server_hold(struct sim *s);

/* Its database is replaced by ${by}, a copy of an earlier one; what it had goes
 * to ${replaced}.  It starts with another epoch. */
void server_replace(
    struct sim *s, const struct plvfs *by, struct plvfs *replaced);

/* One of its next allocations fails. */
void server_starve(struct sim *s);

/* Before and after an event of ${s}: of several servers an allocation fails for
 * its own only. */
void server_event_begins(struct sim *s);
void server_event_ends(struct sim *s);

/* It takes nothing more and asks its peers to come back, until it stops. */
void server_drain(struct sim *s);

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
