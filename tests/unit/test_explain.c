/* SPDX-License-Identifier: MIT */
/*
 * The output of `twinboxd check-federation`: the lines in a terminal, and for
 * each outcome of each step whether it is a fault, its text, and the cure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "federation/explain.h"
#include "wire/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* Sun, 06 Nov 1994 08:49:37 GMT */
#define THEN INT64_C(784111777000)
#define THEN_TEXT "Sun, 06 Nov 1994 08:49:37 GMT"

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

/* ${text} must contain ${part}. */
static void
assert_part(const char *text, const char *part)
{

	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void
assert_fault(const struct explain *e, const char *result, const char *cure)
{

	if (e->ok)
		fail_msg("it is not a fault: %s", e->result);
	assert_part(e->result, result);
	assert_string_not_equal("", e->cure);
	assert_part(e->cure, cure);
}

static void
assert_ok(const struct explain *e, const char *result)
{

	if (!e->ok)
		fail_msg("it is a fault: %s", e->result);
	assert_part(e->result, result);
	assert_string_equal("", e->cure);
}

/* ---- lines ---- */

static void
assert_written(struct buf *b, const char *expected)
{

	buf_addc(b, '\0');
	assert_true(buf_ok(b));
	assert_string_equal(expected, b->data);
	buf_fini(b);
}

static void
test_lines(void **state)
{
	struct buf b = BUF_INIT;
	struct explain e;

	(void)state;
	explain_ok(&e, "%s", "fine");
	explain_write(&b, "DNS", &e);
	explain_fault(&e, "%d of %d", 1, 2);
	explain_write(&b, "own document", &e);
	explain_cure(&e, "%s it.", "Mend");
	explain_write(&b, "key", &e);
	/* A step that went well has no cure, but may have a note. */
	explain_ok(&e, "fine");
	explain_cure(&e, "Look.");
	explain_write(&b, "key", &e);
	assert_written(&b, "ok     DNS: fine\n"
			   "fails  own document: 1 of 2\n"
			   "fails  key: 1 of 2\n"
			   "       Cure: Mend it.\n"
			   "ok     key: fine\n"
			   "       Note: Look.\n");
}

/* 79 bytes fit into a line, 80 do not.  A word longer than a line stays
 * whole. */
static void
test_wrap(void **state)
{
	static const char tens[] = "123456789 123456789 123456789 123456789 "
				   "123456789 123456789 ";
	struct buf b = BUF_INIT;
	char text[256];

	(void)state;
	(void)snprintf(text, sizeof(text), "%s%s", tens, "345678901 x");
	explain_write_text(&b, text, EXPLAIN_INDENT);
	assert_written(&b, "       123456789 123456789 123456789 123456789 "
			   "123456789 123456789 345678901 x\n");
	(void)snprintf(text, sizeof(text), "%s%s", tens, "345678901 xy");
	explain_write_text(&b, text, EXPLAIN_INDENT + 1);
	assert_written(&b, "        123456789 123456789 123456789 123456789 "
			   "123456789 123456789 345678901\n        xy\n");
	(void)snprintf(text, sizeof(text), "a %s%s b",
	    "0123456789012345678901234567890123"
	    "456789",
	    "0123456789012345678901234567890123456789");
	explain_write_text(&b, text, 0);
	assert_written(&b, "a\n0123456789012345678901234567890123456789"
			   "0123456789012345678901234567890123456789\nb\n");
	explain_write_text(&b, "", 0);
	assert_written(&b, "\n");
}

/* Texts of another server cannot move the cursor. */
static void
test_escapes(void **state)
{
	struct buf b = BUF_INIT;
	struct explain e;

	(void)state;
	explain_fault(&e, "a \033[31m b");
	explain_cure(&e, "c\nd");
	explain_write(&b, "x", &e);
	assert_written(&b, "fails  x: a \\u{001B}[31m b\n"
			   "       Cure: c\\u{000A}d\n");
}

/* A text that does not fit is cut. */
static void
test_long(void **state)
{
	char text[2 * EXPLAIN_SIZE];
	struct explain e;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	explain_ok(&e, "%s", text);
	explain_cure(&e, "%s", text);
	assert_int_equal(EXPLAIN_SIZE - 1, strlen(e.result));
	assert_int_equal(EXPLAIN_SIZE - 1, strlen(e.cure));
}

/* ---- the settings ---- */

static struct domain_list
list_of(const char *text)
{
	struct err err = ERR_INIT;
	struct domain_list list;

	assert_int_equal(RC_OK, domain_list_parse(text, &list, &err));
	return (list);
}

static struct explain
policy(const struct directory_policy *p, const char *domain)
{
	struct explain e;

	explain_policy(p, domain, &e);
	/* The output agrees with the decision of the directory. */
	assert_int_equal(directory_policy_allows(p, domain), e.ok);
	return (e);
}

static void
test_policy(void **state)
{
	struct domain_peer peers[1] = {{.domain = "pinned.example"}};
	struct directory_policy p = {.mode = DIRECTORY_LIST,
	    .domain = "a.example",
	    .allow = list_of("b.example,.far.example"),
	    .deny = list_of("c.far.example"),
	    .npeers = 1,
	    .peers = peers};
	struct err err = ERR_INIT;
	struct explain e;

	(void)state;
	assert_int_equal(RC_OK,
	    domain_url_parse("http://127.0.0.1:8080", &peers[0].url, &err));
	e = policy(&p, "b.example");
	assert_ok(&e, "federation-allow names it");
	e = policy(&p, "x.far.example");
	assert_ok(&e, "federation-allow names it");
	e = policy(&p, "pinned.example");
	assert_ok(&e, "federation-peer fixes its URL, http://127.0.0.1:8080");
	e = policy(&p, "c.far.example");
	assert_fault(&e, "federation-deny names it", "federation-deny");
	e = policy(&p, "d.example");
	assert_fault(&e, "federation is list", "Add d.example to");
	e = policy(&p, "a.example");
	assert_fault(&e, "this server itself", "Name another");
	e = policy(&p, "B.example");
	assert_fault(&e, "\"B.example\" is not a valid domain", "lower case");
	e = policy(&p, "");
	assert_fault(&e, "\"\" is not a valid domain", "lower case");
	p.mode = DIRECTORY_OPEN;
	e = policy(&p, "d.example");
	assert_ok(&e, "federation is open");
	e = policy(&p, "c.far.example");
	assert_fault(&e, "federation-deny names it", "federation-deny");
	p.mode = DIRECTORY_OFF;
	e = policy(&p, "b.example");
	assert_fault(&e, "federation is off", "restart");
}

/* ---- DNS and the connection ---- */

static void
test_dns(void **state)
{
	struct explain e;

	(void)state;
	explain_no_address("b.example", "no such name", false, &e);
	assert_fault(&e, "b.example has no address (no such name)", "spelling");
	explain_no_address("b.example", "try again", true, &e);
	assert_fault(&e, "has no address (try again)", "/etc/resolv.conf");
	explain_addresses("b.example", 1, 1, &e);
	assert_ok(&e, "b.example has 1 address");
	assert_null(strstr(e.result, "addresses"));
	explain_addresses("b.example", 3, 1, &e);
	assert_ok(&e, "b.example has 3 addresses");
	explain_addresses("b.example", 2, 0, &e);
	assert_fault(&e, "may contact none of them", "federation-networks");
}

static void
test_transport(void **state)
{
	static const struct {
		enum classify_transport transport;
		const char *cure;
	} rows[] = {
	    {CLASSIFY_NO_ADDRESS, "A or AAAA"},
	    {CLASSIFY_FORBIDDEN, "federation-networks"},
	    {CLASSIFY_NO_CONNECTION, "b.example must run"},
	    {CLASSIFY_TLS, "-connect b.example:443\""},
	    {CLASSIFY_TIME_OUT, "firewall"},
	    {CLASSIFY_BROKEN, "does not speak HTTP"},
	    {CLASSIFY_TOO_LONG, "/.well-known/twinbox"},
	};
	struct explain e;
	size_t i;

	(void)state;
	assert_int_equal(CLASSIFY_TRANSPORTS - 1, COUNT(rows));
	for (i = 0; i < COUNT(rows); i++) {
		explain_transport("b.example", rows[i].transport, "why", &e);
		assert_fault(&e, classify_transport_words(rows[i].transport),
		    rows[i].cure);
		assert_part(e.result, ": why");
		explain_transport("b.example", rows[i].transport, "", &e);
		assert_string_equal(
		    classify_transport_words(rows[i].transport), e.result);
	}
	explain_transport("b.example", CLASSIFY_TLS,
	    "error:0A00010B:SSL routines::wrong version number", &e);
	assert_part(e.cure, "does not speak TLS");
	explain_transport("b.example", CLASSIFY_TLS, "why", &e);
	assert_part(e.cure, "federation-ca");
	explain_transport("127.0.0.1:8443", CLASSIFY_TLS, "", &e);
	assert_part(e.cure, "-connect 127.0.0.1:8443\"");
	explain_transport("[::1]", CLASSIFY_TLS, "", &e);
	assert_part(e.cure, "-connect [::1]:443\"");
}

/* ---- documents ---- */

static void
test_document_status(void **state)
{
	static const struct {
		int status;
		const char *result, *cure;
	} rows[] = {
	    {301, "HTTP 301, a redirect", "itself"},
	    {308, "a redirect", "itself"},
	    {401, "lets nobody read", "password"},
	    {403, "lets nobody read", "password"},
	    {404, "there is no document", "must not be off"},
	    {410, "there is no document", "must not be off"},
	    {502, "does not reach twinboxd", "must run"},
	    {504, "does not reach twinboxd", "must run"},
	    {500, "not the answer", "logs"},
	    {204, "not the answer", "logs"},
	    {99, "not the answer", "logs"},
	};
	const struct classify_said said = {
	    .code = "not-found", .detail = "federation is off"};
	struct explain e;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		explain_document_status(rows[i].status, NULL, &e);
		assert_fault(&e, rows[i].result, rows[i].cure);
		assert_null(strstr(e.result, "It says"));
	}
	explain_document_status(404, &said, &e);
	assert_string_equal("HTTP 404 not-found, there is no document. It "
			    "says: \"federation is off\"",
	    e.result);
}

