/* SPDX-License-Identifier: MIT */
/*
 * The effects of a committed transaction, for push and other nodes: events that
 * are now in inboxes, outbox entries that changed, devices that acked or lost
 * their token.  Collected while the transaction runs, so that a lack of memory
 * abandons it, and handed over after the commit.
 */
#ifndef TXN_EFFECTS_H
#define TXN_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mbox.h"
#include "base/text.h"
#include "base/uuid.h"

/* An event in an inbox.  Names are whole addresses. */
struct effect_event {
	int64_t user_id; /* whose inbox */
	int64_t seq;
	int kind; /* enum event_kind */
	bool own;
	struct uuid event_id;
	struct uuid conversation;
	int64_t conversation_seq; /* upto of a receipt */
	struct text *from;        /* sender; of receipts: by */
	struct text *to;          /* NULL in groups */
	struct uuid of;           /* the message that it is about */
	struct text *message;     /* its rendered part; NULL: read the store */
	int64_t event_time;
	int64_t delivered_at;
	int attempt;
	int reason; /* of a bounce: enum outbox_reason */
};

/* What has happened to an outbox entry.  X(id, name) */
#define OUTBOX_EVENT_TABLE(X)                                                  \
	X(CHANGE_OTHER, "changed")                                             \
	X(CHANGE_SENT, "sent")                                                 \
	X(CHANGE_ACKED, "acked")                                               \
	X(CHANGE_RETRY, "retry")                                               \
	X(CHANGE_FAILED, "failed")

enum outbox_event {
#define X(id, name) id,
	OUTBOX_EVENT_TABLE(X)
#undef X
	    OUTBOX_EVENTS
};

/* An outbox entry of ${user_id} changed. */
struct effect_change {
	int64_t user_id;
	int64_t mid;
	enum outbox_event event;
};

/* "changed", "sent" … */
const char *effects_outbox_event_name(enum outbox_event event);

/* A device's ack mark has moved, however it was told. */
struct effect_acked {
	int64_t user_id;
	int64_t device_id;
	int64_t seq;
};

/* A device lost its token; or ${kept}, which keeps it, but its user has other
 * rights: who remembers the token reads it again. */
struct effect_revoked {
	int64_t device_id;
	uint8_t token_hash[32];
	bool kept;
};

struct effects {
	struct mbox_node node;
	struct effect_event *events;
	size_t nevents, events_cap;
	struct effect_change *changes;
	size_t nchanges, changes_cap;
	struct effect_acked *acked;
	size_t nacked, acked_cap;
	struct effect_revoked *revoked;
	size_t nrevoked, revoked_cap;
	int64_t accepted; /* messages, for the metrics; */
	int64_t replayed; /* and those that were accepted before */
};

/* Empty effects; NULL: no memory. */
struct effects *effects_new(void);

/* Frees ${effects} and releases its texts.  NULL is allowed. */
void effects_free(struct effects *effects);

/* Appends; the texts of ${event} are taken over (also on failure). */
enum rc effects_add_event(struct effects *effects,
    const struct effect_event *event, struct err *err) MUST_USE;
enum rc effects_add_change(struct effects *effects,
    const struct effect_change *change, struct err *err) MUST_USE;
enum rc effects_add_acked(struct effects *effects,
    const struct effect_acked *acked, struct err *err) MUST_USE;
enum rc effects_add_revoked(struct effects *effects, int64_t device_id,
    const uint8_t token_hash[32], struct err *err) MUST_USE;
enum rc effects_add_kept(struct effects *effects, int64_t device_id,
    const uint8_t token_hash[32], struct err *err) MUST_USE;

/* Whether there is nothing to tell or to count. */
bool effects_empty(const struct effects *effects);

/* The bytes that ${effects} keeps from being freed, about. */
size_t effects_size(const struct effects *effects);

/* Forgets all that the store says as well: only devices that lost their token
 * are left. */
void effects_shed(struct effects *effects);

/* Makes room for one more in ${*list} of ${n} objects of ${size}, of which
 * ${*cap} have room; false: no memory.  For wake.c as well. */
bool effects_grow(void **list, size_t n, size_t *cap, size_t size);

#endif
