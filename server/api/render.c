/* SPDX-License-Identifier: MIT */
/*
 * Writes a message in two forms.  render_history() writes the members that an
 * event of the kind "message" has in an inbox, except seq, kind, delivered_at,
 * read_at and attempt.  render_preview() writes some of these members for the
 * list of conversations, with the text cut to at most LIMIT_PREVIEW_BYTES, and
 * the member "truncated".
 */
#include "api/api_internal.h"
#include "base/utf8.h"
#include "store/message.h"

void
render_history(struct buf *b, const struct store_history *m,
    const struct uuid *conversation, int64_t reader_id, const char *to)
{

	buf_addc(b, '{');
	jw_uuid(b, "event_id", &m->event_id);
	jw_bool(b, "own", m->sender_id == reader_id);
	jw_uuid(b, "conversation", conversation);
	if (m->conversation_seq != 0)
		jw_int(b, "conversation_seq", m->conversation_seq);
	else
		jw_null(b, "conversation_seq");
	jw_str(b, "from", m->sender);
	jw_str(b, "to", to);
	wire_message_fragment(b, &m->message);
	jw_time(b, "event_time", m->event_time);
	buf_addc(b, '}');
}

void
render_preview(struct buf *b, const struct store_history *m, int64_t reader_id)
{
	const struct message_view *v = &m->message;
	size_t n = 0;

	if (v->body != NULL)
		n = utf8_cut(v->body, v->body_len, LIMIT_PREVIEW_BYTES);
	buf_addc(b, '{');
	jw_uuid(b, "id", &v->id);
	jw_int(b, "conversation_seq", m->conversation_seq);
	jw_str(b, "from", m->sender);
	jw_bool(b, "own", m->sender_id == reader_id);
	jw_strn(b, "body", v->body, n);
	jw_bool(b, "truncated", v->body != NULL && n < v->body_len);
	jw_str(b, "content_type",
	    v->content_type != NULL ? v->content_type
				    : MESSAGE_CONTENT_TYPE_DEFAULT);
	jw_time(b, "event_time", m->event_time);
	buf_addc(b, '}');
}
