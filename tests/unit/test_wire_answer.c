/* SPDX-License-Identifier: MIT */
/*
 * Answers between servers: what is written is read back unchanged, the meaning
 * of each ack, and that a peer's answer affects only the events that were sent
 * to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/envelope.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOW INT64_C(1893456000123)
#define NOW_TEXT "2030-01-01T00:00:00.123Z"
#define ID_1 "01890a5d-ac96-774b-bcce-b302099a8001"
#define ID_2 "01890a5d-ac96-774b-bcce-b302099a8002"
#define ID_3 "01890a5d-ac96-774b-bcce-b302099a8003"
#define FOREIGN "01890a5d-ac96-774b-bcce-b302099a80ff"

static struct uuid ids[ENVELOPE_ITEMS];

static int
setup(void **state)
{
	struct uuid id;
	size_t i;

	(void)state;
	wire_init();
	if (!uuid_parse(ID_1, UUID_TEXT_LEN, &id))
		return (-1);
	for (i = 0; i < ENVELOPE_ITEMS; i++) {
		ids[i] = id;
		ids[i].b[15] = (uint8_t)(i + 1);
	}
	return (0);
}

/* Reads ${text} as the answer to a request with the first three ids. */
static void
read_three(const char *text, struct envelope_answer *ret)
{
	struct refusal r = REFUSAL_INIT;

	memset(ret, 0xff, sizeof(*ret));
	if (wire_answer_read(text, strlen(text), ids, 3, ret, &r) != RC_OK)
		fail_msg("%s: %s", text, r.detail);
	assert_int_equal(3, ret->n);
}

static void
test_written(void **state)
{
	static struct envelope_answer a;
	struct buf b = BUF_INIT;

	(void)state;
	a.n = 5;
	envelope_ack_set(&a.acks[0], &ids[0], ENVELOPE_NO_REASON);
	envelope_ack_set(&a.acks[1], &ids[1], ENVELOPE_ID_TAKEN);
	envelope_ack_set(&a.acks[2], &ids[2], ENVELOPE_INBOX_FULL);
	a.acks[0].duplicate = true;
	a.acks[0].sequence = 17;
	a.acks[2].retry_after_ms = 1500;
	a.acks[3].event_id = ids[3];
	a.acks[3].status = ENVELOPE_NO_ANSWER;
	a.acks[4].event_id = ids[4];
	a.acks[4].status = ENVELOPE_LATER;
	memcpy(a.epoch, "e-1", 4);
	a.heartbeat_at_ms = NOW;
	a.draining = true;
	memcpy(a.pong, "p\"", 3);
	a.reconnect = true;
	a.reconnect_after_ms = 0;
	wire_answer_write(&b, &a);
	buf_addc(&b, '\0');
	assert_string_equal(
	    "{\"acks\":[{\"message_id\":\"" ID_1 "\",\"status\":\"accepted\","
	    "\"duplicate\":true,\"sequence\":17},{\"message_id\":\"" ID_2
	    "\",\"status\":\"rejected\",\"reason\":\"id-taken\"},"
	    "{\"message_id\":\"" ID_3 "\",\"status\":\"retryable\","
	    "\"reason\":\"inbox-full\",\"retry_after_ms\":1500}],"
	    "\"later\":[\"01890a5d-ac96-774b-bcce-b302099a8005\"],"
	    "\"epoch\":\"e-1\",\"control\":{\"heartbeat\":{\"at\":\"" NOW_TEXT
	    "\",\"draining\":true},\"pong\":\"p\\\"\","
	    "\"reconnect\":{\"after_ms\":0}}}",
	    b.data);
	buf_reset(&b);
	memset(&a, 0, sizeof(a));
	wire_answer_write(&b, &a);
	buf_addc(&b, '\0');
	assert_string_equal(
	    "{\"acks\":[],\"later\":[],\"control\":{}}", b.data);
	buf_fini(&b);
}

