/* SPDX-License-Identifier: MIT */
/*
 * Claims about refusals and drafts.  The way back from a draft to a request is
 * written here, with jansson, so that it shares no code with server/wire.
 */
#include "fuzz/fuzz_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/json.h"
#include "wire/wire.h"

json_t *
fuzz_json(const struct buf *b)
{
	json_t *json;

	MUST(buf_ok(b) && b->len > 0);
	MUST(fuzz_utf8_prefix((const uint8_t *)b->data, b->len) == b->len);
	json = json_loadb(b->data, b->len, JSON_REJECT_DUPLICATES, NULL);
	MUST(json_is_object(json));
	return (json);
}

static void
same_text(const json_t *json, const char *name, const char *text)
{
	const json_t *value = json_object_get(json, name);

	if (text == NULL) {
		MUST(json_is_null(value));
		return;
	}
	MUST(json_is_string(value));
	MUST(strcmp(json_string_value(value), text) == 0);
}

void
fuzz_refusal(const struct refusal *r)
{
	struct buf b = BUF_INIT;
	json_t *json;
	size_t n = strlen(r->detail);

	MUST(r->problem > PROBLEM_NONE && r->problem < PROBLEM_COUNT);
	MUST(n > 0 && n < REFUSAL_DETAIL_SIZE);
	MUST(strlen(r->pointer) < REFUSAL_POINTER_SIZE);
	MUST(r->pointer[0] == '\0' || r->pointer[0] == '/');
	wire_problem(&b, r, "/v1/messages", "id");
	json = fuzz_json(&b);
	same_text(json, "detail", r->detail);
	if (r->pointer[0] != '\0')
		same_text(json, "pointer", r->pointer);
	MUST(json_integer_value(json_object_get(json, "status")) ==
	     problem_status(r->problem));
	json_decref(json);
	buf_reset(&b);
	wire_frame_error(&b, true, INT64_MIN, r);
	json = fuzz_json(&b);
	MUST(json_integer_value(json_object_get(json, "re")) == INT64_MIN);
	json_decref(json);
	buf_fini(&b);
}

/* ---- a draft as a request ---- */

static void
put_span(json_t *json, const char *name, const struct span *span)
{

	if (span->p != NULL)
		MUST(json_object_set_new(
			 json, name, json_stringn(span->p, span->n)) == 0);
}

static void
put_uuid(json_t *json, const char *name, bool present, const struct uuid *u)
{
	char text[UUID_TEXT_LEN + 1];

	uuid_format(u, text);
	if (present)
		MUST(json_object_set_new(json, name, json_string(text)) == 0);
}

static json_t *
request_of(const struct message_draft *d)
{
	json_t *json = json_object(), *metadata;
	struct buf b = BUF_INIT;

	put_span(json, "to", &d->to);
	put_uuid(json, "conversation", d->has_conversation, &d->conversation);
	put_span(json, "body", &d->body);
	put_span(json, "content_type", &d->content_type);
	put_uuid(json, "id", d->has_id, &d->id);
	put_span(json, "key", &d->key);
	put_span(json, "correlation_id", &d->correlation_id);
	put_uuid(json, "reply_to", d->has_reply_to, &d->reply_to);
	if (d->metadata.p != NULL) {
		metadata = json_loadb(
		    d->metadata.p, d->metadata.n, JSON_REJECT_DUPLICATES, NULL);
		MUST(json_is_object(metadata));
		MUST(json_object_set_new(json, "metadata", metadata) == 0);
	}
	(void)json_object_set_new(
	    json, "priority", json_string(priority_name(d->priority)));
	if (d->deliver_at_ms != 0) {
		buf_addc(&b, '{');
		jw_time(&b, "t", d->deliver_at_ms);
		buf_addc(&b, '}');
		metadata = fuzz_json(&b);
		(void)json_object_set(
		    json, "deliver_at", json_object_get(metadata, "t"));
		json_decref(metadata);
		buf_fini(&b);
	}
	if (d->expires_in_ms != 0) {
		MUST(d->expires_in_ms % 1000 == 0);
		(void)json_object_set_new(
		    json, "expires_in", json_integer(d->expires_in_ms / 1000));
	}
	return (json);
}

static void
same_span(const struct span *a, const struct span *b)
{

	MUST((a->p == NULL) == (b->p == NULL) && a->n == b->n);
	if (a->p != NULL)
		MUST(memcmp(a->p, b->p, a->n) == 0);
}

