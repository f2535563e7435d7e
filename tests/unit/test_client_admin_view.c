/* SPDX-License-Identifier: MIT */
/*
 * The tables and facts of the admin commands as whole texts, with their
 * colours.  Each is made from a sample of the server's JSON.  Figures stand at
 * and next to the limits from which on their colour differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <time.h>

#include "term/admin_view.h"

/* 21 Nov 2026 12:00 UTC */
#define NOW_MS INT64_C(1795262400000)

static const struct look look = {
    .colour = true, .now_ms = NOW_MS, .me = "", .columns = 110};

static int
setup(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

/* The JSON of ${text}, in which ' stands for ". */
static json_t *
sample(const char *text)
{
	char *copy = strdup(text), *p;
	json_error_t error;
	json_t *json;

	assert_non_null(copy);
	for (p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	json = json_loads(copy, 0, &error);
	if (json == NULL)
		fail_msg("%s at %d", error.text, error.position);
	free(copy);
	return (json);
}

/* Replaces the colours in ${b} by words: <dim>, <red> ... and </>. */
static void
name_colours(struct buf *b, struct buf *ret)
{
	static const char *const names[][2] = {{"\033[0m", "</>"},
	    {"\033[1m", "<bold>"}, {"\033[2m", "<dim>"}, {"\033[31m", "<red>"},
	    {"\033[32m", "<green>"}, {"\033[33m", "<yellow>"},
	    {"\033[36m", "<cyan>"}};
	const char *p;
	size_t i, n;

	buf_addc(b, '\0');
	assert_true(buf_ok(b));
	for (p = b->data; *p != '\0'; p += n) {
		n = 1;
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strncmp(p, names[i][0], strlen(names[i][0])) == 0) {
				n = strlen(names[i][0]);
				buf_adds(ret, names[i][1]);
				break;
			}
		if (n == 1)
			buf_addc(ret, *p);
	}
	buf_addc(ret, '\0');
	assert_true(buf_ok(ret));
}

/* ${view} prints the JSON ${text} as ${lines}. */
static void
assert_view(
    void (*view)(struct buf *b, const struct look *look, const json_t *json),
    const char *text, const char *lines)
{
	struct buf b = BUF_INIT, named = BUF_INIT;
	json_t *json = sample(text);

	view(&b, &look, json);
	name_colours(&b, &named);
	assert_string_equal(named.data, lines);
	buf_fini(&named);
	buf_fini(&b);
	json_decref(json);
}

/* ---- members ---- */

static void
test_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t n;
	} table[] = {
	    {"{'n': 7}", 7},
	    {"{'n': -7}", -7},
	    {"{'n': 2.9}", 2},
	    {"{'n': -2.9}", -2},
	    {"{'n': 8.9e18}", INT64_C(8900000000000000000)},
	    {"{'n': 9e18}", INT64_MAX},
	    {"{'n': 1e300}", INT64_MAX},
	    {"{'n': -8.9e18}", INT64_C(-8900000000000000000)},
	    {"{'n': -9e18}", INT64_MIN},
	    {"{'n': -1e300}", INT64_MIN},
	    {"{'n': '7'}", 5},
	    {"{}", 5},
	};
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		json = sample(table[i].text);
		assert_int_equal(admin_view_integer(json, "n", 5), table[i].n);
		json_decref(json);
	}
	json = sample("{'n': 0.25, 's': 'x'}");
	assert_true(admin_view_number(json, "n", -1) == 0.25);
	assert_true(admin_view_number(json, "s", -1) == -1);
	json_decref(json);
}

/* ${b} contains ${text}; empties it. */
static void
assert_text(struct buf *b, const char *text)
{

	buf_addc(b, '\0');
	assert_true(buf_ok(b));
	assert_string_equal(b->data, text);
	buf_reset(b);
}

