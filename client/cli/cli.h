/* SPDX-License-Identifier: MIT */
/*
 * What a command has at hand, and the small things that all commands do: show
 * a result for people or for programs, speak to the server, open the client's
 * own database.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

#include <jansson.h>

#include "base/uuid.h"
#include "cli/args.h"
#include "lib/local.h"
#include "lib/profile.h"
#include "lib/rest.h"
#include "lib/sender.h"
#include "term/render.h"

struct cli {
	struct args args;
	bool json;     /* for programs */
	bool terminal; /* standard output is one */
	struct look look;
	struct profile profile;
	struct rest *rest;
	struct local *local; /* NULL until cli_local() */
	json_t *numbers;     /* of messages, see numbers.c; NULL at first */
	struct fail unsent;  /* why cli_flush() left messages here */
	int nunsent;         /* how many, 0: none */
};

/* The commands; the last has name NULL. */
extern const struct command cli_commands[];

/* Prints ${json} as one line. */
enum rc cli_print_json(const json_t *json, struct fail *fail) MUST_USE;

/* Prints the rows in member ${array} of ${page} for programs, each as one line;
 * with --page the page itself. */
enum rc cli_print_list(struct cli *cli, const json_t *page, const char *array,
    struct fail *fail) MUST_USE;

/* Prints ${b} and empties it. */
enum rc cli_print(struct buf *b, struct fail *fail) MUST_USE;

/* Prints ${json} for programs, or else ${fmt} and its arguments. */
enum rc cli_result(struct cli *cli, const json_t *json, struct fail *fail,
    const char *fmt, ...) __attribute__((format(printf, 4, 5))) MUST_USE;

/* Writes ${line} on standard error, on a terminal without a break inside a
 * word. */
void cli_complain(const char *line);

/* Says something in one line on standard error: "twinbox: COMMAND: ...". */
void cli_note(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Member ${name} of ${json} as a cell of a table: a text, a number, or a time
 * as people write it. */
json_t *cli_cell(struct cli *cli, const json_t *json, const char *name);

/* Appends ${event} as render_event() does; a receipt with the number that the
 * inbox shows of the message. */
void cli_event_add(struct cli *cli, struct buf *b, const json_t *event);

/* Frees what commands have left in ${cli}. */
void cli_fini(struct cli *cli);

/* Opens the client's own database, once. */
enum rc cli_local(struct cli *cli, struct fail *fail) MUST_USE;

/* A sender over the client's own outbox, which tells ${fn}. */
enum rc cli_sender(struct cli *cli, sender_fn fn, void *arg, struct sender *ret,
    struct fail *fail) MUST_USE;

/* Says what became of a message that an earlier command had stored. */
void cli_note_settled(struct cli *cli, const struct local_draft *draft,
    enum sender_outcome outcome, const struct fail *why);

/* Submits what waits here, if anything, once.  What cannot go out stays, and
 * is counted for cli_note_unsent(): a command that fails for the same reason
 * says both in one line. */
void cli_flush(struct cli *cli);

/* Says why messages wait here, if cli_flush() has left any. */
void cli_note_unsent(struct cli *cli);

/* Tells the client's database the server's epoch; when it has changed, sends
 * the own messages again by their ids and says so. */
enum rc cli_epoch_seen(
    struct cli *cli, const char *epoch, struct fail *fail) MUST_USE;

/* POST (or another method) ${path} with ${body} (taken, may be NULL); the
 * answer, NULL if it has no body, is the caller's. */
enum rc cli_call(struct cli *cli, const char *method, const char *path,
    json_t *body, json_t **ret, struct fail *fail) MUST_USE;

#define CLI_CONVERSATIONS "/v1/conversations?order=created&limit=200"
#define CLI_PATH_SIZE 1024

/* The page of the conversations at ${path} (CLI_CONVERSATIONS at first), the
 * caller's; ${path} becomes that of the next page, "" after the last. */
enum rc cli_conversations_page(struct cli *cli, char path[CLI_PATH_SIZE],
    json_t **ret, struct fail *fail) MUST_USE;

/* The direct conversation with ${name}: its object from the server's list,
 * the caller's; NULL if there is none yet. */
enum rc cli_conversation_with(struct cli *cli, const char *name, json_t **ret,
    struct fail *fail) MUST_USE;

/* Fails because cli_conversation_with() has found none with ${name}. */
enum rc cli_no_conversation(const char *name, struct fail *fail);

/* The marks of the other side of ${conversation}: up to which number of the
 * conversation it has, and has read. */
void cli_marks(const json_t *conversation, const char *me,
    json_int_t *ret_delivered, json_int_t *ret_read);

/* Checks that ${text} is a UUID; writes it in lower case. */
enum rc cli_uuid(const char *text, const char *what,
    char ret[UUID_TEXT_LEN + 1], struct fail *fail) MUST_USE;

/* The page of ${conversation} that ${query} ("limit=20") asks for: messages
 * oldest first, the caller's. */
enum rc cli_history_page(struct cli *cli, const char *conversation,
    const char *query, json_t **ret, struct fail *fail) MUST_USE;

/* The last ${limit} messages with ${name}, or of ${conversation} (an id, or
 * NULL), that this computer has seen: oldest first, the caller's. */
enum rc cli_local_history(struct cli *cli, const char *name,
    const char *conversation, int64_t limit, json_t **ret,
    struct fail *fail) MUST_USE;

/* Reads a password: from the terminal, without showing it, after ${prompt}
 * (twice if ${twice}), or the next line of standard input with
 * --password-stdin. */
enum rc cli_password(struct cli *cli, const char *prompt, bool twice, char *ret,
    size_t size, struct fail *fail) MUST_USE;

/* outbox without operands: what was sent, and what waits on this computer. */
enum rc cli_outbox_list(struct cli *cli, struct fail *fail) MUST_USE;

/* Waits until message ${id} is ${state} ("delivered" or "read"); its outbox
 * entry then, the caller's.  Fails when that will never be, or is not within
 * ${timeout_ms}. */
enum rc cli_wait(struct cli *cli, const char *id, const char *state,
    int64_t timeout_ms, json_t **ret, struct fail *fail) MUST_USE;

/* The commands. */
enum rc cmd_register(struct cli *cli, struct fail *fail);
enum rc cmd_login(struct cli *cli, struct fail *fail);
enum rc cmd_passwd(struct cli *cli, struct fail *fail);
enum rc cmd_logout(struct cli *cli, struct fail *fail);
enum rc cmd_whoami(struct cli *cli, struct fail *fail);
enum rc cmd_devices(struct cli *cli, struct fail *fail);
enum rc cmd_send(struct cli *cli, struct fail *fail);
enum rc cmd_inbox(struct cli *cli, struct fail *fail);
enum rc cmd_tail(struct cli *cli, struct fail *fail);
enum rc cmd_chat(struct cli *cli, struct fail *fail);
enum rc cmd_read(struct cli *cli, struct fail *fail);
enum rc cmd_ack(struct cli *cli, struct fail *fail);
enum rc cmd_outbox(struct cli *cli, struct fail *fail);
enum rc cmd_history(struct cli *cli, struct fail *fail);
enum rc cmd_conversations(struct cli *cli, struct fail *fail);
enum rc cmd_complete(struct cli *cli, struct fail *fail);

#endif
