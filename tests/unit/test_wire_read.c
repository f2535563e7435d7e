/* SPDX-License-Identifier: MIT */
/*
 * Parsing: texts that are refused and the place that is named, texts that are
 * accepted, and that a failed allocation gives an error and no leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ID "01890a5d-ac96-774b-bcce-b302099a8057"

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

static void
assert_contains(const char *text, const char *piece)
{

	if (strstr(text, piece) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", text, piece);
}

static void
test_parse_refuses(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
	    {"", "nothing"},
	    {" \n\t", "nothing"},
	    {"{", "line 1, column 1"},
	    {"{\n \"a\": tru }", "line 2, column "},
	    {"{\"a\":1}x", "end of file expected"},
	    {"{\"a\":1}{}", "end of file expected"},
	    {"{\"a\":1,\"a\":2}", "duplicate"},
	    {"{\"a\":1e400}", "overflow"},
	    {"{\"a\":NaN}", "invalid token"},
	    {"{\"a\":Infinity}", "invalid token"},
	    {"{\"a\":9223372036854775808}", "too big integer"},
	    {"{\"a\":-9223372036854775809}", "too big negative integer"},
	    {"\xef\xbb\xbf{}", "byte order mark"},
	    {"\xef\xbb\xbf", "byte order mark"},
	    {"{\"a\":\"\\ud800\"}", "line 1"},
	    {"{\"a\":\"\\udc00\"}", "line 1"},
	    {"{\"a\":\"\\u0000\"}", "NUL"},
	    {"{\"a\\u0000b\":1}", "NUL"},
	    {"{\"a\":\"\xff\"}", "decode byte 0xff"},
	    {"{\"a\":\"\xed\xa0\x80\"}", "decode"},
	    {"{\"a\":\"\xc0\x80\"}", "decode"},
	    {"{\"a\":\"x\ny\"}", "line "},
	    {"{'a':1}", "line 1"},
	    {"{\"a\":01}", "line 1"},
	    {"{\"a\":1,}", "line 1"},
	    {"[1,]", "line 1"},
	    {"{\"a\":+1}", "line 1"},
	    {"\"a", "line 1"},
	    {"// x\n{}", "line 1"},
	};
	struct wire_doc doc;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct refusal r = REFUSAL_INIT;

		assert_int_equal(RC_INVALID,
		    wire_parse(rows[i].text, strlen(rows[i].text), &doc, &r));
		assert_int_equal(PROBLEM_BAD_REQUEST, r.problem);
		assert_contains(r.detail, rows[i].says);
		/* The refusal does not repeat the text there, which may be a
		 * secret. */
		assert_null(strstr(r.detail, "near '"));
		assert_true(utf8_valid(r.detail, strlen(r.detail), NULL));
		assert_null(doc.root);
		wire_doc_fini(&doc);
	}
}

static void
test_parse_place(void **state)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;

	(void)state;
	assert_int_equal(
	    RC_INVALID, wire_parse("{\n  \"\xc3\xa4\": x}", 11, &doc, &r));
	assert_contains(r.detail, "line 2, column 8");
}

/* A NUL byte is refused at every place. */
static void
test_parse_nul(void **state)
{
#define ROW(text, says)                                                        \
	{                                                                      \
		text, sizeof(text) - 1, says                                   \
	}
	static const struct {
		const char *text;
		size_t n;
		const char *says;
	} rows[] = {
	    ROW("[1\0]", "line 1, column 3: a NUL byte"),
	    ROW("[1\0,2]", "line 1, column 3: a NUL byte"),
	    ROW("{\"a\":\n-1.5e3\0}", "line 2, column 7: a NUL byte"),
	    ROW("1\0", "line 1, column 2: a NUL byte"),
	    ROW("[true\0]", "line 1, column 6: a NUL byte"),
	    ROW("{\"a\":\"x\0\"}", "line 1, column 8: a NUL byte"),
	    ROW("{}\0", "line 1, column 3: a NUL byte"),
	    ROW("\0", "line 1, column 1: a NUL byte"),
	};
#undef ROW
	struct wire_doc doc;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct refusal r = REFUSAL_INIT;

		assert_int_equal(
		    RC_INVALID, wire_parse(rows[i].text, rows[i].n, &doc, &r));
		assert_int_equal(PROBLEM_BAD_REQUEST, r.problem);
		assert_contains(r.detail, rows[i].says);
		assert_null(doc.root);
	}
}

