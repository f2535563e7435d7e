/* SPDX-License-Identifier: MIT */
/*
 * Writing: every document byte for byte, and jansson decides whether it is
 * valid JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/json.h"
#include "wire/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW INT64_C(1893456000123)
#define NOW_TEXT "\"2030-01-01T00:00:00.123Z\""
#define ID1 "\"01010101-0101-0101-0101-010101010101\""
#define ID2 "\"02020202-0202-0202-0202-020202020202\""
#define ID3 "\"03030303-0303-0303-0303-030303030303\""

static struct uuid
id_of(int n)
{
	struct uuid u;

	memset(u.b, n, sizeof(u.b));
	return (u);
}

/* ${b} must contain ${expected}; frees ${b}. */
static void
assert_buf(const char *expected, struct buf *b)
{

	assert_true(buf_ok(b));
	buf_addc(b, '\0');
	assert_string_equal(expected, b->data);
	buf_fini(b);
}

/* Parses ${b} and frees it. */
static json_t *
parse_buf(struct buf *b)
{
	json_error_t error;
	json_t *root;

	assert_true(buf_ok(b));
	root = json_loadb(
	    b->data, b->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (root == NULL)
		fail_msg("%s: %.*s", error.text, (int)b->len, b->data);
	buf_fini(b);
	return (root);
}

static void
test_strings(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	jw_string(&b, "", 0);
	assert_buf("\"\"", &b);
	/* No byte beyond the given length is written. */
	jw_string(&b, "abcdef", 3);
	assert_buf("\"abc\"", &b);
	jw_string(&b, "0123456789", 8);
	assert_buf("\"01234567\"", &b);
	jw_string(&b, "a\"b\\c/\b\f\n\r\t\x01\x1f\x7f", 14);
	assert_buf("\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"", &b);
	jw_string(&b, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9);
	assert_buf("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"", &b);
}

/* Each byte, at each place of a word, is written so that jansson reads it
 * back. */
static void
test_strings_every_byte(void **state)
{
	struct buf b = BUF_INIT;
	char text[24];
	json_t *root;
	size_t at;
	int c;

	(void)state;
	for (c = 0; c < 128; c++) {
		for (at = 0; at < sizeof(text); at++) {
			memset(text, 'x', sizeof(text));
			text[at] = (char)c;
			buf_addc(&b, '[');
			jw_string(&b, text, sizeof(text));
			buf_addc(&b, ']');
			root = parse_buf(&b);
			assert_int_equal(sizeof(text),
			    json_string_length(json_array_get(root, 0)));
			assert_memory_equal(text,
			    json_string_value(json_array_get(root, 0)),
			    sizeof(text));
			json_decref(root);
		}
	}
}

static void
test_members(void **state)
{
	struct uuid u = id_of(1);
	struct buf b = BUF_INIT;

	(void)state;
	buf_addc(&b, '{');
	jw_str(&b, "a", "x{");
	jw_str(&b, "b", NULL);
	jw_int(&b, "c", INT64_MIN);
	jw_bool(&b, "d", true);
	jw_bool(&b, "e", false);
	jw_uuid(&b, "f", &u);
	jw_time(&b, "g", NOW);
	jw_time(&b, "h", 0);
	jw_raw(&b, "i", "[", 1);
	jw_comma(&b);
	buf_adds(&b, "1]");
	jw_null(&b, "j");
	buf_addc(&b, '}');
	assert_buf("{\"a\":\"x{\",\"b\":null,\"c\":-9223372036854775808,"
		   "\"d\":true,\"e\":false,\"f\":" ID1 ",\"g\":" NOW_TEXT
		   ",\"h\":null,\"i\":[1],\"j\":null}",
	    &b);
}

/* A failure sticks, wherever it occurs. */
static void
test_limit(void **state)
{
	struct uuid u = id_of(1);
	struct buf b;
	size_t limit;

	(void)state;
	for (limit = 1; limit < 200; limit++) {
		buf_init(&b, limit);
		buf_addc(&b, '{');
		jw_uuid(&b, "a", &u);
		jw_time(&b, "b", NOW);
		jw_str(&b, "c", "\n\n\n");
		jw_int(&b, "d", 12345);
		buf_addc(&b, '}');
		assert_true(b.len <= limit);
		assert_int_equal(limit >= 98, buf_ok(&b));
		buf_fini(&b);
	}
}

static struct event_view
message_event(void)
{
	struct event_view e;

	memset(&e, 0, sizeof(e));
	e.seq = 118;
	e.event_id = id_of(3);
	e.kind = EVENT_MESSAGE;
	e.conversation = id_of(2);
	e.conversation_seq = 7;
	e.from = "alice";
	e.to = "bob";
	e.message.id = id_of(1);
	e.message.body = "hi \"you\"";
	e.message.body_len = 8;
	e.event_time = NOW;
	e.delivered_at = NOW;
	e.attempt = 1;
	return (e);
}

#define MESSAGE_HEAD                                                           \
	"\"seq\":118,\"event_id\":" ID3 ",\"kind\":\"message\",\"own\":false," \
	"\"conversation\":" ID2 ",\"conversation_seq\":7,"                     \
	"\"from\":\"alice\",\"to\":\"bob\","
#define MESSAGE_TAIL                                                           \
	",\"event_time\":" NOW_TEXT ",\"delivered_at\":" NOW_TEXT              \
	",\"read_at\":null,\"attempt\":1}"

static void
test_event_message(void **state)
{
	struct event_view e = message_event();
	struct buf b = BUF_INIT, f = BUF_INIT;
	static const char plain[] =
	    "{" MESSAGE_HEAD "\"id\":" ID1 ",\"body\":\"hi \\\"you\\\"\","
	    "\"content_type\":\"text/plain\",\"metadata\":{},"
	    "\"correlation_id\":null,\"reply_to\":null" MESSAGE_TAIL;

	(void)state;
	wire_event(&b, &e, NULL, 0, NULL);
	assert_buf(plain, &b);

	/* With a prepared fragment the result is the same. */
	wire_message_fragment(&f, &e.message);
	wire_event(&b, &e, f.data, f.len, NULL);
	assert_buf(plain, &b);
	buf_fini(&f);

	e.to = NULL;
	e.own = true;
	e.read_at = NOW;
	e.message.content_type = "text/markdown";
	e.message.metadata = "{\"a\":\"b\"}";
	e.message.metadata_len = 9;
	e.message.correlation_id = "c";
	e.message.has_reply_to = true;
	e.message.reply_to = id_of(2);
	wire_event(&b, &e, NULL, 0, "event");
	assert_buf("{\"type\":\"event\",\"seq\":118,\"event_id\":" ID3
		   ",\"kind\":\"message\",\"own\":true,\"conversation\":" ID2
		   ",\"conversation_seq\":7,\"from\":\"alice\",\"to\":null,"
		   "\"id\":" ID1 ",\"body\":\"hi \\\"you\\\"\","
		   "\"content_type\":\"text/markdown\","
		   "\"metadata\":{\"a\":\"b\"},\"correlation_id\":\"c\","
		   "\"reply_to\":" ID2 ",\"event_time\":" NOW_TEXT
		   ",\"delivered_at\":" NOW_TEXT ",\"read_at\":" NOW_TEXT
		   ",\"attempt\":1}",
	    &b);
}

static void
test_message(void **state)
{
	struct event_view e = message_event();
	struct buf b = BUF_INIT;

	(void)state;
	e.message.body = NULL;
	wire_message(&b, &e);
	assert_buf("{\"event_id\":" ID3 ",\"own\":false,"
		   "\"conversation\":" ID2 ",\"conversation_seq\":7,"
		   "\"from\":\"alice\",\"to\":\"bob\",\"id\":" ID1
		   ",\"body\":null,\"content_type\":\"text/plain\","
		   "\"metadata\":{},\"correlation_id\":null,"
		   "\"reply_to\":null,\"event_time\":" NOW_TEXT "}",
	    &b);
	e.conversation_seq = 0;
	wire_message(&b, &e);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "\"conversation_seq\":null"));
	buf_fini(&b);
}

static void
test_event_kinds(void **state)
{
	struct event_view e = message_event();
	struct buf b = BUF_INIT;
	json_t *root;
	int kind;

	(void)state;
	e.of = id_of(1);
	e.from = "bob";
	e.kind = EVENT_READ;
	wire_event(&b, &e, NULL, 0, NULL);
	assert_buf("{\"seq\":118,\"event_id\":" ID3 ",\"kind\":\"receipt\","
		   "\"of\":" ID1 ",\"conversation\":" ID2 ",\"upto\":7,"
		   "\"by\":\"bob\",\"state\":\"read\",\"at\":" NOW_TEXT "}",
	    &b);
	e.kind = EVENT_DELIVERED;
	memset(&e.of, 0, sizeof(e.of));
	wire_event(&b, &e, NULL, 0, NULL);
	assert_buf("{\"seq\":118,\"event_id\":" ID3 ",\"kind\":\"receipt\","
		   "\"of\":null,\"conversation\":" ID2 ",\"upto\":7,"
		   "\"by\":\"bob\",\"state\":\"delivered\",\"at\":" NOW_TEXT
		   "}",
	    &b);
	e.kind = EVENT_OWN_READ;
	wire_event(&b, &e, NULL, 0, "event");
	assert_buf("{\"type\":\"event\",\"seq\":118,\"event_id\":" ID3
		   ",\"kind\":\"read\",\"conversation\":" ID2 ",\"upto\":7,"
		   "\"at\":" NOW_TEXT "}",
	    &b);
	e.kind = EVENT_BOUNCE;
	e.of = id_of(1);
	e.state = OUTBOX_EXPIRED;
	e.reason = "5 days";
	wire_event(&b, &e, NULL, 0, NULL);
	assert_buf("{\"seq\":118,\"event_id\":" ID3 ",\"kind\":\"bounce\","
		   "\"of\":" ID1 ",\"conversation\":" ID2 ",\"to\":\"bob\","
		   "\"state\":\"expired\",\"reason\":\"5 days\","
		   "\"at\":" NOW_TEXT "}",
	    &b);
	for (kind = EVENT_EDIT; kind < EVENT_KIND_MAX; kind++) {
		e.kind = kind;
		wire_event(&b, &e, NULL, 0, NULL);
		root = parse_buf(&b);
		assert_string_equal(event_kind_name(kind),
		    json_string_value(json_object_get(root, "kind")));
		json_decref(root);
	}
}

static struct entry_view
entry_of(const struct destination_view *d, int n)
{
	struct entry_view e;

	memset(&e, 0, sizeof(e));
	e.event_type = "message.send";
	e.conversation = id_of(2);
	e.conversation_seq = 7;
	e.to = "bob";
	e.max_retries = 10;
	e.event_time = NOW;
	e.created_at = NOW;
	e.expires_at = NOW;
	e.message.id = id_of(1);
	e.destinations = d;
	e.ndestinations = n;
	return (e);
}

static void
test_entry(void **state)
{
	const struct destination_view d = {.address = "bob"};
	struct entry_view e = entry_of(&d, 1);
	struct buf b = BUF_INIT;

	(void)state;
	e.priority = PRIORITY_HIGH;
	wire_entry(&b, &e);
	assert_buf(
	    "{\"id\":" ID1 ",\"event_type\":\"message.send\","
	    "\"conversation\":" ID2 ",\"to\":\"bob\",\"state\":\"pending\","
	    "\"priority\":\"high\",\"attempts\":0,\"retry_count\":0,"
	    "\"max_retries\":10,\"event_time\":" NOW_TEXT
	    ",\"created_at\":" NOW_TEXT ",\"last_attempt_at\":null,"
	    "\"last_status_at\":null,\"next_retry_at\":null,"
	    "\"deliver_at\":null,\"expires_at\":" NOW_TEXT ",\"sent_at\":null,"
	    "\"acked_at\":null,\"read_at\":null,\"last_error\":null,"
	    "\"correlation_id\":null,\"metadata\":{},\"labels\":[],"
	    "\"counts\":{\"recipients\":1,\"sent\":0,\"acked\":0,\"read\":0,"
	    "\"failed\":0},\"destinations\":[{\"address\":\"bob\","
	    "\"state\":\"pending\",\"attempts\":0,\"retry_count\":0,"
	    "\"last_attempt_at\":null,\"last_status_at\":null,"
	    "\"next_retry_at\":null,\"sent_at\":null,\"acked_at\":null,"
	    "\"read_at\":null,\"last_error\":null}]}",
	    &b);
}

static const char *
text_of(json_t *root, const char *name)
{

	return (json_string_value(json_object_get(root, name)));
}

static int
count_of(json_t *root, const char *name)
{

	return ((int)json_integer_value(
	    json_object_get(json_object_get(root, "counts"), name)));
}

/* Returns the labels, each followed by a blank. */
static const char *
labels_of(json_t *root, char *text, size_t size)
{
	struct buf b;
	json_t *label;
	size_t i;

	buf_init(&b, size - 1);
	json_array_foreach (json_object_get(root, "labels"), i, label) {
		buf_adds(&b, json_string_value(label));
		buf_addc(&b, ' ');
	}
	if (b.len > 0)
		memcpy(text, b.data, b.len);
	text[b.len] = '\0';
	buf_fini(&b);
	return (text);
}

static void
test_entry_together(void **state)
{
	struct destination_view d[] = {
	    {.address = "a",
		.state = OUTBOX_ACKED,
		.attempts = 1,
		.last_attempt_at = NOW,
		.sent_at = NOW,
		.acked_at = NOW,
		.read_at = NOW,
		.last_error = "old"},
	    {.address = "b",
		.state = OUTBOX_PENDING,
		.attempts = 3,
		.retry_count = 2,
		.last_attempt_at = NOW + 1,
		.next_retry_at = NOW + 9,
		.last_error = "new"},
	    {.address = "c",
		.state = OUTBOX_FAILED,
		.attempts = 2,
		.retry_count = 1,
		.last_attempt_at = NOW - 1,
		.last_error = "older"},
	    {.address = "d", .state = OUTBOX_CANCELED},
	};
	struct entry_view e = entry_of(d, COUNT(d));
	struct buf b = BUF_INIT;
	char labels[60];
	json_t *root;

	(void)state;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("pending", text_of(root, "state"));
	assert_string_equal("new", text_of(root, "last_error"));
	assert_string_equal(
	    "2030-01-01T00:00:00.132Z", text_of(root, "next_retry_at"));
	assert_string_equal(
	    "2030-01-01T00:00:00.124Z", text_of(root, "last_attempt_at"));
	assert_null(text_of(root, "sent_at"));
	assert_int_equal(
	    3, json_integer_value(json_object_get(root, "attempts")));
	assert_int_equal(
	    2, json_integer_value(json_object_get(root, "retry_count")));
	assert_int_equal(4, count_of(root, "recipients"));
	assert_int_equal(1, count_of(root, "sent"));
	assert_int_equal(1, count_of(root, "acked"));
	assert_int_equal(1, count_of(root, "read"));
	assert_int_equal(1, count_of(root, "failed"));
	assert_string_equal("retrying ", labels_of(root, labels, 60));
	assert_int_equal(
	    4, json_array_size(json_object_get(root, "destinations")));
	json_decref(root);

	/* The pending one is delivered: all that are not dead are sent now. */
	d[1].state = OUTBOX_SENT;
	d[1].sent_at = NOW + 5;
	d[1].read_at = NOW + 7;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("sent", text_of(root, "state"));
	assert_string_equal(
	    "2030-01-01T00:00:00.128Z", text_of(root, "sent_at"));
	assert_null(text_of(root, "acked_at"));
	assert_string_equal(
	    "2030-01-01T00:00:00.130Z", text_of(root, "read_at"));
	assert_string_equal("read ", labels_of(root, labels, 60));
	json_decref(root);
}

/* A destination that was sent and then failed counts neither for nor against
 * the times of the others, and the latest error may be older than the latest
 * attempt. */
static void
test_entry_of_the_dead(void **state)
{
	struct destination_view d[] = {
	    {.address = "a",
		.state = OUTBOX_FAILED,
		.last_attempt_at = NOW,
		.sent_at = NOW + 9,
		.last_error = "old"},
	    {.address = "b",
		.state = OUTBOX_PENDING,
		.last_attempt_at = NOW + 5},
	    {.address = "c",
		.state = OUTBOX_FAILED,
		.last_attempt_at = NOW + 1,
		.sent_at = NOW + 9,
		.last_error = "new"},
	};
	struct entry_view e = entry_of(d, COUNT(d));
	struct buf b = BUF_INIT;
	json_t *root;

	(void)state;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("new", text_of(root, "last_error"));
	assert_null(text_of(root, "sent_at"));
	assert_int_equal(2, count_of(root, "sent"));
	json_decref(root);
	d[1].state = OUTBOX_SENT;
	d[1].sent_at = NOW + 5;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal(
	    "2030-01-01T00:00:00.128Z", text_of(root, "sent_at"));
	json_decref(root);
}

/* The entry of a damaged database. */
static void
test_entry_alone(void **state)
{
	struct entry_view e = entry_of(NULL, 0);
	struct buf b = BUF_INIT;
	json_t *root;

	(void)state;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("pending", text_of(root, "state"));
	assert_int_equal(0, count_of(root, "recipients"));
	assert_int_equal(
	    0, json_array_size(json_object_get(root, "destinations")));
	json_decref(root);
}

static void
test_entry_labels(void **state)
{
	struct destination_view d = {.address = "bob"};
	struct entry_view e = entry_of(&d, 1);
	struct buf b = BUF_INIT;
	char labels[60];
	json_t *root;

	(void)state;
	e.deliver_at = NOW;
	e.conversation_seq = 0;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("scheduled ", labels_of(root, labels, 60));
	json_decref(root);
	e.conversation_seq = 1;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("", labels_of(root, labels, 60));
	json_decref(root);
	e.conversation_seq = 0;
	d.state = OUTBOX_CANCELED;
	wire_entry(&b, &e);
	root = parse_buf(&b);
	assert_string_equal("", labels_of(root, labels, 60));
	json_decref(root);
}

static void
test_problem(void **state)
{
	struct refusal r = REFUSAL_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	refusal_set(&r, PROBLEM_CURSOR_EXPIRED, "", "%s", "");
	wire_problem(&b, &r, NULL, NULL);
	assert_buf("{\"type\":\"/problems/cursor-expired\","
		   "\"title\":\"Cursor no longer valid\",\"status\":410,"
		   "\"detail\":\"The cursor lies before the oldest kept event, "
		   "beyond the head, or belongs to another epoch (the database "
		   "was restored).\",\"code\":\"cursor_expired\"}",
	    &b);
	r.head = 9;
	r.oldest = 0;
	memcpy(r.epoch, "e1", 3);
	refusal_set(&r, PROBLEM_BUSY, "/0/a\"b", "%s", "so");
	wire_problem(&b, &r, "/v1/\"", "r1");
	assert_buf("{\"type\":\"/problems/busy\",\"title\":\"The server is "
		   "busy\",\"status\":503,\"detail\":\"so\","
		   "\"instance\":\"/v1/\\\"\",\"code\":\"busy\","
		   "\"request_id\":\"r1\",\"retry_after\":1,\"oldest\":0,"
		   "\"head\":9,\"epoch\":\"e1\",\"pointer\":\"/0/a\\\"b\"}",
	    &b);
	memset(&r, 0, sizeof(r));
	r.head = r.oldest = -1;
	refusal_set(&r, PROBLEM_BAD_REQUEST, "/type", "no");
	wire_frame_error(&b, true, 5, &r);
	assert_buf("{\"type\":\"error\",\"re\":5,\"problem\":{\"type\":"
		   "\"/problems/bad-request\",\"title\":\"Bad request\""
		   ",\"status\":400,\"detail\":\"no\","
		   "\"code\":\"bad_request\",\"pointer\":\"/type\"}}",
	    &b);
	wire_frame_error(&b, false, 0, &r);
	assert_memory_equal("{\"type\":\"error\",\"problem\":{", b.data, 27);
	buf_fini(&b);
}

static void
test_problem_pages(void **state)
{
	struct buf b = BUF_INIT;
	int i;

	(void)state;
	for (i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		wire_problem_page(&b, (enum problem)i, false);
		buf_addc(&b, '\0');
		assert_non_null(strstr(b.data, problem_slug((enum problem)i)));
		assert_non_null(strstr(b.data, problem_cure((enum problem)i)));
		buf_reset(&b);
	}
	wire_problem_page(&b, PROBLEM_UNAUTHENTICATED, true);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.data, "Bearer &lt;token&gt;&quot;."));
	assert_non_null(strstr(b.data, "<h2>Cure</h2>"));
	buf_fini(&b);
}

