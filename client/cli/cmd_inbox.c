/* SPDX-License-Identifier: MIT */
/*
 * inbox, read, ack.  Looking moves no mark; read and ack do, and only forward.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

/* The path of the page of the inbox after ${after} (-1: as acked). */
static char *
page_path(int64_t after, int64_t limit, int64_t wait_s)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "/v1/inbox?limit=%" PRId64, limit);
	if (after >= 0)
		buf_addf(&b, "&after=%" PRId64, after);
	if (wait_s > 0)
		buf_addf(&b, "&wait=%" PRId64, wait_s);
	return (buf_take(&b, NULL));
}

/* One page; what it shows is remembered in the client's database. */
static enum rc
get_page(struct cli *cli, char *path, int64_t wait_s, json_t **ret,
    struct fail *fail)
{
	struct rest_request request = {.path = path,
	    .timeout_ms = REST_TIMEOUT_MS + wait_s * 1000,
	    .patience_ms = 10000};
	struct rest_reply reply;
	const char *epoch;
	enum rc rc;

	rc = rest_call(cli->rest, &request, &reply, fail);
	mem_free(path);
	if (rc != RC_OK)
		return (rc);
	epoch = json_string_value(json_object_get(reply.json, "epoch"));
	if (epoch == NULL ||
	    !json_is_array(json_object_get(reply.json, "events"))) {
		rest_reply_fini(&reply);
		return (fail_set(fail, FAIL_PROTOCOL,
		    "the server's inbox has no epoch or events"));
	}
	rc = cli_epoch_seen(cli, epoch, fail);
	if (rc != RC_OK)
		rest_reply_fini(&reply);
	else
		*ret = reply.json;
	return (rc);
}

/* What stands under the events, for people at a terminal. */
static void
show_rest(const struct cli *cli, const json_t *page)
{
	json_int_t unread = json_integer_value(json_object_get(page, "unread"));
	const json_t *events = json_object_get(page, "events");
	size_t n = json_array_size(events);

	if (!cli->terminal)
		return;
	if (n == 0)
		cli_note(cli, "nothing new; %lld unread", (long long)unread);
	else if (json_is_true(json_object_get(page, "has_more")))
		cli_note(cli, "there is more: twinbox inbox --after %lld",
		    (long long)json_integer_value(
			json_object_get(json_array_get(events, n - 1), "seq")));
}

/* Prints ${page} and remembers its events. */
static enum rc
show_page(struct cli *cli, const json_t *page, struct fail *fail)
{
	const json_t *events = json_object_get(page, "events");
	struct buf b = BUF_INIT;
	size_t i;

	if (cli->json) {
		if (cli_print_json(page, fail) != RC_OK)
			return (fail->rc);
	} else {
		for (i = 0; i < json_array_size(events); i++)
			render_event(&b, &cli->look, json_array_get(events, i));
		if (cli_print(&b, fail) != RC_OK)
			return (fail->rc);
		show_rest(cli, page);
	}
	if (json_array_size(events) == 0)
		return (RC_OK);
	return (local_shown(cli->local, events, NULL, NULL, 0, fail));
}

/* inbox --all: page after page, from the oldest.  Programs get a page a
 * line. */
static enum rc
show_all(struct cli *cli, int64_t after, struct fail *fail)
{
	const json_t *events;
	json_t *page;
	bool more = true;
	enum rc rc = RC_OK;

	while (more && rc == RC_OK) {
		rc = get_page(
		    cli, page_path(after, LIMIT_PAGE_MAX, 0), 0, &page, fail);
		if (rc != RC_OK)
			return (rc);
		events = json_object_get(page, "events");
		more = json_is_true(json_object_get(page, "has_more")) &&
		       json_array_size(events) > 0;
		if (more)
			after = json_integer_value(json_object_get(
			    json_array_get(events, json_array_size(events) - 1),
			    "seq"));
		if (more)
			(void)json_object_set_new(
			    page, "has_more", json_false());
		rc = show_page(cli, page, fail);
		json_decref(page);
	}
	return (rc);
}

