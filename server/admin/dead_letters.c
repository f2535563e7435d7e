/* SPDX-License-Identifier: MIT */
/*
 * Admin routes of dead letters: the list, and the filter that the export
 * shares.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "model/outbox.h"

struct list_call {
	struct call call; /* first */
	struct admin_dead_query query;
	int64_t before, limit;
};

bool
admin_reason_read(const char *text, size_t n, char ret[INSPECT_REASON_SIZE])
{

	if (n >= INSPECT_REASON_SIZE)
		return (false);
	memcpy(ret, text, n);
	ret[n] = '\0';
	return (outbox_reason_parse(ret) >= 0);
}

static bool
parse_reason(struct call *call, struct admin_dead_query *q)
{
	const char *text = http_query(call->req, "reason");

	if (text == NULL ||
	    admin_reason_read(text, strlen(text), q->filter.reason))
		return (true);
	call_problem(call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"reason\" must be " ADMIN_REASONS);
	return (false);
}

static bool
parse_resolved(struct call *call, struct admin_dead_query *q)
{
	const char *text = http_query(call->req, "resolved");

	if (text == NULL || strcmp(text, "false") == 0) {
		q->filter.resolved = INSPECT_OPEN;
	} else if (strcmp(text, "true") == 0) {
		q->filter.resolved = INSPECT_RESOLVED;
	} else if (strcmp(text, "any") == 0) {
		q->filter.resolved = INSPECT_BOTH;
	} else {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"resolved\" must be true, false or any");
		return (false);
	}
	return (true);
}

bool
admin_dead_query(struct call *call, struct admin_dead_query *ret)
{

	ret->names.sender = http_query(call->req, "sender");
	ret->names.destination = http_query(call->req, "destination");
	return (parse_reason(call, ret) && parse_resolved(call, ret));
}

static enum rc
write_dead(void *arg, const struct inspect_dead_letter *dead, struct err *err)
{

	(void)err;
	jw_comma(arg);
	admin_dead_letter(arg, dead);
	return (RC_OK);
}

static enum rc
add_rows(struct call *call, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct list_call *a = CONTAINER_OF(call, struct list_call, call);
	struct admin_dead_query *q = &a->query;
	enum rc rc;

	rc = admin_resolve(call, db, &q->names, &q->filter.sender_id,
	    &q->filter.destination_id, err);
	return (rc == RC_OK ? inspect_dead_letters(db, &q->filter, a->before,
				  a->limit, write_dead, b, ret_next, err)
			    : rc);
}

static enum rc
read_list(struct call *call, struct db *db, struct err *err)
{
	static const struct admin_list list = {
	    "dead_letters", "before", add_rows};

	return (admin_list_read(call, db, &list, err));
}

void
admin_dead_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"reason", "destination", "sender",
	    "resolved", "before", "limit", NULL};
	struct list_call *a;

	if ((a = call_new(arg, req, sizeof(*a))) == NULL ||
	    !call_query_check(&a->call, allowed) ||
	    !admin_dead_query(&a->call, &a->query) ||
	    !admin_query_cursor(&a->call, "before", INT64_MAX, &a->before) ||
	    !call_query_limit(&a->call, &a->limit))
		return;
	call_read(&a->call, read_list);
}
