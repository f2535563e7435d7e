/* SPDX-License-Identifier: MIT */
/*
 * Requests between servers: what is written is read back unchanged; each member
 * at its limits; which faults refuse one envelope and which the whole request;
 * failed allocations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/envelope.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW INT64_C(1893456000123)
#define NOW_TEXT "2030-01-01T00:00:00.123Z"
#define EVENT "01890a5d-ac96-774b-bcce-b302099a8057"
#define ID "01890a5c-0000-7000-8000-000000000001"
#define LONGEST 20000

/* A request is large, so all tests read into this one. */
static struct envelope_request request;

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

static struct span
span_of(const char *text)
{

	return ((struct span){.p = text, .n = strlen(text)});
}

static struct uuid
uuid_of(const char *text)
{
	struct uuid u;

	assert_true(uuid_parse(text, strlen(text), &u));
	return (u);
}

static void
assert_span(const char *expected, struct span s)
{

	assert_non_null(s.p);
	assert_int_equal(strlen(expected), s.n);
	/* The text has a NUL at its end. */
	assert_memory_equal(expected, s.p, s.n + 1);
}

/* Reads ${n} bytes into request. */
static enum rc
read_bytes(const char *text, size_t n, struct wire_doc *doc, struct refusal *r)
{
	enum rc rc;

	*r = (struct refusal)REFUSAL_INIT;
	memset(&request, 0xff, sizeof(request));
	if ((rc = wire_parse(text, n, doc, r)) != RC_OK)
		return (rc);
	return (wire_request_read(doc, &request, r));
}

/* Reads a text that must be a valid request. */
static void
read_good(const char *text, size_t n, struct wire_doc *doc)
{
	struct refusal r;

	if (read_bytes(text, n, doc, &r) != RC_OK)
		fail_msg("%s: %s: %.300s", r.pointer, r.detail, text);
}

/* ---- round trips ---- */

static struct envelope
message_envelope(void)
{
	struct envelope e = {
	    .event_id = uuid_of(EVENT),
	    .kind = EVENT_MESSAGE,
	    .sequence = 17,
	    .timestamp_ms = NOW,
	    .attempt = 2,
	    .from = span_of("alice@a.example"),
	    .recipient = span_of("bob@b.example"),
	    .message =
		{
		    .has_id = true,
		    .id = uuid_of(ID),
		    .body = span_of("h\xc3\xa9\n\"\x01"),
		    .content_type = span_of("text/markdown"),
		    .metadata = span_of("{\"a\":\"b\",\"c\":\"\"}"),
		    .correlation_id = span_of("order-17"),
		    .has_reply_to = true,
		    .reply_to = uuid_of(EVENT),
		    .priority = PRIORITY_HIGH,
		},
	    .created_at_ms = NOW - 1,
	    .expires_at_ms = NOW + 1,
	};

	return (e);
}

static struct envelope
receipt_envelope(int kind, const char *event_id)
{
	struct envelope e = {
	    .event_id = uuid_of(event_id),
	    .kind = kind,
	    .sequence = 1,
	    .timestamp_ms = NOW,
	    .attempt = 1,
	    .from = span_of("bob@b.example"),
	    .recipient = span_of("alice@a.example"),
	    .upto = uuid_of(ID),
	    .upto_sequence = 12,
	};

	return (e);
}

static void
assert_same_span(const struct span *a, const struct span *b)
{

	assert_int_equal(a->p == NULL, b->p == NULL);
	assert_int_equal(a->n, b->n);
	if (a->p != NULL)
		assert_memory_equal(a->p, b->p, a->n + 1);
}

static void
assert_same(const struct envelope *a, const struct envelope *b)
{

	assert_true(uuid_equal(&a->event_id, &b->event_id));
	assert_int_equal(ENVELOPE_NO_REASON, b->fault);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->sequence, b->sequence);
	assert_int_equal(a->timestamp_ms, b->timestamp_ms);
	assert_int_equal(a->attempt, b->attempt);
	assert_same_span(&a->from, &b->from);
	assert_same_span(&a->recipient, &b->recipient);
	assert_int_equal(a->message.has_id, b->message.has_id);
	assert_true(uuid_equal(&a->message.id, &b->message.id));
	assert_same_span(&a->message.body, &b->message.body);
	assert_same_span(&a->message.content_type, &b->message.content_type);
	assert_same_span(&a->message.metadata, &b->message.metadata);
	assert_same_span(
	    &a->message.correlation_id, &b->message.correlation_id);
	assert_int_equal(a->message.has_reply_to, b->message.has_reply_to);
	assert_true(uuid_equal(&a->message.reply_to, &b->message.reply_to));
	assert_int_equal(a->message.priority, b->message.priority);
	assert_null(b->message.to.p);
	assert_int_equal(0, b->message.expires_in_ms);
	assert_int_equal(a->created_at_ms, b->created_at_ms);
	assert_int_equal(a->expires_at_ms, b->expires_at_ms);
	assert_true(uuid_equal(&a->upto, &b->upto));
	assert_int_equal(a->upto_sequence, b->upto_sequence);
}

