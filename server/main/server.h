/* SPDX-License-Identifier: MIT */
/*
 * The server: all objects that run.  The main thread makes and frees them; the
 * thread `open` fills the members about the database (opening.c).  Atomic
 * members may be read by any thread.
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
	/* Only for a database of several nodes: this node's row, and the id of
	 * the lineage (cluster/lineage.h) on which transactions may begin. */
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

/* Fills ${ret} from the settings about other servers.  ${ret} borrows the
 * pinned peers of ${config} (federate.c). */
void federate_policy(struct config *config, struct directory_policy *ret);

/* Returns ${cidrs} in the form that the modules take. */
struct net_networks server_networks(const struct config_cidrs *cidrs);

/* Makes and starts everything.  After a failure, the caller must call
 * server_stop() for what was made. */
enum rc server_start(struct server *s, struct err *err) MUST_USE;

/* Opens the data directory and the database, migrates the schema, and finds the
 * epoch (opening.c).  Waits up to config.database_wait_ms for a database of
 * several nodes that is away; SIGTERM and SIGINT end the process meanwhile,
 * with exit code 0.  RC_BUSY: another process holds the lock of the
 * directory. */
enum rc server_open(struct server *s, struct err *err) MUST_USE;

/* Fills ${ret} with the address and the limits of the port, without routes
 * (start.c).  Hands s->listener over to ${ret}. */
void server_http_options(struct server *s, struct http_options *ret);

/* Writes the HOST:PORT of ${http}, which listens where the settings say
 * (serve.c). */
void server_address(
    const struct server *s, const struct http *http, char *ret, size_t size);

/* ---- the waiting room (room.c) ---- */

struct room;

/* Listens where ${s} will serve, and answers that the server is not ready yet.
 * Sets config.listen to the address with its port.  ${s} must outlive the room.
 * Errors: RC_NO_MEMORY, or as http_new() and http_start(). */
enum rc room_open(
    struct server *s, struct room **ret, struct err *err) MUST_USE;

/* Ends the room and keeps its listening socket as s->listener.  NULL is
 * allowed. */
void room_close(struct server *s, struct room *room);

/* Ends everything that server_start() began (stop.c).  Loses nothing that was
 * accepted.  Ends the process if that takes longer than
 * config.drain_deadline_ms (plus stop_away_ms for a new epoch), or if other
 * threads do not give their requests back in time. */
void server_stop(struct server *s);

/* The interval of disk_look(), in milliseconds. */
#define DISK_LOOK_MS 1000

/* Compares the free space on the disk of the database with disk-reserve, and
 * sets disk_low of the server ${arg}.  An upkeep_hook. */
void disk_look(void *arg, struct db *db);

/* Makes the main thread stop the server and start it anew; ${arg} is the
 * server.  Thread: any. */
void serve_anew(void *arg);

/* Prepares ${s}, which is stopped, for another server_start().  ${listen}: the
 * address where ${s} listened before.  Sets config.accept_rollback to false. */
void server_again(struct server *s, const char *listen);

/* demo_users() adds the users of --demo to an empty database. demo_write()
 * appends the lines that are printed about them (demo.c). */
enum rc demo_users(struct server *s, struct err *err) MUST_USE;
void demo_write(const struct server *s, const char *url, struct buf *out);
/* Appends their names, separated by commas. */
void demo_write_names(struct buf *out);

#endif
