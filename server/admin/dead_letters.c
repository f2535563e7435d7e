/* SPDX-License-Identifier: MIT */
/*
 * Operators' dead letters: the list.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "model/outbox.h"

struct list_ask {
	struct ask ask; /* first */
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
take_reason(struct ask *ask, struct admin_dead_query *q)
{
	const char *text = http_query(ask->req, "reason");

	if (text == NULL ||
	    admin_reason_read(text, strlen(text), q->filter.reason))
		return (true);
	ask_problem(ask, PROBLEM_BAD_REQUEST, "",
	    "parameter \"reason\" must be " ADMIN_REASONS);
	return (false);
}

static bool
take_resolved(struct ask *ask, struct admin_dead_query *q)
{
	const char *text = http_query(ask->req, "resolved");

	if (text == NULL || strcmp(text, "false") == 0) {
		q->filter.resolved = INSPECT_OPEN;
	} else if (strcmp(text, "true") == 0) {
		q->filter.resolved = INSPECT_RESOLVED;
	} else if (strcmp(text, "any") == 0) {
		q->filter.resolved = INSPECT_BOTH;
	} else {
		ask_problem(ask, PROBLEM_BAD_REQUEST, "",
		    "parameter \"resolved\" must be true, false or any");
		return (false);
	}
	return (true);
}

bool
admin_dead_query(struct ask *ask, struct admin_dead_query *ret)
{

	ret->names.sender = http_query(ask->req, "sender");
	ret->names.destination = http_query(ask->req, "destination");
	return (take_reason(ask, ret) && take_resolved(ask, ret));
}

static enum rc
write_dead(void *arg, const struct inspect_dead_letter *dead, struct err *err)
{

	(void)err;
	jw_comma(arg);
	store_dead_letter(arg, dead);
	return (RC_OK);
}

static enum rc
add_rows(struct ask *ask, struct db *db, struct buf *b, int64_t *ret_next,
    struct err *err)
{
	struct list_ask *a = (struct list_ask *)(void *)ask;
	struct admin_dead_query *q = &a->query;
	enum rc rc;

	rc = admin_resolve(ask, db, &q->names, &q->filter.sender_id,
	    &q->filter.destination_id, err);
	return (rc == RC_OK ? inspect_dead_letters(db, &q->filter, a->before,
				  a->limit, write_dead, b, ret_next, err)
			    : rc);
}

static enum rc
read_list(struct ask *ask, struct db *db, struct err *err)
{
	static const struct admin_list list = {
	    "dead_letters", "before", add_rows};

	return (admin_list_read(ask, db, &list, err));
}

void
admin_dead_get(struct http_request *req, void *arg)
{
	static const char *const allowed[] = {"reason", "destination", "sender",
	    "resolved", "before", "limit", NULL};
	struct list_ask *a;

	if ((a = ask_new(arg, req, sizeof(*a))) == NULL ||
	    !ask_query_check(&a->ask, allowed) ||
	    !admin_dead_query(&a->ask, &a->query) ||
	    !admin_query_cursor(&a->ask, "before", INT64_MAX, &a->before) ||
	    !ask_query_limit(&a->ask, &a->limit))
		return;
	ask_read(&a->ask, read_list);
}
