/* SPDX-License-Identifier: MIT */
/*
 * The purger deletes old rows, and these stay the same: entries, unread counts,
 * history, acks, receipts, ids, the result of fsck.  Its units are small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "chat/entry.h"
#include "contract/rig.h"
#include "schema/sql.h"
#include "store/conversation.h"
#include "upkeep/purger.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)

struct upkept {
	struct rig r;
	struct db *eyes; /* the purger's connection */
	struct metrics *metrics;
	struct purger *purger;
	int64_t alice, bob, carol, alice_phone, bob_phone;
	int units;       /* submitted */
	enum rc refused; /* a failure of the next submit, once */
	enum rc fails;   /* the result of the next unit, once */
};

static enum rc
submit(void *arg, struct unit *unit)
{
	struct upkept *k = arg;
	enum rc rc = k->refused;

	k->refused = RC_OK;
	k->units++;
	if (k->fails != RC_OK) {
		unit->rc = k->fails;
		k->fails = RC_OK;
		unit->finish(unit);
		return (RC_OK);
	}
	return (rc != RC_OK ? rc : writer_submit(k->r.writer, unit));
}

static void
make_purger(struct upkept *k)
{
	struct purger_options o = {.clk = &k->r.clk.clk,
	    .commits = writer_commits(k->r.writer),
	    .metrics = k->metrics,
	    .rate = 2000,
	    .submit = submit,
	    .arg = k,
	    .retention_ms = {7 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 400 * DAY,
		7 * DAY, 7 * DAY}};
	struct err err = ERR_INIT;

	k->eyes = rig_reader(&k->r);
	o.db = k->eyes;
	assert_int_equal(purger_new(&o, &k->purger, &err), RC_OK);
}

static void
open_upkept(struct upkept *k)
{

	memset(k, 0, sizeof(*k));
	rig_open(&k->r);
	k->alice = rig_user(&k->r, "alice", &k->alice_phone);
	k->bob = rig_user(&k->r, "bob", &k->bob_phone);
	k->carol = rig_user(&k->r, "carol", NULL);
	k->metrics = metrics_new();
	make_purger(k);
}

static void
close_upkept(struct upkept *k)
{

	purger_free(k->purger);
	db_close(k->eyes);
	metrics_free(k->metrics);
	rig_close(&k->r);
}

/* Runs the purger for ${ms} of its clock. */
static void
tidy(struct upkept *k, int64_t ms)
{
	int64_t end = clk_mono_ms(&k->r.clk.clk) + ms, next, now;

	while ((now = clk_mono_ms(&k->r.clk.clk)) < end) {
		next = purger_turn(k->purger);
		(void)writer_run_once(k->r.writer);
		now = clk_mono_ms(&k->r.clk.clk);
		clk_fake_advance(
		    &k->r.clk, next > now && next < end ? next - now : 1);
	}
}

/* Alice sends.  Returns the message's id. */
static struct uuid
say(struct upkept *k, const char *to, const char *body)
{
	struct uuid id = uuid_gen_next(&k->r.ids);

	assert_int_equal(
	    rig_send(&k->r, k->alice, to, body, &id).unit.rc, RC_OK);
	return (id);
}

/* An entry as its sender sees it. */
struct seen {
	char address[64];
	int state, attempts;
	int64_t sent_at, acked_at, read_at, conversation_seq;
	int ndestinations;
};

