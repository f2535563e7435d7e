/* SPDX-License-Identifier: MIT */
/*
 * The routes that read the inbox: GET /v1/inbox (a page of the events after a
 * cursor, with long-poll), GET /v1/inbox/{seq} (one event) and GET
 * /v1/inbox/unread (the numbers of unread messages).  They change no watermark:
 * returning an event neither acks it nor marks its message as read.  A GET
 * /v1/inbox that asks for a stream is handled in api_stream.c.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/inbox_cursor.h"
#include "rest/stream.h"
#include "store/conversation.h"
#include "store/inbox.h"

/* ---- pages ---- */

struct page_poll {
	struct poll poll; /* first */
	struct inbox_cursor cursor;
	int64_t limit;

	/* The result of the last query. */
	int64_t next;
	size_t n;
	struct buf b; /* the answer up to its last event */
};

static enum rc
add_event(void *arg, const struct event_view *e, struct err *err)
{
	struct page_poll *p = arg;

	(void)err;
	if (call_page_full(&p->poll.call, &p->b))
		return (RC_LIMIT);
	jw_comma(&p->b);
	wire_event(&p->b, e, NULL, 0, NULL);
	p->next = e->seq;
	p->n++;
	return (RC_OK);
}

static enum rc
query_page(struct poll *poll, struct db *db, bool *ret_found, struct err *err)
{
	struct page_poll *p = CONTAINER_OF(poll, struct page_poll, poll);
	struct inbox_cursor *c = &p->cursor;
	struct store_range range;
	enum rc rc;

	if ((rc = inbox_cursor_read(&poll->call, db, c, err)) != RC_OK)
		return (rc);
	*ret_found = true;
	if (c->refusal.problem != PROBLEM_NONE)
		return (RC_OK);
	p->next = c->after;
	p->n = 0;
	buf_reset(&p->b);
	buf_addc(&p->b, '{');
	jw_str(&p->b, "epoch", api_of(&poll->call)->o.epoch);
	jw_member(&p->b, "events");
	buf_addc(&p->b, '[');
	range = (struct store_range){c->after, c->counter.head, p->limit};
	rc = store_inbox_page(
	    db, poll->call.principal->user_id, &range, add_event, p, err);
	*ret_found = p->n > 0;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static void
answer_page(struct poll *poll)
{
	struct page_poll *p = CONTAINER_OF(poll, struct page_poll, poll);
	const struct inbox_cursor *c = &p->cursor;
	struct call *call = &poll->call;
	struct buf *b = &p->b;
	bool more = p->next < c->counter.head;

	if (c->refusal.problem != PROBLEM_NONE) {
		call_refuse(call, &c->refusal);
		return;
	}
	buf_addc(b, ']');
	jw_int(b, "next", p->next);
	jw_int(b, "head", c->counter.head);
	jw_int(b, "oldest", c->counter.oldest);
	jw_int(b, "acked", c->acked);
	jw_int(b, "unread", c->unread);
	jw_bool(b, "has_more", more);
	buf_addc(b, '}');
	/* Write the cursor of the link with the epoch, which changes when the
	 * database is restored: a cursor that is only a seq would be accepted
	 * in every epoch, where that seq may be another event. */
	if (more)
		call_link_next(call,
		    "/v1/inbox?after=%s:%" PRId64 "&limit=%" PRId64,
		    api_of(call)->o.epoch, p->next, p->limit);
	call_json(call, 200, b);
}

static void
page_fini(void *arg)
{
	struct page_poll *p = arg;

	buf_fini(&p->b);
}

void
api_inbox_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", "wait", NULL};
	struct page_poll *p;
	int64_t wait_s = 0;

	if (stream_is_wanted(http_header_list(req, "Accept"))) {
		api_inbox_stream(req, arg);
		return;
	}
	if ((p = call_new(arg, req, sizeof(*p))) == NULL)
		return;
	p->cursor.refusal = (struct refusal)REFUSAL_INIT;
	if (!call_query_check(&p->poll.call, allowed) ||
	    !inbox_cursor_parse(&p->poll.call, "parameter \"after\"",
		http_query(req, "after"), &p->cursor) ||
	    !call_query_limit(&p->poll.call, &p->limit) ||
	    !call_query_i64(&p->poll.call, "wait", 0, LIMIT_WAIT_S, &wait_s))
		return;
	if (http_on_free(req, page_fini, p) != RC_OK) {
		call_problem(&p->poll.call, PROBLEM_BUSY, "", "out of memory");
		return;
	}
	p->poll.query = query_page;
	p->poll.answer = answer_page;
	p->poll.waiter.user_id = p->poll.call.principal->user_id;
	/* If the request has no cursor, waiter.after stays 0, although the
	 * first query determines the place (cursor.after).  push may then wake
	 * the poll needlessly, for an event before this place, but no event is
	 * missed. */
	p->poll.waiter.after = p->cursor.after;
	poll_start(&p->poll, wait_s * 1000);
}

