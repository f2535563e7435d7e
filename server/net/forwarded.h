/* SPDX-License-Identifier: MIT */
/*
 * Finds the client of a request that comes through a proxy, by the headers
 * Forwarded (RFC 7239), X-Forwarded-For and X-Forwarded-Proto.  The caller must
 * use them only in requests of believed proxies, that is of peers in the
 * networks of the setting behind-proxy (forwarded_believed()).
 *
 * The rule
 *   1. Each proxy appends to the header the address that it got the request
 *      from.  The list is walked from its end.  Addresses of believed proxies
 *      are skipped; the first other address is the client's.  If there is none
 *      among the last FORWARDED_HOPS_MAX entries, the leftmost of these is the
 *      client's.  All entries to the left of the client's may have been written
 *      by the client itself.
 *   2. An unreadable entry (malformed, "unknown", hidden) ends the walk: the
 *      client is the last proxy that was skipped, or the peer itself if none
 *      was.
 *   3. If Forwarded and X-Forwarded-For are both present and do not name the
 *      same client, none of the three headers is believed, and the client is
 *      the peer.  A proxy writes one of the two and may pass on the other one
 *      from a client, and this program cannot know which one the proxy wrote.
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

/* The client of a request, and scheme and host of the URL that the client used;
 * each as a believed proxy names it.  If no believed proxy does, the client is
 * the peer of the connection, the scheme NET_SCHEME_UNKNOWN, the host "". */
struct net_from {
	char client[NET_PEER_SIZE]; /* the address, as text */
	enum net_scheme scheme;     /* of the URL */
	char host[NET_HOST_SIZE];   /* in the URL; "": as in the header Host */
};

/* Limits for one header of a request.  HOPS_MAX: only this many entries (hops)
 * are examined, the last ones.  LINES_MAX: only this many lines are kept, the
 * last ones.  LINE_LEN_MAX: bytes in a line.  A longer line of Forwarded or
 * X-Forwarded-For counts as one unreadable entry. */
#define FORWARDED_HOPS_MAX 16
#define FORWARDED_LINES_MAX 4
#define FORWARDED_LINE_LEN_MAX 2048

enum forwarded_kind {
	FORWARDED_STANDARD, /* Forwarded */
	FORWARDED_FOR,      /* X-Forwarded-For */
	FORWARDED_PROTO,    /* X-Forwarded-Proto */
	FORWARDED_KINDS
};

/* The values of the lines of Forwarded, X-Forwarded-For and X-Forwarded-Proto
 * in a request, borrowed from the request, in the order in which they came.  Of
 * a header with more lines, only the last FORWARDED_LINES_MAX are kept. */
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

/* Empties ${ret}, and calls forwarded_add() for each header line in the ${n}
 * bytes at ${p}, the raw head of a request, up to a line that is empty or has
 * only blanks; ${ret} borrows the values from ${p}.  Skips the request line and
 * lines without a colon.  Returns true; but false with ${ret} empty if a header
 * line before the end begins with a blank (is folded), because programs
 * disagree on how to read such a line. */
bool forwarded_scan(const char *p, size_t n, struct forwarded_lines *ret);

/* Finds client, scheme and host by the rule of this file.  The caller has set
 * the member client of ${ret} to the address of the believed peer; that address
 * stays if the headers name no client or are rejected, because Forwarded and
 * X-Forwarded-For name different clients (rule 3).  Scheme and host are those
 * of the client's entry in Forwarded, otherwise unknown and "".  An unknown
 * scheme is read from X-Forwarded-Proto if this header has exactly one line and
 * the headers are not rejected. */
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