static enum rc
see(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{
	const struct destination_view *d = &e->destinations[0];
	struct seen *s = arg;

	(void)mid;
	(void)err;
	memset(s, 0, sizeof(*s));
	(void)snprintf(s->address, sizeof(s->address), "%s", d->address);
	s->state = d->state;
	s->attempts = d->attempts;
	s->sent_at = d->sent_at;
	s->acked_at = d->acked_at;
	s->read_at = d->read_at;
	s->conversation_seq = e->conversation_seq;
	s->ndestinations = e->ndestinations;
	return (RC_OK);
}

static struct seen
entry_of(struct upkept *k, int64_t sender, const struct uuid *id)
{
	struct err err = ERR_INIT;
	struct seen s = {.state = -1};

	assert_int_equal(entry_get(k->r.db, &(struct entry_of){sender, 10}, id,
			     see, &s, &err),
	    RC_OK);
	return (s);
}

static int64_t
rows(struct upkept *k, const char *where)
{
	char sql[256];

	(void)snprintf(
	    sql, sizeof(sql), "SELECT count(*) FROM outbox WHERE %s", where);
	return (rig_number(&k->r, sql));
}

/* ---- what is deleted and what stays ---- */

/* Acked rows are deleted, with receipts and own read events.  A message to a
 * person who is away stays. */
static void
test_acked_go(void **state)
{
	struct uuid read, acked, own, away, hidden;
	struct seen before, after;
	struct upkept k;
	int64_t last;

	(void)state;
	open_upkept(&k);
	read = say(&k, "bob", "read");
	acked = say(&k, "bob", "acked");
	own = say(&k, "alice", "to myself");
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 2);
	(void)rig_read(&k.r, k.bob, k.bob_phone, 1, false);
	(void)rig_deliver(&k.r);
	away = say(&k, "carol", "are you there");
	(void)rig_deliver(&k.r);
	hidden = say(&k, "carol", "oops");
	assert_int_equal(rig_cancel(&k.r, k.alice, &hidden).unit.rc, RC_OK);
	last = rig_number(&k.r, "SELECT max(id) FROM outbox");
	before = entry_of(&k, k.alice, &read);

	tidy(&k, 60 * SECOND);
	assert_int_equal(k.units, 0); /* all are young */
	clk_fake_advance(&k.r.clk, 6 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(k.units, 0);

	clk_fake_advance(&k.r.clk, 2 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(rows(&k, "state = 'acked'"), 0);
	assert_int_equal(rows(&k, "kind IN (2, 3, 4)"), 0);
	assert_int_equal(rows(&k, "state = 'sent' AND kind = 1"), 1);
	assert_int_equal(rows(&k, "state = 'canceled'"), 1);
	/* The newest row of all stays, whatever its state. */
	assert_int_equal(rig_number(&k.r, "SELECT max(id) FROM outbox"), last);
	assert_true(metrics_get_by(k.metrics, METRIC_BY_PURGED, "outbox") >= 5);
	rig_check_promises(&k.r);

	after = entry_of(&k, k.alice, &read);
	assert_string_equal(after.address, "bob");
	assert_int_equal(after.ndestinations, 1);
	assert_int_equal(after.state, OUTBOX_ACKED);
	assert_int_equal(after.sent_at, before.sent_at);
	assert_int_equal(after.acked_at, before.acked_at);
	assert_int_equal(after.read_at, before.read_at);
	assert_int_equal(after.attempts, before.attempts);
	after = entry_of(&k, k.alice, &acked);
	assert_int_equal(after.state, OUTBOX_ACKED);
	assert_true(after.acked_at != 0);
	assert_int_equal(after.read_at, 0);
	after = entry_of(&k, k.alice, &own);
	assert_string_equal(after.address, "alice");
	assert_int_equal(after.state, OUTBOX_ACKED);
	assert_int_equal(entry_of(&k, k.alice, &away).state, OUTBOX_SENT);
	assert_int_equal(entry_of(&k, k.alice, &hidden).state, OUTBOX_CANCELED);

	/* A purged message cannot be canceled, and its id is still known. */
	assert_int_equal(rig_cancel(&k.r, k.alice, &read).refusal.problem,
	    PROBLEM_ALREADY_SENT);
	assert_true(rig_send(&k.r, k.alice, "bob", "read", &read).replayed);
	close_upkept(&k);
}

/* The row of a bounce has its reason, so it stays, as do failed and expired
 * rows, and a requeued one, because it came out of order. */
static void
test_reasons_stay(void **state)
{
	struct upkept k;
	int i;

	(void)state;
	open_upkept(&k);
	for (i = 0; i < 5; i++)
		(void)rig_send(&k.r, k.alice, "bob", "x", NULL);
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 5);
	(void)rig_deliver(&k.r);
	(void)rig_exec(&k.r,
	    "UPDATE outbox SET kind = 5 WHERE id = 1;"
	    "UPDATE outbox SET state = 'failed', acked_at = NULL,"
	    " reason = 'rejected' WHERE id = 2;"
	    "UPDATE outbox SET state = 'expired', acked_at = NULL"
	    " WHERE id = 3;"
	    "UPDATE outbox SET requeues = 1 WHERE id = 4");
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(rows(&k, "id <= 4"), 4);
	assert_int_equal(rows(&k, "id = 5"), 0);
	close_upkept(&k);
}

/* For a person who comes back late, acks, reads, counts and history are as if
 * nothing had been purged.  The rows are deleted in their time. */
static void
test_late_ack(void **state)
{
	struct uuid old, late;
	struct upkept k;
	struct err err = ERR_INIT;
	int64_t total = -1;

	(void)state;
	open_upkept(&k);
	old = say(&k, "bob", "old");
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 1);
	(void)rig_deliver(&k.r);
	late = say(&k, "bob", "late");
	(void)rig_send(&k.r, k.alice, "bob", "later", NULL);
	(void)rig_deliver(&k.r);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(entry_of(&k, k.alice, &old).state, OUTBOX_ACKED);
	assert_int_equal(rows(&k, "kind = 1 AND state = 'acked'"), 0);

	/* All three are unread, the purged one, too. */
	assert_int_equal(
	    store_unread_total(k.r.db, k.bob, &total, &err), RC_OK);
	assert_int_equal(total, 3);
	(void)rig_read(&k.r, k.bob, k.bob_phone, 2, false);
	assert_int_equal(
	    store_unread_total(k.r.db, k.bob, &total, &err), RC_OK);
	assert_int_equal(total, 1);
	assert_int_equal(entry_of(&k, k.alice, &late).state, OUTBOX_ACKED);
	assert_true(entry_of(&k, k.alice, &old).read_at != 0);
	/* Their sender gets the receipt. */
	rig_forget(&k.r);
	assert_true(rig_deliver(&k.r) >= 1);
	assert_int_equal(k.r.events[k.r.nevents - 1].user_id, k.alice);
	rig_check_promises(&k.r);

	/* The row became old enough behind the purger's cursor: a later round
	 * deletes it. */
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(rows(&k, "kind = 1 AND state = 'acked'"), 0);
	assert_int_equal(rows(&k, "kind = 1 AND state = 'sent'"), 1);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

/* R99: a row is deleted at most a day after its retention.  The worst case is a
 * row that becomes old enough behind the cursor of a round that has just
 * begun. */
static void
test_daily(void **state)
{
	struct upkept k;
	int hour;

	(void)state;
	open_upkept(&k);
	(void)rig_send(&k.r, k.alice, "bob", "late", NULL);
	(void)rig_send(&k.r, k.alice, "bob", "soon", NULL);
	(void)rig_deliver(&k.r);
	clk_fake_advance(&k.r.clk, DAY);
	tidy(&k, 60 * SECOND);
	clk_fake_advance(&k.r.clk, DAY - 60 * SECOND);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 2);
	(void)rig_deliver(&k.r);
	clk_fake_advance(&k.r.clk, 7 * DAY - 60 * SECOND);
	tidy(&k, 59 * SECOND);
	assert_int_equal(rows(&k, "kind = 1"), 2);
	for (hour = 0; hour < 24; hour++) {
		clk_fake_advance(&k.r.clk, 3540 * SECOND);
		tidy(&k, 60 * SECOND);
	}
	assert_int_equal(rows(&k, "kind = 1"), 0);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

/* Ids are never used twice, also if a server starts after everything that can
 * be purged was purged. */
static void
test_ids(void **state)
{
	struct upkept k;
	int64_t last;

	(void)state;
	open_upkept(&k);
	(void)rig_send(&k.r, k.alice, "bob", "one", NULL);
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 1);
	(void)rig_deliver(&k.r);
	last = rig_number(&k.r, "SELECT max(id) FROM outbox");
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(rows(&k, "true"), 1);
	purger_free(k.purger);
	db_close(k.eyes);
	rig_restart(&k.r);
	make_purger(&k);
	(void)rig_send(&k.r, k.alice, "bob", "two", NULL);
	assert_int_equal(
	    rig_number(&k.r, "SELECT max(id) FROM outbox"), last + 1);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

/* fsck does not accept every missing row as a purged one. */
static void
test_mark(void **state)
{
	struct upkept k;

	(void)state;
	open_upkept(&k);
	(void)rig_send(&k.r, k.alice, "carol", "away", NULL);
	(void)rig_send(&k.r, k.alice, "bob", "acked", NULL);
	(void)rig_send(&k.r, k.alice, "bob", "young", NULL);
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 1);
	(void)rig_deliver(&k.r);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_string_equal(
	    rig_text(&k.r, "SELECT value FROM meta WHERE key = 'purge_mark'"),
	    "2");
	rig_check_promises(&k.r);
	/* Before the mark, but Carol has not acked it. */
	(void)rig_exec(&k.r, "DELETE FROM outbox WHERE mid = 1");
	assert_string_equal(rig_broken_promise(&k.r),
	    "accepted, but there is no outbox row: message 1");
	close_upkept(&k);

	/* Acked, but beyond the mark. */
	open_upkept(&k);
	(void)rig_send(&k.r, k.alice, "bob", "acked", NULL);
	(void)rig_deliver(&k.r);
	(void)rig_ack(&k.r, k.bob, k.bob_phone, 1);
	(void)rig_exec(&k.r, "DELETE FROM outbox WHERE mid = 1 AND kind = 1");
	assert_string_equal(rig_broken_promise(&k.r),
	    "accepted, but there is no outbox row: message 1");
	close_upkept(&k);
}

