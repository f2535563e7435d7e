/* SPDX-License-Identifier: MIT */
/*
 * Conversations as a member sees them, their history, and single messages.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api_internal.h"
#include "store/conversation.h"
#include "store/message.h"

#define NO_CONVERSATION "you are in no such conversation"

/* ---- members ---- */

/* The members of a conversation.  n counts all of them, but ids and names hold
 * only the first two, by ascending user id: a direct conversation has one or
 * two members, and for a group ids and names are not used. */
struct members {
	struct buf *out; /* gets the members as JSON; NULL: no JSON */
	int n;
	int64_t ids[2];
	char names[2][LIMIT_ADDRESS_LEN + 1];
};

static enum rc
on_row_member(void *arg, const struct store_participant *p, struct err *err)
{
	struct members *m = arg;

	(void)err;
	if (m->n < 2) {
		m->ids[m->n] = p->user_id;
		memcpy(m->names[m->n], p->name, sizeof(p->name));
	}
	m->n++;
	if (m->out == NULL)
		return (RC_OK);
	jw_comma(m->out);
	buf_addc(m->out, '{');
	jw_str(m->out, "address", p->name);
	jw_int(m->out, "delivered", p->acked_upto);
	jw_int(m->out, "read", p->shown_upto);
	buf_addc(m->out, '}');
	return (RC_OK);
}

/* Returns the name, borrowed from ${m}, of the member who receives the messages
 * of ${sender_id} in a direct conversation.  Returns NULL in a group (${direct}
 * is false), or if ${m} does not have one or two members.  A conversation with
 * oneself has one member, who is sender and recipient. */
static const char *
recipient_of(const struct members *m, bool direct, int64_t sender_id)
{

	if (!direct || m->n < 1 || m->n > 2)
		return (NULL);
	if (m->n == 1)
		return (m->names[0]);
	return (m->ids[0] == sender_id ? m->names[1] : m->names[0]);
}

/* ---- one conversation ---- */

struct showing {
	struct call *call;
	struct db *db;
	struct buf *out;
	int64_t limit, shown;
	bool more;
	struct uuid last; /* the page's last conversation and its last_at */
	int64_t last_at;

	int64_t last_seq; /* of the last message that was written */

	/* For a history: the conversation that is read. */
	const struct uuid *conversation;
	const struct members *members;
	bool direct;
};

static enum rc
show_message(void *arg, const struct store_history *h, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	if (s->shown == s->limit || call_page_full(s->call, s->out)) {
		s->more = true;
		return (RC_LIMIT);
	}
	jw_comma(s->out);
	render_history(s->out, h, s->conversation, s->call->principal->user_id,
	    recipient_of(s->members, s->direct, h->sender_id));
	s->last_seq = h->conversation_seq;
	s->shown++;
	return (RC_OK);
}

static enum rc
on_row_last(void *arg, const struct store_history *h, struct err *err)
{
	struct showing *s = arg;

	(void)err;
	s->last_seq = h->conversation_seq;
	jw_member(s->out, "last_message");
	render_preview(s->out, h, s->call->principal->user_id);
	return (RC_OK);
}

static enum rc
add_conversation(struct showing *s, const struct store_conversation_item *item,
    struct err *err)
{
	struct members members = {.out = s->out};
	struct store_history_query query;
	enum rc rc;

	query = (struct store_history_query){item->conversation_id,
	    s->call->principal->user_id, true, INT64_MAX, item->delivered_upto,
	    1};
	buf_addc(s->out, '{');
	jw_uuid(s->out, "id", &item->public_id);
	jw_str(s->out, "kind", item->direct ? "direct" : "group");
	jw_time(s->out, "created_at", item->created_at);
	jw_time(s->out, "last_at", item->last_at);
	s->last_seq = 0;
	rc = store_history(s->db, &query, on_row_last, s, err);
	if (rc != RC_OK)
		return (rc);
	if (s->last_seq == 0)
		jw_null(s->out, "last_message");
	jw_int(s->out, "last", s->last_seq);
	jw_int(s->out, "unread", item->unread);
	jw_member(s->out, "members");
	buf_addc(s->out, '[');
	rc = store_participants(
	    s->db, item->conversation_id, on_row_member, &members, err);
	buf_adds(s->out, "]}");
	return (rc);
}

/* ---- the list ---- */

struct conversations_call {
	struct call call; /* first */
	bool created;     /* newest first, not last active first */
	bool has_after;
	int64_t at;     /* last_at of the cursor */
	struct uuid id; /* of the cursor, or of the path */
	int64_t limit;
};

static enum rc
list_conversation(
    void *arg, const struct store_conversation_item *item, struct err *err)
{
	struct showing *s = arg;

	if (s->shown == s->limit || call_page_full(s->call, s->out)) {
		s->more = true;
		return (RC_LIMIT);
	}
	jw_comma(s->out);
	s->shown++;
	s->last = item->public_id;
	s->last_at = item->last_at;
	return (add_conversation(s, item, err));
}

