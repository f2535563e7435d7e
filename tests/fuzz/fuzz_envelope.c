/* SPDX-License-Identifier: MIT */
/*
 * Reads any bytes as a request with envelopes from another server, and as
 * another server's answer.  The rules are written again in this file, from
 * docs/federation.md and on jansson's tree, and must give the same verdict.
 * An envelope that was read is written, and must be the same when it is read
 * again.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fuzz/fuzz_wire.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define HOUR INT64_C(3600000)

/* The message ids that an answer is about. */
static const char *const sent[] = {
    "01890a5d-ac96-774b-bcce-b302099a8057",
    "01890a5e-0000-7000-8000-000000000000",
    "00000000-0000-4000-8000-000000000001",
};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	wire_init();
	return (0);
}

/* ---- the rules again ---- */

/* Returns a member of ${object}, or NULL if it is absent or null. */
static json_t *
member(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return (value == NULL || json_is_null(value) ? NULL : value);
}

static const char *
text(const json_t *object, const char *name)
{

	return (json_string_value(member(object, name)));
}

static bool
whole(const json_t *object, const char *name, int64_t min, int64_t max)
{
	const json_t *value = member(object, name);

	return (json_is_integer(value) && json_integer_value(value) >= min &&
		json_integer_value(value) <= max);
}

static bool
is_time(const json_t *object, const char *name, bool required)
{
	int64_t ms;

	if (member(object, name) == NULL)
		return (!required);
	return (text(object, name) != NULL &&
		clk_parse_rfc3339(text(object, name), &ms) == 0 && ms > 0);
}

/* Returns true if the member is a UUID whose version is one of ${versions}.
 * NULL allows any version and any variant. */
static bool
is_id(const json_t *object, const char *name, const char *versions)
{
	const char *s = text(object, name);
	struct uuid u;

	if (s == NULL || !uuid_parse(s, strlen(s), &u))
		return (false);
	return (versions == NULL || (strchr(versions, s[14]) != NULL &&
					strchr("89abAB", s[19]) != NULL));
}

static bool
is_address(const json_t *object, const char *name)
{
	char local[LIMIT_NAME_LEN + 1], domain[LIMIT_DOMAIN_LEN + 1];
	const char *s = text(object, name);

	return (s != NULL && strchr(s, '@') != NULL &&
		model_address_parse(s, strlen(s), "", local, domain));
}

/* Returns true if the member is absent or a text of up to ${max} bytes. */
static bool
is_text(const json_t *object, const char *name, size_t max)
{

	return (
	    member(object, name) == NULL ||
	    (text(object, name) != NULL && strlen(text(object, name)) <= max));
}

static bool
is_metadata(json_t *value)
{
	struct buf b = BUF_INIT;
	const char *key;
	json_t *each;
	size_t n;

	if (value == NULL)
		return (true);
	if (!json_is_object(value) ||
	    json_object_size(value) > LIMIT_METADATA_KEYS)
		return (false);
	json_object_foreach (value, key, each) {
		if (!json_is_string(each))
			break;
		buf_addc(&b, ',');
		jw_string(&b, key, strlen(key));
		buf_addc(&b, ':');
		jw_string(
		    &b, json_string_value(each), json_string_length(each));
	}
	/* Each member was counted with a comma.  The first one stands for "{",
	 * and "}" adds one byte. */
	n = b.len + 1;
	buf_fini(&b);
	return (key == NULL && n <= LIMIT_METADATA_LEN);
}

static bool
is_message(const json_t *p)
{
	const char *type = text(p, "content_type");
	const char *priority = text(p, "priority");

	if (text(p, "body") == NULL || text(p, "body")[0] == '\0' ||
	    !is_text(p, "body", LIMIT_BODY_LEN) || !is_id(p, "id", "478") ||
	    !is_text(p, "content_type", LIMIT_CONTENT_TYPE_LEN) ||
	    (type != NULL && !model_content_type_valid(type, strlen(type))))
		return (false);
	if (member(p, "reply_to") != NULL && !is_id(p, "reply_to", NULL))
		return (false);
	if (member(p, "priority") != NULL &&
	    (priority == NULL || (strcmp(priority, "low") != 0 &&
				     strcmp(priority, "normal") != 0 &&
				     strcmp(priority, "high") != 0)))
		return (false);
	return (
	    is_time(p, "created_at", true) && is_time(p, "expires_at", false));
}

/* Returns true if ${o} keeps all rules, apart from those of its message_id and
 * its type. */
