/* SPDX-License-Identifier: MIT */
/*
 * The gauges that an operator watches: each from the rows that it counts, the
 * oldest message of a lane from the head of the lane alone, and each walk with
 * its limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "inspect/gauges.h"

static struct gauges gauges;

static const struct gauges *
look(struct rig *r)
{
	struct err err = ERR_INIT;

	if (gauges_read(r->db, &gauges, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (&gauges);
}

/* Returns the destination ${name} of the list, which must be there. */
static const struct gauges_destination *
find(const struct gauges *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		if (strcmp(f->list[i].name, name) == 0)
			return (&f->list[i]);
	fail_msg("no destination %s", name);
	abort();
}

/* A server and ${lanes} lanes to it with ${rows} messages each.  The head of
 * lane n was created at 1000 + n, and each further message is older than its
 * head. */
#define REMOTE                                                                                               \
	"INSERT INTO destinations (destination_id, name, created_at, "                                       \
	"updated_at) VALUES (%d, '%s', 0, 0);"                                                               \
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "                                   \
	"WHERE i < %d) INSERT INTO outbox_lanes (lane_id, conversation_id, "                                 \
	"dest_kind, dest_id, due_at, updated_at, destination_id, state, "                                    \
	"next_seq, tail_seq) SELECT %d * 10000 + i, i, 'server', %d, i, 0, "                                 \
	"%d, 'ready', 3, 2 + %d FROM n;"                                                                     \
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "                                   \
	"WHERE i < %d), m (j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM m "                                   \
	"WHERE j < 2 + %d) INSERT INTO outbox (id, event_id, kind, mid, "                                    \
	"conversation_id, sender_id, lane_id, lane_seq, dest_kind, dest_id, "                                \
	"state, event_time, created_at, last_status_at) SELECT "                                             \
	"%d * 1000000 + row_number() OVER (), randomblob(16), 1, 1, i, 1, %d * 10000 + i, j, 'server', %d, " \
	"CASE WHEN j < 3 THEN 'failed' ELSE 'pending' END, 0, "                                              \
	"CASE WHEN j = 3 THEN 1000 + i ELSE 10 END, 0 FROM n, m;"

static void
add_remote(struct rig *r, int id, const char *name, int lanes, int rows)
{
	char sql[2048];

	(void)snprintf(sql, sizeof(sql), REMOTE, id, name, lanes, id, id, id,
	    rows, lanes, rows, id, id, id);
	(void)rig_exec(r, sql);
}

static void
test_totals(void **state)
{
	const struct gauges *f;
	struct rig r;

	(void)state;
	rig_open(&r);
	f = look(&r);
	assert_int_equal(f->totals.pending, 0);
	assert_int_equal(f->destinations, 2);
	/* On PostgreSQL a node's row is added with its first count. */
	if (r.pg != NULL)
		(void)rig_exec(
		    &r, "INSERT INTO outbox_totals (node) VALUES (0)");
	(void)rig_exec(&r,
	    "UPDATE outbox_totals SET pending=1, scheduled=2, sending=3, "
	    "sent=4, failed=5, expired=6, canceled=7, accepted_total=8, "
	    "sent_total=9, acked_total=10, retries_total=11, "
	    "failed_total=12, expired_total=13, canceled_total=14, "
	    "requeued_total=15, rescues_total=16, fenced_total=17");
	f = look(&r);
	assert_int_equal(f->totals.pending, 1);
	assert_int_equal(f->totals.scheduled, 2);
	assert_int_equal(f->totals.sending, 3);
	assert_int_equal(f->totals.sent, 4);
	assert_int_equal(f->totals.failed, 5);
	assert_int_equal(f->totals.expired, 6);
	assert_int_equal(f->totals.canceled, 7);
	assert_int_equal(f->totals.accepted_total, 8);
	assert_int_equal(f->totals.sent_total, 9);
	assert_int_equal(f->totals.acked_total, 10);
	assert_int_equal(f->totals.retries_total, 11);
	assert_int_equal(f->totals.failed_total, 12);
	assert_int_equal(f->totals.expired_total, 13);
	assert_int_equal(f->totals.canceled_total, 14);
	assert_int_equal(f->totals.requeued_total, 15);
	assert_int_equal(f->totals.rescues_total, 16);
	assert_int_equal(f->totals.fenced_total, 17);
	rig_close(&r);
}

