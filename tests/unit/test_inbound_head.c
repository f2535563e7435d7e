/* SPDX-License-Identifier: MIT */
/*
 * Requests of other servers that are refused, most of them because of their
 * head: the answer comes although no byte of the body was sent, and no unit
 * reaches the writer.
 */
#include "inbound_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "federation/signature.h"

static struct reply r;

/* 48 zero bytes in base64. */
#define A16 "AAAAAAAAAAAAAAAA"
#define A64 A16 A16 A16 A16

/* Sends the head of ${request}, with a Content-Length for a body that never
 * comes. */
static int
send_head(const struct signed_request *request)
{
	struct signed_request q = *request;
	int fd = client_open(&played.f);

	if (q.announced == 0)
		q.announced = 100;
	client_send(fd, request_head(&q));
	client_read(fd, &r, 0);
	client_close(fd);
	return (r.status);
}

static void
assert_refused(const char *what, int status, const char *code)
{
	char word[60];

	(void)snprintf(word, sizeof(word), "\"type\":\"/problems/%s\"", code);
	if (r.status != status || strstr(r.body, word) == NULL)
		fail_msg("%s: %d %s instead of %d %s", what, r.status, r.body,
		    status, code);
	assert_int_equal(atomic_load(&played.submitted), 0);
	assert_int_equal(atomic_load(&played.contacts), 0);
}

/* Sends the correct request with a change, and checks the refusal. */
#define TRY(what, status, code, ...)                                           \
	do {                                                                   \
		struct signed_request q = right;                               \
		__VA_ARGS__;                                                   \
		(void)send_head(&q);                                           \
		assert_refused(what, status, code);                            \
	} while (0)

static void
test_form(void **state)
{

	(void)state;
	TRY("no Signature", 401, "signature-missing",
	    q.leave_out = "Signature");
	TRY("no Signature-Input", 401, "signature-missing",
	    q.leave_out = "Signature-Input");
	TRY("no digest", 401, "signature-components",
	    q.leave_out = "Content-Digest");
	TRY("no type", 401, "signature-components",
	    q.leave_out = "Content-Type");
	TRY("no sender", 401, "signature-components",
	    q.leave_out = "Twinbox-From");
	TRY("no receiver", 401, "signature-components",
	    q.leave_out = "Twinbox-To");
	TRY("two signatures", 401, "signature-malformed",
	    q.extra = "SIGNATURE: tb=:AA==:\r\n");
	TRY("two inputs", 401, "signature-malformed",
	    q.extra = "signature-input: tb=()\r\n");
	TRY("two senders", 401, "signature-components",
	    q.extra = "twinbox-from: a.example\r\n");
	TRY("two receivers", 401, "signature-components",
	    q.extra = "Twinbox-To: b.example\r\n");
	TRY("two digests", 401, "signature-components",
	    q.extra = "Content-Digest: sha-256=:AA==:\r\n");
	TRY("two types", 400, "bad-request",
	    q.extra = "Content-Type: application/json\r\n");
	TRY("coded", 401, "signature-components",
	    q.extra = "Content-Encoding: gzip\r\n");
	TRY("coded as itself", 401, "signature-components",
	    q.extra = "Content-Encoding: identity\r\n");
	TRY("a query", 401, "signature-components", q.target = PATH "?x=1");
	TRY("an empty query", 401, "signature-components", q.target = PATH "?");
	TRY("an escape", 401, "signature-components",
	    q.target = "/v1/federation/%64eliver");
	TRY("another path", 404, "not-found", q.target = PATH "/");
	TRY("a fragment", 400, "bad-request", q.target = PATH "#x");
}

static void
test_values(void **state)
{

	(void)state;
	TRY("type with charset", 401, "signature-wrong",
	    q.type = "application/json; charset=utf-8");
	TRY("type in capitals", 401, "signature-wrong",
	    q.type = "Application/JSON");
	TRY("for another", 401, "signature-wrong", q.to = "c.example");
	TRY("for us in capitals", 401, "signature-wrong", q.to = "B.example");
	TRY("no domain", 401, "signature-wrong", q.from = "a");
	TRY("an address", 401, "signature-wrong", q.from = "127.0.0.1");
	TRY("a path", 401, "signature-wrong", q.from = "a.example/x");
	TRY("capitals", 401, "signature-wrong", q.from = "A.example");
	TRY("ours", 401, "signature-wrong", q.from = HERE);
	TRY("an empty one", 401, "signature-wrong", q.sent_from = "");
	TRY("not the profile", 401, "signature-components",
	    q.sent_input = "tb=(\"@method\");created=1");
	TRY("no base64", 401, "signature-malformed",
	    q.sent_value = "tb=:AAAA:");
	TRY("another algorithm", 401, "digest-wrong",
	    q.sent_digest = "sha-512=:AAAA:");
}

