/* SPDX-License-Identifier: MIT */
/*
 * The client's address behind proxies: the walk through the headers, which
 * strangers can fill.  The trusted networks are 10.0.0.0/8, 127.0.0.1 and
 * 2001:db8:f::/48; the peer is 10.0.0.1 in every row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include "net/forwarded.h"

#define PEER "10.0.0.1"

static const struct net_networks believed = {
    3, {{{[10] = 0xff, [11] = 0xff, [12] = 10}, 104},
	   {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}, 128},
	   {{0x20, 0x01, 0x0d, 0xb8, 0x00, 0x0f}, 48}}};

/* Headers ("Name: value", in order) and the result. */
struct row {
	const char *headers;
	const char *client;
	const char *more; /* "scheme host" */
};

#define X "X-Forwarded-For: "
#define F "Forwarded: "
#define P "X-Forwarded-Proto: "
#define END "\r\n"

static const struct row rows[] = {
    {"", PEER, ""},
    {"X-Real-IP: 192.0.2.1", PEER, ""},
    {"X-Forwarded-Fo: 192.0.2.1", PEER, ""},

    /* X-Forwarded-For: the walk */
    {X "192.0.2.1", "192.0.2.1", ""},
    {"x-forwarded-FOR:192.0.2.1", "192.0.2.1", ""},
    {X "\t 192.0.2.1 \t", "192.0.2.1", ""},
    {X "6.6.6.6, 192.0.2.1", "192.0.2.1", ""},
    {X "6.6.6.6, 192.0.2.1, 10.1.2.3", "192.0.2.1", ""},
    {X "6.6.6.6,192.0.2.1,10.1.2.3,127.0.0.1", "192.0.2.1", ""},
    {X "6.6.6.6, 10.9.9.9, 192.0.2.1, 10.1.2.3", "192.0.2.1", ""},
    {X "127.0.0.2", "127.0.0.2", ""},
    {X "10.1.1.1, 10.2.2.2", "10.1.1.1", ""},
    {X "6.6.6.6" END X "192.0.2.1", "192.0.2.1", ""},
    {X "6.6.6.6" END X "192.0.2.1" END X "10.3.3.3", "192.0.2.1", ""},
    {X "1.1.1.1" END X "2.2.2.2" END X "3.3.3.3" END X "4.4.4.4" END X
       "5.5.5.5" END X "192.0.2.1",
	"192.0.2.1", ""},
    {X "6.6.6.6,,192.0.2.1, ,", "192.0.2.1", ""},
    {X ",", PEER, ""},
    {X, PEER, ""},

    /* X-Forwarded-For: forms of addresses */
    {X "192.0.2.1:4711", "192.0.2.1", ""},
    {X "2001:DB8::0:1", "2001:db8::1", ""},
    {X "[2001:db8::1]", "2001:db8::1", ""},
    {X "[2001:db8::1]:4711", "2001:db8::1", ""},
    {X "::ffff:192.0.2.1", "192.0.2.1", ""},
    {X "[::ffff:c000:201]:1", "192.0.2.1", ""},
    {X "6.6.6.6, 192.0.2.1, ::ffff:10.1.2.3", "192.0.2.1", ""},
    {X "6.6.6.6, 2001:db8:e::1, 2001:db8:f::1", "2001:db8:e::1", ""},
    {X "6.6.6.6, 2001:db8:10::1", "2001:db8:10::1", ""},

    /* X-Forwarded-For: a text that is not an address ends the walk */
    {X "unknown", PEER, ""},
    {X "192.0.2.1, unknown", PEER, ""},
    {X "192.0.2.1, unknown, 10.1.2.3", "10.1.2.3", ""},
    {X "192.0.2.1, \"10.1.2.3\"", PEER, ""},
    {X "192.0.2.1 10.1.2.3", PEER, ""},
    {X "192.0.2.1;10.1.2.3", PEER, ""},
    {X "192.0.2.256", PEER, ""},
    {X "192.0.2", PEER, ""},
    {X "3221225985", PEER, ""},
    {X "0xc0.0.2.1", PEER, ""},
    {X "192.0.2.1/32", PEER, ""},
    {X "192.0.2.1:", PEER, ""},
    {X "192.0.2.1:port", PEER, ""},
    {X "192.0.2.1:123456", PEER, ""},
    {X ":4711", PEER, ""},
    {X "[192.0.2.1]", PEER, ""},
    {X "[2001:db8::1", PEER, ""},
    {X "[2001:db8::1]4711", PEER, ""},
    {X "[2001:db8::1]:", PEER, ""},
    {X "2001:db8::1]", PEER, ""},
    {X "[]", PEER, ""},
    {X "fe80::1%eth0", PEER, ""},
    {X "localhost", PEER, ""},
    {X "<script>", PEER, ""},
    {X "192.0.2.1 user=root", PEER, ""},
    {X "192.0.2.1192.0.2.1192.0.2.1192.0.2.1192.0.2.1192.0.2.1192.0.2.1", PEER,
	""},

    /* Forwarded */
    {F "for=192.0.2.1", "192.0.2.1", ""},
    {F "FOR=192.0.2.1;Proto=HTTPS;by=10.0.0.1", "192.0.2.1", "https"},
    {F "for=\"192.0.2.1:4711\"", "192.0.2.1", ""},
    {F "for=\"[2001:db8::1]:4711\";host=chat.example", "2001:db8::1",
	" chat.example"},
    {F "for=6.6.6.6, for=192.0.2.1;proto=http", "192.0.2.1", "http"},
    {F "for=6.6.6.6;proto=http;host=evil.example , "
       "for=192.0.2.1 ; proto=https ; host=\"chat.example:8443\", "
       "for=10.1.2.3;proto=http;host=inner",
	"192.0.2.1", "https chat.example:8443"},
    {F "for=6.6.6.6" END F "for=192.0.2.1", "192.0.2.1", ""},
    {F "for=\"192.0.2\\.1\"", "192.0.2.1", ""},
    {F "for=192.0.2.1;secret=\"a,b;c=\\\"for=6.6.6.6\"", "192.0.2.1", ""},
    {F "for=192.0.2.1,,", "192.0.2.1", ""},
    {F "for=unknown", PEER, ""},
    {F "for=_hidden;proto=https", PEER, ""},
    {F "for=192.0.2.1, for=\"_gazonk\"", PEER, ""},
    {F "for=192.0.2.1, for=unknown, for=10.1.2.3", "10.1.2.3", ""},
    {F "for=192.0.2.1, proto=https", PEER, ""},
    {F "for=192.0.2.1;proto=gopher", "192.0.2.1", ""},
    {F "for=192.0.2.1;host=\"a b\"", "192.0.2.1", ""},
    {F "for=192.0.2.1;host=\"a\x7f\"", "192.0.2.1", ""},

    /* Forwarded: a malformed line is ignored as a whole */
    {F "for=\", for=192.0.2.1", PEER, ""},
    {F "for=6.6.6.6;x=\", for=192.0.2.1", PEER, ""},
    {F "for=6.6.6.6;x=\", for=\"[2001:db8::1]\"", PEER, ""},
    {F "for=6.6.6.6, for=192.0.2.1:80", PEER, ""},
    {F "for=192.0.2.1;for=6.6.6.6", PEER, ""},
    {F "for=192.0.2.1;", PEER, ""},
    {F ";for=192.0.2.1", PEER, ""},
    {F "for=", PEER, ""},
    {F "for", PEER, ""},
    {F "for =192.0.2.1", PEER, ""},
    {F "for= 192.0.2.1", PEER, ""},
    {F "=192.0.2.1", PEER, ""},
    {F "192.0.2.1", PEER, ""},
    {F "for=192.0.2.1\\", PEER, ""},
    {F "for=\"192.0.2.1\\", PEER, ""},
    {F "for=6.6.6.6;x=\"" END F "for=192.0.2.1", "192.0.2.1", ""},
    {F "for=192.0.2.1" END F "for=6.6.6.6;x=\"", PEER, ""},

    /* both headers: they must agree */
    {F "for=192.0.2.1;proto=https" END X "192.0.2.1", "192.0.2.1", "https"},
    {X "6.6.6.6, 192.0.2.1" END F "for=192.0.2.1", "192.0.2.1", ""},
    {X "192.0.2.1" END F "for=6.6.6.6;proto=https;host=evil", PEER, ""},
    {F "for=192.0.2.1" END X "6.6.6.6", PEER, ""},
    {F "for=unknown" END X "6.6.6.6", PEER, ""},
    {F "for=6.6.6.6" END X, PEER, ""},
    {P "https" END X "192.0.2.1" END F "for=6.6.6.6", PEER, ""},

    /* X-Forwarded-Proto */
    {P "https", PEER, "https"},
    {P "HTTP" END X "192.0.2.1", "192.0.2.1", "http"},
    {P "wss" END X "192.0.2.1", "192.0.2.1", "https"},
    {P "ws", PEER, "http"},
    {P "https, http", PEER, ""},
    {P "https" END P "http", PEER, ""},
    {P "httpsx", PEER, ""},
    {F "for=192.0.2.1;proto=http" END P "https", "192.0.2.1", "http"},
    {F "for=192.0.2.1" END P "https", "192.0.2.1", "https"},
};

