/* SPDX-License-Identifier: MIT */
/*
 * twinbox: the command line client.  It reads the arguments, finds the profile
 * and the server, runs the command, and reports a failure on standard error
 * (with --json also as an object on standard output), with an exit code of
 * sysexits.h.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curl/curl.h>
#include <jansson.h>
#include <libwebsockets.h>
#include <sqlite3.h>

#include "base/clk.h"
#include "base/mem.h"
#include "base/stdfds.h"
#include "cli/cli.h"

#define DEFAULT_SERVER "http://127.0.0.1:8080"

/* Sets the locale, which gives the widths of characters.  If the user's locale
 * is not UTF-8, C.UTF-8 is used. */
static void
set_locale(void)
{

	(void)setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

/* Returns the width of the output: of the terminal, or COLUMNS, or 80. */
static int
output_columns(bool terminal)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	int64_t n;

	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > 0)
		return (size.ws_col);
	if (text != NULL && args_number(text, 20, 1000, &n))
		return ((int)n);
	return (80);
}

static void
set_look(struct cli *cli)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	cli->json = args_has(&cli->args, "json");
	cli->terminal = isatty(STDOUT_FILENO) == 1;
	cli->look.colour = cli->terminal && !cli->json &&
			   (no_color == NULL || no_color[0] == '\0') &&
			   term != NULL && strcmp(term, "dumb") != 0;
	cli->look.now_ms = clk_wall_ms(clk_system());
	cli->look.me = cli->profile.user;
	cli->look.columns = output_columns(cli->terminal);
}

/* Finds the server: the value of the option --server, of the variable
 * TWINBOX_SERVER, of the profile or the default, whichever comes first in this
 * order and is set.  Fails if the command needs a login and the profile's token
 * was issued by another server.  Two servers at loopback addresses (localhost,
 * 127.x.x.x, [::1]) count as the same server, whatever their ports. */
static enum rc
find_server(struct cli *cli, char ret[PROFILE_SERVER_SIZE], struct fail *fail)
{
	const char *text = args_value(&cli->args, "server");
	const char *stored = cli->profile.server;

	if (text == NULL)
		text = getenv("TWINBOX_SERVER");
	if (text == NULL || text[0] == '\0')
		text = stored[0] != '\0' ? stored : DEFAULT_SERVER;
	if (rest_server_parse(text, ret, PROFILE_SERVER_SIZE, fail) != RC_OK)
		return (fail->rc);
	if (cli->args.command->needs < NEEDS_LOGIN ||
	    strcmp(ret, stored) == 0 ||
	    (rest_server_local(ret) && rest_server_local(stored)))
		return (RC_OK);
	(void)fail_set(fail, FAIL_CONFIG,
	    "profile %s is logged in at %.100s, "
	    "not at %.100s",
	    cli->profile.name, stored, ret);
	return (fail_cure(fail,
	    "log in there with another --profile, or leave --server out"));
}

/* Initializes what the command needs. */
static enum rc
prepare(struct cli *cli, struct fail *fail)
{
	const char *name = args_value(&cli->args, "profile");
	char server[PROFILE_SERVER_SIZE];

	if (args_has(&cli->args, "page") && !args_has(&cli->args, "json"))
		return (fail_set(fail, FAIL_USAGE, "--page goes with --json"));
	if (name == NULL)
		name = getenv("TWINBOX_PROFILE");
	if (name == NULL || name[0] == '\0')
		name = "default";
	if (profile_load(name, &cli->profile, fail) != RC_OK)
		return (fail->rc);
	if (cli->args.command->needs >= NEEDS_LOGIN &&
	    cli->profile.token[0] == '\0') {
		(void)fail_set(fail, FAIL_NOT_LOGGED_IN,
		    "nobody is logged in with profile %s", name);
		if (strcmp(name, "default") != 0)
			(void)fail_cure(
			    fail, "twinbox login NAME --profile %s", name);
		return (fail->rc);
	}
	if (find_server(cli, server, fail) != RC_OK)
		return (fail->rc);
	return (rest_new(server, cli->profile.token, &cli->rest, fail));
}

/* Appends the version, and those of the libraries in use. */
static void
version_write(struct buf *b)
{

	buf_adds(b, "twinbox " PACKAGE_VERSION "\n");
	buf_addf(
	    b, "libcurl %s\n", curl_version_info(CURLVERSION_NOW)->version);
	buf_addf(b, "libwebsockets %s\n", lws_get_library_version());
	buf_addf(b, "SQLite %s\n", sqlite3_libversion());
	buf_addf(b, "jansson %s\n", jansson_version_str());
}

