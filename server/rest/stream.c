/* SPDX-License-Identifier: MIT */
/*
 * Streams (Server-Sent Events): the check whether a request asks for a stream,
 * the limit on the open streams of each device, and the step from one piece of
 * an answer to the next.
 */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/htab.h"
#include "base/limits.h"
#include "log/log.h"
#include "rest/rest_internal.h"
#include "rest/stream.h"

/* The header Retry-After, in seconds, of the 429 for a device that has too many
 * streams. */
#define FULL_RETRY_S 5

/* ---- requests for a stream ---- */

/* Returns true if one of the parameters of a media range is the weight 0, such
 * as q=0 or q=0.000 (RFC 9110, section 12.4.2).  ${p}: the ${n} characters
 * behind the type, which a comma or the end of the string follows. */
static bool
is_refused(const char *p, size_t n)
{
	const char *end = p + n;

	while ((p = memchr(p, ';', (size_t)(end - p))) != NULL) {
		p++;
		p += strspn(p, " \t");
		if (strncasecmp(p, "q=0", 3) == 0)
			return (strspn(p + 2, "0.") == strcspn(p + 2, " \t,;"));
	}
	return (false);
}

bool
stream_is_wanted(const char *accept)
{
	size_t item, name;

	for (; accept != NULL && *accept != '\0'; accept += item) {
		accept += strspn(accept, ", \t");
		item = strcspn(accept, ",");
		name = strcspn(accept, ";, \t");
		if (name == strlen(STREAM_TYPE) &&
		    strncasecmp(accept, STREAM_TYPE, name) == 0)
			return (!is_refused(accept + name, item - name));
	}
	return (false);
}

/* ---- the streams of a device ---- */

/* Under the lock.  The table stores each count itself where a pointer would be.
 */
static enum rc
count_one_more(struct rest *rest, int64_t device_id)
{
	const uintptr_t n = (uintptr_t)htab_find(rest->streams, &device_id);

	if (n >= LIMIT_STREAMS_PER_DEVICE)
		return (RC_LIMIT);
	return (htab_set(rest->streams, &device_id, (void *)(n + 1)));
}

static void
count_one_less(void *arg)
{
	struct stream *s = arg;
	struct rest *rest = s->poll.call.rest;
	const int64_t device_id = s->poll.waiter.device_id;
	uintptr_t n;

	lock_take(&rest->poll_lock);
	n = (uintptr_t)htab_find(rest->streams, &device_id);
	/* htab_set() needs no memory for a key that is in the table. */
	if (n > 1)
		(void)!htab_set(rest->streams, &device_id, (void *)(n - 1));
	else
		(void)htab_remove(rest->streams, &device_id);
	lock_drop(&rest->poll_lock);
}

bool
stream_admit(struct stream *s)
{
	struct call *call = &s->poll.call;
	struct refusal r = REFUSAL_INIT;
	struct rest *rest = call->rest;
	enum rc rc;

	/* Copy the device's id: count_one_less() needs it while the request is
	 * freed, and the principal may be freed before that. */
	s->poll.waiter.device_id = call->principal->device_id;
	lock_take(&rest->poll_lock);
	rc = count_one_more(rest, s->poll.waiter.device_id);
	lock_drop(&rest->poll_lock);
	if (rc == RC_OK &&
	    (rc = http_on_free(call->req, count_one_less, s)) != RC_OK)
		count_one_less(s);
	if (rc == RC_OK)
		return (true);
	if (rc == RC_LIMIT) {
		refusal_set(&r, PROBLEM_RATE_LIMITED, "",
		    "this device has %d streams open, and may have no more",
		    LIMIT_STREAMS_PER_DEVICE);
		r.retry_after_s = FULL_RETRY_S;
	} else {
		refusal_set(&r, PROBLEM_BUSY, "", "out of memory");
	}
	call_refuse(call, &r);
	return (false);
}

/* ---- from one piece to the next ---- */

/* Ends the stream.  Once the answer has begun, the poll calls this function in
 * place of poll.answer if the token was revoked, or if a query failed or could
 * not run: it is too late for a refusal.  Logs the error if a refusal would
 * have had the status 500. */
static void
give_up(struct poll *poll)
{
	struct stream *s = CONTAINER_OF(poll, struct stream, poll);
	enum stream_end why = STREAM_BUSY;

	if (poll->revoked) {
		why = STREAM_REVOKED;
	} else if (poll->err.rc == RC_AWAY) {
		why = STREAM_AWAY;
	} else if (problem_status(problem_of_rc(poll->err.rc)) == 500) {
		call_log_failed(&poll->call, &poll->err);
		why = STREAM_FAILED;
	}
	s->end(s, why);
}

/* Begins the poll for the next piece, or ends the stream if the server is
 * stopping.  Called when a piece has gone out.  While a piece is being sent,
 * rest->busy does not count the request, so this function counts it again.
 * Thread: the http loop's. */
static void
want_piece(struct http_request *req, void *arg)
{
	struct stream *s = arg;
	struct rest *rest = s->poll.call.rest;

	(void)req;
	/* Count first, then check stopped, as in rest_enter(). */
	atomic_fetch_add(&rest->busy, 1);
	if (atomic_load(&rest->stopped))
		s->end(s, STREAM_STOPPING);
	else
		poll_start(&s->poll, rest->o.timing->rest_stream_quiet_ms);
}

void
stream_start(struct stream *s)
{

	poll_start(&s->poll, 0);
}

void
stream_piece(struct stream *s, enum http_piece kind, struct buf *piece)
{
	struct call *call = &s->poll.call;
	struct rest *rest = call->rest;

	if (s->begun) {
		http_answer_piece(call->req, kind, piece);
	} else {
		s->begun = true;
		s->poll.give_up = give_up;
		http_answer_pieces(
		    call->req, STREAM_TYPE, piece, want_piece, s);
	}
	rest_leave(rest);
}
