/* SPDX-License-Identifier: MIT */
/*
 * The document of a server: our own is read back unchanged, each rule has its
 * error text, limits are reduced to ours, and how long a document is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "federation/document.h"
#include "wire/wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DOMAIN "b.example"
#define URL "https://b.example/v1/federation/deliver"
#define PUBLIC "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define KEY(id)                                                                \
	"{\"id\":\"" id "\",\"alg\":\"ed25519\",\"public\":\"" PUBLIC "\"}"
#define OTHER_KEY "{\"id\":\"\",\"alg\":\"rsa\",\"public\":7}"
#define DOCUMENT                                                               \
	"{\"domain\":\"" DOMAIN                                                \
	"\",\"keys\":[" KEY("k1") "],"                                         \
				  "\"deliver\":\"" URL                         \
				  "\",\"versions\":[\"1\"]}"

static int
setup(void **state)
{

	(void)state;
	wire_init();
	return (0);
}

static struct document
document(void)
{
	struct document d = {
	    .domain = DOMAIN,
	    .nkeys = 2,
	    .keys = {{.id = "k1"}, {.id = "K-2_"}},
	    .deliver = URL,
	    .items = 50,
	    .bytes = 262144,
	    .requests = 64,
	    .epoch = "e-1",
	};
	uint8_t i;

	for (i = 0; i < SIGN_PUBLIC_SIZE; i++) {
		d.keys[0].public[i] = i;
		d.keys[1].public[i] = (uint8_t)(255 - i);
	}
	return (d);
}

static void
test_written(void **state)
{
	struct document d = document();
	struct buf b = BUF_INIT;

	(void)state;
	d.nkeys = 1;
	document_write(&b, &d);
	buf_addc(&b, '\0');
	assert_string_equal(
	    "{\"domain\":\"b.example\",\"keys\":[" KEY(
		"k1") "],"
		      "\"deliver\":\"" URL "\",\"ack_statuses\":[\"accepted\","
		      "\"retryable\",\"rejected\"],\"limits\":{\"items\":50,"
		      "\"bytes\":262144,\"requests\":64},\"versions\":[\"1\"],"
		      "\"epoch\":\"e-1\"}",
	    b.data);
	buf_fini(&b);
}

static void
test_round_trip(void **state)
{
	struct document d = document(), again;
	struct err err = ERR_INIT;
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	document_write(&b, &d);
	memset(&again, 0xff, sizeof(again));
	if (document_read(b.data, b.len, DOMAIN, NULL, &again, &err) != RC_OK)
		fail_msg("%s", err.text);
	assert_string_equal(d.domain, again.domain);
	assert_int_equal(d.nkeys, again.nkeys);
	for (i = 0; i < d.nkeys; i++) {
		assert_string_equal(d.keys[i].id, again.keys[i].id);
		assert_memory_equal(
		    d.keys[i].public, again.keys[i].public, SIGN_PUBLIC_SIZE);
	}
	assert_string_equal(d.deliver, again.deliver);
	assert_string_equal(DOMAIN, again.authority);
	assert_int_equal(50, again.items);
	assert_int_equal(262144, again.bytes);
	assert_int_equal(64, again.requests);
	assert_string_equal(d.epoch, again.epoch);
	buf_fini(&b);
}

/* Reads DOCUMENT with ${member} set to the JSON ${value}, or without it if
 * ${value} is NULL. */
static enum rc
read_changed(const char *member, const char *value, const char *pinned,
    struct document *ret, struct err *err)
{
	json_t *root = json_loads(DOCUMENT, 0, NULL), *json;
	char *text;
	enum rc rc;

	*err = (struct err)ERR_INIT;
	assert_non_null(root);
	if (value == NULL) {
		(void)json_object_del(root, member);
	} else {
		json = json_loads(value, JSON_DECODE_ANY, NULL);
		assert_int_equal(0, json_object_set_new(root, member, json));
	}
	text = json_dumps(root, 0);
	json_decref(root);
	assert_non_null(text);
	rc = document_read(text, strlen(text), DOMAIN, pinned, ret, err);
	mem_free(text);
	return (rc);
}

