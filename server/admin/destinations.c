/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of destinations: the list, with the state and the backlog of
 * each (the number and the ages of the outbox rows that wait for it), and
 * changes: pause, resume, and the limit of the rate.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "base/mem.h"
#include "delivery/operator.h"

#define NO_DESTINATION "there is no such destination"
/* The ages of a destination's backlog are computed from a limited number of its
 * waiting rows: on a page of n destinations BUDGET_PAGE / n for each, but at
 * least BUDGET_LEAST and at most BUDGET_ONE. */
#define BUDGET_ONE 10000
#define BUDGET_PAGE 50000
#define BUDGET_LEAST 250

/* ---- the rows of destinations ---- */

/* One destination of a page.  Its incomplete JSON object ends at offset ${end}
 * of page.text.  write_page() adds the last members (relay, backlog) and the
 * closing brace. */
struct item {
	int64_t destination_id;
	size_t end;
};

struct page {
	struct item items[LIMIT_PAGE_MAX];
	size_t n, limit;
	char last[OPERATOR_NAME_LEN + 1];
	struct buf text;
};

/* RC_LIMIT ends the page, because there are more. */
static enum rc
on_row_destination(
    void *arg, const struct inspect_destination *d, struct err *err)
{
	struct page *p = arg;
	struct buf *b = &p->text;

	(void)err;
	if (p->n == p->limit)
		return (RC_LIMIT);
	(void)snprintf(p->last, sizeof(p->last), "%s", d->name);
	buf_addc(b, '{');
	jw_str(b, "name", d->name);
	jw_str(b, "breaker", d->breaker);
	jw_int(b, "failures", d->failures);
	jw_int(b, "successes", d->successes);
	jw_time(b, "next_probe_at", d->next_probe_at);
	jw_time(b, "failing_since", d->failing_since);
	jw_time(b, "last_success_at", d->last_success_at);
	jw_time(b, "last_failure_at", d->last_failure_at);
	jw_str(b, "last_error", d->last_error);
	jw_time(b, "paused_at", d->paused_at);
	jw_str(b, "paused_by", d->paused_by);
	jw_str(b, "pause_reason", d->pause_reason);
	if (d->per_second != 0)
		jw_int(b, "per_second", d->per_second);
	else
		jw_null(b, "per_second");
	p->items[p->n++] = (struct item){d->destination_id, b->len};
	return (RC_OK);
}

/* ---- the backlog ---- */

static void
write_waiting(struct buf *b, const struct inspect_backlog *w, int64_t now_ms)
{
	int i;

	jw_int(b, "pending", w->pending);
	jw_int(b, "lanes_ready", w->lanes_ready);
	if (w->oldest_at != 0)
		jw_int(b, "oldest_pending_age_ms",
		    now_ms > w->oldest_at ? now_ms - w->oldest_at : 0);
	else
		jw_null(b, "oldest_pending_age_ms");
	jw_member(b, "ages");
	buf_addc(b, '[');
	for (i = 0; i < INSPECT_AGES; i++) {
		jw_comma(b);
		buf_addi(b, w->ages[i]);
	}
	buf_addc(b, ']');
	jw_bool(b, "truncated", w->truncated);
}

/* Writes the relay's state of a destination.  The relay may not know it. */
static void
write_relay(
    struct buf *b, const struct relay_stats *relay, int64_t destination_id)
{
	size_t i = 0;

	while (i < relay->n &&
	       relay->destinations[i].destination_id != destination_id)
		i++;
	if (i < relay->n) {
		jw_int(b, "window", relay->destinations[i].window);
		jw_int(b, "in_flight", relay->destinations[i].in_flight);
	} else {
		jw_null(b, "window");
		jw_int(b, "in_flight", 0);
	}
}

static enum rc
write_page(struct admin *admin, struct db *db, const struct page *p,
    struct buf *b, struct err *err)
{
	int64_t budget, now_ms = clk_wall_ms(admin->o.clk);
	struct relay_stats *relay;
	struct inspect_backlog w;
	size_t i, start = 0;
	enum rc rc = RC_OK;

	budget = BUDGET_PAGE / (int64_t)(p->n > 0 ? p->n : 1);
	if (budget > BUDGET_ONE)
		budget = BUDGET_ONE;
	if (budget < BUDGET_LEAST)
		budget = BUDGET_LEAST;
	if (!buf_ok(&p->text) || (relay = admin_relay(admin)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "admin"));
	for (i = 0; i < p->n && rc == RC_OK; i++) {
		rc = inspect_backlog(
		    db, p->items[i].destination_id, now_ms, budget, &w, err);
		jw_comma(b);
		buf_add(b, p->text.data + start, p->items[i].end - start);
		write_relay(b, relay, p->items[i].destination_id);
		write_waiting(b, &w, now_ms);
		buf_addc(b, '}');
		start = p->items[i].end;
	}
	mem_free(relay);
	return (rc);
}

static void
write_limits(struct buf *b)
{
	int i;

	jw_member(b, "age_limits_ms");
	buf_addc(b, '[');
	for (i = 0; i < INSPECT_AGES - 1; i++) {
		jw_comma(b);
		buf_addi(b, inspect_age_limits_ms[i]);
	}
	buf_addc(b, ']');
}

/* ---- the list ---- */

