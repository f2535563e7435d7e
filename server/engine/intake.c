/* SPDX-License-Identifier: MIT */
/*
 * See intake.h.
 *
 * The writer takes a batch as soon as a unit waits, with one exception: the
 * batching window.  On a multi-writer database a commit is a network round
 * trip.  Clients that batch n has answered send again just after batch n+1 was
 * taken, so they would split into two alternating batches of half the size, and
 * what they sent would be delivered in a batch of its own.  The writer
 * therefore waits, for at most 1 ms, for these clients and for the unit that
 * delivers what they sent.  After a window in which fewer than half of these
 * clients came back, the next windows are skipped (RETURN_SKIP).
 */
#include <time.h>

#include "base/lock.h"
#include "engine/intake.h"

#define BATCH_BYTES (4 << 20)
/* Upkeep gets at most a tenth of a batch. */
#define BATCH_UPKEEP (BATCH_UNITS / 10)
/* The batching window: a quarter of the time that the last batch took, at most
 * 1 ms.  When fewer than half of the clients that were answered came back in a
 * window, the next window is skipped; each further time in a row, the number of
 * skipped windows about doubles (1, 3, 7 and so on up to 63).  A window in
 * which at least half came back resets this number to 0. */
#define RETURN_PART 4
#define RETURN_US 1000
#define RETURN_SKIP 63

static struct unit *
unit_of(struct mbox_node *node)
{

	return (CONTAINER_OF(node, struct unit, node));
}

void
intake_init(struct intake *in, size_t limit)
{
	int i;

	in->queue_limit = limit;
	in->patience_us = RETURN_US;
	for (i = 0; i < UNIT_QUEUES; i++) {
		in->queues[i].head = NULL;
		in->queues[i].tail = &in->queues[i].head;
		in->queues[i].count = 0;
	}
	lock_init(&in->lock, LOCK_INTAKE);
	lock_cond_init(&in->wake);
}

void
intake_fini(struct intake *in)
{

	(void)pthread_cond_destroy(&in->wake);
	lock_fini(&in->lock);
}

/* ---- in ---- */

/* Returns true if the batching window need not last longer: at least ${wanted}
 * client units are queued, and also a delivery, except that none is needed if
 * ${alone} is set.  Lock held. */
static bool
enough(const struct intake *in)
{

	return (in->queues[UNIT_CLIENT].count >= in->wanted &&
		(in->alone || in->queues[UNIT_DELIVERY].count > 0));
}

/* Lock held. */
static void
put(struct intake *in, struct unit *unit)
{
	struct queue *q = &in->queues[unit->kind->queue];

	unit->node.next = NULL;
	*q->tail = &unit->node;
	q->tail = &unit->node.next;
	q->count++;
	atomic_fetch_add_explicit(&in->waiting, 1, memory_order_relaxed);
}

enum rc
intake_put(struct intake *in, struct unit *unit)
{
	struct queue *q;
	enum rc rc = RC_OK;

	unit->rc = RC_OK;
	unit->deferred = false;
	unit->deferred_ms = -1;
	lock_take(&in->lock);
	q = &in->queues[unit->kind->queue];
	if (in->stopping) {
		rc = RC_CLOSED;
	} else if (q->count >= in->queue_limit) {
		rc = RC_BUSY;
	} else {
		put(in, unit);
		if (in->wanted > 0 ? enough(in) : intake_waiting(in) == 1)
			(void)pthread_cond_signal(&in->wake);
	}
	lock_drop(&in->lock);
	return (rc);
}

void
intake_put_again(struct intake *in, struct unit **units, size_t n,
    struct unit **ret, size_t *ret_n)
{
	struct mbox_node *first = NULL, **tail = &first;
	size_t i;

	*ret_n = 0;
	lock_take(&in->lock);
	for (i = 0; i < n; i++) {
		if (units[i]->requeue) {
			put(in, units[i]);
			continue;
		}
		*tail = &units[i]->node;
		tail = &units[i]->node.next;
		(*ret_n)++;
	}
	lock_drop(&in->lock);
	*tail = NULL;
	*ret = first != NULL ? unit_of(first) : NULL;
}

void
intake_stop(struct intake *in)
{

	lock_take(&in->lock);
	in->stopping = true;
	(void)pthread_cond_broadcast(&in->wake);
	lock_drop(&in->lock);
}