static struct document
document_of(const char *key_id, uint8_t byte)
{
	struct document d = {.domain = "b.example",
	    .nkeys = 1,
	    .deliver = "https://b.example/v1/federation/deliver",
	    .authority = "b.example",
	    .items = 50,
	    .bytes = 262144,
	    .requests = 32};

	(void)snprintf(d.keys[0].id, sizeof(d.keys[0].id), "%s", key_id);
	memset(d.keys[0].public, byte, sizeof(d.keys[0].public));
	return (d);
}

static void
test_document(void **state)
{
	struct document d = document_of("k1", 1);
	struct store_peer_known known = {.nkeys = 1};
	struct store_peer_key *key = &known.keys[0];
	struct explain e;

	(void)state;
	explain_document(&d, NULL, &e);
	assert_ok(&e, "key k1; at most 50 envelopes and 262144 bytes");
	assert_part(e.result, "32 requests at once; messages go to "
			      "https://b.example/v1/federation/deliver");
	/* A key that differs from the known one is not a fault: it is
	 * replaced. */
	(void)snprintf(key->key_id, sizeof(key->key_id), "k1");
	memset(key->public, 2, sizeof(key->public));
	explain_document(&d, &known, &e);
	assert_ok(&e, "key k1");
	/* If the known key is pinned, the difference is a fault. */
	(void)snprintf(key->pinned_by, sizeof(key->pinned_by), "ann");
	explain_document(&d, &known, &e);
	assert_fault(&e, "none of those that are pinned here",
	    "\"twinbox admin peers pin b.example KEY-ID PUBLIC-KEY\"");
	memset(key->public, 1, sizeof(key->public));
	explain_document(&d, &known, &e);
	assert_ok(&e, "key k1");
	(void)snprintf(key->key_id, sizeof(key->key_id), "k2");
	explain_document(&d, &known, &e);
	assert_fault(&e, "none of those", "pin");
	d.keys[1] = d.keys[0];
	(void)snprintf(d.keys[1].id, sizeof(d.keys[1].id), "k2");
	d.nkeys = 2;
	explain_document(&d, &known, &e);
	assert_ok(&e, "keys k1, k2; ");
}

