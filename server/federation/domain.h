/* SPDX-License-Identifier: MIT */
/*
 * The names of servers and where a server is reached (docs/federation.md):
 * domains, the lists of domains that an operator allows or denies, and URLs.
 * Each text has one spelling: upper case, leading zeros of a port, other forms
 * of an address are refused instead of being normalised, so that no two
 * programs read one text differently.
 *
 * Thread: any, in all of these.  Nothing here asks the network.
 */
#ifndef FEDERATION_DOMAIN_H
#define FEDERATION_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/limits.h"

/* Entries of a list. */
#define DOMAIN_LIST_MAX 64
/* "host:65535", with its NUL. */
#define DOMAIN_AUTHORITY_SIZE (LIMIT_DOMAIN_LEN + sizeof("[]:65535"))

/* Whether ${n} bytes at ${text} are the name of a server: a host name in lower
 * case with at least one dot, whose last label begins with a letter.  So no
 * spelling of an IPv4 address is one. */
bool domain_valid(const char *text, size_t n);

/* Domains ("b.example"), and suffixes with a dot in front (".example.org"). */
struct domain_list {
	int n;
	char entry[DOMAIN_LIST_MAX][LIMIT_DOMAIN_LEN + 2];
};

/* Reads entries with a comma between; "" is an empty list.  A suffix may be a
 * single label (".example").  RC_INVALID: ${err} names the entry at fault, and
 * ${ret} is untouched. */
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

/* A server whose address an operator has fixed (--federation-peer). */
struct domain_peer {
	char domain[LIMIT_DOMAIN_LEN + 1];
	struct domain_url url;
};

/* Reads "DOMAIN=URL", the URL as domain_url_parse() does.  RC_INVALID as there.
 */
enum rc domain_peer_parse(
    const char *text, struct domain_peer *ret, struct err *err) MUST_USE;

#endif