static bool
is_envelope(const json_t *o, bool message)
{
	const json_t *p = member(o, "payload");

	if (!is_text(o, "correlation_id", LIMIT_CORRELATION_ID_LEN) ||
	    !whole(o, "sequence", 1, INT64_MAX) ||
	    !whole(o, "attempt", 1, INT32_MAX) ||
	    !is_time(o, "timestamp", true) || !is_address(o, "recipient") ||
	    !is_metadata(member(o, "metadata")) || !is_address(p, "from"))
		return (false);
	return (message ? is_message(p)
			: is_id(p, "upto", NULL) &&
			      (member(p, "upto_sequence") == NULL ||
				  whole(p, "upto_sequence", 1, INT64_MAX)));
}

/* Returns true if an envelope before number ${i} has the same id. */
static bool
is_second(const json_t *list, size_t i)
{
	const char *id = text(json_array_get(list, i), "message_id");
	size_t k;

	for (k = 0; k < i; k++) {
		if (strcasecmp(
			id, text(json_array_get(list, k), "message_id")) == 0)
			return (true);
	}
	return (false);
}

/* ---- requests ---- */

static void
same_id(const struct uuid *id, const json_t *object, const char *name)
{
	char written[UUID_TEXT_LEN + 1];

	uuid_format(id, written);
	MUST(text(object, name) != NULL);
	MUST(strcasecmp(written, text(object, name)) == 0);
}

static void
same_text(const struct span *s, const json_t *object, const char *name)
{
	const char *want = text(object, name);

	if (want == NULL) {
		MUST(s->p == NULL && s->n == 0);
		return;
	}
	MUST(s->p != NULL && s->n == strlen(want));
	MUST(memcmp(s->p, want, s->n + 1) == 0);
}

static void
check_values(const struct envelope *e, const json_t *o)
{
	const json_t *p = member(o, "payload");
	const char *correlation = text(o, "correlation_id");

	MUST(strcmp(event_kind_type(e->kind), text(o, "message_type")) == 0);
	MUST(e->sequence == json_integer_value(member(o, "sequence")));
	MUST(e->attempt == json_integer_value(member(o, "attempt")));
	MUST(e->timestamp_ms > 0 && e->timestamp_ms <= MESSAGE_TIME_MAX_MS);
	same_text(&e->recipient, o, "recipient");
	same_text(&e->from, p, "from");
	if (correlation != NULL && correlation[0] != '\0')
		same_text(&e->message.correlation_id, o, "correlation_id");
	else
		MUST(e->message.correlation_id.p == NULL);
	if (e->kind != EVENT_MESSAGE) {
		same_id(&e->upto, p, "upto");
		MUST(e->upto_sequence ==
		     json_integer_value(member(p, "upto_sequence")));
		return;
	}
	same_id(&e->message.id, p, "id");
	same_text(&e->message.body, p, "body");
	same_text(&e->message.content_type, p, "content_type");
	MUST(e->message.has_reply_to == (member(p, "reply_to") != NULL));
	if (e->message.has_reply_to)
		same_id(&e->message.reply_to, p, "reply_to");
	MUST((e->expires_at_ms > 0) == (member(p, "expires_at") != NULL));
}

static void
check_envelope(const struct envelope *e, const json_t *list, size_t i)
{
	const json_t *o = json_array_get(list, i);
	const char *type = text(o, "message_type");
	bool good, message, receipt;

	same_id(&e->event_id, o, "message_id");
	good = is_id(o, "message_id", "12345678") && !is_second(list, i);
	message = type != NULL && strcmp(type, "message.send") == 0;
	receipt = type != NULL && (strcmp(type, "receipt.read") == 0 ||
				      strcmp(type, "receipt.delivered") == 0);
	if (good && type != NULL && !message && !receipt) {
		MUST(e->fault == ENVELOPE_UNSUPPORTED);
		return;
	}
	good = good && type != NULL && is_envelope(o, message);
	MUST(good == (e->fault == ENVELOPE_NO_REASON));
	if (good)
		check_values(e, o);
	else
		MUST(e->fault == ENVELOPE_MALFORMED ||
		     e->fault == ENVELOPE_TOO_LARGE);
}

static void
same_span(const struct span *a, const struct span *b)
{

	MUST((a->p == NULL) == (b->p == NULL) && a->n == b->n);
	if (a->p != NULL)
		MUST(memcmp(a->p, b->p, a->n) == 0);
}

