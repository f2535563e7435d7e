/* SPDX-License-Identifier: MIT */
/*
 * The limits of server/model, at each limit and next to it: the characters of
 * names, domains and media types, the refusals of a draft, and the counts and
 * times of the breaker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/breaker.h"
#include "model/event.h"
#include "model/message.h"
#include "model/outbox.h"
#include "model/refusal.h"
#include "model/retry.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- characters ---- */

/* Returns all characters that ${valid} accepts, in order. */
static const char *
taken(bool (*valid)(char c))
{
	static char list[257];
	size_t n = 0;
	int c;

	for (c = 0; c < 256; c++)
		if (valid((char)c))
			list[n++] = (char)c;
	list[n] = '\0';
	return (list);
}

static bool
in_name(char c)
{

	return (model_name_valid(&c, 1));
}

static bool
parsed(const char *text, size_t n)
{
	char domain[LIMIT_DOMAIN_LEN + 1], name[LIMIT_NAME_LEN + 1];

	return (model_address_parse(text, n, "here.example", name, domain));
}

static bool
in_domain(char c)
{
	const char text[] = {'b', '@', 'x', c, 'y'};

	return (parsed(text, sizeof(text)));
}

static bool
begins_domain(char c)
{
	const char text[] = {'b', '@', c, 'y'};

	return (parsed(text, sizeof(text)));
}

static bool
in_type(char c)
{
	const char text[] = {c, '/', 'x'};

	return (model_content_type_valid(text, sizeof(text)));
}

static bool
in_subtype(char c)
{
	const char text[] = {'x', '/', 'y', c};

	return (model_content_type_valid(text, sizeof(text)));
}

static bool
is_quoted(char c)
{
	const char text[] = {'x', '/', 'y', ';', 'a', '=', '"', c, '"'};

	return (model_content_type_valid(text, sizeof(text)));
}

static bool
is_escaped(char c)
{
	const char text[] = {'x', '/', 'y', ';', 'a', '=', '"', '\\', c, '"'};

	return (model_content_type_valid(text, sizeof(text)));
}

static bool
is_space(char c)
{
	const char text[] = {'x', '/', 'y', ' ', c, ';', 'a', '=', 'b'};

	return (model_content_type_valid(text, sizeof(text)));
}

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static void
test_characters(void **state)
{

	(void)state;
	assert_string_equal(taken(in_name), "-." DIGITS "_" LOWER);
	assert_string_equal(taken(in_domain), "-." DIGITS LOWER);
	assert_string_equal(taken(begins_domain), DIGITS LOWER);
	assert_string_equal(
	    taken(in_type), "!#$%&'*+-." DIGITS UPPER "^_`" LOWER "|~");
	assert_string_equal(
	    taken(in_subtype), "!#$%&'*+-." DIGITS UPPER "^_`" LOWER "|~");
	/* All printable characters except a quote and the backslash. */
	assert_string_equal(taken(is_quoted),
	    " !#$%&'()*+,-./" DIGITS ":;<=>?@" UPPER "[]^_`" LOWER "{|}~");
	assert_string_equal(taken(is_escaped),
	    " !\"#$%&'()*+,-./" DIGITS ":;<=>?@" UPPER "[\\]^_`" LOWER "{|}~");
	assert_string_equal(taken(is_space), "\t ");
}

