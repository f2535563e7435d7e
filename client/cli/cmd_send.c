/* SPDX-License-Identifier: MIT */
/*
 * send: makes the message, stores it in the client's own outbox, and submits it
 * until the server has accepted or finally refused it.  After 15 s (or
 * --try-for), or if a retry cannot help, begins no new attempt; then the
 * message stays in the outbox for a later command.  With --wait delivered or
 * --wait read, then follows an accepted message until it is in that state, for
 * 30 s (or --timeout).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clk.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "lib/safe.h"

#define TRY_FOR_MS 15000
#define WAIT_TIMEOUT_MS 30000
/* At most TEXT_COLUMNS columns of a sent message's text are shown.  If there is
 * room for less than TEXT_COLUMNS_LEAST, no text is shown. */
#define TEXT_COLUMNS 60
#define TEXT_COLUMNS_LEAST 8

/* The message of this command and its outcome. */
struct sending {
	struct cli *cli;
	const char *ref;
	json_t *message;
	int64_t try_for_ms, timeout_ms; /* of the options */
	json_t *entry;                  /* NULL: not answered */
	bool replayed;
	bool refused;
	struct fail why;
};

/* Reads standard input to its end into ${b}, and removes one line feed at the
 * end.  Once ${b} is longer than a message may be, or out of memory, stops
 * reading and returns RC_OK, so that endless input does not fill the memory;
 * the caller checks ${b} for both. */
static enum rc
read_input(struct buf *b, struct fail *fail)
{
	char piece[4096];
	ssize_t n;

	do {
		n = read(STDIN_FILENO, piece, sizeof(piece));
		if (n > 0)
			buf_add(b, piece, (size_t)n);
	} while ((n > 0 && buf_ok(b) && b->len <= LIMIT_BODY_LEN + 1) ||
		 (n < 0 && errno == EINTR));
	if (n < 0)
		return (fail_set(fail, FAIL_INPUT_OUTPUT,
		    "cannot read standard input: %s", strerror(errno)));
	/* The line end that echo appends is not part of the text. */
	if (b->len > 0 && b->data[b->len - 1] == '\n')
		b->len--;
	return (RC_OK);
}

/* Collects the text of the message in ${b}. */
static enum rc
gather_text(struct cli *cli, struct buf *b, struct fail *fail)
{
	const struct args *args = &cli->args;
	int i = args_has(args, "conversation") ? 0 : 1;
	size_t bad;

	if (i == args->noperands) {
		(void)fail_set(fail, FAIL_USAGE, "there is no text to send");
		return (fail_cure(fail, "twinbox send TO TEXT, or - to read it "
					"from standard input"));
	}
	if (i + 1 == args->noperands && strcmp(args->operands[i], "-") == 0) {
		if (read_input(b, fail) != RC_OK)
			return (fail->rc);
	} else {
		for (; i < args->noperands; i++) {
			if (b->len > 0)
				buf_addc(b, ' ');
			buf_adds(b, args->operands[i]);
		}
	}
	if (!buf_ok(b))
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	if (b->len > LIMIT_BODY_LEN) {
		(void)fail_set(fail, FAIL_DATA,
		    "the text is longer than %d bytes", LIMIT_BODY_LEN);
		return (fail_cure(fail, "send less in one message"));
	}
	if (b->len == 0) {
		(void)fail_set(fail, FAIL_DATA, "the text is empty");
		return (fail_cure(fail, "say something"));
	}
	if (!utf8_valid(b->data, b->len, &bad) ||
	    memchr(b->data, '\0', b->len) != NULL) {
		(void)fail_set(
		    fail, FAIL_DATA, "the text is not text in UTF-8");
		return (fail_cure(fail, "convert it, for example with iconv"));
	}
	return (RC_OK);
}

