/* SPDX-License-Identifier: MIT */
/*
 * The rules of server/model, by tables: names, addresses, media types,
 * durations, the check of a draft, the lifecycle, the problems.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "model/event.h"
#include "model/message.h"
#include "model/outbox.h"
#include "model/refusal.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define A32 "abcdefghijklmnopqrstuvwxyz012345"
#define L63 A32 "abcdefghijklmnopqrstuvwxyz01234"

static struct span
span(const char *s)
{

	return ((struct span){s, strlen(s)});
}

static void
test_names(void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} rows[] = {
	    {"a", true},
	    {"bob", true},
	    {"0._-", true},
	    {A32, true},
	    {A32 "6", false},
	    {"", false},
	    {"Bob", false},
	    {"b b", false},
	    {"b@b", false},
	    {"b/b", false},
	    {"b\xc3\xa4", false},
	    {"b\n", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_int_equal(rows[i].valid,
		    model_name_valid(rows[i].name, strlen(rows[i].name)));
	assert_false(model_name_valid("a\0b", 3));
}

/* The names that new users may have are a subset of the names that exist. */
static void
test_new_names(void **state)
{
	static const struct {
		const char *name;
		bool fits;
	} rows[] = {
	    {"a", true},
	    {"7", true},
	    {"a.b", true},
	    {"a_-.b", true},
	    {"0.9", true},
	    {A32, true},
	    {A32 "6", false},
	    {"", false},
	    {".", false},
	    {"..", false},
	    {"-", false},
	    {"_", false},
	    {"--help", false},
	    {".a", false},
	    {"a.", false},
	    {"-a", false},
	    {"a-", false},
	    {"_a", false},
	    {"a_", false},
	    {"a..b", false},
	    {"a.-.b", true},
	    {"Ann", false},
	    {"a b", false},
	    {"admin", true},
	};
	static const char *const reserved[] = {"admin", "root", "support",
	    "postmaster", "abuse", "security", "twinbox"};
	static const char *const free_names[] = {
	    "admins", "admi", "roots", "a", "ann", "twinboxd", "abuse.1"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_int_equal(rows[i].fits,
		    model_name_fits(rows[i].name, strlen(rows[i].name)));
	assert_false(model_name_fits("a\0b", 3));
	for (i = 0; i < COUNT(reserved); i++) {
		assert_true(
		    model_name_reserved(reserved[i], strlen(reserved[i])));
		assert_true(model_name_fits(reserved[i], strlen(reserved[i])));
	}
	for (i = 0; i < COUNT(free_names); i++)
		assert_false(
		    model_name_reserved(free_names[i], strlen(free_names[i])));
}

static void
test_addresses(void **state)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: refused */
		const char *domain;
	} rows[] = {
	    {"bob", "bob", ""},
	    {"bob@here.example", "bob", ""},
	    {"bob@other.example", "bob", "other.example"},
	    {"bob@here.example.org", "bob", "here.example.org"},
	    {"bob@x", "bob", "x"},
	    {"bob@a-b.c", "bob", "a-b.c"},
	    {"b@" L63, "b", L63},
	    {"b@" L63 "0", NULL, NULL},
	    {"bob@", NULL, NULL},
	    {"@x", NULL, NULL},
	    {"", NULL, NULL},
	    {"bob@a..b", NULL, NULL},
	    {"bob@.a", NULL, NULL},
	    {"bob@a.", NULL, NULL},
	    {"bob@-a", NULL, NULL},
	    {"bob@a-", NULL, NULL},
	    {"bob@a-.b", NULL, NULL},
	    {"bob@a@b", NULL, NULL},
	    {"bob@A.b", NULL, NULL},
	    {"bob@a/b", NULL, NULL},
	    {"Bob", NULL, NULL},
	};
	char domain[LIMIT_DOMAIN_LEN + 1], name[LIMIT_NAME_LEN + 1];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (!model_address_parse(rows[i].text, strlen(rows[i].text),
			"here.example", name, domain)) {
			assert_null(rows[i].name);
			continue;
		}
		assert_non_null(rows[i].name);
		assert_string_equal(rows[i].name, name);
		assert_string_equal(rows[i].domain, domain);
	}
}

