/* SPDX-License-Identifier: MIT */
/*
 * The queries for operators return every column of their rows.  See columns.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/columns.h"
#include "inspect/inspect.h"
#include "store/dead_letter.h"

/* ---- outbox rows ---- */

static enum rc
say_row(void *arg, const struct inspect_outbox_row *r, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(r->id);
	SAY_ID(r->message_id);
	SAY(r->kind);
	SAY_TEXT(r->from);
	SAY_TEXT(r->to);
	SAY_TEXT(r->destination);
	SAY_TEXT(r->state);
	SAY_TEXT(r->reason);
	SAY(r->priority);
	SAY(r->attempts);
	SAY(r->retry_count);
	SAY(r->rescue_count);
	SAY(r->requeues);
	SAY(r->event_time);
	SAY(r->created_at);
	SAY(r->last_attempt_at);
	SAY(r->last_status_at);
	SAY(r->next_retry_at);
	SAY(r->deliver_at);
	SAY(r->expires_at);
	SAY(r->sent_at);
	SAY(r->acked_at);
	SAY(r->read_at);
	SAY_TEXT(r->last_error);
	SAY(r->lane_id);
	SAY(r->lane_seq);
	END();
	return (RC_OK);
}

static enum rc
say_admin_message(void *arg, const struct inspect_message *m, struct err *err)
{

	(void)arg;
	(void)err;
	SAY_ID(m->id);
	SAY_ID(m->conversation);
	SAY_TEXT(m->from);
	SAY_TEXT(m->correlation_id);
	SAY(m->conversation_seq);
	SAY(m->event_time);
	SAY(m->created_at);
	END();
	return (RC_OK);
}

static enum rc
say_attempt(void *arg, const struct inspect_attempt *a, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(a->attempt);
	SAY(a->started_at);
	SAY(a->finished_at);
	SAY_TEXT(a->outcome);
	SAY_TEXT(a->error);
	SAY_TEXT(a->owner);
	SAY(a->status);
	END();
	return (RC_OK);
}

static void
test_admin_rows(void **state)
{

	(void)state;
	open_rows();
	READ(inspect_outbox_row(rig.db, 101, say_row, NULL, &err),
	    "101 #71 1 ann bob local failed too_large 1 1001 1002 1003 1014 "
	    "1007 1008 1009 1010 1004 1005 1006 1011 1012 623 broken 91 11 \n");
	READ(inspect_outbox_row(rig.db, 103, say_row, NULL, &err),
	    "103 #73 1 ann x@far.example far.example pending - -1 0 0 0 0 "
	    "1033 1034 0 1035 0 1031 1032 0 0 0 - 92 0 \n");
	READ(inspect_message(rig.db, &(struct uuid){.b = {[15] = 71}},
		 say_admin_message, NULL, &err),
	    "#71 #61 ann order 43 711 712 \n");
	READ(inspect_message(rig.db, &(struct uuid){.b = {[15] = 73}},
		 say_admin_message, NULL, &err),
	    "#73 #62 ann - 0 731 732 \n");
	READ(inspect_attempts(rig.db, 101, 9, say_attempt, NULL, &err),
	    "2 1103 0 - - other 0 \n"
	    "1 1101 1102 refused busy node 503 \n");
	READ(inspect_attempts(rig.db, 101, 1, say_attempt, NULL, &err),
	    "2 1103 0 - - other 0 \n");
	rig_close(&rig);
}

/* The time up to which the user has published read receipts. */
static void
test_admin_read(void **state)
{
	static const struct {
		const char *change;
		int64_t read_at;
	} cases[] = {
	    {"UPDATE participants SET shown_upto = 43 WHERE user_id = 2", 623},
	    {"UPDATE participants SET shown_upto = 42 WHERE user_id = 2", 0},
	    {"UPDATE participants SET shown_upto = 43 WHERE user_id = 2;"
	     "UPDATE outbox SET sent_at = NULL WHERE id = 101",
		0},
	    {"UPDATE outbox SET sent_at = 1, conversation_seq = NULL "
	     "WHERE id = 101",
		0},
	};
	size_t i;
	char *at;
	int k;

	(void)state;
	open_rows();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;

		(void)rig_exec(&rig, cases[i].change);
		begin();
		assert_int_equal(
		    inspect_outbox_row(rig.db, 101, say_row, NULL, &err),
		    RC_OK);
		for (at = said, k = 0; k < 22; k++)
			at = strchr(at, ' ') + 1;
		assert_int_equal(strtoll(at, NULL, 10), cases[i].read_at);
	}
	rig_close(&rig);
}

static enum rc
say_dead(void *arg, const struct inspect_dead_letter *d, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(d->dead_id);
	SAY(d->outbox_id);
	SAY_ID(d->message_id);
	SAY_TEXT(d->from);
	SAY_TEXT(d->to);
	SAY_TEXT(d->destination);
	SAY_TEXT(d->state);
	SAY_TEXT(d->reason);
	SAY_TEXT(d->last_error);
	SAY(d->attempts);
	SAY(d->retry_count);
	SAY(d->event_time);
	SAY(d->created_at);
	SAY(d->dead_at);
	SAY_TEXT(d->resolution);
	SAY(d->resolved_at);
	SAY_TEXT(d->resolved_by);
	END();
	return (RC_OK);
}

