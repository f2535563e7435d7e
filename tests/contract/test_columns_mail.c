/* SPDX-License-Identifier: MIT */
/*
 * Messages, inboxes and outbox rows, column by column.  See columns.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/columns.h"
#include "model/outbox.h"
#include "store/inbox.h"
#include "store/message.h"
#include "store/outbox.h"
#include "store/remote.h"

/* ---- messages and inboxes ---- */

static void
say_message(const struct message_view *m)
{

	SAY_ID(m->id);
	say("%.*s ", (int)m->body_len, m->body != NULL ? m->body : "");
	SAY(m->body_len);
	SAY_TEXT(m->content_type);
	say("%.*s ", (int)m->metadata_len,
	    m->metadata != NULL ? m->metadata : "");
	SAY_TEXT(m->correlation_id);
	SAY(m->has_reply_to);
	if (m->has_reply_to)
		SAY_ID(m->reply_to);
}

static enum rc
say_event(void *arg, const struct event_view *e, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(e->seq);
	SAY_ID(e->event_id);
	SAY(e->kind);
	SAY(e->own);
	SAY_ID(e->conversation);
	SAY(e->conversation_seq);
	SAY_TEXT(e->from);
	SAY_TEXT(e->to);
	SAY_ID(e->of);
	SAY(e->state);
	SAY_TEXT(e->reason);
	SAY(e->event_time);
	SAY(e->delivered_at);
	SAY(e->read_at);
	SAY(e->attempt);
	say("| ");
	say_message(&e->message);
	END();
	return (RC_OK);
}

static enum rc
say_found(void *arg, const struct store_inbox_message *m, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(m->seq);
	SAY(m->mid);
	SAY(m->conversation_id);
	SAY(m->conversation_seq);
	SAY(m->sender_id);
	SAY(m->outbox_id);
	SAY(m->own);
	END();
	return (RC_OK);
}

static void
test_inbox(void **state)
{
	const struct store_range all = {0, 99, 99}, some = {1, 2, 99},
				 one = {0, 99, 1};
	const struct uuid id = {.b = {[15] = 72}};
	struct store_inbox_message m;
	struct err error = ERR_INIT;

	(void)state;
	open_rows();
	READ(store_inbox_page(rig.db, 2, &all, say_event, NULL, &err),
	    "1 #81 1 0 #61 43 ann bob #71 0 - 1301 1302 622 3 | #71 hello 5 "
	    "text/markdown {\"a\":\"b\"} order 1 #99 \n"
	    "2 #82 1 1 #61 44 bob ann #72 0 - 1303 1304 0 1 | #72 plain 5 "
	    "text/plain  - 0 \n"
	    "3 #85 5 1 #61 44 bob ann #72 4 it is larger than its "
	    "destination takes 1305 1306 0 1 | #72 plain 5 text/plain  - 0 \n");
	READ(store_inbox_page(rig.db, 2, &some, say_event, NULL, &err),
	    "2 #82 1 1 #61 44 bob ann #72 0 - 1303 1304 0 1 | #72 plain 5 "
	    "text/plain  - 0 \n");
	READ(store_inbox_page(rig.db, 1, &one, say_event, NULL, &err),
	    "9 #82 1 0 #61 44 bob ann #72 0 - 1307 1308 0 2 | #72 plain 5 "
	    "text/plain  - 0 \n");
	READ(store_inbox_range(rig.db, 2, 0, 99, say_found, NULL, &err),
	    "1 71 61 43 1 101 0 \n");
	READ(store_inbox_range(rig.db, 2, 1, 99, say_found, NULL, &err), "");
	READ(store_inbox_range(rig.db, 1, 8, 9, say_found, NULL, &err),
	    "9 72 61 44 2 102 0 \n");
	READ(store_inbox_range(rig.db, 1, 0, 8, say_found, NULL, &err), "");

	memset(&m, 0x55, sizeof(m));
	assert_int_equal(store_inbox_find(rig.db, 2, &id, &m, &error), RC_OK);
	begin();
	(void)say_found(NULL, &m, &error);
	assert_string_equal(said, "2 72 61 44 2 0 1 \n");
	assert_int_equal(
	    store_inbox_find(rig.db, 3, &id, &m, &error), RC_NOT_FOUND);
	memset(&m, 0x55, sizeof(m));
	assert_int_equal(
	    store_last_of_others(rig.db, 61, 2, 42, 44, &m, &error), RC_OK);
	begin();
	(void)say_found(NULL, &m, &error);
	assert_string_equal(said, "0 71 61 43 1 0 0 \n");
	assert_int_equal(
	    store_last_of_others(rig.db, 61, 2, 43, 44, &m, &error),
	    RC_NOT_FOUND);
	assert_int_equal(store_last_of_others(rig.db, 61, 2, 0, 42, &m, &error),
	    RC_NOT_FOUND);
	rig_close(&rig);
}

