/* SPDX-License-Identifier: MIT */
/*
 * history: shows messages of a conversation from the server or, with --offline,
 * those that commands on this computer have shown before.  conversations: shows
 * the server's list of conversations.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

/* Returns the sign (accepted, delivered or read) of ${message}, if ${me} sent
 * it; else NULL.  ${delivered} and ${read} are the peer's watermarks from
 * cli_marks(), and are compared with the conversation_seq of ${message}. */
static const char *
sign_of(const json_t *message, const char *me, json_int_t delivered,
    json_int_t read)
{
	const char *from = json_string_value(json_object_get(message, "from"));
	json_int_t seq =
	    json_integer_value(json_object_get(message, "conversation_seq"));

	if (from == NULL || strcmp(from, me) != 0)
		return (NULL);
	if (seq <= read)
		return (RENDER_READ);
	return (seq <= delivered ? RENDER_DELIVERED : RENDER_ACCEPTED);
}

/* Prints ${messages} of ${conversation} (NULL if it is not known). */
static enum rc
show_messages(struct cli *cli, const json_t *messages,
    const json_t *conversation, struct fail *fail)
{
	json_int_t delivered, read;
	const json_t *message;
	struct buf b = BUF_INIT;
	const char *me = cli->profile.user;
	json_t *out;
	size_t i;
	enum rc rc;

	if (cli->json) {
		out = json_pack("{sO}", "messages", messages);
		rc = cli_print_list(cli, out, "messages", fail);
		json_decref(out);
		return (rc);
	}
	cli_marks(conversation, me, &delivered, &read);
	for (i = 0; i < json_array_size(messages); i++) {
		message = json_array_get(messages, i);
		render_message(&b, &cli->look, message,
		    conversation == NULL
			? NULL
			: sign_of(message, me, delivered, read));
	}
	if (json_array_size(messages) == 0 && cli->terminal)
		cli_note(cli, "nothing yet");
	return (cli_print(&b, fail));
}

/* history --offline: shows what this computer has seen. */
static enum rc
offline(
    struct cli *cli, const char *conversation, int64_t limit, struct fail *fail)
{
	json_t *messages;
	enum rc rc;

	if (cli_local_history(cli, cli->args.operands[0], conversation, limit,
		&messages, fail) != RC_OK)
		return (fail->rc);
	rc = show_messages(cli, messages, NULL, fail);
	json_decref(messages);
	return (rc);
}

/* Fetches the conversation with ${id} or, if ${id} is NULL, the direct
 * conversation with the person whom the first operand names.  Fails if there is
 * none.  On RC_OK the caller owns *ret, which is a JSON value. */
static enum rc
find_conversation(
    struct cli *cli, const char *id, json_t **ret, struct fail *fail)
{
	const char *name = cli->args.operands[0];
	char *path;
	enum rc rc;

	if (id != NULL) {
		path = rest_path("/v1/conversations/", id, "");
		rc = rest_get(cli->rest, path, ret, fail);
		mem_free(path);
		return (rc);
	}
	if (cli_conversation_with(cli, name, ret, fail) != RC_OK)
		return (fail->rc);
	if (*ret != NULL)
		return (RC_OK);
	return (cli_no_conversation(name, fail));
}

enum rc
cmd_history(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	const char *given = args_value(args, "conversation");
	char uuid[UUID_TEXT_LEN + 1], query[80];
	const char *id;
	int64_t limit = LIMIT_PAGE_DEFAULT, before = -1;
	json_t *conversation, *messages;
	int n;
	enum rc rc;

	if ((given != NULL) == (args->noperands == 1)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "either NAME or --conversation ID is needed");
		return (fail_cure(fail, "see twinbox history --help"));
	}
	if (args_integer(args, "limit", 1, LIMIT_PAGE_MAX, &limit, fail) !=
		RC_OK ||
	    args_integer(args, "before", 1, INT64_MAX, &before, fail) !=
		RC_OK ||
	    (given != NULL &&
		cli_uuid(given, "--conversation", uuid, fail) != RC_OK))
		return (fail->rc);
	if (args_has(args, "offline"))
		return (offline(cli, given != NULL ? uuid : NULL, limit, fail));
	if (find_conversation(
		cli, given != NULL ? uuid : NULL, &conversation, fail) != RC_OK)
		return (fail->rc);
	n = snprintf(query, sizeof(query), "limit=%" PRId64, limit);
	if (before >= 0)
		(void)snprintf(query + n, sizeof(query) - (size_t)n,
		    "&before=%" PRId64, before);
	id = json_string_value(json_object_get(conversation, "id"));
	rc =
	    cli_history_page(cli, id != NULL ? id : "", query, &messages, fail);
	if (rc == RC_OK) {
		rc = show_messages(cli, messages, conversation, fail);
		json_decref(messages);
	}
	json_decref(conversation);
	return (rc);
}

/* Returns the row of ${conversation} for the list. */
static json_t *
conversation_row(struct cli *cli, const json_t *conversation)
{
	const char *id = json_string_value(json_object_get(conversation, "id"));
	json_int_t n =
	    json_integer_value(json_object_get(conversation, "unread"));
	char unread[24] = "";

	if (n > 0)
		(void)snprintf(unread, sizeof(unread), "%lld", (long long)n);
	return (json_pack("[ssos]",
	    render_conversation_name(conversation, cli->profile.user), unread,
	    cli_cell(cli, conversation, "last"), id != NULL ? id : ""));
}

enum rc
cmd_conversations(struct cli *cli, struct fail *fail)
{
	char path[CLI_PATH_SIZE] = CLI_CONVERSATIONS;
	json_t *page, *rows;
	const json_t *list;
	struct buf b = BUF_INIT;
	size_t i;
	enum rc rc = RC_OK;

	rows = json_pack("[[ssss]]", "WITH", "UNREAD", "MESSAGES", "ID");
	while (rc == RC_OK && path[0] != '\0') {
		rc = cli_conversations_page(cli, path, &page, fail);
		if (rc != RC_OK)
			break;
		list = json_object_get(page, "conversations");
		for (i = 0;
		     rc == RC_OK && !cli->json && i < json_array_size(list);
		     i++)
			if (json_array_append_new(
				rows, conversation_row(
					  cli, json_array_get(list, i))) != 0)
				rc = fail_set(
				    fail, FAIL_MEMORY, "out of memory");
		if (cli->json)
			rc = cli_print_list(cli, page, "conversations", fail);
		json_decref(page);
	}
	if (rc == RC_OK && json_array_size(rows) > 1)
		render_table(&b, &cli->look, rows);
	else if (rc == RC_OK && !cli->json && cli->terminal)
		cli_note(cli, "none yet; twinbox send NAME TEXT begins one");
	json_decref(rows);
	return (rc == RC_OK ? cli_print(&b, fail) : rc);
}