static void
test_times(void **state)
{
	static const struct {
		const char *at; /* 21 Nov 2026 */
		const char *age;
		const char *due;
	} table[] = {
	    {"11:58:59.000", "1m 1s", "now"},
	    {"11:59:59.001", "0s", "now"},
	    {"12:00:00.000", "0s", "now"},
	    {"12:00:00.001", "0s", "in 1s"},
	    {"12:00:01.000", "0s", "in 1s"},
	    {"12:00:01.001", "0s", "in 2s"},
	};
	struct buf b = BUF_INIT;
	char text[40];
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		(void)snprintf(
		    text, sizeof(text), "2026-11-21T%sZ", table[i].at);
		json = json_pack("{ss}", "at", text);
		admin_view_age(&b, &look, json, "at");
		assert_text(&b, table[i].age);
		admin_view_due(&b, &look, json, "at");
		assert_text(&b, table[i].due);
		json_decref(json);
	}
	json = sample("{'at': null, 'n': 1500, 's': 'x'}");
	admin_view_age(&b, &look, json, "at");
	assert_text(&b, "-");
	admin_view_due(&b, &look, json, "at");
	assert_text(&b, "");
	admin_view_span(&b, json, "n");
	assert_text(&b, "1.5s");
	admin_view_span(&b, json, "s");
	assert_text(&b, "-");
	admin_view_count(&b, json, "n");
	assert_text(&b, "1,500");
	admin_view_count(&b, json, "s");
	assert_text(&b, "-");
	json_decref(json);
	buf_adds(&b, "x");
	admin_view_sep(&b, 1);
	admin_view_sep(&b, 0);
	assert_text(&b, "x; ");
	buf_fini(&b);
}

/* ---- statistics ---- */

static void
test_stats_of_nothing(void **state)
{

	(void)state;
	assert_view(admin_view_stats, "{}",
	    "<dim>pending</>       <bold>-</>\n"
	    "<dim>scheduled</>     -\n"
	    "<dim>sending</>       -\n"
	    "<dim>near failure</>  -\n"
	    "<dim>dead letters</>  -\n"
	    "\n"
	    "<dim>accepted</>      -\n"
	    "<dim>sent</>          -\n"
	    "<dim>acked</>         -\n"
	    "<dim>retries</>       -\n"
	    "<dim>failed</>        -\n"
	    "<dim>expired</>       -\n"
	    "<dim>canceled</>      -\n"
	    "<dim>requeued</>      -\n"
	    "<dim>rescues</>       -\n"
	    "<dim>fenced</>        -\n"
	    "\n"
	    "<dim>latency</>       -  <dim>to the inbox, average of an hour</>\n"
	    "<dim>retry rate</>    -\n"
	    "<dim>relay</>         -  <dim>since its last turn, - in flight</>\n"
	    "<dim>log</>           -\n"
	    "<dim>writer</>        -  <dim>units wait</>\n");
}

/* Nothing is wrong: each figure is just below its limit. */
static void
test_stats_calm(void **state)
{

	(void)state;
	assert_view(admin_view_stats,
	    "{'states': {'pending': 0, 'scheduled': 0, 'sending': 0,"
	    "  'sent': 0, 'acked': 0, 'failed': 0, 'expired': 0,"
	    "  'canceled': 0},"
	    " 'totals': {'accepted': 0, 'sent': 0, 'acked': 0, 'retries': 0,"
	    "  'failed': 0, 'expired': 0, 'canceled': 0, 'requeued': 0,"
	    "  'rescues': 0, 'fenced': 0},"
	    " 'limits': {'max_pending_total': 0}, 'stuck_sending': 0,"
	    " 'near_failure': 0, 'dead_letters_open': 0,"
	    " 'oldest_pending_age_ms': 0, 'average_latency_ms': 0,"
	    " 'retry_rate': 0, 'relay': {'last_turn_age_ms': 9999,"
	    "  'in_flight': 0}, 'wal_bytes': 0,"
	    " 'queues': {'writer_waiting': 0}, 'alerts': []}",
	    "<dim>pending</>          <bold>0</>\n"
	    "<dim>scheduled</>        0\n"
	    "<dim>sending</>          0\n"
	    "<dim>near failure</>     0\n"
	    "<dim>dead letters</>     0\n"
	    "\n"
	    "<dim>accepted</>         0\n"
	    "<dim>sent</>             0  <dim>in all, 0 now</>\n"
	    "<dim>acked</>            0  <dim>in all, 0 now</>\n"
	    "<dim>retries</>          0\n"
	    "<dim>failed</>           0  <dim>in all, 0 now</>\n"
	    "<dim>expired</>          0  <dim>in all, 0 now</>\n"
	    "<dim>canceled</>         0  <dim>in all, 0 now</>\n"
	    "<dim>requeued</>         0\n"
	    "<dim>rescues</>          0\n"
	    "<dim>fenced</>           0\n"
	    "\n"
	    "<dim>latency</>         0s  <dim>to the inbox, average of an hour</>\n"
	    "<dim>retry rate</>    0.0%\n"
	    "<dim>relay</>         9.9s  <dim>since its last turn, 0 in flight</>\n"
	    "<dim>log</>            0 B\n"
	    "<dim>writer</>           0  <dim>units wait</>\n");
}