static void
same_draft(const struct message_draft *a, const struct message_draft *b)
{

	MUST(a->has_id == b->has_id && uuid_equal(&a->id, &b->id));
	MUST(a->has_conversation == b->has_conversation);
	MUST(uuid_equal(&a->conversation, &b->conversation));
	MUST(a->has_reply_to == b->has_reply_to);
	MUST(uuid_equal(&a->reply_to, &b->reply_to));
	same_span(&a->key, &b->key);
	same_span(&a->to, &b->to);
	same_span(&a->body, &b->body);
	same_span(&a->content_type, &b->content_type);
	same_span(&a->metadata, &b->metadata);
	same_span(&a->correlation_id, &b->correlation_id);
	MUST(a->priority == b->priority);
	MUST(a->deliver_at_ms == b->deliver_at_ms);
	MUST(a->expires_in_ms == b->expires_in_ms);
}

/* Writes the draft with jansson and reads it with our reader: both drafts are
 * the same. */
static void
check_round_trip(const struct message_draft *d)
{
	struct refusal r = REFUSAL_INIT;
	struct message_draft again;
	struct wire_doc doc;
	json_t *json = request_of(d);
	char *text = json_dumps(json, JSON_ENSURE_ASCII);

	MUST(text != NULL);
	MUST(wire_parse(text, strlen(text), &doc, &r) == RC_OK);
	MUST(wire_message_read(&doc, doc.root, "", &again, &r) == RC_OK);
	same_draft(d, &again);
	wire_doc_fini(&doc);
	json_decref(json);
	/* Since wire_init(), jansson allocates with base/mem, whose memory
	 * free() releases. */
	free(text);
}

/* ---- a draft as its readers see it ---- */

static void
check_event(const struct message_view *v)
{
	const struct event_view e = {
	    .seq = 1,
	    .kind = EVENT_MESSAGE,
	    .conversation_seq = 1,
	    .from = "ann",
	    .to = "bob",
	    .message = *v,
	    .event_time = 1,
	    .delivered_at = 1,
	    .attempt = 1,
	};
	struct buf fragment = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
	json_t *json, *metadata;

	wire_message_fragment(&fragment, v);
	wire_event(&one, &e, NULL, 0, "event");
	wire_event(&two, &e, fragment.data, fragment.len, "event");
	MUST(buf_ok(&one) && buf_ok(&two) && one.len == two.len);
	MUST(memcmp(one.data, two.data, one.len) == 0);
	json = fuzz_json(&one);
	MUST(json_string_length(json_object_get(json, "body")) == v->body_len);
	same_text(json, "body", v->body);
	same_text(json, "content_type", v->content_type);
	same_text(json, "correlation_id", v->correlation_id);
	metadata = (v->metadata == NULL)
		       ? json_object()
		       : json_loadb(v->metadata, v->metadata_len, 0, NULL);
	MUST(json_equal(json_object_get(json, "metadata"), metadata));
	json_decref(metadata);
	json_decref(json);
	buf_fini(&fragment);
	buf_fini(&one);
	buf_fini(&two);
}

void
fuzz_draft(const struct message_draft *d)
{
	struct refusal r = REFUSAL_INIT;
	struct message_view v;

	MUST((d->to.p != NULL) != d->has_conversation);
	MUST(d->body.n >= 1 && d->body.n <= LIMIT_BODY_LEN);
	MUST(fuzz_utf8_prefix((const uint8_t *)d->body.p, d->body.n) ==
	     d->body.n);
	MUST(memchr(d->body.p, '\0', d->body.n) == NULL);
	MUST(d->to.n <= LIMIT_ADDRESS_LEN);
	MUST(d->key.p == NULL || (d->key.n >= 1 && !d->has_id));
	MUST(d->key.n <= LIMIT_IDEMPOTENCY_KEY_LEN);
	MUST(d->metadata.n <= LIMIT_METADATA_LEN);
	MUST(d->correlation_id.n <= LIMIT_CORRELATION_ID_LEN);
	MUST(d->content_type.n <= LIMIT_CONTENT_TYPE_LEN);
	MUST(d->priority >= PRIORITY_LOW && d->priority <= PRIORITY_HIGH);
	MUST(d->deliver_at_ms >= 0 && d->deliver_at_ms <= MESSAGE_TIME_MAX_MS);
	MUST(d->expires_in_ms >= 0 &&
	     d->expires_in_ms <= MESSAGE_EXPIRES_IN_MAX_MS);
	MUST(model_draft_check(d, "", &r) == RC_OK);
	message_draft_view(d, &v);
	MUST(v.body == d->body.p && v.body_len == d->body.n);
	check_event(&v);
	check_round_trip(d);
}