static void
test_many_keys(void **state)
{
	struct document d = document_of("", 1);
	struct explain e;
	size_t i;

	(void)state;
	d.nkeys = DOCUMENT_KEYS;
	for (i = 0; i < d.nkeys; i++) {
		memset(d.keys[i].id, 'k', SIGNATURE_KEY_ID_MAX);
		d.keys[i].id[SIGNATURE_KEY_ID_MAX] = '\0';
	}
	explain_document(&d, NULL, &e);
	assert_ok(&e, "messages go to https://b.example/v1/federation/deliver");
}

static void
test_own(void **state)
{
	struct document d = document_of("k1", 1);
	struct document_key signer = d.keys[0];
	struct explain e;

	(void)state;
	explain_own(&d, &signer, "b.example", &e);
	assert_ok(&e, "others find the key k1");
	assert_part(e.result, "are sent to b.example");
	explain_own(&d, &signer, "chat.b.example", &e);
	assert_fault(&e,
	    "sends others to b.example, and the settings say "
	    "chat.b.example",
	    "Restart");
	signer.public[31] ^= 1;
	explain_own(&d, &signer, "b.example", &e);
	assert_fault(&e, "does not have the key k1", "another server");
	signer = d.keys[0];
	(void)snprintf(signer.id, sizeof(signer.id), "k2");
	explain_own(&d, &signer, "b.example", &e);
	assert_fault(&e, "does not have the key k2", "another server");
}

