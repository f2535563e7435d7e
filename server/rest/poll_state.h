/* SPDX-License-Identifier: MIT */
/*
 * The states of a long-poll, and the moves between them.  A test compares this
 * drawing with the table below it.
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
 * What each state waits for:
 *
 *	NEW            poll_start()
 *	READING        a reader and push: whichever comes first
 *	READING_AGAIN  a reader.  Push has woken the poll meanwhile: the read
 *	               may have been too early, so if it finds nothing new
 *	               another one follows
 *	READING_LAST   a reader; what it finds is the answer
 *	TIME_UP        a reader, whose result is the answer, and push, which
 *	               was asked for the waiter
 *	WAITING        push: an event, or its end
 *	WITHDRAWN      push, which was asked for the waiter; a last read follows
 *	READY          push, which was asked for the waiter; the answer is there
 *	ANSWERED       nothing: the poll belongs to its answer
 *
 * The waiter is part of the poll.  So no poll is answered, and freed with its
 * request, while push may still touch the waiter.
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

/* The name of ${state}, as in the table. */
const char *poll_state_name(enum poll_state state);

/* Whether a long-poll may go from ${from} to ${to}. */
bool poll_state_allows(enum poll_state from, enum poll_state to);

#endif
