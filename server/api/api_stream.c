/* SPDX-License-Identifier: MIT */
/*
 * The inbox as a stream of Server-Sent Events (the HTML standard, 9.2):
 *
 *	retry: 2000
 *	id: 7			where the stream begins
 *	event: welcome
 *	data: {"epoch":…,"after":7,…}
 *
 *	id: 8			the seq of the event in data
 *	data: {"seq":8,…}
 *
 *	: nothing new		after 25 s without an event
 *
 *	event: end		why the stream ends
 *	data: {"reason":"restart"}
 *
 * Each block ends with an empty line.  A client that reconnects with the last
 * id as Last-Event-ID gets the events after it.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/inbox_cursor.h"
#include "rest/stream.h"
#include "store/inbox.h"

/* The answer is made and sent piece by piece.  A piece that has reached this
 * number of bytes gets no further event; a shorter piece is sent, too, when
 * there are no more events.  With larger pieces more events would wait in
 * memory for a client that does not read. */
#define PIECE_BYTES 16384
/* Milliseconds; the same as in the WebSocket's frame reconnect. */
#define RETRY_MS 2000

struct inbox_stream {
	struct stream stream; /* first */
	struct inbox_cursor cursor;
	size_t n;     /* events of the current piece */
	struct buf b; /* the current piece */
};

static struct inbox_stream *
stream_of(struct poll *poll)
{

	return (CONTAINER_OF(poll, struct inbox_stream, stream.poll));
}

/* ---- writing ---- */

static void
add_welcome(struct buf *b, const char *epoch, const struct inbox_cursor *c)
{

	buf_addf(b, "retry: %d\nid: %" PRId64 "\nevent: welcome\ndata: {",
	    RETRY_MS, c->after);
	jw_str(b, "epoch", epoch);
	jw_int(b, "after", c->after);
	jw_int(b, "head", c->counter.head);
	jw_int(b, "oldest", c->counter.oldest);
	jw_int(b, "acked", c->acked);
	jw_int(b, "unread", c->unread);
	buf_adds(b, "}\n\n");
}

/* Appends one event to the current piece, and moves the cursor to it.
 * RC_LIMIT: the piece has PIECE_BYTES already, and the event was left for the
 * next piece.  One line of data is enough: wire_event() writes no line breaks,
 * and escapes those in texts. */
static enum rc
add_event(void *arg, const struct event_view *e, struct err *err)
{
	struct inbox_stream *s = arg;

	(void)err;
	if (s->b.len >= PIECE_BYTES)
		return (RC_LIMIT);
	buf_addf(&s->b, "id: %" PRId64 "\ndata: ", e->seq);
	wire_event(&s->b, e, NULL, 0, NULL);
	buf_adds(&s->b, "\n\n");
	s->cursor.after = e->seq;
	s->n++;
	return (RC_OK);
}

/* Writes the last event of a stream.  ${detail} may be "". */
static void
add_end(struct buf *b, const char *reason, const char *detail)
{

	buf_adds(b, "event: end\ndata: {");
	jw_str(b, "reason", reason);
	if (detail[0] != '\0')
		jw_str(b, "detail", detail);
	buf_adds(b, "}\n\n");
}

/* ---- reading ---- */

static enum rc
add_events(
    struct inbox_stream *s, struct db *db, bool *ret_found, struct err *err)
{
	const struct inbox_cursor *c = &s->cursor;
	const struct store_range range = {
	    c->after, c->counter.head, LIMIT_PAGE_MAX};
	enum rc rc;