static void
test_admin_letters(void **state)
{
	const struct inspect_dead_letter_filter both = {
	    INSPECT_BOTH, "", -1, 0};
	struct store_dead_letter o;
	struct err error = ERR_INIT;
	int64_t next = -1;

	(void)state;
	open_rows();
	READ(inspect_dead_letters(
		 rig.db, &both, INT64_MAX, 9, say_dead, NULL, &next, &err),
	    "112 101 #71 bob ann local expired expired - 1121 1122 1123 1124 "
	    "1125 - 0 - \n"
	    "111 101 #71 ann x@far.example far.example failed rejected broken "
	    "1111 1112 1113 1114 1115 discarded 1116 root \n");
	assert_int_equal(next, 0);
	/* Dead letters with some empty columns. */
	READ(inspect_dead_letters_of(rig.db, 101, 9, say_dead, NULL, &err),
	    "112 0 #0 - - - expired expired - 0 0 0 0 1125 - 0 - \n"
	    "111 0 #0 - - - failed rejected - 0 0 0 0 1115 discarded 1116 "
	    "root \n");
	READ(inspect_dead_letters_of(rig.db, 101, 1, say_dead, NULL, &err),
	    "112 0 #0 - - - expired expired - 0 0 0 0 1125 - 0 - \n");
	READ(inspect_dead_letters_of(rig.db, 102, 9, say_dead, NULL, &err), "");

	memset(&o, 0x55, sizeof(o));
	assert_int_equal(store_dead_letter_get(rig.db, 111, &o, &error), RC_OK);
	assert_int_equal(o.outbox_id, 101);
	assert_false(o.open);
	assert_int_equal(id_number(&o.message_id), 71);
	assert_string_equal(o.to, "x@far.example");
	assert_int_equal(store_dead_letter_get(rig.db, 112, &o, &error), RC_OK);
	assert_true(o.open);
	assert_string_equal(o.to, "ann");
	assert_int_equal(
	    store_dead_letter_get(rig.db, 113, &o, &error), RC_NOT_FOUND);
	rig_close(&rig);
}

static enum rc
say_admin_destination(
    void *arg, const struct inspect_destination *d, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(d->destination_id);
	SAY_TEXT(d->name);
	SAY_TEXT(d->breaker);
	SAY(d->failures);
	SAY(d->successes);
	SAY(d->next_probe_at);
	SAY(d->failing_since);
	SAY(d->last_success_at);
	SAY(d->last_failure_at);
	SAY_TEXT(d->last_error);
	SAY(d->paused_at);
	SAY_TEXT(d->paused_by);
	SAY_TEXT(d->pause_reason);
	SAY(d->per_second);
	END();
	return (RC_OK);
}

static enum rc
say_admin_lane(void *arg, const struct inspect_lane *l, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(l->lane_id);
	SAY_ID(l->conversation);
	SAY_TEXT(l->to);
	SAY_TEXT(l->destination);
	SAY_TEXT(l->state);
	SAY_TEXT(l->lease_owner);
	SAY(l->class);
	SAY(l->priority);
	SAY(l->next_seq);
	SAY(l->last_published_seq);
	SAY(l->tail_seq);
	SAY(l->due_at);
	SAY(l->lease_until);
	SAY(l->lease_token);
	SAY(l->updated_at);
	SAY(l->replay_seq);
	END();
	return (RC_OK);
}

static void
test_admin_places(void **state)
{
	const struct inspect_lane_filter any = {-1, NULL};
	int64_t next = -1;

	(void)state;
	open_rows();
	READ(inspect_destinations(
		 rig.db, "", 9, say_admin_destination, NULL, &err),
	    "0 * closed 0 0 0 0 0 0 - 0 - - 0 \n"
	    "2 far.example half_open 301 302 304 305 306 307 no route 308 root "
	    "repairs 309 \n"
	    "1 local closed 0 0 0 0 0 0 - 0 - - 0 \n"
	    "3 near.example open 0 0 0 0 0 0 - 0 - - 0 \n");
	READ(inspect_destinations(
		 rig.db, "*", 1, say_admin_destination, NULL, &err),
	    "2 far.example half_open 301 302 304 305 306 307 no route 308 root "
	    "repairs 309 \n");
	READ(inspect_destination(
		 rig.db, "near.example", say_admin_destination, NULL, &err),
	    "3 near.example open 0 0 0 0 0 0 - 0 - - 0 \n");
	/* The tail is never before the cursor. */
	READ(inspect_lanes(
		 rig.db, &any, 0, 9, say_admin_lane, NULL, &next, &err),
	    "91 #61 bob local local - 0 0 12 10 12 0 0 0 911 0 \n"
	    "92 #62 x@far.example far.example leased node 1 -1 22 21 29 921 "
	    "923 922 924 20 \n"
	    "93 #61 x@far.example far.example ready - 0 1 33 31 32 931 0 932 "
	    "933 0 \n");
	assert_int_equal(next, 0);
	(void)rig_exec(&rig,
	    "UPDATE outbox SET state = 'sent' WHERE id = 102;"
	    "UPDATE outbox_lanes SET tail_seq = 9 WHERE lane_id = 91");
	READ(inspect_lane(rig.db, 91, say_admin_lane, NULL, &err),
	    "91 #61 bob local local - 0 0 12 10 11 0 0 0 911 0 \n");
	rig_close(&rig);
}

