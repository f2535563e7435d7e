/* SPDX-License-Identifier: MIT */
/*
 * The callbacks of libmicrohttpd.  It calls them in the loop's thread, for each
 * request in this order:
 *
 *  1. request_line()
 *  2. access_handler() with the headers
 *  3. access_handler() for each piece of the body; if the sender must be looked
 *     up first, the first of these calls only suspends the connection, and
 *     libmicrohttpd passes the same piece again after the look-up
 *  4. access_handler() at the end of the request, which answers a refused
 *     request, OPTIONS or a redirect by itself, and else calls authorize() or,
 *     on a public route or without authorize(), the handler; it suspends the
 *     connection if there is no answer yet
 *  5. access_handler() once more when the answer is there, if step 4 has
 *     suspended the connection
 *  6. request_completed()
 *
 * If the connection ends early, for example because step 2 or 3 refuses the
 * request and closes the connection, step 6 follows next.  libmicrohttpd 0.9.75
 * leaves out step 6 after a second fault in a head; drop_request_of() then ends
 * the request.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "http/answer_internal.h"
#include "http/head_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"

/* ---- the beginning of a request ---- */

static struct conn *
conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info;

	info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return (info == NULL ? NULL : info->socket_context);
}

/* Writes a NUL behind the "?" of ${target}, which is in libmicrohttpd's own
 * buffer, so that the library finds no query there.  The request has its own
 * copy of the query (target_read()).  libmicrohttpd 0.9.7x, the only version
 * for which this function is called, parses in place: after request_line() it
 * would split the query and keep a record for each parameter.  Thousands of
 * parameters would use up the connection's memory, and the library would close
 * the connection without an answer. */
static void
hide_query(const char *target)
{
	char *query = (char *)(uintptr_t)strchr(target, '?');

	if (query != NULL && query[1] != '\0')
		query[1] = '\0';
}

static void *
request_line(void *arg, const char *target, struct MHD_Connection *mhd)
{
	struct loop *loop = arg;
	struct conn *conn = conn_of(mhd);
	struct http_request *req;

	if (conn == NULL || (req = request_new(loop, conn, mhd)) == NULL)
		return (NULL);
	conn->requests++;
	if (conn->phase == CONN_IDLE && !conn->partial)
		conn->deadline_ms =
		    loop->now_ms + loop->http->options.request_deadline_ms;
	conn->phase = CONN_RECEIVING;
	conn->partial = false;
	target_read(req, target == NULL ? "" : target);
	if (loop->http->layout_known)
		hide_query(target == NULL ? "" : target);
	return (req);
}

/* Returns true if this request belongs to the WebSocket side: it is a GET of
 * upgrade_path or, from the second request of a connection on, has any path and
 * the header "Upgrade: websocket".  The front has missed it: the front peeks
 * only at the first request line of a connection, and waits for at most
 * PEEK_LEN bytes of that line.  access_head() then closes the connection
 * without an answer, so that a proxy repeats the request on a new one. */
static bool
is_stray_upgrade(const struct http_request *req)
{
	const char *path = req->http->options.upgrade_path;

	if (req->head.method == METHOD_GET && path != NULL &&
	    req->head.path_raw != NULL && strcmp(req->head.path_raw, path) == 0)
		return (true);
	return (req->conn->requests > 1 &&
		validator_list_has(req->head.known.upgrade, "websocket"));
}

/* Returns the longest body, in bytes, of a route with ${flags}.  The small
 * limit of HTTP_PUBLIC applies only if neither HTTP_PEER_BODY nor
 * HTTP_FULL_BODY is set.  Reason: while a node waits for its database,
 * main/room.c makes each route public, and answers 503, after which a peer or a
 * client repeats its message; after "body too large" the peer or client would
 * give up the message. */
static size_t
body_limit(unsigned flags)
{

	if ((flags & HTTP_PEER_BODY) != 0)
		return (LIMIT_PEER_REQUEST_LEN);
	if ((flags & (HTTP_PUBLIC | HTTP_FULL_BODY)) == HTTP_PUBLIC)
		return (LIMIT_PUBLIC_REQUEST_LEN);
	return ((flags & HTTP_LARGE_BODY) != 0 ? LIMIT_ARRAY_REQUEST_LEN
					       : LIMIT_REQUEST_LEN);
}

