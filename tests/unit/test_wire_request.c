/* SPDX-License-Identifier: MIT */
/*
 * Complete requests between servers: what refuses the whole request and at
 * which place, what does not, its limits in size, and failed allocations.
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
#define RECEIPT                                                                \
	"{\"message_id\":\"" EVENT "\",\"sequence\":1,"                        \
	"\"timestamp\":\"" NOW_TEXT "\",\"message_type\":\"receipt.read\","    \
	"\"recipient\":\"bob@b.example\",\"attempt\":1,"                       \
	"\"metadata\":{\"a\":\"b\"},"                                          \
	"\"payload\":{\"from\":\"alice@a.example\",\"upto\":\"" ID "\"}}"

static struct envelope_request request;

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

static struct uuid
uuid_of(const char *text)
{
	struct uuid u;

	assert_true(uuid_parse(text, strlen(text), &u));
	return (u);
}

static struct span
span_of(const char *text)
{

	return ((struct span){.p = text, .n = strlen(text)});
}

static enum rc
read_text(const char *text, struct wire_doc *doc, struct refusal *r)
{
	enum rc rc;

	*r = (struct refusal)REFUSAL_INIT;
	memset(&request, 0xff, sizeof(request));
	if ((rc = wire_parse(text, strlen(text), doc, r)) != RC_OK)
		return (rc);
	return (wire_request_read(doc, &request, r));
}

/* ---- frames ---- */

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *pointer, *says;
	} rows[] = {
	    {"[]", "", "a JSON object"},
	    {"1", "", "a JSON object"},
	    {"null", "", "a JSON object"},
	    {"{\"envelope\":[]}", "/envelope", "unknown member"},
	    {"{\"envelopes\":{}}", "/envelopes", "an array"},
	    {"{\"envelopes\":[],\"envelopes\":[]}", "", "duplicate"},
	    {"{\"envelopes\":[1]}", "/envelopes/0/message_id", "no ack"},
	    {"{\"envelopes\":[null]}", "/envelopes/0/message_id", "no ack"},
	    {"{\"envelopes\":[{}]}", "/envelopes/0/message_id", "no ack"},
	    {"{\"envelopes\":[" RECEIPT ",{\"message_id\":7}]}",
		"/envelopes/1/message_id", "no ack"},
	    {"{\"envelopes\":[{\"message_id\":\"" EVENT "0\"}]}",
		"/envelopes/0/message_id", "no ack"},
	    {"{\"envelopes\":[{\"message_id\":\"" EVENT "\",\"payload\":"
	     "{\"body\":\"\\u0000\"}}]}",
		"", "NUL"},
	    {"{\"control\":[]}", "/control", "an object"},
	    {"{\"control\":{\"heartbeat\":1}}", "/control/heartbeat",
		"an object"},
	    {"{\"control\":{\"heartbeat\":{\"at\":1}}}",
		"/control/heartbeat/at", "RFC 3339"},
	    {"{\"control\":{\"heartbeat\":{\"at\":\"1970-01-01T00:00:00Z\"}}}",
		"/control/heartbeat/at", "RFC 3339"},
	    {"{\"control\":{\"ping\":1}}", "/control/ping", "a text"},
	    {"{\"control\":{\"acks\":{}}}", "/control/acks", "an array"},
	};
	struct wire_doc doc;
	struct refusal r;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (read_text(rows[i].text, &doc, &r) != RC_INVALID)
			fail_msg("read: %s", rows[i].text);
		assert_int_equal(PROBLEM_BAD_REQUEST, r.problem);
		assert_string_equal(rows[i].pointer, r.pointer);
		if (strstr(r.detail, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].text, r.detail);
		wire_doc_fini(&doc);
	}
}

