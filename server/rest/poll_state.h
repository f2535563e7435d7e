/* SPDX-License-Identifier: MIT */
/*
 * The states of a long-poll, and the changes between them.  The poll
 * registers its waiter (struct push_waiter) with push.  For each registration,
 * push gives the waiter back once, by a call of done(): to wake the poll,
 * because the poll has withdrawn the waiter, or because push drains.  A test
 * (unit/test_state_drawing) compares this drawing with the table in
 * poll_state.c.
 *
 *	NEW, READING_AGAIN, WAITING --push has the waiter--> READING
 *	NEW, READING_AGAIN, WAITING --it may not wait--> READING_LAST
 *	READING --nothing new--> WAITING
 *	READING --something new--> READY
 *	READING --woken--> READING_AGAIN
 *	READING --push drains--> READING_LAST
 *	READING --the time is up--> TIME_UP
 *	READING_AGAIN --something new--> ANSWERED
 *	READING_AGAIN --the time is up--> READING_LAST
 *	READING_LAST --the read has ended--> ANSWERED
 *	TIME_UP --the waiter is back--> READING_LAST
 *	TIME_UP --the read has ended--> READY
 *	WAITING --the time is up--> WITHDRAWN
 *	WITHDRAWN --the waiter is back--> READING_LAST
 *	READY --the waiter is back--> ANSWERED
 *
 * "Push has the waiter": push_wait() has registered the waiter before a read.
 * "It may not wait": poll_start() got no time to wait, or push drains.
 * "Something new" includes that the read failed or the token was revoked.  "The
 * time is up" includes that the client has gone or HTTP begins to drain; it
 * ends READING, READING_AGAIN and WAITING.  Apart from that, each state waits
 * for the following.
 *
 *	NEW            poll_start()
 *	READING        a reader or push, whichever comes first
 *	READING_AGAIN  a reader.  Push has woken the poll during the read, so
 *	               the read may have been too early: if it finds
 *	               nothing new, another read follows
 *	READING_LAST   a reader, whose result is the answer
 *	TIME_UP        a reader, whose result is the answer, and push, which
 *	               must give the waiter back
 *	WAITING        push, which wakes the poll or drains
 *	WITHDRAWN      push, which must give the waiter back.  A last read
 *	               follows
 *	READY          push, which must give the waiter back.  The answer is
 *	               known
 *	ANSWERED       nothing: the poll belongs to the function that answers
 *
 * The waiter is part of the poll, which is freed with its request.  A poll is
 * therefore not answered while push may still use the waiter.
 */
#ifndef REST_POLL_STATE_H
#define REST_POLL_STATE_H

#include <stdbool.h>

/* X(state), in the order of the drawing. */
#define POLL_STATE_TABLE(X)                                                    \
	X(NEW)                                                                 \
	X(READING)                                                             \
	X(READING_AGAIN)                                                       \
	X(READING_LAST)                                                        \
	X(TIME_UP)                                                             \
	X(WAITING)                                                             \
	X(WITHDRAWN)                                                           \
	X(READY)                                                               \
	X(ANSWERED)

enum poll_state {
#define X(state) POLL_##state,
	POLL_STATE_TABLE(X)
#undef X
	    POLL_STATES
};

/* Returns the name of ${state}, as in the table. */
const char *poll_state_name(enum poll_state state);

/* Returns true if a long-poll may go from ${from} to ${to}. */
bool poll_state_allows(enum poll_state from, enum poll_state to);

#endif
