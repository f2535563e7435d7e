/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of lanes: the list, and the rewind.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "delivery/operator.h"
#include "store/outbox.h"

#define NO_LANE "there is no such lane"

static enum rc
write_lane(void *arg, const struct inspect_lane *l, struct err *err)
{
	struct buf *b = arg;

	(void)err;
	jw_comma(b);
	buf_addc(b, '{');
	jw_int(b, "lane_id", l->lane_id);
	jw_uuid(b, "conversation", &l->conversation);
	jw_str(b, "to", l->to);
	jw_str(b, "destination", l->destination);
	jw_str(b, "class", l->class == LANE_RECEIPTS ? "receipts" : "messages");
	jw_str(b, "state", l->state);
	jw_int(b, "priority", l->priority);
	jw_int(b, "next_seq", l->next_seq);
	jw_int(b, "last_published_seq", l->last_published_seq);
	jw_int(b, "tail_seq", l->tail_seq);
	jw_int(b, "pending", l->tail_seq - l->next_seq + 1);
	jw_time(b, "due_at", l->due_at);
	jw_str(b, "lease_owner", l->lease_owner);
	jw_time(b, "lease_until", l->lease_until);
	jw_int(b, "lease_token", l->lease_token);
	jw_time(b, "updated_at", l->updated_at);
	admin_number(b, "replay_seq", l->replay_seq);
	buf_addc(b, '}');
	return (RC_OK);
}

/* ---- the list ---- */

struct list_call {
	struct call call; /* first */
	struct admin_names names;
	struct inspect_lane_filter filter;
	int64_t after, limit;
};

static enum rc
add_rows(struct call *call, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	int64_t nobody;
	enum rc rc;

	rc = admin_resolve(
	    call, db, &a->names, &nobody, &a->filter.destination_id, err);
	return (rc == RC_OK ? inspect_lanes(db, &a->filter, a->after, a->limit,
				  write_lane, b, ret_next, err)
			    : rc);
}

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	static const struct admin_list list = {"lanes", "after", add_rows};

	return (admin_list_read(call, db, &list, err));
}

static bool
parse_state(struct list_call *a)
{
	static const char *const states[] = {
	    "local", "idle", "ready", "leased"};
	const char *state = http_query(a->call.req, "state");
	size_t i;

	a->filter.state = state;
	if (state == NULL)
		return (true);
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(state, states[i]) == 0)
			return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"state\" must be local, idle, ready or leased");
	return (false);
}

void
admin_lanes_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {
	    "destination", "state", "after", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !parse_state(a) ||
	    !admin_query_cursor(&a->call, "after", 0, &a->after) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	a->names.destination = http_query(req, "destination");
	call_read(&a->call, read_list);
}

/* ---- rewind ---- */

struct rewind_call {
	struct call call; /* first */
	struct wire_doc doc;
	int64_t lane_id;
	int64_t since_ms; /* for a rewind by time */
	struct operator_unit unit;
};

static enum rc
read_lane(struct call *call, struct db *db, struct err *err)
{
	struct rewind_call *a = CONTAINER_OF(call, struct rewind_call, call);
	struct buf b = BUF_INIT;
	enum rc rc;

	rc = inspect_lane(db, a->lane_id, write_lane, &b, err);
	if (rc == RC_OK)
		call_json(call, 200, &b);
	else if (rc == RC_NOT_FOUND)
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_LANE);
	buf_fini(&b);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Thread: sync, or writer when refused. */
static void
rewound(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);
	struct rewind_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_lane);
}

static void
rewind_from(struct rewind_call *a, int64_t seq)
{

	operator_unit_init(&a->unit, OPERATOR_REWIND, a->call.principal->name);
	a->unit.lane_id = a->lane_id;
	a->unit.number = seq;
	a->unit.unit.finish = rewound;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* Finds the lowest place (number) in the lane whose row the destination
 * accepted at since_ms or later, and submits a unit (a job of the writer) that
 * rewinds the lane to this place.  The place stays correct until the writer
 * runs the unit: places below the next_seq of the lane do not change, and if
 * the row is purged meanwhile, the rewind begins with the next row that is
 * left.  If there is no such row, the unit gets OPERATOR_NO_PLACE and rewinds
 * nothing, which is not an error. */
static enum rc
read_since(struct call *call, struct db *db, struct err *err)
{
	struct rewind_call *a = CONTAINER_OF(call, struct rewind_call, call);
	int64_t seq = OPERATOR_NO_PLACE;
	enum rc rc;

	rc = inspect_lane_sent_since(db, a->lane_id, a->since_ms, &seq, err);
	if (rc != RC_OK && rc != RC_NOT_FOUND)
		return (rc);
	rewind_from(a, seq);
	return (RC_OK);
}

void
admin_rewind_post(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {NULL};
	struct rewind_call *a;
	bool has_seq = false, has_since = false;
	int64_t seq = 0, since_ms = 0;
	const struct wire_field fields[] = {{.name = "seq",
						.type = WIRE_I64,
						.min = 1,
						.max = INT64_MAX,
						.ret = &seq,
						.ret_present = &has_seq},
	    {.name = "since",
		.type = WIRE_TIME,
		.ret = &since_ms,
		.ret_present = &has_since}};

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !admin_path_number(&a->call, "id", NO_LANE, &a->lane_id) ||
	    !call_body(&a->call, &a->doc, fields, 2))
		return;
	if (has_seq && has_since) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/since",
		    "give \"seq\" or \"since\", not both");
	} else if (has_since) {
		a->since_ms = since_ms;
		call_read(&a->call, read_since);
	} else if (has_seq) {
		rewind_from(a, seq);
	} else {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/seq",
		    "member \"seq\" or \"since\" is missing");
	}
}