/* All forms of an empty request, and unknown members. */
static void
test_nothing(void **state)
{
	static const char *const texts[] = {
	    "{}",
	    "{\"envelopes\":[]}",
	    "{\"envelopes\":null,\"control\":null}",
	    "{\"control\":{},\"envelopes\":[]}",
	    "{\"control\":{\"heartbeat\":null,\"acks\":null,\"ping\":null}}",
	    "{\"control\":{\"heartbeat\":{},\"acks\":[],\"ping\":\"\"}}",
	    "{\"control\":{\"heartbeat\":{\"new\":1},\"new\":[{}]}}",
	    "{\"control\":{\"acks\":[1,null,{},{\"message_id\":\"x\"}]}}",
	};
	struct wire_doc doc;
	struct refusal r;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(texts); i++) {
		assert_int_equal(RC_OK, read_text(texts[i], &doc, &r));
		assert_int_equal(0, request.n);
		assert_int_equal(0, request.control.heartbeat_at_ms);
		assert_int_equal(0, request.control.nacks);
		assert_null(request.control.ping.p);
		wire_doc_fini(&doc);
	}
}

/* A wrong envelope does not affect the others.  The second envelope with the
 * same id is wrong, even if the first one was. */
static void
test_neighbours(void **state)
{
	static const enum envelope_reason faults[] = {ENVELOPE_UNSUPPORTED,
	    ENVELOPE_MALFORMED, ENVELOPE_NO_REASON, ENVELOPE_MALFORMED,
	    ENVELOPE_MALFORMED};
	struct wire_doc doc;
	struct refusal r;
	size_t i;

	(void)state;
	assert_int_equal(
	    RC_OK, read_text("{\"envelopes\":[{\"message_id\":\"" ID
			     "\",\"message_type\":\"x\"},"
			     "{\"message_id\":\"" ID
			     "\",\"message_type\":\"x\"}," RECEIPT "," RECEIPT
			     ",{\"message_id\":"
			     "\"00000000-0000-0000-0000-000000000000\"}]}",
		       &doc, &r));
	assert_int_equal(COUNT(faults), request.n);
	for (i = 0; i < COUNT(faults); i++)
		assert_int_equal(faults[i], request.envelopes[i].fault);
	assert_int_equal(EVENT_READ, request.envelopes[2].kind);
	wire_doc_fini(&doc);
}

/* Reads ${head}, ${n} times ${item}, and ${tail} as one text. */
static enum rc
read_many(const char *head, const char *item, size_t n, const char *tail,
    struct wire_doc *doc, struct refusal *r)
{
	struct buf b = BUF_INIT;
	size_t i;
	enum rc rc;

	buf_adds(&b, head);
	for (i = 0; i < n; i++)
		buf_addf(&b, "%s%s%02zx\"}", i > 0 ? "," : "", item, i);
	buf_adds(&b, tail);
	buf_addc(&b, '\0');
	rc = read_text(b.data, doc, r);
	buf_fini(&b);
	return (rc);
}

#define PART "{\"message_id\":\"01890a5d-ac96-774b-bcce-b302099a80"

static void
test_counts(void **state)
{
	static const char control[] = "{\"control\":{\"acks\":[";
	struct wire_doc doc;
	struct refusal r;

	(void)state;
	assert_int_equal(RC_OK, read_many("{\"envelopes\":[", PART,
				    ENVELOPE_ITEMS, "]}", &doc, &r));
	assert_int_equal(ENVELOPE_ITEMS, request.n);
	assert_int_equal(0x31, request.envelopes[0x31].event_id.b[15]);
	wire_doc_fini(&doc);
	assert_int_equal(RC_INVALID, read_many("{\"envelopes\":[", PART,
					 ENVELOPE_ITEMS + 1, "]}", &doc, &r));
	assert_string_equal("/envelopes", r.pointer);
	wire_doc_fini(&doc);
	assert_int_equal(
	    RC_OK, read_many(control, PART, ENVELOPE_ACKS, "]}}", &doc, &r));
	assert_int_equal(ENVELOPE_ACKS, request.control.nacks);
	wire_doc_fini(&doc);
	assert_int_equal(RC_INVALID,
	    read_many(control, PART, ENVELOPE_ACKS + 1, "]}}", &doc, &r));
	assert_string_equal("/control/acks", r.pointer);
	wire_doc_fini(&doc);
}

