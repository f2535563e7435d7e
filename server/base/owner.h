/* SPDX-License-Identifier: MIT */
/*
 * The user of a shared resource: a person, another server, or the network of a
 * client that has not logged in.  An owner is a number, the keyed hash of what
 * it stands for (htab_hash()); 0 is the server itself.
 *
 * Thread: any.
 */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdint.h>

#define OWNER_SERVER ((uint64_t)0)

/* The text of a network, with its NUL. */
#define NETWORK_SIZE 64

/* The network that is limited as one: an IPv4 address (also of one that is
 * mapped into IPv6), or the /64 of an IPv6 address.  Any other text is copied.
 */
void network_of(const char *peer, char ret[NETWORK_SIZE]);

/* The owner that a user is. */
uint64_t owner_user(int64_t user_id);

/* The owner that another server is. */
uint64_t owner_destination(int64_t destination_id);

/* The owner that the network of ${peer}, an address as text, is. */
uint64_t owner_peer(const char *peer);

#endif
