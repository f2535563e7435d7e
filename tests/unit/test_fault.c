/* SPDX-License-Identifier: MIT */
/*
 * Fault points.  This program is built with them, whatever the build is.  Each
 * case runs in a child process, because the environment is read once.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clk.h"
#include "base/fault.h"

/* Runs ${fn} in a child with the fault list ${list}.  Returns the wait
 * status. */
static int
run_child(const char *list, void (*fn)(void))
{
	int status, null;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(null, STDERR_FILENO);
		if (list != NULL)
			(void)setenv("TWINBOX_FAULT", list, 1);
		else
			(void)unsetenv("TWINBOX_FAULT");
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (status);
}

/* Passes a.x three times.  Exits with 10 + the number of the pass that
 * failed. */
static void
pass_three_times(void)
{
	int i;

	for (i = 1; i <= 3; i++) {
		FAULT("other");
		if (FAULT_FAILS("a.x"))
			_exit(10 + i);
	}
}

static void
pass_and_sum(void)
{
	int i, sum = 0;

	for (i = 0; i < 4; i++)
		sum += FAULT_FAILS("a.x") ? 1 << i : 0;
	_exit(sum);
}

static void
assert_exits(int status, int code)
{

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
}

static void
test_fail(void **state)
{

	(void)state;
	assert_exits(run_child(NULL, pass_three_times), 0);
	assert_exits(run_child("", pass_three_times), 0);
	assert_exits(run_child("a.x:1:fail", pass_three_times), 11);
	assert_exits(run_child("a.x:3:fail", pass_three_times), 13);
	assert_exits(run_child("a.x:4:fail", pass_three_times), 0);
	assert_exits(run_child("a:1:fail,a.x.y:1:fail", pass_three_times), 0);
	assert_exits(run_child("a.x:2:fail", pass_and_sum), 2);
	assert_exits(
	    run_child("a.x:2:fail,b:1:kill,a.x:4:fail", pass_and_sum), 10);
}

static void
test_exit_and_kill(void **state)
{
	int status;

	(void)state;
	assert_exits(run_child("a.x:2:exit", pass_three_times), 99);
	assert_exits(run_child("a.x:9:exit", pass_three_times), 0);
	status = run_child("a.x:3:kill", pass_three_times);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void
test_delay(void **state)
{
	int64_t start;

	(void)state;
	start = clk_mono_ms(clk_system());
	assert_exits(run_child("a.x:2:delay=150", pass_three_times), 0);
	assert_in_range(clk_mono_ms(clk_system()) - start, 149, 10000);
}

static void
test_misspelt_lists(void **state)
{
	static const char *const lists[] = {"a.x", "a.x:1", "a.x:1:fial",
	    "a.x:0:fail", "a.x:-1:fail", "a.x:x:fail", "a.x::fail", ":1:fail",
	    "a.x:1:fail,", "a.x:1:fail,,b:1:kill", "a.x:1:delay",
	    "a.x:1:delay=", "a.x:1:delay=x", "a.x:1:fail:", "a.x:1:failx",
	    "a.x:9999999999:fail"};
	size_t i;

	(void)state;
	/* A comma at the end is allowed; the other lists are refused. */
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		int status = run_child(lists[i], pass_three_times);

		if (strcmp(lists[i], "a.x:1:fail,") == 0)
			assert_exits(status, 11);
		else
			assert_exits(status, 98);
	}
}

static void
pass_nothing(void)
{

	(void)FAULT_FAILS("nothing");
}

/* The longest name, the largest number and the largest count of faults are
 * accepted; one more is refused. */
static void
test_room(void **state)
{
	char list[1024], name[65];
	size_t len = 0;
	int i;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	(void)snprintf(list, sizeof(list), "%.63s:1:fail,a.x:1:fail", name);
	assert_exits(run_child(list, pass_three_times), 11);
	(void)snprintf(list, sizeof(list), "%.64s:1:fail,a.x:1:fail", name);
	assert_exits(run_child(list, pass_three_times), 98);
	assert_exits(run_child("a.x:999999999:fail", pass_three_times), 0);
	for (i = 0; i < 33; i++) {
		len += (size_t)snprintf(list + len, sizeof(list) - len,
		    "%sb.%d:1:fail", i > 0 ? "," : "", i);
		assert_exits(run_child(list, pass_nothing), i < 32 ? 0 : 98);
	}
}

static void
read_limit(void)
{

	_exit((int)fault_number("TWINBOX_TEST_NUMBER", 7, 90));
}

static void
test_number(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {{"1", 1}, {"89", 89}, {"90", 90}, {"91", 98}, {"0", 98},
	    {"", 98}, {"-1", 98}, {"x", 98}, {"9x", 98}, {"1234567890", 98}};
	size_t i;

	(void)state;
	assert_exits(run_child(NULL, read_limit), 7);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)setenv("TWINBOX_TEST_NUMBER", rows[i].text, 1);
		assert_exits(run_child(NULL, read_limit), rows[i].code);
	}
	(void)unsetenv("TWINBOX_TEST_NUMBER");
}

/* A trace that cannot be written ends the process.  Otherwise it would look as
 * if no point was passed. */
static void
test_no_trace(void **state)
{

	(void)state;
	(void)setenv("TWINBOX_FAULT_TRACE", "/nonexistent/trace", 1);
	assert_exits(run_child(NULL, pass_three_times), 98);
	(void)setenv("TWINBOX_FAULT_TRACE", "/dev/full", 1);
	assert_exits(run_child(NULL, pass_three_times), 98);
	(void)setenv("TWINBOX_FAULT_TRACE", "", 1);
	assert_exits(run_child(NULL, pass_three_times), 0);
	(void)unsetenv("TWINBOX_FAULT_TRACE");
}

static void
test_trace(void **state)
{
	char path[] = "/tmp/test_fault.XXXXXX", text[200];
	ssize_t n;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)setenv("TWINBOX_FAULT_TRACE", path, 1);
	assert_exits(run_child("a.x:2:exit", pass_three_times), 99);
	(void)unsetenv("TWINBOX_FAULT_TRACE");
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, "other\na.x\nother\na.x\n");
	(void)close(fd);
	(void)unlink(path);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fail),
	    cmocka_unit_test(test_exit_and_kill),
	    cmocka_unit_test(test_delay),
	    cmocka_unit_test(test_misspelt_lists),
	    cmocka_unit_test(test_room),
	    cmocka_unit_test(test_number),
	    cmocka_unit_test(test_no_trace),
	    cmocka_unit_test(test_trace),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
