/* SPDX-License-Identifier: MIT */
/*
 * Entries of an outbox as their sender sees them, member by member: in the
 * answer to the send and from the store, at each step of their way, and after
 * their rows were purged.  Also what makes a message differ from another one
 * with the same id.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "chat/entry.h"
#include "contract/rig.h"
#include "model/outbox.h"

#define SAID_SIZE 8192

static struct rig rig;
static int64_t ann, ben, phone;
static char said[SAID_SIZE];
static size_t nsaid;

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", NULL);
	ben = rig_user(&rig, "ben", &phone);
	clk_fake_advance(&rig.clk, 10);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	rig_close(&rig);
	return (0);
}

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsaid += (size_t)vsnprintf(said + nsaid, sizeof(said) - nsaid, fmt, ap);
	va_end(ap);
	assert_true(nsaid < sizeof(said));
}

/* Returns a time in ms since the rig began.  0 stays 0. */
static int
since(int64_t ms)
{

	return (ms == 0 ? 0 : (int)(ms - RIG_START_MS));
}

static void
say_view(const struct entry_view *e)
{
	const struct destination_view *d;
	int i;

	say("%s in %d to %s priority %d retries %d at %d %d for %d until %d\n",
	    e->event_type, (int)e->conversation_seq,
	    e->to != NULL ? e->to : "-", e->priority, e->max_retries,
	    since(e->event_time), since(e->created_at), since(e->deliver_at),
	    since(e->expires_at));
	say("%s %.*s %s %d %d\n", e->message.content_type,
	    (int)e->message.metadata_len,
	    e->message.metadata != NULL ? e->message.metadata : "",
	    e->message.correlation_id != NULL ? e->message.correlation_id : "-",
	    e->message.has_reply_to, e->message.reply_to.b[15]);
	for (i = 0; i < e->ndestinations; i++) {
		d = &e->destinations[i];
		say("%s %s tries %d %d last %d %d next %d sent %d acked %d "
		    "read %d %s\n",
		    d->address, outbox_state_name(d->state), d->attempts,
		    d->retry_count, since(d->last_attempt_at),
		    since(d->last_status_at), since(d->next_retry_at),
		    since(d->sent_at), since(d->acked_at), since(d->read_at),
		    d->last_error != NULL ? d->last_error : "-");
	}
}

static enum rc
take_entry(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{

	(void)arg;
	(void)err;
	say("%d: ", (int)mid);
	say_view(e);
	return (RC_OK);
}

/* Returns Ann's entries before number ${before}, at most ${limit}. */
static const char *
entries(int64_t before, int64_t limit)
{
	const struct entry_of of = {ann, 7};
	struct err err = ERR_INIT;

	nsaid = 0;
	said[0] = '\0';
	assert_int_equal(
	    entry_list(rig.db, &of, before, limit, take_entry, NULL, &err),
	    RC_OK);
	return (said);
}

static const char *
entry(const struct uuid *id)
{
	const struct entry_of of = {ann, 7};
	struct err err = ERR_INIT;

	nsaid = 0;
	said[0] = '\0';
	assert_int_equal(
	    entry_get(rig.db, &of, id, take_entry, NULL, &err), RC_OK);
	return (said);
}

/* ---- sending ---- */

static void
finished(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(void)u;
}

static struct message_draft
full_draft(void)
{
	struct message_draft d;

	memset(&d, 0, sizeof(d));
	d.has_id = true;
	d.id = uuid_gen_next(&rig.ids);
	d.to = (struct span){"ben", 3};
	d.body = (struct span){"hello", 5};
	d.content_type = (struct span){"text/markdown", 13};
	d.metadata = (struct span){"{\"a\":\"b\"}", 9};
	d.correlation_id = (struct span){"order", 5};
	d.has_reply_to = true;
	d.reply_to.b[15] = 99;
	d.priority = PRIORITY_HIGH;
	d.expires_in_ms = 5000;
	return (d);
}

static void
send_draft(struct send_unit *u, struct message_draft *d)
{

	memset(u, 0, sizeof(*u));
	send_unit_init(u);
	u->unit.finish = finished;
	assert_true(send_unit_ask(u, ann, d, &rig_addressing));
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u->unit.rc, RC_OK);
}

/* The entry in the answer to a send equals the entry that the store returns for
 * draft ${d} afterwards. */
