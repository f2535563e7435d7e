/* SPDX-License-Identifier: MIT */
/*
 * Checks which network addresses this server may contact when it sends a
 * request to another server.
 *
 * Strangers choose the domains that this server looks up, and their DNS chooses
 * the addresses.  So the address of each socket is checked after DNS, just
 * before the socket connects.  Loopback, private networks and all other
 * addresses that IANA has set aside are refused, unless an operator allows
 * them; otherwise strangers could make this server contact machines inside the
 * operator's network.
 */
#ifndef FEDERATION_ADDRESS_H
#define FEDERATION_ADDRESS_H

#include <stdbool.h>

#include "net/forwarded.h"

struct sockaddr;

/* Returns true if a socket may connect to ${address}.  That is an IPv4 address
 * below 224.0.0.0 that is not in IANA's special-purpose registry, or an IPv6
 * address of 2000::/3 that is not in that registry.  ::ffff:a.b.c.d is checked
 * as a.b.c.d.  IPv6 addresses with an IPv4 address in them (2002::/16,
 * 64:ff9b::/96, 2001::/32) are refused, and so is every family other than IPv4
 * and IPv6.
 *
 * An IPv4 or IPv6 address in one of the networks ${allowed} (such as
 * --federation-networks) may be contacted in any case.  Borrows both.
 * ${address} has the size of its family's struct, and need not be aligned for
 * it.  Thread: any. */
bool address_allowed(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Returns why address_allowed() refuses ${address}, as words that complete the
 * sentence "the address is …": "loopback", "a private network".  Returns NULL
 * if it does not refuse ${address}.  Static storage.  Thread: any. */
const char *address_fault(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Adds 127.0.0.0/8, then ::1, to ${networks}, as far as the list has room
 * (NET_NETWORKS_MAX); does not report that one was left out.  Used for example
 * for requests to a peer whose URL an operator has pinned, because this peer
 * may run on the same machine. */
void address_add_loopback(struct net_networks *networks);

#endif
