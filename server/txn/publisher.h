/* SPDX-License-Identifier: MIT */
/*
 * The publisher hands the wake-up (new work for the relay) and the effects
 * (changes for clients and other nodes) of each commit to its subscribers, the
 * modules that react to commits: the relay, sessions, other nodes, the cache of
 * tokens, counters.  There are few of them; they are added at the start and
 * stay.
 *
 * Wake-ups and effects are handed over in the order of the commits and at most
 * once: they are not repeated after a crash.  A subscriber that must not miss a
 * change also reads the store, for example when it starts.
 *
 * Subscribers are called in the order in which they were added, except that
 * take_wake and take_effects are called last.
 */
#ifndef TXN_PUBLISHER_H
#define TXN_PUBLISHER_H

#include "txn/effects.h"
#include "txn/wake.h"

#define SUBSCRIBERS_MAX 8

/* Masks of enum outbox_event, for subscriber.events: EVENT_BIT() for one event,
 * EVENTS_OF_ENTRIES for sent, acked, retry and failed, and EVENTS_ALL for these
 * four and CHANGE_OTHER (read, canceled, released, …). */
#define EVENT_BIT(event) (1U << (event))
#define EVENTS_OF_ENTRIES                                                      \
	(EVENT_BIT(CHANGE_SENT) | EVENT_BIT(CHANGE_ACKED) |                    \
	    EVENT_BIT(CHANGE_RETRY) | EVENT_BIT(CHANGE_FAILED))
#define EVENTS_ALL (EVENT_BIT(OUTBOX_EVENTS) - 1)

/*
 * Each function may be NULL.  The answers to all clients wait until these calls
 * return, so a subscriber copies what it needs and returns.  It must not take a
 * lock that is held for long, and must not use the store or the network.
 */
struct subscriber {
	void *arg;

	/* A transaction is committed, but perhaps not on disk yet; ${wake}
	 * names the lanes and the destinations that have work now.  A later
	 * transaction cannot be on disk without this one.  ${wake} is borrowed.
	 * Thread: writer.
	 * Blocks: never. */
	void (*on_wake)(void *arg, const struct wake *wake);

	/* The transaction is on disk.  ${effects} is borrowed.
	 * Thread: sync or writer.
	 * Blocks: never. */
	void (*on_effects)(void *arg, const struct effects *effects);

	/* As on_effects, for each changed outbox entry whose event is in
	 * ${events}. */
	void (*on_change)(void *arg, const struct effect_change *change);
	unsigned events;

	/* As on_wake and on_effects, but the function takes ${wake} or
	 * ${effects} and must free it.  At most one subscriber sets take_wake,
	 * and at most one take_effects.  take_wake is called after on_wake of
	 * all subscribers, take_effects after on_effects and on_change of all
	 * subscribers. */
	void (*take_wake)(void *arg, struct wake *wake);
	void (*take_effects)(void *arg, struct effects *effects);
};

/* Must be zeroed before the first publisher_add().  It does not change after
 * the writer has started, so it needs no lock. */
struct publisher {
	struct subscriber list[SUBSCRIBERS_MAX];
	size_t n;
};

/* Adds a copy of ${subscriber}.  RC_LIMIT: there are SUBSCRIBERS_MAX
 * subscribers already, or ${subscriber} sets take_wake or take_effects and
 * another subscriber sets the same member. */
enum rc publisher_add(struct publisher *p, const struct subscriber *subscriber,
    struct err *err) MUST_USE;

/* Call the subscribers; take ${wake} or ${effects}, and free it if no
 * subscriber takes it.
 * Threads: publisher_wake() writer; publisher_effects() sync or writer. */
void publisher_wake(const struct publisher *p, struct wake *wake);
void publisher_effects(const struct publisher *p, struct effects *effects);

#endif
