/* SPDX-License-Identifier: MIT */
/*
 * The functions that all commands share: output, requests to the server,
 * submission of the messages that wait in the client's outbox, conversations
 * and their messages, and the client's own database.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "lib/dump.h"
#include "lib/safe.h"

enum rc
cli_print(struct buf *b, struct fail *fail)
{
	bool lost = !buf_ok(b), ok = !lost;

	if (ok && b->len > 0)
		ok = fwrite(b->data, 1, b->len, stdout) == b->len;
	ok = fflush(stdout) == 0 && ok;
	buf_fini(b);
	if (ok)
		return (RC_OK);
	if (lost)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	(void)fail_set(fail, FAIL_INPUT_OUTPUT, "cannot write the output: %s",
	    strerror(errno));
	return (fail_cure(fail, "check where it goes"));
}

enum rc
cli_set(json_t *json, const char *name, json_t *value, struct fail *fail)
{

	if (json_object_set_new(json, name, value) == 0)
		return (RC_OK);
	return (fail_set(fail, FAIL_MEMORY, "out of memory"));
}

enum rc
cli_print_json(const json_t *json, struct fail *fail)
{
	struct buf b = BUF_INIT;
	size_t n;
	char *text = dump_json(json, JSON_COMPACT, &n);

	if (text == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	/* Escape control characters also when the output is not a terminal: it
	 * may be a file that is shown on a terminal later. */
	(void)safe_json_add(&b, text, n);
	buf_addc(&b, '\n');
	mem_free(text);
	return (cli_print(&b, fail));
}

enum rc
cli_print_list(
    struct cli *cli, const json_t *page, const char *array, struct fail *fail)
{
	const json_t *rows = json_object_get(page, array);
	size_t i;

	if (args_has(&cli->args, "page"))
		return (cli_print_json(page, fail));
	for (i = 0; i < json_array_size(rows); i++)
		if (cli_print_json(json_array_get(rows, i), fail) != RC_OK)
			return (fail->rc);
	return (RC_OK);
}

enum rc
cli_result(struct cli *cli, const json_t *json, struct fail *fail,
    const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	char line[1024];
	va_list ap;

	if (cli->json)
		return (cli_print_json(json, fail));
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_adds(&b, line);
	buf_addc(&b, '\n');
	return (cli_print(&b, fail));
}

void
cli_complain(const char *line)
{
	struct buf b = BUF_INIT;

	render_wrapped(&b, line, render_columns(STDERR_FILENO), 0);
	buf_addc(&b, '\0');
	(void)fprintf(stderr, "%s\n", buf_ok(&b) ? b.data : line);
	buf_fini(&b);
}

void
cli_note(const struct cli *cli, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	n = snprintf(
	    line, sizeof(line), "twinbox: %s: ", cli->args.command->name);
	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	cli_complain(line);
}

void
cli_fini(struct cli *cli)
{

	local_close(cli->local);
	rest_free(cli->rest);
	json_decref(cli->numbers);
}

enum rc
cli_local(struct cli *cli, struct fail *fail)
{
	char path[PATH_MAX];

	if (cli->local != NULL)
		return (RC_OK);
	if (profile_state_path(&cli->profile, path, fail) != RC_OK)
		return (fail->rc);
	return (local_open(path, &cli->local, fail));
}

enum rc
cli_sender(struct cli *cli, sender_fn fn, void *arg, struct sender *ret,
    struct fail *fail)
{

	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	ret->local = cli->local;
	ret->rest = cli->rest;
	ret->rnd = rnd_system();
	ret->fn = fn;
	ret->arg = arg;
	ret->wanted = NULL;
	return (RC_OK);
}

void
cli_note_settled(struct cli *cli, const struct local_draft *draft,
    enum sender_outcome outcome, const struct fail *why)
{
	char safe[80];

	safe_line(
	    draft->recipient, strlen(draft->recipient), safe, sizeof(safe));
	if (outcome == SENDER_ANSWERED)
		cli_note(cli, "an earlier message to %s has gone out", safe);
	else
		cli_note(cli, "an earlier message to %s was refused: %s", safe,
		    why->what);
}

/* The sender_fn of cli_flush(). */
static void
flushed(void *arg, const struct local_draft *draft, enum sender_outcome outcome,
    const struct rest_reply *reply, const struct fail *why)
{
	struct cli *cli = arg;

	(void)reply;
	cli_note_settled(cli, draft, outcome, why);
}

