/* SPDX-License-Identifier: MIT */
/*
 * The push thread: a libuv loop that serves libwebsockets' sockets.  One async
 * handle wakes it for the mailboxes.
 *
 * *No effect overtakes a waiter.* The thread takes first the effects (notices
 * of commits) from their mailbox, then the tasks (registrations of waiters
 * among them) from theirs, but runs the tasks first.  A registration that was
 * posted before some effects is therefore always done before the effects are
 * published.
 *
 * *Overflow.* When more than effects_limit bytes of effects would wait for the
 * thread, the new ones are dropped, except revoked tokens, and p->overflowed is
 * set.  Every open session then reads its inbox, and every long-poll its query,
 * from the store, which has all that was dropped.  Sessions are not shown the
 * dropped changes of outbox entries.  The thread reads p->overflowed, too,
 * before it takes the tasks, so that a waiter that was posted before the drop
 * reads the store.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/thr.h"
#include "log/log.h"
#include "push/push_internal.h"
#include "wire/json.h"

#define DRAIN_TICK_MS 20
/* The most milliseconds that a stop waits for libwebsockets to close its
 * handles in the loop.  The library closes them at once, but never closes the
 * handle of a connection that it gave up because memory was short.  The stop
 * then goes on without freeing the rest of the library (library_closes()). */
#define LIBRARY_CLOSE_MS 3000

/* ---- the mailboxes, from any thread ---- */

void
push_post(struct push *p, struct push_task *task)
{

	/* mbox_put() cannot fail: this mailbox has no limit and is never
	 * closed. */
	if (mbox_put(p->tasks, &task->node) == RC_OK)
		(void)uv_async_send(&p->async);
}

/* Adds the bytes of ${effects} to p->effects_bytes and returns ${effects}.  If
 * the sum would exceed effects_limit, sets p->overflowed and drops all of
 * ${effects} but the revoked tokens, which are counted and returned even then:
 * they are few, and no session would find them by reading its inbox.  If there
 * are no revoked tokens, frees ${effects} and returns NULL. */
static struct effects *
admit(struct push *p, struct effects *effects)
{
	size_t n = effects_size(effects);

	if (atomic_fetch_add(&p->effects_bytes, n) + n <=
		p->options.effects_limit &&
	    !FAULT_FAILS("push.effects"))
		return (effects);
	atomic_fetch_sub(&p->effects_bytes, n);
	effects_shed(effects);
	atomic_store(&p->overflowed, true);
	if (effects->nrevoked == 0) {
		effects_free(effects);
		return (NULL);
	}
	atomic_fetch_add(&p->effects_bytes, effects_size(effects));
	return (effects);
}

void
push_effects(struct push *p, struct effects *effects)
{

	if (!hub_wants(p->hub, effects)) {
		effects_free(effects);
		return;
	}
	effects = admit(p, effects);
	if (effects != NULL && mbox_put(p->effects, &effects->node) != RC_OK)
		effects_free(effects);
	(void)uv_async_send(&p->async);
}

static void
adopt(struct push *p, struct push_task *task)
{

	push_rx_arrive(p, (struct adopt_task *)(void *)task);
}

void
push_adopt(struct push *p, int fd, const struct push_peer *peer)
{
	struct adopt_task *a;

	a = mem_zalloc(1, sizeof(*a));
	if (a == NULL) {
		(void)close(fd);
		return;
	}
	a->task.run = adopt;
	a->fd = fd;
	a->peer = *peer;
	push_post(p, &a->task);
}

/* ---- sessions ---- */

struct session *
push_session(struct push *p, int64_t no)
{

	thr_assert(THR_PUSH);
	return (htab_find(p->sessions, &no));
}

/* ---- the thread ---- */

/* Closes the sessions of the device.  Its long-polls authenticate again, and
 * are refused. */
static void
tell_revoked(struct push *p, int64_t device_id)
{
	struct session *s;

	TAILQ_FOREACH (s, &p->all, all)
		if (s->device_id == device_id)
			session_close(s, 4401, "token revoked");
	waiters_revoked(p, device_id);
}

static void
tell(struct push *p, const struct effects *effects)
{
	size_t i;

	thr_assert(THR_PUSH);
	for (i = 0; i < effects->nevents; i++)
		hub_event(p->hub, &effects->events[i]);
	for (i = 0; i < effects->nchanges; i++)
		hub_change(p->hub, &effects->changes[i]);
	for (i = 0; i < effects->nacked; i++)
		hub_acked(p->hub, &effects->acked[i]);
	for (i = 0; i < effects->nrevoked; i++)
		if (!effects->revoked[i].kept)
			tell_revoked(p, effects->revoked[i].device_id);
}

