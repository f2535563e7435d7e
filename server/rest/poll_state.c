/* SPDX-License-Identifier: MIT */
/*
 * The states of a long-poll: their names, and the table of changes.
 */
#include "rest/poll_state.h"

#define BIT(state) (1u << POLL_##state)

static const char *const names[POLL_STATES] = {
#define X(state) [POLL_##state] = #state,
    POLL_STATE_TABLE(X)
#undef X
};

/* The states that may follow each state. */
static const unsigned moves[POLL_STATES] = {
    [POLL_NEW] = BIT(READING) | BIT(READING_LAST),
    [POLL_READING] = BIT(WAITING) | BIT(READY) | BIT(READING_AGAIN) |
		     BIT(READING_LAST) | BIT(TIME_UP),
    [POLL_READING_AGAIN] = BIT(READING) | BIT(READING_LAST) | BIT(ANSWERED),
    [POLL_READING_LAST] = BIT(ANSWERED),
    [POLL_TIME_UP] = BIT(READING_LAST) | BIT(READY),
    [POLL_WAITING] = BIT(READING) | BIT(READING_LAST) | BIT(WITHDRAWN),
    [POLL_WITHDRAWN] = BIT(READING_LAST),
    [POLL_READY] = BIT(ANSWERED),
    [POLL_ANSWERED] = 0,
};

const char *
poll_state_name(enum poll_state state)
{

	return (names[state]);
}

bool
poll_state_allows(enum poll_state from, enum poll_state to)
{

	return ((moves[from] & 1u << to) != 0);
}
