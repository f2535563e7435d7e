/* SPDX-License-Identifier: MIT */
/*
 * A request that waits (long-poll).  It queries; when that finds nothing new it
 * waits to be woken and queries again.  Each round registers with push before
 * it reads, so that nothing falls between.
 */
#ifndef REST_POLL_H
#define REST_POLL_H

#include "push/push.h"
#include "rest/call.h"
#include "rest/poll_state.h"

struct poll {
	struct call call; /* first */
	struct push_waiter waiter;
	bool waits;            /* longer than one read */
	bool drained;          /* push takes no waiter any more */
	bool revoked;          /* the token, while it waited; the reader's */
	enum poll_state state; /* under the lock of the kit */

	/* Queries; whether there is something new.  Called anew each round.
	 * Thread: reader. */
	enum rc (*query)(
	    struct poll *poll, struct db *db, bool *ret_found, struct err *err);
	/* Answers with what was read last.  Thread: any. */
	void (*answer)(struct poll *poll);
	/* Called instead where the token was revoked or a query failed.  NULL:
	 * the request is refused.  Thread: any. */
	void (*give_up)(struct poll *poll);
	struct err err; /* rc not RC_OK: the answer */
};

/* Begins; waiter.user_id, after and outbox, query and answer are set.
 * ${wait_ms} 0: reads once.  May be called again when it has answered, if that
 * was not the end of the request (stream.h). */
void poll_start(struct poll *poll, int64_t wait_ms);

#endif
