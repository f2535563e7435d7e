/* SPDX-License-Identifier: MIT */
/*
 * The server's own alerts, with a clock that stands still: each alert at its
 * threshold and just beyond, hold times to the millisecond, the log and the
 * text of the alerts, and the averages of the last hour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "admin/alerts.h"
#include "base/mem.h"
#include "unit/logged.h"

#define MINUTE ALERTS_MINUTE_MS
#define START INT64_C(1700000000000)

static struct gauges gauges;
static struct peer_changes peers;

struct rig {
	struct clk_fake clk;
	struct metrics *metrics;
	struct alerts *alerts;
	struct alerts_input input;
};

static void
rig_open(struct rig *r)
{

	memset(&gauges, 0, sizeof(gauges));
	memset(&peers, 0, sizeof(peers));
	memset(r, 0, sizeof(*r));
	clk_fake_init(&r->clk, START);
	r->metrics = metrics_new();
	r->alerts = alerts_new(&r->clk.clk, r->metrics);
	assert_non_null(r->alerts);
	r->input.gauges = &gauges;
	r->input.changes = &peers;
	r->input.relay_age_ms = -1;
	logged_start(&r->clk.clk);
}

/* Frees the rig and returns all that was logged. */
static const char *
rig_close(struct rig *r)
{
	const char *text = logged_stop();

	alerts_free(r->alerts);
	metrics_free(r->metrics);
	return (text);
}

static void
turn(struct rig *r)
{

	alerts_evaluate(r->alerts, &r->input);
}

/* The alerts as JSON; static storage. */
static const char *
shown(struct rig *r)
{
	static char text[8192];
	struct buf b = BUF_INIT;

	alerts_write(r->alerts, &b);
	assert_true(buf_ok(&b) && b.len < sizeof(text));
	memcpy(text, b.data, b.len);
	text[b.len] = '\0';
	buf_fini(&b);
	return (text);
}

static bool
raised(struct rig *r, const char *name)
{
	char want[100];

	(void)snprintf(want, sizeof(want), "{\"name\":\"%s\",", name);
	return (strstr(shown(r), want) != NULL);
}

static int
count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return (n);
}

static void
test_nothing(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	assert_string_equal(shown(&r), "[]");
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	assert_string_equal(rig_close(&r), "");
	alerts_free(NULL);
}

/* R95 R96: an alert if more than 100 messages wait. */
static void
test_depth(void **state)
{
	const char *log;
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.totals.pending = 100;
	turn(&r);
	assert_false(raised(&r, "outbox_depth_high"));
	clk_fake_advance(&r.clk, MINUTE);
	gauges.totals.pending = 101;
	turn(&r);
	assert_string_equal(shown(&r),
	    "[{\"name\":\"outbox_depth_high\",\"severity\":\"warning\","
	    "\"since\":\"2023-11-14T22:14:20.000Z\","
	    "\"text\":\"101 messages wait for delivery\"}]");
	/* The alert goes on: it is logged once, and shows the text of the last
	 * evaluation. */
	clk_fake_advance(&r.clk, MINUTE);
	gauges.totals.pending = 200;
	turn(&r);
	assert_non_null(strstr(shown(&r), "\"text\":\"200 messages"));
	assert_non_null(strstr(shown(&r), "22:14:20.000Z"));
	clk_fake_advance(&r.clk, 500);
	gauges.totals.pending = 100;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	log = rig_close(&r);
	assert_int_equal(count(log, "\n"), 2);
	assert_non_null(strstr(log,
	    " warn alert.warning outbox_depth_high severity=warning "
	    "text=101 messages wait for delivery\n"));
	assert_non_null(
	    strstr(log, " info alert.cleared outbox_depth_high seconds=60\n"));
}

/* R375: more than 1000 messages wait for five minutes.  An evaluation below the
 * threshold restarts the five minutes. */
