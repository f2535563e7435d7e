/* SPDX-License-Identifier: MIT */
/*
 * Requests of a session: ack, read, send and typing, with their limits; and
 * outbox frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "unit/push_fixture.h"

#define OUTBOX ",\"outbox\":true"
#define TYPING "{\"type\":\"typing\",\"conversation\":\"" CONVERSATION "\"}"
#define TYPING_7                                                               \
	"{\"type\":\"typing\",\"conversation\":\"" CONVERSATION "\",\"id\":7}"
#define SEND(id)                                                               \
	"{\"type\":\"send\",\"id\":" id ",\"message\":{\"to\":\"u2\","         \
	"\"body\":\"hello\"}}"

/* ---- acks ---- */

/* Only one ack without an id is under way at a time.  The acks that arrive
 * meanwhile become one, the highest. */
static void
test_acks_become_one(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1].head = 9;
	a = client_open("u1d1", "");
	say_ack(a, 2);
	say_ack(a, 5);
	say_ack(a, 3);
	assert_int_equal(scene->nunits, 1);
	finish_ack(2, RC_OK);
	assert_int_equal(scene->nunits, 1);
	finish_ack(5, RC_OK);
	assert_int_equal(scene->nunits, 0);
	/* The session keeps no ack of its own to compare with: the store
	 * decides. */
	say_ack(a, 4);
	finish_ack(4, RC_OK);
	assert_int_equal(scene->nunits, 0);
	assert_frames(a, "");
}

static void
test_ack_fails(void **state)
{
	struct lws *a;

	(void)state;
	scene->inboxes[1].head = 9;
	a = client_open("u1d1", "");
	say_ack(a, 2);
	say_ack(a, 3);
	finish_ack(2, RC_BUSY);
	assert_frames(a, "error:503");
	finish_ack(3, RC_OK);
	assert_frames(a, "");
	scene->writer_rc = RC_BUSY;
	say_ack(a, 4);
	assert_frames(a, "CLOSE:1013");
}

/* Each ack with an id gets an answer.  Such acks, reads and typing share one
 * limit of requests under way. */
static void
test_acks_with_ids(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	scene->inboxes[1].head = 9;
	a = client_open("u1d1", "");
	say(a, "{\"type\":\"read\",\"upto\":9}");
	for (i = 1; i < READS_MAX; i++)
		say(a, "{\"type\":\"ack\",\"upto\":5,\"id\":1}");
	assert_int_equal(scene->nunits, READS_MAX);
	say(a, "{\"type\":\"ack\",\"upto\":5,\"id\":2}");
	say(a, "{\"type\":\"read\",\"upto\":5,\"id\":3}");
	say(a, TYPING_7);
	assert_frames(a, "error=2:503 error=3:503 error=7:503");
	assert_int_equal(scene->nunits, READS_MAX);
	/* An ack without an id does not count. */
	say_ack(a, 6);
	assert_int_equal(scene->nunits, READS_MAX + 1);
	finish_read(9, RC_OK);
	finish_ack(5, RC_OK);
	assert_frames(a, "ok=1");
	assert_non_null(strstr(a->last, "\"acked\":9,\"head\":9"));
	say(a, "{\"type\":\"ack\",\"upto\":7,\"id\":4}");
	say(a, "{\"type\":\"ack\",\"upto\":8,\"id\":5}");
	say(a, "{\"type\":\"ack\",\"upto\":9,\"id\":6}");
	assert_frames(a, "error=6:503");
	for (i = 2; i < READS_MAX; i++)
		finish_ack(5, RC_OK);
	a->frames[0] = '\0';
	a->len = 0;
	finish_ack(6, RC_OK);
	finish_ack(7, RC_BUSY);
	finish_ack(8, RC_OK);
	assert_frames(a, "error=4:503 ok=5");
}

/* ---- reads ---- */

/* A read by inbox seq implies an ack, which opens the window.  Its answer has
 * the number of unread messages. */