/* ---- the clock ---- */

static void
test_clock(void **state)
{
	/* The times between the Date header and the sending of the request, and
	 * the arrival of the answer. */
	static const struct {
		int64_t sent_ms, got_ms;
		bool ok;
		const char *result;
	} rows[] = {
	    {0, 0, true, "agree to the second"},
	    {999, 999, true, "agree"},
	    {-5000, 5000, true, "agree"},
	    {1998, 2100, true, "agree"},
	    {1999, 2100, true, "1 s behind"},
	    {-2000, -1000, true, "1 s ahead"},
	    {-2000, -999, true, "agree"},
	    {-90000, -60000, true, "60 s ahead"},
	    {-90000, -60001, false, "60 s ahead of this one's"},
	    {60999, 70000, true, "60 s behind"},
	    {61000, 70000, false, "60 s behind this one's"},
	    {-86400000, -86400000, false, "86400 s ahead of"},
	};
	struct explain e;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		explain_clock(THEN_TEXT, THEN + rows[i].sent_ms,
		    THEN + rows[i].got_ms, &e);
		if (rows[i].ok)
			assert_ok(&e, rows[i].result);
		else
			assert_fault(
			    &e, rows[i].result, "cannot be known from here");
	}
	explain_clock(NULL, THEN, THEN, &e);
	assert_ok(&e, "not compared");
	explain_clock("yesterday", THEN, THEN, &e);
	assert_ok(&e, "not compared");
}

/* ---- the signed request ---- */

static struct explain
answered(int status, const char *code, const char *detail)
{
	struct classify_said said = {.code = ""};
	struct explain_answer a = {.status = status, .ping = "ping"};
	struct explain e;

	if (code != NULL) {
		(void)snprintf(said.code, sizeof(said.code), "%s", code);
		(void)snprintf(said.detail, sizeof(said.detail), "%s", detail);
		a.said = &said;
	}
	explain_answer(&a, &e);
	return (e);
}

