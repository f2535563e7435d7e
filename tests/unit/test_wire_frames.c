/* SPDX-License-Identifier: MIT */
/*
 * Frames of a client: which are accepted, which are refused, at which place and
 * with which text; and cursors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
assert_span(const char *expected, struct span s)
{

	assert_non_null(s.p);
	assert_int_equal(strlen(expected), s.n);
	/* The text has a NUL at its end. */
	assert_memory_equal(expected, s.p, s.n + 1);
}

static enum rc
read_frame(
    const char *text, struct wire_doc *doc, struct frame *f, struct refusal *r)
{

	assert_int_equal(RC_OK, wire_parse(text, strlen(text), doc, r));
	return (wire_frame_read(doc, f, r));
}

static void
test_frames(void **state)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct frame f;

	(void)state;
	assert_int_equal(RC_OK,
	    read_frame("{\"type\":\"hello\",\"id\":1,\"token\":\"t\","
		       "\"instance\":\"i\",\"after\":\"e:117\",\"window\":9,"
		       "\"outbox\":true}",
		&doc, &f, &r));
	assert_int_equal(FRAME_HELLO, f.type);
	assert_true(f.has_re);
	assert_int_equal(1, f.re);
	assert_span("t", f.token);
	assert_span("i", f.instance);
	assert_span("e:117", f.after);
	assert_int_equal(9, f.window);
	assert_true(f.outbox);
	wire_doc_fini(&doc);

	assert_int_equal(RC_OK,
	    read_frame("{\"type\":\"hello\",\"after\":117}", &doc, &f, &r));
	assert_false(f.has_re);
	assert_span("117", f.after);
	assert_int_equal(LIMIT_WINDOW, f.window);
	assert_false(f.outbox);
	wire_doc_fini(&doc);

	assert_int_equal(
	    RC_OK, read_frame("{\"type\":\"ack\",\"upto\":0}", &doc, &f, &r));
	assert_int_equal(FRAME_ACK, f.type);
	assert_int_equal(0, f.upto);
	wire_doc_fini(&doc);

	assert_int_equal(
	    RC_OK, read_frame("{\"type\":\"read\",\"conversation\":\"" ID "\","
			      "\"upto_conversation_seq\":7,\"private\":true}",
		       &doc, &f, &r));
	assert_int_equal(FRAME_READ, f.type);
	assert_true(f.has_conversation);
	assert_int_equal(7, f.upto_conversation_seq);
	assert_true(f.is_private);
	wire_doc_fini(&doc);

	assert_int_equal(
	    RC_OK, read_frame("{\"type\":\"send\",\"id\":2,\"message\":{\"to\":"
			      "\"bob\",\"body\":\"x\"}}",
		       &doc, &f, &r));
	assert_int_equal(FRAME_SEND, f.type);
	assert_span("x", f.message.body);
	wire_doc_fini(&doc);

	assert_int_equal(RC_OK,
	    read_frame("{\"type\":\"typing\",\"conversation\":\"" ID "\"}",
		&doc, &f, &r));
	assert_int_equal(FRAME_TYPING, f.type);
	wire_doc_fini(&doc);
	assert_int_equal(
	    RC_OK, read_frame("{\"type\":\"ping\",\"id\":3}", &doc, &f, &r));
	assert_int_equal(FRAME_PING, f.type);
	wire_doc_fini(&doc);
}

static void
test_frames_refused(void **state)
{
	static const struct {
		const char *text;
		bool has_re;
		const char *pointer;
	} rows[] = {
	    {"[]", false, ""},
	    {"{}", false, "/type"},
	    {"{\"type\":\"fly\",\"id\":5}", true, "/type"},
	    {"{\"type\":1,\"id\":5}", true, "/type"},
	    {"{\"type\":\"ack\",\"id\":\"x\",\"upto\":1}", false, "/id"},
	    {"{\"type\":\"ack\",\"id\":5}", true, "/upto"},
	    {"{\"type\":\"ack\",\"id\":5,\"upto\":-1}", true, "/upto"},
	    {"{\"type\":\"ack\",\"id\":5,\"upto\":1,\"x\":1}", true, "/x"},
	    {"{\"type\":\"hello\",\"id\":5,\"window\":0}", true, "/window"},
	    {"{\"type\":\"hello\",\"id\":5,\"window\":257}", true, "/window"},
	    {"{\"type\":\"hello\",\"id\":5,\"after\":\"\"}", true, "/after"},
	    {"{\"type\":\"hello\",\"id\":5,\"after\":-1}", true, "/after"},
	    {"{\"type\":\"hello\",\"id\":5,\"after\":[]}", true, "/after"},
	    {"{\"type\":\"hello\",\"id\":5,\"instance\":\"\"}", true,
		"/instance"},
	    {"{\"type\":\"read\",\"id\":5}", true, ""},
	    {"{\"type\":\"read\",\"id\":5,\"conversation\":\"" ID "\"}", true,
		""},
	    {"{\"type\":\"read\",\"id\":5,\"upto\":1,\"conversation\":\"" ID
	     "\",\"upto_conversation_seq\":1}",
		true, ""},
	    {"{\"type\":\"read\",\"id\":5,\"upto\":1,"
	     "\"upto_conversation_seq\":1}",
		true, ""},
	    {"{\"type\":\"send\",\"id\":5}", true, "/message"},
	    {"{\"type\":\"send\",\"id\":5,\"message\":{\"to\":\"bob\"}}", true,
		"/message/body"},
	    {"{\"type\":\"typing\",\"id\":5}", true, "/conversation"},
	    {"{\"type\":\"ping\",\"id\":5,\"x\":1}", true, "/x"},
	};
	struct wire_doc doc;
	struct frame f;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		struct refusal r = REFUSAL_INIT;

		assert_int_equal(
		    RC_INVALID, read_frame(rows[i].text, &doc, &f, &r));
		assert_int_equal(rows[i].has_re, f.has_re);
		if (f.has_re)
			assert_int_equal(5, f.re);
		assert_int_equal(PROBLEM_BAD_REQUEST, r.problem);
		assert_true(r.detail[0] != '\0');
		assert_string_equal(rows[i].pointer, r.pointer);
		wire_doc_fini(&doc);
	}
}

