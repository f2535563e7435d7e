/* SPDX-License-Identifier: MIT */
/*
 * Requests of other servers that are accepted, or refused only when they are
 * complete; and the document of this server.
 */
#include "inbound_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/event.h"

static struct reply r;

#define TIME "\"2023-11-14T22:13:20.000Z\""
#define ID1 "01890a5d-ac96-774b-bcce-b302099a8057"
#define ID2 "01890a5e-ac96-774b-bcce-b302099a8057"
#define ID3 "01890a5f-ac96-774b-bcce-b302099a8057"

#define MESSAGE(id, to)                                                        \
	"{\"message_id\":\"" id "\",\"sequence\":1,\"timestamp\":" TIME        \
	",\"message_type\":\"message.send\",\"recipient\":\"" to "\","         \
	"\"attempt\":1,\"payload\":{\"id\":\"" id "\",\"from\":"               \
	"\"bob@a.example\",\"body\":\"Hello\",\"created_at\":" TIME "}}"
#define RECEIPT(id)                                                            \
	"{\"message_id\":\"" id "\",\"sequence\":1,\"timestamp\":" TIME        \
	",\"message_type\":\"receipt.read\",\"recipient\":"                    \
	"\"ann@b.example\",\"attempt\":1,\"payload\":{\"from\":"               \
	"\"bob@a.example\",\"upto\":\"" ID1 "\"}}"

/* Sends ${request} and returns the socket.  The answer needs the writer. */
static int
send_request(const struct signed_request *request)
{
	int fd = client_open(&played.f);

	client_send(fd, request_text(request));
	return (fd);
}

static void
read_answer(int fd)
{

	client_read(fd, &r, 0);
	client_close(fd);
}

static void
assert_body(const char *want)
{

	if (strcmp(r.body, want) != 0)
		fail_msg("%s\ninstead of\n%s", r.body, want);
}

static int64_t
counted(const char *outcome)
{

	return (
	    metrics_get_by(played.metrics, METRIC_BY_FEDERATION_IN, outcome));
}

/* ---- accepted requests ---- */

static void
test_taken(void **state)
{
	struct signed_request q = right;
	struct receive_unit *u;
	int fd;

	(void)state;
	q.body = "{\"envelopes\":[" MESSAGE(ID1, "ann@b.example") "," RECEIPT(
	    ID2) "," MESSAGE(ID3, "no one") "],\"control\":{\"heartbeat\":{"
					    "\"at\":" TIME
					    "},\"ping\":\"a\\\"c\"}}";
	fd = send_request(&q);
	u = unit_awaited();
	assert_string_equal(u->domain, HERE);
	assert_string_equal(u->origin, FAR);
	assert_int_equal(u->origin_id, FAR_ID);
	assert_string_equal(u->key_id, KEY);
	assert_string_equal(u->nonce, right.nonce);
	/* The nonce is kept for longer than the signature is valid and the
	 * request may wait. */
	assert_true(u->nonce_until > (right.expires_s + 300) * 1000);
	assert_int_equal(u->n, 3);
	assert_false(u->full);
	assert_int_equal(u->new_most, 600);
	assert_true(u->unit.bytes > strlen(q.body));
	assert_int_equal(u->envelopes[0].kind, EVENT_MESSAGE);
	assert_non_null(u->message[0]);
	assert_non_null(strstr(u->message[0]->data, "\"body\":\"Hello\""));
	assert_null(u->message[1]);
	assert_int_equal(u->envelopes[2].fault, ENVELOPE_MALFORMED);
	assert_null(u->message[2]);
	assert_int_equal(atomic_load(&played.contacts), 0);
	u->items[0].duplicate = true;
	u->items[0].sequence = 17;
	u->items[1].reason = ENVELOPE_UNKNOWN_MESSAGE;
	u->items[2].reason = ENVELOPE_MALFORMED;
	u->made = 7;
	unit_finished(u, RC_OK);
	read_answer(fd);
	assert_int_equal(r.status, 200);
	assert_string_equal(
	    reply_header(&r, "Content-Type"), "application/json");
	assert_body("{\"acks\":[{\"message_id\":\"" ID1
		    "\",\"status\":\"accepted\",\"duplicate\":true,"
		    "\"sequence\":17},{\"message_id\":\"" ID2
		    "\",\"status\":\"rejected\","
		    "\"reason\":\"unknown-message\"},"
		    "{\"message_id\":\"" ID3 "\",\"status\":\"rejected\","
		    "\"reason\":\"malformed\"}],\"later\":[],"
		    "\"epoch\":\"" EPOCH "\",\"control\":{\"heartbeat\":{"
		    "\"at\":\"2023-11-14T22:13:30.000Z\","
		    "\"draining\":false},\"pong\":\"a\\\"c\"}}\n");
	assert_int_equal(atomic_load(&played.contacts), 1);
	assert_false(atomic_load(&played.contact_alone));
	assert_int_equal(counted("taken"), 1);
	assert_int_equal(
	    metrics_get_by(played.metrics, METRIC_BY_FEDERATION_BYTES, "in"),
	    (int64_t)strlen(q.body));
	/* The new rows are charged to the server. */
	fd = send_request(&q);
	u = unit_awaited();
	assert_int_equal(u->new_most, 593);
	unit_finished(u, RC_OK);
	read_answer(fd);
}