static const struct {
	const char *member, *value;
	const char *says; /* NULL: accepted */
} rules[] = {
    {"new", "{\"a\":[1]}", NULL},
    {"ack_statuses", "7", NULL},
    {"domain", NULL, "does not say its \"domain\""},
    {"domain", "7", "does not say its \"domain\""},
    {"domain", "\"\"", "is that of \"\""},
    {"domain", "\"a.example\"", "is that of \"a.example\""},
    {"domain", "\"B.example\"", "is that of \"B.example\""},
    {"domain", "\"b.example.\"", "is that of"},
    {"domain", "\"x\\u001b[2J\"", "is that of \"x\\u{001B}[2J\""},
    {"keys", NULL, "1 to 8 keys"},
    {"keys", "{}", "1 to 8 keys"},
    {"keys", "[]", "1 to 8 keys"},
    {"keys", "[7]", "does not say its \"alg\""},
    {"keys", "[{}]", "does not say its \"alg\""},
    {"keys", "[" OTHER_KEY "]", "no key with \"alg\" \"ed25519\""},
    {"keys", "[" OTHER_KEY "," KEY("k2") "," OTHER_KEY "]", NULL},
    {"keys", "[" KEY("a") "," KEY("a") "]", "the same id \"a\""},
    {"keys", "[" KEY("a") "," KEY("A") "]", NULL},
    {"keys", "[" KEY("") "]", "no \"id\""},
    {"keys", "[" KEY("a b") "]", "no \"id\""},
    {"keys", "[" KEY("\xc3\xa9") "]", "no \"id\""},
    {"keys", "[{\"alg\":\"ed25519\",\"public\":\"" PUBLIC "\"}]", "no \"id\""},
    {"keys", "[{\"id\":\"a\",\"alg\":\"ed25519\"}]", "\"public\" of key \"a\""},
    {"keys", "[{\"id\":\"a\",\"alg\":\"ed25519\",\"public\":\"AAEC\"}]",
	"\"public\" of key \"a\""},
    {"keys", "[{\"id\":\"a\",\"alg\":\"ed25519\",\"public\":\" " PUBLIC "\"}]",
	"\"public\" of key \"a\""},
    {"deliver", NULL, "where to \"deliver\""},
    {"deliver", "{}", "where to \"deliver\""},
    {"limits", "[]", "\"limits\" is not an object"},
    {"limits", "null", NULL},
    {"limits", "{\"items\":0}", "\"items\" of \"limits\""},
    {"limits", "{\"bytes\":-1}", "\"bytes\" of \"limits\""},
    {"limits", "{\"requests\":\"5\"}", "\"requests\" of \"limits\""},
    {"limits", "{\"requests\":1.5}", "\"requests\" of \"limits\""},
    {"versions", NULL, "\"versions\" does not have \"1\""},
    {"versions", "\"1\"", "\"versions\" does not have \"1\""},
    {"versions", "[]", "\"versions\" does not have \"1\""},
    {"versions", "[1]", "\"versions\" does not have \"1\""},
    {"versions", "[\"2\",\"10\"]", "\"versions\" does not have \"1\""},
    {"versions", "[{},\"2\",\"1\"]", NULL},
    {"epoch", "null", NULL},
    {"epoch", "7", "\"epoch\" is not"},
    {"epoch", "\"\"", "\"epoch\" is not"},
    {"epoch", "\"a b\"", "\"epoch\" is not"},
    {"epoch", "\"0123456789012345678901234567890123456789\"", NULL},
    {"epoch", "\"01234567890123456789012345678901234567890\"",
	"\"epoch\" is not"},
};

static void
test_rules(void **state)
{
	struct document d;
	struct err err;
	size_t i;
	enum rc rc;

	(void)state;
	for (i = 0; i < COUNT(rules); i++) {
		rc = read_changed(
		    rules[i].member, rules[i].value, NULL, &d, &err);
		if (rc != (rules[i].says == NULL ? RC_OK : RC_INVALID))
			fail_msg("%s = %s: %s %s", rules[i].member,
			    rules[i].value, rc_name(rc), err.text);
		if (rules[i].says != NULL &&
		    strstr(err.text, rules[i].says) == NULL)
			fail_msg("%s: %s", rules[i].says, err.text);
	}
}

/* URLs of deliver.  If says is NULL, the URL is accepted, with this
 * authority. */
