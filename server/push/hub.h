/* SPDX-License-Identifier: MIT */
/*
 * The hub knows which members (sessions and long-polls) each user has on this
 * node, and passes the user's events, outbox changes, acks and ephemeral frames
 * to these members.  The hub owns no thread, no socket and no member: a member
 * is embedded in its session or long-poll.
 *
 * Thread: push (main while that does not run), unless a function names another.
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

	/* Passes on an ephemeral frame (typing; never stored): ${n} bytes of
	 * JSON, which the member may use only during the call.  If the member
	 * cannot write the frame at once, it drops the frame. */
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

/* Adds ${m}, whose ops and user_id the caller has set.  RC_OK: from now on the
 * hub calls the ops of ${m}.  RC_NO_MEMORY: ${m} is not in the hub. */
enum rc hub_join(struct hub *h, struct hub_member *m) MUST_USE;

/* Removes ${m}: the hub no longer calls its ops.  Does nothing when ${m} is not
 * in the hub.  A member may remove itself, but no other member, while one of
 * its ops runs. */
void hub_leave(struct hub *h, struct hub_member *m);

/* Each calls one op (hub_event() calls `event`, and so on) of all members of
 * one user: the user_id of ${e}, ${c} or ${a}, or ${user_id}.  Members whose op
 * is NULL are skipped. */
void hub_event(struct hub *h, const struct effect_event *e);
void hub_change(struct hub *h, const struct effect_change *c);
void hub_acked(struct hub *h, const struct effect_acked *a);
void hub_whisper(struct hub *h, int64_t user_id, const char *frame, size_t n);

/* Counts a future member of ${user_id}, a long-poll, as waiting, until
 * hub_unexpect().  The caller may read the store before the member joins, and
 * hub_wants() misses no effect meanwhile.  Each hub_expect() needs one
 * hub_unexpect(): after hub_join(), which counts the member itself, or when the
 * member will not join.  A session needs neither: it joins before it reads.
 * Thread: any. */
void hub_expect(struct hub *h, int64_t user_id);
void hub_unexpect(struct hub *h, int64_t user_id);

/* Returns true if any of ${effects} concerns a user who has a member or an
 * expected member (hub_expect()), or revokes a token.  May return true in other
 * cases, too, because several users share one counter.  After false, the caller
 * need not publish ${effects}.  Thread: any. */
bool hub_wants(const struct hub *h, const struct effects *effects);

/* Returns whether ${user_id} has a member. */
bool hub_present(const struct hub *h, int64_t user_id);

#endif