/* R62: the other tables, each with its own retention, and rows that are still
 * needed. */
static void
test_other_tables(void **state)
{
	struct upkept k;
	const char *id;
	char sql[1024];
	int64_t now;

	(void)state;
	open_upkept(&k);
	id = k.r.pg != NULL ? "'00000000-0000-0000-0000-000000000000'"
			    : "zeroblob(16)";
	(void)rig_send(&k.r, k.alice, "bob", "one", NULL);
	now = k.r.clk.wall_ms;
	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO outbox_attempts (outbox_id, attempt, destination_id,"
	    " owner, started_at, finished_at) VALUES"
	    " (50, 1, 1, 'n', %lld, %lld), (51, 1, 1, 'n', %lld, %lld),"
	    " (1, 1, 1, 'n', %lld, %lld), (52, 1, 1, 'n', %lld, NULL);",
	    (long long)now, (long long)now, (long long)now, (long long)now,
	    (long long)now, (long long)now, (long long)now);
	(void)rig_exec(&k.r, sql);
	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id,"
	    " destination_id, state, reason, attempts, retry_count, event_time,"
	    " created_at, dead_at, resolution, resolved_at) VALUES"
	    " (51, 1, 1, 2, 1, 'failed', 'rejected', 1, 0, 1, 1, 1, NULL, NULL),"
	    " (50, 1, 1, 2, 1, 'failed', 'rejected', 1, 0, 1, 1, 1, 'discarded',"
	    " %lld);"
	    "INSERT INTO processed_messages (origin, event_id, processed_at) VALUES (7, %s, %lld),"
	    " (8, %s, %lld);"
	    "INSERT INTO audit_log (at, actor, action, object) VALUES"
	    " (%lld, 'ann', 'pause', '*'), (%lld, 'ann', 'resume', '*')",
	    (long long)now, id, (long long)now, id, (long long)(now + 10 * DAY),
	    (long long)now, (long long)(now + 300 * DAY));
	(void)rig_exec(&k.r, sql);

	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	/* Attempts of an open dead letter stay, and those of a message with
	 * retries. */
	assert_string_equal(
	    rig_list(&k.r, "SELECT outbox_id FROM outbox_attempts ORDER BY 1"),
	    "1 51");
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_string_equal(
	    rig_list(&k.r, "SELECT origin FROM processed_messages"), "8");
	assert_int_equal(
	    rig_number(&k.r, "SELECT count(*) FROM dead_letter_queue"), 2);
	clk_fake_advance(&k.r.clk, 16 * DAY);
	tidy(&k, 60 * SECOND);
	assert_string_equal(
	    rig_list(&k.r, "SELECT outbox_id FROM dead_letter_queue"), "51");
	assert_int_equal(rig_number(&k.r, "SELECT count(*) FROM audit_log"), 2);
	clk_fake_advance(&k.r.clk, 380 * DAY);
	tidy(&k, 60 * SECOND);
	assert_string_equal(
	    rig_list(&k.r, "SELECT action FROM audit_log"), "resume");
	close_upkept(&k);
}

