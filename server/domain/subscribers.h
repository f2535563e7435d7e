/* SPDX-License-Identifier: MIT */
/*
 * Who inside the server is told what has happened to outbox entries, beside
 * their senders' sessions: carriers of other kinds (a webhook, Web Push), other
 * servers' receipts, counters.  Few, known at the start and never taken out.
 *
 * A subscriber is told of what is on disk, in the order of the commits, each
 * event once while the server runs.  It is not told again after a crash: who
 * owes somebody something for each event keeps a row of its own and reads it
 * at its start; what it is told is why it looks at once.
 */
#ifndef DOMAIN_SUBSCRIBERS_H
#define DOMAIN_SUBSCRIBERS_H

#include "domain/news.h"

/* So many at most; each is looked at for each event. */
#define SUBSCRIBERS_MAX 8

/* One event, the four that lead through a message's life, or whatever happens
 * to an entry (it was read, canceled, released …), in a mask. */
#define EVENT_BIT(event) (1U << (event))
#define EVENTS_OF_ENTRIES                                                      \
	(EVENT_BIT(CHANGE_SENT) | EVENT_BIT(CHANGE_ACKED) |                    \
	    EVENT_BIT(CHANGE_RETRY) | EVENT_BIT(CHANGE_FAILED))
#define EVENTS_ALL (EVENT_BIT(OUTBOX_EVENTS) - 1)

struct subscriber {
	/* ${change} is borrowed.  Everybody's answers wait behind this call,
	 * so it takes what it needs (into a mailbox, say) and returns: no
	 * lock that is held for long, no store, no network.
	 * Thread: sync.  Blocks: never. */
	void (*told)(void *arg, const struct domain_change *change);
	void *arg;
	unsigned events; /* which ones, by EVENT_BIT */
};

struct subscribers {
	struct subscriber list[SUBSCRIBERS_MAX];
	size_t n;
};

/* Adds a copy of ${subscriber}.  RC_LIMIT: there are SUBSCRIBERS_MAX. */
enum rc subscribers_add(struct subscribers *s,
    const struct subscriber *subscriber, struct err *err) MUST_USE;

/* Tells each of the changes of ${news} to those who asked for its event. */
void subscribers_tell(const struct subscribers *s, const struct news *news);

#endif
