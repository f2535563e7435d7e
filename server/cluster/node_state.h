/* SPDX-License-Identifier: MIT */
/*
 * The life cycle of a node: as the node knows it itself (node_state), and as
 * each other node sees it (peer_state).
 *
 * A node:
 *
 *	     +----------------+-------lost------+
 *	     |                |                 v
 *	 STARTING --first--> ALIVE <--back--- AWAY
 *	   |   |             |   |            |  |
 *	   |   +-------------|---+---epoch----|--+---> STALE
 *	   |                 |                |          |
 *	   +-----------------+------stop------+----------+----> LEFT
 *
 * STARTING waits for its first heartbeat to be committed.  (Its epoch is known
 * by then: main/opening.c has waited for a node that could confirm it.)
 * ALIVE waits for the time of its next heartbeat, for notes of other nodes and
 * for effects of its own commits to tell them.
 * AWAY waits cluster_away_ms before it connects again.  Notes are lost
 * meanwhile, so all connected users are checked afterwards; other nodes take
 * the node for dead if that lasts.
 * STALE waits for main to stop the process: the database has another epoch, and
 * nothing that the process holds in memory is true of it.
 * LEFT is the end.  Before it the thread waits for push to give the list of
 * connected users back.  The row says that the node has left, except after
 * AWAY: then the other nodes find its heartbeat silent.
 *
 * A peer:
 *
 *	     +-----moves------+
 *	     v                |
 *	   ALIVE --silent--> DEAD
 *	     |                |
 *	     +------left------+----> LEFT
 *
 * ALIVE waits for its next heartbeat, cluster_dead_ms at most by this node's
 * clock.
 * DEAD is orphaned: it waits until its leases have ended.  A lease whose
 * conversation another transaction has locked is tried again at the next
 * heartbeat, for cluster_mark_dead_ms at most.
 * LEFT is the end: its row says that it has left, because it left by itself or
 * because a node has marked it dead.
 */
#ifndef CLUSTER_NODE_STATE_H
#define CLUSTER_NODE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

/* X(id, name) */
#define NODE_STATE_TABLE(X)                                                    \
	X(NODE_STARTING, "starting")                                           \
	X(NODE_ALIVE, "alive")                                                 \
	X(NODE_AWAY, "away")                                                   \
	X(NODE_STALE, "stale")                                                 \
	X(NODE_LEFT, "left")

enum node_state {
#define X(id, name) id,
	NODE_STATE_TABLE(X)
#undef X
	    NODE_STATES
};

/* X(from, to, why) */
#define NODE_MOVE_TABLE(X)                                                     \
	X(NODE_STARTING, NODE_ALIVE, "its first heartbeat is committed")       \
	X(NODE_STARTING, NODE_AWAY, "the connection is lost")                  \
	X(NODE_STARTING, NODE_STALE, "the epoch changed since it was read")    \
	X(NODE_STARTING, NODE_LEFT, "stopped before its first heartbeat")      \
	X(NODE_ALIVE, NODE_AWAY, "the connection is lost")                     \
	X(NODE_ALIVE, NODE_STALE, "the epoch changed")                         \
	X(NODE_ALIVE, NODE_LEFT, "stopped")                                    \
	X(NODE_AWAY, NODE_ALIVE, "connected again, on the same epoch")         \
	X(NODE_AWAY, NODE_STALE, "connected again, on another epoch")          \
	X(NODE_AWAY, NODE_LEFT, "stopped; its row cannot say so")              \
	X(NODE_STALE, NODE_LEFT, "stopped")

/* X(id, name) */
#define PEER_STATE_TABLE(X)                                                    \
	X(PEER_ALIVE, "alive")                                                 \
	X(PEER_DEAD, "dead")                                                   \
	X(PEER_LEFT, "left")

enum peer_state {
#define X(id, name) id,
	PEER_STATE_TABLE(X)
#undef X
	    PEER_STATES
};

/* X(from, to, why) */
#define PEER_MOVE_TABLE(X)                                                     \
	X(PEER_ALIVE, PEER_DEAD, "its heartbeat is silent")                    \
	X(PEER_ALIVE, PEER_LEFT, "it left by itself")                          \
	X(PEER_DEAD, PEER_ALIVE, "its heartbeat moves: it was only held up")   \
	X(PEER_DEAD, PEER_LEFT, "it is marked dead, or left after all")

/* "starting" …; NULL for none. */
const char *node_state_name(int state);
const char *peer_state_name(int state);

/* Whether the table lists ${from} -> ${to}. */
bool node_state_move_allowed(int from, int to);
bool peer_state_move_allowed(int from, int to);

/* Moves ${*state} to ${to}.  Asserts that the table lists the move. */
void node_state_move(atomic_int *state, enum node_state to);
void peer_state_move(enum peer_state *state, enum peer_state to);

#endif