/* Writes a request with ${e} and ${control} to ${b}. */
static void
write_request(struct buf *b, const struct envelope *e, size_t n,
    const struct envelope_control *control)
{
	struct wire_request q;
	size_t i;

	wire_request_begin(
	    &q, b, ENVELOPE_ITEMS, ENVELOPE_REQUEST_LEN, control);
	for (i = 0; i < n; i++)
		assert_int_equal(RC_OK, wire_request_add(&q, &e[i]));
	assert_int_equal(n, q.items);
	assert_int_equal(RC_OK, wire_request_end(&q));
}

static void
test_round_trip(void **state)
{
	struct envelope least = message_envelope();
	struct envelope e[4];
	struct wire_doc doc;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	least.event_id = uuid_of("00000000-0000-4000-8000-000000000000");
	least.message.content_type.p = least.message.metadata.p = NULL;
	least.message.content_type.n = least.message.metadata.n = 0;
	least.message.correlation_id = (struct span){.p = NULL};
	least.message.has_reply_to = false;
	memset(&least.message.reply_to, 0, sizeof(struct uuid));
	least.message.priority = PRIORITY_LOW;
	least.expires_at_ms = 0;
	e[0] = message_envelope();
	e[1] = least;
	e[2] = receipt_envelope(
	    EVENT_DELIVERED, "01890a5d-ac96-774b-bcce-b302099a8058");
	e[3] = receipt_envelope(
	    EVENT_READ, "01890a5d-ac96-774b-bcce-b302099a8059");
	e[3].message.metadata = span_of("{\"traceparent\":\"00-1\"}");
	e[3].message.correlation_id = span_of("c");
	write_request(&b, e, COUNT(e), NULL);
	read_good(b.data, b.len, &doc);
	assert_int_equal(COUNT(e), request.n);
	for (i = 0; i < COUNT(e); i++)
		assert_same(&e[i], &request.envelopes[i]);
	assert_int_equal(0, request.control.heartbeat_at_ms);
	assert_int_equal(0, request.control.nacks);
	assert_null(request.control.ping.p);
	wire_doc_fini(&doc);
	buf_fini(&b);
}

static void
test_written(void **state)
{
	static const char expected[] =
	    "{\"control\":{\"heartbeat\":{\"at\":\"" NOW_TEXT "\"},"
	    "\"ping\":\"abc\"},\"envelopes\":["
	    "{\"message_id\":\"" EVENT "\",\"correlation_id\":\"order-17\","
	    "\"sequence\":17,\"timestamp\":\"" NOW_TEXT "\","
	    "\"message_type\":\"message.send\",\"recipient\":\"bob@b.example\","
	    "\"attempt\":2,\"metadata\":{\"a\":\"b\",\"c\":\"\"},"
	    "\"payload\":{\"id\":\"" ID "\",\"from\":\"alice@a.example\","
	    "\"body\":\"h\xc3\xa9\\n\\\"\\u0001\","
	    "\"content_type\":\"text/markdown\",\"reply_to\":\"" EVENT "\","
	    "\"priority\":\"high\",\"created_at\":\"2030-01-01T00:00:00.122Z\","
	    "\"expires_at\":\"2030-01-01T00:00:00.124Z\"}},"
	    "{\"message_id\":\"" ID
	    "\",\"sequence\":1,\"timestamp\":\"" NOW_TEXT
	    "\",\"message_type\":\"receipt.read\","
	    "\"recipient\":\"alice@a.example\",\"attempt\":1,"
	    "\"payload\":{\"from\":\"bob@b.example\",\"upto\":\"" ID
	    "\",\"upto_sequence\":12}}]}";
	static struct envelope_control control;
	struct envelope e[2];
	struct buf b = BUF_INIT;

	(void)state;
	e[0] = message_envelope();
	e[1] = receipt_envelope(EVENT_READ, ID);
	control.heartbeat_at_ms = NOW;
	control.ping = span_of("abc");
	write_request(&b, e, COUNT(e), &control);
	buf_addc(&b, '\0');
	assert_string_equal(expected, b.data);
	buf_fini(&b);
}

