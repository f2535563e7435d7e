/* SPDX-License-Identifier: MIT */
/*
 * The command line: how it is parsed, the errors for mistakes, and that the
 * help of every command in the table lists its options.
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

/* Parses the words of ${argv}, which ends with NULL. */
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
	char *few[] = WORDS((char[]){"chat"});
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
	assert_mistake(group, "missing argument: twinbox admin COMMAND");
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

/* Every command has the texts that --help prints, and --help prints all of
 * them. */
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
		/* A command for shell completion alone, which no help lists. */
		if (command->summary[0] == '\0') {
			assert_null(strstr(overview.data, command->name));
			continue;
		}
		/* A command of two words is in the help of the first word. */
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
		assert_non_null(strstr(help.data, "--profile PROFILE"));
		for (option = command->options;
		     option != NULL && option->name != NULL; option++) {
			(void)snprintf(
			    word, sizeof(word), "--%s", option->name);
			assert_non_null(strstr(help.data, word));
		}
		buf_reset(&help);
	}
	assert_int_equal(n, 34);
	buf_fini(&help);
	buf_fini(&overview);
}

/* A command of two words, with options before, between and after them. */
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

/* ---- with a small table of commands ---- */

static enum rc
run_nothing(struct cli *cli, struct fail *fail)
{

	(void)cli;
	(void)fail;
	return (RC_OK);
}

static const struct option small_options[] = {
    {"plain", 0, NULL, "no value"},
    {"two", 't', "N", "one line\nand another"},
    /* Summaries at 30, 31 and 32 columns. */
    {"abcdefghijklmnopqrst", 0, "U", "30"},
    {"abcdefghijklmnopqrsu", 'a', "UV", "31"},
    {"abcdefghijklmnopqrsv", 0, "UVW", "32\nmore"},
    {"many", 'm', "N...", "more than one"},
    {NULL, 0, NULL, NULL},
};

static const struct command small_commands[] = {
    {"first", "A [B]", "do it", "It is done\nhere.", small_options, 1, 2,
	NEEDS_NOTHING, run_nothing},
    {"group", "COMMAND", "several", "", NULL, 1, -1, NEEDS_NOTHING, NULL},
    {"group one", "", "the one", "", NULL, 0, 0, NEEDS_NOTHING, run_nothing},
    {"group other", "X...", "the other", "Of two.", NULL, 1, -1, NEEDS_NOTHING,
	run_nothing},
    {"groupie", "", "none of them", "", NULL, 0, 0, NEEDS_NOTHING, run_nothing},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, NEEDS_NOTHING, NULL},
};

#define COMMON                                                                 \
	"      --json                   one JSON object a line, for "          \
	"programs\n"                                                           \
	"      --server URL             the server (default: the one logged "  \
	"in at,\n"                                                             \
	"                               TWINBOX_SERVER, or "                   \
	"http://127.0.0.1:8080)\n"                                             \
	"  -p, --profile PROFILE        one of several accounts (or "          \
	"TWINBOX_PROFILE)\n"                                                   \
	"  -h, --help                   this text\n"

static void
test_small_help(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	args_help(&b, &small_commands[0]);
	buf_addc(&b, '\0');
	assert_string_equal(b.data,
	    "usage: twinbox first [options] A [B]\n\ndo it.\n\n"
	    "It is done\nhere.\n\noptions:\n"
	    "      --plain                  no value\n"
	    "  -t, --two N                  one line\n"
	    "                               and another\n"
	    "      --abcdefghijklmnopqrst U 30\n"
	    "  -a, --abcdefghijklmnopqrsu UV\n"
	    "                               31\n"
	    "      --abcdefghijklmnopqrsv UVW\n"
	    "                               32\n"
	    "                               more\n"
	    "  -m, --many N...              more than one\n" COMMON);
	buf_reset(&b);
	args_help(&b, &small_commands[1]);
	buf_addc(&b, '\0');
	assert_string_equal(b.data,
	    "usage: twinbox group COMMAND\n\nseveral.\n\ncommands:\n"
	    "  one            the one\n  other          the other\n\n"
	    "twinbox group COMMAND --help describes a command.\n\noptions:\n" COMMON);
	buf_reset(&b);
	args_help(&b, &small_commands[2]);
	buf_addc(&b, '\0');
	assert_string_equal(b.data,
	    "usage: twinbox group one\n\nthe one.\n\noptions:\n" COMMON);
	buf_reset(&b);
	args_overview(&b, small_commands);
	buf_addc(&b, '\0');
	assert_string_equal(b.data,
	    "usage: twinbox COMMAND [options] ...\n\ncommands:\n"
	    "  first          do it\n  group          several\n"
	    "  groupie        none of them\n\n"
	    "options of every command:\n" COMMON
	    "\noptions without a command:\n"
	    "  -V, --version                print the version, and those of "
	    "libraries\n\n"
	    "twinbox COMMAND --help describes a command.  Exit codes are those of "
	    "sysexits.h: 64 usage,\n65 data, 67 no such user, 69 no server, "
	    "75 try again, 77 not allowed.\n");
	buf_fini(&b);
}

/* Parses ${line}, words with a space between, with the small table.  Returns
 * the error as "what; cure", or "" if there is none. */
static const char *
read_line(const char *line, struct args *args)
{
	static char words[512], said[512];
	char *argv[80] = {(char[]){"twinbox"}}, *save = NULL;
	struct fail fail = FAIL_INIT;
	int argc = 1;

	(void)snprintf(words, sizeof(words), "%s", line);
	for (argv[argc] = strtok_r(words, " ", &save); argv[argc] != NULL;
	     argv[argc] = strtok_r(NULL, " ", &save))
		argc++;
	said[0] = '\0';
	if (args_parse(argc, argv, small_commands, args, &fail) != RC_OK) {
		(void)snprintf(
		    said, sizeof(said), "%s; %s", fail.what, fail.cure);
		assert_int_equal(fail.exit, EX_USAGE);
	}
	return (said);
}

