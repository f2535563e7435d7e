/* SPDX-License-Identifier: MIT */
/*
 * Bytes of WebSocket clients, in pieces of any size: heads of handshakes and
 * frames have the same meaning however the network splits them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ws/handshake.h"
#include "ws/reader.h"

/* ---- heads ---- */

static const struct ws_handshake_rules rules = {.path = "/v1/ws",
    .protocol = "twinbox.v1",
    .allow_origin = "https://a.example, https://b.example"};

#define LINE "GET /v1/ws HTTP/1.1\r\n"
#define REST                                                                   \
	"Host: here\r\nUpgrade: websocket\r\nConnection: keep-alive, "         \
	"Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"           \
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: x, "             \
	"twinbox.v1\r\n"

static const struct {
	const char *text;
	enum problem problem; /* PROBLEM_NONE: complete and valid */
} heads[] = {
    {LINE REST "\r\n", PROBLEM_NONE},
    {LINE REST "Origin: http://here\r\n\r\n", PROBLEM_NONE},
    {LINE REST "Origin: https://b.example\r\n\r\n", PROBLEM_NONE},
    {LINE REST "Origin: https://b.exampl\r\n\r\n", PROBLEM_FORBIDDEN},
    {LINE REST "Origin: null\r\n\r\n", PROBLEM_FORBIDDEN},
    {LINE REST "Origin:\r\n\r\n", PROBLEM_FORBIDDEN},
    {LINE REST "Origin: http://\r\n\r\n", PROBLEM_FORBIDDEN},
    {LINE REST "Host: there\r\n\r\n", PROBLEM_BAD_REQUEST},
    {LINE REST "X\r\n\r\n", PROBLEM_BAD_REQUEST},
    {LINE REST " folded: 1\r\n\r\n", PROBLEM_BAD_REQUEST},
    {LINE REST "\r\nmore", PROBLEM_BAD_REQUEST},
    {LINE "\r\n", PROBLEM_BAD_REQUEST},
    {"GET /v1/ws?x HTTP/1.1\r\n" REST "\r\n", PROBLEM_BAD_REQUEST},
    {"GET /v1/wsx HTTP/1.1\r\n" REST "\r\n", PROBLEM_BAD_REQUEST},
    {"\r\n", PROBLEM_BAD_REQUEST},
};

static void
test_heads_in_portions(void **state)
{
	struct refusal r;
	enum ws_handshake_state got;
	size_t i, n, len;

	(void)state;
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		len = strlen(heads[i].text);
		/* Every proper beginning is incomplete or refused, never
		 * complete. */
		for (n = 0; n < len; n++) {
			r = (struct refusal)REFUSAL_INIT;
			got = ws_handshake_read(heads[i].text, n, &rules, &r);
			if (got == WS_HANDSHAKE_WHOLE)
				assert_string_equal(heads[i].text + n, "more");
			if (got == WS_HANDSHAKE_REFUSED)
				assert_int_equal(r.problem, heads[i].problem);
		}
		r = (struct refusal)REFUSAL_INIT;
		got = ws_handshake_read(heads[i].text, len, &rules, &r);
		assert_int_equal(got, heads[i].problem == PROBLEM_NONE
					  ? WS_HANDSHAKE_WHOLE
					  : WS_HANDSHAKE_REFUSED);
		assert_int_equal(r.problem, heads[i].problem);
	}
}

static void
test_head_too_long(void **state)
{
	struct refusal r = REFUSAL_INIT;
	char text[WS_HANDSHAKE_LEN];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, LINE, strlen(LINE));
	assert_int_equal(ws_handshake_read(text, sizeof(text) - 1, &rules, &r),
	    WS_HANDSHAKE_MORE);
	assert_int_equal(ws_handshake_read(text, sizeof(text), &rules, &r),
	    WS_HANDSHAKE_REFUSED);
}

/* ---- frames ---- */

/* The calls of the reader, as text: "m:…" message, "i:…" ping, "o" pong,
 * "c:code" close, "b:code" broken. */
struct told {
	char text[4096];
	bool stops; /* after the first message */
};

static void
note(struct told *t, const char *what, const char *p, size_t n)
{
	size_t len = strlen(t->text);

	(void)snprintf(t->text + len, sizeof(t->text) - len, "%s%.*s;", what,
	    (int)(n > 40 ? 40 : n), p);
}

