/* SPDX-License-Identifier: MIT */
/*
 * A request that waits (long-poll).  It runs its query; if the query finds
 * nothing new, it waits to be woken and runs the query again, until its time is
 * up.  Each round registers with push before it reads, so that no event is
 * missed between the two.
 */
#ifndef REST_POLL_H
#define REST_POLL_H

#include "push/push.h"
#include "rest/call.h"
#include "rest/poll_state.h"

struct poll {
	struct call call; /* first */
	struct push_waiter waiter;
	bool waits;   /* it may wait after the first read */
	bool drained; /* push no longer takes waiters */
	bool revoked; /* the token was revoked; only the reader sets it */
	enum poll_state state; /* under rest->poll_lock */

	/* Queries the store, and sets *ret_found if there is something new.
	 * Called for each read of the poll.  Thread: reader. */
	enum rc (*query)(
	    struct poll *poll, struct db *db, bool *ret_found, struct err *err);
	/* Answers with the result of the last query.  Thread: any. */
	void (*answer)(struct poll *poll);
	/* Called instead of answer if the token was revoked or a query failed.
	 * NULL: the request is answered with a refusal or the error.  Thread:
	 * any. */
	void (*give_up)(struct poll *poll);
	struct err err; /* set if a query failed; then it is the answer */
};

/* Starts a long-poll, which waits for at most ${wait_ms}; 0: it only reads
 * once.  Before the call the caller sets query and answer, and user_id, after
 * and outbox of waiter.  May be called again after an answer that was not the
 * end of the request (stream.h).  Thread: the one that handles the request, or
 * in ${more} of http_answer_pieces() the loop's. */
void poll_start(struct poll *poll, int64_t wait_ms);

#endif
