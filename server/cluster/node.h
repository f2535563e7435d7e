/* SPDX-License-Identifier: MIT */
/*
 * Rows of nodes.
 * Thread: owner of ${db}.
 */
#ifndef CLUSTER_NODE_H
#define CLUSTER_NODE_H

#include "db/db.h"

#define NODE_NAME_SIZE 64

struct node_row {
	int64_t node_id;
	char name[NODE_NAME_SIZE]; /* the owner of its leases */
	int64_t heartbeat_at;      /* the last, by its own clock */
};

/* A node begins, sends a heartbeat, leaves. */
enum rc node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err) MUST_USE;
enum rc node_heartbeat(struct db *db, int64_t node_id, const char *name,
    int64_t now_ms, struct err *err) MUST_USE;
enum rc node_leave(
    struct db *db, int64_t node_id, int64_t now_ms, struct err *err) MUST_USE;

/* Writes that a node has left, unless it has sent a heartbeat since
 * ${heartbeat_at}. */
enum rc node_mark_dead(struct db *db, int64_t node_id, int64_t heartbeat_at,
    int64_t now_ms, struct err *err) MUST_USE;

/* The time of its last heartbeat.  RC_NOT_FOUND: there is no such node. */
enum rc node_get(struct db *db, int64_t node_id, int64_t *ret_heartbeat_at,
    struct err *err) MUST_USE;

/* The nodes that have not left. */
enum rc node_each_alive(struct db *db,
    void (*each)(void *arg, const struct node_row *node), void *arg,
    struct err *err) MUST_USE;

/* Deletes nodes that left before ${before_ms} and hold no lease: their totals
 * are added to row 0, in one transaction with the row of the node.  At most
 * NODE_FORGET_MAX at a time; *ret_n: how many.  Not in a transaction. */
#define NODE_FORGET_MAX 16
enum rc node_forget_left(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err) MUST_USE;

/* Ends the leases of ${owner} whose conversations no transaction has locked;
 * *ret_left: how many are left.  Not in a transaction. */
enum rc node_end_leases(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err) MUST_USE;

#endif
