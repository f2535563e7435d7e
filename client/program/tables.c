/* SPDX-License-Identifier: MIT */
/*
 * A program of the build: prints the tables that make `twinbox --help` as lines
 * of fields with tabs between, for the manual page and the completions:
 *
 *	program	NAME
 *	alone	FLAG LETTER VALUE HELP
 *	common	FLAG LETTER VALUE HELP
 *	command	NAME OPERANDS WITH-SETTINGS SUMMARY DETAIL
 *	option	COMMAND FLAG LETTER VALUE HELP
 *
 * An "alone" option is accepted only before a command or without one, a
 * "common" option with every command.  WITH-SETTINGS is 0, because only
 * twinboxd has settings.  Commands without a summary are left out, with their
 * options.
 */
#include <stdio.h>

#include "cli/cli.h"

/* Prints ${text} on one line. */
static void
print_text(const char *text)
{

	for (; *text != '\0'; text++)
		(void)putchar(*text == '\n' ? ' ' : *text);
}

static void
print_option(const struct option *option)
{
	char letter[2] = {option->letter, '\0'};

	(void)printf("%s\t%s\t%s\t", option->name, letter,
	    option->value != NULL ? option->value : "");
	print_text(option->help);
	(void)putchar('\n');
}

/* Prints each option of ${list} after ${head}. */
static void
print_options(const char *head, const struct option *list)
{

	for (; list != NULL && list->name != NULL; list++) {
		(void)fputs(head, stdout);
		print_option(list);
	}
}

int
main(void)
{
	const struct command *command;
	char head[80];

	(void)puts("program\ttwinbox");
	print_options("alone\t", args_alone);
	print_options("common\t", args_common);
	for (command = cli_commands; command->name != NULL; command++) {
		if (command->summary[0] == '\0')
			continue;
		(void)printf("command\t%s\t%s\t0\t%s\t", command->name,
		    command->operands, command->summary);
		print_text(command->detail);
		(void)putchar('\n');
		(void)snprintf(
		    head, sizeof(head), "option\t%s\t", command->name);
		print_options(head, command->options);
	}
	return (fflush(stdout) == 0 ? 0 : 1);
}