/* Each figure has just reached its limit. */
static void
test_stats_trouble(void **state)
{

	(void)state;
	assert_view(admin_view_stats,
	    "{'states': {'pending': 1, 'scheduled': 2, 'sending': 3,"
	    "  'sent': 4000, 'failed': 5, 'canceled': 6},"
	    " 'totals': {'accepted': 7000000, 'sent': 8, 'acked': 9,"
	    "  'retries': 10, 'failed': 11, 'expired': 12, 'canceled': 13,"
	    "  'requeued': 14, 'rescues': 15, 'fenced': 16},"
	    " 'limits': {'max_pending_total': 1}, 'stuck_sending': 1,"
	    " 'near_failure': 1, 'dead_letters_open': 1,"
	    " 'oldest_pending_age_ms': 300000, 'average_latency_ms': 17,"
	    " 'retry_rate': 0.018, 'relay': {'last_turn_age_ms': 10000,"
	    "  'in_flight': 19}, 'wal_bytes': 2048,"
	    " 'queues': {'writer_waiting': 21}, 'alerts': ["
	    "  {'name': 'near', 'severity': 'warning', 'text': 'it is near',"
	    "   'since': '2026-11-21T11:59:00Z'},"
	    "  {'name': 'here', 'severity': 'error', 'text': 'it\\n is here',"
	    "   'since': '2026-11-21T11:00:00Z'},"
	    "  {}]}",
	    "<dim>pending</>               <bold>1</>  <yellow>oldest 5m, 100% of 1</>\n"
	    "<dim>scheduled</>             2\n"
	    "<dim>sending</>               3  <yellow>1 stuck: twinbox admin outbox --stuck 30m</>\n"
	    "<dim>near failure</>          <yellow>1</>\n"
	    "<dim>dead letters</>          <red>1</>\n"
	    "\n"
	    "<dim>accepted</>      7,000,000\n"
	    "<dim>sent</>                  8  <dim>in all, 4,000 now</>\n"
	    "<dim>acked</>                 9\n"
	    "<dim>retries</>              10\n"
	    "<dim>failed</>               11  <dim>in all, 5 now</>\n"
	    "<dim>expired</>              12\n"
	    "<dim>canceled</>             13  <dim>in all, 6 now</>\n"
	    "<dim>requeued</>             14\n"
	    "<dim>rescues</>              15\n"
	    "<dim>fenced</>               16\n"
	    "\n"
	    "<dim>latency</>            17ms  <dim>to the inbox, average of an hour</>\n"
	    "<dim>retry rate</>         1.8%\n"
	    "<dim>relay</>               <red>10s</>  <dim>since its last turn, 19 in flight</>\n"
	    "<dim>log</>             2.0 KiB\n"
	    "<dim>writer</>               21  <dim>units wait</>\n"
	    "\n"
	    "<yellow>near</>  <dim>1m</>  <yellow>it is near</>\n"
	    "<red>here</>  <dim>1h</>  <red>it\\n is here</>\n"
	    "<red>?</>      <dim>-</>\n");
}

