/* SPDX-License-Identifier: MIT */
/*
 * The addresses that this server does not contact unless an operator allows
 * them, as prefixes: the special-purpose registries of IANA for IPv4 and IPv6
 * (RFC 6890), multicast, and all of IPv6 outside 2000::/3 (but ::ffff:a.b.c.d
 * is checked as IPv4).  Even the entries of the registries that IANA calls
 * globally reachable are refused, because no chat server has such an address.
 */
#include <sys/socket.h>

#include <netinet/in.h>
#include <string.h>

#include "federation/address.h"

struct block {
	uint8_t address[8];
	int bits;
	const char *what; /* shown to operators */
};

#define DOCUMENTATION "for documentation"

static const struct block v4_blocks[] = {
    {{0}, 8, "this host itself"},                       /* 0.0.0.0/8 */
    {{10}, 8, "a private network"},                     /* 10.0.0.0/8 */
    {{100, 64}, 10, "the network of a provider's NAT"}, /* 100.64.0.0/10 */
    {{127}, 8, "loopback"},                             /* 127.0.0.0/8 */
    /* 169.254.0.0/16, which also has the metadata services of clouds */
    {{169, 254}, 16, "link-local"},
    {{172, 16}, 12, "a private network"},           /* 172.16.0.0/12 */
    {{192, 0, 0}, 24, "for protocols of the IETF"}, /* 192.0.0.0/24 */
    {{192, 0, 2}, 24, DOCUMENTATION},               /* 192.0.2.0/24 */
    {{192, 31, 196}, 24, "for AS112"},              /* 192.31.196.0/24 */
    {{192, 52, 193}, 24, "for AMT"},                /* 192.52.193.0/24 */
    {{192, 88, 99}, 24, "for relays of 6to4"},      /* 192.88.99.0/24 */
    {{192, 168}, 16, "a private network"},          /* 192.168.0.0/16 */
    {{192, 175, 48}, 24, "for AS112"},              /* 192.175.48.0/24 */
    {{198, 18}, 15, "for benchmarks"},              /* 198.18.0.0/15 */
    {{198, 51, 100}, 24, DOCUMENTATION},            /* 198.51.100.0/24 */
    {{203, 0, 113}, 24, DOCUMENTATION},             /* 203.0.113.0/24 */
    {{224}, 4, "multicast"},                        /* 224.0.0.0/4 */
    {{240}, 4, "reserved"}, /* 240.0.0.0/4, and the broadcast */
};

/* Global unicast (2000::/3).  Every IPv6 address outside of it is refused,
 * among them loopback, unique local, link-local, multicast and 64:ff9b::/96,
 * unless an operator has allowed it.  ::ffff:a.b.c.d is checked as IPv4
 * instead.  An address inside of it is refused only if it is in one of the
 * v6_blocks and no operator has allowed it. */
static const struct block v6_global = {{0x20}, 3, "not a public address"};

/* Blocks that are not public and that a message to the operator names. */
static const struct block v6_others[] = {
    {{0xfc}, 7, "a private network"}, /* fc00::/7 */
    {{0xfe, 0x80}, 10, "link-local"}, /* fe80::/10 */
    {{0xff}, 8, "multicast"},         /* ff00::/8 */
};

static const struct block v6_blocks[] = {
    {{0x20, 0x01}, 23, "for protocols of the IETF, Teredo among them"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, DOCUMENTATION}, /* 2001:db8::/32 */
    {{0x20, 0x02}, 16, "of 6to4, with an IPv4 address in it"},
    {{0x26, 0x20, 0, 0x4f, 0x80}, 48, "for AS112"}, /* 2620:4f:8000::/48 */
    {{0x3f, 0xff}, 20, DOCUMENTATION},              /* 3fff::/20 */
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool
is_in(const struct block *block, const uint8_t *address)
{
	const int bytes = block->bits / 8, bits = block->bits % 8;

	return (
	    memcmp(block->address, address, (size_t)bytes) == 0 &&
	    (bits == 0 ||
		(block->address[bytes] ^ address[bytes]) >> (8 - bits) == 0));
}

/* Returns the text of the block that ${address} lies in; NULL: none. */
static const char *
find_in(const struct block *blocks, size_t n, const uint8_t *address)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is_in(&blocks[i], address))
			return (blocks[i].what);
	return (NULL);
}

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Copies ${address} to ${ret}, IPv4 as ::ffff:a.b.c.d.  Returns false for
 * another family. */
static bool
read_address(const struct sockaddr *address, uint8_t ret[16])
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		memcpy(ret, mapped, sizeof(mapped));
		memcpy(ret + sizeof(mapped), &v4.sin_addr, 4);
		return (true);
	}
	if (address->sa_family == AF_INET6) {
		memcpy(&v6, address, sizeof(v6));
		memcpy(ret, &v6.sin6_addr, 16);
		return (true);
	}
	return (false);
}

static const char *
v6_fault(const uint8_t a[16])
{
	const char *what;
	size_t i;

	if (is_in(&v6_global, a))
		return (find_in(v6_blocks, COUNT(v6_blocks), a));
	for (i = 0; i < 15 && a[i] == 0; i++)
		;
	if (i == 15 && a[15] == 1)
		return ("loopback");
	what = find_in(v6_others, COUNT(v6_others), a);
	return (what != NULL ? what : v6_global.what);
}

const char *
address_fault(
    const struct sockaddr *address, const struct net_networks *allowed)
{
	uint8_t a[16];

	if (!read_address(address, a))
		return ("not an address of the Internet");
	if (forwarded_believed(allowed, a))
		return (NULL);
	if (memcmp(a, mapped, sizeof(mapped)) == 0)
		return (
		    find_in(v4_blocks, COUNT(v4_blocks), a + sizeof(mapped)));
	return (v6_fault(a));
}

bool
address_allowed(
    const struct sockaddr *address, const struct net_networks *allowed)
{

	return (address_fault(address, allowed) == NULL);
}

void
address_add_loopback(struct net_networks *networks)
{
	static const struct net_network loopback[] = {
	    {{[10] = 0xff, [11] = 0xff, [12] = 127}, 96 + 8},
	    {{[15] = 1}, 128}};
	size_t i;

	for (i = 0; i < COUNT(loopback) && networks->n < NET_NETWORKS_MAX; i++)
		networks->list[networks->n++] = loopback[i];
}