/* Returns the number of messages that wait here. */
static int
count_unsent(struct cli *cli)
{
	struct fail ignored = FAIL_INIT;
	struct local_draft draft;
	int64_t row = 0;
	int n = 0;
	enum rc rc;

	while ((rc = local_outbox_next(cli->local, row, &draft, &ignored)) ==
		   RC_OK ||
	       rc == RC_CORRUPT) {
		row = draft.row;
		local_draft_fini(&draft);
		n++;
	}
	return (n);
}

void
cli_flush(struct cli *cli)
{
	struct fail why = FAIL_INIT;
	struct local_draft draft;
	struct sender sender;
	enum rc rc;

	if (cli_sender(cli, flushed, cli, &sender, &why) != RC_OK)
		return;
	rc = local_outbox_next(cli->local, 0, &draft, &why);
	if (rc != RC_OK && rc != RC_CORRUPT)
		return;
	local_draft_fini(&draft);
	cli->nunsent = 0;
	if (sender_flush(&sender, 0, &why) == RC_OK)
		return;
	cli->unsent = why;
	cli->nunsent = count_unsent(cli);
}

void
cli_note_unsent(struct cli *cli)
{

	if (cli->nunsent > 0)
		cli_note(cli, "messages still wait here: %s", cli->unsent.what);
	cli->nunsent = 0;
}

enum rc
cli_epoch_seen(struct cli *cli, const char *epoch, struct fail *fail)
{
	bool changed;

	if (cli_local(cli, fail) != RC_OK ||
	    local_epoch_seen(cli->local, epoch, &changed, fail) != RC_OK)
		return (fail->rc);
	if (!changed)
		return (RC_OK);
	cli_note(cli, "the server was restored; it gets your messages again");
	cli_flush(cli);
	cli_note_unsent(cli);
	return (RC_OK);
}

enum rc
cli_call(struct cli *cli, const char *method, const char *path, json_t *body,
    json_t **ret, struct fail *fail)
{
	struct rest_request request = {
	    .method = method, .path = path, .body = body, .patience_ms = 10000};
	struct rest_reply reply;
	enum rc rc;

	rc = rest_call(cli->rest, &request, &reply, fail);
	json_decref(body);
	if (rc == RC_OK)
		*ret = reply.json;
	return (rc);
}

enum rc
cli_uuid(const char *text, const char *what, char ret[UUID_TEXT_LEN + 1],
    struct fail *fail)
{
	struct uuid id;
	char safe[60];

	if (uuid_parse(text, strlen(text), &id)) {
		uuid_format(&id, ret);
		return (RC_OK);
	}
	safe_line(text, strlen(text), safe, sizeof(safe));
	(void)fail_set(
	    fail, FAIL_USAGE, "%s \"%s\" is not a valid UUID", what, safe);
	return (fail_cure(fail, "copy it whole: 8-4-4-4-12 hex digits"));
}

/* Returns true if ${conversation} is the direct one between ${me} and
 * ${name}. */
static bool
is_with(const json_t *conversation, const char *me, const char *name)
{
	const char *kind =
	    json_string_value(json_object_get(conversation, "kind"));

	return (kind != NULL && strcmp(kind, "direct") == 0 &&
		strcmp(render_conversation_name(conversation, me), name) == 0);
}

enum rc
cli_conversations_page(
    struct cli *cli, char path[CLI_PATH_SIZE], json_t **ret, struct fail *fail)
{
	struct buf b = BUF_INIT;
	const char *next;
	enum rc rc = RC_OK;

	if (rest_get(cli->rest, path, ret, fail) != RC_OK)
		return (fail->rc);
	next = json_string_value(json_object_get(*ret, "next"));
	path[0] = '\0';
	if (next == NULL)
		return (RC_OK);
	buf_adds(&b, CLI_CONVERSATIONS "&after=");
	rest_path_add(&b, next);
	if (!buf_ok(&b))
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	else if (b.len >= CLI_PATH_SIZE)
		rc = fail_set(fail, FAIL_PROTOCOL,
		    "the server's cursor for the next page is too long");
	else {
		memcpy(path, b.data, b.len);
		path[b.len] = '\0';
	}
	buf_fini(&b);
	if (rc != RC_OK)
		json_decref(*ret);
	return (rc);
}

enum rc
cli_conversation_with(
    struct cli *cli, const char *name, json_t **ret, struct fail *fail)
{
	char path[CLI_PATH_SIZE] = CLI_CONVERSATIONS;
	const json_t *list, *one;
	json_t *page;
	size_t i;
	enum rc rc = RC_OK;

	*ret = NULL;
	while (rc == RC_OK && path[0] != '\0' && *ret == NULL) {
		if (cli_conversations_page(cli, path, &page, fail) != RC_OK)
			return (fail->rc);
		list = json_object_get(page, "conversations");
		for (i = 0; i < json_array_size(list); i++) {
			one = json_array_get(list, i);
			if (!is_with(one, cli->profile.user, name))
				continue;
			*ret = json_deep_copy(one);
			if (*ret == NULL)
				rc = fail_set(
				    fail, FAIL_MEMORY, "out of memory");
			break;
		}
		json_decref(page);
	}
	return (rc);
}