/* Without envelopes the nonce alone has to be stored, so the request still goes
 * through the writer. */
static void
test_empty(void **state)
{
	struct signed_request q = right;
	struct receive_unit *u;
	int fd;

	(void)state;
	q.body = "{\"envelopes\":[]}";
	atomic_store(&played.disk_low, true);
	fd = send_request(&q);
	u = unit_awaited();
	assert_int_equal(u->n, 0);
	assert_true(u->full);
	unit_finished(u, RC_OK);
	read_answer(fd);
	assert_int_equal(r.status, 200);
	assert_body("{\"acks\":[],\"later\":[],\"epoch\":\"" EPOCH
		    "\",\"control\":{}}\n");
	assert_int_equal(atomic_load(&played.contacts), 1);
	assert_true(atomic_load(&played.contact_alone));
}

/* The budget of all servers without a pinned key is used up.  It does not limit
 * a server whose key is pinned. */
static void
test_pinned(void **state)
{
	struct receive_unit *u;
	int fd;

	(void)state;
	fd = send_request(&right);
	u = unit_awaited();
	u->made = 1000000;
	unit_finished(u, RC_OK);
	read_answer(fd);
	fd = send_request(&right);
	u = unit_awaited();
	assert_int_equal(u->new_most, 0);
	unit_finished(u, RC_OK);
	read_answer(fd);
	atomic_store(&played.pinned, true);
	fd = send_request(&right);
	u = unit_awaited();
	assert_int_equal(u->origin_id, FAR_ID + 1);
	assert_int_equal(u->new_most, 600);
	unit_finished(u, RC_OK);
	read_answer(fd);
}

/* The nonce is stored already. */
static void
test_repeated(void **state)
{
	struct receive_unit *u;
	int fd;

	(void)state;
	fd = send_request(&right);
	u = unit_awaited();
	u->repeated = true;
	unit_finished(u, RC_OK);
	read_answer(fd);
	assert_int_equal(r.status, 401);
	assert_non_null(strstr(r.body, "\"code\":\"nonce_repeated\""));
	assert_int_equal(counted("repeated"), 1);
	assert_int_equal(metrics_get_by(played.metrics,
			     METRIC_BY_SIGNATURE_FAILURES, "nonce-repeated"),
	    1);
	assert_int_equal(atomic_load(&played.contacts), 0);
}

/* The directory knew the key, but the database does not, or an operator has
 * blocked the server since then. */
static void
test_stranger(void **state)
{
	struct receive_unit *u;
	int fd, blocked;

	(void)state;
	for (blocked = 0; blocked < 2; blocked++) {
		fd = send_request(&right);
		u = unit_awaited();
		assert_non_null(u->public);
		assert_memory_equal(u->public, played_public(), 32);
		u->unknown = blocked == 0;
		u->blocked = blocked == 1;
		unit_finished(u, RC_OK);
		read_answer(fd);
		assert_int_equal(r.status, blocked ? 403 : 503);
		assert_non_null(
		    strstr(r.body, blocked ? "\"code\":\"peer_refused\""
					   : "\"code\":\"key_unknown\""));
		assert_int_equal(atomic_load(&played_forgotten), blocked + 1);
	}
	assert_int_equal(counted("key-unknown"), 1);
	assert_int_equal(counted("refused"), 1);
	assert_int_equal(atomic_load(&played.contacts), 0);
}

