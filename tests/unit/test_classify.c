/* SPDX-License-Identifier: MIT */
/*
 * The meaning of the outcome of a request to another server: the table of the
 * protocol, every status that the table does not name, problem documents,
 * Retry-After.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "federation/classify.h"
#include "wire/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* Sun, 06 Nov 1994 08:49:37 GMT */
#define THEN INT64_C(784111777000)
#define HOUR INT64_C(3600000)
#define PROBLEM "application/problem+json"

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

/* An answer with ${status} to a request with ${envelopes}. */
static struct classify_outcome
answered(int status, size_t envelopes)
{

	return ((struct classify_outcome){
	    .transport = CLASSIFY_ANSWERED,
	    .status = status,
	    .envelopes = envelopes,
	    .retry_after_ms = CLASSIFY_NO_WAIT,
	});
}

static void
test_transport(void **state)
{
	struct classify_outcome o = answered(200, 1);
	int i;

	(void)state;
	/* Without an answer the status and the wait do not matter. */
	o.read = true;
	o.retry_after_ms = 5000;
	for (i = CLASSIFY_ANSWERED + 1; i < CLASSIFY_TRANSPORTS; i++) {
		o.transport = (enum classify_transport)i;
		assert_int_equal(CLASSIFY_CHARGE, classify(&o).class);
		assert_string_not_equal(
		    "", classify_transport_words(o.transport));
	}
}

static void
test_taken(void **state)
{
	static const struct {
		int status;
		bool read, reconnect;
		int64_t after_ms;
		enum classify_class class;
		int64_t park_ms;
	} rows[] = {
	    {200, true, false, 0, CLASSIFY_SETTLE, 0},
	    {202, true, false, 0, CLASSIFY_SETTLE, 0},
	    {200, false, false, 0, CLASSIFY_CHARGE, 0},
	    {202, false, false, 0, CLASSIFY_CHARGE, 0},
	    {200, true, true, 5000, CLASSIFY_PARK, 5000},
	    {200, true, true, 0, CLASSIFY_PARK, CLASSIFY_PARK_MIN_MS},
	    {200, true, true, HOUR + 1, CLASSIFY_PARK, HOUR},
	    {200, false, true, 5000, CLASSIFY_CHARGE, 0},
	    {201, true, true, 5000, CLASSIFY_CHARGE_ALERT, 0},
	    {204, true, false, 0, CLASSIFY_CHARGE_ALERT, 0},
	};
	struct classify_outcome o;
	struct classify_verdict v;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		o = answered(rows[i].status, 2);
		o.read = rows[i].read;
		o.reconnect = rows[i].reconnect;
		o.reconnect_after_ms = rows[i].after_ms;
		v = classify(&o);
		assert_int_equal(rows[i].class, v.class);
		assert_int_equal(rows[i].park_ms, v.park_ms);
		assert_int_equal(ENVELOPE_NO_REASON, v.reason);
	}
}

static void
test_refused(void **state)
{
	static const struct {
		enum classify_problem problem;
		size_t envelopes;
		enum classify_class class;
		enum envelope_reason reason;
	} rows[] = {
	    {CLASSIFY_NO_PROBLEM, 0, CLASSIFY_CHARGE_ALERT, ENVELOPE_NO_REASON},
	    {CLASSIFY_BAD_REQUEST, 0, CLASSIFY_CHARGE_ALERT,
		ENVELOPE_NO_REASON},
	    {CLASSIFY_NO_PROBLEM, 1, CLASSIFY_CHARGE_ALERT, ENVELOPE_NO_REASON},
	    {CLASSIFY_BAD_REQUEST, 1, CLASSIFY_REJECT, ENVELOPE_MALFORMED},
	    {CLASSIFY_TOO_LARGE, 1, CLASSIFY_REJECT, ENVELOPE_TOO_LARGE},
	    {CLASSIFY_BODY_TOO_LARGE, 1, CLASSIFY_REJECT, ENVELOPE_TOO_LARGE},
	    {CLASSIFY_NONCE_REPEATED, 1, CLASSIFY_CHARGE_ALERT,
		ENVELOPE_NO_REASON},
	    {CLASSIFY_KEY_UNKNOWN, 1, CLASSIFY_CHARGE_ALERT,
		ENVELOPE_NO_REASON},
	    {CLASSIFY_PEER_REFUSED, 1, CLASSIFY_CHARGE_ALERT,
		ENVELOPE_NO_REASON},
	    {CLASSIFY_NO_PROBLEM, 2, CLASSIFY_HALVE, ENVELOPE_NO_REASON},
	    {CLASSIFY_BAD_REQUEST, 50, CLASSIFY_HALVE, ENVELOPE_NO_REASON},
	};
	static const int statuses[] = {400, 413, 422};
	struct classify_outcome o;
	struct classify_verdict v;
	size_t i, k;

	(void)state;
	for (k = 0; k < COUNT(statuses); k++) {
		for (i = 0; i < COUNT(rows); i++) {
			o = answered(statuses[k], rows[i].envelopes);
			o.problem = rows[i].problem;
			/* Here neither a wait nor the form of the answer
			 * matters. */
			o.read = true;
			o.retry_after_ms = 5000;
			v = classify(&o);
			assert_int_equal(rows[i].class, v.class);
			assert_int_equal(rows[i].reason, v.reason);
			assert_int_equal(0, v.park_ms);
		}
	}
}

