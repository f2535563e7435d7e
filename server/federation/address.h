/* SPDX-License-Identifier: MIT */
/*
 * Which network addresses this server may contact on behalf of others.
 *
 * Strangers choose the domains that this server looks up, and their DNS chooses
 * the addresses.  So each socket's address is checked just before it connects,
 * after DNS.  Addresses that only machines of the operator's own network can
 * reach are refused, and so are those that IANA has set aside.
 */
#ifndef FEDERATION_ADDRESS_H
#define FEDERATION_ADDRESS_H

#include <stdbool.h>

#include "net/forwarded.h"

struct sockaddr;

/* Returns true if a socket may connect to ${address}: an IPv4 address outside
 * of IANA's special-purpose registry and below 224.0.0.0, or an IPv6 address of
 * 2000::/3 outside of that registry. ::ffff:a.b.c.d is checked as a.b.c.d.
 * IPv6 addresses that contain an IPv4 address (2002::/16, 64:ff9b::/96,
 * 2001::/32) are refused.  Other families are refused.
 *
 * Every address of ${allowed} (--federation-networks) may be contacted.
 * Borrows both.  ${address} has the size of its family's struct, and need not
 * be aligned for it.  Thread: any. */
bool address_allowed(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Returns why ${address} is refused, in words for an operator that follow "is":
 * "loopback", "a private network".  NULL: it may be contacted.  Static storage.
 * Thread: any. */
const char *address_fault(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Adds 127.0.0.0/8 and ::1 to ${networks}, as far as there is room: a peer
 * whose URL an operator has pinned may run on this machine. */
void address_add_loopback(struct net_networks *networks);

#endif
