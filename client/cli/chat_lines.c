/* SPDX-License-Identifier: MIT */
/*
 * How a chat looks: messages, signs and remarks.  Also the commands that begin
 * with a slash.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clk.h"
#include "cli/chat.h"
#include "lib/safe.h"

/* Prints ${b} above the line being typed, names these lines ${tag} (NULL: no
 * name) for screen_replace(), and empties ${b}.  Before the screen is open,
 * prints ${b} to standard output instead, and stores a copy with ${tag} for
 * chat_opened().  Ends the chat if ${b} has run out of memory or the output to
 * standard output fails. */
static void
print(struct chat *chat, struct buf *b, const char *tag)
{
	struct fail fail;

	if (!buf_ok(b)) {
		buf_fini(b);
		follow_end_no_memory(&chat->follow);
		return;
	}
	if (chat->screen != NULL) {
		screen_print(chat->screen, b, tag);
		return;
	}
	if (b->len > 0)
		(void)json_array_append_new(
		    chat->before, json_pack("[s%s]", b->data, b->len,
				      tag != NULL ? tag : ""));
	if (cli_print(b, &fail) != RC_OK)
		follow_end(&chat->follow, &fail);
}

void
chat_opened(struct chat *chat)
{
	struct buf b = BUF_INIT;
	const json_t *text;
	size_t i;

	for (i = 0; i < json_array_size(chat->before); i++) {
		text = json_array_get(json_array_get(chat->before, i), 0);
		buf_add(&b, json_string_value(text), json_string_length(text));
		screen_adopt(chat->screen, &b,
		    json_string_value(
			json_array_get(json_array_get(chat->before, i), 1)));
	}
	(void)json_array_clear(chat->before);
}

void
chat_remark(struct chat *chat, const char *fmt, ...)
{
	struct buf b = BUF_INIT, text = BUF_INIT;
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_adds(&b, "· ");
	render_wrapped(&text, line, render_columns(STDOUT_FILENO), 2);
	render_buf(&b, &chat->follow.cli->look, STYLE_DIM, &text);
	buf_addc(&b, '\n');
	print(chat, &b, NULL);
}

/* Returns string member ${name} of ${json}, or "" if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return (text != NULL ? text : "");
}

/* Returns true if this user sent ${message}. */
static bool
is_own(const struct chat *chat, const json_t *message)
{

	return (strcmp(text_of(message, "from"),
		    chat->follow.cli->profile.user) == 0);
}

/* Returns the sign of an own message according to the peer's watermarks. */
static const char *
sign_by_marks(const struct chat *chat, const json_t *message)
{
	json_int_t seq =
	    json_integer_value(json_object_get(message, "conversation_seq"));

	if (seq == 0)
		return (RENDER_WAITING);
	if (seq <= chat->read)
		return (RENDER_READ);
	return (seq <= chat->delivered ? RENDER_DELIVERED : RENDER_ACCEPTED);
}

/* Returns the rank of ${sign}: waiting 0, accepted 1, delivered 2, read 3,
 * failed 4, another text -1.  The sign of a message only changes to one of a
 * higher rank. */
static int
rank(const char *sign)
{
	static const char *const order[] = {RENDER_WAITING, RENDER_ACCEPTED,
	    RENDER_DELIVERED, RENDER_READ, RENDER_FAILED};
	int i;

	for (i = 0; i < 5; i++) {
		if (strcmp(sign, order[i]) == 0)
			return (i);
	}
	return (-1);
}

void
chat_show(struct chat *chat, const json_t *message)
{
	struct cli *cli = chat->follow.cli;
	const char *id = text_of(message, "id"), *sign = NULL;
	struct buf b = BUF_INIT;
	json_t *copy;

	if (message == NULL) {
		follow_end_no_memory(&chat->follow);
		return;
	}
	cli->look.now_ms = clk_wall_ms(clk_system());
	if (is_own(chat, message)) {
		sign = sign_by_marks(chat, message);
		/* Without it, the sign would stay as it is for ever. */
		copy = json_deep_copy(message);
		if (json_object_set_new(chat->own, id, copy) != 0 ||
		    json_object_set_new(copy, "sign", json_string(sign)) != 0) {
			follow_end_no_memory(&chat->follow);
			return;
		}
	}
	render_message(&b, &cli->look, message, sign);
	print(chat, &b, sign != NULL ? id : NULL);
}

void
chat_sign(struct chat *chat, const char *id, const char *sign)
{
	struct cli *cli = chat->follow.cli;
	json_t *message = json_object_get(chat->own, id);
	struct buf b = BUF_INIT;
	char safe[60];
	const char *body;

	if (message == NULL || rank(sign) <= rank(text_of(message, "sign")))
		return;
	(void)json_object_set_new(message, "sign", json_string(sign));
	render_message(&b, &cli->look, message, sign);
	if (chat->screen != NULL && screen_replace(chat->screen, &b, id))
		return;
	buf_fini(&b);
	/* The message is not on the screen.  The user can see with /history
	 * that it was delivered or read, but a failure is reported here,
	 * because the user must not miss it. */
	if (strcmp(sign, RENDER_FAILED) != 0)
		return;
	body = text_of(message, "body");
	safe_line(body, strlen(body), safe, sizeof(safe));
	chat_remark(chat, "%s %s", sign, safe);
}