#define DEAD                                                                   \
	"INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id, "  \
	"destination_id, state, reason, attempts, retry_count, event_time, "   \
	"created_at, dead_at, resolution, resolved_at) "

static void
test_dead(void **state)
{
	const struct gauges *f;
	struct rig r;

	(void)state;
	rig_open(&r);
	(void)rig_exec(&r, DEAD
	    "VALUES (1, 1, 1, 1, 2, 'failed', 'rejected', 1, 0, 0, 0, 0, "
	    "NULL, NULL), (2, 1, 1, 1, 2, 'failed', 'rejected', 1, 0, 0, 0, "
	    "0, NULL, NULL), (3, 1, 1, 1, 2, 'expired', 'expired', 1, 0, 0, "
	    "0, 0, NULL, NULL), (4, 1, 1, 1, 2, 'failed', 'max_retries', 1, "
	    "0, 0, 0, 0, NULL, NULL), (5, 1, 1, 1, 2, 'failed', 'poison', 1, "
	    "0, 0, 0, 0, NULL, NULL), (6, 1, 1, 1, 2, 'failed', 'too_large', "
	    "1, 0, 0, 0, 0, NULL, NULL), (7, 1, 1, 1, 2, 'failed', 'new', 1, "
	    "0, 0, 0, 0, NULL, NULL), (8, 1, 1, 1, 2, 'failed', 'rejected', "
	    "1, 0, 0, 0, 0, 'discarded', 9)");
	f = look(&r);
	assert_int_equal(f->dead.all, 7);
	assert_int_equal(f->dead.rejected, 2);
	assert_int_equal(f->dead.expired, 1);
	assert_int_equal(f->dead.max_retries, 1);
	assert_int_equal(f->dead.poison, 1);
	assert_int_equal(f->dead.too_large, 1);
	(void)rig_exec(&r,
	    "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 "
	    "FROM n WHERE i < 10200) " DEAD
	    "SELECT i, 1, 1, 1, 2, 'failed', 'rejected', 1, 0, 0, 0, 0, "
	    "NULL, NULL FROM n");
	assert_int_equal(look(&r)->dead.all, GAUGES_ROWS);
	rig_close(&r);
}

/* The inboxes here: how many messages wait, and the age of the oldest head. */
static void
test_local(void **state)
{
	const struct gauges_destination *d;
	struct rig r;
	int64_t alice, first;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_user(&r, "carol", NULL);
	d = find(look(&r), "local");
	assert_int_equal(d->pending_rows, 0);
	assert_int_equal(d->oldest_at, 0);
	clk_fake_advance(&r.clk, 1000);
	first = RIG_START_MS + 1000;
	(void)rig_send(&r, alice, "carol", "first", NULL);
	clk_fake_advance(&r.clk, 500);
	(void)rig_send(&r, alice, "bob", "second", NULL);
	(void)rig_send(&r, alice, "bob", "third", NULL);
	/* A scheduled message is neither counted nor old, because it is not
	 * due. */
	(void)rig_send_at(&r, alice, "bob", "later", first + 3600000);
	d = find(look(&r), "local");
	assert_int_equal(d->destination_id, 1);
	assert_int_equal(d->pending_rows, 3);
	assert_int_equal(d->oldest_at, first);
	assert_false(d->paused);
	assert_int_equal(rig_deliver(&r), 3);
	assert_int_equal(find(look(&r), "local")->oldest_at, 0);
	/* A released message waits since it was due, not since it was
	 * written. */
	clk_fake_advance(&r.clk, 3600000);
	assert_int_equal(rig_release(&r), 1);
	d = find(look(&r), "local");
	assert_int_equal(d->pending_rows, 1);
	assert_int_equal(d->oldest_at, first + 3600000);
	rig_close(&r);
}

