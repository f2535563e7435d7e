/* SPDX-License-Identifier: MIT */
/*
 * Sending: POST /v1/messages (one message, or an array) and POST
 * /v1/to/{address}.
 *
 * The thread that calls the handler prepares the unit of work of each message:
 * id, recipient, fingerprint of the content, and the JSON fragment that push
 * copies into events.  The answer contains the outbox entry of each message.
 * After the commit the entry of a new message is rendered from the unit,
 * without a read.  The entry is read from the store only if an earlier request
 * has sent the same message (same id or key).
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/api_internal.h"
#include "base/mem.h"
#include "chat/send_request.h"

/* ---- one message ---- */

struct send_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct send_request send;
	/* The refusal of a new message; see send_unit.refuse_new. */
	struct refusal no_room;
};

static void
answer_entry(
    struct call *call, const struct uuid *id, int status, struct buf *body)
{
	char location[12 + UUID_TEXT_LEN + 1] = "/v1/outbox/";

	uuid_format(id, location + strlen(location));
	http_answer_header(call->req, "Location", location);
	if (status == 200)
		http_answer_header(call->req, "Idempotency-Replayed", "true");
	call_json(call, status, body);
}

static enum rc
read_replayed(struct call *call, struct db *db, struct err *err)
{
	struct send_call *s = CONTAINER_OF(call, struct send_call, call);
	const struct entry_of owner = api_outbox_of(call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = entry_get(db, &owner, &s->send.draft.id, entry_append, &b, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a replayed entry is gone");
	if (rc == RC_OK)
		answer_entry(call, &s->send.draft.id, 200, &b);
	buf_fini(&b);
	return (rc);
}

/* Thread: sync, or writer when refused. */
static void
send_finish(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);
	struct send_call *s = u->arg;
	struct buf b = BUF_INIT;

	send_request_done(&s->send);
	if (!call_unit_ok(&s->call, &u->unit, &u->refusal))
		return;
	if (u->replayed) {
		call_read(&s->call, read_replayed);
		return;
	}
	send_request_entry(&s->send, &b);
	answer_entry(&s->call, &s->send.draft.id, 201, &b);
	buf_fini(&b);
}

static void
submit_send(struct send_call *s)
{
	struct refusal r = REFUSAL_INIT;
	struct unit *unit = &s->send.unit.unit;
	enum rc rc;

	send_request_admit(&s->send, 1, &s->no_room);
	/* Do not use ${s} after RC_OK: the unit may be finished, and the
	 * request freed. */
	rc = writer_submit(api_of(&s->call)->o.writer, unit);
	if (rc == RC_OK)
		return;
	unit->rc = rc;
	refusal_of_rc(&r, rc);
	send_request_done(&s->send);
	call_refuse(&s->call, &r);
}

/* Makes the unit of work from the draft of ${s}->send and submits it to the
 * writer; send_finish() answers the request.  If that fails, answers at once.
 * In either case the request, and ${s} in it, may be freed when this function
 * returns.  ${is_text}: the body of the request is the message's text and not
 * JSON, so a refusal has no pointer to a member. */
static void
send_start(struct send_call *s, bool is_text)
{
	struct refusal r = REFUSAL_INIT;

	s->no_room = (struct refusal)REFUSAL_INIT;
	if (send_request_prepare(&s->send, api_of(&s->call)->o.gate,
		s->call.principal->user_id, &r) != RC_OK) {
		if (is_text)
			r.pointer[0] = '\0';
		call_refuse(&s->call, &r);
		return;
	}
	s->send.unit.unit.finish = send_finish;
	s->send.unit.arg = s;
	submit_send(s);
}

/* Makes the id of the message from ${key} (the query parameter; NULL: none), or
 * else from the header Idempotency-Key.  Without either, leaves ${d} unchanged.
 * Returns false if the request has been answered: the key is not valid, or ${d}
 * has an id or a key already. */
static bool
parse_key(struct call *call, const char *key, struct message_draft *d)
{
	size_t n;

	if (key == NULL)
		key = http_header(call->req, "Idempotency-Key");
	if (key == NULL)
		return (true);
	n = strlen(key);
	if (n < 1 || n > LIMIT_IDEMPOTENCY_KEY_LEN) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "an idempotency key has 1 to %d bytes, this one has %zu",
		    LIMIT_IDEMPOTENCY_KEY_LEN, n);
		return (false);
	}
	if (d->has_id) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "give either an id or an idempotency key: the key is made "
		    "into an id");
		return (false);
	}
	if (d->key.p != NULL) {
		call_problem(call, PROBLEM_BAD_REQUEST, "/key",
		    "give the key once: as \"key\" or as Idempotency-Key");
		return (false);
	}
	d->id = send_id_of_key(call->principal->user_id, key, n);
	d->has_id = true;
	return (true);
}

