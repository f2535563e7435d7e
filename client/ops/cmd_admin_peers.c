/* SPDX-License-Identifier: MIT */
/*
 * admin peers: other servers and their keys; pins, blocks.
 */
#include <stdio.h>
#include <string.h>

#include "lib/safe.h"
#include "ops/admin_command.h"
#include "term/admin_view.h"

/* A change of another server: its word on the command line, the end of the
 * request's path, the text that is printed when the change is done, and the
 * function that makes the request's JSON body.  That function returns NULL if
 * an argument is not UTF-8 or memory runs out. */
struct verb {
	const char *word;
	int operands; /* number of operands, with the word */
	const char *path;
	const char *done;
	json_t *(*body)(const struct cli *cli);
};

static json_t *
nothing_body(const struct cli *cli)
{

	(void)cli;
	return (json_object());
}

static json_t *
pin_body(const struct cli *cli)
{

	return (json_pack("{ss ss}", "key_id", cli->args.operands[2], "public",
	    cli->args.operands[3]));
}

static json_t *
unpin_body(const struct cli *cli)
{

	return (json_pack("{ss}", "key_id", cli->args.operands[2]));
}

static json_t *
block_body(const struct cli *cli)
{
	const char *reason = args_value(&cli->args, "reason");

	return (reason != NULL ? json_pack("{ss}", "reason", reason)
			       : json_object());
}

static const struct verb verbs[] = {
    {"pin", 4, "/pin", "has a pinned key", pin_body},
    {"unpin", 3, "/unpin", "has a pinned key less", unpin_body},
    {"forget", 2, "/forget", "is forgotten", nothing_body},
    {"block", 2, "/block", "is blocked", block_body},
    {"unblock", 2, "/unblock", "is not blocked", nothing_body},
};

static enum rc
list(struct cli *cli, struct fail *fail)
{
	static const struct admin_command_list peers = {
	    "peers", "peers", true, admin_view_peers};

	return (admin_command_show_list(cli, &peers, fail));
}

/* Sets the cure (the advice to the user) in ${fail}, the failure of a request,
 * if the other server is unknown (404) or its state does not allow the change
 * (409, which also sets the exit code to EX_DATAERR).  Leaves other failures as
 * they are.  Returns the rc of ${fail}. */
static enum rc
refused(struct fail *fail)
{

	if (fail->status == 404)
		return (fail_cure(fail, "twinbox admin peers lists them"));
	if (fail->status == 409) {
		fail->exit = EX_DATAERR;
		return (fail_cure(fail, "see twinbox admin peers show DOMAIN"));
	}
	return (fail->rc);
}

static enum rc
show(struct cli *cli, const char *domain, struct fail *fail)
{
	struct buf b = BUF_INIT;
	json_t *peer;
	enum rc rc;

	if (admin_command_get(
		cli, admin_path_of("peers", domain, ""), &peer, fail) != RC_OK)
		return (refused(fail));
	if (cli->json)
		rc = cli_print_json(peer, fail);
	else {
		admin_view_peer(&b, &cli->look, peer);
		rc = cli_print(&b, fail);
	}
	json_decref(peer);
	return (rc);
}

static enum rc
change(struct cli *cli, const struct verb *verb, struct fail *fail)
{
	const char *domain = cli->args.operands[1];
	char safe[300];
	json_t *body = verb->body(cli), *answer;
	enum rc rc;

	if (body == NULL)
		return (
		    fail_set(fail, FAIL_USAGE, "an argument is not in UTF-8"));
	if (admin_command_change(cli, "POST",
		admin_path_of("peers", domain, verb->path), body, &answer,
		fail) != RC_OK)
		return (refused(fail));
	safe_line(domain, strlen(domain), safe, sizeof(safe));
	rc = cli_result(cli, answer, fail, "%s %s", safe, verb->done);
	json_decref(answer);
	return (rc);
}

enum rc
cmd_admin_peers(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	size_t i;

	if (args->noperands == 0)
		return (list(cli, fail));
	if (args->noperands == 2 && strcmp(args->operands[0], "show") == 0)
		return (show(cli, args->operands[1], fail));
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (args->noperands == verbs[i].operands &&
		    strcmp(args->operands[0], verbs[i].word) == 0)
			return (change(cli, &verbs[i], fail));
	(void)fail_set(fail, FAIL_USAGE,
	    "\"show\", \"forget\", \"block\" and \"unblock\" take a DOMAIN, "
	    "\"pin\" takes DOMAIN KEY-ID PUBLIC, \"unpin\" DOMAIN KEY-ID");
	return (fail_cure(fail, "see twinbox admin peers --help"));
}
