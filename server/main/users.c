/* SPDX-License-Identifier: MIT */
/*
 * `twinboxd user add|passwd|disable|enable|promote|demote NAME`; add and passwd
 * read a password and hash it (users_list.c has `user list`).  Also has the
 * functions with which this and other commands take their own flags from the
 * arguments and print their usage.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <termios.h>
#include <unistd.h>

#include "base/rnd.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "log/log.h"
#include "main/commands.h"
#include "main/main_internal.h"
#include "model/message.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the password ---- */

/* Writes ${prompt} to the terminal ${fd} and reads a line.  Echo is off before
 * the prompt appears, and keys typed earlier are discarded, so that no password
 * is shown.  Keys such as Ctrl-C send no signal, but are read as characters; if
 * another process sends SIGINT, SIGTERM or SIGHUP, the terminal's settings are
 * restored before the process ends (interrupt_resets_terminal()).  Returns true
 * after Enter, with the line and a NUL in ${line}.  Returns false if ${fd} is
 * not a terminal, if echo cannot be switched off, or if terminal_read_line()
 * fails (after Ctrl-C, or if the line does not fit, say). */
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
	char again[LIMIT_PASSWORD_LEN + 2];
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
take_password(struct operation *o, bool from_stdin, struct err *err)
{
	const char *name = o->asked.user.name;
	char password[LIMIT_PASSWORD_LEN + 2];
	enum rc rc = RC_OK;
	size_t n;

	if (!from_stdin)
		rc = prompt_password(password, sizeof(password), err);
	else if (!terminal_read_plain(STDIN_FILENO, password, sizeof(password)))
		rc = err_set(err, RC_INVALID,
		    "no password can be read from standard input, or it has "
		    "more than %d bytes",
		    LIMIT_PASSWORD_LEN);
	if (rc != RC_OK) {
		crypt_wipe(password, sizeof(password));
		return (rc);
	}
	n = strlen(password);
	if (n < LIMIT_PASSWORD_MIN || n > LIMIT_PASSWORD_LEN)
		rc = err_set(err, RC_INVALID,
		    "a password has %d to %d bytes, this one has %zu",
		    LIMIT_PASSWORD_MIN, LIMIT_PASSWORD_LEN, n);
	else if (account_password_weak(password, n, name, strlen(name)))
		rc = err_set(err, RC_INVALID,
		    "the password is the name, which is the first that is "
		    "tried");
	else
		rc = crypt_password_hash(
		    password, n, o->asked.user.password_hash, err);
	crypt_wipe(password, sizeof(password));
	return (rc);
}

/* ---- the command ---- */

int
main_usage(const char *word)
{
	struct buf b = BUF_INIT;

	commands_write_usage(word, &b);
	if (buf_ok(&b))
		(void)fwrite(b.data, 1, b.len, stderr);
	buf_fini(&b);
	return (EX_USAGE);
}

static int
refuse_second(const char *flag)
{

	(void)main_complain(
	    EX_USAGE, "%s is given twice; leave one of them out", flag);
	return (-1);
}

int
main_take_flag(int argc, char **argv, const char *flag, bool *ret)
{
	int i, n = 0;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], flag) != 0)
			argv[n++] = argv[i];
		else if (*ret)
			return (refuse_second(flag));
		else
			*ret = true;
	}
	return (argc < 0 ? argc : n);
}

int
main_take_value(int argc, char **argv, const char *flag, const char **ret)
{
	size_t len = strlen(flag);
	const char *value;
	int i, n = 0;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], flag) == 0)
			value = i + 1 < argc ? argv[++i] : "";
		else if (strncmp(argv[i], flag, len) == 0 &&
			 argv[i][len] == '=')
			value = argv[i] + len + 1;
		else {
			argv[n++] = argv[i];
			continue;
		}
		if (*ret != NULL)
			return (refuse_second(flag));
		*ret = value;
	}
	return (argc < 0 ? argc : n);
}

/* `twinboxd user WORD NAME`. */
struct user_command {
	const char *word;
	enum operation_id id;
	bool takes_password;
	const char *done; /* printed after the user's name */
};

static const struct user_command user_commands[] = {
    {"add", OPERATION_USER_ADD, true, "added"},
    {"passwd", OPERATION_USER_PASSWD, true, "has a new password"},
    {"disable", OPERATION_USER_DISABLE, false, "disabled"},
    {"enable", OPERATION_USER_ENABLE, false, "enabled"},
    {"promote", OPERATION_USER_PROMOTE, false, "is an administrator"},
    {"demote", OPERATION_USER_DEMOTE, false, "is no longer an administrator"},
};

/* Returns the command that the operands name; NULL: none. */
static const struct user_command *
find_command(const struct config *config)
{
	size_t i;

	if (config->noperands != 2)
		return (NULL);
	for (i = 0; i < COUNT(user_commands); i++)
		if (strcmp(config->operands[0], user_commands[i].word) == 0)
			return (&user_commands[i]);
	return (NULL);
}

