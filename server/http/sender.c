/* SPDX-License-Identifier: MIT */
/*
 * Decides whether the body of a request is read.  The sender's token is checked
 * only when the whole request has arrived; until then the body takes memory.
 * So the function head() of the route's gate judges the sender earlier, by the
 * head of the request.  The body of a user is read.  A stranger, a sender that
 * is certainly not a user, is refused without reading the body.  If the sender
 * may be a user, a body of up to LIMIT_REQUEST_LEN bytes is read; if the body
 * may be larger, the sender is looked up first, and the body is read only if
 * the sender is a user.  A body without Content-Length may be as large as its
 * route allows.  On public routes, and if the gate has no function head(),
 * every body is read.
 */
#include <assert.h>

#include "base/limits.h"
#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "http/request_internal.h"

/* Refuses by authorize(), whose answer names the authentication scheme. */
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

/* Refuses the request of a stranger at once.  Lets every other body be read.
 * But if the sender is unknown and the body may be longer than
 * LIMIT_REQUEST_LEN, sets body.unsure, so that access_body() looks up the
 * sender before it reads the body. */
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

/* Suspends the request while its sender is looked up.  After the look-up
 * libmicrohttpd passes the same piece of the body again, since access_body()
 * has consumed none of it.  Why not suspend in the call of access_handler()
 * with the headers?  libmicrohttpd 0.9.75 then repeats that call, and 1.0 does
 * not. */
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

/* From the call of access_handler() with the headers until the end of the body
 * libmicrohttpd takes no response, so a refusal is written directly to the
 * socket.  access_handler() then ends the connection at the next piece of the
 * body.  If no piece comes, the next conn_check() ends it, because the deadline
 * of the connection is set to now. */
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
	/* The time of the look-up does not count against the client's deadline.
	 */
	req->conn->deadline_ms += loop->now_ms - req->body.checking_ms;
}