/* The statistics ${text} begin with the line ${line}. */
static void
assert_pending(const char *text, const char *line)
{
	struct buf b = BUF_INIT, named = BUF_INIT;
	json_t *json = sample(text);

	admin_view_stats(&b, &look, json);
	name_colours(&b, &named);
	named.data[strcspn(named.data, "\n")] = '\0';
	assert_string_equal(named.data, line);
	buf_fini(&named);
	buf_fini(&b);
	json_decref(json);
}

/* Each of the two notes behind "pending" also appears without the other. */
static void
test_stats_pending(void **state)
{

	(void)state;
	assert_pending(
	    "{'states': {'pending': 12}, 'oldest_pending_age_ms': 1999}",
	    "<dim>pending</>       <bold>12</>  oldest 1s");
	assert_pending(
	    "{'states': {'pending': 12}, 'limits': {'max_pending_total': 48}}",
	    "<dim>pending</>       <bold>12</>  25% of 48");
}

/* ---- destinations ---- */

static void
test_destinations(void **state)
{

	(void)state;
	assert_view(admin_view_destinations, "[]",
	    "<dim>DESTINATION</>  <dim>BREAKER</>  <dim>SENDING</>  <dim>PENDING</>  <dim>OLDEST</>  <dim>LIMIT</>  <dim>READY</>\n");
	assert_view(admin_view_destinations,
	    "[{'name': '*', 'breaker': 'closed', 'window': 0, 'in_flight': 0,"
	    "  'pending': 3, 'per_second': 1, 'lanes_ready': 0,"
	    "  'oldest_pending_age_ms': 299999},"
	    " {'name': '*', 'paused_at': '2026-11-21T11:00:00Z',"
	    "  'paused_by': 'ann', 'oldest_pending_age_ms': 300000},"
	    " {'name': 'local', 'window': 1, 'in_flight': 1, 'per_second': 0,"
	    "  'pending': 1234, 'truncated': true, 'lanes_ready': 1234,"
	    "  'oldest_pending_age_ms': 3599999},"
	    " {'name': 'open.test', 'breaker': 'open', 'truncated': false,"
	    "  'failing_since': '2026-11-21T11:58:00Z',"
	    "  'oldest_pending_age_ms': 3600000},"
	    " {'name': 'half.test', 'breaker': 'half_open',"
	    "  'failing_since': '2026-11-21T11:58:00Z',"
	    "  'next_probe_at': '2026-11-21T12:00:05Z',"
	    "  'last_error': 'refused'},"
	    " {'name': 'both.test', 'breaker': 'open',"
	    "  'paused_at': '2026-11-21T11:59:30Z', 'pause_reason': 'disk',"
	    "  'failing_since': '2026-11-21T11:59:00Z',"
	    "  'last_error': 'gone', 'last_success_at': null},"
	    " {}]",
	    "<dim>DESTINATION</>  <dim>BREAKER</>    <dim>SENDING</>  <dim>PENDING</>   <dim>OLDEST</>  <dim>LIMIT</>  <dim>READY</>\n"
	    "*            <dim>-</>                0        3   4m 59s    1/s      0\n"
	    "*            <yellow>paused</>           -        -       <yellow>5m</>      -      -\n"
	    "    <dim>paused 1h ago by ann</>\n"
	    "local        <green>-</>              1/1   >1,234  <yellow>59m 59s</>      -  1,234\n"
	    "open.test    <red>open</>             -        -       <red>1h</>      -      -\n"
	    "    <dim>failing for 2m</>\n"
	    "half.test    <yellow>half_open</>        -        -        -      -      -\n"
	    "    <dim>failing for 2m, next probe in 5s: refused</>\n"
	    "both.test    <yellow>paused</>           -        -        -      -      -\n"
	    "    <dim>paused 30s ago by ?: disk; failing for 1m: gone</>\n"
	    "?            <green>-</>                -        -        -      -      -\n");
}

