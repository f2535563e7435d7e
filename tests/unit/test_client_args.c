/* SPDX-License-Identifier: MIT */
/*
 * The command line: what is read from it, which mistakes are named, and that
 * the help of every command in the table tells its options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sysexits.h>

#include "cli/cli.h"

#define WORDS(...)                                                             \
	{                                                                      \
		(char[]){"twinbox"}, __VA_ARGS__, NULL                         \
	}

/* Reads the words of ${argv}, which ends with NULL. */
static enum rc
parse(char **argv, struct args *args, struct fail *fail)
{
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	return (args_parse(argc, argv, cli_commands, args, fail));
}

static void
test_options_anywhere(void **state)
{
	char *argv[] = WORDS((char[]){"--json"}, (char[]){"send"},
	    (char[]){"bob"}, (char[]){"--wait=read"}, (char[]){"hello"},
	    (char[]){"--timeout"}, (char[]){"2m"}, (char[]){"-p"},
	    (char[]){"work"}, (char[]){"--"}, (char[]){"--json"},
	    (char[]){"-"});
	struct args args;
	struct fail fail;
	int64_t ms = 0;

	(void)state;
	assert_int_equal(parse(argv, &args, &fail), RC_OK);
	assert_string_equal(args.command->name, "send");
	assert_int_equal(args.noperands, 4);
	assert_string_equal(args.operands[1], "hello");
	assert_string_equal(args.operands[2], "--json");
	assert_string_equal(args.operands[3], "-");
	assert_true(args_has(&args, "json"));
	assert_string_equal(args_value(&args, "wait"), "read");
	assert_string_equal(args_value(&args, "profile"), "work");
	assert_null(args_value(&args, "server"));
	assert_int_equal(args_duration(&args, "timeout", &ms, &fail), RC_OK);
	assert_int_equal(ms, 120000);
	args_fini(&args);
}

static void
assert_mistake(char **argv, const char *what)
{
	struct args args;
	struct fail fail;

	assert_int_equal(parse(argv, &args, &fail), RC_INVALID);
	assert_int_equal(fail.exit, EX_USAGE);
	assert_non_null(strstr(fail.what, what));
	assert_non_null(strstr(fail.cure, "--help"));
	args_fini(&args);
}

static void
test_mistakes(void **state)
{
	char *none[] = WORDS((char[]){"--json"});
	char *unknown[] = WORDS((char[]){"sned\033"}, (char[]){"x"});
	char *option[] = WORDS((char[]){"inbox"}, (char[]){"--id"});
	char *value[] = WORDS((char[]){"inbox"}, (char[]){"--after"});
	char *flag[] = WORDS((char[]){"inbox"}, (char[]){"--all=1"});
	char *few[] = WORDS((char[]){"ack"});
	char *many[] =
	    WORDS((char[]){"login"}, (char[]){"bob"}, (char[]){"secret"});
	char *early[] = WORDS((char[]){"--wait"}, (char[]){"read"});
	char *group[] = WORDS((char[]){"admin"});
	char *member[] = WORDS((char[]){"admin"}, (char[]){"stat"});
	char *alien[] = WORDS((char[]){"stats"});
	char *operands[] = WORDS((char[]){"admin"}, (char[]){"show"});

	(void)state;
	assert_mistake(none, "no command");
	assert_mistake(unknown, "no command \"sned\\x1b\"");
	assert_mistake(option, "no option --id");
	assert_mistake(value, "--after needs a value");
	assert_mistake(flag, "--all takes no value");
	assert_mistake(few, "missing");
	assert_mistake(many, "too many words");
	assert_mistake(early, "no option --wait");
	assert_mistake(group, "something is missing: twinbox admin COMMAND");
	assert_mistake(member, "no command \"admin stat\"");
	assert_mistake(alien, "no command \"stats\"");
	assert_mistake(operands, "twinbox admin show ID");
}

