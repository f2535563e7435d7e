/* SPDX-License-Identifier: MIT */
/*
 * The simulated server: the product's store, verbs and relay on a disk in
 * memory, without threads.  It dies (a kill keeps all that was written; a power
 * cut keeps what was synced and some of the rest) and comes back.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <sqlite3.h>

#include "model/envelope.h"
#include "sim/sim.h"
#include "txn/env.h"

/* The number of the simulator's statements that stay prepared. */
#define SERVER_ASKS 64

struct heart;

struct server {
	struct plvfs *disks[2]; /* one is in use, the other takes an image */
	int disk;
	bool up;
	uint64_t incarnation; /* counts starts */
	bool dying;           /* answers are dropped now */
	bool by_power;        /* its death will be a power cut */
	bool doomed;          /* its disk is out of reach */
	bool fatal;           /* its fatal hook was called: the store failed */
	bool unsynced;        /* a sync failed, and no start has succeeded */
	uint64_t doom_at;     /* call of the disk at which it dies; 0: none */
	uint64_t calls;
	bool starving;        /* an allocation was to fail since the start */
	int64_t starve;       /* several servers: n-th of an event; 0: none */
	int64_t drains_until; /* simulated ms: it is to stop; 0: it is not */
	bool held;            /* it stays down until server_replace() */
	bool restored;        /* the next start makes an epoch */
	unsigned epochs;      /* epochs that it has made */
	char epoch[ENVELOPE_EPOCH_LEN + 1]; /* of several servers */

	struct db *db;
	struct txn_env *env;
	struct writer *writer;
	struct heart *heart;
	sqlite3 *look; /* a connection for the clients and the judge */
	struct {
		const char *sql;
		sqlite3_stmt *st;
	} asks[SERVER_ASKS];
	bool turning; /* the writer's next batch is scheduled */
};

/* Makes an empty server on new disks, with its people.  It is not started. */
struct server *server_new(struct sim *s);
void server_free(struct sim *s);

/* Starts it.  After a failure it tries again later. */
void server_start(struct sim *s);

/* It dies at once. */
void server_die(struct sim *s, bool by_power);

/* It dies at the ${n}-th call of its disk from now. */
void server_doom(struct sim *s, uint64_t n, bool by_power);

/* It stops, or stays down, until server_replace(). */
void server_hold(struct sim *s);

/* Replaces its database by ${by}, an earlier copy.  The old database goes to
 * ${replaced}.  It starts with another epoch. */
void server_replace(
    struct sim *s, const struct plvfs *by, struct plvfs *replaced);

/* One of its next allocations fails. */
void server_starve(struct sim *s);

/* Called before and after an event of ${s}.  With several servers, this makes
 * an allocation fail only during the events of the right server. */
void server_event_begins(struct sim *s);
void server_event_ends(struct sim *s);

/* It accepts nothing more and asks its peers to come back, until it stops. */
void server_drain(struct sim *s);

/* Called after each event.  If the server has died in the event, it is taken
 * down. */
void server_look_after(struct sim *s);

/* The disk in use. */
struct plvfs *server_disk(const struct sim *s);

/* The writer has units: schedules a batch. */
void server_turn_soon(struct sim *s);

/* Prepares a statement (static text) on a reader's connection.  Returns NULL if
 * the disk is out of reach.  Ends the program if the statement has an error. */
sqlite3_stmt *server_ask(const struct sim *s, const char *sql);

/* Gives a statement of server_ask() back.  NULL is allowed. */
void server_asked(sqlite3_stmt *st);

#endif
