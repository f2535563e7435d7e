/* SPDX-License-Identifier: MIT */
/*
 * The command chat: a conversation with one other user (the peer) in a
 * terminal.  A typed message is stored before it is sent, and is sent again on
 * each new connection until the server has accepted or finally refused it.
 * Shown messages of the conversation are marked as read.  A message that
 * another user has sent to another conversation appears as one line; before the
 * chat has caught up with the inbox, such messages are only counted, by sender.
 * Every event is stored on this device after it was handled, and then acked.
 */
#include "cli/chat.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clk.h"
#include "base/utf8.h"
#include "lib/safe.h"

#define HISTORY 20

/* Returns string member ${name} of ${json}, or "" if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return (text != NULL ? text : "");
}

/* Submits ${message}, the draft ${ref}, over the stream and stores ${ref} in
 * chat->in_flight under the number of the frame, which the server's answer
 * repeats.  If the stream cannot send now, does nothing: the draft stays in the
 * outbox, and submit_waiting() submits it on the next connection.  Ends the
 * chat if there is no memory for ${ref}. */
static void
submit(struct chat *chat, const json_t *message, const char *ref)
{
	int64_t number = stream_send(chat->follow.stream, message);
	char key[24];

	if (number == 0)
		return; /* not connected: the next welcome submits it */
	(void)snprintf(key, sizeof(key), "%lld", (long long)number);
	/* Without the ref, the answer could not be stored. */
	if (json_object_set_new(chat->in_flight, key, json_string(ref)) != 0)
		follow_end_no_memory(&chat->follow);
}

void
chat_send(struct chat *chat, const char *text)
{
	char id[UUID_TEXT_LEN + 1], ref[LOCAL_REF_SIZE];
	char now[CLK_RFC3339_SIZE];
	struct fail fail = FAIL_INIT;
	struct uuid uuid = uuid_gen_next(&chat->ids);
	json_t *message, *shown;
	size_t n = strlen(text);

	if (n > LIMIT_BODY_LEN || !utf8_valid(text, n, NULL)) {
		chat_remark(chat,
		    "not sent: that is longer than %d bytes, or "
		    "no UTF-8",
		    LIMIT_BODY_LEN);
		return;
	}
	uuid_format(&uuid, id);
	message =
	    json_pack("{ss ss ss}", "to", chat->peer, "body", text, "id", id);
	if (message == NULL)
		(void)fail_set(&fail, FAIL_MEMORY, "out of memory");
	if (message == NULL || sender_submit(chat->follow.cli->local, message,
				   NULL, ref, &fail) != RC_OK) {
		chat_remark(chat, "not sent: %s", fail.what);
		json_decref(message);
		return;
	}
	clk_format_rfc3339(clk_wall_ms(clk_system()), now);
	shown = json_pack("{ss ss ss ss ss sb}", "id", id, "from",
	    chat->follow.cli->profile.user, "to", chat->peer, "body", text,
	    "event_time", now, "own", 1);
	chat_show(chat, shown);
	json_decref(shown);
	submit(chat, message, ref);
	json_decref(message);
}

/* Submits the waiting ${draft}, or gives it up if it is ${damaged}. */
static void
submit_draft(struct chat *chat, const struct local_draft *draft, bool damaged)
{
	struct fail why = FAIL_INIT, fail = FAIL_INIT;
	char safe[80];

	if (damaged) {
		if (sender_give_up(
			chat->follow.cli->local, draft, &why, &fail) != RC_OK)
			follow_end(&chat->follow, &fail);
		safe_line(draft->recipient, strlen(draft->recipient), safe,
		    sizeof(safe));
		chat_remark(chat, "a message to %s was given up: %s; %s", safe,
		    why.what, why.cure);
		return;
	}
	/* REST has the idempotency key in a header, a frame has it in a member.
	 * Without the key, the server would take a repetition for another
	 * message. */
	if (draft->key[0] != '\0' && json_object_set_new(draft->request, "key",
					 json_string(draft->key)) != 0)
		follow_end_no_memory(&chat->follow);
	else
		submit(chat, draft->request, draft->ref);
}

/* Submits all waiting drafts of the client's outbox, to any recipient, and
 * gives up damaged ones.  Called on a new connection: first empties
 * chat->in_flight, because the server does not answer frames of an earlier
 * connection. */