/* Either clock may be wrong, so the refusal has the times of both. */
static void
test_times(void **state)
{

	(void)state;
	TRY("early", 401, "signature-early", q.created_s = NOW_S + 301,
	    q.expires_s = NOW_S + 400);
	assert_non_null(strstr(r.body, "2023-11-14T22:18:31.000Z"));
	assert_non_null(strstr(r.body, "2023-11-14T22:13:30.000Z"));
	TRY("late", 401, "signature-expired", q.created_s = NOW_S - 400,
	    q.expires_s = NOW_S - 300);
	assert_non_null(strstr(r.body, "2023-11-14T22:08:30.000Z"));
	assert_non_null(strstr(r.body, "2023-11-14T22:13:30.000Z"));
	/* The times are checked before the key is looked up. */
	TRY("late and unknown", 401, "signature-expired",
	    q.created_s = NOW_S - 400, q.expires_s = NOW_S - 300,
	    q.from = "c.example");
}

static void
test_keys(void **state)
{

	(void)state;
	TRY("another key id", 503, "key-unknown", q.key_id = "k2");
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	TRY("another domain", 503, "key-unknown", q.from = "c.example");
	TRY("a refused one", 403, "peer-refused", q.from = BLOCKED);
	TRY("for another authority", 401, "signature-wrong",
	    q.authority = "b.example:8443");
	TRY("for another path", 401, "signature-wrong", q.path = "/v1/x",
	    q.target = PATH);
	TRY("from another", 401, "signature-wrong", q.from = "c.example",
	    q.sent_from = FAR);
	TRY("another digest", 401, "signature-wrong",
	    q.sent_digest =
		"sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:");
	TRY("not signed", 401, "signature-wrong",
	    q.sent_value = "tb=:" A64 "AAAAAAAAAAAAAAAAAAAAAA==:");
	assert_int_equal(metrics_get_by(played.metrics,
			     METRIC_BY_SIGNATURE_FAILURES, "signature-wrong"),
	    5);
	assert_int_equal(metrics_get_by(played.metrics, METRIC_BY_FEDERATION_IN,
			     "key-unknown"),
	    2);
	assert_int_equal(
	    metrics_get_by(played.metrics, METRIC_BY_FEDERATION_IN, "refused"),
	    1);
	assert_int_equal(
	    metrics_get_by(played.metrics, METRIC_BY_FEDERATION_IN, "unsigned"),
	    5);
	assert_int_equal(
	    metrics_get_by(played.metrics, METRIC_BY_FEDERATION_BYTES, "in"),
	    0);
}

/* Each fault has a problem of the same name, and a count. */
static void
test_words(void **state)
{
	enum signature_fault fault;
	const char *word;

	(void)state;
	for (fault = SIGNATURE_MISSING; fault < SIGNATURE_FAULTS; fault++) {
		word = signature_fault_word(fault);
		assert_int_equal(problem_status(problem_find(word)), 401);
		metrics_add_by(
		    played.metrics, METRIC_BY_SIGNATURE_FAILURES, word, 1);
		assert_int_equal(metrics_get_by(played.metrics,
				     METRIC_BY_SIGNATURE_FAILURES, word),
		    1);
	}
	assert_int_equal(metrics_get_by(played.metrics,
			     METRIC_BY_SIGNATURE_FAILURES, "other"),
	    0);
}