/* Handles --help and --version. */
static enum rc
inform(struct cli *cli, struct fail *fail)
{
	struct buf b = BUF_INIT;

	if (args_has(&cli->args, "version"))
		version_write(&b);
	else if (cli->args.command != NULL)
		args_help(&b, cli->args.command);
	else
		args_overview(&b, cli_commands);
	return (cli_print(&b, fail));
}

/* Prints the failure as JSON on standard output. */
static void
print_failure(const struct fail *fail)
{
	struct fail ignored;
	json_t *json;

	json = json_pack("{s{ss ss ss si si si}}", "error", "code", fail->code,
	    "detail", fail->what, "cure", fail->cure, "exit", fail->exit,
	    "status", fail->status, "retry_after", fail->retry_after_s);
	if (json != NULL && cli_print_json(json, &ignored) != RC_OK)
		(void)fputs("twinbox: cannot write the output\n", stderr);
	json_decref(json);
}

/* If the profile has a user and the cure (the advice in a failure) ends with
 * "twinbox login NAME" (FAIL_LOGIN), replaces NAME by that user, and appends
 * --profile unless the profile is the default one. */
static void
name_login(const struct cli *cli, struct fail *fail)
{
	const struct profile *p = &cli->profile;
	size_t n = strlen(fail->cure), end = strlen(FAIL_LOGIN);
	bool other = strcmp(p->name, "default") != 0;
	char cure[sizeof(fail->cure)];

	if (p->user[0] == '\0' || n < end ||
	    strcmp(fail->cure + n - end, FAIL_LOGIN) != 0)
		return;
	n -= strlen("NAME");
	(void)snprintf(cure, sizeof(cure), "%.*s", (int)n, fail->cure);
	(void)fail_cure(fail, "%.150s%s%s%s", cure, p->user,
	    other ? " --profile " : "", other ? p->name : "");
}

/* Reports that cli_flush() has left messages in the outbox on this computer,
 * when the command has failed with ${fail}.  If the failure that stopped
 * cli_flush() has the same code as ${fail}, writes "; N messages wait here"
 * into ${ret}, which the caller adds to the line that reports ${fail}.
 * Otherwise sets ${ret} to "" and, if messages were left, prints a separate
 * line with the reason. */
static void
write_waiting(struct cli *cli, const struct fail *fail, char *ret, size_t size)
{
	int n = cli->nunsent;

	ret[0] = '\0';
	if (n > 0 && strcmp(cli->unsent.code, fail->code) == 0)
		(void)snprintf(ret, size, "; %d message%s here", n,
		    n == 1 ? " waits" : "s wait");
	else
		cli_note_unsent(cli);
}

static void
report(struct cli *cli, struct fail *fail)
{
	const struct command *command = cli->args.command;
	char waiting[48], line[1024];

	name_login(cli, fail);
	write_waiting(cli, fail, waiting, sizeof(waiting));
	(void)snprintf(line, sizeof(line), "twinbox: %s%s%s%s%s%s",
	    command != NULL ? command->name : "", command != NULL ? ": " : "",
	    fail->what, waiting, fail->cure[0] != '\0' ? "; " : "", fail->cure);
	cli_complain(line);
	if (args_has(&cli->args, "json"))
		print_failure(fail);
}

int
main(int argc, char **argv)
{
	struct cli cli;
	struct fail fail = FAIL_INIT;
	enum rc rc;

	if (!stdfds_open())
		return (EX_OSERR);
	memset(&cli, 0, sizeof(cli));
	set_locale();
	rc = args_parse(argc, argv, cli_commands, &cli.args, &fail);
	if (rc == RC_OK &&
	    (args_has(&cli.args, "help") || args_has(&cli.args, "version")))
		rc = inform(&cli, &fail);
	else if (rc == RC_OK) {
		rc = prepare(&cli, &fail);
		set_look(&cli);
		if (rc == RC_OK && cli.args.command->needs == NEEDS_FLUSH)
			cli_flush(&cli);
		if (rc == RC_OK)
			rc = cli.args.command->run(&cli, &fail);
	}
	if (rc != RC_OK)
		report(&cli, &fail);
	else
		cli_note_unsent(&cli);
	cli_fini(&cli);
	explicit_bzero(cli.profile.token, sizeof(cli.profile.token));
	args_fini(&cli.args);
	return (rc == RC_OK ? EXIT_SUCCESS : fail.exit);
}