static void
test_media_types(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
	    {"x/y;a=\"\"", true},
	    {"x/y;a=\"", false},
	    {"x/y;a=\"b\\\"", false},
	    {"x/y;a=\"b\"c", false},
	    {"x/y;a=\"b\";c=\"d\"", true},
	    {"x/y;a=b;c=d", true},
	    {"x/y;a=b c=d", false},
	    {"x/y \t;\t a=b", true},
	    {"x/y;a=b ", false},
	    {"x/y;a=b;", false},
	    {"x/y;=b", false},
	    {"x/y;a", false},
	    {"x/y;a b", false},
	    {"x/y/z", false},
	    {"x;y", false},
	    {"x/;a=b", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		if (model_content_type_valid(
			rows[i].text, strlen(rows[i].text)) != rows[i].valid)
			fail_msg("%s", rows[i].text);
	/* The given length ends the text. */
	assert_true(model_content_type_valid("x/y;a=b\"", 7));
	assert_false(model_content_type_valid("x/y;a=\"b\"", 8));
	assert_false(model_content_type_valid("x/y;a=\"\"", 7));
	assert_false(model_content_type_valid("x/y", 2));
	assert_false(model_content_type_valid("x/y", 1));
}

/* Labels have up to 63 characters, a domain up to 253. */
static void
test_domain_lengths(void **state)
{
	char text[2 + LIMIT_DOMAIN_LEN + 2];
	size_t i;

	(void)state;
	memcpy(text, "b@", 2);
	for (i = 2; i < sizeof(text); i++)
		text[i] = (i - 2) % 64 == 63 ? '.' : 'x';
	assert_true(parsed(text, 2 + LIMIT_DOMAIN_LEN));
	assert_false(parsed(text, 2 + LIMIT_DOMAIN_LEN + 1));
	assert_true(parsed(text, 2 + 63));
	text[2 + 63] = 'x';
	assert_false(parsed(text, 2 + 64));
}

static void
test_small_words(void **state)
{
	int64_t ms = -1;
	int p = 99;

	(void)state;
	assert_true(model_duration_parse("106751991167d", &ms));
	assert_int_equal(ms, INT64_C(106751991167) * 86400000);
	assert_true(model_duration_parse("2562047788015h", &ms));
	assert_false(model_duration_parse("2562047788016h", &ms));
	assert_true(model_duration_parse("153722867280912m", &ms));
	assert_false(model_duration_parse("153722867280913m", &ms));
	assert_true(model_duration_parse("09", &ms));
	assert_int_equal(ms, 9000);
	assert_false(model_duration_parse("/1", &ms));
	assert_false(model_duration_parse(":1", &ms));

	assert_string_equal(priority_name(PRIORITY_LOW), "low");
	assert_string_equal(priority_name(PRIORITY_NORMAL), "normal");
	assert_string_equal(priority_name(PRIORITY_HIGH), "high");
	assert_false(priority_parse("lowest", 6, &p));
	assert_false(priority_parse("normal", 5, &p));
	assert_false(priority_parse("high\0", 5, &p));
	assert_int_equal(p, 99);
}

/* ---- drafts ---- */

static struct message_draft
good_draft(void)
{
	struct message_draft d;

	memset(&d, 0, sizeof(d));
	d.to = (struct span){"bob", 3};
	d.body = (struct span){"hello", 5};
	return (d);
}

/* Returns the place and the text of the refusal; "" if there is none. */
static const char *
refusal_of(const struct message_draft *d)
{
	static char said[REFUSAL_POINTER_SIZE + REFUSAL_DETAIL_SIZE + 16];
	struct refusal r = REFUSAL_INIT;

	if (model_draft_check(d, "", &r) == RC_OK)
		return ("");
	(void)snprintf(said, sizeof(said), "%d %s: %s",
	    problem_status(r.problem), r.pointer, r.detail);
	return (said);
}

static void
test_recipients(void **state)
{
	static const char no_address[] =
	    "400 /to: \"to\" is not a valid address: \"name\" or "
	    "\"name@domain\", where a name is 1 to 32 of a-z, 0-9, '.', '_', "
	    "'-'";
	char large[101];
	struct message_draft d;

	(void)state;
	d = good_draft();
	d.to.p = NULL;
	assert_string_equal(refusal_of(&d),
	    "400 : a recipient is missing: give \"to\" (an address) or "
	    "\"conversation\" (an id)");
	d = good_draft();
	d.has_conversation = true;
	assert_string_equal(refusal_of(&d),
	    "400 /conversation: give either \"to\" or \"conversation\", not "
	    "both");
	d = good_draft();
	d.to = (struct span){"Bob@B.example", 3};
	assert_string_equal(refusal_of(&d),
	    "400 /to: addresses have small letters: did you mean \"bob\"?");
	d.to.n = 13;
	assert_string_equal(refusal_of(&d),
	    "400 /to: addresses have small letters: did you mean "
	    "\"bob@b.example\"?");
	d.to = (struct span){"Bob Smith", 9};
	assert_string_equal(refusal_of(&d), no_address);
	/* Too long to be repeated in the refusal. */
	memset(large, 'B', sizeof(large));
	memcpy(large, "Bob@", 4);
	large[60] = '.';
	d.to = (struct span){large, sizeof(large)};
	assert_string_equal(refusal_of(&d), no_address);
	d.to.n = 100;
	assert_true(strstr(refusal_of(&d), "did you mean \"bob@bbb") != NULL);
}

static void
test_texts(void **state)
{
	static char large[LIMIT_BODY_LEN + 1];
	struct message_draft d;

	(void)state;
	memset(large, 'x', sizeof(large));
	d = good_draft();
	d.body.p = NULL;
	assert_string_equal(
	    refusal_of(&d), "400 /body: member \"body\" is missing");
	d.body = (struct span){"", 0};
	assert_string_equal(refusal_of(&d), "400 /body: the text is empty");
	d.body = (struct span){"x", 1};
	assert_string_equal(refusal_of(&d), "");
	d.body = (struct span){large, sizeof(large)};
	assert_string_equal(refusal_of(&d),
	    "413 /body: the text has 16385 bytes; a text has at most 16384, a "
	    "request with one message at most 131072");
	d.body = (struct span){"a\0b", 3};
	assert_string_equal(refusal_of(&d),
	    "400 /body: the text holds a NUL character, which is not supported");
	d.body = (struct span){"ab\xff", 3};
	assert_string_equal(
	    refusal_of(&d), "400 /body: the text is not valid UTF-8: byte 3");
	d = good_draft();
	d.content_type = (struct span){"text", 4};
	assert_string_equal(refusal_of(&d),
	    "400 /content_type: \"content_type\" is not a media type such as "
	    "text/plain or text/markdown; charset=utf-8 of at most 127 "
	    "characters");
	d = good_draft();
	d.metadata = (struct span){large, LIMIT_METADATA_LEN + 1};
	assert_string_equal(refusal_of(&d),
	    "400 /metadata: \"metadata\" is 4097 bytes of JSON; at most 4096 "
	    "are taken");
	d = good_draft();
	d.correlation_id = (struct span){large, 129};
	assert_string_equal(refusal_of(&d),
	    "400 /correlation_id: \"correlation_id\" has 129 bytes; 1 to 128 "
	    "are taken");
	d.correlation_id.n = 0;
	assert_string_equal(refusal_of(&d),
	    "400 /correlation_id: \"correlation_id\" has 0 bytes; 1 to 128 "
	    "are taken");
	d.correlation_id.n = 1;
	assert_string_equal(refusal_of(&d), "");
	d.correlation_id = (struct span){"a\0b", 3};
	assert_string_equal(refusal_of(&d),
	    "400 /correlation_id: \"correlation_id\" is not valid UTF-8 "
	    "without NUL");
}

static void
test_numbers(void **state)
{
	static const char priority[] =
	    "400 /priority: \"priority\" is low, normal or high";
	static const char at[] = "400 /deliver_at: \"deliver_at\" must lie "
				 "between the years 1970 and 9999";
	static const char in[] = "400 /expires_in: \"expires_in\" must be "
				 "between 1 second and 366 days";
	struct message_draft d;

	(void)state;
	d = good_draft();
	d.has_id = true;
	d.id.b[6] = 0x10;
	d.id.b[8] = 0x80;
	assert_string_equal(refusal_of(&d),
	    "400 /id: \"id\" is a UUID of version 1; a message has one of "
	    "version 4, 7 or 8, best 7");
	d.id.b[6] = 0x70;
	d.id.b[8] = 0x7f;
	assert_string_equal(refusal_of(&d),
	    "400 /id: \"id\" is not a UUID of RFC 9562: its variant is wrong");
	d.id.b[8] = 0xbf;
	assert_string_equal(refusal_of(&d), "");
	/* A member that is not set is not checked. */
	d.has_id = false;
	d.id.b[6] = d.id.b[8] = 0;
	assert_string_equal(refusal_of(&d), "");

	for (d.priority = PRIORITY_LOW - 1; d.priority <= PRIORITY_HIGH + 1;
	     d.priority++)
		assert_string_equal(refusal_of(&d),
		    d.priority < PRIORITY_LOW || d.priority > PRIORITY_HIGH
			? priority
			: "");

	d = good_draft();
	d.deliver_at_ms = -1;
	assert_string_equal(refusal_of(&d), at);
	d.deliver_at_ms = 1;
	assert_string_equal(refusal_of(&d), "");
	d.deliver_at_ms = MESSAGE_TIME_MAX_MS + 1;
	assert_string_equal(refusal_of(&d), at);
	d = good_draft();
	d.expires_in_ms = 1;
	assert_string_equal(refusal_of(&d), in);
	d.expires_in_ms = 999;
	assert_string_equal(refusal_of(&d), in);
	d.expires_in_ms = 1000;
	assert_string_equal(refusal_of(&d), "");
	d.expires_in_ms = MESSAGE_EXPIRES_IN_MAX_MS + 1;
	assert_string_equal(refusal_of(&d), in);
}

/* ---- problems, states ---- */

/* A status that needs a Retry-After gets one second, and no other status
 * does. */
static void
test_retry_after(void **state)
{
	struct refusal r;
	int i, status;

	(void)state;
	for (i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		status = problem_status((enum problem)i);
		r = (struct refusal)REFUSAL_INIT;
		refusal_set(&r, (enum problem)i, "/a", "%d", i);
		assert_int_equal(
		    r.retry_after_s, status == 429 || status == 503);
		assert_int_equal(r.problem, i);
		assert_string_equal(r.pointer, "/a");
		r.retry_after_s = -1;
		refusal_set(&r, (enum problem)i, "", "x");
		assert_int_equal(
		    r.retry_after_s, status == 429 || status == 503 ? 1 : -1);
	}
	refusal_set(&r, PROBLEM_BAD_REQUEST, "", "\x1f \x7e\x7f");
	assert_string_equal(r.detail, "? ~?");
}

static void
test_reasons(void **state)
{
	struct event_view e;
	int i;

	(void)state;
	for (i = 0; i < OUTBOX_REASONS; i++) {
		assert_int_equal(outbox_reason_parse(
				     outbox_reason_word((enum outbox_reason)i)),
		    i);
		outbox_bounce_view(&e, i);
		assert_int_equal(e.state,
		    i == REASON_EXPIRED ? OUTBOX_EXPIRED : OUTBOX_FAILED);
		assert_string_equal(
		    e.reason, outbox_reason_text((enum outbox_reason)i));
	}
	assert_int_equal(outbox_reason_parse("boredom"), -1);
	for (i = -1; i <= OUTBOX_REASONS; i += OUTBOX_REASONS + 1) {
		outbox_bounce_view(&e, i);
		assert_int_equal(e.state, OUTBOX_FAILED);
		assert_string_equal(
		    e.reason, outbox_reason_text(REASON_REJECTED));
	}
}

/* ---- the breaker ---- */

#define NOW INT64_C(1700000000000)

/* ${b} fails ${n} times, at ${now} and in each millisecond after it. */
static void
fail_times(struct breaker *b, int n, int64_t now, uint32_t random)
{
	int i;

	for (i = 0; i < n; i++)
		assert_true(breaker_failure(
		    b, now + i, now + i, 0, random, timing_real()));
}

/* A success cancels one failure; with the last one the outage is over. */
static void
test_breaker_successes(void **state)
{
	static const int windows[] = {2000, 2500, 2900, 3244, 3552, 3833, 4093};
	const int64_t calm = NOW + BREAKER_CALM_MS;
	struct breaker b;
	size_t i;

	(void)state;
	breaker_init(&b);
	assert_true(breaker_success(&b, NOW)); /* the first ever */
	assert_int_equal(b.last_success_at, NOW);
	assert_false(breaker_success(&b, NOW + 1));
	fail_times(&b, 2, NOW + 10, 200);
	assert_int_equal(b.last_failure_at, NOW + 11);
	assert_int_equal(b.failing_since, NOW + 10);
	assert_true(b.next_probe_at > NOW + 11);
	assert_true(breaker_success(&b, NOW + 20));
	assert_int_equal(b.next_probe_at, 0);
	assert_int_equal(b.failures, 1);
	assert_int_equal(b.failing_since, NOW + 10);
	assert_true(breaker_success(&b, NOW + 21));
	assert_int_equal(b.failures, 0);
	assert_int_equal(b.failing_since, 0);
	assert_false(breaker_success(&b, NOW + 22));

	/* A breaker that has never failed. */
	breaker_init(&b);
	for (i = 0; i < 3; i++) {
		(void)breaker_success(&b, NOW);
		assert_int_equal(b.window_milli, 2000 + 1000 * (int)i);
	}
	for (i = 0; i < BREAKER_WINDOW_MAX; i++)
		(void)breaker_success(&b, NOW);
	assert_int_equal(b.window_milli, BREAKER_WINDOW_MAX * 1000);
	fail_times(&b, 1, NOW, 200);
	assert_int_equal(b.window_milli, 1000);
	for (i = 0; i < COUNT(windows); i++) {
		(void)breaker_success(&b, calm - 1);
		assert_int_equal(b.window_milli, windows[i]);
	}
	/* The last failure was long ago. */
	(void)breaker_success(&b, calm);
	assert_int_equal(b.window_milli, 5093);
}

/* A request that left before the breaker opened succeeds: the breaker becomes
 * half-open. */
static void
test_breaker_early_success(void **state)
{
	struct breaker b;

	(void)state;
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES, NOW, 200);
	assert_int_equal(b.state, BREAKER_OPEN);
	assert_int_equal(b.interval_ms, 2000);
	assert_true(breaker_success(&b, NOW + 10));
	assert_int_equal(b.state, BREAKER_HALF_OPEN);
	assert_int_equal(b.successes, 1);
	/* A failure opens the breaker again, for twice as long. */
	assert_true(
	    breaker_failure(&b, NOW + 11, NOW + 11, 0, 200, timing_real()));
	assert_int_equal(b.state, BREAKER_OPEN);
	assert_int_equal(b.successes, 0);
	assert_int_equal(b.interval_ms, 4000);
	assert_true(breaker_leave(&b, NOW + 4011));
	assert_int_equal(b.successes, 0);
	assert_false(breaker_leave(&b, NOW + 4011));
}

