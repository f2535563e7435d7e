/* SPDX-License-Identifier: MIT */
/*
 * The state of a command, and the functions that all commands share: show a
 * result to a person or a program, send requests, open the client's own
 * database.
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
	bool json;     /* output for programs */
	bool terminal; /* standard output is a terminal */
	struct look look;
	struct profile profile;
	struct rest *rest;
	struct local *local; /* NULL until cli_local() */
	json_t *numbers;     /* see numbers.c; NULL at first */
	struct fail unsent;  /* why cli_flush() left messages here */
	int nunsent;         /* how many it left, 0: none */
};

/* The table of commands, which ends with name NULL. */
extern const struct command cli_commands[];

/* Sets member ${name} of ${json} to ${value}, which it takes.  Fails when
 * memory has run out, also if ${json} or ${value} is NULL for that reason: a
 * request without a member that was asked for must not be sent. */
enum rc cli_set(
    json_t *json, const char *name, json_t *value, struct fail *fail) MUST_USE;

/* Prints ${json} as one line. */
enum rc cli_print_json(const json_t *json, struct fail *fail) MUST_USE;

/* Prints each row in member ${array} of ${page} as a line of JSON.  With
 * --page, prints ${page} itself. */
enum rc cli_print_list(struct cli *cli, const json_t *page, const char *array,
    struct fail *fail) MUST_USE;

/* Prints ${b} and empties it. */
enum rc cli_print(struct buf *b, struct fail *fail) MUST_USE;

/* Prints ${json} if --json was given, else ${fmt} with its arguments. */
enum rc cli_result(struct cli *cli, const json_t *json, struct fail *fail,
    const char *fmt, ...) __attribute__((format(printf, 4, 5))) MUST_USE;

/* Writes ${line} to standard error.  On a terminal, long lines break between
 * words. */
void cli_complain(const char *line);

/* Writes a line "twinbox: COMMAND: ..." to standard error. */
void cli_note(const struct cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns member ${name} of ${json} as a cell of a table: text, number, or a
 * time in readable form; "" if it is missing.  The caller owns the result,
 * which is NULL when memory runs out. */
json_t *cli_cell(struct cli *cli, const json_t *json, const char *name);

/* Appends ${event} as render_event() does.  A receipt names the message by its
 * number in the inbox, if that is known. */
void cli_event_add(struct cli *cli, struct buf *b, const json_t *event);

/* Frees the members of ${cli}. */
void cli_fini(struct cli *cli);

/* Opens the client's own database, unless it is open. */
enum rc cli_local(struct cli *cli, struct fail *fail) MUST_USE;

/* Makes a sender over the client's own outbox, which calls ${fn} (may be NULL)
 * with ${arg} for each settled message. */
enum rc cli_sender(struct cli *cli, sender_fn fn, void *arg, struct sender *ret,
    struct fail *fail) MUST_USE;

/* Reports the outcome of a message that an earlier command has stored. */
void cli_note_settled(struct cli *cli, const struct local_draft *draft,
    enum sender_outcome outcome, const struct fail *why);

/* Submits the waiting messages once, and reports those that the server has
 * accepted or finally refused.  Those that cannot go out stay; ${cli} counts
 * them for cli_note_unsent().  It prints nothing about these itself, because a
 * command that then fails for the same reason reports both in one line. */
void cli_flush(struct cli *cli);

/* Reports why messages wait here, if cli_flush() has left any. */
void cli_note_unsent(struct cli *cli);

/* Stores the server's epoch in the client's database.  If the epoch has
 * changed, submits the accepted messages that the own outbox still has again,
 * by their ids or keys, and reports that. */
enum rc cli_epoch_seen(
    struct cli *cli, const char *epoch, struct fail *fail) MUST_USE;

/* Sends ${method} ${path} with ${body} (taken, may be NULL) by rest_call(),
 * with a patience of 10 s for a busy server.  The caller owns the answer in
 * *ret, which is NULL if it has no body. */
enum rc cli_call(struct cli *cli, const char *method, const char *path,
    json_t *body, json_t **ret, struct fail *fail) MUST_USE;

#define CLI_CONVERSATIONS "/v1/conversations?order=created&limit=200"
#define CLI_PATH_SIZE 1024

/* Reads the page of conversations at ${path}, which is CLI_CONVERSATIONS at
 * first.  The caller owns the page.  Changes ${path} to the path of the next
 * page, "" after the last. */
enum rc cli_conversations_page(struct cli *cli, char path[CLI_PATH_SIZE],
    json_t **ret, struct fail *fail) MUST_USE;

/* Finds the direct conversation with ${name} in the server's list.  The caller
 * owns *ret, which is NULL if there is no such conversation. */
enum rc cli_conversation_with(struct cli *cli, const char *name, json_t **ret,
    struct fail *fail) MUST_USE;

/* Fails because there is no conversation with ${name}. */
enum rc cli_no_conversation(const char *name, struct fail *fail);

/* Returns the watermarks of the first member of ${conversation} that is not
 * ${me}, who is the other side of a direct one: the conversation_seq up to
 * which messages were delivered, and read; 0 if there is none. */
void cli_marks(const json_t *conversation, const char *me,
    json_int_t *ret_delivered, json_int_t *ret_read);

/* Checks that ${text} is a UUID and writes it in lower case.  ${what} names it
 * in the failure. */
enum rc cli_uuid(const char *text, const char *what,
    char ret[UUID_TEXT_LEN + 1], struct fail *fail) MUST_USE;

/* Reads the page of ${conversation} with the query parameters ${query}
 * ("limit=20").  The messages are in order, oldest first.  The caller owns
 * *ret. */
enum rc cli_history_page(struct cli *cli, const char *conversation,
    const char *query, json_t **ret, struct fail *fail) MUST_USE;

/* Reads the last ${limit} messages that this computer has seen of
 * ${conversation} (an id) or, if that is NULL, of the direct conversation with
 * ${name}: oldest first.  The caller owns *ret. */
enum rc cli_local_history(struct cli *cli, const char *name,
    const char *conversation, int64_t limit, json_t **ret,
    struct fail *fail) MUST_USE;

/* Reads a password: after ${prompt} from the terminal, without echo (twice if
 * ${twice}), or, with --password-stdin, the next line of standard input.  Fails
 * if it is empty or does not fit into ${size} bytes with its NUL.  The caller
 * erases ${ret}, also after a failure. */
enum rc cli_password(struct cli *cli, const char *prompt, bool twice, char *ret,
    size_t size, struct fail *fail) MUST_USE;

/* The command outbox without operands: lists the sent messages, and those that
 * wait on this computer. */
enum rc cli_outbox_list(struct cli *cli, struct fail *fail) MUST_USE;

/* Waits until message ${id} is ${state} ("delivered" or "read"), for all
 * recipients, and returns its outbox entry, which the caller owns.  Fails with
 * kind UNDELIVERED if the message can no longer reach that state, and with kind
 * TIMEOUT if it does not within ${timeout_ms}.  Blocks, longer than that if the
 * server does not answer. */
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