static void
test_content_types(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
	    {"text/plain", true},
	    {"text/plain;charset=utf-8", true},
	    {"text/plain ; charset=\"utf-8\"; x=y", true},
	    {"application/vnd.a+json", true},
	    {"text/", false},
	    {"/plain", false},
	    {"text", false},
	    {"", false},
	    {"text/plain;", false},
	    {"text/plain; charset", false},
	    {"text/plain; charset=", false},
	    {"text/plain; charset=\"a", false},
	    {"text/plain; charset=\"a\n\"", false},
	    {"text/pl ain", false},
	    {"text/plain\r\nx: y", false},
	    {"t\xc3\xa4xt/plain", false},
	};
	char longest[LIMIT_CONTENT_TYPE_LEN + 1];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_int_equal(
		    rows[i].valid, model_content_type_valid(
				       rows[i].text, strlen(rows[i].text)));
	memset(longest, 'a', sizeof(longest));
	longest[4] = '/';
	assert_true(model_content_type_valid(longest, sizeof(longest) - 1));
	assert_false(model_content_type_valid(longest, sizeof(longest)));
}

static void
test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms; /* -1: refused */
	} rows[] = {
	    {"90", 90000},
	    {"90s", 90000},
	    {"30m", 1800000},
	    {"2h", 7200000},
	    {"5d", 432000000},
	    {"0", 0},
	    {"9223372036854775", INT64_C(9223372036854775000)},
	    {"9223372036854776", -1},
	    {"99999999999999999999", -1},
	    {"106751991168d", -1},
	    {"", -1},
	    {"d", -1},
	    {"-1", -1},
	    {"+1", -1},
	    {" 1", -1},
	    {"1 ", -1},
	    {"1.5h", -1},
	    {"1ms", -1},
	    {"1w", -1},
	    {"1D", -1},
	};
	int64_t ms;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		ms = -1;
		(void)model_duration_parse(rows[i].text, &ms);
		assert_int_equal(rows[i].ms, ms);
	}
}

static void
test_priorities(void **state)
{
	int p, seen;

	(void)state;
	for (p = PRIORITY_LOW; p <= PRIORITY_HIGH; p++) {
		seen = 99;
		assert_true(priority_parse(
		    priority_name(p), strlen(priority_name(p)), &seen));
		assert_int_equal(p, seen);
	}
	assert_false(priority_parse("urgent", 6, &seen));
	assert_false(priority_parse("lo", 2, &seen));
	assert_false(priority_parse("", 0, &seen));
}

static struct message_draft
good_draft(void)
{
	struct message_draft d;

	memset(&d, 0, sizeof(d));
	d.to = span("bob");
	d.body = span("hello");
	return (d);
}

/* The draft must be refused as ${problem} at ${pointer}. */
static void
refused(
    const struct message_draft *d, enum problem problem, const char *pointer)
{
	struct refusal r = REFUSAL_INIT;

	assert_int_equal(RC_INVALID, model_draft_check(d, "/3", &r));
	assert_int_equal(problem, r.problem);
	assert_string_equal(pointer, r.pointer);
	assert_true(r.detail[0] != '\0');
}

static void
accepted(const struct message_draft *d)
{
	struct refusal r = REFUSAL_INIT;

	assert_int_equal(RC_OK, model_draft_check(d, "", &r));
	assert_int_equal(PROBLEM_NONE, r.problem);
}

static void
test_draft_recipient(void **state)
{
	struct message_draft d;

	(void)state;
	d = good_draft();
	accepted(&d);
	d.to = span("bob@other.example");
	accepted(&d);
	d.to = span("not an address");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/to");
	d.to = span("");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/to");
	d.to.p = NULL;
	refused(&d, PROBLEM_BAD_REQUEST, "/3");
	d.has_conversation = true;
	accepted(&d);
	d.to = span("bob");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/conversation");
}

