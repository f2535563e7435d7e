/* SPDX-License-Identifier: MIT */
/*
 * Accounts, devices, destinations, lanes and conversations, column by column.
 * See columns.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/columns.h"
#include "store/account.h"
#include "store/conversation.h"
#include "store/destination.h"
#include "store/lane.h"

/* ---- people and devices ---- */

static void
say_device(void *arg, const struct store_device *d)
{

	(void)arg;
	SAY(d->device_id);
	SAY_ID(d->public_id);
	SAY(d->user_id);
	SAY_TEXT(d->name);
	SAY(d->acked_seq);
	SAY(d->created_at);
	SAY(d->last_seen_at);
	END();
}

static void
say_revoked(void *arg, int64_t device_id, const uint8_t hash[STORE_HASH_LEN])
{

	(void)arg;
	SAY(device_id);
	SAY(hash[0]);
	SAY(hash[STORE_HASH_LEN - 1]);
	END();
}

/* Checks the result of a query for a user, and the user. */
static void
check_user(enum rc rc, const struct store_user *u, const char *expected)
{

	assert_int_equal(rc, RC_OK);
	begin();
	SAY(u->user_id);
	SAY_TEXT(u->name);
	SAY_TEXT(u->display_name);
	SAY_TEXT(u->password_hash);
	SAY(u->admin);
	SAY(u->disabled);
	SAY(u->destination_id);
	SAY(u->password_once);
	SAY(u->password_once_until);
	assert_string_equal(said, expected);
}

static void
test_accounts(void **state)
{
	uint8_t hash[STORE_HASH_LEN] = {[STORE_HASH_LEN - 1] = 12};
	struct err error = ERR_INIT;
	struct store_device d;
	struct store_user u;
	struct store_counter c;
	int64_t n = -1;
	bool any = false;

	(void)state;
	open_rows();
	memset(&u, 0x55, sizeof(u));
	check_user(store_user_by_name(rig.db, "ann", 3, &u, &error), &u,
	    "1 ann Ann A hash 1 0 0 1 405 ");
	memset(&u, 0x55, sizeof(u));
	check_user(store_user_by_id(rig.db, 2, &u, &error), &u,
	    "2 bob '' '' 0 1 0 1 0 ");
	memset(&u, 0x55, sizeof(u));
	check_user(store_user_lock(rig.db, 3, &u, &error), &u,
	    "3 x@far.example '' '' 0 0 2 0 0 ");
	assert_int_equal(
	    store_user_by_name(rig.db, "anne", 4, &u, &error), RC_NOT_FOUND);
	assert_int_equal(store_user_by_id(rig.db, 4, &u, &error), RC_NOT_FOUND);
	assert_int_equal(store_user_any(rig.db, &any, &error), RC_OK);
	assert_true(any);

	memset(&d, 0x55, sizeof(d));
	assert_int_equal(
	    store_device_by_token(rig.db, hash, &d, &error), RC_OK);
	begin();
	say_device(NULL, &d);
	SAY_TEXT(d.user_name);
	SAY(d.admin);
	assert_string_equal(said, "12 #12 1 tablet 0 0 0 \nann 1 ");
	/* A revoked device, and a device of a disabled user. */
	hash[STORE_HASH_LEN - 1] = 13;
	assert_int_equal(
	    store_device_by_token(rig.db, hash, &d, &error), RC_NOT_FOUND);
	hash[STORE_HASH_LEN - 1] = 14;
	assert_int_equal(
	    store_device_by_token(rig.db, hash, &d, &error), RC_NOT_FOUND);

	READ(store_device_list(rig.db, 1, say_device, NULL, &err),
	    "11 #11 1 phone 2 412 413 \n12 #12 1 tablet 4 415 416 \n");
	assert_int_equal(store_device_count(rig.db, 1, &n, &error), RC_OK);
	assert_int_equal(n, 2);
	assert_int_equal(store_device_acked_get(rig.db, 12, &n, &error), RC_OK);
	assert_int_equal(n, 4);
	assert_int_equal(
	    store_device_acked_get(rig.db, 15, &n, &error), RC_NOT_FOUND);

	memset(&c, 0x55, sizeof(c));
	assert_int_equal(store_counter_get(rig.db, 1, &c, &error), RC_OK);
	assert_int_equal(c.head, 9);
	assert_int_equal(c.oldest, 7);
	assert_int_equal(c.acked, 4);
	assert_int_equal(c.read, 8);
	assert_int_equal(
	    store_counter_get(rig.db, 3, &c, &error), RC_NOT_FOUND);
	rig_close(&rig);
}

