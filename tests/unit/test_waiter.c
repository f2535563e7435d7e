/* SPDX-License-Identifier: MIT */
/*
 * Long-poll waiters with a real push object: a waiter is woken by its events
 * and by nothing else, is returned when it is canceled or when push drains, and
 * done is called exactly once, whichever comes first.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thr.h"
#include "push/push.h"

struct poller {
	struct push_waiter waiter; /* first */
	struct push *push;
	sem_t done;
	atomic_int dones, woken;
	int again; /* waits again this many times, from within done */
};

static void
on_done(struct push_waiter *w, bool woken)
{
	struct poller *p = (struct poller *)(void *)w;

	assert_ptr_equal(w->arg, p);
	atomic_fetch_add(&p->dones, 1);
	if (woken)
		atomic_fetch_add(&p->woken, 1);
	if (p->again > 0) {
		p->again--;
		if (push_wait(p->push, w) == RC_OK)
			return;
	}
	(void)sem_post(&p->done);
}

static void
poller_init(struct poller *p, struct push *push, int64_t user, int64_t after,
    bool outbox)
{

	memset(p, 0, sizeof(*p));
	p->push = push;
	(void)sem_init(&p->done, 0, 0);
	p->waiter.user_id = user;
	p->waiter.after = after;
	p->waiter.outbox = outbox;
	p->waiter.done = on_done;
	p->waiter.arg = p;
}

static void
wait_for(struct poller *p, struct push *push, int64_t user, int64_t after,
    bool outbox)
{

	poller_init(p, push, user, after, outbox);
	assert_int_equal(push_wait(push, &p->waiter), RC_OK);
}