/* ---- one envelope and its faults ---- */

#define MESSAGE                                                                \
	"{\"message_id\":\"" EVENT "\",\"sequence\":1,"                        \
	"\"timestamp\":\"" NOW_TEXT "\",\"message_type\":\"message.send\","    \
	"\"recipient\":\"bob@b.example\",\"attempt\":1,"                       \
	"\"payload\":{\"id\":\"" ID "\",\"from\":\"alice@a.example\","         \
	"\"body\":\"x\",\"created_at\":\"" NOW_TEXT "\"}}"
#define RECEIPT                                                                \
	"{\"message_id\":\"" EVENT "\",\"sequence\":1,"                        \
	"\"timestamp\":\"" NOW_TEXT "\",\"message_type\":\"receipt.read\","    \
	"\"recipient\":\"bob@b.example\",\"attempt\":1,"                       \
	"\"payload\":{\"from\":\"alice@a.example\",\"upto\":\"" ID "\"}}"

/* Reads ${text} with ${member} ("x", or "/x" in the payload) set to the JSON
 * ${value}, or without it if ${value} is NULL. */
static struct envelope *
read_changed(const char *text, const char *member, const char *value,
    struct wire_doc *doc)
{
	json_t *root = json_loads(text, 0, NULL), *of = root;
	char *changed;

	assert_non_null(root);
	if (member[0] == '/') {
		member++;
		of = json_object_get(root, "payload");
	}
	if (value == NULL)
		assert_int_equal(0, json_object_del(of, member));
	else
		assert_int_equal(
		    0, json_object_set_new(of, member,
			   json_loads(value, JSON_DECODE_ANY, NULL)));
	root = json_pack("{s:[o]}", "envelopes", root);
	changed = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	assert_non_null(changed);
	read_good(changed, strlen(changed), doc);
	mem_free(changed);
	assert_int_equal(1, request.n);
	return (&request.envelopes[0]);
}

#define GOOD ENVELOPE_NO_REASON
#define BAD ENVELOPE_MALFORMED
#define OTHER ENVELOPE_UNSUPPORTED