static void
test_signature(void **state)
{
	struct classify_outcome o = answered(401, 2);
	int i;

	(void)state;
	for (i = 0; i < CLASSIFY_PROBLEMS; i++) {
		o.problem = (enum classify_problem)i;
		o.signed_anew = false;
		assert_int_equal(i == CLASSIFY_NONCE_REPEATED
				     ? CLASSIFY_SIGN_ANEW
				     : CLASSIFY_CHARGE,
		    classify(&o).class);
		/* It is signed again once only, or a peer could make it
		 * endless. */
		o.signed_anew = true;
		assert_int_equal(CLASSIFY_CHARGE, classify(&o).class);
	}
	o = answered(403, 1);
	o.problem = CLASSIFY_PEER_REFUSED;
	assert_int_equal(CLASSIFY_CHARGE, classify(&o).class);
	/* A problem code counts only with its own status. */
	o.problem = CLASSIFY_NONCE_REPEATED;
	assert_int_equal(CLASSIFY_CHARGE, classify(&o).class);
}

static void
test_wait(void **state)
{
	static const int statuses[] = {408, 425, 429, 503};
	static const struct {
		int64_t after_ms, park_ms;
	} rows[] = {
	    {0, CLASSIFY_PARK_MIN_MS},
	    {999, CLASSIFY_PARK_MIN_MS},
	    {1001, 1001},
	    {HOUR, HOUR},
	    {HOUR + 1, HOUR},
	};
	struct classify_outcome o;
	struct classify_verdict v;
	size_t i, k;

	(void)state;
	for (k = 0; k < COUNT(statuses); k++) {
		o = answered(statuses[k], 2);
		assert_int_equal(CLASSIFY_CHARGE, classify(&o).class);
		for (i = 0; i < COUNT(rows); i++) {
			o.retry_after_ms = rows[i].after_ms;
			v = classify(&o);
			assert_int_equal(CLASSIFY_PARK, v.class);
			assert_int_equal(rows[i].park_ms, v.park_ms);
		}
	}
}

/* Every status that the tests above do not name is charged.  It raises an alert
 * unless the server says that it failed. */
static void
test_everything_else(void **state)
{
	static const int named[] = {
	    200, 202, 400, 401, 403, 408, 413, 422, 425, 429, 503};
	struct classify_outcome o;
	size_t i;
	int status, seen = 0;

	(void)state;
	for (status = -1; status <= 1000; status++) {
		for (i = 0; i < COUNT(named) && named[i] != status; i++)
			continue;
		if (i < COUNT(named))
			continue;
		o = answered(status, 1);
		o.read = true;
		o.retry_after_ms = 5000;
		o.problem = CLASSIFY_BAD_REQUEST;
		assert_int_equal(status >= 500 && status <= 599
				     ? CLASSIFY_CHARGE
				     : CLASSIFY_CHARGE_ALERT,
		    classify(&o).class);
		seen++;
	}
	assert_int_equal(1002 - (int)COUNT(named), seen);
}

