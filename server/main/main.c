/* SPDX-License-Identifier: MIT */
/*
 * The program twinboxd: subcommands and their arguments.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

#include "base/thr.h"
#include "crypt/crypt.h"
#include "main/control.h"
#include "main/server.h"
#include "wire/wire.h"

/* What main takes off the arguments itself. */
struct own {
	bool admin;
	bool password_stdin;
};

static const char usage[] =
    "usage: twinboxd [serve] [settings]\n"
    "       twinboxd check-config [settings]\n"
    "       twinboxd migrate [settings]\n"
    "       twinboxd user add NAME [--admin] [--password-stdin] [settings]\n"
    "       twinboxd user passwd NAME [--password-stdin] [settings]\n"
    "       twinboxd user disable NAME [settings]\n"
    "       twinboxd --version | --help\n"
    "\n"
    "Without a subcommand it serves.  While a server runs, `user` speaks to it\n"
    "through DATA/control.\n"
    "\n"
    "Settings (flags win, then the environment, then the file):\n";

static int
complain(const struct err *err)
{

	(void)fprintf(stderr, "twinboxd: %s\n", err->text);
	return (rc_exit_code(err->rc));
}

static int
show_help(void)
{
	struct buf b = BUF_INIT;

	config_write_help(&b);
	(void)fputs(usage, stdout);
	if (b.len > 0)
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_fini(&b);
	return (0);
}

/* Takes ${name} off the arguments if it is there. */
static bool
take_flag(int *argc, char **argv, const char *name)
{
	int i;

	for (i = 0; i < *argc; i++) {
		if (strcmp(argv[i], name) != 0)
			continue;
		memmove(argv + i, argv + i + 1,
		    (size_t)(*argc - i) * sizeof(*argv));
		(*argc)--;
		return (true);
	}
	return (false);
}

/* ---- subcommands ---- */

static int
check_config(const struct config *config)
{
	struct buf b = BUF_INIT;

	config_write(config, &b);
	if (b.len > 0)
		(void)fwrite(b.data, 1, b.len, stdout);
	buf_fini(&b);
	return (0);
}

static int
migrate(const struct config *config)
{
	struct err err = ERR_INIT;
	struct core *core;

	if (core_open(config, &core, &err) != RC_OK)
		return (complain(&err));
	core_close(core);
	printf("the schema is up to date\n");
	return (0);
}

/* Asks on the terminal, without echo. */
static bool
ask_password(char *ret, size_t size)
{
	struct termios before, quiet;
	bool ok;

	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return (false);
	quiet = before;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	(void)fputs("Password: ", stderr);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	ok = fgets(ret, (int)size, stdin) != NULL;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	(void)fputc('\n', stderr);
	return (ok);
}

static enum rc
read_password(const struct own *own, char *ret, size_t size, struct err *err)
{
	bool ok;

	ok = own->password_stdin || isatty(STDIN_FILENO) == 0
	    ? fgets(ret, (int)size, stdin) != NULL
	    : ask_password(ret, size);
	if (!ok)
		return (err_set(err, RC_INVALID,
		    "no password: give it on the terminal, or one line with "
		    "--password-stdin"));
	ret[strcspn(ret, "\r\n")] = '\0';
	return (RC_OK);
}

static int
user(const struct config *config, const struct own *own)
{
	char password[LIMIT_PASSWORD_LEN + 2] = "";
	struct err err = ERR_INIT;
	struct core *core = NULL;
	char command[32];
	enum rc rc;

	if (config->noperands != 2) {
		(void)err_set(&err, RC_INVALID,
		    "user wants a verb and a name: user add NAME");
		(void)complain(&err);
		return (EX_USAGE);
	}
	(void)snprintf(
	    command, sizeof(command), "user %s", config->operands[0]);
	rc = RC_OK;
	if (strcmp(command, "user disable") != 0)
		rc = read_password(own, password, sizeof(password), &err);
	if (rc == RC_OK)
		rc = core_open(config, &core, &err);
	if (rc == RC_OK)
		rc = control_run(core, command, config->operands[1], password,
		    own->admin, &err);
	else if (rc == RC_BUSY)
		rc = control_call(config->data, command, config->operands[1],
		    password, own->admin, &err);
	core_close(core);
	crypt_wipe(password, sizeof(password));
	if (rc != RC_OK)
		return (complain(&err));
	printf("done: %s %s\n", command, config->operands[1]);
	return (0);
}

static int
later(const char *command)
{

	(void)fprintf(stderr, "twinboxd: %s is not in this version\n",
	    command);
	return (EX_UNAVAILABLE);
}

static int
dispatch(const char *command, const struct config *config,
    const struct own *own)
{

	if (strcmp(command, "user") == 0)
		return (user(config, own));
	if (config->noperands > 0) {
		(void)fprintf(stderr,
		    "twinboxd: what is \"%s\"? See twinboxd --help\n",
		    config->operands[0]);
		return (EX_USAGE);
	}
	if (strcmp(command, "serve") == 0)
		return (server_run(config));
	if (strcmp(command, "check-config") == 0)
		return (check_config(config));
	return (migrate(config));
}

int
main(int argc, char **argv)
{
	static const char *const commands[] = {
	    "serve", "check-config", "migrate", "user", NULL};
	static const char *const later_commands[] = {
	    "fsck", "backup", "copy", NULL};
	static struct config config;
	const char *command = "serve";
	struct err err = ERR_INIT;
	struct own own;
	int i;

	(void)umask(077);
	(void)sigaction(
	    SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	thr_init_main();
	if (crypt_init(&err) != RC_OK)
		return (complain(&err));
	wire_init();
	argc--;
	argv++;
	for (i = 0; argc > 0 && commands[i] != NULL; i++)
		if (strcmp(argv[0], commands[i]) == 0)
			command = commands[i];
	for (i = 0; argc > 0 && later_commands[i] != NULL; i++)
		if (strcmp(argv[0], later_commands[i]) == 0)
			return (later(argv[0]));
	if (argc > 0 && strcmp(argv[0], command) == 0) {
		argc--;
		argv++;
	}
	own.admin = take_flag(&argc, argv, "--admin");
	own.password_stdin = take_flag(&argc, argv, "--password-stdin");
	if (config_parse(argc, argv, getenv, &config, &err) != RC_OK) {
		(void)complain(&err);
		return (err.rc == RC_INVALID ? EX_USAGE : EX_CONFIG);
	}
	if (config.help)
		return (show_help());
	if (config.version) {
		printf("twinboxd %s\n", TWINBOX_VERSION);
		return (0);
	}
	return (dispatch(command, &config, &own));
}
