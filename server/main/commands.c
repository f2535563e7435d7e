/* SPDX-License-Identifier: MIT */
/*
 * The table of subcommands and the help that is made from it.
 */
#include "main/commands.h"

#include <string.h>

#define END                                                                    \
	{                                                                      \
		NULL, 0, NULL, NULL                                            \
	}

#define PASSWORD_OPTION                                                        \
	{                                                                      \
		"password-stdin", 0,                                           \
		    "Read the password from the first line of standard input", \
		    NULL                                                       \
	}

static const struct main_option add_options[] = {
    {"admin", 0, "Make an administrator", NULL},
    {"display-name", 0, "The name that others see beside the account name",
	"TEXT"},
    PASSWORD_OPTION,
    END,
};

static const struct main_option fsck_options[] = {
    {"with-peer", 0,
	"Compare with the database of another server as well: a copy of its "
	"file, or a URL",
	"FILE"},
    {"peer-domain", 0, "The domain of that server", "DOMAIN"},
    END,
};

static const struct main_option restore_options[] = {
    {"replace", 0, "Keep the database that is there under another name", NULL},
    END,
};

static const struct main_option copy_options[] = {
    {"from", 0, "The database to copy; without it that of the settings", "URL"},
    {"to", 0, "The empty database that it is copied into", "URL"},
    END,
};

static const struct main_option list_options[] = {
    {"json", 0, "Print a JSON object for each, a line each", NULL},
    END,
};

static const struct main_option passwd_options[] = {
    PASSWORD_OPTION,
    END,
};

static const struct main_option retire_options[] = {
    {"now", 0, "Retire the key at once, since it was stolen", NULL},
    END,
};

const struct main_option main_options[] = {
    {"help", 'h', "Print this text", NULL},
    {"version", 0, "Print the version, and those of the libraries", NULL},
    END,
};

const struct main_command main_commands[] = {
    {"serve", "", NULL, true,
	"Serve until SIGTERM or SIGINT; what is done without a command"},
    {"check-config", "", NULL, true,
	"Print every setting, its value and where that came from"},
    {"sample-config", "", NULL, false,
	"Print a file with every setting, its meaning and its default"},
    {"migrate", "", NULL, true, "Bring the database up to date"},
    {"fsck", "", fsck_options, true,
	"Prove that the database is whole; also while it serves"},
    {"backup", "FILE", NULL, true,
	"Copy the database and prove the copy; also while it serves"},
    {"restore", "FILE", restore_options, true,
	"Begin again with a copy that backup has made"},
    {"copy", "", copy_options, true,
	"Copy all into an empty database, between SQLite and PostgreSQL"},
    {"check-federation", "DOMAIN", NULL, true,
	"Try each step of the way to another server; also while it serves"},
    {"user list", "", list_options, true,
	"List the users of this server; also while it serves"},
    {"user add", "NAME", add_options, true,
	"Make a user; the password is asked for"},
    {"user passwd", "NAME", passwd_options, true,
	"Change a user's password and end the user's sessions"},
    {"user disable", "NAME", NULL, true,
	"Lock a user out and end the user's sessions"},
    {"user enable", "NAME", NULL, true,
	"Let a user who was disabled log in again"},
    {"user promote", "NAME", NULL, true, "Make a user an administrator"},
    {"user demote", "NAME", NULL, true,
	"Take the rights of an administrator from a user, at once"},
    {"keys list", "", NULL, true,
	"List the keys that this server signs with; also while it serves"},
    {"keys rotate", "", NULL, true,
	"Make a new key, which signs in an hour; the others leave a day later"},
    {"keys retire", "KEY-ID", retire_options, true,
	"Take a key out of the document of this server, in a day"},
    {NULL, NULL, NULL, false, NULL},
};

/* Appends the words, operands and flags of ${command}. */
static void
write_call(const struct main_command *command, struct buf *out)
{
	const struct main_option *option = command->options;

	buf_adds(out, command->words);
	if (command->operands[0] != '\0') {
		buf_addc(out, ' ');
		buf_adds(out, command->operands);
	}
	for (; option != NULL && option->name != NULL; option++)
		buf_addf(out, " [--%s%s%s]", option->name,
		    option->value != NULL ? " " : "",
		    option->value != NULL ? option->value : "");
	if (command->settings)
		buf_adds(out, " [SETTING...]");
}

void
commands_write_usage(const char *word, struct buf *out)
{
	const struct main_command *command;
	const char *lead = "usage:";
	size_t n = strlen(word);

	for (command = main_commands; command->words != NULL; command++) {
		if (strncmp(command->words, word, n) != 0)
			continue;
		buf_addf(out, "%-6s twinboxd ", lead);
		write_call(command, out);
		buf_addc(out, '\n');
		lead = "";
	}
}

/* Returns whether an earlier command has the flag of ${option}, too. */
static bool
is_repeated(
    const struct main_command *command, const struct main_option *option)
{
	const struct main_command *c;
	const struct main_option *o;

	for (c = main_commands; c < command; c++)
		for (o = c->options; o != NULL && o->name != NULL; o++)
			if (strcmp(o->name, option->name) == 0)
				return (true);
	return (false);
}

static void
write_option(const struct main_option *option, struct buf *out)
{

	buf_adds(out, "  ");
	if (option->letter != '\0')
		buf_addf(out, "-%c, ", option->letter);
	buf_addf(out, "--%s%s%s\n      %s.\n", option->name,
	    option->value != NULL ? " " : "",
	    option->value != NULL ? option->value : "", option->help);
}

void
commands_write_help(struct buf *out)
{
	const struct main_command *command;
	const struct main_option *option;

	buf_adds(out, "usage: twinboxd [COMMAND] [SETTING...]\n\nCommands:\n");
	for (command = main_commands; command->words != NULL; command++) {
		buf_adds(out, "  ");
		write_call(command, out);
		buf_addf(out, "\n      %s.\n", command->summary);
	}
	buf_adds(out, "\nFlags:\n");
	for (option = main_options; option->name != NULL; option++)
		write_option(option, out);
	for (command = main_commands; command->words != NULL; command++) {
		option = command->options;
		for (; option != NULL && option->name != NULL; option++)
			if (!is_repeated(command, option))
				write_option(option, out);
	}
	buf_addc(out, '\n');
}
