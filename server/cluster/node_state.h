/* SPDX-License-Identifier: MIT */
/*
 * The life of a node, as the node itself knows it: its states, and the moves
 * between them.  A test compares this drawing with the table.
 *
 *	starting, away --a heartbeat is committed--> alive
 *	starting, alive --the connection is lost--> away
 *	starting, alive, away --the epoch is another--> stale
 *	starting, alive, away, stale --stopped--> left
 *
 *	starting  waits for its first heartbeat to be committed.  Its epoch was
 *	          read or made before (main/opening.c)
 *	alive     waits for the time of its next heartbeat or recheck, for notes
 *	          of other nodes, and for effects of its own commits to send
 *	away      waits cluster_away_ms before each attempt to connect again.
 *	          Notes are lost meanwhile, so a recheck of all connected users
 *	          follows.  After cluster_dead_ms without a heartbeat, other
 *	          nodes take this one for dead and end its leases
 *	stale     waits for main to stop the server, which then starts again in
 *	          the same process as a new node: the database has another
 *	          epoch, so what the server holds in memory may be wrong
 *	left      is the end of the cluster thread.  If the thread had asked
 *	          push for the list of connected users, it has waited for the
 *	          answer.  The row says that the node left, unless it was away
 *	          or the write failed: then only its heartbeat falls silent
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

/* Returns "starting" and so on; NULL if ${state} is not valid. */
const char *node_state_name(int state);

/* Returns true if the table lists ${from} -> ${to}. */
bool node_state_allows(int from, int to);

/* Moves ${*state} to ${to}.  Asserts that the table lists the move. */
void node_state_move(atomic_int *state, enum node_state to);

#endif
