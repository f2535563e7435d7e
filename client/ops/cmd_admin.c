/* SPDX-License-Identifier: MIT */
/*
 * The commands admin stats, outbox, show, retry, destinations, pause, resume,
 * rate, lanes and audit.  The command admin discard is in cmd_admin_dead.c with
 * the others for dead letters; if its operand is the id of a message, it calls
 * cmd_admin_discard_message() here.  Other servers are in cmd_admin_peers.c,
 * users in cmd_admin_users.c, rewinds in cmd_admin_rewind.c, the live view in
 * top.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/safe.h"
#include "ops/admin_command.h"
#include "term/admin_view.h"

enum rc
cmd_admin_stats(struct cli *cli, struct fail *fail)
{
	struct buf b = BUF_INIT;
	json_t *stats;
	enum rc rc;

	if (admin_command_get(cli, admin_path("stats", NULL), &stats, fail) !=
	    RC_OK)
		return (fail->rc);
	if (cli->json)
		rc = cli_print_json(stats, fail);
	else {
		admin_view_stats(&b, &cli->look, stats);
		rc = cli_print(&b, fail);
	}
	json_decref(stats);
	return (rc);
}

enum rc
cmd_admin_outbox(struct cli *cli, struct fail *fail)
{
	static const struct admin_command_list list = {
	    "outbox", "entries", false, admin_view_outbox};

	return (admin_command_show_list(cli, &list, fail));
}

/* Shows ${message} and frees it. */
static enum rc
show_message(struct cli *cli, json_t *message, struct fail *fail)
{
	struct buf b = BUF_INIT;
	enum rc rc;

	if (cli->json)
		rc = cli_print_json(message, fail);
	else {
		admin_view_message(&b, &cli->look, message);
		rc = cli_print(&b, fail);
	}
	json_decref(message);
	return (rc);
}

/* Replaces the cure (the advice to the user) in ${fail}, the failure of a
 * request, if the message is unknown (404) or its state does not allow the
 * change (409).  After a 409 also sets the exit code to EX_DATAERR.  Leaves
 * other failures as they are.  Returns the rc of ${fail}. */
static enum rc
message_refused(struct fail *fail)
{

	if (fail->status == 404)
		return (fail_cure(
		    fail, "twinbox admin outbox and dlq list the ids"));
	if (fail->status == 409) {
		fail->exit = EX_DATAERR;
		return (fail_cure(fail, "see twinbox admin show ID"));
	}
	return (fail->rc);
}

enum rc
cmd_admin_show(struct cli *cli, struct fail *fail)
{
	char id[UUID_TEXT_LEN + 1];
	json_t *message;

	if (cli_uuid(cli->args.operands[0], "the id", id, fail) != RC_OK)
		return (fail->rc);
	if (admin_command_get(
		cli, admin_path_of("outbox", id, ""), &message, fail) != RC_OK)
		return (message_refused(fail));
	return (show_message(cli, message, fail));
}

/* Applies ${verb} to the message that the first operand names, and prints
 * ${done}. */
static enum rc
change_message(
    struct cli *cli, const char *verb, const char *done, struct fail *fail)
{
	char id[UUID_TEXT_LEN + 1];
	json_t *message;
	enum rc rc;

	if (cli_uuid(cli->args.operands[0], "the id", id, fail) != RC_OK)
		return (fail->rc);
	if (admin_command_change(cli, "POST", admin_path_of("outbox", id, verb),
		NULL, &message, fail) != RC_OK)
		return (message_refused(fail));
	rc = cli_result(cli, message, fail, "%s %s", id, done);
	json_decref(message);
	return (rc);
}

enum rc
cmd_admin_retry(struct cli *cli, struct fail *fail)
{

	return (change_message(cli, "/retry", "is tried again", fail));
}

enum rc
cmd_admin_discard_message(struct cli *cli, struct fail *fail)
{

	return (change_message(cli, "/discard", "is discarded", fail));
}

/* Reads all pages of GET /v1/admin/destinations. */
static enum rc
get_destinations(struct cli *cli, json_t **ret, struct fail *fail)
{
	static const struct admin_command_list list = {
	    "destinations", "destinations", true, NULL};
	struct admin_filter filter = ADMIN_FILTER_INIT;

	filter.limit = INT64_MAX;
	return (admin_command_rows(cli, &list, &filter, ret, fail));
}

enum rc
cmd_admin_destinations(struct cli *cli, struct fail *fail)
{
	struct buf b = BUF_INIT;
	json_t *answer;
	enum rc rc;

	if (get_destinations(cli, &answer, fail) != RC_OK)
		return (fail->rc);
	if (cli->json)
		rc = cli_print_list(cli, answer, "destinations", fail);
	else {
		admin_view_destinations(
		    &b, &cli->look, json_object_get(answer, "destinations"));
		buf_addc(&b, '\n');
		admin_view_ages(&b, &cli->look, answer);
		rc = cli_print(&b, fail);
	}
	json_decref(answer);
	return (rc);
}

/* Sends ${method} for the destination that the arguments name, and prints
 * ${done}. */
static enum rc
change_destination(struct cli *cli, const char *method, const char *verb,
    json_t *body, const char *done, struct fail *fail)
{
	const char *name = cli->args.operands[0];
	char safe[300];
	json_t *answer;
	enum rc rc;

	if (admin_command_change(cli, method,
		admin_path_of("destinations", name, verb), body, &answer,
		fail) != RC_OK) {
		if (fail->status == 404)
			(void)fail_cure(
			    fail, "twinbox admin destinations lists them");
		return (fail->rc);
	}
	safe_line(name, strlen(name), safe, sizeof(safe));
	rc = cli_result(cli, answer, fail, "%s %s",
	    strcmp(name, "*") == 0 ? "everything" : safe, done);
	json_decref(answer);
	return (rc);
}

enum rc
cmd_admin_pause(struct cli *cli, struct fail *fail)
{
	const char *reason = args_value(&cli->args, "reason");
	json_t *body = json_object();

	if (reason != NULL &&
	    cli_set(body, "reason", json_string(reason), fail) != RC_OK) {
		json_decref(body);
		return (fail->rc);
	}
	return (
	    change_destination(cli, "POST", "/pause", body, "is paused", fail));
}

enum rc
cmd_admin_resume(struct cli *cli, struct fail *fail)
{

	return (change_destination(
	    cli, "POST", "/resume", json_object(), "goes on", fail));
}

enum rc
cmd_admin_rate(struct cli *cli, struct fail *fail)
{
	char done[80];
	int64_t n;

	if (!args_number(cli->args.operands[1], 0, 1000000, &n)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "N is a whole number of messages a second up to 1000000");
		return (fail_cure(fail, "0 takes the limit away"));
	}
	if (n == 0)
		(void)snprintf(done, sizeof(done), "has no limit");
	else
		(void)snprintf(
		    done, sizeof(done), "gets at most %" PRId64 " a second", n);
	return (change_destination(cli, "PATCH", "",
	    n == 0 ? json_pack("{sn}", "per_second")
		   : json_pack("{sI}", "per_second", (json_int_t)n),
	    done, fail));
}

enum rc
cmd_admin_lanes(struct cli *cli, struct fail *fail)
{
	static const struct admin_command_list list = {
	    "lanes", "lanes", true, admin_view_lanes};

	return (admin_command_show_list(cli, &list, fail));
}

enum rc
cmd_admin_audit(struct cli *cli, struct fail *fail)
{
	static const struct admin_command_list list = {
	    "audit", "entries", false, admin_view_audit};

	return (admin_command_show_list(cli, &list, fail));
}