/* Writes ${n} levels of ${open}, closed by ${end}.  Returns the length. */
static size_t
nest(char *text, int n, char open, char end)
{

	memset(text, open, (size_t)n);
	memset(text + n, end, (size_t)n);
	return (2 * (size_t)n);
}

static void
test_parse_size(void **state)
{
	static char text[3 * LIMIT_JSON_VALUES];
	struct wire_doc doc;
	size_t n;
	int i;
	struct refusal r = REFUSAL_INIT;

	(void)state;
	n = nest(text, LIMIT_JSON_DEPTH, '[', ']');
	assert_int_equal(RC_OK, wire_parse(text, n, &doc, &r));
	wire_doc_fini(&doc);
	n = nest(text, LIMIT_JSON_DEPTH + 1, '[', ']');
	assert_int_equal(RC_INVALID, wire_parse(text, n, &doc, &r));
	assert_contains(r.detail, "deeper than 32 levels at line 1, column 33");
	/* Brackets within strings do not count, also after escaped quotes. */
	n = 2;
	memcpy(text, "[\"", 2);
	for (i = 0; i < 200; i++, n += 3)
		memcpy(text + n, "\\\"[", 3);
	memcpy(text + n, "\"]", 2);
	assert_int_equal(RC_OK, wire_parse(text, n + 2, &doc, &r));
	wire_doc_fini(&doc);

	text[0] = '[';
	for (n = 1; n < 2 * (LIMIT_JSON_VALUES - 1); n += 2)
		memcpy(text + n, "1,", 2);
	memcpy(text + n, "1]", 2);
	assert_int_equal(RC_INVALID, wire_parse(text, n + 2, &doc, &r));
	assert_contains(r.detail, "more than 10000 values");
	text[n - 1] = ']'; /* one value less: the largest number */
	assert_int_equal(RC_OK, wire_parse(text, n, &doc, &r));
	wire_doc_fini(&doc);
}

/* Parses ${text} and reads it as a message at "/0". */
static enum rc
read_message(const char *text, struct wire_doc *doc, struct message_draft *d,
    struct refusal *r)
{
	enum rc rc;

	if ((rc = wire_parse(text, strlen(text), doc, r)) != RC_OK)
		return (rc);
	return (wire_message_read(doc, doc->root, "/0", d, r));
}

static void
assert_span(const char *expected, struct span s)
{

	assert_non_null(s.p);
	assert_int_equal(strlen(expected), s.n);
	/* The text has a NUL at its end. */
	assert_memory_equal(expected, s.p, s.n + 1);
}

static void
test_message_full(void **state)
{
	struct refusal r = REFUSAL_INIT;
	struct message_draft d;
	struct wire_doc doc;
	char id[UUID_TEXT_LEN + 1];

	(void)state;
	assert_int_equal(
	    RC_OK, read_message(
		       "{\"to\":\"bob@other.example\",\"body\":\"h\\u00e9\\n"
		       "\\ud83d\\ude00\",\"content_type\":\"text/markdown\","
		       "\"id\":\"" ID "\",\"metadata\":{\"z\":\"1\",\"a\\\"\":"
		       "\"\\t\"},\"correlation_id\":\"c\",\"reply_to\":"
		       "\"00000000-0000-4000-8000-000000000000\","
		       "\"priority\":\"high\",\"deliver_at\":"
		       "\"2030-01-01T00:00:00.5+01:00\",\"expires_in\":\"2h\"}",
		       &doc, &d, &r));
	assert_span("bob@other.example", d.to);
	assert_span("h\xc3\xa9\n\xf0\x9f\x98\x80", d.body);
	assert_span("text/markdown", d.content_type);
	assert_true(d.has_id);
	uuid_format(&d.id, id);
	assert_string_equal(ID, id);
	assert_span("{\"a\\\"\":\"\\t\",\"z\":\"1\"}", d.metadata);
	assert_span("c", d.correlation_id);
	assert_true(d.has_reply_to);
	assert_int_equal(PRIORITY_HIGH, d.priority);
	assert_int_equal(INT64_C(1893452400500), d.deliver_at_ms);
	assert_int_equal(7200000, d.expires_in_ms);
	assert_false(d.has_conversation);
	wire_doc_fini(&doc);
}