static void
test_read(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", ",\"window\":2");
	scene->inboxes[1].head = 4;
	publish_event(1, 4);
	jobs_run();
	assert_frames(a, "event=1 event=2");
	say(a, "{\"type\":\"read\",\"conversation\":\"" CONVERSATION
	       "\",\"upto_conversation_seq\":2}");
	finish_read(2, RC_OK);
	jobs_run();
	assert_frames(a, "");
	say(a, "{\"type\":\"read\",\"upto\":1,\"id\":8}");
	finish_read(1, RC_OK);
	assert_frames(a, "");
	scene->inboxes[1].unread = 3;
	jobs_run();
	assert_frames(a, "event=3 ok=8");
	assert_int_equal(session_of(a)->requests.reads, 0);
	say(a, "{\"type\":\"read\",\"upto\":3}");
	finish_read(3, RC_BUSY);
	jobs_run();
	assert_frames(a, "error:503");
	say(a, "{\"type\":\"read\",\"upto\":3}");
	finish_read(3, RC_OK);
	jobs_run();
	assert_frames(a, "event=4");
}

static void
test_read_fails(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->writer_rc = RC_BUSY;
	say(a, "{\"type\":\"read\",\"upto\":0,\"id\":1}");
	assert_frames(a, "error=1:503");
	assert_non_null(strstr(a->last, "too much waits already"));
	scene->writer_rc = RC_OK;
	/* The read is committed, but no reader is free to count the unread
	 * messages. */
	say(a, "{\"type\":\"read\",\"upto\":0,\"id\":2}");
	scene->readers_rc = RC_BUSY;
	finish_read(0, RC_OK);
	assert_frames(a, "error=2:503");
	scene->readers_rc = RC_OK;
	say(a, "{\"type\":\"read\",\"upto\":0,\"id\":3}");
	finish_read(0, RC_OK);
	scene->store_rc = RC_IO;
	jobs_run();
	assert_frames(a, "error=3:500");
	assert_int_equal(session_of(a)->requests.reads, 0);
}

/* ---- sends ---- */

static bool
admits(void *arg, int64_t user_id, int *ret_wait_s)
{
	const bool *over_rate = arg;

	assert_int_equal(user_id, 1);
	*ret_wait_s = 4;
	return (!*over_rate);
}

static void
test_send(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say(a, SEND("1"));
	assert_frames(a, "");
	finish_send(RC_OK);
	assert_frames(a, "sent=1");
	assert_non_null(strstr(a->last, "\"replayed\":false"));
	say(a, SEND("2"));
	finish_send(RC_BUSY);
	assert_frames(a, "error=2:503");
	/* A replay: the answer has the current entry from the store. */
	scene->replayed = true;
	say(a, SEND("3"));
	finish_send(RC_OK);
	assert_frames(a, "");
	jobs_run();
	assert_frames(a, "sent=3");
	assert_non_null(strstr(a->last, "\"replayed\":true"));
	say(a, SEND("4"));
	scene->readers_rc = RC_BUSY;
	finish_send(RC_OK);
	assert_frames(a, "error=4:503");
	scene->bad_recipient = true;
	say(a, SEND("5"));
	assert_frames(a, "error=5:400");
	assert_non_null(strstr(a->last, "\"pointer\":\"/message/to\""));
	assert_int_equal(session_of(a)->requests.sends, 0);
}

/* An entry that was rendered in part, for want of memory, is not sent. */
static void
test_no_memory_for_an_entry(void **state)
{
	int fine = 0, k, refused = 0;
	json_t *frame;
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->replayed = true;
	for (k = 1; k < 200 && fine < 3; k++) {
		say(a, SEND("1"));
		finish_send(RC_OK);
		mem_fail_at(k);
		jobs_run();
		mem_fail_at(0);
		frame = json_loads(a->last, 0, NULL);
		if (frame == NULL)
			fail_msg("%s", a->last);
		json_decref(frame);
		fine = strcmp(a->frames, "sent=1") == 0 ? fine + 1 : 0;
		refused += strcmp(a->frames, "error=1:503") == 0;
		if (strcmp(a->frames, "CLOSE:1013") == 0)
			a = client_open("u1d1", "");
		a->frames[0] = '\0';
		a->len = 0;
	}
	assert_int_equal(fine, 3);
	assert_true(refused > 1);
}

static void
test_sends_have_limits(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say_often(a, SEND("1"), SENDS_MAX);
	assert_int_equal(scene->nunits, SENDS_MAX);
	say(a, SEND("2"));
	assert_frames(a, "error=2:503");
	finish_send(RC_OK);
	say(a, SEND("3"));
	assert_frames(a, "sent=1");
	assert_int_equal(scene->nunits, SENDS_MAX);
	finish_send(RC_OK);
	assert_frames(a, "sent=1");
	scene->writer_rc = RC_BUSY;
	say(a, SEND("4"));
	assert_frames(a, "error=4:503");
	scene->writer_rc = RC_OK;
	scene->push->options.admits = admits;
	scene->push->options.admits_arg = &scene->over_rate;
	scene->over_rate = true;
	say(a, SEND("5"));
	assert_frames(a, "error=5:429");
	assert_non_null(strstr(a->last, "\"retry_after\":4"));
	scene->over_rate = false;
	say(a, SEND("6"));
	assert_frames(a, "");
	assert_int_equal(scene->nunits, SENDS_MAX);
}

