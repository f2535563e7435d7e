/* SPDX-License-Identifier: MIT */
/*
 * Moving marks: ack (this device has it) and read (a person saw it).
 */
#include <stdio.h>

#include "api/api_internal.h"
#include "chat/ack.h"
#include "chat/read.h"
#include "store/conversation.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* As many as a page shows. */
#define READ_IDS_MAX LIMIT_PAGE_MAX

/* ---- ack ---- */

struct ack_ask {
	struct ask ask; /* first */
	struct wire_doc doc;
	struct ack_unit unit;
};

/* Thread: sync, or writer when refused. */
static void
ack_finish(struct unit *base)
{
	struct ack_unit *u = CONTAINER_OF(base, struct ack_unit, unit);
	struct ack_ask *a = u->arg;
	struct buf b = BUF_INIT;

	if (!ask_unit_ok(&a->ask, &u->unit, &u->refusal))
		return;
	buf_addc(&b, '{');
	jw_int(&b, "acked", u->acked);
	jw_int(&b, "head", u->head);
	buf_addc(&b, '}');
	ask_json(&a->ask, 200, &b);
}

void
api_ack_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct ack_ask *a;
	int64_t upto = 0;
	const struct wire_field fields[] = {{.name = "upto",
	    .type = WIRE_I64,
	    .required = true,
	    .min = 0,
	    .max = INT64_MAX,
	    .ret = &upto}};

	if ((a = ask_new(arg, req, sizeof(*a))) == NULL ||
	    !ask_query_check(&a->ask, allowed) ||
	    !ask_body(&a->ask, &a->doc, fields, COUNT(fields)))
		return;
	ack_unit_init(&a->unit);
	a->unit.user_id = a->ask.who->user_id;
	a->unit.device_id = a->ask.who->device_id;
	a->unit.upto = upto;
	a->unit.unit.finish = ack_finish;
	a->unit.arg = a;
	(void)ask_submit(&a->ask, &a->unit.unit);
}

/* ---- read ---- */

struct read_ask {
	struct ask ask; /* first */
	struct wire_doc doc;
	struct read_unit unit;
	struct uuid ids[READ_IDS_MAX];
};

/* What the body may hold. */
struct read_body {
	int64_t upto, upto_seq;
	struct uuid conversation;
	json_t *ids;
	bool has_upto, has_upto_seq, has_conversation, is_private;
};

static enum rc
read_unread(struct ask *ask, struct db *db, struct err *err)
{
	struct buf b = BUF_INIT;
	int64_t unread;
	enum rc rc;

	rc = store_unread_total(db, ask->who->user_id, &unread, err);
	if (rc != RC_OK)
		return (rc);
	buf_addc(&b, '{');
	jw_int(&b, "unread", unread);
	buf_addc(&b, '}');
	ask_json(ask, 200, &b);
	return (RC_OK);
}

/* Thread: sync, or writer when refused. */
static void
read_finish(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);
	struct read_ask *a = u->arg;

	if (ask_unit_ok(&a->ask, &u->unit, &u->refusal))
		ask_read(&a->ask, read_unread);
}

/* Reads the list of ids; false: answered. */
static bool
take_ids(struct read_ask *a, json_t *ids)
{
	char place[32];
	json_t *one;
	size_t i;

	if (!json_is_array(ids) || json_array_size(ids) < 1 ||
	    json_array_size(ids) > READ_IDS_MAX) {
		ask_problem(&a->ask, PROBLEM_BAD_REQUEST, "/ids",
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
		ask_problem(&a->ask, PROBLEM_BAD_REQUEST, place,
		    "this is no message id");
		return (false);
	}
	a->unit.form = READ_IDS;
	a->unit.ids = a->ids;
	a->unit.nids = json_array_size(ids);
	return (true);
}

/* Decides which of the forms it is; false: answered. */
static bool
take_form(struct read_ask *a, const struct read_body *body)
{
	const bool by_conversation =
	    body->has_conversation || body->has_upto_seq;

	if (body->has_upto + by_conversation + (body->ids != NULL) != 1) {
		ask_problem(&a->ask, PROBLEM_BAD_REQUEST, "",
		    "give one of \"upto\", \"conversation\" with "
		    "\"upto_conversation_seq\", or \"ids\"");
		return (false);
	}
	if (body->ids != NULL)
		return (take_ids(a, body->ids));
	if (body->has_upto) {
		a->unit.form = READ_UPTO;
		a->unit.upto = body->upto;
		return (true);
	}
	if (!body->has_conversation || !body->has_upto_seq) {
		ask_problem(&a->ask, PROBLEM_BAD_REQUEST,
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
	struct read_ask *a;
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

	if ((a = ask_new(arg, req, sizeof(*a))) == NULL ||
	    !ask_query_check(&a->ask, allowed) ||
	    !ask_body(&a->ask, &a->doc, fields, COUNT(fields)))
		return;
	read_unit_init(&a->unit);
	if (!take_form(a, &body))
		return;
	a->unit.user_id = a->ask.who->user_id;
	a->unit.device_id = a->ask.who->device_id;
	a->unit.is_private = body.is_private;
	a->unit.unit.finish = read_finish;
	a->unit.arg = a;
	(void)ask_submit(&a->ask, &a->unit.unit);
}