static void
test_ping_length(void **state)
{
	char text[ENVELOPE_PING_LEN + 64];
	struct wire_doc doc;
	struct refusal r;

	(void)state;
	(void)snprintf(text, sizeof(text), "{\"control\":{\"ping\":\"%0*d\"}}",
	    ENVELOPE_PING_LEN, 0);
	assert_int_equal(RC_OK, read_text(text, &doc, &r));
	assert_int_equal(ENVELOPE_PING_LEN, request.control.ping.n);
	wire_doc_fini(&doc);
	(void)snprintf(text, sizeof(text), "{\"control\":{\"ping\":\"%0*d\"}}",
	    ENVELOPE_PING_LEN + 1, 0);
	assert_int_equal(RC_INVALID, read_text(text, &doc, &r));
	assert_string_equal("/control/ping", r.pointer);
	wire_doc_fini(&doc);
}

/* The acks of a request are read like those of an answer.  Of two acks for one
 * event the first counts. */
static void
test_control_acks(void **state)
{
	struct wire_doc doc;
	struct refusal r;

	(void)state;
	assert_int_equal(RC_OK,
	    read_text("{\"control\":{\"acks\":[7,"
		      "{\"message_id\":\"" ID "\",\"status\":\"rejected\","
		      "\"reason\":\"id-taken\"},"
		      "{\"message_id\":\"" ID "\",\"status\":\"accepted\"},"
		      "{\"message_id\":\"" EVENT "\",\"status\":\"new\","
		      "\"retry_after_ms\":99999999}]}}",
		&doc, &r));
	assert_int_equal(2, request.control.nacks);
	assert_int_equal(ENVELOPE_REJECTED, request.control.acks[0].status);
	assert_string_equal("id-taken", request.control.acks[0].reason);
	assert_int_equal(ENVELOPE_RETRYABLE, request.control.acks[1].status);
	assert_int_equal(3600000, request.control.acks[1].retry_after_ms);
	wire_doc_fini(&doc);
}

/* A control that is written is read back unchanged. */
static void
test_control_round_trip(void **state)
{
	static struct envelope_control control;
	struct wire_request q;
	struct wire_doc doc;
	struct refusal r;
	struct buf b = BUF_INIT;
	struct uuid id = uuid_of(ID);
	size_t i;

	(void)state;
	control.heartbeat_at_ms = NOW;
	control.ping = span_of("p\"\xc3\xa9");
	control.nacks = ENVELOPE_ACKS;
	for (i = 0; i < ENVELOPE_ACKS; i++) {
		id.b[15] = (uint8_t)i;
		envelope_ack_set(&control.acks[i], &id,
		    (enum envelope_reason)(i % ENVELOPE_REASONS));
	}
	control.acks[0].duplicate = true;
	control.acks[ENVELOPE_BUSY].retry_after_ms = 1500;
	wire_request_begin(&q, &b, 50, ENVELOPE_REQUEST_LEN, &control);
	assert_int_equal(RC_OK, wire_request_end(&q));
	buf_addc(&b, '\0');
	assert_int_equal(RC_OK, read_text(b.data, &doc, &r));
	assert_int_equal(0, request.n);
	assert_int_equal(NOW, request.control.heartbeat_at_ms);
	assert_int_equal(control.ping.n, request.control.ping.n);
	assert_string_equal(control.ping.p, request.control.ping.p);
	assert_int_equal(ENVELOPE_ACKS, request.control.nacks);
	assert_memory_equal(
	    control.acks, request.control.acks, sizeof(control.acks));
	wire_doc_fini(&doc);
	buf_fini(&b);
}

/* ---- the size of a request ---- */