static void
test_message_least(void **state)
{
	struct refusal r = REFUSAL_INIT;
	struct message_draft d;
	struct wire_doc doc;

	(void)state;
	memset(&d, 0xff, sizeof(d));
	assert_int_equal(
	    RC_OK, read_message("{\"conversation\":\"" ID "\",\"body\":\"x\","
				"\"to\":null,\"metadata\":{},\"id\":null,"
				"\"key\":null,\"expires_in\":90}",
		       &doc, &d, &r));
	assert_true(d.has_conversation);
	assert_false(d.has_id);
	assert_null(d.key.p);
	assert_false(d.has_reply_to);
	assert_null(d.to.p);
	assert_null(d.content_type.p);
	assert_null(d.metadata.p);
	assert_null(d.correlation_id.p);
	assert_int_equal(PRIORITY_NORMAL, d.priority);
	assert_int_equal(0, d.deliver_at_ms);
	assert_int_equal(90000, d.expires_in_ms);
	wire_doc_fini(&doc);
}

#define TO "{\"to\":\"bob\",\"body\":\"x\","

static void
test_message_refuses(void **state)
{
	static const struct {
		const char *text;
		const char *pointer;
		const char *says;
	} rows[] = {
	    {"[]", "/0", "an array"},
	    {"1", "/0", "an integer"},
	    {"null", "/0", "null"},
	    {"{}", "/0/body", "missing"},
	    {"{\"body\":\"x\"}", "/0", "recipient"},
	    {"{\"to\":\"bob\",\"body\":null}", "/0/body", "missing"},
	    {"{\"to\":\"bob\",\"body\":\"\"}", "/0/body", "empty"},
	    {"{\"to\":\"bob\",\"body\":1}", "/0/body", "a string, not an int"},
	    {"{\"to\":[],\"body\":\"x\"}", "/0/to", "a string, not an array"},
	    {"{\"to\":\"\",\"body\":\"x\"}", "/0/to", "address"},
	    {TO "\"conversation\":\"" ID "\"}", "/0/conversation", "not both"},
	    {TO "\"bdoy\":1}", "/0/bdoy", "\"bdoy\"; known here: to, "},
	    {TO "\"a/b~c\":1}", "/0/a~1b~0c", "unknown"},
	    {TO "\"a\\nb\":1}", "/0/a\nb", "\"a?b\""},
	    {TO "\"id\":\"x\"}", "/0/id", "UUID"},
	    {TO "\"id\":7}", "/0/id", "a UUID, not an integer"},
	    {TO "\"id\":\"00000000-0000-1000-8000-000000000000\"}", "/0/id",
		"version 1"},
	    {TO "\"key\":\"\"}", "/0/key", "0 bytes"},
	    {TO "\"key\":7}", "/0/key", "a string, not an integer"},
	    {TO "\"key\":\"k\",\"id\":\"" ID "\"}", "/0/key", "either"},
	    {TO "\"metadata\":[]}", "/0/metadata", "object"},
	    {TO "\"metadata\":{\"a\":{}}}", "/0/metadata/a", "flat"},
	    {TO "\"metadata\":{\"a\":null}}", "/0/metadata/a", "flat"},
	    {TO "\"content_type\":\"x\"}", "/0/content_type", "media type"},
	    {TO "\"correlation_id\":\"\"}", "/0/correlation_id", "0 bytes"},
	    {TO "\"reply_to\":\"x\"}", "/0/reply_to", "UUID"},
	    {TO "\"priority\":\"urgent\"}", "/0/priority", "normal"},
	    {TO "\"priority\":1}", "/0/priority", "string"},
	    {TO "\"deliver_at\":\"soon\"}", "/0/deliver_at", "RFC 3339"},
	    {TO "\"deliver_at\":1}", "/0/deliver_at", "a time, not an"},
	    {TO "\"deliver_at\":\"1970-01-01T00:00:00Z\"}", "/0/deliver_at",
		"before 1970"},
	    {TO "\"expires_in\":0}", "/0/expires_in", "90"},
	    {TO "\"expires_in\":-5}", "/0/expires_in", "90"},
	    {TO "\"expires_in\":1.5}", "/0/expires_in", "90"},
	    {TO "\"expires_in\":9223372036854775807}", "/0/expires_in", "366"},
	    {TO "\"expires_in\":\"0\"}", "/0/expires_in", "90"},
	    {TO "\"expires_in\":\"soon\"}", "/0/expires_in", "90"},
	    {TO "\"expires_in\":\"367d\"}", "/0/expires_in", "366"},
	};
	struct message_draft d;
	struct wire_doc doc;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct refusal r = REFUSAL_INIT;

		assert_int_equal(
		    RC_INVALID, read_message(rows[i].text, &doc, &d, &r));
		assert_int_equal(PROBLEM_BAD_REQUEST, r.problem);
		assert_string_equal(rows[i].pointer, r.pointer);
		assert_contains(r.detail, rows[i].says);
		wire_doc_fini(&doc);
	}
}

