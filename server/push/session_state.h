/* SPDX-License-Identifier: MIT */
/*
 * The states of a WebSocket session, and the moves between them.  A test
 * compares this drawing with the table in session_state.c.
 *
 *	HELLO --a token that is not in memory--> IDENTIFYING
 *	HELLO --a token that is in memory--> OPENING
 *	IDENTIFYING --its token is good--> OPENING
 *	OPENING --welcome--> BEHIND
 *	BEHIND --the readers' queue takes the job for a page--> READING
 *	READING --events are left, or effects were dropped--> BEHIND
 *	READING --caught up--> LIVE
 *	LIVE --an event cannot be written, or effects were dropped--> BEHIND
 *	HELLO, IDENTIFYING, OPENING, BEHIND, READING, LIVE --close--> CLOSING
 *	CLOSING --our close frame is written--> CLOSED
 *	HELLO, IDENTIFYING, OPENING, BEHIND, READING, LIVE --lost--> ENDED
 *	CLOSING, CLOSED --end--> ENDED
 *
 * "close" is session_close(), for whatever reason; "lost" is a connection that
 * ends, or is cut, before session_close(); "effects" are the notices of new
 * commits, which the hub passes to the session.  A session leaves a state when
 * it gets what it waits for, or at the deadline that is named here
 * (base/timing.h); in every state before CLOSING, push also closes the session
 * when its client is silent or its output waits for too long:
 *
 *	HELLO        the client's first frame; push_hello
 *	IDENTIFYING  a reader that looks up the token
 *	OPENING      a reader that reads the head of the inbox and the ack of
 *	             the device.  The session is in the hub already, so that
 *	             nothing committed after that read is missed
 *	BEHIND       room in the window (not needed after dropped effects), in
 *	             the socket, and in the readers' queue
 *	READING      a page of the inbox, which a reader reads
 *	LIVE         effects: the next event of the inbox is cursor + 1
 *	CLOSING      the socket, which must take our close frame; push_close
 *	CLOSED       the peer's close frame; the same deadline as in CLOSING
 *	ENDED        the library, which closes the socket and calls back
 */
#ifndef PUSH_SESSION_STATE_H
#define PUSH_SESSION_STATE_H

#include <stdbool.h>

/* X(state), in the order of a session's life. */
#define SESSION_STATE_TABLE(X)                                                 \
	X(HELLO)                                                               \
	X(IDENTIFYING)                                                         \
	X(OPENING)                                                             \
	X(BEHIND)                                                              \
	X(READING)                                                             \
	X(LIVE)                                                                \
	X(CLOSING)                                                             \
	X(CLOSED)                                                              \
	X(ENDED)

enum session_state {
#define X(state) SESSION_##state,
	SESSION_STATE_TABLE(X)
#undef X
	    SESSION_STATES
};

/* Returns the name of ${state}, as in the table. */
const char *session_state_name(enum session_state state);

/* Returns whether a session may go from ${from} to ${to}. */
bool session_state_allows(enum session_state from, enum session_state to);

/* Returns whether a session in ${state} serves its client: it was welcomed and
 * is not closing. */
static inline bool
session_state_open(enum session_state state)
{

	return (state == SESSION_BEHIND || state == SESSION_READING ||
		state == SESSION_LIVE);
}

/* Returns whether a session in ${state} is ending: it takes no more
 * requests. */
static inline bool
session_state_over(enum session_state state)
{

	return (state >= SESSION_CLOSING);
}

#endif
