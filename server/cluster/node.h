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
	int64_t beat_at;           /* by its own clock */
};

/* A node begins, sends a heartbeat, leaves. */
enum rc node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err) MUST_USE;
enum rc node_heartbeat(struct db *db, int64_t node_id, const char *name,
    int64_t now_ms, struct err *err) MUST_USE;
enum rc node_leave(
    struct db *db, int64_t node_id, int64_t now_ms, struct err *err) MUST_USE;

/* Says that a node has left, unless it has beaten since ${beat_at}. */
enum rc node_mark_dead(struct db *db, int64_t node_id, int64_t beat_at,
    int64_t now_ms, struct err *err) MUST_USE;

/* When it has beaten last.  RC_NOT_FOUND: there is no such node. */
enum rc node_get(struct db *db, int64_t node_id, int64_t *ret_beat_at,
    struct err *err) MUST_USE;

/* Those who have not left. */
enum rc node_each_alive(struct db *db,
    void (*each)(void *arg, const struct node_row *node), void *arg,
    struct err *err) MUST_USE;

/* Forgets nodes that have left before ${before_ms} and hold no lease: what they
 * have counted goes to row 0 of the totals, in one transaction with the row of
 * the node.  At most NODE_FORGET_MAX at a time; *ret_n: how many.  Not in a
 * transaction. */
#define NODE_FORGET_MAX 16
enum rc node_forget_left(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err) MUST_USE;

/* Leases of ${owner} run out now, as far as nobody is at work on their
 * conversations; *ret_left: how many do not.  Not in a transaction. */
enum rc node_end_leases(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err) MUST_USE;

#endif
