/* SPDX-License-Identifier: MIT */
/*
 * A program that only the build runs.  It prints the tables of commands, flags
 * and settings from which `twinboxd --help` is made, so that scripts can make
 * the manual pages and the completions.  Each row is one line, with tabs
 * between the fields; a field may be empty (this program leaves DETAIL empty in
 * each row).  WITH-SETTINGS is 1 if the command accepts settings, else 0.  A
 * row `alone` is a flag that is given instead of a command, a row `option` a
 * flag of the command WORDS:
 *
 *	program	NAME
 *	alone	FLAG LETTER VALUE HELP
 *	command	WORDS OPERANDS WITH-SETTINGS SUMMARY DETAIL
 *	option	WORDS FLAG LETTER VALUE HELP
 *	setting	NAME TYPE ARGUMENT DEFAULT LEAST MOST HELP
 */
#include <stdio.h>

#include "config/config.h"
#include "main/commands.h"

static void
print_setting(const char *name, const char *type, const char *argument,
    const char *value, int64_t least, int64_t most)
{

	(void)printf("setting\t%s\t%s\t%s\t%s\t%lld\t%lld\t", name, type,
	    argument, value, (long long)least, (long long)most);
}

static void
print_option(const char *words, const struct main_option *option)
{
	char letter[2] = {option->letter, '\0'};

	(void)printf("option\t%s\t%s\t%s\t%s\t%s\n", words, option->name,
	    letter, option->value != NULL ? option->value : "", option->help);
}

int
main(void)
{
	const struct main_command *command;
	const struct main_option *option;

	(void)puts("program\ttwinboxd");
	for (option = main_options; option->name != NULL; option++) {
		char letter[2] = {option->letter, '\0'};

		(void)printf("alone\t%s\t%s\t\t%s\n", option->name, letter,
		    option->help);
	}
	for (command = main_commands; command->words != NULL; command++) {
		(void)printf("command\t%s\t%s\t%d\t%s\t\n", command->words,
		    command->operands, command->settings, command->summary);
		option = command->options;
		for (; option != NULL && option->name != NULL; option++)
			print_option(command->words, option);
	}
	print_setting("config", "TEXT", "FILE", "", 0, 0);
	(void)puts("A file with lines \"name = value\"");
#define X(type, member, name, value, least, most, argument, help)              \
	print_setting(name, #type, argument, value, least, most);              \
	(void)puts(help);
	CONFIG_TABLE(X)
#undef X
	return (fflush(stdout) == 0 ? 0 : 1);
}