static void
send_and_compare(struct message_draft *d)
{
	static char shown[SAID_SIZE];
	struct send_view view;
	struct send_unit u;
	const char *stored;

	send_draft(&u, d);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	send_unit_view(&u, &view);
	assert_int_equal(view.entry.max_retries, 10);
	view.entry.max_retries = 7; /* as entry() says */
	nsaid = 0;
	say("%d: ", (int)u.mid);
	say_view(&view.entry);
	memcpy(shown, said, nsaid + 1);
	stored = entry(&d->id);
	assert_string_equal(shown, stored);
	clk_fake_advance(&rig.clk, 10);
}

static void
test_accepted(void **state)
{
	struct message_draft d = full_draft();

	(void)state;
	send_and_compare(&d);
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 5010\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben pending tries 0 0 last 0 10 next 0 sent 0 acked 0 read 0 -\n");
	d.id = uuid_gen_next(&rig.ids);
	d.to = (struct span){"ann", 3};
	send_and_compare(&d);
	assert_string_equal(entry(&d.id),
	    "2: message.send in 1 to ann priority 1 retries 7 at 20 20 for 0 "
	    "until 5020\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ann acked tries 0 0 last 0 20 next 0 sent 20 acked 20 read 0 -\n");
	d.id = uuid_gen_next(&rig.ids);
	d.to = (struct span){"ben", 3};
	d.deliver_at_ms = RIG_START_MS + 70000;
	send_and_compare(&d);
	assert_string_equal(entry(&d.id),
	    "3: message.send in 0 to ben priority 1 retries 7 at 30 30 for "
	    "70000 until 75000\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben pending tries 0 0 last 0 30 next 0 sent 0 acked 0 read 0 -\n");
	/* A message without optional parts. */
	memset(&d, 0, sizeof(d));
	d.has_id = true;
	d.id = uuid_gen_next(&rig.ids);
	d.to = (struct span){"ben", 3};
	d.body = (struct span){"hello", 5};
	send_and_compare(&d);
	assert_string_equal(entries(INT64_MAX, 1),
	    "4: message.send in 2 to ben priority 0 retries 7 at 40 40 for 0 "
	    "until 432000040\n"
	    "text/plain  - 0 0\n"
	    "ben pending tries 0 0 last 0 40 next 0 sent 0 acked 0 read 0 -\n");
	assert_string_equal(entries(2, 9),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 5010\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben pending tries 0 0 last 0 10 next 0 sent 0 acked 0 read 0 -\n");
}

static void
test_way(void **state)
{
	struct message_draft d = full_draft();
	struct uuid note;
	struct send_unit u;

	(void)state;
	send_draft(&u, &d);
	note = uuid_gen_next(&rig.ids);
	(void)rig_send(&rig, ann, "ann", "note", &note);
	clk_fake_advance(&rig.clk, 10);
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 5010\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben sent tries 1 0 last 20 20 next 0 sent 20 acked 0 read 0 -\n");
	clk_fake_advance(&rig.clk, 10);
	(void)rig_ack(&rig, ben, phone, 1);
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 5010\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben acked tries 1 0 last 20 30 next 0 sent 20 acked 30 read 0 -\n");
	clk_fake_advance(&rig.clk, 10);
	(void)rig_read(&rig, ben, phone, 1, false);
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 5010\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben acked tries 1 0 last 20 30 next 0 sent 20 acked 30 read 40 -\n");

	/* The row is purged.  Inbox and marks give the same entry, apart from
	 * what only the row had. */
	(void)rig_exec(&rig, "DELETE FROM outbox WHERE kind = 1");
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 0\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben acked tries 1 0 last 20 30 next 0 sent 20 acked 30 read 40 -\n");
	assert_string_equal(entry(&note),
	    "2: message.send in 1 to ann priority 0 retries 7 at 10 10 for 0 "
	    "until 0\n"
	    "text/plain  - 0 0\n"
	    "ann acked tries 0 0 last 0 10 next 0 sent 10 acked 10 read 0 -\n");
	/* The marks say that no receipt was published, neither delivered nor
	 * read. */
	(void)rig_exec(&rig,
	    "UPDATE participants SET read_upto = 0, shown_upto = 0 "
	    "WHERE user_id = 2");
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 0\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben acked tries 1 0 last 20 30 next 0 sent 20 acked 30 read 0 -\n");
	(void)rig_exec(
	    &rig, "UPDATE participants SET acked_upto = 0 WHERE user_id = 2");
	assert_string_equal(entry(&d.id),
	    "1: message.send in 1 to ben priority 1 retries 7 at 10 10 for 0 "
	    "until 0\n"
	    "text/markdown {\"a\":\"b\"} order 1 99\n"
	    "ben sent tries 1 0 last 20 20 next 0 sent 20 acked 0 read 0 -\n");
}

/* ---- same message or not ---- */

static void
test_fingerprint(void **state)
{
	uint8_t prints[24][STORE_FINGERPRINT_LEN];
	struct message_draft d;
	size_t i, k, n = 0;

	(void)state;
#define PRINT(change)                                                          \
	do {                                                                   \
		d = full_draft();                                              \
		change;                                                        \
		send_fingerprint(&d, "ben", prints[n++]);                      \
	} while (0)
	PRINT((void)0);
	PRINT(d.body.n--);
	PRINT(d.content_type.n--);
	PRINT(d.content_type.p = NULL);
	PRINT(d.metadata.n--);
	PRINT(d.metadata.p = NULL);
	PRINT(d.correlation_id.n--);
	PRINT(d.correlation_id.p = NULL);
	PRINT(d.has_reply_to = false);
	PRINT(d.reply_to.b[0] = 1);
	PRINT(d.priority = PRIORITY_LOW);
	PRINT(d.expires_in_ms++);
	PRINT(d.deliver_at_ms = 7);
	PRINT(d.deliver_in_ms = 7);
	PRINT(d.has_conversation = true);
	PRINT(d.has_conversation = true; d.conversation.b[3] = 1);
	d = full_draft();
	send_fingerprint(&d, "bee", prints[n++]);
	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			assert_memory_not_equal(
			    prints[i], prints[k], STORE_FINGERPRINT_LEN);
	/* The fingerprint includes neither the id nor the time at which "in an
	 * hour" was said. */
	d = full_draft();
	d.deliver_in_ms = 7;
	d.deliver_at_ms = 12345;
	send_fingerprint(&d, "ben", prints[n]);
	assert_memory_equal(prints[n], prints[13], STORE_FINGERPRINT_LEN);
}

/* The id that is derived from an Idempotency-Key depends on the sender and on
 * the whole key. */
static void
test_keys(void **state)
{
	struct uuid a, b;

	(void)state;
	a = send_id_of_key(1, "key", 3);
	b = send_id_of_key(1, "key", 3);
	assert_true(uuid_equal(&a, &b));
	assert_int_equal(uuid_version(&a), 8);
	b = send_id_of_key(2, "key", 3);
	assert_false(uuid_equal(&a, &b));
	b = send_id_of_key(1, "key", 2);
	assert_false(uuid_equal(&a, &b));
	b = send_id_of_key(1, "kez", 3);
	assert_false(uuid_equal(&a, &b));
}

static int64_t
at_once(int i)
{

	(void)i;
	return (0);
}

static struct store_sizes
sizes_of(int64_t sender_id, int64_t from_ms, int64_t before_ms)
{
	const struct store_sizes_query query = {sender_id, from_ms, before_ms};
	struct store_sizes sizes = {-1, -1};
	struct err err = ERR_INIT;

	assert_int_equal(store_sizes_get(rig.db, &query, &sizes, &err), RC_OK);
	return (sizes);
}

/* The size of a sender's messages in a period, with their metadata, also with
 * more rows than one page. */
static void
test_sizes(void **state)
{
	int64_t noon, later;
	int i;

	(void)state;
	(void)rig_send(&rig, ann, "ben", "before", NULL);
	clk_fake_advance(&rig.clk, 1000);
	noon = clk_wall_ms(&rig.clk.clk);
	assert_int_equal(sizes_of(ann, noon, INT64_MAX).messages, 0);
	assert_int_equal(sizes_of(ann, noon, INT64_MAX).bytes, 0);
	(void)rig_send(&rig, ann, "ben", "12345", NULL);
	(void)rig_send(&rig, ann, "ann", "\xc3\xa4", NULL); /* two bytes */
	(void)rig_send(&rig, ben, "ann", "of another", NULL);
	assert_int_equal(sizes_of(ann, noon, INT64_MAX).messages, 2);
	assert_int_equal(sizes_of(ann, noon, INT64_MAX).bytes, 7);
	assert_int_equal(sizes_of(ann, 0, INT64_MAX).messages, 3);
	assert_int_equal(sizes_of(ann, 0, INT64_MAX).bytes, 13);
	assert_int_equal(sizes_of(ann, 0, noon).messages, 1);
	clk_fake_advance(&rig.clk, 1000);
	later = clk_wall_ms(&rig.clk.clk);
	for (i = 0; i < 4; i++)
		rig_send_many(&rig, ben, "ann", 300, at_once);
	assert_int_equal(sizes_of(ben, noon, INT64_MAX).messages, 1201);
	assert_int_equal(sizes_of(ben, noon, later).messages, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_accepted, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_way, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_fingerprint, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_sizes, open_rig, close_rig),
	    cmocka_unit_test(test_keys),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
