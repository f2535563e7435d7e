/* SPDX-License-Identifier: MIT */
/*
 * Rows of nodes, and what a node asks for those who are connected to it.
 * Thread: owner of ${db}.
 */
#ifndef STORE_NODE_H
#define STORE_NODE_H

#include "db/db.h"

#define STORE_NODE_NAME_SIZE 64

struct store_node {
	int64_t node_id;
	char name[STORE_NODE_NAME_SIZE]; /* the owner of its leases */
	int64_t beat_at;                 /* by its own clock */
};

/* A node begins, beats, leaves. */
enum rc store_node_insert(struct db *db, const char *name, int64_t now_ms,
    int64_t *ret_node_id, struct err *err) MUST_USE;
enum rc store_node_beat(struct db *db, int64_t node_id, const char *name,
    int64_t now_ms, struct err *err) MUST_USE;
enum rc store_node_leave(
    struct db *db, int64_t node_id, int64_t now_ms, struct err *err) MUST_USE;

/* Says that a node has left, unless it has beaten since ${beat_at}. */
enum rc store_node_bury(struct db *db, int64_t node_id, int64_t beat_at,
    int64_t now_ms, struct err *err) MUST_USE;

/* When it has beaten last.  RC_NOT_FOUND: there is no such node. */
enum rc store_node_get(struct db *db, int64_t node_id, int64_t *ret_beat_at,
    struct err *err) MUST_USE;

/* Those who have not left. */
enum rc store_nodes_here(struct db *db,
    void (*each)(void *arg, const struct store_node *node), void *arg,
    struct err *err) MUST_USE;

/* Forgets nodes that have left before ${before_ms} and hold no lease: what they
 * have counted goes to row 0 of the totals, in one transaction with the row of
 * the node.  At most STORE_NODES_FOLD at a time; *ret_n: how many.  Not in a
 * transaction. */
#define STORE_NODES_FOLD 16
enum rc store_nodes_fold(
    struct db *db, int64_t before_ms, size_t *ret_n, struct err *err) MUST_USE;

/* Leases of ${owner} run out now, as far as nobody is at work on their
 * conversations; *ret_left: how many do not.  Not in a transaction. */
enum rc store_lanes_forsaken(struct db *db, const char *owner, int64_t now_ms,
    int64_t *ret_left, struct err *err) MUST_USE;

/* Where the inboxes of ${n} users end. */
enum rc store_inbox_heads(struct db *db, const int64_t *users, size_t n,
    enum rc (*each)(void *arg, int64_t user_id, int64_t head, struct err *err),
    void *arg, struct err *err) MUST_USE;

/* A device as it is now. */
struct store_device_now {
	int64_t device_id;
	int64_t user_id;
	int64_t acked;       /* the highest seq that it has acked */
	const uint8_t *gone; /* the hash of the token that it lost, or NULL */
};

/* What ${n} devices are now. */
enum rc store_devices_now(struct db *db, const int64_t *devices, size_t n,
    enum rc (*each)(
	void *arg, const struct store_device_now *now, struct err *err),
    void *arg, struct err *err) MUST_USE;

#endif
