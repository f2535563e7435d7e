/* SPDX-License-Identifier: MIT */
/*
 * Cursors of an inbox: reads them from a request, or sets the place where a
 * request without a cursor begins, and checks them against the epoch with which
 * this node runs (a name that changes when the database may have lost commits)
 * and the counters of the inbox (its head and its oldest event).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/inbox_cursor.h"
#include "store/account.h"
#include "store/conversation.h"

bool
inbox_cursor_parse(struct call *call, const char *what, const char *text,
    struct inbox_cursor *c)
{
	char epoch[40];
	bool own;

	if (text == NULL)
		return (true);
	if (!wire_cursor_parse(text, strlen(text), epoch, &c->after)) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "%s must be a cursor: a seq, or epoch:seq", what);
		return (false);
	}
	c->given = true;
	own = strcmp(epoch, api_of(call)->o.epoch) == 0;
	c->own_epoch |= own;
	c->foreign_epoch |= epoch[0] != '\0' && !own;
	return (true);
}

static void
refuse_cursor(const struct call *call, struct inbox_cursor *c, const char *why)
{
	struct refusal *r = &c->refusal;

	refusal_set(r, PROBLEM_CURSOR_EXPIRED, "", "%s", why);
	r->head = c->counter.head;
	r->oldest = c->counter.oldest;
	(void)snprintf(r->epoch, sizeof(r->epoch), "%s", api_of(call)->o.epoch);
}

/* Checks the cursor ${c} against this node's epoch, and against the head and
 * the oldest event of the inbox (${c}->counter), which were read in the same
 * snapshot as the events.  If the cursor is refused, sets ${c}->refusal to
 * PROBLEM_CURSOR_EXPIRED.  ${shared}: several nodes may use the database, so a
 * cursor beyond the head that names this node's epoch is refused with
 * PROBLEM_BUSY instead: this node may not see the newest events yet.  A cursor
 * beyond the head that is only a seq gets PROBLEM_CURSOR_EXPIRED even then. */
static void
check(const struct call *call, struct inbox_cursor *c, bool shared)
{

	if (shared && c->own_epoch && c->after > c->counter.head)
		/* Another node may have given the cursor to the client: after a
		 * failover of the database this node may still read from the
		 * old leader until its next heartbeat.  So let the client try
		 * again with the same cursor. */
		refusal_set(&c->refusal, PROBLEM_BUSY, "",
		    "this node does not see the event of the cursor yet; it "
		    "sees %" PRId64,
		    c->counter.head);
	else if (c->foreign_epoch)
		refuse_cursor(call, c,
		    "the cursor is of another epoch: this "
		    "database was made anew or restored");
	else if (c->after > c->counter.head)
		refuse_cursor(call, c, "the cursor lies beyond the head");
	else if (c->after < c->counter.oldest - 1)
		refuse_cursor(call, c,
		    "the events after this cursor are not kept "
		    "any more");
}

static enum rc
read_counter(
    struct call *call, struct db *db, struct inbox_cursor *c, struct err *err)
{

	return (
	    store_counter_get(db, call->principal->user_id, &c->counter, err));
}

static enum rc
inbox_missing(struct err *err)
{

	return (err_set(err, RC_INTERNAL, "an inbox is missing"));
}

enum rc
inbox_cursor_read(
    struct call *call, struct db *db, struct inbox_cursor *c, struct err *err)
{
	const struct principal *principal = call->principal;
	enum rc rc;

	rc = read_counter(call, db, c, err);
	if (rc == RC_OK)
		rc = store_device_acked_get(
		    db, principal->device_id, &c->acked, err);
	if (rc == RC_OK)
		rc =
		    store_unread_total(db, principal->user_id, &c->unread, err);
	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? inbox_missing(err) : rc);
	if (!c->given && c->after < c->acked)
		c->after = c->acked;
	if (!c->given && c->after < c->counter.oldest - 1)
		c->after = c->counter.oldest - 1;
	check(call, c, db_multi_writer(db));
	return (RC_OK);
}

enum rc
inbox_cursor_check(
    struct call *call, struct db *db, struct inbox_cursor *c, struct err *err)
{
	enum rc rc = read_counter(call, db, c, err);

	if (rc != RC_OK)
		return (rc == RC_NOT_FOUND ? inbox_missing(err) : rc);
	check(call, c, db_multi_writer(db));
	return (RC_OK);
}