static void
test_ages(void **state)
{

	(void)state;
	assert_view(
	    admin_view_ages, "{}", "<dim>PENDING BY AGE</>  <dim>ALL</>\n");
	assert_view(admin_view_ages,
	    "{'age_limits_ms': [], 'destinations': [{'name': 'a',"
	    " 'pending': 7, 'ages': [1, 2]}]}",
	    "<dim>PENDING BY AGE</>  <dim>ALL</>\n"
	    "a                 <bold>7</>\n");
	assert_view(admin_view_ages,
	    "{'age_limits_ms': [1000, 60000, 90000, 3600000, 86400000, 1, 1],"
	    " 'destinations': ["
	    " {'name': '*', 'pending': 1, 'ages': [1, 1, 1, 1, 1, 1, 1, 1]},"
	    " {'name': 'a', 'pending': 123456, 'truncated': true,"
	    "  'ages': [1, 2, 3, 4, 5, 6, 7, 8]},"
	    " {'name': 'b', 'ages': [0, 0, 0, 0, 0, 0, 0, 0]},"
	    " {'ages': [null, 'x', 1]}]}",
	    "<dim>PENDING BY AGE</>    <dim>ALL</>  <dim><1s</>  <dim><1m</>  <dim><90s</>  <dim><60m</>  <dim><1d</>  <dim><1ms</>  <dim><1ms</>  <dim>>1ms</>\n"
	    "a               <bold>>123k</>    1    2     <yellow>3</>     <yellow>4</>    <red>5</>     <red>6</>     <red>7</>     <red>8</>\n"
	    "b                   <bold>0</>    <dim>0</>    <dim>0</>     <dim>0</>     <dim>0</>    <dim>0</>     <dim>0</>     <dim>0</>     <dim>0</>\n"
	    "?                   <bold>0</>    <dim>-</>    <dim>-</>     <yellow>1</>     <dim>-</>    <dim>-</>     <dim>-</>     <dim>-</>     <dim>-</>\n");
}

/* If there are more age limits than columns, the first ones are shown. */
static void
test_ages_of_many_limits(void **state)
{

	(void)state;
	assert_view(admin_view_ages,
	    "{'age_limits_ms': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],"
	    " 'destinations': [{'name': 'a', 'pending': 1,"
	    "  'ages': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}]}",
	    "<dim>PENDING BY AGE</>  <dim>ALL</>  <dim><1ms</>  <dim><2ms</>  <dim><3ms</>  <dim><4ms</>  <dim><5ms</>  <dim><6ms</>  <dim><7ms</>  <dim><8ms</>  <dim><9ms</>  <dim><10ms</>\n"
	    "a                 <bold>1</>     1     2     <yellow>3</>     <yellow>4</>     <yellow>5</>     <red>6</>     <red>7</>     <red>8</>     <red>9</>     <red>10</>\n");
}

/* ---- lanes, users, the audit log ---- */

static void
test_lanes(void **state)
{

	(void)state;
	assert_view(admin_view_lanes,
	    "[{'lane_id': 1234, 'to': 'bob', 'class': 'messages',"
	    "  'state': 'ready', 'pending': 5, 'next_seq': 6,"
	    "  'last_published_seq': 1007, 'tail_seq': 8,"
	    "  'due_at': '2026-11-21T12:00:09Z', 'replay_seq': null},"
	    " {'lane_id': 2, 'class': 'receipts', 'state': 'leased',"
	    "  'lease_owner': 'relay-1', 'lease_token': 1000,"
	    "  'lease_until': '2026-11-21T12:00:30Z',"
	    "  'due_at': '2026-11-21T11:00:00Z'},"
	    " {'lane_id': 3, 'lease_owner': 'relay-2',"
	    "  'lease_until': '2026-11-21T11:00:00Z', 'replay_seq': 1003},"
	    " {'replay_seq': 4}]",
	    "<dim>LANE</>  <dim>TO</>   <dim>CLASS</>     <dim>STATE</>   <dim>PENDING</>  <dim>NEXT</>   <dim>SENT</>  <dim>TAIL</>  <dim>DUE</>\n"
	    "1234  bob  messages  ready         5     6  1,007     8  in 9s\n"
	    "   2  -    receipts  <cyan>leased</>        -     -      -     -  now\n"
	    "    <dim>leased by relay-1, ends in 30s, token 1000</>\n"
	    "   3  -    -         -             -     -      -     -  -\n"
	    "    <dim>leased by relay-2, ends now, token 0; offers again from 1,003</>\n"
	    "   0  -    -         -             -     -      -     -  -\n"
	    "    <dim>offers again from 4</>\n");
}