static void
test_backlog(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.totals.pending = 1001;
	turn(&r);
	assert_false(raised(&r, "outbox_backlog"));
	clk_fake_advance(&r.clk, 5 * MINUTE - 1);
	turn(&r);
	assert_false(raised(&r, "outbox_backlog"));
	clk_fake_advance(&r.clk, 1);
	turn(&r);
	assert_true(raised(&r, "outbox_backlog"));
	assert_non_null(strstr(shown(&r), "\"since\":\"2023-11-14T22:13:20"));
	gauges.totals.pending = 1000;
	turn(&r);
	assert_false(raised(&r, "outbox_backlog"));
	gauges.totals.pending = 5000;
	turn(&r);
	clk_fake_advance(&r.clk, 5 * MINUTE - 1);
	turn(&r);
	assert_false(raised(&r, "outbox_backlog"));
	clk_fake_advance(&r.clk, 1);
	turn(&r);
	assert_true(raised(&r, "outbox_backlog"));
	(void)rig_close(&r);
}

/* R97 R374: one dead letter is a critical alert, more than ten are an error as
 * well. */
static void
test_failed(void **state)
{
	const char *log;
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.dead.all = 1;
	gauges.dead.rejected = 1;
	turn(&r);
	assert_true(raised(&r, "outbox_failed"));
	assert_false(raised(&r, "outbox_failed_many"));
	assert_non_null(strstr(shown(&r), "\"severity\":\"critical\""));
	assert_non_null(strstr(shown(&r), "1 rejected, 0 out of retries"));
	gauges.dead.all = 10;
	turn(&r);
	assert_false(raised(&r, "outbox_failed_many"));
	gauges.dead.all = 11;
	gauges.dead.max_retries = 4;
	gauges.dead.expired = 3;
	turn(&r);
	assert_true(raised(&r, "outbox_failed_many"));
	assert_non_null(strstr(shown(&r),
	    "11 dead letters are unresolved: 1 rejected, 4 out of "
	    "retries, 3 expired, 3 for other reasons"));
	gauges.dead.all = GAUGES_ROWS;
	turn(&r);
	assert_non_null(strstr(shown(&r), "at least 10000 dead letters"));
	memset(&gauges.dead, 0, sizeof(gauges.dead));
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	log = rig_close(&r);
	assert_int_equal(count(log, " error alert.error outbox_failed "), 1);
	assert_int_equal(
	    count(log, " error alert.error outbox_failed_many "), 1);
	assert_int_equal(count(log, " alert.cleared "), 2);
}

/* R376: a message is in the state sending for more than 30 minutes. */
static void
test_stuck(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.oldest_sending_at = START;
	clk_fake_advance(&r.clk, 30 * MINUTE);
	turn(&r);
	assert_false(raised(&r, "outbox_stuck_sending"));
	clk_fake_advance(&r.clk, 1);
	turn(&r);
	assert_true(raised(&r, "outbox_stuck_sending"));
	gauges.oldest_sending_at = 0;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	(void)rig_close(&r);
}

/* R372 R377: the average of the last hour.  Deliveries before the hour do not
 * count. */
static void
test_slow(void **state)
{
	struct alerts_rates rates;
	struct rig r;

	(void)state;
	rig_open(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.latency_ms, -1);
	r.input.delivered = 7; /* before the first evaluation */
	r.input.delivered_us = INT64_C(7000000000000);
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.latency_ms, -1);
	assert_int_equal(rates.delivered, 0);
	clk_fake_advance(&r.clk, MINUTE);
	r.input.delivered += 2; /* 5 minutes each */
	r.input.delivered_us += INT64_C(600000000);
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.window_ms, MINUTE);
	assert_int_equal(rates.delivered, 2);
	assert_int_equal(rates.latency_ms, 300000);
	assert_false(raised(&r, "delivery_slow"));
	clk_fake_advance(&r.clk, MINUTE);
	r.input.delivered_us += 2000; /* 1 ms more for each */
	turn(&r);
	assert_true(raised(&r, "delivery_slow"));
	assert_non_null(strstr(shown(&r),
	    "2 messages of the last hour took 300 s on the average"));
	/* The sample before these deliveries leaves the hour with the 61st
	 * minute. */
	clk_fake_advance(&r.clk, 58 * MINUTE);
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.window_ms, 60 * MINUTE);
	assert_int_equal(rates.delivered, 2);
	assert_true(raised(&r, "delivery_slow"));
	clk_fake_advance(&r.clk, 2 * MINUTE);
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.delivered, 0);
	assert_false(raised(&r, "delivery_slow"));
	(void)rig_close(&r);
}

