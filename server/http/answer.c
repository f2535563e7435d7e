/* SPDX-License-Identifier: MIT */
/*
 * Answers to requests.  The thread that answers fills in the answer and, unless
 * it is the thread of the request's loop, puts the request into that loop's
 * mailbox; the loop hands the answer to libmicrohttpd.  Answering cannot fail
 * for the caller: without memory the client gets a 503 that needs no memory,
 * and an answer in pieces that has begun is cut off.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"
#include "wire/wire.h"

/* The block size, in bytes, with which libmicrohttpd reads an answer in pieces.
 */
#define PIECE_BLOCK 16384
/* How many bytes of an answer in pieces may wait unsent in the kernel. */
#define UNSENT_BYTES 65536

#define PROBLEM_JSON "application/problem+json"

void
http_answer_header(
    struct http_request *req, const char *name, const char *value)
{
	struct answer_header *h;
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	char *text;

	assert(req->magic == REQUEST_MAGIC);
	h = request_room(req, sizeof(*h));
	text = request_room(req, name_size + value_size);
	if (h == NULL || text == NULL) {
		req->answer.no_memory = true;
		return;
	}
	memcpy(text, name, name_size);
	memcpy(text + name_size, value, value_size);
	h->name = text;
	h->value = text + name_size;
	h->next = req->answer.headers;
	req->answer.headers = h;
	if (strcasecmp(name, "Cache-Control") == 0)
		req->answer.no_store_off = true;
}

void
answer_deliver(struct http_request *req)
{
	struct loop *loop = req->loop;

	if (loop_self() == loop) {
		if (req->dispatching)
			req->phase = REQUEST_ANSWERED;
		else
			loop_ready(loop, req);
		return;
	}
	/* mbox_put_urgent() fails only after http_stop() has closed the
	 * mailbox.  No other thread may answer by then (http.h), and the
	 * stopping loop answers the requests that have no answer yet. */
	(void)!mbox_put_urgent(loop->mbox, &req->answer_msg.node);
}

/* ---- the memory of answers that clients have not read yet ---- */

/* Takes ${n} bytes of the budget for answers, for the answer of ${req} or a
 * piece of it; answer_gone() gives them back.  Returns false, with nothing
 * taken, if the whole budget or the share of the request's owner has no room,
 * or there is no memory to count the bytes.  Returns true and counts nothing if
 * ${n} is at most LIMIT_ANSWER_FREE or there is no budget. */
static bool
answer_room(struct http_request *req, size_t n)
{
	struct metrics *metrics = req->http->options.metrics;

	if (req->http->answers == NULL || n <= LIMIT_ANSWER_FREE)
		return (true);
	req->answer.hold.owner[0] = request_owner(req);
	if (budget_take(req->http->answers, &req->answer.hold, n)) {
		metrics_add(metrics, METRIC_HTTP_ANSWER_BYTES, (int64_t)n);
		return (true);
	}
	metrics_add(metrics, METRIC_HTTP_ANSWERS_REFUSED, 1);
	return (false);
}

void
answer_gone(struct http_request *req)
{
	const size_t n = req->answer.hold.bytes;

	if (n == 0)
		return;
	budget_give(req->http->answers, &req->answer.hold);
	metrics_add(
	    req->http->options.metrics, METRIC_HTTP_ANSWER_BYTES, -(int64_t)n);
}

/* Moves the content of ${body} into ${req}; ${body} is empty afterwards.  The
 * buffer of ${body} may be twice as large as its content; a buffer with more
 * than LIMIT_ANSWER_FREE bytes of content is shrunk to its content if
 * possible.  If writing ${body} has failed (buf_ok()), sets answer.no_memory,
 * which makes the answer a 503. */
static void
take_body(struct http_request *req, struct buf *body)
{
	char *fit;

	if (!buf_ok(body))
		req->answer.no_memory = true;
	req->answer.out = body->data;
	req->answer.out_len = body->len;
	if (body->len > LIMIT_ANSWER_FREE &&
	    (fit = mem_realloc(req->answer.out, body->len)) != NULL)
		req->answer.out = fit;
	body->data = NULL;
	body->len = body->cap = 0;
}

/* Answers 503 in place of an answer for which the budget has no room. */
static void
refuse_unheld(struct http_request *req)
{
	struct refusal r = REFUSAL_INIT;

	req->answer.headers = NULL;
	req->answer.no_store_off = false;
	req->answer.more = NULL;
	refusal_set(&r, PROBLEM_BUSY, "",
	    "too many large answers wait for their clients to read them; "
	    "read yours, then repeat this request");
	http_answer_refusal(req, &r);
}