/* ---- small units ---- */

/* Sends and delivers ${n} messages.  All but the first ${away} are acked. */
static void
fill(struct upkept *k, int away, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		(void)rig_send(
		    &k->r, k->alice, i < away ? "carol" : "bob", "x", NULL);
		if (i % 200 == 0)
			(void)rig_deliver(&k->r);
		rig_forget(&k->r);
	}
	(void)rig_deliver(&k->r);
	(void)rig_ack(&k->r, k->bob, k->bob_phone,
	    rig_number(&k->r, "SELECT max(seq) FROM inbox WHERE user_id = 2"));
	(void)rig_deliver(&k->r);
}

/* No unit deletes more than its limit, only one unit is under way at a time,
 * and rows that stay are not read again in each round. */
static void
test_small_pieces(void **state)
{
	struct upkept k;
	int64_t before, after, most = 0;
	int turns;
	uint64_t examined;

	(void)state;
	open_upkept(&k);
	fill(&k, 700, 1500);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	before = rows(&k, "true");
	for (turns = 0; turns < 200; turns++) {
		(void)purger_turn(k.purger);
		(void)purger_turn(k.purger);
		assert_true(writer_waiting(k.r.writer) <= 1);
		(void)writer_run_once(k.r.writer);
		after = rows(&k, "true");
		if (before - after > most)
			most = before - after;
		before = after;
		clk_fake_advance(&k.r.clk, SECOND / 4);
	}
	assert_int_equal(most, PURGE_ROWS);
	assert_true(k.units >= 800 / PURGE_ROWS);
	assert_int_equal(rows(&k, "kind = 1 AND state = 'acked'"), 0);
	assert_int_equal(rows(&k, "kind = 1 AND state = 'sent'"), 700);
	rig_check_promises(&k.r);
	/* When nothing is to be deleted, the purger reads the end of each table
	 * once a minute.  It does not read the seven hundred rows, which would
	 * take two queries. */
	examined = db_statements(k.eyes);
	tidy(&k, 3600 * SECOND);
	assert_in_range(
	    db_statements(k.eyes) - examined, 290, 60 * PURGE_TABLES + 10);
	close_upkept(&k);
}

