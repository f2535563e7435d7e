/* SPDX-License-Identifier: MIT */
/*
 * The hub knows which members (sessions and long-polls) wait for the events and
 * changes of which user.  It owns no thread and no socket.  A member is
 * embedded in its session or long-poll.
 *
 * Thread: push, unless a function names another.
 */
#ifndef PUSH_HUB_H
#define PUSH_HUB_H

#include <stdbool.h>
#include <sys/queue.h>

#include "txn/effects.h"

struct hub;
struct hub_member;

struct hub_ops {
	/* A new event is in the inbox of the member's user. */
	void (*event)(struct hub_member *m, const struct effect_event *e);

	/* An outbox entry of the member's user changed. */
	void (*change)(struct hub_member *m, const struct effect_change *c);

	/* The ack watermark of one of the user's devices moved. */
	void (*acked)(struct hub_member *m, const struct effect_acked *a);

	/* An ephemeral frame, ready to be written.  A member that cannot write
	 * it now drops it. */
	void (*whisper)(struct hub_member *m, const char *frame, size_t n);
};

struct hub_member {
	const struct hub_ops *ops; /* entries may be NULL */
	int64_t user_id;
	bool joined;
	TAILQ_ENTRY(hub_member) entry;
};

/* Returns an empty hub, or NULL when memory is short. */
struct hub *hub_new(void);

/* Frees a hub without members.  NULL is allowed. */
void hub_free(struct hub *h);

/* Adds ${m}, whose ops and user_id are set.  From now on the hub calls its ops.
 * Returns RC_OK or RC_NO_MEMORY. */
enum rc hub_join(struct hub *h, struct hub_member *m) MUST_USE;

/* Removes ${m}: the hub no longer calls its ops.  Does nothing when ${m} is not
 * in the hub.  A member may remove itself, but no other member, while one of
 * its ops runs. */
void hub_leave(struct hub *h, struct hub_member *m);

/* Each calls one op (hub_event() calls `event`, and so on) for all members of
 * one user: the user_id of ${e}, ${c} or ${a}, or ${user_id}. */
void hub_event(struct hub *h, const struct effect_event *e);
void hub_change(struct hub *h, const struct effect_change *c);
void hub_acked(struct hub *h, const struct effect_acked *a);
void hub_whisper(struct hub *h, int64_t user_id, const char *frame, size_t n);

/* Counts a future member of ${user_id} as waiting, until hub_unexpect().  The
 * caller may read the store before the member joins, and hub_wants() misses no
 * effect meanwhile.  Thread: any. */
void hub_expect(struct hub *h, int64_t user_id);
void hub_unexpect(struct hub *h, int64_t user_id);

/* Returns false only if ${effects} concern no member, and need not be published
 * to the hub.  True may be a false alarm.  Thread: any. */
bool hub_wants(const struct hub *h, const struct effects *effects);

/* Returns whether ${user_id} has a member. */
bool hub_present(const struct hub *h, int64_t user_id);

#endif
