/* SPDX-License-Identifier: MIT */
/*
 * Parameters of the admin routes.
 */
#include <string.h>

#include "admin/routes_internal.h"
#include "store/account.h"

bool
admin_query_cursor(
    struct call *call, const char *name, int64_t otherwise, int64_t *ret)
{

	*ret = otherwise;
	return (call_query_i64(call, name, 0, INT64_MAX, ret));
}

bool
admin_path_number(
    struct call *call, const char *name, const char *what, int64_t *ret)
{
	const char *text = http_path_param(call->req, name);

	if (text != NULL && call_number_parse(text, ret))
		return (true);
	call_problem(call, PROBLEM_NOT_FOUND, "", "%s", what);
	return (false);
}

static void
refuse_name(struct call *call, const struct admin_names *names,
    const char *name, const char *text)
{
	char pointer[32];

	if (!names->in_body) {
		call_problem(call, PROBLEM_BAD_REQUEST, "",
		    "parameter \"%s\": nobody and nothing here is called "
		    "\"%.100s\"",
		    name, text);
		return;
	}
	(void)snprintf(pointer, sizeof(pointer), "/filter/%s", name);
	call_problem(call, PROBLEM_BAD_REQUEST, pointer,
	    "\"%s\": nobody and nothing here is called \"%.100s\"", name, text);
}

static enum rc
on_row_destination(
    void *arg, const struct inspect_destination *d, struct err *err)
{

	(void)err;
	*(int64_t *)arg = d->destination_id;
	return (RC_OK);
}

enum rc
admin_resolve(struct call *call, struct db *db, const struct admin_names *names,
    int64_t *ret_sender, int64_t *ret_destination, struct err *err)
{
	const char *sender = names->sender, *destination = names->destination;
	struct store_user user;
	enum rc rc = RC_OK;

	*ret_sender = 0;
	*ret_destination = -1;
	if (sender != NULL && sender[0] != '\0') {
		rc = store_user_by_name(db, sender, strlen(sender), &user, err);
		if (rc == RC_OK)
			*ret_sender = user.user_id;
		else if (rc == RC_NOT_FOUND)
			refuse_name(call, names, "sender", sender);
	}
	if (rc == RC_OK && destination != NULL && destination[0] != '\0') {
		rc = inspect_destination(
		    db, destination, on_row_destination, ret_destination, err);
		if (rc == RC_NOT_FOUND) {
			/* refuse_name() answers the request.  After that, the
			 * request's memory, in which *ret_destination may lie,
			 * may be freed: do not touch it. */
			refuse_name(call, names, "destination", destination);
			return (rc);
		}
		/* Destination 0 ("*") stands for all destinations: no filter.
		 */
		if (*ret_destination == 0)
			*ret_destination = -1;
	}
	return (rc);
}
