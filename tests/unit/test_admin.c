/* SPDX-License-Identifier: MIT */
/*
 * The parts that only admin has: the documents inside the program, the metrics
 * of the process, and its routes beside those of the api.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "admin/admin_internal.h"
#include "api/api.h"

/* Fails unless ${document} equals the file docs/${name}, byte for byte. */
static void
same_as_file(const struct document *document, const char *name)
{
	const char *source = getenv("TWINBOX_SOURCE");
	char path[1024];
	size_t i;
	FILE *f;
	int c;

	(void)snprintf(path, sizeof(path), "%s/docs/%s",
	    source == NULL ? "." : source, name);
	if ((f = fopen(path, "rb")) == NULL)
		fail_msg("cannot open %s", path);
	for (i = 0; (c = fgetc(f)) != EOF; i++) {
		assert_true(i < document->len);
		assert_int_equal(c, document->data[i]);
	}
	(void)fclose(f);
	assert_int_equal(document->len, i);
	assert_true(i > 1000);
}

static void
test_documents(void **state)
{

	(void)state;
	same_as_file(&document_openapi, "openapi.yaml");
	same_as_file(&document_asyncapi, "asyncapi.yaml");
}

/* The value of metric ${name}. */
static double
value_of(const char *text, const char *name)
{
	char line[100];
	const char *at;

	(void)snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(text, line);
	assert_non_null(at);
	return (strtod(at + strlen(line), NULL));
}

static void
test_process(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	process_metrics_write(&b, 1700000000500);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	assert_true(value_of(b.data, "process_resident_memory_bytes") > 1e5);
	assert_true(value_of(b.data, "process_open_fds") >= 3);
	assert_true(value_of(b.data, "process_max_fds") >= 3);
	assert_true(value_of(b.data, "process_cpu_seconds_total") >= 0);
	assert_true(
	    value_of(b.data, "process_start_time_seconds") == 1700000000.5);
	buf_fini(&b);
}

static bool
always_ready(void *arg, const char **ret_why)
{

	(void)arg;
	*ret_why = "";
	return (true);
}

static void
add_destination(struct gauges *f, int64_t id, const char *name)
{
	struct gauges_destination *d = &f->list[f->n++];

	d->destination_id = id;
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
}

/* R68: a snapshot appears as metrics.  Names are escaped, whatever they
 * contain. */
static void
test_stats_snapshot(void **state)
{
	static struct stats_snapshot s;
	static const char *const lines[] = {
	    "\ntwinbox_ready 1\n",
	    "\ntwinbox_time_seconds 1700000000\n",
	    "\ntwinbox_build_info{version=\"1.2\"} 1\n",
	    "\ntwinbox_destinations 500\n",
	    "\ntwinbox_outbox_dead_letters{reason=\"rejected\"} 3\n",
	    "\ntwinbox_outbox_dead_letters{reason=\"other\"} 2\n",
	    "\ntwinbox_destination_breaker{destination=\"far.example\","
	    "state=\"open\"} 1\n",
	    "\ntwinbox_destination_breaker{destination=\"far.example\","
	    "state=\"closed\"} 0\n",
	    "\ntwinbox_outbox_pending_rows{destination=\"far.example\"} 9\n",
	    "\ntwinbox_outbox_oldest_pending_seconds{destination="
	    "\"far.example\"} 61\n",
	    /* A clock that went back gives an age of 0. */
	    "\ntwinbox_outbox_oldest_pending_seconds{destination="
	    "\"a\\\"} 0\\ntwinbox_ready 0\\n#\"} 0\n",
	    "\ntwinbox_destination_window{destination=\"far.example\"} 4\n",
	    "\ntwinbox_destination_in_flight{destination=\"far.example\"} "
	    "2\n",
	    "\ntwinbox_destination_paused{destination=\"*\"} 1\n",
	    "\ntwinbox_alert{alert=\"relay_silent\",severity=\"critical\"} "
	    "0\n",
	};
	struct clk_fake clk;
	struct admin_options o = {
	    .clk = &clk.clk, .version = "1.2", .ready = always_ready};
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	struct admin *admin;
	size_t i;

	(void)state;
	clk_fake_init(&clk, 1700000000000);
	assert_int_equal(admin_new(&o, &admin, &err), RC_OK);
	s.ready = true;
	s.gauges.destinations = 500;
	s.gauges.dead.all = 5;
	s.gauges.dead.rejected = 3;
	add_destination(&s.gauges, 0, "*");
	s.gauges.list[0].paused = true;
	add_destination(&s.gauges, 7, "far.example");
	s.gauges.list[1].breaker = GAUGES_OPEN;
	s.gauges.list[1].pending_rows = 9;
	s.gauges.list[1].oldest_at = 1700000000000 - 61999;
	add_destination(&s.gauges, 8, "a\"} 0\ntwinbox_ready 0\n#");
	s.gauges.list[2].oldest_at = 1700000000000 + 5000;
	s.relay.n = 1;
	s.relay.destinations[0].destination_id = 7;
	s.relay.destinations[0].window = 4;
	s.relay.destinations[0].in_flight = 2;
	stats_snapshot_metrics_write(admin, &s, &b);
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(b.data, lines[i]) == NULL)
			fail_msg("no line %s in\n%s", lines[i], b.data);
	assert_null(strstr(b.data, "\ntwinbox_ready 0"));
	assert_null(strstr(b.data, "twinbox_destination_window{destination="
				   "\"*\"}"));
	buf_fini(&b);
	admin_free(admin);
}

