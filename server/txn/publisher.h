/* SPDX-License-Identifier: MIT */
/*
 * The publisher: hands the effects of each commit to its subscribers, which are
 * the modules that react to commits (the relay, sessions, other nodes, the
 * cache of tokens, counters).  They are few, are added at the start, and stay.
 *
 * Delivery is in the order of the commits and at most once: not again after a
 * crash.  A subscriber that must miss no event keeps a row of its own, and
 * reads it at its start.
 *
 * Subscribers are called in the order in which they were added.
 */
#ifndef TXN_PUBLISHER_H
#define TXN_PUBLISHER_H

#include "txn/effects.h"
#include "txn/wake.h"

#define SUBSCRIBERS_MAX 8

/* One event of an outbox entry, the four that lead through a message's life, or
 * all (it was read, canceled, released …), in a mask. */
#define EVENT_BIT(event) (1U << (event))
#define EVENTS_OF_ENTRIES                                                      \
	(EVENT_BIT(CHANGE_SENT) | EVENT_BIT(CHANGE_ACKED) |                    \
	    EVENT_BIT(CHANGE_RETRY) | EVENT_BIT(CHANGE_FAILED))
#define EVENTS_ALL (EVENT_BIT(OUTBOX_EVENTS) - 1)

/*
 * Each function may be NULL.  The answers of all clients wait behind these
 * calls: they take a copy of what they need and return, without a lock that is
 * held for long, without the store or the network.
 */
struct subscriber {
	void *arg;

	/* A transaction is committed, and perhaps not on disk yet: these lanes
	 * have work.  A transaction that follows from it is never on disk
	 * without it.  Borrowed.  Thread: writer.  Blocks: never. */
	void (*on_wake)(void *arg, const struct wake *wake);

	/* It is on disk: this has happened.  Borrowed.  Thread: sync or writer.
	 * Blocks: never. */
	void (*on_effects)(void *arg, const struct effects *effects);

	/* The same for each changed outbox entry whose event is in the mask. */
	void (*on_change)(void *arg, const struct effect_change *change);
	unsigned events;

	/* As on_wake and on_effects, for the one subscriber that takes over the
	 * object.  They are called last. */
	void (*take_wake)(void *arg, struct wake *wake);
	void (*take_effects)(void *arg, struct effects *effects);
};

/* Begins zeroed.  It does not change once the writer has begun, and needs no
 * lock. */
struct publisher {
	struct subscriber list[SUBSCRIBERS_MAX];
	size_t n;
};

/* Adds a copy of ${subscriber}.  RC_LIMIT: there are SUBSCRIBERS_MAX, or
 * another one takes over the same. */
enum rc publisher_add(struct publisher *p, const struct subscriber *subscriber,
    struct err *err) MUST_USE;

/* Calls the subscribers; takes over the object.  Threads: as above. */
void publisher_wake(const struct publisher *p, struct wake *wake);
void publisher_effects(const struct publisher *p, struct effects *effects);

#endif