/* Each reason, and all other members of an answer. */
static void
test_round_trip(void **state)
{
	static struct envelope_answer a, again;
	struct refusal r = REFUSAL_INIT;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	a.n = ENVELOPE_ITEMS;
	for (i = 0; i < a.n; i++)
		envelope_ack_set(&a.acks[i], &ids[i],
		    (enum envelope_reason)(i % ENVELOPE_REASONS));
	a.acks[0].duplicate = true;
	a.acks[0].sequence = INT64_MAX;
	a.acks[ENVELOPE_PREDECESSOR].retry_after_ms = 3600000;
	a.acks[48] = (struct envelope_ack){.event_id = ids[48]};
	a.acks[49] = (struct envelope_ack){.event_id = ids[49]};
	a.acks[49].status = ENVELOPE_LATER;
	memset(a.epoch, 'e', ENVELOPE_EPOCH_LEN);
	a.heartbeat_at_ms = NOW;
	a.draining = true;
	memset(a.pong, 'p', ENVELOPE_PING_LEN);
	a.reconnect = true;
	a.reconnect_after_ms = 3600000;
	wire_answer_write(&b, &a);
	assert_int_equal(RC_OK,
	    wire_answer_read(b.data, b.len, ids, ENVELOPE_ITEMS, &again, &r));
	for (i = 0; i < a.n; i++) {
		assert_true(uuid_equal(&ids[i], &again.acks[i].event_id));
		assert_int_equal(a.acks[i].status, again.acks[i].status);
		assert_int_equal(a.acks[i].duplicate, again.acks[i].duplicate);
		assert_int_equal(a.acks[i].sequence, again.acks[i].sequence);
		assert_string_equal(a.acks[i].reason, again.acks[i].reason);
		assert_int_equal(
		    a.acks[i].retry_after_ms, again.acks[i].retry_after_ms);
	}
	assert_string_equal(a.epoch, again.epoch);
	assert_int_equal(NOW, again.heartbeat_at_ms);
	assert_true(again.draining);
	assert_string_equal(a.pong, again.pong);
	assert_true(again.reconnect);
	assert_int_equal(3600000, again.reconnect_after_ms);
	buf_fini(&b);
}

#define ACK(id, rest) "{\"acks\":[{\"message_id\":\"" id "\"" rest "}]}"

/* The meaning of one ack for the second of three events. */
static const struct {
	const char *text;
	enum envelope_status status;
	bool duplicate;
	int64_t retry_after_ms;
	const char *reason;
	int64_t sequence;
} acks[] = {
    {ACK(ID_2, ",\"status\":\"accepted\""), ENVELOPE_ACCEPTED, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"duplicate\":true"),
	ENVELOPE_ACCEPTED, true, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"duplicate\":true,"
	       "\"sequence\":9"),
	ENVELOPE_ACCEPTED, true, 0, "", 9},
    {ACK(ID_2, ",\"status\":\"accepted\",\"duplicate\":true,"
	       "\"sequence\":-1"),
	ENVELOPE_ACCEPTED, true, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"duplicate\":true,"
	       "\"sequence\":\"9\""),
	ENVELOPE_ACCEPTED, true, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"sequence\":9"), ENVELOPE_ACCEPTED,
	false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"duplicate\":1"), ENVELOPE_ACCEPTED,
	false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"accepted\",\"retry_after_ms\":5"),
	ENVELOPE_ACCEPTED, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"rejected\",\"duplicate\":true,"
	       "\"reason\":\"id-taken\""),
	ENVELOPE_REJECTED, false, 0, "id-taken", 0},
    {ACK(ID_2, ",\"status\":\"rejected\",\"reason\":7"), ENVELOPE_REJECTED,
	false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"retryable\",\"retry_after_ms\":5"),
	ENVELOPE_RETRYABLE, false, 5, "", 0},
    {ACK(ID_2, ",\"status\":\"retryable\",\"retry_after_ms\":3600001"),
	ENVELOPE_RETRYABLE, false, 3600000, "", 0},
    {ACK(ID_2, ",\"retry_after_ms\":9223372036854775807"), ENVELOPE_RETRYABLE,
	false, 3600000, "", 0},
    {ACK(ID_2, ",\"retry_after_ms\":-5"), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"retry_after_ms\":1.5"), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"retry_after_ms\":\"5\""), ENVELOPE_RETRYABLE, false, 0, "",
	0},
    {ACK(ID_2, ""), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":null"), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":1"), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"\",\"reason\":\"busy\""), ENVELOPE_RETRYABLE,
	false, 0, "busy", 0},
    {ACK(ID_2, ",\"status\":\"Accepted\""), ENVELOPE_RETRYABLE, false, 0, "",
	0},
    {ACK(ID_2, ",\"status\":\"later\""), ENVELOPE_RETRYABLE, false, 0, "", 0},
    {ACK(ID_2, ",\"status\":\"rejected\","
	       "\"reason\":\"a \\u001b[2J~\\n\\u00e9\\u202e\x7f\""),
	ENVELOPE_REJECTED, false, 0, "a ?[2J~????", 0},
    /* An ack for an event that was not sent. */
    {ACK(FOREIGN, ",\"status\":\"accepted\""), ENVELOPE_NO_ANSWER, false, 0, "",
	0},
    {ACK("x", ",\"status\":\"accepted\""), ENVELOPE_NO_ANSWER, false, 0, "", 0},
    {"{\"acks\":[]}", ENVELOPE_NO_ANSWER, false, 0, "", 0},
    {"{\"acks\":[null,1,[],{},\"" ID_2 "\",{\"message_id\":7}]}",
	ENVELOPE_NO_ANSWER, false, 0, "", 0},
    /* Of two acks the first one counts. */
    {"{\"acks\":[{\"message_id\":\"" ID_2 "\",\"status\":\"rejected\"},"
     "{\"message_id\":\"" ID_2 "\",\"status\":\"accepted\"}]}",
	ENVELOPE_REJECTED, false, 0, "", 0},
    {"{\"acks\":[{\"message_id\":\"" ID_2 "\",\"status\":\"new\"},"
     "{\"message_id\":\"" ID_2 "\",\"status\":\"accepted\"}]}",
	ENVELOPE_RETRYABLE, false, 0, "", 0},
    /* The acks of events in "later" follow in a request of the receiver. */
    {"{\"acks\":[],\"later\":[\"" ID_2 "\"]}", ENVELOPE_LATER, false, 0, "", 0},
    {"{\"later\":[1,null,\"x\",\"" FOREIGN "\",\"" ID_2 "\"],\"acks\":[]}",
	ENVELOPE_LATER, false, 0, "", 0},
    {"{\"acks\":[],\"later\":{}}", ENVELOPE_NO_ANSWER, false, 0, "", 0},
    {"{\"later\":[\"" ID_2 "\"],\"acks\":[{\"message_id\":\"" ID_2
     "\",\"status\":\"accepted\"}]}",
	ENVELOPE_ACCEPTED, false, 0, "", 0},
};