/* Ends JSON with a newline, so that a terminal shows its prompt on a line of
 * its own. */
static void
end_line(const char *content_type, struct buf *body)
{

	if (body->len > 0 && content_type != NULL &&
	    (strcmp(content_type, HTTP_JSON) == 0 ||
		strcmp(content_type, PROBLEM_JSON) == 0))
		buf_addc(body, '\n');
}

void
http_answer(struct http_request *req, int status, const char *content_type,
    struct buf *body)
{

	assert(req->magic == REQUEST_MAGIC && req->answer.status == 0);
	if (body != NULL)
		end_line(content_type, body);
	if (body != NULL && !answer_room(req, body->len)) {
		buf_fini(body);
		refuse_unheld(req);
		return;
	}
	req->answer.status = status;
	req->answer.content_type = content_type;
	if (body != NULL)
		take_body(req, body);
	answer_deliver(req);
}

void
http_answer_static(struct http_request *req, int status,
    const char *content_type, const void *data, size_t len)
{

	assert(req->magic == REQUEST_MAGIC && req->answer.status == 0);
	req->answer.status = status;
	req->answer.content_type = content_type;
	req->answer.fixed = data;
	req->answer.out_len = len;
	answer_deliver(req);
}

void
http_answer_pieces(struct http_request *req, const char *content_type,
    struct buf *first, http_more_fn more, void *arg)
{

	req->answer.more = more;
	req->answer.more_arg = arg;
	req->answer.piece = HTTP_PIECE_MORE;
	http_answer(req, 200, content_type, first);
}

void
http_answer_piece(
    struct http_request *req, enum http_piece kind, struct buf *piece)
{

	assert(req->magic == REQUEST_MAGIC && req->answer.more != NULL &&
	       req->answer.out == NULL);
	req->answer.piece = buf_ok(piece) && answer_room(req, piece->len)
				? kind
				: HTTP_PIECE_CUT;
	req->answer.out = piece->data;
	req->answer.out_len = piece->len;
	req->answer.out_at = 0;
	piece->data = NULL;
	piece->len = piece->cap = 0;
	answer_deliver(req);
}

void
http_answer_refusal(struct http_request *req, const struct refusal *r)
{
	struct buf body = BUF_INIT;
	struct refusal copy = *r;
	char number[16];
	int status = problem_status(r->problem);

	if ((status == 429 || status == 503) && copy.retry_after_s < 1)
		copy.retry_after_s = 1;
	if (copy.retry_after_s > 0) {
		(void)snprintf(
		    number, sizeof(number), "%d", copy.retry_after_s);
		http_answer_header(req, "Retry-After", number);
	}
	if (status == 401)
		http_answer_header(req, "WWW-Authenticate",
		    r->problem == PROBLEM_UNAUTHENTICATED ||
			    r->problem == PROBLEM_WRONG_PASSWORD ||
			    r->problem == PROBLEM_ONE_TIME_PASSWORD
			? "Bearer"
			: "Signature");
	wire_problem(&body, &copy, req->head.path_raw, req->head.id);
	http_answer(req, status, PROBLEM_JSON, &body);
	buf_fini(&body);
}

void
http_answer_error(struct http_request *req, const struct err *err)
{
	struct refusal r = REFUSAL_INIT;
	enum problem problem = problem_of_rc(err->rc);

	if (problem_status(problem) == 500)
		log_error(LOG_EV_HTTP_FAIL, err, "request=%s method=%s path=%s",
		    req->head.id, req->head.method_name,
		    req->head.path_raw == NULL ? "" : req->head.path_raw);
	refusal_set(&r, problem, "", "%s",
	    problem_status(problem) == 500
		? "the server failed; its log has the story"
		: rc_text(err->rc));
	http_answer_refusal(req, &r);
}

/* Completes the answer of ${req} before it is sent.  While the server drains,
 * sets answer.close, by which the answer closes the connection.  If memory ran
 * out while the answer was built (answer.no_memory), drops its content and its
 * headers and sets its status to 503: the caller must then send a 503 that
 * needs no memory. */
static void
answer_settle(struct http_request *req)
{

	if (atomic_load_explicit(&req->http->draining, memory_order_relaxed))
		req->answer.close = true;
	if (!req->answer.no_memory)
		return;
	mem_free(req->answer.out);
	req->answer.out = NULL;
	req->answer.fixed = NULL;
	req->answer.out_len = 0;
	req->answer.headers = NULL;
	req->answer.status = 503;
}