static enum rc
say_user(void *arg, const struct inspect_user *u, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(u->user_id);
	SAY_TEXT(u->name);
	SAY_TEXT(u->display_name);
	SAY(u->admin);
	SAY(u->local);
	SAY(u->disabled_at);
	SAY(u->created_at);
	SAY(u->devices);
	END();
	return (RC_OK);
}

static enum rc
say_audit(void *arg, const struct inspect_audit *a, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(a->audit_id);
	SAY(a->at);
	SAY_TEXT(a->actor);
	SAY_TEXT(a->action);
	SAY_TEXT(a->object);
	SAY_TEXT(a->detail);
	END();
	return (RC_OK);
}

/* The senders come in any order. */
static void
count_sender(void *arg, int64_t sender_id)
{

	((int *)arg)[sender_id]++;
}

static void
test_admin_people(void **state)
{
	int senders[4] = {0};
	bool all = false;

	(void)state;
	open_rows();
	READ(inspect_users(rig.db, "", 9, say_user, NULL, &err),
	    "1 ann Ann A 1 1 0 401 2 \n"
	    "2 bob - 0 1 403 402 1 \n"
	    "3 x@far.example - 0 0 0 404 0 \n");
	READ(inspect_users(rig.db, "ann", 1, say_user, NULL, &err),
	    "2 bob - 0 1 403 402 1 \n");
	READ(inspect_user(rig.db, 1, say_user, NULL, &err),
	    "1 ann Ann A 1 1 0 401 2 \n");
	READ(inspect_user(rig.db, 2, say_user, NULL, &err),
	    "2 bob - 0 1 403 402 1 \n");
	READ(inspect_user(rig.db, 77, say_user, NULL, &err), "");
	READ(inspect_audit(rig.db, INT64_MAX, 9, say_audit, NULL, &err),
	    "122 1212 ann resume * - \n"
	    "121 1211 root pause far.example repairs \n");
	READ(inspect_audit(rig.db, 122, 9, say_audit, NULL, &err),
	    "121 1211 root pause far.example repairs \n");
	READ(inspect_audit(rig.db, INT64_MAX, 1, say_audit, NULL, &err),
	    "122 1212 ann resume * - \n");
	/* Counts waiting messages to people here and elsewhere, but neither
	 * receipts nor messages without a place. */
	(void)rig_exec(
	    &rig, "UPDATE outbox SET state = 'pending' WHERE id = 104");
	READ(inspect_senders(rig.db, count_sender, senders, &all, &err), "");
	assert_true(all);
	assert_int_equal(senders[1], 0);
	assert_int_equal(senders[2], 1);
	(void)rig_exec(&rig, "UPDATE outbox SET kind = 1 WHERE id = 104;"
			     "UPDATE outbox SET lane_seq = 27 WHERE id = 103");
	READ(inspect_senders(rig.db, count_sender, senders, &all, &err), "");
	assert_true(all);
	assert_int_equal(senders[1], 1);
	assert_int_equal(senders[2], 3);
	rig_close(&rig);
}

/* ---- totals ---- */

/* Each total reaches its own member, and nothing after the totals is
 * overwritten. */
static void
test_totals(void **state)
{
	struct {
		struct store_totals t;
		int64_t behind;
	} got;
	struct store_totals before, delta;
	struct err err = ERR_INIT;
	int i;

	(void)state;
	rig_open(&rig);
	assert_int_equal(store_totals_get(rig.db, &before, &err), RC_OK);
	for (i = 0; i < STORE_TOTALS; i++)
		delta.n[i] = 100 + i;
	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(store_totals_add(rig.db, &delta, &err), RC_OK);
	assert_int_equal(db_commit(rig.db, &err), RC_OK);
	memset(&got, 0x55, sizeof(got));
	got.behind = 77;
	assert_int_equal(store_totals_get(rig.db, &got.t, &err), RC_OK);
	for (i = 0; i < STORE_TOTALS; i++)
		assert_int_equal(got.t.n[i], before.n[i] + 100 + i);
	assert_int_equal(got.behind, 77);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_admin_rows),
	    cmocka_unit_test(test_admin_read),
	    cmocka_unit_test(test_admin_letters),
	    cmocka_unit_test(test_admin_places),
	    cmocka_unit_test(test_admin_people),
	    cmocka_unit_test(test_totals),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