/* The complete error text of each mistake. */
static void
test_small_mistakes(void **state)
{
	static const char *const table[][2] = {
	    {"first x", ""},
	    {"first x y", ""},
	    {"first - -m=5 --many=6 -m 7", ""},
	    {"first -- -t", ""},
	    {"group one", ""},
	    {"group other a b c", ""},
	    {"--help", ""},
	    {"-V", ""},
	    {"first -h", ""},
	    {"group --help", ""},
	    {"--json", "no command was given; see twinbox --help"},
	    {"first",
		"missing argument: twinbox first A [B]; see twinbox first "
		"--help"},
	    {"first x y z",
		"too many words: twinbox first A [B]; see twinbox first "
		"--help"},
	    {"group", "missing argument: twinbox group COMMAND; see twinbox "
		      "group --help"},
	    {"groupie x",
		"too many words: twinbox groupie ; see twinbox groupie "
		"--help"},
	    {"secon", "there is no command \"secon\"; see twinbox --help"},
	    {"one", "there is no command \"one\"; see twinbox --help"},
	    {"group on", "there is no command \"group on\"; see twinbox group "
			 "--help"},
	    {"group group",
		"there is no command \"group group\"; see twinbox group "
		"--help"},
	    {"first --plai", "there is no option --plai; see twinbox first "
			     "--help"},
	    {"first -x=1", "there is no option -x; see twinbox first --help"},
	    {"first --version",
		"there is no option --version; see twinbox first --help"},
	    {"--two", "there is no option --two; see twinbox --help"},
	    {"first --plain=1",
		"--plain takes no value; see twinbox first --help"},
	    {"first -t", "-t needs a value: N; see twinbox first --help"},
	    {"first - -t=5 --two 5",
		"--two is given twice; leave one of them out; see twinbox first "
		"--help"},
	    {"--json first - --json",
		"--json is given twice; leave one of them out; see twinbox "
		"first --help"},
	    {"-p a first - --profile=a",
		"--profile is given twice; leave one of them out; see twinbox "
		"first --help"},
	};
	struct args args;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_string_equal(read_line(table[i][0], &args), table[i][1]);
		args_fini(&args);
	}
	assert_string_equal(read_line("first - -m=5 --many=6 -m 7", &args), "");
	assert_int_equal(args.noperands, 1);
	assert_string_equal(args.operands[0], "-");
	assert_string_equal(args_value(&args, "many"), "7");
	assert_false(args_has(&args, "plain"));
	args_fini(&args);
}

/* The largest number of options, and one more. */
static void
test_many_options(void **state)
{
	struct buf b = BUF_INIT;
	struct args args;
	int i;

	(void)state;
	buf_adds(&b, "first x");
	for (i = 0; i < ARGS_GIVEN_MAX; i++)
		buf_adds(&b, " -m=1");
	buf_addc(&b, '\0');
	assert_string_equal(read_line(b.data, &args), "");
	assert_int_equal(args.ngiven, ARGS_GIVEN_MAX);
	args_fini(&args);
	b.len--;
	buf_adds(&b, " -m=1");
	buf_addc(&b, '\0');
	assert_string_equal(
	    read_line(b.data, &args), "too many options; see twinbox --help");
	args_fini(&args);
	buf_fini(&b);
}

static void
test_limits(void **state)
{
	struct args args;
	struct fail fail = FAIL_INIT;
	int64_t n = -1;

	(void)state;
	assert_true(args_number("999999999999999999", 0, INT64_MAX, &n));
	assert_int_equal(n, INT64_C(999999999999999999));
	assert_false(args_number("1000000000000000000", 0, INT64_MAX, &n));
	assert_true(args_number("5", 5, 9, &n) && n == 5);
	assert_true(args_number("9", 5, 9, &n) && n == 9);
	assert_false(args_number("4", 5, 9, &n));
	assert_false(args_number("10", 5, 9, &n));
	assert_false(args_number("6/", 5, 9, &n));
	assert_false(args_number("6:", 5, 9, &n));
	assert_true(args_number("0", 0, 0, &n) && n == 0);
	assert_string_equal(read_line("first x -t a\033", &args), "");
	n = 3;
	assert_int_equal(
	    args_integer(&args, "two", -1, INT64_MAX, &n, &fail), RC_INVALID);
	assert_string_equal(
	    fail.what, "--two takes a whole number from -1, not \"a\\x1b\"");
	assert_string_equal(fail.cure, "see twinbox first --help");
	assert_int_equal(
	    args_integer(&args, "two", -1, 7, &n, &fail), RC_INVALID);
	assert_string_equal(fail.what,
	    "--two takes a whole number from -1 to 7, not \"a\\x1b\"");
	assert_int_equal(args_duration(&args, "two", &n, &fail), RC_INVALID);
	assert_string_equal(fail.what,
	    "--two takes a time such as 30s, 5m, 2h or 3d, not \"a\\x1b\"");
	/* An option that is not given leaves the value as it is. */
	assert_int_equal(args_integer(&args, "plain", 0, 1, &n, &fail), RC_OK);
	assert_int_equal(args_duration(&args, "plain", &n, &fail), RC_OK);
	assert_int_equal(n, 3);
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
	    cmocka_unit_test(test_small_help),
	    cmocka_unit_test(test_small_mistakes),
	    cmocka_unit_test(test_many_options),
	    cmocka_unit_test(test_limits),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
