/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line and composes the help texts.  This file defines the
 * options that every command has (args_common) and those that are accepted only
 * before the name of a command or without one (args_alone).
 */
#include "cli/args.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "lib/safe.h"
#include "model/message.h"

const struct option args_common[] = {
    {"json", 0, NULL, "one JSON object a line, for programs"},
    {"server", 0, "URL",
	"the server (default: the one logged in at,\n"
	"TWINBOX_SERVER, or http://127.0.0.1:8080)"},
    {"profile", 'p', "PROFILE", "one of several accounts (or TWINBOX_PROFILE)"},
    {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

const struct option args_alone[] = {
    {"version", 'V', NULL, "print the version, and those of libraries"},
    {NULL, 0, NULL, NULL},
};

/* Returns the option in ${list} (NULL: no options) that the first ${n} bytes of
 * ${arg} are: "--" and the option's whole name, or "-" and its letter.  Returns
 * NULL if there is none. */
static const struct option *
find_in(const struct option *list, const char *arg, size_t n)
{

	for (; list != NULL && list->name != NULL; list++) {
		if (n > 2 && arg[0] == '-' && arg[1] == '-' &&
		    strlen(list->name) == n - 2 &&
		    memcmp(list->name, arg + 2, n - 2) == 0)
			return (list);
		if (n == 2 && list->letter != '\0' && arg[0] == '-' &&
		    arg[1] == list->letter)
			return (list);
	}
	return (NULL);
}

/* Returns the option of ${command} that ${arg} of ${n} bytes names, or NULL. */
static const struct option *
find_option(const struct command *command, const char *arg, size_t n)
{
	const struct option *option = find_in(args_common, arg, n);

	if (option == NULL && command != NULL)
		option = find_in(command->options, arg, n);
	if (option == NULL && command == NULL)
		option = find_in(args_alone, arg, n);
	return (option);
}

static bool
may_repeat(const struct option *option)
{
	const char *value = option->value;
	size_t n = value != NULL ? strlen(value) : 0;

	return (n > 3 && strcmp(value + n - 3, "...") == 0);
}

/* Sets the cure of a usage error: the help that has the correct form. */
static enum rc
mistake(struct fail *fail, const struct command *command)
{

	return (fail_cure(fail, "see twinbox %s%s--help",
	    command != NULL ? command->name : "", command != NULL ? " " : ""));
}

/* Returns true if ${value} may be the value of ${option}, which takes one.  If
 * the help calls the value FILE, any bytes are valid.  Any other value must be
 * UTF-8, because JSON cannot hold other bytes. */
static bool
is_text(const struct option *option, const char *value)
{

	return (strcmp(option->value, "FILE") == 0 ||
		utf8_valid(value, strlen(value), NULL));
}

/* Reads the option at ${argv}[${i}] and adds it to ret->given.  Returns the
 * number of elements of ${argv} that the option and its value take (1 or 2), or
 * 0 on a usage error, which is then set in ${fail}. */
static int
read_option(char **argv, int i, struct args *ret, struct fail *fail)
{
	const char *arg = argv[i];
	const char *equals = strchr(arg, '=');
	size_t n = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
	const struct option *option = find_option(ret->command, arg, n);
	const char *value;
	char safe[80];

	safe_line(arg, n, safe, sizeof(safe));
	if (option == NULL) {
		(void)fail_set(fail, FAIL_USAGE, "there is no option %s", safe);
		(void)mistake(fail, ret->command);
		return (0);
	}
	if (ret->ngiven == ARGS_GIVEN_MAX) {
		(void)fail_set(fail, FAIL_USAGE, "too many options");
		return (0);
	}
	if (option->value == NULL && equals != NULL) {
		(void)fail_set(fail, FAIL_USAGE, "%s takes no value", safe);
		(void)mistake(fail, ret->command);
		return (0);
	}
	if (!may_repeat(option) && args_has(ret, option->name)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "--%s is given twice; leave one of them out", option->name);
		(void)mistake(fail, ret->command);
		return (0);
	}
	ret->given[ret->ngiven].option = option;
	if (option->value == NULL) {
		ret->ngiven++;
		return (1);
	}
	if (equals == NULL && argv[i + 1] == NULL) {
		(void)fail_set(fail, FAIL_USAGE, "%s needs a value: %s", safe,
		    option->value);
		(void)mistake(fail, ret->command);
		return (0);
	}
	value = equals != NULL ? equals + 1 : argv[i + 1];
	if (!is_text(option, value)) {
		(void)fail_set(fail, FAIL_USAGE,
		    "the value of --%s is not in UTF-8", option->name);
		(void)mistake(fail, ret->command);
		return (0);
	}
	ret->given[ret->ngiven++].value = value;
	return (equals != NULL ? 1 : 2);
}

/* Checks the number of operands. */
static enum rc
check_operands(const struct args *args, struct fail *fail)
{
	const struct command *c = args->command;

	if (args_has(args, "help") || args_has(args, "version"))
		return (RC_OK);
	if (c == NULL) {
		(void)fail_set(fail, FAIL_USAGE, "no command was given");
		return (mistake(fail, NULL));
	}
	if (args->noperands < c->least)
		(void)fail_set(fail, FAIL_USAGE,
		    "missing argument: "
		    "twinbox %s %s",
		    c->name, c->operands);
	else if (c->most >= 0 && args->noperands > c->most)
		(void)fail_set(fail, FAIL_USAGE,
		    "too many words: twinbox %s %s", c->name, c->operands);
	else
		return (RC_OK);
	return (mistake(fail, c));
}

/* Returns the part of the name of ${command} after its first word if that first
 * word is the name of ${group}.  Returns NULL for any other command, for
 * ${group} itself and for the end of the table. */
static const char *
word_in(const struct command *group, const struct command *command)
{
	size_t n = strlen(group->name);

	if (group == command || command->name == NULL ||
	    strncmp(command->name, group->name, n) != 0 ||
	    command->name[n] != ' ')
		return (NULL);
	return (command->name + n + 1);
}

/* Returns the entry of ${commands}, a command or a group, whose name is
 * ${word}, or NULL.  If ${group} is not NULL, searches only the commands of
 * that group, and ${word} is the second word of the name. */
static const struct command *
find_command(const struct command *commands, const struct command *group,
    const char *word)
{
	const char *name;

	if (group != NULL)
		commands = group + 1;
	for (; commands->name != NULL; commands++) {
		name =
		    group != NULL ? word_in(group, commands) : commands->name;
		if (name != NULL && strcmp(name, word) == 0)
			return (commands);
	}
	return (NULL);
}

/* Handles ${word}, which is not an option: it is the next word of the command's
 * name until ret->command is a command and not a group, and after that an
 * operand.  Fails with kind USAGE if ${word} should name a command or group and
 * does not. */
static enum rc
read_word(const struct command *commands, const char *word, struct args *ret,
    struct fail *fail)
{
	const struct command *group = ret->command, *found;
	char safe[80];

	if (group != NULL && group->run != NULL) {
		ret->operands[ret->noperands++] = word;
		return (RC_OK);
	}
	found = find_command(commands, group, word);
	if (found != NULL) {
		ret->command = found;
		return (RC_OK);
	}
	safe_line(word, strlen(word), safe, sizeof(safe));
	(void)fail_set(fail, FAIL_USAGE, "there is no command \"%s%s%s\"",
	    group != NULL ? group->name : "", group != NULL ? " " : "", safe);
	return (mistake(fail, group));
}

enum rc
args_parse(int argc, char **argv, const struct command *commands,
    struct args *ret, struct fail *fail)
{
	bool only_operands = false;
	int i, took;

	memset(ret, 0, sizeof(*ret));
	ret->operands = mem_zalloc((size_t)argc + 1, sizeof(*ret->operands));
	if (ret->operands == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	for (i = 1; i < argc; i += took) {
		took = 1;
		if (!only_operands && strcmp(argv[i], "--") == 0)
			only_operands = true;
		else if (!only_operands && argv[i][0] == '-' &&
			 argv[i][1] != '\0') {
			took = read_option(argv, i, ret, fail);
			if (took == 0)
				return (fail->rc);
		} else if (read_word(commands, argv[i], ret, fail) != RC_OK)
			return (fail->rc);
	}
	return (check_operands(ret, fail));
}

void
args_fini(struct args *args)
{

	mem_free(args->operands);
	args->operands = NULL;
}

bool
args_has(const struct args *args, const char *name)
{
	int i;

	for (i = 0; i < args->ngiven; i++) {
		if (strcmp(args->given[i].option->name, name) == 0)
			return (true);
	}
	return (false);
}

const char *
args_value(const struct args *args, const char *name)
{
	const char *value = NULL;
	int i;

	for (i = 0; i < args->ngiven; i++) {
		if (strcmp(args->given[i].option->name, name) == 0)
			value = args->given[i].value;
	}
	return (value);
}

bool
args_number(const char *text, int64_t least, int64_t most, int64_t *ret)
{
	int64_t n = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9' && i < 18; i++)
		n = n * 10 + (text[i] - '0');
	if (i == 0 || text[i] != '\0' || n < least || n > most)
		return (false);
	*ret = n;
	return (true);
}

/* Fails because the value of --${name} is not ${wanted}. */
static enum rc
bad_value(const struct args *args, const char *name, const char *wanted,
    struct fail *fail)
{
	const char *value = args_value(args, name);
	char safe[80];

	assert(value != NULL);
	safe_line(value, strlen(value), safe, sizeof(safe));
	(void)fail_set(
	    fail, FAIL_USAGE, "--%s takes %s, not \"%s\"", name, wanted, safe);
	return (mistake(fail, args->command));
}

enum rc
args_integer(const struct args *args, const char *name, int64_t least,
    int64_t most, int64_t *ret, struct fail *fail)
{
	const char *value = args_value(args, name);
	char wanted[64];

	if (value == NULL || args_number(value, least, most, ret))
		return (RC_OK);
	if (most == INT64_MAX)
		(void)snprintf(wanted, sizeof(wanted),
		    "a whole number from %lld", (long long)least);
	else
		(void)snprintf(wanted, sizeof(wanted),
		    "a whole number from %lld to %lld", (long long)least,
		    (long long)most);
	return (bad_value(args, name, wanted, fail));
}

enum rc
args_duration(const struct args *args, const char *name, int64_t *ret_ms,
    struct fail *fail)
{
	const char *value = args_value(args, name);

	if (value == NULL || model_duration_parse(value, ret_ms))
		return (RC_OK);
	return (
	    bad_value(args, name, "a time such as 30s, 5m, 2h or 3d", fail));
}

#define HELP_COLUMN 31

/* Appends the help of ${option}: one line, or several. */
static void
help_option(struct buf *b, const struct option *option)
{
	const char *text = option->help;
	size_t from = b->len, n;

	buf_adds(b, "  ");
	if (option->letter != '\0')
		buf_addf(b, "-%c, ", option->letter);
	else
		buf_adds(b, "    ");
	buf_addf(b, "--%s%s%s", option->name, option->value != NULL ? " " : "",
	    option->value != NULL ? option->value : "");
	if (b->len - from >= HELP_COLUMN)
		buf_addf(b, "\n%*s", HELP_COLUMN, "");
	else
		buf_addf(b, "%*s", (int)(HELP_COLUMN - (b->len - from)), "");
	for (;;) {
		n = strcspn(text, "\n");
		buf_add(b, text, n);
		buf_addc(b, '\n');
		if (text[n] == '\0')
			break;
		text += n + 1;
		buf_addf(b, "%*s", HELP_COLUMN, "");
	}
}

/* Appends the list of the commands in ${group}. */
static void
help_group(struct buf *b, const struct command *group)
{
	const struct command *command;

	buf_addf(b, "\ncommands:\n");
	for (command = group + 1; word_in(group, command) != NULL; command++)
		buf_addf(b, "  %-14s %s\n", word_in(group, command),
		    command->summary);
	buf_addf(b, "\ntwinbox %s COMMAND --help describes a command.\n",
	    group->name);
}

void
args_help(struct buf *b, const struct command *command)
{
	const struct option *option;

	buf_addf(b, "usage: twinbox %s%s%s%s\n\n%s.\n", command->name,
	    command->options != NULL ? " [options]" : "",
	    command->operands[0] != '\0' ? " " : "", command->operands,
	    command->summary);
	if (command->detail[0] != '\0')
		buf_addf(b, "\n%s\n", command->detail);
	if (command->run == NULL)
		help_group(b, command);
	buf_adds(b, "\noptions:\n");
	for (option = command->options; option != NULL && option->name != NULL;
	     option++)
		help_option(b, option);
	for (option = args_common; option->name != NULL; option++)
		help_option(b, option);
}

void
args_overview(struct buf *b, const struct command *commands)
{
	const struct option *option;

	buf_adds(b, "usage: twinbox COMMAND [options] ...\n\ncommands:\n");
	for (; commands->name != NULL; commands++)
		if (strchr(commands->name, ' ') == NULL &&
		    commands->summary[0] != '\0')
			buf_addf(b, "  %-14s %s\n", commands->name,
			    commands->summary);
	buf_adds(b, "\noptions of every command:\n");
	for (option = args_common; option->name != NULL; option++)
		help_option(b, option);
	buf_adds(b, "\noptions without a command:\n");
	for (option = args_alone; option->name != NULL; option++)
		help_option(b, option);
	buf_adds(b,
	    "\ntwinbox COMMAND --help describes a command.  Exit codes are "
	    "those of sysexits.h: 64 usage,\n65 data, 67 no such user, "
	    "69 no server, 75 try again, 77 not allowed.\n");
}
