/* SPDX-License-Identifier: MIT */
/*
 * Writes requests to other servers, and answers to their requests.
 *
 * The member control of a request is written before the envelopes.  So, when an
 * envelope is added, it is known how many bytes of the request are left for it.
 */
#include <assert.h>
#include <string.h>

#include "wire/envelope.h"
#include "wire/json.h"

/* The end of a request. */
static const char tail[] = "]}";

static void
add_span(struct buf *b, const char *name, const struct span *s)
{

	if (s->p != NULL)
		jw_strn(b, name, s->p, s->n);
}

/* ---- acks ---- */

static bool
is_said(const struct envelope_ack *ack)
{

	return (envelope_status_word(ack->status)[0] != '\0');
}

static void
add_ack(struct buf *b, const struct envelope_ack *ack)
{

	jw_comma(b);
	buf_addc(b, '{');
	jw_uuid(b, "message_id", &ack->event_id);
	jw_str(b, "status", envelope_status_word(ack->status));
	if (ack->duplicate)
		jw_bool(b, "duplicate", true);
	if (ack->sequence != 0)
		jw_int(b, "sequence", ack->sequence);
	if (ack->reason[0] != '\0')
		jw_str(b, "reason", ack->reason);
	if (ack->retry_after_ms != 0)
		jw_int(b, "retry_after_ms", ack->retry_after_ms);
	buf_addc(b, '}');
}

static void
add_acks(struct buf *b, const struct envelope_ack *acks, size_t n)
{
	size_t i;

	jw_member(b, "acks");
	buf_addc(b, '[');
	for (i = 0; i < n; i++) {
		if (is_said(&acks[i]))
			add_ack(b, &acks[i]);
	}
	buf_addc(b, ']');
}

static void
add_later(struct buf *b, const struct envelope_ack *acks, size_t n)
{
	char text[UUID_TEXT_LEN + 1];
	size_t i;

	jw_member(b, "later");
	buf_addc(b, '[');
	for (i = 0; i < n; i++) {
		if (acks[i].status != ENVELOPE_LATER)
			continue;
		uuid_format(&acks[i].event_id, text);
		jw_comma(b);
		jw_string(b, text, UUID_TEXT_LEN);
	}
	buf_addc(b, ']');
}

/* ---- requests ---- */

static void
add_control(struct buf *b, const struct envelope_control *control)
{

	jw_member(b, "control");
	buf_addc(b, '{');
	if (control->heartbeat_at_ms != 0) {
		jw_member(b, "heartbeat");
		buf_addc(b, '{');
		jw_time(b, "at", control->heartbeat_at_ms);
		buf_addc(b, '}');
	}
	if (control->nacks > 0)
		add_acks(b, control->acks, control->nacks);
	add_span(b, "ping", &control->ping);
	buf_addc(b, '}');
}

static size_t
at_most(size_t n, size_t most)
{

	return (n < most ? n : most);
}

void
wire_request_begin(struct wire_request *q, struct buf *b, size_t items_max,
    size_t bytes_max, const struct envelope_control *control)
{

	q->b = b;
	q->items = 0;
	q->items_max = at_most(items_max, ENVELOPE_ITEMS);
	q->bytes_max = at_most(bytes_max, ENVELOPE_REQUEST_LEN);
	buf_addc(b, '{');
	if (control != NULL)
		add_control(b, control);
	jw_member(b, "envelopes");
	buf_addc(b, '[');
}

static void
add_message(struct buf *b, const struct envelope *e)
{
	const struct message_draft *m = &e->message;

	jw_uuid(b, "id", &m->id);
	add_span(b, "from", &e->from);
	add_span(b, "body", &m->body);
	add_span(b, "content_type", &m->content_type);
	if (m->has_reply_to)
		jw_uuid(b, "reply_to", &m->reply_to);
	jw_str(b, "priority", priority_name(m->priority));
	jw_time(b, "created_at", e->created_at_ms);
	if (e->expires_at_ms != 0)
		jw_time(b, "expires_at", e->expires_at_ms);
}

static void
add_envelope(struct buf *b, const struct envelope *e)
{

	jw_comma(b);
	buf_addc(b, '{');
	jw_uuid(b, "message_id", &e->event_id);
	add_span(b, "correlation_id", &e->message.correlation_id);
	jw_int(b, "sequence", e->sequence);
	jw_time(b, "timestamp", e->timestamp_ms);
	jw_str(b, "message_type", event_kind_type(e->kind));
	add_span(b, "recipient", &e->recipient);
	jw_int(b, "attempt", e->attempt);
	if (e->message.metadata.p != NULL)
		jw_raw(b, "metadata", e->message.metadata.p,
		    e->message.metadata.n);
	jw_member(b, "payload");
	buf_addc(b, '{');
	if (e->kind == EVENT_MESSAGE) {
		add_message(b, e);
	} else {
		add_span(b, "from", &e->from);
		jw_uuid(b, "upto", &e->upto);
		if (e->upto_sequence != 0)
			jw_int(b, "upto_sequence", e->upto_sequence);
	}
	buf_adds(b, "}}");
}

enum rc
wire_request_add(struct wire_request *q, const struct envelope *e)
{
	struct buf *b = q->b;
	size_t before = b->len, most = q->bytes_max;

	assert(e->kind == EVENT_MESSAGE || e->kind == EVENT_DELIVERED ||
	       e->kind == EVENT_READ);
	if (q->items == 0)
		most = ENVELOPE_REQUEST_LEN;
	else if (q->items >= q->items_max)
		return (RC_LIMIT);
	add_envelope(b, e);
	if (!buf_ok(b))
		return (RC_NO_MEMORY);
	if (b->len + sizeof(tail) - 1 > most) {
		b->len = before;
		return (RC_LIMIT);
	}
	q->items++;
	return (RC_OK);
}

enum rc
wire_request_end(struct wire_request *q)
{

	buf_adds(q->b, tail);
	return (buf_ok(q->b) ? RC_OK : RC_NO_MEMORY);
}

/* ---- answers ---- */

static void
add_heartbeat(struct buf *b, const struct envelope_answer *a)
{

	jw_member(b, "heartbeat");
	buf_addc(b, '{');
	if (a->heartbeat_at_ms != 0)
		jw_time(b, "at", a->heartbeat_at_ms);
	jw_bool(b, "draining", a->draining);
	buf_addc(b, '}');
}

void
wire_answer_write(struct buf *b, const struct envelope_answer *answer)
{

	buf_addc(b, '{');
	add_acks(b, answer->acks, answer->n);
	add_later(b, answer->acks, answer->n);
	if (answer->epoch[0] != '\0')
		jw_str(b, "epoch", answer->epoch);
	jw_member(b, "control");
	buf_addc(b, '{');
	if (answer->heartbeat_at_ms != 0 || answer->draining)
		add_heartbeat(b, answer);
	if (answer->pong[0] != '\0')
		jw_str(b, "pong", answer->pong);
	if (answer->reconnect) {
		jw_member(b, "reconnect");
		buf_addc(b, '{');
		jw_int(b, "after_ms", answer->reconnect_after_ms);
		buf_addc(b, '}');
	}
	buf_adds(b, "}}");
}