/* Returns whether ${name} is valid for ${o}.  Existing users may have names
 * that a new user may not have. */
static bool
name_valid(const struct operation *o, const char *name)
{

	return (o->id == OPERATION_USER_ADD
		    ? model_name_fits(name, strlen(name))
		    : model_name_valid(name, strlen(name)));
}

static void
print_done(const struct user_command *command, const struct operation *o)
{

	(void)printf("user %s %s%s\n", o->asked.user.name, command->done,
	    o->id == OPERATION_USER_ADD && o->asked.user.admin
		? " as administrator"
		: "");
	if (o->text[0] != '\0')
		(void)puts(o->text);
}

/* The flags of the user commands. */
struct user_flags {
	bool admin, from_stdin, json;
	const char *display_name; /* NULL: not given */
};

/* Takes the display name from the flags, by the same rule as POST /v1/users. */
static enum rc
take_display_name(
    struct operation *o, const struct user_flags *flags, struct err *err)
{
	const char *text = flags->display_name;
	size_t n, bad;

	if (text == NULL)
		return (RC_OK);
	if ((n = strlen(text)) < 1 || n > LIMIT_DISPLAY_NAME_LEN)
		return (err_set(err, RC_INVALID,
		    "a display name has 1 to %d bytes, this one has %zu",
		    LIMIT_DISPLAY_NAME_LEN, n));
	if (!utf8_line_valid(text, n, &bad))
		return (err_set(err, RC_INVALID,
		    "a display name is UTF-8 without control characters, line "
		    "breaks and characters that turn the direction of text; "
		    "look at byte %zu",
		    bad));
	memcpy(o->asked.user.display_name, text, n + 1);
	return (RC_OK);
}

/* Checks that the user to be added does not exist (else RC_EXISTS), before the
 * operator types a password in vain.  Returns RC_OK if the database cannot be
 * opened, or does not exist yet: the operation itself checks again.  Other
 * errors: as operation_user_new(). */
static enum rc
check_new(
    const struct operation *o, const struct config *config, struct err *err)
{
	struct db *db;
	enum rc rc;

	if (data_look(config, DB_READER, &db, err) != RC_OK) {
		*err = (struct err)ERR_INIT;
		return (RC_OK);
	}
	rc = operation_user_new(o, db, err);
	db_close(db);
	return (rc);
}

static int
perform(const struct user_command *command, const struct user_flags *flags,
    const struct config *config)
{
	const char *name = config->operands[1];
	struct err err = ERR_INIT;
	struct operation o;
	int code = EX_OK;

	operation_init(&o, command->id);
	o.asked.user.admin = flags->admin;
	if (!name_valid(&o, name))
		return (main_complain(EX_DATAERR,
		    "\"%s\" is not a valid name: %s", name, MODEL_NAME_RULE));
	(void)snprintf(
	    o.asked.user.name, sizeof(o.asked.user.name), "%s", name);
	if (crypt_init(&err) == RC_OK &&
	    take_display_name(&o, flags, &err) == RC_OK &&
	    (o.id != OPERATION_USER_ADD ||
		check_new(&o, config, &err) == RC_OK) &&
	    (!command->takes_password ||
		take_password(&o, flags->from_stdin, &err) == RC_OK) &&
	    operation_perform(&o, config, &err) == RC_OK)
		print_done(command, &o);
	else
		code = main_complain(rc_exit_code(err.rc), "%s", err.text);
	operation_fini(&o);
	return (code);
}

/* Returns whether all given flags belong to ${command}. */
static bool
flags_fit(const struct user_command *command, const struct user_flags *flags)
{
	const bool adds = command->id == OPERATION_USER_ADD;

	return (!flags->json && (adds || !flags->admin) &&
		(adds || flags->display_name == NULL) &&
		(command->takes_password || !flags->from_stdin));
}

int
users_main(int argc, char **argv)
{
	struct user_flags flags = {.json = false};
	const struct user_command *command;
	struct config config;
	int code;

	argc = main_take_flag(argc, argv, "--admin", &flags.admin);
	argc =
	    main_take_flag(argc, argv, "--password-stdin", &flags.from_stdin);
	argc = main_take_flag(argc, argv, "--json", &flags.json);
	argc =
	    main_take_value(argc, argv, "--display-name", &flags.display_name);
	if ((code = main_settings(argc, argv, &config)) >= 0)
		return (code);
	log_set_level(LVL_WARN);
	if (config.noperands == 1 && strcmp(config.operands[0], "list") == 0 &&
	    !flags.admin && !flags.from_stdin && flags.display_name == NULL)
		return (users_list(&config, flags.json));
	command = find_command(&config);
	if (command == NULL || !flags_fit(command, &flags))
		return (main_usage("user "));
	return (perform(command, &flags, &config));
}