static const struct {
	const char *url, *authority, *says;
} urls[] = {
    {URL, DOMAIN, NULL},
    {"https://b.example:443/v1/federation/deliver", DOMAIN, NULL},
    {"HTTPS://b.example/v1/federation/deliver", NULL, "https://"},
    {"https://B.example/v1/federation/deliver", NULL, "lower case"},
    {"https://in.b.example/v1/federation/deliver", "in.b.example", NULL},
    {"https://a-1.b.c.b.example/v1/federation/deliver", "a-1.b.c.b.example",
	NULL},
    {"", NULL, "https://"},
    {"http://b.example/v1/federation/deliver", NULL, "https://"},
    {"//b.example/v1/federation/deliver", NULL, "https://"},
    {" https://b.example/v1/federation/deliver", NULL, "https://"},
    {"https:b.example/v1/federation/deliver", NULL, "https://"},
    {"https:///v1/federation/deliver", NULL, "DNS name"},
    {"https://b.example./v1/federation/deliver", NULL, "DNS name"},
    {"https://.b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://a..b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://-a.b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://a-.b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://a_b.b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://a%2eb.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://\xc3\xa9.b.example/v1/federation/deliver", NULL, "DNS name"},
    {"https://[::1]/v1/federation/deliver", NULL, "DNS name"},
    {"https://b.example\\@c.example/v1/federation/deliver", NULL, "path"},
    {"https://b.example@c.example/v1/federation/deliver", NULL, "path"},
    {"https://c.example@b.example/v1/federation/deliver", NULL, "path"},
    {"https://u:p@b.example/v1/federation/deliver", NULL, "port"},
    {"https://b.example:8443/v1/federation/deliver", NULL, "port"},
    {"https://b.example:0443/v1/federation/deliver", NULL, "port"},
    {"https://b.example:4430/v1/federation/deliver", NULL, "port"},
    {"https://b.example:/v1/federation/deliver", NULL, "port"},
    {"https://b.example", NULL, "path"},
    {"https://b.example:443", NULL, "path"},
    {"https://b.example/", NULL, "path"},
    {"https://b.example/v1/federation/deliver/", NULL, "path"},
    {"https://b.example//v1/federation/deliver", NULL, "path"},
    {"https://b.example/v1/federation/Deliver", NULL, "path"},
    {"https://b.example/v1/x/../federation/deliver", NULL, "path"},
    {"https://b.example/v1/federation/deliver?", NULL, "path"},
    {"https://b.example/v1/federation/deliver#", NULL, "path"},
    {"https://c.example/v1/federation/deliver", NULL, "subdomain"},
    {"https://example/v1/federation/deliver", NULL, "subdomain"},
    {"https://ab.example/v1/federation/deliver", NULL, "subdomain"},
    {"https://b.example.c/v1/federation/deliver", NULL, "subdomain"},
    {"https://127.0.0.1/v1/federation/deliver", NULL, "subdomain"},
};

static void
test_deliver(void **state)
{
	char text[200];
	struct document d;
	struct err err;
	json_t *json;
	char *value;
	size_t i;
	enum rc rc;

	(void)state;
	for (i = 0; i < COUNT(urls); i++) {
		json = json_string(urls[i].url);
		value = json_dumps(json, JSON_ENCODE_ANY);
		json_decref(json);
		rc = read_changed("deliver", value, NULL, &d, &err);
		mem_free(value);
		if (rc != (urls[i].says == NULL ? RC_OK : RC_INVALID))
			fail_msg(
			    "%s: %s %s", urls[i].url, rc_name(rc), err.text);
		if (urls[i].says != NULL) {
			if (strstr(err.text, urls[i].says) == NULL)
				fail_msg("%s: %s", urls[i].says, err.text);
			continue;
		}
		assert_string_equal(urls[i].authority, d.authority);
		(void)snprintf(text, sizeof(text),
		    "https://%s/v1/federation/deliver", urls[i].authority);
		assert_string_equal(text, d.deliver);
	}
}

