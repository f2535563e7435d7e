/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd user add|passwd|disable NAME`.  The command makes the hash of the
 * password itself; the server, if one runs, gets only that.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rnd.h"
#include "base/terminal.h"
#include "main/commands.h"
#include "main/main_internal.h"
#include "model/message.h"

/* ---- units ---- */

enum rc
users_command_unit(const struct users_command *command, struct db *db,
    struct account_unit *ret, struct err *err)
{
	static const enum account_op ops[] = {
	    ACCOUNT_ADD, ACCOUNT_PASSWORD, ACCOUNT_DISABLE};
	enum rc rc;

	account_unit_init(ret, ops[command->op]);
	ret->operator= "operator";
	if (command->op != USER_ADD) {
		rc = store_user_by_name(
		    db, command->name, strlen(command->name), &ret->user, err);
		if (rc == RC_NOT_FOUND)
			return (err_set(
			    err, rc, "there is no user \"%s\"", command->name));
		if (rc != RC_OK)
			return (rc);
	}
	(void)snprintf(
	    ret->user.name, sizeof(ret->user.name), "%s", command->name);
	(void)snprintf(ret->user.password_hash, sizeof(ret->user.password_hash),
	    "%s", command->password_hash);
	if (command->op == USER_ADD)
		ret->user.admin = command->admin;
	return (RC_OK);
}

enum rc
users_command_result(const struct account_unit *unit, struct err *err)
{

	if (unit->unit.rc != RC_OK)
		return (err_set(err, unit->unit.rc, "the database: %s%s",
		    rc_text(unit->unit.rc),
		    unit->unit.rc == RC_FULL
			? "; free room on the disk of the database"
			: ""));
	if (unit->refusal.problem == PROBLEM_NOT_FOUND)
		return (err_set(err, RC_NOT_FOUND, "%s", unit->refusal.detail));
	if (unit->refusal.problem != PROBLEM_NONE)
		return (err_set(err, RC_EXISTS, "%s", unit->refusal.detail));
	return (RC_OK);
}

static void
finish(struct unit *base)
{
	struct account_unit *unit =
	    CONTAINER_OF(base, struct account_unit, unit);

	*(bool *)unit->arg = true;
}

enum rc
users_command_run(const struct users_command *command, struct db *db,
    struct writer *writer, struct err *err)
{
	struct account_unit unit;
	bool done = false;
	enum rc rc;

	rc = users_command_unit(command, db, &unit, err);
	if (rc != RC_OK)
		return (rc);
	unit.unit.finish = finish;
	unit.arg = &done;
	if ((rc = writer_submit(writer, &unit.unit)) != RC_OK)
		return (err_set(err, rc, "the writer takes nothing"));
	while (!done)
		(void)writer_run_once(writer);
	return (users_command_result(&unit, err));
}

/* ---- without a server ---- */

static void
ignore_fatal(void *arg, const struct err *err)
{

	/* The unit brings the error back. */
	(void)arg;
	(void)err;
}

static enum rc
run_alone(const struct data *data, const struct users_command *command,
    const struct config *config, struct err *err)
{
	struct txn_env_options txn_env_options = {.clk = clk_system(),
	    .rnd = rnd_system(),
	    .expiry_ms = config->expiry_ms,
	    .fatal = ignore_fatal};
	struct writer_options writer_options = {.clk = clk_system(),
	    .queue_limit = 16,
	    .checkpoint_bytes = config->checkpoint_size_bytes};
	struct writer *writer = NULL;
	struct txn_env *env = NULL;
	struct db *db;
	enum rc rc;

	if ((rc = data_open_db(data, &db, err)) != RC_OK)
		return (rc);
	rc = txn_env_new(&txn_env_options, &env, err);
	if (rc == RC_OK) {
		writer_options.db = db;
		writer_options.hooks = txn_env_hooks(env);
		rc = writer_new(&writer_options, &writer, err);
	}
	if (rc == RC_OK)
		rc = users_command_run(command, db, writer, err);
	writer_free(writer);
	txn_env_free(env);
	db_close(db);
	return (rc);
}

/* ---- the password ---- */

/* Reads a line without its end; false at the end of the file, or when it does
 * not fit. */
static bool
read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	char c;

	while (read(fd, &c, 1) == 1) {
		if (c == '\n') {
			line[n] = '\0';
			return (true);
		}
		if (n == size - 1)
			return (false);
		line[n++] = c;
	}
	line[n] = '\0';
	return (n > 0);
}

/* Prompts on the terminal.  Echo is off before the prompt shows, so that nobody
 * answers too early; keys that would send a signal are read as characters, so
 * that the terminal is always left as it was. */
static bool
prompt_line(int fd, const char *prompt, char *line, size_t size)
{
	struct termios was, quiet;
	bool ok;

	if (tcgetattr(fd, &was) != 0)
		return (false);
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
	quiet.c_cc[VMIN] = 1;
	quiet.c_cc[VTIME] = 0;
	interrupt_resets_terminal(fd, &was);
	if (tcsetattr(fd, TCSAFLUSH, &quiet) != 0)
		return (false);
	(void)!write(fd, prompt, strlen(prompt));
	ok = terminal_read_line(fd, line, size);
	(void)!write(fd, "\n", 1);
	(void)tcsetattr(fd, TCSAFLUSH, &was);
	interrupt_resets_terminal(-1, NULL);
	return (ok);
}

static enum rc
prompt_password(char *password, size_t size, struct err *err)
{
	char again[LIMIT_PASSWORD_LEN + 1];
	bool ok, same;
	int fd;

	if ((fd = open("/dev/tty", O_RDWR | O_CLOEXEC)) < 0)
		return (err_set(err, RC_INVALID,
		    "there is no terminal to ask for the password: use "
		    "--password-stdin"));
	ok = prompt_line(fd, "password: ", password, size) &&
	     prompt_line(fd, "again: ", again, sizeof(again));
	same = ok && strcmp(password, again) == 0;
	crypt_wipe(again, sizeof(again));
	(void)close(fd);
	if (!ok)
		return (err_set(err, RC_INVALID, "no password was given"));
	if (!same)
		return (err_set(
		    err, RC_INVALID, "the two passwords are not the same"));
	return (RC_OK);
}

static enum rc
take_password(struct users_command *command, bool from_stdin, struct err *err)
{
	char password[LIMIT_PASSWORD_LEN + 2];
	enum rc rc = RC_OK;
	size_t n;

	if (!from_stdin)
		rc = prompt_password(password, sizeof(password), err);
	else if (!read_line(STDIN_FILENO, password, sizeof(password)))
		rc = err_set(err, RC_INVALID,
		    "standard input holds no password, or too long a one");
	if (rc != RC_OK)
		return (rc);
	n = strlen(password);
	if (n < LIMIT_PASSWORD_MIN || n > LIMIT_PASSWORD_LEN)
		rc = err_set(err, RC_INVALID,
		    "a password has %d to %d bytes, this one has %zu",
		    LIMIT_PASSWORD_MIN, LIMIT_PASSWORD_LEN, n);
	else if (account_password_weak(
		     password, n, command->name, strlen(command->name)))
		rc = err_set(err, RC_INVALID,
		    "the password is the name, which is the first that is "
		    "tried");
	else
		rc = crypt_password_hash(
		    password, n, command->password_hash, err);
	crypt_wipe(password, sizeof(password));
	return (rc);
}

/* ---- the command ---- */

static int
show_usage(void)
{
	struct buf b = BUF_INIT;

	commands_write_usage("user ", &b);
	if (buf_ok(&b))
		(void)fwrite(b.data, 1, b.len, stderr);
	buf_fini(&b);
	return (EX_USAGE);
}

int
main_take_flag(int argc, char **argv, const char *flag, bool *ret)
{
	int i, n = 0;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], flag) == 0)
			*ret = true;
		else
			argv[n++] = argv[i];
	}
	return (n);
}

int
main_take_value(int argc, char **argv, const char *flag, const char **ret)
{
	size_t len = strlen(flag);
	int i, n = 0;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], flag) == 0)
			*ret = i + 1 < argc ? argv[++i] : "";
		else if (strncmp(argv[i], flag, len) == 0 &&
			 argv[i][len] == '=')
			*ret = argv[i] + len + 1;
		else
			argv[n++] = argv[i];
	}
	return (n);
}

/* Fills ${ret} from the operands; false: they are none. */
static bool
read_command(const struct config *config, struct users_command *ret)
{
	static const char *const names[] = {"add", "passwd", "disable"};
	int i;

	if (config->noperands != 2)
		return (false);
	for (i = 0; i < 3; i++)
		if (strcmp(config->operands[0], names[i]) == 0)
			break;
	if (i == 3)
		return (false);
	ret->op = (enum user_op)i;
	(void)snprintf(
	    ret->name, sizeof(ret->name), "%.32s", config->operands[1]);
	return (true);
}

/* Whether ${command} takes ${name}.  Users that exist may have names that a new
 * one may not. */
static bool
name_valid(const struct users_command *command, const char *name)
{

	return (command->op == USER_ADD ? model_name_fits(name, strlen(name))
					: model_name_valid(name, strlen(name)));
}

static enum rc
run(const struct config *config, const struct users_command *command,
    struct err *err)
{
	struct data data;
	enum rc rc;

	rc = data_open(config, &data, err);
	if (rc == RC_OK)
		rc = run_alone(&data, command, config, err);
	else if (rc == RC_BUSY)
		rc = control_call(&data, command, err);
	else
		return (rc);
	data_close(&data);
	return (rc);
}

int
users_main(int argc, char **argv)
{
	static const char *const done[] = {
	    "added", "has a new password", "disabled"};
	struct users_command command = {.admin = false};
	struct config config;
	struct err err = ERR_INIT;
	bool from_stdin = false;
	int code;

	argc = main_take_flag(argc, argv, "--admin", &command.admin);
	argc = main_take_flag(argc, argv, "--password-stdin", &from_stdin);
	if ((code = main_settings(argc, argv, &config)) >= 0)
		return (code);
	if (!read_command(&config, &command))
		return (show_usage());
	if (!name_valid(&command, config.operands[1]))
		return (
		    main_complain(EX_DATAERR, "\"%s\" is not a valid name: %s",
			config.operands[1], MODEL_NAME_RULE));
	log_set_level(LVL_WARN);
	if (crypt_init(&err) != RC_OK ||
	    (command.op != USER_DISABLE &&
		take_password(&command, from_stdin, &err) != RC_OK) ||
	    run(&config, &command, &err) != RC_OK)
		return (main_complain(rc_exit_code(err.rc), "%s", err.text));
	(void)printf("user %s %s%s\n", command.name, done[command.op],
	    command.admin && command.op == USER_ADD ? " as administrator" : "");
	return (EX_OK);
}
