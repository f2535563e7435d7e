/* SPDX-License-Identifier: MIT */
/*
 * The effects of a committed transaction, for subscribers (publisher.h) such as
 * push and other nodes: new events in inboxes, changed outbox entries, devices
 * that acked, and devices that lost their token or whose user's rights changed;
 * also two counts of messages for the metrics.  Effects are collected while the
 * transaction runs, so that a lack of memory can still abandon the transaction.
 * They are handed over when the commit is on disk.
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

/* An event in an inbox.  Users of this server are named without a domain,
 * others as name@domain. */
struct effect_event {
	int64_t user_id; /* owner of the inbox */
	int64_t seq;
	int kind; /* enum event_kind */
	bool own;
	struct uuid event_id;
	struct uuid conversation;
	/* of a receipt: the last message that it covers */
	int64_t conversation_seq;
	/* the sender; of a receipt: the user who received or read */
	struct text *from;
	struct text *to; /* NULL in groups */
	struct uuid of;  /* the message that the event is about */
	/* rendered for clients; NULL: read it from the store */
	struct text *message;
	int64_t event_time;
	int64_t delivered_at;
	int attempt;
	int reason; /* of a bounce: enum outbox_reason */
};

/* The changes of an outbox entry.  X(id, name) */
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

/* Returns the name of ${event}: "changed", "sent", … */
const char *effects_outbox_event_name(enum outbox_event event);

/* The ack watermark of a device has moved, whatever request moved it. */
struct effect_acked {
	int64_t user_id;
	int64_t device_id;
	int64_t seq;
};

/* A device lost its token or, if ${kept}, keeps the token although the rights
 * of its user have changed.  In both cases a cached copy of the token's owner
 * and rights must be dropped. */
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
	int64_t accepted; /* accepted messages, for the metrics */
	int64_t replayed; /* messages that had been accepted before */
};

/* Returns empty effects, or NULL if there is no memory. */
struct effects *effects_new(void);

/* Frees ${effects} and releases its texts.  NULL is allowed. */
void effects_free(struct effects *effects);

/* Append to the effects.  The texts of ${event} are taken over, even on
 * failure. */
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

/* Returns true if there is nothing to publish or to count. */
bool effects_empty(const struct effects *effects);

/* Returns approximately how many bytes of memory ${effects} holds. */
size_t effects_size(const struct effects *effects);

/* To save memory, removes and frees the events, the changed outbox entries and
 * the acks, which subscribers can also read from the store.  The tokens in
 * ${effects}->revoked and the two counts remain. */
void effects_shed(struct effects *effects);

/* Makes room for one more object of ${size} bytes in the array ${*list}, which
 * holds ${n} objects and has room for ${*cap}.  If the array is full, enlarges
 * it and updates ${*list} and ${*cap}.  Returns false, and changes nothing, if
 * there is no memory.  Also used by wake.c. */
bool effects_grow(void **list, size_t n, size_t *cap, size_t size);

#endif