/* A host name of the greatest length, and a longer one. */
static void
test_deliver_length(void **state)
{
	char value[600], label[64];
	struct document d;
	struct err err;
	int last;

	(void)state;
	memset(label, 'a', 63);
	label[63] = '\0';
	/* 3 * 64 + last + 1 + strlen("b.example") */
	for (last = 51; last <= 52; last++) {
		(void)snprintf(value, sizeof(value),
		    "\"https://%s.%s.%s.%.*s.b.example"
		    "/v1/federation/deliver\"",
		    label, label, label, last, label);
		assert_int_equal(last == 51 ? RC_OK : RC_INVALID,
		    read_changed("deliver", value, NULL, &d, &err));
	}
	assert_non_null(strstr(err.text, "DNS name"));
	(void)snprintf(value, sizeof(value),
	    "\"https://a%s.b.example/v1/federation/deliver\"", label);
	assert_int_equal(
	    RC_INVALID, read_changed("deliver", value, NULL, &d, &err));
}

#define PINNED "http://127.0.0.1:8080"

static void
test_pinned(void **state)
{
	static const struct {
		const char *value, *pinned, *authority;
	} rows[] = {
	    {"\"" PINNED "/v1/federation/deliver\"", PINNED, "127.0.0.1:8080"},
	    {"\"" PINNED "/v1/federation/deliver\"", NULL, NULL},
	    {"\"" PINNED "/v1/federation/deliver\"", "http://127.0.0.1:808",
		NULL},
	    {"\"" PINNED "/v1/federation/deliver?\"", PINNED, NULL},
	    {"\"" PINNED "1/v1/federation/deliver\"", PINNED, NULL},
	    {"\"" PINNED "\"", PINNED, NULL},
	    {"\"https://c.example:443/v1/federation/deliver\"",
		"https://c.example:443", "c.example"},
	    {"\"https://c.example:8443/v1/federation/deliver\"",
		"https://c.example:8443", "c.example:8443"},
	    /* A pinned peer may still use a URL that the rule for public ones
	     * allows. */
	    {"\"" URL "\"", PINNED, DOMAIN},
	};
	struct document d;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(rows[i].authority != NULL ? RC_OK : RC_INVALID,
		    read_changed(
			"deliver", rows[i].value, rows[i].pinned, &d, &err));
		if (rows[i].authority != NULL)
			assert_string_equal(rows[i].authority, d.authority);
	}
}

static void
test_limits(void **state)
{
	static const struct {
		const char *value;
		int64_t items, bytes, requests;
	} rows[] = {
	    {"{}", 50, 262144, 32},
	    {"{\"items\":1,\"bytes\":1,\"requests\":1}", 1, 1, 1},
	    {"{\"items\":49,\"bytes\":262143,\"requests\":63}", 49, 262143, 63},
	    {"{\"items\":51,\"bytes\":262145,\"requests\":65}", 50, 262144, 64},
	    {"{\"items\":9223372036854775807}", 50, 262144, 32},
	    {"{\"requests\":4,\"new\":0}", 50, 262144, 4},
	    {"{\"items\":null}", 50, 262144, 32},
	};
	struct document d;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(RC_OK,
		    read_changed("limits", rows[i].value, NULL, &d, &err));
		assert_int_equal(rows[i].items, d.items);
		assert_int_equal(rows[i].bytes, d.bytes);
		assert_int_equal(rows[i].requests, d.requests);
	}
}

/* Reads a document with ${n} keys k10, k11, … */
static enum rc
read_keys(int n, struct document *ret)
{
	struct buf b = BUF_INIT;
	struct err err;
	enum rc rc;
	int i;

	for (i = 0; i < n; i++)
		buf_addf(&b,
		    "%s{\"id\":\"k1%d\",\"alg\":\"ed25519\","
		    "\"public\":\"" PUBLIC "\"}",
		    i > 0 ? "," : "[", i);
	buf_addc(&b, ']');
	buf_addc(&b, '\0');
	rc = read_changed("keys", b.data, NULL, ret, &err);
	buf_fini(&b);
	return (rc);
}

