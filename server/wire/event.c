/* SPDX-License-Identifier: MIT */
/*
 * Writes inbox events.  A message event consists of a part that depends on the
 * reader or on the acceptance of the message (such as seq, own and times), and
 * of the fragment, which is the same for every reader.  The fragment of a new
 * message is written once and copied into the event of each reader.
 */
#include <string.h>

#include "base/text.h"
#include "model/outbox.h"
#include "wire/json.h"
#include "wire/wire.h"

void
wire_message_fragment(struct buf *b, const struct message_view *m)
{

	jw_uuid(b, "id", &m->id);
	jw_strn(b, "body", m->body, m->body_len);
	jw_str(b, "content_type",
	    (m->content_type != NULL) ? m->content_type
				      : MESSAGE_CONTENT_TYPE_DEFAULT);
	if (m->metadata != NULL)
		jw_raw(b, "metadata", m->metadata, m->metadata_len);
	else
		jw_raw(b, "metadata", "{}", 2);
	jw_str(b, "correlation_id", m->correlation_id);
	if (m->has_reply_to)
		jw_uuid(b, "reply_to", &m->reply_to);
	else
		jw_null(b, "reply_to");
}

struct text *
wire_draft_fragment(const struct message_draft *draft)
{
	struct message_view view;
	struct buf b = BUF_INIT;
	struct text *text;

	message_draft_view(draft, &view);
	wire_message_fragment(&b, &view);
	text = buf_ok(&b) ? text_new(b.data, b.len) : NULL;
	buf_fini(&b);
	return (text);
}

static void
add_of(struct buf *b, const struct uuid *of)
{
	static const struct uuid nil;

	if (uuid_equal(of, &nil))
		jw_null(b, "of");
	else
		jw_uuid(b, "of", of);
}

static void
add_message(struct buf *b, const struct event_view *e, const char *fragment,
    size_t fragment_len)
{

	jw_bool(b, "own", e->own);
	jw_uuid(b, "conversation", &e->conversation);
	jw_int(b, "conversation_seq", e->conversation_seq);
	jw_str(b, "from", e->from);
	jw_str(b, "to", e->to);
	if (fragment != NULL) {
		jw_comma(b);
		buf_add(b, fragment, fragment_len);
	} else {
		wire_message_fragment(b, &e->message);
	}
	jw_time(b, "event_time", e->event_time);
	jw_time(b, "delivered_at", e->delivered_at);
	jw_time(b, "read_at", e->read_at);
	jw_int(b, "attempt", e->attempt);
}

static void
add_receipt(struct buf *b, const struct event_view *e)
{

	add_of(b, &e->of);
	jw_uuid(b, "conversation", &e->conversation);
	jw_int(b, "upto", e->conversation_seq);
	jw_str(b, "by", e->from);
	jw_str(b, "state", (e->kind == EVENT_READ) ? "read" : "delivered");
	jw_time(b, "at", e->event_time);
}

static void
add_bounce(struct buf *b, const struct event_view *e)
{

	add_of(b, &e->of);
	jw_uuid(b, "conversation", &e->conversation);
	jw_str(b, "to", e->to);
	jw_str(b, "state", outbox_state_name(e->state));
	jw_str(b, "reason", e->reason);
	jw_time(b, "at", e->event_time);
}

/* Writes what edits, deletes, reactions and membership have in common. */
static void
add_change(struct buf *b, const struct event_view *e)
{

	add_of(b, &e->of);
	jw_uuid(b, "conversation", &e->conversation);
	jw_bool(b, "own", e->own);
	jw_str(b, "by", e->from);
	jw_time(b, "at", e->event_time);
}

void
wire_event(struct buf *b, const struct event_view *e, const char *fragment,
    size_t fragment_len, const char *type)
{

	buf_addc(b, '{');
	if (type != NULL)
		jw_str(b, "type", type);
	jw_int(b, "seq", e->seq);
	jw_uuid(b, "event_id", &e->event_id);
	jw_str(b, "kind", event_kind_name(e->kind));
	/* -Wswitch-enum makes the compiler report a new kind that is not
	 * handled here.  The default is for a kind that this version does not
	 * know, because a newer node has written the row to the database that
	 * both use.  It is written with the members of an edit. */
	switch ((enum event_kind)e->kind) {
	case EVENT_MESSAGE:
		add_message(b, e, fragment, fragment_len);
		break;
	case EVENT_DELIVERED:
	case EVENT_READ:
		add_receipt(b, e);
		break;
	case EVENT_OWN_READ:
		jw_uuid(b, "conversation", &e->conversation);
		jw_int(b, "upto", e->conversation_seq);
		jw_time(b, "at", e->event_time);
		break;
	case EVENT_BOUNCE:
		add_bounce(b, e);
		break;
	case EVENT_EDIT:
	case EVENT_DELETE:
	case EVENT_REACTION:
	case EVENT_MEMBER:
		add_change(b, e);
		break;
	case EVENT_KIND_MAX:
	default:
		add_change(b, e);
		break;
	}
	buf_addc(b, '}');
}

void
wire_message(struct buf *b, const struct event_view *e)
{

	buf_addc(b, '{');
	jw_uuid(b, "event_id", &e->event_id);
	jw_bool(b, "own", e->own);
	jw_uuid(b, "conversation", &e->conversation);
	if (e->conversation_seq != 0)
		jw_int(b, "conversation_seq", e->conversation_seq);
	else
		jw_null(b, "conversation_seq");
	jw_str(b, "from", e->from);
	jw_str(b, "to", e->to);
	wire_message_fragment(b, &e->message);
	jw_time(b, "event_time", e->event_time);
	buf_addc(b, '}');
}