static void
test_remote(void **state)
{
	const struct gauges_destination *d;
	const struct gauges *f;
	struct rig r;

	(void)state;
	rig_open(&r);
	add_remote(&r, 2, "far.example", 3, 4);
	add_remote(&r, 3, "idle.example", 1, 1);
	(void)rig_exec(&r,
	    "UPDATE outbox_lanes SET state='idle' WHERE "
	    "destination_id=3;"
	    "UPDATE destinations SET breaker='open' WHERE "
	    "destination_id=2;"
	    "UPDATE destinations SET paused_at=5, breaker='half_open' "
	    "WHERE destination_id=3");
	f = look(&r);
	assert_int_equal(f->destinations, 4);
	assert_int_equal(f->n, 4);
	assert_int_equal(f->lanes_ready, 3);
	d = find(f, "far.example");
	assert_int_equal(d->breaker, GAUGES_OPEN);
	assert_string_equal(gauges_breaker_word(d->breaker), "open");
	assert_false(d->paused);
	/* Three lanes with four messages each.  A message behind a head counts,
	 * but its time is not read, although it is older here (which cannot
	 * happen otherwise).  Settled messages do not count. */
	assert_int_equal(d->pending_rows, 12);
	assert_int_equal(d->oldest_at, 1001);
	d = find(f, "idle.example");
	assert_int_equal(d->breaker, GAUGES_HALF_OPEN);
	assert_true(d->paused);
	assert_int_equal(d->pending_rows, 0);
	assert_int_equal(d->oldest_at, 0);
	/* A leased lane still counts its messages. */
	(void)rig_exec(&r,
	    "UPDATE outbox_lanes SET state='leased', lease_until=9 "
	    "WHERE lane_id=20001;"
	    "UPDATE outbox SET state='sending', last_status_at=77 "
	    "WHERE lane_id=20001 AND lane_seq=3;"
	    "UPDATE outbox SET state='sending', last_status_at=78 "
	    "WHERE lane_id=20001 AND lane_seq=4");
	f = look(&r);
	assert_int_equal(f->lanes_ready, 2);
	assert_int_equal(f->oldest_sending_at, 77);
	d = find(f, "far.example");
	assert_int_equal(d->pending_rows, 12);
	assert_int_equal(d->oldest_at, 1001);
	rig_close(&r);
}

/* At most GAUGES_LANES lanes are read, those that are due first. */
static void
test_bounds(void **state)
{
	const struct gauges_destination *d;
	const struct gauges *f;
	struct rig r;

	(void)state;
	rig_open(&r);
	add_remote(&r, 2, "far.example", GAUGES_LANES + 50, 1);
	f = look(&r);
	d = find(f, "far.example");
	assert_int_equal(d->pending_rows, GAUGES_LANES);
	assert_int_equal(d->oldest_at, 1001);
	assert_int_equal(f->lanes_ready, GAUGES_LANES + 50);
	/* The first two lanes are due last now, so the third is the oldest one
	 * read. */
	(void)rig_exec(
	    &r, "UPDATE outbox_lanes SET due_at=99999 WHERE lane_id<20003");
	assert_int_equal(find(look(&r), "far.example")->oldest_at, 1003);
	rig_close(&r);
}

/* More servers than label values are allowed: those with problems are
 * listed. */
static void
test_many_destinations(void **state)
{
	const struct gauges *f;
	struct rig r;

	(void)state;
	rig_open(&r);
	(void)rig_exec(&r,
	    "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 "
	    "FROM n WHERE i < 300) INSERT INTO destinations "
	    "(destination_id, name, created_at, updated_at) "
	    "SELECT i, 'd' || i || '.example', 0, 0 FROM n");
	f = look(&r);
	assert_int_equal(f->destinations, 301);
	assert_int_equal(f->n, GAUGES_DESTINATIONS);
	assert_string_equal(f->list[0].name, "*");
	assert_string_equal(f->list[99].name, "d99.example");
	(void)rig_exec(&r, "UPDATE destinations SET breaker='open' "
			   "WHERE destination_id IN (50, 250);"
			   "UPDATE destinations SET paused_at=1 "
			   "WHERE destination_id = 251");
	add_remote(&r, 301, "waits.example", 1, 1);
	f = look(&r);
	assert_int_equal(f->n, GAUGES_DESTINATIONS);
	assert_int_equal(find(f, "d250.example")->breaker, GAUGES_OPEN);
	assert_true(find(f, "d251.example")->paused);
	assert_int_equal(find(f, "waits.example")->pending_rows, 1);
	assert_int_equal(find(f, "d50.example")->breaker, GAUGES_OPEN);
	assert_int_equal(find(f, "local")->destination_id, 1);
	/* All have problems: the list is full. */
	(void)rig_exec(&r, "UPDATE destinations SET breaker='open'");
	f = look(&r);
	assert_int_equal(f->n, GAUGES_DESTINATIONS);
	assert_int_equal(f->destinations, 302);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_totals),
	    cmocka_unit_test(test_dead),
	    cmocka_unit_test(test_local),
	    cmocka_unit_test(test_remote),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_many_destinations),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