enum rc
cli_no_conversation(const char *name, struct fail *fail)
{
	char safe[80];

	safe_line(name, strlen(name), safe, sizeof(safe));
	(void)fail_set(
	    fail, FAIL_DATA, "there is no conversation with %s", safe);
	return (fail_cure(
	    fail, "check the name; twinbox conversations lists them"));
}

void
cli_marks(const json_t *conversation, const char *me, json_int_t *ret_delivered,
    json_int_t *ret_read)
{
	const json_t *members = json_object_get(conversation, "members");
	const json_t *one;
	const char *address;
	size_t i;

	*ret_delivered = *ret_read = 0;
	for (i = 0; i < json_array_size(members); i++) {
		one = json_array_get(members, i);
		address = json_string_value(json_object_get(one, "address"));
		if (address == NULL || strcmp(address, me) == 0)
			continue;
		*ret_delivered =
		    json_integer_value(json_object_get(one, "delivered"));
		*ret_read = json_integer_value(json_object_get(one, "read"));
		return;
	}
}

enum rc
cli_history_page(struct cli *cli, const char *conversation, const char *query,
    json_t **ret, struct fail *fail)
{
	struct buf suffix = BUF_INIT;
	json_t *page, *sorted = json_array();
	char *path = NULL;
	const json_t *list;
	json_int_t first, last;
	size_t i, n;
	enum rc rc;

	buf_addf(&suffix, "/messages?%s", query);
	buf_addc(&suffix, '\0');
	if (buf_ok(&suffix))
		path =
		    rest_path("/v1/conversations/", conversation, suffix.data);
	rc = rest_get(cli->rest, path, &page, fail);
	mem_free(path);
	buf_fini(&suffix);
	if (rc != RC_OK) {
		json_decref(sorted);
		return (rc);
	}
	/* Some pages have the newest message first. */
	list = json_object_get(page, "messages");
	n = json_array_size(list);
	first = json_integer_value(
	    json_object_get(json_array_get(list, 0), "conversation_seq"));
	last = n == 0 ? 0
		      : json_integer_value(json_object_get(
			    json_array_get(list, n - 1), "conversation_seq"));
	for (i = 0; i < n && rc == RC_OK; i++)
		if (json_array_append(sorted,
			json_array_get(list, first > last ? n - 1 - i : i)) !=
		    0)
			rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	json_decref(page);
	if (rc == RC_OK && sorted == NULL)
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	if (rc == RC_OK)
		*ret = sorted;
	else
		json_decref(sorted);
	return (rc);
}

/* The selection that is_wanted() makes. */
struct wanted {
	const char *name;         /* of the other side, or */
	const char *conversation; /* the conversation's id */
};

static bool
is_wanted(const json_t *event, void *arg)
{
	const struct wanted *wanted = arg;
	const char *kind = json_string_value(json_object_get(event, "kind"));
	const char *from = json_string_value(json_object_get(event, "from"));
	const char *to = json_string_value(json_object_get(event, "to"));
	const char *conversation =
	    json_string_value(json_object_get(event, "conversation"));
	bool own = json_is_true(json_object_get(event, "own"));

	if (kind == NULL || strcmp(kind, "message") != 0)
		return (false);
	if (wanted->conversation != NULL)
		return (conversation != NULL &&
			strcmp(conversation, wanted->conversation) == 0);
	return (to != NULL && from != NULL &&
		strcmp(own ? to : from, wanted->name) == 0);
}

enum rc
cli_local_history(struct cli *cli, const char *name, const char *conversation,
    int64_t limit, json_t **ret, struct fail *fail)
{
	struct wanted wanted = {.name = name, .conversation = conversation};

	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	return (local_history(
	    cli->local, is_wanted, &wanted, (int)limit, ret, fail));
}

json_t *
cli_cell(struct cli *cli, const json_t *json, const char *name)
{
	const json_t *value = json_object_get(json, name);
	struct buf b = BUF_INIT;
	json_t *ret;

	if (json_is_integer(value))
		buf_addi(&b, json_integer_value(value));
	else if (render_time_of(json, name) != 0)
		render_time(&b, &cli->look, render_time_of(json, name));
	else if (json_is_string(value))
		buf_adds(&b, json_string_value(value));
	ret = json_stringn(b.len > 0 ? b.data : "", b.len);
	buf_fini(&b);
	return (ret);
}
