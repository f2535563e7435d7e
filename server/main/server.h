/* SPDX-License-Identifier: MIT */
/*
 * The server that `twinboxd serve` runs: its settings and modules, and the
 * functions that start, stop and restart it.  The main thread makes and frees
 * the modules; only while a start opens a PostgreSQL database, the thread
 * `open` fills the members about the database (opening.c).  Any thread may read
 * the atomic members.
 */
#ifndef MAIN_SERVER_H
#define MAIN_SERVER_H

#include <stdatomic.h>

#include "admin/admin.h"
#include "api/api.h"
#include "chat/send_gate.h"
#include "cluster/cluster.h"
#include "federation/federation.h"
#include "main/main_internal.h"
#include "relay/relay.h"
#include "upkeep/upkeep.h"

struct server {
	/* These members stay when serving begins anew (server_again()). */
	struct config config;
	const struct clk *clk;
	const struct timing *timing;
	struct rnd *rnd;
	int listener; /* for the next http (http_keep_listener()); 0: none */
	struct buf authorities; /* PEM of federation-ca; empty: none */

	/* From here on server_again() clears all members. */
	struct data data;
	atomic_bool anew; /* serving begins anew, for a new epoch */
	/* Used only for a database of several nodes (PostgreSQL).  node: the
	 * identity of this node.  lineage: the id of the lineage (server,
	 * database and timeline of PostgreSQL, cluster/lineage.h) on which the
	 * connections of this node may begin transactions. */
	struct lineage_node node;
	atomic_int_fast64_t lineage;
	char epoch[EPOCH_LEN + 1];
	/* The database does not fit its mark, and gets a new epoch. */
	bool rollback;
	bool was_empty; /* the database had no users */
	atomic_bool ready;
	atomic_bool disk_low; /* new messages are refused (disk.c) */

	struct metrics *metrics;
	struct auth *auth;
	struct db_options db_options; /* for readers and relay */
	struct db *db;                /* the writer's connection */
	struct txn_env *env;
	struct writer *writer;
	struct readers *readers;
	struct carrier_fault *fault;    /* --enable-faults only */
	struct directory_policy policy; /* which servers are peers */
	struct federation *federation;
	struct relay *relay;
	struct upkeep *upkeep;
	struct push *push;
	struct cluster *cluster; /* NULL: the database has no other nodes */
	struct admin *admin;
	struct send_gate *gate;
	struct rest *rest;
	struct api *api;
	struct http *http;
	struct control *control;
};

/* Makes the module federation, after the writer and before the relay
 * (federate.c). */
enum rc server_federate(struct server *s, struct err *err) MUST_USE;

/* admin_options.peer_changed, of a struct server. */
void server_peer_changed(void *arg, const struct store_peer_known *known);

/* admin_options.clocks_off, of a struct server. */
size_t server_clocks_off(void *arg, char *ret_domain, int64_t *ret_ahead_ms);

/* Fills ${ret}, the rules about which servers may be peers, from the settings
 * about federation (federate.c).  ret->peers points to federation_peer in
 * ${config}, which must outlive ${ret}; the rest is copied. */
void federate_policy(struct config *config, struct directory_policy *ret);

/* Returns ${cidrs} in the form that the modules take. */
struct net_networks server_networks(const struct config_cidrs *cidrs);

/* Makes and starts all modules of ${s}.  Returns RC_OK when the server serves.
 * Waits for the database, and may end the process, as server_open() does.
 * After a failure, too, the caller must call server_stop(), which frees what
 * was made. */
enum rc server_start(struct server *s, struct err *err) MUST_USE;

/* Opens the data directory, takes its lock, opens the database, migrates the
 * schema, and finds the epoch or makes one (opening.c).  If a database of
 * several nodes (PostgreSQL) is away, tries again until an attempt fails
 * config.database_wait_ms or more after the first began.  While PostgreSQL is
 * being opened, SIGTERM and SIGINT end the process with exit code 0.
 * RC_BUSY: another process holds the lock, or the database is busy.  After a
 * failure the caller must call server_stop(), which closes what was opened. */
enum rc server_open(struct server *s, struct err *err) MUST_USE;

/* Fills ${ret} for http_new() with the address, which ${ret} borrows from ${s},
 * and the limits of the port, without routes (start.c).  Moves the listening
 * socket, if there is one, from s->listener to ret->listener; s->listener is
 * then 0. */
void server_http_options(struct server *s, struct http_options *ret);

/* Writes the HOST:PORT of ${http}, which listens where the settings say
 * (serve.c). */
void server_address(
    const struct server *s, const struct http *http, char *ret, size_t size);

/* ---- the waiting room (room.c) ---- */

struct room;

/* Makes the room: until room_close(), it listens where ${s} will serve, and
 * answers /healthz with 200 and every other route with 503, because the
 * database is away.  Sets *ret, and config.listen to the address with the port
 * that is in use (not 0).  ${s} must outlive the room.  Errors, after which
 * *ret is unchanged: RC_NO_MEMORY, or as http_new() and http_start(). */
enum rc room_open(
    struct server *s, struct room **ret, struct err *err) MUST_USE;

/* Ends the room and keeps its listening socket as s->listener.  NULL is
 * allowed. */
void room_close(struct server *s, struct room *room);

/* Stops and frees all modules of ${s}, also after a server_start() that failed
 * (stop.c).  Loses no message that was accepted.  The pointers in ${s} are not
 * cleared: only server_again() allows another start or stop.  Ends the process
 * if the stop takes longer than config.drain_deadline_ms (plus stop_away_ms for
 * a new epoch), or if other threads still have requests at the time limit of
 * the state `answers` (stop.c). */
void server_stop(struct server *s);

/* The interval of disk_look(), in milliseconds. */
#define DISK_LOOK_MS 1000

/* Sets disk_low of the server ${arg} to true if the disk of its SQLite database
 * has less free space than disk-reserve, else (also if statvfs() fails) to
 * false.  Does nothing if disk-reserve is 0, and on PostgreSQL.  The upkeep
 * thread calls it about every DISK_LOOK_MS (struct upkeep_hook). */
void disk_look(void *arg, struct db *db);

/* Makes the main thread stop the server ${arg} and start it again, because the
 * epoch has changed.  Returns at once; the main thread acts when it next waits
 * for signals.  Thread: any. */
void serve_anew(void *arg);

/* Prepares ${s}, after server_stop(), for another server_start(): clears the
 * members from `data` on, and sets config.listen to ${listen}, the address with
 * the port where ${s} listened before, and config.accept_rollback to false. */
void server_again(struct server *s, const char *listen);

/* demo_users() adds the users of --demo (demo.c).  The caller has made
 * s->writer but not started it, and has checked that the database has no users.
 * demo_write() appends to ${out} what the server prints about these users. */
enum rc demo_users(struct server *s, struct err *err) MUST_USE;
void demo_write(const struct server *s, const char *url, struct buf *out);
/* Appends their names, separated by commas. */
void demo_write_names(struct buf *out);

#endif
