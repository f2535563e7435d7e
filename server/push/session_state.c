/* SPDX-License-Identifier: MIT */
/*
 * The states of a session: their names, and the table of moves.
 */
#include "push/session_state.h"

#define BIT(state) (1u << SESSION_##state)

static const char *const names[SESSION_STATES] = {
#define X(state) [SESSION_##state] = #state,
    SESSION_STATE_TABLE(X)
#undef X
};

/* The states that each state may be followed by. */
static const unsigned moves[SESSION_STATES] = {
    [SESSION_HELLO] =
	BIT(IDENTIFYING) | BIT(OPENING) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_IDENTIFYING] = BIT(OPENING) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_OPENING] = BIT(BEHIND) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_BEHIND] = BIT(READING) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_READING] = BIT(BEHIND) | BIT(LIVE) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_LIVE] = BIT(BEHIND) | BIT(CLOSING) | BIT(ENDED),
    [SESSION_CLOSING] = BIT(CLOSED) | BIT(ENDED),
    [SESSION_CLOSED] = BIT(ENDED),
    [SESSION_ENDED] = 0,
};

const char *
session_state_name(enum session_state state)
{

	return (names[state]);
}

bool
session_state_allows(enum session_state from, enum session_state to)
{

	return ((moves[from] & 1u << to) != 0);
}