/* Each reason for which a signature is refused has its own text. */
static void
test_signature_faults(void **state)
{
	struct explain e, other = answered(401, "something-else", "");
	const char *word;
	int i;

	(void)state;
	assert_fault(&other, "asks for a password", "as it is");
	for (i = SIGNATURE_GOOD + 1; i < SIGNATURE_FAULTS; i++) {
		word = signature_fault_word((enum signature_fault)i);
		e = answered(401, word, "some detail");
		assert_fault(&e, word, "");
		assert_part(e.result, "It says: \"some detail\"");
		assert_string_not_equal(other.cure, e.cure);
	}
	e = answered(401, "signature-expired", "");
	assert_null(strstr(e.result, "It says"));
	assert_part(e.cure, "clocks");
	e = answered(401, "signature-early", "");
	assert_part(e.cure, "clocks");
}

static void
test_refused(void **state)
{
	static const struct {
		int status;
		const char *code, *result, *cure;
	} rows[] = {
	    {403, "peer-refused", "set not to talk", "federation-allow"},
	    {403, NULL, "in front of it refuses", "firewall"},
	    {404, NULL, "does not reach twinboxd", "POST /v1/federation"},
	    {405, "method-not-allowed", "does not reach", "POST"},
	    {302, NULL, "a redirect", "another host"},
	    {429, "rate-limited", "too much", "in a minute"},
	    {503, "key-unknown", "does not know the key", "own document"},
	    {503, "draining", "is stopping", "in a minute"},
	    {503, "busy", "is busy", "in a minute"},
	    {503, NULL, "its proxy does not reach", "must run"},
	    {502, NULL, "its proxy does not reach", "must run"},
	    {400, "bad-request", "without envelopes", "updated"},
	    {413, NULL, "without envelopes", "updated"},
	    {422, NULL, "without envelopes", "updated"},
	    {408, NULL, "not an answer of the protocol", "log"},
	    {500, "internal", "not an answer of the protocol", "log"},
	    {202, NULL, "not an answer of the protocol", "log"},
	};
	struct explain e;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		e = answered(rows[i].status, rows[i].code, "");
		assert_fault(&e, rows[i].result, rows[i].cure);
	}
	/* A code that belongs to another status is ignored. */
	e = answered(403, "key-unknown", "");
	assert_fault(&e, "in front of it refuses", "firewall");
}

static void
test_taken(void **state)
{
	struct envelope_answer answer = {.pong = "ping"};
	struct explain_answer a = {
	    .status = 200, .answer = &answer, .ping = "ping", .took_ms = 42};
	struct explain e;

	(void)state;
	explain_answer(&a, &e);
	assert_ok(&e, "the signature is good there, and the ping came back "
		      "after 42 ms");
	answer.reconnect = true;
	explain_answer(&a, &e);
	assert_fault(&e, "is stopping", "in a minute");
	answer.reconnect = false;
	(void)snprintf(answer.pong, sizeof(answer.pong), "another");
	explain_answer(&a, &e);
	assert_fault(&e, "without an answer to the ping", "updated");
	a.answer = NULL;
	explain_answer(&a, &e);
	assert_fault(&e, "not an answer of the protocol", "twinboxd");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_wrap),
	    cmocka_unit_test(test_escapes),
	    cmocka_unit_test(test_long),
	    cmocka_unit_test(test_policy),
	    cmocka_unit_test(test_dns),
	    cmocka_unit_test(test_transport),
	    cmocka_unit_test(test_document_status),
	    cmocka_unit_test(test_document),
	    cmocka_unit_test(test_many_keys),
	    cmocka_unit_test(test_own),
	    cmocka_unit_test(test_clock),
	    cmocka_unit_test(test_signature_faults),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_taken),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