static void
test_users(void **state)
{

	(void)state;
	assert_view(admin_view_users,
	    "[{'name': 'ann', 'display_name': 'Ann', 'admin': true,"
	    "  'disabled_at': null, 'devices': 2, 'pending': 1000,"
	    "  'created_at': '2026-01-02T03:04:05Z'},"
	    " {'name': 'bob', 'display_name': null, 'admin': false,"
	    "  'devices': 0, 'pending': 0,"
	    "  'created_at': '2025-01-02T03:04:05Z'},"
	    " {'name': 'cid', 'admin': true,"
	    "  'disabled_at': '2026-11-01T00:00:00Z',"
	    "  'created_at': '2026-11-21T03:04:05Z'}, {}]",
	    "<dim>NAME</>  <dim>DISPLAY NAME</>  <dim>ROLE</>      <dim>DEVICES</>  <dim>PENDING</>  <dim>CREATED</>\n"
	    "ann   Ann           <cyan>admin</>           2    1,000  02 Jan 03:04:05\n"
	    "bob                                 0        0  02 Jan 2025 03:04:05\n"
	    "cid                 <red>disabled</>        -        -  03:04:05\n"
	    "?                                   -        -  -\n");
}

static void
test_audit(void **state)
{

	(void)state;
	assert_view(admin_view_audit,
	    "[{'at': '2026-11-21T10:00:01Z', 'actor': 'ann',"
	    "  'action': 'pause', 'object': 'far.test', 'detail': 'a\\nb'},"
	    " {'at': '2026-11-20T10:00:01Z', 'actor': 'bob',"
	    "  'action': 'retry', 'object': null, 'detail': null}, {}]",
	    "<dim>WHEN</>             <dim>WHO</>  <dim>DID</>    <dim>TO</>\n"
	    "10:00:01         <cyan>ann</>  pause  far.test\n"
	    "    <dim>a\\nb</>\n"
	    "20 Nov 10:00:01  <cyan>bob</>  retry\n"
	    "-                <cyan>?</>    ?\n");
}

/* ---- messages ---- */

static void
test_outbox(void **state)
{

	(void)state;
	assert_view(admin_view_outbox,
	    "[{'id': 'id-1', 'state': 'pending', 'labels': ['retrying'],"
	    "  'attempts': 1234, 'created_at': '2026-11-21T11:00:00Z',"
	    "  'next_retry_at': '2026-11-21T12:00:05Z',"
	    "  'deliver_at': '2026-11-21T12:00:09Z', 'from': 'ann',"
	    "  'to': 'bob', 'reason': 'r', 'last_error': 'e'},"
	    " {'id': 'id-2', 'state': 'pending', 'labels': ['scheduled'],"
	    "  'deliver_at': '2026-11-21T12:00:09Z', 'from': 'ann',"
	    "  'to': 'bob', 'last_error': 'e'},"
	    " {'id': 'id-3', 'state': 'sending', 'from': 'ann',"
	    "  'deliver_at': '2026-11-21T12:00:00Z'},"
	    " {'id': 'id-4', 'state': 'sent', 'to': 'bob'},"
	    " {'id': 'id-5', 'state': 'acked'},"
	    " {'id': 'id-6', 'state': 'acked', 'labels': ['read']},"
	    " {'id': 'id-7', 'state': 'failed', 'reason': 'poison'},"
	    " {'id': 'id-8', 'state': 'expired'},"
	    " {'id': 'id-9', 'state': 'canceled'}, {}]",
	    "<dim>ID</>    <dim>STATE</>      <dim>TRIES</>  <dim>AGE</>  <dim>NEXT TRY</>\n"
	    "id-1  <yellow>retrying</>   1,234   1h  in 5s\n"
	    "    <dim>ann → bob; r; e</>\n"
	    "id-2  scheduled      -    -  in 9s\n"
	    "    <dim>ann → bob; e</>\n"
	    "id-3  <cyan>sending</>        -    -\n"
	    "    <dim>ann → group</>\n"
	    "id-4  sent           -    -\n"
	    "    <dim>? → bob</>\n"
	    "id-5  <green>delivered</>      -    -\n"
	    "    <dim>? → group</>\n"
	    "id-6  <green>read</>           -    -\n"
	    "    <dim>? → group</>\n"
	    "id-7  <red>failed</>         -    -\n"
	    "    <dim>? → group; poison</>\n"
	    "id-8  <red>expired</>        -    -\n"
	    "    <dim>? → group</>\n"
	    "id-9  canceled       -    -\n"
	    "    <dim>? → group</>\n"
	    "?     ?              -    -\n"
	    "    <dim>? → group</>\n");
}

