/* SPDX-License-Identifier: MIT */
/*
 * The command outbox.  With the id of a message, this file shows the server's
 * entry, or cancels or retries the message, which may still wait in this
 * computer's own outbox.  Without an id, outbox_list.c lists the messages that
 * wait in this computer's outbox and a page of those in the server's outbox.
 */
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

static enum rc
show_one(struct cli *cli, const char *id, struct fail *fail)
{
	char *path = rest_path("/v1/outbox/", id, "");
	struct buf b = BUF_INIT;
	json_t *entry;
	enum rc rc;

	rc = rest_get(cli->rest, path, &entry, fail);
	mem_free(path);
	if (rc != RC_OK)
		return (rc);
	if (cli->json)
		rc = cli_print_json(entry, fail);
	else {
		render_entry(&b, &cli->look, entry);
		rc = cli_print(&b, fail);
	}
	json_decref(entry);
	return (rc);
}

/* An entry of this computer's own outbox. */
struct own_entry {
	const char *id;
	bool waits;   /* it is stored here and not answered */
	int attempts; /* to send it */
};

/* Reads the state of ${entry}->id in this computer's outbox. */
static enum rc
find_own(struct cli *cli, struct own_entry *entry, struct fail *fail)
{
	struct local_draft draft;
	enum rc rc;

	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	rc = local_outbox_find(cli->local, entry->id, &draft, fail);
	if (rc == RC_NOT_FOUND)
		return (RC_OK);
	if (rc != RC_OK && rc != RC_CORRUPT)
		return (rc);
	entry->waits = strcmp(draft.state, "waiting") == 0;
	entry->attempts = draft.attempts;
	local_draft_fini(&draft);
	return (RC_OK);
}

static enum rc
cancel(struct cli *cli, const struct own_entry *entry, struct fail *fail)
{
	const char *id = entry->id;
	char *path;
	json_t *answer = NULL;
	enum rc rc;

	/* An attempt may have reached the server although no answer came. */
	if (!entry->waits || entry->attempts > 0) {
		path = rest_path("/v1/outbox/", id, "");
		rc = cli_call(cli, "DELETE", path, NULL, &answer, fail);
		mem_free(path);
		if (rc != RC_OK && !(entry->waits && fail->status == 404))
			return (rc);
	}
	if (entry->waits &&
	    local_outbox_remove(cli->local, id, fail) != RC_OK) {
		json_decref(answer);
		return (fail->rc);
	}
	if (answer == NULL)
		answer = json_pack("{ss ss}", "id", id, "state", "canceled");
	rc = cli_result(cli, answer, fail, "canceled %s", id);
	json_decref(answer);
	return (rc);
}

static enum rc
retry(struct cli *cli, const struct own_entry *entry, struct fail *fail)
{
	const char *id = entry->id;
	struct sender sender;
	char *path;
	json_t *answer = NULL;
	enum rc rc;

	if (entry->waits) {
		if (cli_sender(cli, NULL, NULL, &sender, fail) != RC_OK)
			return (fail->rc);
		sender.wanted = id;
		if (sender_flush(&sender, 0, fail) != RC_OK)
			return (fail->rc);
		answer = json_pack("{ss}", "id", id);
		rc = RC_OK;
	} else {
		path = rest_path("/v1/outbox/", id, "/retry");
		rc = cli_call(cli, "POST", path, NULL, &answer, fail);
		mem_free(path);
		if (rc != RC_OK && fail->status == 409) {
			fail->exit = EX_DATAERR;
			(void)fail_cure(
			    fail, "see how it is: twinbox outbox %s", id);
		}
	}
	if (rc != RC_OK)
		return (rc);
	rc = cli_result(cli, answer, fail, "trying %s again", id);
	json_decref(answer);
	return (rc);
}

enum rc
cmd_outbox(struct cli *cli, struct fail *fail)
{
	const struct args *args = &cli->args;
	char id[UUID_TEXT_LEN + 1];
	struct own_entry entry = {.id = id};
	enum rc (*change)(
	    struct cli * cli, const struct own_entry *entry, struct fail *fail);

	if (args->noperands == 0)
		return (cli_outbox_list(cli, fail));
	if (cli_uuid(args->operands[args->noperands - 1], "the id", id, fail) !=
	    RC_OK)
		return (fail->rc);
	if (args->noperands == 1)
		return (show_one(cli, id, fail));
	if (strcmp(args->operands[0], "cancel") == 0)
		change = cancel;
	else if (strcmp(args->operands[0], "retry") == 0)
		change = retry;
	else {
		(void)fail_set(fail, FAIL_USAGE,
		    "only \"cancel ID\" and \"retry ID\" are known");
		return (fail_cure(fail, "see twinbox outbox --help"));
	}
	if (find_own(cli, &entry, fail) != RC_OK)
		return (fail->rc);
	return (change(cli, &entry, fail));
}
