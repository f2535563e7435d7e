/* SPDX-License-Identifier: MIT */
/*
 * The owner of a part of a shared resource (a budget of memory, a queue): a
 * user, another server, or the network of a client, for example while its user
 * is not known yet.  An owner is a number: the keyed hash (htab_hash()) of a
 * user's id, a destination's id or a network.  0 is this server itself.
 *
 * Thread: any.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdint.h>

#define OWNER_SERVER ((uint64_t)0)

/* Size of the text of a network, with its NUL. */
#define NETWORK_SIZE 64

/* Writes into ${ret} the network to which ${peer}, an address as text, belongs;
 * limits apply to a network as a whole.  The network of an IPv4 address, also
 * of one that is mapped into IPv6 ("::ffff:192.0.2.1"), is the IPv4 address
 * alone ("192.0.2.1").  The network of an IPv6 address is its /64 in the
 * shortest form ("2001:db8::/64"), because one host usually has a whole /64.  A
 * text that is not an address is copied.  First of all, ${peer} is cut before a
 * "%", which begins a zone ("%eth0"), and to NETWORK_SIZE - 1 bytes. */
void network_of(const char *peer, char ret[NETWORK_SIZE]);

/* Returns the owner that stands for a user. */
uint64_t owner_user(int64_t user_id);

/* Returns the owner that stands for another server. */
uint64_t owner_destination(int64_t destination_id);

/* Returns the owner that stands for the network of ${peer}, an address as
 * text. */
uint64_t owner_peer(const char *peer);

#endif