static void
test_acks(void **state)
{
	static struct envelope_answer a;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(acks); i++) {
		read_three(acks[i].text, &a);
		if (a.acks[1].status != acks[i].status)
			fail_msg("%s: %d", acks[i].text, (int)a.acks[1].status);
		assert_int_equal(acks[i].duplicate, a.acks[1].duplicate);
		assert_int_equal(acks[i].sequence, a.acks[1].sequence);
		assert_int_equal(
		    acks[i].retry_after_ms, a.acks[1].retry_after_ms);
		assert_string_equal(acks[i].reason, a.acks[1].reason);
		/* The other two events have no ack. */
		assert_true(uuid_equal(&ids[0], &a.acks[0].event_id));
		assert_int_equal(ENVELOPE_NO_ANSWER, a.acks[0].status);
		assert_true(uuid_equal(&ids[2], &a.acks[2].event_id));
		assert_int_equal(ENVELOPE_NO_ANSWER, a.acks[2].status);
	}
}

/* The members of an answer apart from its acks. */
static void
test_rest(void **state)
{
	static const struct {
		const char *text;
		bool reconnect, draining;
		int64_t after_ms, at_ms;
		const char *epoch, *pong;
	} rows[] = {
	    {"{\"acks\":[]}", false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"epoch\":\"aZ-9\"}", false, false, 0, 0, "aZ-9",
		""},
	    {"{\"acks\":[],\"epoch\":\"a b\"}", false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"epoch\":\"\\u00e9\"}", false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"epoch\":7}", false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"control\":[]}", false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"control\":{\"pong\":\"p\",\"new\":1}}", false,
		false, 0, 0, "", "p"},
	    {"{\"acks\":[],\"control\":{\"pong\":1}}", false, false, 0, 0, "",
		""},
	    {"{\"acks\":[],\"control\":{\"heartbeat\":{\"at\":\"" NOW_TEXT
	     "\",\"draining\":true}}}",
		false, true, 0, NOW, "", ""},
	    {"{\"acks\":[],\"control\":{\"heartbeat\":{\"at\":1,"
	     "\"draining\":1}}}",
		false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"control\":{\"reconnect\":{\"after_ms\":0}}}", true,
		false, 0, 0, "", ""},
	    {"{\"control\":{\"reconnect\":{\"after_ms\":3600000}}}", true,
		false, 3600000, 0, "", ""},
	    {"{\"control\":{\"reconnect\":{\"after_ms\":3600001}}}", true,
		false, 3600000, 0, "", ""},
	    {"{\"acks\":[],\"control\":{\"reconnect\":{\"after_ms\":-1}}}",
		false, false, 0, 0, "", ""},
	    {"{\"acks\":[],\"control\":{\"reconnect\":{}}}", false, false, 0, 0,
		"", ""},
	    {"{\"acks\":[],\"control\":{\"reconnect\":5}}", false, false, 0, 0,
		"", ""},
	};
	static struct envelope_answer a;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		read_three(rows[i].text, &a);
		if (a.reconnect != rows[i].reconnect)
			fail_msg("%s", rows[i].text);
		assert_int_equal(rows[i].after_ms, a.reconnect_after_ms);
		assert_int_equal(rows[i].draining, a.draining);
		assert_int_equal(rows[i].at_ms, a.heartbeat_at_ms);
		assert_string_equal(rows[i].epoch, a.epoch);
		assert_string_equal(rows[i].pong, a.pong);
	}
}