static bool
on_message(void *arg, const char *text, size_t n)
{
	struct told *t = arg;

	note(t, "m:", text, n);
	return (!t->stops);
}

static bool
on_ping(void *arg, const char *payload, size_t n)
{

	note(arg, "i:", payload, n);
	return (true);
}

static bool
on_pong(void *arg)
{

	note(arg, "o", "", 0);
	return (true);
}

static void
on_close(void *arg, int code)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "c:%d", code);
	note(arg, text, "", 0);
}

static void
on_broken(void *arg, int code, const char *why)
{
	char text[16];

	assert_true(why[0] != '\0');
	(void)snprintf(text, sizeof(text), "b:%d", code);
	note(arg, text, "", 0);
}

static const struct ws_reader_ops ops = {.message = on_message,
    .ping = on_ping,
    .pong = on_pong,
    .close = on_close,
    .broken = on_broken};

/* Adds a masked frame with a short payload. */
static size_t
add(char *at, int first, const char *payload)
{
	size_t i, n = strlen(payload);

	assert_true(n < 126);
	at[0] = (char)first;
	at[1] = (char)(0x80 | n);
	memcpy(at + 2, "\x11\x22\x33\x44", 4);
	for (i = 0; i < n; i++)
		at[6 + i] = (char)(payload[i] ^ at[2 + (i & 3)]);
	return (6 + n);
}

/* Writes the calls for ${n} bytes, which come ${step} at a time, to ${ret}. */
static bool newcomer; /* the next feed() is before hello */

static void
feed(const char *bytes, size_t n, size_t step, struct told *ret)
{
	struct ws_reader r;
	char piece[1024];
	size_t at, k;

	assert_true(step <= sizeof(piece));
	ret->text[0] = '\0';
	ws_reader_init(&r, &ops, ret);
	if (!newcomer)
		ws_reader_admit(&r);
	for (at = 0; at < n; at += k) {
		k = n - at < step ? n - at : step;
		memcpy(piece, bytes + at, k);
		ws_reader_feed(&r, piece, k);
	}
	ws_reader_fini(&r);
}

static void
test_frames_in_portions(void **state)
{
	static const char want[] =
	    "m:whole;m:;i:ping;o;i:;m:in three parts;m:last;c:1000;";
	char bytes[1024];
	struct told t = {.stops = false};
	size_t n = 0, step;

	(void)state;
	n += add(bytes + n, 0x81, "whole");
	n += add(bytes + n, 0x81, "");
	n += add(bytes + n, 0x89, "ping");
	n += add(bytes + n, 0x8a, "pong");
	n += add(bytes + n, 0x01, "in ");
	n += add(bytes + n, 0x89, "");
	n += add(bytes + n, 0x00, "three ");
	n += add(bytes + n, 0x80, "parts");
	n += add(bytes + n, 0x81, "last");
	n += add(bytes + n, 0x88,
	    "\x03\xe8"
	    "bye");
	n += add(bytes + n, 0x81, "too late");
	for (step = 1; step <= n; step++) {
		feed(bytes, n, step, &t);
		assert_string_equal(t.text, want);
	}
}

static void
test_broken_once(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *want;
	} cases[] = {
	    {"\x81\x01x", 3, "b:1002;"},            /* unmasked */
	    {"\xc1\x80....", 6, "b:1002;"},         /* reserved bit */
	    {"\x83\x80....", 6, "b:1002;"},         /* reserved opcode */
	    {"\x09\x80....", 6, "b:1002;"},         /* fragmented ping */
	    {"\x89\xfe\x01\x00....", 8, "b:1002;"}, /* long ping */
	    {"\x80\x80....", 6, "b:1002;"},         /* continues nothing */
	    {"\x81\xfe\x00\x05....", 8, "b:1002;"}, /* 5 in 16 bits */
	    {"\x81\xff\x80\0\0\0\0\0\0\0....", 14, "b:1002;"},
	    {"\x81\xff\0\0\0\0\0\2\0\1....", 14, "b:1009;"},
	    {"\x82\x80....", 6, "b:4400;"},             /* binary */
	    {"\x88\x81....x", 7, "b:1002;"},            /* half a code */
	    {"\x81\x81\0\0\0\0\xff", 7, "b:1007;"},     /* no UTF-8 */
	    {"\x88\x82\0\0\0\0\x03\xed", 8, "b:1002;"}, /* 1005 */
	    {"\x88\x80....", 6, "c:1005;"},
	};
	char twice[32];
	struct told t = {.stops = false};
	size_t i, step;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(twice, cases[i].bytes, cases[i].n);
		memcpy(twice + cases[i].n, cases[i].bytes, cases[i].n);
		for (step = 1; step <= 2 * cases[i].n; step++) {
			feed(twice, 2 * cases[i].n, step, &t);
			assert_string_equal(t.text, cases[i].want);
		}
	}
}

