/* SPDX-License-Identifier: MIT */
/*
 * Failures, back-off and close codes: how a client interprets them, and whether
 * it tries again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sysexits.h>

#include "lib/backoff.h"
#include "lib/fail.h"
#include "lib/sender.h"
#include "lib/stream.h"
#include "model/refusal.h"

/* The meaning of each problem of the contract for a sender and a script. */
static const struct {
	const char *code;
	int status;
	int exit;
	bool retry;   /* the same request may succeed later */
	bool refused; /* the message is refused for good */
} problems[] = {
    {"bad_request", 400, EX_DATAERR, false, true},
    {"unauthenticated", 401, EX_NOPERM, false, false},
    {"wrong_password", 401, EX_NOPERM, false, false},
    {"one_time_password", 401, EX_NOPERM, false, false},
    {"forbidden", 403, EX_NOPERM, false, true},
    {"not_found", 404, EX_DATAERR, false, true},
    {"method_not_allowed", 405, EX_PROTOCOL, false, true},
    {"conflict", 409, EX_CANTCREAT, false, true},
    {"already_sent", 409, EX_DATAERR, false, true},
    {"cursor_expired", 410, EX_DATAERR, false, true},
    {"precondition_failed", 412, EX_TEMPFAIL, false, true},
    {"body_too_large", 413, EX_DATAERR, false, true},
    {"unsupported_media", 415, EX_PROTOCOL, false, true},
    {"expectation_failed", 417, EX_PROTOCOL, false, true},
    {"unknown_recipient", 422, EX_NOUSER, false, true},
    {"key_reused", 422, EX_DATAERR, false, true},
    {"ack_beyond_head", 422, EX_DATAERR, false, true},
    {"precondition_required", 428, EX_PROTOCOL, false, true},
    {"head_too_large", 431, EX_PROTOCOL, false, true},
    {"rate_limited", 429, EX_TEMPFAIL, true, false},
    {"queue_full", 429, EX_TEMPFAIL, true, false},
    {"quota_used", 429, EX_TEMPFAIL, true, false},
    {"internal", 500, EX_SOFTWARE, true, false},
    {"not_implemented", 501, EX_UNAVAILABLE, false, true},
    {"busy", 503, EX_TEMPFAIL, true, false},
    {"draining", 503, EX_TEMPFAIL, true, false},
    {"inbox_full", 507, EX_TEMPFAIL, true, false},
    {"storage_full", 507, EX_TEMPFAIL, true, false},
};

/* The problems that only other servers get, never clients: slug and code. */
static const char *const for_servers[][2] = {
    {"digest-wrong", "digest_wrong"},
    {"nonce-repeated", "nonce_repeated"},
    {"key-unknown", "key_unknown"},
    {"peer-refused", "peer_refused"},
    {"signature-missing", "signature_missing"},
    {"signature-malformed", "signature_malformed"},
    {"signature-components", "signature_components"},
    {"signature-parameters", "signature_parameters"},
    {"signature-expired", "signature_expired"},
    {"signature-early", "signature_early"},
    {"signature-wrong", "signature_wrong"},
};

#define FOR_SERVERS ((int)(sizeof(for_servers) / sizeof(for_servers[0])))

static void
test_problems(void **state)
{
	struct fail fail;
	json_t *problem;
	size_t i;

	(void)state;
	/* The table is complete.  PROBLEM_NONE is not a problem. */
	assert_int_equal(sizeof(problems) / sizeof(problems[0]),
	    PROBLEM_COUNT - 1 - FOR_SERVERS);
	for (i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		problem = json_pack("{ss ss}", "code", problems[i].code,
		    "detail", "why\033[2J");
		(void)fail_problem(&fail, problems[i].status, problem, 0);
		assert_string_equal(fail.code, problems[i].code);
		assert_int_equal(fail.exit, problems[i].exit);
		assert_string_equal(
		    fail.what, strcmp(problems[i].code, "unauthenticated") == 0
				   ? FAIL_LOGGED_OUT
				   : "why\\x1b[2J");
		assert_string_not_equal(fail.cure, "");
		assert_int_equal(fail_may_retry(&fail), problems[i].retry);
		assert_int_equal(sender_refused(&fail), problems[i].refused);
		json_decref(problem);
	}
}

/* A server that is faulty or hostile answers a client with a problem that only
 * servers get.  The client treats the code as one that it does not know, so the
 * request has failed: with RC_OK a refused message would count as accepted. */