/* Texts at their limits: an epoch or a pong that is too long is left out, a
 * reason is cut. */
static void
test_lengths(void **state)
{
	static struct envelope_answer a;
	char text[400];
	int more;

	(void)state;
	for (more = 0; more < 2; more++) {
		(void)snprintf(text, sizeof(text),
		    "{\"acks\":[{\"message_id\":\"" ID_2
		    "\",\"reason\":\"%0*d\"}],\"epoch\":\"%0*d\",\"control\":"
		    "{\"pong\":\"%0*d\"}}",
		    ENVELOPE_REASON_LEN + more, 0, ENVELOPE_EPOCH_LEN + more, 0,
		    ENVELOPE_PING_LEN + more, 0);
		read_three(text, &a);
		assert_int_equal(ENVELOPE_REASON_LEN, strlen(a.acks[1].reason));
		assert_int_equal(
		    more ? 0 : ENVELOPE_EPOCH_LEN, strlen(a.epoch));
		assert_int_equal(more ? 0 : ENVELOPE_PING_LEN, strlen(a.pong));
	}
}

static void
test_refused(void **state)
{
	static const char *const texts[] = {
	    "",
	    "OK",
	    "<html></html>",
	    "{}",
	    "[]",
	    "null",
	    "7",
	    "{\"status\":\"ok\"}",
	    "{\"acks\":{}}",
	    "{\"acks\":null}",
	    "{\"acks\":\"\"}",
	    "{\"acks\":[]",
	    "{\"acks\":[],\"acks\":[]}",
	    "{\"later\":[\"" ID_2 "\"]}",
	    "{\"control\":{\"reconnect\":{\"after_ms\":-1}}}",
	};
	static struct envelope_answer a;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(texts); i++) {
		struct refusal r = REFUSAL_INIT;

		if (wire_answer_read(texts[i], strlen(texts[i]), ids, 3, &a,
			&r) != RC_INVALID)
			fail_msg("read: %s", texts[i]);
		assert_int_not_equal(PROBLEM_NONE, r.problem);
		assert_int_equal(ENVELOPE_NO_ANSWER, a.acks[1].status);
	}
}

static void
test_longest(void **state)
{
	static char text[ENVELOPE_ANSWER_LEN + 2];
	static struct envelope_answer a;
	struct refusal r = REFUSAL_INIT;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"acks\":[]}", 11);
	assert_int_equal(
	    RC_OK, wire_answer_read(text, ENVELOPE_ANSWER_LEN, ids, 0, &a, &r));
	assert_int_equal(RC_INVALID,
	    wire_answer_read(text, ENVELOPE_ANSWER_LEN + 1, ids, 0, &a, &r));
	assert_int_equal(PROBLEM_BODY_TOO_LARGE, r.problem);
}

static void
test_no_memory(void **state)
{
	static const char text[] = "{\"acks\":[{\"message_id\":\"" ID_2
				   "\",\"status\":\"accepted\"}]}";
	static struct envelope_answer a;
	enum rc rc;
	int64_t k;

	(void)state;
	for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
		struct refusal r = REFUSAL_INIT;

		assert_true(k < 1000);
		mem_fail_at(k);
		rc = wire_answer_read(text, sizeof(text) - 1, ids, 3, &a, &r);
		mem_fail_at(0);
		assert_true(rc == RC_OK || rc == RC_NO_MEMORY);
		assert_int_equal(
		    rc == RC_OK ? ENVELOPE_ACCEPTED : ENVELOPE_NO_ANSWER,
		    a.acks[1].status);
	}
	assert_true(k > 5);
}

/* Each reason has its own word, and a status that has a word. */
static void
test_words(void **state)
{
	struct envelope_ack ack;
	int i, k;

	(void)state;
	for (i = 0; i < ENVELOPE_REASONS; i++) {
		envelope_ack_set(&ack, &ids[0], (enum envelope_reason)i);
		assert_string_not_equal("", envelope_status_word(ack.status));
		assert_string_equal(
		    envelope_reason_word((enum envelope_reason)i), ack.reason);
		assert_int_equal(
		    i == ENVELOPE_NO_REASON, ack.status == ENVELOPE_ACCEPTED);
		for (k = 0; k < i; k++)
			assert_string_not_equal(ack.reason,
			    envelope_reason_word((enum envelope_reason)k));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_written),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_acks),
	    cmocka_unit_test(test_rest),
	    cmocka_unit_test(test_lengths),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_longest),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_words),
	};

	return (cmocka_run_group_tests_name("wire_answer", tests, setup, NULL));
}
