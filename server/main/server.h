/* SPDX-License-Identifier: MIT */
/*
 * The server: everything that runs, in the order in which it is made.
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
	/* What stays when serving begins anew (server_again). */
	struct config config;
	const struct clk *clk;
	const struct timing *timing;
	struct rnd *rnd;
	int listener; /* of the next http (http_keep_listener); 0: none */
	struct buf authorities; /* of federation-ca, as PEM; empty: none */

	struct data data; /* the first that does not */
	atomic_bool anew; /* it is to, because the epoch is another */
	/* Of a database of many nodes: who we are to it, and the line on which
	 * transactions may begin. */
	struct lineage_node node;
	atomic_int_fast64_t lineage;
	char epoch[EPOCH_LEN + 1];
	bool rollback;  /* the database is behind its mark: a new epoch */
	bool was_empty; /* the database had no users */
	atomic_bool ready;
	atomic_bool disk_low; /* new messages are refused (disk.c) */

	struct metrics *metrics;
	struct auth *auth;
	struct db_options db_options; /* of readers and relay */
	struct db *db;                /* of the writer */
	struct txn_env *env;
	struct writer *writer;
	struct readers *readers;
	struct carrier_fault *fault;    /* --enable-faults only */
	struct directory_policy policy; /* which servers are peers */
	struct federation *federation;
	struct relay *relay;
	struct upkeep *upkeep;
	struct push *push;
	struct cluster *cluster; /* NULL: the database is only ours */
	struct admin *admin;
	struct send_gate *gate;
	struct rest *rest;
	struct api *api;
	struct http *http;
	struct control *control;
};

/* Makes what talks to other servers, after the writer and before the relay
 * (federate.c). */
enum rc server_federate(struct server *s, struct err *err) MUST_USE;

/* admin_options.peer_changed, of a struct server. */
void server_peer_changed(void *arg, const struct store_peer_known *known);

/* admin_options.clocks_off, of a struct server. */
size_t server_clocks_off(void *arg, char *ret_domain, int64_t *ret_ahead_ms);

/* Fills ${ret} with what ${config} says of other servers; ${ret} keeps its
 * pinned peers (federate.c). */
void federate_policy(struct config *config, struct directory_policy *ret);

/* Networks, as the modules take them. */
struct net_networks server_networks(const struct config_cidrs *cidrs);

/* Makes and starts everything; on failure what there is must be given to
 * server_stop(). */
enum rc server_start(struct server *s, struct err *err) MUST_USE;

/* Opens the data directory and the database, brings that up to date, and finds
 * its epoch (opening.c).  A database of many nodes that is away is waited for,
 * for as long as config.database_wait_ms; SIGTERM and SIGINT end the process
 * meanwhile. */
enum rc server_open(struct server *s, struct err *err) MUST_USE;

/* What ${s} listens on, and its limits; no routes yet.  s->listener passes over
 * with it (start.c). */
void server_http_options(struct server *s, struct http_options *ret);

/* HOST:PORT of ${http}, which listens where the settings say (serve.c). */
void server_address(
    const struct server *s, const struct http *http, char *ret, size_t size);

/* ---- the waiting room (room.c) ---- */

struct room;

/* Listens where ${s} will serve, and answers that it does not yet;
 * config.listen names the port then.  ${s} must stay. */
enum rc room_open(
    struct server *s, struct room **ret, struct err *err) MUST_USE;

/* Ends the room and keeps its listening socket as s->listener.  NULL is
 * allowed. */
void room_close(struct server *s, struct room *room);

/* Ends everything that server_start() began, in the reverse order, losing
 * nothing that was accepted; at most config.drain_deadline_ms. */
void server_stop(struct server *s);

/* How often disk_look() is called. */
#define DISK_LOOK_MS 1000

/* Compares the room on the disk of the database with disk-reserve; for
 * upkeep_hook, ${arg} is the server. */
void disk_look(void *arg, struct db *db);

/* Serving is to begin anew: ${arg} is the server.  Thread: any. */
void serve_anew(void *arg);

/* Makes ${s}, which is stopped, ready for another server_start(), where the one
 * before was listening at ${listen}. */
void server_again(struct server *s, const char *listen);

/* The users of --demo, in an empty database, and what to tell of them
 * (demo.c). */
enum rc demo_users(struct server *s, struct err *err) MUST_USE;
void demo_write(const struct server *s, const char *url, struct buf *out);
/* Their names alone, with commas. */
void demo_write_names(struct buf *out);

#endif