/* The refusal of ${text} as a frame must have ${detail}. */
static void
assert_frame_detail(const char *text, const char *detail)
{
	struct refusal r = REFUSAL_INIT;
	struct wire_doc doc;
	struct frame f;

	assert_int_equal(RC_INVALID, read_frame(text, &doc, &f, &r));
	assert_string_equal(detail, r.detail);
	wire_doc_fini(&doc);
}

static void
test_frame_details(void **state)
{

	(void)state;
	assert_frame_detail("[]", "a frame is a JSON object");
	assert_frame_detail("{}",
	    "\"type\" must be one of hello, ack, read, send, typing, ping");
	assert_frame_detail("{\"type\":\"read\"}",
	    "give either \"upto\" (an inbox seq), or \"conversation\" and "
	    "\"upto_conversation_seq\"");
	assert_frame_detail(
	    "{\"type\":\"typing\"}", "member \"conversation\" is missing");
	/* The longer list comes first, so that the test detects a rest of it
	 * after the shorter one. */
	assert_frame_detail("{\"type\":\"hello\",\"windows\":1}",
	    "unknown member \"windows\"; known here: type, id, token, "
	    "instance, after, window, outbox");
	assert_frame_detail("{\"type\":\"ack\",\"id\":1,\"up\":1}",
	    "unknown member \"up\"; known here: type, id, upto");
	assert_frame_detail("{\"type\":\"hello\",\"window\":257}",
	    "\"window\" must lie between 1 and 256");
}

static void
test_frame_names(void **state)
{
	static const char *const names[] = {
	    "hello", "ack", "read", "send", "typing", "ping"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(names); i++)
		assert_string_equal(names[i], wire_frame_name(i));
	assert_null(wire_frame_name(i));
}

static void
test_cursors(void **state)
{
	static const struct {
		const char *text;
		const char *epoch; /* NULL: refused */
		int64_t seq;
	} rows[] = {
	    {"0", "", 0},
	    {"117", "", 117},
	    {"9223372036854775807", "", INT64_MAX},
	    {"9223372036854775808", NULL, 0},
	    {"abc-D_9:5", "abc-D_9", 5},
	    {"0123456789012345678901234567890123456789:1", NULL, 0},
	    {"012345678901234567890123456789012345678:1",
		"012345678901234567890123456789012345678", 1},
	    {"", NULL, 0},
	    {":1", NULL, 0},
	    {"a:", NULL, 0},
	    {"a:b", NULL, 0},
	    {"a:1:2", NULL, 0},
	    {"-1", NULL, 0},
	    {"+1", NULL, 0},
	    {" 1", NULL, 0},
	    {"1.0", NULL, 0},
	    {"a b:1", NULL, 0},
	    {"09azAZ-_:09", "09azAZ-_", 9},
	    {"/:1", NULL, 0},
	    {"@:1", NULL, 0},
	    {"[:1", NULL, 0},
	    {"`:1", NULL, 0},
	    {"{:1", NULL, 0},
	    {"1/", NULL, 0},
	};
	char epoch[40];
	int64_t seq;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (!wire_cursor_parse(
			rows[i].text, strlen(rows[i].text), epoch, &seq)) {
			assert_null(rows[i].epoch);
			continue;
		}
		assert_non_null(rows[i].epoch);
		assert_string_equal(rows[i].epoch, epoch);
		assert_int_equal(rows[i].seq, seq);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_frames_refused),
	    cmocka_unit_test(test_frame_details),
	    cmocka_unit_test(test_frame_names),
	    cmocka_unit_test(test_cursors),
	};

	return (cmocka_run_group_tests_name("wire_frames", tests, setup, NULL));
}