static const struct {
	enum rc rc;
	int status;
	const char *code, *retry_after;
} failures[] = {
    {RC_BUSY, 503, "busy", "1"},
    {RC_AWAY, 503, "busy", "1"},
    {RC_NO_MEMORY, 503, "busy", "1"},
    {RC_FULL, 503, "busy", "30"},
    {RC_CLOSED, 503, "draining", "1"},
    {RC_INTERNAL, 500, "internal", NULL},
};

static void
assert_failure(size_t i)
{
	char code[40];

	(void)snprintf(
	    code, sizeof(code), "\"type\":\"/problems/%s\"", failures[i].code);
	assert_int_equal(r.status, failures[i].status);
	assert_non_null(strstr(r.body, code));
	if (failures[i].retry_after != NULL)
		assert_string_equal(
		    reply_header(&r, "Retry-After"), failures[i].retry_after);
}

/* The unit fails, or the writer does not accept it. */
static void
test_failures(void **state)
{
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		fd = send_request(&right);
		unit_finished(unit_awaited(), failures[i].rc);
		read_answer(fd);
		assert_failure(i);
		played.submit_rc = failures[i].rc;
		read_answer(send_request(&right));
		assert_failure(i);
		played.submit_rc = RC_OK;
	}
	assert_int_equal(counted("taken"), 0);
	assert_int_equal(counted("busy"), 8);
	assert_int_equal(counted("draining"), 2);
	assert_int_equal(counted("other"), 2);
}

/* ---- limits ---- */

/* A server that tries names gets no more information after 120 unknown ones. */
static void
test_unknown_recipients(void **state)
{
	struct signed_request q = right;
	struct receive_unit *u;
	int i, fd;

	(void)state;
	q.body = "{\"envelopes\":[" MESSAGE(ID1, "zoe@b.example") "]}";
	for (i = 0; i < 121; i++) {
		fd = send_request(&q);
		u = unit_awaited();
		u->items[0].reason = ENVELOPE_UNKNOWN_RECIPIENT;
		unit_finished(u, RC_OK);
		read_answer(fd);
		assert_int_equal(r.status, 200);
		if (strstr(r.body, i < 120
				       ? "\"rejected\",\"reason\":"
					 "\"unknown-recipient\""
				       : "\"retryable\",\"reason\":"
					 "\"rate-limited\","
					 "\"retry_after_ms\":30000") == NULL)
			fail_msg("%d: %s", i, r.body);
	}
}

/* One server may have 128 requests under way, and no more. */
static void
test_under_way(void **state)
{
	struct signed_request q = right;
	int fds[128], fd;
	size_t i;

	(void)state;
	q.announced = strlen(q.body);
	for (i = 0; i < 128; i++) {
		fds[i] = client_open(&played.f);
		client_send(fds[i], request_head(&q));
	}
	AWAIT(http_pending(played.f.http) == 128);
	fd = client_open(&played.f);
	client_send(fd, request_head(&q));
	read_answer(fd);
	assert_int_equal(r.status, 429);
	assert_non_null(strstr(r.body, "\"code\":\"rate_limited\""));
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	assert_int_equal(counted("limited"), 1);
	/* One request ends, and another one is admitted. */
	client_send(fds[0], q.body);
	unit_finished(unit_awaited(), RC_OK);
	read_answer(fds[0]);
	assert_int_equal(r.status, 200);
	fd = send_request(&right);
	unit_finished(unit_awaited(), RC_OK);
	read_answer(fd);
	assert_int_equal(r.status, 200);
}

/* ---- further tests ---- */

static void
test_drain(void **state)
{

	(void)state;
	inbound_drain(played.in);
	read_answer(send_request(&right));
	assert_int_equal(r.status, 200);
	assert_body("{\"acks\":[],\"later\":[],"
		    "\"control\":{\"reconnect\":{\"after_ms\":5000}}}\n");
	assert_int_equal(atomic_load(&played.submitted), 0);
	assert_int_equal(counted("draining"), 1);
}