/* ---- an array ---- */

struct array_call {
	struct call call; /* first */
	struct send_request *items;
	size_t n;
	atomic_size_t left;
	/* The refusal of new messages; see send_unit.refuse_new. */
	struct refusal no_room;
};

static void
add_result(struct buf *b, const struct call *call, struct send_request *item,
    const struct buf *entry)
{
	struct refusal *r = &item->unit.refusal;

	jw_comma(b);
	buf_addc(b, '{');
	if (r->problem != PROBLEM_NONE) {
		jw_int(b, "status", problem_status(r->problem));
		jw_member(b, "problem");
		wire_problem(
		    b, r, http_path(call->req), http_request_id(call->req));
	} else {
		jw_int(b, "status", item->unit.replayed ? 200 : 201);
		jw_bool(b, "replayed", item->unit.replayed);
		jw_member(b, "entry");
		if (entry != NULL)
			buf_add(b, entry->data, entry->len);
		else
			send_request_entry(item, b);
	}
	buf_addc(b, '}');
}

/* Answers with the result of each item, in the order of the array.  ${db} may
 * be NULL if no item was replayed, that is, if no item has the id of a message
 * that was accepted before: only the entry of such a message is read.  If an
 * error is returned, the request has not been answered. */
static enum rc
array_answer(struct array_call *a, struct db *db, struct err *err)
{
	const struct entry_of owner = api_outbox_of(&a->call);
	struct buf b = BUF_INIT, entry = BUF_INIT;
	struct send_request *item;
	enum rc rc = RC_OK;
	size_t i;

	buf_addc(&b, '[');
	for (i = 0; i < a->n && rc == RC_OK; i++) {
		item = &a->items[i];
		buf_reset(&entry);
		if (send_request_replayed(item))
			rc = entry_get(db, &owner, &item->draft.id,
			    entry_append, &entry, err);
		if (rc == RC_OK && !buf_ok(&entry))
			rc = err_set(err, RC_NO_MEMORY, "results");
		if (rc == RC_OK)
			add_result(&b, &a->call, item,
			    send_request_replayed(item) ? &entry : NULL);
	}
	buf_addc(&b, ']');
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_INTERNAL, "a replayed entry is gone");
	if (rc == RC_OK)
		call_json(&a->call, 200, &b);
	buf_fini(&entry);
	buf_fini(&b);
	return (rc);
}

static enum rc
array_read(struct call *call, struct db *db, struct err *err)
{

	return (
	    array_answer(CONTAINER_OF(call, struct array_call, call), db, err));
}

/* Counts an item as finished.  The thread that finishes the last one answers.
 */
static void
array_count(struct array_call *a)
{
	struct err err = ERR_INIT;
	bool replayed = false;
	size_t i;

	if (atomic_fetch_sub(&a->left, 1) != 1)
		return;
	for (i = 0; i < a->n; i++)
		replayed |= send_request_replayed(&a->items[i]);
	if (replayed)
		call_read(&a->call, array_read);
	else if (array_answer(a, NULL, &err) != RC_OK)
		call_fail(&a->call, &err);
}

/* Adds the index of ${item} to the pointer of its refusal. */
static void
name_item(const struct array_call *a, struct send_request *item)
{
	char place[24];

	(void)snprintf(place, sizeof(place), "/%zu", (size_t)(item - a->items));
	refusal_prefix(&item->unit.refusal, place);
}

/* Thread: sync, or writer when refused. */
static void
array_finish(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);
	struct array_call *a = u->arg;
	struct send_request *item = CONTAINER_OF(u, struct send_request, unit);

	send_request_done(item);
	if (u->unit.rc != RC_OK)
		refusal_of_unit(&u->refusal, u->unit.rc);
	if (u->refusal.problem != PROBLEM_NONE)
		name_item(a, item);
	array_count(a);
}

/* Reads all items of the array into their drafts.  If one item is malformed, or
 * has neither an id nor a key, answers the request with a refusal of the whole
 * array, before any message is sent, and returns false. */
static bool
array_parse(struct array_call *a, struct wire_doc *doc)
{
	char place[REFUSAL_POINTER_SIZE];
	struct refusal r = REFUSAL_INIT;
	struct message_draft *d;
	size_t i;

	for (i = 0; i < a->n; i++) {
		d = &a->items[i].draft;
		(void)snprintf(place, sizeof(place), "/%zu", i);
		if (wire_message_read(doc, json_array_get(doc->root, i), place,
			d, &r) == RC_OK &&
		    !d->has_id && d->key.p == NULL) {
			(void)snprintf(place, sizeof(place), "/%zu/id", i);
			refusal_set(&r, PROBLEM_BAD_REQUEST, place,
			    "each message of an array needs an \"id\" or a "
			    "\"key\"");
		}
		if (r.problem != PROBLEM_NONE) {
			call_refuse(&a->call, &r);
			return (false);
		}
	}
	return (true);
}

