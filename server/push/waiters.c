/* SPDX-License-Identifier: MIT */
/*
 * Long-polls: each waits for an event after a cursor, or for a change of its
 * user's outbox entries.  Each is released, which means that its `done` is
 * called, exactly once: by the event or the change that it waits for; because
 * effects (notices of commits) may have been missed or memory is short; when
 * the token of its device is revoked; by the stop of the server; or because its
 * owner has called push_wait_cancel().
 */
#include <stddef.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/thr.h"
#include "push/push_internal.h"

enum waiter_state { WAITING = 1, CANCELING, DONE };

static void
waiter_finish(struct waiting *w, bool woken)
{
	struct push_waiter *waiter = w->waiter;

	hub_leave(w->push->hub, &w->member);
	TAILQ_REMOVE(&w->push->waiters, w, all);
	mem_free(w);
	waiter->done(waiter, woken);
}

static void
waiter_release(struct waiting *w, bool woken)
{
	int expected = WAITING;

	/* If it is being canceled, waiter_cancel() is on its way and will
	 * finish it. */
	if (atomic_compare_exchange_strong(&w->waiter->state, &expected, DONE))
		waiter_finish(w, woken);
}

static void
waiter_event(struct hub_member *m, const struct effect_event *e)
{
	struct waiting *w = (struct waiting *)(void *)m;

	if (!w->waiter->outbox && e->seq > w->waiter->after)
		waiter_release(w, true);
}

static void
waiter_change(struct hub_member *m, const struct effect_change *c)
{
	struct waiting *w = (struct waiting *)(void *)m;

	(void)c;
	if (w->waiter->outbox)
		waiter_release(w, true);
}

static const struct hub_ops waiter_ops = {
    .event = waiter_event, .change = waiter_change};

static void
waiter_register(struct push *p, struct push_task *task)
{
	struct push_waiter *waiter =
	    CONTAINER_OF(task, struct push_waiter, task);
	struct waiting *w;

	thr_assert(THR_PUSH);
	w = mem_zalloc(1, sizeof(*w));
	if (w != NULL) {
		w->waiter = waiter;
		w->push = p;
		w->member.ops = &waiter_ops;
		w->member.user_id = waiter->user_id;
		waiter->entry = w;
	}
	if (w == NULL || p->drain_begun ||
	    hub_join(p->hub, &w->member) != RC_OK) {
		/* Memory is short or the server is stopping, so the waiter does
		 * not join the hub, and nothing would wake it.  Release it at
		 * once: its owner reads the store again or, at a stop, gives
		 * up.  If it is being canceled, waiter_cancel() releases it. */
		waiter->entry = NULL;
		mem_free(w);
		hub_unexpect(p->hub, waiter->user_id);
		if (atomic_exchange(&waiter->state, DONE) == WAITING)
			waiter->done(waiter, !p->drain_begun);
		return;
	}
	hub_unexpect(p->hub, waiter->user_id);
	TAILQ_INSERT_TAIL(&p->waiters, w, all);
}

static void
waiter_cancel(struct push *p, struct push_task *task)
{
	struct push_waiter *waiter =
	    CONTAINER_OF(task, struct push_waiter, cancel_task);

	thr_assert(THR_PUSH);
	(void)p;
	if (waiter->entry != NULL)
		waiter_finish(waiter->entry, false);
	else
		waiter->done(waiter, false);
}

enum rc
push_wait(struct push *p, struct push_waiter *w)
{

	if (atomic_load(&p->draining))
		return (RC_CLOSED);
	w->entry = NULL;
	w->task.run = waiter_register;
	w->cancel_task.run = waiter_cancel;
	atomic_store(&w->state, WAITING);
	hub_expect(p->hub, w->user_id);
	push_post(p, &w->task);
	return (RC_OK);
}

void
push_wait_cancel(struct push *p, struct push_waiter *w)
{
	int expected = WAITING;

	if (atomic_compare_exchange_strong(&w->state, &expected, CANCELING))
		push_post(p, &w->cancel_task);
}

/* ---- several at once ---- */

/* Releases the waiters for which ${which} returns true; NULL: all. */
static void
release_some(struct push *p, bool (*which)(const struct push_waiter *, int64_t),
    int64_t arg, bool woken)
{
	struct waiting *w, *next;

	for (w = TAILQ_FIRST(&p->waiters); w != NULL; w = next) {
		next = TAILQ_NEXT(w, all);
		if (which == NULL || which(w->waiter, arg))
			waiter_release(w, woken);
	}
}

void
waiters_release(struct push *p, bool woken)
{

	release_some(p, NULL, 0, woken);
}

static bool
is_of_device(const struct push_waiter *w, int64_t device_id)
{

	return (w->device_id == device_id);
}

void
waiters_revoked(struct push *p, int64_t device_id)
{

	release_some(p, is_of_device, device_id, true);
}

static bool
is_for_outbox(const struct push_waiter *w, int64_t unused)
{

	(void)unused;
	return (w->outbox);
}

void
waiters_recheck(struct push *p)
{

	release_some(p, is_for_outbox, 0, true);
}