static void
test_numbers(void **state)
{
	char *argv[] = WORDS((char[]){"inbox"}, (char[]){"--after"},
	    (char[]){"12"}, (char[]){"--limit"}, (char[]){"201"},
	    (char[]){"--wait"}, (char[]){"soon"});
	struct args args;
	struct fail fail;
	int64_t n = -1;

	(void)state;
	assert_int_equal(parse(argv, &args, &fail), RC_OK);
	assert_int_equal(
	    args_integer(&args, "after", 0, INT64_MAX, &n, &fail), RC_OK);
	assert_int_equal(n, 12);
	assert_int_equal(
	    args_integer(&args, "limit", 1, 200, &n, &fail), RC_INVALID);
	assert_non_null(strstr(fail.what, "from 1 to 200"));
	assert_int_equal(n, 12);
	assert_int_equal(args_duration(&args, "wait", &n, &fail), RC_INVALID);
	args_fini(&args);
	assert_true(args_number("007", 0, 10, &n) && n == 7);
	assert_false(args_number("", 0, 10, &n));
	assert_false(args_number("-1", -5, 10, &n));
	assert_false(args_number("1x", 0, 10, &n));
	assert_false(args_number("99999999999999999999", 0, INT64_MAX, &n));
}

/* Every command has what --help prints, and all of it is printed. */
static void
test_help(void **state)
{
	const struct command *command, *group = NULL;
	const struct option *option;
	struct buf help = BUF_INIT, overview = BUF_INIT;
	char word[40];
	int n = 0;

	(void)state;
	args_overview(&overview, cli_commands);
	buf_addc(&overview, '\0');
	for (command = cli_commands; command->name != NULL; command++) {
		n++;
		/* One of two words is in the help of the first of them. */
		if (strchr(command->name, ' ') == NULL) {
			group = command;
			assert_non_null(strstr(overview.data, command->name));
			assert_non_null(
			    strstr(overview.data, command->summary));
		} else {
			assert_null(strstr(overview.data, command->name));
			args_help(&help, group);
			buf_addc(&help, '\0');
			assert_non_null(strstr(help.data, command->summary));
			buf_reset(&help);
		}
		args_help(&help, command);
		buf_addc(&help, '\0');
		assert_non_null(strstr(help.data, command->summary));
		assert_non_null(strstr(help.data, "--profile NAME"));
		for (option = command->options;
		     option != NULL && option->name != NULL; option++) {
			(void)snprintf(
			    word, sizeof(word), "--%s", option->name);
			assert_non_null(strstr(help.data, word));
		}
		buf_reset(&help);
	}
	assert_int_equal(n, 31);
	buf_fini(&help);
	buf_fini(&overview);
}

/* A command of two words, with options before, between and behind. */
static void
test_two_words(void **state)
{
	char *argv[] = WORDS((char[]){"--json"}, (char[]){"admin"},
	    (char[]){"--profile=work"}, (char[]){"rate"}, (char[]){"far"},
	    (char[]){"5"});
	struct args args;
	struct fail fail;

	(void)state;
	assert_int_equal(parse(argv, &args, &fail), RC_OK);
	assert_string_equal(args.command->name, "admin rate");
	assert_int_equal(args.noperands, 2);
	assert_string_equal(args.operands[0], "far");
	assert_true(args_has(&args, "json"));
	assert_string_equal(args_value(&args, "profile"), "work");
	args_fini(&args);
}

static void
test_help_needs_no_operands(void **state)
{
	char *argv[] = WORDS((char[]){"send"}, (char[]){"-h"});
	struct args args;
	struct fail fail;

	(void)state;
	assert_int_equal(parse(argv, &args, &fail), RC_OK);
	assert_true(args_has(&args, "help"));
	args_fini(&args);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_options_anywhere),
	    cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_help),
	    cmocka_unit_test(test_two_words),
	    cmocka_unit_test(test_help_needs_no_operands),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
