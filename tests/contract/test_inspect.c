/* SPDX-License-Identifier: MIT */
/*
 * The queries for operators, compared with a simple reading of the same rows:
 * every filter, pages of every size, sets too large to read as a whole, ages
 * and figures at their limits.  Operators' changes are made as a whole or not
 * at all, with an entry in the audit log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "delivery/operator.h"
#include "inspect/inspect.h"
#include "model/outbox.h"

#define NOW RIG_START_MS
#define IDS_MAX 120000

enum { ANN = 101, BOB, FAR, NEAR };

static int64_t expected[IDS_MAX], seen[IDS_MAX];

/* ---- rows ---- */

static void run(struct rig *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes without the writer, which is idle. */
static void
run(struct rig *r, const char *fmt, ...)
{
	char sql[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	(void)rig_exec(r, sql);
}

/* Returns SQL for an id or a fingerprint of 16 bytes, made from the number
 * ${column}. */
static const char *
id_sql(const struct rig *r, const char *column)
{
	static char sql[96];

	(void)snprintf(sql, sizeof(sql),
	    r->pg != NULL ? "CAST(lpad(to_hex(%s), 32, '0') AS UUID)"
			  : "CAST(printf('%%016d', %s) AS BLOB)",
	    column);
	return (sql);
}

static const char *
print_sql(const struct rig *r)
{

	return (r->pg != NULL ? "decode(lpad(to_hex(i), 32, '0'), 'hex')"
			      : "CAST(printf('%016d', i) AS BLOB)");
}

static void
drop_immutable(struct rig *r)
{

	run(r, "DROP TRIGGER IF EXISTS outbox_immutable%s",
	    r->pg != NULL ? " ON outbox" : "");
}

/* Makes two people here, one at each of two other servers, and their lanes. */
static void
make_people(struct rig *r)
{

	run(r, "INSERT INTO destinations (destination_id, name, created_at, "
	       "updated_at) VALUES (2, 'far.example', 0, 0), "
	       "(3, 'near.example', 0, 0);"
	       "INSERT INTO users (user_id, name, created_at, destination_id) "
	       "VALUES (101, 'ann', 0, NULL), (102, 'bob', 0, NULL), "
	       "(103, 'x@far.example', 0, 2), (104, 'y@near.example', 0, 3);");
	run(r,
	    "INSERT INTO conversations (conversation_id, public_id, kind, "
	    "direct_key, created_at) SELECT value, %s, 'direct', "
	    "'k' || value, 0 FROM (SELECT 1 AS value UNION SELECT 2 "
	    "UNION SELECT 3 UNION SELECT 4) AS v",
	    id_sql(r, "value"));
}

/* Makes ${n} rows from id ${first} on, with ${state} (an SQL expression). */
static void
make_rows(struct rig *r, int64_t first, int64_t n, const char *state,
    const char *dest, const char *more)
{

	run(r,
	    "CREATE TEMP TABLE t AS WITH RECURSIVE c (i) AS (SELECT %lld "
	    "UNION ALL SELECT i + 1 FROM c WHERE i < %lld) SELECT i, "
	    "%s AS b, %s AS f, (%s) AS state, (%s) AS dest, "
	    "CASE WHEN i %% 5 = 0 THEN 102 ELSE 101 END AS sender FROM c;"
	    "INSERT INTO messages (mid, message_id, event_id, conversation_id, "
	    "sender_id, event_time, created_at, fingerprint) SELECT i, b, b, "
	    "1, sender, %lld, %lld, f FROM t;"
	    "INSERT INTO outbox (id, event_id, kind, mid, conversation_id, "
	    "sender_id, lane_id, lane_seq, dest_kind, dest_id, state, "
	    "expires_at, event_time, created_at, last_status_at) SELECT i, b, "
	    "CASE WHEN i %% 7 = 0 THEN 2 ELSE 1 END, i, 1, sender, dest, "
	    "CASE WHEN state = 'scheduled' THEN NULL ELSE i END, "
	    "CASE WHEN dest > 102 THEN 'server' ELSE 'user' END, dest, "
	    "CASE WHEN state = 'scheduled' THEN 'pending' ELSE state END, "
	    "i + 1, %lld, %lld, %lld FROM t;"
	    "UPDATE outbox SET deliver_at = 1 WHERE lane_seq IS NULL;"
	    "%s DROP TABLE t",
	    (long long)first, (long long)(first + n - 1), id_sql(r, "i"),
	    print_sql(r), state, dest, (long long)NOW, (long long)NOW,
	    (long long)NOW, (long long)NOW, (long long)NOW, more);
}

/* Reads the ids that ${sql} gives, in its order.  Returns their number. */
static size_t
ids_of(struct rig *r, const char *sql)
{
	return (rig_numbers(r, sql, expected, IDS_MAX));
}

/* ---- outbox rows ---- */

struct taking {
	size_t n;
};

static enum rc
take_row(void *arg, const struct inspect_outbox_row *row, struct err *err)
{
	struct taking *t = arg;

	(void)err;
	assert_true(t->n < IDS_MAX);
	seen[t->n++] = row->id;
	return (RC_OK);
}

#define ALL_PAGES 1000

/* Reads at most ${most} pages of ${limit} rows from ${before} on.  *ret_n:
 * rows; *ret_pages: pages.  Returns true if there are no more. */
static bool
read_pages(struct rig *r, const struct inspect_outbox_filter *f, int64_t before,
    int64_t limit, int most, size_t *ret_n, int *ret_pages)
{
	struct err err = ERR_INIT;
	struct taking t = {0};
	int64_t next = before;
	size_t was;

	for (*ret_pages = 0; next != 0 && *ret_pages < most; (*ret_pages)++) {
		was = t.n;
		if (inspect_outbox(r->db, f, next, limit, take_row, &t, &next,
			&err) != RC_OK)
			fail_msg("%s", err.text);
		assert_true(t.n - was <= (size_t)limit);
	}
	*ret_n = t.n;
	return (next == 0);
}

/* Compares at most ${most} pages from ${before} on. */
static void
compare_pages(struct rig *r, const struct inspect_outbox_filter *f,
    const char *where, int64_t before, int64_t limit, int most)
{
	char sql[512];
	size_t n, got;
	int pages;
	bool all;

	(void)snprintf(sql, sizeof(sql),
	    "SELECT o.id FROM outbox o JOIN users d ON d.user_id = o.dest_id "
	    "WHERE o.kind = 1 AND o.id < %lld AND %s ORDER BY o.id DESC",
	    (long long)before, where);
	n = ids_of(r, sql);
	all = read_pages(r, f, before, limit, most, &got, &pages);
	if ((all ? got != n : got > n) ||
	    memcmp(seen, expected, got * sizeof(seen[0])) != 0)
		fail_msg("%s, pages of %d: %zu rows, not %zu", where,
		    (int)limit, got, n);
}

#define ANY                                                                    \
	{                                                                      \
		.state = -1, .destination_id = -1                              \
	}

static const struct {
	struct inspect_outbox_filter filter;
	const char *where;
} filters[] = {
    {ANY, "true"},
    {{.state = OUTBOX_PENDING, .destination_id = -1},
	"o.state = 'pending' AND o.lane_seq IS NOT NULL"},
    {{.state = OUTBOX_PENDING, .scheduled = true, .destination_id = -1},
	"o.state = 'pending' AND o.lane_seq IS NULL"},
    {{.state = OUTBOX_SENDING, .destination_id = -1}, "o.state = 'sending'"},
    {{.state = OUTBOX_SENT, .destination_id = -1}, "o.state = 'sent'"},
    {{.state = OUTBOX_ACKED, .destination_id = -1}, "o.state = 'acked'"},
    {{.state = OUTBOX_FAILED, .destination_id = -1}, "o.state = 'failed'"},
    {{.state = OUTBOX_EXPIRED, .destination_id = -1}, "o.state = 'expired'"},
    {{.state = OUTBOX_CANCELED, .destination_id = -1}, "o.state = 'canceled'"},
    {{.state = OUTBOX_FAILED, .destination_id = 2},
	"o.state = 'failed' AND d.destination_id = 2"},
    {{.state = OUTBOX_FAILED, .destination_id = -1, .sender_id = BOB},
	"o.state = 'failed' AND o.sender_id = 102"},
    {{.state = OUTBOX_PENDING, .destination_id = 3, .sender_id = ANN},
	"o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.sender_id = 101 "
	"AND d.destination_id = 3"},
    {{.state = -1, .destination_id = 1}, "d.destination_id IS NULL"},
    {{.state = -1, .destination_id = 2}, "d.destination_id = 2"},
    {{.state = -1, .destination_id = -1, .sender_id = BOB},
	"o.sender_id = 102"},
    {{.state = -1, .destination_id = -1, .unchanged_since = NOW - 1000},
	"o.state = 'sending' AND o.last_status_at <= 1699999999000"},
    {{.state = OUTBOX_SENT, .destination_id = -1, .unchanged_since = NOW},
	"false"},
    {{.state = -1, .destination_id = -1, .retry_count = 7},
	"o.retry_count >= 7 AND (o.state = 'pending' OR o.state = 'sending')"},
    {{.state = OUTBOX_SENDING, .destination_id = -1, .retry_count = 1},
	"o.retry_count >= 1 AND o.state = 'sending'"},
};

/* R371 R373 */
static void
test_filters(void **state)
{
	static const int64_t limits[] = {1, 3, 50, 199, 200};
	struct rig r;
	size_t i, k;

	(void)state;
	rig_open(&r);
	make_people(&r);
	make_rows(&r, 1, 2100,
	    "CASE (i * 2654435761) % 997 % 9 WHEN 0 THEN 'pending' "
	    "WHEN 1 THEN 'scheduled' WHEN 2 THEN 'sending' WHEN 3 THEN 'sent' "
	    "WHEN 4 THEN 'failed' WHEN 5 THEN 'expired' WHEN 6 THEN 'canceled' "
	    "ELSE 'acked' END",
	    "101 + (i * 40503) % 89 % 4",
	    "UPDATE outbox SET retry_count = id % 11 WHERE id % 3 = 0;"
	    "UPDATE outbox SET last_status_at = last_status_at - 1000 "
	    "WHERE id % 2 = 0;");
	for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++)
			compare_pages(&r, &filters[i].filter, filters[i].where,
			    INT64_MAX, limits[k], ALL_PAGES);
	rig_close(&r);
}

static bool
has_set(const struct inspect_outbox_filter *f)
{

	return (f->state == OUTBOX_PENDING || f->state == OUTBOX_SENDING ||
		f->unchanged_since != 0 || f->retry_count != 0);
}

/* Compares the newest and the oldest pages only, because each page of a large
 * set is a walk through the set. */
static void
compare_ends(
    struct rig *r, const struct inspect_outbox_filter *f, const char *where)
{

	compare_pages(r, f, where, INT64_MAX, 200, 8);
	compare_pages(r, f, where, 1700, 200, ALL_PAGES);
}

/* More rows of each kind wait than a query sorts: the pages come from a walk,
 * and show the same. */
static void
test_large_sets(void **state)
{
	static const char *const states[] = {
	    "'pending'", "'scheduled'", "'sending'"};
	struct rig r;
	size_t i, k;

	(void)state;
	for (k = 0; k < 3; k++) {
		rig_open(&r);
		make_people(&r);
		make_rows(&r, 1, INSPECT_WALK + 3000, states[k],
		    "CASE WHEN i % 2 = 1 THEN 102 ELSE 103 END",
		    "UPDATE outbox SET retry_count = 8 WHERE id % 100 = 0;");
		make_rows(&r, INSPECT_WALK + 5000, INSPECT_WALK + 100,
		    "CASE WHEN i = 25000 THEN 'failed' ELSE 'sent' END", "102",
		    "");
		for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
			if (has_set(&filters[i].filter))
				compare_ends(
				    &r, &filters[i].filter, filters[i].where);
		rig_close(&r);
	}
}

/* A rare old row is found page by page, each of which reads at most
 * INSPECT_WALK rows. */
static void
test_bounded(void **state)
{
	const struct inspect_outbox_filter f = {
	    .state = OUTBOX_SENT, .destination_id = 2};
	struct err err = ERR_INIT;
	struct taking t = {0};
	struct rig r;
	int64_t next;
	int pages;

	(void)state;
	rig_open(&r);
	make_people(&r);
	make_rows(&r, 1, 3 * INSPECT_WALK, "'sent'",
	    "CASE WHEN i = 2 THEN 103 ELSE 102 END", "");
	assert_int_equal(
	    inspect_outbox(r.db, &f, INT64_MAX, 10, take_row, &t, &next, &err),
	    RC_OK);
	assert_int_equal(t.n, 0);
	assert_int_equal(next, 2 * INSPECT_WALK + 1);
	assert_true(read_pages(&r, &f, INT64_MAX, 10, ALL_PAGES, &t.n, &pages));
	assert_int_equal(t.n, 1);
	assert_int_equal(seen[0], 2);
	assert_int_equal(pages, 4); /* the last of them is empty */
	rig_close(&r);
}

/* ---- what waits ---- */

static void
test_ages(void **state)
{
	struct err err = ERR_INIT;
	struct inspect_backlog w;
	struct rig r;
	int64_t i, n;

	(void)state;
	rig_open(&r);
	make_people(&r);
	/* At each limit, and one millisecond below it. */
	run(&r, "INSERT INTO outbox_lanes (lane_id, conversation_id, "
		"dest_kind, dest_id, updated_at, destination_id, state, "
		"tail_seq) VALUES (102, 1, 'user', 102, 0, 1, 'local', 0), "
		"(103, 2, 'server', 103, 0, 2, 'ready', 14), "
		"(104, 3, 'server', 104, 0, 3, 'leased', 14)");
	for (i = 0; i < 14; i++) {
		make_rows(&r, i + 1, 1, "'pending'", "102", "");
		make_rows(&r, i + 101, 1, "'pending'", "103", "");
		make_rows(&r, i + 201, 1, "'pending'", "104", "");
		drop_immutable(&r);
		run(&r,
		    "UPDATE outbox SET created_at = %lld WHERE id %% 100 = %lld",
		    (long long)(NOW - inspect_age_limits_ms[i / 2] + i % 2),
		    (long long)(i + 1));
	}
	for (n = 1; n <= 3; n++) {
		assert_int_equal(
		    inspect_backlog(r.db, n, NOW, 1000, &w, &err), RC_OK);
		assert_int_equal(w.pending, 14);
		assert_false(w.truncated);
		assert_int_equal(w.oldest_at, NOW - 9600000);
		assert_int_equal(w.ages[0], 1);
		for (i = 1; i < 7; i++)
			assert_int_equal(w.ages[i], 2);
		assert_int_equal(w.ages[7], 1);
		assert_int_equal(w.lanes_ready, n == 2);
	}
	/* Not all rows are read: the lanes have the counts, and the oldest
	 * message here is the head of its lane. */
	assert_int_equal(inspect_backlog(r.db, 2, NOW, 5, &w, &err), RC_OK);
	assert_true(w.truncated);
	assert_int_equal(w.pending, 14);
	assert_int_equal(inspect_backlog(r.db, 1, NOW, 5, &w, &err), RC_OK);
	assert_true(w.truncated);
	assert_int_equal(w.pending, 5);
	rig_close(&r);
}

/* R371 R372 R373 */
static void
test_figures(void **state)
{
	struct err err = ERR_INIT;
	struct inspect_stats s;
	struct rig r;

	(void)state;
	rig_open(&r);
	make_people(&r);
	assert_int_equal(inspect_stats(r.db, 0, 7, 0, &s, &err), RC_OK);
	assert_int_equal(s.oldest_at, 0);
	assert_int_equal(s.latency_count, 0);
	/* 1 is stuck, 2 lacks one ms; 3 to 6 have 6 or 7 retries; 8 was sent an
	 * hour ago, 9 just now, 40 ms after its time; 10 was scheduled. */
	make_rows(&r, 1, 2, "'sending'", "103", "");
	make_rows(&r, 3, 4, "'pending'", "103",
	    "UPDATE outbox SET retry_count = 6 + id % 2 WHERE id >= 3;");
	make_rows(&r, 8, 3, "'sent'", "102", "");
	drop_immutable(&r);
	run(&r,
	    "UPDATE outbox SET last_status_at = %lld + id - 1 WHERE id < 3;"
	    "UPDATE outbox SET created_at = %lld WHERE id = 4;"
	    "UPDATE outbox SET sent_at = %lld WHERE id = 8;"
	    "UPDATE outbox SET sent_at = created_at + 40 WHERE id = 9;"
	    "UPDATE outbox SET deliver_at = created_at + 50000, "
	    "sent_at = created_at + 50020 WHERE id = 10",
	    (long long)(NOW - 1800000), (long long)(NOW - 77),
	    (long long)(NOW - 1));
	assert_int_equal(
	    inspect_stats(r.db, NOW - 1800000, 7, NOW, &s, &err), RC_OK);
	assert_int_equal(s.stuck_sending, 1);
	assert_int_equal(s.near_failure, 2);
	assert_int_equal(s.oldest_at, NOW - 77);
	assert_int_equal(s.latency_count, 2);
	assert_int_equal(s.latency_ms, 60);
	rig_close(&r);
}

/* ---- lanes ---- */

static enum rc
take_lane(void *arg, const struct inspect_lane *lane, struct err *err)
{
	struct taking *t = arg;

	(void)err;
	seen[t->n++] = lane->lane_id;
	return (RC_OK);
}

static void
test_lanes(void **state)
{
	static const char *const states[] = {
	    NULL, "local", "idle", "ready", "leased"};
	struct err err = ERR_INIT;
	struct inspect_lane_filter f;
	struct taking t;
	struct rig r;
	char sql[256];
	int64_t destination, next;
	size_t i, n;

	(void)state;
	rig_open(&r);
	make_people(&r);
	run(&r,
	    "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
	    "WHERE i < 1000) INSERT INTO outbox_lanes (lane_id, "
	    "conversation_id, dest_kind, dest_id, updated_at, destination_id, "
	    "state, lease_until) SELECT i, 1 + i %% 4, 'server', 103 + i %% 2, "
	    "i, 2 + i %% 2, CASE i * 7919 %% 13 %% 4 WHEN 0 THEN 'local' WHEN "
	    "1 THEN 'idle' WHEN 2 THEN 'ready' ELSE 'leased' END, 5000 - i "
	    "FROM c WHERE true ON CONFLICT DO NOTHING");
	for (destination = -1; destination < 4; destination++) {
		for (i = 0; i < 5; i++) {
			(void)snprintf(sql, sizeof(sql),
			    "SELECT lane_id FROM outbox_lanes WHERE "
			    "(%d < 0 OR destination_id = %d) AND "
			    "(%d = 1 OR state = '%s') ORDER BY lane_id",
			    (int)destination, (int)destination,
			    states[i] == NULL,
			    states[i] == NULL ? "" : states[i]);
			n = ids_of(&r, sql);
			f = (struct inspect_lane_filter){
			    destination, states[i]};
			t.n = 0;
			next = 0;
			do
				assert_int_equal(
				    inspect_lanes(r.db, &f, next, 2, take_lane,
					&t, &next, &err),
				    RC_OK);
			while (next != 0);
			assert_int_equal(t.n, n);
			assert_memory_equal(
			    seen, expected, n * sizeof(seen[0]));
		}
	}
	rig_close(&r);
}

/* ---- dead letters ---- */

static enum rc
take_dead(void *arg, const struct inspect_dead_letter *dead, struct err *err)
{
	struct taking *t = arg;

	(void)err;
	seen[t->n++] = dead->dead_id;
	return (RC_OK);
}

static void
make_letters(struct rig *r, int64_t n)
{

	make_rows(r, 1, n,
	    "CASE WHEN i % 2 = 1 THEN 'failed' ELSE 'expired' END",
	    "101 + i % 4", "");
	run(r,
	    "INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, "
	    "dest_id, destination_id, state, reason, attempts, retry_count, "
	    "event_time, created_at, dead_at, resolution, resolved_at) SELECT "
	    "o.id, o.mid, o.sender_id, o.dest_id, "
	    "coalesce(d.destination_id, 1), o.state, CASE o.id %% 3 WHEN 0 "
	    "THEN 'poison' ELSE 'max_retries' END, 1, 1, 1, 1, 1, CASE WHEN "
	    "o.id %% 10 = 3 THEN 'discarded' END, CASE WHEN o.id %% 10 = 3 "
	    "THEN 5 END FROM outbox o JOIN users d ON d.user_id = o.dest_id "
	    "ORDER BY o.id");
}

static const struct {
	struct inspect_dead_letter_filter filter;
	const char *where;
} dead_filters[] = {
    {{INSPECT_OPEN, "", -1, 0}, "resolution IS NULL"},
    {{INSPECT_RESOLVED, "", -1, 0}, "resolution IS NOT NULL"},
    {{INSPECT_BOTH, "", -1, 0}, "true"},
    {{INSPECT_OPEN, "poison", -1, 0},
	"resolution IS NULL AND reason = 'poison'"},
    {{INSPECT_OPEN, "poison", 2, BOB},
	"resolution IS NULL AND reason = 'poison' AND destination_id = 2 AND "
	"sender_id = 102"},
    {{INSPECT_BOTH, "", 1, ANN}, "destination_id = 1 AND sender_id = 101"},
};

static void
test_letters(void **state)
{
	struct err err = ERR_INIT;
	int64_t ids[OPERATOR_DEAD_LETTERS], last, left, next;
	struct taking t;
	struct rig r;
	char sql[256];
	size_t i, k, n, all;
	bool whole;

	(void)state;
	rig_open(&r);
	make_people(&r);
	make_letters(&r, 700);
	for (i = 0; i < sizeof(dead_filters) / sizeof(dead_filters[0]); i++) {
		(void)snprintf(sql, sizeof(sql),
		    "SELECT dead_id FROM dead_letter_queue WHERE %s ORDER BY "
		    "dead_id DESC",
		    dead_filters[i].where);
		all = ids_of(&r, sql);
		assert_true(all > 0);
		t.n = 0;
		next = INT64_MAX;
		while (next != 0)
			assert_int_equal(
			    inspect_dead_letters(r.db, &dead_filters[i].filter,
				next, 7, take_dead, &t, &next, &err),
			    RC_OK);
		assert_int_equal(t.n, all);
		assert_memory_equal(seen, expected, all * sizeof(seen[0]));
		if (dead_filters[i].filter.resolved != INSPECT_OPEN)
			continue;
		/* In the order in which they are requeued, oldest first. */
		assert_int_equal(
		    inspect_dead_letters_left(
			r.db, &dead_filters[i].filter, 0, &left, &whole, &err),
		    RC_OK);
		assert_int_equal(left, all);
		assert_true(whole);
		last = 0;
		k = all;
		do {
			assert_int_equal(inspect_dead_letter_ids(r.db,
					     &dead_filters[i].filter, last, ids,
					     9, &n, &last, &err),
			    RC_OK);
			assert_true(n <= 9);
			while (n > 0)
				seen[--k] = ids[--n];
		} while (last != 0 && k > 0);
		assert_int_equal(k, 0);
	}
	rig_close(&r);
}

/* ---- what it writes ---- */

static void
finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	*(bool *)u->arg = true;
}