/* Reads the raw head ${headers}. */
static void
read_head(const char *headers, size_t n, struct net_from *ret)
{
	struct forwarded_lines lines;

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->client, PEER, sizeof(PEER));
	if (forwarded_scan(headers, n, &lines))
		forwarded_read(&lines, &believed, ret);
}

static void
test_table(void **state)
{
	static const char *const schemes[] = {"", "http", "https"};
	struct net_from from;
	char head[1024], more[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(head, sizeof(head),
		    "GET /v1/ws HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n"
		    "X-Forwarded-For: 7.7.7.7\r\n",
		    rows[i].headers);
		read_head(head, strlen(head), &from);
		(void)snprintf(more, sizeof(more), "%s%s%s",
		    schemes[from.scheme], from.host[0] != '\0' ? " " : "",
		    from.host);
		if (strcmp(from.client, rows[i].client) != 0 ||
		    strcmp(more, rows[i].more) != 0)
			fail_msg("row %zu (%s): %s, %s", i, rows[i].headers,
			    from.client, more);
	}
	print_message("# headers read: %zu rows\n", i);
	assert_true(i > 90);
}

/* Values in libmicrohttpd's form: without a NUL at the end, with NULs
 * within. */
static void
test_spans(void **state)
{
	static const char text[] = "192.0.2.1\0, 6.6.6.6";
	struct forwarded_lines lines = {.n = {0}};
	struct net_from from = {.client = PEER};

	(void)state;
	forwarded_add(&lines, "X-Forwarded-Forward", 15, text, 9);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, "192.0.2.1");
	memset(&lines, 0, sizeof(lines));
	memcpy(from.client, PEER, sizeof(PEER));
	forwarded_add(&lines, "X-Forwarded-For", 15, text, 10);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, PEER);
	memset(&lines, 0, sizeof(lines));
	forwarded_add(&lines, "Forwarded", 9, "for=192.0.2.1\0", 14);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, PEER);
}