static void
test_draft_body(void **state)
{
	static char longest[LIMIT_BODY_LEN + 1];
	struct message_draft d;

	(void)state;
	d = good_draft();
	memset(longest, 'x', sizeof(longest));
	d.body = (struct span){longest, LIMIT_BODY_LEN};
	accepted(&d);
	d.body.n++;
	refused(&d, PROBLEM_BODY_TOO_LARGE, "/3/body");
	d.body = span("");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/body");
	d.body = (struct span){"a\0b", 3};
	refused(&d, PROBLEM_BAD_REQUEST, "/3/body");
	d.body = span("a\xff");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/body");
	d.body = span("\xed\xa0\x80");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/body");
	d.body.p = NULL;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/body");
}

static void
test_draft_rest(void **state)
{
	static char text[LIMIT_METADATA_LEN + 1];
	struct message_draft d;

	(void)state;
	memset(text, 'x', sizeof(text));
	d = good_draft();
	d.content_type = span("markdown");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/content_type");

	d = good_draft();
	d.correlation_id = (struct span){text, LIMIT_CORRELATION_ID_LEN};
	accepted(&d);
	d.correlation_id.n++;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/correlation_id");
	d.correlation_id = span("");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/correlation_id");
	d.correlation_id = span("\xc3");
	refused(&d, PROBLEM_BAD_REQUEST, "/3/correlation_id");

	d = good_draft();
	d.metadata = (struct span){text, LIMIT_METADATA_LEN};
	accepted(&d);
	d.metadata.n++;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/metadata");

	d = good_draft();
	d.priority = 2;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/priority");
}

static void
test_draft_numbers(void **state)
{
	struct message_draft d;
	int version;

	(void)state;
	d = good_draft();
	d.has_id = true;
	for (version = 0; version < 16; version++) {
		d.id.b[6] = (uint8_t)(version << 4);
		d.id.b[8] = 0x80;
		if (version == 4 || version == 7 || version == 8)
			accepted(&d);
		else
			refused(&d, PROBLEM_BAD_REQUEST, "/3/id");
	}
	d.id.b[6] = 0x70;
	d.id.b[8] = 0xc0;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/id");

	d = good_draft();
	d.deliver_at_ms = MESSAGE_TIME_MAX_MS;
	accepted(&d);
	d.deliver_at_ms++;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/deliver_at");
	d.deliver_at_ms = -1;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/deliver_at");

	d = good_draft();
	d.expires_in_ms = MESSAGE_EXPIRES_IN_MAX_MS;
	accepted(&d);
	d.expires_in_ms++;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/expires_in");
	d.expires_in_ms = 999;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/expires_in");
	d.expires_in_ms = -1;
	refused(&d, PROBLEM_BAD_REQUEST, "/3/expires_in");
}

static void
test_draft_view(void **state)
{
	struct message_draft d;
	struct message_view v;

	(void)state;
	d = good_draft();
	message_draft_view(&d, &v);
	assert_string_equal("hello", v.body);
	assert_int_equal(5, v.body_len);
	assert_string_equal("text/plain", v.content_type);
	assert_null(v.metadata);
	assert_null(v.correlation_id);
	assert_false(v.has_reply_to);
	d.id.b[0] = 7;
	d.content_type = span("text/markdown");
	d.metadata = span("{\"a\":\"b\"}");
	d.correlation_id = span("c");
	d.has_reply_to = true;
	d.reply_to.b[0] = 8;
	message_draft_view(&d, &v);
	assert_int_equal(7, v.id.b[0]);
	assert_string_equal("text/markdown", v.content_type);
	assert_int_equal(9, v.metadata_len);
	assert_string_equal("{\"a\":\"b\"}", v.metadata);
	assert_string_equal("c", v.correlation_id);
	assert_true(v.has_reply_to);
	assert_int_equal(8, v.reply_to.b[0]);
}