/* Looks up the path of ${req}, which ends with a slash, without this slash.  If
 * the path without it has a route for the method with the flag HTTP_SLASH, sets
 * head.pattern and head.elsewhere, by which dispatch() later answers with a
 * redirect.  Otherwise changes nothing, and the caller refuses the request as
 * not found. */
static void
find_without_slash(struct http_request *req)
{
	const struct pattern *pattern;
	const struct http_route *route;

	pattern = router_find(
	    req->http->router, req->head.segment, req->head.slashed);
	route = pattern != NULL ? pattern->route[req->head.method] : NULL;
	if (route == NULL || (route->flags & HTTP_SLASH) == 0)
		return;
	req->head.pattern = pattern;
	req->head.elsewhere = true;
}

/* Sets head.pattern, head.route and body.limit of ${req}.  Marks the request as
 * refused (request_refuse()) if the path is unknown or has no route for the
 * method, if the route takes no body and there is one, or if the route does not
 * take the Content-Type of the body.  For OPTIONS it is enough that the path
 * exists; head.route is then NULL. */
static void
request_route(struct http_request *req)
{

	if (req->head.segments >= 0)
		req->head.pattern = router_find(
		    req->http->router, req->head.segment, req->head.segments);
	else if (req->head.slashed > 0)
		find_without_slash(req);
	if (req->head.pattern == NULL) {
		request_refuse(req, PROBLEM_NOT_FOUND, "there is no %.150s",
		    req->head.path_raw == NULL ? "" : req->head.path_raw);
		return;
	}
	req->head.route = req->head.pattern->route[req->head.method];
	if (req->head.route == NULL) {
		if (req->head.method != METHOD_OPTIONS)
			request_refuse(req, PROBLEM_METHOD_NOT_ALLOWED,
			    "this path takes %s", req->head.pattern->allow);
		return;
	}
	req->body.limit = body_limit(req->head.route->flags);
	if (!req->body.present)
		return;
	if ((req->head.route->flags & HTTP_NO_BODY) != 0)
		request_refuse(
		    req, PROBLEM_BAD_REQUEST, "this route takes no body");
	else if ((req->head.route->flags & HTTP_ANY_BODY) == 0 &&
		 !validator_media_ok(req->head.known.content_type,
		     (req->head.route->flags & HTTP_TEXT_BODY) != 0))
		request_refuse(req, PROBLEM_UNSUPPORTED_MEDIA,
		    "the Content-Type must be %s",
		    (req->head.route->flags & HTTP_TEXT_BODY) != 0
			? "text or JSON in UTF-8"
			: "application/json");
}

/* Marks ${req} as refused (413) because its body is longer than body.limit, and
 * sets answer.close.  On routes that take messages the detail also has the
 * limit for the text of one message (LIMIT_BODY_LEN), which is lower: a client
 * that shortens the text only until the body fits would be refused again. */
static void
body_too_large(struct http_request *req)
{
	const unsigned messages = HTTP_TEXT_BODY | HTTP_LARGE_BODY;
	const struct http_route *route = req->head.route;
	char text[80] = "";

	if (route != NULL && (route->flags & messages) != 0)
		(void)snprintf(text, sizeof(text),
		    "; the text of a message has at most %d", LIMIT_BODY_LEN);
	request_refuse(req, PROBLEM_BODY_TOO_LARGE,
	    "the request is longer than %zu bytes, the most that this route "
	    "accepts%s",
	    req->body.limit, text);
	req->answer.close = true;
}

/* Marks ${req} as refused, before any of the body is read, if its
 * Content-Length exceeds body.limit; otherwise sets body.announced to the
 * Content-Length.  Does nothing without a Content-Length, without a body, or if
 * ${req} has been refused already.  validator_check() has made sure that the
 * Content-Length has only digits. */
static void
check_length(struct http_request *req)
{
	const char *text = req->head.known.content_length;

	if (req->answer.refused || !req->body.present || text == NULL)
		return;
	if (strlen(text) > 18 || strtoull(text, NULL, 10) > req->body.limit)
		body_too_large(req);
	else
		req->body.announced = strtoull(text, NULL, 10);
}