static void
same_envelope(const struct envelope *a, const struct envelope *b)
{

	MUST(b->fault == ENVELOPE_NO_REASON && a->kind == b->kind);
	MUST(uuid_equal(&a->event_id, &b->event_id));
	MUST(a->sequence == b->sequence && a->attempt == b->attempt);
	MUST(a->timestamp_ms == b->timestamp_ms);
	MUST(a->created_at_ms == b->created_at_ms);
	MUST(a->expires_at_ms == b->expires_at_ms);
	MUST(uuid_equal(&a->upto, &b->upto));
	MUST(a->upto_sequence == b->upto_sequence);
	MUST(uuid_equal(&a->message.id, &b->message.id));
	MUST(uuid_equal(&a->message.reply_to, &b->message.reply_to));
	MUST(a->message.has_reply_to == b->message.has_reply_to);
	MUST(a->message.priority == b->message.priority);
	same_span(&a->from, &b->from);
	same_span(&a->recipient, &b->recipient);
	same_span(&a->message.body, &b->message.body);
	same_span(&a->message.content_type, &b->message.content_type);
	same_span(&a->message.metadata, &b->message.metadata);
	same_span(&a->message.correlation_id, &b->message.correlation_id);
}

static void
same_ack(const struct envelope_ack *a, const struct envelope_ack *b)
{

	MUST(uuid_equal(&a->event_id, &b->event_id));
	MUST(a->status == b->status && a->duplicate == b->duplicate);
	MUST(a->retry_after_ms == b->retry_after_ms);
	MUST(a->sequence == b->sequence);
	MUST(strcmp(a->reason, b->reason) == 0);
}

/* Writes a request without a fault and reads it again: both are the same. */
static void
check_request_again(const struct envelope_request *read)
{
	static struct envelope_request again;
	struct refusal r = REFUSAL_INIT;
	struct wire_request q;
	struct buf b = BUF_INIT;
	struct wire_doc doc;
	size_t i, k;

	wire_request_begin(
	    &q, &b, ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, &read->control);
	for (i = 0; i < read->n; i++) {
		if (read->envelopes[i].fault == ENVELOPE_NO_REASON)
			MUST(
			    wire_request_add(&q, &read->envelopes[i]) == RC_OK);
	}
	MUST(wire_request_end(&q) == RC_OK);
	MUST(b.len <= ENVELOPE_REQUEST_LEN);
	json_decref(fuzz_json(&b));
	MUST(wire_parse(b.data, b.len, &doc, &r) == RC_OK);
	MUST(wire_request_read(&doc, &again, &r) == RC_OK);
	MUST(again.n == q.items);
	for (i = k = 0; i < read->n; i++) {
		if (read->envelopes[i].fault == ENVELOPE_NO_REASON)
			same_envelope(
			    &read->envelopes[i], &again.envelopes[k++]);
	}
	MUST(again.control.heartbeat_at_ms == read->control.heartbeat_at_ms);
	same_span(&read->control.ping, &again.control.ping);
	MUST(again.control.nacks == read->control.nacks);
	for (i = 0; i < read->control.nacks; i++)
		same_ack(&read->control.acks[i], &again.control.acks[i]);
	wire_doc_fini(&doc);
	buf_fini(&b);
}

static void
check_ack(const struct envelope_ack *ack)
{
	size_t i;

	MUST(ack->retry_after_ms >= 0 && ack->retry_after_ms <= HOUR);
	MUST(ack->retry_after_ms == 0 || ack->status == ENVELOPE_RETRYABLE);
	MUST(!ack->duplicate || ack->status == ENVELOPE_ACCEPTED);
	MUST(ack->sequence >= 0 && (ack->sequence == 0 || ack->duplicate));
	MUST(strlen(ack->reason) <= ENVELOPE_REASON_LEN);
	for (i = 0; ack->reason[i] != '\0'; i++)
		MUST(ack->reason[i] >= ' ' && ack->reason[i] <= '~');
}

static void
check_request(struct wire_doc *doc)
{
	static struct envelope_request q;
	struct refusal r = REFUSAL_INIT;
	json_t *control = json_object_get(doc->root, "control");
	json_t *list = json_object_get(doc->root, "envelopes");
	size_t i;

	if (wire_request_read(doc, &q, &r) != RC_OK) {
		fuzz_refusal(&r);
		return;
	}
	MUST(json_object_size(doc->root) ==
	     (size_t)(control != NULL) + (list != NULL));
	MUST(q.n == json_array_size(list) && q.n <= ENVELOPE_ITEMS);
	for (i = 0; i < q.n; i++)
		check_envelope(&q.envelopes[i], list, i);
	MUST(q.control.nacks <= json_array_size(member(control, "acks")));
	MUST(q.control.nacks <= ENVELOPE_ACKS);
	for (i = 0; i < q.control.nacks; i++)
		check_ack(&q.control.acks[i]);
	MUST(q.control.ping.n <= ENVELOPE_PING_LEN);
	check_request_again(&q);
}