void
chat_sign_upto(struct chat *chat, json_int_t upto, const char *sign)
{
	json_int_t seq;
	json_t *message;
	void *i;

	for (i = json_object_iter(chat->own); i != NULL;
	     i = json_object_iter_next(chat->own, i)) {
		message = json_object_iter_value(i);
		seq = json_integer_value(
		    json_object_get(message, "conversation_seq"));
		if (seq > 0 && seq <= upto)
			chat_sign(chat, json_object_iter_key(i), sign);
	}
}

void
chat_show_other(struct chat *chat, const json_t *message)
{
	const char *from = text_of(message, "from");
	const char *body = text_of(message, "body");
	json_int_t n;
	char name[80], text[80];

	if (!chat->caught_up) {
		n = json_integer_value(json_object_get(chat->others, from));
		if (json_object_set_new(
			chat->others, from, json_integer(n + 1)) != 0)
			follow_end_no_memory(&chat->follow);
		return;
	}
	safe_line(from, strlen(from), name, sizeof(name));
	safe_line(body, strlen(body), text, sizeof(text));
	chat_remark(chat, "%s writes: %s", name, text);
}

void
chat_show_others(struct chat *chat)
{
	const char *from;
	json_int_t n;
	char name[80];
	void *i;

	for (i = json_object_iter(chat->others); i != NULL;
	     i = json_object_iter_next(chat->others, i)) {
		from = json_object_iter_key(i);
		n = json_integer_value(json_object_iter_value(i));
		safe_line(from, strlen(from), name, sizeof(name));
		chat_remark(chat, "%lld message%s from %s: twinbox history %s",
		    (long long)n, n == 1 ? "" : "s", name, name);
	}
	(void)json_object_clear(chat->others);
}

enum rc
chat_history(
    struct chat *chat, int64_t limit, json_int_t before, struct fail *fail)
{
	char query[80];
	json_t *messages;
	const json_t *message;
	json_int_t seq;
	size_t i;
	int n;
	enum rc rc;

	if (chat->conversation[0] == '\0' || limit == 0)
		return (RC_OK);
	n = snprintf(query, sizeof(query), "limit=%" PRId64, limit);
	if (before > 0)
		(void)snprintf(query + n, sizeof(query) - (size_t)n,
		    "&before=%lld", (long long)before);
	rc = cli_history_page(
	    chat->follow.cli, chat->conversation, query, &messages, fail);
	if (rc != RC_OK)
		return (rc);
	for (i = 0; i < json_array_size(messages); i++) {
		message = json_array_get(messages, i);
		chat_show(chat, message);
		seq = json_integer_value(
		    json_object_get(message, "conversation_seq"));
		if (seq > chat->shown_upto && !chat->follow.ended)
			chat->shown_upto = seq;
	}
	json_decref(messages);
	return (RC_OK);
}

/* Handles /history [N]. */
static void
show_history(struct chat *chat, const char *text)
{
	struct fail fail = FAIL_INIT;
	int64_t n = 20;

	while (*text == ' ')
		text++;
	if (*text != '\0' && !args_number(text, 1, LIMIT_PAGE_MAX, &n))
		chat_remark(
		    chat, "/history takes a number up to %d", LIMIT_PAGE_MAX);
	else if (chat->conversation[0] == '\0')
		chat_remark(chat, "nothing yet");
	else if (chat_history(chat, n, 0, &fail) != RC_OK)
		chat_remark(chat, "%s", fail.what);
}

static void
show_help(struct chat *chat)
{

	chat_remark(chat, "what you type goes to %s", chat->peer);
	chat_remark(chat, "/history [N]  show the last N messages");
	chat_remark(chat, "/quit         leave (also Ctrl-D)");
	chat_remark(chat, "//text        a text that begins with a slash");
	chat_remark(chat, "%s kept here  %s accepted  %s delivered  %s",
	    RENDER_WAITING, RENDER_ACCEPTED, RENDER_DELIVERED, RENDER_READ);
}

void
chat_line(void *arg, const char *line)
{
	struct chat *chat = arg;
	size_t n;

	if (line == NULL) {
		follow_end(&chat->follow, NULL);
		return;
	}
	n = strlen(line);
	while (n > 0 && line[n - 1] == ' ')
		n--;
	if (n == 0)
		return;
	if (line[0] != '/')
		chat_send(chat, line);
	else if (line[1] == '/')
		chat_send(chat, line + 1);
	else if (strncmp(line, "/quit", n) == 0 && n >= 2)
		follow_end(&chat->follow, NULL);
	else if (strncmp(line, "/help", n) == 0)
		show_help(chat);
	else if (strncmp(line, "/history", 8) == 0 &&
		 (line[8] == '\0' || line[8] == ' '))
		show_history(chat, line + 8);
	else
		chat_remark(chat, "there is no such command; /help lists them");
}
