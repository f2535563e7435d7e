/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd user list`: prints the users of this server, for people or as JSON.
 * It reads the database, whether or not a server runs, one page at a time, so
 * it needs the same memory for ten users as for a million.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/clk.h"
#include "base/escape.h"
#include "inspect/inspect.h"
#include "main/main_internal.h"
#include "wire/json.h"

#define PAGE 200
#define DATE_LEN 10 /* of a time in the format of RFC 3339 */
/* "disabled 2026-11-21" */
#define STATE_SIZE 24
/* escape_text() writes up to 8 characters for a byte. */
#define SHOWN_SIZE(len) (8 * (len) + 1)

struct users_list {
	struct db *db;
	struct buf out; /* the lines of a page */
	bool json;
	bool measuring; /* finds the longest name and writes nothing */
	int name_width;

	/* Of the current page. */
	int64_t looked;
	char last[LIMIT_ADDRESS_LEN + 1];
};

/* ---- a user ---- */

static void
write_json(struct buf *out, const struct inspect_user *u)
{

	buf_addc(out, '{');
	jw_str(out, "name", u->name);
	jw_str(out, "display_name", u->display_name);
	jw_bool(out, "admin", u->admin);
	jw_time(out, "disabled_at", u->disabled_at);
	jw_time(out, "created_at", u->created_at);
	jw_int(out, "devices", u->devices);
	buf_adds(out, "}\n");
}

/* The display name is the last column, because its width on a terminal is not
 * known. */
static void
write_row(struct buf *out, const struct inspect_user *u, int name_width)
{
	char created[CLK_RFC3339_SIZE], disabled[CLK_RFC3339_SIZE];
	char name[SHOWN_SIZE(LIMIT_ADDRESS_LEN)];
	char display[SHOWN_SIZE(LIMIT_DISPLAY_NAME_LEN)];
	char state[STATE_SIZE] = "active";

	clk_format_rfc3339(u->created_at, created);
	if (u->disabled_at != 0) {
		clk_format_rfc3339(u->disabled_at, disabled);
		(void)snprintf(
		    state, sizeof(state), "disabled %.*s", DATE_LEN, disabled);
	}
	buf_addf(out, "%-*s  %-5s  %-19s  %7lld  %.*s", name_width,
	    escape_text(u->name, name, sizeof(name)),
	    u->admin ? "admin" : "user", state, (long long)u->devices, DATE_LEN,
	    created);
	if (u->display_name != NULL)
		buf_addf(out, "  %s",
		    escape_text(u->display_name, display, sizeof(display)));
	buf_addc(out, '\n');
}

static enum rc
on_row_user(void *arg, const struct inspect_user *u, struct err *err)
{
	struct users_list *l = arg;
	const int width = (int)strlen(u->name);

	(void)err;
	l->looked++;
	(void)snprintf(l->last, sizeof(l->last), "%s", u->name);
	if (!u->local)
		return (RC_OK);
	if (l->measuring)
		l->name_width = width > l->name_width ? width : l->name_width;
	else if (l->json)
		write_json(&l->out, u);
	else
		write_row(&l->out, u, l->name_width);
	return (RC_OK);
}

/* ---- all of them ---- */

/* Prints the lines of a page.  The caller checks stdout for errors. */
static enum rc
print_page(struct users_list *l, struct err *err)
{

	if (!buf_ok(&l->out))
		return (err_set(err, RC_NO_MEMORY, "out of memory"));
	if (l->out.len > 0)
		(void)fwrite(l->out.data, 1, l->out.len, stdout);
	buf_reset(&l->out);
	return (RC_OK);
}

static enum rc
walk(struct users_list *l, struct err *err)
{
	enum rc rc;

	l->last[0] = '\0';
	do {
		l->looked = 0;
		rc = inspect_users(l->db, l->last, PAGE, on_row_user, l, err);
		if (rc == RC_OK)
			rc = print_page(l, err);
	} while (rc == RC_OK && l->looked == PAGE);
	return (rc);
}

static enum rc
list(struct users_list *l, struct err *err)
{
	enum rc rc;

	if (l->json)
		return (walk(l, err));
	l->measuring = true;
	if ((rc = walk(l, err)) != RC_OK)
		return (rc);
	l->measuring = false;
	if (l->name_width == 0) {
		(void)puts("there are no users: \"twinboxd user add NAME "
			   "--admin\" makes the first");
		return (RC_OK);
	}
	if (l->name_width < (int)strlen("NAME"))
		l->name_width = (int)strlen("NAME");
	(void)printf("%-*s  %-5s  %-19s  DEVICES  %-*s  DISPLAY NAME\n",
	    l->name_width, "NAME", "ROLE", "STATE", DATE_LEN, "CREATED");
	return (walk(l, err));
}

int
users_list(const struct config *config, bool json)
{
	struct users_list l = {.json = json, .out = BUF_INIT};
	struct err err = ERR_INIT;
	enum rc rc;

	if ((rc = data_look(config, DB_READER, &l.db, &err)) == RC_OK) {
		rc = list(&l, &err);
		db_close(l.db);
	}
	buf_fini(&l.out);
	if (rc != RC_OK)
		return (main_complain(
		    rc == RC_NOT_FOUND ? EX_NOINPUT : rc_exit_code(rc), "%s",
		    err.text));
	return (fflush(stdout) == 0 && ferror(stdout) == 0 ? EX_OK : EX_IOERR);
}