static void
test_problems(void **state)
{
	static const struct {
		const char *type, *body;
		enum classify_problem problem;
	} rows[] = {
	    {PROBLEM, "{\"type\":\"/problems/bad-request\"}",
		CLASSIFY_BAD_REQUEST},
	    {PROBLEM, "{\"type\":\"bad-request\"}", CLASSIFY_BAD_REQUEST},
	    {PROBLEM, "{\"type\":\"https://a.example/x/too-large\",\"a\":1}",
		CLASSIFY_TOO_LARGE},
	    {PROBLEM, "{\"type\":\"/problems/body-too-large\"}",
		CLASSIFY_BODY_TOO_LARGE},
	    {PROBLEM "; charset=utf-8",
		"{\"type\":\"/problems/nonce-repeated\"}",
		CLASSIFY_NONCE_REPEATED},
	    {"Application/Problem+JSON;a=b",
		"{\"type\":\"/problems/key-unknown\"}", CLASSIFY_KEY_UNKNOWN},
	    {PROBLEM " ", "{\"type\":\"/problems/peer-refused\"}",
		CLASSIFY_PEER_REFUSED},
	    {NULL, "{\"type\":\"bad-request\"}", CLASSIFY_NO_PROBLEM},
	    {"", "{\"type\":\"bad-request\"}", CLASSIFY_NO_PROBLEM},
	    {"application/json", "{\"type\":\"bad-request\"}",
		CLASSIFY_NO_PROBLEM},
	    {PROBLEM "x", "{\"type\":\"bad-request\"}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "bad-request", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "\"bad-request\"", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "[\"bad-request\"]", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"code\":\"bad-request\"}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":7}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"\"}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"/problems/\"}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"/problems/bad-request/\"}",
		CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"/problems/Bad-Request\"}",
		CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"about:blank\"}", CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"bad-request\",\"type\":\"x\"}",
		CLASSIFY_NO_PROBLEM},
	    {PROBLEM, "{\"type\":\"bad-request\"}x", CLASSIFY_NO_PROBLEM},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (classify_problem_read(rows[i].type, rows[i].body,
			strlen(rows[i].body)) != rows[i].problem)
			fail_msg("%s: %s", rows[i].type, rows[i].body);
	}
}

/* A body that is longer than an answer may be, or for which there is no memory,
 * is treated as a body without a code. */
static void
test_problem_limits(void **state)
{
	static char body[ENVELOPE_ANSWER_LEN + 1];
	static const char text[] = "{\"type\":\"bad-request\"}";
	int64_t k;

	(void)state;
	memset(body, ' ', sizeof(body));
	memcpy(body, text, strlen(text));
	assert_int_equal(CLASSIFY_BAD_REQUEST,
	    classify_problem_read(PROBLEM, body, ENVELOPE_ANSWER_LEN));
	assert_int_equal(CLASSIFY_NO_PROBLEM,
	    classify_problem_read(PROBLEM, body, ENVELOPE_ANSWER_LEN + 1));
	for (k = 1;; k++) {
		assert_true(k < 100);
		mem_fail_at(k);
		if (classify_problem_read(PROBLEM, text, strlen(text)) ==
		    CLASSIFY_BAD_REQUEST)
			break;
		assert_false(mem_fail_pending());
	}
	mem_fail_at(0);
	assert_true(k > 3);
}

/* The text for people: the problem code, and a text that a terminal can safely
 * show. */
static void
test_said(void **state)
{
	static const char text[] =
	    "{\"type\":\"https://a.example/problems/signature-wrong\","
	    "\"detail\":\"one\\u001b[0m \\u00e4\"}";
	struct classify_said said = {.code = "untouched"};
	char body[1024], longest[600];

	(void)state;
	assert_false(classify_problem_said(NULL, text, strlen(text), &said));
	assert_false(
	    classify_problem_said("text/html", text, strlen(text), &said));
	assert_false(classify_problem_said(PROBLEM, "x", 1, &said));
	assert_string_equal("untouched", said.code);
	assert_true(classify_problem_said(PROBLEM, text, strlen(text), &said));
	assert_string_equal("signature-wrong", said.code);
	assert_string_equal("one?[0m ??", said.detail);
	assert_true(
	    classify_problem_said(PROBLEM, "{\"detail\":7}", 12, &said));
	assert_string_equal("", said.code);
	assert_string_equal("", said.detail);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	(void)snprintf(body, sizeof(body),
	    "{\"type\":\"%.300s\",\"detail\":\"%s\"}", longest, longest);
	assert_true(classify_problem_said(PROBLEM, body, strlen(body), &said));
	assert_int_equal(sizeof(said.code) - 1, strlen(said.code));
	assert_int_equal(sizeof(said.detail) - 1, strlen(said.detail));
}