static bool
response_headers(struct http_request *req, struct MHD_Response *response)
{
	const struct answer_header *h;
	enum MHD_Result ok = MHD_YES;

#define ADD(name, value) (ok &= MHD_add_response_header(response, name, value))
	if (req->answer.content_type != NULL)
		ADD("Content-Type", req->answer.content_type);
	ADD("X-Request-Id", req->head.id);
	ADD("X-Content-Type-Options", "nosniff");
	if (!req->answer.no_store_off)
		ADD("Cache-Control", "no-store");
	for (h = req->answer.headers; h != NULL; h = h->next)
		ADD(h->name, h->value);
	if (req->answer.close)
		ADD("Connection", "close");
#undef ADD
	return (ok == MHD_YES);
}

/* Gives libmicrohttpd the next bytes of an answer in pieces.  When the current
 * piece has been read and is not the last, suspends the connection and calls
 * the function ${more} of http_answer_pieces(); the loop resumes the connection
 * after http_answer_piece() has been called.  Ends the answer after the last
 * piece; cuts it off at a piece HTTP_PIECE_CUT, or after the current piece if
 * the server stops.  Thread: the loop's. */
static ssize_t
read_piece(void *arg, uint64_t pos, char *to, size_t size)
{
	struct http_request *req = arg;
	size_t n = req->answer.out_len - req->answer.out_at;

	(void)pos;
	req->conn->phase = CONN_SENDING;
	req->conn->deadline_ms =
	    req->loop->now_ms + req->http->options.idle_deadline_ms;
	if (req->answer.piece == HTTP_PIECE_CUT)
		return (MHD_CONTENT_READER_END_WITH_ERROR);
	if (n > 0) {
		if (n > size)
			n = size;
		memcpy(to, req->answer.out + req->answer.out_at, n);
		req->answer.out_at += n;
		return ((ssize_t)n);
	}
	mem_free(req->answer.out);
	req->answer.out = NULL;
	req->answer.out_len = req->answer.out_at = 0;
	answer_gone(req);
	if (req->answer.piece == HTTP_PIECE_LAST)
		return (MHD_CONTENT_READER_END_OF_STREAM);
	if (atomic_load(&req->http->loops_stop))
		return (MHD_CONTENT_READER_END_WITH_ERROR);
	req->conn->phase = CONN_HANDLING;
	req->suspended = true;
	MHD_suspend_connection(req->mhd);
	req->answer.more(req, req->answer.more_arg);
	return (0);
}

/* Sets socket options for an answer in pieces, which may go on for hours.
 * TCP_NOTSENT_LOWAT limits the unsent bytes in the kernel to UNSENT_BYTES; by
 * default the kernel would buffer some 3 MB for a client that reads nothing.
 * TCP_USER_TIMEOUT makes the kernel close the connection when sent bytes have
 * not been acknowledged for idle_deadline_ms; the default is a quarter of an
 * hour, and between two pieces none of our own deadlines runs. */
static void
prepare_pieces(const struct http_request *req)
{
	const int unsent = UNSENT_BYTES;
	const unsigned silence_ms =
	    (unsigned)req->http->options.idle_deadline_ms;

	(void)setsockopt(req->conn->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
	    sizeof(unsent));
	(void)setsockopt(req->conn->fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
	    &silence_ms, sizeof(silence_ms));
}

/* Makes the response for ${req}.  The response takes over req->answer.out,
 * except in an answer in pieces.  Returns NULL if there is no memory or
 * libmicrohttpd does not accept a header; the caller then has nothing to free:
 * ${req} still owns the content, or it has been freed with the response. */