static enum rc
say_entry(void *arg, const struct store_entry *e, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(e->mid);
	SAY_ID(e->event_id);
	SAY_ID(e->conversation);
	SAY(e->conversation_seq);
	SAY(e->priority);
	SAY(e->event_time);
	SAY(e->created_at);
	SAY(e->direct);
	SAY(e->conversation_id);
	say("| ");
	say_message(&e->message);
	END();
	return (RC_OK);
}

static enum rc
say_history(void *arg, const struct store_history *h, struct err *err)
{

	(void)arg;
	(void)err;
	SAY_ID(h->event_id);
	SAY(h->conversation_seq);
	SAY(h->sender_id);
	SAY_TEXT(h->sender);
	SAY(h->event_time);
	SAY_ID(h->conversation);
	SAY(h->conversation_id);
	say("| ");
	say_message(&h->message);
	END();
	return (RC_OK);
}

#define FIRST "#71 hello 5 text/markdown {\"a\":\"b\"} order 1 #99 \n"

static void
test_messages(void **state)
{
	const struct store_history_query query = {61, 1, true, 50, 50, 9};
	const struct uuid id = {.b = {[15] = 71}}, none = {.b = {[15] = 70}};
	struct store_message_key key;
	struct uuid found;
	struct err error = ERR_INIT;
	int64_t n = -1;

	(void)state;
	open_rows();
	READ(store_entries(rig.db, 1, INT64_MAX, 9, say_entry, NULL, &err),
	    "73 #83 #62 0 -1 731 732 1 62 | #73  0 text/plain  - 0 \n"
	    "71 #81 #61 43 1 711 712 1 61 | #71  0 text/markdown "
	    "{\"a\":\"b\"} order 1 #99 \n");
	READ(store_entries(rig.db, 1, 73, 9, say_entry, NULL, &err),
	    "71 #81 #61 43 1 711 712 1 61 | #71  0 text/markdown "
	    "{\"a\":\"b\"} order 1 #99 \n");
	READ(store_entry_get(rig.db, 1, &id, say_entry, NULL, &err),
	    "71 #81 #61 43 1 711 712 1 61 | #71  0 text/markdown "
	    "{\"a\":\"b\"} order 1 #99 \n");
	assert_int_equal(
	    store_entry_get(rig.db, 2, &id, say_entry, NULL, &error),
	    RC_NOT_FOUND);
	READ(store_history(rig.db, &query, say_history, NULL, &err),
	    "#81 43 1 ann 711 #0 0 | " FIRST);
	READ(store_message_visible(rig.db, 2, &id, say_history, NULL, &err),
	    "#81 43 1 ann 711 #61 61 | " FIRST);
	assert_int_equal(
	    store_message_visible(rig.db, 3, &id, say_history, NULL, &error),
	    RC_NOT_FOUND);

	memset(&key, 0x55, sizeof(key));
	assert_int_equal(store_message_key(rig.db, &id, &key, &error), RC_OK);
	assert_int_equal(key.mid, 71);
	assert_int_equal(key.sender_id, 1);
	assert_int_equal(key.fingerprint[0], 0);
	assert_int_equal(key.fingerprint[14] * 256 + key.fingerprint[15], 713);
	assert_int_equal(
	    store_message_key(rig.db, &none, &key, &error), RC_NOT_FOUND);
	assert_int_equal(store_message_uuid(rig.db, 72, &found, &error), RC_OK);
	assert_int_equal(id_number(&found), 72);
	assert_int_equal(
	    store_message_uuid(rig.db, 70, &found, &error), RC_NOT_FOUND);
	assert_int_equal(store_message_last_id(rig.db, &n, &error), RC_OK);
	assert_int_equal(n, 73);
	rig_close(&rig);
}

/* ---- outbox rows ---- */

static enum rc
say_destination(void *arg, const struct store_destination *d, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(d->id);
	SAY_TEXT(d->name);
	SAY_TEXT(outbox_state_name(d->state));
	SAY(d->attempts);
	SAY(d->retry_count);
	SAY(d->last_attempt_at);
	SAY(d->last_status_at);
	SAY(d->next_retry_at);
	SAY(d->sent_at);
	SAY(d->acked_at);
	SAY_TEXT(d->last_error);
	SAY(d->deliver_at);
	SAY(d->expires_at);
	SAY(d->read_upto);
	SAY(d->read_at);
	SAY(d->released);
	SAY(d->dest_user);
	SAY_TEXT(d->reason);
	END();
	return (RC_OK);
}

static enum rc
say_due(void *arg, const struct store_due *d, struct err *err)
{

	(void)arg;
	(void)err;
	SAY(d->id);
	SAY_ID(d->event_id);
	SAY(d->mid);
	SAY(d->conversation_id);
	SAY(d->sender_id);
	SAY(d->lane_id);
	SAY(d->event_time);
	SAY_ID(d->message_id);
	SAY(((const uint8_t *)d->salt)[14] * 256 +
	    ((const uint8_t *)d->salt)[15]);
	say("%.*s ", (int)d->body_len, d->body);
	SAY(d->priority);
	END();
	return (RC_OK);
}

