/* SPDX-License-Identifier: MIT */
/*
 * The command line: one table of commands with their options, from which
 * arguments are read and every --help is printed.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "lib/fail.h"

struct cli;

/* An option.  Lists of them end with name NULL. */
struct option {
	const char *name;
	char letter;       /* '\0': none */
	const char *value; /* what to call its value; NULL: it takes none;
			      "TEXT...": the option may be given repeatedly */
	const char *help;
};

enum command_needs {
	NEEDS_NOTHING, /* not even a server */
	NEEDS_SERVER,
	NEEDS_LOGIN,
	NEEDS_FLUSH /* a login, and what waits here goes out first */
};

/* A command.  The list of them ends with name NULL.  A name of two words
 * ("admin stats") stands, like its fellows, behind the one whose name is the
 * first of them, which does nothing by itself: its run is NULL. */
struct command {
	const char *name;
	const char *operands; /* "NAME TEXT..." */
	const char *summary;  /* one line; "": it is not listed */
	const char *detail;   /* more lines, may be "" */
	const struct option *options;
	int least, most; /* operands; most -1: any number */
	enum command_needs needs;
	enum rc (*run)(struct cli *cli, struct fail *fail);
};

#define ARGS_GIVEN_MAX 64

struct args {
	const struct command *command; /* NULL: none was named */
	const char **operands;
	int noperands;
	struct {
		const struct option *option;
		const char *value;
	} given[ARGS_GIVEN_MAX];
	int ngiven;
};

/* Options of every command. */
extern const struct option args_common[];

/* Options that stand without a command. */
extern const struct option args_alone[];

/* Reads ${argv}; options may stand anywhere until "--".  What is read borrows
 * from ${argv}.  --help and --version need no operands. */
enum rc args_parse(int argc, char **argv, const struct command *commands,
    struct args *ret, struct fail *fail) MUST_USE;

/* Frees what ${args} holds. */
void args_fini(struct args *args);

/* Whether --${name} was given. */
bool args_has(const struct args *args, const char *name);

/* The value of --${name} (the last one of an option that repeats), NULL if it
 * was not given. */
const char *args_value(const struct args *args, const char *name);

/* The value of --${name} as a whole number from ${least} to ${most}; *ret
 * stays as it is if it was not given. */
enum rc args_integer(const struct args *args, const char *name, int64_t least,
    int64_t most, int64_t *ret, struct fail *fail) MUST_USE;

/* The value of --${name} as a duration ("90", "30s", "5m", "2h", "3d") in
 * milliseconds; *ret stays as it is if it was not given. */
enum rc args_duration(const struct args *args, const char *name,
    int64_t *ret_ms, struct fail *fail) MUST_USE;

/* Reads ${text} as a whole number between ${least} and ${most}. */
bool args_number(const char *text, int64_t least, int64_t most, int64_t *ret);

/* Appends the help of ${command}, which is one of the table, to ${b}. */
void args_help(struct buf *b, const struct command *command);

/* Appends the list of ${commands} to ${b}. */
void args_overview(struct buf *b, const struct command *commands);

#endif