/* A cursor: "last_at:id" in the order by activity, "id" in that by creation. */
#define CURSOR_SIZE (20 + 1 + UUID_TEXT_LEN + 1)

static void
list_answer(struct conversations_call *a, struct showing *s)
{
	char id[UUID_TEXT_LEN + 1], next[CURSOR_SIZE];

	buf_addc(s->out, ']');
	if (s->more) {
		uuid_format(&s->last, id);
		if (a->created)
			memcpy(next, id, sizeof(id));
		else
			(void)snprintf(next, sizeof(next), "%" PRId64 ":%s",
			    s->last_at, id);
		jw_str(s->out, "next", next);
		call_link_next(&a->call,
		    "/v1/conversations?%safter=%s&limit=%" PRId64,
		    a->created ? "order=created&" : "", next, s->limit);
	} else {
		jw_null(s->out, "next");
	}
	jw_bool(s->out, "has_more", s->more);
	buf_addc(s->out, '}');
	call_json_tagged(&a->call, 200, s->out);
}

/* Appends one page of the user's conversations to s->out, the newest first;
 * with a->has_after, only those that are older than the conversation a->id.
 * RC_OK: this is the last page.  RC_LIMIT: the page is full, and more
 * conversations follow.  RC_NOT_FOUND: the user is not a member of a->id. */
static enum rc
list_created(struct conversations_call *a, struct showing *s, struct err *err)
{
	struct store_conversation_item item = {.conversation_id = INT64_MAX};
	const int64_t user_id = a->call.principal->user_id;
	enum rc rc = RC_OK;

	if (a->has_after)
		rc = store_conversation_one(s->db, user_id, &a->id, &item, err);
	if (rc == RC_OK)
		rc = store_conversation_list(s->db, user_id,
		    item.conversation_id, a->limit + 1, list_conversation, s,
		    err);
	return (rc);
}

static enum rc
read_conversations(struct call *call, struct db *db, struct err *err)
{
	struct conversations_call *a =
	    CONTAINER_OF(call, struct conversations_call, call);
	struct buf b = BUF_INIT;
	struct showing s = {
	    .call = call, .db = db, .out = &b, .limit = a->limit};
	const struct store_recent_query recent = {
	    call->principal->user_id, a->at, a->id, a->limit + 1};
	enum rc rc;

	buf_adds(&b, "{\"conversations\":[");
	if (a->created)
		rc = list_created(a, &s, err);
	else
		rc = store_conversation_recent(
		    db, &recent, list_conversation, &s, err);
	if (rc == RC_NOT_FOUND) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"after\" names no conversation of yours");
		rc = RC_OK;
	} else if (rc == RC_OK || rc == RC_LIMIT) {
		list_answer(a, &s);
		rc = RC_OK;
	}
	buf_fini(&b);
	return (rc);
}

/* Reads the parameter order.  Returns false if the request has been answered.
 */
static bool
read_order(struct conversations_call *a)
{
	const char *order = http_query(a->call.req, "order");

	a->created = order != NULL && strcmp(order, "created") == 0;
	if (order == NULL || a->created || strcmp(order, "recent") == 0)
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"order\" must be \"recent\" or \"created\"");
	return (false);
}

/* For a list in the order by activity: reads the query parameter "after", a
 * cursor of the form "last_at:id", into a->at and a->id.  If the parameter is
 * absent, the list begins with the most recently active conversation.  If the
 * parameter is not such a cursor, answers the request and returns false. */
static bool
read_recent_cursor(struct conversations_call *a)
{
	const char *text = http_query(a->call.req, "after"), *id;
	char at[20];
	size_t n;

	a->at = INT64_MAX;
	if (text == NULL)
		return (true);
	n = strcspn(text, ":");
	id = text + n + 1;
	if (text[n] == ':' && n < sizeof(at)) {
		memcpy(at, text, n);
		at[n] = '\0';
		if (call_number_parse(at, &a->at) &&
		    uuid_parse(id, strlen(id), &a->id))
			return (true);
	}
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"after\" is not a cursor of this order: take it from "
	    "\"next\"");
	return (false);
}

void
api_conversations_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", "order", NULL};
	struct conversations_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !read_order(a) ||
	    !(a->created
		    ? call_query_uuid(&a->call, "after", &a->has_after, &a->id)
		    : read_recent_cursor(a)) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	call_read(&a->call, read_conversations);
}

static enum rc
read_conversation(struct call *call, struct db *db, struct err *err)
{
	struct conversations_call *a =
	    CONTAINER_OF(call, struct conversations_call, call);
	struct store_conversation_item item;
	struct buf b = BUF_INIT;
	struct showing s = {.call = call, .db = db, .out = &b};
	enum rc rc;

	rc = store_conversation_one(
	    db, call->principal->user_id, &a->id, &item, err);
	if (rc == RC_NOT_FOUND) {
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_CONVERSATION);
		return (RC_OK);
	}
	if (rc == RC_OK)
		rc = add_conversation(&s, &item, err);
	if (rc == RC_OK)
		call_json_tagged(call, 200, &b);
	buf_fini(&b);
	return (rc);
}

