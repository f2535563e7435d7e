/* SPDX-License-Identifier: MIT */
/*
 * The names of event kinds.  Each kind has two names.  The API shows
 * event_kind_name() as `kind` in inboxes ("receipt" for both kinds of
 * receipts), and event_kind_type() as `event_type` in the outbox; envelopes,
 * which carry events to other servers, have event_kind_type() as
 * `message_type`.  The database stores the number of the kind.
 */
#include "model/event.h"

const char *
event_kind_name(int kind)
{

	switch (kind) {
#define X(id, number, name, type)                                              \
	case id:                                                               \
		return (name);
		EVENT_KIND_TABLE(X)
#undef X
	default:
		return (NULL);
	}
}

const char *
event_kind_type(int kind)
{

	switch (kind) {
#define X(id, number, name, type)                                              \
	case id:                                                               \
		return (type);
		EVENT_KIND_TABLE(X)
#undef X
	default:
		return (NULL);
	}
}
