/* SPDX-License-Identifier: MIT */
/*
 * Reads the parameters of the query and of the path, and the body.  The refusal
 * of an unknown query parameter or an unknown member of the body names it.
 */
#include <inttypes.h>
#include <string.h>

#include "rest/rest_internal.h"

struct check {
	struct call *call;
	const char *const *allowed;
	unsigned seen; /* bit i: allowed[i] was given */
	bool refused;
};

static bool
check_one(void *arg, const char *name, const char *value)
{
	struct check *c = arg;
	int i;

	(void)value;
	for (i = 0; c->allowed[i] != NULL; i++)
		if (strcmp(name, c->allowed[i]) == 0)
			break;
	if (c->allowed[i] == NULL) {
		call_problem(c->call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%.60s\" is unknown here", name);
	} else if ((c->seen & 1u << i) != 0) {
		call_problem(c->call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" is given twice", name);
	} else {
		c->seen |= 1u << i;
		return (true);
	}
	c->refused = true;
	return (false);
}

bool
call_query_check(struct call *call, const char *const *allowed)
{
	struct check c = {call, allowed, 0, false};

	http_query_each(call->req, check_one, &c);
	return (!c.refused);
}

bool
call_number_parse(const char *text, int64_t *ret)
{
	int64_t v = 0;
	int digit;

	if (*text == '\0')
		return (false);
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return (false);
		digit = *text - '0';
		if (v > (INT64_MAX - digit) / 10)
			return (false);
		v = v * 10 + digit;
	}
	*ret = v;
	return (true);
}

bool
call_query_i64(
    struct call *call, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = http_query(call->req, name);
	int64_t v;

	if (text == NULL)
		return (true);
	if (call_number_parse(text, &v) && v >= min && v <= max) {
		*ret = v;
		return (true);
	}
	if (max == INT64_MAX)
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" must be a whole number of at least "
		    "%" PRId64,
		    name, min);
	else
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" must be a whole number from %" PRId64
		    " to %" PRId64,
		    name, min, max);
	return (false);
}

bool
call_query_limit(struct call *call, int64_t *ret)
{

	*ret = LIMIT_PAGE_DEFAULT;
	return (call_query_i64(call, "limit", 1, LIMIT_PAGE_MAX, ret));
}

bool
call_query_uuid(
    struct call *call, const char *name, bool *ret_present, struct uuid *ret)
{
	const char *text = http_query(call->req, name);

	*ret_present = text != NULL;
	if (text == NULL || uuid_parse(text, strlen(text), ret))
		return (true);
	call_problem(call, PROBLEM_BAD_REQUEST, "",
	    "parameter \"%s\" must be an id: take it from \"next\"", name);
	return (false);
}

bool
call_path_uuid(struct call *call, const char *what, struct uuid *ret)
{
	const char *text = http_path_param(call->req, "id");

	if (text != NULL && uuid_parse(text, strlen(text), ret))
		return (true);
	call_problem(call, PROBLEM_NOT_FOUND, "", "%s", what);
	return (false);
}

static void
doc_fini(void *arg)
{

	wire_doc_fini(arg);
}

bool
call_body(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n)
{
	struct refusal r = REFUSAL_INIT;
	const char *body;
	size_t len;

	body = http_body(call->req, &len);
	if (wire_parse(body, len, doc, &r) != RC_OK) {
		call_refuse(call, &r);
		return (false);
	}
	if (http_on_free(call->req, doc_fini, doc) != RC_OK) {
		wire_doc_fini(doc);
		call_problem(call, PROBLEM_BUSY, "", "out of memory");
		return (false);
	}
	if (fields != NULL &&
	    wire_object(doc->root, "", fields, n, &r) != RC_OK) {
		call_refuse(call, &r);
		return (false);
	}
	return (true);
}

bool
call_body_if_any(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n)
{
	static const struct wire_field nothing[1];
	size_t len;

	(void)http_body(call->req, &len);
	if (len == 0)
		return (true);
	return (call_body(call, doc, fields != NULL ? fields : nothing, n));
}
