/* SPDX-License-Identifier: MIT */
/*
 * Reading the inbox: pages after a cursor, with long-poll, one event, unread
 * counts.  Nothing here moves a mark.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api_internal.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/inbox.h"

/* ---- pages ---- */

struct page_poll {
	struct poll poll; /* first */
	bool has_after;
	bool own_epoch; /* the cursor names this node's epoch */
	bool foreign_epoch;
	int64_t after;
	int64_t limit;

	/* What was read last. */
	struct store_counter counter;
	int64_t acked, unread, next;
	size_t n;
	struct buf b; /* the answer, up to the last event */
	struct refusal refusal;
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

static void
refuse_cursor(struct page_poll *p, const char *why)
{
	struct refusal *r = &p->refusal;

	refusal_set(r, PROBLEM_CURSOR_EXPIRED, "", "%s", why);
	r->head = p->counter.head;
	r->oldest = p->counter.oldest;
	(void)snprintf(
	    r->epoch, sizeof(r->epoch), "%s", api_of(&p->poll.call)->o.epoch);
}

/* The cursor against the counters of the same snapshot; false: refused. */
static bool
cursor_ok(struct page_poll *p, bool shared)
{

	if (shared && p->own_epoch && p->after > p->counter.head)
		/* Another node gave it: after a failover this one may read the
		 * old leader until its next heartbeat. */
		refusal_set(&p->refusal, PROBLEM_BUSY, "",
		    "this node does not see the event of the cursor yet; it "
		    "sees %" PRId64,
		    p->counter.head);
	else if (p->foreign_epoch)
		refuse_cursor(p, "the cursor is of another epoch: this "
				 "database was made anew or restored");
	else if (p->after > p->counter.head)
		refuse_cursor(p, "the cursor lies beyond the head");
	else if (p->after < p->counter.oldest - 1)
		refuse_cursor(p, "the events after this cursor are not kept "
				 "any more");
	else
		return (true);
	return (false);
}

static enum rc
query_page(struct poll *poll, struct db *db, bool *ret_found, struct err *err)
{
	struct page_poll *p = CONTAINER_OF(poll, struct page_poll, poll);
	const struct principal *principal = poll->call.principal;
	struct store_range range;
	enum rc rc;

	rc = store_counter_get(db, principal->user_id, &p->counter, err);
	if (rc == RC_OK)
		rc = store_device_acked_get(
		    db, principal->device_id, &p->acked, err);
	if (rc == RC_OK)
		rc =
		    store_unread_total(db, principal->user_id, &p->unread, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "an inbox is missing");
	if (rc != RC_OK)
		return (rc);
	if (!p->has_after && p->after < p->acked)
		p->after = p->acked;
	if (!p->has_after && p->after < p->counter.oldest - 1)
		p->after = p->counter.oldest - 1;
	*ret_found = true;
	if (!cursor_ok(p, db_multi_writer(db)))
		return (RC_OK);
	p->next = p->after;
	p->n = 0;
	buf_reset(&p->b);
	buf_addc(&p->b, '{');
	jw_str(&p->b, "epoch", api_of(&poll->call)->o.epoch);
	jw_member(&p->b, "events");
	buf_addc(&p->b, '[');
	range = (struct store_range){p->after, p->counter.head, p->limit};
	rc =
	    store_inbox_page(db, principal->user_id, &range, add_event, p, err);
	*ret_found = p->n > 0;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static void
answer_page(struct poll *poll)
{
	struct page_poll *p = CONTAINER_OF(poll, struct page_poll, poll);
	struct call *call = &poll->call;
	struct buf *b = &p->b;
	bool more = p->next < p->counter.head;

	if (p->refusal.problem != PROBLEM_NONE) {
		call_refuse(call, &p->refusal);
		return;
	}
	buf_addc(b, ']');
	jw_int(b, "next", p->next);
	jw_int(b, "head", p->counter.head);
	jw_int(b, "oldest", p->counter.oldest);
	jw_int(b, "acked", p->acked);
	jw_int(b, "unread", p->unread);
	jw_bool(b, "has_more", more);
	buf_addc(b, '}');
	/* With the epoch: a bare number is as good in any other one. */
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

/* The cursor of the query; false: answered. */
static bool
parse_after(struct page_poll *p)
{
	struct call *call = &p->poll.call;
	const char *text = http_query(call->req, "after");
	char epoch[40];

	if (text == NULL)
		return (true);
	if (!wire_cursor_parse(text, strlen(text), epoch, &p->after)) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"after\" must be a cursor: a seq, or "
		    "epoch:seq");
		return (false);
	}
	p->has_after = true;
	p->own_epoch = strcmp(epoch, api_of(call)->o.epoch) == 0;
	p->foreign_epoch = epoch[0] != '\0' && !p->own_epoch;
	return (true);
}

void
api_inbox_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", "wait", NULL};
	struct page_poll *p;
	int64_t wait_s = 0;

	if ((p = call_new(arg, req, sizeof(*p))) == NULL)
		return;
	p->refusal = (struct refusal)REFUSAL_INIT;
	if (!call_query_check(&p->poll.call, allowed) || !parse_after(p) ||
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
	/* Without a cursor it is not known before the first read; a wake-up
	 * too many does no harm. */
	p->poll.waiter.after = p->after;
	poll_start(&p->poll, wait_s);
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
