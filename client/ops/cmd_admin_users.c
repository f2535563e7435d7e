/* SPDX-License-Identifier: MIT */
/*
 * admin users: the list of accounts, and an administrator's changes of one.
 */
#include <string.h>

#include "lib/safe.h"
#include "ops/admin_command.h"
#include "term/admin_view.h"
#include "term/human.h"

/* A change of a user: its word on the command line, the end of the request's
 * path, and the text that is printed when the change is done. */
static const struct verb {
	const char *word, *path, *done;
} verbs[] = {
    {"disable", "/disable", "is disabled"},
    {"enable", "/enable", "is enabled"},
    {"promote", "/promote", "is an administrator"},
    {"demote", "/demote", "is no longer an administrator"},
};

/* Sets the cure (the advice to the user) in ${fail}, the failure of a request,
 * if the user is unknown (404) or the user's state does not allow the change
 * (409, which also sets the exit code to EX_DATAERR).  Leaves other failures as
 * they are.  Returns the rc of ${fail}. */
static enum rc
refused(struct fail *fail)
{

	if (fail->status == 404)
		return (fail_cure(fail, "twinbox admin users lists them"));
	if (fail->status == 409) {
		fail->exit = EX_DATAERR;
		return (fail_cure(fail, "see twinbox admin users"));
	}
	return (fail->rc);
}

static enum rc
change(struct cli *cli, const struct verb *verb, struct fail *fail)
{
	const char *name = cli->args.operands[1];
	json_t *answer;
	char safe[300];
	enum rc rc;

	if (admin_command_change(cli, "POST",
		admin_path_of("users", name, verb->path), json_object(),
		&answer, fail) != RC_OK)
		return (refused(fail));
	safe_line(name, strlen(name), safe, sizeof(safe));
	rc = cli_result(cli, answer, fail, "%s %s", safe, verb->done);
	json_decref(answer);
	return (rc);
}

/* Makes the server set a new one-time password for the user in the second
 * operand, which logs out all devices of the user, and prints it.  The server
 * keeps only a hash of the password, so it cannot be shown again. */
static enum rc
give_password(struct cli *cli, struct fail *fail)
{
	const char *name = cli->args.operands[1], *password;
	struct buf b = BUF_INIT;
	json_t *answer;
	enum rc rc;

	if (admin_command_change(cli, "POST",
		admin_path_of("users", name, "/password"), json_object(),
		&answer, fail) != RC_OK)
		return (refused(fail));
	password = json_string_value(json_object_get(answer, "password"));
	if (password == NULL)
		rc = fail_set(
		    fail, FAIL_PROTOCOL, "the server gave no password");
	else if (cli->json)
		rc = cli_print_json(answer, fail);
	else {
		buf_adds(&b, "one-time password of ");
		render_member(&b, answer, "name", "?");
		buf_adds(&b, ": ");
		render_member(&b, answer, "password", "?");
		buf_adds(&b, "\nIt is good for one log-in until ");
		human_time(
		    &b, &cli->look, render_time_of(answer, "expires_at"));
		buf_adds(&b, ", and is shown only here. All devices of ");
		render_member(&b, answer, "name", "?");
		buf_adds(&b, " are logged out.\n");
		rc = cli_print(&b, fail);
	}
	json_decref(answer);
	return (rc);
}

enum rc
cmd_admin_users(struct cli *cli, struct fail *fail)
{
	static const struct admin_command_list list = {
	    "users", "users", true, admin_view_users};
	const struct args *args = &cli->args;
	size_t i;

	if (args->noperands == 0)
		return (admin_command_show_list(cli, &list, fail));
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (args->noperands == 2 &&
		    strcmp(args->operands[0], verbs[i].word) == 0)
			return (change(cli, &verbs[i], fail));
	if (args->noperands == 2 && strcmp(args->operands[0], "password") == 0)
		return (give_password(cli, fail));
	(void)fail_set(fail, FAIL_USAGE,
	    "\"disable\", \"enable\", \"promote\", \"demote\" and "
	    "\"password\" take a NAME");
	return (fail_cure(fail, "see twinbox admin users --help"));
}
