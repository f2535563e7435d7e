/* SPDX-License-Identifier: MIT */
/*
 * The life cycle of nodes, read from the tables in the header.
 */
#include <assert.h>
#include <stddef.h>

#include "cluster/node_state.h"

static const char *const node_states[NODE_STATES] = {
#define X(id, name) name,
    NODE_STATE_TABLE(X)
#undef X
};

static const char *const peer_states[PEER_STATES] = {
#define X(id, name) name,
    PEER_STATE_TABLE(X)
#undef X
};

struct state_move {
	int from;
	int to;
};

static const struct state_move node_moves[] = {
#define X(from, to, why) {from, to},
    NODE_MOVE_TABLE(X)
#undef X
};

static const struct state_move peer_moves[] = {
#define X(from, to, why) {from, to},
    PEER_MOVE_TABLE(X)
#undef X
};

const char *
node_state_name(int state)
{

	return (state < 0 || state >= NODE_STATES ? NULL : node_states[state]);
}

const char *
peer_state_name(int state)
{

	return (state < 0 || state >= PEER_STATES ? NULL : peer_states[state]);
}

static bool
is_listed(const struct state_move *moves, size_t n, int from, int to)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (moves[i].from == from && moves[i].to == to)
			return (true);
	return (false);
}

bool
node_state_move_allowed(int from, int to)
{

	return (is_listed(
	    node_moves, sizeof(node_moves) / sizeof(node_moves[0]), from, to));
}

bool
peer_state_move_allowed(int from, int to)
{

	return (is_listed(
	    peer_moves, sizeof(peer_moves) / sizeof(peer_moves[0]), from, to));
}

void
node_state_move(atomic_int *state, enum node_state to)
{

	assert(node_state_move_allowed(atomic_load(state), to));
	atomic_store(state, to);
}

void
peer_state_move(enum peer_state *state, enum peer_state to)
{

	assert(peer_state_move_allowed(*state, to));
	*state = to;
}
