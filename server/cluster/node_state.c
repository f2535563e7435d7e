/* SPDX-License-Identifier: MIT */
/*
 * The names and the moves of node_state.h.
 */
#include <assert.h>
#include <stddef.h>

#include "cluster/node_state.h"

static const char *const names[NODE_STATES] = {
#define X(id, name) name,
    NODE_STATE_TABLE(X)
#undef X
};

const char *
node_state_name(int state)
{

	return (state < 0 || state >= NODE_STATES ? NULL : names[state]);
}

bool
node_state_allows(int from, int to)
{

#define X(id, next, why)                                                       \
	if (from == (id) && to == (next))                                      \
		return (true);
	NODE_MOVE_TABLE(X)
#undef X
	return (false);
}

void
node_state_move(atomic_int *state, enum node_state to)
{

	assert(node_state_allows(atomic_load(state), (int)to));
	atomic_store(state, to);
}