/* ---- answers ---- */

/* Returns the first ack of ${id}, or NULL if there is none. */
static const json_t *
first_ack(const json_t *root, const char *id)
{
	const json_t *acks = member(root, "acks"), *ack;
	size_t i;

	json_array_foreach (acks, i, ack) {
		if (text(ack, "message_id") != NULL &&
		    strcasecmp(text(ack, "message_id"), id) == 0)
			return (ack);
	}
	return (NULL);
}

static enum envelope_status
status_of(const json_t *root, const char *id)
{
	const json_t *ack = first_ack(root, id), *later;
	size_t i;

	if (ack != NULL) {
		if (text(ack, "status") == NULL)
			return (ENVELOPE_RETRYABLE);
		if (strcmp(text(ack, "status"), "accepted") == 0)
			return (ENVELOPE_ACCEPTED);
		if (strcmp(text(ack, "status"), "rejected") == 0)
			return (ENVELOPE_REJECTED);
		return (ENVELOPE_RETRYABLE);
	}
	json_array_foreach (member(root, "later"), i, later) {
		if (json_is_string(later) &&
		    strcasecmp(json_string_value(later), id) == 0)
			return (ENVELOPE_LATER);
	}
	return (ENVELOPE_NO_ANSWER);
}

static void
check_answer_again(const struct envelope_answer *a, const struct uuid *ids)
{
	static struct envelope_answer again;
	struct refusal r = REFUSAL_INIT;
	struct buf b = BUF_INIT;
	size_t i;

	wire_answer_write(&b, a);
	json_decref(fuzz_json(&b));
	MUST(wire_answer_read(b.data, b.len, ids, COUNT(sent), &again, &r) ==
	     RC_OK);
	for (i = 0; i < COUNT(sent); i++)
		same_ack(&a->acks[i], &again.acks[i]);
	MUST(strcmp(a->epoch, again.epoch) == 0);
	MUST(strcmp(a->pong, again.pong) == 0);
	MUST(a->heartbeat_at_ms == again.heartbeat_at_ms);
	MUST(a->draining == again.draining);
	MUST(a->reconnect == again.reconnect);
	MUST(a->reconnect_after_ms == again.reconnect_after_ms);
	buf_fini(&b);
}

static void
check_answer(const char *bytes, size_t n, const json_t *root)
{
	static struct envelope_answer a;
	const json_t *control = member(root, "control");
	struct refusal r = REFUSAL_INIT;
	struct uuid ids[COUNT(sent)];
	bool reconnect;
	size_t i;
	enum rc rc;

	for (i = 0; i < COUNT(sent); i++)
		MUST(uuid_parse(sent[i], UUID_TEXT_LEN, &ids[i]));
	rc = wire_answer_read(bytes, n, ids, COUNT(sent), &a, &r);
	reconnect =
	    whole(member(control, "reconnect"), "after_ms", 0, INT64_MAX);
	MUST((rc == RC_OK) ==
	     (reconnect || json_is_array(member(root, "acks"))));
	if (rc != RC_OK) {
		fuzz_refusal(&r);
		return;
	}
	MUST(a.n == COUNT(sent) && a.reconnect == reconnect);
	MUST(a.reconnect_after_ms >= 0 && a.reconnect_after_ms <= HOUR);
	for (i = 0; i < COUNT(sent); i++) {
		MUST(uuid_equal(&a.acks[i].event_id, &ids[i]));
		MUST(a.acks[i].status == status_of(root, sent[i]));
		check_ack(&a.acks[i]);
	}
	MUST(a.epoch[0] == '\0' || strcmp(a.epoch, text(root, "epoch")) == 0);
	MUST(strlen(a.epoch) <= ENVELOPE_EPOCH_LEN);
	MUST(a.epoch[strspn(a.epoch, "abcdefghijklmnopqrstuvwxyz0123456789-"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0');
	MUST(strlen(a.pong) <= ENVELOPE_PING_LEN);
	check_answer_again(&a, ids);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	char *bytes = fuzz_copy(data, size);

	if (wire_parse(bytes, size, &doc, &r) != RC_OK) {
		fuzz_refusal(&r);
		check_answer(bytes, size, NULL);
	} else {
		MUST(memchr(bytes, '\0', size) == NULL);
		check_request(&doc);
		check_answer(bytes, size, doc.root);
		wire_doc_fini(&doc);
	}
	free(bytes);
	return (0);
}