static void
test_message_sizes(void **state)
{
	static char text[6 * LIMIT_BODY_LEN + 100];
	struct message_draft d;
	struct wire_doc doc;
	size_t i, n;
	struct refusal r = REFUSAL_INIT;

	(void)state;
	n = strlen("{\"to\":\"bob\",\"body\":\"");
	memcpy(text, "{\"to\":\"bob\",\"body\":\"", n);
	for (i = 0; i < LIMIT_BODY_LEN; i++, n += 6)
		memcpy(text + n, "\\u0001", 6);
	memcpy(text + n, "\"}", 3);
	assert_int_equal(RC_OK, read_message(text, &doc, &d, &r));
	assert_int_equal(LIMIT_BODY_LEN, d.body.n);
	wire_doc_fini(&doc);
	memcpy(text + n, "y\"}", 4);
	assert_int_equal(RC_INVALID, read_message(text, &doc, &d, &r));
	assert_int_equal(PROBLEM_BODY_TOO_LARGE, r.problem);
	assert_string_equal("/0/body", r.pointer);
	wire_doc_fini(&doc);
}

/* Reads a message with ${n} metadata members whose values have ${len} bytes. */
static enum rc
read_metadata(int n, int len, struct refusal *r)
{
	struct buf b = BUF_INIT;
	struct message_draft d;
	struct wire_doc doc;
	enum rc rc;
	int i;

	buf_adds(&b, TO "\"metadata\":{");
	for (i = 0; i < n; i++)
		buf_addf(
		    &b, "%s\"k%02d\":\"%0*d\"", i > 0 ? "," : "", i, len, 0);
	buf_adds(&b, "}}");
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	rc = read_message(b.data, &doc, &d, r);
	wire_doc_fini(&doc);
	buf_fini(&b);
	return (rc);
}

static void
test_metadata_sizes(void **state)
{
	struct refusal r = REFUSAL_INIT;

	(void)state;
	assert_int_equal(RC_OK, read_metadata(LIMIT_METADATA_KEYS, 100, &r));
	assert_int_equal(
	    RC_INVALID, read_metadata(LIMIT_METADATA_KEYS + 1, 1, &r));
	assert_string_equal("/0/metadata", r.pointer);
	/* {"k00":"…"} has 10 bytes besides the value */
	assert_int_equal(RC_OK, read_metadata(1, LIMIT_METADATA_LEN - 10, &r));
	assert_int_equal(
	    RC_INVALID, read_metadata(1, LIMIT_METADATA_LEN - 9, &r));
	assert_string_equal("/0/metadata", r.pointer);
}

static void
test_object_fields(void **state)
{
	static const struct {
		const char *text;
		const char *says; /* NULL: accepted */
	} rows[] = {
	    {"{\"n\":1,\"b\":false}", NULL},
	    {"{\"n\":10,\"s\":\"abc\"}", NULL},
	    {"{\"n\":null}", "\"n\" is missing"},
	    {"{\"n\":0}", "between 1 and 10"},
	    {"{\"n\":11}", "between 1 and 10"},
	    {"{\"n\":1.0}", "an integer, not a number with a fraction"},
	    {"{\"n\":\"1\"}", "an integer, not a string"},
	    {"{\"n\":1,\"b\":0}", "a boolean, not an integer"},
	    {"{\"n\":1,\"s\":\"\"}", "must not be empty"},
	    {"{\"n\":1,\"s\":\"a\"}", "1 bytes; at least 2"},
	    {"{\"n\":1,\"s\":\"abcd\"}", "4 bytes; at most 3"},
	    {"{\"n\":1,\"m\":-1}", "at least 0"},
	};
	struct span s;
	int64_t m, n;
	bool b;
	const struct wire_field fields[] = {
	    {.name = "n",
		.type = WIRE_I64,
		.required = true,
		.min = 1,
		.max = 10,
		.ret = &n},
	    {.name = "m", .type = WIRE_I64, .max = INT64_MAX, .ret = &m},
	    {.name = "b", .type = WIRE_BOOL, .ret = &b},
	    {.name = "s",
		.type = WIRE_SPAN,
		.min_len = 2,
		.max_len = 3,
		.ret = &s},
	};
	struct wire_doc doc;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct refusal r = REFUSAL_INIT;

		assert_int_equal(RC_OK,
		    wire_parse(rows[i].text, strlen(rows[i].text), &doc, &r));
		assert_int_equal(rows[i].says == NULL ? RC_OK : RC_INVALID,
		    wire_object(doc.root, "", fields, COUNT(fields), &r));
		if (rows[i].says != NULL)
			assert_contains(r.detail, rows[i].says);
		wire_doc_fini(&doc);
	}
}

