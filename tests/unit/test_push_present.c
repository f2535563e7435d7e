/* SPDX-License-Identifier: MIT */
/*
 * The list of present sessions and long-polls, and what wakes long-polls apart
 * from events: a revoked token, dropped effects, a request for the list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/push_fixture.h"

/* A long-poll, with the number of its returns, and of those with woken set.  It
 * is static in each test, because a waiter may return as late as when the scene
 * is freed. */
struct poll {
	struct push_waiter waiter; /* first */
	int dones, woken;
};

static void
on_done(struct push_waiter *w, bool woken)
{
	struct poll *p = w->arg;

	p->dones++;
	p->woken += woken;
}

static void
poll_begin(struct poll *p, int64_t user, int64_t device, bool outbox)
{

	memset(p, 0, sizeof(*p));
	p->waiter.user_id = user;
	p->waiter.device_id = device;
	p->waiter.outbox = outbox;
	p->waiter.done = on_done;
	p->waiter.arg = p;
	assert_int_equal(push_wait(scene->push, &p->waiter), RC_OK);
	turn();
}

static void
assert_waits(const struct poll *p)
{

	assert_int_equal(p->dones, 0);
}

static void
assert_woken(const struct poll *p)
{

	assert_int_equal(p->dones, 1);
	assert_int_equal(p->woken, 1);
}

/* A revoked token wakes the long-polls of its device, and no other. */
static void
test_revoked(void **state)
{
	static struct poll lost, box, kept;

	(void)state;
	poll_begin(&lost, 1, 1, false);
	poll_begin(&box, 1, 1, true);
	poll_begin(&kept, 1, 2, false);
	publish_revoked(1);
	assert_woken(&lost);
	assert_woken(&box);
	assert_waits(&kept);
	arrive(1);
	assert_woken(&kept);
	assert_woken(&lost);
}

static void
test_overflow(void **state)
{
	static struct poll p, box;

	(void)state;
	poll_begin(&p, 1, 1, false);
	poll_begin(&box, 2, 2, true);
	arrive_dropped(1);
	assert_woken(&p);
	assert_woken(&box);
	assert_int_equal(metrics_get(scene->metrics, METRIC_PUSH_OVERFLOWS), 1);
}

/* An ack watermark concerns sessions, not long-polls. */
static void
test_marks_wake_nobody(void **state)
{
	static struct poll p, box;

	(void)state;
	poll_begin(&p, 1, 1, false);
	poll_begin(&box, 1, 1, true);
	publish_acked(1, 1, 5);
	assert_waits(&p);
	assert_waits(&box);
	publish_change(1, 1, CHANGE_SENT);
	assert_waits(&p);
	assert_woken(&box);
}

static void
on_present(struct push_present *ask)
{
	int *asked = ask->arg;

	(*asked)++;
}

/* The list has open sessions and long-polls for events.  A long-poll for outbox
 * entries is woken instead. */
static void
test_list(void **state)
{
	int asked = 0;
	struct push_present ask = {.done = on_present, .arg = &asked};
	static struct poll p, box;

	(void)state;
	(void)client_connect();
	(void)client_open("u1d2", "");
	(void)client_open("u3d4", "");
	(void)client_hello("u4d6", "");
	poll_begin(&p, 2, 5, false);
	poll_begin(&box, 1, 1, true);
	push_ask_present(scene->push, &ask);
	assert_int_equal(asked, 0);
	turn();
	assert_int_equal(asked, 1);
	assert_woken(&box);
	assert_waits(&p);
	assert_int_equal(ask.n, 3);
	assert_int_equal(ask.users[0], 1);
	assert_int_equal(ask.devices[0], 2);
	assert_int_equal(ask.users[1], 3);
	assert_int_equal(ask.devices[1], 4);
	assert_int_equal(ask.users[2], 2);
	assert_int_equal(ask.devices[2], 5);
	push_present_free(&ask);
}

/* Without memory there are no lists, and the caller can see that. */
static void
test_no_memory(void **state)
{
	int asked = 0;
	struct push_present ask = {.done = on_present, .arg = &asked};

	(void)state;
	(void)client_open("u1d2", "");
	push_ask_present(scene->push, &ask);
	mem_fail_at(1);
	turn();
	mem_fail_at(0);
	assert_int_equal(asked, 1);
	assert_int_equal(ask.n, 0);
	assert_null(ask.users);
	push_present_free(&ask);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_revoked),
	    T(test_overflow),
	    T(test_marks_wake_nobody),
	    T(test_list),
	    T(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