static void
test_problems_of_servers(void **state)
{
	static const int statuses[] = {400, 401, 403, 409, 418, 503};
	struct fail fail, unknown;
	json_t *problem, *other = json_pack("{ss}", "code", "no_such_code");
	size_t i, j;

	(void)state;
	for (i = 0; i < (size_t)FOR_SERVERS; i++) {
		assert_int_not_equal(
		    problem_find(for_servers[i][0]), PROBLEM_NONE);
		problem = json_pack("{ss}", "code", for_servers[i][1]);
		for (j = 0; j < sizeof(statuses) / sizeof(statuses[0]); j++) {
			(void)fail_problem(&unknown, statuses[j], other, 0);
			assert_int_not_equal(
			    fail_problem(&fail, statuses[j], problem, 0),
			    RC_OK);
			assert_int_equal(fail.rc, unknown.rc);
			assert_int_equal(fail.exit, unknown.exit);
			assert_string_equal(fail.what, unknown.what);
			assert_string_equal(fail.cure, unknown.cure);
			assert_string_equal(fail.code, for_servers[i][1]);
			assert_int_equal(
			    sender_refused(&fail), sender_refused(&unknown));
		}
		json_decref(problem);
	}
	json_decref(other);
}

/* A revoked token gives the same plain text, however it is noticed.  A refusal
 * with 401 and another code keeps the text of that code. */
static void
test_logged_out(void **state)
{
	static const struct {
		const char *code, *what;
	} table[] = {
	    {"unauthenticated", "this device was logged out"},
	    {NULL, "this device was logged out"},
	    {"wrong_password", "send \"Authorization: Bearer <token>\""},
	};
	struct fail fail;
	json_t *problem;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		problem = json_pack("{ss* ss}", "code", table[i].code, "detail",
		    "send \"Authorization: Bearer <token>\"");
		(void)fail_problem(&fail, 401, problem, 0);
		json_decref(problem);
		assert_string_equal(fail.what, table[i].what);
		assert_int_equal(fail.exit, EX_NOPERM);
		assert_int_equal(fail.status, 401);
	}
	(void)fail_logged_out(&fail);
	assert_string_equal(fail.what, "this device was logged out");
	assert_string_equal(fail.cure, "log in again: twinbox login NAME");
	assert_int_equal(fail.exit, EX_NOPERM);
}

/* The sender's daily quota is new at midnight; the quota for new servers
 * recovers with time.  The pointer says which of the two it is, over REST and
 * in a frame. */
static void
test_quota(void **state)
{
	static const struct {
		const char *code, *pointer;
		bool of_recipient, tomorrow;
	} table[] = {
	    {"quota_used", NULL, false, true},
	    {"quota_used", "", false, true},
	    {"quota_used", "to", false, true},
	    {"quota_used", "/body", false, true},
	    {"quota_used", "/to", true, false},
	    {"quota_used", "/message/to", true, false},
	    {"queue_full", "/to", false, false},
	    {"inbox_full", NULL, true, false},
	};
	struct fail fail;
	json_t *problem;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		problem = json_pack("{ss ss*}", "code", table[i].code,
		    "pointer", table[i].pointer);
		(void)fail_problem(&fail, 429, problem, 9);
		json_decref(problem);
		assert_string_equal(fail.pointer,
		    table[i].pointer != NULL ? table[i].pointer : "");
		assert_int_equal(
		    fail_of_recipient(&fail), table[i].of_recipient);
		assert_int_equal(
		    strstr(fail.cure, "tomorrow") != NULL, table[i].tomorrow);
		assert_non_null(strstr(fail.cure, "9 s"));
		assert_true(fail_may_retry(&fail));
		assert_false(sender_refused(&fail));
	}
	/* The next failure does not keep the pointer. */
	(void)fail_set(&fail, FAIL_TIMEOUT, "x");
	assert_string_equal(fail.pointer, "");
}

static void
test_answers_without_document(void **state)
{
	struct fail fail;

	(void)state;
	(void)fail_problem(&fail, 503, NULL, 7);
	assert_int_equal(fail.retry_after_s, 7);
	assert_int_equal(fail.exit, EX_TEMPFAIL);
	assert_true(fail_may_retry(&fail));
	assert_non_null(strstr(fail.cure, "7 s"));
	/* A 404 without a document comes from some other server: the message is
	 * not refused. */
	(void)fail_problem(&fail, 404, NULL, 0);
	assert_int_equal(fail.exit, EX_PROTOCOL);
	assert_false(sender_refused(&fail));
	assert_false(fail_may_retry(&fail));
	(void)fail_problem(&fail, 502, NULL, 0);
	assert_true(fail_may_retry(&fail));
}