/* Makes the unit of ${item}.  If that fails, sets the item's refusal. */
static void
array_prepare(struct array_call *a, struct send_request *item)
{
	struct refusal r = REFUSAL_INIT;

	if (send_request_prepare(item, api_of(&a->call)->o.gate,
		a->call.principal->user_id, &r) != RC_OK) {
		item->unit.refusal = r;
		name_item(a, item);
	}
	item->unit.unit.finish = array_finish;
	item->unit.arg = a;
}

static void
array_submit(struct array_call *a, struct send_request *item)
{
	struct refusal *refusal = &item->unit.refusal;
	enum rc rc;

	if (refusal->problem == PROBLEM_NONE) {
		rc =
		    writer_submit(api_of(&a->call)->o.writer, &item->unit.unit);
		if (rc == RC_OK)
			return;
		refusal_of_rc(refusal, rc);
		name_item(a, item);
	}
	send_request_done(item);
	array_count(a);
}

static void
array_start(struct send_call *s)
{
	struct array_call *a;
	struct wire_doc *doc = &s->doc;
	struct refusal r = REFUSAL_INIT;
	size_t i, n = json_array_size(doc->root);

	if (n < 1 || n > LIMIT_ARRAY_ITEMS) {
		call_problem(&s->call, PROBLEM_BAD_REQUEST, "",
		    "an array has 1 to %d messages, this one has %zu",
		    LIMIT_ARRAY_ITEMS, n);
		return;
	}
	/* With one key, all messages would get the same id. */
	if (http_header(s->call.req, "Idempotency-Key") != NULL) {
		call_problem(&s->call, PROBLEM_BAD_REQUEST, "",
		    "Idempotency-Key is for one message: give each message of "
		    "an array a \"key\" or an \"id\"");
		return;
	}
	if ((a = call_new(s->call.rest, s->call.req, sizeof(*a))) == NULL)
		return;
	a->n = n;
	a->no_room = (struct refusal)REFUSAL_INIT;
	a->items = http_alloc(a->call.req, n * sizeof(*a->items));
	if (a->items == NULL) {
		call_problem(&a->call, PROBLEM_BUSY, "", "out of memory");
		return;
	}
	if (!array_parse(a, doc))
		return;
	/* rest_authorize() has charged the request for one message. */
	if (!rest_charge_items(
		a->call.rest, a->call.principal->user_id, n - 1, &r)) {
		call_refuse(&a->call, &r);
		return;
	}
	for (i = 0; i < n; i++)
		array_prepare(a, &a->items[i]);
	send_request_admit(a->items, n, &a->no_room);
	/* Count one item more than the array has.  This thread takes it off
	 * after it has submitted all items, so no other thread answers before
	 * that. */
	atomic_store(&a->left, n + 1);
	for (i = 0; i < n; i++)
		array_submit(a, &a->items[i]);
	array_count(a);
}

/* ---- routes ---- */

void
api_messages_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct refusal r = REFUSAL_INIT;
	struct send_call *s;
	size_t len;

	if ((s = call_new(arg, req, sizeof(*s))) == NULL ||
	    !call_query_check(&s->call, allowed) ||
	    !call_body(&s->call, &s->doc, NULL, 0))
		return;
	if (json_is_array(s->doc.root)) {
		array_start(s);
		return;
	}
	(void)http_body(req, &len);
	if (len > LIMIT_REQUEST_LEN) {
		call_problem(&s->call, PROBLEM_BODY_TOO_LARGE, "",
		    "a request with one message has at most %d bytes; the text "
		    "of a message has at most %d",
		    LIMIT_REQUEST_LEN, LIMIT_BODY_LEN);
		return;
	}
	if (wire_message_read(&s->doc, s->doc.root, "", &s->send.draft, &r) !=
	    RC_OK) {
		call_refuse(&s->call, &r);
		return;
	}
	if (parse_key(&s->call, NULL, &s->send.draft))
		send_start(s, false);
}

/* Returns an option of POST /v1/to: a parameter, or else a header. */
static struct span
option(struct http_request *req, const char *param, const char *header)
{
	struct span s = {http_query(req, param), 0};

	if (s.p == NULL)
		s.p = http_header(req, header);
	if (s.p != NULL)
		s.n = strlen(s.p);
	return (s);
}

/* Returns the option priority: the query parameter, or else the header
 * X-Priority, or else the header Priority; p is NULL if there is none.
 * Browsers send a header Priority of their own, in the syntax of RFC 9218
 * ("u=1, i"), which has another meaning: a value of this header with a "=", or
 * "i" alone, is ignored. */
