/* SPDX-License-Identifier: MIT */
/*
 * The life of a peer, as another node sees it: its states, and the moves
 * between them.  A test compares this drawing with the table.
 *
 *	alive --its heartbeat is silent--> dead
 *	dead --its heartbeat moves--> alive
 *	alive, dead --its row says so--> left
 *
 *	alive  waits for its next heartbeat, cluster_dead_ms at most by this
 *	       node's clock
 *	dead   waits until its leases have ended.  A lease whose conversation
 *	       another transaction has locked is tried again at this node's
 *	       next heartbeat.  The peer is marked as left at the latest
 *	       after cluster_mark_dead_ms or the length of a lease,
 *	       whichever is longer
 *	left   is removed from the list of peers: the node left by itself, or
 *	       a node (this one or another) has marked its row as left.  If
 *	       it writes a heartbeat after that, it is listed as a new peer
 */
#ifndef CLUSTER_PEER_STATE_H
#define CLUSTER_PEER_STATE_H

#include <stdbool.h>

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

/* Returns "alive" and so on; NULL if ${state} is not valid. */
const char *peer_state_name(int state);

/* Returns true if the table lists ${from} -> ${to}. */
bool peer_state_allows(int from, int to);

/* Moves ${*state} to ${to}.  Asserts that the table lists the move. */
void peer_state_move(enum peer_state *state, enum peer_state to);

#endif