/* The refusal of member ${name} of the object at ${parent} must have
 * ${pointer}. */
static void
assert_place(const char *parent, const char *name, const char *pointer)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	char text[200];

	(void)snprintf(text, sizeof(text), "{\"%s\":1}", name);
	assert_int_equal(RC_OK, wire_parse(text, strlen(text), &doc, &r));
	assert_int_equal(
	    RC_INVALID, wire_object(doc.root, parent, NULL, 0, &r));
	assert_string_equal(pointer, r.pointer);
	wire_doc_fini(&doc);
}

/* If the pointer has no room for the name, it is the parent's; if it has no
 * room for this either, it is empty. */
static void
test_object_places(void **state)
{
	char parent[REFUSAL_POINTER_SIZE + 1];
	char whole[2 * REFUSAL_POINTER_SIZE];

	(void)state;
	assert_place("/0", "a~b/c", "/0/a~0b~1c");
	memset(parent, 'p', sizeof(parent));
	parent[REFUSAL_POINTER_SIZE - 5] = '\0';
	(void)snprintf(whole, sizeof(whole), "%s/ab", parent);
	assert_place(parent, "ab", whole);
	assert_place(parent, "abc", parent);
	parent[REFUSAL_POINTER_SIZE - 5] = 'p';
	parent[REFUSAL_POINTER_SIZE - 2] = '\0';
	assert_place(parent, "a", parent);
	parent[REFUSAL_POINTER_SIZE - 2] = 'p';
	parent[REFUSAL_POINTER_SIZE - 1] = '\0';
	assert_place(parent, "a", "");
}

/* Fails the first, second, third … allocation, until none is left to fail. */
static void
test_no_memory(void **state)
{
	static const char text[] =
	    TO "\"metadata\":{\"a\":\"b\",\"c\":\"d\"},\"id\":\"" ID "\"}";
	struct message_draft d;
	struct wire_doc doc;
	enum rc rc;
	int64_t k;

	(void)state;
	for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
		struct refusal r = REFUSAL_INIT;

		assert_true(k < 1000);
		mem_fail_at(k);
		rc = read_message(text, &doc, &d, &r);
		mem_fail_at(0);
		if (rc != RC_OK) {
			assert_int_equal(RC_NO_MEMORY, rc);
			assert_int_equal(PROBLEM_BUSY, r.problem);
		}
		wire_doc_fini(&doc);
	}
	assert_true(k > 10);
}

/* The same for texts whose tokens end where jansson's buffer of 16 or 32 bytes
 * is full: at a quote, an escape, a digit. */
static void
test_no_memory_in_a_token(void **state)
{
	static const char *const tails[] = {
	    "", "\\\"", "\\n\\t", "\xc3\xa9", "\\u00e9"};
	char text[128];
	struct wire_doc doc;
	size_t i, n;
	enum rc rc;
	int64_t k;

	(void)state;
	for (i = 0; i < 2 * sizeof(tails) / sizeof(tails[0]); i++)
		for (n = 1; n < 40; n++) {
			(void)snprintf(text, sizeof(text),
			    i % 2 ? "[\"%.*s%s\"]" : "[1%.*s%s]",
			    i % 2 ? (int)n : (int)(n % 17),
			    "0000000000000000000000000000000000000000",
			    i % 2 ? tails[i / 2] : ".5");
			for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
				struct refusal r = REFUSAL_INIT;

				mem_fail_at(k);
				rc = wire_parse(text, strlen(text), &doc, &r);
				mem_fail_at(0);
				if (rc == RC_OK)
					wire_doc_fini(&doc);
				else
					assert_int_equal(RC_NO_MEMORY, rc);
			}
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse_refuses),
	    cmocka_unit_test(test_parse_place),
	    cmocka_unit_test(test_parse_nul),
	    cmocka_unit_test(test_parse_size),
	    cmocka_unit_test(test_no_memory_in_a_token),
	    cmocka_unit_test(test_message_full),
	    cmocka_unit_test(test_message_least),
	    cmocka_unit_test(test_message_refuses),
	    cmocka_unit_test(test_message_sizes),
	    cmocka_unit_test(test_metadata_sizes),
	    cmocka_unit_test(test_object_fields),
	    cmocka_unit_test(test_object_places),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests_name("wire_read", tests, setup, NULL));
}