/* The wait that the server asks for: from the header, or else from the document
 * if it is less than a day. */
static void
test_retry_after(void **state)
{
	static const struct {
		int header, document, wait;
	} table[] = {{0, 0, 0}, {0, 1, 1}, {1, 2, 1}, {0, -1, 0},
	    {0, 86399, 86399}, {0, 86400, 0}};
	struct fail fail;
	json_t *problem;
	char cure[100];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		problem = json_pack("{ss si}", "code", "busy", "retry_after",
		    table[i].document);
		(void)fail_problem(&fail, 503, problem, table[i].header);
		json_decref(problem);
		assert_int_equal(fail.retry_after_s, table[i].wait);
		(void)snprintf(cure, sizeof(cure),
		    "repeat in a moment (the server asks for %d s)",
		    table[i].wait);
		if (table[i].wait == 0)
			cure[strlen("repeat in a moment")] = '\0';
		assert_string_equal(fail.cure, cure);
	}
	/* The next failure does not keep the wait. */
	(void)fail_problem(&fail, 503, NULL, 7);
	(void)fail_set(&fail, FAIL_TIMEOUT, "x");
	assert_int_equal(fail.retry_after_s, 0);
	assert_int_equal(fail.status, 0);
	assert_string_equal(fail.cure, "repeat later");
}

static void
test_own_kinds(void **state)
{
	struct fail fail;

	(void)state;
	(void)fail_set(&fail, FAIL_NOT_LOGGED_IN, "nobody is %d", 1);
	assert_string_equal(fail.code, "not_logged_in");
	assert_string_equal(fail.what, "nobody is 1");
	assert_int_equal(fail.exit, EX_NOPERM);
	(void)fail_set(&fail, FAIL_UNREACHABLE, "x");
	assert_int_equal(fail.exit, EX_UNAVAILABLE);
	assert_true(fail_may_retry(&fail));
	assert_false(sender_refused(&fail));
	(void)fail_set(&fail, FAIL_UNCERTAIN, "x");
	assert_true(fail_may_retry(&fail));
	(void)fail_set(&fail, FAIL_UNTRUSTED, "x");
	assert_false(fail_may_retry(&fail));
	assert_false(sender_refused(&fail));
}

static void
test_close_codes(void **state)
{
	static const int again[] = {
	    1000, 1001, 1005, 1006, 1011, 1012, 1013, 4408, 4429};
	static const int person[] = {
	    1003, 1007, 1008, 1009, 4400, 4401, 4403, 4409, 4499};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(again) / sizeof(again[0]); i++)
		assert_int_equal(stream_verdict(again[i]), STREAM_AGAIN);
	for (i = 0; i < sizeof(person) / sizeof(person[0]); i++)
		assert_int_equal(stream_verdict(person[i]), STREAM_PERSON);
	assert_int_equal(stream_verdict(4410), STREAM_NEW_EPOCH);
}

/* Full jitter: any wait up to 0.5 s x 2^n, at most 20 s, and the whole range
 * occurs. */
static void
test_backoff(void **state)
{
	struct rnd_seeded seeded;
	int64_t most, longest, shortest, wait;
	int n, i;

	(void)state;
	rnd_seeded_init(&seeded, 1);
	for (n = 0; n < 70; n++) {
		most = n < 6 ? 500ll << n : 20000;
		longest = 0;
		shortest = INT64_MAX;
		for (i = 0; i < 300; i++) {
			wait = backoff_ms(&seeded.rnd, n);
			assert_true(wait >= 0 && wait <= most);
			longest = wait > longest ? wait : longest;
			shortest = wait < shortest ? wait : shortest;
		}
		assert_true(longest > most * 9 / 10);
		assert_true(shortest < most / 10);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_problems),
	    cmocka_unit_test(test_problems_of_servers),
	    cmocka_unit_test(test_logged_out),
	    cmocka_unit_test(test_quota),
	    cmocka_unit_test(test_answers_without_document),
	    cmocka_unit_test(test_retry_after),
	    cmocka_unit_test(test_own_kinds),
	    cmocka_unit_test(test_close_codes),
	    cmocka_unit_test(test_backoff),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