/* Sets the members that are options of the same meaning. */
static enum rc
add_texts(struct cli *cli, json_t *message, struct fail *fail)
{
	static const char *const members[][2] = {{"priority", "priority"},
	    {"content-type", "content_type"}, {"reply-to", "reply_to"},
	    {"correlation-id", "correlation_id"}};
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		value = args_value(&cli->args, members[i][0]);
		if (value != NULL && cli_set(message, members[i][1],
					 json_string(value), fail) != RC_OK)
			return (fail->rc);
	}
	return (RC_OK);
}

/* Adds each --metadata NAME=TEXT. */
static enum rc
add_metadata(struct cli *cli, json_t *message, struct fail *fail)
{
	const struct args *args = &cli->args;
	json_t *metadata = NULL;
	const char *value, *equals;
	int i;

	for (i = 0; i < args->ngiven; i++) {
		if (strcmp(args->given[i].option->name, "metadata") != 0)
			continue;
		value = args->given[i].value;
		equals = strchr(value, '=');
		if (equals == NULL || equals == value) {
			json_decref(metadata);
			return (fail_set(
			    fail, FAIL_USAGE, "--metadata takes NAME=TEXT"));
		}
		if (metadata == NULL)
			metadata = json_object();
		if (json_object_setn_new(metadata, value,
			(size_t)(equals - value),
			json_string(equals + 1)) != 0) {
			json_decref(metadata);
			return (fail_set(fail, FAIL_MEMORY, "out of memory"));
		}
	}
	if (metadata == NULL)
		return (RC_OK);
	return (cli_set(message, "metadata", metadata, fail));
}

/* Adds the time of delivery and the time of expiry. */
static enum rc
add_times(struct cli *cli, json_t *message, struct fail *fail)
{
	const char *at = args_value(&cli->args, "at");
	char text[CLK_RFC3339_SIZE];
	int64_t in_ms = -1, expires_ms = -1, at_ms = 0;

	if (args_duration(&cli->args, "in", &in_ms, fail) != RC_OK ||
	    args_duration(&cli->args, "expires-in", &expires_ms, fail) != RC_OK)
		return (fail->rc);
	if (at != NULL && (in_ms >= 0 || clk_parse_rfc3339(at, &at_ms) != 0)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "--at takes a time such as "
		    "2030-01-31T09:00:00Z, and stands without --in");
		return (fail_cure(fail, "see twinbox send --help"));
	}
	if (in_ms >= 0)
		at_ms = clk_wall_ms(clk_system()) + in_ms;
	if (in_ms >= 0 || at != NULL) {
		clk_format_rfc3339(at_ms, text);
		if (cli_set(message, "deliver_at", json_string(text), fail) !=
		    RC_OK)
			return (fail->rc);
	}
	if (expires_ms < 0)
		return (RC_OK);
	return (cli_set(
	    message, "expires_in", json_integer(expires_ms / 1000), fail));
}

/* Adds the message's id, unless --key is given: then the server makes the
 * id. */
static enum rc
add_id(struct cli *cli, json_t *message, struct fail *fail)
{
	const char *given = args_value(&cli->args, "id");
	const char *key = args_value(&cli->args, "key");
	char text[UUID_TEXT_LEN + 1];
	struct uuid_gen gen;
	struct uuid id;

	if (given != NULL && key != NULL)
		return (fail_set(
		    fail, FAIL_USAGE, "--id and --key exclude each other"));
	if (key != NULL) {
		if (key[0] == '\0' || strlen(key) > LIMIT_IDEMPOTENCY_KEY_LEN ||
		    strpbrk(key, "\r\n") != NULL)
			return (fail_set(fail, FAIL_USAGE,
			    "--key takes a text of 1 to %d bytes",
			    LIMIT_IDEMPOTENCY_KEY_LEN));
		return (RC_OK);
	}
	if (given != NULL) {
		if (cli_uuid(given, "--id", text, fail) != RC_OK)
			return (fail->rc);
	} else {
		uuid_gen_init(&gen, clk_system(), rnd_system());
		id = uuid_gen_next(&gen);
		uuid_format(&id, text);
	}
	return (cli_set(message, "id", json_string(text), fail));
}