static const struct {
	const char *text, *member, *value;
	enum envelope_reason fault;
} faults[] = {
    {MESSAGE, "sequence", NULL, BAD},
    {MESSAGE, "sequence", "0", BAD},
    {MESSAGE, "sequence", "-1", BAD},
    {MESSAGE, "sequence", "1.0", BAD},
    {MESSAGE, "sequence", "\"1\"", BAD},
    {MESSAGE, "sequence", "1", GOOD},
    {MESSAGE, "sequence", "9223372036854775807", GOOD},
    {MESSAGE, "attempt", NULL, BAD},
    {MESSAGE, "attempt", "0", BAD},
    {MESSAGE, "attempt", "2147483647", GOOD},
    {MESSAGE, "attempt", "2147483648", BAD},
    {MESSAGE, "timestamp", NULL, BAD},
    {MESSAGE, "timestamp", "1700000000", BAD},
    {MESSAGE, "timestamp", "\"today\"", BAD},
    {MESSAGE, "timestamp", "\"1970-01-01T00:00:00Z\"", BAD},
    {MESSAGE, "timestamp", "\"1969-12-31T23:59:59Z\"", BAD},
    {MESSAGE, "timestamp", "\"1970-01-01T00:00:00.001Z\"", GOOD},
    {MESSAGE, "timestamp", "\"9999-12-31T23:59:59.999Z\"", GOOD},
    {MESSAGE, "timestamp", "\"2030-01-01T01:00:00+01:00\"", GOOD},
    {MESSAGE, "recipient", NULL, BAD},
    {MESSAGE, "recipient", "[]", BAD},
    {MESSAGE, "recipient", "\"bob\"", BAD},
    {MESSAGE, "recipient", "\"bob@\"", BAD},
    {MESSAGE, "recipient", "\"@b.example\"", BAD},
    {MESSAGE, "recipient", "\"Bob@b.example\"", BAD},
    {MESSAGE, "recipient", "\"bob@B.example\"", BAD},
    {MESSAGE, "recipient", "\"bob@b.example.\"", BAD},
    {MESSAGE, "recipient", "\"bob@b.example \"", BAD},
    {MESSAGE, "recipient", "\"bob@c@b.example\"", BAD},
    {MESSAGE, "recipient",
	"\"b\xc3\xb6"
	"b@b.example\"",
	BAD},
    {MESSAGE, "correlation_id", "null", GOOD},
    {MESSAGE, "correlation_id", "\"\"", GOOD},
    {MESSAGE, "correlation_id", "7", BAD},
    {MESSAGE, "metadata", "null", GOOD},
    {MESSAGE, "metadata", "{}", GOOD},
    {MESSAGE, "metadata", "[]", BAD},
    {MESSAGE, "metadata", "\"{}\"", BAD},
    {MESSAGE, "metadata", "{\"a\":1}", BAD},
    {MESSAGE, "metadata", "{\"a\":{}}", BAD},
    {MESSAGE, "metadata", "{\"a\":null}", BAD},
    {MESSAGE, "message_type", NULL, BAD},
    {MESSAGE, "message_type", "1", BAD},
    {MESSAGE, "message_type", "\"\"", OTHER},
    {MESSAGE, "message_type", "\"message.edit\"", OTHER},
    {MESSAGE, "message_type", "\"message.delete\"", OTHER},
    {MESSAGE, "message_type", "\"message.reaction\"", OTHER},
    {MESSAGE, "message_type", "\"message.bounced\"", OTHER},
    {MESSAGE, "message_type", "\"Message.send\"", OTHER},
    {MESSAGE, "payload", NULL, BAD},
    {MESSAGE, "payload", "[]", BAD},
    {MESSAGE, "/from", NULL, BAD},
    {MESSAGE, "/from", "\"alice\"", BAD},
    {MESSAGE, "/from", "{}", BAD},
    {MESSAGE, "/id", NULL, BAD},
    {MESSAGE, "/id", "\"x\"", BAD},
    {MESSAGE, "/body", NULL, BAD},
    {MESSAGE, "/body", "\"\"", BAD},
    {MESSAGE, "/body", "1", BAD},
    {MESSAGE, "/content_type", "\"text\"", BAD},
    {MESSAGE, "/content_type", "\"\"", BAD},
    {MESSAGE, "/content_type", "[]", BAD},
    {MESSAGE, "/content_type", "null", GOOD},
    {MESSAGE, "/reply_to", "null", GOOD},
    {MESSAGE, "/reply_to", "\"x\"", BAD},
    {MESSAGE, "/reply_to", "1", BAD},
    {MESSAGE, "/priority", "null", GOOD},
    {MESSAGE, "/priority", "\"low\"", GOOD},
    {MESSAGE, "/priority", "\"urgent\"", BAD},
    {MESSAGE, "/priority", "1", BAD},
    {MESSAGE, "/created_at", NULL, BAD},
    {MESSAGE, "/created_at", "\"x\"", BAD},
    {MESSAGE, "/expires_at", "null", GOOD},
    {MESSAGE, "/expires_at", "\"x\"", BAD},
    {MESSAGE, "/expires_at", "0", BAD},
    {RECEIPT, "/upto", NULL, BAD},
    {RECEIPT, "/upto", "7", BAD},
    {RECEIPT, "/upto_sequence", "7", GOOD},
    {RECEIPT, "/upto_sequence", "null", GOOD},
    {RECEIPT, "/upto_sequence", "0", BAD},
    {RECEIPT, "/upto_sequence", "\"7\"", BAD},
    {RECEIPT, "/from", NULL, BAD},
    {RECEIPT, "payload", "null", BAD},
    {RECEIPT, "metadata", "1", BAD},
    {RECEIPT, "recipient", "\"bob\"", BAD},
    {RECEIPT, "message_type", "\"receipt.delivered\"", GOOD},
    {RECEIPT, "message_type", "\"message.send\"", BAD},
    /* Members that a newer server may add. */
    {MESSAGE, "new", "{\"a\":[1]}", GOOD},
    {MESSAGE, "/new", "{\"a\":[1]}", GOOD},
    {RECEIPT, "/body", "7", GOOD},
};

/* Each member: absent, of a wrong type, and at its limits. */
static void
test_faults(void **state)
{
	const struct uuid event = uuid_of(EVENT);
	const struct envelope *e;
	struct wire_doc doc;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(faults); i++) {
		e = read_changed(
		    faults[i].text, faults[i].member, faults[i].value, &doc);
		if (e->fault != faults[i].fault)
			fail_msg("%s = %s: %s instead of %s", faults[i].member,
			    faults[i].value, envelope_reason_word(e->fault),
			    envelope_reason_word(faults[i].fault));
		assert_true(uuid_equal(&event, &e->event_id));
		if (e->fault != ENVELOPE_NO_REASON) {
			assert_int_equal(0, e->kind);
			assert_int_equal(0, e->sequence);
			assert_null(e->recipient.p);
			assert_null(e->from.p);
			assert_null(e->message.body.p);
		}
		wire_doc_fini(&doc);
	}
}