struct list_call {
	struct call call; /* first */
	const char *after;
	int64_t limit;
	struct page page;
};

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	struct buf b = BUF_INIT;
	bool more;
	enum rc rc;

	a->page.limit = (size_t)a->limit;
	rc = inspect_destinations(
	    db, a->after, a->limit + 1, on_row_destination, &a->page, err);
	more = rc == RC_LIMIT;
	if (rc == RC_OK || rc == RC_LIMIT) {
		buf_adds(&b, "{\"destinations\":[");
		rc = write_page(admin_of(call), db, &a->page, &b, err);
	}
	buf_fini(&a->page.text);
	if (rc == RC_OK) {
		buf_addc(&b, ']');
		write_limits(&b);
		admin_next_text(call, &b, "after", more ? a->page.last : NULL);
		buf_addc(&b, '}');
		call_json(call, 200, &b);
	}
	buf_fini(&b);
	return (rc);
}

void
admin_destinations_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"after", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return;
	a->limit = LIMIT_PAGE_MAX;
	if (!call_query_i64(&a->call, "limit", 1, LIMIT_PAGE_MAX, &a->limit))
		return;
	a->after = http_query(req, "after");
	if (a->after == NULL)
		a->after = "";
	call_read(&a->call, read_list);
}

/* ---- pause, resume, rate ---- */

struct change_call {
	struct call call; /* first */
	struct wire_doc doc;
	struct operator_unit unit;
	struct page page;
};

static enum rc
read_one(struct call *call, struct db *db, struct err *err)
{
	struct change_call *a = CONTAINER_OF(call, struct change_call, call);
	struct buf b = BUF_INIT;
	enum rc rc;

	a->page.limit = 1;
	rc = inspect_destination(
	    db, a->unit.name, on_row_destination, &a->page, err);
	if (rc == RC_OK)
		rc = write_page(admin_of(call), db, &a->page, &b, err);
	buf_fini(&a->page.text);
	if (rc == RC_OK)
		call_json(call, 200, &b);
	else if (rc == RC_NOT_FOUND)
		call_problem(call, PROBLEM_NOT_FOUND, "", NO_DESTINATION);
	buf_fini(&b);
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Thread: sync, or writer when refused. */
static void
changed(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);
	struct change_call *a = u->arg;

	if (call_unit_ok(&a->call, &u->unit, &u->refusal))
		call_read(&a->call, read_one);
}

/* Makes the state, in the request's memory, of a request that changes the
 * destination named in the path, and prepares its unit (the writer's job) for
 * ${op}.  Does not check that there is such a destination: the writer checks
 * that when it runs the unit.  Returns NULL if the request was wrong or there
 * is no memory; this function has then answered the request. */
static struct change_call *
change_new(struct http_request *req, void *arg, enum operator_op op)
{
	static const char *const allowed[] = {NULL};
	const char *name = http_path_param(req, "name");
	struct change_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed))
		return (NULL);
	operator_unit_init(&a->unit, op, a->call.principal->name);
	a->unit.unit.finish = changed;
	a->unit.arg = a;
	if (name != NULL && strlen(name) < sizeof(a->unit.name)) {
		memcpy(a->unit.name, name, strlen(name) + 1);
		return (a);
	}
	call_problem(&a->call, PROBLEM_NOT_FOUND, "", NO_DESTINATION);
	return (NULL);
}

void
admin_pause_post(struct http_request *req, void *arg)
{
	struct span reason = {NULL, 0};
	const struct wire_field fields[] = {{.name = "reason",
	    .type = WIRE_SPAN,
	    .max_len = OPERATOR_REASON_LEN,
	    .ret = &reason}};
	struct change_call *a;

	if ((a = change_new(req, arg, OPERATOR_PAUSE)) == NULL ||
	    !call_body_if_any(&a->call, &a->doc, fields, 1))
		return;
	if (reason.n > 0)
		memcpy(a->unit.reason, reason.p, reason.n);
	(void)call_submit(&a->call, &a->unit.unit);
}

void
admin_resume_post(struct http_request *req, void *arg)
{
	struct change_call *a;

	if ((a = change_new(req, arg, OPERATOR_RESUME)) == NULL ||
	    !call_body_if_any(&a->call, &a->doc, NULL, 0))
		return;
	(void)call_submit(&a->call, &a->unit.unit);
}

/* Reads ${rate}, a whole number of messages and receipts per second, into the
 * number of the unit; if ${rate} is null (no limit), that number stays 0.  If
 * ${rate} is neither null nor from 1 to 1000000, answers the request with an
 * error and returns false. */
static bool
parse_rate(struct change_call *a, json_t *rate)
{
	int64_t n;

	if (json_is_null(rate))
		return (true);
	n = json_is_integer(rate) ? json_integer_value(rate) : 0;
	a->unit.number = n;
	if (n >= 1 && n <= 1000000)
		return (true);
	call_problem(&a->call, PROBLEM_BAD_REQUEST, "/per_second",
	    "\"per_second\" must be a whole number from 1 to 1000000, or null "
	    "for no limit");
	return (false);
}

void
admin_destination_patch(struct http_request *req, void *arg)
{
	struct change_call *a;
	json_t *rate;
	const struct wire_field fields[] = {
	    {.name = "per_second", .type = WIRE_ANY, .ret = &rate}};

	rate = NULL;
	if ((a = change_new(req, arg, OPERATOR_RATE)) == NULL ||
	    !call_body(&a->call, &a->doc, fields, 1))
		return;
	rate = json_object_get(a->doc.root, "per_second");
	if (rate == NULL)
		call_problem(&a->call, PROBLEM_BAD_REQUEST, "/per_second",
		    "\"per_second\" is missing");
	else if (parse_rate(a, rate))
		(void)call_submit(&a->call, &a->unit.unit);
}