/* ---- one event ---- */

struct event_call {
	struct call call; /* first */
	int64_t seq;
};

struct one_event {
	struct buf b;
	bool found;
};

static enum rc
on_row_event(void *arg, const struct event_view *e, struct err *err)
{
	struct one_event *one = arg;

	(void)err;
	wire_event(&one->b, e, NULL, 0, NULL);
	one->found = true;
	return (RC_OK);
}

static enum rc
read_event(struct call *call, struct db *db, struct err *err)
{
	struct event_call *a = CONTAINER_OF(call, struct event_call, call);
	const struct store_range range = {a->seq - 1, a->seq, 1};
	struct one_event one = {BUF_INIT, false};
	enum rc rc;

	rc = store_inbox_page(
	    db, call->principal->user_id, &range, on_row_event, &one, err);
	if (rc == RC_OK && !one.found)
		call_problem(call, PROBLEM_NOT_FOUND, "",
		    "your inbox has no event of that number");
	else if (rc == RC_OK)
		call_json(call, 200, &one.b);
	buf_fini(&one.b);
	return (rc);
}

void
api_event_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct event_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return;
	if (!call_number_parse(http_path_param(req, "seq"), &a->seq) ||
	    a->seq < 1) {
		call_problem(&a->call, PROBLEM_NOT_FOUND, "",
		    "your inbox has no event of that number");
		return;
	}
	call_read(&a->call, read_event);
}

/* ---- unread ---- */

struct unread_sum {
	struct buf b;
	int64_t total;
};

static void
add_unread(
    void *arg, const struct uuid *conversation, int64_t unread, int64_t last)
{
	struct unread_sum *sum = arg;

	jw_comma(&sum->b);
	buf_addc(&sum->b, '{');
	jw_uuid(&sum->b, "conversation", conversation);
	jw_int(&sum->b, "unread", unread);
	jw_int(&sum->b, "last", last);
	buf_addc(&sum->b, '}');
	sum->total += unread;
}

static enum rc
read_unread(struct call *call, struct db *db, struct err *err)
{
	struct unread_sum sum = {BUF_INIT, 0};
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = store_unread_list(
	    db, call->principal->user_id, add_unread, &sum, err);
	if (rc == RC_OK) {
		buf_addc(&b, '{');
		jw_int(&b, "total", sum.total);
		jw_member(&b, "conversations");
		buf_addc(&b, '[');
		buf_add(&b, sum.b.data, sum.b.len);
		buf_adds(&b, "]}");
		b.failed |= !buf_ok(&sum.b);
		call_json(call, 200, &b);
	}
	buf_fini(&sum.b);
	buf_fini(&b);
	return (rc);
}

void
api_unread_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct call *call;

	if ((call = call_new(arg, req, sizeof(*call))) != NULL &&
	    call_query_check(call, allowed))
		call_read(call, read_unread);
}
