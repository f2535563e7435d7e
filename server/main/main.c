/* SPDX-License-Identifier: MIT */
/*
 * twinboxd: main(), the table that maps subcommands to their functions, what
 * the commands share (messages, exit codes, settings), and the commands
 * check-config, sample-config, migrate and routes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "admin/admin.h"
#include "api/api.h"
#include "base/escape.h"
#include "base/stdfds.h"
#include "base/thr.h"
#include "federation/inbound.h"
#include "log/log.h"
#include "main/commands.h"
#include "main/main_internal.h"
#include "wire/wire.h"

int
main_complain(int code, const char *fmt, ...)
{
	char text[2 * URL_SIZE], shown[4 * URL_SIZE];
	va_list ap;

	/* An error text may quote a damaged file, so escape it. */
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)fprintf(
	    stderr, "twinboxd: %s\n", escape_text(text, shown, sizeof(shown)));
	return (code);
}

/* Prints ${b} and frees it.  Returns the exit code. */
static int
print(struct buf *b)
{
	bool written;

	if (!buf_ok(b))
		return (main_complain(EX_OSERR, "out of memory"));
	written = fwrite(b->data, 1, b->len, stdout) == b->len;
	buf_fini(b);
	return (fflush(stdout) == 0 && written ? EX_OK : EX_IOERR);
}

/* Prints what ${write} appends. */
static int
show(void (*write)(struct buf *out))
{
	struct buf b = BUF_INIT;

	write(&b);
	return (print(&b));
}

static void
help_write(struct buf *out)
{

	commands_write_help(out);
	config_write_help(out);
}

int
main_file_code(enum rc rc)
{

	return (rc == RC_NOT_FOUND ? EX_NOINPUT : rc_exit_code(rc));
}

int
main_config_code(enum rc rc)
{

	return (rc == RC_INVALID ? EX_CONFIG : main_file_code(rc));
}

int
main_settings(int argc, char **argv, struct config *ret)
{
	struct err err = ERR_INIT;
	enum rc rc;

	if (argc < 0)
		return (EX_USAGE);
	rc = config_parse(argc, argv, getenv, ret, &err);
	if (rc != RC_OK)
		return (main_complain(
		    ret->misused ? EX_USAGE : main_config_code(rc), "%s",
		    err.text));
	if (ret->help)
		return (show(help_write));
	if (ret->version)
		return (show(version_write));
	return (-1);
}

int
main_no_operands(const struct config *config)
{

	if (config->noperands == 0)
		return (-1);
	return (main_complain(EX_USAGE, "\"%s\" is not expected; see --help",
	    config->operands[0]));
}

/* To standard error, because standard output is a file of settings. */
static void
print_warning(void *arg, const char *text)
{

	(void)arg;
	(void)fprintf(stderr, "twinboxd: warning: %s\n", text);
}

static int
check_config_main(int argc, char **argv)
{
	struct buf b = BUF_INIT, authorities = BUF_INIT;
	struct err err = ERR_INIT;
	struct config config;
	int code;

	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = main_no_operands(&config)) >= 0)
		return (code);
	if (federate_authorities(&config, &authorities, &err) != RC_OK)
		return (
		    main_complain(main_config_code(err.rc), "%s", err.text));
	buf_fini(&authorities);
	if (config_warn(&config, print_warning, NULL) != RC_OK)
		return (main_complain(EX_OSERR, "out of memory"));
	config_write(&config, &b);
	return (print(&b));
}

static int
sample_config_main(int argc, char **argv)
{

	(void)argv;
	if (argc > 0)
		return (main_complain(EX_USAGE, "sample-config takes nothing"));
	return (show(config_write_sample));
}

static int
migrate_main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct config config;
	struct data data;
	struct db *db;
	int code;

	if ((code = main_settings(argc, argv, &config)) >= 0 ||
	    (code = main_no_operands(&config)) >= 0)
		return (code);
	if (data_open(&config, &data, &err) != RC_OK ||
	    data_open_db(&data, &db, &err) != RC_OK)
		return (main_complain(main_file_code(err.rc), "%s", err.text));
	(void)printf("%s is up to date\n", data.url);
	db_close(db);
	data_close(&data);
	return (EX_OK);
}

static void
write_routes(struct buf *out, const struct http_route *route)
{

	for (; route->method != NULL; route++)
		buf_addf(out, "%s %s %s\n", route->method, route->path,
		    (route->flags & HTTP_PUBLIC) != 0  ? "public"
		    : (route->flags & HTTP_ADMIN) != 0 ? "admin"
						       : "token");
}

/* `twinboxd routes`, for the tests, which have a row for each route: prints a
 * line for each HTTP route and each frame that a client may send, with the
 * access that it needs (public, token or admin).  The WebSocket and its first
 * frame, hello, are public, because hello brings the token; the other frames
 * are accepted only after hello.  The route deliver, which needs the signature
 * of a server, is printed with token. */
static int
routes_main(int argc, char **argv)
{
	struct buf b = BUF_INIT;
	size_t i;

	(void)argv;
	if (argc > 0)
		return (main_complain(EX_USAGE, "routes takes nothing"));
	write_routes(&b, api_routes());
	write_routes(&b, admin_routes());
	write_routes(&b, inbound_route_list());
	buf_adds(&b, "GET /v1/ws public\n");
	for (i = 0; wire_frame_name(i) != NULL; i++)
		buf_addf(&b, "WS %s %s\n", wire_frame_name(i),
		    i == 0 ? "public" : "token");
	return (print(&b));
}

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} commands[] = {
    {"serve", serve_main},
    {"check-config", check_config_main},
    {"sample-config", sample_config_main},
    {"migrate", migrate_main},
    {"user", users_main},
    {"keys", keys_main},
    {"fsck", fsck_main},
    {"backup", backup_main},
    {"restore", restore_main},
    {"routes", routes_main},
    {"copy", copy_main},
    {"check-federation", check_federation_main},
};

int
main(int argc, char **argv)
{
	size_t i;

	if (!stdfds_open())
		return (EX_OSERR);
	thr_init_main();
	wire_init();
	/* The database, the lock and the socket are for this user only. */
	(void)umask(077);
	if (argc < 2 || argv[1][0] == '-')
		return (serve_main(argc - 1, argv + 1));
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (commands[i].main != serve_main)
			interrupt_allow();
		return (commands[i].main(argc - 2, argv + 2));
	}
	return (main_complain(
	    EX_USAGE, "there is no command \"%s\"; see --help", argv[1]));
}
