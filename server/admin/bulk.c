/* SPDX-License-Identifier: MIT */
/*
 * Requeues or discards many dead letters: those of a list of ids, or those open
 * ones with the lowest ids that match a filter, until a given number of them
 * has been changed.  They go to the writer in units (jobs, each committed or
 * refused as a whole) of at most OPERATOR_DEAD_LETTERS (100), one after the
 * other, so that no other commit waits for all of them.  The answer gives the
 * number of changed dead letters, and names those that could not be changed,
 * which does not refuse their unit.  If a unit fails as a whole, the answer is
 * an error, but earlier units stay committed.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "delivery/operator.h"

#define BULK_MAX 1000
#define BULK_DEFAULT 100
/* A request by filter begins no further unit once it has tried this many dead
 * letters, including those that were refused. */
#define TRIED_MAX 2000

struct bulk_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct operator_unit unit;
	struct operator_dead_letter letters[OPERATOR_DEAD_LETTERS];
	const char *member; /* "requeued", "discarded" */

	/* By id. */
	json_t *ids; /* NULL: by filter */
	size_t at;

	/* By filter. */
	struct admin_names names;
	char sender[LIMIT_ADDRESS_LEN + 1];
	char destination[OPERATOR_NAME_LEN + 1];
	struct inspect_dead_letter_filter filter;
	bool resolved; /* the ids of the names are in filter */
	int64_t limit, last;
	bool ended; /* no more dead letters match */

	int64_t done, tried, refused;
	struct buf refusals;
};

static void go_on(struct bulk_call *a);

/* ---- the answer ---- */

static enum rc
read_end(struct call *call, struct db *db, struct err *err)
{
	struct bulk_call *a = CONTAINER_OF(call, struct bulk_call, call);
	struct buf b = BUF_INIT;
	int64_t left = 0;
	bool all = true;
	enum rc rc;

	/* Of a list of ids only the refused ones remain. */
	rc = a->ids != NULL ? RC_OK
			    : inspect_dead_letters_left(
				  db, &a->filter, a->last, &left, &all, err);
	if (rc != RC_OK)
		return (rc);
	buf_addc(&b, '{');
	jw_int(&b, a->member, a->done);
	jw_member(&b, "refused");
	buf_addc(&b, '[');
	if (buf_ok(&a->refusals))
		buf_add(&b, a->refusals.data, a->refusals.len);
	buf_addc(&b, ']');
	jw_int(&b, "remaining", left + a->refused);
	jw_bool(&b, "more", left > 0 || !all);
	buf_addc(&b, '}');
	call_json(call, 200, &b);
	buf_fini(&b);
	return (RC_OK);
}

/* ---- a unit ---- */

static void
add_results(struct bulk_call *a)
{
	const struct operator_dead_letter *l;
	size_t i;

	a->done += (int64_t)a->unit.done;
	a->tried += (int64_t)a->unit.ndead_letters;
	for (i = 0; i < a->unit.ndead_letters; i++) {
		l = &a->letters[i];
		if (!l->refused)
			continue;
		a->refused++;
		jw_comma(&a->refusals);
		buf_addc(&a->refusals, '{');
		jw_int(&a->refusals, "dead_id", l->dead_id);
		jw_str(&a->refusals, "detail", l->detail);
		buf_addc(&a->refusals, '}');
	}
}

/* Thread: sync, or writer when refused. */
static void
unit_done(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);
	struct bulk_call *a = u->arg;

	if (!call_unit_ok(&a->call, &u->unit, &u->refusal))
		return;
	add_results(a);
	go_on(a);
}

