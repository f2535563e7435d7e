/* SPDX-License-Identifier: MIT */
/*
 * The client of a request that comes through a proxy.  Reads Forwarded (RFC
 * 7239), X-Forwarded-For and X-Forwarded-Proto in requests of believed proxies,
 * those in the networks of the setting behind-proxy.  These headers are ignored
 * in requests of any other peer.
 *
 * The rule
 *  1. Each proxy appends to the list the address that it got the request from.
 *     The list is walked from its end.  Addresses of believed proxies are
 *     skipped; the first other address is the client's.  If there is none among
 *     the last FORWARDED_HOPS_MAX entries, the leftmost of them is the
 * client's. All entries to the left of it may have been written by the client
 * itself.
 *  2. An unreadable entry (malformed, "unknown", hidden) ends the walk: the
 *     client is the last proxy that was skipped, or the peer itself.
 *  3. If both headers are present and do not name the same client, neither is
 *     believed, and X-Forwarded-Proto is not, either.  A proxy writes one of
 *     them and may pass on the other one from a client, and this program cannot
 *     know which one the proxy wrote.
 */
#ifndef NET_FORWARDED_H
#define NET_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_NETWORKS_MAX 16
#define NET_PEER_SIZE 46
#define NET_HOST_SIZE 256

/* A network.  IPv4 is stored as ::ffff:a.b.c.d with 96 more bits. */
struct net_network {
	uint8_t address[16];
	int bits;
};

struct net_networks {
	int n;
	struct net_network list[NET_NETWORKS_MAX];
};

enum net_scheme { NET_SCHEME_UNKNOWN, NET_SCHEME_HTTP, NET_SCHEME_HTTPS };

/* The client and the URL that it used, as far as a believed proxy names
 * them. */
struct net_from {
	char client[NET_PEER_SIZE]; /* the address, as text */
	enum net_scheme scheme;     /* of the URL */
	char host[NET_HOST_SIZE];   /* in the URL; "": as in the header Host */
};

/* The most hops that are examined, lines of one header that are kept, and
 * characters of a line.  A longer line counts as one unreadable entry. */
#define FORWARDED_HOPS_MAX 16
#define FORWARDED_LINES_MAX 4
#define FORWARDED_LINE_LEN_MAX 2048

enum forwarded_kind {
	FORWARDED_STANDARD, /* Forwarded */
	FORWARDED_FOR,      /* X-Forwarded-For */
	FORWARDED_PROTO,    /* X-Forwarded-Proto */
	FORWARDED_KINDS
};

/* The lines of these headers in a request, in their order.  If a header has
 * more than FORWARDED_LINES_MAX lines, its last ones are kept. */
struct forwarded_lines {
	struct {
		const char *p;
		size_t len;
	} line[FORWARDED_KINDS][FORWARDED_LINES_MAX];
	int n[FORWARDED_KINDS];
};

/* Keeps a header if it is one of the three.  Borrows ${value} until
 * forwarded_read(). */
void forwarded_add(struct forwarded_lines *lines, const char *name,
    size_t name_len, const char *value, size_t value_len);

/* Empties ${ret}, and does the same for each header of the raw head ${p} of
 * ${n} bytes, up to the empty line; the request line is skipped.  If a line is
 * folded, returns false with ${ret} empty, because programs read such a line
 * differently. */
bool forwarded_scan(const char *p, size_t n, struct forwarded_lines *ret);

/* Fills ${ret}.  Its member client holds the address of the believed peer
 * before the call, and keeps it if the headers name no client.  Scheme and host
 * are those of the client's entry in Forwarded.  If there is no scheme, a
 * single line X-Forwarded-Proto gives it. */
void forwarded_read(const struct forwarded_lines *lines,
    const struct net_networks *believed, struct net_from *ret);

/* Writes an address as text.  IPv4 is passed as ::ffff:a.b.c.d and written as
 * a.b.c.d. */
void forwarded_address_text(const uint8_t address[16], char ret[NET_PEER_SIZE]);

/* Returns true if ${address} is in one of ${networks}.  IPv4 is passed as
 * ::ffff:a.b.c.d. */
bool forwarded_believed(
    const struct net_networks *networks, const uint8_t address[16]);

#endif