/* The codes with which a client may close (RFC 6455, 7.4). */
static void
test_close_codes(void **state)
{
	static const struct {
		int from, to;
		bool may;
	} ranges[] = {{0, 999, false}, {1000, 1003, true}, {1004, 1006, false},
	    {1007, 1014, true}, {1015, 2999, false}, {3000, 4999, true},
	    {5000, 5001, false}, {65535, 65535, false}};
	char frame[8] = "\x88\x82", want[16];
	struct told t = {.stops = false};
	size_t i;
	int code;

	(void)state;
	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		for (code = ranges[i].from; code <= ranges[i].to; code++) {
			frame[6] = (char)(code >> 8);
			frame[7] = (char)code;
			feed(frame, sizeof(frame), sizeof(frame), &t);
			(void)snprintf(want, sizeof(want), "%s:%d;",
			    ranges[i].may ? "c" : "b",
			    ranges[i].may ? code : 1002);
			assert_string_equal(t.text, want);
		}
}

/* Adds the head of a frame with ${n} bytes, with its length in the shortest
 * form or, if ${wide}, in the next longer one. */
static size_t
add_head(char *at, int first, size_t n, bool wide)
{
	const int form = (n > 125) + (n > UINT16_MAX) + wide;
	const int bytes[] = {0, 2, 8};
	size_t len = 2;
	int i;

	at[0] = (char)first;
	at[1] = (char)(0x80 | (form == 0 ? (int)n : 125 + form));
	for (i = bytes[form] - 1; i >= 0; i--)
		at[len++] = (char)((uint64_t)n >> (8 * i));
	memset(at + len, 0, 4);
	return (len + 4);
}

/* The reader accepts a length in its shortest form only. */
static void
test_lengths(void **state)
{
	static const size_t lengths[] = {
	    0, 1, 125, 126, 127, UINT16_MAX, UINT16_MAX + 1};
	static char bytes[LIMIT_REQUEST_LEN];
	struct told t = {.stops = false};
	char want[64];
	size_t i, n, len;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		n = lengths[i];
		len = add_head(bytes, 0x81, n, false);
		memset(bytes + len, 'x', n);
		feed(bytes, len + n, 1000, &t);
		(void)snprintf(want, sizeof(want), "m:%.*s;",
		    (int)(n < 40 ? n : 40),
		    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		assert_string_equal(t.text, want);
		if (n > UINT16_MAX)
			continue;
		len = add_head(bytes, 0x81, n, true);
		feed(bytes, len, len, &t);
		assert_string_equal(t.text, "b:1002;");
	}
}

/* The limit of a message holds for all its frames together.  The reader refuses
 * at the head of a frame, before the payload arrives. */
static void
test_longest_message(void **state)
{
	static char bytes[2 * LIMIT_REQUEST_LEN];
	struct told t = {.stops = false};
	size_t at, len;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	len = add_head(bytes, 0x81, LIMIT_REQUEST_LEN, false);
	feed(bytes, len + LIMIT_REQUEST_LEN, 1000, &t);
	assert_memory_equal(t.text, "m:xxxx", 6);
	len = add_head(bytes, 0x81, LIMIT_REQUEST_LEN + 1, false);
	feed(bytes, len, len, &t);
	assert_string_equal(t.text, "b:1009;");
	/* Two fragments of LIMIT_REQUEST_LEN bytes together, then a byte
	 * more. */
	memset(bytes, 'x', sizeof(bytes));
	at = add_head(bytes, 0x01, 1000, false) + 1000;
	len = add_head(bytes + at, 0x80, LIMIT_REQUEST_LEN - 1000, false);
	feed(bytes, at + len + LIMIT_REQUEST_LEN - 1000, 1000, &t);
	assert_memory_equal(t.text, "m:xxxx", 6);
	len = add_head(bytes + at, 0x80, LIMIT_REQUEST_LEN - 999, false);
	feed(bytes, at + len, 1000, &t);
	assert_string_equal(t.text, "b:1009;");
}

