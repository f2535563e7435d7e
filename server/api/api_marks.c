/* SPDX-License-Identifier: MIT */
/*
 * POST /v1/inbox/ack and POST /v1/inbox/read.  An ack says that the device that
 * sends the request has all events of its user's inbox up to a seq.  A read
 * says that the user has seen messages; if it names a seq of the inbox, it is
 * an ack up to this seq as well.
 */
#include <stdio.h>

#include "api/api_internal.h"
#include "chat/ack.h"
#include "chat/read.h"
#include "store/conversation.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The most ids of one request: as many as a page shows. */
#define READ_IDS_MAX LIMIT_PAGE_MAX

/* ---- ack ---- */

struct ack_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct ack_unit unit;
};

/* Thread: sync, or writer when refused. */
static void
ack_finish(struct unit *base)
{
	struct ack_unit *u = CONTAINER_OF(base, struct ack_unit, unit);
	struct ack_call *a = u->arg;
	struct buf b = BUF_INIT;

	if (!call_unit_ok(&a->call, &u->unit, &u->refusal))
		return;
	buf_addc(&b, '{');
	jw_int(&b, "acked", u->acked);
	jw_int(&b, "head", u->head);
	buf_addc(&b, '}');
	call_json(&a->call, 200, &b);
}

void
api_ack_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct ack_call *a;
	int64_t upto = 0;
	const struct wire_field fields[] = {{.name = "upto",
	    .type = WIRE_I64,
	    .required = true,
	    .min = 0,
	    .max = INT64_MAX,
	    .ret = &upto}};

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_body(&a->call, &a->doc, fields, COUNT(fields)))
		return;
	ack_unit_init(&a->unit);
	a->unit.user_id = a->call.principal->user_id;
	a->unit.device_id = a->call.principal->device_id;
	a->unit.upto = upto;
	a->unit.unit.finish = ack_finish;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- read ---- */

struct read_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct read_unit unit;
	struct uuid ids[READ_IDS_MAX];
};

/* The members of the body. */
struct read_body {
	int64_t upto, upto_seq;
	struct uuid conversation;
	json_t *ids;
	bool has_upto, has_upto_seq, has_conversation, is_private;
};

static enum rc
read_unread(struct call *call, struct db *db, struct err *err)
{
	struct buf b = BUF_INIT;
	int64_t unread;
	enum rc rc;

	rc = store_unread_total(db, call->principal->user_id, &unread, err);
	if (rc != RC_OK)
		return (rc);
	buf_addc(&b, '{');
	jw_int(&b, "unread", unread);
	buf_addc(&b, '}');
	call_json(call, 200, &b);
	return (RC_OK);
}

/* Thread: sync, or writer when refused. */
static void
read_finish(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);
	struct read_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_unread);
}

/* Reads the list of ids.  Returns false if the request has been answered. */
static bool
parse_ids(struct read_call *a, json_t *ids)
{
	char place[32];
	json_t *one;
	size_t i;

	if (!json_is_array(ids) || json_array_size(ids) < 1 ||
	    json_array_size(ids) > READ_IDS_MAX) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/ids",
		    "\"ids\" must be a list of 1 to %d message ids",
		    READ_IDS_MAX);
		return (false);
	}
	json_array_foreach (ids, i, one) {
		if (json_is_string(one) &&
		    uuid_parse(json_string_value(one), json_string_length(one),
			&a->ids[i]))
			continue;
		(void)snprintf(place, sizeof(place), "/ids/%zu", i);
		call_problem(&a->call, PROBLEM_BAD_REQUEST, place,
		    "this is not a valid message id");
		return (false);
	}
	a->unit.form = READ_IDS;
	a->unit.ids = a->ids;
	a->unit.nids = json_array_size(ids);
	return (true);
}

/* Sets the form of a->unit and the members that belong to it.  The body must
 * name the messages that were read in exactly one of three ways: all up to a
 * seq of the inbox, all up to a conversation_seq in one conversation, or a list
 * of message ids.  If it does not, or the list is not valid, answers the
 * request and returns false. */
static bool
parse_form(struct read_call *a, const struct read_body *body)
{
	const bool by_conversation =
	    body->has_conversation || body->has_upto_seq;

	if (body->has_upto + by_conversation + (body->ids != NULL) != 1) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
		    "give one of \"upto\", \"conversation\" with "
		    "\"upto_conversation_seq\", or \"ids\"");
		return (false);
	}
	if (body->ids != NULL)
		return (parse_ids(a, body->ids));
	if (body->has_upto) {
		a->unit.form = READ_UPTO;
		a->unit.upto = body->upto;
		return (true);
	}
	if (!body->has_conversation || !body->has_upto_seq) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST,
		    body->has_conversation ? "/upto_conversation_seq"
					   : "/conversation",
		    "\"conversation\" and \"upto_conversation_seq\" go "
		    "together");
		return (false);
	}
	a->unit.form = READ_CONVERSATION;
	a->unit.conversation = body->conversation;
	a->unit.upto = body->upto_seq;
	return (true);
}

void
api_read_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct read_body body = {.ids = NULL};
	struct read_call *a;
	const struct wire_field fields[] = {
	    {.name = "upto",
		.type = WIRE_I64,
		.max = INT64_MAX,
		.ret = &body.upto,
		.ret_present = &body.has_upto},
	    {.name = "conversation",
		.type = WIRE_UUID,
		.ret = &body.conversation,
		.ret_present = &body.has_conversation},
	    {.name = "upto_conversation_seq",
		.type = WIRE_I64,
		.max = INT64_MAX,
		.ret = &body.upto_seq,
		.ret_present = &body.has_upto_seq},
	    {.name = "ids", .type = WIRE_ANY, .ret = &body.ids},
	    {.name = "private", .type = WIRE_BOOL, .ret = &body.is_private},
	};

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_body(&a->call, &a->doc, fields, COUNT(fields)))
		return;
	read_unit_init(&a->unit);
	if (!parse_form(a, &body))
		return;
	a->unit.user_id = a->call.principal->user_id;
	a->unit.device_id = a->call.principal->device_id;
	a->unit.is_private = body.is_private;
	a->unit.unit.finish = read_finish;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}