/* Every pair of states, compared with a drawing of the allowed moves. */
static void
test_moves(void **state)
{
	static const char *const rows[OUTBOX_STATE_COUNT] = {
	    /* to: pending sending sent acked failed expired canceled */
	    [OUTBOX_PENDING] = ".xx.xxx",
	    [OUTBOX_SENDING] = "x.x.x..",
	    [OUTBOX_SENT] = "x..x...",
	    [OUTBOX_ACKED] = ".......",
	    [OUTBOX_FAILED] = "x......",
	    [OUTBOX_EXPIRED] = "x......",
	    [OUTBOX_CANCELED] = ".......",
	};
	int from, to;

	(void)state;
	for (from = 0; from < OUTBOX_STATE_COUNT; from++) {
		for (to = 0; to < OUTBOX_STATE_COUNT; to++)
			assert_int_equal(rows[from][to] == 'x',
			    outbox_move_allowed(from, to));
	}
	assert_false(outbox_move_allowed(-1, OUTBOX_SENT));
	assert_false(outbox_move_allowed(OUTBOX_STATE_COUNT, OUTBOX_SENT));
}

static void
test_states(void **state)
{
	static const struct {
		int n;
		int states[4];
		int shown;
	} rows[] = {
	    {1, {OUTBOX_SENT}, OUTBOX_SENT},
	    {2, {OUTBOX_ACKED, OUTBOX_PENDING}, OUTBOX_PENDING},
	    {3, {OUTBOX_FAILED, OUTBOX_ACKED, OUTBOX_SENT}, OUTBOX_SENT},
	    {2, {OUTBOX_FAILED, OUTBOX_ACKED}, OUTBOX_ACKED},
	    {2, {OUTBOX_CANCELED, OUTBOX_EXPIRED}, OUTBOX_EXPIRED},
	    {3, {OUTBOX_CANCELED, OUTBOX_EXPIRED, OUTBOX_FAILED},
		OUTBOX_FAILED},
	};
	size_t r;
	int i;

	(void)state;
	for (i = 0; i < OUTBOX_STATE_COUNT; i++) {
		assert_int_equal(i, outbox_state_parse(outbox_state_name(i)));
		assert_int_equal(i >= OUTBOX_ACKED, outbox_state_terminal(i));
	}
	assert_int_equal(-1, outbox_state_parse("gone"));
	assert_null(outbox_state_name(-1));
	assert_null(outbox_state_name(OUTBOX_STATE_COUNT));
	for (r = 0; r < COUNT(rows); r++)
		assert_int_equal(rows[r].shown,
		    outbox_entry_state(rows[r].states, rows[r].n));
}

static void
test_kinds(void **state)
{
	int kind;

	(void)state;
	for (kind = EVENT_MESSAGE; kind < EVENT_KIND_MAX; kind++) {
		assert_non_null(event_kind_name(kind));
		assert_non_null(event_kind_type(kind));
	}
	assert_string_equal("receipt", event_kind_name(EVENT_DELIVERED));
	assert_string_equal("receipt.read", event_kind_type(EVENT_READ));
	assert_null(event_kind_name(0));
	assert_null(event_kind_type(EVENT_KIND_MAX));
}

static void
test_problems(void **state)
{
	enum problem p;
	int i;

	(void)state;
	for (i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
		p = (enum problem)i;
		assert_int_equal(p, problem_find(problem_slug(p)));
		assert_in_range(problem_status(p), 400, 599);
		assert_true(problem_title(p)[0] != '\0');
		assert_true(problem_cause(p)[0] != '\0');
		assert_true(problem_cure(p)[0] != '\0');
	}
	assert_int_equal(PROBLEM_NONE, problem_find(""));
	assert_int_equal(PROBLEM_NONE, problem_find("nonsense"));
	/* A result code and its problem have the same HTTP status. */
	for (i = RC_OK + 1; i < RC_COUNT; i++)
		assert_int_equal(rc_http_status((enum rc)i),
		    problem_status(problem_of_rc((enum rc)i)));
	assert_int_equal(PROBLEM_NONE, problem_of_rc(RC_OK));
}