/* A message counts unless it was refused, or had been accepted before.  If
 * there is no room in the quota its unit decides, because only the unit
 * recognizes a replay. */
static void
test_sends_are_counted(void **state)
{
	const struct refusal *refuse_new;
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say(a, SEND("1"));
	assert_int_equal(scene->counted, strlen("hello"));
	finish_send(RC_OK);
	assert_int_equal(scene->counted, strlen("hello"));
	say(a, SEND("2"));
	finish_send(RC_BUSY);
	assert_int_equal(scene->counted, strlen("hello"));
	scene->writer_rc = RC_BUSY;
	say(a, SEND("3"));
	assert_int_equal(scene->counted, strlen("hello"));
	scene->writer_rc = RC_OK;
	scene->replayed = true;
	say(a, SEND("4"));
	finish_send(RC_OK);
	assert_int_equal(scene->counted, strlen("hello"));
	scene->no_quota = true;
	say(a, SEND("5"));
	refuse_new = ((struct send_unit *)(void *)scene->units[0])->refuse_new;
	assert_non_null(refuse_new);
	assert_int_equal(refuse_new->problem, PROBLEM_QUOTA_USED);
	finish_send(RC_OK);
	assert_int_equal(scene->counted, strlen("hello"));
}

/* A request may return after its session has ended. */
static void
test_answers_to_nobody(void **state)
{
	struct lws *a, *b;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		a = client_open("u1d1", OUTBOX);
		b = client_open("u2d2", "");
		say_ack(a, 1);
		say(a, "{\"type\":\"read\",\"upto\":0,\"id\":1}");
		say(a, SEND("2"));
		say(a, TYPING_7);
		publish_change(1, 5, CHANGE_SENT);
		scene->inboxes[1].head += 2;
		publish_event(1, scene->inboxes[1].head);
		assert_int_equal(scene->njobs, 3);
		if (i == 0)
			hang_up(a);
		else
			publish_revoked(1);
		finish_ack(1, RC_OK);
		finish_read(0, RC_OK);
		finish_send(RC_OK);
		jobs_run();
		assert_frames(a, i == 0 ? "END" : "CLOSE:4401");
		/* The typing frame is sent nevertheless. */
		assert_frames(b, "typing=u1");
	}
}

/* ---- typing ---- */

static void
test_typing(void **state)
{
	struct lws *a, *a2, *b, *c, *stranger;

	(void)state;
	a = client_open("u1d1", "");
	a2 = client_open("u1d2", "");
	b = client_open("u2d3", "");
	c = client_open("u3d4", "");
	stranger = client_open("u4d5", "");
	say(a, TYPING);
	jobs_run();
	assert_frames(b, "typing=u1");
	assert_frames(c, "typing=u1");
	/* Only the other members get the frame. */
	assert_frames(a, "");
	assert_frames(a2, "");
	assert_frames(stranger, "");
	say(a, TYPING_7);
	jobs_run();
	assert_frames(a, "ok=7");
	assert_frames(b, "typing=u1");
	/* A stranger, and a member of no conversation, get the same answer, and
	 * no member gets a frame. */
	say(stranger, TYPING_7);
	say(stranger, "{\"type\":\"typing\",\"id\":8,\"conversation\":"
		      "\"01903b1e-0000-7000-8000-000000000002\"}");
	jobs_run();
	assert_frames(stranger, "ok=7 ok=8");
	assert_frames(a, "");
	assert_frames(b, "");
	assert_frames(c, "typing=u1");
}

/* Typing is dropped, not queued: for a full socket, and over the limit of
 * requests under way. */