static void
test_keys(void **state)
{
	char value[300];
	struct document d;
	struct err err;
	int more;

	(void)state;
	assert_int_equal(RC_OK, read_keys(DOCUMENT_KEYS, &d));
	assert_int_equal(DOCUMENT_KEYS, d.nkeys);
	assert_string_equal("k17", d.keys[7].id);
	assert_int_equal(31, d.keys[7].public[31]);
	assert_int_equal(RC_INVALID, read_keys(DOCUMENT_KEYS + 1, &d));
	for (more = 0; more < 2; more++) {
		(void)snprintf(value, sizeof(value),
		    "[{\"id\":\"%0*d\",\"alg\":\"ed25519\","
		    "\"public\":\"" PUBLIC "\"}]",
		    SIGNATURE_KEY_ID_MAX + more, 0);
		assert_int_equal(more ? RC_INVALID : RC_OK,
		    read_changed("keys", value, NULL, &d, &err));
	}
}

static void
test_texts(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
	    {"", "there is nothing"},
	    {"<html>", "not valid JSON at line 1"},
	    {"[]", "not a JSON object"},
	    {"null", "not a JSON object"},
	    {"{}", "versions"},
	    {"{\"domain\":\"a\",\"domain\":\"b\"}", "duplicate"},
	};
	static char text[DOCUMENT_LEN + 1];
	struct document d, before;
	struct err err = ERR_INIT;
	size_t i;

	(void)state;
	memset(&d, 0x55, sizeof(d));
	before = d;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(RC_INVALID,
		    document_read(rows[i].text, strlen(rows[i].text), DOMAIN,
			NULL, &d, &err));
		if (strstr(err.text, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].text, err.text);
		assert_memory_equal(&before, &d, sizeof(d));
	}
	memset(text, ' ', sizeof(text));
	memcpy(text, DOCUMENT, strlen(DOCUMENT));
	assert_int_equal(
	    RC_OK, document_read(text, DOCUMENT_LEN, DOMAIN, NULL, &d, &err));
	assert_int_equal(RC_INVALID,
	    document_read(text, DOCUMENT_LEN + 1, DOMAIN, NULL, &d, &err));
	assert_non_null(strstr(err.text, "longer than 65536 bytes"));
}

static void
test_no_memory(void **state)
{
	struct document d;
	struct err err = ERR_INIT;
	enum rc rc;
	int64_t k;

	(void)state;
	for (k = 1, rc = RC_NO_MEMORY; rc != RC_OK; k++) {
		assert_true(k < 1000);
		mem_fail_at(k);
		rc = document_read(
		    DOCUMENT, strlen(DOCUMENT), DOMAIN, NULL, &d, &err);
		mem_fail_at(0);
		assert_true(rc == RC_OK || rc == RC_NO_MEMORY);
	}
	assert_true(k > 10);
}

static void
test_lifetime(void **state)
{
	static const struct {
		const char *value;
		int64_t seconds;
	} rows[] = {
	    {NULL, 300},
	    {"", 300},
	    {"no-cache", 300},
	    {"max-age=300", 300},
	    {"max-age=60", 60},
	    {"max-age=61", 61},
	    {"max-age=59", 60},
	    {"max-age=0", 60},
	    {"max-age=86399", 86399},
	    {"max-age=86400", 86400},
	    {"max-age=86401", 86400},
	    {"max-age=99999999999999999999999999", 86400},
	    {"Max-Age=100", 100},
	    {"max-age=\"100\"", 100},
	    {"public, max-age=100", 100},
	    {"public,max-age=100,immutable", 100},
	    {" ,, max-age=100 ,", 100},
	    {"max-age=100\t, public", 100},
	    {"max-age=100, max-age=200", 100},
	    {"s-maxage=100", 300},
	    {"x-max-age=100", 300},
	    {"private=\"a, max-age=100\"", 300},
	    {"private=\"a\\\", max-age=100\", max-age=200", 200},
	    {"private=\"a, max-age=100", 300},
	    {"max-age", 300},
	    {"max-age=", 300},
	    {"max-age=-5", 300},
	    {"max-age=1e3", 300},
	    {"max-age=100s", 300},
	    {"max-age =100", 300},
	    {"max-age=\"100", 300},
	    {"max-age=\"\"", 300},
	    {"public max-age=100", 300},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (document_lifetime_s(rows[i].value) != rows[i].seconds)
			fail_msg("%s: %d", rows[i].value,
			    (int)document_lifetime_s(rows[i].value));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_written),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_deliver),
	    cmocka_unit_test(test_deliver_length),
	    cmocka_unit_test(test_pinned),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_lifetime),
	};

	return (cmocka_run_group_tests_name("document", tests, setup, NULL));
}