/* Long chains cost no more, and only their last hops are read. */
static void
test_long(void **state)
{
	struct forwarded_lines lines = {.n = {0}};
	struct net_from from = {.client = PEER};
	char text[FORWARDED_LINE_LEN_MAX + 2];
	size_t n;
	int i;

	(void)state;
	for (n = 0, i = 0; i < FORWARDED_HOPS_MAX - 1; i++)
		n += (size_t)snprintf(
		    text + n, sizeof(text) - n, ",10.0.1.%d", i);
	forwarded_add(&lines, "X-Forwarded-For", 15, "192.0.2.1", 9);
	forwarded_add(&lines, "X-Forwarded-For", 15, text, n);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, "192.0.2.1");
	/* With one more proxy, the client is beyond the hops that are read. */
	forwarded_add(&lines, "X-Forwarded-For", 15, "10.0.2.1", 8);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, "10.0.1.0");

	memset(&lines, 0, sizeof(lines));
	memset(text, ' ', sizeof(text));
	memcpy(text, "192.0.2.1", 9);
	forwarded_add(
	    &lines, "X-Forwarded-For", 15, text, FORWARDED_LINE_LEN_MAX);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, "192.0.2.1");
	memcpy(from.client, PEER, sizeof(PEER));
	lines.line[FORWARDED_FOR][0].len++;
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, PEER);

	/* A host that does not fit is left out; a longer value is malformed. */
	memset(&lines, 0, sizeof(lines));
	n = (size_t)snprintf(text, sizeof(text), "for=192.0.2.1;host=");
	memset(text + n, 'h', NET_HOST_SIZE);
	forwarded_add(&lines, "Forwarded", 9, text, n + NET_HOST_SIZE);
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, "192.0.2.1");
	assert_string_equal(from.host, "");
	memcpy(from.client, PEER, sizeof(PEER));
	text[n + NET_HOST_SIZE] = 'h';
	lines.line[FORWARDED_STANDARD][0].len++;
	forwarded_read(&lines, &believed, &from);
	assert_string_equal(from.client, PEER);
}

