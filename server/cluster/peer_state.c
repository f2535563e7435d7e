/* SPDX-License-Identifier: MIT */
/*
 * The names and the moves of peer_state.h.
 */
#include <assert.h>
#include <stddef.h>

#include "cluster/peer_state.h"

static const char *const names[PEER_STATES] = {
#define X(id, name) name,
    PEER_STATE_TABLE(X)
#undef X
};

const char *
peer_state_name(int state)
{

	return (state < 0 || state >= PEER_STATES ? NULL : names[state]);
}

bool
peer_state_allows(int from, int to)
{

#define X(id, next, why)                                                       \
	if (from == (id) && to == (next))                                      \
		return (true);
	PEER_MOVE_TABLE(X)
#undef X
	return (false);
}

void
peer_state_move(enum peer_state *state, enum peer_state to)
{

	assert(peer_state_allows((int)*state, (int)to));
	*state = to;
}
