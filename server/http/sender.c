/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a body is read.  A body costs memory before the token of its
 * sender has been checked, so the head decides: a stranger's body is not read,
 * a user's is.  Of a sender that may be a user only as much is read as every
 * user may send; for more the sender is looked up first.
 */
#include <assert.h>

#include "base/limits.h"
#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "http/request_internal.h"

/* Refuses in the words of authorize(), which knows the scheme. */
static enum MHD_Result
refuse_stranger(struct http_request *req)
{
	const struct http_gate *gate = request_gate(req);

	req->answer.close = true;
	linger_start(req->loop, req->conn->fd);
	req->dispatching = true;
	gate->authorize(req, gate->arg);
	req->dispatching = false;
	assert(req->phase == REQUEST_ANSWERED);
	return (answer_queue(req));
}

/* Decides from the head whether the body is read at all: a stranger's is not,
 * and a large one only if its sender is a user. */
enum MHD_Result
sender_check(struct http_request *req)
{
	const struct http_gate *gate;

	if (req->answer.refused || !req->body.present ||
	    req->head.route == NULL ||
	    (req->head.route->flags & HTTP_PUBLIC) != 0)
		return (MHD_YES);
	gate = request_gate(req);
	if (gate->head == NULL)
		return (MHD_YES);
	switch (gate->head(req, gate->arg)) {
	case HTTP_SENDER_KNOWN:
		return (MHD_YES);
	case HTTP_SENDER_STRANGER:
		return (refuse_stranger(req));
	case HTTP_SENDER_UNKNOWN:
	default:
		if (req->body.limit <= LIMIT_REQUEST_LEN ||
		    (req->body.announced != 0 &&
			req->body.announced <= LIMIT_REQUEST_LEN))
			return (MHD_YES);
		req->body.unsure = true;
		return (MHD_YES);
	}
}

/* Suspends the request while its sender is looked up.  libmicrohttpd comes with
 * the same piece of the body again, since nothing of it was taken.  (Suspended
 * in the call with the headers, 0.9.75 repeats that call, and 1.0 does not.) */
enum rc
sender_look_up(struct http_request *req)
{
	const struct http_gate *gate = request_gate(req);
	enum rc rc;

	req->body.unsure = false;
	rc = gate->lookup(req, gate->arg);
	if (rc != RC_OK)
		return (rc);
	req->phase = REQUEST_CHECKING;
	req->body.checking_ms = req->loop->now_ms;
	req->conn->phase = CONN_HANDLING;
	req->suspended = true;
	MHD_suspend_connection(req->mhd);
	return (RC_OK);
}

void
http_sender_found(struct http_request *req, const struct refusal *r)
{

	assert(req->magic == REQUEST_MAGIC);
	if (r != NULL) {
		req->answer.refusal = *r;
		req->answer.refused = req->answer.close = true;
	}
	answer_deliver(req);
}

/* Its sender has been looked up: the body is read, or the request refused.
 * libmicrohttpd takes no answer before the end of the body: the refusal goes
 * out past it, and the connection ends at its next look. */
void
sender_go_on(struct http_request *req)
{
	struct loop *loop = req->loop;

	if (req->answer.refused) {
		answer_refuse_raw(req);
		req->conn->phase = CONN_SENDING;
		req->conn->deadline_ms = loop->now_ms;
		return;
	}
	req->phase = REQUEST_BODY;
	req->conn->phase = CONN_RECEIVING;
	/* The time of the look-up is not the client's. */
	req->conn->deadline_ms += loop->now_ms - req->body.checking_ms;
}