static void on_tick(uv_timer_t *timer);

static void
tell_reconnect(struct push *p)
{

	p->drain_begun = true;
	push_rx_drain(p);
	waiters_release(p, false);
	push_drain_begin(p);
	(void)uv_timer_start(&p->timer, on_tick, DRAIN_TICK_MS, DRAIN_TICK_MS);
}

/* Effects have been dropped: every session and long-poll reads the store. */
static void
overflow(struct push *p)
{
	struct session *s;

	metrics_add(p->options.metrics, METRIC_PUSH_OVERFLOWS, 1);
	waiters_release(p, true);
	TAILQ_FOREACH (s, &p->all, all)
		session_overflow(s);
}

static void
run_tasks(struct push *p, struct mbox_node *tasks)
{
	struct push_task *task;
	struct mbox_node *next;

	thr_assert(THR_PUSH);
	for (; tasks != NULL; tasks = next) {
		next = tasks->next;
		task = (struct push_task *)(void *)tasks;
		task->run(p, task);
	}
}

static void
on_async(uv_async_t *async)
{
	struct push *p = async->data;
	struct mbox_node *nodes, *tasks, *next;
	struct effects *effects;
	bool overflowed;

	overflowed = atomic_exchange(&p->overflowed, false);
	nodes = mbox_take_all(p->effects);
	tasks = mbox_take_all(p->tasks);
	run_tasks(p, tasks);
	if (overflowed)
		overflow(p);
	for (; nodes != NULL; nodes = next) {
		next = nodes->next;
		effects = (struct effects *)(void *)nodes;
		tell(p, effects);
		atomic_fetch_sub(&p->effects_bytes, effects_size(effects));
		effects_free(effects);
	}
	if (atomic_load(&p->draining) && !p->drain_begun)
		tell_reconnect(p);
	session_close_pending(p);
	if (atomic_load(&p->stopping))
		uv_stop(&p->loop);
}

void
push_tick(struct push *p)
{
	struct session *s, *next;
	int64_t now;

	now = clk_mono_ms(p->options.clk);
	for (s = TAILQ_FIRST(&p->all); s != NULL; s = next) {
		next = TAILQ_NEXT(s, all);
		session_tick(s, now);
		push_rx_session_tick(s, now);
	}
	push_rx_tick(p, now);
	if (p->drain_begun)
		push_drain_tick(p, now);
	session_close_pending(p);
	metrics_set(p->options.metrics, METRIC_WS_SESSIONS,
	    (int64_t)atomic_load(&p->nsessions));
	metrics_set(
	    p->options.metrics, METRIC_WS_NEWCOMERS, (int64_t)p->nnewcomers);
}

static void
on_tick(uv_timer_t *timer)
{

	push_tick(timer->data);
}

/* The loop calls this in each turn before it waits.  Writes the batches of all
 * sessions, so the frames that one turn of the loop makes for a session leave
 * in one write, unless the batches grow too large (BATCH_BYTES,
 * BATCHES_BYTES). */
static void
on_prepare(uv_prepare_t *prepare)
{

	push_flush(prepare->data);
}

static void
loop(void *arg)
{
	struct push *p = arg;

	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
}

/* ---- life ---- */

static void
on_library_late(uv_timer_t *timer)
{

	uv_stop(timer->loop);
}

/* Runs the loop until libwebsockets has closed its handles, or LIBRARY_CLOSE_MS
 * have passed; then closes p->timer.  Returns true if the handles are closed;
 * otherwise logs an event and returns false.  libwebsockets never closes the
 * handle of a connection that it gave up because memory was short
 * (lws_ensure_user_space()), and the stop must not wait for that. */
static bool
library_closes(struct push *p)
{
	bool closed;

	(void)uv_timer_start(&p->timer, on_library_late, LIBRARY_CLOSE_MS, 0);
	uv_unref((uv_handle_t *)&p->timer);
	closed = uv_run(&p->loop, UV_RUN_DEFAULT) == 0;
	uv_close((uv_handle_t *)&p->timer, NULL);
	(void)uv_run(&p->loop, UV_RUN_NOWAIT);
	if (!closed)
		log_event(LOG_EV_PUSH_LIBRARY,
		    "text=connections that it lost keep their memory");
	return (closed);
}