/* The window stays an hour, however often the alerts are evaluated. */
static void
test_hour(void **state)
{
	struct alerts_rates rates;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	for (i = 0; i < 3 * 3600; i++) {
		turn(&r);
		clk_fake_advance(&r.clk, 1000);
		gauges.totals.sent_total++;
	}
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_true(rates.window_ms > 59 * MINUTE);
	assert_true(rates.window_ms <= 60 * MINUTE);
	assert_int_equal(rates.sent, rates.window_ms / 1000);
	(void)rig_close(&r);
}

/* R378: more than a tenth of the last hour's attempts have failed. */
static void
test_retry_rate(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.totals.sent_total = 1000000; /* totals from before the start */
	gauges.totals.retries_total = 500000;
	turn(&r);
	assert_false(raised(&r, "retry_rate_high"));
	gauges.totals.sent_total += 90;
	gauges.totals.retries_total += 10;
	turn(&r);
	assert_false(raised(&r, "retry_rate_high"));
	gauges.totals.retries_total++;
	turn(&r);
	assert_true(raised(&r, "retry_rate_high"));
	assert_non_null(strstr(
	    shown(&r), "11 of 101 attempts of the last hour have failed"));
	gauges.totals.sent_total += 9;
	turn(&r);
	assert_false(raised(&r, "retry_rate_high"));
	(void)rig_close(&r);
}

/* With an alert-interval of an hour the evaluations are a little more than an
 * hour apart.  The rates are then those since the last one. */
static void
test_retry_rate_seldom(void **state)
{
	struct alerts_rates rates;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	for (i = 0; i < 3; i++) {
		turn(&r);
		clk_fake_advance(&r.clk, 60 * MINUTE + 10);
		gauges.totals.sent_total += 80;
		gauges.totals.retries_total += 20;
	}
	turn(&r);
	alerts_rates(r.alerts, &rates);
	assert_int_equal(rates.window_ms, 60 * MINUTE + 10);
	assert_int_equal(rates.sent, 80);
	assert_true(raised(&r, "retry_rate_high"));
	(void)rig_close(&r);
}

static void
put_destination(size_t i, int64_t id, const char *name, int breaker)
{
	struct gauges_destination *d = &gauges.list[i];

	d->destination_id = id;
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	d->breaker = (enum gauges_breaker)breaker;
	if (gauges.n <= i)
		gauges.n = i + 1;
}

/* A breaker that is not closed for more than 10 minutes.  Half-open counts as
 * not closed; two servers that take turns do not add up. */
static void
test_breaker(void **state)
{
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	put_destination(0, 1, "local", GAUGES_CLOSED);
	put_destination(1, 2, "far.example", GAUGES_OPEN);
	put_destination(2, 3, "near.example", GAUGES_CLOSED);
	for (i = 0; i <= 10; i++) {
		turn(&r);
		assert_false(raised(&r, "breaker_open"));
		gauges.list[1].breaker =
		    i % 2 == 0 ? GAUGES_HALF_OPEN : GAUGES_OPEN;
		clk_fake_advance(&r.clk, i == 10 ? 1 : MINUTE);
	}
	turn(&r);
	assert_true(raised(&r, "breaker_open"));
	assert_non_null(strstr(shown(&r), "among them far.example"));
	/* A destination is identified by its id, not by its place in the
	 * list. */
	put_destination(1, 3, "near.example", GAUGES_CLOSED);
	put_destination(2, 2, "far.example", GAUGES_OPEN);
	turn(&r);
	assert_true(raised(&r, "breaker_open"));
	put_destination(2, 2, "far.example", GAUGES_CLOSED);
	turn(&r);
	assert_false(raised(&r, "breaker_open"));
	for (i = 0; i < 30; i++) {
		gauges.list[1].breaker =
		    i % 2 == 0 ? GAUGES_OPEN : GAUGES_CLOSED;
		gauges.list[2].breaker =
		    i % 2 != 0 ? GAUGES_OPEN : GAUGES_CLOSED;
		turn(&r);
		assert_false(raised(&r, "breaker_open"));
		clk_fake_advance(&r.clk, MINUTE);
	}
	(void)rig_close(&r);
}

