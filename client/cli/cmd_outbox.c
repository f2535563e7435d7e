/* SPDX-License-Identifier: MIT */
/*
 * outbox: what became of what was sent.  Shows the server's outbox and, before
 * it, what still waits on this computer; takes back and tries again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "lib/safe.h"

/* What waits on this computer, as an array of objects. */
static enum rc
waiting_here(struct cli *cli, json_t **ret, struct fail *fail)
{
	struct local_draft draft;
	char created[CLK_RFC3339_SIZE];
	json_t *array;
	int64_t row = 0;
	enum rc rc;

	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	array = json_array();
	while (
	    (rc = local_outbox_next(cli->local, row, &draft, fail)) == RC_OK) {
		row = draft.row;
		clk_format_rfc3339(draft.created_at, created);
		(void)json_array_append_new(
		    array, json_pack("{ss ss ss ss si ss}", "id", draft.ref,
			       "to", draft.recipient, "state", "waiting",
			       "created_at", created, "attempts",
			       draft.attempts, "last_error", draft.last_error));
		local_draft_fini(&draft);
	}
	if (rc != RC_NOT_FOUND) {
		json_decref(array);
		return (rc);
	}
	*ret = array;
	return (RC_OK);
}

/* Adds a row for each of ${entries}. */
static void
add_rows(struct cli *cli, json_t *rows, const json_t *entries)
{
	const json_t *entry, *to;
	size_t i;

	for (i = 0; i < json_array_size(entries); i++) {
		entry = json_array_get(entries, i);
		to = json_object_get(entry, "to");
		(void)json_array_append_new(
		    rows, json_pack("[oosoo]", cli_cell(cli, entry, "id"),
			      json_is_string(to) ? cli_cell(cli, entry, "to")
						 : json_string("group"),
			      render_entry_state(entry),
			      cli_cell(cli, entry, "created_at"),
			      cli_cell(cli, entry, "last_error")));
	}
}

/* The path of the list that the arguments ask for; NULL on a mistake. */
static char *
list_path(struct cli *cli, struct fail *fail)
{
	const char *state = args_value(&cli->args, "state");
	const char *before = args_value(&cli->args, "before");
	int64_t limit = LIMIT_PAGE_DEFAULT;
	struct buf b = BUF_INIT;
	char *path;

	if (args_integer(
		&cli->args, "limit", 1, LIMIT_PAGE_MAX, &limit, fail) != RC_OK)
		return (NULL);
	buf_addf(&b, "/v1/outbox?limit=%" PRId64, limit);
	if (state != NULL) {
		buf_adds(&b, "&state=");
		rest_path_add(
		    &b, strcmp(state, "delivered") == 0 ? "acked" : state);
	}
	if (before != NULL) {
		buf_adds(&b, "&before=");
		rest_path_add(&b, before);
	}
	path = buf_take(&b, NULL);
	if (path == NULL)
		(void)fail_set(fail, FAIL_MEMORY, "out of memory");
	return (path);
}

/* Shows ${page} for people; ${here} waits on this computer. */
static enum rc
show_list(
    struct cli *cli, const json_t *here, const json_t *page, struct fail *fail)
{
	const char *next = json_string_value(json_object_get(page, "next"));
	json_t *rows = json_pack(
	    "[[sssss]]", "ID", "TO", "STATE", "CREATED", "LAST ERROR");
	struct buf b = BUF_INIT;
	char safe[200];

	add_rows(cli, rows, here);
	add_rows(cli, rows, json_object_get(page, "entries"));
	if (json_array_size(rows) > 1)
		render_table(&b, &cli->look, rows);
	else if (cli->terminal)
		cli_note(cli, "nothing");
	json_decref(rows);
	if (cli_print(&b, fail) != RC_OK)
		return (fail->rc);
	if (next != NULL && next[0] != '/' && cli->terminal) {
		safe_line(next, strlen(next), safe, sizeof(safe));
		cli_note(cli, "there is more: --before %s", safe);
	}
	return (RC_OK);
}

static enum rc
list(struct cli *cli, struct fail *fail)
{
	char *path = list_path(cli, fail);
	json_t *here = NULL, *page = NULL;
	enum rc rc;

	if (path == NULL)
		return (fail->rc);
	rc = waiting_here(cli, &here, fail);
	if (rc != RC_OK) {
		mem_free(path);
		return (rc);
	}
	rc = rest_get(cli->rest, path, &page, fail);
	mem_free(path);
	if (rc == RC_OK && cli->json) {
		(void)json_object_set(page, "waiting_here", here);
		if (!args_has(&cli->args, "page"))
			rc = cli_print_list(cli, page, "waiting_here", fail);
		if (rc == RC_OK)
			rc = cli_print_list(cli, page, "entries", fail);
	} else if (rc == RC_OK)
		rc = show_list(cli, here, page, fail);
	else if (json_array_size(here) > 0 && !cli->json) {
		/* Without a server, what is here is all there is to show. */
		struct fail ignored = FAIL_INIT;
		if (show_list(cli, here, NULL, &ignored) != RC_OK)
			*fail = ignored;
	}
	json_decref(page);
	json_decref(here);
	return (rc);
}

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
	bool waits;   /* it is here, and waits to be sent */
	int attempts; /* to send it */
};

/* Reads what this computer's outbox knows of ${entry}->id. */
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
	if (rc != RC_OK)
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

	/* An attempt may have arrived although its answer did not. */
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
		return (list(cli, fail));
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
