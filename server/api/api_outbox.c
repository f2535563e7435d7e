/* SPDX-License-Identifier: MIT */
/*
 * The routes of the outbox, which has an entry for each message that the user
 * has sent: list the entries; get one entry with its timeline, on request after
 * waiting for a change of the entry (long-poll); cancel a message; and retry a
 * message.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api_internal.h"
#include "chat/cancel.h"
#include "chat/entry.h"
#include "delivery/operator.h"

#define NO_ENTRY "you have sent no such message"

/* ---- one entry ---- */

/* Returns the time at which the last destination of ${e} reached a state, or 0
 * if a destination has not reached it.  ${offset} is the offset, in struct
 * destination_view, of the time of that state.  Failed, expired and canceled
 * destinations are ignored, as in sent_at, acked_at and read_at of the entry
 * (wire/entry.c); if all destinations are ignored, the result is 0. */
static int64_t
all_at(const struct entry_view *e, size_t offset)
{
	const struct destination_view *d;
	int64_t at, last = 0;
	int i;

	for (i = 0; i < e->ndestinations; i++) {
		d = &e->destinations[i];
		if (d->state == OUTBOX_FAILED || d->state == OUTBOX_EXPIRED ||
		    d->state == OUTBOX_CANCELED)
			continue;
		memcpy(&at, (const char *)d + offset, sizeof(at));
		if (at == 0)
			return (0);
		if (at > last)
			last = at;
	}
	return (last);
}

static int
state_of(const struct entry_view *e)
{
	int states[16], i, n;

	n = e->ndestinations < 16 ? e->ndestinations : 16;
	for (i = 0; i < n; i++)
		states[i] = e->destinations[i].state;
	return (outbox_entry_state(states, n));
}

static void
add_step(struct buf *b, const char *state, int64_t at)
{

	if (at == 0)
		return;
	jw_comma(b);
	buf_addc(b, '{');
	jw_str(b, "state", state);
	jw_time(b, "at", at);
	buf_addc(b, '}');
}

/* Writes the entry as JSON with one more member, "timeline": the time at which
 * the entry was made (pending) and, for each of the states sent, acked and read
 * that it has reached (all_at()), the time.  If the entry is failed, expired or
 * canceled, this state with its time is the last step. */
static void
add_with_timeline(struct buf *b, const struct entry_view *e)
{
	int state = state_of(e), i;
	int64_t ended = 0;

	wire_entry(b, e);
	if (!buf_ok(b))
		return;
	b->len--; /* remove the closing brace */
	jw_member(b, "timeline");
	buf_addc(b, '[');
	add_step(b, "pending", e->created_at);
	add_step(
	    b, "sent", all_at(e, offsetof(struct destination_view, sent_at)));
	add_step(
	    b, "acked", all_at(e, offsetof(struct destination_view, acked_at)));
	add_step(
	    b, "read", all_at(e, offsetof(struct destination_view, read_at)));
	for (i = 0; i < e->ndestinations; i++)
		if (e->destinations[i].last_status_at > ended)
			ended = e->destinations[i].last_status_at;
	if (state == OUTBOX_FAILED || state == OUTBOX_EXPIRED ||
	    state == OUTBOX_CANCELED)
		add_step(b, outbox_state_name(state), ended);
	buf_adds(b, "]}");
}

