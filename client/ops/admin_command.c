/* SPDX-License-Identifier: MIT */
/*
 * The common part of the admin commands: requests, filters, lists of several
 * pages.
 */
#include "ops/admin_command.h"

#include <stdio.h>
#include <string.h>

#include "lib/safe.h"
#include "model/message.h"

#define PATIENCE_MS 10000

/* Runs ${request} with ${path}, which it frees.  On RC_OK sets *ret, which the
 * caller owns, and sets cli->look.now_ms from the Date header of the answer, if
 * there is one, so that ages in the output are by the server's clock. */
static enum rc
call(struct cli *cli, struct rest_request *request, char *path, json_t **ret,
    struct fail *fail)
{
	struct rest_reply reply;
	enum rc rc;

	request->patience_ms = PATIENCE_MS;
	rc = admin_call(cli->rest, request, path, &reply, fail);
	if (rc != RC_OK)
		return (rc);
	if (reply.date_ms != 0)
		cli->look.now_ms = reply.date_ms;
	*ret = reply.json;
	return (RC_OK);
}

enum rc
admin_command_get(struct cli *cli, char *path, json_t **ret, struct fail *fail)
{
	struct rest_request request = {.method = NULL};

	return (call(cli, &request, path, ret, fail));
}

enum rc
admin_command_change(struct cli *cli, const char *method, char *path,
    json_t *body, json_t **ret, struct fail *fail)
{
	struct rest_request request = {.method = method, .body = body};
	enum rc rc;

	rc = call(cli, &request, path, ret, fail);
	json_decref(body);
	return (rc);
}

enum rc
admin_command_filter(
    struct cli *cli, struct admin_filter *ret, struct fail *fail)
{
	const struct args *args = &cli->args;
	struct admin_filter filter = ADMIN_FILTER_INIT;

	filter.state = args_value(args, "state");
	if (filter.state != NULL && strcmp(filter.state, "delivered") == 0)
		filter.state = "acked";
	filter.destination = args_value(args, "destination");
	filter.sender = args_value(args, "sender");
	filter.reason = args_value(args, "reason");
	filter.resolved = args_value(args, "resolved");
	filter.before = args_value(args, "before");
	filter.after = args_value(args, "after");
	if (args_duration(args, "stuck", &filter.stuck_ms, fail) != RC_OK ||
	    args_integer(args, "near-failure", 0, 1000, &filter.near_failure,
		fail) != RC_OK ||
	    args_integer(args, "limit", 1, 100000, &filter.limit, fail) !=
		RC_OK)
		return (fail->rc);
	*ret = filter;
	return (RC_OK);
}

#define CURSOR_SIZE 512

/* Writes cursor ${next}, a text or a number, into ${ret}.  Returns false if the
 * cursor is missing, null, of another type, or too long for ${size}. */
static bool
cursor_text(const json_t *next, char *ret, size_t size)
{
	const char *text = json_string_value(next);

	if (json_is_integer(next))
		(void)snprintf(
		    ret, size, "%lld", (long long)json_integer_value(next));
	else if (text != NULL && strlen(text) < size)
		(void)snprintf(ret, size, "%s", text);
	else
		return (false);
	return (true);
}

/* Appends the rows of ${page} to those in *all, and sets "next" of *all to that
 * of ${page} (null if it has none).  If *all is NULL, ${page} becomes *all,
 * also on failure; otherwise frees ${page}, also on failure.  Fails if the
 * cursor "next" has CURSOR_SIZE bytes or more, or without memory. */
static enum rc
join(json_t **all, json_t *page, const char *array, struct fail *fail)
{
	const json_t *next = json_object_get(page, "next");
	json_t *cursor = next != NULL ? json_deep_copy(next) : json_null();
	enum rc rc = RC_OK;

	if (json_string_length(next) >= CURSOR_SIZE)
		rc = fail_set(fail, FAIL_PROTOCOL,
		    "the server's cursor for the next page is too long");
	if (*all == NULL) {
		*all = page;
		json_decref(cursor);
		return (rc);
	}
	if (rc == RC_OK && json_array_extend(json_object_get(*all, array),
			       json_object_get(page, array)) != 0)
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	json_decref(page);
	if (rc == RC_OK)
		return (cli_set(*all, "next", cursor, fail));
	json_decref(cursor);
	return (rc);
}

enum rc
admin_command_rows(struct cli *cli, const struct admin_command_list *list,
    struct admin_filter *filter, json_t **ret, struct fail *fail)
{
	int64_t wanted = filter->limit > 0 ? filter->limit : LIMIT_PAGE_DEFAULT;
	int64_t left = wanted;
	char cursor[CURSOR_SIZE], before[CURSOR_SIZE] = "";
	json_t *all = NULL, *page = NULL;

	for (;;) {
		filter->limit = left < LIMIT_PAGE_MAX ? left : LIMIT_PAGE_MAX;
		if (admin_command_get(cli, admin_path(list->what, filter),
			&page, fail) != RC_OK)
			break;
		if (!json_is_array(json_object_get(page, list->array))) {
			json_decref(page);
			(void)fail_set(fail, FAIL_PROTOCOL,
			    "the server's answer has no %s", list->array);
			break;
		}
		if (join(&all, page, list->array, fail) != RC_OK)
			break;
		left = wanted - (int64_t)json_array_size(
				    json_object_get(all, list->array));
		/* Return the rows read until now if the cursor is the same as
		 * that of the page before; otherwise a faulty server that
		 * repeats a cursor could keep this loop going forever. */
		if (left <= 0 ||
		    !cursor_text(
			json_object_get(all, "next"), cursor, sizeof(cursor)) ||
		    strcmp(cursor, before) == 0) {
			*ret = all;
			return (RC_OK);
		}
		(void)snprintf(before, sizeof(before), "%s", cursor);
		if (list->forward)
			filter->after = before;
		else
			filter->before = before;
	}
	json_decref(all);
	return (fail->rc);
}

/* Prints, at a terminal, how to get the rest of the list. */
static void
note_more(const struct cli *cli, const struct admin_command_list *list,
    const json_t *page)
{
	char cursor[CURSOR_SIZE], safe[200];

	if (!cli->terminal ||
	    !cursor_text(json_object_get(page, "next"), cursor, sizeof(cursor)))
		return;
	safe_line(cursor, strlen(cursor), safe, sizeof(safe));
	cli_note(cli, "there is more: --%s %s",
	    list->forward ? "after" : "before", safe);
}

enum rc
admin_command_show_list(
    struct cli *cli, const struct admin_command_list *list, struct fail *fail)
{
	struct admin_filter filter;
	struct buf b = BUF_INIT;
	const json_t *rows;
	json_t *page;
	enum rc rc;

	if (admin_command_filter(cli, &filter, fail) != RC_OK ||
	    admin_command_rows(cli, list, &filter, &page, fail) != RC_OK)
		return (fail->rc);
	rows = json_object_get(page, list->array);
	if (cli->json)
		rc = cli_print_list(cli, page, list->array, fail);
	else {
		if (json_array_size(rows) > 0)
			list->view(&b, &cli->look, rows);
		else if (cli->terminal)
			cli_note(cli, "nothing");
		rc = cli_print(&b, fail);
		if (rc == RC_OK)
			note_more(cli, list, page);
	}
	json_decref(page);
	return (rc);
}