/* Returns a message whose text is ${n} bytes of ${c}. */
static struct envelope
message_of(char c, size_t n)
{
	static char body[LIMIT_BODY_LEN];
	struct envelope e = {
	    .event_id = uuid_of(EVENT),
	    .kind = EVENT_MESSAGE,
	    .sequence = 1,
	    .timestamp_ms = NOW,
	    .attempt = 1,
	    .from = span_of("alice@a.example"),
	    .recipient = span_of("bob@b.example"),
	    .created_at_ms = NOW,
	};

	memset(body, c, n);
	e.message.has_id = true;
	e.message.id = uuid_of(ID);
	e.message.body = (struct span){.p = body, .n = n};
	return (e);
}

/* Returns the bytes of a request with ${n} times ${e}. */
static size_t
size_of(const struct envelope *e, size_t n)
{
	struct wire_request q;
	struct buf b = BUF_INIT;
	size_t i, len;

	wire_request_begin(&q, &b, 50, ENVELOPE_REQUEST_LEN, NULL);
	for (i = 0; i < n; i++)
		assert_int_equal(RC_OK, wire_request_add(&q, e));
	assert_int_equal(RC_OK, wire_request_end(&q));
	len = b.len;
	buf_fini(&b);
	return (len);
}

/* Three envelopes fit into exactly their bytes.  With one byte less the request
 * has two. */
static void
test_bytes(void **state)
{
	static char large[ENVELOPE_REQUEST_LEN];
	struct envelope e = message_of('x', 100);
	size_t two = size_of(&e, 2), three = size_of(&e, 3), less;
	struct wire_request q;
	struct buf b = BUF_INIT;

	(void)state;
	for (less = 0; less < 2; less++) {
		wire_request_begin(&q, &b, 50, three - less, NULL);
		assert_int_equal(RC_OK, wire_request_add(&q, &e));
		assert_int_equal(RC_OK, wire_request_add(&q, &e));
		assert_int_equal(
		    less == 0 ? RC_OK : RC_LIMIT, wire_request_add(&q, &e));
		assert_int_equal(3 - less, q.items);
		assert_int_equal(RC_OK, wire_request_end(&q));
		assert_int_equal(less == 0 ? three : two, b.len);
		buf_fini(&b);
	}
	/* The first envelope is limited by our limit, not by the peer's. */
	wire_request_begin(&q, &b, 50, 1, NULL);
	assert_int_equal(RC_OK, wire_request_add(&q, &e));
	assert_int_equal(RC_LIMIT, wire_request_add(&q, &e));
	assert_int_equal(RC_OK, wire_request_end(&q));
	assert_int_equal(size_of(&e, 1), b.len);
	buf_fini(&b);
	e.message.metadata = (struct span){large, sizeof(large)};
	wire_request_begin(&q, &b, 50, SIZE_MAX, NULL);
	assert_int_equal(RC_LIMIT, wire_request_add(&q, &e));
	assert_int_equal(0, q.items);
	buf_fini(&b);
}

static void
test_items(void **state)
{
	static const size_t asked[] = {0, 1, 2, 50, 51, SIZE_MAX};
	static const size_t taken[] = {1, 1, 2, 50, 50, 50};
	struct envelope e = message_of('x', 1);
	struct wire_request q;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(asked); i++) {
		wire_request_begin(&q, &b, asked[i], SIZE_MAX, NULL);
		while (wire_request_add(&q, &e) == RC_OK)
			continue;
		assert_int_equal(taken[i], q.items);
		assert_int_equal(RC_OK, wire_request_end(&q));
		buf_fini(&b);
	}
}

/* The longest texts, all escaped in the longest way, with the longest control:
 * the first envelope always fits, and the whole is never longer than a request
 * may be. */
