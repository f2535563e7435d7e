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

/* All flags are under one lock of the kit. */
struct poll {
	struct call call; /* first */
	struct push_waiter waiter;
	bool waits;      /* longer than one read */
	bool registered; /* push has the waiter */
	bool canceled;   /* … and was asked to give it back */
	bool reading;    /* a reader has the job */
	bool woken;      /* push said so while reading */
	bool revoked;    /* the token, while it waited */
	bool expired;    /* what the next read gives is the answer */
	bool ready;      /* answer() as soon as the waiter is back */

	/* Queries; whether there is something new.  Called anew each round.
	 * Thread: reader. */
	enum rc (*query)(
	    struct poll *poll, struct db *db, bool *ret_found, struct err *err);
	/* Answers with what was read last.  Thread: any. */
	void (*answer)(struct poll *poll);
	struct err err; /* rc not RC_OK: the answer */
};

/* Begins; waiter.user_id, after and outbox, query and answer are set.
 * ${wait_s} 0: reads once. */
void poll_start(struct poll *poll, int64_t wait_s);

#endif
