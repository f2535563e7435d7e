/* SPDX-License-Identifier: MIT */
/*
 * The answers that libmicrohttpd makes by itself.  The library reports them
 * only by log messages, so this file counts the answers by the messages.  Where
 * the library would send the head of its answer twice, this file writes its own
 * answer to the socket and shuts the socket down for writing, before the
 * library answers.
 */
#include <sys/socket.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "http/answer_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"

#define HEADER_RECORD 64 /* bytes that libmicrohttpd keeps per header */
#define LOG_LINES_MAX 5

static enum MHD_Result
add_memory(void *arg, enum MHD_ValueKind kind, const char *name,
    size_t name_len, const char *value, size_t value_len)
{
	size_t *sum = arg;

	(void)name;
	(void)value;
	/* libmicrohttpd keeps one record for each header, cookie and query
	 * parameter.  Only a header's text is added here: a cookie is part of a
	 * header, and a query parameter is part of the target, which
	 * head_memory() has counted. */
	*sum += (kind == MHD_HEADER_KIND ? name_len + value_len + 4 : 0) +
		HEADER_RECORD;
	return (MHD_YES);
}

/* Returns a lower bound, in bytes, of the connection's memory that the head of
 * ${req} has taken so far.  The sum includes the records that the library has
 * made of query parameters.  libmicrohttpd 0.9.7x makes them only if the query
 * stands behind a NUL, where hide_query() (daemon.c) does not see the query and
 * does not cut it off; other versions make them for every query. */
static size_t
head_memory(const struct http_request *req)
{
	size_t sum = req->head.target_len;

	(void)MHD_get_connection_values_n(req->mhd,
	    MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND,
	    add_memory, &sum);
	return (sum);
}

static bool
has_bad_length(const struct http_request *req)
{
	const char *length = MHD_lookup_connection_value(
	    req->mhd, MHD_HEADER_KIND, "Content-Length");

	return (length != NULL &&
		(*length == '\0' || strlen(length) > 18 ||
		    length[strspn(length, "0123456789")] != '\0'));
}

static bool
has_large_head(const struct http_request *req)
{

	return (head_memory(req) > CONNECTION_MEMORY / 4);
}

/* Refuses all requests of ${loop} for which ${culprit} returns true and whose
 * head is not complete (REQUEST_NEW).  Writes the refusal to the socket, past
 * the library, shuts the socket down for writing, and returns true if there was
 * any such request.  A Content-Length that is not a number or has too many
 * digits, or cookies that are too large, make the library answer before it
 * calls access_handler(), and send the head of that answer twice.  The
 * library's log message comes before that answer, but does not name the
 * request, so all requests that may be meant are refused. */
static bool
refuse_past(struct loop *loop, bool (*culprit)(const struct http_request *req),
    enum problem problem, const char *why)
{
	struct http_request *req;
	bool any = false;

	for (req = loop->requests; req != NULL; req = req->next) {
		if (req->phase != REQUEST_NEW || !culprit(req))
			continue;
		request_refuse(req, problem, "%s", why);
		req->answer.close = true;
		request_id_set(req);
		answer_refuse_raw(req);
		(void)shutdown(req->conn->fd, SHUT_WR);
		any = true;
	}
	return (any);
}

/* Called with the format ${fmt} of each log message of the library.  Counts the
 * answers that the library makes by itself, for example to a request line or a
 * head that is too long, to a line without a colon, or to broken chunks: the
 * library logs one message before each of these answers, and does not report
 * them otherwise.  Not counted are answers that the library could not send, and
 * answers in place of which refuse_past() has sent one.  Calls refuse_past() at
 * the messages that may come before an answer with two heads. */
static void
count_library(struct loop *loop, const char *fmt)
{
	struct metrics *metrics = loop->http->options.metrics;

	if (strncmp(fmt, "Error processing request", 24) == 0) {
		if (!loop->answered_past)
			metrics_add(metrics, METRIC_HTTP_REFUSED_LIBRARY, 1);
		loop->answered_past = false;
	} else if (strncmp(fmt, "Too late to send an error", 25) == 0) {
		metrics_add(metrics, METRIC_HTTP_REFUSED_LIBRARY, -1);
	} else if (strstr(fmt, "'Content-Length'") != NULL ||
		   strstr(fmt, "`Content-Length'") != NULL) {
		loop->answered_past |=
		    refuse_past(loop, has_bad_length, PROBLEM_BAD_REQUEST,
			"Content-Length is not a number, or too large a one");
	} else if (strncmp(fmt, "Not enough memory in pool", 25) == 0) {
		loop->answered_past |= refuse_past(loop, has_large_head,
		    PROBLEM_HEAD_TOO_LARGE, "the head is too large");
	}
}

/* Passes each log message of the library to count_library(), which counts the
 * answers that the library makes by itself, and logs the message.  Strangers
 * can cause any number of messages, so at most LOG_LINES_MAX are logged per
 * loop and time window (http_log_window, 10 s).  Further messages are dropped;
 * their number is logged before the first message of a later window. */
void
library_log(void *arg, const char *fmt, va_list ap)
{
	struct loop *loop = arg;
	char text[256];
	size_t n;

	count_library(loop, fmt);
	if (loop->now_ms - loop->log_window_ms >=
	    loop->http->options.timing->http_log_window_ms) {
		if (loop->log_dropped > 0)
			log_event(LOG_EV_HTTP_LIBRARY,
			    "loop=%d dropped=%d text=more of the kind",
			    loop->index, loop->log_dropped);
		loop->log_window_ms = loop->now_ms;
		loop->log_lines = loop->log_dropped = 0;
	}
	if (loop->log_lines == LOG_LINES_MAX) {
		loop->log_dropped++;
		return;
	}
	loop->log_lines++;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	log_event(LOG_EV_HTTP_LIBRARY, "loop=%d text=%s", loop->index, text);
}