void
intake_ask(struct intake *in, enum errand errand)
{

	lock_take(&in->lock);
	in->errands |= (unsigned)errand;
	(void)pthread_cond_signal(&in->wake);
	lock_drop(&in->lock);
}

unsigned
intake_errands(struct intake *in)
{
	unsigned errands;

	lock_take(&in->lock);
	errands = in->errands;
	in->errands = 0;
	lock_drop(&in->lock);
	return (errands);
}

/* ---- out ---- */

/* A batch while it is taken. */
struct taking {
	struct unit **batch;
	size_t n, bytes;
};

/* Moves units from ${q} into the batch, at most ${most}.  Lock held. */
static void
take_from(struct intake *in, struct queue *q, size_t most, struct taking *t)
{
	struct unit *unit;

	while (q->head != NULL && most > 0 && t->n < BATCH_UNITS &&
	       t->bytes < BATCH_BYTES) {
		unit = unit_of(q->head);
		q->head = unit->node.next;
		if (q->head == NULL)
			q->tail = &q->head;
		q->count--;
		atomic_fetch_sub_explicit(
		    &in->waiting, 1, memory_order_relaxed);
		t->batch[t->n++] = unit;
		t->bytes += unit->bytes;
		most--;
	}
}

/* The end of the batching window that begins now. */
static struct timespec
return_until(const struct intake *in)
{
	struct timespec t;
	int64_t us = in->batch_us / RETURN_PART;

	if (us > in->patience_us)
		us = in->patience_us;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += us / 1000000;
	t.tv_nsec += (long)(us % 1000000) * 1000;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	return (t);
}

/* The batching window: waits until the clients that the last batch has answered
 * are back (the same number of client units has arrived) and a delivery, of
 * what they sent, is queued (not needed if ${alone}), or until the window ends.
 * Returns at once if that batch answered no client, if BATCH_UNITS units wait
 * already, or if this window is skipped.  Lock held. */
static void
await_return(struct intake *in)
{
	const struct queue *clients = &in->queues[UNIT_CLIENT];
	const size_t answered = in->answered, begun = clients->count;
	struct timespec until;

	in->answered = 0;
	if (answered == 0 || intake_waiting(in) >= BATCH_UNITS)
		return;
	if (in->skipped < in->skip) {
		in->skipped++;
		return;
	}
	until = return_until(in);
	in->wanted = begun + answered;
	while (!in->stopping && !enough(in) &&
	       lock_wait_until(&in->lock, &in->wake, &until))
		continue;
	in->alone = clients->count >= in->wanted &&
		    in->queues[UNIT_DELIVERY].count == 0;
	in->wanted = 0;
	in->skipped = 0;
	if ((clients->count - begun) * 2 >= answered)
		in->skip = 0;
	else if (in->skip < RETURN_SKIP)
		in->skip = in->skip * 2 + 1;
}

/* Waits until it is woken, for a unit or an errand; it may also wake without
 * either.  Returns false when wake_ms has come.  Lock held. */
static bool
await_work(struct intake *in)
{
	const struct timespec until = {.tv_sec = (time_t)(in->wake_ms / 1000),
	    .tv_nsec = (long)(in->wake_ms % 1000) * 1000000L};

	if (in->wake_ms == 0) {
		lock_wait(&in->lock, &in->wake);
		return (true);
	}
	return (lock_wait_until(&in->lock, &in->wake, &until));
}

bool
intake_take(struct intake *in, struct unit **batch, size_t *ret_n, bool wait)
{
	struct taking t = {batch, 0, 0};
	bool more;

	lock_take(&in->lock);
	if (wait)
		await_return(in);
	while (wait && !in->stopping && in->errands == 0 &&
	       intake_waiting(in) == 0 && await_work(in))
		continue;
	in->alone = in->alone && in->queues[UNIT_DELIVERY].count == 0;
	take_from(in, &in->queues[UNIT_DELIVERY], BATCH_UNITS / 2, &t);
	take_from(in, &in->queues[UNIT_UPKEEP], BATCH_UPKEEP, &t);
	take_from(in, &in->queues[UNIT_CLIENT], BATCH_UNITS, &t);
	take_from(in, &in->queues[UNIT_DELIVERY], BATCH_UNITS, &t);
	more = t.n > 0 || !in->stopping;
	lock_drop(&in->lock);
	*ret_n = t.n;
	return (more);
}
