/* SPDX-License-Identifier: MIT */
/*
 * The list of the outbox: first the messages that wait on this computer, then a
 * page of those that the server has, one line each with its text, if the text
 * is found.  The server's list has no texts, so they come from this computer,
 * or from the server by one request for each text.  With --json, the list has
 * no texts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clk.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "lib/safe.h"

/* The time, in ms, in which requests for missing texts may begin, one request
 * for each text; the last request may end later. */
#define TEXTS_MS 2000
/* On a terminal with fewer than WIDE_COLUMNS columns, a row has one time (when
 * due, else when created) instead of two, and no error, so that the text and
 * the id have room. */
#define WIDE_COLUMNS 100

/* The parts of the list. */
struct outbox {
	json_t *here;  /* waiting here, as objects */
	json_t *page;  /* of the server, NULL: none */
	json_t *texts; /* by id */
};

/* Reads the messages that wait on this computer. */
static enum rc
waiting_here(struct cli *cli, struct outbox *o, struct fail *fail)
{
	struct local_draft draft;
	char created[CLK_RFC3339_SIZE];
	int64_t row = 0;
	enum rc rc;

	if (cli_local(cli, fail) != RC_OK)
		return (fail->rc);
	o->here = json_array();
	o->texts = json_object();
	while (
	    (rc = local_outbox_next(cli->local, row, &draft, fail)) == RC_OK ||
	    rc == RC_CORRUPT) {
		row = draft.row;
		clk_format_rfc3339(draft.created_at, created);
		(void)json_array_append_new(o->here,
		    json_pack("{ss ss ss ss si ss}", "id", draft.ref, "to",
			draft.recipient, "state", "waiting", "created_at",
			created, "attempts", draft.attempts, "last_error",
			rc == RC_CORRUPT ? "the text is damaged"
					 : draft.last_error));
		(void)json_object_set(o->texts, draft.ref,
		    json_object_get(draft.request, "body"));
		local_draft_fini(&draft);
	}
	return (rc == RC_NOT_FOUND ? RC_OK : rc);
}

/* Returns the id of ${entry}, or "" if it has none. */
static const char *
id_of(const json_t *entry)
{
	const char *id = json_string_value(json_object_get(entry, "id"));

	return (id != NULL ? id : "");
}

/* Returns true if ${page} lists ${id}. */
static bool
is_listed(const json_t *page, const char *id)
{
	const json_t *entries = json_object_get(page, "entries");
	size_t i;

	for (i = 0; i < json_array_size(entries); i++)
		if (strcmp(id_of(json_array_get(entries, i)), id) == 0)
			return (true);
	return (false);
}

/* Removes from o->here the messages whose ids are on the server's page, and
 * marks each as answered in the client's database: the server has accepted it,
 * but the server's answer was not recorded yet when o->here was read.  Messages
 * with a key instead of an id stay.  On failure the remaining messages stay. */
static enum rc
drop_answered(struct cli *cli, struct outbox *o, struct fail *fail)
{
	size_t i = 0;

	while (i < json_array_size(o->here)) {
		const char *id = id_of(json_array_get(o->here, i));

		if (!is_listed(o->page, id)) {
			i++;
			continue;
		}
		if (local_outbox_answered(cli->local, id, fail) != RC_OK)
			return (fail->rc);
		(void)json_array_remove(o->here, i);
	}
	return (RC_OK);
}

/* Collects the texts that this computer has sent. */
static void
texts_sent(struct cli *cli, struct outbox *o)
{
	const json_t *entries = json_object_get(o->page, "entries");
	struct fail ignored = FAIL_INIT;
	struct local_draft draft;
	const char *id;
	size_t i;

	for (i = 0; i < json_array_size(entries); i++) {
		id = id_of(json_array_get(entries, i));
		if (local_outbox_find(cli->local, id, &draft, &ignored) !=
		    RC_OK)
			continue;
		(void)json_object_set(
		    o->texts, id, json_object_get(draft.request, "body"));
		local_draft_fini(&draft);
	}
}

/* Stores the text of ${event} in o->texts (${arg} is o), if ${event} is a
 * message on the server's page and o->texts has no text of it yet.  Called as
 * the filter of local_history() for each stored event; returns false, because
 * no event is to be collected. */
static bool
take_text(const json_t *event, void *arg)
{
	struct outbox *o = arg;
	const json_t *body = json_object_get(event, "body");
	const char *id = id_of(event);

	if (json_is_string(body) && is_listed(o->page, id) &&
	    json_object_get(o->texts, id) == NULL)
		(void)json_object_set(
		    o->texts, id, json_object_get(event, "body"));
	return (false);
}