/* Handles the call of access_handler() with the headers: checks them, finds the
 * route, and decides whether the body is read (sender_check()).  Closes the
 * connection without an answer if the request belongs to the WebSocket side
 * (is_stray_upgrade()).  A refused request that has a body, or for which
 * answer.close is set, gets the refusal at once, and its connection is closed.
 * Any other refused request gets the refusal from dispatch() at the end of the
 * request, so that the connection can be kept. */
static enum MHD_Result
access_head(struct http_request *req, const char *method, const char *version)
{
	struct http *http = req->http;

	req->phase = REQUEST_BODY;
	req->account.counted = true;
	atomic_fetch_add(&http->pending, 1);
	atomic_fetch_add(&http->begun, 1);
	validator_check(req, method, version);
	request_id_set(req);
	if (!req->answer.close && is_stray_upgrade(req)) {
		req->stray = true;
		return (MHD_NO);
	}
	if (req->answer.refused) {
		req->answer.close = true; /* malformed: do not route it */
	} else if (atomic_load(&http->refusing)) {
		request_refuse(
		    req, PROBLEM_DRAINING, "this server takes no more");
		req->answer.close = true;
	} else if (req->answer.no_memory) {
		request_refuse(req, PROBLEM_BUSY, "out of memory");
		req->answer.close = true;
	} else {
		request_route(req);
	}
	if (req->answer.refusal.problem == PROBLEM_METHOD_NOT_ALLOWED)
		http_answer_header(req, "Allow", req->head.pattern->allow);
	check_length(req);
	if (req->answer.refused && (req->answer.close || req->body.present)) {
		req->answer.close = true;
		return (answer_refuse_now(req));
	}
	return (sender_check(req));
}

/* Appends a piece to the body, and then passes it to the function piece of the
 * route's gate (struct http_gate), if the gate has one.  If the piece cannot be
 * appended, returns the error of request_body_add() and does not call piece. */
static enum rc
keep_piece(struct http_request *req, const char *data, size_t n)
{
	const struct http_gate *gate;
	enum rc rc;

	if ((rc = request_body_add(req, data, n)) != RC_OK)
		return (rc);
	gate = request_gate(req);
	if (gate->piece != NULL)
		gate->piece(req, data, n, gate->arg);
	return (RC_OK);
}

/* Appends a piece to the body.  If body.unsure is set, which is possible only
 * at the first piece, starts the look-up of the request's sender instead and
 * consumes nothing: libmicrohttpd passes the same piece again after the
 * look-up.  If appending or starting the look-up fails, refuses the request and
 * ends the connection; the refusal is written directly to the socket, because
 * libmicrohttpd takes no response while a body arrives. */
static enum MHD_Result
access_body(struct http_request *req, const char *data, size_t *size)
{
	enum rc rc;

	if (req->body.unsure) {
		if ((rc = sender_look_up(req)) == RC_OK)
			return (MHD_YES);
	} else {
		rc = keep_piece(req, data, *size);
	}
	*size = 0;
	if (rc == RC_OK)
		return (MHD_YES);
	if (rc == RC_LIMIT)
		body_too_large(req);
	else
		request_refuse(req, problem_of_rc(rc), "%s",
		    rc == RC_BUSY ? "too many large requests are under way; "
				    "repeat with the same id"
				  : rc_text(rc));
	answer_refuse_raw(req);
	return (MHD_NO);
}

/* ---- the whole request ---- */

/* Redirects from "NAME/" to the route itself, with the query.  Location is
 * relative ("../NAME"), because a proxy may serve the route below another path.
 * It is made from the route and not from the client's path, which could lead to
 * another host ("//host/"). */
static void
answer_elsewhere(struct http_request *req)
{
	const char *name = strrchr(req->head.route->path, '/') + 1;
	const char *query = strchrnul(req->head.target, '?');
	struct buf b = BUF_INIT;

	buf_addf(&b, "../%s%s", name, query);
	buf_addc(&b, '\0');
	if (buf_ok(&b)) {
		http_answer_header(req, "Location", b.data);
		http_answer(req, 308, NULL, NULL);
	} else {
		request_refuse(req, PROBLEM_BUSY, "out of memory");
		http_answer_refusal(req, &req->answer.refusal);
	}
	buf_fini(&b);
}

