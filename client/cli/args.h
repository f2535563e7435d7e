/* SPDX-License-Identifier: MIT */
/*
 * The command line.  One table of commands and their options is used to parse
 * the arguments and to print every --help.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "lib/fail.h"

struct cli;

/* An option.  A list of options ends with name NULL. */
struct option {
	const char *name;
	char letter;       /* '\0': no short form */
	const char *value; /* the name of the option's value in the help; NULL:
			      no value; with "..." at the end ("TEXT..."), the
			      option may be given several times */
	const char *help;
};

enum command_needs {
	NEEDS_NOTHING, /* no server either */
	NEEDS_SERVER,
	NEEDS_LOGIN,
	NEEDS_FLUSH /* a login; waiting messages go out first */
};

/* A command.  The table ends with name NULL.  Commands with names of two words
 * ("admin stats") follow an entry for their first word ("admin"), which is a
 * group and not a command: its run is NULL. */
struct command {
	const char *name;
	const char *operands; /* for the help: "NAME TEXT..." */
	const char *summary;  /* one line; "": not listed */
	const char *detail;   /* more lines, may be "" */
	const struct option *options;
	int least, most; /* number of operands; most -1: no limit */
	enum command_needs needs;
	enum rc (*run)(struct cli *cli, struct fail *fail);
};

#define ARGS_GIVEN_MAX 64

struct args {
	const struct command *command; /* NULL: none was given */
	const char **operands;
	int noperands;
	struct {
		const struct option *option;
		const char *value;
	} given[ARGS_GIVEN_MAX];
	int ngiven;
};

/* The options of every command. */
extern const struct option args_common[];

/* The options that are accepted only before a command or without one. */
extern const struct option args_alone[];

/* Parses ${argv}.  Up to ARGS_GIVEN_MAX options may stand among the other
 * words; more are a usage error.  The word "-" and all words after "--" are not
 * options.  The options of a command are accepted only after the whole name of
 * the command, and those of args_alone only before the first word of that name.
 * With --help or --version, the name of the command may be missing or
 * incomplete (ret->command is NULL or a group), and the number of operands is
 * not checked.  ${ret} borrows its texts from ${argv}.  Free ${ret} with
 * args_fini(), also on failure. */
enum rc args_parse(int argc, char **argv, const struct command *commands,
    struct args *ret, struct fail *fail) MUST_USE;

/* Frees the members of ${args}. */
void args_fini(struct args *args);

/* Returns true if --${name} was given. */
bool args_has(const struct args *args, const char *name);

/* Returns the value of --${name}, or NULL if the option was not given or takes
 * no value.  For a repeated option, returns the last value. */
const char *args_value(const struct args *args, const char *name);

/* Reads the value of --${name}, a whole number of at most 18 digits from
 * ${least} to ${most}.  Fails with kind USAGE if the value is not such a
 * number.  Leaves *ret unchanged on failure and, with RC_OK, if the option was
 * not given. */
enum rc args_integer(const struct args *args, const char *name, int64_t least,
    int64_t most, int64_t *ret, struct fail *fail) MUST_USE;

/* Sets *ret_ms to the value of --${name}, a duration ("90" or "90s", "5m",
 * "2h", "3d"), in milliseconds.  Fails with kind USAGE if the value is not a
 * duration.  Leaves *ret_ms unchanged on failure and, with RC_OK, if the option
 * was not given. */
enum rc args_duration(const struct args *args, const char *name,
    int64_t *ret_ms, struct fail *fail) MUST_USE;

/* Reads ${text} as a whole number of at most 18 digits from ${least} to
 * ${most}.  Returns false, and leaves *ret unchanged, if ${text} is not such a
 * number. */
bool args_number(const char *text, int64_t least, int64_t most, int64_t *ret);

/* Appends the help of ${command}, an entry of the table, to ${b}. */
void args_help(struct buf *b, const struct command *command);

/* Appends the list of ${commands} to ${b}. */
void args_overview(struct buf *b, const struct command *commands);

#endif
