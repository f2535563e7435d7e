/* SPDX-License-Identifier: MIT */
/*
 * A message as histories show it: the same members as in an inbox event, but
 * for what belongs to a delivery.
 */
#include "api/api_internal.h"
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