static void
test_date(void **state)
{
	int64_t ms = 7;

	(void)state;
	assert_false(classify_date_read("", &ms));
	assert_false(classify_date_read("Sunday, 06-Nov-94 08:49:37 GMT", &ms));
	assert_false(classify_date_read("Sun, 06 Nov 1994 08:49:37 UTC", &ms));
	assert_false(classify_date_read("Sun, 31 Feb 1994 08:49:37 GMT", &ms));
	assert_int_equal(7, ms);
	assert_true(classify_date_read("Sun, 06 Nov 1994 08:49:37 GMT", &ms));
	assert_int_equal(THEN, ms);
}

static void
test_retry_after(void **state)
{
	static const struct {
		const char *value;
		int64_t now_ms, ms;
	} rows[] = {
	    {NULL, THEN, CLASSIFY_NO_WAIT},
	    {"", THEN, CLASSIFY_NO_WAIT},
	    {"0", THEN, 0},
	    {"1", THEN, 1000},
	    {"007", THEN, 7000},
	    {"3599", THEN, HOUR - 1000},
	    {"3600", THEN, HOUR},
	    {"3601", THEN, HOUR},
	    {"99999999999999999999999999", THEN, HOUR},
	    {"-1", THEN, CLASSIFY_NO_WAIT},
	    {"+1", THEN, CLASSIFY_NO_WAIT},
	    {"1.5", THEN, CLASSIFY_NO_WAIT},
	    {"1 ", THEN, CLASSIFY_NO_WAIT},
	    {"soon", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", THEN, 0},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", THEN - 5500, 5500},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", THEN - HOUR - 1, HOUR},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", THEN + 1, 0},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_MAX, 0},
	    {"Thu, 29 Feb 2024 00:00:00 GMT", INT64_C(1709164799000), 1000},
	    {"Thu, 01 Jan 1970 00:00:01 GMT", 0, 1000},
	    {"Sun, 06 Nov 1994 08:49:37 UTC", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 06 nov 1994 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 06 ovD 1994 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 31 Nov 1994 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 06 Nov 1994 24:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 6 Nov 1994 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, +6 Nov 1994 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun, 06 Nov 1994 08:49:37 GMT ", THEN, CLASSIFY_NO_WAIT},
	    {"Sunday, 06-Nov-94 08:49:37 GMT", THEN, CLASSIFY_NO_WAIT},
	    {"Sun Nov  6 08:49:37 1994", THEN, CLASSIFY_NO_WAIT},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (classify_retry_after_ms(rows[i].value, rows[i].now_ms) !=
		    rows[i].ms)
			fail_msg("%s", rows[i].value);
	}
}

/* No two words of logs and metrics are equal. */
static void
test_words(void **state)
{
	int i, k;

	(void)state;
	for (i = 0; i < CLASSIFY_CLASSES; i++) {
		for (k = 0; k < i; k++)
			assert_string_not_equal(
			    classify_word((enum classify_class)i),
			    classify_word((enum classify_class)k));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_transport),
	    cmocka_unit_test(test_taken),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_signature),
	    cmocka_unit_test(test_wait),
	    cmocka_unit_test(test_everything_else),
	    cmocka_unit_test(test_problems),
	    cmocka_unit_test(test_problem_limits),
	    cmocka_unit_test(test_said),
	    cmocka_unit_test(test_date),
	    cmocka_unit_test(test_retry_after),
	    cmocka_unit_test(test_words),
	};

	return (cmocka_run_group_tests_name("classify", tests, setup, NULL));
}