/* From random bytes nothing but an address comes out. */
static void
test_noise(void **state)
{
	static const char letters[] = "for=\"[]:;,. \t\\192afx\r\n%_\xc3\0";
	struct net_from from;
	struct in6_addr address;
	char head[300];
	uint32_t seed = 1;
	size_t n, i;
	int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		n = (size_t)snprintf(head, sizeof(head), "GET / HTTP/1.1\r\n%s",
		    round % 2 == 0 ? F : X);
		for (i = 0; i < (size_t)round % 61; i++) {
			seed = seed * 1664525 + 1013904223;
			head[n++] = letters[(seed >> 16) % sizeof(letters)];
		}
		read_head(head, n, &from);
		assert_true(inet_pton(AF_INET, from.client, &address) == 1 ||
			    inet_pton(AF_INET6, from.client, &address) == 1);
	}
}

static void
test_heads(void **state)
{
	static const char folded[] =
	    "GET / HTTP/1.1\r\n" X "192.0.2.1\r\n , 6.6.6.6\r\n\r\n";
	static const char bare[] = "GET / HTTP/1.1\nA: b\n" X "192.0.2.1\n\n";
	struct net_from from;

	(void)state;
	read_head(folded, sizeof(folded) - 1, &from);
	assert_string_equal(from.client, PEER);
	read_head(bare, sizeof(bare) - 1, &from);
	assert_string_equal(from.client, "192.0.2.1");
	read_head("", 0, &from);
	assert_string_equal(from.client, PEER);
	/* The request line is not a header. */
	read_head(X "192.0.2.1\r\n\r\n", 28, &from);
	assert_string_equal(from.client, PEER);
}

static void
test_believed(void **state)
{
	static const struct net_networks odd = {
	    2, {{{0x20, 0x01, 0x80}, 17}, {{0xfe, 0x80}, 10}}};
	static const struct net_networks all = {1, {{{0}, 0}}};
	static const struct net_networks none = {0, {{{0}, 0}}};
	static const struct {
		const char *address;
		bool ok;
	} table[] = {{"2001:8000::", true}, {"2001:ffff::1", true},
	    {"2001:7fff::1", false}, {"2002:8000::", false}, {"fe80::1", true},
	    {"febf::1", true}, {"fec0::1", false}, {"::", false}};
	uint8_t address[16];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(
		    inet_pton(AF_INET6, table[i].address, address), 1);
		assert_int_equal(
		    forwarded_believed(&odd, address), table[i].ok);
		assert_true(forwarded_believed(&all, address));
		assert_false(forwarded_believed(&none, address));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_spans),
	    cmocka_unit_test(test_long),
	    cmocka_unit_test(test_noise),
	    cmocka_unit_test(test_heads),
	    cmocka_unit_test(test_believed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