static struct push *
make_limited(size_t effects_limit)
{
	struct push_options o = {.effects_limit = effects_limit};
	struct err err = ERR_INIT;
	struct push *push;

	o.clk = clk_system();
	o.epoch = "e1";
	o.allow_origin = "";
	o.session_limit = 10;
	if (push_new(&o, &push, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (push);
}

static struct push *
make(void)
{

	return (make_limited(1 << 20));
}

static struct push *
start(void)
{
	struct err err = ERR_INIT;
	struct push *push;

	push = make();
	assert_int_equal(push_start(push, &err), RC_OK);
	return (push);
}

static void
tell_event(struct push *push, int64_t user, int64_t seq)
{
	struct effect_event e = {.user_id = user, .seq = seq, .kind = 1};
	struct err err = ERR_INIT;
	struct effects *effects;

	effects = effects_new();
	assert_int_equal(effects_add_event(effects, &e, &err), RC_OK);
	push_effects(push, effects);
}

static void
txn_notify_change(struct push *push, int64_t user)
{
	struct err err = ERR_INIT;
	struct effects *effects;

	effects = effects_new();
	assert_int_equal(
	    effects_add_change(
		effects, &(struct effect_change){user, 1, CHANGE_SENT}, &err),
	    RC_OK);
	push_effects(push, effects);
}

static void
assert_told(struct poller *p, int woken)
{

	(void)sem_wait(&p->done);
	assert_int_equal(atomic_load(&p->dones), 1);
	assert_int_equal(atomic_load(&p->woken), woken);
}

static void
assert_waits(struct poller *p)
{

	assert_int_equal(atomic_load(&p->dones), 0);
}

/* Members are called in the order in which they joined, and effects in their
 * own order: a waiter that was not woken when a later one was, will not be. */
static void
test_beyond_after_only(void **state)
{
	struct poller five, other, box, none;
	struct push *push;

	(void)state;
	push = start();
	wait_for(&five, push, 1, 5, false);
	wait_for(&other, push, 2, 0, false);
	wait_for(&box, push, 1, 0, true);
	wait_for(&none, push, 1, 0, false);
	tell_event(push, 1, 5);
	assert_told(&none, 1);
	assert_waits(&five);
	assert_waits(&other);
	assert_waits(&box);
	wait_for(&none, push, 1, 0, false);
	tell_event(push, 1, 6);
	assert_told(&none, 1);
	assert_told(&five, 1);
	assert_waits(&box);
	txn_notify_change(push, 2);
	txn_notify_change(push, 1);
	assert_told(&box, 1);
	assert_waits(&other);
	tell_event(push, 2, 1);
	assert_told(&other, 1);
	push_stop(push);
}

static void
test_cancel(void **state)
{
	struct poller a, b, c;
	struct push *push;

	(void)state;
	push = start();
	wait_for(&a, push, 1, 0, false);
	wait_for(&b, push, 1, 0, false);
	push_wait_cancel(push, &a.waiter);
	assert_told(&a, 0);
	tell_event(push, 1, 1);
	assert_told(&b, 1);
	assert_int_equal(atomic_load(&a.dones), 1);
	/* This one is being returned already, so the cancel does nothing. */
	push_wait_cancel(push, &b.waiter);
	push_wait_cancel(push, &a.waiter);
	wait_for(&c, push, 1, 0, false);
	tell_event(push, 1, 2);
	assert_told(&c, 1);
	assert_int_equal(atomic_load(&a.dones), 1);
	assert_int_equal(atomic_load(&b.dones), 1);
	push_stop(push);
}

/* A waiter registers again from within done, as a request does that reads
 * again. */
static void
test_again(void **state)
{
	struct poller p;
	struct push *push;
	int i;

	(void)state;
	push = start();
	poller_init(&p, push, 1, 0, false);
	p.again = 20;
	assert_int_equal(push_wait(push, &p.waiter), RC_OK);
	for (i = 1; sem_trywait(&p.done) != 0; i++)
		tell_event(push, 1, i);
	assert_int_equal(atomic_load(&p.dones), 21);
	assert_int_equal(atomic_load(&p.woken), 21);
	push_stop(push);
}

static void
test_drain(void **state)
{
	struct poller p[30], late;
	struct push *push;
	int i;

	(void)state;
	push = start();
	for (i = 0; i < 30; i++)
		wait_for(&p[i], push, i / 3, 0, i % 2 == 0);
	push_drain(push);
	for (i = 0; i < 30; i++)
		assert_told(&p[i], 0);
	poller_init(&late, push, 1, 0, false);
	assert_int_equal(push_wait(push, &late.waiter), RC_CLOSED);
	tell_event(push, 1, 1);
	push_drain(push);
	push_stop(push);
	for (i = 0; i < 30; i++)
		assert_int_equal(atomic_load(&p[i].dones), 1);
	assert_int_equal(atomic_load(&late.dones), 0);
}

/* Stopping returns the waiters, including those that the thread never saw. */
static void
test_stop(void **state)
{
	struct poller p, early[2];
	struct push *push;
	int fds[2];
	char c;

	(void)state;
	push = start();
	wait_for(&p, push, 1, 0, false);
	push_stop(push);
	assert_told(&p, 0);
	push = make();
	wait_for(&early[0], push, 1, 0, false);
	wait_for(&early[1], push, 1, 0, true);
	push_wait_cancel(push, &early[1].waiter);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	push_adopt(push, fds[0], &(struct push_peer){.address = ""});
	tell_event(push, 1, 1);
	push_stop(push);
	assert_told(&early[0], 0);
	assert_told(&early[1], 0);
	/* The connection is closed, not leaked. */
	assert_int_equal(read(fds[1], &c, 1), 0);
	(void)close(fds[1]);
	push_stop(NULL);
}

/* A stop with an open WebSocket, and with a connection that has sent
 * nothing. */
static void
test_stop_with_sessions(void **state)
{
	static const char upgrade[] = "GET /v1/ws HTTP/1.1\r\n"
				      "Host: localhost\r\n"
				      "Connection: Upgrade\r\n"
				      "Upgrade: websocket\r\n"
				      "Sec-WebSocket-Version: 13\r\n"
				      "Sec-WebSocket-Protocol: twinbox.v1\r\n"
				      "Sec-WebSocket-Key: "
				      "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
	const struct push_peer peer = {.address = "192.0.2.1"};
	struct push *push;
	int talks[2], silent[2];
	char answer[512];
	ssize_t n;

	(void)state;
	push = start();
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talks), 0);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, silent), 0);
	push_adopt(push, silent[0], &peer);
	push_adopt(push, talks[0], &peer);
	assert_int_equal(write(talks[1], upgrade, sizeof(upgrade) - 1),
	    (ssize_t)sizeof(upgrade) - 1);
	n = read(talks[1], answer, sizeof(answer));
	assert_true(n > 12);
	assert_memory_equal(answer, "HTTP/1.1 101", 12);
	push_stop(push);
	/* The last frame comes (the silent one gets the answer that the server
	 * stops), then the end. */
	while ((n = read(talks[1], answer, sizeof(answer))) > 0)
		continue;
	assert_int_equal(n, 0);
	while ((n = read(silent[1], answer, sizeof(answer))) > 0)
		continue;
	assert_int_equal(n, 0);
	(void)close(talks[1]);
	(void)close(silent[1]);
}

/* ---- races ---- */

#define ROUNDS 300

static struct push *shared;
static struct poller racers[ROUNDS];
static sem_t teller_go[ROUNDS], canceler_go[ROUNDS], canceler_end[ROUNDS];