static void
test_typing_is_dropped(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u2d3", "");
	b->full = true;
	say(a, TYPING);
	jobs_run();
	b->full = false;
	turn();
	assert_frames(b, "");
	say_often(a, TYPING, READS_MAX);
	assert_int_equal(scene->njobs, READS_MAX);
	say(a, TYPING);
	assert_frames(a, "");
	say(a, TYPING_7);
	assert_frames(a, "error=7:503");
	assert_non_null(strstr(a->last, "16 requests of this session"));
	assert_int_equal(scene->njobs, READS_MAX);
	job_read();
	turn();
	assert_frames(b, "typing=u1");
	say(a, TYPING);
	assert_int_equal(scene->njobs, READS_MAX);
	scene->readers_rc = RC_BUSY;
	job_read();
	turn();
	say(a, TYPING);
	say(a, TYPING_7);
	assert_frames(a, "error=7:503");
	assert_non_null(strstr(a->last, "too much waits already"));
	assert_int_equal(scene->njobs, READS_MAX - 1);
	assert_int_equal(session_of(a)->requests.reads, READS_MAX - 1);
}

/* ---- the outbox ---- */

/* Outbox frames are for sessions that asked for them in hello, of the sender
 * only. */
static void
test_outbox_is_opt_in(void **state)
{
	struct lws *a, *plain, *b;

	(void)state;
	a = client_open("u1d1", OUTBOX);
	plain = client_open("u1d2", "");
	b = client_open("u2d3", OUTBOX);
	publish_change(1, 5, CHANGE_SENT);
	assert_int_equal(scene->njobs, 1);
	jobs_run();
	assert_frames(a, "outbox=sent:5");
	assert_frames(plain, "");
	assert_frames(b, "");
	assert_int_equal(session_of(plain)->changes.n, 0);
	publish_change(1, 6, CHANGE_ACKED);
	jobs_run();
	assert_frames(a, "outbox=acked:6");
	assert_frames(plain, "");
}

/* One read is under way at a time.  Changes wait for it; the same event of the
 * same entry waits once, at its last position. */
static void
test_outbox_changes_wait(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", OUTBOX);
	publish_change(1, 1, CHANGE_SENT);
	publish_change(1, 2, CHANGE_SENT);
	publish_change(1, 3, CHANGE_SENT);
	publish_change(1, 2, CHANGE_ACKED);
	publish_change(1, 2, CHANGE_SENT);
	assert_int_equal(scene->njobs, 1);
	scene->gone = 3;
	jobs_run();
	assert_frames(a, "outbox=sent:1 outbox=acked:2 outbox=sent:2");
	assert_int_equal(session_of(a)->changes.n, 0);
	/* No reader is free: the tick tries again. */
	scene->readers_rc = RC_BUSY;
	publish_change(1, 4, CHANGE_FAILED);
	scene->readers_rc = RC_OK;
	assert_int_equal(scene->njobs, 0);
	pass(1);
	jobs_run();
	assert_frames(a, "outbox=failed:4");
}

/* At the limit the oldest change is dropped. */
static void
test_outbox_room(void **state)
{
	char want[2048] = "outbox=sent:1";
	struct lws *a;
	size_t n = strlen(want);
	int i;

	(void)state;
	a = client_open("u1d1", OUTBOX);
	publish_change(1, 1, CHANGE_SENT);
	for (i = 2; i < CHANGES_MAX + 4; i++) {
		publish_change(1, i, CHANGE_SENT);
		if (i > 3)
			n += (size_t)snprintf(
			    want + n, sizeof(want) - n, " outbox=sent:%d", i);
	}
	assert_int_equal(session_of(a)->changes.n, CHANGES_MAX);
	jobs_run();
	assert_frames(a, want);
}

/* While the socket is full no entries are read: the changes wait, and at the
 * limit the oldest are dropped. */
static void
test_outbox_waits_for_the_socket(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", OUTBOX);
	scene->push->batch_bytes = 1; /* each frame is a write */
	a->full = true;
	for (i = 1; i <= CHANGES_MAX + 1; i++) {
		publish_change(1, i, CHANGE_SENT);
		jobs_run();
	}
	assert_int_equal(session_of(a)->tx.nframes, 0);
	assert_int_equal(session_of(a)->changes.n, CHANGES_MAX);
	a->takes = 1;
	a->full = false;
	jobs_run();
	assert_frames(a, "outbox=sent:2");
	assert_int_equal(session_of(a)->tx.nframes, CHANGES_READ - 1);
	assert_int_equal(session_of(a)->changes.n, CHANGES_MAX - CHANGES_READ);
}

/* ---- output that waits ---- */

/* Fills ${text} with ${n} times ${word}. */
static void
repeat(char *text, const char *word, size_t n)
{

	for (*text = '\0'; n > 0; n--)
		text = stpcpy(text, word);
}

