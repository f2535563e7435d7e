/* SPDX-License-Identifier: MIT */
/*
 * Which addresses of the network this server may contact on behalf of others.
 *
 * Strangers say which domains this server looks up, and their DNS says which
 * addresses these have.  So the address of each socket is judged when it is
 * about to connect, after DNS: nothing that only machines of the operator's own
 * network reach, and nothing that IANA has set aside.
 */
#ifndef FEDERATION_ADDRESS_H
#define FEDERATION_ADDRESS_H

#include <stdbool.h>

#include "net/forwarded.h"

struct sockaddr;

/* Whether a socket may connect to ${address}: an IPv4 address
 * outside of IANA's special-purpose registry and below 224.0.0.0, or an IPv6
 * address of 2000::/3 outside of that registry.  An IPv4 address as
 * ::ffff:a.b.c.d is judged as a.b.c.d; one inside of 2002::/16, 64:ff9b::/96
 * or 2001::/32 is refused with these.  Other families are refused.
 *
 * Each address of ${allowed} (--federation-networks) may be contacted.
 * Borrows both; ${address} has the size of its
 * family's struct, and need not be aligned for that.  Thread: any. */
bool address_allowed(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Why ${address} is refused, in words for an operator that follow "is":
 * "loopback", "a private network".  NULL: it may be contacted.  Static
 * storage.  Thread: any. */
const char *address_fault(
    const struct sockaddr *address, const struct net_networks *allowed);

/* Adds the loopback networks to ${networks}, as far as there is room: a peer
 * whose URL an operator has fixed may be on this machine. */
void address_add_loopback(struct net_networks *networks);

#endif
