/* SPDX-License-Identifier: MIT */
/*
 * Fault points.  Built with them whatever the program is built with.  Each
 * case is a child of its own, because the environment is read once.
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

/* Runs ${fn} in a child with the fault list ${list}; its wait status. */
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

/* Passes a.x three times; ends with 10 + the passage that failed. */
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
	/* A comma at the end is harmless, the rest is refused. */
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		int status = run_child(lists[i], pass_three_times);

		if (strcmp(lists[i], "a.x:1:fail,") == 0)
			assert_exits(status, 11);
		else
			assert_exits(status, 98);
	}
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
	    cmocka_unit_test(test_trace),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