static void
test_longest(void **state)
{
	static char address[LIMIT_ADDRESS_LEN + 1],
	    metadata[LIMIT_METADATA_LEN];
	static char ping[ENVELOPE_PING_LEN + 1], id[LIMIT_CORRELATION_ID_LEN];
	static char type[LIMIT_CONTENT_TYPE_LEN];
	static struct envelope_control control;
	struct envelope e = message_of('\x01', LIMIT_BODY_LEN);
	struct wire_request q;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	memset(address, 'a', sizeof(address) - 1);
	memset(metadata, 'm', sizeof(metadata));
	memset(ping, '\x01', sizeof(ping) - 1);
	memset(id, '\x01', sizeof(id));
	memset(type, '"', sizeof(type));
	e.sequence = INT64_MAX;
	e.attempt = INT32_MAX;
	e.from = e.recipient = span_of(address);
	e.message.metadata = (struct span){metadata, sizeof(metadata)};
	e.message.correlation_id = (struct span){id, sizeof(id)};
	e.message.content_type = (struct span){type, sizeof(type)};
	e.message.has_reply_to = true;
	e.expires_at_ms = NOW;
	control.heartbeat_at_ms = NOW;
	control.ping = span_of(ping);
	control.nacks = ENVELOPE_ACKS;
	for (i = 0; i < ENVELOPE_ACKS; i++) {
		envelope_ack_set(
		    &control.acks[i], &e.event_id, ENVELOPE_LIMITED);
		memset(control.acks[i].reason, '"', ENVELOPE_REASON_LEN);
		control.acks[i].retry_after_ms = 3600000;
	}
	wire_request_begin(&q, &b, 50, 1, &control);
	assert_int_equal(RC_OK, wire_request_add(&q, &e));
	assert_int_equal(RC_OK, wire_request_end(&q));
	assert_true(b.len <= ENVELOPE_REQUEST_LEN);
	buf_fini(&b);
	wire_request_begin(&q, &b, 50, SIZE_MAX, &control);
	while (wire_request_add(&q, &e) == RC_OK)
		continue;
	assert_int_equal(2, q.items);
	assert_int_equal(RC_OK, wire_request_end(&q));
	assert_true(b.len <= ENVELOPE_REQUEST_LEN);
	buf_fini(&b);
}

/* ---- no memory ---- */

/* Fails the first, second, third … allocation, until none is left to fail. */
static void
test_read_no_memory(void **state)
{
	struct wire_doc doc;
	struct refusal r;
	enum rc rc;
	int64_t k;

	(void)state;
	for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
		assert_true(k < 1000);
		mem_fail_at(k);
		rc = read_text("{\"envelopes\":[" RECEIPT "],\"control\":"
			       "{\"ping\":\"x\",\"acks\":[" RECEIPT "]}}",
		    &doc, &r);
		/* No member is left out because an allocation failed. */
		assert_int_equal(rc == RC_OK, mem_fail_pending());
		mem_fail_at(0);
		if (rc != RC_OK) {
			assert_int_equal(RC_NO_MEMORY, rc);
			assert_int_equal(PROBLEM_BUSY, r.problem);
		}
		wire_doc_fini(&doc);
	}
	assert_true(k > 10);
}

/* The same for a request that is written: a failed allocation must not look
 * like a full request. */
static void
test_write_no_memory(void **state)
{
	struct envelope e = message_of('x', 3000);
	struct wire_request q;
	struct buf b = BUF_INIT;
	enum rc rc;
	int64_t k;
	int n;

	(void)state;
	for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
		assert_true(k < 100);
		mem_fail_at(k);
		wire_request_begin(&q, &b, 50, SIZE_MAX, NULL);
		for (n = 0, rc = RC_OK; n < 5 && rc == RC_OK; n++) {
			rc = wire_request_add(&q, &e);
			assert_int_equal(rc == RC_OK, buf_ok(&b));
		}
		if (rc == RC_OK)
			rc = wire_request_end(&q);
		else
			assert_int_equal(RC_NO_MEMORY, wire_request_end(&q));
		mem_fail_at(0);
		assert_true(rc == RC_OK || rc == RC_NO_MEMORY);
		buf_fini(&b);
	}
	assert_true(k > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_neighbours),
	    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_ping_length),
	    cmocka_unit_test(test_control_acks),
	    cmocka_unit_test(test_control_round_trip),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_items),
	    cmocka_unit_test(test_longest),
	    cmocka_unit_test(test_read_no_memory),
	    cmocka_unit_test(test_write_no_memory),
	};

	return (
	    cmocka_run_group_tests_name("wire_request", tests, setup, NULL));
}