static struct MHD_Response *
response_new(struct http_request *req)
{
	static const char nothing[1];
	const void *fixed =
	    req->answer.fixed != NULL ? req->answer.fixed : nothing;
	struct MHD_Response *response;

	if (req->answer.more != NULL) {
		prepare_pieces(req);
		response = MHD_create_response_from_callback(
		    MHD_SIZE_UNKNOWN, PIECE_BLOCK, read_piece, req, NULL);
	} else if (req->answer.out != NULL)
		response = MHD_create_response_from_buffer_with_free_callback(
		    req->answer.out_len, req->answer.out, mem_free);
	else
		response = MHD_create_response_from_buffer(req->answer.out_len,
		    (void *)(uintptr_t)fixed, MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return (NULL);
	if (req->answer.more == NULL)
		req->answer.out = NULL;
	/* In an answer in pieces to HEAD, libmicrohttpd omits the chunks but
	 * still sends the chunk that ends them, which no client expects.  The
	 * mode of HTTP/1.0 uses no chunks. */
	else if (req->head.method == METHOD_HEAD)
		(void)MHD_set_response_options(
		    response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	if (!response_headers(req, response)) {
		MHD_destroy_response(response);
		return (NULL);
	}
	return (response);
}

enum MHD_Result
answer_queue(struct http_request *req)
{
	struct MHD_Response *response = NULL;
	enum MHD_Result ok;

	answer_settle(req);
	if (!req->answer.no_memory)
		response = response_new(req);
	req->phase = REQUEST_QUEUED;
	req->conn->phase = CONN_SENDING;
	req->conn->deadline_ms =
	    req->loop->now_ms + req->http->options.idle_deadline_ms;
	if (response == NULL) {
		req->answer.status = 503;
		return (
		    MHD_queue_response(req->mhd, 503, req->loop->no_memory));
	}
	ok = MHD_queue_response(
	    req->mhd, (unsigned)req->answer.status, response);
	MHD_destroy_response(response);
	return (ok);
}

static void
send_raw(struct http_request *req, const char *text, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = send(req->conn->fd, text + done, len - done,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
}

/* Writes a 503 to the socket, past libmicrohttpd, in place of an answer for
 * which there is no memory.  Allocates nothing. */
static void
send_raw_no_memory(struct http_request *req)
{
	char body[320], text[800];
	int n;

	req->answer.status = 503;
	/* NO_MEMORY_PROBLEM without its closing brace, then the request id. */
	n = snprintf(body, sizeof(body), "%.*s,\"request_id\":\"%s\"}\n",
	    (int)sizeof(NO_MEMORY_PROBLEM) - 2, NO_MEMORY_PROBLEM,
	    req->head.id);
	n = snprintf(text, sizeof(text),
	    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
	    "Content-Length: %d\r\nX-Request-Id: %s\r\n"
	    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
	    "Retry-After: 1\r\nContent-Type: " PROBLEM_JSON "\r\n\r\n%s",
	    n, req->head.id, req->head.method == METHOD_HEAD ? "" : body);
	send_raw(req, text, (size_t)n);
}

void
answer_raw(struct http_request *req)
{
	const struct answer_header *h;
	struct buf b = BUF_INIT;
	const char *reason;
	const void *body;

	answer_settle(req);
	body = req->answer.out != NULL ? req->answer.out : req->answer.fixed;
	req->phase = REQUEST_QUEUED;
	if (req->answer.no_memory) {
		send_raw_no_memory(req);
		return;
	}
	if (req->answer.more != NULL)
		return; /* it would look like the whole answer */
	reason = MHD_get_reason_phrase_for((unsigned)req->answer.status);
	buf_addf(&b, "HTTP/1.1 %d %s\r\nConnection: close\r\n",
	    req->answer.status, reason);
	buf_addf(&b, "Content-Length: %zu\r\nX-Request-Id: %s\r\n",
	    req->answer.out_len, req->head.id);
	buf_adds(&b, "X-Content-Type-Options: nosniff\r\n");
	if (!req->answer.no_store_off)
		buf_adds(&b, "Cache-Control: no-store\r\n");
	if (body != NULL && req->answer.content_type != NULL)
		buf_addf(&b, "Content-Type: %s\r\n", req->answer.content_type);
	for (h = req->answer.headers; h != NULL; h = h->next)
		buf_addf(&b, "%s: %s\r\n", h->name, h->value);
	buf_adds(&b, "\r\n");
	if (body != NULL && req->head.method != METHOD_HEAD)
		buf_add(&b, body, req->answer.out_len);
	if (buf_ok(&b))
		send_raw(req, b.data, b.len);
	else
		send_raw_no_memory(req);
	buf_fini(&b);
}

/* ---- refusals of the loop ---- */

enum MHD_Result
answer_refuse_now(struct http_request *req)
{

	linger_start(req->loop, req->conn->fd);
	req->dispatching = true;
	http_answer_refusal(req, &req->answer.refusal);
	req->dispatching = false;
	return (answer_queue(req));
}

void
answer_refuse_raw(struct http_request *req)
{

	linger_start(req->loop, req->conn->fd);
	req->dispatching = true;
	http_answer_refusal(req, &req->answer.refusal);
	req->dispatching = false;
	answer_raw(req);
}