static void
submit(struct bulk_call *a)
{
	enum operator_op op = a->unit.op;
	size_t n = a->unit.ndead_letters;

	operator_unit_init(&a->unit, op, a->call.principal->name);
	a->unit.dead_letters = a->letters;
	a->unit.ndead_letters = n;
	a->unit.unit.finish = unit_done;
	a->unit.arg = a;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* ---- the dead letters of a unit ---- */

static void
next_named(struct bulk_call *a)
{
	size_t n = 0;

	while (n < OPERATOR_DEAD_LETTERS && a->at < json_array_size(a->ids)) {
		a->letters[n].dead_id =
		    json_integer_value(json_array_get(a->ids, a->at));
		n++;
		a->at++;
	}
	a->unit.ndead_letters = n;
}

static enum rc
next_filtered(struct bulk_call *a, struct db *db, struct err *err)
{
	int64_t ids[OPERATOR_DEAD_LETTERS], last, want = a->limit - a->done;
	size_t i, n;
	enum rc rc;

	rc = inspect_dead_letter_ids(db, &a->filter, a->last, ids,
	    (size_t)(want < OPERATOR_DEAD_LETTERS ? want
						  : OPERATOR_DEAD_LETTERS),
	    &n, &last, err);
	if (rc != RC_OK)
		return (rc);
	/* Even if none of the rows read here matches, later ones may. */
	a->ended = last == 0;
	if (last != 0)
		a->last = last;
	else if (n > 0)
		a->last = ids[n - 1];
	for (i = 0; i < n; i++)
		a->letters[i].dead_id = ids[i];
	a->unit.ndead_letters = n;
	return (RC_OK);
}

static bool
is_done(const struct bulk_call *a)
{

	if (a->ids != NULL)
		return (a->at == json_array_size(a->ids));
	return (a->ended || a->done >= a->limit || a->tried >= TRIED_MAX);
}

/* Finds the dead letters of the next unit (at most 100), and submits the unit
 * to the writer.  If this step has found none, answers if the request is done
 * (is_done()); otherwise queues itself on the readers again, to search on.
 * First checks the operator's token and right, which may be gone since the
 * previous unit; if so, answers with 401 or 403. */
static enum rc
read_next(struct call *call, struct db *db, struct err *err)
{
	struct bulk_call *a = CONTAINER_OF(call, struct bulk_call, call);
	enum rc rc;

	if ((rc = rest_still_admitted(call, db, err)) == RC_NOT_FOUND) {
		caller_refuse_stranger(call);
		return (RC_OK);
	}
	if (rc == RC_DENIED) {
		caller_refuse_user(call);
		return (RC_OK);
	}
	if (rc == RC_OK && a->ids == NULL && !a->resolved) {
		rc = admin_resolve(call, db, &a->names, &a->filter.sender_id,
		    &a->filter.destination_id, err);
		if (rc == RC_NOT_FOUND)
			return (RC_OK);
		a->resolved = true;
	}
	if (rc == RC_OK && a->ids == NULL)
		rc = next_filtered(a, db, err);
	else if (rc == RC_OK)
		next_named(a);
	if (rc != RC_OK)
		return (rc);
	if (a->unit.ndead_letters > 0)
		submit(a);
	else
		call_read(call, is_done(a) ? read_end : read_next);
	return (RC_OK);
}

/* Continues with the next unit, or answers. */
static void
go_on(struct bulk_call *a)
{

	call_read(&a->call, is_done(a) ? read_end : read_next);
}

/* ---- the request ---- */

static bool
parse_ids(struct bulk_call *a)
{
	size_t i, n;

	n = json_array_size(a->ids); /* 0 if it is not an array */
	for (i = 0; i < n; i++)
		if (!json_is_integer(json_array_get(a->ids, i)))
			n = 0;
	if (n >= 1 && n <= BULK_MAX)
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "/dead_ids",
	    "\"dead_ids\" must be a list of 1 to %d numbers", BULK_MAX);
	return (false);
}

static bool
parse_filter(struct bulk_call *a, json_t *filter)
{
	struct span reason = {NULL, 0}, sender = {NULL, 0},
		    destination = {NULL, 0};
	const struct wire_field fields[] = {
	    {.name = "reason", .type = WIRE_SPAN, .ret = &reason},
	    {.name = "sender",
		.type = WIRE_SPAN,
		.max_len = sizeof(a->sender) - 1,
		.ret = &sender},
	    {.name = "destination",
		.type = WIRE_SPAN,
		.max_len = sizeof(a->destination) - 1,
		.ret = &destination}};
	struct refusal r = REFUSAL_INIT;

	if (wire_object(filter, "/filter", fields, 3, &r) != RC_OK) {
		call_refuse(&a->call, &r);
		return (false);
	}
	if (reason.p != NULL &&
	    !admin_reason_read(reason.p, reason.n, a->filter.reason)) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/filter/reason",
		    "\"reason\" must be " ADMIN_REASONS);
		return (false);
	}
	if (sender.n > 0)
		memcpy(a->sender, sender.p, sender.n);
	if (destination.n > 0)
		memcpy(a->destination, destination.p, destination.n);
	a->names = (struct admin_names){a->sender, a->destination, true};
	return (true);
}

static bool
parse_request(struct bulk_call *a)
{
	json_t *ids = NULL, *filter = NULL;
	bool limited = false;
	const struct wire_field fields[] = {
	    {.name = "dead_ids", .type = WIRE_ANY, .ret = &ids},
	    {.name = "filter", .type = WIRE_ANY, .ret = &filter},
	    {.name = "limit",
		.type = WIRE_I64,
		.min = 1,
		.max = BULK_MAX,
		.ret = &a->limit,
		.ret_present = &limited}};

	a->limit = BULK_DEFAULT;
	if (!call_body(&a->call, &a->doc, fields, 3))
		return (false);
	if ((ids != NULL) == (filter != NULL)) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "",
		    "give either \"dead_ids\" or \"filter\"");
		return (false);
	}
	if (ids != NULL && limited) {
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/limit",
		    "\"limit\" goes with \"filter\"");
		return (false);
	}
	a->ids = ids;
	return (ids != NULL ? parse_ids(a) : parse_filter(a, filter));
}

static void
bulk_fini(void *arg)
{
	struct bulk_call *a = arg;

	buf_fini(&a->refusals);
}

static void
many(struct http_request *req, void *arg, enum operator_op op,
    const char *member)
{
	static const char *const allowed[] = {NULL};
	struct bulk_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) || !parse_request(a))
		return;
	if (http_on_free(req, bulk_fini, a) != RC_OK) {
		call_problem(&a->call, PROBLEM_BUSY, "", "out of memory");
		return;
	}
	a->unit.op = op;
	a->member = member;
	go_on(a);
}

void
admin_dead_requeue_post(struct http_request *req, void *arg)
{

	many(req, arg, OPERATOR_REQUEUE_DEAD_LETTERS, "requeued");
}

void
admin_dead_discard_post(struct http_request *req, void *arg)
{

	many(req, arg, OPERATOR_DISCARD_DEAD_LETTERS, "discarded");
}
