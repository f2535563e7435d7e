/* SPDX-License-Identifier: MIT */
/*
 * Threads: each has its role and name, none receives signals, and a start that
 * fails leaves nothing behind.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"

struct seen {
	enum thr_role role;
	char name[32];
	char kernel_name[32];
	sigset_t mask;
};

static void
look(void *arg)
{
	struct seen *seen = arg;

	seen->role = thr_self();
	(void)snprintf(seen->name, sizeof(seen->name), "%s", thr_self_name());
	(void)pthread_getname_np(
	    pthread_self(), seen->kernel_name, sizeof(seen->kernel_name));
	(void)pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
}

static struct seen
look_in(enum thr_role role, int index)
{
	struct err err = ERR_INIT;
	struct thr *thr = NULL;
	struct seen seen;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(
	    thr_start(role, index, look, &seen, &thr, &err), RC_OK);
	assert_non_null(thr);
	thr_join(&thr);
	assert_null(thr);
	return (seen);
}

static void
test_names_and_roles(void **state)
{
	struct seen seen;

	(void)state;
	seen = look_in(THR_WRITER, 0);
	assert_int_equal(seen.role, THR_WRITER);
	assert_string_equal(seen.name, "writer");
	assert_string_equal(seen.kernel_name, "writer");
	seen = look_in(THR_HTTP, 1);
	assert_int_equal(seen.role, THR_HTTP);
	assert_string_equal(seen.name, "http1");
	seen = look_in(THR_UPKEEP, 123456789);
	assert_string_equal(seen.name, "upkeep456789");
}

static void
test_signals_are_blocked(void **state)
{
	static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD,
	    SIGUSR1, SIGALRM, SIGQUIT};
	static const int open[] = {SIGSEGV, SIGABRT, SIGTSTP};
	sigset_t before, after;
	struct seen seen;
	size_t i;

	(void)state;
	(void)sigemptyset(&before);
	(void)sigaddset(&before, SIGUSR2);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	seen = look_in(THR_PUSH, 0);
	for (i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++)
		assert_int_equal(sigismember(&seen.mask, blocked[i]), 1);
	for (i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		assert_int_equal(sigismember(&seen.mask, open[i]), 0);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (i = 1; i < 32; i++)
		assert_int_equal(
		    sigismember(&before, (int)i), sigismember(&after, (int)i));
}

static void
test_main(void **state)
{
	sigset_t before, now;

	(void)state;
	assert_int_equal(thr_self(), THR_OTHER);
	assert_string_equal(thr_self_name(), "other");
	(void)pthread_sigmask(SIG_BLOCK, NULL, &before);
	thr_init_main();
	thr_assert(THR_MAIN);
	assert_string_equal(thr_self_name(), "main");
	(void)pthread_sigmask(SIG_SETMASK, &before, &now);
	assert_int_equal(sigismember(&now, SIGTERM), 1);
	assert_int_equal(sigismember(&now, SIGPIPE), 1);
}

static void
test_no_memory(void **state)
{
	struct err err = ERR_INIT;
	struct thr *thr = NULL;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(
	    thr_start(THR_OTHER, 0, look, NULL, &thr, &err), RC_NO_MEMORY);
	assert_false(mem_fail_pending());
	assert_int_equal(err.rc, RC_NO_MEMORY);
	assert_null(thr);
	thr_join(&thr);
}

/* The system refuses a thread, because its stack would be too large.  There are
 * several tries, because the leak checker may still see the last one. */
static void
test_refused(void **state)
{
	struct err err = ERR_INIT;
	struct thr *thr = NULL;
	pthread_attr_t before, huge;
	sigset_t mask, after;
	enum rc rc;
	int i;

	(void)state;
	assert_int_equal(pthread_getattr_default_np(&before), 0);
	assert_int_equal(pthread_attr_init(&huge), 0);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	for (i = 0, rc = RC_NO_MEMORY; i < 10 && rc == RC_NO_MEMORY; i++)
		rc = thr_start(THR_WRITER, 0, look, NULL, &thr, &err);
	assert_int_equal(pthread_setattr_default_np(&before), 0);
	assert_int_equal(rc, RC_NO_MEMORY);
	assert_int_equal(err.rc, RC_NO_MEMORY);
	assert_non_null(strstr(err.text, "cannot start thread writer"));
	assert_null(thr);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (i = 1; i < 32; i++)
		assert_int_equal(sigismember(&mask, i), sigismember(&after, i));
	(void)pthread_attr_destroy(&huge);
	(void)pthread_attr_destroy(&before);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_main),
	    cmocka_unit_test(test_names_and_roles),
	    cmocka_unit_test(test_signals_are_blocked),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_refused),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