static enum rc
on_row_entry(
    void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{

	(void)mid;
	(void)err;
	add_with_timeline(arg, e);
	return (RC_OK);
}

struct entry_poll {
	struct poll poll; /* first */
	struct uuid id;
	bool found;
	struct buf body;
	char was[CALL_ETAG_SIZE]; /* the client's ETag; "": not known */
};

/* Reads the entry into p->body.  Sets *ret_found to true, which ends the wait
 * of a request with `wait`, if there is no such entry, if it differs from the
 * version that the client has, or if there is no memory; else to false.  The
 * client has the version that the ETag in If-None-Match names or, without this
 * header, the version that the first query has read. */
static enum rc
query_entry(struct poll *poll, struct db *db, bool *ret_found, struct err *err)
{
	struct entry_poll *p = CONTAINER_OF(poll, struct entry_poll, poll);
	const struct entry_of owner = api_outbox_of(&poll->call);
	char tag[CALL_ETAG_SIZE];
	enum rc rc;

	buf_reset(&p->body);
	rc = entry_get(db, &owner, &p->id, on_row_entry, &p->body, err);
	p->found = rc == RC_OK;
	*ret_found = true;
	if (rc == RC_NOT_FOUND || (rc == RC_OK && !buf_ok(&p->body)))
		return (RC_OK);
	if (rc != RC_OK)
		return (rc);
	call_etag_make(&p->body, tag);
	if (p->was[0] == '\0') {
		memcpy(p->was, tag, sizeof(p->was));
		*ret_found =
		    !http_etag_listed(
			http_header(poll->call.req, "If-None-Match"), tag) &&
		    http_header(poll->call.req, "If-None-Match") != NULL;
	} else {
		*ret_found = strcmp(p->was, tag) != 0;
	}
	return (RC_OK);
}

static void
answer_entry(struct poll *poll)
{
	struct entry_poll *p = CONTAINER_OF(poll, struct entry_poll, poll);

	if (!p->found)
		call_problem(&poll->call, PROBLEM_NOT_FOUND, "", NO_ENTRY);
	else
		call_json_tagged(&poll->call, 200, &p->body);
}

static void
entry_fini(void *arg)
{
	struct entry_poll *p = arg;

	buf_fini(&p->body);
}

void
api_entry_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"wait", NULL};
	struct entry_poll *p;
	int64_t wait_s = 0;

	if ((p = call_new(arg, req, sizeof(*p))) == NULL ||
	    !call_query_check(&p->poll.call, allowed) ||
	    !call_query_i64(&p->poll.call, "wait", 0, LIMIT_WAIT_S, &wait_s) ||
	    !call_path_uuid(&p->poll.call, NO_ENTRY, &p->id))
		return;
	if (http_on_free(req, entry_fini, p) != RC_OK) {
		call_problem(&p->poll.call, PROBLEM_BUSY, "", "out of memory");
		return;
	}
	p->poll.query = query_entry;
	p->poll.answer = answer_entry;
	p->poll.waiter.user_id = p->poll.call.principal->user_id;
	p->poll.waiter.outbox = true;
	poll_start(&p->poll, wait_s * 1000);
}

/* ---- cancelling ---- */

struct cancel_call {
	struct call call; /* first */
	struct cancel_unit unit;
};

static enum rc
read_canceled(struct call *call, struct db *db, struct err *err)
{
	struct cancel_call *a = CONTAINER_OF(call, struct cancel_call, call);
	const struct entry_of owner = api_outbox_of(call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = entry_get(db, &owner, &a->unit.id, on_row_entry, &b, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a canceled entry is gone");
	if (rc == RC_OK)
		call_json(call, 200, &b);
	buf_fini(&b);
	return (rc);
}

/* Thread: sync, or writer when refused. */
static void
canceled(struct unit *base)
{
	struct cancel_unit *u = CONTAINER_OF(base, struct cancel_unit, unit);
	struct cancel_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_canceled);
}

void
api_entry_delete(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct cancel_call *a;
	struct uuid id;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_ENTRY, &id))
		return;
	cancel_unit_init(&a->unit);
	a->unit.sender_id = a->call.principal->user_id;
	a->unit.id = id;
	a->unit.unit.finish = canceled;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- retry ---- */

struct retry_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct operator_unit unit;
};

static enum rc
read_retried(struct call *call, struct db *db, struct err *err)
{
	struct retry_call *a = CONTAINER_OF(call, struct retry_call, call);
	const struct entry_of owner = api_outbox_of(call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = entry_get(db, &owner, &a->unit.message, on_row_entry, &b, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a retried entry is gone");
	if (rc == RC_OK)
		call_json(call, 200, &b);
	buf_fini(&b);
	return (rc);
}

/* Thread: sync, or writer when refused. */
static void
retried(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);
	struct retry_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_retried);
}

void
api_entry_retry_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct retry_call *a;
	struct uuid id;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_ENTRY, &id) ||
	    !call_body_if_any(&a->call, &a->doc, NULL, 0))
		return;
	operator_unit_init(
	    &a->unit, OPERATOR_OWN_RETRY, a->call.principal->name);
	a->unit.sender_id = a->call.principal->user_id;
	a->unit.message = id;
	a->unit.unit.finish = retried;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- the list ---- */

/* The most entries that are read for one page of a filtered list.  At this
 * number the page ends even if it is not full, with a "next" to go on from. */
#define SCAN_MAX 5000
#define SCAN_CHUNK 250

enum label { LABEL_NONE, LABEL_SCHEDULED, LABEL_RETRYING, LABEL_READ };

struct list_call {
	struct call call; /* first */
	bool has_before;
	struct uuid before;
	int64_t limit;
	int state; /* enum outbox_state; -1: any */
	enum label label;
	const char *filter; /* the parameter as it was given */

	/* While reading. */
	struct buf *out;
	int64_t shown, scanned, in_chunk, last_mid;
	struct uuid last;
	bool more;
};

static bool
is_retrying(const struct entry_view *e)
{
	int i;

	for (i = 0; i < e->ndestinations; i++)
		if (e->destinations[i].retry_count > 0 &&
		    (e->destinations[i].state == OUTBOX_PENDING ||
			e->destinations[i].state == OUTBOX_SENDING))
			return (true);
	return (false);
}