static void
test_devices_change(void **state)
{
	const struct uuid tablet = {.b = {[15] = 12}};
	const struct uuid other = {.b = {[15] = 14}};
	struct err error = ERR_INIT;
	int64_t id = -1;
	bool held = false;

	(void)state;
	open_rows();
	assert_int_equal(store_device_lock(rig.db, 12, &held, &error), RC_OK);
	assert_true(held);
	assert_int_equal(
	    store_device_rename(rig.db, 1, &tablet, "pads", 3, &id, &error),
	    RC_OK);
	assert_int_equal(id, 12);
	assert_string_equal(
	    rig_list(&rig, "SELECT name FROM devices ORDER BY device_id"),
	    "phone pad lost other");
	assert_int_equal(
	    store_device_rename(rig.db, 1, &other, "pad", 3, &id, &error),
	    RC_NOT_FOUND);

	READ(store_device_revoke(
		 rig.db, 1, &tablet, 1400, say_revoked, NULL, &err),
	    "12 0 12 \n");
	assert_int_equal(store_device_lock(rig.db, 12, &held, &error), RC_OK);
	assert_false(held);
	/* One that is revoked already, and one of another user. */
	assert_int_equal(store_device_revoke(rig.db, 1, &tablet, 1401,
			     say_revoked, NULL, &error),
	    RC_NOT_FOUND);
	assert_int_equal(store_device_revoke(rig.db, 1, &other, 1401,
			     say_revoked, NULL, &error),
	    RC_NOT_FOUND);
	assert_int_equal(
	    store_device_rename(rig.db, 1, &tablet, "pad", 3, &id, &error),
	    RC_NOT_FOUND);
	READ(store_device_revoke_others(
		 rig.db, 1, 11, 1402, say_revoked, NULL, &err),
	    "");
	READ(store_device_revoke_others(
		 rig.db, 1, 0, 1403, say_revoked, NULL, &err),
	    "11 0 11 \n");
	assert_string_equal(
	    rig_list(&rig, "SELECT coalesce(revoked_at, 0) FROM devices "
			   "ORDER BY device_id"),
	    "1403 1400 419 0");
	rig_close(&rig);
}

/* ---- destinations and lanes ---- */

static void
say_destination_row(const struct store_destination_row *d)
{
	const struct breaker *b = &d->breaker;

	SAY(d->destination_id);
	SAY_TEXT(d->name);
	SAY_TEXT(breaker_state_name(b->state));
	SAY(b->failures);
	SAY(b->successes);
	SAY(b->interval_ms);
	SAY(b->next_probe_at);
	SAY(b->failing_since);
	SAY(b->last_success_at);
	SAY(b->last_failure_at);
	SAY(b->window_milli);
	SAY_TEXT(d->last_error);
	SAY(d->paused_at);
	SAY_TEXT(d->paused_by);
	SAY_TEXT(d->pause_reason);
	SAY(d->per_second);
	END();
}

static enum rc
each_destination_row(
    void *arg, const struct store_destination_row *d, struct err *err)
{

	(void)arg;
	(void)err;
	say_destination_row(d);
	return (RC_OK);
}

static void
test_destinations(void **state)
{
	struct store_destination_row d;
	struct err error = ERR_INIT;

	(void)state;
	open_rows();
	memset(&d, 0x55, sizeof(d));
	assert_int_equal(
	    store_destination_by_name(rig.db, "far.example", &d, &error),
	    RC_OK);
	begin();
	say_destination_row(&d);
	assert_string_equal(said,
	    "2 far.example half_open 301 302 303 304 305 306 307 1000 no route "
	    "308 root repairs 309 \n");
	assert_int_equal(
	    store_destination_by_id(rig.db, 9, &d, &error), RC_NOT_FOUND);
	READ(store_destinations_after(
		 rig.db, 1, 9, each_destination_row, NULL, &err),
	    "2 far.example half_open 301 302 303 304 305 306 307 1000 no route "
	    "308 root repairs 309 \n"
	    "3 near.example open 0 0 0 0 0 0 0 1000 '' 0 '' '' 0 \n");
	(void)rig_exec(&rig,
	    "UPDATE outbox_lanes SET destination_id = 3, state = 'ready' "
	    "WHERE lane_id = 91");
	READ(store_destinations_ready(
		 rig.db, 2, 9, each_destination_row, NULL, &err),
	    "3 near.example open 0 0 0 0 0 0 0 1000 '' 0 '' '' 0 \n");

	/* The other direction: each member reaches its column. */
	assert_int_equal(
	    store_destination_by_name(rig.db, "far.example", &d, &error),
	    RC_OK);
	d.destination_id = 3;
	assert_int_equal(
	    store_destination_breaker_set(rig.db, &d, 1501, &error), RC_OK);
	assert_int_equal(
	    store_destination_pause_set(rig.db, &d, 1502, &error), RC_OK);
	assert_int_equal(
	    store_destination_rate_set(rig.db, 3, 1503, 1504, &error), RC_OK);
	assert_int_equal(store_destination_by_id(rig.db, 3, &d, &error), RC_OK);
	begin();
	say_destination_row(&d);
	assert_string_equal(said,
	    "3 near.example half_open 301 302 303 304 305 306 307 1000 "
	    "no route 308 root repairs 1503 \n");
	assert_int_equal(rig_number(&rig, "SELECT updated_at FROM destinations "
					  "WHERE destination_id = 3"),
	    1504);
	rig_close(&rig);
}

