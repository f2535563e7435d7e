/* SPDX-License-Identifier: MIT */
/*
 * Events, which inboxes contain and outbox rows carry.  Everything that is
 * delivered is an event: a message, a receipt, a bounce …
 */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/uuid.h"

/* X(id, number in the database, kind in the inbox, event_type in the outbox) */
#define EVENT_KIND_TABLE(X)                                                    \
	X(EVENT_MESSAGE, 1, "message", "message.send")                         \
	X(EVENT_DELIVERED, 2, "receipt", "receipt.delivered")                  \
	X(EVENT_READ, 3, "receipt", "receipt.read")                            \
	X(EVENT_OWN_READ, 4, "read", "read")                                   \
	X(EVENT_BOUNCE, 5, "bounce", "message.bounced")                        \
	X(EVENT_EDIT, 6, "edit", "message.edit")                               \
	X(EVENT_DELETE, 7, "delete", "message.delete")                         \
	X(EVENT_REACTION, 8, "reaction", "message.reaction")                   \
	X(EVENT_MEMBER, 9, "member", "conversation.member")

enum event_kind {
#define X(id, number, kind, type) id = number,
	EVENT_KIND_TABLE(X)
#undef X
	    EVENT_KIND_MAX
};

/* Return "message", "receipt", … and "message.send", …; NULL if ${kind} is not
 * a kind. */
const char *event_kind_name(int kind);
const char *event_kind_type(int kind);

/* The message part of an event or an outbox entry.  Strings are borrowed: a
 * callback that gets the view may use them until it returns.  NULL is written
 * as JSON null, except for metadata ({}) and content_type ("text/plain"). */
struct message_view {
	struct uuid id;
	const char *body;
	size_t body_len;
	const char *content_type;
	const char *metadata; /* JSON text; NULL: {} */
	size_t metadata_len;
	const char *correlation_id;
	bool has_reply_to;
	struct uuid reply_to;
};

/* An inbox event, ready to be shown. */
struct event_view {
	int64_t seq;
	struct uuid event_id;
	int kind; /* enum event_kind */
	bool own;
	struct uuid conversation;
	int64_t conversation_seq; /* of the message; of a receipt, its upto */
	const char *from;         /* sender; of a receipt, who made it */
	const char *to;           /* recipient's address, NULL in groups */
	struct uuid of;           /* the message concerned; nil: not known */
	int state;          /* of a bounce: OUTBOX_FAILED or …_EXPIRED */
	const char *reason; /* of a bounce: the reason, for people */
	struct message_view message; /* of a message only */
	int64_t event_time;
	int64_t delivered_at;
	int64_t read_at; /* 0: not read */
	int attempt;
};

#endif