/* A body that is wrong is refused only after it has arrived. */
static void
test_body(void **state)
{
	struct signed_request q = right;

	(void)state;
	q.sent_body = "{\"envelopes\":[],\"control\":{\"ping\":\"abd\"}}";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 401);
	assert_refused("another body", 401, "digest-wrong");
	q.sent_body = "";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 401);
	assert_refused("no body", 401, "digest-wrong");
	q = right;
	q.body = "";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 400);
	assert_refused("a signed nothing", 400, "bad-request");
	q.body = "{\"envelopes\":[]";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 400);
	assert_refused("half a text", 400, "bad-request");
	q.body = "{\"envelopes\":[],\"other\":1}";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 400);
	assert_refused("an unknown member", 400, "bad-request");
	q.announced = 262145;
	(void)send_head(&q);
	assert_refused("too long", 413, "body-too-large");
	/* A stranger's request without a body is refused as well. */
	q = right;
	q.body = "";
	q.leave_out = "Signature";
	assert_int_equal(ask(&played.f, request_text(&q), &r, NULL), 401);
	assert_refused("nothing at all", 401, "signature-missing");
	assert_int_equal(ask(&played.f, GET(PATH), &r, NULL), 405);
}

/* ---- the vectors ---- */

static json_t *vectors;

static const char *
text_of(const json_t *object, const char *member)
{

	return (json_string_value(json_object_get(object, member)));
}

static bool
vector_key(
    const char *domain, const char *key_id, uint8_t ret[SIGN_PUBLIC_SIZE])
{
	const char *public;
	json_t *key;
	size_t i;

	json_array_foreach (json_object_get(vectors, "keys"), i, key) {
		public = text_of(key, "public");
		if (strcmp(text_of(key, "domain"), domain) == 0 &&
		    strcmp(text_of(key, "id"), key_id) == 0)
			return (sign_base64_read(
			    public, strlen(public), ret, SIGN_PUBLIC_SIZE));
	}
	return (false);
}

/* Sends the request of ${vector} byte for byte. */
static int
send_vector(const json_t *vector)
{
	const json_t *head = json_object_get(vector, "head");
	const char *body = text_of(vector, "body");
	struct buf b = BUF_INIT;
	int fd = client_open(&played.f);
	size_t i;

	for (i = 0; i < json_array_size(head); i++)
		buf_addf(
		    &b, "%s\r\n", json_string_value(json_array_get(head, i)));
	buf_addf(&b, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
	assert_true(buf_ok(&b));
	client_send_n(fd, b.data, b.len);
	buf_fini(&b);
	return (fd);
}

/* The vectors for other implementers, sent to these routes. */
static void
test_vectors(void **state)
{
	const char *source = getenv("TWINBOX_SOURCE");
	const char *fault;
	json_error_t error;
	json_t *vector;
	char path[1024];
	size_t i, good = 0;
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/tests/vectors/requests.json",
	    source == NULL ? "." : source);
	vectors = json_load_file(path, 0, &error);
	assert_non_null(vectors);
	played_key = vector_key;
	played.at_once = true;
	json_array_foreach (json_object_get(vectors, "requests"), i, vector) {
		fault = text_of(vector, "fault");
		atomic_store(&played.now_s,
		    json_integer_value(json_object_get(vector, "now")));
		atomic_store(&played.submitted, 0);
		atomic_store(&played.contacts, 0);
		fd = send_vector(vector);
		client_read(fd, &r, 0);
		client_close(fd);
		if (strcmp(fault, "good") != 0)
			assert_refused(text_of(vector, "name"),
			    strcmp(fault, "key-unknown") == 0 ? 503 : 401,
			    fault);
		else if (r.status != 200)
			fail_msg("%s: %s", text_of(vector, "name"), r.body);
		good += r.status == 200;
	}
	assert_true(i > 60 && good >= 9);
	json_decref(vectors);
}

/* With federation off, the answer of both routes says so. */
static void
test_off(void **state)
{

	(void)state;
	(void)send_head(&right);
	assert_refused("off", 403, "peer-refused");
	assert_non_null(strstr(r.body, "federation is off"));
	assert_int_equal(
	    ask(&played.f, GET("/.well-known/twinbox"), &r, NULL), 404);
	assert_refused("off", 404, "not-found");
	assert_non_null(strstr(r.body, "setting federation"));
}

int
main(void)
{
#define TEST(test)                                                             \
	cmocka_unit_test_setup_teardown(test, inbound_open, inbound_close)
	const struct CMUnitTest tests[] = {
	    TEST(test_form),
	    TEST(test_values),
	    TEST(test_times),
	    TEST(test_keys),
	    TEST(test_words),
	    TEST(test_body),
	    TEST(test_vectors),
	    cmocka_unit_test_setup_teardown(
		test_off, inbound_open_off, inbound_close),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