static void
test_lanes(void **state)
{
	const struct store_lane key = {.conversation_id = 62,
	    .dest_user = 3,
	    .destination_id = 2,
	    .class = LANE_RECEIPTS};
	static const struct {
		int64_t id;
		const char *expected;
	} cases[] = {
	    {91, "91 61 2 1 0 0 0 11 12 10 0 0 0 0 ''  "},
	    {92, "92 62 3 2 1 3 -1 29 22 21 921 922 923 20 node  "},
	    {93, "93 61 3 2 0 2 1 32 33 31 931 932 0 0 ''  "},
	};
	struct err error = ERR_INIT;
	struct store_lane l;
	size_t i;

	(void)state;
	open_rows();
	(void)rig_exec(&rig,
	    "UPDATE outbox SET state = 'sent' WHERE id = 102;"
	    "UPDATE outbox_lanes SET tail_seq = 9 WHERE lane_id = 91");
	for (i = 0; i < 3; i++) {
		memset(&l, 0x55, sizeof(l));
		assert_int_equal(
		    store_lane_get(rig.db, cases[i].id, &l, &error), RC_OK);
		begin();
		SAY(l.lane_id);
		SAY(l.conversation_id);
		SAY(l.dest_user);
		SAY(l.destination_id);
		SAY(l.class);
		SAY((int)l.state);
		SAY(l.priority);
		SAY(l.tail_seq);
		SAY(l.next_seq);
		SAY(l.last_published_seq);
		SAY(l.due_at);
		SAY(l.lease_token);
		SAY(l.lease_until);
		SAY(l.replay_seq);
		SAY_TEXT(l.lease_owner);
		say(" ");
		assert_string_equal(said, cases[i].expected);
	}
	assert_int_equal(store_lane_get(rig.db, 94, &l, &error), RC_NOT_FOUND);
	assert_int_equal(store_lane_find(rig.db, &key, &l, &error), RC_OK);
	assert_int_equal(l.lane_id, 92);
	rig_close(&rig);
}

/* ---- conversations ---- */

static enum rc
say_participant(void *arg, const struct store_participant *p, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(p->user_id);
	SAY_TEXT(p->name);
	SAY(p->joined_seq);
	SAY(p->left_seq);
	SAY(p->delivered_upto);
	SAY(p->acked_upto);
	SAY(p->read_upto);
	SAY(p->acked_at);
	SAY(p->read_at);
	SAY(p->shown_upto);
	SAY(p->shown_at);
	END();
	return (RC_OK);
}

static enum rc
say_item(void *arg, const struct store_conversation_item *i, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(i->conversation_id);
	SAY_ID(i->public_id);
	SAY(i->direct);
	SAY(i->created_at);
	SAY(i->delivered_upto);
	SAY(i->acked_upto);
	SAY(i->read_upto);
	SAY(i->unread);
	SAY(i->last_seq);
	SAY(i->last_at);
	END();
	return (RC_OK);
}

static void
say_unread(void *arg, const struct uuid *id, int64_t unread, int64_t last)
{

	(void)arg;
	SAY_ID(*id);
	SAY(unread);
	SAY(last);
	END();
}

static void
say_conversation(const struct store_conversation *c)
{

	SAY(c->conversation_id);
	SAY_ID(c->public_id);
	SAY(c->direct);
	SAY(c->last_seq);
	SAY(c->digest[0]);
	SAY(c->digest[30] * 256 + c->digest[31]);
}