/* Both forms of a page, complete. */
static void
test_problem_page_texts(void **state)
{
	const enum problem p = PROBLEM_NOT_FOUND;
	struct buf b = BUF_INIT, want = BUF_INIT;

	(void)state;
	wire_problem_page(&b, p, false);
	buf_addf(&want,
	    "# %s\n\n`not-found`, HTTP status 404\n\n## Cause\n\n%s\n\n"
	    "## Cure\n\n%s\n",
	    problem_title(p), problem_cause(p), problem_cure(p));
	buf_addc(&want, '\0');
	assert_buf(want.data, &b);
	buf_reset(&want);
	wire_problem_page(&b, p, true);
	buf_addf(&want,
	    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<title>%s</title>\n<h1>%s</h1>\n<p><code>not-found</code>, HTTP "
	    "status 404</p>\n<h2>Cause</h2>\n<p>%s</p>\n<h2>Cure</h2>\n"
	    "<p>%s</p>\n</html>\n",
	    problem_title(p), problem_title(p), problem_cause(p),
	    problem_cure(p));
	buf_addc(&want, '\0');
	assert_buf(want.data, &b);
	buf_fini(&want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_strings_every_byte),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_event_message),
	    cmocka_unit_test(test_message),
	    cmocka_unit_test(test_event_kinds),
	    cmocka_unit_test(test_entry),
	    cmocka_unit_test(test_entry_together),
	    cmocka_unit_test(test_entry_of_the_dead),
	    cmocka_unit_test(test_entry_alone),
	    cmocka_unit_test(test_entry_labels),
	    cmocka_unit_test(test_problem),
	    cmocka_unit_test(test_problem_pages),
	    cmocka_unit_test(test_problem_page_texts),
	};

	return (cmocka_run_group_tests_name("wire_write", tests, NULL, NULL));
}