/* Returns the id of the first entry of the server's page, from index *at on,
 * that has a valid UUID as its id and no text in o->texts, and sets *at to its
 * index.  Returns NULL if there is none; then *at is at the end of the page. */
static const char *
next_without(const struct outbox *o, size_t *at)
{
	const json_t *entries = json_object_get(o->page, "entries");
	struct uuid ignored;
	const char *id;

	for (; *at < json_array_size(entries); (*at)++) {
		id = id_of(json_array_get(entries, *at));
		if (json_object_get(o->texts, id) == NULL &&
		    uuid_parse(id, strlen(id), &ignored))
			return (id);
	}
	return (NULL);
}

/* Fetches missing texts from the server, until a request fails or TEXTS_MS have
 * passed. */
static void
texts_asked(struct cli *cli, struct outbox *o)
{
	const struct clk *clk = clk_system();
	int64_t until_ms = clk_mono_ms(clk) + TEXTS_MS;
	struct fail ignored = FAIL_INIT;
	json_t *message;
	const char *id;
	char *path;
	size_t at = 0;
	enum rc rc;

	for (; (id = next_without(o, &at)) != NULL; at++) {
		path = rest_path("/v1/messages/", id, "");
		rc = rest_get(cli->rest, path, &message, &ignored);
		mem_free(path);
		if (rc != RC_OK)
			return;
		(void)json_object_set(
		    o->texts, id, json_object_get(message, "body"));
		json_decref(message);
		if (clk_mono_ms(clk) > until_ms)
			return;
	}
}

/* Finds the texts of the listed entries. */
static void
find_texts(struct cli *cli, struct outbox *o)
{
	struct fail ignored = FAIL_INIT;
	json_t *none = NULL;
	size_t at = 0;

	texts_sent(cli, o);
	if (next_without(o, &at) != NULL && local_history(cli->local, take_text,
						o, 1, &none, &ignored) == RC_OK)
		json_decref(none);
	texts_asked(cli, o);
}

/* Returns the name of the member with the time at which ${entry} is due; "" if
 * it does not wait for a time. */
static const char *
due_of(const json_t *entry)
{
	const char *state = render_entry_state(entry);

	if (strcmp(state, "scheduled") == 0)
		return ("deliver_at");
	return (strcmp(state, "retrying") == 0 ? "next_retry_at" : "");
}

/* Returns the last error of ${entry}, or "" if it has none or has been sent or
 * canceled since. */
