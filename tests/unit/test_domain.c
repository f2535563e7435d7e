/* SPDX-License-Identifier: MIT */
/*
 * Names of servers, lists of names, and the URLs at which servers are reached:
 * texts that are accepted, and texts that only look similar.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/domain.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define L10 "abcdefghij"
#define L63 L10 L10 L10 L10 L10 L10 "abc"
/* 4 * 64 - 1 = 255 and 253 characters. */
#define N255 L63 "." L63 "." L63 "." L63
#define N253 L63 "." L63 "." L63 "." L10 L10 L10 L10 L10 L10 "a"

static void
test_valid(void **state)
{
	static const char *const rows[] = {"b.example", "a.b.example", "x.y",
	    "0.example", "1.2.3.example", "a-b.example", "a--b.example",
	    "xn--bcher-kva.example", "b.x1", "b.xn--p1ai", L63 ".example",
	    N253};
	size_t i;

	(void)state;
	assert_int_equal(253, strlen(N253));
	for (i = 0; i < COUNT(rows); i++)
		if (!domain_valid(rows[i], strlen(rows[i])))
			fail_msg("\"%s\" is refused", rows[i]);
	/* The length ends the name, whatever follows. */
	assert_true(domain_valid("b.example/x", 9));
}

static void
test_invalid(void **state)
{
	static const char *const rows[] = {"", ".", "..", "b", "localhost",
	    "b.", ".b", ".b.example", "b.example.", "b..example", "B.example",
	    "b.Example", "b_c.example", "b c.example", " b.example",
	    "b.example ", "b.example\n", "-b.example", "b-.example",
	    "b.-example", "b.example-", "b.1", "b.1x", "b.0x1", "127.0.0.1",
	    "1.2.3", "127.1", "0x7f.1", "0177.0.0.1", "192.0.2.1", "::1",
	    "[::1]", "2001:db8::1", "b.example:443", "@b.example",
	    "bob@b.example", "b.example/", "https://b.example", "*.example",
	    "b.ex\xc3\xa4mple", "b.example\x80",
	    "b\xe3\x80\x82"
	    "example",
	    "a" L63 ".example", N255, "a" N253};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		if (domain_valid(rows[i], strlen(rows[i])))
			fail_msg("\"%s\" is taken", rows[i]);
	assert_false(domain_valid("b.exa\0mple", 10));
	assert_false(domain_valid("b.example\0", 10));
}

/* A host name has at least one label, and may look like an address. */
static void
test_host(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
	    {"b.example", true},
	    {"localhost", true},
	    {"b", true},
	    {"0", true},
	    {"127.0.0.1", true},
	    {"a-b.c--d", true},
	    {L63, true},
	    {N253, true},
	    {"", false},
	    {".", false},
	    {".b", false},
	    {"b.", false},
	    {"a..b", false},
	    {"-a", false},
	    {"a-", false},
	    {"a-.b", false},
	    {"a.-b", false},
	    {"A", false},
	    {"a_b", false},
	    {"a/b", false},
	    {"a:b", false},
	    {"a{", false},
	    {"`", false},
	    {"::1", false},
	    {"\xc3\xa4", false},
	    {"a" L63, false},
	    {N255, false},
	    {"a" N253, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		if (domain_host_valid(rows[i].text, strlen(rows[i].text)) !=
		    rows[i].want)
			fail_msg("\"%s\"", rows[i].text);
	assert_true(domain_host_valid("a/", 1));
	assert_false(domain_host_valid("a\0b", 3));
}

static void
test_within(void **state)
{

	(void)state;
	assert_true(domain_within("b.example", "b.example"));
	assert_true(domain_within("a.b.example", "b.example"));
	assert_true(domain_within("x.a.b.example", "b.example"));
	assert_false(domain_within("ab.example", "b.example"));
	assert_false(domain_within("example", "b.example"));
	assert_false(domain_within(".example", "b.example"));
	assert_false(domain_within("b.example.c", "b.example"));
	assert_false(domain_within("c.example", "b.example"));
	assert_false(domain_within("", "b.example"));
}

/* ---- lists ---- */

static void
parse_list(const char *text, struct domain_list *ret)
{
	struct err err = ERR_INIT;

	if (domain_list_parse(text, ret, &err) != RC_OK)
		fail_msg("\"%s\": %s", text, err.text);
}

static void
test_list(void **state)
{
	static const struct {
		const char *list, *domain;
		bool want;
	} rows[] = {
	    {"", "b.example", false},
	    {"b.example", "b.example", true},
	    {"b.example", "a.b.example", false},
	    {"b.example", "b.exampl", false},
	    {"b.example", "b.example.org", false},
	    {"b.example", "ab.example", false},
	    {".example.org", "a.example.org", true},
	    {".example.org", "a.b.example.org", true},
	    {".example.org", "example.org", false},
	    {".example.org", "xexample.org", false},
	    {".example.org", "a.example.org.b", false},
	    {".example.org", "a.example.com", false},
	    {".example.org", "org", false},
	    {".example", "b.example", true},
	    {".example", "b.xexample", false},
	    {"a.example,.b.example,c.example", "a.example", true},
	    {"a.example,.b.example,c.example", "x.b.example", true},
	    {"a.example,.b.example,c.example", "b.example", false},
	    {"a.example,.b.example,c.example", "c.example", true},
	    {"a.example,.b.example,c.example", "d.example", false},
	    {N253, N253, true},
	    {"." N253, N253, false},
	    /* The separators between entries. */
	    {"a.example, b.example", "b.example", true},
	    {"a.example b.example", "b.example", true},
	    {" a.example ,, b.example, ", "a.example", true},
	    {", ", "a.example", false},
	};
	struct domain_list list;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		parse_list(rows[i].list, &list);
		if (domain_listed(&list, rows[i].domain) != rows[i].want)
			fail_msg("%s in %s", rows[i].domain, rows[i].list);
	}
}

