/* SPDX-License-Identifier: MIT */
/*
 * Long-polls.  Besides poll_start(), three threads may work on the same
 * long-poll: a reader, which runs its query; push, which calls done() of its
 * waiter (push/push.h); and its http loop, when the time is up, the client has
 * gone or draining begins.  Each of them changes the state (poll_state.h) under
 * rest->poll_lock, and then, without the lock, starts the read or gives the
 * answer that the change requires, if any.
 */
#include <assert.h>
#include <stddef.h>

#include "base/lock.h"
#include "rest/poll.h"
#include "rest/rest_internal.h"

/* ---- changes of the state; under the lock ---- */

/* The next action of the thread that changed the state. */
enum step { STEP_NONE, STEP_READ, STEP_ANSWER };

static void
move(struct poll *p, enum poll_state to)
{

	assert(poll_state_allows(p->state, to));
	p->state = to;
}

/* Begins a round of the poll: registers the waiter with push, and returns
 * STEP_READ, so the caller reads the store after that.  A commit that the read
 * does not see wakes the waiter.  If push does not take the waiter because the
 * server is stopping, this read is the last one. */
static enum step
begin_round(struct poll *p)
{
	enum rc rc = push_wait(p->call.rest->o.push, &p->waiter);

	p->drained |= rc != RC_OK;
	move(p, rc == RC_OK ? POLL_READING : POLL_READING_LAST);
	return (STEP_READ);
}

static enum step
read_last(struct poll *p)
{

	move(p, POLL_READING_LAST);
	return (STEP_READ);
}

static enum step
answer_now(struct poll *p)
{

	move(p, POLL_ANSWERED);
	return (STEP_ANSWER);
}

/* Asks push to give the waiter back. */
static void
withdraw(struct poll *p, enum poll_state to)
{

	move(p, to);
	push_wait_cancel(p->call.rest->o.push, &p->waiter);
}

/* Handles the end of a read, or a read that could not begin. */
static enum step
read_ended(struct poll *p, bool found)
{

	if (p->state == POLL_READING && found) {
		withdraw(p, POLL_READY);
	} else if (p->state == POLL_READING) {
		move(p, POLL_WAITING);
	} else if (p->state == POLL_TIME_UP) {
		move(p, POLL_READY);
	} else if (p->state == POLL_READING_AGAIN && !found) {
		return (begin_round(p));
	} else {
		return (answer_now(p));
	}
	return (STEP_NONE);
}

/* Handles the return of the waiter from push. */
static enum step
waiter_back(struct poll *p, bool woken)
{

	/* The waiter was neither woken nor withdrawn, so push is draining. */
	p->drained |=
	    !woken && (p->state == POLL_READING || p->state == POLL_WAITING);
	if (p->state == POLL_READING && woken)
		move(p, POLL_READING_AGAIN);
	else if (p->state == POLL_READING || p->state == POLL_TIME_UP)
		move(p, POLL_READING_LAST);
	else if (p->state == POLL_WAITING && woken)
		return (begin_round(p));
	else if (p->state == POLL_WAITING || p->state == POLL_WITHDRAWN)
		return (read_last(p));
	else
		return (answer_now(p));
	return (STEP_NONE);
}

static void
time_up(struct poll *p)
{

	if (p->state == POLL_READING)
		withdraw(p, POLL_TIME_UP);
	else if (p->state == POLL_READING_AGAIN)
		move(p, POLL_READING_LAST);
	else if (p->state == POLL_WAITING)
		withdraw(p, POLL_WITHDRAWN);
}

/* ---- steps; without the lock ---- */

static void take_step(struct poll *p, enum step step);

static void
poll_answer(struct poll *p)
{

	if (p->give_up != NULL && (p->revoked || p->err.rc != RC_OK))
		p->give_up(p);
	else if (p->revoked)
		caller_refuse_stranger(&p->call);
	else if (p->err.rc != RC_OK)
		call_fail(&p->call, &p->err);
	else
		p->answer(p);
}

static void
after_read(struct poll *p, bool found)
{
	struct lock *lock = &p->call.rest->poll_lock;
	enum step step;

	lock_take(lock);
	step = read_ended(p, found);
	lock_drop(lock);
	take_step(p, step);
}

static void
run_read(struct read_job *job, struct db *db, struct err *err)
{
	struct poll *p = CONTAINER_OF(job, struct poll, call.job);
	bool found = false;
	enum rc rc = RC_OK;

	/* The waiter was registered before this check, so a revocation after
	 * the check wakes the poll, which then reads and checks again.  Only
	 * the last read may be without a waiter; its answer is given at once.
	 */
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

static void
poll_read(struct poll *p)
{
	enum rc rc = readers_submit(p->call.rest->o.readers, &p->call.job);

	if (rc != RC_OK) {
		(void)err_set(&p->err, rc, "reading");
		after_read(p, true);
	}
}

static void
take_step(struct poll *p, enum step step)
{

	if (step == STEP_ANSWER)
		poll_answer(p);
	else if (step == STEP_READ)
		poll_read(p);
}

/* ---- callbacks of other threads ---- */

/* Thread: push. */
static void
waiter_done(struct push_waiter *w, bool woken)
{
	struct poll *p = w->arg;
	struct lock *lock = &p->call.rest->poll_lock;
	enum step step;

	lock_take(lock);
	step = waiter_back(p, woken);
	lock_drop(lock);
	take_step(p, step);
}

/* The timer of the request: called when the time is up, the client has gone or
 * draining begins.  From now on the poll does not wait for an event, but this
 * function does not answer: the poll is answered after its last read, by the
 * thread that makes the state ANSWERED.  Thread: the http loop's. */
static void
wake(struct http_request *req, void *arg)
{
	struct poll *p = arg;
	struct lock *lock = &p->call.rest->poll_lock;

	(void)req;
	lock_take(lock);
	time_up(p);
	lock_drop(lock);
}

void
poll_start(struct poll *p, int64_t wait_ms)
{
	struct rest *rest = p->call.rest;
	enum step step;

	p->call.job.run = run_read;
	p->waiter.done = waiter_done;
	p->waiter.arg = p;
	p->err = (struct err)ERR_INIT;
	p->state = POLL_NEW;
	p->waits = wait_ms > 0;
	p->drained = false;
	p->waiter.device_id = p->call.principal->device_id;
	if (wait_ms > 0)
		http_set_timer(
		    p->call.req, clk_mono_ms(rest->o.clk) + wait_ms, wake, p);
	lock_take(&rest->poll_lock);
	step = wait_ms > 0 ? begin_round(p) : read_last(p);
	lock_drop(&rest->poll_lock);
	take_step(p, step);
}