enum rc
cmd_inbox(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	int64_t after = -1, limit = LIMIT_PAGE_DEFAULT, wait_ms = 0, wait_s;
	json_t *page;
	enum rc rc;

	if (args_integer(args, "after", 0, INT64_MAX, &after, fail) != RC_OK ||
	    args_integer(args, "limit", 1, LIMIT_PAGE_MAX, &limit, fail) !=
		RC_OK ||
	    args_duration(args, "wait", &wait_ms, fail) != RC_OK)
		return (fail->rc);
	wait_s = wait_ms / 1000;
	if (wait_s > LIMIT_WAIT_S)
		wait_s = LIMIT_WAIT_S;
	if (args_has(args, "all"))
		return (show_all(cli, after < 0 ? 0 : after, fail));
	rc =
	    get_page(cli, page_path(after, limit, wait_s), wait_s, &page, fail);
	if (rc != RC_OK)
		return (rc);
	rc = show_page(cli, page, fail);
	json_decref(page);
	return (rc);
}

/* The body of read that the arguments ask for; NULL on a mistake. */
static json_t *
read_body(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	const char *conversation = args_value(args, "conversation");
	char uuid[UUID_TEXT_LEN + 1];
	int64_t upto = -1, in_conversation = -1;
	json_t *body;

	if (args_integer(args, "upto", 1, INT64_MAX, &upto, fail) != RC_OK ||
	    args_integer(args, "upto-conversation-seq", 1, INT64_MAX,
		&in_conversation, fail) != RC_OK)
		return (NULL);
	if ((conversation != NULL) != (in_conversation >= 0) ||
	    (conversation != NULL) == (upto >= 0)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "either --upto, or "
		    "--conversation with --upto-conversation-seq, is needed");
		(void)fail_cure(fail, "see twinbox read --help");
		return (NULL);
	}
	if (upto >= 0)
		body = json_pack("{sI}", "upto", (json_int_t)upto);
	else if (cli_uuid(conversation, "--conversation", uuid, fail) == RC_OK)
		body = json_pack("{ss sI}", "conversation", uuid,
		    "upto_conversation_seq", (json_int_t)in_conversation);
	else
		return (NULL);
	if (body == NULL)
		(void)fail_set(fail, FAIL_MEMORY, "out of memory");
	else if (args_has(args, "private"))
		(void)json_object_set_new(body, "private", json_true());
	return (body);
}

enum rc
cmd_read(struct cli *cli, struct fail *fail)
{
	json_t *body = read_body(cli, fail), *answer = NULL;
	enum rc rc;

	if (body == NULL)
		return (fail->rc);
	rc = cli_call(cli, "POST", "/v1/inbox/read", body, &answer, fail);
	if (rc != RC_OK)
		return (rc);
	rc = cli_result(cli, answer, fail, "read; %lld unread",
	    (long long)json_integer_value(json_object_get(answer, "unread")));
	json_decref(answer);
	return (rc);
}

enum rc
cmd_ack(struct cli *cli, struct fail *fail)
{
	json_t *answer = NULL;
	int64_t upto;
	enum rc rc;

	if (!args_number(cli->args.operands[0], 0, INT64_MAX, &upto)) {
		(void)fail_set(fail, FAIL_USAGE, "SEQ is a whole number");
		return (fail_cure(fail, "take it from twinbox inbox"));
	}
	rc = cli_call(cli, "POST", "/v1/inbox/ack",
	    json_pack("{sI}", "upto", (json_int_t)upto), &answer, fail);
	if (rc != RC_OK)
		return (rc);
	rc = cli_result(cli, answer, fail, "acked up to %lld of %lld",
	    (long long)json_integer_value(json_object_get(answer, "acked")),
	    (long long)json_integer_value(json_object_get(answer, "head")));
	json_decref(answer);
	return (rc);
}