static void
apply(struct rig *r, struct operator_unit *u)
{
	bool done = false;

	u->unit.finish = finished;
	u->arg = &done;
	assert_int_equal(writer_submit(r->writer, &u->unit), RC_OK);
	while (!done)
		(void)writer_run_once(r->writer);
}

static void
test_writes(void **state)
{
	struct operator_dead_letter letters[3] = {
	    {.dead_id = 1}, {.dead_id = 77}};
	struct operator_unit u;
	struct uuid id;
	struct rig r;
	int64_t ann;

	(void)state;
	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	(void)rig_user(&r, "bob", NULL);
	id = uuid_gen_next(&r.ids);
	(void)rig_send(&r, ann, "bob", "hello", &id);

	/* For another user the message does not exist. */
	operator_unit_init(&u, OPERATOR_OWN_RETRY, "bob");
	u.sender_id = ann + 1;
	u.message = id;
	apply(&r, &u);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NOT_FOUND);

	operator_unit_init(&u, OPERATOR_DISCARD, "root");
	u.message = id;
	apply(&r, &u);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	assert_int_equal(u.done, 1);
	assert_string_equal(rig_text(&r, "SELECT state || reason FROM outbox "
					 "WHERE kind = 1"),
	    "faileddiscarded");
	assert_string_equal(
	    rig_text(&r, "SELECT actor || ' ' || action FROM audit_log"),
	    "root discard");

	/* Again: refused, and not in the audit log. */
	apply(&r, &u);
	assert_int_equal(u.refusal.problem, PROBLEM_CONFLICT);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM audit_log"), 1);

	/* One that is resolved already and one that never existed. */
	operator_unit_init(&u, OPERATOR_REQUEUE_DEAD_LETTERS, "root");
	u.dead_letters = letters;
	u.ndead_letters = 2;
	apply(&r, &u);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.done, 0);
	assert_true(letters[0].refused && letters[1].refused);
	run(&r, "UPDATE dead_letter_queue SET resolution = NULL, "
		"resolved_at = NULL");
	apply(&r, &u);
	assert_int_equal(u.done, 1);
	assert_false(letters[0].refused);
	assert_true(letters[1].refused);
	assert_string_equal(
	    rig_text(&r, "SELECT state FROM outbox WHERE kind = 1"), "pending");
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM audit_log"), 2);
	assert_int_equal(rig_deliver(&r), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_filters),
	    cmocka_unit_test(test_large_sets),
	    cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_ages),
	    cmocka_unit_test(test_figures),
	    cmocka_unit_test(test_lanes),
	    cmocka_unit_test(test_letters),
	    cmocka_unit_test(test_writes),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
