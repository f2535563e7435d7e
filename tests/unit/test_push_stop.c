/* SPDX-License-Identifier: MIT */
/*
 * The end of push: connections that the library has closed are freed, and
 * connections that it has lost do not delay the stop (push.c,
 * library_closes()).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/logged.h"
#include "unit/push_fixture.h"

/* The handle of a connection that the library has lost. */
static uv_timer_t lost;
static bool have_lost;

static uv_timer_cb late;
static bool was_late;
static int destroys;

/* ---- between push and the libraries (push.am) ---- */

int __real_uv_timer_start(
    uv_timer_t *timer, uv_timer_cb cb, uint64_t ms, uint64_t repeat);
int __wrap_uv_timer_start(
    uv_timer_t *timer, uv_timer_cb cb, uint64_t ms, uint64_t repeat);
int __real_uv_loop_close(uv_loop_t *loop);
int __wrap_uv_loop_close(uv_loop_t *loop);
void __real_lws_context_destroy(struct lws_context *context);
void __wrap_lws_context_destroy(struct lws_context *context);

static void
on_late(uv_timer_t *timer)
{

	was_late = true;
	late(timer);
}

/* While push ends, the only timer that it starts is the deadline for the
 * library.  If the library has lost a connection, the test makes the deadline
 * short. */
int
__wrap_uv_timer_start(
    uv_timer_t *timer, uv_timer_cb cb, uint64_t ms, uint64_t repeat)
{

	if (repeat != 0)
		return (__real_uv_timer_start(timer, cb, ms, repeat));
	late = cb;
	return (__real_uv_timer_start(timer, on_late, have_lost ? 1 : ms, 0));
}

/* The memory of a loop with a lost connection stays allocated until the process
 * ends, so the test frees it. */
int
__wrap_uv_loop_close(uv_loop_t *loop)
{

	if (have_lost) {
		assert_int_equal(__real_uv_loop_close(loop), UV_EBUSY);
		uv_close((uv_handle_t *)&lost, NULL);
		(void)uv_run(loop, UV_RUN_NOWAIT);
	}
	return (__real_uv_loop_close(loop));
}

void
__wrap_lws_context_destroy(struct lws_context *context)
{

	destroys++;
	__real_lws_context_destroy(context);
}

/* ---- tests ---- */

static void
never(uv_timer_t *timer)
{

	(void)timer;
}

/* Ends a scene that has a session, and returns the log of the end. */
static const char *
end_scene(bool loses)
{
	struct lws *a;

	was_late = false;
	destroys = 0;
	assert_int_equal(scene_set_up(NULL), 0);
	a = client_open("u1d1", "");
	assert_false(a->ended);
	if (loses) {
		assert_int_equal(uv_timer_init(&scene->push->loop, &lost), 0);
		assert_int_equal(
		    __real_uv_timer_start(&lost, never, UINT64_C(1) << 40, 0),
		    0);
	}
	have_lost = loses;
	logged_start(NULL);
	assert_int_equal(scene_tear_down(NULL), 0);
	have_lost = false;
	return (logged_stop());
}

/* The library frees the rest after the loop has run. */
static void
test_stop(void **state)
{
	const char *log = end_scene(false);

	(void)state;
	assert_null(strstr(log, "lost"));
	assert_false(was_late);
	assert_int_equal(destroys, 2);
}

/* The context is not destroyed again, because the library would use the
 * connection that it has lost. */
static void
test_stop_with_lost(void **state)
{
	const char *log = end_scene(true);

	(void)state;
	assert_true(was_late);
	assert_non_null(strstr(log, "connections that it lost"));
	assert_int_equal(destroys, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_stop_with_lost),
	};

	/* A stop that waits for ever ends the test. */
	(void)alarm(10);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
