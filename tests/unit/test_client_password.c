/* SPDX-License-Identifier: MIT */
/*
 * Passwords from keys at a terminal, which does not echo them, and from
 * standard input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

/* Room for seven bytes and the final NUL. */
#define ROOM 8

/* Prompts for a password and writes the result to ${ret}: "=PASSWORD", or
 * "what; cure". */
static void
ask(bool input, bool twice, char *ret, size_t size)
{
	char *argv[] = {(char[]){"twinbox"}, (char[]){"login"}, (char[]){"ann"},
	    (char[]){"--password-stdin"}, NULL};
	struct fail why = FAIL_INIT;
	char password[ROOM];
	struct cli cli;

	memset(&cli, 0, sizeof(cli));
	if (args_parse(input ? 4 : 3, argv, cli_commands, &cli.args, &why) ==
		RC_OK &&
	    cli_password(&cli, "which? ", twice, password, sizeof(password),
		&why) == RC_OK)
		(void)snprintf(ret, size, "=%s", password);
	else
		(void)snprintf(ret, size, "%s; %s", why.what, why.cure);
	args_fini(&cli.args);
}

/* In a child process: prompts at its own terminal ${tty}, and writes the result
 * to ${out}. */
static void
child(const char *tty, int out, bool twice)
{
	char said[600];
	int fd;

	/* The child has a session of its own, where it does not get signals
	 * that are sent to the test's group, so it asks for SIGKILL when the
	 * test ends. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setsid() < 0 ||
	    (fd = open(tty, O_RDWR)) < 0)
		_exit(1);
	ask(false, twice, said, sizeof(said));
	if (write(out, said, strlen(said)) < 0)
		_exit(2);
	_exit(0);
}

/* Reads from ${fd} until ${shown} ends with ${text}. */
static void
wait_for(int fd, char *shown, size_t size, const char *text)
{
	size_t n = strlen(shown);
	ssize_t got;

	while (
	    n < strlen(text) || strcmp(shown + n - strlen(text), text) != 0) {
		got = read(fd, shown + n, size - 1 - n);
		assert_true(got > 0);
		n += (size_t)got;
		shown[n] = '\0';
	}
}

/* Types ${keys}, and then ${again} unless it is NULL.  The result must be
 * ${said}, and the terminal must have displayed the prompts alone. */
static void
assert_typed(const char *keys, const char *again, const char *said)
{
	char shown[300] = "", got[300] = "";
	int terminal, out[2], status;
	ssize_t n;
	pid_t pid;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(ptsname(terminal), out[1], again != NULL);
	(void)close(out[1]);
	wait_for(terminal, shown, sizeof(shown), "which? ");
	assert_int_equal(
	    write(terminal, keys, strlen(keys)), (ssize_t)strlen(keys));
	if (again != NULL) {
		wait_for(terminal, shown, sizeof(shown), "the same again: ");
		assert_string_equal(shown, "which? \r\nthe same again: ");
		assert_int_equal(write(terminal, again, strlen(again)),
		    (ssize_t)strlen(again));
	}
	n = read(out[0], got, sizeof(got) - 1);
	assert_true(n > 0);
	assert_string_equal(got, said);
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(terminal);
}

#define NONE "no password was given; type it and press Enter"
#define EMPTY "the password is empty; choose one of at least 8 characters"

static void
test_keys(void **state)
{
	static const char *const table[][2] = {
	    {"secret\r", "=secret"},
	    {"secret\n", "=secret"},
	    {"wrong\025b\r", "=b"},
	    {"a\xc3\xbc\177b\r", "=ab"},
	    {"ab\bc\r", "=ac"},
	    {"a\b\b\bc\r", "=c"},
	    {"a\004b\r", "=a\004b"},
	    {"\004", NONE},
	    {"a\003", NONE},
	    {"a\025\004", NONE},
	    {"\r", EMPTY},
	    {"1234567\r", "=1234567"},
	    {"12345678\r", NONE},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_typed(table[i][0], NULL, table[i][1]);
}

static void
test_twice(void **state)
{

	(void)state;
	assert_typed("secret\r", "secret\r", "=secret");
	assert_typed("secret\r", "secrex\r",
	    "the two passwords are not the same; try once more");
	assert_typed("secret\r", "\003", NONE);
}

/* Reads a password from standard input, which is ${input}; the result must be
 * ${said}. */
static void
assert_read(const char *input, const char *said)
{
	int fds[2], saved;
	char got[600];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(
	    write(fds[1], input, strlen(input)), (ssize_t)strlen(input));
	(void)close(fds[1]);
	saved = dup(STDIN_FILENO);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	ask(true, true, got, sizeof(got));
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	(void)close(saved);
	(void)close(fds[0]);
	assert_string_equal(got, said);
}

static void
test_input(void **state)
{

	(void)state;
	assert_read("secret\nmore\n", "=secret");
	assert_read("secret\r\n", "=secret");
	assert_read("secret", "=secret");
	assert_read("a\rb\r", "=a\rb");
	assert_read("a\003\025", "=a\003\025");
	assert_read("a\177", "=a\177");
	assert_read("", EMPTY);
	assert_read("\n", EMPTY);
	assert_read("\r\n", EMPTY);
	assert_read("1234567\n", "=1234567");
	assert_read(
	    "12345678\n", "no password could be read from standard input; ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_twice),
	    cmocka_unit_test(test_input),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