/* Sets the conversation, or the recipient. */
static enum rc
add_target(struct cli *cli, json_t *message, struct fail *fail)
{
	const char *conversation = args_value(&cli->args, "conversation");
	char uuid[UUID_TEXT_LEN + 1];
	const char *to;

	if (conversation != NULL) {
		if (cli_uuid(conversation, "--conversation", uuid, fail) !=
		    RC_OK)
			return (fail->rc);
		return (
		    cli_set(message, "conversation", json_string(uuid), fail));
	}
	to = cli->args.operands[0];
	if (!utf8_valid(to, strlen(to), NULL)) {
		(void)fail_set(
		    fail, FAIL_USAGE, "the recipient is not in UTF-8");
		return (fail_cure(fail, "see twinbox send --help"));
	}
	return (cli_set(message, "to", json_string(to), fail));
}

/* Sets the text. */
static enum rc
add_body(struct cli *cli, json_t *message, struct fail *fail)
{
	struct buf text = BUF_INIT;
	enum rc rc;

	if ((rc = gather_text(cli, &text, fail)) == RC_OK)
		rc = cli_set(
		    message, "body", json_stringn(text.data, text.len), fail);
	buf_fini(&text);
	return (rc);
}

/* Makes the message from the arguments. */
static enum rc
make_message(struct cli *cli, json_t **ret, struct fail *fail)
{
	json_t *message = json_object();

	if (add_target(cli, message, fail) != RC_OK ||
	    add_body(cli, message, fail) != RC_OK ||
	    add_texts(cli, message, fail) != RC_OK ||
	    add_metadata(cli, message, fail) != RC_OK ||
	    add_times(cli, message, fail) != RC_OK ||
	    add_id(cli, message, fail) != RC_OK) {
		json_decref(message);
		return (fail->rc);
	}
	*ret = message;
	return (RC_OK);
}

/* The sender_fn of this command: records the outcome of the message that this
 * command sends in ${arg}, a struct sending, and prints a note about the
 * outcome of each other message of the own outbox. */
static void
settled(void *arg, const struct local_draft *draft, enum sender_outcome outcome,
    const struct rest_reply *reply, const struct fail *why)
{
	struct sending *sending = arg;

	if (strcmp(draft->ref, sending->ref) == 0) {
		if (outcome == SENDER_ANSWERED) {
			sending->entry = json_incref(reply->json);
			sending->replayed = reply->replayed;
		} else {
			sending->refused = true;
			sending->why = *why;
		}
		return;
	}
	cli_note_settled(sending->cli, draft, outcome, why);
}

/* Submits the stored message ${sending->ref}. */
static enum rc
submit(struct cli *cli, struct sending *sending, struct fail *fail)
{
	struct sender sender;
	char reason[120];
	int times = 0;
	enum rc rc;

	if (cli_sender(cli, settled, sending, &sender, fail) != RC_OK)
		return (fail->rc);
	sender.wanted = sending->ref;
	do {
		rc = sender_flush(&sender, sending->try_for_ms, fail);
		if (sending->entry != NULL)
			return (RC_OK);
		if (sending->refused) {
			*fail = sending->why;
			return (fail->rc);
		}
		/* If sender_flush() succeeded, another process has settled the
		 * message.  Submit it again, which makes no second message
		 * under the same id or key, to get the answer. */
	} while (
	    rc == RC_OK && times++ < 10 &&
	    (rc = local_outbox_again(cli->local, sending->ref, fail)) == RC_OK);
	if (rc == RC_OK)
		return (fail_set(fail, FAIL_INTERNAL,
		    "the message is gone from the own outbox"));
	if (!fail_may_retry(fail))
		return (fail_cure(fail, "the message is kept here%s",
		    fail->rc == RC_DENIED ? "; " FAIL_LOGIN_AGAIN : ""));
	(void)snprintf(reason, sizeof(reason), "%.119s", fail->what);
	(void)fail_set(fail, FAIL_QUEUED, "not sent yet: %s", reason);
	return (fail_cure(fail,
	    "it is kept as %.60s and goes out with the next twinbox command",
	    sending->ref));
}

