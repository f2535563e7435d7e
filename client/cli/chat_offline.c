/* SPDX-License-Identifier: MIT */
/*
 * A chat that begins without the server.  Its history is the messages that
 * commands on this computer have shown, followed by those that wait to be sent.
 * When the server is reached, the chat fetches the newest messages, because the
 * stream does not send messages that this device has acked without showing them
 * (for example with twinbox ack).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "cli/chat.h"

/* Returns string member ${name} of ${json}, or "" if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return (text != NULL ? text : "");
}

/* Raises the chat's copies of the peer's watermarks to those in ${event}, if
 * ${event} is a receipt from the peer in this conversation.  Called as the
 * filter of local_history() for each stored event; returns false, because no
 * event is to be collected. */
static bool
take_marks(const json_t *event, void *arg)
{
	struct chat *chat = arg;
	json_int_t upto = json_integer_value(json_object_get(event, "upto"));

	if (strcmp(text_of(event, "kind"), "receipt") != 0 ||
	    strcmp(text_of(event, "by"), chat->peer) != 0 ||
	    strcmp(text_of(event, "conversation"), chat->conversation) != 0)
		return (false);
	if (upto > chat->delivered)
		chat->delivered = upto;
	if (upto > chat->read && strcmp(text_of(event, "state"), "read") == 0)
		chat->read = upto;
	return (false);
}

/* Shows the last messages that this computer has seen. */
static void
show_seen(struct chat *chat)
{
	struct cli *cli = chat->follow.cli;
	struct fail ignored = FAIL_INIT;
	json_t *messages, *none;
	size_t i;

	if (cli_local_history(cli, chat->peer, NULL, chat->history, &messages,
		&ignored) != RC_OK)
		return;
	for (i = json_array_size(messages);
	     i > 0 && chat->conversation[0] == '\0'; i--)
		(void)chat_is_here(chat, json_array_get(messages, i - 1));
	if (chat->conversation[0] != '\0' &&
	    local_history(cli->local, take_marks, chat, 1, &none, &ignored) ==
		RC_OK)
		json_decref(none);
	for (i = 0; i < json_array_size(messages); i++)
		if (chat_is_here(chat, json_array_get(messages, i)))
			chat_take(chat, json_array_get(messages, i));
	json_decref(messages);
}

/* Shows the messages that wait to be sent to the peer. */
static void
show_waiting(struct chat *chat)
{
	struct cli *cli = chat->follow.cli;
	struct fail ignored = FAIL_INIT;
	char created[CLK_RFC3339_SIZE];
	struct local_draft draft;
	int64_t row = 0;
	json_t *shown;
	enum rc rc;

	while ((rc = local_outbox_next(cli->local, row, &draft, &ignored)) ==
		   RC_OK ||
	       rc == RC_CORRUPT) {
		row = draft.row;
		if (rc == RC_OK &&
		    (strcmp(draft.recipient, chat->peer) == 0 ||
			strcmp(draft.recipient, chat->conversation) == 0)) {
			clk_format_rfc3339(draft.created_at, created);
			shown = json_pack("{ss ss sO* ss sb}", "id", draft.ref,
			    "from", cli->profile.user, "body",
			    json_object_get(draft.request, "body"),
			    "event_time", created, "own", 1);
			chat_show(chat, shown);
			json_decref(shown);
		}
		local_draft_fini(&draft);
	}
}

void
chat_begin_offline(struct chat *chat, const struct fail *why)
{

	chat->offline = true;
	chat->follow.away = true;
	if (chat->history > 0)
		show_seen(chat);
	show_waiting(chat);
	chat_remark(chat, "%s; what you type is kept", why->what);
}

void
chat_end_offline(struct chat *chat)
{
	struct cli *cli = chat->follow.cli;
	struct fail why = FAIL_INIT;
	json_t *conversation = NULL, *messages;
	char query[40];
	int64_t limit;
	size_t i;

	chat->offline = false;
	chat_remark(chat, "connected");
	if (cli_conversation_with(cli, chat->peer, &conversation, &why) !=
		RC_OK ||
	    conversation == NULL)
		return; /* the stream brings what there is */
	(void)snprintf(chat->conversation, sizeof(chat->conversation), "%s",
	    text_of(conversation, "id"));
	cli_marks(
	    conversation, cli->profile.user, &chat->delivered, &chat->read);
	json_decref(conversation);
	chat_sign_upto(chat, chat->delivered, RENDER_DELIVERED);
	chat_sign_upto(chat, chat->read, RENDER_READ);
	/* If nothing was shown, show the usual beginning of a chat. */
	limit = chat->shown_upto > 0 ? LIMIT_PAGE_MAX : chat->history;
	if (limit == 0)
		return;
	(void)snprintf(query, sizeof(query), "limit=%" PRId64, limit);
	if (cli_history_page(cli, chat->conversation, query, &messages, &why) !=
	    RC_OK)
		return;
	for (i = 0; i < json_array_size(messages); i++)
		chat_take(chat, json_array_get(messages, i));
	json_decref(messages);
}