/* The longest outbox entry fits ENTRY_FRAME_BYTES. */
static void
test_longest_entry(void **state)
{
	char address[LIMIT_ADDRESS_LEN + 1], metadata[LIMIT_METADATA_LEN + 1];
	char correlation[LIMIT_CORRELATION_ID_LEN + 1], error[512 + 1];
	struct destination_view to = {.state = OUTBOX_CANCELED,
	    .attempts = INT32_MAX,
	    .retry_count = INT32_MAX};
	struct entry_view e = {.event_type = "message.send",
	    .to = address,
	    .max_retries = INT32_MAX,
	    .destinations = &to,
	    .ndestinations = 1};
	struct buf b = BUF_INIT;

	(void)state;
	repeat(address, "a", LIMIT_ADDRESS_LEN);
	repeat(metadata, "1", LIMIT_METADATA_LEN);
	repeat(correlation, "\1", LIMIT_CORRELATION_ID_LEN);
	repeat(error, "\"", sizeof(error) - 1);
	to.address = address;
	to.last_error = error;
	to.last_attempt_at = to.last_status_at = to.next_retry_at = 1;
	to.sent_at = to.acked_at = to.read_at = 1;
	e.event_time = e.created_at = e.deliver_at = e.expires_at = 1;
	e.message.correlation_id = correlation;
	e.message.metadata = metadata;
	e.message.metadata_len = LIMIT_METADATA_LEN;
	buf_adds(&b, "{\"type\":\"sent\",\"re\":9007199254740991,"
		     "\"replayed\":false,\"entry\":}");
	wire_entry(&b, &e);
	assert_true(buf_ok(&b));
	assert_in_range(b.len, ENTRY_FRAME_BYTES / 2, ENTRY_FRAME_BYTES);
	buf_fini(&b);
}

/* A client has as many sends under way as it may, each with the longest
 * metadata, and does not read.  All answers wait for it. */
static void
test_all_answers_wait(void **state)
{
	static const int junk = RX_LEN / 14;
	char metadata[LIMIT_METADATA_LEN], frame[2 * LIMIT_METADATA_LEN];
	struct lws *a;
	size_t bytes;
	int i;

	(void)state;
	a = client_open("u1d1", OUTBOX);
	repeat(metadata, "x", LIMIT_METADATA_LEN - strlen("{\"k\":\"\"}"));
	(void)snprintf(frame, sizeof(frame),
	    "{\"type\":\"send\",\"id\":1,\"message\":{\"to\":\"u2\","
	    "\"body\":\"x\",\"metadata\":{\"k\":\"%s\"}}}",
	    metadata);
	for (i = 0; i < SENDS_MAX; i++)
		say(a, frame);
	assert_int_equal(scene->nunits, SENDS_MAX);
	for (i = 1; i <= CHANGES_READ + 1; i++)
		publish_change(1, i, CHANGE_SENT);
	job_read();
	turn();
	assert_frames(a, "outbox=sent:1");
	a->full = true;
	say_often(a, "{\"id\":1}", junk);
	bytes = session_of(a)->tx.bytes;
	assert_int_equal(session_of(a)->tx.nframes, junk);
	assert_in_range(bytes, 1, 256 * 1024);
	while (scene->nunits > 0)
		finish_send(RC_OK);
	jobs_run();
	assert_true(session_is_open(session_of(a)));
	assert_int_equal(
	    session_of(a)->tx.nframes, junk + SENDS_MAX + CHANGES_READ);
	assert_true(session_of(a)->tx.bytes >
		    bytes + (size_t)SENDS_MAX * LIMIT_METADATA_LEN);
	say(a, SEND("2"));
	assert_int_equal(scene->nunits, 0);
	a->full = false;
	turn();
	assert_int_equal(session_of(a)->tx.nframes, 0);
	assert_int_equal(scene->nunits, 1);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_acks_become_one),
	    T(test_ack_fails),
	    T(test_acks_with_ids),
	    T(test_read),
	    T(test_read_fails),
	    T(test_send),
	    T(test_no_memory_for_an_entry),
	    T(test_sends_have_limits),
	    T(test_sends_are_counted),
	    T(test_answers_to_nobody),
	    T(test_typing),
	    T(test_typing_is_dropped),
	    T(test_outbox_is_opt_in),
	    T(test_outbox_changes_wait),
	    T(test_outbox_room),
	    T(test_outbox_waits_for_the_socket),
	    T(test_longest_entry),
	    T(test_all_answers_wait),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