static void
submit_waiting(struct chat *chat)
{
	struct local_draft draft;
	struct fail fail = FAIL_INIT;
	int64_t row = 0;
	enum rc rc = RC_OK;

	(void)json_object_clear(chat->in_flight);
	while (!chat->follow.ended) {
		rc = local_outbox_next(
		    chat->follow.cli->local, row, &draft, &fail);
		if (rc != RC_OK && rc != RC_CORRUPT)
			break;
		row = draft.row;
		submit_draft(chat, &draft, rc == RC_CORRUPT);
		local_draft_fini(&draft);
	}
	if (rc != RC_OK && rc != RC_CORRUPT && rc != RC_NOT_FOUND)
		follow_end(&chat->follow, &fail);
}

/* Marks the messages of the conversation up to chat->shown_upto as read.  Does
 * nothing while chat->caught_up is false (on this connection, the server has
 * not yet sent all events that wait in the inbox): a mark also counts for all
 * earlier messages of the conversation, and some of those may not be shown
 * yet. */
static void
mark_read(struct chat *chat)
{

	if (!chat->caught_up || chat->conversation[0] == '\0' ||
	    chat->shown_upto <= chat->read_upto)
		return;
	stream_read(chat->follow.stream, chat->conversation, chat->shown_upto);
	chat->read_upto = chat->shown_upto;
}

static void
on_welcome(void *arg, const json_t *frame)
{
	struct chat *chat = arg;

	if (chat->offline)
		chat_end_offline(chat);
	else if (chat->follow.away)
		chat_remark(chat, "connected again");
	chat->follow.away = false;
	chat->caught_up = false;
	chat->read_upto = 0; /* the last mark may be lost */
	follow_welcome(&chat->follow, frame);
	submit_waiting(chat);
}

bool
chat_is_here(struct chat *chat, const json_t *message)
{
	const char *conversation = text_of(message, "conversation");
	bool own = json_is_true(json_object_get(message, "own"));

	if (chat->conversation[0] == '\0' &&
	    strcmp(text_of(message, own ? "to" : "from"), chat->peer) == 0 &&
	    json_is_string(json_object_get(message, "to")) &&
	    strlen(conversation) == UUID_TEXT_LEN)
		(void)snprintf(chat->conversation, sizeof(chat->conversation),
		    "%s", conversation);
	return (chat->conversation[0] != '\0' &&
		strcmp(conversation, chat->conversation) == 0);
}

void
chat_take(struct chat *chat, const json_t *message)
{
	const char *id = text_of(message, "id");
	json_t *mine = json_object_get(chat->own, id);
	json_int_t seq =
	    json_integer_value(json_object_get(message, "conversation_seq"));

	if (mine != NULL) {
		(void)json_object_set(mine, "conversation_seq",
		    json_object_get(message, "conversation_seq"));
		chat_sign(chat, id,
		    seq <= chat->read        ? RENDER_READ
		    : seq <= chat->delivered ? RENDER_DELIVERED
					     : RENDER_ACCEPTED);
	} else if (seq > chat->shown_upto)
		chat_show(chat, message);
	/* A message that could not be shown must not be marked as read. */
	if (seq > chat->shown_upto && !chat->follow.ended)
		chat->shown_upto = seq;
}

/* Handles a message from any conversation. */
static void
take_message(struct chat *chat, const json_t *event)
{

	if (chat_is_here(chat, event)) {
		chat_take(chat, event);
		mark_read(chat);
	} else if (!json_is_true(json_object_get(event, "own")))
		chat_show_other(chat, event);
}

/* Handles a receipt.  The peer's watermarks only move forward. */
static void
take_receipt(struct chat *chat, const json_t *event)
{
	json_int_t upto = json_integer_value(json_object_get(event, "upto"));
	bool read = strcmp(text_of(event, "state"), "read") == 0;

	if (strcmp(text_of(event, "by"), chat->peer) != 0 ||
	    chat->conversation[0] == '\0' ||
	    strcmp(text_of(event, "conversation"), chat->conversation) != 0)
		return;
	if (read && upto > chat->read)
		chat->read = upto;
	if (upto > chat->delivered)
		chat->delivered = upto;
	chat_sign_upto(chat, upto, read ? RENDER_READ : RENDER_DELIVERED);
}

