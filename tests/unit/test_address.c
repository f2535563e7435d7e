/* SPDX-License-Identifier: MIT */
/*
 * Which addresses the server may contact for others: the edges of each block,
 * the neighbours of the edges, and the spellings that hide loopback and private
 * addresses.  No test uses the network.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "federation/address.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct net_networks none = {.n = 0};

/* Returns whether the server may contact ${text}, as getaddrinfo() parses
 * it. */
static bool
may_contact(const char *text, const struct net_networks *allowed)
{
	const struct addrinfo hints = {
	    .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	bool ret;

	if (getaddrinfo(text, "443", &hints, &list) != 0)
		fail_msg("\"%s\" is not an address", text);
	ret = address_allowed(list->ai_addr, allowed);
	freeaddrinfo(list);
	return (ret);
}

static void
assert_refused(const char *text)
{

	if (may_contact(text, &none))
		fail_msg("%s may be contacted", text);
}

static void
assert_allowed(const char *text)
{

	if (!may_contact(text, &none))
		fail_msg("%s is refused", text);
}

/* The first and last address of a block, and their neighbours.  NULL: the
 * neighbour is refused as well, or there is none. */
struct edges {
	const char *before, *first, *last, *after;
};

static const struct edges v4[] = {
    {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
    {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
    {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
    {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
    {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
    {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
    {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
    {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
    {"192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"},
    {"192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"},
    {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
    {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
    {"192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"},
    {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
    {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
    {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
    {"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL},
    {NULL, "240.0.0.0", "255.255.255.254", NULL},
    {NULL, "255.255.255.255", "255.255.255.255", NULL},
};

#define ALL_ONES "ffff:ffff:ffff:ffff:ffff:ffff"

static const struct edges v6[] = {
    /* below and above 2000::/3 */
    {NULL, "::", "1fff:ffff:" ALL_ONES, "2000::"},
    {"3ffe:ffff:" ALL_ONES, "3fff::", "3fff:fff:" ALL_ONES, "3fff:1000::"},
    {"3fff:ffff:" ALL_ONES, "4000::", "ffff:ffff:" ALL_ONES, NULL},
    /* within */
    {"2000:ffff:" ALL_ONES, "2001::", "2001:1ff:" ALL_ONES, "2001:200::"},
    {NULL, "2001::", "2001:0:" ALL_ONES, NULL},
    {"2001:db7:" ALL_ONES, "2001:db8::", "2001:db8:" ALL_ONES, "2001:db9::"},
    {"2001:ffff:" ALL_ONES, "2002::", "2002:ffff:" ALL_ONES, "2003::"},
    {"2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8000::",
	"2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"},
};

static void
check_edges(const struct edges *e)
{

	assert_refused(e->first);
	assert_refused(e->last);
	if (e->before != NULL)
		assert_allowed(e->before);
	if (e->after != NULL)
		assert_allowed(e->after);
}

static void
map(const char *text, char *ret, size_t size)
{

	if (text != NULL)
		(void)snprintf(ret, size, "::ffff:%s", text);
}

static void
test_v4(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(v4); i++)
		check_edges(&v4[i]);
}

/* The same blocks as ::ffff:a.b.c.d. */
static void
test_mapped(void **state)
{
	char text[4][INET6_ADDRSTRLEN];
	struct edges e;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(v4); i++) {
		map(v4[i].before, text[0], sizeof(text[0]));
		map(v4[i].first, text[1], sizeof(text[1]));
		map(v4[i].last, text[2], sizeof(text[2]));
		map(v4[i].after, text[3], sizeof(text[3]));
		e.before = v4[i].before == NULL ? NULL : text[0];
		e.first = text[1];
		e.last = text[2];
		e.after = v4[i].after == NULL ? NULL : text[3];
		check_edges(&e);
	}
}

static void
test_v6(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(v6); i++)
		check_edges(&v6[i]);
}

static void
test_public(void **state)
{
	static const char *const rows[] = {"1.1.1.1", "8.8.8.8",
	    "93.184.215.14", "::ffff:8.8.8.8", "2606:4700:4700::1111",
	    "2a00:1450:4001::1", "2400:cb00::1"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_allowed(rows[i]);
}

/* Texts that getaddrinfo() parses as loopback, private or metadata
 * addresses. */
static void
test_spellings(void **state)
{
	static const char *const rows[] = {"127.0.0.1", "2130706433",
	    "0x7f000001", "0x7F.0.0.1", "0177.0.0.1", "017700000001", "127.1",
	    "127.0.1", "0", "0.0.0.0", "00000000000", "0x0", "10.1", "0xa.1",
	    "012.0.0.1", "192.168.257", "3232235777", "0xc0a80101",
	    "169.254.169.254", "0xa9fea9fe", "2852039166",
	    "0251.0376.0251.0376", "100.100.100.200", "::1", "0:0:0:0:0:0:0:1",
	    "::", "::ffff:127.0.0.1", "::ffff:7f00:1",
	    "0:0:0:0:0:ffff:127.0.0.1", "::FFFF:10.0.0.1", "::127.0.0.1",
	    "::7f00:1", "64:ff9b::127.0.0.1", "64:ff9b:1::127.0.0.1",
	    "2002:7f00:1::", "2002:a00:1::1",
	    "2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
	    "::ffff:0:127.0.0.1", "fe80::1", "fe80::1%1", "febf::1", "fec0::1",
	    "fc00::1", "fd00:ec2::254", "fdff::1", "ff02::1", "ff0e::1",
	    "100::1", "100:0:0:1::1", "5f00::1", "2001:10::1", "2001:20::1"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_refused(rows[i]);
}

/* --federation-networks: the addresses before and after each network are
 * refused. */
static void
test_networks(void **state)
{
	static const struct net_networks allowed = {
	    4, {{{[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 1}, 112},
		   {{[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}, 128},
		   {{0xfd, 0x00, 0x12}, 20}, {{[15] = 1}, 128}}};
	static const char *const in[] = {"10.1.0.0", "10.1.255.255",
	    "::ffff:10.1.2.3", "127.0.0.1", "::1",
	    "fd00:1000::", ("fd00:1fff:" ALL_ONES), "8.8.8.8",
	    "2606:4700:4700::1111"};
	static const char *const out[] = {"10.0.255.255", "10.2.0.0",
	    "127.0.0.2", "127.0.0.0", "::2", "::", ("fd00:fff:" ALL_ONES),
	    "fd00:2000::", "192.168.0.1", "::10.1.0.1", "64:ff9b::10.1.0.1",
	    "2002:a01:1::1"};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(in); i++)
		if (!may_contact(in[i], &allowed))
			fail_msg("%s is refused", in[i]);
	for (i = 0; i < COUNT(out); i++)
		if (may_contact(out[i], &allowed))
			fail_msg("%s may be contacted", out[i]);
}

static const char *
fault_of(const char *text, const struct net_networks *allowed)
{
	const struct addrinfo hints = {
	    .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	const char *fault;

	if (getaddrinfo(text, "443", &hints, &list) != 0)
		fail_msg("\"%s\" is not an address", text);
	fault = address_fault(list->ai_addr, allowed);
	freeaddrinfo(list);
	return (fault);
}

/* The reason for which an address is refused, in words. */
static void
test_faults(void **state)
{
	static const struct {
		const char *address, *fault;
	} rows[] = {
	    {"127.0.0.1", "loopback"},
	    {"::ffff:127.0.0.1", "loopback"},
	    {"::1", "loopback"},
	    {"::2", "not a public address"},
	    {"::", "not a public address"},
	    {"::1:0", "not a public address"},
	    {"10.1.2.3", "a private network"},
	    {"172.16.0.1", "a private network"},
	    {"192.168.0.1", "a private network"},
	    {"fd00::1", "a private network"},
	    {"100.64.0.1", "the network of a provider's NAT"},
	    {"169.254.169.254", "link-local"},
	    {"fe80::1", "link-local"},
	    {"192.0.2.1", "for documentation"},
	    {"2001:db8::1", "for documentation"},
	    {"224.0.0.1", "multicast"},
	    {"ff02::1", "multicast"},
	    {"255.255.255.255", "reserved"},
	    {"64:ff9b::808:808", "not a public address"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_string_equal(
		    rows[i].fault, fault_of(rows[i].address, &none));
	assert_null(fault_of("8.8.8.8", &none));
	assert_null(fault_of("2606:4700::1", &none));
}

/* address_add_loopback() adds loopback to the networks, as long as there is
 * room. */
static void
test_add_loopback(void **state)
{
	struct net_networks networks = {
	    1, {{{[10] = 0xff, [11] = 0xff, [12] = 10}, 104}}};

	(void)state;
	address_add_loopback(&networks);
	assert_int_equal(3, networks.n);
	assert_null(fault_of("10.0.0.1", &networks));
	assert_null(fault_of("127.0.0.1", &networks));
	assert_null(fault_of("127.255.255.255", &networks));
	assert_null(fault_of("::1", &networks));
	assert_string_equal(
	    "a private network", fault_of("192.168.0.1", &networks));
	assert_string_equal("not a public address", fault_of("::2", &networks));
	networks.n = NET_NETWORKS_MAX;
	address_add_loopback(&networks);
	assert_int_equal(NET_NETWORKS_MAX, networks.n);
}

/* The port and the scope of a socket address are ignored. */
static void
test_sockaddr(void **state)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
	    .sin6_port = 0xffff,
	    .sin6_flowinfo = 0xffffffff,
	    .sin6_scope_id = 0xffffffff};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = 0xffff};

	(void)state;
	assert_int_equal(1, inet_pton(AF_INET, "8.8.8.8", &in.sin_addr));
	assert_true(address_allowed((struct sockaddr *)&in, &none));
	assert_int_equal(
	    1, inet_pton(AF_INET6, "2606:4700::1", &in6.sin6_addr));
	assert_true(address_allowed((struct sockaddr *)&in6, &none));
	assert_int_equal(1, inet_pton(AF_INET6, "fe80::1", &in6.sin6_addr));
	assert_false(address_allowed((struct sockaddr *)&in6, &none));
}

static void
test_families(void **state)
{
	static const sa_family_t families[] = {
	    AF_UNSPEC, AF_UNIX, AF_NETLINK, AF_PACKET, AF_VSOCK, 255, 0xffff};
	static const struct net_networks all = {1, {{{0}, 0}}};
	struct sockaddr_storage storage;
	size_t i;

	(void)state;
	memset(&storage, 8, sizeof(storage));
	for (i = 0; i < COUNT(families); i++) {
		storage.ss_family = families[i];
		assert_false(
		    address_allowed((struct sockaddr *)&storage, &none));
		assert_false(
		    address_allowed((struct sockaddr *)&storage, &all));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_v4),
	    cmocka_unit_test(test_mapped),
	    cmocka_unit_test(test_v6),
	    cmocka_unit_test(test_public),
	    cmocka_unit_test(test_spellings),
	    cmocka_unit_test(test_networks),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_add_loopback),
	    cmocka_unit_test(test_sockaddr),
	    cmocka_unit_test(test_families),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