/* Returns the fault when ${member} is a text of ${n} bytes. */
static enum envelope_reason
fault_of_length(const char *member, const char *start, size_t n)
{
	static char text[LONGEST];
	enum envelope_reason fault;
	struct wire_doc doc;
	size_t at = strlen(start);

	assert_true(n + 3 < sizeof(text));
	text[0] = '"';
	memcpy(text + 1, start, at);
	memset(text + 1 + at, 'x', n - at);
	memcpy(text + 1 + n, "\"", 2);
	fault = read_changed(MESSAGE, member, text, &doc)->fault;
	wire_doc_fini(&doc);
	return (fault);
}

static void
test_lengths(void **state)
{
	static const struct {
		const char *member, *start;
		size_t most;
	} rows[] = {
	    {"/body", "", LIMIT_BODY_LEN},
	    {"/body", "\xc3\xa9", LIMIT_BODY_LEN},
	    {"correlation_id", "", LIMIT_CORRELATION_ID_LEN},
	    {"/content_type", "text/", LIMIT_CONTENT_TYPE_LEN},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
		    ENVELOPE_NO_REASON, fault_of_length(rows[i].member,
					    rows[i].start, rows[i].most));
		assert_int_equal(
		    ENVELOPE_TOO_LARGE, fault_of_length(rows[i].member,
					    rows[i].start, rows[i].most + 1));
	}
}

/* Returns the fault of metadata with ${n} members, whose values have ${len}
 * bytes. */
static enum envelope_reason
fault_of_metadata(int n, int len)
{
	struct buf b = BUF_INIT;
	enum envelope_reason fault;
	struct wire_doc doc;
	int i;

	buf_addc(&b, '{');
	for (i = 0; i < n; i++)
		buf_addf(
		    &b, "%s\"k%02d\":\"%0*d\"", i > 0 ? "," : "", i, len, 0);
	buf_adds(&b, "}");
	buf_addc(&b, '\0');
	fault = read_changed(MESSAGE, "metadata", b.data, &doc)->fault;
	wire_doc_fini(&doc);
	buf_fini(&b);
	return (fault);
}

static void
test_metadata_lengths(void **state)
{

	(void)state;
	assert_int_equal(
	    ENVELOPE_NO_REASON, fault_of_metadata(LIMIT_METADATA_KEYS, 9));
	assert_int_equal(
	    ENVELOPE_TOO_LARGE, fault_of_metadata(LIMIT_METADATA_KEYS + 1, 9));
	/* {"k00":"…"} has 10 bytes besides the value. */
	assert_int_equal(
	    ENVELOPE_NO_REASON, fault_of_metadata(1, LIMIT_METADATA_LEN - 10));
	assert_int_equal(
	    ENVELOPE_TOO_LARGE, fault_of_metadata(1, LIMIT_METADATA_LEN - 9));
}

/* The stored text does not depend on the order of members or on spaces. */
static void
test_metadata_text(void **state)
{
	struct wire_doc doc;

	(void)state;
	assert_span("{\"a\":\"\\n\",\"b\":\"\xc3\xa9\"}",
	    read_changed(MESSAGE, "metadata",
		"{ \"b\" : \"\\u00e9\", \"a\":\"\\u000a\" }", &doc)
		->message.metadata);
	wire_doc_fini(&doc);
}

/* Each version and variant of a UUID. */
static void
test_ids(void **state)
{
	struct wire_doc doc;
	char text[UUID_TEXT_LEN + 3];
	bool event, message;
	int variant, version;

	(void)state;
	for (version = 0; version < 16; version++) {
		for (variant = 0; variant < 16; variant++) {
			(void)snprintf(text, sizeof(text),
			    "\"01890a5d-ac96-%x74b-%xcce-b302099a8057\"",
			    (unsigned)version, (unsigned)variant);
			event =
			    variant >> 2 == 2 && version >= 1 && version <= 8;
			message = event && (version == 4 || version >= 7);
			assert_int_equal(
			    event ? ENVELOPE_NO_REASON : ENVELOPE_MALFORMED,
			    read_changed(MESSAGE, "message_id", text, &doc)
				->fault);
			wire_doc_fini(&doc);
			assert_int_equal(
			    message ? ENVELOPE_NO_REASON : ENVELOPE_MALFORMED,
			    read_changed(MESSAGE, "/id", text, &doc)->fault);
			wire_doc_fini(&doc);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_written),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_metadata_lengths),
	    cmocka_unit_test(test_metadata_text),
	    cmocka_unit_test(test_ids),
	};

	return (
	    cmocka_run_group_tests_name("wire_envelope", tests, setup, NULL));
}