/* Before hello a message is short. */
static void
test_hello_length(void **state)
{
	static char bytes[2 * LIMIT_HELLO_LEN];
	struct told t = {.stops = false};
	size_t at, len;

	(void)state;
	newcomer = true;
	memset(bytes, 'x', sizeof(bytes));
	len = add_head(bytes, 0x81, LIMIT_HELLO_LEN, false);
	feed(bytes, len + LIMIT_HELLO_LEN, 1000, &t);
	assert_memory_equal(t.text, "m:xxxx", 6);
	len = add_head(bytes, 0x81, LIMIT_HELLO_LEN + 1, false);
	feed(bytes, len, len, &t);
	assert_string_equal(t.text, "b:1009;");
	memset(bytes, 'x', sizeof(bytes));
	at = add_head(bytes, 0x01, 1000, false) + 1000;
	len = add_head(bytes + at, 0x80, LIMIT_HELLO_LEN - 999, false);
	feed(bytes, at + len, 1000, &t);
	assert_string_equal(t.text, "b:1009;");
	newcomer = false;
}

/* ws_reader_is_midway() is true while a message has begun and not ended. */
static void
test_midway(void **state)
{
	struct told t = {.stops = false, .text = ""};
	struct ws_reader r;
	char bytes[64];
	size_t n = 0, i, first, ping;

	(void)state;
	n += add(bytes, 0x01, "ab");
	first = n;
	n += add(bytes + n, 0x89, "p");
	ping = n;
	n += add(bytes + n, 0x80, "c");
	ws_reader_init(&r, &ops, &t);
	assert_false(ws_reader_is_midway(&r));
	for (i = 0; i < n; i++) {
		ws_reader_feed(&r, bytes + i, 1);
		assert_int_equal(ws_reader_is_midway(&r), i + 1 < n);
		assert_int_equal(r.in_message, i >= 5 && i + 1 < n);
	}
	assert_true(first < ping);
	ws_reader_fini(&r);
}

/* A message has at most 256 fragments.  The count starts anew with each
 * message. */
static void
test_fragments(void **state)
{
	static char bytes[8 * 1024];
	struct told t = {.stops = false};
	size_t i, k, n = 0;

	(void)state;
	for (k = 0; k < 2; k++) {
		n += add(bytes + n, 0x01, "a");
		for (i = 2; i < 256; i++)
			n += add(bytes + n, 0x00, "");
		n += add(bytes + n, 0x80, "b");
	}
	feed(bytes, n, 1000, &t);
	assert_string_equal(t.text, "m:ab;m:ab;");
	n = add(bytes, 0x01, "a");
	for (i = 2; i <= 256; i++)
		n += add(bytes + n, 0x00, "");
	feed(bytes, n, 1000, &t);
	assert_string_equal(t.text, "");
	n += add(bytes + n, 0x80, "b");
	feed(bytes, n, 1000, &t);
	assert_string_equal(t.text, "b:1009;");
}

static void
test_stops_when_told(void **state)
{
	char bytes[64];
	struct told t = {.stops = true};
	size_t n = 0;

	(void)state;
	n += add(bytes + n, 0x81, "one");
	n += add(bytes + n, 0x81, "two");
	feed(bytes, n, n, &t);
	assert_string_equal(t.text, "m:one;");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_heads_in_portions),
	    cmocka_unit_test(test_head_too_long),
	    cmocka_unit_test(test_frames_in_portions),
	    cmocka_unit_test(test_broken_once),
	    cmocka_unit_test(test_close_codes),
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_longest_message),
	    cmocka_unit_test(test_hello_length),
	    cmocka_unit_test(test_midway),
	    cmocka_unit_test(test_fragments),
	    cmocka_unit_test(test_stops_when_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
