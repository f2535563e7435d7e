/* SPDX-License-Identifier: MIT */
/*
 * The units that wait for the writer: three bounded queues under one lock, from
 * which the writer takes one batch at a time.  Only writer*.c use this.
 */
#ifndef ENGINE_INTAKE_H
#define ENGINE_INTAKE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "engine/writer.h"

#define BATCH_UNITS 512

struct queue {
	struct mbox_node *head, **tail;
	size_t count;
};

struct intake {
	struct lock lock;
	pthread_cond_t wake;
	struct queue queues[UNIT_QUEUES];
	size_t queue_limit;
	bool stopping;
	unsigned errands; /* set of enum errand; under lock */
	atomic_size_t waiting;
	/* The number of queued client units for which the writer waits in the
	 * batching window, a short wait before a batch; 0: the writer is not in
	 * a batching window. */
	size_t wanted;
	/* The last batching window ended with all awaited client units but no
	 * delivery: these clients send nothing that is delivered, so the next
	 * window does not wait for a delivery.  Cleared when a batch takes a
	 * delivery. */
	bool alone;

	/* Only the writer's thread uses the members from here on.  wake_ms
	 * (monotonic): the time at which intake_take() stops waiting for work;
	 * 0: never. */
	int64_t wake_ms;
	/* How many client units the last batch has finished. */
	size_t answered;
	/* Microseconds.  batch_us: the duration of the last batch; patience_us:
	 * the upper limit of a batching window. */
	int64_t batch_us, patience_us;
	/* How many batches do not wait, and how many of them have passed. */
	int skip, skipped;
};

/* Makes the queues empty, for at most ${limit} units each. */
void intake_init(struct intake *in, size_t limit);
void intake_fini(struct intake *in);

/* As writer_submit().  Thread: any. */
enum rc intake_put(struct intake *in, struct unit *unit) MUST_USE;

/* Appends each of ${n} units whose member requeue is true to its queue, even if
 * the queue is full or stopped, and links the other units into a list: *ret is
 * the first of these (NULL: none), *ret_n their number. */
void intake_put_again(struct intake *in, struct unit **units, size_t n,
    struct unit **ret, size_t *ret_n);

/* Moves the next batch, *ret_n units, to ${batch}, which has room for
 * BATCH_UNITS.  With ${wait} it first waits for the batching window, and then,
 * if no unit is queued, until a unit or an errand (intake_ask()) comes, the
 * queues are stopped or wake_ms has passed.  Without ${wait} it does not wait.
 * *ret_n may be 0 in both cases.  Returns false only if the queues are stopped
 * and empty. */
bool intake_take(
    struct intake *in, struct unit **batch, size_t *ret_n, bool wait);

/* From now on intake_put() returns RC_CLOSED.  Thread: any. */
void intake_stop(struct intake *in);

/* Work that the writer does when no unit waits. */
enum errand {
	ERRAND_CUT = 1,  /* truncate the log */
	ERRAND_BEGIN = 2 /* check whether a transaction can begin */
};

/* Requests an errand, which the writer does when no unit waits.  Further
 * requests for this errand that come before the writer does it have no effect.
 * Thread: any. */
void intake_ask(struct intake *in, enum errand errand);

/* Takes the requested errands, a set of bits.  Thread: the writer's. */
unsigned intake_errands(struct intake *in);

static inline size_t
intake_waiting(const struct intake *in)
{

	return (atomic_load_explicit(&in->waiting, memory_order_relaxed));
}

#endif
