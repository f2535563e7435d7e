/* SPDX-License-Identifier: MIT */
/*
 * A request that waits (long-poll).  It runs its query; if the query finds
 * nothing new, it waits until push wakes it, and runs the query again.  When
 * its time is up, the client has gone or the server is stopping, it is answered
 * with the result of a last query, which may have found nothing.  Each round
 * registers a waiter with push before it reads: so an event that the read does
 * not see wakes the poll.
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

	/* Queries the store, and sets *ret_found, which is false before the
	 * call, to true if there is something new.  Called for each read of the
	 * poll, unless rest_still_admitted() has failed (the token was revoked,
	 * say) or the reader cannot read the database.  An error ends the poll.
	 * Thread: reader. */
	enum rc (*query)(
	    struct poll *poll, struct db *db, bool *ret_found, struct err *err);
	/* Answers with the result of the last query.  Thread: any. */
	void (*answer)(struct poll *poll);
	/* Called instead of answer, and must answer, if the token was revoked,
	 * or if a query or the check of the token failed or could not run.
	 * NULL: poll.c answers then, with 401 if the token was revoked, else
	 * with err.  Thread: any. */
	void (*give_up)(struct poll *poll);
	struct err err; /* set if a query failed; then it is the answer */
};

/* Starts a long-poll, which waits for at most ${wait_ms}; 0: it only reads
 * once.  The caller has made ${poll} with call_new(), for a request with a
 * valid token, and has set query, answer, waiter.user_id, waiter.after and
 * waiter.outbox.  When poll_start() returns, the request may be answered and
 * freed.  A stream calls poll_start() again for each piece of its answer
 * (stream.h).  Thread: the one that handles the request; for each later piece
 * of a stream, the http loop's. */
void poll_start(struct poll *poll, int64_t wait_ms);

#endif