static void
test_outbox_rows(void **state)
{
	const struct store_claim claims[2] = {{91, 12, 9}, {92, 1, 9}};
	const struct uuid first = {.b = {[15] = 81}};
	const struct uuid last = {.b = {[15] = 83}};
	struct store_claimed c[9];
	struct err error = ERR_INIT;
	size_t n = 99;

	(void)state;
	open_rows();
	READ(store_destinations(rig.db, &first, say_destination, NULL, &err),
	    "101 bob failed 1001 1002 1009 1010 1004 1011 1012 broken 1005 "
	    "1006 45 623 1 2 too_large \n");
	READ(store_destinations(rig.db, &last, say_destination, NULL, &err),
	    "103 x@far.example pending 0 0 0 1035 0 0 0 '' 1031 1032 0 0 0 3 "
	    "'' \n");
	READ(store_outbox_due(rig.db, 1031, 9, say_due, NULL, &err),
	    "103 #83 73 62 1 92 1033 #73 734 later -1 \n");
	READ(store_outbox_due(rig.db, 1030, 9, say_due, NULL, &err), "");

	/* Only rows for inboxes of this server are claimed. */
	memset(c, 0x55, sizeof(c));
	assert_int_equal(
	    store_outbox_claim(rig.db, claims, 2, c, &n, &error), RC_OK);
	assert_int_equal(n, 1);
	begin();
	SAY(c[0].id);
	SAY_ID(c[0].event_id);
	SAY(c[0].kind);
	SAY(c[0].mid);
	SAY(c[0].conversation_seq);
	SAY(c[0].sender_id);
	SAY(c[0].lane_seq);
	SAY(c[0].dest_user);
	SAY(c[0].event_time);
	SAY(c[0].created_at);
	SAY(c[0].attempts);
	SAY(c[0].expires_at);
	SAY(c[0].deliver_at);
	SAY(c[0].lane_id);
	assert_string_equal(
	    said, "102 #82 1 72 44 2 12 1 1027 1028 1021 1026 1025 91 ");
	rig_close(&rig);
}

static void
say_row(const struct store_row *r)
{

	SAY(r->id);
	SAY_ID(r->event_id);
	SAY(r->kind);
	SAY(r->mid);
	SAY(r->conversation_id);
	SAY(r->conversation_seq);
	SAY(r->sender_id);
	SAY(r->lane_id);
	SAY(r->lane_seq);
	SAY(r->dest_user);
	SAY_TEXT(outbox_state_name(r->state));
	SAY(r->attempts);
	SAY(r->retry_count);
	SAY(r->rescue_count);
	SAY(r->next_retry_at);
	SAY(r->deliver_at);
	SAY(r->expires_at);
	SAY(r->event_time);
	SAY(r->created_at);
	SAY(r->ack_deadline);
	SAY(r->reason);
	SAY(r->priority);
	END();
}

static enum rc
say_letter(void *arg, const struct store_letter *l, struct err *err)
{

	(void)arg;
	(void)err;
	SAY_ID(l->conversation);
	SAY_TEXT(l->from);
	SAY_TEXT(l->to);
	say("| ");
	say_message(&l->message);
	END();
	return (RC_OK);
}

static void
test_rows(void **state)
{
	struct store_row r, rows[2];
	struct err error = ERR_INIT;
	size_t n = 99;

	(void)state;
	open_rows();
	memset(&r, 0x55, sizeof(r));
	assert_int_equal(store_row_get(rig.db, 101, &r, &error), RC_OK);
	begin();
	say_row(&r);
	assert_string_equal(said,
	    "101 #81 1 71 61 43 1 91 11 2 failed 1001 1002 1003 1004 1005 1006 "
	    "1007 1008 1013 2 1 \n");
	r.mid = 71;
	r.sender_id = 1;
	r.dest_user = 3;
	READ(store_letter_get(rig.db, &r, say_letter, NULL, &err),
	    "#61 ann x@far.example | " FIRST);
	r.mid = 70;
	assert_int_equal(store_letter_get(rig.db, &r, say_letter, NULL, &error),
	    RC_NOT_FOUND);
	memset(&r, 0x55, sizeof(r));
	assert_int_equal(store_row_get(rig.db, 103, &r, &error), RC_OK);
	begin();
	say_row(&r);
	assert_string_equal(said,
	    "103 #83 1 73 62 0 1 92 0 3 pending 0 0 0 0 1031 1032 1033 1034 0 "
	    "-1 -1 \n");
	assert_int_equal(store_row_get(rig.db, 105, &r, &error), RC_NOT_FOUND);
	assert_int_equal(
	    store_remote_in_flight(rig.db, 92, rows, 2, &n, &error), RC_OK);
	assert_int_equal(n, 1);
	begin();
	say_row(&rows[0]);
	assert_string_equal(said,
	    "104 #84 2 72 62 5 2 92 28 3 sending 4 0 0 0 0 0 1041 1042 0 -1 1 "
	    "\n");
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_inbox),
	    cmocka_unit_test(test_messages),
	    cmocka_unit_test(test_outbox_rows),
	    cmocka_unit_test(test_rows),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