static void
test_conversations(void **state)
{
	const struct uuid group = {.b = {[15] = 63}};
	struct store_conversation c;
	struct store_participant p;
	struct err error = ERR_INIT;

	(void)state;
	open_rows();
	memset(&c, 0x55, sizeof(c));
	assert_int_equal(
	    store_conversation_by_key(rig.db, "ann bob", &c, &error), RC_OK);
	begin();
	say_conversation(&c);
	assert_string_equal(said, "61 #61 1 44 0 725 ");
	/* An empty conversation: its chain begins with zeros. */
	memset(&c, 0x55, sizeof(c));
	assert_int_equal(
	    store_conversation_by_public(rig.db, &group, &c, &error), RC_OK);
	begin();
	say_conversation(&c);
	assert_string_equal(said, "63 #63 0 0 0 0 ");
	assert_int_equal(
	    store_conversation_by_id(rig.db, 64, &c, &error), RC_NOT_FOUND);

	READ(store_participants(rig.db, 61, say_participant, NULL, &err),
	    "1 ann 1 0 0 0 0 0 0 0 0 \n"
	    "2 bob 2 49 48 47 46 621 622 45 623 \n");
	memset(&p, 0x55, sizeof(p));
	assert_int_equal(
	    store_participant_get(rig.db, 62, 1, &p, &error), RC_OK);
	begin();
	(void)say_participant(NULL, &p, &error);
	assert_string_equal(said, "1 ann 1 0 4 3 1 624 625 1 626 \n");
	assert_int_equal(
	    store_participant_get(rig.db, 62, 2, &p, &error), RC_NOT_FOUND);
	rig_close(&rig);
}

static void
test_conversation_lists(void **state)
{
	const struct uuid group = {.b = {[15] = 63}};
	const struct uuid talk = {.b = {[15] = 61}};
	const struct uuid second = {.b = {[15] = 62}};
	struct store_conversation_item item;
	struct err error = ERR_INIT;
	int64_t n = -1;

	(void)state;
	open_rows();
	(void)rig_exec(
	    &rig, "UPDATE participants SET read_upto = 40 WHERE user_id = 2");
	READ(store_conversation_list(
		 rig.db, 1, INT64_MAX, 9, say_item, NULL, &err),
	    "62 #62 1 612 4 3 1 0 0 612 \n61 #61 1 611 0 0 0 0 44 712 \n");
	READ(store_conversation_list(rig.db, 1, 62, 9, say_item, NULL, &err),
	    "61 #61 1 611 0 0 0 0 44 712 \n");
	READ(store_conversation_recent(rig.db,
		 &(const struct store_recent_query){1, INT64_MAX, talk, 9},
		 say_item, NULL, &err),
	    "61 #61 1 611 0 0 0 0 44 712 \n62 #62 1 612 4 3 1 0 0 612 \n");
	READ(store_conversation_recent(rig.db,
		 &(const struct store_recent_query){1, 712, talk, 9}, say_item,
		 NULL, &err),
	    "62 #62 1 612 4 3 1 0 0 612 \n");
	/* Conversations with the same time are ordered by their ids. */
	(void)rig_exec(&rig, "UPDATE conversations SET created_at = 712 "
			     "WHERE conversation_id = 62");
	READ(store_conversation_recent(rig.db,
		 &(const struct store_recent_query){1, 713, talk, 1}, say_item,
		 NULL, &err),
	    "62 #62 1 712 4 3 1 0 0 712 \n");
	READ(store_conversation_recent(rig.db,
		 &(const struct store_recent_query){1, 712, second, 9},
		 say_item, NULL, &err),
	    "61 #61 1 611 0 0 0 0 44 712 \n");
	READ(store_conversation_recent(rig.db,
		 &(const struct store_recent_query){1, 712, talk, 9}, say_item,
		 NULL, &err),
	    "");
	memset(&item, 0x55, sizeof(item));
	assert_int_equal(
	    store_conversation_one(rig.db, 2, &talk, &item, &error), RC_OK);
	begin();
	(void)say_item(NULL, &item, &error);
	/* A failed message never counts as unread for its recipient. */
	assert_string_equal(said, "61 #61 1 611 48 47 40 0 44 722 \n");
	(void)rig_exec(&rig, "UPDATE outbox SET state = 'sent' WHERE id = 101");
	READ(store_unread_list(rig.db, 2, say_unread, NULL, &err),
	    "#61 1 44 \n");
	assert_int_equal(store_unread_total(rig.db, 2, &n, &error), RC_OK);
	assert_int_equal(n, 1);
	assert_int_equal(
	    store_conversation_one(rig.db, 1, &group, &item, &error),
	    RC_NOT_FOUND);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_accounts),
	    cmocka_unit_test(test_devices_change),
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_lanes),
	    cmocka_unit_test(test_conversations),
	    cmocka_unit_test(test_conversation_lists),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