static void
test_relay_and_log(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.input.relay_age_ms = 10000;
	r.input.log_bytes = 256 << 20;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	r.input.relay_age_ms = 10001;
	turn(&r);
	assert_true(raised(&r, "relay_silent"));
	r.input.relay_age_ms = 3;
	r.input.log_bytes++;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	clk_fake_advance(&r.clk, 5 * MINUTE - 1);
	turn(&r);
	assert_false(raised(&r, "log_large"));
	clk_fake_advance(&r.clk, 1);
	turn(&r);
	assert_true(raised(&r, "log_large"));
	assert_non_null(strstr(shown(&r), "holds 256 MiB"));
	(void)rig_close(&r);
}

/* The wall clock jumps by a day, in both directions: the jump is logged, and no
 * hold time becomes shorter or longer. */
static void
test_clock_jump(void **state)
{
	const char *log;
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.totals.pending = 1001;
	turn(&r);
	/* Small adjustments of the clock are not a jump. */
	r.clk.wall_ms += ALERTS_JUMP_MS;
	turn(&r);
	r.clk.wall_ms -= ALERTS_JUMP_MS;
	turn(&r);
	assert_int_equal(metrics_get(r.metrics, METRIC_CLOCK_JUMPS), 0);
	r.clk.wall_ms += 86400000;
	turn(&r);
	assert_int_equal(metrics_get(r.metrics, METRIC_CLOCK_JUMPS), 1);
	assert_false(raised(&r, "outbox_backlog"));
	clk_fake_advance(&r.clk, 5 * MINUTE);
	r.clk.wall_ms -= 2 * 86400000;
	turn(&r);
	assert_int_equal(metrics_get(r.metrics, METRIC_CLOCK_JUMPS), 2);
	assert_true(raised(&r, "outbox_backlog"));
	turn(&r);
	assert_int_equal(metrics_get(r.metrics, METRIC_CLOCK_JUMPS), 2);
	log = rig_close(&r);
	assert_non_null(strstr(log, " warn clock.jump moved_ms=86400000\n"));
	assert_non_null(strstr(log, " warn clock.jump moved_ms=-172800000\n"));
}

/* The text of the only alert, which is ${name}. */
static const char *
text_of(struct rig *r, const char *name)
{
	const char *all = shown(r);

	assert_true(raised(r, name));
	assert_int_equal(count(all, "{\"name\""), 1);
	return (strstr(all, "\"text\":"));
}

/* Another server has published other keys. */
static void
test_peer_keys(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	peers.keys = 1;
	memcpy(peers.keys_domain, "b.example", 10);
	memcpy(peers.keys_detail, "now k2 (02); before k1 (01)", 28);
	turn(&r);
	assert_string_equal(text_of(&r, "peer_keys_changed"),
	    "\"text\":\"b.example has other keys: now k2 (02); before k1 "
	    "(01); look at them with: twinbox admin peers show b.example\"}]");
	peers.keys = 3;
	turn(&r);
	assert_non_null(strstr(shown(&r), "; the same of 2 more\"}]"));
	peers.keys = 0;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	assert_int_equal(
	    count(rig_close(&r), " warn alert.warning peer_keys_changed "), 1);
}

