/* SPDX-License-Identifier: MIT */
/*
 * Locks: their order, which an assertion enforces, and waits with a time-out.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/lock.h"
#include "base/thr.h"

static struct lock outer = LOCK_INIT(LOCK_RELAY);
static struct lock inner = LOCK_INIT(LOCK_MBOX);

/* Returns whether an assertion ends ${fn} in a child process. */
static bool
dies(void (*fn)(void))
{
	const struct rlimit none = {0, 0};
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		(void)close(STDERR_FILENO);
		fn();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
in_order(void)
{

	lock_take(&outer);
	lock_take(&inner);
	lock_drop(&outer);
	lock_drop(&inner);
	lock_take(&inner);
	lock_drop(&inner);
	lock_take(&outer);
	lock_drop(&outer);
}

static void
against_order(void)
{

	lock_take(&inner);
	lock_take(&outer);
}

static void
twice(void)
{
	struct lock same = LOCK_INIT(LOCK_MBOX);

	lock_take(&inner);
	lock_take(&same);
}

static void
not_held(void)
{

	lock_take(&outer);
	lock_drop(&inner);
}

/* A lock that was dropped may not be taken again below a later one. */
static void
after_a_drop(void)
{

	lock_take(&outer);
	lock_take(&inner);
	lock_drop(&outer);
	lock_take(&outer);
}

static void
test_order(void **state)
{

	(void)state;
	assert_false(dies(in_order));
#ifdef TWINBOX_FAULTS
	assert_true(dies(against_order));
	assert_true(dies(twice));
	assert_true(dies(not_held));
	assert_true(dies(after_a_drop));
#else
	(void)against_order;
	(void)twice;
	(void)not_held;
	(void)after_a_drop;
#endif
}

static void
hold(void *arg)
{
	const int *until = arg;
	char byte;

	lock_take(&outer);
	(void)!write(until[1], "", 1);
	(void)!read(until[2], &byte, 1);
	lock_drop(&outer);
}

/* The other thread has the lock, and drops it on request. */
static void
test_take_until(void **state)
{
	struct timespec past = {0, 0}, soon, now, later;
	struct err err = ERR_INIT;
	struct thr *thr;
	int held[2], go[2], ends[3];
	char byte;

	(void)state;
	assert_int_equal(pipe(held), 0);
	assert_int_equal(pipe(go), 0);
	ends[1] = held[1];
	ends[2] = go[0];
	assert_int_equal(
	    thr_start(THR_OTHER, 0, hold, ends, &thr, &err), RC_OK);
	assert_int_equal(read(held[0], &byte, 1), 1);
	assert_false(lock_take_until(&outer, &past));
	/* It waits on the monotonic clock, which nobody sets. */
	soon = lock_deadline(20);
	assert_false(lock_take_until(&outer, &soon));
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(now.tv_sec > soon.tv_sec ||
		    (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
	assert_int_equal(write(go[1], "", 1), 1);
	later = lock_deadline(60000);
	assert_true(lock_take_until(&outer, &later));
	lock_drop(&outer);
	thr_join(&thr);
	(void)close(held[0]);
	(void)close(held[1]);
	(void)close(go[0]);
	(void)close(go[1]);
}

static void
test_wait_until(void **state)
{
	const struct timespec past = {0, 0};
	pthread_cond_t cond;
	struct lock lock;

	(void)state;
	lock_init(&lock, LOCK_FAIRQ);
	lock_cond_init(&cond);
	lock_take(&lock);
	assert_false(lock_wait_until(&lock, &cond, &past));
	lock_drop(&lock);
	(void)pthread_cond_destroy(&cond);
	lock_fini(&lock);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_take_until),
	    cmocka_unit_test(test_wait_until),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
