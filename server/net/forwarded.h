/* SPDX-License-Identifier: MIT */
/*
 * The client of a request that comes through a proxy: reads Forwarded
 * (RFC 7239), X-Forwarded-For and X-Forwarded-Proto of requests from a believed
 * proxy.  These headers are ignored when another peer sends them.
 *
 * The rule
 *  1. Each proxy notes, at the end of the list, whom it got the request from.
 *     The list is walked from its end; addresses of believed proxies are
 *     passed by, the first other one is the client's.  A stranger may have
 *     written all that is further to the left.
 *  2. An unreadable entry (malformed, "unknown", hidden) ends the walk: the
 *     client is the last proxy passed, or the peer itself.
 *  3. If both headers are there and do not name the same client, neither is
 *     believed: a proxy writes one of them and may let a stranger's other one
 *     through, and which one is which cannot be seen.
 */
#ifndef NET_FORWARDED_H
#define NET_FORWARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_NETWORKS_MAX 16
#define NET_PEER_SIZE 46
#define NET_HOST_SIZE 256

/* A network; IPv4 as ::ffff:a.b.c.d with 96 more bits. */
struct net_network {
	uint8_t address[16];
	int bits;
};

struct net_networks {
	int n;
	struct net_network list[NET_NETWORKS_MAX];
};

enum net_scheme { NET_SCHEME_UNKNOWN, NET_SCHEME_HTTP, NET_SCHEME_HTTPS };

/* The client, and the URL that it used, as far as a believed proxy tells. */
struct net_from {
	char client[NET_PEER_SIZE]; /* the address, as text */
	enum net_scheme scheme;     /* of that URL */
	char host[NET_HOST_SIZE];   /* in it; "": as in the header Host */
};

/* Proxies in a row, lines of one header, characters of a line. */
#define FORWARDED_HOPS_MAX 16
#define FORWARDED_LINES_MAX 4
#define FORWARDED_LINE_LEN_MAX 2048

enum forwarded_kind {
	FORWARDED_STANDARD, /* Forwarded */
	FORWARDED_FOR,      /* X-Forwarded-For */
	FORWARDED_PROTO,    /* X-Forwarded-Proto */
	FORWARDED_KINDS
};

/* The headers of a request that matter here, in their order; the last ones, if
 * there are too many. */
struct forwarded_lines {
	struct {
		const char *p;
		size_t len;
	} line[FORWARDED_KINDS][FORWARDED_LINES_MAX];
	int n[FORWARDED_KINDS];
};

/* Remembers a header if it is one of them.  Borrows ${value} until
 * forwarded_read(). */
void forwarded_add(struct forwarded_lines *lines, const char *name,
    size_t name_len, const char *value, size_t value_len);

/* The same for each header of the raw head ${p}, whose request line is skipped.
 * A folded line spoils the whole: then false, and ${ret} is empty. */
bool forwarded_scan(const char *p, size_t n, struct forwarded_lines *ret);

/* Fills ${ret}, whose client is the address of the believed peer before. */
void forwarded_read(const struct forwarded_lines *lines,
    const struct net_networks *believed, struct net_from *ret);

/* Writes an address (IPv4 as ::ffff:a.b.c.d) in its usual form. */
void forwarded_address_text(const uint8_t address[16], char ret[NET_PEER_SIZE]);

/* Whether ${address} is in one of ${networks}; IPv4 as ::ffff:a.b.c.d. */
bool forwarded_believed(
    const struct net_networks *networks, const uint8_t address[16]);

#endif