static void
test_dead(void **state)
{

	(void)state;
	assert_view(admin_view_dead,
	    "[{'dead_id': 1234, 'reason': 'max_retries', 'attempts': 1011,"
	    "  'dead_at': '2026-11-21T11:59:00Z',"
	    "  'created_at': '2026-11-21T11:00:00Z', 'from': 'ann',"
	    "  'to': 'bob@far.test', 'id': 'id-1', 'last_error': 'refused',"
	    "  'resolution': null},"
	    " {'dead_id': 2, 'id': 'id-2', 'resolution': 'requeued',"
	    "  'resolved_at': '2026-11-21T11:59:30Z', 'resolved_by': 'eve',"
	    "  'last_error': 'gone'},"
	    " {'resolution': 'discarded'}, {}]",
	    "<dim>DEAD</>  <dim>REASON</>       <dim>TRIES</>  <dim>DIED</>  <dim>AGE</>  <dim>FROM → TO</>\n"
	    "<bold>1234</>  <red>max_retries</>  1,011    1m   1h  ann → bob@far.test\n"
	    "    <dim>id-1; refused</>\n"
	    "   <bold>2</>  <red>-</>                -     -    -  ? → group\n"
	    "    <dim>id-2; requeued 30s ago by eve; gone</>\n"
	    "   <bold>0</>  <red>-</>                -     -    -  ? → group\n"
	    "    <dim>discarded - ago by ?</>\n"
	    "   <bold>0</>  <red>-</>                -     -    -  ? → group\n");
}

static void
test_message_of_nothing(void **state)
{

	(void)state;
	assert_view(admin_view_message, "{}",
	    "\n"
	    "nothing of it is left in the outbox\n");
	assert_view(admin_view_message,
	    "{'id': 'id-1', 'from': 'ann', 'conversation': 'c-1',"
	    " 'conversation_seq': 1234,"
	    " 'event_time': '2026-11-21T10:00:00Z',"
	    " 'created_at': '2026-11-20T10:00:00Z',"
	    " 'correlation_id': 'order 7', 'rows': []}",
	    "<dim>id</>            id-1\n"
	    "<dim>from</>          ann\n"
	    "<dim>conversation</>  c-1\n"
	    "<dim>number</>        1,234\n"
	    "<dim>written</>       10:00:00\n"
	    "<dim>accepted</>      20 Nov 10:00:00\n"
	    "<dim>correlation</>   order 7\n"
	    "\n"
	    "nothing of it is left in the outbox\n");
}