static const char *
error_of(const json_t *entry)
{
	static const char *const there[] = {
	    "sent", "delivered", "read", "canceled"};
	const char *error =
	    json_string_value(json_object_get(entry, "last_error"));
	size_t i;

	for (i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		if (strcmp(render_entry_state(entry), there[i]) == 0)
			return ("");
	return (error != NULL ? error : "");
}

/* The columns of the list that are not always there. */
struct columns {
	bool narrow; /* one time: when due, else when created */
	bool due, error;
};

/* Determines which columns ${entries} need. */
static void
need_columns(const json_t *entries, struct columns *ret)
{
	const json_t *entry;
	size_t i;

	for (i = 0; i < json_array_size(entries); i++) {
		entry = json_array_get(entries, i);
		if (due_of(entry)[0] != '\0')
			ret->due = true;
		if (error_of(entry)[0] != '\0')
			ret->error = true;
	}
}

/* Appends a row to ${rows} for each of ${entries}. */
static void
add_rows(struct cli *cli, const struct outbox *o, const struct columns *columns,
    const json_t *entries, json_t *rows)
{
	const json_t *entry, *text;
	const char *due;
	json_t *row;
	size_t i;

	for (i = 0; i < json_array_size(entries); i++) {
		entry = json_array_get(entries, i);
		text = json_object_get(o->texts, id_of(entry));
		due = columns->narrow ? due_of(entry) : "";
		row = json_pack("[soo]", render_entry_state(entry),
		    json_is_string(json_object_get(entry, "to"))
			? cli_cell(cli, entry, "to")
			: json_string("group"),
		    cli_cell(cli, entry, due[0] != '\0' ? due : "created_at"));
		if (columns->due)
			(void)json_array_append_new(
			    row, cli_cell(cli, entry, due_of(entry)));
		(void)json_array_append_new(row, json_is_string(text)
						     ? json_deep_copy(text)
						     : json_string(""));
		if (columns->error)
			(void)json_array_append_new(
			    row, json_string(error_of(entry)));
		(void)json_array_append_new(row, json_string(id_of(entry)));
		(void)json_array_append_new(rows, row);
	}
}

/* Returns the heading. */
static json_t *
heading(const struct columns *columns)
{
	json_t *row = json_pack(
	    "[sss]", "STATE", "TO", columns->narrow ? "WHEN" : "CREATED");

	if (columns->due)
		(void)json_array_append_new(row, json_string("DUE"));
	(void)json_array_append_new(row, json_string("TEXT"));
	if (columns->error)
		(void)json_array_append_new(row, json_string("LAST ERROR"));
	(void)json_array_append_new(row, json_string("ID"));
	return (row);
}

/* Appends the list as a table.  On a terminal, cuts recipients, texts and
 * errors so that each row fits on one line, if the terminal is wide enough. */
static void
add_table(struct cli *cli, const struct outbox *o, struct buf *b)
{
	const json_t *entries = json_object_get(o->page, "entries");
	struct columns columns = {
	    .narrow = cli->terminal && cli->look.columns < WIDE_COLUMNS};
	unsigned text;
	json_t *rows;

	if (!columns.narrow) {
		need_columns(o->here, &columns);
		need_columns(entries, &columns);
	}
	rows = json_pack("[o]", heading(&columns));
	add_rows(cli, o, &columns, o->here, rows);
	add_rows(cli, o, &columns, entries, rows);
	text = columns.due ? 1u << 4 : 1u << 3;
	if (cli->terminal)
		render_table_fit(b, &cli->look, rows,
		    1u << 1 | text | (columns.error ? text << 1 : 0));
	else
		render_table(b, &cli->look, rows);
	json_decref(rows);
}

/* Shows the list to a person. */
static enum rc
show(struct cli *cli, const struct outbox *o, struct fail *fail)
{
	const char *next = json_string_value(json_object_get(o->page, "next"));
	struct buf b = BUF_INIT;
	char safe[200];

	if (json_array_size(o->here) +
		json_array_size(json_object_get(o->page, "entries")) >
	    0)
		add_table(cli, o, &b);
	else if (cli->terminal)
		cli_note(cli, "nothing");
	if (cli_print(&b, fail) != RC_OK)
		return (fail->rc);
	if (next != NULL && next[0] != '/' && cli->terminal) {
		safe_line(next, strlen(next), safe, sizeof(safe));
		cli_note(cli, "there is more: --before %s", safe);
	}
	return (RC_OK);
}

/* Prints the list for programs. */
static enum rc
print(struct cli *cli, const struct outbox *o, struct fail *fail)
{

	(void)json_object_set(o->page, "waiting_here", o->here);
	if (!args_has(&cli->args, "page") &&
	    cli_print_list(cli, o->page, "waiting_here", fail) != RC_OK)
		return (fail->rc);
	return (cli_print_list(cli, o->page, "entries", fail));
}

/* Returns the path, which the caller frees, of the request for the list that
 * the arguments --state, --before and --limit select.  Returns NULL and sets
 * ${fail} if --limit is not valid or memory runs out. */
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

/* Reads the server's page and shows it after the messages that wait here. */
static enum rc
read_and_show(
    struct cli *cli, const char *path, struct outbox *o, struct fail *fail)
{
	struct fail ignored = FAIL_INIT;
	enum rc rc = rest_get(cli->rest, path, &o->page, fail);

	if (rc != RC_OK) {
		/* Without the server, show the messages that wait here. */
		if (json_array_size(o->here) > 0 && !cli->json &&
		    show(cli, o, &ignored) != RC_OK)
			*fail = ignored;
		return (fail->rc);
	}
	if (drop_answered(cli, o, fail) != RC_OK)
		return (fail->rc);
	if (cli->json)
		return (print(cli, o, fail));
	find_texts(cli, o);
	return (show(cli, o, fail));
}

enum rc
cli_outbox_list(struct cli *cli, struct fail *fail)
{
	struct outbox o = {.here = NULL};
	char *path = list_path(cli, fail);
	enum rc rc;

	if (path == NULL)
		return (fail->rc);
	rc = waiting_here(cli, &o, fail);
	if (rc == RC_OK)
		rc = read_and_show(cli, path, &o, fail);
	mem_free(path);
	json_decref(o.page);
	json_decref(o.here);
	json_decref(o.texts);
	return (rc);
}
