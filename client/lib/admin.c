/* SPDX-License-Identifier: MIT */
/*
 * Requests to /v1/admin.  This file owns the query parameters of the admin
 * routes and, for two of their refusals, the cure (the advice to the user): if
 * the account is not an administrator, and if the server is too old to have
 * these routes.
 */
#include "lib/admin.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#define ROOT "/v1/admin/"

/* A path whose query parameters are being appended. */
struct query {
	struct buf b;
	char separator;
};

/* Appends "?name=" for the first parameter, "&name=" for each further one. */
static void
add_name(struct query *q, const char *name)
{

	buf_addc(&q->b, q->separator);
	buf_adds(&q->b, name);
	buf_addc(&q->b, '=');
	q->separator = '&';
}

static void
add_text(struct query *q, const char *name, const char *value)
{

	if (value == NULL)
		return;
	add_name(q, name);
	rest_path_add(&q->b, value);
}

static void
add_number(struct query *q, const char *name, int64_t value)
{

	if (value < 0)
		return;
	add_name(q, name);
	buf_addi(&q->b, value);
}

char *
admin_path(const char *what, const struct admin_filter *filter)
{
	struct query q = {.b = BUF_INIT, .separator = '?'};

	buf_adds(&q.b, ROOT);
	buf_adds(&q.b, what);
	if (filter == NULL)
		return (buf_take(&q.b, NULL));
	add_text(&q, "state", filter->state);
	add_text(&q, "reason", filter->reason);
	add_text(&q, "destination", filter->destination);
	add_text(&q, "sender", filter->sender);
	if (filter->stuck_ms >= 0) {
		add_name(&q, "stuck");
		buf_addf(&q.b, "%" PRId64 "s", filter->stuck_ms / 1000);
	}
	add_number(&q, "near_failure", filter->near_failure);
	add_text(&q, "resolved", filter->resolved);
	add_text(&q, "before", filter->before);
	add_text(&q, "after", filter->after);
	add_number(&q, "limit", filter->limit);
	return (buf_take(&q.b, NULL));
}

char *
admin_path_of(const char *what, const char *name, const char *verb)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, ROOT);
	buf_adds(&b, what);
	buf_addc(&b, '/');
	rest_path_add(&b, name);
	buf_adds(&b, verb);
	return (buf_take(&b, NULL));
}

json_t *
admin_batch(const json_t *ids, const struct admin_filter *filter, int64_t limit)
{

	if (ids != NULL)
		return (json_pack("{so}", "dead_ids", json_deep_copy(ids)));
	/* json_pack() leaves out the members that are NULL.  Without memory it
	 * returns NULL, never a filter that lacks a member: such a filter would
	 * match more dead letters. */
	return (json_pack("{s{ss* ss* ss*} sI}", "filter", "reason",
	    filter->reason, "destination", filter->destination, "sender",
	    filter->sender, "limit", (json_int_t)limit));
}

/* Replaces the cure of a refusal with one for operators. */
static void
advise(const char *path, struct fail *fail)
{

	if (fail->status == 403)
		(void)fail_cure(fail,
		    "log in as an administrator (the operator makes one: "
		    "twinboxd user promote NAME)");
	/* A path with no "/" after ROOT (a list, or stats) always exists: a 404
	 * means that the server is older than the admin routes.  After a 404
	 * for a longer path, which may mean an unknown id, the server's failure
	 * stays. */
	else if (fail->status == 404 &&
		 strchr(path + strlen(ROOT), '/') == NULL) {
		(void)fail_set(fail, FAIL_PROTOCOL,
		    "this server does not support admin commands");
		(void)fail_cure(fail, "use a newer server");
		fail->status = 404;
	}
}

enum rc
admin_call(struct rest *rest, struct rest_request *request, char *path,
    struct rest_reply *ret, struct fail *fail)
{
	enum rc rc;

	request->path = path;
	rc = rest_call(rest, request, ret, fail);
	if (rc == RC_OK && request->sink == NULL &&
	    !json_is_object(ret->json)) {
		rest_reply_fini(ret);
		rc = fail_set(fail, FAIL_PROTOCOL,
		    "%.80s answers with something that is not a JSON object",
		    rest_server(rest));
	} else if (rc != RC_OK && path != NULL) {
		advise(path, fail);
		rc = fail->rc;
	}
	request->path = NULL;
	mem_free(path);
	return (rc);
}