/* Intervals times 0.8 to 1.4, and never above the longest interval. */
static void
test_breaker_jitter(void **state)
{
	const struct timing *t = timing_real();
	struct breaker b;

	(void)state;
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES, NOW, 0);
	assert_int_equal(b.next_probe_at, b.last_failure_at + 1600);
	assert_false(breaker_leave(&b, b.next_probe_at - 1));
	assert_true(breaker_leave(&b, b.next_probe_at));
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES, NOW, 600);
	assert_int_equal(b.next_probe_at, b.last_failure_at + 2800);
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES, NOW, 601);
	assert_int_equal(b.next_probe_at, b.last_failure_at + 1600);
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES + 20, NOW, 600);
	assert_int_equal(b.interval_ms, t->breaker_most_ms);
	assert_int_equal(
	    b.next_probe_at, b.last_failure_at + t->breaker_most_ms);
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES + 20, NOW, 0);
	assert_int_equal(
	    b.next_probe_at, b.last_failure_at + t->breaker_most_ms * 4 / 5);
}

/* A clock that was set back: a time that the breaker cannot have set itself is
 * not waited for, and a failure counts although it seems to be older than the
 * last one. */
static void
test_breaker_clock(void **state)
{
	struct breaker b;

	(void)state;
	breaker_init(&b);
	b.next_probe_at = NOW + BREAKER_SANE_MS;
	assert_false(breaker_admits(&b, 0, NOW));
	assert_int_equal(breaker_next(&b, NOW), NOW + BREAKER_SANE_MS);
	assert_true(breaker_admits(&b, 0, NOW - 1));
	assert_int_equal(breaker_next(&b, NOW - 1), 0);
	b.next_probe_at = NOW;
	assert_true(breaker_admits(&b, 0, NOW));
	assert_false(breaker_admits(&b, 0, NOW - 1));
	assert_false(breaker_contact(&b, NOW));
	assert_true(breaker_contact(&b, NOW - 1));
	assert_int_equal(b.next_probe_at, NOW - 1);

	breaker_init(&b);
	fail_times(&b, 1, NOW, 200);
	assert_false(breaker_failure(&b, NOW, NOW, 0, 200, timing_real()));
	assert_true(
	    breaker_failure(&b, NOW - 9, NOW - 1, 0, 200, timing_real()));
	assert_int_equal(b.failures, 2);
	assert_int_equal(b.last_failure_at, NOW - 1);
	assert_int_equal(b.failing_since, NOW);
	/* The same while the breaker is open, but not for a failure of its own
	 * probe. */
	breaker_init(&b);
	fail_times(&b, BREAKER_FAILURES, NOW, 200);
	assert_false(breaker_failure(&b, NOW, NOW + 9, 0, 200, timing_real()));
	assert_true(breaker_leave(&b, NOW + 5000));
	assert_true(
	    breaker_failure(&b, NOW, NOW + 5000, 0, 200, timing_real()));
	assert_int_equal(b.state, BREAKER_OPEN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_characters),
	    cmocka_unit_test(test_media_types),
	    cmocka_unit_test(test_domain_lengths),
	    cmocka_unit_test(test_small_words),
	    cmocka_unit_test(test_recipients),
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_retry_after),
	    cmocka_unit_test(test_reasons),
	    cmocka_unit_test(test_breaker_successes),
	    cmocka_unit_test(test_breaker_early_success),
	    cmocka_unit_test(test_breaker_jitter),
	    cmocka_unit_test(test_breaker_clock),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