/* Each total of the store has its metric, also when the total grows. */
static void
test_totals(void **state)
{
	struct gauges_totals t = {0};
	static const struct {
		enum metric metric;
		size_t offset;
	} rows[] = {
#define ROW(metric, member)                                                    \
	{METRIC_##metric, offsetof(struct gauges_totals, member)}
	    ROW(OUTBOX_PENDING, pending),
	    ROW(OUTBOX_SCHEDULED, scheduled),
	    ROW(OUTBOX_SENDING, sending),
	    ROW(OUTBOX_SENT_NOW, sent),
	    ROW(OUTBOX_FAILED_NOW, failed),
	    ROW(OUTBOX_EXPIRED_NOW, expired),
	    ROW(OUTBOX_SENT, sent_total),
	    ROW(OUTBOX_ACKED, acked_total),
	    ROW(OUTBOX_RETRIES, retries_total),
	    ROW(OUTBOX_EXPIRED, expired_total),
	    ROW(OUTBOX_CANCELED, canceled_total),
	    ROW(OUTBOX_REQUEUED, requeued_total),
	    ROW(OUTBOX_RESCUES, rescues_total),
	    ROW(OUTBOX_FENCED, fenced_total),
#undef ROW
	};
	struct metrics *m = metrics_new();
	int64_t value;
	int round;
	size_t i;

	(void)state;
	assert_non_null(m);
	for (round = 1; round <= 2; round++) {
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			value = 100 * round + (int64_t)i;
			memcpy(
			    (char *)&t + rows[i].offset, &value, sizeof(value));
		}
		stats_snapshot_totals(m, &t);
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			assert_int_equal(metrics_get(m, rows[i].metric),
			    100 * round + (int64_t)i);
	}
	metrics_free(m);
}

/* The tables of admin and api serve the same port: no route stands in both, and
 * each route has a handler. */
static void
test_routes(void **state)
{
	const struct http_route *a, *b;

	(void)state;
	for (a = admin_routes(); a->method != NULL; a++) {
		assert_non_null(a->handler);
		for (b = api_routes(); b->method != NULL; b++) {
			assert_non_null(b->handler);
			assert_false(strcmp(a->method, b->method) == 0 &&
				     strcmp(a->path, b->path) == 0);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_documents),
	    cmocka_unit_test(test_process),
	    cmocka_unit_test(test_stats_snapshot),
	    cmocka_unit_test(test_totals),
	    cmocka_unit_test(test_routes),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