	rc = store_inbox_page(db, s->stream.poll.call.principal->user_id,
	    &range, add_event, s, err);
	*ret_found = s->n > 0;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static bool
cursor_refused(const struct inbox_stream *s)
{

	return (s->cursor.refusal.problem != PROBLEM_NONE);
}

static enum rc
query_first(struct poll *poll, struct db *db, bool *ret_found, struct err *err)
{
	struct inbox_stream *s = stream_of(poll);
	enum rc rc = inbox_cursor_read(&poll->call, db, &s->cursor, err);

	if (rc != RC_OK || cursor_refused(s))
		return (rc);
	add_welcome(&s->b, api_of(&poll->call)->o.epoch, &s->cursor);
	return (add_events(s, db, ret_found, err));
}

static enum rc
query_next(struct poll *poll, struct db *db, bool *ret_found, struct err *err)
{
	struct inbox_stream *s = stream_of(poll);
	enum rc rc;

	s->n = 0;
	buf_reset(&s->b);
	rc = inbox_cursor_check(&poll->call, db, &s->cursor, err);
	*ret_found = cursor_refused(s);
	if (rc != RC_OK || cursor_refused(s))
		return (rc);
	return (add_events(s, db, ret_found, err));
}

/* ---- the pieces ---- */

static void
give(struct inbox_stream *s, enum http_piece kind)
{

	s->stream.poll.waiter.after = s->cursor.after;
	stream_piece(&s->stream, kind, &s->b);
}

/* Returns true if the database has another epoch, for which this server
 * restarts. */
static bool
epoch_changed(const struct inbox_stream *s)
{
	const struct api *api = api_of(&s->stream.poll.call);

	return (
	    api->o.epoch_changed != NULL && atomic_load(api->o.epoch_changed));
}

/* Sends the last piece of the stream: the events in s->b, and then the event
 * end with ${reason} and ${detail} ("": no detail).  If the epoch of the
 * database has changed (the database may have lost commits), the piece has only
 * the event end, with the reason "epoch" instead of ${reason}: the events in
 * s->b may be of the old epoch or of the new one, and if a query has failed,
 * the change may be the cause. */
static void
give_end(struct inbox_stream *s, const char *reason, const char *detail)
{

	if (epoch_changed(s)) {
		buf_reset(&s->b);
		reason = "epoch";
		detail = "";
	}
	add_end(&s->b, reason, detail);
	give(s, HTTP_PIECE_LAST);
}

static void
answer_next(struct poll *poll)
{
	struct inbox_stream *s = stream_of(poll);
	const struct refusal *r = &s->cursor.refusal;

	if (cursor_refused(s)) {
		give_end(s,
		    r->problem == PROBLEM_CURSOR_EXPIRED ? "cursor" : "busy",
		    r->detail);
	} else if (poll->drained || epoch_changed(s)) {
		give_end(s, "restart", "");
	} else if (s->n > 0) {
		give(s, HTTP_PIECE_MORE);
	} else if (http_client_left(poll->call.req)) {
		give(s, HTTP_PIECE_LAST);
	} else {
		buf_adds(&s->b, ": nothing new\n\n");
		give(s, HTTP_PIECE_MORE);
	}
}

/* Called when the first query has succeeded; if it fails, poll.c answers the
 * request.  Refuses the request if the query has refused its cursor; otherwise
 * begins the answer with the first piece of the stream. */
static void
answer_first(struct poll *poll)
{
	struct inbox_stream *s = stream_of(poll);

	if (cursor_refused(s)) {
		call_refuse(&poll->call, &s->cursor.refusal);
		return;
	}
	poll->query = query_next;
	poll->answer = answer_next;
	/* Keeps nginx from buffering the events. */
	http_answer_header(poll->call.req, "X-Accel-Buffering", "no");
	give(s, HTTP_PIECE_MORE);
}

static void
end(struct stream *stream, enum stream_end why)
{
	static const char *const reasons[] = {[STREAM_REVOKED] = "revoked",
	    [STREAM_STOPPING] = "restart",
	    [STREAM_BUSY] = "busy",
	    [STREAM_AWAY] = "away",
	    [STREAM_FAILED] = "failed"};
	struct inbox_stream *s = stream_of(&stream->poll);

	buf_reset(&s->b);
	give_end(s, reasons[why], "");
}

/* ---- the request ---- */

static void
stream_fini(void *arg)
{
	struct inbox_stream *s = arg;

	buf_fini(&s->b);
}

/* Reads the cursor.  The header Last-Event-ID takes precedence over the
 * parameter "after": a client that reconnects as the HTML standard says sends
 * the header together with the URL of its first request.  The ids of events
 * are only seqs, so an epoch in the URL is checked (later, by the query) also
 * when the header gives the seq.  Returns false if the request has been
 * answered, because one of the two is not a cursor. */
static bool
parse_cursor(struct inbox_stream *s)
{
	struct call *call = &s->stream.poll.call;
	const char *last = http_header(call->req, "Last-Event-ID");

	return (inbox_cursor_parse(call, "parameter \"after\"",
		    http_query(call->req, "after"), &s->cursor) &&
		inbox_cursor_parse(call, "header Last-Event-ID",
		    last != NULL && last[0] == '\0' ? NULL : last, &s->cursor));
}

void
api_inbox_stream(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", "wait", NULL};
	struct inbox_stream *s;
	struct call *call;

	if ((s = call_new(arg, req, sizeof(*s))) == NULL)
		return;
	call = &s->stream.poll.call;
	s->cursor.refusal = (struct refusal)REFUSAL_INIT;
	if (!call_query_check(call, allowed) || !parse_cursor(s))
		return;
	if (http_query(req, "limit") != NULL ||
	    http_query(req, "wait") != NULL) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "a stream takes neither \"limit\" nor \"wait\": it sends "
		    "every event, as it comes");
		return;
	}
	if (!stream_admit(&s->stream))
		return;
	if (http_on_free(req, stream_fini, s) != RC_OK) {
		call_problem(call, PROBLEM_BUSY, "", "out of memory");
		return;
	}
	s->stream.poll.query = query_first;
	s->stream.poll.answer = answer_first;
	s->stream.poll.waiter.user_id = call->principal->user_id;
	s->stream.end = end;
	stream_start(&s->stream);
}