/* Another server was restored: the alert has the commands to type. */
static void
test_peer_restored(void **state)
{
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	peers.restored = 1;
	memcpy(peers.restored_domain, "b.example", 10);
	peers.nlanes = 2;
	for (i = 0; i < PEER_CHANGES_NAMED; i++)
		peers.lanes[i] = (struct peer_changes_lane){17 + i, 100 * i};
	turn(&r);
	assert_string_equal(text_of(&r, "peer_restored"),
	    "\"text\":\"b.example was restored from a backup and may have "
	    "lost what was sent to it; if you know the time of the backup: "
	    "twinbox admin rewind b.example --since TIME; if not, offer its "
	    "lanes again with: twinbox admin rewind 17 0; twinbox admin rewind "
	    "18 100\"}]");
	peers.nlanes = PEER_CHANGES_NAMED;
	turn(&r);
	assert_null(strstr(shown(&r), "more"));
	peers.nlanes = PEER_CHANGES_NAMED + 1;
	peers.restored = 2;
	turn(&r);
	assert_non_null(strstr(shown(&r),
	    "; twinbox admin rewind 21 400; and 1 more lanes; the same of 1 "
	    "more\"}]"));
	/* There are more lanes than the query reads. */
	peers.more = true;
	turn(&r);
	assert_non_null(strstr(shown(&r),
	    "; and 1 more lanes; there are too many lanes to check all of "
	    "them; the same of 1 more\"}]"));
	peers.nlanes = 0;
	peers.restored = 1;
	turn(&r);
	assert_non_null(strstr(shown(&r),
	    "--since TIME; if not, look at its lanes with: twinbox admin "
	    "lanes --destination b.example; there are too many lanes to check "
	    "all of them\"}]"));
	peers.nlanes = PEER_CHANGES_NAMED + 1;
	peers.restored = 2;
	/* The longest name, and the largest numbers. */
	memset(peers.restored_domain, 'x', LIMIT_DOMAIN_LEN);
	for (i = 0; i < PEER_CHANGES_NAMED; i++)
		peers.lanes[i] =
		    (struct peer_changes_lane){INT64_MAX, INT64_MAX};
	turn(&r);
	assert_non_null(strstr(shown(&r), "; the same of 1 more\"}]"));
	peers.restored = 0;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	assert_int_equal(
	    count(rig_close(&r), " error alert.error peer_restored "), 1);
}

/* Another server's clock is wrong. */
static void
test_peer_clock(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r);
	r.input.clocks = (struct alerts_clocks){1, "b.example", 61000};
	turn(&r);
	assert_string_equal(text_of(&r, "peer_clock_off"),
	    "\"text\":\"the clock of b.example is 61 s ahead of the one "
	    "here\"}]");
	r.input.clocks = (struct alerts_clocks){2, "c.example", -3600000};
	turn(&r);
	assert_non_null(strstr(shown(&r),
	    "the clock of c.example is 3600 s behind the one here; the same "
	    "of 1 more\"}]"));
	r.input.clocks.n = 0;
	turn(&r);
	assert_string_equal(shown(&r), "[]");
	assert_int_equal(
	    count(rig_close(&r), " warn alert.warning peer_clock_off "), 1);
}

static void
test_metrics(void **state)
{
	struct buf b = BUF_INIT;
	struct rig r;

	(void)state;
	rig_open(&r);
	gauges.dead.all = 1;
	turn(&r);
	alerts_metrics_write(r.alerts, &b);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	assert_non_null(strstr(b.data,
	    "twinbox_alert{alert=\"outbox_failed\",severity=\"critical\"} "
	    "1\n"));
	assert_non_null(strstr(b.data,
	    "twinbox_alert{alert=\"relay_silent\",severity=\"critical\"} "
	    "0\n"));
	assert_int_equal(count(b.data, "\ntwinbox_alert{"), ALERT_COUNT);
	buf_fini(&b);
	(void)rig_close(&r);
}

static void
test_no_memory(void **state)
{
	struct clk_fake clk;

	(void)state;
	clk_fake_init(&clk, START);
	mem_fail_at(1);
	assert_null(alerts_new(&clk.clk, NULL));
	mem_fail_at(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_backlog),
	    cmocka_unit_test(test_failed),
	    cmocka_unit_test(test_stuck),
	    cmocka_unit_test(test_slow),
	    cmocka_unit_test(test_hour),
	    cmocka_unit_test(test_retry_rate),
	    cmocka_unit_test(test_retry_rate_seldom),
	    cmocka_unit_test(test_breaker),
	    cmocka_unit_test(test_relay_and_log),
	    cmocka_unit_test(test_clock_jump),
	    cmocka_unit_test(test_peer_keys),
	    cmocka_unit_test(test_peer_restored),
	    cmocka_unit_test(test_peer_clock),
	    cmocka_unit_test(test_metrics),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
