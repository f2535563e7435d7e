/* SPDX-License-Identifier: MIT */
/*
 * The callbacks of libmicrohttpd.  For each request it calls, in the loop's
 * thread: request_line(), then access() with the headers, then access() for
 * each piece of the body, then access() at the end, where the handler is
 * called and the connection suspended; after the answer access() once more;
 * at last request_completed().
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

/* Versions 0.9.7x parse in place, and now take the query apart, a record for
 * each parameter; thousands of them would use up the connection's memory, and
 * it would close without an answer.  Nobody needs that: ours has been read. */
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

/* Whether this request belongs to the WebSocket side and came here because its
 * connection was kept alive: a proxy repeats it on a fresh one. */
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

/* The longest body of a route with ${flags}.  That of a peer is the same in the
 * waiting room, where each route is public: told "too large", a peer would give
 * its message up. */
static size_t
body_limit(unsigned flags)
{

	if ((flags & HTTP_PEER_BODY) != 0)
		return (LIMIT_PEER_REQUEST_LEN);
	if ((flags & HTTP_PUBLIC) != 0)
		return (LIMIT_PUBLIC_REQUEST_LEN);
	return ((flags & HTTP_LARGE_BODY) != 0 ? LIMIT_ARRAY_REQUEST_LEN
					       : LIMIT_REQUEST_LEN);
}

/* A path that people type with a slash behind it leads to its route. */
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

/* Finds the route and its limits. */
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

/* Where messages are sent, both limits are named: a text that is made as long
 * as a request may be would be refused again. */
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

/* Notes how long the body will be, and refuses one that is too long. */
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

/* The call with the headers.  Refusals of requests without a body wait for
 * the end, so that the connection may be kept. */
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
		req->answer.close = true; /* its target: no route, no trust */
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

/* Keeps a piece of the body, and shows it to the gate of its route. */
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

/* A piece of the body.  libmicrohttpd takes no response here. */
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

/* The route's own name from where the slash made a folder of it, with the
 * query: relative, because a proxy may serve it below another path, and never
 * what the client has written as the path ("//host/"). */
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
	/* The answer may be in the mailbox already: it is taken out by this
	 * thread, later. */
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

/* Every answer of ours is counted and logged once, and nothing else is: what
 * was cut off or answered by the library never comes here. */
static void
count_answer(const struct http_request *req)
{
	struct metrics *metrics = req->http->options.metrics;

	metrics_add(metrics, METRIC_HTTP_REQUESTS, 1);
	if (req->answer.refused)
		metrics_add(metrics, METRIC_HTTP_REFUSED, 1);
	log_request(req);
}

/* ${req} is over, whatever became of it. */
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
	/* The client closed its writing side while it waited.  libmicrohttpd
	 * gives such connections up, but the client may still read. */
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

/* When a second thing is wrong with a head, libmicrohttpd 0.9.75 closes without
 * a word: request_completed() is not called, and the request would stay
 * behind. */
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

/* Leaves escapes alone: target.c decodes them itself. */
static size_t
unescape_nothing(void *arg, struct MHD_Connection *mhd, char *s)
{

	(void)arg;
	(void)mhd;
	return (strlen(s));
}

/* The answer for when there is no memory for one. */
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

/* Strictness is the request validator's: the library's own (1) closes without
 * an answer, or sends the head of its answer twice. */
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