static void
dispatch(struct http_request *req)
{
	const struct http_gate *gate;

	if (req->answer.refused) {
		http_answer_refusal(req, &req->answer.refusal);
		return;
	}
	if (req->head.route == NULL) {
		http_answer_header(req, "Allow", req->head.pattern->allow);
		http_answer(req, 204, NULL, NULL);
		return;
	}
	if (req->head.elsewhere) {
		answer_elsewhere(req);
		return;
	}
	gate = request_gate(req);
	if ((req->head.route->flags & HTTP_PUBLIC) == 0 &&
	    gate->authorize != NULL)
		gate->authorize(req, gate->arg);
	else
		req->head.route->handler(req, gate->arg);
}

static enum MHD_Result
access_end(struct http_request *req)
{

	req->phase = REQUEST_HANDLING;
	req->conn->phase = CONN_HANDLING;
	req->dispatching = true;
	dispatch(req);
	req->dispatching = false;
	if (req->phase == REQUEST_ANSWERED) {
		loop_timer_cancel(req->loop, req);
		return (answer_queue(req));
	}
	/* Another thread may have put the answer into the mailbox already.
	 * Only this thread takes it out, and only after it has suspended the
	 * connection. */
	req->suspended = true;
	MHD_suspend_connection(req->mhd);
	return (MHD_YES);
}

static enum MHD_Result
access_handler(void *arg, struct MHD_Connection *mhd, const char *url,
    const char *method, const char *version, const char *data, size_t *size,
    void **context)
{
	struct http_request *req = *context;

	(void)arg;
	(void)mhd;
	(void)url;
	if (req == NULL)
		return (MHD_NO); /* request_line() had no memory */
	assert(req->magic == REQUEST_MAGIC);
	switch (req->phase) {
	case REQUEST_NEW:
		return (access_head(req, method, version));
	case REQUEST_BODY:
		if (*size > 0)
			return (access_body(req, data, size));
		return (access_end(req));
	case REQUEST_ANSWERED:
		return (answer_queue(req));
	case REQUEST_CHECKING:
	case REQUEST_HANDLING:
	case REQUEST_QUEUED:
	default:
		return (MHD_NO);
	}
}

/* ---- the end of a request ---- */

static void
log_request(const struct http_request *req)
{

	if (!log_enabled(LVL_DEBUG))
		return;
	log_event(
	    req->answer.refused ? LOG_EV_HTTP_REFUSED : LOG_EV_HTTP_REQUEST,
	    "request=%s peer=%s method=%s path=%s status=%d ms=%lld",
	    req->head.id, http_peer(req), req->head.method_name,
	    req->head.path_raw == NULL ? "" : req->head.path_raw,
	    req->answer.status,
	    (long long)(req->loop->now_ms - req->account.start_ms));
}

/* Counts the answer of ${req} in the metrics, and logs it at level debug.
 * Called once, at the end of each request whose answer was handed to
 * libmicrohttpd or written to the socket (REQUEST_QUEUED).  Not counted here
 * are requests that ended without an answer, the answers that libmicrohttpd
 * makes by itself, and the refusals of the front. */
static void
count_answer(const struct http_request *req)
{
	struct metrics *metrics = req->http->options.metrics;

	metrics_add(metrics, METRIC_HTTP_REQUESTS, 1);
	if (req->answer.refused)
		metrics_add(metrics, METRIC_HTTP_REFUSED, 1);
	log_request(req);
}

/* Ends ${req}, whether or not it was answered.  Its connection is idle again.
 */
static void
request_over(struct http_request *req)
{
	struct loop *loop = req->loop;

	req->conn->phase = CONN_IDLE;
	req->conn->idle_since_ms = loop->now_ms;
	req->conn->deadline_ms =
	    loop->now_ms + loop->http->options.idle_deadline_ms;
	loop_timer_cancel(loop, req);
	if (req->account.counted)
		atomic_fetch_sub(&loop->http->pending, 1);
	request_free(req);
}

static void
request_completed(void *arg, struct MHD_Connection *mhd, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct http_request *req = *context;
	struct loop *loop = arg;

	(void)mhd;
	if (req == NULL)
		return;
	*context = NULL;
	/* The client closed its writing side while the request waited.
	 * libmicrohttpd gives up such connections, but the client may still
	 * read: write the answer to the socket. */
	if (req->phase == REQUEST_ANSWERED &&
	    code == MHD_REQUEST_TERMINATED_WITH_ERROR)
		answer_raw(req);
	if (req->stray)
		metrics_add(loop->http->options.metrics, METRIC_HTTP_STRAY, 1);
	if (req->phase == REQUEST_QUEUED)
		count_answer(req);
	request_over(req);
}