static void
free_all(struct push *p)
{
	struct mbox_node *n, *next;
	bool closed = true;

	if (p->context != NULL)
		lws_context_destroy(p->context);
	if (p->rx_poll.data != NULL)
		uv_close((uv_handle_t *)&p->rx_poll, NULL);
	push_rx_close(p);
	if (p->loop_ready) {
		uv_close((uv_handle_t *)&p->async, NULL);
		uv_close((uv_handle_t *)&p->prepare, NULL);
		closed = library_closes(p);
	}
	/* On a loop that the library does not own (foreign_loops), the first
	 * lws_context_destroy() only begins to close the library's handles.
	 * After the loop has run, this second call frees the rest.  If a handle
	 * could not be closed, the rest is not freed. */
	if (p->context != NULL && closed)
		lws_context_destroy(p->context);
	if (p->loop_ready)
		(void)uv_loop_close(&p->loop);
	for (n = p->effects != NULL ? mbox_take_all(p->effects) : NULL;
	     n != NULL; n = next) {
		next = n->next;
		effects_free((struct effects *)(void *)n);
	}
	mbox_free(p->effects);
	mbox_free(p->tasks);
	htab_free(p->sessions);
	htab_free(p->crowds);
	hub_free(p->hub);
	buf_fini(&p->tx);
	mem_free(p->allow_origin);
	mem_free(p);
}

enum rc
push_new(const struct push_options *options, struct push **ret, struct err *err)
{
	struct push *p;
	uint64_t tick_ms;
	enum rc rc;

	p = mem_zalloc(1, sizeof(*p));
	if (p == NULL)
		return (err_set(err, RC_NO_MEMORY, "push"));
	p->options = *options;
	p->options.timing = timing_or_real(options->timing);
	TAILQ_INIT(&p->all);
	TAILQ_INIT(&p->closing);
	TAILQ_INIT(&p->batched);
	p->batch_bytes = BATCH_BYTES;
	TAILQ_INIT(&p->newcomers);
	TAILQ_INIT(&p->arrivals);
	p->rx_fd = -1;
	uuid_gen_init(&p->ids, options->clk, rnd_system());
	TAILQ_INIT(&p->waiters);
	buf_init(&p->tx, 0);
	p->effects = mbox_new(0, false);
	p->tasks = mbox_new(0, false);
	p->sessions = htab_new(sizeof(int64_t));
	p->crowds = htab_new(sizeof(uint64_t));
	p->hub = hub_new();
	p->allow_origin = mem_strdup(
	    options->allow_origin != NULL ? options->allow_origin : "");
	if (p->allow_origin == NULL || p->effects == NULL || p->tasks == NULL ||
	    p->sessions == NULL || p->crowds == NULL || p->hub == NULL ||
	    uv_loop_init(&p->loop) != 0) {
		free_all(p);
		return (err_set(err, RC_NO_MEMORY, "push"));
	}
	(void)uv_async_init(&p->loop, &p->async, on_async);
	(void)uv_timer_init(&p->loop, &p->timer);
	p->async.data = p;
	(void)uv_prepare_init(&p->loop, &p->prepare);
	p->timer.data = p;
	p->prepare.data = p;
	p->loop_ready = true;
	tick_ms = (uint64_t)p->options.timing->push_tick_ms;
	(void)uv_timer_start(&p->timer, on_tick, tick_ms, tick_ms);
	(void)uv_prepare_start(&p->prepare, on_prepare);
	rc = push_rx_open(p, err);
	if (rc == RC_OK)
		rc = push_lws_open(p, err);
	if (rc != RC_OK) {
		free_all(p);
		return (rc);
	}
	*ret = p;
	return (RC_OK);
}

enum rc
push_start(struct push *p, struct err *err)
{

	return (thr_start(THR_PUSH, 0, loop, p, &p->thread, err));
}

void
push_drain(struct push *p)
{

	atomic_store(&p->draining, true);
	(void)uv_async_send(&p->async);
}

bool
push_drained(const struct push *p)
{

	return (p->thread == NULL || atomic_load(&p->drained));
}

size_t
push_sessions(const struct push *p)
{

	return (atomic_load(&p->nsessions));
}

void
push_end(struct push *p)
{

	if (p == NULL)
		return;
	atomic_store(&p->draining, true);
	if (p->thread == NULL)
		return;
	atomic_store(&p->stopping, true);
	(void)uv_async_send(&p->async);
	thr_join(&p->thread);
}

void
push_stop(struct push *p)
{

	if (p == NULL)
		return;
	push_end(p);
	/* Run the tasks that were posted after the push thread's last turn:
	 * they release waiters, free finished requests, and hand over
	 * connections, which free_all() closes.  The drain begins first, so
	 * that waiters are released instead of joining the hub. */
	if (!p->drain_begun)
		tell_reconnect(p);
	run_tasks(p, mbox_take_all(p->tasks));
	push_flush(p);
	free_all(p);
}

static void
on_effects(void *arg, struct effects *effects)
{

	push_effects(arg, effects);
}

struct subscriber
push_subscriber(struct push *p)
{

	return ((struct subscriber){.arg = p, .take_effects = on_effects});
}