static void
on_event(void *arg, const json_t *event)
{
	struct chat *chat = arg;
	const char *kind = text_of(event, "kind");
	char safe[160];
	const char *reason;

	if (chat->follow.ended)
		return;
	if (follow_known(&chat->follow, event))
		; /* shown before the server was restored */
	else if (strcmp(kind, "message") == 0) {
		take_message(chat, event);
		if (chat->caught_up)
			bell_ring(&chat->bell, event);
	} else if (strcmp(kind, "receipt") == 0)
		take_receipt(chat, event);
	else if (strcmp(kind, "bounce") == 0) {
		chat_sign(chat, text_of(event, "of"), RENDER_FAILED);
		reason = text_of(event, "reason");
		safe_line(reason, strlen(reason), safe, sizeof(safe));
		chat_remark(chat, "not delivered: %s", safe);
	}
	/* An event that could not be shown is neither stored nor acked. */
	if (!chat->follow.ended)
		follow_shown(&chat->follow, event);
}

static void
on_caught_up(void *arg)
{
	struct chat *chat = arg;

	chat->caught_up = true;
	chat_show_others(chat);
	mark_read(chat);
}

/* Returns the ref of the draft that was submitted on this connection in the
 * frame with number ${re}, answered or not, or NULL if there is no such draft.
 * For a message typed in this chat, the ref is the message's id. */
static const char *
in_flight_ref(struct chat *chat, int64_t re)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "%lld", (long long)re);
	return (json_string_value(json_object_get(chat->in_flight, key)));
}

static void
on_sent(void *arg, int64_t re, const json_t *frame)
{
	struct chat *chat = arg;
	const char *ref = in_flight_ref(chat, re);
	const json_t *entry = json_object_get(frame, "entry");
	struct fail fail = FAIL_INIT;

	if (ref == NULL)
		return;
	if (local_outbox_answered(chat->follow.cli->local, ref, &fail) != RC_OK)
		follow_end(&chat->follow, &fail);
	if (chat->conversation[0] == '\0' &&
	    strcmp(text_of(entry, "to"), chat->peer) == 0 &&
	    strlen(text_of(entry, "conversation")) == UUID_TEXT_LEN)
		(void)snprintf(chat->conversation, sizeof(chat->conversation),
		    "%s", text_of(entry, "conversation"));
	chat_sign(chat, ref, RENDER_ACCEPTED);
}

static void
on_refused(void *arg, int64_t re, const struct fail *why)
{
	struct chat *chat = arg;
	const char *ref = in_flight_ref(chat, re);
	struct fail fail = FAIL_INIT;

	if (ref == NULL)
		return;
	if (!sender_refused(why)) {
		chat_remark(
		    chat, "not sent yet: %s; it is kept here", why->what);
		return;
	}
	if (local_outbox_refused(
		chat->follow.cli->local, ref, why->what, &fail) != RC_OK)
		follow_end(&chat->follow, &fail);
	chat_sign(chat, ref, RENDER_FAILED);
	chat_remark(chat, "refused: %s; %s", why->what, why->cure);
}

static void
on_epoch_changed(void *arg)
{
	struct chat *chat = arg;

	follow_replay(&chat->follow);
	chat_remark(chat, "the server was restored; it gets your messages "
			  "again");
}

static void
on_lost(void *arg, const struct fail *why, int64_t wait_ms)
{
	struct chat *chat = arg;

	(void)wait_ms;
	follow_flush(&chat->follow);
	if (!chat->follow.away)
		chat_remark(chat, "%s; what you type is kept", why->what);
	chat->follow.away = true;
}

static void
on_ended(void *arg, const struct fail *why)
{
	struct chat *chat = arg;

	if (!chat->follow.ended && why != NULL) {
		follow_flush(&chat->follow);
		chat->follow.fail = *why;
	}
	chat->follow.ended = true;
	loop_stop(chat->follow.loop);
}

static const struct stream_ops ops = {
    .welcome = on_welcome,
    .event = on_event,
    .caught_up = on_caught_up,
    .sent = on_sent,
    .refused = on_refused,
    .epoch_changed = on_epoch_changed,
    .lost = on_lost,
    .ended = on_ended,
};

/* Handles signal ${number}.  Returns false if the chat must end. */
static bool
take_signal(struct chat *chat, int number)
{

	switch (number) {
	case SIGWINCH:
		screen_resize(chat->screen);
		return (true);
	case SIGTSTP:
		screen_stop(chat->screen);
		return (true);
	case SIGCONT:
		screen_continue(chat->screen);
		return (true);
	case SIGINT:
		/* Ctrl-C discards the line being typed, as in a shell.  If
		 * nothing is typed, Ctrl-C ends the chat. */
		return (screen_clear_line(chat->screen));
	default:
		return (false);
	}
}

static void
on_signal(void *arg)
{
	struct chat *chat = arg;
	int number;

	while ((number = follow_signal(&chat->follow)) != 0)
		if (!take_signal(chat, number))
			follow_end(&chat->follow, NULL);
}