static void
sent(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	assert_int_equal(u->unit.rc, RC_OK);
	*(int *)u->arg += 1;
}

/* Under load clients' units need as many batches as without the purger, because
 * upkeep has a queue of its own that gets a tenth. */
static void
test_beside_a_load(void **state)
{
	static struct send_unit units[460];
	struct message_draft draft = {0};
	struct upkept k;
	int done = 0, i;

	(void)state;
	open_upkept(&k);
	fill(&k, 0, 600);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	draft.has_id = true;
	draft.to = (struct span){"bob", 3};
	draft.body = (struct span){"hello", 5};
	for (i = 0; i < 200 && k.units == 0; i++) {
		(void)purger_turn(k.purger);
		clk_fake_advance(&k.r.clk, 20);
	}
	assert_int_equal(k.units, 1);
	for (i = 0; i < 460; i++) {
		memset(&units[i], 0, sizeof(units[i]));
		send_unit_init(&units[i]);
		units[i].unit.finish = sent;
		units[i].arg = &done;
		draft.id = uuid_gen_next(&k.r.ids);
		assert_true(
		    send_unit_ask(&units[i], k.alice, &draft, &rig_addressing));
		assert_int_equal(
		    writer_submit(k.r.writer, &units[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(k.r.writer), 461);
	assert_int_equal(done, 460);
	tidy(&k, 60 * SECOND);
	(void)rig_deliver(&k.r);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

/* Rows are not skipped when the writer refuses a unit. */
static void
test_refused(void **state)
{
	struct upkept k;

	(void)state;
	open_upkept(&k);
	fill(&k, 0, 10);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	k.refused = RC_BUSY;
	tidy(&k, 30 * SECOND);
	assert_int_equal(rows(&k, "kind = 1"), 0);
	assert_int_equal(k.units, 2);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

/* A clock that jumps ahead for some time causes no deletion. */
static void
test_leap(void **state)
{
	struct upkept k;

	(void)state;
	open_upkept(&k);
	fill(&k, 0, 3);
	k.r.clk.wall_ms += 3650 * DAY;
	tidy(&k, 1800 * SECOND);
	k.r.clk.wall_ms -= 3650 * DAY;
	tidy(&k, 7200 * SECOND);
	assert_int_equal(k.units, 0);
	/* A clock that stays there is right. */
	k.r.clk.wall_ms += 8 * DAY;
	tidy(&k, 3500 * SECOND);
	assert_int_equal(k.units, 0);
	tidy(&k, 200 * SECOND);
	assert_int_equal(rows(&k, "kind = 1"), 0);
	close_upkept(&k);
}

/* Nor does it if a unit fails meanwhile, which is tried again after 5 s. */
static void
test_leap_and_failure(void **state)
{
	struct upkept k;

	(void)state;
	open_upkept(&k);
	fill(&k, 0, 3);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	k.fails = RC_FULL;
	while (k.units == 0) {
		(void)purger_turn(k.purger);
		clk_fake_advance(&k.r.clk, SECOND);
	}
	k.r.clk.wall_ms += 3650 * DAY;
	tidy(&k, 1800 * SECOND);
	assert_int_equal(k.units, 1);
	k.r.clk.wall_ms -= 3650 * DAY;
	tidy(&k, 7200 * SECOND);
	assert_int_equal(rows(&k, "kind = 1"), 0);
	close_upkept(&k);
}

/* A clock that was ten years ahead for some time stops nothing. */
static void
test_rows_of_the_future(void **state)
{
	struct upkept k;

	(void)state;
	open_upkept(&k);
	clk_fake_advance(&k.r.clk, 3650 * DAY);
	fill(&k, 0, 3);
	k.r.clk.wall_ms -= 3650 * DAY;
	fill(&k, 0, 3);
	clk_fake_advance(&k.r.clk, 8 * DAY);
	tidy(&k, 60 * SECOND);
	assert_int_equal(rows(&k, "kind = 1"), 3);
	rig_check_promises(&k.r);
	close_upkept(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_acked_go),
	    cmocka_unit_test(test_reasons_stay),
	    cmocka_unit_test(test_late_ack),
	    cmocka_unit_test(test_daily),
	    cmocka_unit_test(test_ids),
	    cmocka_unit_test(test_mark),
	    cmocka_unit_test(test_other_tables),
	    cmocka_unit_test(test_small_pieces),
	    cmocka_unit_test(test_beside_a_load),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_leap),
	    cmocka_unit_test(test_leap_and_failure),
	    cmocka_unit_test(test_rows_of_the_future),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