/* Returns the number of columns, at most TEXT_COLUMNS, that a text may have in
 * a line that has ${before} columns already, so that an id still fits behind
 * the text; 0 or less if there is no room.  Output that is not a terminal has
 * no width, so it gets TEXT_COLUMNS. */
static int
text_columns(const struct cli *cli, int before)
{
	int left = cli->look.columns - before - UUID_TEXT_LEN - 2;

	return (cli->terminal && left < TEXT_COLUMNS ? left : TEXT_COLUMNS);
}

/* Appends the recipient and the text, as in "to bob: Hello", to a line that has
 * ${before} columns already.  Cuts the text so that an id fits behind the text.
 * Appends only the recipient if there is room for less than TEXT_COLUMNS_LEAST
 * columns of text. */
static void
add_what_went(struct buf *b, const struct cli *cli,
    const struct sending *sending, int before)
{
	const json_t *body = json_object_get(sending->message, "body");
	struct buf head = BUF_INIT, text = BUF_INIT;
	int columns;

	buf_adds(&head, "to ");
	if (json_is_string(json_object_get(sending->entry, "to")))
		render_member(&head, sending->entry, "to", "?");
	else
		render_member(&head, sending->message, "to", "the group");
	safe_add(&text, json_string_value(body), json_string_length(body));
	if (!buf_ok(&head) || !buf_ok(&text)) {
		b->failed = true;
	} else {
		buf_add(b, head.data, head.len);
		columns = text_columns(
		    cli, before + safe_width(head.data, head.len) + 2);
		if (columns >= TEXT_COLUMNS_LEAST) {
			buf_adds(b, ": ");
			render_cut(b, &text, columns);
		}
	}
	buf_fini(&head);
	buf_fini(&text);
}

/* Shows that the server has accepted the message, with its recipient and
 * text. */
static enum rc
show_accepted(struct cli *cli, const struct sending *sending, struct fail *fail)
{
	const char *how =
	    sending->replayed ? " accepted before  " : " accepted  ";
	struct buf b = BUF_INIT;

	render_styled(&b, &cli->look, STYLE_GREEN, RENDER_ACCEPTED);
	buf_adds(&b, how);
	add_what_went(&b, cli, sending, 1 + (int)strlen(how));
	buf_adds(&b, "  ");
	render_member(&b, sending->entry, "id", "?");
	buf_addc(&b, '\n');
	return (cli_print(&b, fail));
}

/* Does the work of --wait: blocks until the message is ${state}, then replaces
 * sending->entry by the new outbox entry, and prints a line about the state,
 * except with --json, where the caller prints the entry.  Fails as cli_wait()
 * does, with --timeout or 30 s as the limit; then sending->entry stays. */
static enum rc
follow(struct cli *cli, struct sending *sending, const char *state,
    struct fail *fail)
{
	const char *id =
	    json_string_value(json_object_get(sending->entry, "id"));
	struct buf b = BUF_INIT;
	json_t *entry;

	if (id == NULL)
		return (fail_set(
		    fail, FAIL_PROTOCOL, "the server's answer has no id"));
	if (cli_wait(cli, id, state, sending->timeout_ms, &entry, fail) !=
	    RC_OK)
		return (fail->rc);
	json_decref(sending->entry);
	sending->entry = entry;
	if (cli->json)
		return (RC_OK);
	render_styled(&b, &cli->look, STYLE_GREEN,
	    strcmp(state, "read") == 0 ? RENDER_READ
				       : RENDER_DELIVERED " delivered");
	buf_addc(&b, '\n');
	return (cli_print(&b, fail));
}