/* Standard input is readable, or has ended. */
static void
on_input(void *arg)
{
	struct chat *chat = arg;

	if (!chat->follow.ended && !screen_read(chat->screen))
		follow_end(&chat->follow, NULL);
}

/* Finds the conversation and shows its last messages. */
static enum rc
show_conversation(struct chat *chat, struct fail *fail)
{
	struct cli *cli = chat->follow.cli;
	json_t *conversation;

	if (cli_conversation_with(cli, chat->peer, &conversation, fail) !=
	    RC_OK)
		return (fail->rc);
	cli_note_unsent(cli);
	if (conversation == NULL)
		return (RC_OK);
	(void)snprintf(chat->conversation, sizeof(chat->conversation), "%s",
	    text_of(conversation, "id"));
	cli_marks(
	    conversation, cli->profile.user, &chat->delivered, &chat->read);
	json_decref(conversation);
	return (chat_history(chat, chat->history, 0, fail));
}

/* Reads --history, tries once to submit the waiting messages, and shows the
 * last messages of the conversation.  If reading the conversation fails and a
 * retry may succeed (fail_may_retry(), such as an unreachable or busy server),
 * begins the chat offline; returns any other failure. */
static enum rc
begin(struct chat *chat, struct fail *fail)
{
	struct cli *cli = chat->follow.cli;

	chat->history = HISTORY;
	if (args_integer(&cli->args, "history", 0, LIMIT_PAGE_MAX,
		&chat->history, fail) != RC_OK)
		return (fail->rc);
	cli_flush(cli);
	if (show_conversation(chat, fail) == RC_OK)
		return (RC_OK);
	if (!fail_may_retry(fail))
		return (fail->rc);
	cli->nunsent = 0; /* the chat shows them */
	chat_begin_offline(chat, fail);
	return (RC_OK);
}

/* Runs the chat, which cmd_chat() has initialized. */
static enum rc
run(struct chat *chat, struct fail *fail)
{
	enum rc rc;

	rc =
	    follow_init(&chat->follow, chat->follow.cli, on_signal, chat, fail);
	if (rc == RC_OK)
		rc = follow_start(&chat->follow, &ops, "", -1, chat, fail);
	if (rc == RC_OK)
		rc = loop_watch(
		    chat->follow.loop, STDIN_FILENO, on_input, chat, fail);
	if (rc != RC_OK)
		return (rc);
	chat->screen = screen_open("> ", chat_line, chat);
	if (chat->screen == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	chat_opened(chat);
	return (follow_run(&chat->follow, fail));
}

/* Returns true if a draft waits in ${local}. */
static bool
waits(struct local *local)
{
	struct local_draft draft;
	struct fail ignored = FAIL_INIT;
	enum rc rc = local_outbox_next(local, 0, &draft, &ignored);

	if (rc != RC_OK && rc != RC_CORRUPT)
		return (false);
	local_draft_fini(&draft);
	return (true);
}

enum rc
cmd_chat(struct cli *cli, struct fail *fail)
{
	const char *peer = cli->args.operands[0];
	struct chat chat;
	enum rc rc;

	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
		(void)fail_set(fail, FAIL_USAGE, "chat needs a terminal");
		return (fail_cure(fail, "use twinbox send and twinbox tail"));
	}
	if (!utf8_valid(peer, strlen(peer), NULL)) {
		(void)fail_set(fail, FAIL_USAGE, "the name is not in UTF-8");
		return (fail_cure(fail, "see twinbox chat --help"));
	}
	memset(&chat, 0, sizeof(chat));
	chat.follow.cli = cli;
	chat.follow.acks = true;
	chat.follow.stops = true;
	bell_init(&chat.bell, cli);
	chat.follow.signals = -1;
	chat.peer = peer;
	chat.own = json_object();
	chat.before = json_array();
	chat.in_flight = json_object();
	chat.others = json_object();
	uuid_gen_init(&chat.ids, clk_system(), rnd_system());
	rc = cli_local(cli, fail);
	if (rc == RC_OK)
		rc = begin(&chat, fail);
	if (rc == RC_OK)
		rc = run(&chat, fail);
	screen_close(chat.screen);
	if (cli->local != NULL && waits(cli->local))
		cli_note(cli, "what could not be sent is kept and goes out "
			      "with the next twinbox command");
	follow_fini(&chat.follow);
	json_decref(chat.own);
	json_decref(chat.before);
	json_decref(chat.in_flight);
	json_decref(chat.others);
	return (rc);
}