static void
teller(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		(void)sem_wait(&teller_go[i]);
		tell_event(shared, i % 7, 1);
		tell_event(shared, i % 7, 2);
	}
}

static void
canceler(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		(void)sem_wait(&canceler_go[i]);
		push_wait_cancel(shared, &racers[i].waiter);
		(void)sem_post(&canceler_end[i]);
	}
}

/* Effects and a cancel at the same moment: done is called once for each
 * waiter. */
static void
test_race(void **state)
{
	struct thr *threads[2];
	struct err err = ERR_INIT;
	int i;

	(void)state;
	shared = start();
	for (i = 0; i < ROUNDS; i++) {
		(void)sem_init(&teller_go[i], 0, 0);
		(void)sem_init(&canceler_go[i], 0, 0);
		(void)sem_init(&canceler_end[i], 0, 0);
	}
	assert_int_equal(
	    thr_start(THR_OTHER, 1, teller, NULL, &threads[0], &err), RC_OK);
	assert_int_equal(
	    thr_start(THR_OTHER, 2, canceler, NULL, &threads[1], &err), RC_OK);
	for (i = 0; i < ROUNDS; i++) {
		wait_for(&racers[i], shared, i % 7, 0, false);
		(void)sem_post(i % 2 == 0 ? &teller_go[i] : &canceler_go[i]);
		(void)sem_post(i % 2 == 0 ? &canceler_go[i] : &teller_go[i]);
		(void)sem_wait(&racers[i].done);
		(void)sem_wait(&canceler_end[i]);
	}
	thr_join(&threads[0]);
	thr_join(&threads[1]);
	push_stop(shared);
	for (i = 0; i < ROUNDS; i++)
		assert_int_equal(atomic_load(&racers[i].dones), 1);
}

/* A waiter that registers before the effects are put is woken, although the
 * thread may find both at the same time. */
static void
test_nothing_falls_between(void **state)
{
	struct poller p;
	int i;

	(void)state;
	shared = start();
	for (i = 0; i < ROUNDS; i++) {
		wait_for(&p, shared, 1, 0, i % 2 == 1);
		if (i % 2 == 1)
			txn_notify_change(shared, 1);
		else
			tell_event(shared, 1, 1);
		assert_told(&p, 1);
	}
	push_stop(shared);
}

/* Effects beyond the limit are dropped, and all waiters are woken to read for
 * themselves: once for all dropped effects, and no waiter is left out. */
static void
test_overflow(void **state)
{
	struct poller first, second, box;
	struct err err = ERR_INIT;
	struct push *push;
	int i;

	(void)state;
	push = make_limited(64 * 1024);
	wait_for(&first, push, 1, 0, false);
	wait_for(&second, push, 1, 1000, false);
	wait_for(&box, push, 1, 0, true);
	for (i = 1; i <= 100; i++)
		tell_event(push, 1, i);
	assert_int_equal(push_start(push, &err), RC_OK);
	assert_told(&first, 1);
	assert_told(&second, 1);
	assert_told(&box, 1);
	/* Once the queued effects were handled there is room again.  (The first
	 * one of these may still be too much.) */
	wait_for(&first, push, 1, 0, false);
	tell_event(push, 1, 101);
	assert_told(&first, 1);
	wait_for(&second, push, 1, 1000, false);
	for (i = 102; i <= 110; i++) {
		wait_for(&first, push, 1, 0, false);
		tell_event(push, 1, i);
		assert_told(&first, 1);
	}
	assert_waits(&second);
	push_stop(push);
}

static struct poller crowd[200];

static void
register_all(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 200; i++) {
		poller_init(&crowd[i], shared, i, 0, false);
		if (push_wait(shared, &crowd[i].waiter) != RC_OK)
			on_done(&crowd[i].waiter, false);
	}
}

/* Waiters register while push drains: each is refused or returned. */
static void
test_drain_race(void **state)
{
	struct err err = ERR_INIT;
	struct thr *thread;
	int i;

	(void)state;
	shared = start();
	assert_int_equal(
	    thr_start(THR_OTHER, 1, register_all, NULL, &thread, &err), RC_OK);
	push_drain(shared);
	thr_join(&thread);
	for (i = 0; i < 200; i++)
		assert_told(&crowd[i], 0);
	push_stop(shared);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_beyond_after_only),
	    cmocka_unit_test(test_cancel),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_drain),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_stop_with_sessions),
	    cmocka_unit_test(test_race),
	    cmocka_unit_test(test_nothing_falls_between),
	    cmocka_unit_test(test_overflow),
	    cmocka_unit_test(test_drain_race),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
