/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of the outbox, which has a row for each recipient of a message
 * or receipt: the list of the rows of messages; one message with its rows
 * (admin_show()); and retry and discard of a message, which change each of its
 * rows whose state allows it.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "delivery/operator.h"
#include "model/message.h"
#include "model/outbox.h"

#define NO_MESSAGE "there is no such message"

/* ---- the list ---- */

struct list_call {
	struct call call; /* first */
	struct admin_names names;
	struct inspect_outbox_filter filter;
	int64_t before, limit;
};

static enum rc
list_row(void *arg, const struct inspect_outbox_row *row, struct err *err)
{
	struct buf *b = arg;

	(void)err;
	jw_comma(b);
	buf_addc(b, '{');
	admin_row_members(b, row, "attempts");
	buf_addc(b, '}');
	return (RC_OK);
}

static enum rc
add_rows(struct call *call, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	enum rc rc;

	rc = admin_resolve(call, db, &a->names, &a->filter.sender_id,
	    &a->filter.destination_id, err);
	return (rc == RC_OK ? inspect_outbox(db, &a->filter, a->before,
				  a->limit, list_row, b, ret_next, err)
			    : rc);
}

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	static const struct admin_list list = {"entries", "before", add_rows};

	return (admin_list_read(call, db, &list, err));
}

static bool
parse_state(struct list_call *a)
{
	const char *text = http_query(a->call.req, "state");

	a->filter.state = -1;
	if (text == NULL)
		return (true);
	a->filter.scheduled = strcmp(text, "scheduled") == 0;
	a->filter.state =
	    a->filter.scheduled ? OUTBOX_PENDING : outbox_state_parse(text);
	if (a->filter.state >= 0)
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"state\" must be pending, scheduled, sending, sent, "
	    "acked, failed, expired or canceled");
	return (false);
}

static bool
parse_stuck(struct list_call *a)
{
	const char *text = http_query(a->call.req, "stuck");
	int64_t now_ms = clk_wall_ms(admin_of(&a->call)->o.clk), ms;

	if (text == NULL)
		return (true);
	if (model_duration_parse(text, &ms) && ms > 0 && ms < now_ms) {
		a->filter.unchanged_since = now_ms - ms;
		return (true);
	}
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"stuck\" must be a time like 90s, 30m, 2h or 1d");
	return (false);
}

static bool
parse_near_failure(struct list_call *a)
{
	int64_t left = -1, most = admin_of(&a->call)->o.max_retries;

	if (!call_query_i64(&a->call, "near_failure", 0, most - 1, &left))
		return (false);
	if (left >= 0)
		a->filter.retry_count = most - left;
	return (true);
}

void
admin_outbox_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"state", "destination", "sender",
	    "stuck", "near_failure", "before", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !parse_state(a) ||
	    !parse_stuck(a) || !parse_near_failure(a) ||
	    !admin_query_cursor(&a->call, "before", INT64_MAX, &a->before) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	a->names.sender = http_query(req, "sender");
	a->names.destination = http_query(req, "destination");
	call_read(&a->call, read_list);
}

/* ---- one message ---- */

struct message_call {
	struct call call; /* first */
	struct uuid id;
	struct wire_doc doc;
	struct operator_unit unit;
};

static enum rc
read_message(struct call *call, struct db *db, struct err *err)
{
	struct message_call *a = CONTAINER_OF(call, struct message_call, call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = admin_show(db, &a->id, &b, err);
	if (rc == RC_OK)
		call_json(call, 200, &b);
	else if (rc == RC_NOT_FOUND)
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_MESSAGE);
	buf_fini(&b);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

void
admin_message_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct message_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_MESSAGE, &a->id))
		return;
	call_read(&a->call, read_message);
}

/* Thread: sync, or writer when refused. */
static void
done(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);
	struct message_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_message);
}

static void
submit(struct http_request *req, void *arg, enum operator_op op)
{
	static const char *const allowed[] = {NULL};
	struct message_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !call_path_uuid(&a->call, NO_MESSAGE, &a->id) ||
	    !call_body_if_any(&a->call, &a->doc, NULL, 0))
		return;
	operator_unit_init(&a->unit, op, a->call.principal->name);
	a->unit.message = a->id;
	a->unit.unit.finish = done;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

void
admin_retry_post(struct http_request *req, void *arg)
{

	submit(req, arg, OPERATOR_RETRY);
}

void
admin_discard_post(struct http_request *req, void *arg)
{

	submit(req, arg, OPERATOR_DISCARD);
}