static struct span
option_priority(struct http_request *req)
{
	struct span s = option(req, "priority", "X-Priority");

	if (s.p != NULL || (s.p = http_header(req, "Priority")) == NULL)
		return (s);
	if (strchr(s.p, '=') != NULL || strcmp(s.p, "i") == 0)
		s.p = NULL;
	else
		s.n = strlen(s.p);
	return (s);
}

/* Returns the content type of the text: the option (the query parameter
 * content_type or the header X-Content-Type), or else the header Content-Type
 * without its parameters; p is NULL if there is none.  curl sends the
 * Content-Type application/x-www-form-urlencoded for every text, so in that
 * header this type counts as none. */
static struct span
option_content_type(struct http_request *req)
{
	struct span s = option(req, "content_type", "X-Content-Type");

	if (s.p != NULL || (s.p = http_header(req, "Content-Type")) == NULL)
		return (s);
	s.n = strcspn(s.p, "; \t");
	if (strncasecmp(s.p, "application/x-www-form-urlencoded", s.n) == 0)
		s.p = NULL;
	return (s);
}

/* Reads the options "in", "deliver_at", "expires_in", "id" and "reply_to" of
 * POST /v1/to into the draft; an absent option leaves its member unchanged.  If
 * one of them is not valid, or both "in" and "deliver_at" are given, answers
 * the request with 400 and returns false. */
static bool
text_numbers(struct send_call *s)
{
	struct http_request *req = s->call.req;
	struct message_draft *d = &s->send.draft;
	struct span in = option(req, "in", "X-In");
	struct span at = option(req, "deliver_at", "X-Deliver-At");
	struct span expires = option(req, "expires_in", "X-Expires-In");
	struct span id = option(req, "id", "X-Message-Id");
	struct span reply = option(req, "reply_to", "X-Reply-To");
	const char *bad = NULL;
	int64_t ms;

	if (in.p != NULL && at.p != NULL) {
		bad = "give either \"in\" or \"deliver_at\"";
	} else if (in.p != NULL && !model_duration_parse(in.p, &ms)) {
		bad = "\"in\" must be a time such as 90s, 30m, 2h, 5d";
	} else if (in.p != NULL && ms > 0) {
		if (ms > MESSAGE_EXPIRES_IN_MAX_MS)
			bad = "\"in\" is at most 366 days";
		/* The fingerprint of the message is made from deliver_in_ms and
		 * not from deliver_at_ms, which depends on the time of the
		 * request.  A request that is repeated later with the same id
		 * or key therefore counts as the same message. */
		d->deliver_in_ms = ms;
		d->deliver_at_ms = clk_wall_ms(api_of(&s->call)->o.clk) + ms;
	} else if (at.p != NULL &&
		   (clk_parse_rfc3339(at.p, &d->deliver_at_ms) != 0 ||
		       d->deliver_at_ms <= 0)) {
		bad = "\"deliver_at\" must be a time of RFC 3339";
	}
	if (expires.p != NULL &&
	    (!model_duration_parse(expires.p, &d->expires_in_ms) ||
		d->expires_in_ms <= 0))
		bad = "\"expires_in\" must be a time such as 90s, 30m, 2h, 5d";
	if (id.p != NULL && !(d->has_id = uuid_parse(id.p, id.n, &d->id)))
		bad = "\"id\" is not a UUID";
	if (reply.p != NULL &&
	    !(d->has_reply_to = uuid_parse(reply.p, reply.n, &d->reply_to)))
		bad = "\"reply_to\" is not a UUID";
	if (bad != NULL)
		call_problem(&s->call, PROBLEM_BAD_REQUEST, "", "%s", bad);
	return (bad == NULL);
}

void
api_to_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"in", "deliver_at", "priority",
	    "key", "id", "correlation_id", "content_type", "reply_to",
	    "expires_in", NULL};
	struct refusal r = REFUSAL_INIT;
	struct message_draft *d;
	struct send_call *s;
	struct span priority;

	if ((s = call_new(arg, req, sizeof(*s))) == NULL ||
	    !call_query_check(&s->call, allowed) || !text_numbers(s))
		return;
	d = &s->send.draft;
	d->to.p = http_path_param(req, "address");
	d->to.n = strlen(d->to.p);
	d->body.p = http_body(req, &d->body.n);
	d->content_type = option_content_type(req);
	d->correlation_id = option(req, "correlation_id", "X-Correlation-Id");
	priority = option_priority(req);
	if (priority.p != NULL &&
	    !priority_parse(priority.p, priority.n, &d->priority)) {
		call_problem(&s->call, PROBLEM_BAD_REQUEST, "",
		    "\"priority\" must be low, normal or high");
		return;
	}
	if (!parse_key(&s->call, http_query(req, "key"), d))
		return;
	if (model_draft_check(d, "", &r) != RC_OK) {
		r.pointer[0] = '\0';
		call_refuse(&s->call, &r);
		return;
	}
	send_start(s, true);
}
