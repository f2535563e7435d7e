/* SPDX-License-Identifier: MIT */
/*
 * The rows of nodes in the database.  Thread: owner of ${db}.
 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include "db/db.h"

#define NODE_NAME_SIZE 64

struct node_row {
	int64_t node_id;
	char name[NODE_NAME_SIZE]; /* the owner of its leases */
	int64_t heartbeat_at;      /* the last one, by the clock of that node */
};

/* node_insert() inserts the row of a node that starts.  node_heartbeat() writes
 * a heartbeat: the row is inserted again if it was deleted, and is no longer
 * marked as left.  node_leave() marks the node as left.  Times are wall times
 * in ms. */
enum rc node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err) MUST_USE;
enum rc node_heartbeat(struct db *db, int64_t node_id, const char *name,
    int64_t now_ms, struct err *err) MUST_USE;
enum rc node_leave(
    struct db *db, int64_t node_id, int64_t now_ms, struct err *err) MUST_USE;

/* Marks another node as left, unless it is marked already or its last heartbeat
 * is not the one of ${heartbeat_at}, which the caller has read.  Returns RC_OK
 * in these cases, too. */
enum rc node_mark_dead(struct db *db, int64_t node_id, int64_t heartbeat_at,
    int64_t now_ms, struct err *err) MUST_USE;

/* Reads the time of the last heartbeat of a node.  RC_NOT_FOUND: no such
 * node. */
enum rc node_get(struct db *db, int64_t node_id, int64_t *ret_heartbeat_at,
    struct err *err) MUST_USE;

/* Calls ${each} for each node that has not left. */
enum rc node_each_alive(struct db *db,
    void (*each)(void *arg, const struct node_row *node), void *arg,
    struct err *err) MUST_USE;

/* Deletes the rows of nodes that left before ${before_ms} and hold no lease, at
 * most NODE_FORGET_MAX.  A lease that has run out counts as held until a relay
 * has reclaimed it.  Each node has a transaction of its own, which also moves
 * the node's totals into row 0 of outbox_totals.  *ret_n: number of rows
 * deleted, also after a failure.  Call this function outside a transaction. */
#define NODE_FORGET_MAX 16
enum rc node_forget_left(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err) MUST_USE;

/* Makes the leases of the node named ${owner} run out at ${now_ms} (wall time),
 * so that the relays of other nodes reclaim the lanes (the leased delivery
 * queues).  Leaves out a lease whose conversation another transaction has
 * locked.  *ret_left, valid after RC_OK: the number of leases of the node that
 * have not run out.  Call this function outside a transaction. */
enum rc node_end_leases(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err) MUST_USE;

#endif