static void
test_list_wrong(void **state)
{
	/* A list, and the entry that the error names. */
	static const char *const rows[][2] = {
	    {"a.example,b", "\"b\""},
	    {"a.example\tb.example", "\"a.example\tb.example\""},
	    {"localhost", "\"localhost\""},
	    {"a.example,127.0.0.1", "\"127.0.0.1\""},
	    {"a.example,.", "\".\""},
	    {"..example", "\"..example\""},
	    {".1", "\".1\""},
	    {"*.example", "\"*.example\""},
	    {"A.example", "\"A.example\""},
	    {"a.example;b.example", "\"a.example;b.example\""},
	    {"." N255, "\"." L63},
	    {N255, "\"" L63},
	};
	struct domain_list list, before;
	struct err err;
	size_t i;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < COUNT(rows); i++) {
		memcpy(&list, &before, sizeof(list));
		err = (struct err)ERR_INIT;
		assert_int_equal(
		    RC_INVALID, domain_list_parse(rows[i][0], &list, &err));
		if (strncmp(err.text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("\"%s\": %s", rows[i][0], err.text);
		assert_memory_equal(&before, &list, sizeof(list));
	}
}

static void
test_list_long(void **state)
{
	char text[16 * (DOMAIN_LIST_MAX + 2)] = "", last[32];
	struct domain_list list;
	struct err err = ERR_INIT;
	size_t n = 0;
	int i;

	(void)state;
	for (i = 0; i < DOMAIN_LIST_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%sd%d.example", i == 0 ? "" : ",", i);
	parse_list(text, &list);
	assert_int_equal(DOMAIN_LIST_MAX, list.n);
	(void)snprintf(last, sizeof(last), "d%d.example", i - 1);
	assert_true(domain_listed(&list, last));
	parse_list(" a.example ,, b.example, ", &list);
	assert_int_equal(2, list.n);
	(void)snprintf(text + n, sizeof(text) - n, ",more.example");
	assert_int_equal(RC_INVALID, domain_list_parse(text, &list, &err));
	assert_non_null(strstr(err.text, "\"more.example\""));
}

/* ---- URLs ---- */

static void
test_url(void **state)
{
	static const struct {
		const char *text;
		bool https;
		const char *host;
		int port;
		const char *authority;
	} rows[] = {
	    {"https://b.example", true, "b.example", 443, "b.example"},
	    {"https://b.example:443", true, "b.example", 443, "b.example"},
	    {"https://b.example:80", true, "b.example", 80, "b.example:80"},
	    {"https://b.example:8443", true, "b.example", 8443,
		"b.example:8443"},
	    {"https://b.example:1", true, "b.example", 1, "b.example:1"},
	    {"https://b.example:65535", true, "b.example", 65535,
		"b.example:65535"},
	    {"https://backend", true, "backend", 443, "backend"},
	    {"https://localhost", true, "localhost", 443, "localhost"},
	    {"https://10.0.0.5:8443", true, "10.0.0.5", 8443, "10.0.0.5:8443"},
	    {"https://[2001:db8::1]", true, "2001:db8::1", 443,
		"[2001:db8::1]"},
	    {"https://[2001:db8::1]:444", true, "2001:db8::1", 444,
		"[2001:db8::1]:444"},
	    {"https://" N253 ":65535", true, N253, 65535, N253 ":65535"},
	    {"http://localhost", false, "localhost", 80, "localhost"},
	    {"http://localhost:80", false, "localhost", 80, "localhost"},
	    {"http://localhost:443", false, "localhost", 443, "localhost:443"},
	    {"http://127.0.0.1:8080", false, "127.0.0.1", 8080,
		"127.0.0.1:8080"},
	    {"http://127.255.255.254", false, "127.255.255.254", 80,
		"127.255.255.254"},
	    {"http://[::1]:8080", false, "::1", 8080, "[::1]:8080"},
	};
	struct err err = ERR_INIT;
	struct domain_url url;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		if (domain_url_parse(rows[i].text, &url, &err) != RC_OK)
			fail_msg("%s", err.text);
		assert_int_equal(rows[i].https, url.https);
		assert_string_equal(rows[i].host, url.host);
		assert_int_equal(rows[i].port, url.port);
		assert_string_equal(rows[i].authority, url.authority);
	}
}

#define BAD_URL "is not a valid URL"
#define PLAIN_URL "is not encrypted"

static const struct {
	const char *text, *why;
} wrong_urls[] = {
    {"", BAD_URL},
    {"b.example", BAD_URL},
    {"//b.example", BAD_URL},
    {"https:b.example", BAD_URL},
    {"https:/b.example", BAD_URL},
    {"https://", BAD_URL},
    {"HTTPS://b.example", BAD_URL},
    {" https://b.example", BAD_URL},
    {"https://b.example ", BAD_URL},
    {"https:// b.example", BAD_URL},
    {"ftp://b.example", BAD_URL},
    {"file:///etc/passwd", BAD_URL},
    {"https://b.example/", BAD_URL},
    {"https://b.example/x", BAD_URL},
    {"https://b.example?x", BAD_URL},
    {"https://b.example#x", BAD_URL},
    {"https://b.example\\x", BAD_URL},
    {"https://u@b.example", BAD_URL},
    {"https://u:p@b.example", BAD_URL},
    {"https://b.example:443@c.example", BAD_URL},
    {"https://b.example%2f", BAD_URL},
    {"https://B.example", BAD_URL},
    {"https://b.example.", BAD_URL},
    {"https://b..example", BAD_URL},
    {"https://-b.example", BAD_URL},
    {"https://b.example\nx", BAD_URL},
    {"https://a" N253, BAD_URL},
    {"https://" N255, BAD_URL},
    {"https://" N253 "." N253 "." N253 "." N253, BAD_URL},
    {"https://[" N253 "." N253 "." N253 "." N253 "]", BAD_URL},
    /* ports */
    {"https://b.example:", BAD_URL},
    {"https://:443", BAD_URL},
    {"https://b.example:0", BAD_URL},
    {"https://b.example:0443", BAD_URL},
    {"https://b.example:65536", BAD_URL},
    {"https://b.example:4294967739", BAD_URL},
    {"https://b.example:99999999999999999999", BAD_URL},
    {"https://b.example:+443", BAD_URL},
    {"https://b.example:-1", BAD_URL},
    {"https://b.example:443x", BAD_URL},
    {"https://b.example:443:443", BAD_URL},
    {"https://b.example:443/", BAD_URL},
    /* addresses in another spelling */
    {"https://127.1", BAD_URL},
    {"https://2130706433", BAD_URL},
    {"https://0x7f000001", BAD_URL},
    {"https://0x7f.1", BAD_URL},
    {"https://0177.0.0.1", BAD_URL},
    {"https://127.0.0.01", BAD_URL},
    {"https://1.2.3.4.5", BAD_URL},
    {"https://256.1.1.1", BAD_URL},
    {"https://::1", BAD_URL},
    {"https://[::1", BAD_URL},
    {"https://[]", BAD_URL},
    {"https://[::1]x", BAD_URL},
    {"https://[::1]:", BAD_URL},
    {"https://[::1]]", BAD_URL},
    {"https://[0:0:0:0:0:0:0:1]", BAD_URL},
    {"https://[2001:DB8::1]", BAD_URL},
    {"https://[fe80::1%eth0]", BAD_URL},
    {"https://[127.0.0.1]", BAD_URL},
    {"https://[b.example]", BAD_URL},
    /* http beyond this machine */
    {"http://b.example", PLAIN_URL},
    {"http://localhost.example", PLAIN_URL},
    {"http://xlocalhost", PLAIN_URL},
    {"http://10.0.0.1", PLAIN_URL},
    {"http://126.255.255.255", PLAIN_URL},
    {"http://128.0.0.1", PLAIN_URL},
    {"http://0.0.0.0", PLAIN_URL},
    {"http://[::]", PLAIN_URL},
    {"http://[::2]", PLAIN_URL},
    {"http://[::ffff:127.0.0.1]", PLAIN_URL},
    {"http://127.1", BAD_URL},
};

static void
test_url_wrong(void **state)
{
	struct domain_url url, before;
	struct err err;
	size_t i;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	for (i = 0; i < COUNT(wrong_urls); i++) {
		memcpy(&url, &before, sizeof(url));
		err = (struct err)ERR_INIT;
		if (domain_url_parse(wrong_urls[i].text, &url, &err) !=
			RC_INVALID ||
		    strstr(err.text, wrong_urls[i].why) == NULL)
			fail_msg("\"%s\": %s", wrong_urls[i].text, err.text);
		assert_memory_equal(&before, &url, sizeof(url));
	}
}

static void
test_peer(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
	    {"", "is not a valid peer"},
	    {"b.example", "is not a valid peer"},
	    {"https://b.example", "is not a valid peer"},
	    {"=https://b.example", "\"\" is not a valid domain"},
	    {"b=https://b.example", "\"b\" is not a valid domain"},
	    {"B.example=https://b.example", "is not a valid domain"},
	    {"127.0.0.1=https://b.example", "is not a valid domain"},
	    {"b.example =https://b.example", "is not a valid domain"},
	    {N255 "=https://b.example", "is not a valid domain"},
	    {"b.example=", BAD_URL},
	    {"b.example=b.example", BAD_URL},
	    {"b.example==https://b.example", BAD_URL},
	    {"b.example=https://b.example?x=y", BAD_URL},
	    {"b.example=http://b.example", PLAIN_URL},
	};
	struct err err = ERR_INIT;
	struct domain_peer peer;
	size_t i;

	(void)state;
	assert_int_equal(RC_OK,
	    domain_peer_parse("b.example=http://[::1]:8081", &peer, &err));
	assert_string_equal("b.example", peer.domain);
	assert_string_equal("::1", peer.url.host);
	assert_int_equal(8081, peer.url.port);
	assert_false(peer.url.https);
	for (i = 0; i < COUNT(rows); i++) {
		err = (struct err)ERR_INIT;
		if (domain_peer_parse(rows[i].text, &peer, &err) !=
			RC_INVALID ||
		    strstr(err.text, rows[i].why) == NULL)
			fail_msg("\"%s\": %s", rows[i].text, err.text);
		assert_string_equal("b.example", peer.domain);
	}
}