/* ---- connections ---- */

/* Ends the request of ${conn}, a closed connection, if request_completed() has
 * not ended it.  libmicrohttpd 0.9.75 closes a connection without calling
 * request_completed() when it finds a second fault in a head. */
static void
drop_request_of(struct loop *loop, const struct conn *conn)
{
	struct http_request *req = loop->requests;

	while (req != NULL && req->conn != conn)
		req = req->next;
	if (req == NULL)
		return;
	if (req->phase == REQUEST_QUEUED)
		count_answer(req);
	request_over(req);
}

static void
notify_connection(void *arg, struct MHD_Connection *mhd, void **context,
    enum MHD_ConnectionNotificationCode what)
{
	struct loop *loop = arg;
	struct conn *conn;

	(void)mhd;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = loop->adding;
		loop->adding = NULL;
		return;
	}
	if ((conn = *context) == NULL)
		return;
	*context = NULL;
	if (conn->phase != CONN_IDLE)
		drop_request_of(loop, conn);
	conn_list_remove(&loop->conns, conn);
	atomic_fetch_sub(&loop->connections, 1);
	conn_free(conn);
}

/* ---- starting ---- */

/* Leaves percent-encoding as it is: target.c decodes it. */
static size_t
unescape_nothing(void *arg, struct MHD_Connection *mhd, char *s)
{

	(void)arg;
	(void)mhd;
	return (strlen(s));
}

/* Makes the 503 that a loop sends later whenever there is no memory for an
 * answer.  Called when the loop is initialized; loop_fini() destroys the
 * response.  Returns NULL if there is no memory for it. */
static struct MHD_Response *
no_memory_response(void)
{
	static char text[] = NO_MEMORY_PROBLEM "\n";
	struct MHD_Response *response;

	response = MHD_create_response_from_buffer(
	    sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return (NULL);
	if (MHD_add_response_header(response, "Content-Type",
		"application/problem+json") != MHD_YES ||
	    MHD_add_response_header(response, "Retry-After", "1") != MHD_YES ||
	    MHD_add_response_header(
		response, "X-Content-Type-Options", "nosniff") != MHD_YES ||
	    MHD_add_response_header(response, "Cache-Control", "no-store") !=
		MHD_YES) {
		MHD_destroy_response(response);
		return (NULL);
	}
	return (response);
}

/* MHD_OPTION_STRICT_FOR_CLIENT is 0 because the request validator (validator.c)
 * does the strict checks.  With the option at 1, libmicrohttpd closes the
 * connection of a malformed request without an answer, or sends the head of its
 * answer twice. */
enum rc
daemon_start(struct loop *loop, struct err *err)
{
	const unsigned flags =
	    (unsigned)MHD_USE_EPOLL | (unsigned)MHD_USE_NO_LISTEN_SOCKET |
	    (unsigned)MHD_ALLOW_SUSPEND_RESUME | (unsigned)MHD_USE_ERROR_LOG;
	const unsigned limit =
	    (unsigned)(loop->http->options.connection_limit + 16);

	if ((loop->no_memory = no_memory_response()) == NULL)
		return (err_set(err, RC_NO_MEMORY, "libmicrohttpd"));
	loop->daemon = MHD_start_daemon(flags, 0, NULL, NULL, access_handler,
	    loop, MHD_OPTION_EXTERNAL_LOGGER, library_log, loop,
	    MHD_OPTION_NOTIFY_CONNECTION, notify_connection, loop,
	    MHD_OPTION_NOTIFY_COMPLETED, request_completed, loop,
	    MHD_OPTION_URI_LOG_CALLBACK, request_line, loop,
	    MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, loop,
	    MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_CONNECTION_LIMIT, limit,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
	    MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_END);
	if (loop->daemon == NULL)
		return (err_set(err, RC_INTERNAL,
		    "libmicrohttpd refuses to "
		    "start"));
	return (RC_OK);
}
