/* SPDX-License-Identifier: MIT */
/*
 * Parameters of queries and paths, and bodies.  What is not expected is
 * refused by name.
 */
#include <inttypes.h>
#include <string.h>

#include "rest/rest_internal.h"

struct check {
	struct ask *ask;
	const char *const *allowed;
	unsigned seen; /* bit i: allowed[i] */
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
		ask_problem(c->ask, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%.60s\" is unknown here", name);
	} else if ((c->seen & 1u << i) != 0) {
		ask_problem(c->ask, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" is given twice", name);
	} else {
		c->seen |= 1u << i;
		return (true);
	}
	c->refused = true;
	return (false);
}

bool
ask_query_check(struct ask *ask, const char *const *allowed)
{
	struct check c = {ask, allowed, 0, false};

	http_query_each(ask->req, check_one, &c);
	return (!c.refused);
}

bool
number_parse(const char *text, int64_t *ret)
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
ask_query_i64(
    struct ask *ask, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = http_query(ask->req, name);
	int64_t v;

	if (text == NULL)
		return (true);
	if (number_parse(text, &v) && v >= min && v <= max) {
		*ret = v;
		return (true);
	}
	if (max == INT64_MAX)
		ask_problem(ask, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" must be a whole number of at least "
		    "%" PRId64,
		    name, min);
	else
		ask_problem(ask, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\" must be a whole number from %" PRId64
		    " to %" PRId64,
		    name, min, max);
	return (false);
}

bool
ask_query_limit(struct ask *ask, int64_t *ret)
{

	*ret = LIMIT_PAGE_DEFAULT;
	return (ask_query_i64(ask, "limit", 1, LIMIT_PAGE_MAX, ret));
}

bool
ask_query_uuid(
    struct ask *ask, const char *name, bool *ret_present, struct uuid *ret)
{
	const char *text = http_query(ask->req, name);

	*ret_present = text != NULL;
	if (text == NULL || uuid_parse(text, strlen(text), ret))
		return (true);
	ask_problem(ask, PROBLEM_BAD_REQUEST, "",
	    "parameter \"%s\" must be an id: take it from \"next\"", name);
	return (false);
}

bool
ask_path_uuid(struct ask *ask, const char *what, struct uuid *ret)
{
	const char *text = http_path_param(ask->req, "id");

	if (text != NULL && uuid_parse(text, strlen(text), ret))
		return (true);
	ask_problem(ask, PROBLEM_NOT_FOUND, "", "%s", what);
	return (false);
}

static void
doc_fini(void *arg)
{

	wire_doc_fini(arg);
}

bool
ask_body(struct ask *ask, struct wire_doc *doc, const struct wire_field *fields,
    size_t n)
{
	struct refusal r = REFUSAL_INIT;
	const char *body;
	size_t len;

	body = http_body(ask->req, &len);
	if (wire_parse(body, len, doc, &r) != RC_OK) {
		ask_refuse(ask, &r);
		return (false);
	}
	if (http_on_free(ask->req, doc_fini, doc) != RC_OK) {
		wire_doc_fini(doc);
		ask_problem(ask, PROBLEM_BUSY, "", "out of memory");
		return (false);
	}
	if (fields != NULL &&
	    wire_object(doc->root, "", fields, n, &r) != RC_OK) {
		ask_refuse(ask, &r);
		return (false);
	}
	return (true);
}

bool
ask_body_if_any(struct ask *ask, struct wire_doc *doc,
    const struct wire_field *fields, size_t n)
{
	static const struct wire_field nothing[1];
	size_t len;

	(void)http_body(ask->req, &len);
	if (len == 0)
		return (true);
	return (ask_body(ask, doc, fields != NULL ? fields : nothing, n));
}