static void
test_message(void **state)
{

	(void)state;
	assert_view(admin_view_message,
	    "{'id': 'id-1', 'from': null, 'conversation': ['x'], 'rows': ["
	    " {'to': 'bob', 'state': 'pending', 'labels': ['retrying'],"
	    "  'destination': 'far.test', 'reason': 'r', 'priority': 'high',"
	    "  'attempt_count': 1002, 'retry_count': 1, 'rescue_count': 0,"
	    "  'deliver_at': '2026-11-21T11:00:00Z',"
	    "  'next_retry_at': '2026-11-21T12:00:05Z',"
	    "  'expires_at': '2026-11-22T12:00:00Z',"
	    "  'last_error': 'refused', 'lane_id': 5, 'lane_seq': 6,"
	    "  'attempts': ["
	    "   {'attempt': 1, 'started_at': '2026-11-21T11:00:00Z',"
	    "    'finished_at': '2026-11-21T11:00:00.250Z',"
	    "    'outcome': 'retry', 'status': 503, 'error': 'busy',"
	    "    'owner': 'relay-1'},"
	    "   {'attempt': 2, 'started_at': '2026-11-21T11:01:00Z',"
	    "    'finished_at': null, 'owner': 'relay-2'},"
	    "   {'attempt': 3, 'finished_at': '2026-11-21T11:01:00Z'}],"
	    "  'timeline': ["
	    "   {'at': '2026-11-21T10:59:00Z', 'event': 'accepted'},"
	    "   {'at': '2026-11-21T10:59:00Z', 'event': 'queued',"
	    "    'detail': 'd'},"
	    "   {'at': '2026-11-21T11:00:00Z', 'event': 'attempt'},"
	    "   {'at': '2026-11-21T11:00:00.250Z', 'event': 'retry'},"
	    "   {'detail': 'no event'}]},"
	    " {'state': 'failed', 'attempts': [], 'timeline': ["
	    "   {'at': '2026-11-21T11:00:00Z', 'event': 'attempt'},"
	    "   {'at': '2026-11-21T11:00:01Z', 'event': 'failed'}]},"
	    " {'to': 'eve', 'state': 'acked', 'timeline': []}]}",
	    "<dim>id</>  id-1\n"
	    "\n"
	    "→ <bold>bob</>  <yellow>retrying</>\n"
	    "<dim>destination</>  far.test\n"
	    "<dim>reason</>       r\n"
	    "<dim>priority</>     high\n"
	    "<dim>tries</>        1,002\n"
	    "<dim>retries</>      1\n"
	    "<dim>rescued</>      0\n"
	    "<dim>deliver at</>   11:00:00\n"
	    "<dim>next try</>     12:00:05\n"
	    "<dim>expires</>      22 Nov 12:00:00\n"
	    "<dim>last error</>   refused\n"
	    "<dim>lane</>         5\n"
	    "<dim>place</>        6\n"
	    "\n"
	    "<dim>TRY</>  <dim>BEGAN</>      <dim>TOOK</>  <dim>OUTCOME</>    <dim>STATUS</>  <dim>ERROR</>  <dim>BY</>\n"
	    "  1  11:00:00  250ms  retry         503  busy   <dim>relay-1</>\n"
	    "  2  11:01:00      -  under way       -         <dim>relay-2</>\n"
	    "  3  -             -  under way       -\n"
	    "\n"
	    "<dim>WHEN</>      <dim>AFTER</>  <dim>EVENT</>\n"
	    "10:59:00         accepted\n"
	    "10:59:00         queued    <dim>d</>\n"
	    "11:00:00    <dim>+1m</>  retry\n"
	    "-                ?         <dim>no event</>\n"
	    "\n"
	    "→ <bold>group</>  <red>failed</>\n"
	    "\n"
	    "<dim>WHEN</>      <dim>AFTER</>  <dim>EVENT</>\n"
	    "11:00:00         attempt\n"
	    "11:00:01    <dim>+1s</>  failed\n"
	    "\n"
	    "→ <bold>eve</>  <green>delivered</>\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_stats_of_nothing),
	    cmocka_unit_test(test_stats_calm),
	    cmocka_unit_test(test_stats_trouble),
	    cmocka_unit_test(test_stats_pending),
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_ages),
	    cmocka_unit_test(test_ages_of_many_limits),
	    cmocka_unit_test(test_lanes),
	    cmocka_unit_test(test_users),
	    cmocka_unit_test(test_audit),
	    cmocka_unit_test(test_outbox),
	    cmocka_unit_test(test_dead),
	    cmocka_unit_test(test_message_of_nothing),
	    cmocka_unit_test(test_message),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
