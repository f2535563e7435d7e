/* SPDX-License-Identifier: MIT */
/*
 * The names of hosts and servers, the URLs of servers (docs/federation.md), and
 * the lists of domains that an operator allows or denies.
 *
 * Each name and URL has exactly one spelling, except that the default port of a
 * URL may be written or left out.  Upper case, leading zeros of a port and
 * other spellings of an IP address are refused instead of being normalised, so
 * that no two programs read the same text differently.
 *
 * Thread: any, for all functions.  No function uses the network.
 */
#ifndef NET_DOMAIN_H
#define NET_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

/* The most entries of a list. */
#define DOMAIN_LIST_MAX 64
/* "host:65535", with its NUL. */
#define DOMAIN_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof("[]:65535"))

/* Returns true if the ${n} bytes at ${text} are a host name of RFC 1123 in
 * lower case: one or more labels with dots between them, at most
 * LIMIT_DOMAIN_LEN bytes.  A label has 1 to 63 letters, digits and hyphens, and
 * neither begins nor ends with a hyphen.  By this rule "192.0.2.1" is a host
 * name, too. */
bool domain_host_valid(const char *text, size_t n);

/* Returns true if the ${n} bytes at ${text} can be the name of a server: a host
 * name in lower case with at least one dot, whose last label begins with a
 * letter.  The last rule excludes every spelling of an IPv4 address. */
bool domain_valid(const char *text, size_t n);

/* Returns true if ${host} is ${domain} or a name below it. */
bool domain_within(const char *host, const char *domain);

/* Domains ("b.example"), and suffixes, which begin with a dot
 * (".example.org"). */
struct domain_list {
	int n;
	char entry[DOMAIN_LIST_MAX][LIMIT_DOMAIN_LEN + 2];
};

/* Parses a list of domains (domain_valid()) and suffixes, separated by commas
 * or spaces; "" is an empty list.  A suffix is a dot and a host name, even of a
 * single label (".example"), whose last label begins with a letter.  Returns
 * RC_OK, or RC_INVALID if an entry is not valid or there are more than
 * DOMAIN_LIST_MAX entries; then ${err} names the first entry that is not valid
 * or is one too many, and ${ret} is unchanged. */
enum rc domain_list_parse(
    const char *text, struct domain_list *ret, struct err *err) MUST_USE;

/* Returns true if ${list} has ${domain} itself, or a suffix of it.  The suffix
 * ".example.org" matches "a.example.org" and "a.b.example.org", but not
 * "example.org". */
bool domain_listed(const struct domain_list *list, const char *domain);

/* The URL of a server. */
struct domain_url {
	bool https;
	char host[LIMIT_DOMAIN_LEN + 1]; /* an IPv6 address without brackets */
	uint16_t port;
	/* The component @authority of HTTP message signatures (RFC 9421) for
	 * this URL: the host (IPv6 in brackets), and ":" and the port unless it
	 * is the default port of the scheme. */
	char authority[DOMAIN_AUTHORITY_SIZE];
};

/* Parses "https://HOST[:PORT]", without user, path, query and fragment.  HOST
 * is a host name in lower case (one label is enough), an IPv4 address, or an
 * IPv6 address in brackets in the spelling of RFC 5952.  "http://" is accepted
 * for "localhost" and loopback addresses only.  On RC_INVALID, ${err} says what
 * is wrong, and ${ret} is unchanged. */
enum rc domain_url_parse(
    const char *text, struct domain_url *ret, struct err *err) MUST_USE;

/* Returns true if other servers accept ${url} as the server that messages for
 * ${domain} are sent to (`deliver` in the document of the domain,
 * docs/federation.md), without more configuration: the scheme is https, the
 * port is 443, and the host is ${domain} or a name below it.  If false, only a
 * server whose operator has fixed ${url} for ${domain} (struct domain_peer)
 * accepts this URL. */
bool domain_url_public(const struct domain_url *url, const char *domain);

/* A pinned peer: a server whose URL an operator has fixed
 * (--federation-peer). */
struct domain_peer {
	char domain[LIMIT_DOMAIN_LEN + 1];
	struct domain_url url;
};

/* Parses "DOMAIN=URL", with a DOMAIN as in domain_valid() and a URL as in
 * domain_url_parse().  On RC_INVALID, ${err} says what is wrong, and ${ret} is
 * unchanged. */
enum rc domain_peer_parse(
    const char *text, struct domain_peer *ret, struct err *err) MUST_USE;

/* Returns the one of the ${n} peers at ${list} whose domain is ${domain},
 * borrowed from the list; NULL if there is none. */
const struct domain_peer *domain_peer_find(
    const struct domain_peer *list, int n, const char *domain);

#endif