void
api_conversation_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct conversations_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_CONVERSATION, &a->id))
		return;
	call_read(&a->call, read_conversation);
}

/* ---- history ---- */

struct history_call {
	struct call call; /* first */
	struct uuid id;
	bool forward;
	int64_t seq;
	int64_t limit;
};

static void
history_answer(struct history_call *a, struct showing *s)
{
	const char *way = a->forward ? "after" : "before";
	char id[UUID_TEXT_LEN + 1];

	buf_addc(s->out, ']');
	if (s->more) {
		uuid_format(&a->id, id);
		jw_int(s->out, "next", s->last_seq);
		call_link_next(&a->call,
		    "/v1/conversations/%s/messages?%s=%" PRId64
		    "&limit=%" PRId64,
		    id, way, s->last_seq, a->limit);
	} else {
		jw_null(s->out, "next");
	}
	jw_bool(s->out, "has_more", s->more);
	buf_addc(s->out, '}');
	call_json(&a->call, 200, s->out);
}

static enum rc
read_history(struct call *call, struct db *db, struct err *err)
{
	struct history_call *a = CONTAINER_OF(call, struct history_call, call);
	struct store_conversation_item item;
	struct members members = {.out = NULL};
	struct buf b = BUF_INIT;
	struct showing s = {.call = call,
	    .out = &b,
	    .limit = a->limit,
	    .conversation = &a->id,
	    .members = &members};
	struct store_history_query query;
	enum rc rc;

	rc = store_conversation_one(
	    db, call->principal->user_id, &a->id, &item, err);
	if (rc == RC_NOT_FOUND) {
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_CONVERSATION);
		return (RC_OK);
	}
	if (rc != RC_OK)
		return (rc);
	s.direct = item.direct;
	buf_adds(&b, "{\"messages\":[");
	rc = store_participants(
	    db, item.conversation_id, on_row_member, &members, err);
	query = (struct store_history_query){item.conversation_id,
	    call->principal->user_id, !a->forward, a->seq, item.delivered_upto,
	    a->limit + 1};
	if (rc == RC_OK)
		rc = store_history(db, &query, show_message, &s, err);
	if (rc == RC_LIMIT)
		rc = RC_OK;
	if (rc == RC_OK)
		history_answer(a, &s);
	buf_fini(&b);
	return (rc);
}

void
api_history_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"before", "after", "limit", NULL};
	struct history_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return;
	a->forward = http_query(req, "after") != NULL;
	if (a->forward && http_query(req, "before") != NULL) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
		    "give either \"before\" or \"after\"");
		return;
	}
	a->seq = INT64_MAX;
	if (call_query_i64(&a->call, "before", 0, INT64_MAX, &a->seq) &&
	    call_query_i64(&a->call, "after", 0, INT64_MAX, &a->seq) &&
	    call_query_limit(&a->call, &a->limit) &&
	    call_path_uuid(&a->call, NO_CONVERSATION, &a->id))
		call_read(&a->call, read_history);
}

/* ---- one message ---- */

struct message_call {
	struct call call; /* first */
	struct uuid id;
};

struct one_message {
	struct call *call;
	struct db *db;
	struct buf b;
};

static enum rc
on_row_message(void *arg, const struct store_history *h, struct err *err)
{
	struct one_message *one = arg;
	struct members members = {.out = NULL};
	struct store_conversation c;
	enum rc rc;

	rc = store_conversation_by_id(one->db, h->conversation_id, &c, err);
	if (rc == RC_OK)
		rc = store_participants(
		    one->db, h->conversation_id, on_row_member, &members, err);
	if (rc == RC_NOT_FOUND)
		rc = err_set(err, RC_CORRUPT, "a conversation is missing");
	if (rc == RC_OK)
		render_history(&one->b, h, &h->conversation,
		    one->call->principal->user_id,
		    recipient_of(&members, c.direct, h->sender_id));
	return (rc);
}

static enum rc
read_message(struct call *call, struct db *db, struct err *err)
{
	struct message_call *a = CONTAINER_OF(call, struct message_call, call);
	struct one_message one = {call, db, BUF_INIT};
	enum rc rc;

	rc = store_message_visible(
	    db, call->principal->user_id, &a->id, on_row_message, &one, err);
	if (rc == RC_NOT_FOUND) {
		call_problem(call, PROBLEM_NOT_FOUND, "",
		    "there is no message of that id that you may see");
		rc = RC_OK;
	} else if (rc == RC_OK) {
		call_json_tagged(call, 200, &one.b);
	}
	buf_fini(&one.b);
	return (rc);
}

void
api_message_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct message_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call,
		"there is no message of that id that you may see", &a->id))
		return;
	call_read(&a->call, read_message);
}