/* Returns true if this account has exchanged messages with ${name} here. */
static bool
is_known(struct cli *cli, const char *name)
{
	struct fail ignored = FAIL_INIT;
	json_t *names;
	bool known = false;
	size_t i;

	if (strcmp(name, cli->profile.user) == 0 ||
	    cli_local(cli, &ignored) != RC_OK ||
	    local_names(cli->local, &names, &ignored) != RC_OK)
		return (false);
	for (i = 0; i < json_array_size(names) && !known; i++)
		known = strcmp(json_string_value(json_array_get(names, i)),
			    name) == 0;
	json_decref(names);
	return (known);
}

/* "send bob carol hi" may be meant for both bob and carol, but sends "carol hi"
 * to bob.  If the first word of the text is the name of a person with whom this
 * account has exchanged messages on this computer, and the standard streams are
 * terminals, asks for confirmation, and fails unless the answer begins with y
 * or Y.  Otherwise, as in a script, returns RC_OK without a question. */
static enum rc
confirm_text(struct cli *cli, const json_t *message, struct fail *fail)
{
	const struct args *args = &cli->args;
	const char *body = json_string_value(json_object_get(message, "body"));
	char line[16] = "", text[80], to[80];

	if (args->noperands < 3 || args_has(args, "conversation") ||
	    isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1 ||
	    isatty(STDERR_FILENO) != 1 || !is_known(cli, args->operands[1]))
		return (RC_OK);
	safe_line(body, strlen(body), text, sizeof(text));
	safe_line(args->operands[0], strlen(args->operands[0]), to, sizeof(to));
	(void)fprintf(stderr, "Send \"%s\" to %s alone? [y/N] ", text, to);
	(void)fflush(stderr);
	if (fgets(line, sizeof(line), stdin) != NULL &&
	    (line[0] == 'y' || line[0] == 'Y'))
		return (RC_OK);
	(void)fail_set(fail, FAIL_USAGE, "nothing was sent");
	return (fail_cure(fail, "a message has one recipient: repeat it for "
				"each"));
}

/* Stores the message, submits it, and shows the outcome. */
static enum rc
send_message(struct cli *cli, struct sending *sending, const char *state,
    struct fail *fail)
{
	char ref[LOCAL_REF_SIZE];
	enum rc rc = cli_local(cli, fail);

	if (rc == RC_OK)
		rc = sender_submit(cli->local, sending->message,
		    args_value(&cli->args, "key"), ref, fail);
	if (rc != RC_OK)
		return (rc);
	sending->ref = ref;
	rc = submit(cli, sending, fail);
	if (rc == RC_OK && !cli->json)
		rc = show_accepted(cli, sending, fail);
	if (rc == RC_OK && state != NULL)
		rc = follow(cli, sending, state, fail);
	if (rc == RC_OK && cli->json)
		rc = cli_print_json(sending->entry, fail);
	return (rc);
}

enum rc
cmd_send(struct cli *cli, struct fail *fail)
{
	const char *state = args_value(&cli->args, "wait");
	struct sending sending = {.cli = cli,
	    .why = FAIL_INIT,
	    .try_for_ms = TRY_FOR_MS,
	    .timeout_ms = WAIT_TIMEOUT_MS};
	enum rc rc;

	if (state != NULL && strcmp(state, "delivered") != 0 &&
	    strcmp(state, "read") != 0) {
		(void)fail_set(
		    fail, FAIL_USAGE, "--wait takes \"delivered\" or \"read\"");
		return (fail_cure(fail, "see twinbox send --help"));
	}
	/* Before the message is stored: what is stored goes out. */
	if (args_duration(&cli->args, "try-for", &sending.try_for_ms, fail) !=
		RC_OK ||
	    args_duration(&cli->args, "timeout", &sending.timeout_ms, fail) !=
		RC_OK ||
	    make_message(cli, &sending.message, fail) != RC_OK)
		return (fail->rc);
	rc = confirm_text(cli, sending.message, fail);
	if (rc == RC_OK)
		rc = send_message(cli, &sending, state, fail);
	json_decref(sending.message);
	json_decref(sending.entry);
	return (rc);
}