static void
test_refusal(void **state)
{
	struct refusal r = REFUSAL_INIT;
	char longest[REFUSAL_POINTER_SIZE + 1];
	char text[3 * REFUSAL_DETAIL_SIZE];
	size_t at, i;

	(void)state;
	refusal_set(&r, PROBLEM_BUSY, "", "full");
	assert_int_equal(1, r.retry_after_s);
	r.retry_after_s = 7;
	refusal_set(&r, PROBLEM_QUEUE_FULL, "", "full");
	assert_int_equal(7, r.retry_after_s);

	/* A pointer that does not fit is left out, not cut. */
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	refusal_set(&r, PROBLEM_BAD_REQUEST, longest, "x");
	assert_string_equal("", r.pointer);
	longest[sizeof(longest) - 2] = '\0';
	refusal_set(&r, PROBLEM_BAD_REQUEST, longest, "x");
	assert_string_equal(longest, r.pointer);

	/* A detail stays valid UTF-8, wherever it is cut. */
	for (i = 0; i < 3; i++) {
		memset(text, 'x', i);
		for (at = i; at + 3 < sizeof(text); at += 3)
			memcpy(text + at, "\xe2\x82\xac", 3);
		text[at] = '\0';
		refusal_set(&r, PROBLEM_BAD_REQUEST, "", "%s", text);
		assert_true(utf8_valid(r.detail, strlen(r.detail), NULL));
		assert_true(strlen(r.detail) > 190);
	}
	refusal_set(&r, PROBLEM_BAD_REQUEST, "", "a\nb\xff\xfe\x01z");
	assert_string_equal("a?b???z", r.detail);
	/* C1 controls, the override of the direction, a soft hyphen; an umlaut
	 * stays. */
	refusal_set(&r, PROBLEM_BAD_REQUEST, "",
	    "a\xc2\x9b"
	    "31m\xe2\x80\xaetxt\xc2\xad.\xc3\xa4");
	assert_string_equal("a??31m???txt??.\xc3\xa4", r.detail);
}

/* A pointer that becomes too long names the larger value. */
static void
test_prefix(void **state)
{
	struct refusal r = REFUSAL_INIT;
	char rest[REFUSAL_POINTER_SIZE], want[REFUSAL_POINTER_SIZE];

	(void)state;
	refusal_set(&r, PROBLEM_BAD_REQUEST, "/to", "x");
	refusal_prefix(&r, "/message");
	assert_string_equal("/message/to", r.pointer);
	memset(rest, 'x', sizeof(rest));
	rest[0] = '/';
	rest[sizeof(rest) - 1 - strlen("/message")] = '\0';
	refusal_set(&r, PROBLEM_BAD_REQUEST, rest, "x");
	refusal_prefix(&r, "/message");
	(void)snprintf(want, sizeof(want), "/message%.*s",
	    (int)(sizeof(want) - 1 - strlen("/message")), rest);
	assert_string_equal(want, r.pointer);
	rest[sizeof(rest) - 1 - strlen("/message")] = 'x';
	rest[sizeof(rest) - strlen("/message")] = '\0';
	refusal_set(&r, PROBLEM_BAD_REQUEST, rest, "x");
	refusal_prefix(&r, "/message");
	assert_string_equal("/message", r.pointer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_new_names),
	    cmocka_unit_test(test_addresses),
	    cmocka_unit_test(test_content_types),
	    cmocka_unit_test(test_durations),
	    cmocka_unit_test(test_priorities),
	    cmocka_unit_test(test_draft_recipient),
	    cmocka_unit_test(test_draft_body),
	    cmocka_unit_test(test_draft_rest),
	    cmocka_unit_test(test_draft_numbers),
	    cmocka_unit_test(test_draft_view),
	    cmocka_unit_test(test_moves),
	    cmocka_unit_test(test_states),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_problems),
	    cmocka_unit_test(test_refusal),
	    cmocka_unit_test(test_prefix),
	};

	return (cmocka_run_group_tests_name("model", tests, NULL, NULL));
}
