/* SPDX-License-Identifier: MIT */
/*
 * The table of subcommands: --help, the manual page and the completions are
 * made from it, as from the table of settings.  What runs them is in main.c.
 */
#ifndef MAIN_COMMANDS_H
#define MAIN_COMMANDS_H

#include <stdbool.h>

#include "base/buf.h"

/* A flag of its own, besides settings.  Lists of them end with name NULL. */
struct main_option {
	const char *name;
	char letter; /* '\0': none */
	const char *help;
	const char *value; /* what it takes; NULL: nothing */
};

/* The list of them ends with words NULL. */
struct main_command {
	const char *words;                 /* "user add" */
	const char *operands;              /* "NAME", may be "" */
	const struct main_option *options; /* NULL: none */
	bool settings;                     /* it takes them */
	const char *summary;               /* a sentence, without its stop */
};

extern const struct main_command main_commands[];

/* Flags instead of a subcommand. */
extern const struct main_option main_options[];

/* Appends how twinboxd is called, for --help; settings come after it. */
void commands_write_help(struct buf *out);

/* Appends the usage line of each command that begins with ${word}. */
void commands_write_usage(const char *word, struct buf *out);

#endif