static void
test_document(void **state)
{
	struct document d;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(
	    ask(&played.f, GET("/.well-known/twinbox"), &r, NULL), 200);
	assert_string_equal(
	    reply_header(&r, "Cache-Control"), "public, max-age=300");
	assert_int_equal(
	    document_read(r.body, r.body_len, HERE, NULL, &d, &err), RC_OK);
	assert_string_equal(d.deliver, "https://b.example" PATH);
	assert_string_equal(d.keys[0].id, "ours");
	assert_int_equal(d.nkeys, 1);
	assert_int_equal(d.items, 50);
	assert_int_equal(d.bytes, 262144);
	assert_int_equal(d.requests, 64);
	assert_string_equal(d.epoch, EPOCH);
	/* Without a key there is no document. */
	atomic_store(&played.disk_low, true);
	assert_int_equal(
	    ask(&played.f, GET("/.well-known/twinbox"), &r, NULL), 503);
}

/* The document offers the number of requests whose bodies fit into the share of
 * memory that one address may use. */
static void
test_offered(void **state)
{
	static const struct {
		size_t body_bytes;
		int64_t requests;
	} rows[] = {
	    {0, 64}, /* no limit */
	    {4 * 64 * 262144, 64},
	    {4 * 64 * 262144 - 1, 63},
	    {256 * 1024 * 1024, 64},
	    {4 * 1024 * 1024, 4},
	    {1024, 1},
	};
	struct document d;
	struct err err = ERR_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		inbound_body_bytes = rows[i].body_bytes;
		(void)inbound_open(NULL);
		inbound_body_bytes = 0;
		assert_int_equal(
		    ask(&played.f, GET("/.well-known/twinbox"), &r, NULL), 200);
		assert_int_equal(
		    document_read(r.body, r.body_len, HERE, NULL, &d, &err),
		    RC_OK);
		assert_int_equal(d.requests, rows[i].requests);
		(void)inbound_close(NULL);
	}
}

static void
test_new(void **state)
{
	struct inbound_options options = {.domain = HERE, .epoch = EPOCH};
	struct inbound *in = NULL;
	struct err err = ERR_INIT;
	int64_t k;

	(void)state;
	for (k = 1; k < 4; k++) {
		mem_fail_at(k);
		assert_int_equal(
		    inbound_new(&options, &in, &err), RC_NO_MEMORY);
		mem_fail_at(0);
	}
	assert_null(in);
}

/* Each allocation of a request fails once: the request is accepted, or refused
 * for now, or its connection ends. */
static void
test_no_memory(void **state)
{
	struct signed_request q = right;
	int fd, fine = 0, busy = 0;
	const char *text;
	int64_t k;

	(void)state;
	q.body = "{\"envelopes\":[" MESSAGE(ID1, "ann@b.example") "]}";
	text = request_text(&q);
	played.at_once = true;
	for (k = 1; k < 300 && fine < 10; k++) {
		fd = client_open(&played.f);
		mem_fail_at(k);
		client_send(fd, text);
		client_read(fd, &r, 0);
		mem_fail_at(0);
		client_close(fd);
		if (r.status != 200 && r.status != 503 && r.status != 0)
			fail_msg("%lld: %d %s", (long long)k, r.status, r.body);
		busy += r.status == 503;
		fine = r.status == 200 ? fine + 1 : 0;
	}
	assert_int_equal(fine, 10);
	assert_true(busy > 5);
}

int
main(void)
{
#define TEST(test)                                                             \
	cmocka_unit_test_setup_teardown(test, inbound_open, inbound_close)
	const struct CMUnitTest tests[] = {
	    TEST(test_taken),
	    TEST(test_empty),
	    TEST(test_pinned),
	    TEST(test_repeated),
	    TEST(test_stranger),
	    TEST(test_failures),
	    TEST(test_unknown_recipients),
	    TEST(test_under_way),
	    TEST(test_drain),
	    TEST(test_document),
	    cmocka_unit_test(test_offered),
	    TEST(test_new),
	    TEST(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
