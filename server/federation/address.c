/* SPDX-License-Identifier: MIT */
/*
 * The special-purpose registries of IANA for IPv4 and IPv6 (RFC 6890), as
 * prefixes.  Entries that IANA calls globally reachable are refused as well: no
 * server of a person is there.
 */
#include <sys/socket.h>

#include <netinet/in.h>
#include <string.h>

#include "federation/address.h"

struct block {
	uint8_t address[8];
	int bits;
};

static const struct block v4_blocks[] = {
    {{0}, 8},             /* 0.0.0.0/8: this host on this network */
    {{10}, 8},            /* 10.0.0.0/8: private */
    {{100, 64}, 10},      /* 100.64.0.0/10: shared by a provider's NAT */
    {{127}, 8},           /* 127.0.0.0/8: loopback */
    {{169, 254}, 16},     /* 169.254.0.0/16: link-local, metadata of clouds */
    {{172, 16}, 12},      /* 172.16.0.0/12: private */
    {{192, 0, 0}, 24},    /* 192.0.0.0/24: IETF protocol assignments */
    {{192, 0, 2}, 24},    /* 192.0.2.0/24: documentation */
    {{192, 31, 196}, 24}, /* 192.31.196.0/24: AS112 */
    {{192, 52, 193}, 24}, /* 192.52.193.0/24: AMT */
    {{192, 88, 99}, 24},  /* 192.88.99.0/24: relays of 6to4, deprecated */
    {{192, 168}, 16},     /* 192.168.0.0/16: private */
    {{192, 175, 48}, 24}, /* 192.175.48.0/24: AS112, direct delegation */
    {{198, 18}, 15},      /* 198.18.0.0/15: benchmarks */
    {{198, 51, 100}, 24}, /* 198.51.100.0/24: documentation */
    {{203, 0, 113}, 24},  /* 203.0.113.0/24: documentation */
    {{224}, 4},           /* 224.0.0.0/4: multicast */
    {{240}, 4},           /* 240.0.0.0/4: reserved, and the broadcast */
};

/* Global unicast: everything else in IPv6 is refused unread, with loopback,
 * unique local, link-local, multicast and 64:ff9b::/96 in it. */
static const struct block v6_global = {{0x20}, 3};

static const struct block v6_blocks[] = {
    {{0x20, 0x01}, 23},             /* 2001::/23: IETF, Teredo in 2001::/32 */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* 2001:db8::/32: documentation */
    {{0x20, 0x02}, 16},             /* 2002::/16: 6to4, has an IPv4 address */
    {{0x26, 0x20, 0, 0x4f, 0x80}, 48}, /* 2620:4f:8000::/48: AS112 */
    {{0x3f, 0xff}, 20},                /* 3fff::/20: documentation */
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

static bool
is_in_any(const struct block *blocks, size_t n, const uint8_t *address)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (is_in(&blocks[i], address))
			return (true);
	return (false);
}

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Writes ${address} with an IPv4 one as ::ffff:a.b.c.d; false for another
 * family. */
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

bool
address_allowed(
    const struct sockaddr *address, const struct net_networks *allowed)
{
	uint8_t a[16];

	if (!read_address(address, a))
		return (false);
	if (forwarded_believed(allowed, a))
		return (true);
	if (memcmp(a, mapped, sizeof(mapped)) == 0)
		return (!is_in_any(
		    v4_blocks, COUNT(v4_blocks), a + sizeof(mapped)));
	return (
	    is_in(&v6_global, a) && !is_in_any(v6_blocks, COUNT(v6_blocks), a));
}
