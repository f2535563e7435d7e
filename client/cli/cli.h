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

/* Sets member ${name} of ${json} to ${value}, and takes over the caller's
 * reference to ${value}, also on failure.  Fails with kind MEMORY if memory has
 * run out or ${json} or ${value} is NULL (the caller had no memory for it).
 * The caller must then not send ${json}, because the member is missing. */
enum rc cli_set(
    json_t *json, const char *name, json_t *value, struct fail *fail) MUST_USE;

/* Prints ${json} as one line. */
enum rc cli_print_json(const json_t *json, struct fail *fail) MUST_USE;

/* Prints each element of ${page}'s member ${array} as a line of JSON.  With the
 * option --page, prints the whole of ${page} as one line instead. */
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

/* Returns member ${name} of ${json} as a JSON string for a cell of a table: a
 * text, the digits of an integer, or a time in readable form.  The string is ""
 * if the member is missing or of another type.  The caller owns the result,
 * which may be NULL or "" when memory runs out. */
json_t *cli_cell(struct cli *cli, const json_t *json, const char *name);

/* Appends ${event} to ${b} as lines of text for a person, by render_event().
 * The line of a receipt names the last message that the receipt covers: by the
 * message's number in the inbox or, if this computer does not know that number,
 * by its number in the conversation. */
void cli_event_add(struct cli *cli, struct buf *b, const json_t *event);

/* Frees the members of ${cli}. */
void cli_fini(struct cli *cli);

/* Opens the client's own database, unless it is open. */
enum rc cli_local(struct cli *cli, struct fail *fail) MUST_USE;

/* Opens the client's own database, unless it is open, and fills ${ret} with a
 * sender for the messages in its outbox; ${ret} borrows from ${cli} and is not
 * freed.  sender_flush() with ${ret} calls ${fn} (may be NULL) with ${arg} for
 * each message that the server has accepted or finally refused, or whose stored
 * text is damaged. */
enum rc cli_sender(struct cli *cli, sender_fn fn, void *arg, struct sender *ret,
    struct fail *fail) MUST_USE;

/* Reports the outcome of a message that an earlier command has stored. */
void cli_note_settled(struct cli *cli, const struct local_draft *draft,
    enum sender_outcome outcome, const struct fail *why);

/* Tries once to submit the messages that wait in the client's own outbox, and
 * reports on standard error those that need no further attempt: accepted,
 * finally refused or damaged.  The others stay in the outbox; ${cli} keeps
 * their number and the reason for cli_note_unsent().  This function does not
 * report them, because a command that then fails for the same reason reports
 * both in one line.  If the outbox cannot be opened or read at first, this
 * function does nothing. */
void cli_flush(struct cli *cli);

/* Reports why messages wait here, if cli_flush() has left any. */
void cli_note_unsent(struct cli *cli);

/* Stores ${epoch}, the name of the history of the server's database, in the
 * client's database.  If another epoch was stored, the server was restored and
 * may have lost messages: reports that on standard error, makes the accepted
 * messages that the client's outbox still has wait again, and calls cli_flush()
 * and cli_note_unsent().  The id or key of each message makes this harmless if
 * the server still has the message.  A failure to submit is not a failure of
 * this function. */
enum rc cli_epoch_seen(
    struct cli *cli, const char *epoch, struct fail *fail) MUST_USE;

/* Sends ${method} ${path} by rest_call(), which repeats the request while the
 * server answers 429 or 503, with waits of at most 10 s in all.  Takes over the
 * caller's reference to ${body} (may be NULL), also on failure.  On RC_OK, *ret
 * is the JSON body of the answer, which the caller owns, or NULL if the answer
 * has none; on failure *ret is not set. */
enum rc cli_call(struct cli *cli, const char *method, const char *path,
    json_t *body, json_t **ret, struct fail *fail) MUST_USE;

#define CLI_CONVERSATIONS "/v1/conversations?order=created&limit=200"
#define CLI_PATH_SIZE 1024

/* Reads the page of conversations at ${path}.  For the first page, the caller
 * sets ${path} to CLI_CONVERSATIONS.  Changes ${path} to the path of the next
 * page, or to "" after the last one.  On RC_OK the caller owns the page in
 * *ret; after a failure, do not use or free *ret, nor use ${path}. */
enum rc cli_conversations_page(struct cli *cli, char path[CLI_PATH_SIZE],
    json_t **ret, struct fail *fail) MUST_USE;

/* Finds the direct conversation with ${name} in the server's list, reading page
 * after page.  *ret is a copy of its entry, which the caller owns, or NULL on
 * failure and, with RC_OK, if there is no such conversation. */
enum rc cli_conversation_with(struct cli *cli, const char *name, json_t **ret,
    struct fail *fail) MUST_USE;

/* Fails because there is no conversation with ${name}. */
enum rc cli_no_conversation(const char *name, struct fail *fail);

/* Sets *ret_delivered and *ret_read to the watermarks of the first member of
 * ${conversation} that is not ${me} (in a direct conversation, the other user):
 * the conversation_seq up to which messages were delivered to that member, and
 * the one up to which that member has read.  Both are 0 if there is no such
 * member. */
void cli_marks(const json_t *conversation, const char *me,
    json_int_t *ret_delivered, json_int_t *ret_read);

/* Checks that ${text} is a UUID and writes it to ${ret} in lower case.  Else
 * fails with kind USAGE; the failure's text calls the value ${what}. */
enum rc cli_uuid(const char *text, const char *what,
    char ret[UUID_TEXT_LEN + 1], struct fail *fail) MUST_USE;

/* Reads from the server a page of the messages of ${conversation} (an id).
 * ${query} has the query parameters ("limit=20").  On RC_OK, *ret is an array,
 * oldest message first, which the caller owns; on failure *ret is not set. */
enum rc cli_history_page(struct cli *cli, const char *conversation,
    const char *query, json_t **ret, struct fail *fail) MUST_USE;

/* Reads from the client's database the last ${limit} messages that commands on
 * this computer have shown of ${conversation} (an id) or, if that is NULL, of
 * the direct conversation with ${name}.  On RC_OK, *ret is an array, in the
 * order in which the messages were stored, which the caller owns; on failure
 * *ret is not set. */
enum rc cli_local_history(struct cli *cli, const char *name,
    const char *conversation, int64_t limit, json_t **ret,
    struct fail *fail) MUST_USE;

/* Reads a password: after ${prompt} from the terminal, without echo (twice if
 * ${twice}), or, with --password-stdin, the next line of standard input.  Fails
 * if none can be read, it is empty, it does not fit into ${size} bytes with its
 * NUL, or the two typed passwords differ.  The caller erases ${ret}, also after
 * a failure. */
enum rc cli_password(struct cli *cli, const char *prompt, bool twice, char *ret,
    size_t size, struct fail *fail) MUST_USE;

/* Does the work of "twinbox outbox" without operands: lists the messages that
 * wait on this computer, then the page of the server's outbox that --state,
 * --before and --limit select.  If the server's page cannot be read, fails, but
 * (without --json) lists the waiting messages first. */
enum rc cli_outbox_list(struct cli *cli, struct fail *fail) MUST_USE;

/* Waits until message ${id} is ${state} ("delivered" or "read") for all
 * recipients, and then sets *ret to its outbox entry, which the caller owns; on
 * failure *ret is not set.  Fails with kind UNDELIVERED if the message has
 * failed, expired or been canceled, and at once if a request fails and a retry
 * cannot help.  When ${timeout_ms} are over, fails with the failure of the last
 * request or, if that request succeeded, with kind TIMEOUT.  May block for
 * longer than ${timeout_ms} if the server does not answer. */
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
