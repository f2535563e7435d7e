/* SPDX-License-Identifier: MIT */
/*
 * The commands inbox, read and ack.  inbox changes no watermark on the server.
 * read marks messages as read, up to a number in the inbox or in one
 * conversation.  ack moves this device's watermark of acked events.  The
 * watermarks of read and of ack only move forward.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "lib/safe.h"

/* Returns the path, which the caller frees, of the page of at most ${limit}
 * events of the inbox after event ${after} (-1: after the last acked event);
 * NULL without memory.  If ${wait_s} is above 0, the server waits up to that
 * number of seconds for an event. */
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

/* Fetches a page of the inbox and stores its epoch. */
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

/* Prints the line below the events, for a person at a terminal. */
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

/* Prints ${page} and stores its events as shown. */
static enum rc
show_page(struct cli *cli, const json_t *page, struct fail *fail)
{
	const json_t *events = json_object_get(page, "events");
	struct buf b = BUF_INIT;
	size_t i;

	if (cli->json) {
		if (cli_print_list(cli, page, "events", fail) != RC_OK)
			return (fail->rc);
	} else {
		for (i = 0; i < json_array_size(events); i++)
			cli_event_add(cli, &b, json_array_get(events, i));
		if (cli_print(&b, fail) != RC_OK)
			return (fail->rc);
		show_rest(cli, page);
	}
	if (json_array_size(events) == 0)
		return (RC_OK);
	return (local_shown(cli->local, events, NULL, NULL, 0, fail));
}

/* Does the work of inbox --all: shows all pages, beginning with the first event
 * after number ${after} (0: with the oldest event). */
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

/* Asks the server for the seq of the newest event of the inbox and stores it in
 * *ret, 0 if the inbox has never had an event.  On failure *ret is not set. */
static enum rc
newest_event(struct cli *cli, int64_t *ret, struct fail *fail)
{
	json_t *page;

	if (rest_get(cli->rest, "/v1/inbox?limit=1", &page, fail) != RC_OK)
		return (fail->rc);
	*ret = json_integer_value(json_object_get(page, "head"));
	json_decref(page);
	return (RC_OK);
}

/* The work of the command read. */
struct reading {
	const char *name; /* of the other side, or NULL */
	json_int_t unread;
	json_t *body; /* of the request; NULL: nothing to mark */
};

/* read NAME: marks the whole conversation with that person. */
static enum rc
reading_of_name(struct cli *cli, struct reading *r, struct fail *fail)
{
	const char *id;
	json_t *conversation;

	if (cli_conversation_with(cli, r->name, &conversation, fail) != RC_OK)
		return (fail->rc);
	if (conversation == NULL)
		return (cli_no_conversation(r->name, fail));
	id = json_string_value(json_object_get(conversation, "id"));
	r->unread = json_integer_value(json_object_get(conversation, "unread"));
	r->body = json_pack("{ss sI}", "conversation", id != NULL ? id : "",
	    "upto_conversation_seq",
	    json_integer_value(json_object_get(conversation, "last")));
	json_decref(conversation);
	return (RC_OK);
}

/* read --all: marks the inbox up to its newest event. */
static enum rc
reading_of_all(struct cli *cli, struct reading *r, struct fail *fail)
{
	int64_t head;

	if (newest_event(cli, &head, fail) != RC_OK)
		return (fail->rc);
	if (head > 0)
		r->body = json_pack("{sI}", "upto", (json_int_t)head);
	return (RC_OK);
}

/* Reads the arguments of read, of which exactly one must be given. */
static enum rc
reading_of_arguments(struct cli *cli, struct reading *r, struct fail *fail)
{
	const struct args *args = &cli->args;
	const char *conversation = args_value(args, "conversation");
	char uuid[UUID_TEXT_LEN + 1];
	int64_t upto = -1, in_conversation = -1;
	bool all = args_has(args, "all");

	if (args_integer(args, "upto", 1, INT64_MAX, &upto, fail) != RC_OK ||
	    args_integer(args, "upto-conversation-seq", 1, INT64_MAX,
		&in_conversation, fail) != RC_OK)
		return (fail->rc);
	r->name = args->operands[0];
	if ((conversation != NULL) != (in_conversation >= 0) ||
	    (r->name != NULL) + all + (upto >= 0) + (conversation != NULL) !=
		1) {
		(void)fail_set(fail, FAIL_USAGE,
		    "one of NAME, --all, --upto, or --conversation with "
		    "--upto-conversation-seq, is needed");
		return (fail_cure(fail, "see twinbox read --help"));
	}
	if (r->name != NULL)
		return (reading_of_name(cli, r, fail));
	if (all)
		return (reading_of_all(cli, r, fail));
	if (upto >= 0)
		r->body = json_pack("{sI}", "upto", (json_int_t)upto);
	else if (cli_uuid(conversation, "--conversation", uuid, fail) == RC_OK)
		r->body = json_pack("{ss sI}", "conversation", uuid,
		    "upto_conversation_seq", (json_int_t)in_conversation);
	else
		return (fail->rc);
	return (RC_OK);
}

/* Reports what was read and how much is still unread, from ${answer}. */
static enum rc
show_read(struct cli *cli, const struct reading *r, const json_t *answer,
    struct fail *fail)
{
	long long unread =
	    (long long)json_integer_value(json_object_get(answer, "unread"));
	char safe[80];

	if (r->name == NULL)
		return (
		    cli_result(cli, answer, fail, "read; %lld unread", unread));
	safe_line(r->name, strlen(r->name), safe, sizeof(safe));
	if (r->unread == 0)
		return (cli_result(cli, answer, fail,
		    "nothing new from %s; %lld unread", safe, unread));
	return (cli_result(cli, answer, fail,
	    "read %lld message%s from %s; %lld unread", (long long)r->unread,
	    r->unread == 1 ? "" : "s", safe, unread));
}

enum rc
cmd_read(struct cli *cli, struct fail *fail)
{
	struct reading r = {.name = NULL};
	json_t *answer = NULL;
	enum rc rc;

	if (reading_of_arguments(cli, &r, fail) != RC_OK)
		return (fail->rc);
	if (r.body == NULL && !args_has(&cli->args, "all"))
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	if (r.body == NULL) {
		answer = json_pack("{si}", "unread", 0);
		rc = cli_result(cli, answer, fail, "nothing to read");
		json_decref(answer);
		return (rc);
	}
	if (args_has(&cli->args, "private") &&
	    cli_set(r.body, "private", json_true(), fail) != RC_OK) {
		json_decref(r.body);
		return (fail->rc);
	}
	rc = cli_call(cli, "POST", "/v1/inbox/read", r.body, &answer, fail);
	if (rc != RC_OK)
		return (rc);
	rc = show_read(cli, &r, answer, fail);
	json_decref(answer);
	return (rc);
}

enum rc
cmd_ack(struct cli *cli, struct fail *fail)
{
	json_t *answer = NULL;
	int64_t upto;
	enum rc rc;

	if (cli->args.noperands == 0) {
		if (newest_event(cli, &upto, fail) != RC_OK)
			return (fail->rc);
	} else if (!args_number(cli->args.operands[0], 0, INT64_MAX, &upto)) {
		(void)fail_set(fail, FAIL_USAGE, "SEQ is a whole number");
		return (fail_cure(
		    fail, "take it from twinbox inbox, or leave it out"));
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
