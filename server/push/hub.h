/* SPDX-License-Identifier: MIT */
/*
 * The hub: which members (sessions, long-polls) wait for which person's inbox.
 * It owns no thread and no socket; its members are embedded in who waits.
 * Thread: push, except where another is named.
 */
#ifndef PUSH_HUB_H
#define PUSH_HUB_H

#include <stdbool.h>
#include <sys/queue.h>

#include "txn/effects.h"

struct hub;
struct hub_member;

struct hub_ops {
	/* An event is in the inbox of the member's user. */
	void (*event)(struct hub_member *m, const struct effect_event *e);

	/* An outbox entry of the member's user changed. */
	void (*change)(struct hub_member *m, const struct effect_change *c);

	/* The mark of one of the user's devices moved. */
	void (*acked)(struct hub_member *m, const struct effect_acked *a);

	/* Something ephemeral (a ready frame), dropped first. */
	void (*whisper)(struct hub_member *m, const char *frame, size_t n);
};

struct hub_member {
	const struct hub_ops *ops; /* entries may be NULL */
	int64_t user_id;
	bool joined;
	TAILQ_ENTRY(hub_member) entry;
};

/* An empty hub; NULL: no memory. */
struct hub *hub_new(void);

/* Frees a hub without members.  NULL is allowed. */
void hub_free(struct hub *h);

/* ${m} (ops and user_id set) is told from now on. */
enum rc hub_join(struct hub *h, struct hub_member *m) MUST_USE;

/* ${m} is told no more.  Harmless when it never joined.  A member may leave
 * while it is being told. */
void hub_leave(struct hub *h, struct hub_member *m);

/* Tells the members of the event's (change's, given) user. */
void hub_event(struct hub *h, const struct effect_event *e);
void hub_change(struct hub *h, const struct effect_change *c);
void hub_acked(struct hub *h, const struct effect_acked *a);
void hub_whisper(struct hub *h, int64_t user_id, const char *frame, size_t n);

/* Somebody who will join for ${user_id} counts as waiting from now on, until
 * hub_unexpect(): he may read the store in between.  Thread: any. */
void hub_expect(struct hub *h, int64_t user_id);
void hub_unexpect(struct hub *h, int64_t user_id);

/* Whether ${effects} may concern anybody who waits; false is certain, and then
 * it need not be told.  Thread: any. */
bool hub_wants(const struct hub *h, const struct effects *effects);

/* Whether anybody waits for ${user_id}. */
bool hub_present(const struct hub *h, int64_t user_id);

#endif
