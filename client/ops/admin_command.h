/* SPDX-License-Identifier: MIT */
/*
 * The common part of the admin commands: requests to /v1/admin, their filters,
 * and lists that span several pages.
 */
#ifndef CLI_ADMIN_COMMAND_H
#define CLI_ADMIN_COMMAND_H

#include "cli/cli.h"
#include "lib/admin.h"

/* GETs ${path}, which admin_path() or admin_path_of() made and which this
 * function frees; if it is NULL, fails with kind MEMORY.  After a 429 or 503
 * repeats the request, and waits at most 10 s in all for that.  On RC_OK sets
 * *ret, which the caller owns, and sets cli->look.now_ms, by which ages are
 * shown, to the Date of the answer, if it has one. */
enum rc admin_command_get(
    struct cli *cli, char *path, json_t **ret, struct fail *fail) MUST_USE;

/* Sends ${method} ${path} with JSON ${body} (NULL: no body).  Frees ${path} and
 * releases ${body}, also on failure.  Like admin_command_get(), fails if
 * ${path} is NULL, waits up to 10 s after a 429 or 503, and on RC_OK sets *ret,
 * which the caller owns, and cli->look.now_ms. */
enum rc admin_command_change(struct cli *cli, const char *method, char *path,
    json_t *body, json_t **ret, struct fail *fail) MUST_USE;

/* Reads the filters in the arguments into ${ret}, which borrows the arguments'
 * texts.  State "delivered" becomes "acked", the server's word for the same
 * state.  Fails with kind USAGE, and does not set ${ret}, if --stuck is not a
 * duration, or --near-failure or --limit is not a number in its range.  Does
 * not check the other filters. */
enum rc admin_command_filter(
    struct cli *cli, struct admin_filter *ret, struct fail *fail) MUST_USE;

/* A list of /v1/admin and its view. */
struct admin_command_list {
	const char *what;  /* path below /v1/admin/: "dead-letters" */
	const char *array; /* the member with its rows */
	bool forward;      /* next page by after=, not by before= */
	void (*view)(
	    struct buf *b, const struct look *look, const json_t *rows);
};

/* Collects up to ${filter}->limit (not set: 50) rows of ${list} from as many
 * pages as necessary.  On RC_OK *ret is the first page with the rows of all
 * pages and the "next" of the last one; the caller owns it.  Changes the limit
 * and the cursors in ${filter}: afterwards, do not use its cursors, which point
 * to memory of this function. */
enum rc admin_command_rows(struct cli *cli,
    const struct admin_command_list *list, struct admin_filter *filter,
    json_t **ret, struct fail *fail) MUST_USE;

/* Shows the part of ${list} that the arguments select. */
enum rc admin_command_show_list(struct cli *cli,
    const struct admin_command_list *list, struct fail *fail) MUST_USE;

/* Discards the message that the first operand names. */
enum rc cmd_admin_discard_message(struct cli *cli, struct fail *fail) MUST_USE;

/* The commands. */
enum rc cmd_admin_stats(struct cli *cli, struct fail *fail);
enum rc cmd_admin_outbox(struct cli *cli, struct fail *fail);
enum rc cmd_admin_show(struct cli *cli, struct fail *fail);
enum rc cmd_admin_retry(struct cli *cli, struct fail *fail);
enum rc cmd_admin_discard(struct cli *cli, struct fail *fail);
enum rc cmd_admin_dlq(struct cli *cli, struct fail *fail);
enum rc cmd_admin_requeue(struct cli *cli, struct fail *fail);
enum rc cmd_admin_destinations(struct cli *cli, struct fail *fail);
enum rc cmd_admin_pause(struct cli *cli, struct fail *fail);
enum rc cmd_admin_resume(struct cli *cli, struct fail *fail);
enum rc cmd_admin_rate(struct cli *cli, struct fail *fail);
enum rc cmd_admin_lanes(struct cli *cli, struct fail *fail);
enum rc cmd_admin_rewind(struct cli *cli, struct fail *fail);
enum rc cmd_admin_peers(struct cli *cli, struct fail *fail);
enum rc cmd_admin_users(struct cli *cli, struct fail *fail);
enum rc cmd_admin_audit(struct cli *cli, struct fail *fail);
enum rc cmd_admin_top(struct cli *cli, struct fail *fail);

#endif