static bool
is_wanted(const struct list_call *a, const struct entry_view *e)
{

	switch (a->label) {
	case LABEL_SCHEDULED:
		return (state_of(e) == OUTBOX_PENDING && e->deliver_at != 0 &&
			e->conversation_seq == 0);
	case LABEL_RETRYING:
		return (is_retrying(e));
	case LABEL_READ:
		return (
		    all_at(e, offsetof(struct destination_view, read_at)) != 0);
	case LABEL_NONE:
	default:
		return (a->state < 0 || state_of(e) == a->state);
	}
}

/* Writes an entry that matches the filter.  RC_LIMIT: the page is full. */
static enum rc
list_entry(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{
	struct list_call *a = arg;

	(void)err;
	if (is_wanted(a, e)) {
		if (a->shown == a->limit || call_page_full(&a->call, a->out)) {
			a->more = true;
			return (RC_LIMIT);
		}
		jw_comma(a->out);
		wire_entry(a->out, e);
		a->shown++;
	}
	a->in_chunk++;
	a->scanned++;
	a->last_mid = mid;
	a->last = e->message.id;
	return (RC_OK);
}

static enum rc
on_row_mid(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{

	(void)e;
	(void)err;
	*(int64_t *)arg = mid;
	return (RC_OK);
}

/* Reads the sender's entries whose mid (number of the message) is below
 * a->last_mid, the newest first, and writes those that match the filter to
 * a->out, until the page is full, there are no more entries, or SCAN_MAX
 * entries have been read.  Sets a->more to true if further entries may follow.
 */
static enum rc
list_read(struct list_call *a, struct db *db, struct err *err)
{
	const struct entry_of owner = api_outbox_of(&a->call);
	int64_t chunk;
	enum rc rc;

	chunk =
	    a->state < 0 && a->label == LABEL_NONE ? a->limit + 1 : SCAN_CHUNK;
	do {
		a->in_chunk = 0;
		rc = entry_list(
		    db, &owner, a->last_mid, chunk, list_entry, a, err);
	} while (rc == RC_OK && a->in_chunk == chunk && a->scanned < SCAN_MAX);
	if (rc == RC_OK && a->in_chunk == chunk)
		a->more = true;
	return (rc == RC_LIMIT ? RC_OK : rc);
}

static void
list_answer(struct list_call *a)
{
	char next[UUID_TEXT_LEN + 1];
	struct call *call = &a->call;

	buf_addc(a->out, ']');
	if (a->more) {
		uuid_format(&a->last, next);
		jw_str(a->out, "next", next);
		call_link_next(call,
		    "/v1/outbox?before=%s&limit=%" PRId64 "%s%s", next,
		    a->limit, a->filter != NULL ? "&state=" : "",
		    a->filter != NULL ? a->filter : "");
	} else {
		jw_null(a->out, "next");
	}
	jw_bool(a->out, "has_more", a->more);
	buf_addc(a->out, '}');
	call_json_tagged(call, 200, a->out);
}

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	const struct entry_of owner = api_outbox_of(call);
	struct buf b = BUF_INIT;
	enum rc rc = RC_OK;

	a->out = &b;
	a->last_mid = INT64_MAX;
	if (a->has_before)
		rc = entry_get(
		    db, &owner, &a->before, on_row_mid, &a->last_mid, err);
	if (rc == RC_NOT_FOUND) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"before\" names no message of yours");
		return (RC_OK);
	}
	buf_adds(&b, "{\"entries\":[");
	if (rc == RC_OK)
		rc = list_read(a, db, err);
	if (rc == RC_OK)
		list_answer(a);
	buf_fini(&b);
	return (rc);
}

/* Reads the parameter state, by which the list is filtered: into a->state a
 * state of an outbox entry, or into a->label one of scheduled, retrying and
 * read.  If the parameter is absent, all entries match.  If it has another
 * value, answers the request with 400 and returns false. */
static bool
parse_state(struct list_call *a)
{
	const char *text = http_query(a->call.req, "state");

	a->state = -1;
	a->filter = text;
	if (text == NULL)
		return (true);
	if (strcmp(text, "scheduled") == 0)
		a->label = LABEL_SCHEDULED;
	else if (strcmp(text, "retrying") == 0)
		a->label = LABEL_RETRYING;
	else if (strcmp(text, "read") == 0)
		a->label = LABEL_READ;
	else if ((a->state = outbox_state_parse(text)) < 0) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"state\" must be pending, sending, sent, "
		    "acked, failed, expired, canceled, scheduled, retrying or "
		    "read");
		return (false);
	}
	return (true);
}

void
api_outbox_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"state", "before", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !parse_state(a) ||
	    !call_query_uuid(&a->call, "before", &a->has_before, &a->before) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	call_read(&a->call, read_list);
}
