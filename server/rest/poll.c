/* SPDX-License-Identifier: MIT */
/*
 * Long-polls.  Three threads may touch one: a reader that reads for it, push
 * that gives the waiter back, and its http loop when the time is up or the
 * client has gone.  The last of them goes on; the flags that say which one that
 * is are read and changed under one lock.
 */
#include <stddef.h>

#include "base/lock.h"
#include "rest/poll.h"
#include "rest/rest_internal.h"

static void round_start(struct poll *p, bool wait);

static void
poll_answer(struct poll *p)
{

	if (p->revoked)
		caller_refuse_stranger(&p->call);
	else if (p->err.rc != RC_OK)
		call_fail(&p->call, &p->err);
	else
		p->answer(p);
}

/* A read has ended (or could not begin).  Under the lock; says what to do. */
enum step { STEP_WAIT, STEP_ANSWER, STEP_AGAIN };

static enum step
read_ended(struct poll *p, bool found)
{

	p->reading = false;
	if (!found && !p->expired && p->registered)
		return (STEP_WAIT);
	if (!found && !p->expired && p->woken)
		return (STEP_AGAIN);
	if (!p->registered)
		return (STEP_ANSWER);
	p->ready = true;
	if (!p->canceled) {
		p->canceled = true;
		push_wait_cancel(p->call.rest->o.push, &p->waiter);
	}
	return (STEP_WAIT);
}

static void
after_read(struct poll *p, bool found)
{
	struct lock *lock = &p->call.rest->poll_lock;
	enum step step;

	lock_take(lock);
	step = read_ended(p, found);
	lock_drop(lock);
	if (step == STEP_ANSWER)
		poll_answer(p);
	else if (step == STEP_AGAIN)
		round_start(p, true);
}

static void
run_read(struct read_job *job, struct db *db, struct err *err)
{
	struct poll *p = CONTAINER_OF(job, struct poll, call.job);
	bool found = false;
	enum rc rc = RC_OK;

	/* Registering before the check means that no revocation is missed. */
	if (db != NULL && p->waits)
		rc = rest_still_admitted(&p->call, db, err);
	if (rc == RC_NOT_FOUND) {
		p->revoked = found = true;
	} else if (db == NULL || rc != RC_OK ||
		   p->query(p, db, &found, err) != RC_OK) {
		p->err = *err;
		found = true;
	}
	after_read(p, found);
}

/* Registers (if it may still wait), then reads. */
static void
round_start(struct poll *p, bool wait)
{
	struct rest *rest = p->call.rest;
	enum rc rc = RC_OK;

	lock_take(&rest->poll_lock);
	p->reading = true;
	p->woken = p->canceled = false;
	if (wait && !p->expired) {
		p->registered = true;
		rc = push_wait(rest->o.push, &p->waiter);
		if (rc != RC_OK)
			p->registered = false;
	}
	/* Draining, or no memory to wait with: what there is now is told. */
	if (!p->registered)
		p->expired = true;
	lock_drop(&rest->poll_lock);
	rc = readers_submit(rest->o.readers, &p->call.job);
	if (rc != RC_OK) {
		(void)err_set(&p->err, rc, "reading");
		after_read(p, true);
	}
}

/* Thread: push. */
static void
waiter_done(struct push_waiter *w, bool woken)
{
	struct poll *p = w->arg;
	struct lock *lock = &p->call.rest->poll_lock;
	bool ready, reading;

	lock_take(lock);
	p->registered = false;
	if (woken)
		p->woken = true;
	else
		p->expired = true;
	ready = p->ready;
	reading = p->reading;
	lock_drop(lock);
	if (ready)
		poll_answer(p);
	else if (!reading)
		round_start(p, true);
}

/* The time is up, or the client has gone.  Thread: its http loop. */
static void
wake(struct http_request *req, void *arg)
{
	struct poll *p = arg;
	struct rest *rest = p->call.rest;

	(void)req;
	lock_take(&rest->poll_lock);
	p->expired = true;
	if (p->registered && !p->canceled) {
		p->canceled = true;
		push_wait_cancel(rest->o.push, &p->waiter);
	}
	lock_drop(&rest->poll_lock);
}

void
poll_start(struct poll *p, int64_t wait_s)
{
	struct rest *rest = p->call.rest;

	p->call.job.run = run_read;
	p->waiter.done = waiter_done;
	p->waiter.arg = p;
	p->err = (struct err)ERR_INIT;
	p->waits = wait_s > 0;
	p->waiter.device_id = p->call.principal->device_id;
	if (wait_s > 0)
		http_set_timer(p->call.req,
		    clk_mono_ms(rest->o.clk) + wait_s * 1000, wake, p);
	round_start(p, wait_s > 0);
}
