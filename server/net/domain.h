/* SPDX-License-Identifier: MIT */
/*
 * The names of hosts and servers, and where a server is reached
 * (docs/federation.md): host names, domains, the lists of domains that an
 * operator allows or denies, and URLs.  Each name and URL has one spelling:
 * upper case, leading zeros of a port, other forms of an address are refused
 * instead of being normalised, so that no two programs read one text
 * differently.
 *
 * Thread: any, in all of these.  Nothing here asks the network.
 */
#ifndef NET_DOMAIN_H
#define NET_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

/* Entries of a list. */
#define DOMAIN_LIST_MAX 64
/* "host:65535", with its NUL. */
#define DOMAIN_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof("[]:65535"))

/* Whether ${n} bytes at ${text} are a host name of RFC 1123 in lower case:
 * labels of 1 to 63 letters, digits and inner hyphens, at most LIMIT_DOMAIN_LEN
 * bytes.  One label is enough, and "192.0.2.1" is one, too. */
bool domain_host_valid(const char *text, size_t n);

/* Whether ${n} bytes at ${text} are the name of a server: a host name in lower
 * case with at least one dot, whose last label begins with a letter.  So no
 * spelling of an IPv4 address is one. */
bool domain_valid(const char *text, size_t n);

/* Whether ${host} is ${domain} or a name below it. */
bool domain_within(const char *host, const char *domain);

/* Domains ("b.example"), and suffixes with a dot in front (".example.org"). */
struct domain_list {
	int n;
	char entry[DOMAIN_LIST_MAX][LIMIT_DOMAIN_LEN + 2];
};

/* Reads entries with commas or spaces between, as in other lists of settings;
 * "" is an empty list.  A suffix may be a single label (".example").
 * RC_INVALID: ${err} names the entry at fault, and ${ret} is untouched. */
enum rc domain_list_parse(
    const char *text, struct domain_list *ret, struct err *err) MUST_USE;

/* Whether ${list} has ${domain} itself, or a suffix of it: ".example.org" has
 * "a.example.org" and "a.b.example.org", and not "example.org". */
bool domain_listed(const struct domain_list *list, const char *domain);

/* Where a server is reached. */
struct domain_url {
	bool https;
	char host[LIMIT_DOMAIN_LEN + 1]; /* an IPv6 address without brackets */
	uint16_t port;
	/* @authority: host, and port where it is not the scheme's. */
	char authority[DOMAIN_AUTHORITY_SIZE];
};

/* Reads "https://HOST[:PORT]" without user, path, query and fragment.  HOST is
 * a host name (one label is enough), an IPv4 address or an IPv6 address in
 * brackets.  "http://" is taken for "localhost" and addresses of the loopback
 * network alone.  RC_INVALID: ${err} names what is wrong, and ${ret} is
 * untouched. */
enum rc domain_url_parse(
    const char *text, struct domain_url *ret, struct err *err) MUST_USE;

/* Whether every server takes ${url} from the document of ${domain}: https on
 * port 443 of that domain or of a name below it (docs/federation.md, "The
 * document"). */
bool domain_url_public(const struct domain_url *url, const char *domain);

/* A server whose address an operator has fixed (--federation-peer). */
struct domain_peer {
	char domain[LIMIT_DOMAIN_LEN + 1];
	struct domain_url url;
};

/* Reads "DOMAIN=URL", the URL as domain_url_parse() does.  RC_INVALID as there.
 */
enum rc domain_peer_parse(
    const char *text, struct domain_peer *ret, struct err *err) MUST_USE;

/* The one of the ${n} peers at ${list} that is ${domain}, borrowed; NULL:
 * none. */
const struct domain_peer *domain_peer_find(
    const struct domain_peer *list, int n, const char *domain);

#endif
