/* SPDX-License-Identifier: MIT */
/*
 * The table of subcommands. --help, the manual page and the completions are
 * made from it and from the table of settings. main.c maps the first word of
 * each command to a function.  The command `routes`, which is for tests, is not
 * in the table.
 */
#ifndef MAIN_COMMANDS_H
#define MAIN_COMMANDS_H

#include <stdbool.h>

#include "base/buf.h"

/* A flag of a subcommand, or one that is given instead of a subcommand
 * (main_options).  Settings are given as flags, too, but are in another table
 * (config/config.h).  A list of flags ends with name NULL. */
struct main_option {
	const char *name;
	char letter; /* '\0': none */
	const char *help;
	const char *value; /* its argument; NULL: none */
};

/* A subcommand.  The list of commands ends with words NULL. */
struct main_command {
	const char *words;                 /* "user add" */
	const char *operands;              /* "NAME", may be "" */
	const struct main_option *options; /* NULL: none */
	bool settings;                     /* accepts settings */
	const char *summary; /* a sentence without its full stop */
};

extern const struct main_command main_commands[];

/* Flags that are given instead of a subcommand.  The list ends with name
 * NULL. */
extern const struct main_option main_options[];

/* Appends to ${out}, for --help, the usage line, all commands of main_commands,
 * and their flags and those of main_options, each name once.  The caller
 * appends the settings. */
void commands_write_help(struct buf *out);

/* Appends the usage line of each command that begins with ${word}. */
void commands_write_usage(const char *word, struct buf *out);

#endif
