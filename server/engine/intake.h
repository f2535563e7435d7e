/* SPDX-License-Identifier: MIT */
/*
 * What waits for the writer: three bounded queues under one lock, of which it
 * takes a batch at a time.  Only writer.c uses this.
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
	unsigned errands; /* see intake_ask(); lock */
	atomic_size_t waiting;
	size_t wanted; /* the writer waits for so many of clients; 0: not */
	bool alone;    /* and for no delivery: they send nothing that has one */

	/* The writer's: how many client units the last batch answered, how
	 * long it took, how long the next batch waits at most for these clients
	 * to send again, and how many batches do not wait. */
	int64_t wake_ms; /* monotonic: how long it waits at most; 0: for ever */
	size_t answered;
	int64_t batch_us, patience_us;
	int skip, skipped;
};

/* Empty queues, of ${limit} units each. */
void intake_init(struct intake *in, size_t limit);
void intake_fini(struct intake *in);

/* As writer_submit().  Thread: any. */
enum rc intake_put(struct intake *in, struct unit *unit) MUST_USE;

/* Puts units that are not done at the end of their queues, whatever their
 * length, and lists the others: *ret_n of them from *ret on. */
void intake_put_again(struct intake *in, struct unit **units, size_t n,
    struct unit **ret, size_t *ret_n);

/* Moves the next batch to ${batch} (BATCH_UNITS); waits for work if ${wait}, at
 * most until wake_ms.  False: stopped and empty. */
bool intake_take(
    struct intake *in, struct unit **batch, size_t *ret_n, bool wait);

/* No more is taken in.  Thread: any. */
void intake_stop(struct intake *in);

/* What the writer does when no unit waits. */
enum errand {
	ERRAND_CUT = 1,  /* cut the log */
	ERRAND_BEGIN = 2 /* see whether a transaction can begin */
};

/* Asks for an errand, once however often it is asked for.  Thread: any. */
void intake_ask(struct intake *in, enum errand errand);

/* Takes the errands, a set of bits.  Thread: the writer's. */
unsigned intake_errands(struct intake *in);

static inline size_t
intake_waiting(const struct intake *in)
{

	return (atomic_load_explicit(&in->waiting, memory_order_relaxed));
}

#endif