static void
test_peer_find(void **state)
{
	static const struct domain_peer list[] = {
	    {.domain = "b.example"}, {.domain = "c.example"}};

	(void)state;
	assert_ptr_equal(&list[0], domain_peer_find(list, 2, "b.example"));
	assert_ptr_equal(&list[1], domain_peer_find(list, 2, "c.example"));
	assert_null(domain_peer_find(list, 1, "c.example"));
	assert_null(domain_peer_find(list, 2, "x.b.example"));
	assert_null(domain_peer_find(NULL, 0, "b.example"));
}

static void
test_url_public(void **state)
{
	static const struct {
		const char *url;
		bool is_public;
	} rows[] = {
	    {"https://b.example", true},
	    {"https://b.example:443", true},
	    {"https://chat.b.example", true},
	    {"https://b.example:444", false},
	    {"https://xb.example", false},
	    {"https://example", false},
	    {"https://127.0.0.1", false},
	    {"http://localhost:443", false},
	};
	struct err err = ERR_INIT;
	struct domain_url url;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
		    RC_OK, domain_url_parse(rows[i].url, &url, &err));
		assert_int_equal(
		    rows[i].is_public, domain_url_public(&url, "b.example"));
	}
	/* http on the port of https, which a URL with a public name cannot
	 * express. */
	url = (struct domain_url){
	    .https = false, .host = "b.example", .port = 443};
	assert_false(domain_url_public(&url, "b.example"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_valid),
	    cmocka_unit_test(test_invalid),
	    cmocka_unit_test(test_host),
	    cmocka_unit_test(test_within),
	    cmocka_unit_test(test_list),
	    cmocka_unit_test(test_list_wrong),
	    cmocka_unit_test(test_list_long),
	    cmocka_unit_test(test_url),
	    cmocka_unit_test(test_url_wrong),
	    cmocka_unit_test(test_peer),
	    cmocka_unit_test(test_peer_find),
	    cmocka_unit_test(test_url_public),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
